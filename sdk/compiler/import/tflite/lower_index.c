/*
 * lower_index.c: operators that pick and place elements by position, whose results are
 * positions, and those that repeat elements.
 */
#include "compiler/import/index.h"
#include "compiler/import/tflite/lower.h"

/* By the numbers of the schema. */
enum { CODE_ARG_MAX = 56 };

typedef mts_import_value *value;

static value native(mts_tflite *model, uint32_t index)
{
    return mts_tflite_native(model, mts_tflite_in(model, index));
}

/* Operand 0; *number is the one that operand 1 is. NULL: failed. */
static value with_number(mts_tflite *model, const char *what, int64_t *number)
{
    value x = native(model, 0);
    (void)mts_tflite_ints(model, 1, what, number, 1);
    return mts_import_ok(model->import) ? x : NULL;
}

/* Positions of a constant are never counted from the end in this format. */
static bool no_negative(mts_tflite *model, const mts_import_value *index)
{
    for (size_t i = 0; mts_import_is_const(index) && i < mts_shape_count(&index->shape); i++) {
        const int64_t at = mts_host_load_int(index->dtype, index->data, i);
        if (at < 0) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED, "index %lld is out of range", (long long)at);
            return false;
        }
    }
    return true;
}

/* ---- picking ---- */

/* Batch dimensions as a GatherND of one number: the axis follows the batch. */
static value gather_batches(mts_tflite *model, value x, value index, uint32_t axis, int64_t batch)
{
    mts_shape single = index->shape;
    if (batch != (int64_t)axis || single.rank == MTS_TENSOR_RANK_MAX) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED,
                        "batch dimensions are supported right before the axis only");
        return NULL;
    }
    single.dims[single.rank++] = 1;
    index = mts_import_emit_reshape(model->import, index, &single);
    return index ? mts_import_gather_nd(model->import, x, index, axis) : NULL;
}

void mts_tflite_lower_gather(mts_tflite *model)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    value index = native(model, 1);
    const uint32_t rank = tensor->shape.rank;
    const uint32_t axis = mts_tflite_axis(model, mts_tflite_option(model, 0, MTS_FLAT_I32, 0), rank);
    const int64_t batch = mts_tflite_option(model, 1, MTS_FLAT_I32, 0);
    if (!index || !mts_import_ok(model->import) || !no_negative(model, index)) {
        return;
    }
    const bool planar = mts_tflite_is_planar(tensor) && index->shape.rank == 1 && batch == 0;
    value x = mts_tflite_value(model, tensor, planar);
    if (!x) {
        return;
    }
    mts_tflite_out(model, 0,
                   batch == 0 ? mts_import_gather(model->import, x, mts_tflite_dim(planar, axis), index)
                              : gather_batches(model, x, index, axis, batch),
                   planar);
}

void mts_tflite_lower_embedding(mts_tflite *model)
{
    value index = native(model, 0), table = native(model, 1);
    if (index && table && no_negative(model, index)) {
        mts_tflite_out(model, 0, mts_import_gather(model->import, table, 0, index), false);
    }
}

void mts_tflite_lower_gather_nd(mts_tflite *model)
{
    value x = native(model, 0), index = native(model, 1);
    if (x && index && no_negative(model, index)) {
        mts_tflite_out(model, 0, mts_import_gather_nd(model->import, x, index, 0), false);
    }
}

/* Updates of one element are added up, on zeros. */
void mts_tflite_lower_scatter_nd(mts_tflite *model)
{
    value index = native(model, 0), updates = native(model, 1);
    mts_attrs attrs = {0};
    mts_shape *shape = &attrs.reshape.shape;
    shape->rank = mts_tflite_ints(model, 2, "the shape", shape->dims, MTS_TENSOR_RANK_MAX);
    if (!index || !updates || !no_negative(model, index)) {
        return;
    }
    value zero = mts_import_scalar(model->import, updates->dtype, 0.0);
    value x = mts_import_emit(model->import, MTS_OP_EXPAND, &attrs, &zero, 1);
    mts_tflite_out(model, 0, x ? mts_import_scatter_nd(model->import, x, index, updates, MTS_BIN_ADD) : NULL,
                   false);
}

/* ---- positions as results ---- */

