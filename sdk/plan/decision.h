/*
 * decision.h: what is measured or cached of a session: which tasks run as one group, how
 * large a slice of them runs at once, and how each layer is computed. With it, creating
 * an engine measures nothing.
 */
#ifndef MTS_PLAN_DECISION_H
#define MTS_PLAN_DECISION_H

#include "plan/kernel_config.h"

#define MTS_STRATEGY_COUNT 4 /* of mts_strategy (docs/design/strategies.md) */

typedef struct mts_decision {
    const uint32_t *group_of; /* per task of the session, in its order; NULL: families */
    /* Layers run slice of tasks by slice of tasks where that keeps their activations
       within this many bytes; 0: a layer is one launch for all tasks of its group. */
    uint64_t slice_bytes;
    const mts_kernel_configs *configs; /* NULL: defaults */
} mts_decision;

#endif
