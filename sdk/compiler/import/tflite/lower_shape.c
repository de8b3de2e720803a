/*
 * lower_shape.c: operators that give the same elements another shape or order.
 */
#include "compiler/import/tflite/lower.h"

#include <string.h>

/* One dimension may be -1: what is left of `count` elements. */
static bool complete_shape(mts_shape *shape, size_t count)
{
    uint32_t open = MTS_NONE;
    mts_shape known = *shape;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == -1 && open == MTS_NONE) {
            open = i;
            known.dims[i] = 1;
        }
    }
    if (!mts_shape_valid(&known)) {
        return false;
    }
    const size_t product = mts_shape_count(&known);
    if (open != MTS_NONE && product > 0 && count % product == 0) {
        shape->dims[open] = (int64_t)(count / product);
        return true;
    }
    return open == MTS_NONE && product == count;
}

/* The shape is an operand, an option, or, in neither, the one that the file states for
   the result. */
void mts_tflite_lower_reshape(mts_tflite *model)
{
    mts_import_value *x = mts_tflite_native(model, mts_tflite_in(model, 0));
    const mts_flat_vector option = mts_flat_list(&model->flat, &model->node->options, 0, 4);
    const mts_shape *stated = mts_tflite_out_shape(model, 0);
    mts_shape shape = stated ? *stated : (mts_shape){0};
    int64_t dims[MTS_TENSOR_RANK_MAX] = {0};
    if (mts_tflite_in(model, 1)) {
        shape.rank = mts_tflite_ints(model, 1, "the shape", dims, MTS_TENSOR_RANK_MAX);
        memcpy(shape.dims, dims, sizeof dims);
    } else if (option.count > 0 && option.count <= MTS_TENSOR_RANK_MAX) {
        shape.rank = option.count;
        for (uint32_t i = 0; i < option.count; i++) {
            shape.dims[i] = mts_flat_at(&model->flat, &option, MTS_FLAT_I32, i);
        }
    }
    if (!x || !mts_import_ok(model->import) || !complete_shape(&shape, mts_shape_count(&x->shape))) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the shape does not hold as many elements");
        return;
    }
    mts_tflite_out(model, 0, mts_import_emit_reshape(model->import, x, &shape), false);
}

/* Removes the dimensions of 1 that the options name, or all of them. */
void mts_tflite_lower_squeeze(mts_tflite *model)
{
    mts_import_value *x = mts_tflite_native(model, mts_tflite_in(model, 0));
    const mts_flat_vector option = mts_flat_list(&model->flat, &model->node->options, 0, 4);
    uint32_t named = 0;
    mts_shape shape = {0};
    for (uint32_t i = 0; x && i < option.count && mts_import_ok(model->import); i++) {
        named |=
            1u << mts_tflite_axis(model, mts_flat_at(&model->flat, &option, MTS_FLAT_I32, i), x->shape.rank);
    }
    for (uint32_t i = 0; x && i < x->shape.rank; i++) {
        const bool is_one = x->shape.dims[i] == 1, is_named = (named >> i & 1u) != 0;
        if (is_named && !is_one) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED, "dimension %u of %lld cannot be removed", i,
                            (long long)x->shape.dims[i]);
            return;
        }
        if (!is_named && (option.count > 0 || !is_one)) {
            shape.dims[shape.rank++] = x->shape.dims[i];
        }
    }
    if (x) {
        mts_tflite_out(model, 0, mts_import_emit_reshape(model->import, x, &shape), false);
    }
}

/* Inserts a dimension of 1. */
void mts_tflite_lower_expand_dims(mts_tflite *model)
{
    mts_import_value *x = mts_tflite_native(model, mts_tflite_in(model, 0));
    int64_t stated = 0;
    const uint32_t count = mts_tflite_ints(model, 1, "the axis", &stated, 1);
    if (!x || !mts_import_ok(model->import)) {
        return;
    }
    if (count != 1 || x->shape.rank >= MTS_TENSOR_RANK_MAX) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED,
                        "%u axes for rank %u, one and at most rank %d are possible", count, x->shape.rank,
                        MTS_TENSOR_RANK_MAX - 1);
        return;
    }
    const uint32_t axis = mts_tflite_axis(model, stated, x->shape.rank + 1);
    mts_shape shape = {.rank = x->shape.rank + 1};
    for (uint32_t i = 0; i < shape.rank; i++) {
        shape.dims[i] = i == axis ? 1 : x->shape.dims[i > axis ? i - 1 : i];
    }
    mts_tflite_out(model, 0, mts_import_emit_reshape(model->import, x, &shape), false);
}

