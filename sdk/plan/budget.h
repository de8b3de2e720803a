/*
 * budget.h: the limit of a session's memory: weights, activations and workspace together.
 */
#ifndef MTS_PLAN_BUDGET_H
#define MTS_PLAN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

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

/* What a session without a budget may take beyond the bytes of its tasks one by one, or a
   plan with lanes or waves beyond one without: a tenth. */
static inline uint64_t mts_memory_spare(uint64_t bytes)
{
    return bytes / 10;
}

/* The bytes of one by one and what may be beyond them. */
static inline uint64_t mts_memory_more(uint64_t bytes)
{
    return bytes + mts_memory_spare(bytes);
}

#endif
