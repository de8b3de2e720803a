/*
 * budget.h: the limit of a session's memory: weights, activations and workspace together.
 */
#ifndef MTS_PLAN_BUDGET_H
#define MTS_PLAN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Without a budget a session may take a part of this more than its tasks take one by one. */
#define MTS_MEMORY_MORE_PART 10

typedef struct mts_memory_budget {
    /* 0: no limit. */
    uint64_t bytes;
} mts_memory_budget;

static inline bool mts_memory_budget_is_limited(mts_memory_budget budget)
{
    return budget.bytes != 0;
}

static inline bool mts_memory_budget_fits(mts_memory_budget budget, uint64_t bytes)
{
    return budget.bytes == 0 || bytes <= budget.bytes;
}

#endif
