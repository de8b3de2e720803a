/*
 * emit_index.c: picking and placing elements by position, for the ONNX and the TensorFlow
 * Lite operators.
 *
 * Positions that are known when the model is compiled are checked here and become a
 * GATHER, or a SLICE where they follow each other in equal steps; run-time ones become a
 * TAKE, which counts a position below 0 from the end and moves one outside to the nearer
 * end.
 */
#include "compiler/import/index.h"

#include <math.h>
#include <string.h>

typedef mts_import_value *value;

#define ROUNDS_MOST 64u /* updates of one element that are combined */

/* ---- positions ---- */

/* Element i of a constant as 0..dim-1; false after a failure. */
static bool position(mts_import *import, const mts_import_value *index, size_t i, int64_t dim, int64_t *at)
{
    const int64_t stated = mts_host_load_int(index->dtype, index->data, i);
    if (stated < -dim || stated >= dim) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "index %lld is outside a dimension of %lld",
                        (long long)stated, (long long)dim);
        return false;
    }
    *at = stated < 0 ? stated + dim : stated;
    return true;
}

/* A constant of positions as int32 between 0 and dim - 1. */
static value checked(mts_import *import, const mts_import_value *index, int64_t dim)
{
    bool lasting = false;
    int32_t *numbers = mts_import_alloc(import, MTS_TYPE_INT32, &index->shape, &lasting);
    for (size_t i = 0; numbers && i < mts_shape_count(&index->shape); i++) {
        int64_t at = 0;
        if (!position(import, index, i, dim, &at)) {
            return NULL;
        }
        numbers[i] = (int32_t)at;
    }
    return numbers ? mts_import_constant(import, MTS_TYPE_INT32, &index->shape, numbers, lasting) : NULL;
}

static int64_t product(const mts_shape *shape, uint32_t from, uint32_t to)
{
    int64_t count = 1;
    for (uint32_t i = from; i < to; i++) {
        count *= shape->dims[i];
    }
    return count;
}

static value view(mts_import *import, value x, int64_t a, int64_t b, int64_t c)
{
    const mts_shape shape = {.rank = 3, .dims = {a, b, c}};
    return x ? mts_import_emit_reshape(import, x, &shape) : NULL;
}

/* TAKE of [outer, dim, inner], seen in the shape of the result. */
static value take(mts_import *import, value x, value index, const mts_shape *shape)
{
    value both[2] = {x, index};
    const mts_attrs none = {0};
    value y = x && index ? mts_import_emit(import, MTS_OP_TAKE, &none, both, 2) : NULL;
    return y ? mts_import_emit_reshape(import, y, shape) : NULL;
}

/* The distance of positions that ascend in equal steps; 0: they do not. */
static int64_t even_step(const mts_import_value *index)
{
    const int32_t *at = index->data;
    const size_t count = mts_shape_count(&index->shape);
    const int64_t step = count > 1 ? (int64_t)at[1] - at[0] : 1;
    for (size_t i = 1; i < count; i++) {
        if ((int64_t)at[i] - at[i - 1] != step) {
            return 0;
        }
    }
    return count > 0 && step > 0 ? step : 0;
}

static value gather_constant(mts_import *import, value x, uint32_t axis, value index)
{
    const mts_attrs attrs = {.gather = {.axis = axis}};
    value both[2] = {x, index ? checked(import, index, x->shape.dims[axis]) : NULL};
    mts_shape shape;
    const int64_t step = both[1] ? even_step(both[1]) : 0;
    if (!both[1]) {
        return NULL;
    }
    if (step == 0 || !mts_gathered_shape(&x->shape, axis, &index->shape, &shape)) {
        return mts_import_emit(import, MTS_OP_GATHER, &attrs, both, 2);
    }
    mts_attrs_slice part = mts_import_whole(&x->shape);
    part.start[axis] = ((const int32_t *)both[1]->data)[0];
    part.step[axis] = step;
    part.size[axis] = (int64_t)mts_shape_count(&index->shape);
    value y = mts_import_emit_slice(import, x, &part);
    return y && !mts_shape_equal(&y->shape, &shape) ? mts_import_emit_reshape(import, y, &shape) : y;
}

/* ---- picking ---- */

