/*
 * lower_shape.c: operators that change or tell a shape without touching the order of
 * elements, transposes and repeats.
 */
#include "compiler/import/lower.h"

#include <string.h>

#include "base/size.h"

void mts_lower_reshape(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    int64_t wanted[MTS_TENSOR_RANK_MAX] = {0}, known = 1;
    uint32_t rank =
        mts_import_ints(import, mts_import_in(import, 1), "the new shape", wanted, MTS_TENSOR_RANK_MAX);
    bool zeros = mts_attr_int(import, "allowzero", 0) != 0;
    int32_t open = -1;
    mts_shape shape = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        if (wanted[i] == 0 && !zeros && i < x->shape.rank) {
            shape.dims[i] = x->shape.dims[i];
        } else if (wanted[i] == -1 && open < 0) {
            open = (int32_t)i;
            continue;
        } else {
            shape.dims[i] = wanted[i];
        }
        if (shape.dims[i] < 0 || !mts_i64_mul(known, shape.dims[i], &known)) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "dimension %u of the new shape is %lld", i,
                            (long long)wanted[i]);
            return;
        }
    }
    int64_t count = (int64_t)mts_shape_count(&x->shape);
    if (open >= 0) {
        if (known == 0 || count % known != 0) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "%lld elements do not fill the new shape",
                            (long long)count);
            return;
        }
        shape.dims[open] = count / known;
    } else if (known != count) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "%lld elements do not fit a shape of %lld",
                        (long long)count, (long long)known);
        return;
    }
    mts_import_out(import, 0, mts_import_emit_reshape(import, x, &shape));
}

void mts_lower_flatten(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    int64_t axis = mts_attr_int(import, "axis", 1);
    axis = axis < 0 ? axis + (int64_t)x->shape.rank : axis;
    if (axis < 0 || axis > (int64_t)x->shape.rank) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "axis %lld does not fit rank %u", (long long)axis,
                        x->shape.rank);
        return;
    }
    mts_shape shape = {.rank = 2, .dims = {1, 1}};
    for (uint32_t i = 0; i < x->shape.rank; i++) {
        shape.dims[i < (uint32_t)axis ? 0 : 1] *= x->shape.dims[i];
    }
    mts_import_out(import, 0, mts_import_emit_reshape(import, x, &shape));
}

/* Axes from an attribute (before opset 13) or the second input, as a bit mask; *count
 * tells whether there are any. */
static uint32_t read_axes(mts_import *import, uint32_t rank, uint32_t *count)
{
    int64_t axes[MTS_TENSOR_RANK_MAX];
    uint32_t mask = 0;
    *count = import->opset >= 13
                 ? mts_import_ints(import, mts_import_in(import, 1), "the axes", axes, MTS_TENSOR_RANK_MAX)
                 : mts_attr_ints(import, "axes", axes, MTS_TENSOR_RANK_MAX);
    for (uint32_t i = 0; i < *count; i++) {
        uint32_t bit = 1u << mts_import_axis(import, axes[i], rank);
        if (mask & bit) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "an axis is named twice");
        }
        mask |= bit;
    }
    return mask;
}

void mts_lower_squeeze(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    uint32_t count = 0, mask = read_axes(import, x->shape.rank, &count);
    mts_shape shape = {0};
    for (uint32_t i = 0; i < x->shape.rank; i++) {
        bool drop = count ? (mask >> i & 1u) != 0 : x->shape.dims[i] == 1;
        if (drop && x->shape.dims[i] != 1) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "dimension %u is %lld, not 1", i,
                            (long long)x->shape.dims[i]);
        } else if (!drop) {
            shape.dims[shape.rank++] = x->shape.dims[i];
        }
    }
    mts_import_out(import, 0, mts_import_emit_reshape(import, x, &shape));
}

