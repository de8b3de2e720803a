/*
 * inputs.h: random numbers for the inputs of tasks, to measure with.
 */
#ifndef MTS_APPS_INPUTS_H
#define MTS_APPS_INPUTS_H

#include <stdbool.h>

#include "mts/mts.h"

typedef struct cli_inputs {
    uint32_t tasks;
    const char *const *names; /* of the tasks, the caller's */
    mts_tensor **tensors;     /* [task][input]; the last of a task has no data */
} cli_inputs;

/*
 * Ordinary numbers: neither zeros nor denormal values, which processors treat
 * differently. On a common frame all inputs of one position and shape get the same ones.
 * False: no memory; release in any case.
 */
bool cli_inputs_make(cli_inputs *inputs, const mts_bundle *bundle, const char *const *names, uint32_t tasks,
                     bool common);
mts_status cli_inputs_set(const cli_inputs *inputs, mts_session *session);
void cli_inputs_release(cli_inputs *inputs);

#endif
