/*
 * args.c: the table-driven reader of a program's arguments, its help, and the shape of
 * error messages.
 */
#include "args.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mts/mts.h"

#define HELP_COLUMN 28

static _Thread_local char *kept;
static _Thread_local size_t kept_size;

void cli_failures_keep(char *sentence, size_t size)
{
    kept = sentence;
    kept_size = size;
}

static void say(const char *name, const char *format, va_list arguments)
{
    if (kept) {
        (void)vsnprintf(kept, kept_size, format, arguments);
        return;
    }
    (void)fflush(stdout);
    (void)fprintf(stderr, name ? "%s %s: " : "%s: ", cli_program, name);
    char text[2048];
    (void)vsnprintf(text, sizeof text, format, arguments);
    cli_text_clean(text);
    (void)fprintf(stderr, "%s\n", text);
}

int cli_usage_error(const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(name, format, arguments);
    va_end(arguments);
    if (kept) {
        return CLI_EXIT_USAGE;
    }
    (void)fprintf(stderr, "See '%s %s%s--help'.\n", cli_program, name ? name : "", name ? " " : "");
    return CLI_EXIT_USAGE;
}

int cli_failure(const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(name, format, arguments);
    va_end(arguments);
    return CLI_EXIT_FAILURE;
}

static void help_line(const cli_option *option)
{
    char left[64];
    const bool valued = option->kind != CLI_KIND_FLAG;
    int length = 0;
    if (option->letter) {
        length = snprintf(left, sizeof left, "-%c, --%s%s%s", option->letter, option->name, valued ? " " : "",
                          valued ? option->value : "");
    } else {
        length = snprintf(left, sizeof left, "--%s%s%s", option->name, valued ? " " : "",
                          valued ? option->value : "");
    }
    if (length < HELP_COLUMN - 1) {
        printf("  %-*s%s\n", HELP_COLUMN, left, option->help);
    } else {
        printf("  %s\n  %-*s%s\n", left, HELP_COLUMN, "", option->help);
    }
}

static const cli_option *option_find(const cli_usage *usage, const char *name, size_t length, bool letter)
{
    for (size_t i = 0; i < usage->option_count; i++) {
        const cli_option *option = &usage->options[i];
        if (letter ? (length == 1 && option->letter == name[0])
                   : (strlen(option->name) == length && strncmp(option->name, name, length) == 0)) {
            return option;
        }
    }
    return NULL;
}

static void help(const cli_usage *usage)
{
    printf("usage: %s%s%s%s%s [options]\n\n%s\n\noptions:\n", cli_program, usage->name ? " " : "",
           usage->name ? usage->name : "", usage->positionals[0] ? " " : "", usage->positionals,
           usage->summary);
    for (size_t i = 0; i < usage->option_count; i++) {
        help_line(&usage->options[i]);
    }
    if (!option_find(usage, "json", 4, false)) {
        printf("  %-*s%s\n", HELP_COLUMN, "--json", "print one JSON object instead of text");
    }
    printf("  %-*s%s\n", HELP_COLUMN, "--help", "print this and stop");
    printf("  %-*s%s\n", HELP_COLUMN, "--version", "print the version and stop");
    if (usage->details) {
        printf("\n%s\n", usage->details);
    }
}

/* Stores a value; returns what is wrong with it, or NULL. */
static const char *value_store(const cli_option *option, const char *value, bool seen)
{
    double number = 0;
    switch (option->kind) {
    case CLI_KIND_FLAG:
        *(bool *)option->target = true;
        return NULL;
    case CLI_KIND_TEXT:
        if (seen) {
            return "is given twice";
        }
        if (*value == '\0') {
            return "has an empty value";
        }
        *(const char **)option->target = value;
        return NULL;
    case CLI_KIND_LIST:
        return cli_list_add(option->target, value) ? NULL : "found no memory";
    case CLI_KIND_COUNT:
    case CLI_KIND_NUMBER:
    case CLI_KIND_BYTES:
        break;
    }
    if (seen) {
        return "is given twice";
    }
    if (option->kind == CLI_KIND_BYTES && !cli_bytes_parse(value, &number)) {
        return "takes bytes, such as 20000000, 20M or 20MiB";
    }
    if (option->kind != CLI_KIND_BYTES && cli_numbers(value, ',', &number, 1) != 1) {
        return "takes a number";
    }
    if (number < option->least || number > option->most) {
        return "is out of range";
    }
    if (option->kind != CLI_KIND_COUNT) {
        *(double *)option->target = number;
        return NULL;
    }
    if (number != floor(number)) {
        return "takes a whole number";
    }
    *(uint32_t *)option->target = (uint32_t)number;
    return NULL;
}

/* Takes one option and its value from argv at *at. Returns -1 to go on. */
static int option_take(const cli_usage *usage, int argc, char **argv, int *at, uint64_t *seen)
{
    const char *text = argv[*at];
    const bool letter = text[1] != '-';
    const char *name = text + (letter ? 1 : 2);
    const char *equals = letter ? NULL : strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const cli_option *option = option_find(usage, name, length, letter);
    if (!option) {
        return cli_usage_error(usage->name, "unknown option '%s'", text);
    }
    const char *value = equals ? equals + 1 : "";
    if (option->kind == CLI_KIND_FLAG && equals) {
        return cli_usage_error(usage->name, "option --%s takes no value", option->name);
    }
    if (option->kind != CLI_KIND_FLAG && !equals) {
        if (*at + 1 >= argc) {
            return cli_usage_error(usage->name, "option --%s needs a value: %s", option->name, option->value);
        }
        value = argv[++*at];
    }
    const size_t index = (size_t)(option - usage->options);
    const char *defect = value_store(option, value, (*seen >> index) & 1u);
    *seen |= (uint64_t)1 << index;
    if (defect && option->kind >= CLI_KIND_COUNT) {
        return cli_usage_error(usage->name, "option --%s %s (%g to %g), not '%s'", option->name, defect,
                               option->least, option->most, value);
    }
    return defect ? cli_usage_error(usage->name, "option --%s %s", option->name, defect) : -1;
}

int cli_parse(const cli_usage *usage, int argc, char **argv, cli_common *common)
{
    uint32_t positionals = 0;
    uint64_t seen = 0;
    bool options = true;
    for (int i = 1; i < argc; i++) {
        if (options && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            help(usage);
            return CLI_EXIT_OK;
        }
        if (options && strcmp(argv[i], "--version") == 0) {
            printf("%s %s\n", cli_program, mts_version());
            return CLI_EXIT_OK;
        }
        if (options && strcmp(argv[i], "--json") == 0 && !option_find(usage, "json", 4, false)) {
            common->json = true;
        } else if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && argv[i][0] == '-' && argv[i][1] != '\0') {
            const int status = option_take(usage, argc, argv, &i, &seen);
            if (status >= 0) {
                return status;
            }
        } else if (positionals >= usage->positional_count + usage->positional_more) {
            return cli_usage_error(usage->name, "unexpected argument '%s'", argv[i]);
        } else {
            common->positionals[positionals++] = argv[i];
        }
    }
    if (positionals < usage->positional_count) {
        return cli_usage_error(usage->name, "missing argument: %s", usage->positionals);
    }
    return -1;
}
