/*
 * value.c: constants of the file, operands in the layout at hand, results.
 */
#include "compiler/import/tflite/lower.h"

#include <string.h>

static const uint32_t to_planar[4] = {0, 3, 1, 2}, to_native[4] = {0, 2, 3, 1};

/* ---- constants ---- */

/* The stored bytes, dense and aligned. */
static const unsigned char *stored_bytes(mts_tflite *model, const mts_tflite_tensor *tensor, size_t size)
{
    const size_t count = mts_shape_count(&tensor->shape);
    const bool is_sparse = tensor->sparsity.at != 0;
    if (!is_sparse && tensor->bytes != count * size) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED,
                        "tensor '%s' has %zu bytes, its shape and type %s need %zu", tensor->name,
                        tensor->bytes, mts_tflite_type_name(tensor->type), count * size);
        return NULL;
    }
    if (!is_sparse && (uintptr_t)tensor->data % size == 0) {
        return tensor->data;
    }
    /* a dense form may be larger than the file, so it counts as computed */
    const mts_type as = size == 8   ? MTS_TYPE_INT64
                        : size == 4 ? MTS_TYPE_INT32
                        : size == 2 ? MTS_TYPE_FLOAT16
                                    : MTS_TYPE_UINT8;
    bool lasting = false;
    unsigned char *copy = mts_import_alloc(model->import, as, &tensor->shape, &lasting);
    if (copy && is_sparse) {
        mts_tflite_densify(model, tensor, size, copy);
    } else if (copy && tensor->bytes) {
        memcpy(copy, tensor->data, tensor->bytes);
    }
    return copy;
}

/* In the file's order; quantised numbers as float32, sparse ones dense. */
static mts_import_value *constant_of(mts_tflite *model, const mts_tflite_tensor *tensor)
{
    mts_type dtype = MTS_TYPE_FLOAT32;
    if (!mts_tflite_dtype(tensor->type, &dtype)) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED, "constant '%s' has type %s", tensor->name,
                        mts_tflite_type_name(tensor->type));
        return NULL;
    }
    const unsigned char *data = stored_bytes(model, tensor, mts_type_size(dtype));
    if (!data || !mts_import_ok(model->import)) {
        return NULL;
    }
    mts_import_value *stored = mts_import_constant(model->import, dtype, &tensor->shape, data, false);
    return mts_tflite_is_quantised(model, tensor) ? mts_tflite_real(model, tensor, stored) : stored;
}

/* ---- operands ---- */

mts_tflite_tensor *mts_tflite_in(mts_tflite *model, uint32_t index)
{
    if (index >= model->node->inputs.count) {
        return NULL;
    }
    const int64_t number = mts_flat_at(&model->flat, &model->node->inputs, MTS_FLAT_I32, index);
    return number < 0 ? NULL : &model->tensors[number];
}

bool mts_tflite_is_planar(const mts_tflite_tensor *tensor)
{
    const bool is_image = tensor->is_input && tensor->shape.rank == 4;
    return (tensor->planar && !mts_import_is_const(tensor->planar)) || is_image;
}

/* The same elements under another order of dimensions; a reshape where that moves
   none. */
static mts_import_value *reorder(mts_tflite *model, mts_import_value *x, const uint32_t *perm)
{
    mts_shape shape = {.rank = 4};
    const int64_t *d = x->shape.dims;
    const bool moves = d[1] * d[2] != 1 && d[3] != 1 && perm == to_planar;
    const bool moves_back = d[2] * d[3] != 1 && d[1] != 1 && perm == to_native;
    for (uint32_t i = 0; i < 4; i++) {
        shape.dims[i] = d[perm[i]];
    }
    return moves || moves_back ? mts_import_emit_transpose(model->import, x, perm)
                               : mts_import_emit_reshape(model->import, x, &shape);
}

mts_import_value *mts_tflite_weight(mts_tflite *model, mts_tflite_tensor *tensor)
{
    if (!tensor || !mts_import_ok(model->import)) {
        return NULL;
    }
    if (!tensor->native && tensor->planar) {
        tensor->native = reorder(model, tensor->planar, to_native);
    } else if (!tensor->native && tensor->data) {
        tensor->native = constant_of(model, tensor);
    } else if (!tensor->native) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "tensor '%s' is not defined before it is used",
                        tensor->name);
    }
    return tensor->native;
}

mts_import_value *mts_tflite_native(mts_tflite *model, mts_tflite_tensor *tensor)
{
    mts_import_value *value = mts_tflite_weight(model, tensor);
    if (!value || !mts_import_is_const(value) || value->dtype != MTS_TYPE_FLOAT16) {
        return value;
    }
    if (!tensor->wide) {
        const float *data = mts_import_read_f32(model->import, value, tensor->name);
        tensor->wide = mts_import_constant(model->import, MTS_TYPE_FLOAT32, &value->shape, data, false);
    }
    return tensor->wide;
}

mts_import_value *mts_tflite_planar(mts_tflite *model, mts_tflite_tensor *tensor)
{
    if (tensor->planar) {
        return tensor->planar;
    }
    mts_import_value *x = mts_tflite_native(model, tensor);
    if (!x) {
        return NULL;
    }
    if (x->shape.rank > 4) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED, "tensor '%s' has rank %u, an image has 4",
                        tensor->name, x->shape.rank);
        return NULL;
    }
    mts_shape four = {.rank = 4, .dims = {1, 1, 1, 1}};
    memcpy(four.dims + 4 - x->shape.rank, x->shape.dims, x->shape.rank * sizeof x->shape.dims[0]);
    x = mts_import_emit_reshape(model->import, x, &four);
    mts_import_value *planar = x ? reorder(model, x, to_planar) : NULL;
    /* the planar form of a lower rank has another shape, so it does not stand for the
       tensor */
    if (tensor->shape.rank == 4) {
        tensor->planar = planar;
    }
    return planar;
}

