/*
 * emit.c: run-time nodes and their operands, and the graph's inputs and outputs. A node
 * of constants is computed at once instead.
 */
#include "compiler/import/lower.h"

#include <string.h>

#include "graph/op.h"

/* Data of a constant as the graph keeps it. */
static const void *lasting_data(mts_import *import, const mts_import_value *value, mts_type dtype)
{
    if (value->lasting && value->dtype == dtype) {
        return value->data;
    }
    size_t bytes = 0, count = mts_shape_count(&value->shape);
    if (!mts_shape_bytes(&value->shape, dtype, &bytes)) {
        mts_import_fail(import, MTS_STATUS_LIMIT, "a constant has too many bytes");
    }
    if (!mts_import_room(import, bytes)) {
        return NULL;
    }
    void *data = mts_arena_zero(import->arena, bytes, 1);
    if (!data) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a constant of %zu bytes",
                        bytes);
        return NULL;
    }
    if (value->dtype == dtype) {
        memcpy(data, value->data, bytes);
        return data;
    }
    for (size_t i = 0; i < count; i++) {
        if (dtype == MTS_TYPE_INT32) {
            mts_host_store_int(dtype, data, i, mts_host_load_int(value->dtype, value->data, i));
        } else {
            mts_host_store(dtype, data, i, mts_host_load(value->dtype, value->data, i));
        }
    }
    return data;
}

static uint32_t add_const(mts_import *import, const mts_import_value *value, mts_type dtype)
{
    const void *data = lasting_data(import, value, dtype);
    if (!data) {
        return MTS_NONE;
    }
    uint32_t id = mts_graph_add_const(import->graph, NULL, dtype, &value->shape, data);
    if (id == MTS_NONE) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a constant");
    }
    return id;
}

static uint32_t id_of(mts_import *import, mts_import_value *value, mts_op_input wanted)
{
    if (!mts_import_is_const(value)) {
        return value->id;
    }
    const bool weight = wanted == MTS_OP_INPUT_BLOCKS || wanted == MTS_OP_INPUT_WEIGHT;
    const mts_type dtype = wanted == MTS_OP_INPUT_INDEX                                   ? MTS_TYPE_INT32
                           : weight && (value->dtype == MTS_TYPE_FLOAT16 || value->fixed) ? value->dtype
                                                                                          : MTS_TYPE_FLOAT32;
    uint32_t *id = dtype == MTS_TYPE_FLOAT32 ? &value->id : &value->raw_id;
    if (*id == MTS_NONE) {
        *id = add_const(import, value, dtype);
    }
    return *id;
}

static mts_import_value *wrap(mts_import *import, uint32_t id, mts_type dtype)
{
    mts_import_value *value =
        mts_import_constant(import, dtype, &import->graph->values[id].shape, NULL, false);
    if (value) {
        value->id = id;
    }
    return value;
}

/* What the importer computes itself: anything of constants alone that the evaluator
   knows. */
static mts_import_value *evaluate(mts_import *import, mts_op op, const mts_attrs *attrs,
                                  mts_import_value *const *inputs, uint32_t count)
{
    const mts_shape *few[16];
    const mts_shape **shapes = few;
    if (count > 16) {
        shapes = mts_arena_zero(&import->scratch, count, sizeof(const mts_shape *));
    }
    if (!shapes) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a node");
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        shapes[i] = &inputs[i]->shape;
    }
    mts_shape shape;
    mts_status status = mts_node_infer(op, attrs, shapes, count, &shape, import->error);
    if (status != MTS_STATUS_OK) {
        import->status = status;
        return NULL;
    }
    return mts_host_eval(import, op, attrs, inputs, count, &shape);
}

static bool all_const(mts_import_value *const *inputs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!inputs[i] || !mts_import_is_const(inputs[i])) {
            return false;
        }
    }
    return true;
}

/* Appends a node; what it may not read as a constant is read through an EXPAND to the
   same shape. */
