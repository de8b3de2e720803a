/*
 * tail_inputs.h: puts rows of features into the inputs of a tail.
 */
#ifndef MTS_COMPRESS_LEARN_TAIL_INPUTS_H
#define MTS_COMPRESS_LEARN_TAIL_INPUTS_H

#include <string.h>

#include "compress/learn/plan.h"
#include "compress/net/net.h"

/* rows[count], or rows first.. where it is NULL. */
static inline void mts_tail_feed(const mts_learn_plan *plan, const float *features, const uint32_t *rows,
                                 uint32_t first, uint32_t count, mts_net_run *run)
{
    size_t offset = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        const size_t elements = mts_shape_count(&plan->tail->inputs[i].shape);
        float *to = mts_net_run_input(run, i);
        for (uint32_t r = 0; r < count; r++) {
            const size_t row = rows ? rows[r] : first + r;
            memcpy(to + r * elements, features + row * plan->elements + offset, elements * sizeof *to);
        }
        offset += elements;
    }
}

#endif
