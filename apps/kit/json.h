/*
 * json.h: writes one JSON value, part by part, into memory; it is printed only when it is
 * complete.
 *
 * Keys are NULL inside arrays. Numbers that JSON cannot hold become null; bytes that are
 * no UTF-8 become U+FFFD.
 */
#ifndef MTS_KIT_JSON_H
#define MTS_KIT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_json {
    FILE *out; /* into `text` */
    char *text;
    size_t size;
    uint32_t depth;
    bool filled[32]; /* whether the container at this depth has a member already */
} cli_json;

/* False if memory is short. */
bool cli_json_begin(cli_json *json);
/* Prints the text to standard output; false if memory was short. Frees everything. */
bool cli_json_finish(cli_json *json);
/* Writes what is there so far, which is complete by now, to a file; CLI_ERROR bytes of
   `error`. */
bool cli_json_write(cli_json *json, const char *path, char *error);
/* Throws the text away. A zeroed struct is fine. */
void cli_json_release(cli_json *json);

void cli_json_object(cli_json *json, const char *key);
void cli_json_array(cli_json *json, const char *key);
void cli_json_end(cli_json *json, char bracket); /* '}' or ']' */
void cli_json_string(cli_json *json, const char *key, const char *value);
void cli_json_number(cli_json *json, const char *key, double value);
void cli_json_integer(cli_json *json, const char *key, uint64_t value);
/* Bytes of the UTF-8 sequence that a text begins with; 0: it begins with none. */
uint32_t cli_utf8_length(const unsigned char *text);
/* A value that is JSON already. */
void cli_json_raw(cli_json *json, const char *key, const char *value);

#endif
