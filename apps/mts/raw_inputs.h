/*
 * raw_inputs.h: the inputs of mts run that are arrays in files: --raw TASK=FILE.npy or
 * TASK:INPUT=FILE.npy.
 */
#ifndef MTS_APPS_RAW_INPUTS_H
#define MTS_APPS_RAW_INPUTS_H

#include "kit/open.h"

typedef struct cli_raw_input {
    char task[256];
    uint32_t index;
    const char *path; /* in the argument */
} cli_raw_input;

typedef struct cli_raw_inputs {
    cli_raw_input *items;
    size_t count;
} cli_raw_inputs;

/* Finds the tasks and inputs of the open bundle that the arguments name. An input that is
 * given twice is a mistake. -1 to go on, else the exit status; release in any case. */
int cli_raw_inputs_find(const cli_open *app, const cli_list *arguments, cli_raw_inputs *out);
/* Whether a file gives this input of the task. */
bool cli_raw_inputs_give(const cli_raw_inputs *inputs, const char *task, uint32_t index);
/* Reads the files and sets the inputs of the session. */
int cli_raw_inputs_set(cli_open *app, const cli_raw_inputs *inputs);
void cli_raw_inputs_release(cli_raw_inputs *inputs);

#endif
