/*
 * common.h: what the operators' files of this folder share.
 */
#ifndef MTS_GRAPH_OPS_COMMON_H
#define MTS_GRAPH_OPS_COMMON_H

#include "graph/op.h"

/* ---- shapes and attributes; they fail with MALFORMED ---- */
/* Shape of input `index`, or NULL if it is absent. */
const mts_shape *mts_infer_input(const mts_infer_call *call, uint32_t index);
/* Input `index`, if present, is a vector of `count` elements. */
mts_status mts_infer_vector(const mts_infer_call *call, uint32_t index, int64_t count, const char *what);
mts_status mts_infer_rank(const mts_infer_call *call, uint32_t index, uint32_t least, uint32_t most);
/* The function exists, its parameters are numbers, and a slope vector is there exactly if
   it needs one. */
mts_status mts_infer_act(const mts_infer_call *call, const mts_act *act, bool has_slope);
/* Rows and columns of a sliding window are in range. */
mts_status mts_infer_window(const mts_infer_call *call, const uint32_t *kernel, const uint32_t *stride,
                            const uint32_t *dilation, const int32_t *pad);
/* A dimension whose positions are run-time values has at most MTS_GRAPH_INDEX_MAX
   elements. LIMIT. */
mts_status mts_infer_positions(const mts_infer_call *call, int64_t count);

/* ---- costs: none, or one multiply-add for each element of input 0, or of the output ---- */
uint64_t mts_cost_none(const mts_graph *graph, const mts_node *node);
uint64_t mts_cost_input(const mts_graph *graph, const mts_node *node);
uint64_t mts_cost_output(const mts_graph *graph, const mts_node *node);

/* ---- channels ---- */
#define MTS_REASON_UNSTITCHED "an operator whose channels cannot be stitched"
mts_propagation mts_channels_fixed(const char *reason);
/* Column of an operator that mixes or moves channels in a way that no rule describes. */
mts_propagation mts_channels_unstitched(const mts_graph *graph, const mts_node *node);
/* Channels are kept, and the activation follows. */
mts_propagation mts_channels_kept_after(const mts_act *act);

#endif