static mts_import_value *append(mts_import *import, mts_op op, const mts_attrs *attrs,
                                mts_import_value *const *inputs, uint32_t count)
{
    uint32_t few[16];
    uint32_t *ids = count > 16 ? mts_arena_zero(&import->scratch, count, sizeof(*ids)) : few;
    if (!ids) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a node");
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        mts_import_value *value = inputs[i];
        if (value && mts_import_is_const(value) && !mts_op_takes_constant(op, i)) {
            const mts_attrs same = {.reshape = {.shape = value->shape}};
            value = append(import, MTS_OP_EXPAND, &same, &value, 1);
        }
        ids[i] = value ? id_of(import, value, mts_op_input_kind(op, i)) : MTS_NONE;
    }
    uint32_t id = MTS_NONE;
    if (!mts_import_ok(import)) {
        return NULL;
    }
    mts_status status =
        mts_graph_add_node(import->graph, op, import->title, ids, count, attrs, &id, import->error);
    if (status != MTS_STATUS_OK) {
        import->status = status;
        return NULL;
    }
    return wrap(import, id, inputs[op == MTS_OP_SELECT ? 1 : 0]->dtype);
}

/* The integers of a quantised value, now that they are read: (x / scale) rounded and
   clamped, plus zero. */
static void emit_codes(mts_import *import, mts_import_value *value)
{
    const mts_import_quantised *q = value ? value->quantised : NULL;
    if (!q || value->id != MTS_NONE || !mts_import_ok(import)) {
        return;
    }
    const mts_attrs divide = {.binary = {.kind = MTS_BIN_DIV, .act = q->codes}};
    const mts_attrs add = {.binary = {.kind = MTS_BIN_ADD}};
    mts_import_value *both[2] = {q->x, q->scale};
    mts_import_value *codes = append(import, MTS_OP_BINARY, &divide, both, 2);
    both[0] = codes;
    both[1] = q->zero;
    codes = codes && q->zero ? append(import, MTS_OP_BINARY, &add, both, 2) : codes;
    value->id = codes ? codes->id : MTS_NONE;
}

mts_import_value *mts_import_emit(mts_import *import, mts_op op, const mts_attrs *attrs,
                                  mts_import_value *const *inputs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        emit_codes(import, inputs[i]);
    }
    if (!mts_import_ok(import) || !inputs[0]) {
        return NULL;
    }
    if (mts_host_can_eval(op, attrs) && all_const(inputs, count)) {
        return evaluate(import, op, attrs, inputs, count);
    }
    return append(import, op, attrs, inputs, count);
}

static mts_import_value *reshape_constant(mts_import *import, mts_import_value *x, const mts_shape *shape)
{
    mts_import_value *y = mts_import_constant(import, x->dtype, shape, x->data, x->lasting);
    const bool rows_stay = shape->rank > 0 && x->shape.rank > 0 && shape->dims[0] == x->shape.dims[0];
    if (y) {
        y->fixed = x->fixed;
    }
    if (y && x->codes && (x->codes->count == 1 || (x->codes->axis == 0 && rows_stay))) {
        mts_import_value *codes = x->codes->codes;
        mts_import_keep_codes(
            import, x, mts_import_constant(import, codes->dtype, shape, codes->data, codes->lasting), 0, y);
    }
    return y;
}

mts_import_value *mts_import_emit_reshape(mts_import *import, mts_import_value *x, const mts_shape *shape)
{
    if (!x || !mts_import_ok(import) || mts_shape_equal(&x->shape, shape)) {
        return x;
    }
    if (mts_import_is_const(x) && mts_shape_count(&x->shape) == mts_shape_count(shape)) {
        return reshape_constant(import, x, shape);
    }
    mts_attrs attrs = {.reshape = {.shape = *shape}};
    return mts_import_emit(import, MTS_OP_RESHAPE, &attrs, &x, 1);
}

