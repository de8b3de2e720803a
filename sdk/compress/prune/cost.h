/*
 * cost.h: multiply-adds and bytes of a graph of which only some channels are left,
 * without making it.
 */
#ifndef MTS_COMPRESS_PRUNE_COST_H
#define MTS_COMPRESS_PRUNE_COST_H

#include "compiler/passes/channels.h"

/* `base` units with all channels; in proportion to what is left of the groups `out` and
   `in` (or NONE). */
typedef struct mts_cost_term {
    uint64_t base;
    uint32_t out, in;
} mts_cost_term;

typedef struct mts_cost {
    const mts_channels *channels;
    uint32_t *order; /* [group_count]: groups, parts before what they are parts of */
    uint32_t work_count, bytes_count;
    mts_cost_term *work, *bytes;
} mts_cost;

/* In `arena`; false if memory is short. */
bool mts_cost_make(const mts_graph *graph, const mts_channels *channels, mts_arena *arena, mts_cost *out);
/* Fills in the counts of PARTS groups from those of the others. */
void mts_cost_settle(const mts_cost *cost, uint32_t *kept);
/* Multiply-adds (mts_node_mul_adds of all nodes) and bytes of constants with kept[group]
 * channels, settled.
 */
uint64_t mts_cost_work(const mts_cost *cost, const uint32_t *kept);
uint64_t mts_cost_bytes(const mts_cost *cost, const uint32_t *kept);

#endif
