/*
 * tokens.h: products of rows with constant matrices become convolutions.
 *
 * A matrix [.., M, K] of M tokens times a constant [K, O] is a 1x1 convolution of an image
 * of one row: tokens are pixels, [N, K, 1, M]. As a convolution it has everything that
 * layers of images have: blocks that tasks share, tiles with K segments, an epilogue for
 * each task, compression, export. What stands between two products (sums, functions,
 * normalisation over the last dimension, slices and concatenations) computes on the same
 * image, so that elements are only moved where such a chain begins or ends.
 */
#ifndef MTS_COMPILER_PASSES_TOKENS_H
#define MTS_COMPILER_PASSES_TOKENS_H

#include "graph/graph.h"

/*
 * A graph in `arena` that computes the same outputs as `graph`; constants still refer to
 * their data, or to transposed copies in `arena`. *out is `graph` itself where no product
 * becomes a convolution, NULL on failure. Errors: OUT_OF_MEMORY, MALFORMED.
 */
mts_status mts_tokens(const mts_graph *graph, mts_arena *arena, mts_graph **out, mts_error *error);

#endif