void mts_lower_unsqueeze(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    int64_t axes[MTS_TENSOR_RANK_MAX];
    uint32_t count = import->opset >= 13 ? mts_import_ints(import, mts_import_in(import, 1), "the axes", axes,
                                                           MTS_TENSOR_RANK_MAX)
                                         : mts_attr_ints(import, "axes", axes, MTS_TENSOR_RANK_MAX);
    uint32_t rank = x->shape.rank + count, mask = 0, from = 0;
    if (rank > MTS_TENSOR_RANK_MAX || !mts_import_ok(import)) {
        mts_import_fail(import, MTS_STATUS_LIMIT, "rank %u is above %d", rank, MTS_TENSOR_RANK_MAX);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        mask |= 1u << mts_import_axis(import, axes[i], rank);
    }
    mts_shape shape = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        bool new_one = (mask >> i & 1u) != 0;
        if (!new_one && from == x->shape.rank) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "an axis is named twice");
            return;
        }
        shape.dims[i] = new_one ? 1 : x->shape.dims[from++];
    }
    mts_import_out(import, 0, mts_import_emit_reshape(import, x, &shape));
}

void mts_lower_transpose(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    int64_t perm[MTS_TENSOR_RANK_MAX];
    uint32_t count = mts_attr_ints(import, "perm", perm, MTS_TENSOR_RANK_MAX), rank = x->shape.rank;
    uint32_t from[MTS_TENSOR_RANK_MAX] = {0};
    if (count && count != rank) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "perm has %u numbers for rank %u", count, rank);
        return;
    }
    for (uint32_t i = 0; i < rank; i++) {
        from[i] = count ? mts_import_axis(import, perm[i], rank) : rank - 1 - i;
    }
    mts_import_out(import, 0, mts_import_emit_transpose(import, x, from));
}

void mts_lower_expand(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    int64_t wanted[MTS_TENSOR_RANK_MAX];
    uint32_t rank =
        mts_import_ints(import, mts_import_in(import, 1), "the shape", wanted, MTS_TENSOR_RANK_MAX);
    mts_shape given = mts_shape_make(rank, wanted);
    mts_attrs attrs = {0};
    if (!mts_shape_broadcast(&x->shape, &given, &attrs.reshape.shape)) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the input does not broadcast to the wanted shape");
        return;
    }
    if (mts_shape_equal(&attrs.reshape.shape, &x->shape)) {
        mts_import_out(import, 0, x);
        return;
    }
    mts_import_out(import, 0, mts_import_emit(import, MTS_OP_EXPAND, &attrs, &x, 1));
}

static void out_ints(mts_import *import, const int64_t *numbers, uint32_t count, bool scalar)
{
    mts_shape shape = {.rank = scalar ? 0 : 1, .dims = {count}};
    bool lasting = false;
    int64_t *data = mts_import_alloc(import, MTS_TYPE_INT64, &shape, &lasting);
    if (data) {
        memcpy(data, numbers, count * sizeof(*numbers));
        mts_import_out(import, 0, mts_import_constant(import, MTS_TYPE_INT64, &shape, data, lasting));
    }
}

static int64_t clamp(int64_t number, int64_t least, int64_t most)
{
    return number < least ? least : number > most ? most : number;
}

void mts_lower_shape(mts_import *import)
{
    const mts_shape *shape = &mts_import_in(import, 0)->shape;
    int64_t rank = shape->rank;
    int64_t start = mts_attr_int(import, "start", 0), end = mts_attr_int(import, "end", rank);
    start = clamp(start < 0 ? start + rank : start, 0, rank);
    end = clamp(end < 0 ? end + rank : end, 0, rank);
    out_ints(import, shape->dims + start, end > start ? (uint32_t)(end - start) : 0, false);
}

void mts_lower_size(mts_import *import)
{
    int64_t count = (int64_t)mts_shape_count(&mts_import_in(import, 0)->shape);
    out_ints(import, &count, 1, true);
}

/* One dimension at a time: [a, d, b] is seen as [a, 1, d b], expanded to [a, r, d b] and
 * seen as [a, r d, b].
 */