value mts_import_gather(mts_import *import, value x, uint32_t axis, value index)
{
    if (!mts_import_ok(import)) {
        return NULL;
    }
    if (mts_import_is_const(index)) {
        return gather_constant(import, x, axis, index);
    }
    const mts_shape *s = &x->shape;
    mts_shape shape;
    if (!mts_gathered_shape(s, axis, &index->shape, &shape)) {
        mts_import_fail(import, MTS_STATUS_LIMIT, "the result's rank %u is above %d",
                        s->rank - 1 + index->shape.rank, MTS_TENSOR_RANK_MAX);
        return NULL;
    }
    value rows = view(import, x, product(s, 0, axis), s->dims[axis], product(s, axis + 1, s->rank));
    return take(import, rows, view(import, index, 1, (int64_t)mts_shape_count(&index->shape), 1), &shape);
}

/* The first elements of each dimension but `axis`, as many as the indices have. */
static value cut_beside(mts_import *import, value x, uint32_t axis, const mts_shape *to)
{
    mts_attrs_slice part = mts_import_whole(&x->shape);
    for (uint32_t i = 0; i < x->shape.rank; i++) {
        part.size[i] = i == axis ? x->shape.dims[i] : to->dims[i];
        if (part.size[i] > x->shape.dims[i]) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "dimension %u of the indices is %lld, above %lld",
                            i, (long long)to->dims[i], (long long)x->shape.dims[i]);
            return NULL;
        }
    }
    return mts_import_emit_slice(import, x, &part);
}

value mts_import_gather_elements(mts_import *import, value x, uint32_t axis, value index)
{
    if (!mts_import_ok(import)) {
        return NULL;
    }
    if (index->shape.rank != x->shape.rank) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "indices of rank %u do not fit rank %u",
                        index->shape.rank, x->shape.rank);
        return NULL;
    }
    const mts_shape shape = index->shape;
    index = mts_import_is_const(index) ? checked(import, index, x->shape.dims[axis]) : index;
    x = cut_beside(import, x, axis, &shape);
    if (!x || !index) {
        return NULL;
    }
    const int64_t outer = product(&shape, 0, axis), inner = product(&shape, axis + 1, shape.rank);
    value rows = view(import, x, outer, x->shape.dims[axis], inner);
    return take(import, rows, view(import, index, outer, shape.dims[axis], inner), &shape);
}

/* Number of the element that each index names in dimensions [first, first + count) of x,
   of constants. */
static value joined_constant(mts_import *import, const mts_import_value *x, const mts_import_value *index,
                             uint32_t first, uint32_t count)
{
    const mts_shape shape = {.rank = 1, .dims = {(int64_t)mts_shape_count(&index->shape) / count}};
    bool lasting = false;
    int64_t *numbers = mts_import_alloc(import, MTS_TYPE_INT64, &shape, &lasting);
    for (int64_t n = 0; numbers && n < shape.dims[0]; n++) {
        for (uint32_t k = 0; k < count; k++) {
            int64_t at = 0;
            if (!position(import, index, (size_t)n * count + k, x->shape.dims[first + k], &at)) {
                return NULL;
            }
            numbers[n] = numbers[n] * x->shape.dims[first + k] + at;
        }
    }
    return numbers ? mts_import_constant(import, MTS_TYPE_INT64, &shape, numbers, lasting) : NULL;
}

/* Number k of each index [N, count]: below 0 it counts from the end; outside it moves to
   the nearer end. */
static value bounded(mts_import *import, value rows, uint32_t k, int64_t dim)
{
    value at = mts_import_emit_part(import, rows, 1, k, 1);
    value below = mts_import_emit_unary(import, MTS_FN_CLIP, -INFINITY, 0.0f, at);
    value back = mts_import_emit_unary(import, MTS_FN_NOT_ZERO, 0.0f, 0.0f, below);
    value length = mts_import_scalar(import, rows->dtype, (double)dim);
    back = mts_import_emit_binary(import, MTS_BIN_MUL, back, length);
    return mts_import_emit_unary(import, MTS_FN_CLIP, 0.0f, (float)(dim - 1),
                                 mts_import_emit_binary(import, MTS_BIN_ADD, at, back));
}

/* The same of run-time indices. */
static value joined(mts_import *import, const mts_import_value *x, value index, uint32_t first,
                    uint32_t count)
{
    const mts_shape pairs = {.rank = 2, .dims = {(int64_t)mts_shape_count(&index->shape) / count, count}};
    value rows = mts_import_emit_reshape(import, index, &pairs), sum = NULL;
    for (uint32_t k = 0; rows && count > 1 && k < count; k++) {
        value at = bounded(import, rows, k, x->shape.dims[first + k]);
        value length = mts_import_scalar(import, rows->dtype, (double)x->shape.dims[first + k]);
        sum = sum ? mts_import_emit_binary(import, MTS_BIN_ADD,
                                           mts_import_emit_binary(import, MTS_BIN_MUL, sum, length), at)
                  : at;
    }
    return count > 1 ? sum : rows;
}

