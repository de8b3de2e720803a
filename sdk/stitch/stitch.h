/*
 * stitch.h: several tasks' graphs as one list of layers.
 *
 * The tasks of a group are aligned node by node; the nodes of a row become one layer with
 * one member per distinct computation. Work on equal operands is done once: tasks whose
 * node has the same inputs and the same weight blocks share a member. Groups follow one
 * another. Pure: no device, no offsets, no layouts (sdk/plan).
 *
 * Sources: MTS (SECON 2022) for stitching, HiveMind (2018) for merging equal work. See
 * docs/design/sharing.md.
 */
#ifndef MTS_STITCH_STITCH_H
#define MTS_STITCH_STITCH_H

#include "graph/align.h"
#include "graph/graph.h"

/* A tensor that exists once, read or written by one or more tasks. */
typedef struct mts_svalue {
    mts_shape shape;
    uint32_t member; /* that writes it, or MTS_NONE: an input */
    uint32_t slot;   /* input: the caller's slot, else MTS_NONE */
} mts_svalue;

/* One computation, done for `tasks` tasks; node `node` of graph `graph` stands for all of
   them. */
typedef struct mts_member {
    uint32_t graph, node, tasks;
    uint32_t input_count;
    uint32_t *inputs; /* svalue per node input; MTS_NONE where it is constant or absent */
    uint32_t output;  /* svalue */
} mts_member;

/* Members [first, first + count) of one aligned row. */
typedef struct mts_layer {
    mts_op op;
    uint32_t group;
    uint32_t first, count;
} mts_layer;

typedef struct mts_stitched {
    uint32_t graph_count, value_count, member_count, layer_count, group_count;
    const mts_graph *const *graphs;
    bool shared;
    mts_svalue *values;
    mts_member *members;
    mts_layer *layers;
    uint32_t **value_of; /* [graph][value]: svalue, MTS_NONE for constants */
} mts_stitched;

typedef struct mts_stitch_request {
    const mts_graph *const *graphs; /* one per task; they outlive the result */
    uint32_t graph_count;
    const uint32_t *group_of; /* per graph, 0 .. group_count - 1 */
    uint32_t group_count;
    const uint32_t *const *slot_of; /* [graph][input]: equal slots hold equal data */
    bool share;                     /* false: nothing is merged, weights stay private */
} mts_stitch_request;

/* The result and all it points to live in `arena`. Errors: OUT_OF_MEMORY, LIMIT. */
mts_status mts_stitch(const mts_stitch_request *request, mts_arena *arena, mts_stitched **out,
                      mts_error *error);

/* The node and graph value behind a member's input i; NULL where absent. */
const mts_node *mts_member_node(const mts_stitched *stitched, const mts_member *member);
const mts_value *mts_member_operand(const mts_stitched *stitched, const mts_member *member, uint32_t input);

#endif
