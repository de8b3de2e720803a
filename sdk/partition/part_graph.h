/*
 * part_graph.h: one task's nodes of one part as a graph.
 *
 * Internal to sdk/partition.
 */
#ifndef MTS_PARTITION_PART_GRAPH_H
#define MTS_PARTITION_PART_GRAPH_H

#include "partition/parts.h"

/* Who gives a value, by its number, to later parts. */
typedef struct mts_home {
    uint32_t part, task, value;
    /* MTS_NONE: no later part reads it. */
    uint32_t link;
} mts_home;

typedef struct mts_splitting {
    const mts_units *units;
    mts_partition *out;
    /* [unit]; NULL: whole tasks. */
    uint32_t *stage_of;
    /* [task]: the part that takes its inputs, and all of it where stage_of is NULL. */
    uint32_t *first_part;
    mts_home *homes; /* [number] */
    uint64_t hash;   /* of the cut */
} mts_splitting;

static inline uint32_t mts_splitting_part(const mts_splitting *s, uint32_t task, uint32_t node)
{
    return s->stage_of ? s->stage_of[s->units->unit_of[task][node]] : s->first_part[task];
}

/* Makes the part's next task of the nodes that `task` has in part `number`; *used is false,
   and nothing is made, where it has nothing to give there. */
mts_status mts_part_graph(mts_splitting *s, uint32_t number, uint32_t task, mts_part *part, bool *used,
                          mts_error *error);

#endif
