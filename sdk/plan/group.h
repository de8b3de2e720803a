/*
 * group.h: which tasks are stitched together. MTS (SECON 2022), Algorithm 1, completed
 * (docs/design/deciding.md).
 *
 * Minimises the summed latency of the groups subject to a memory budget: weights of all
 * groups + the largest arena + what is there in any case. Three branches: equal
 * structure, exact over the number of tasks; up to 15 tasks, exact over subsets; else
 * greedy, balanced by latency in snake order. Where a budget binds and groups have
 * weights, partial plans are kept as long as no other is at least as good in latency,
 * weights and arena; without weights, one is kept of those that fit. Weights that no
 * grouping changes are fixed bytes. Pure: costs come from the caller, measured or
 * modelled, and each set is asked for once before the search.
 */
#ifndef MTS_PLAN_GROUP_H
#define MTS_PLAN_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"
#include "plan/budget.h"

#define MTS_GROUP_EXACT_MOST 15u /* 3^15 = 14 M steps */

typedef struct mts_group_cost {
    double latency;   /* milliseconds of one run of the group */
    uint64_t weights; /* bytes that exist only because of this group */
    uint64_t arena;   /* bytes of its activations; groups run one after another and share them */
} mts_group_cost;

/* Cost of stitching a set of tasks, given in ascending order. */
typedef mts_status (*mts_group_cost_fn)(void *context, const uint32_t *tasks, uint32_t count,
                                        mts_group_cost *cost, mts_error *error);

typedef struct mts_group_request {
    uint32_t task_count;
    bool uniform; /* all tasks have one structure and batch: a group's cost depends on its size only */
    uint64_t fixed_bytes; /* counted against the budget whatever the grouping is */
    mts_memory_budget budget;
    mts_group_cost_fn cost;
    void *context;
    const mts_allocator *allocator;
} mts_group_request;

typedef struct mts_group_result {
    uint32_t *group_of; /* caller's array of task_count: group of each task, numbered in order of first
                           appearance */
    uint32_t group_count;
    double latency;
    uint64_t peak;          /* bytes, fixed ones included */
    uint64_t smallest_peak; /* LIMIT: the least that a plan takes, of those that were considered */
} mts_group_result;

/* Fills *result. Errors: LIMIT (no plan within the budget; the text and smallest_peak say
   what would fit), OUT_OF_MEMORY, and what `cost` returns. */
mts_status mts_group_plan(const mts_group_request *request, mts_group_result *result, mts_error *error);

#endif
