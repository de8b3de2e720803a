/*
 * classes.c: see classes.h.
 */
#include "classes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/args.h"

#define NONE UINT32_MAX
#define NAME_ROOM 16u

static bool fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, CLI_ERROR, format, arguments);
    va_end(arguments);
    return false;
}

/* Classes as they are in the data. */
static bool names_copy(const cli_dataset *data, cli_classes *out, char *error)
{
    char number[NAME_ROOM];
    size_t size = 0;
    out->count = out->map_count;
    for (uint32_t c = 0; c < out->count; c++) {
        size += strlen(cli_dataset_class(data, c, number, sizeof number)) + 1;
    }
    out->text = malloc(size ? size : 1);
    out->names = calloc(out->count ? out->count : 1, sizeof *out->names);
    if (!out->text || !out->names) {
        return fail(error, "no memory for %u classes", out->count);
    }
    char *to = out->text;
    for (uint32_t c = 0; c < out->count; c++) {
        const char *name = cli_dataset_class(data, c, number, sizeof number);
        out->names[c] = to;
        out->map[c] = c;
        memcpy(to, name, strlen(name) + 1);
        to += strlen(name) + 1;
    }
    return true;
}

/* Number of a class of the data; NONE: there is none. */
static uint32_t class_find(const cli_dataset *data, uint32_t count, const char *name)
{
    char number[NAME_ROOM];
    for (uint32_t c = 0; c < count; c++) {
        if (strcmp(cli_dataset_class(data, c, number, sizeof number), name) == 0) {
            return c;
        }
    }
    return NONE;
}

/* One class of the data, or '*', which is written to *rest, becomes class `label`. */
static bool member_take(const cli_dataset *data, const char *member, uint32_t label, cli_classes *out,
                        uint32_t *rest, char *error)
{
    if (strcmp(member, "*") == 0) {
        if (*rest != NONE) {
            return fail(error, "--classes: the rest ('*') belongs to '%s' and to '%s'", out->names[*rest],
                        out->names[label]);
        }
        *rest = label;
        return true;
    }
    const uint32_t class = class_find(data, out->map_count, member);
    if (class == NONE) {
        return fail(error, "--classes: the data has no class '%s' for '%s'", member, out->names[label]);
    }
    if (out->map[class] != NONE) {
        return fail(error, "--classes: '%s' belongs to '%s' and to '%s'", member, out->names[out->map[class]],
                    out->names[label]);
    }
    out->map[class] = label;
    return true;
}

/* "NAME=A,B": the name, and the parts behind it. */
static bool class_take(const cli_dataset *data, char *text, uint32_t label, cli_classes *out, uint32_t *rest,
                       char *error)
{
    cli_list members = {0};
    char *equals = strchr(text, '=');
    out->names[label] = text;
    if (!equals || equals == text) {
        return fail(error, "--classes: '%s' is not NAME=CLASS,CLASS", text);
    }
    *equals = '\0';
    bool good = cli_list_split(equals + 1, ',', &members) ||
                fail(error, "--classes: '%s' has an empty class, or there is no memory", text);
    for (size_t i = 0; good && i < members.count; i++) {
        good = member_take(data, members.items[i], label, out, rest, error);
    }
    cli_list_release(&members);
    return good;
}

static bool list_take(const cli_dataset *data, const char *list, cli_classes *out, char *error)
{
    char number[NAME_ROOM];
    cli_list parts = {0};
    uint32_t rest = NONE;
    out->text = malloc(strlen(list) + 1);
    if (!out->text) {
        return fail(error, "no memory for the classes");
    }
    memcpy(out->text, list, strlen(list) + 1);
    bool good = cli_list_split(out->text, ';', &parts) ||
                fail(error, "--classes: '%s' has an empty part, or there is no memory", list);
    out->names = calloc(parts.count ? parts.count : 1, sizeof *out->names);
    good = good && (out->names || fail(error, "no memory for the classes"));
    for (size_t i = 0; good && i < parts.count; i++) {
        good = class_take(data, out->text + (parts.items[i] - out->text), (uint32_t)i, out, &rest, error);
        out->count++;
    }
    cli_list_release(&parts);
    for (uint32_t c = 0; good && c < out->map_count; c++) {
        out->map[c] = out->map[c] == NONE ? rest : out->map[c];
        if (out->map[c] == NONE) {
            good = fail(error, "--classes: '%s' of the data belongs to none; NAME=* takes the rest",
                        cli_dataset_class(data, c, number, sizeof number));
        }
    }
    return good;
}

bool cli_classes_make(const cli_dataset *dataset, const char *list, cli_classes *out, char *error)
{
    *out = (cli_classes){.map_count = cli_dataset_class_count(dataset),
                         .label_count = cli_dataset_count(dataset)};
    out->map = calloc(out->map_count ? out->map_count : 1, sizeof *out->map);
    out->labels = calloc(out->label_count ? out->label_count : 1, sizeof *out->labels);
    if (!out->map || !out->labels) {
        return fail(error, "no memory for %u labels", out->label_count);
    }
    memset(out->map, 0xff, out->map_count * sizeof *out->map);
    if (!(list ? list_take(dataset, list, out, error) : names_copy(dataset, out, error))) {
        return false;
    }
    for (uint32_t i = 0; i < out->label_count; i++) {
        out->labels[i] = out->map[cli_dataset_label(dataset, i)];
    }
    return true;
}

void cli_classes_release(cli_classes *classes)
{
    free(classes->text);
    free(classes->names);
    free(classes->map);
    free(classes->labels);
    *classes = (cli_classes){0};
}