static mts_import_value *repeat(mts_import *import, mts_import_value *x, uint32_t axis, int64_t times)
{
    if (!x || times == 1) {
        return x;
    }
    mts_shape narrow = {.rank = 3, .dims = {1, 1, 1}}, out = x->shape;
    for (uint32_t i = 0; i < out.rank; i++) {
        narrow.dims[i < axis ? 0 : 2] *= out.dims[i];
    }
    mts_attrs attrs = {.reshape = {.shape = narrow}};
    attrs.reshape.shape.dims[1] = times;
    out.dims[axis] *= times;
    mts_import_value *y = mts_import_emit_reshape(import, x, &narrow);
    return mts_import_emit_reshape(import, mts_import_emit(import, MTS_OP_EXPAND, &attrs, &y, 1), &out);
}

mts_import_value *mts_import_tile(mts_import *import, mts_import_value *x, const int64_t *repeats,
                                  uint32_t count)
{
    if (count != x->shape.rank) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "%u repeats for rank %u", count, x->shape.rank);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (repeats[i] < 1 || repeats[i] > INT32_MAX) {
            mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "%lld repeats are not supported",
                            (long long)repeats[i]);
            return NULL;
        }
        x = repeat(import, x, i, repeats[i]);
    }
    return mts_import_ok(import) ? x : NULL;
}

void mts_lower_tile(mts_import *import)
{
    int64_t repeats[MTS_TENSOR_RANK_MAX] = {0};
    const uint32_t count =
        mts_import_ints(import, mts_import_in(import, 1), "the repeats", repeats, MTS_TENSOR_RANK_MAX);
    mts_import_out(import, 0, mts_import_tile(import, mts_import_in(import, 0), repeats, count));
}

static mts_import_value *shuffle(mts_import *import, mts_import_value *x, const int64_t *six,
                                 const uint32_t *perm, const int64_t *four)
{
    mts_shape wide = mts_shape_make(6, six), out = mts_shape_make(4, four);
    mts_import_value *y = mts_import_emit_reshape(import, x, &wide);
    return mts_import_emit_reshape(import, mts_import_emit_transpose(import, y, perm), &out);
}

static int64_t read_block(mts_import *import, const mts_import_value *x)
{
    int64_t block = mts_attr_int(import, "blocksize", 0);
    if (block < 1 || block > 65536 || x->shape.rank != 4) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "blocksize %lld or rank %u is out of range",
                        (long long)block, x->shape.rank);
        return 0;
    }
    return block;
}

void mts_lower_depth_to_space(mts_import *import)
{
    static const uint32_t depth_first[6] = {0, 3, 4, 1, 5, 2}, column_first[6] = {0, 1, 4, 2, 5, 3};
    mts_import_value *x = mts_import_in(import, 0);
    bool crd = strcmp(mts_attr_string(import, "mode", "DCR"), "CRD") == 0;
    int64_t b = read_block(import, x);
    const int64_t *d = x->shape.dims;
    if (!b || d[1] % (b * b) != 0) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "blocksize does not divide the channels");
        return;
    }
    int64_t c = d[1] / (b * b);
    const int64_t dcr_six[6] = {d[0], b, b, c, d[2], d[3]}, crd_six[6] = {d[0], c, b, b, d[2], d[3]};
    const int64_t four[4] = {d[0], c, d[2] * b, d[3] * b};
    mts_import_out(import, 0,
                   shuffle(import, x, crd ? crd_six : dcr_six, crd ? column_first : depth_first, four));
}

void mts_lower_space_to_depth(mts_import *import)
{
    static const uint32_t depth_first[6] = {0, 3, 5, 1, 2, 4}, column_first[6] = {0, 1, 3, 5, 2, 4};
    mts_import_value *x = mts_import_in(import, 0);
    const bool crd = strcmp(mts_attr_string(import, "mode", "DCR"), "CRD") == 0; /* opset 28 */
    int64_t b = read_block(import, x);
    const int64_t *d = x->shape.dims;
    if (!b || d[2] % b != 0 || d[3] % b != 0) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "blocksize does not divide the image");
        return;
    }
    const int64_t six[6] = {d[0], d[1], d[2] / b, b, d[3] / b, b};
    const int64_t four[4] = {d[0], d[1] * b * b, d[2] / b, d[3] / b};
    mts_import_out(import, 0, shuffle(import, x, six, crd ? column_first : depth_first, four));
}