value mts_import_gather_nd(mts_import *import, value x, value index, uint32_t batch)
{
    const mts_shape *s = &x->shape, *i = &index->shape;
    const int64_t count = i->rank > 0 ? i->dims[i->rank - 1] : 0;
    bool fits = mts_import_ok(import) && count > 0 && batch + count <= s->rank && batch < i->rank &&
                i->rank - 1 + s->rank - batch - (uint32_t)count <= MTS_TENSOR_RANK_MAX;
    for (uint32_t d = 0; fits && d < batch; d++) {
        fits = s->dims[d] == i->dims[d];
    }
    if (!fits) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the indices do not fit the data");
        return NULL;
    }
    const uint32_t last = batch + (uint32_t)count;
    mts_shape shape = {.rank = i->rank - 1};
    memcpy(shape.dims, i->dims, shape.rank * sizeof *shape.dims);
    for (uint32_t d = last; d < s->rank; d++) {
        shape.dims[shape.rank++] = s->dims[d];
    }
    const int64_t outer = product(s, 0, batch);
    value rows = view(import, x, outer, product(s, batch, last), product(s, last, s->rank));
    value at = mts_import_is_const(index) ? joined_constant(import, x, index, batch, (uint32_t)count)
                                          : joined(import, x, index, batch, (uint32_t)count);
    return take(import, rows, view(import, at, outer, product(i, batch, i->rank - 1), 1), &shape);
}

value mts_import_gather_flat(mts_import *import, value x, const int64_t *from, const mts_shape *shape)
{
    const mts_shape flat = {.rank = 1, .dims = {(int64_t)mts_shape_count(&x->shape)}};
    const mts_shape all = {.rank = 1, .dims = {(int64_t)mts_shape_count(shape)}};
    value y = mts_import_emit_reshape(import, x, &flat);
    value index = mts_import_constant(import, MTS_TYPE_INT64, &all, from, false);
    y = y && index ? gather_constant(import, y, 0, index) : NULL;
    return y ? mts_import_emit_reshape(import, y, shape) : NULL;
}

/* ---- placing ---- */

static value join_rows(mts_import *import, value a, value b)
{
    const mts_attrs attrs = {.concat = {.axis = 0}};
    value both[2] = {a, b};
    return a && b ? mts_import_emit(import, MTS_OP_CONCAT, &attrs, both, 2) : NULL;
}

/* Rows [from[0]], [from[1]], ... of x. */
static value pick_rows(mts_import *import, value x, const int64_t *from, int64_t count)
{
    const mts_shape shape = {.rank = 1, .dims = {count}};
    value index = mts_import_constant(import, MTS_TYPE_INT64, &shape, from, false);
    return x && index ? gather_constant(import, x, 0, index) : NULL;
}

/* The smallest and the largest number of a type; infinite where float32 holds them
   all. */
static void ends_of(mts_type dtype, double *low, double *high)
{
    static const struct {
        mts_type dtype;
        double low, high;
    } ends[] = {{MTS_TYPE_INT32, INT32_MIN, INT32_MAX}, {MTS_TYPE_INT16, INT16_MIN, INT16_MAX},
                {MTS_TYPE_INT8, INT8_MIN, INT8_MAX},    {MTS_TYPE_UINT16, 0, UINT16_MAX},
                {MTS_TYPE_UINT8, 0, UINT8_MAX},         {MTS_TYPE_BOOL, 0, 1}};
    *low = -(double)INFINITY;
    *high = (double)INFINITY;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends[i].dtype == dtype) {
            *low = ends[i].low;
            *high = ends[i].high;
        }
    }
}

/* A row that changes nothing. */
static value neutral_row(mts_import *import, mts_type dtype, int64_t width, uint32_t how)
{
    double low = 0.0, high = 0.0;
    ends_of(dtype, &low, &high);
    const double number = how == MTS_BIN_MUL   ? 1.0
                          : how == MTS_BIN_MAX ? low
                          : how == MTS_BIN_MIN ? high
                                               : 0.0;
    const mts_shape row = {.rank = 2, .dims = {1, width}};
    const mts_attrs attrs = {.reshape = {.shape = row}};
    value one = mts_import_scalar(import, dtype, number);
    return mts_import_emit(import, MTS_OP_EXPAND, &attrs, &one, 1);
}

