/*
 * loop.h: nested loops over values that lie in different orders.
 *
 * A loop has dimensions and, for each operand, how far its element moves with each of
 * them (0: the element is broadcast or summed into). Dimensions are brought into the
 * order of operand 0 and joined where that is possible, so that the innermost one, which
 * a line function works on, is long and dense.
 */
#ifndef MTS_COMPRESS_NET_LOOP_H
#define MTS_COMPRESS_NET_LOOP_H

#include "tensor/tensor.h"

#define MTS_LOOP_RANK (MTS_TENSOR_RANK_MAX + 2)
#define MTS_LOOP_OPERANDS 5

/* Where a value's elements lie: element (i, d...) at data[i * image + sum of d *
   strides]. */
typedef struct mts_view {
    float *data;
    ptrdiff_t image;
    ptrdiff_t strides[MTS_TENSOR_RANK_MAX];
} mts_view;

typedef struct mts_loop {
    uint32_t rank, operands;
    size_t dims[MTS_LOOP_RANK];
    ptrdiff_t strides[MTS_LOOP_OPERANDS][MTS_LOOP_RANK];
    float *data[MTS_LOOP_OPERANDS];
} mts_loop;

/* Works on `count` elements of each operand, step[k] floats apart. */
typedef void (*mts_loop_line)(const void *context, float *const *at, const ptrdiff_t *step, size_t count);

/* Strides of a value in the layout of net.h, and of a constant, which is row-major
   whatever its rank. */
void mts_view_strides(const mts_shape *shape, bool constant, ptrdiff_t strides[MTS_TENSOR_RANK_MAX]);
/* Over `images` images of values of this shape. */
void mts_loop_begin(mts_loop *loop, size_t images, const mts_shape *shape);
/* Adds an operand whose shape is broadcast to the loop's. */
void mts_loop_add(mts_loop *loop, const mts_view *view, const mts_shape *shape);
/* Adds an operand with a stride of its own for each dimension of the shape. */
void mts_loop_add_strides(mts_loop *loop, float *data, ptrdiff_t image, const ptrdiff_t *strides);
/* Brings the dimensions into order and runs the line function. */
void mts_loop_run(mts_loop *loop, mts_loop_line line, const void *context);

/* Lines: operand 0 = operand 1; operand 0 += operand 1; operand 1 += operand 0 */
void mts_line_copy(const void *context, float *const *at, const ptrdiff_t *step, size_t count);
void mts_line_add(const void *context, float *const *at, const ptrdiff_t *step, size_t count);
void mts_line_give(const void *context, float *const *at, const ptrdiff_t *step, size_t count);

#endif
