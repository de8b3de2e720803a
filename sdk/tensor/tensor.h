/*
 * tensor.h: element types, shapes, and the description of a dense tensor.
 *
 * Not responsible for storage on a device (sdk/plan/layout.h) nor for what an operator
 * does to a shape (sdk/graph).
 */
#ifndef MTS_TENSOR_TENSOR_H
#define MTS_TENSOR_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define MTS_TYPE_COUNT 10 /* of mts_type */

/* Row-major; a scalar has rank 0 and one element; a dimension may be 0. */
typedef struct mts_shape {
    uint32_t rank;
    int64_t dims[MTS_TENSOR_RANK_MAX];
} mts_shape;

size_t mts_type_size(mts_type dtype);      /* bytes of an element, 0 if dtype is none */
const char *mts_type_name(mts_type dtype); /* "float32", ... */

/* False if rank or a dimension is out of range or the element count times 8 overflows
   size_t. */
bool mts_shape_valid(const mts_shape *shape);
/* Elements of a valid shape. */
size_t mts_shape_count(const mts_shape *shape);
/* Bytes; false on overflow. */
bool mts_shape_bytes(const mts_shape *shape, mts_type dtype, size_t *bytes);
bool mts_shape_equal(const mts_shape *a, const mts_shape *b);
mts_shape mts_shape_make(uint32_t rank, const int64_t *dims);
/* "1x3x224x224" into text, always terminated; returns text. */
const char *mts_shape_text(const mts_shape *shape, char *text, size_t size);
/* Multidirectional broadcast of ONNX/NumPy; false if the shapes do not fit. */
bool mts_shape_broadcast(const mts_shape *a, const mts_shape *b, mts_shape *out);
/* The shape left-padded with ones to MTS_TENSOR_RANK_MAX. */
void mts_shape_pad(const mts_shape *shape, uint32_t dims[MTS_TENSOR_RANK_MAX]);

#endif
