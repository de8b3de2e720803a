/*
 * filter.h: command lists for some of an engine's tasks.
 *
 * The lists of the last active-task masks are kept. Device and host memory for them comes
 * in chunks of a few masks, the first one with the first mask. For a new mask lists are
 * recorded, in the place of those that were not used for longest where no more can be
 * kept. Where these are of the same launches, with other entries, they are updated. Split lists are one for each task group, in order, so that the clock can be
 * looked at between them.
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
    /* When it was last used, by the clock of the filters; 0: never. */
    uint64_t used;
    /* mts_input_slots.generation of the buffers that the lists name. */
    uint64_t generation;
    mts_filtered_launches launches;
    /* Per stage; NULL: nothing to do. */
    mts_command_list **lists;
    /* stage_first and origins of `launches` as the lists were made of them. */
    uint32_t *list_first, *list_origins;
} mts_filtered;

typedef struct mts_filters {
    /* Its masks are those of the engine's launches. All the rest exists from the first
     * mask on; base NULL: not yet. */
    mts_task_filter filter;

    /* Of each chunk of kept masks: the engine's kernel parameters, then a region for each
       mask. */
    mts_buffer *params[MTS_FILTERS_KEPT / MTS_FILTERS_CHUNK];
    /* The engine's kernel parameters on the host (mts_host_create, as `regions`), and
       their number. */
    uint32_t *base;
    uint32_t base_words;
    size_t region_words;
    /* On the host, each until its copy has arrived: one for each run that may be on the
       device. */
    uint32_t *regions;
    uint32_t region_count;
    uint32_t *task_group;
    /* Calls of mts_filters_get. */
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
 * The lists of active tasks, one for each task group if `split`, else one in lists[0];
 * valid until the next call. `running`: runs of the engine on the device, fewer than its
 * depth. The first call waits for the device; later ones only where lists that one of
 * them uses have to go. LIMIT: over the memory budget. A failure costs only lists that
 * were kept; the caller waits for the device after it.
 */
mts_status mts_filters_get(mts_engine *engine, const uint32_t *active, bool split, uint32_t running,
                           mts_filtered **out, mts_error *error);
void mts_filters_release(mts_engine *engine);

#endif
