/*
 * lower_quant.c: quantisation, and the operators on integers that quantised models have.
 * They are computed with the real numbers that the integers stand for. Not responsible
 * for how quantised numbers are held (coded.c).
 */
#include "compiler/import/lower.h"

#include <math.h>

typedef mts_import_value *value;

static void refuse_blocks(mts_import *import)
{
    const int64_t block = mts_attr_int(import, "block_size", 0);
    if (block != 0) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                        "quantisation in blocks (block_size %lld) is not supported", (long long)block);
    }
}

/* The dimension along which scales lie; 0 where there is one scale. */
static uint32_t axis_of(mts_import *import, const mts_import_value *x, const mts_import_value *scale)
{
    return x && scale && mts_shape_count(&scale->shape) > 1
               ? mts_import_axis(import, mts_attr_int(import, "axis", 1), x->shape.rank)
               : 0;
}

void mts_lower_quantize(mts_import *import)
{
    value x = mts_import_in(import, 0), scale = mts_import_in(import, 1), zero = mts_import_in(import, 2);
    const int64_t wanted = mts_attr_int(import, "output_dtype", 0);
    mts_type dtype = zero ? zero->dtype : MTS_TYPE_UINT8, stated = dtype;
    refuse_blocks(import);
    if (wanted != 0 && (wanted < 0 || wanted > 1000 || !mts_proto_dtype((int32_t)wanted, &stated))) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "quantisation to %s is not supported",
                        mts_proto_dtype_name(wanted > 0 && wanted <= 1000 ? (int32_t)wanted : -1));
    }
    if (zero && stated != dtype) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "output_dtype differs from the type of the zero point");
    }
    mts_import_out(import, 0, mts_import_quantize(import, x, scale, zero, stated, axis_of(import, x, scale)));
}

void mts_lower_dequantize(mts_import *import)
{
    value x = mts_import_in(import, 0), scale = mts_import_in(import, 1), zero = mts_import_in(import, 2);
    double low = 0, high = 0;
    refuse_blocks(import);
    if (x->dtype != MTS_TYPE_INT32 && !mts_import_code_range(x->dtype, &low, &high)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "input of type %s is not supported",
                        mts_type_name(x->dtype));
    }
    mts_import_out(import, 0, mts_import_dequantize(import, x, scale, zero, axis_of(import, x, scale)));
}

static value number(mts_import *import, double real)
{
    return mts_import_scalar(import, MTS_TYPE_FLOAT32, real);
}

static value with_act(mts_import *import, uint32_t kind, value a, value b, mts_act act)
{
    const mts_attrs attrs = {.binary = {.kind = kind, .act = act}};
    value both[2] = {a, b};
    return a && b ? mts_import_emit(import, MTS_OP_BINARY, &attrs, both, 2) : NULL;
}

static value extreme(mts_import *import, value x, uint32_t reduce, uint32_t kind)
{
    const mts_attrs attrs = {.reduce = {.kind = reduce, .axes = (1u << x->shape.rank) - 1u}};
    value all = x->shape.rank > 0 ? mts_import_emit(import, MTS_OP_REDUCE, &attrs, &x, 1) : x;
    return mts_import_emit_binary(import, kind, all, number(import, 0.0));
}

/* The range of the input, made to hold 0, becomes 0 to 255. */
void mts_lower_dynamic_quantize(mts_import *import)
{
    const mts_act round = {.fn = MTS_FN_QUANT8, .a = 1.0f, .b = 0.0f};
    const mts_act whole = {.fn = MTS_FN_QUANT16, .a = 1.0f, .b = -32768.0f};
    const mts_act clip = {.fn = MTS_FN_CLIP, .a = 0.0f, .b = 255.0f};
    value x = mts_import_in(import, 0);
    value low = extreme(import, x, MTS_REDUCE_MIN, MTS_BIN_MIN),
          high = extreme(import, x, MTS_REDUCE_MAX, MTS_BIN_MAX);
    value range = mts_import_emit_binary(import, MTS_BIN_SUB, high, low);
    /* of zeros alone the scale is any number that is not 0 */
    value scale = with_act(import, MTS_BIN_DIV, range, number(import, 255.0),
                           (mts_act){.fn = MTS_FN_CLIP, .a = 1e-30f, .b = INFINITY});
    value minus = low ? mts_import_emit_unary(import, MTS_FN_NEG, 0.0f, 0.0f, low) : NULL;
    value zero = with_act(import, MTS_BIN_DIV, minus, scale, round);
    value y = with_act(import, MTS_BIN_ADD, with_act(import, MTS_BIN_DIV, x, scale, whole), zero, clip);
    mts_import_out(import, 0, mts_import_retype(import, y, MTS_TYPE_UINT8));
    mts_import_out(import, 1, scale);
    mts_import_out(import, 2, mts_import_retype(import, zero, MTS_TYPE_UINT8));
}

