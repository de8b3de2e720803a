/*
 * filter.h: command lists for some of an engine's tasks.
 *
 * The lists of the last active-task masks are kept. Device and host memory for them comes in chunks of a few
 * masks, the first one with the first mask; for a new mask its lists are recorded anew, after a wait. Split lists
 * are one for each task group, in order, so that the clock can be looked at between them.
 */
#ifndef MTS_ENGINE_FILTER_H
#define MTS_ENGINE_FILTER_H

#include "engine/engine.h"
#include "engine/launches.h"
#include "engine/tasks.h"
#include "lower/filter.h"

/* Masks that are kept at most, and those whose kernel parameters lie in one buffer. */
#define MTS_FILTERS_KEPT 32
#define MTS_FILTERS_CHUNK 8

/* The lists of one active-task mask. */
typedef struct mts_filtered {
    uint32_t *active;
    bool split;
    /* The lists are those of `active`. */
    bool made;
    /* When it was last used, counted in submissions. */
    uint64_t used;
    /* mts_input_slots.generation of the buffers that the lists name. */
    uint64_t generation;
    mts_filtered_launches launches;
    /* Per stage; NULL: nothing to do. */
    mts_command_list **lists;
} mts_filtered;

typedef struct mts_filters {
    /* [mask_count][mask_words of the tasks]: the masks that entries of launches name. */
    uint32_t *masks;
    uint32_t mask_count;

    /* All that follows exists from the first mask on; base NULL: not yet. */

    /* Of each chunk of kept masks: the engine's kernel parameters, then a region for each mask. */
    mts_buffer *params[MTS_FILTERS_KEPT / MTS_FILTERS_CHUNK];
    /* The engine's kernel parameters on the host, and their number. */
    uint32_t *base;
    uint32_t base_words;
    size_t region_words;
    uint32_t *task_group;
    mts_task_filter filter;
    uint64_t clock;
    /* Sizes of what a kept mask needs. */
    mts_task_filter_sizes sizes;
    /* kept_count of them exist: whole chunks, only the last may be smaller. */
    mts_filtered kept[MTS_FILTERS_KEPT];
    uint32_t kept_count;
    /* No further chunk fits. */
    bool full;
} mts_filters;

/*
 * The lists of active tasks, one for each task group if `split`, else one in lists[0]; valid until the next
 * call. busy: runs of the engine are on the device. LIMIT: over the memory budget. A failure costs only lists
 * that were kept.
 */
mts_status mts_filters_get(mts_engine *engine, const uint32_t *active, bool split, bool busy,
                           mts_filtered **out, mts_error *error);
void mts_filters_release(mts_engine *engine);

#endif
