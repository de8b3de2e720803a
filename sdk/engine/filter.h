/*
 * filter.h: an engine's launches without what only serves tasks that do not run: lists for sets of tasks.
 *
 *
 * A launch keeps the entries (task_masks.h) that serve a task of the set, side by side in a table of its own,
 * over a smaller grid; one with none is dropped. Offsets in the arena and the order of launches stay as
 * planned, so what runs computes the same bits. The table, and room for the lists of the last few sets, are
 * made at the first such set; a list is made when its set comes and is not kept.
 *
 * Split lists: one for each group of tasks, in order, for who wants to look at the clock between them.
 */
#ifndef MTS_ENGINE_FILTER_H
#define MTS_ENGINE_FILTER_H

#include "device/device.h"
#include "lower/task_masks.h"

typedef struct mts_engine mts_engine;

#define MTS_SUBSETS_KEPT 8

/* The launches of one set of tasks. */
typedef struct mts_subset {
    uint32_t *tasks; /* a row of bits */
    bool split;
    bool made;
    uint64_t used;            /* when, counted in submissions */
    uint64_t lendings;        /* mts_engine.lendings of the buffers that the lists name */
    mts_launch *launches;     /* stage by stage */
    uint32_t *sources;        /* per launch, as mts_encoded_launch.source */
    uint32_t *stage_first;    /* per stage, and one behind the last: its first launch */
    mts_command_list **lists; /* per stage; NULL: nothing to do */
} mts_subset;

typedef struct mts_subsets {
    uint32_t words;     /* of a set of tasks */
    uint32_t *set_bits; /* [set_count][words]: the sets that entries name */
    uint32_t set_count;

    /* All that follows exists from the first subset on; table NULL: not yet. */
    mts_buffer *table;             /* the engine's launch table, then a region per kept subset */
    uint32_t *base;                /* the engine's launch table on the host */
    uint32_t base_words, capacity; /* words of it; launches of a subset at most */
    size_t region_words;
    uint32_t *region;       /* one region, while it is made */
    uint32_t *launch_stage; /* per launch: the group before whose layers it stands; MTS_NONE: behind all */
    uint32_t *set_stage;    /* per set: the first group of its tasks that run; MTS_NONE: none runs */
    uint32_t *moved;        /* table index of each job with several epilogues, of one launch */
    uint64_t clock;
    mts_subset kept[MTS_SUBSETS_KEPT];
    uint32_t kept_count;
} mts_subsets;

/*
 * The lists of a set of tasks, neither empty nor being run; a list per group if `split`, else one in
 * lists[0]. Valid until the next call. LIMIT: over the memory budget. A failure costs only lists that were
 * kept.
 */
mts_status mts_subset_get(mts_engine *engine, const uint32_t *tasks, bool split, mts_subset **out,
                          mts_error *error);
void mts_subsets_release(mts_engine *engine);

#endif
