/*
 * args_text.c: values of options that are lists, pairs and numbers.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

bool cli_list_add(cli_list *list, const char *item)
{
    const char **grown = realloc(list->items, (list->count + 1) * sizeof *grown);
    if (!grown) {
        return false;
    }
    list->items = grown;
    list->items[list->count++] = item;
    return true;
}

void cli_list_release(cli_list *list)
{
    free(list->items);
    *list = (cli_list){0};
}

bool cli_list_split(char *copy, char separator, cli_list *out)
{
    char *from = copy;
    for (;;) {
        char *end = strchr(from, separator);
        if (end) {
            *end = '\0';
        }
        if (*from == '\0' || !cli_list_add(out, from)) {
            return false;
        }
        if (!end) {
            return true;
        }
        from = end + 1;
    }
}

const char *cli_split_pair(const char *text, char *key, size_t key_size)
{
    const char *equals = strchr(text, '=');
    const size_t length = equals ? (size_t)(equals - text) : 0;
    if (length == 0 || length >= key_size || equals[1] == '\0') {
        return NULL;
    }
    memcpy(key, text, length);
    key[length] = '\0';
    return equals + 1;
}

/* A whole finite decimal number; false if the text is anything else. */
static bool number_read(const char *text, char **end, double *out)
{
    if (*text == '\0' || strchr(" \t\n\v\f\r", *text)) {
        return false;
    }
    errno = 0;
    *out = strtod(text, end);
    return *end != text && errno == 0 && isfinite(*out);
}

size_t cli_numbers(const char *text, char separator, double *numbers, size_t most)
{
    size_t count = 0;
    for (;;) {
        char *end = NULL;
        if (count == most || !number_read(text, &end, &numbers[count])) {
            return 0;
        }
        count++;
        if (*end == '\0') {
            return count;
        }
        if (*end != separator) {
            return 0;
        }
        text = end + 1;
    }
}

bool cli_bytes_parse(const char *text, double *bytes)
{
    static const char prefixes[] = "KMG";
    char *end = NULL;
    if (!number_read(text, &end, bytes)) {
        return false;
    }
    const char *prefix = *end ? strchr(prefixes, *end) : NULL;
    if (prefix) {
        const bool binary = end[1] == 'i';
        for (const char *power = prefixes; power <= prefix; power++) {
            *bytes *= binary ? 1024.0 : 1000.0;
        }
        end += binary ? 2 : 1;
    }
    end += *end == 'B' ? 1 : 0;
    return *end == '\0';
}

void cli_text_clean(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        const bool first = (*at < 0x20 && *at != '\n' && *at != '\t') || *at == 0x7f;
        if (first || (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0)) { /* U+0080 to U+009F */
            *at = '?';
            at[1] = first ? at[1] : '?';
        }
    }
}