/* ---- products of integers ---- */

/* x - zero: the numbers that are multiplied. */
static value centred(mts_import *import, value x, value zero, uint32_t axis)
{
    return mts_import_dequantize(import, x, number(import, 1.0), zero, axis);
}

/* The zero points of rows or columns, with as many scales of 1. */
static value ones_like(mts_import *import, const mts_import_value *zero)
{
    const size_t count = zero ? mts_shape_count(&zero->shape) : 1;
    const mts_shape shape = {.rank = count > 1 ? 1 : 0, .dims = {(int64_t)count}};
    return mts_import_filled(import, MTS_TYPE_FLOAT32, &shape, 1.0);
}

void mts_lower_matmul_integer(mts_import *import)
{
    value a = mts_import_in(import, 0), b = mts_import_in(import, 1);
    value a_zero = mts_import_in(import, 2), b_zero = mts_import_in(import, 3);
    if (a_zero && mts_shape_count(&a_zero->shape) != 1) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "a zero point for each row of A is not supported");
    }
    const uint32_t last = b->shape.rank > 0 ? b->shape.rank - 1 : 0;
    a = centred(import, a, a_zero, 0);
    b = mts_import_dequantize(import, b, ones_like(import, b_zero), b_zero, last);
    value y = mts_import_emit_matmul(import, a, b);
    mts_import_out(import, 0, mts_import_retype(import, y, MTS_TYPE_INT32));
}

void mts_lower_conv_integer(mts_import *import)
{
    value x = mts_import_in(import, 0), weight = mts_import_in(import, 1);
    value zero = mts_import_in(import, 3);
    x = centred(import, x, mts_import_in(import, 2), 0);
    weight = mts_import_dequantize(import, weight, ones_like(import, zero), zero, 0);
    value y = mts_import_conv(import, x, weight, NULL);
    mts_import_out(import, 0, mts_import_retype(import, y, MTS_TYPE_INT32));
}

/* The bias counts in steps of the product of both scales. */
static value real_bias(mts_import *import, value bias, value x_scale, value weight_scale)
{
    if (!bias) {
        return NULL;
    }
    if (!mts_import_is_const(x_scale) || !mts_import_is_const(weight_scale)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "scales must be known when compiling");
        return NULL;
    }
    return mts_import_dequantize(import, bias,
                                 mts_import_emit_binary(import, MTS_BIN_MUL, weight_scale, x_scale), NULL, 0);
}

void mts_lower_qlinear_conv(mts_import *import)
{
    value x_scale = mts_import_in(import, 1), weight_scale = mts_import_in(import, 4);
    value x = mts_import_dequantize(import, mts_import_in(import, 0), x_scale, mts_import_in(import, 2), 0);
    value weight =
        mts_import_dequantize(import, mts_import_in(import, 3), weight_scale, mts_import_in(import, 5), 0);
    value y_scale = mts_import_in(import, 6), y_zero = mts_import_in(import, 7);
    value bias = real_bias(import, mts_import_in(import, 8), x_scale, weight_scale);
    value y = mts_import_conv(import, x, weight, bias);
    mts_import_out(import, 0, mts_import_quantize(import, y, y_scale, y_zero, y_zero->dtype, 0));
}

void mts_lower_qlinear_matmul(mts_import *import)
{
    value sides[2] = {NULL, NULL};
    for (uint32_t i = 0; i < 2; i++) {
        value x = mts_import_in(import, 3 * i), scale = mts_import_in(import, 3 * i + 1);
        /* scales of A lie along its rows, those of B along its columns */
        const uint32_t axis = x->shape.rank >= 2 ? x->shape.rank - 2 + i : 0;
        sides[i] = mts_import_dequantize(import, x, scale, mts_import_in(import, 3 * i + 2), axis);
    }
    value y = mts_import_emit_matmul(import, sides[0], sides[1]);
    value zero = mts_import_in(import, 7);
    mts_import_out(import, 0, mts_import_quantize(import, y, mts_import_in(import, 6), zero, zero->dtype, 0));
}