void mts_tflite_lower_transpose(mts_tflite *model)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    const bool planar = mts_tflite_is_planar(tensor) && !tensor->native;
    const uint32_t rank = tensor->shape.rank;
    int64_t order[MTS_TENSOR_RANK_MAX] = {0};
    uint32_t perm[MTS_TENSOR_RANK_MAX] = {0}, seen = 0;
    if (mts_tflite_ints(model, 1, "the order", order, MTS_TENSOR_RANK_MAX) != rank) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the order does not fit rank %u", rank);
        return;
    }
    for (uint32_t i = 0; i < rank; i++) {
        const uint32_t from = mts_tflite_axis(model, order[i], rank);
        seen |= 1u << from;
        perm[i] = mts_tflite_dim(planar, from);
    }
    if (seen != (1u << rank) - 1) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the order does not name every dimension once");
        return;
    }
    mts_import_value *x = mts_tflite_value(model, tensor, planar);
    mts_tflite_out(model, 0, x ? mts_import_emit_transpose(model->import, x, perm) : NULL, false);
}

static mts_import_value *shuffle(mts_tflite *model, mts_import_value *x, const mts_shape *six,
                                 const uint32_t *perm, const mts_shape *four)
{
    x = mts_import_emit_reshape(model->import, x, six);
    x = x ? mts_import_emit_transpose(model->import, x, perm) : NULL;
    return mts_import_emit_reshape(model->import, x, four);
}

static int64_t read_block(mts_tflite *model)
{
    const int64_t block = mts_tflite_option(model, 0, MTS_FLAT_I32, 0);
    if (block < 1 || block > 65536) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "block size %lld is out of range",
                        (long long)block);
        return 0;
    }
    return block;
}

/* Channels are counted block row, block column, channel. */
void mts_tflite_lower_depth_to_space(mts_tflite *model)
{
    static const uint32_t perm[6] = {0, 3, 4, 1, 5, 2};
    mts_import_value *x = mts_tflite_planar(model, mts_tflite_in(model, 0));
    const int64_t b = read_block(model);
    if (!x || !b || x->shape.dims[1] % (b * b) != 0) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the block size does not divide the channels");
        return;
    }
    const int64_t *d = x->shape.dims, c = d[1] / (b * b);
    const mts_shape six = {.rank = 6, .dims = {d[0], b, b, c, d[2], d[3]}};
    const mts_shape four = {.rank = 4, .dims = {d[0], c, d[2] * b, d[3] * b}};
    mts_tflite_out(model, 0, shuffle(model, x, &six, perm, &four), true);
}

void mts_tflite_lower_space_to_depth(mts_tflite *model)
{
    static const uint32_t perm[6] = {0, 3, 5, 1, 2, 4};
    mts_import_value *x = mts_tflite_planar(model, mts_tflite_in(model, 0));
    const int64_t b = read_block(model);
    if (!x || !b || x->shape.dims[2] % b != 0 || x->shape.dims[3] % b != 0) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the block size does not divide the image");
        return;
    }
    const int64_t *d = x->shape.dims;
    const mts_shape six = {.rank = 6, .dims = {d[0], d[1], d[2] / b, b, d[3] / b, b}};
    const mts_shape four = {.rank = 4, .dims = {d[0], d[1] * b * b, d[2] / b, d[3] / b}};
    mts_tflite_out(model, 0, shuffle(model, x, &six, perm, &four), true);
}

void mts_tflite_lower_shape(mts_tflite *model)
{
    const mts_shape *shape = &mts_tflite_in(model, 0)->shape;
    const mts_shape vector = {.rank = 1, .dims = {shape->rank}};
    bool lasting = false;
    int32_t *dims = mts_import_alloc(model->import, MTS_TYPE_INT32, &vector, &lasting);
    for (uint32_t i = 0; dims && i < shape->rank; i++) {
        dims[i] = (int32_t)shape->dims[i];
    }
    if (dims) {
        mts_tflite_out(model, 0, mts_import_constant(model->import, MTS_TYPE_INT32, &vector, dims, lasting),
                       false);
    }
}
