/*
 * raw_inputs.c: see raw_inputs.h.
 */
#include "raw_inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/args.h"
#include "kit/files.h"

/* Index of a task's input by name or number, the first one if neither is given;
   UINT32_MAX if there is none. */
static uint32_t index_find(const cli_open *app, const char *task, const char *input)
{
    mts_port_desc port = {.size = sizeof port};
    for (uint32_t i = 0; mts_bundle_input(app->bundle, task, i, &port) == MTS_STATUS_OK; i++) {
        char number[16];
        (void)snprintf(number, sizeof number, "%u", i);
        if (!input || strcmp(port.name, input) == 0 || strcmp(number, input) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

static int one_find(const cli_open *app, const char *text, cli_raw_input *out)
{
    out->path = cli_split_pair(text, out->task, sizeof out->task);
    if (!out->path) {
        return cli_usage_error("run", "--raw takes TASK=FILE.npy or TASK:INPUT=FILE.npy, not '%s'", text);
    }
    char *colon = strchr(out->task, ':');
    if (colon) {
        *colon = '\0';
    }
    out->index = index_find(app, out->task, colon ? colon + 1 : NULL);
    return out->index == UINT32_MAX
               ? cli_failure("run", "--raw %s: the bundle has no such task or input", text)
               : -1;
}

int cli_raw_inputs_find(const cli_open *app, const cli_list *arguments, cli_raw_inputs *out)
{
    *out = (cli_raw_inputs){.items = calloc(arguments->count + 1, sizeof *out->items)};
    if (!out->items) {
        return cli_failure("run", "no memory");
    }
    for (size_t i = 0; i < arguments->count; i++) {
        cli_raw_input *one = &out->items[i];
        const int status = one_find(app, arguments->items[i], one);
        if (status >= 0) {
            return status;
        }
        if (cli_raw_inputs_give(out, one->task, one->index)) {
            return cli_usage_error("run", "--raw %s: another --raw gives the same input",
                                   arguments->items[i]);
        }
        out->count++;
    }
    return -1;
}

bool cli_raw_inputs_give(const cli_raw_inputs *inputs, const char *task, uint32_t index)
{
    bool given = false;
    for (size_t i = 0; i < inputs->count && !given; i++) {
        given = inputs->items[i].index == index && strcmp(inputs->items[i].task, task) == 0;
    }
    return given;
}

int cli_raw_inputs_set(cli_open *app, const cli_raw_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        const cli_raw_input *one = &inputs->items[i];
        mts_tensor tensor;
        if (!cli_npy_read(one->path, &tensor, app->error)) {
            return cli_failure("run", "%s", app->error);
        }
        const mts_status status = mts_session_input(app->session, one->task, one->index, &tensor);
        free(tensor.data);
        if (status != MTS_STATUS_OK) {
            return cli_failure("run", "--raw %s=%s: %s", one->task, one->path, app->error);
        }
    }
    return -1;
}

void cli_raw_inputs_release(cli_raw_inputs *inputs)
{
    free(inputs->items);
    *inputs = (cli_raw_inputs){0};
}
