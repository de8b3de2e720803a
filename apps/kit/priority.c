/*
 * priority.c: see priority.h.
 */
#include "priority.h"

#include <stdlib.h>
#include <string.h>

#include "args.h"

#define PRIORITY_MOST 1000000.0

static int take(const char *command, const char *item, const mts_bundle *bundle, const char *const *names,
                uint32_t count, uint32_t *out)
{
    mts_port_desc port = {.size = sizeof port};
    char name[256];
    double number = 0.0;
    const char *value = cli_split_pair(item, name, sizeof name);
    if (!value || cli_numbers(value, ',', &number, 1) != 1 || number < 0.0 || number > PRIORITY_MOST ||
        number != (double)(uint32_t)number) {
        return cli_usage_error(command,
                               "--priority takes TASK=NUMBER,TASK=NUMBER with whole numbers, not '%s'", item);
    }
    if (mts_bundle_output(bundle, name, 0, &port) == MTS_STATUS_NOT_FOUND) {
        return cli_usage_error(command, "--priority: the bundle has no task '%s' ('mts inspect' lists them)",
                               name);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            out[i] = (uint32_t)number;
        }
    }
    return -1;
}

int cli_priorities_find(const char *command, const char *text, const mts_bundle *bundle,
                        const char *const *names, uint32_t count, uint32_t **out)
{
    cli_list items = {0};
    int status = -1;
    *out = NULL;
    if (!text) {
        return -1;
    }
    char *copy = malloc(strlen(text) + 1);
    *out = calloc((size_t)count + 1, sizeof **out);
    if (!copy || !*out) {
        status = cli_failure(command, "no memory");
    } else {
        memcpy(copy, text, strlen(text) + 1);
        if (!cli_list_split(copy, ',', &items)) {
            status = cli_usage_error(command, "--priority takes TASK=NUMBER,TASK=NUMBER, not '%s'", text);
        }
    }
    for (size_t i = 0; i < items.count && status < 0; i++) {
        status = take(command, items.items[i], bundle, names, count, *out);
    }
    cli_list_release(&items);
    free(copy);
    if (status >= 0) {
        free(*out);
        *out = NULL;
    }
    return status;
}
