/*
 * dense_map.h: graphs with the same nodes in the same order, and how channels pass
 * through each node. Internal to sdk/strategy.
 *
 * An entry of the channel map is a computed value by its place: input i is entry i, the
 * output of node n is entry inputs + n. All graphs of a set have the same entries;
 * batches and channel counts may differ.
 */
#ifndef MTS_STRATEGY_DENSE_MAP_H
#define MTS_STRATEGY_DENSE_MAP_H

#include "graph/align.h"
#include "graph/graph.h"

typedef struct mts_channel_map {
    const mts_graph *const *graphs;
    uint32_t task_count, input_count, entry_count;
    uint32_t **entry_of;     /* [task][value], MTS_NONE for constants */
    uint32_t *parent;        /* union-find: entries whose channels stand in one order */
    mts_propagation *traits; /* per node */
} mts_channel_map;

/* Of a grouped convolution; the smallest library has none that are stitched. */
static inline bool mts_propagation_grouped(const mts_propagation *rule)
{
#ifdef MTS_SMALL
    (void)rule;
    return false;
#else
    return rule->pass == MTS_CHANNELS_GROUPED;
#endif
}

/* mts_node_propagation for the dense form: FIXED wherever there is a reason against
   stitching the node. */
mts_propagation mts_propagation_of(const mts_graph *graph, const mts_node *node);
/* All graphs pass mts_dense_alike with the first. The result lives in `arena`. */
mts_status mts_channel_map_create(mts_channel_map *map, const mts_graph *const *graphs, uint32_t count,
                                  mts_arena *arena, mts_error *error);
uint32_t mts_channel_map_root(const mts_channel_map *map, uint32_t entry);
const mts_shape *mts_channel_map_shape(const mts_channel_map *map, uint32_t task, uint32_t entry);
/* Dimension 1; 1 where there is none. */
uint32_t mts_channel_map_channels(const mts_channel_map *map, uint32_t task, uint32_t entry);
/* Entry of a node's input; MTS_NONE where it is constant or absent. */
uint32_t mts_channel_map_input(const mts_channel_map *map, uint32_t task, uint32_t node, uint32_t input);
/* A node's constant operand, NULL where it is computed or absent. */
const mts_value *mts_channel_map_constant(const mts_channel_map *map, uint32_t task, uint32_t node,
                                          uint32_t input);

#endif
