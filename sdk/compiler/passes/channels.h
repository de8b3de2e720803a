/*
 * channels.h: which channels of a graph's values may be put into another order, and which
 * must move together.
 *
 * A group is a set of values whose dimension 1 has one common order (through activations,
 * pools, residual adds). Not responsible for what the order is (order.c) nor for moving
 * weights (permute.c).
 */
#ifndef MTS_COMPILER_PASSES_CHANNELS_H
#define MTS_COMPILER_PASSES_CHANNELS_H

#include "graph/graph.h"

typedef enum mts_channel_kind {
    MTS_CHANNEL_FREE,   /* any order will do */
    MTS_CHANNEL_PINNED, /* the order is visible from outside or to an operator that mixes channels */
    MTS_CHANNEL_PARTS   /* follows from the orders of other groups */
} mts_channel_kind;

/* Channel c of a part becomes `factor` channels in a row (a flattened feature map). */
typedef struct mts_channel_part {
    uint32_t group, factor;
} mts_channel_part;

typedef struct mts_channel_group {
    mts_channel_kind kind;
    uint32_t channels, part_first, part_count; /* parts have fewer channels than the group: no cycles */
} mts_channel_group;

typedef struct mts_channels {
    uint32_t *group_of; /* [value]; MTS_NONE: constant or of rank below 2 */
    uint32_t group_count;
    mts_channel_group *groups;
    mts_channel_part *parts;
} mts_channels;

/* OUT_OF_MEMORY only. The result lives in `arena`. */
mts_status mts_channels_find(const mts_graph *graph, mts_arena *arena, mts_channels *out, mts_error *error);
/* Whether the channels of a node's input 0 and of its output are the same ones in the
   same order. */
bool mts_channels_pass(const mts_graph *graph, const mts_node *node);
/* CONV with one filter per channel. */
bool mts_channels_depthwise(const mts_graph *graph, const mts_node *node);
/* Channels of a reshape's output that one input channel becomes, 0 if it mixes
   channels. */
uint32_t mts_channels_flatten(const mts_graph *graph, const mts_node *node);
/* The dimension of operand `index` of a BINARY that lies along the output's channels and
 * is longer than 1, or NONE. */
uint32_t mts_channels_axis(const mts_graph *graph, const mts_node *node, uint32_t index);

#endif
