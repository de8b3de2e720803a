/*
 * json.c: commas, escapes and nesting of the program's JSON.
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "files.h"

/* Length of the UTF-8 sequence at `text`, 0 if it is none. */
uint32_t cli_utf8_length(const unsigned char *text)
{
    const unsigned char first = text[0];
    uint32_t length = 0;
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        length = 2;
    } else if (first >= 0xe0 && first <= 0xef) {
        length = 3;
    } else if (first >= 0xf0 && first <= 0xf4) {
        length = 4;
    }
    for (uint32_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const bool overlong = (first == 0xe0 && text[1] < 0xa0) || (first == 0xf0 && text[1] < 0x90);
    const bool beyond = (first == 0xed && text[1] > 0x9f) || (first == 0xf4 && text[1] > 0x8f);
    return overlong || beyond ? 0 : length;
}

static void quoted(FILE *out, const char *value)
{
    const unsigned char *at = (const unsigned char *)value;
    (void)fputc('"', out);
    while (*at) {
        const uint32_t length = cli_utf8_length(at);
        if (length == 0) {
            (void)fputs("\\ufffd", out);
            at++;
        } else if (*at == '"' || *at == '\\') {
            (void)fprintf(out, "\\%c", *at++);
        } else if (*at < 0x20 || *at == 0x7f) {
            (void)fprintf(out, "\\u%04x", *at++);
        } else {
            (void)fwrite(at, 1, length, out);
            at += length;
        }
    }
    (void)fputc('"', out);
}

static void member(cli_json *json, const char *key)
{
    if (json->filled[json->depth]) {
        (void)fputs(", ", json->out);
    }
    json->filled[json->depth] = true;
    if (key) {
        quoted(json->out, key);
        (void)fputs(": ", json->out);
    }
}

static void open_container(cli_json *json, const char *key, char bracket)
{
    member(json, key);
    (void)fputc(bracket, json->out);
    if (json->depth + 1 < sizeof json->filled / sizeof json->filled[0]) {
        json->depth++;
    }
    json->filled[json->depth] = false;
}

bool cli_json_begin(cli_json *json)
{
    *json = (cli_json){0};
    json->out = open_memstream(&json->text, &json->size);
    return json->out;
}

bool cli_json_finish(cli_json *json)
{
    (void)fputc('\n', json->out);
    const bool whole = fflush(json->out) == 0 && !ferror(json->out);
    if (whole) {
        (void)fwrite(json->text, 1, json->size, stdout);
    }
    cli_json_release(json);
    return whole;
}

bool cli_json_write(cli_json *json, const char *path, char *error)
{
    if (fflush(json->out) != 0 || ferror(json->out)) {
        (void)snprintf(error, CLI_ERROR, "no memory for '%s'", path);
        return false;
    }
    return cli_file_write(path, json->text, json->size, error);
}

void cli_json_release(cli_json *json)
{
    if (json->out) {
        (void)fclose(json->out);
        free(json->text);
    }
    *json = (cli_json){0};
}

void cli_json_object(cli_json *json, const char *key)
{
    open_container(json, key, '{');
}

void cli_json_array(cli_json *json, const char *key)
{
    open_container(json, key, '[');
}

void cli_json_end(cli_json *json, char bracket)
{
    (void)fputc(bracket, json->out);
    json->depth -= json->depth > 0 ? 1 : 0;
}

void cli_json_string(cli_json *json, const char *key, const char *value)
{
    member(json, key);
    quoted(json->out, value);
}

void cli_json_number(cli_json *json, const char *key, double value)
{
    member(json, key);
    if (isfinite(value)) {
        (void)fprintf(json->out, "%.9g", value);
    } else {
        (void)fputs("null", json->out);
    }
}

void cli_json_integer(cli_json *json, const char *key, uint64_t value)
{
    member(json, key);
    (void)fprintf(json->out, "%" PRIu64, value);
}

void cli_json_raw(cli_json *json, const char *key, const char *value)
{
    member(json, key);
    (void)fputs(value, json->out);
}