mts_import_value *mts_import_emit_transpose(mts_import *import, mts_import_value *x, const uint32_t *perm)
{
    if (!x || !mts_import_ok(import)) {
        return NULL;
    }
    mts_attrs attrs = {0};
    memcpy(attrs.transpose.perm, perm, x->shape.rank * sizeof(*perm));
    mts_import_value *y = mts_import_emit(import, MTS_OP_TRANSPOSE, &attrs, &x, 1);
    if (y && x->codes) {
        mts_import_value *codes = x->codes->codes;
        uint32_t axis = 0;
        while (axis + 1 < x->shape.rank && perm[axis] != x->codes->axis) {
            axis++;
        }
        mts_import_keep_codes(import, x, mts_import_emit(import, MTS_OP_TRANSPOSE, &attrs, &codes, 1), axis,
                              y);
    }
    return y;
}

mts_attrs_slice mts_import_whole(const mts_shape *shape)
{
    mts_attrs_slice whole = {0};
    for (uint32_t i = 0; i < shape->rank; i++) {
        whole.step[i] = 1;
        whole.size[i] = shape->dims[i];
    }
    return whole;
}

mts_import_value *mts_import_emit_slice(mts_import *import, mts_import_value *x, const mts_attrs_slice *part)
{
    if (!x) {
        return NULL;
    }
    const mts_attrs attrs = {.slice = *part};
    mts_shape shape = x->shape;
    bool same = true, empty = false;
    for (uint32_t i = 0; i < shape.rank; i++) {
        shape.dims[i] = part->size[i];
        same = same && shape.dims[i] == x->shape.dims[i] && part->step[i] == 1;
        empty = empty || shape.dims[i] == 0;
    }
    if (same) {
        return x;
    }
    if (!empty) {
        return mts_import_emit(import, MTS_OP_SLICE, &attrs, &x, 1);
    }
    if (!mts_import_is_const(x)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "the result has no elements");
        return NULL;
    }
    return mts_import_constant(import, x->dtype, &shape, x->data, x->lasting);
}

mts_import_value *mts_import_emit_part(mts_import *import, mts_import_value *x, uint32_t axis, int64_t start,
                                       int64_t size)
{
    if (!x) {
        return NULL;
    }
    mts_attrs_slice part = mts_import_whole(&x->shape);
    part.start[axis] = start;
    part.size[axis] = size;
    return mts_import_emit_slice(import, x, &part);
}

mts_import_value *mts_import_emit_binary(mts_import *import, uint32_t kind, mts_import_value *a,
                                         mts_import_value *b)
{
    if (!a || !b) {
        return NULL;
    }
    mts_attrs attrs = {.binary = {.kind = kind}};
    /* division of integers drops the remainder */
    if (kind == MTS_BIN_DIV && mts_type_is_int(a->dtype)) {
        attrs.binary.act.fn = MTS_FN_TRUNC;
    }
    mts_import_value *both[2] = {a, b};
    return mts_import_emit(import, MTS_OP_BINARY, &attrs, both, 2);
}

mts_import_value *mts_import_emit_unary(mts_import *import, uint32_t fn, float a, float b,
                                        mts_import_value *x)
{
    mts_attrs attrs = {.unary = {.act = {.fn = fn, .a = a, .b = b}}};
    return mts_import_emit(import, MTS_OP_UNARY, &attrs, &x, 1);
}

mts_import_value *mts_import_emit_test(mts_import *import, uint32_t fn, float a, float b, mts_import_value *x)
{
    return mts_import_convert(import, mts_import_emit_unary(import, fn, a, b, x), MTS_TYPE_BOOL);
}

mts_import_value *mts_import_retype(mts_import *import, mts_import_value *x, mts_type dtype)
{
    if (!x || !mts_import_ok(import)) {
        return NULL;
    }
    /* The bytes of a constant are of its own type. */
    if (mts_import_is_const(x) && x->dtype != dtype) {
        return mts_import_convert(import, x, dtype);
    }
    mts_import_value *value = mts_import_constant(import, dtype, &x->shape, x->data, x->lasting);
    if (value) {
        value->id = x->id;
        value->quantised = x->quantised;
    }
    return value;
}

