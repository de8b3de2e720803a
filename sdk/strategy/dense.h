/*
 * dense.h: networks embedded in wider channels: the graphs of strategies `mts` and
 * `netfuse`.
 *
 * mts_dense_stitch makes one graph of several (MTS, SECON 2022, Eq. 7 and 8, as
 * published). Its batch is the sum of the tasks' batches, its channels are the stitched
 * ones: channels whose filters share weight blocks coincide, all others lie side by side.
 * What a task does not have in a filter is an explicit zero, and what a filter makes of
 * images of other tasks is cleared by that image's scale and bias. No weight is shared
 * between channels any more and no zero is left out: that is the method's cost.
 *
 * mts_dense_widen pads each graph's channels to the largest count that the set has at
 * that place (NETFUSE, which batches layers of equal shape only). Padded filters are
 * zeros. Channels that a graph output, or an operator that looks across channels, reads
 * stay as they are.
 *
 * Both need graphs with the same nodes in the same order. Pure.
 */
#ifndef MTS_STRATEGY_DENSE_H
#define MTS_STRATEGY_DENSE_H

#include "graph/graph.h"

/* Where a task's port lies in the stitched graph: `first` elements behind the start of
   port `port`. */
typedef struct mts_dense_port {
    uint32_t port; /* MTS_NONE: the output is a constant of the task's graph */
    size_t first;
} mts_dense_port;

typedef struct mts_dense {
    mts_graph *graph;
    mts_dense_port **inputs, **outputs; /* [task][port] */
} mts_dense;

/* Whether two graphs have the same nodes in the same order; batch and channels may
   differ. */
bool mts_dense_alike(const mts_graph *a, const mts_graph *b);

/* `count` graphs, alike. Constants of the result live in `arena` or in the graphs.
   Errors: UNSUPPORTED (the text names the layer and the reason), LIMIT, OUT_OF_MEMORY. */
mts_status mts_dense_stitch(const mts_graph *const *graphs, uint32_t count, mts_arena *arena, mts_dense *out,
                            mts_error *error);

/* `count` graphs, alike; out[i] is graphs[i] where nothing is padded. Errors: LIMIT,
   OUT_OF_MEMORY. */
mts_status mts_dense_widen(const mts_graph *const *graphs, uint32_t count, mts_arena *arena,
                           const mts_graph **out, mts_error *error);

/* The graph with every constant in one block, as a model that shares nothing has it.
   OUT_OF_MEMORY only. */
mts_status mts_dense_own(const mts_graph *graph, mts_arena *arena, const mts_graph **out, mts_error *error);

#endif
