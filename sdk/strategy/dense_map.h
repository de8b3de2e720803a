/*
 * dense_map.h: graphs with the same nodes in the same order, and how channels pass through each node.
 * Internal to sdk/stitch.
 *
 * A wire is a computed value by its place: input i is wire i, the output of node n is wire inputs + n. All
 * graphs of a set have the same wires; batches and channel counts may differ.
 */
#ifndef MTS_STRATEGY_DENSE_MAP_H
#define MTS_STRATEGY_DENSE_MAP_H

#include "graph/align.h"
#include "graph/graph.h"

typedef enum mts_channel_rule {
    MTS_CHANNELS_MIXED,    /* a convolution: each output channel reads all input channels */
    MTS_CHANNELS_KEPT,     /* output channel c belongs to channel c of the inputs */
    MTS_CHANNELS_JOINED,   /* channels of the inputs one after another */
    MTS_CHANNELS_REPEATED, /* output channel c * factor + k belongs to input channel c */
    MTS_CHANNELS_FIXED     /* anything else: channels have to stay as they are */
} mts_channel_rule;

typedef struct mts_propagation {
    mts_channel_rule pass;
    uint32_t factor;    /* SPREAD */
    bool dirty;         /* a channel of zeros does not stay zero */
    bool across;        /* SAME, but the result depends on all channels (softmax) */
    const char *reason; /* BLOCKED: why, for people */
} mts_propagation;

typedef struct mts_channel_map {
    const mts_graph *const *graphs;
    uint32_t task_count, input_count, wire_count;
    uint32_t **wire_of;      /* [task][value], MTS_NONE for constants */
    uint32_t *parent;        /* union-find: wires whose channels stand in one order */
    mts_propagation *traits; /* per node */
} mts_channel_map;

mts_propagation mts_propagation_of(const mts_graph *graph, const mts_node *node);
/* All graphs pass mts_dense_alike with the first. The result lives in `arena`. */
mts_status mts_channel_map_create(mts_channel_map *wires, const mts_graph *const *graphs, uint32_t count,
                                  mts_arena *arena, mts_error *error);
uint32_t mts_channel_map_root(const mts_channel_map *wires, uint32_t wire);
const mts_shape *mts_channel_map_shape(const mts_channel_map *wires, uint32_t task, uint32_t wire);
/* Dimension 1; 1 where there is none. */
uint32_t mts_channel_map_channels(const mts_channel_map *wires, uint32_t task, uint32_t wire);
/* Wire of a node's input; MTS_NONE where it is constant or absent. */
uint32_t mts_channel_map_input(const mts_channel_map *wires, uint32_t task, uint32_t node, uint32_t input);
/* A node's constant operand, NULL where it is computed or absent. */
const mts_value *mts_channel_map_constant(const mts_channel_map *wires, uint32_t task, uint32_t node,
                                          uint32_t input);

#endif
