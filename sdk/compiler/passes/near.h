/*
 * near.h: makes constants that are nearly equal exactly equal (mtsc_options.tolerance).
 */
#ifndef MTS_COMPILER_PASSES_NEAR_H
#define MTS_COMPILER_PASSES_NEAR_H

#include "bundle/archive.h"
#include "graph/align.h"

/*
 * Along the rows of a family: a constant operand that differs from an earlier task's by
 * at most `tolerance` times that one's largest magnitude takes over its bytes and type;
 * if not the whole, then single filters of a convolution (output rows) do. *deviation is
 * raised to the largest difference. Constants have one block each. OUT_OF_MEMORY only.
 */
mts_status mts_merge_near(mts_graph *const *graphs, const mts_alignment *rows, float tolerance,
                          double *deviation, mts_error *error);

#endif
