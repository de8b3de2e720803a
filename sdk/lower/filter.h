/*
 * filter.h: launches without what only serves tasks that are not active. Pure.
 *
 * A launch keeps the entries (task_masks.h) that serve an active task, side by side in a
 * region of kernel parameters of its own, over a smaller grid; a launch that keeps none
 * is left out. Offsets in the arena and the order of launches stay as planned, so what
 * runs computes the same bits.
 */
#ifndef MTS_LOWER_FILTER_H
#define MTS_LOWER_FILTER_H

#include "lower/launch.h"

/* What is filtered. */
typedef struct mts_task_filter_input {
    const mts_encoded_launch *encoded;
    const mts_launch *launches;
    uint32_t launch_count;
    /* The kernel parameters of all launches. */
    const uint32_t *params;
    /* [mask_count][mask_words]: the task masks that entries name. */
    const uint32_t *masks;
    uint32_t mask_count, mask_words;
    /* The task group of each task. */
    const uint32_t *task_group;
    uint32_t task_count, group_count;
} mts_task_filter_input;

/* What a filter works with; all arrays are the caller's. */
typedef struct mts_task_filter {
    mts_task_filter_input of;
    /* Per mask: the first task group of its active tasks; MTS_NONE: none is active. */
    uint32_t *mask_stage;
    /* Index in the kernel parameters of each job with several epilogues, of one
       launch. */
    uint32_t *moved;
    /* [region_words]: where kept entries are put. */
    uint32_t *region;
} mts_task_filter;

/* Sizes of the arrays of a filter and of its result. */
typedef struct mts_task_filter_sizes {
    size_t region_words;
    uint32_t jobs, launches;
} mts_task_filter_sizes;

/* The launches that are left, stage by stage; as many as
   mts_task_filter_sizes.launches. */
typedef struct mts_filtered_launches {
    /* Without `params`, `pool` and sources, which the caller fills in. */
    mts_launch *launches;
    /* Per launch: its index in `encoded`. */
    uint32_t *origins;
    /* Per stage, and one behind the last: its first launch. */
    uint32_t *stage_first;
} mts_filtered_launches;

/* The largest sizes that any active tasks need. */
mts_task_filter_sizes mts_task_filter_prepare(mts_task_filter *filter);
/*
 * Chooses the launches of the active tasks. `split`: a stage for each task group, in
 * order; else one stage. `origin`: index in the kernel parameters of the region's first
 * word. Returns the words of the region in use.
 */
size_t mts_task_filter_run(mts_task_filter *filter, const uint32_t *active, bool split, uint32_t origin,
                           mts_filtered_launches *out);

#endif