/* Without the channels both layouts leave the same order. */
void mts_tflite_lower_arg(mts_tflite *model)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    int64_t stated = 0;
    (void)mts_tflite_ints(model, 1, "the axis", &stated, 1);
    const uint32_t axis = mts_tflite_axis(model, stated, tensor->shape.rank);
    const bool planar = mts_tflite_is_planar(tensor) && axis == 3;
    value x = mts_tflite_value(model, tensor, planar);
    const uint32_t kind = model->node->code == CODE_ARG_MAX ? MTS_REDUCE_ARG_MAX : MTS_REDUCE_ARG_MIN;
    if (x && mts_import_ok(model->import)) {
        mts_tflite_out(model, 0, mts_import_arg(model->import, x, kind, mts_tflite_dim(planar, axis), false),
                       false);
    }
}

void mts_tflite_lower_top_k(mts_tflite *model)
{
    int64_t count = 0;
    value x = with_number(model, "k", &count);
    if (!x) {
        return;
    }
    const uint32_t rank = x->shape.rank;
    if (rank == 0 || count < 1 || count > x->shape.dims[rank - 1]) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "%lld elements of a row are wanted",
                        (long long)count);
        return;
    }
    value order = mts_import_order_of(model->import, x, rank - 1, (uint32_t)count, true);
    if (order) {
        mts_tflite_out(model, 0, mts_import_gather_elements(model->import, x, rank - 1, order), false);
        mts_tflite_out(model, 1, order, false);
    }
}

void mts_tflite_lower_one_hot(mts_tflite *model)
{
    value index = native(model, 0), on = native(model, 2), off = native(model, 3);
    int64_t depth = 0;
    (void)mts_tflite_ints(model, 1, "the depth", &depth, 1);
    if (!index || !on || !off || !mts_import_ok(model->import)) {
        return;
    }
    const uint32_t axis =
        mts_tflite_axis(model, mts_tflite_option(model, 0, MTS_FLAT_I32, 0), index->shape.rank + 1);
    if (!mts_import_is_const(on) || !mts_import_is_const(off) || mts_shape_count(&on->shape) != 1 ||
        mts_shape_count(&off->shape) != 1) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED,
                        "the two values must be known when the model is compiled");
        return;
    }
    mts_tflite_out(model, 0,
                   mts_import_one_hot(model->import, index, axis, depth, on->dtype,
                                      mts_host_load(off->dtype, off->data, 0),
                                      mts_host_load(on->dtype, on->data, 0)),
                   false);
}

/* ---- sums along an axis ---- */

void mts_tflite_lower_cumsum(mts_tflite *model)
{
    int64_t stated = 0;
    value x = with_number(model, "the axis", &stated);
    const mts_attrs attrs = {.scan = {.axis = x ? mts_tflite_axis(model, stated, x->shape.rank) : 0,
                                      .exclusive = mts_tflite_option(model, 0, MTS_FLAT_U8, 0) != 0,
                                      .reverse = mts_tflite_option(model, 1, MTS_FLAT_U8, 0) != 0}};
    mts_tflite_out(model, 0, mts_import_emit(model->import, MTS_OP_SCAN, &attrs, &x, 1), false);
}

/* ---- repeats ---- */

void mts_tflite_lower_tile(mts_tflite *model)
{
    value x = native(model, 0);
    int64_t repeats[MTS_TENSOR_RANK_MAX] = {0};
    const uint32_t count = mts_tflite_ints(model, 1, "the repeats", repeats, MTS_TENSOR_RANK_MAX);
    if (x) {
        mts_tflite_out(model, 0, mts_import_tile(model->import, x, repeats, count), false);
    }
}

/* BROADCAST_TO (x, shape) and FILL (shape, x) */
static void spread(mts_tflite *model, value x, uint32_t shape_index)
{
    mts_attrs attrs = {0};
    mts_shape *shape = &attrs.reshape.shape;
    shape->rank = mts_tflite_ints(model, shape_index, "the shape", shape->dims, MTS_TENSOR_RANK_MAX);
    if (x && mts_import_ok(model->import)) {
        mts_tflite_out(model, 0,
                       mts_shape_equal(&x->shape, shape)
                           ? x
                           : mts_import_emit(model->import, MTS_OP_EXPAND, &attrs, &x, 1),
                       false);
    }
}

void mts_tflite_lower_broadcast(mts_tflite *model)
{
    spread(model, native(model, 0), 1);
}

void mts_tflite_lower_fill(mts_tflite *model)
{
    spread(model, native(model, 1), 0);
}
