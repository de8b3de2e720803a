/*
 * lower_norm.c: normalisations of ONNX: the operator NORM, and products and sums where a
 * scale or a bias is computed.
 */
#include "compiler/import/lower.h"

typedef mts_import_value *value;

static value reduce(mts_import *import, uint32_t kind, value x, uint32_t axes)
{
    const mts_attrs attrs = {.reduce = {.kind = kind, .axes = axes, .keep = 1}};
    return mts_import_emit(import, MTS_OP_REDUCE, &attrs, &x, 1);
}

static bool is_constant(const mts_import_value *x)
{
    return !x || mts_import_is_const(x);
}

/* Whether a factor is broadcast to x, and not x to the factor. */
static bool fits(const mts_import_value *x, const mts_import_value *factor)
{
    mts_shape both;
    return !factor ||
           (mts_shape_broadcast(&x->shape, &factor->shape, &both) && mts_shape_equal(&both, &x->shape));
}

static value normalise(mts_import *import, value x, const mts_attrs_norm *norm, value scale, value bias)
{
    if (!x || !mts_import_ok(import)) {
        return NULL;
    }
    const mts_attrs attrs = {.norm = *norm};
    const bool inside = is_constant(scale) && is_constant(bias) && fits(x, scale) && fits(x, bias);
    value inputs[3] = {x, inside ? scale : NULL, inside ? bias : NULL};
    value y = mts_import_emit(import, MTS_OP_NORM, &attrs, inputs, inputs[2] ? 3 : inputs[1] ? 2 : 1);
    y = !inside && scale ? mts_import_emit_binary(import, MTS_BIN_MUL, y, scale) : y;
    return !inside && bias ? mts_import_emit_binary(import, MTS_BIN_ADD, y, bias) : y;
}

static float epsilon_of(mts_import *import)
{
    return mts_attr_float(import, "epsilon", 1e-5f);
}

/* 1 / sqrt(mean((x - mean)^2) + epsilon), which a LayerNormalization may give beside its
   result. */
static value inverse_deviation(mts_import *import, value x, value mean, uint32_t axes, float epsilon)
{
    value d = mts_import_emit_binary(import, MTS_BIN_SUB, x, mean);
    value square = mts_import_emit_binary(import, MTS_BIN_MUL, d, d);
    value variance = square ? reduce(import, MTS_REDUCE_MEAN, square, axes) : NULL;
    value shift = variance ? mts_import_scalar(import, variance->dtype, (double)epsilon) : NULL;
    value sum = mts_import_emit_binary(import, MTS_BIN_ADD, variance, shift);
    value root = mts_import_emit_unary(import, MTS_FN_SQRT, 0.0f, 0.0f, sum);
    return mts_import_emit_unary(import, MTS_FN_RECIPROCAL, 0.0f, 0.0f, root);
}

/* LayerNormalization and RMSNormalization: over the axes from `axis` on. */
void mts_lower_layer_norm(mts_import *import)
{
    value x = mts_import_in(import, 0);
    const uint32_t rank = x->shape.rank;
    const uint32_t axis = mts_import_axis(import, mts_attr_int(import, "axis", -1), rank);
    const bool centred = mts_import_is_op(import, "LayerNormalization");
    const mts_attrs_norm norm = {.kind = centred ? MTS_NORM_VARIANCE : MTS_NORM_RMS,
                                 .axes = ((1u << rank) - 1u) & ~((1u << axis) - 1u),
                                 .groups = 1,
                                 .epsilon = epsilon_of(import)};
    mts_import_out(import, 0,
                   normalise(import, x, &norm, mts_import_in(import, 1), mts_import_in(import, 2)));
    value mean = mts_import_out_wanted(import, 1) || mts_import_out_wanted(import, 2)
                     ? reduce(import, MTS_REDUCE_MEAN, x, norm.axes)
                     : NULL;
    if (mts_import_out_wanted(import, 1)) {
        mts_import_out(import, 1, mean);
    }
    if (mts_import_out_wanted(import, 2)) {
        mts_import_out(import, 2, inverse_deviation(import, x, mean, norm.axes, norm.epsilon));
    }
}

/* A vector of one number a channel as [channels, 1, ...], to be broadcast over the
   others. */
static value per_channel(mts_import *import, value vector, uint32_t rank, int64_t channels)
{
    mts_shape shape = {.rank = rank - 1};
    if (!vector || mts_shape_count(&vector->shape) != (size_t)channels) {
        mts_import_fail(import, MTS_STATUS_MALFORMED,
                        "scale or bias is not one number for each of %lld channels", (long long)channels);
        return NULL;
    }
    for (uint32_t i = 0; i < shape.rank; i++) {
        shape.dims[i] = i == 0 ? channels : 1;
    }
    return mts_import_emit_reshape(import, vector, &shape);
}

