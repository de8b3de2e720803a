/*
 * quantize.c: values that are quantised and dequantised at run time. A value that was
 * quantised keeps the real numbers, so that dequantising it costs nothing; its integers
 * are emitted only when something reads them.
 */
#include "compiler/import/lower.h"

#include <string.h>

static bool is_constant(const mts_import_value *value)
{
    return !value || mts_import_is_const(value);
}

/* Scale or zero as an operand beside a value of this rank. */
static mts_import_value *along(mts_import *import, mts_import_value *numbers, uint32_t axis, uint32_t rank)
{
    const size_t count = mts_shape_count(&numbers->shape);
    mts_shape shape = {.rank = count == 1 ? 0 : rank, .dims = {1, 1, 1, 1, 1, 1}};
    shape.dims[count == 1 ? 0 : axis] = (int64_t)count;
    return mts_import_emit_reshape(import, numbers, &shape);
}

static bool same_numbers(const mts_import_value *a, const mts_import_value *b)
{
    size_t bytes = 0;
    return a == b || (a && b && mts_import_is_const(a) && mts_import_is_const(b) && a->dtype == b->dtype &&
                      mts_shape_count(&a->shape) == mts_shape_count(&b->shape) &&
                      mts_shape_bytes(&a->shape, a->dtype, &bytes) && memcmp(a->data, b->data, bytes) == 0);
}

mts_import_value *mts_import_dequantize(mts_import *import, mts_import_value *x, mts_import_value *scale,
                                        mts_import_value *zero, uint32_t axis)
{
    if (!mts_import_ok(import) || !x || !scale) {
        return NULL;
    }
    if (mts_import_is_const(x) && is_constant(scale) && is_constant(zero)) {
        return mts_import_dequantize_constant(import, x, scale, zero, axis);
    }
    const mts_import_quantised *q = x->quantised;
    if (q && same_numbers(q->scale, scale) && same_numbers(q->zero, zero)) {
        return q->real;
    }
    mts_import_parameters p;
    const bool fits = is_constant(scale) && is_constant(zero)
                          ? mts_import_parameters_read(import, &x->shape, scale, zero, axis, &p)
                          : mts_import_parameters_fit(import, &x->shape, scale, zero, axis);
    if (!fits) {
        return NULL;
    }
    mts_import_value *y = mts_import_retype(import, x, MTS_TYPE_FLOAT32);
    if (zero) {
        y = mts_import_emit_binary(import, MTS_BIN_SUB, y, along(import, zero, axis, x->shape.rank));
    }
    return mts_import_emit_binary(import, MTS_BIN_MUL, y, along(import, scale, axis, x->shape.rank));
}

/* By steps: what has a scale for each channel, or one that is known at run time only. */
static mts_import_value *quantize_by_steps(mts_import *import, mts_import_value *x, mts_import_value *scale,
                                           mts_import_value *zero, mts_type dtype, uint32_t axis)
{
    double low = 0, high = 0;
    (void)mts_import_code_range(dtype, &low, &high);
    if (high > 255) {
        mts_import_fail(
            import, MTS_STATUS_UNSUPPORTED,
            "16-bit quantisation with a scale for each channel, or of run time, is not supported");
    }
    if (!mts_import_ok(import) || !mts_import_parameters_fit(import, &x->shape, scale, zero, axis)) {
        return NULL;
    }
    const uint32_t rank = x->shape.rank;
    mts_attrs attrs = {
        .binary = {.kind = MTS_BIN_DIV, .act = {.fn = MTS_FN_QUANT8, .a = 1.0f, .b = (float)low}}};
    if (zero) {
        attrs.binary.act = (mts_act){.fn = MTS_FN_QUANT16, .a = 1.0f, .b = -32768.0f};
    }
    mts_import_value *divide[2] = {x, along(import, scale, axis, rank)};
    mts_import_value *y = mts_import_emit(import, MTS_OP_BINARY, &attrs, divide, 2);
    if (zero && y) {
        const mts_attrs add = {
            .binary = {.kind = MTS_BIN_ADD, .act = {.fn = MTS_FN_CLIP, .a = (float)low, .b = (float)high}}};
        mts_import_value *both[2] = {y, along(import, zero, axis, rank)};
        y = mts_import_emit(import, MTS_OP_BINARY, &add, both, 2);
    }
    return mts_import_retype(import, y, dtype);
}

mts_import_value *mts_import_quantize(mts_import *import, mts_import_value *x, mts_import_value *scale,
                                      mts_import_value *zero, mts_type dtype, uint32_t axis)
{
    double low = 0, high = 0;
    mts_import_parameters p;
    if (!mts_import_ok(import) || !x || !scale) {
        return NULL;
    }
    if (!mts_import_code_range(dtype, &low, &high)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "quantisation to %s is not supported",
                        mts_type_name(dtype));
        return NULL;
    }
    if (!is_constant(scale) || !is_constant(zero)) {
        return quantize_by_steps(import, x, scale, zero, dtype, axis);
    }
    if (mts_import_is_const(x)) {
        return mts_import_quantize_constant(import, x, scale, zero, dtype, axis);
    }
    if (!mts_import_parameters_read(import, &x->shape, scale, zero, axis, &p)) {
        return NULL;
    }
    if (p.count > 1) {
        return quantize_by_steps(import, x, scale, zero, dtype, axis);
    }
    mts_import_quantised *q = mts_arena_zero(&import->scratch, 1, sizeof(*q));
    mts_import_value *y = mts_import_constant(import, dtype, &x->shape, NULL, false);
    if (!q || !y) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a value");
        return NULL;
    }
    const uint32_t fn = high - low > 255 ? MTS_FN_QUANT16 : MTS_FN_QUANT8;
    const float least = (float)(low - (double)p.zero[0]);
    *q = (mts_import_quantised){.real = mts_import_emit_unary(import, fn, p.scale[0], least, x),
                                .x = x,
                                .scale = scale,
                                .zero = zero,
                                .codes = {.fn = fn, .a = 1.0f, .b = least}};
    y->quantised = q;
    return q->real ? y : NULL;
}