/* Zeros for `count` numbers, within the limits of what a model may compute; NULL:
   failed. */
static int64_t *numbers_make(mts_import *import, size_t count)
{
    const mts_shape shape = {.rank = 1, .dims = {(int64_t)count}};
    bool lasting = false;
    return mts_import_alloc(import, MTS_TYPE_INT64, &shape, &lasting);
}

/* The k-th update of each row; where there is none, row `none`. */
static int64_t *updates_of(mts_import *import, const int64_t *rows, int64_t count, int64_t row_count,
                           uint32_t k, bool *more)
{
    int64_t *from = numbers_make(import, (size_t)row_count);
    int64_t *met = numbers_make(import, (size_t)row_count);
    if (!from || !met) {
        return NULL;
    }
    *more = false;
    for (int64_t r = 0; r < row_count; r++) {
        from[r] = count;
    }
    for (int64_t n = 0; n < count; n++) {
        const int64_t number = met[rows[n]]++;
        from[rows[n]] = number == k ? n : from[rows[n]];
        *more = *more || number > k;
    }
    return from;
}

/* Rows of x [R, width] with updates [N, width]: number n belongs to row rows[n]. */
static value place(mts_import *import, value x, value updates, const int64_t *rows, uint32_t how)
{
    const int64_t row_count = x->shape.dims[0], count = updates->shape.dims[0];
    if (how == MTS_IMPORT_REPLACE) {
        int64_t *from = numbers_make(import, (size_t)row_count);
        for (int64_t r = 0; from && r < row_count; r++) {
            from[r] = r;
        }
        for (int64_t n = 0; from && n < count; n++) {
            from[rows[n]] = row_count + n;
        }
        return from ? pick_rows(import, join_rows(import, x, updates), from, row_count) : NULL;
    }
    value source = join_rows(import, updates, neutral_row(import, x->dtype, x->shape.dims[1], how));
    bool more = true;
    for (uint32_t k = 0; more && mts_import_ok(import); k++) {
        if (k == ROUNDS_MOST) {
            mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                            "more than %u updates of one element are not supported", ROUNDS_MOST);
            return NULL;
        }
        const int64_t *from = updates_of(import, rows, count, row_count, k, &more);
        x = from ? mts_import_emit_binary(import, how, x, pick_rows(import, source, from, row_count)) : NULL;
    }
    return x;
}

static bool known_indices(mts_import *import, const mts_import_value *index)
{
    if (mts_import_ok(import) && !mts_import_is_const(index)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                        "the indices must be known when the model is compiled");
    }
    return mts_import_ok(import);
}

value mts_import_scatter_nd(mts_import *import, value x, value index, value updates, uint32_t how)
{
    const mts_shape shape = x->shape, *i = &index->shape;
    const int64_t count = i->rank > 0 ? i->dims[i->rank - 1] : 0;
    if (!known_indices(import, index)) {
        return NULL;
    }
    if (count < 1 || count > shape.rank) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the indices do not fit the data");
        return NULL;
    }
    const int64_t width = product(&shape, (uint32_t)count, shape.rank);
    const mts_shape rows = {.rank = 2, .dims = {product(&shape, 0, (uint32_t)count), width}};
    const mts_shape parts = {.rank = 2, .dims = {product(i, 0, i->rank - 1), width}};
    if (mts_shape_count(&parts) != mts_shape_count(&updates->shape)) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the updates do not fit the indices");
        return NULL;
    }
    value at = joined_constant(import, x, index, 0, (uint32_t)count);
    x = mts_import_emit_reshape(import, x, &rows);
    updates = mts_import_emit_reshape(import, updates, &parts);
    value y = at && x && updates ? place(import, x, updates, at->data, how) : NULL;
    return y ? mts_import_emit_reshape(import, y, &shape) : NULL;
}