mts_import_value *mts_import_convert(mts_import *import, mts_import_value *x, mts_type dtype)
{
    if (!x || !mts_import_ok(import) || !mts_import_is_const(x)) {
        return mts_import_retype(import, x, dtype);
    }
    bool lasting = false;
    void *out = mts_import_alloc(import, dtype, &x->shape, &lasting);
    size_t count = mts_shape_count(&x->shape);
    for (size_t i = 0; out && i < count; i++) {
        if (mts_type_is_int(x->dtype)) {
            mts_host_store_int(dtype, out, i, mts_host_load_int(x->dtype, x->data, i));
        } else {
            mts_host_store(dtype, out, i, mts_host_load(x->dtype, x->data, i));
        }
    }
    return mts_import_constant(import, dtype, &x->shape, out, lasting);
}

mts_import_value *mts_import_emit_cast(mts_import *import, mts_import_value *x, mts_type dtype)
{
    if (x && !mts_import_is_const(x) && dtype == MTS_TYPE_BOOL && x->dtype != MTS_TYPE_BOOL) {
        x = mts_import_emit_unary(import, MTS_FN_NOT_ZERO, 0.0f, 0.0f, x);
    } else if (x && !mts_import_is_const(x) && mts_type_is_int(dtype) && !mts_type_is_int(x->dtype)) {
        x = mts_import_emit_unary(import, MTS_FN_TRUNC, 0.0f, 0.0f, x);
    }
    return mts_import_convert(import, x, dtype);
}

/* ---- inputs and outputs of the graph ---- */

mts_import_value *mts_import_emit_input(mts_import *import, const char *name, mts_type dtype,
                                        const mts_shape *shape)
{
    /* limits of a value, before the graph takes it */
    const mts_shape *const shapes[1] = {shape};
    const mts_attrs attrs = {0};
    mts_shape same;
    if (!mts_import_ok(import)) {
        return NULL;
    }
    const mts_status status = mts_node_infer(MTS_OP_UNARY, &attrs, shapes, 1, &same, import->error);
    if (status != MTS_STATUS_OK) {
        import->status = mts_fail_prefix(import->error, status, "input '%s'", name);
        return NULL;
    }
    mts_import_value *value = mts_import_constant(import, dtype, shape, NULL, false);
    if (value) {
        value->id = mts_graph_add_input(import->graph, name, dtype, shape);
        if (value->id == MTS_NONE) {
            mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for input '%s'", name);
        }
    }
    return value;
}

/* A constant output has a graph value of its own: a reshape to the same shape would be
   dropped. */
static uint32_t const_output(mts_import *import, const char *name, const mts_import_value *value)
{
    const float *data = mts_import_read_f32(import, value, name);
    size_t bytes = 0;
    uint32_t id = MTS_NONE;
    void *copy = data && mts_shape_bytes(&value->shape, MTS_TYPE_FLOAT32, &bytes)
                     ? mts_arena_zero(import->arena, bytes, 1)
                     : NULL;
    if (copy) {
        memcpy(copy, data, bytes);
        id = mts_graph_add_const(import->graph, name, MTS_TYPE_FLOAT32, &value->shape, copy);
    }
    if (id == MTS_NONE) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for output '%s'", name);
    }
    return id;
}

void mts_import_emit_output(mts_import *import, const char *name, mts_import_value *value)
{
    emit_codes(import, value);
    if (!value || !mts_import_ok(import)) {
        return;
    }
    const uint32_t id = mts_import_is_const(value) ? const_output(import, name, value) : value->id;
    MTS_TRY(import->status,
            mts_graph_add_output(import->graph, name, id, value->dtype, &value->shape, import->error));
}
