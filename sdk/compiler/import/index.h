/*
 * index.h: picking and placing elements by position (emit_index.c), for the ONNX and the
 * TensorFlow Lite operators.
 *
 * Constant positions are checked: one outside fails as MALFORMED. Run-time positions are
 * not known here: one below 0 counts from the end, and one that is still outside is moved
 * to the nearer end (TAKE of sdk/graph/ops.h). All functions return NULL after a failure.
 */
#ifndef MTS_COMPILER_IMPORT_INDEX_H
#define MTS_COMPILER_IMPORT_INDEX_H

#include "compiler/import/lower.h"

/* ---- picking ---- */
/* x without `axis`, the shape of the indices in its place. */
mts_import_value *mts_import_gather(mts_import *import, mts_import_value *x, uint32_t axis,
                                    mts_import_value *index);
/* Element [i][index[i][j][k]][k] for element [i][j][k] of the indices. */
mts_import_value *mts_import_gather_elements(mts_import *import, mts_import_value *x, uint32_t axis,
                                             mts_import_value *index);
/* The last dimension of the indices names a position in that many dimensions behind the
   first `batch`. */
mts_import_value *mts_import_gather_nd(mts_import *import, mts_import_value *x, mts_import_value *index,
                                       uint32_t batch);
/* Element from[i] of x, counted row-major, as element i of the shape. `from` stays
   valid. */
mts_import_value *mts_import_gather_flat(mts_import *import, mts_import_value *x, const int64_t *from,
                                         const mts_shape *shape);

/* ---- placing: the indices must be constant; `how` is MTS_BIN_ADD, MUL, MAX, MIN, or: ---- */
#define MTS_IMPORT_REPLACE 0xffffu /* of several updates of one element the last one stays */
mts_import_value *mts_import_scatter_nd(mts_import *import, mts_import_value *x, mts_import_value *index,
                                        mts_import_value *updates, uint32_t how);
mts_import_value *mts_import_scatter_elements(mts_import *import, mts_import_value *x, uint32_t axis,
                                              mts_import_value *index, mts_import_value *updates,
                                              uint32_t how);

/* ---- positions as results: int64 ---- */
/* kind: MTS_REDUCE_ARG_ */
mts_import_value *mts_import_arg(mts_import *import, mts_import_value *x, uint32_t kind, uint32_t axis,
                                 bool keep);
/* Positions of the largest or smallest elements along an axis, in order. */
mts_import_value *mts_import_order_of(mts_import *import, mts_import_value *x, uint32_t axis, uint32_t count,
                                      bool largest);
/* A new dimension of `depth` at `axis`: `on` at the position that the index names, `off`
   elsewhere. */
mts_import_value *mts_import_one_hot(mts_import *import, mts_import_value *index, uint32_t axis,
                                     int64_t depth, mts_type dtype, double off, double on);

#endif
