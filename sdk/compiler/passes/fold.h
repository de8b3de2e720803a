/*
 * fold.h: fuses and drops operators of an imported graph.
 *
 * A convolution absorbs the scales, biases, activation and residual addition that follow
 * it. Padding moves into the window that follows. Reshapes and transposes that change
 * nothing are removed. Weights keep their bits: batch normalisation becomes a scale and a
 * bias beside them, so that tasks may share weights that differ in their statistics.
 */
#ifndef MTS_COMPILER_PASSES_FOLD_H
#define MTS_COMPILER_PASSES_FOLD_H

#include "graph/graph.h"

/*
 * A graph in `arena` that computes the same outputs as `graph` (up to the rounding of
 * merged factors); constants still refer to their data. *out is NULL on failure. Errors:
 * OUT_OF_MEMORY, MALFORMED.
 */
mts_status mts_fold(const mts_graph *graph, mts_arena *arena, mts_graph **out, mts_error *error);

#endif
