/*
 * batch_first.h: values that have tokens before the batch, [M, N, ..], get the batch first.
 *
 * XLNet moves the batch of its tokens behind them. Such values begin at a TRANSPOSE that does so
 * and end where another one moves the batch to the front again. In between products with constant
 * matrices, sums, functions and normalisations compute as well on [N, M, ..], where the rows of an
 * image follow each other, as the pass tokens.h wants them. A batch of 1 needs none of that.
 */
#ifndef MTS_COMPILER_PASSES_BATCH_FIRST_H
#define MTS_COMPILER_PASSES_BATCH_FIRST_H

#include "graph/graph.h"

/*
 * A graph in `arena` that computes the same outputs as `graph`; constants still refer to their
 * data. *out is `graph` itself where no product has tokens before a batch, NULL on failure.
 * Errors: OUT_OF_MEMORY, MALFORMED.
 */
mts_status mts_batch_first(const mts_graph *graph, mts_arena *arena, mts_graph **out, mts_error *error);

#endif