static bool has_channels(mts_import *import, const mts_import_value *x)
{
    if (x->shape.rank < 3) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "an input of rank %u is not supported",
                        x->shape.rank);
    }
    return mts_import_ok(import);
}

void mts_lower_instance_norm(mts_import *import)
{
    value x = mts_import_in(import, 0);
    if (!has_channels(import, x)) {
        return;
    }
    const uint32_t rank = x->shape.rank;
    const int64_t channels = x->shape.dims[1];
    const mts_attrs_norm norm = {.axes = (1u << rank) - 4u, .groups = 1, .epsilon = epsilon_of(import)};
    value scale = per_channel(import, mts_import_in(import, 1), rank, channels);
    value bias = per_channel(import, mts_import_in(import, 2), rank, channels);
    mts_import_out(import, 0, normalise(import, x, &norm, scale, bias));
}

/* One number a group (opset 18) as one a channel. */
static value of_groups(mts_import *import, value vector, int64_t groups, int64_t channels)
{
    const mts_shape pairs = {.rank = 2, .dims = {groups, 1}};
    const mts_shape flat = {.rank = 1, .dims = {channels}};
    mts_attrs attrs = {.reshape = {.shape = {.rank = 2, .dims = {groups, channels / groups}}}};
    if (!vector || mts_shape_count(&vector->shape) != (size_t)groups) {
        mts_import_fail(import, MTS_STATUS_MALFORMED,
                        "scale or bias is not one number for each of %lld groups", (long long)groups);
        return NULL;
    }
    value wide = mts_import_emit_reshape(import, vector, &pairs);
    return mts_import_emit_reshape(import, mts_import_emit(import, MTS_OP_EXPAND, &attrs, &wide, 1), &flat);
}

void mts_lower_group_norm(mts_import *import)
{
    value x = mts_import_in(import, 0), scale = mts_import_in(import, 1), bias = mts_import_in(import, 2);
    const int64_t groups = mts_attr_int(import, "num_groups", 0);
    if (!has_channels(import, x)) {
        return;
    }
    const int64_t channels = x->shape.dims[1];
    const uint32_t rank = x->shape.rank;
    if (groups < 1 || channels % groups != 0) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "%lld channels are not %lld equal groups",
                        (long long)channels, (long long)groups);
        return;
    }
    const mts_attrs_norm norm = {
        .axes = (1u << rank) - 2u, .groups = (uint32_t)groups, .epsilon = epsilon_of(import)};
    if (import->opset < 21) {
        scale = of_groups(import, scale, groups, channels);
        bias = of_groups(import, bias, groups, channels);
    }
    scale = per_channel(import, scale, rank, channels);
    bias = per_channel(import, bias, rank, channels);
    mts_import_out(import, 0, normalise(import, x, &norm, scale, bias));
}

void mts_lower_mean_variance_norm(mts_import *import)
{
    value x = mts_import_in(import, 0);
    int64_t numbers[MTS_TENSOR_RANK_MAX] = {0, 2, 3};
    const uint32_t given = mts_attr_ints(import, "axes", numbers, MTS_TENSOR_RANK_MAX);
    /* the 1e-9 is added to the deviation here, not to the variance */
    mts_attrs_norm norm = {.kind = MTS_NORM_DEVIATION, .groups = 1, .epsilon = 1e-9f};
    for (uint32_t i = 0; i < (given ? given : 3); i++) {
        norm.axes |= 1u << mts_import_axis(import, numbers[i], x->shape.rank);
    }
    mts_import_out(import, 0, normalise(import, x, &norm, NULL, NULL));
}

/* x / norm along one axis. */
void mts_lower_lp_norm(mts_import *import)
{
    value x = mts_import_in(import, 0);
    const uint32_t axis = mts_import_axis(import, mts_attr_int(import, "axis", -1), x->shape.rank);
    const int64_t p = mts_attr_int(import, "p", 2);
    if (p != 1 && p != 2) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "p is %lld, not 1 or 2", (long long)p);
    }
    /* of a norm of 0, which only zeros have, the result is 0 */
    const mts_attrs_norm norm = {
        .kind = p == 1 ? MTS_NORM_L1 : MTS_NORM_L2, .axes = 1u << axis, .groups = 1, .epsilon = 1e-30f};
    mts_import_out(import, 0, normalise(import, x, &norm, NULL, NULL));
}