value mts_import_scatter_elements(mts_import *import, value x, uint32_t axis, value index, value updates,
                                  uint32_t how)
{
    const mts_shape shape = x->shape, *i = &index->shape;
    const size_t count = mts_shape_count(i);
    const mts_shape rows = {.rank = 2, .dims = {(int64_t)mts_shape_count(&shape), 1}};
    const mts_shape parts = {.rank = 2, .dims = {(int64_t)count, 1}};
    bool fits = i->rank == shape.rank && mts_shape_equal(i, &updates->shape);
    for (uint32_t d = 0; fits && d < shape.rank; d++) {
        fits = d == axis || i->dims[d] <= shape.dims[d];
    }
    if (count == 0 && fits) {
        return x;
    }
    if (!fits) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "indices, updates and data do not fit");
    }
    int64_t *at = known_indices(import, index) ? numbers_make(import, count) : NULL;
    if (!at) {
        return NULL;
    }
    for (size_t n = 0; n < count; n++) {
        size_t rest = n;
        int64_t stride = 1;
        for (uint32_t d = shape.rank; d-- > 0;) {
            int64_t here = (int64_t)(rest % (size_t)i->dims[d]);
            rest /= (size_t)i->dims[d];
            if (d == axis && !position(import, index, n, shape.dims[d], &here)) {
                return NULL;
            }
            at[n] += here * stride;
            stride *= shape.dims[d];
        }
    }
    x = mts_import_emit_reshape(import, x, &rows);
    updates = mts_import_emit_reshape(import, updates, &parts);
    value y = x && updates ? place(import, x, updates, at, how) : NULL;
    return y ? mts_import_emit_reshape(import, y, &shape) : NULL;
}

/* ---- positions as results ---- */

value mts_import_arg(mts_import *import, value x, uint32_t kind, uint32_t axis, bool keep)
{
    const mts_attrs attrs = {.reduce = {.kind = kind, .axes = 1u << axis, .keep = keep}};
    return mts_import_retype(import, mts_import_emit(import, MTS_OP_REDUCE, &attrs, &x, 1), MTS_TYPE_INT64);
}

value mts_import_order_of(mts_import *import, value x, uint32_t axis, uint32_t count, bool largest)
{
    uint32_t perm[MTS_TENSOR_RANK_MAX] = {0};
    const uint32_t last = x->shape.rank - 1;
    for (uint32_t i = 0; i <= last; i++) {
        perm[i] = i;
    }
    perm[axis] = last;
    perm[last] = axis;
    const mts_attrs attrs = {.order = {.count = count, .largest = largest}};
    x = axis != last ? mts_import_emit_transpose(import, x, perm) : x;
    value y = mts_import_emit(import, MTS_OP_ORDER, &attrs, &x, 1);
    y = axis != last ? mts_import_emit_transpose(import, y, perm) : y;
    return mts_import_retype(import, y, MTS_TYPE_INT64);
}

/* 1 where position d of the new dimension is not the one that is named. */
static value elsewhere(mts_import *import, value index, const mts_shape *range, int64_t first)
{
    bool lasting = false;
    int64_t *numbers = mts_import_alloc(import, MTS_TYPE_INT64, range, &lasting);
    for (size_t i = 0; numbers && i < mts_shape_count(range); i++) {
        numbers[i] = first + (int64_t)i;
    }
    value all = numbers ? mts_import_constant(import, MTS_TYPE_INT64, range, numbers, lasting) : NULL;
    value apart = mts_import_emit_binary(import, MTS_BIN_SUB, index, all);
    return apart ? mts_import_emit_unary(import, MTS_FN_NOT_ZERO, 0.0f, 0.0f, apart) : NULL;
}

value mts_import_one_hot(mts_import *import, value index, uint32_t axis, int64_t depth, mts_type dtype,
                         double off, double on)
{
    mts_shape spread = {.rank = index->shape.rank + 1}, range = {.rank = spread.rank};
    if (spread.rank > MTS_TENSOR_RANK_MAX || depth < 1 || depth > INT32_MAX) {
        mts_import_fail(import, MTS_STATUS_LIMIT, "depth %lld or rank %u is out of range", (long long)depth,
                        spread.rank);
        return NULL;
    }
    for (uint32_t i = 0; i < spread.rank; i++) {
        spread.dims[i] = i == axis ? 1 : index->shape.dims[i < axis ? i : i - 1];
        range.dims[i] = i == axis ? depth : 1;
    }
    index = mts_import_emit_reshape(import, index, &spread);
    value above = elsewhere(import, index, &range, 0);
    value away = mts_import_emit_binary(import, MTS_BIN_MUL, above, elsewhere(import, index, &range, -depth));
    if (!away) {
        return NULL;
    }
    value cold = mts_import_scalar(import, dtype, off);
    return mts_import_emit_select(import, away, cold, mts_import_scalar(import, dtype, on));
}
