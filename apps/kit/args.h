/*
 * args.h: the command line of a program or of one of its subcommands, read by a table.
 * Strict: what is unknown, missing or no number is a usage error.
 */
#ifndef MTS_KIT_ARGS_H
#define MTS_KIT_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLI_EXIT_OK = 0, CLI_EXIT_FAILURE = 1, CLI_EXIT_USAGE = 2 };

/* How messages and help call the program, "mts". Every program defines it. */
extern const char *const cli_program;

typedef enum cli_kind {
    CLI_KIND_FLAG,   /* target: bool */
    CLI_KIND_TEXT,   /* target: const char *; given at most once */
    CLI_KIND_LIST,   /* target: cli_list; may be given many times */
    CLI_KIND_COUNT,  /* target: uint32_t, least..most */
    CLI_KIND_NUMBER, /* target: double, least..most */
    CLI_KIND_BYTES,  /* target: double, least..most; "20000000", "20M" or "20MiB" */
} cli_kind;

/* Texts that the arguments hold; items on the heap, texts are argv's. */
typedef struct cli_list {
    const char **items;
    size_t count;
} cli_list;

typedef struct cli_option {
    const char *name; /* without the dashes */
    char letter;      /* short form or 0 */
    cli_kind kind;
    void *target;
    const char *value; /* what stands for the value in the help, e.g. "FILE" */
    const char *help;
    double least, most;
} cli_option;

typedef struct cli_usage {
    const char *name;        /* of the subcommand; NULL: the program has none */
    const char *positionals; /* for the help: "BUNDLE" or "" */
    const char *summary;
    const char *details; /* closing paragraph of the help, or NULL */
    uint32_t positional_count;
    uint32_t positional_more;  /* further ones that may be left out */
    const cli_option *options; /* one that is called "json" takes the place of the flag */
    size_t option_count;
} cli_usage;

#define CLI_POSITIONALS 4 /* at most */

typedef struct cli_common {
    bool json;
    const char *positionals[CLI_POSITIONALS];
} cli_common;

/*
 * Reads argv into the options' targets. Returns -1 to go on, else the exit status: --help
 * and --version print and return success, a mistake prints what is wrong and how to get
 * help.
 */
int cli_parse(const cli_usage *usage, int argc, char **argv, cli_common *common);
/* Prints "PROGRAM NAME: sentence" and the way to the help to standard error; returns the
 * exit status of a usage error. */
int cli_usage_error(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints "PROGRAM NAME: sentence"; returns the exit status of a failure. */
int cli_failure(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * From now on sentences of this thread's failures go to `sentence`, `size` bytes, in place of standard
 * error: for what works inside of another program. NULL: they are printed again.
 */
void cli_failures_keep(char *sentence, size_t size);
/* Appends to a list; false if memory is short. */
bool cli_list_add(cli_list *list, const char *item);
void cli_list_release(cli_list *list);
/* Splits "a,b,c" into a list that points into `copy`, a writable copy of the text. False:
 * an empty part or no memory. */
bool cli_list_split(char *copy, char separator, cli_list *out);
/* "KEY=VALUE": copies the key into `key` and returns the value; NULL if there is no '=',
 * or a part is empty or long. */
const char *cli_split_pair(const char *text, char *key, size_t key_size);
/* "1x3x224x224" or "1,2.5,3": up to `most` numbers; returns how many, 0 if the text is
   none. */
size_t cli_numbers(const char *text, char separator, double *numbers, size_t most);
/* "20000000", "20M", "20MB" (of 10^6 bytes) or "20Mi", "20MiB" (of 2^20 bytes), likewise
 * K and G. False: the text is no such number. */
bool cli_bytes_parse(const char *text, double *bytes);

/* Replaces control characters, but for line ends and tabs, by '?': names of files may hold what
   terminals obey. */
void cli_text_clean(char *text);

#endif