mts_import_value *mts_tflite_value(mts_tflite *model, mts_tflite_tensor *tensor, bool planar)
{
    return planar ? mts_tflite_planar(model, tensor) : mts_tflite_native(model, tensor);
}

bool mts_tflite_align(mts_tflite *model, uint32_t count, mts_import_value **out)
{
    bool fits = true, planar = false;
    for (uint32_t i = 0; i < count; i++) {
        const mts_tflite_tensor *tensor = mts_tflite_in(model, i);
        fits = fits && tensor->shape.rank <= 4;
        planar = planar || mts_tflite_is_planar(tensor);
    }
    for (uint32_t i = 0; i < count; i++) {
        out[i] = mts_tflite_value(model, mts_tflite_in(model, i), fits && planar);
    }
    return fits && planar;
}

uint32_t mts_tflite_dim(bool planar, uint32_t dim)
{
    static const uint32_t dims[4] = {0, 2, 3, 1};
    return planar ? dims[dim] : dim;
}

uint32_t mts_tflite_axis(mts_tflite *model, int64_t axis, uint32_t rank)
{
    const int64_t at = axis < 0 ? axis + (int64_t)rank : axis;
    if (at < 0 || at >= (int64_t)rank) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "axis %lld does not exist in rank %u",
                        (long long)axis, rank);
        return 0;
    }
    return (uint32_t)at;
}

uint32_t mts_tflite_ints(mts_tflite *model, uint32_t index, const char *what, int64_t *out, uint32_t most)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, index);
    return tensor ? mts_import_ints(model->import, mts_tflite_native(model, tensor), what, out, most) : 0;
}

/* ---- options ---- */

int64_t mts_tflite_option(mts_tflite *model, uint32_t field, mts_flat_kind kind, int64_t fallback)
{
    return mts_flat_int(&model->flat, &model->node->options, field, kind, fallback);
}

mts_import_value *mts_tflite_activate(mts_tflite *model, mts_import_value *y, int64_t activation)
{
    switch (activation) {
    case 0:
        return y;
    case 1:
        return mts_import_emit_unary(model->import, MTS_FN_RELU, 0.0f, 0.0f, y);
    case 2:
        return mts_import_emit_unary(model->import, MTS_FN_CLIP, -1.0f, 1.0f, y);
    case 3:
        return mts_import_emit_unary(model->import, MTS_FN_CLIP, 0.0f, 6.0f, y);
    case 4:
        return mts_import_emit_unary(model->import, MTS_FN_TANH, 0.0f, 0.0f, y);
    default:
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED, "fused activation %lld is not supported",
                        (long long)activation);
        return NULL;
    }
}

/* ---- results ---- */

static mts_tflite_tensor *result(mts_tflite *model, uint32_t index)
{
    if (index >= model->node->outputs.count) {
        return NULL;
    }
    return &model->tensors[mts_flat_at(&model->flat, &model->node->outputs, MTS_FLAT_I32, index)];
}

bool mts_tflite_out_type(mts_tflite *model, mts_type *dtype)
{
    const mts_tflite_tensor *tensor = result(model, 0);
    if (!tensor || !mts_tflite_dtype(tensor->type, dtype) || tensor->type == MTS_TFLITE_INT8 ||
        tensor->type == MTS_TFLITE_INT16) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED, "a result of type %s is not supported",
                        tensor ? mts_tflite_type_name(tensor->type) : "nothing");
        return false;
    }
    return true;
}

const mts_shape *mts_tflite_out_shape(mts_tflite *model, uint32_t index)
{
    const mts_tflite_tensor *tensor = result(model, index);
    return tensor ? &tensor->shape : NULL;
}

/* Whether a computed shape is the stated one, apart from the dimensions that the file
   leaves open. */
static bool holds(const mts_tflite_tensor *tensor, const mts_shape *shape)
{
    bool same = shape->rank == tensor->shape.rank;
    for (uint32_t i = 0; same && i < shape->rank; i++) {
        same = shape->dims[i] == tensor->shape.dims[i] || (tensor->open >> i & 1u) != 0;
    }
    return same;
}

void mts_tflite_out(mts_tflite *model, uint32_t index, mts_import_value *value, bool planar)
{
    mts_tflite_tensor *tensor = result(model, index);
    value = tensor && value ? mts_tflite_round(model, tensor, value) : NULL;
    if (!value || !mts_import_ok(model->import)) {
        return;
    }
    mts_shape shape = value->shape;
    for (uint32_t i = 0; planar && i < 4; i++) {
        shape.dims[i] = value->shape.dims[mts_tflite_dim(true, i)];
    }
    /* an empty shape is one that the file does not state */
    if (model->shapes_hold && tensor->shape.rank > 0 && !holds(tensor, &shape)) {
        char stated[96], computed[96];
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "'%s' has shape %s in the file, %s is computed",
                        tensor->name, mts_shape_text(&tensor->shape, stated, sizeof stated),
                        mts_shape_text(&shape, computed, sizeof computed));
        return;
    }
    tensor->shape = shape;
    *(planar ? &tensor->planar : &tensor->native) = value;
    const bool is_computed =
        value->id != MTS_NONE && model->import->graph->values[value->id].kind == MTS_VALUE_NODE;
    if (is_computed && *tensor->name &&
        !mts_graph_name_value(model->import->graph, value->id, tensor->name)) {
        mts_import_fail(model->import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a name");
    }
}
