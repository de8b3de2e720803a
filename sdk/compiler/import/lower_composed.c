/*
 * lower_composed.c: ONNX operators that the run-time has no operator for, as several that it has.
 *
 * The formulas are those of the ONNX specification. Where all operands are constant the emitters compute the
 * result at once, as everywhere in the importer.
 */
#include "compiler/import/lower.h"

typedef mts_import_value *value;

/* ---- what the formulas are written in ---- */

static value binary(mts_import *import, uint32_t kind, value a, value b)
{
    return mts_import_emit_binary(import, kind, a, b);
}

static value with_number(mts_import *import, uint32_t kind, value x, double number)
{
    return x ? binary(import, kind, x, mts_import_scalar(import, x->dtype, number)) : NULL;
}

static value unary(mts_import *import, uint32_t fn, value x)
{
    return mts_import_emit_unary(import, fn, 0.0f, 0.0f, x);
}

static value reduce(mts_import *import, uint32_t kind, value x, uint32_t axes, bool keep)
{
    const mts_attrs attrs = {.reduce = {.kind = kind, .axes = axes, .keep = keep}};
    return axes == 0 ? x : mts_import_emit(import, MTS_OP_REDUCE, &attrs, &x, 1);
}

/* ---- activations ---- */

/* alpha elu(x / alpha) */
void mts_lower_celu(mts_import *import)
{
    const float alpha = mts_attr_float(import, "alpha", 1.0f);
    if (!(alpha > 0.0f)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "alpha is %g; only numbers above 0 are supported",
                        (double)alpha);
    }
    value inner = with_number(import, MTS_BIN_DIV, mts_import_in(import, 0), (double)alpha);
    value y = mts_import_emit_unary(import, MTS_FN_ELU, 1.0f, 1.0f, inner);
    mts_import_out(import, 0, with_number(import, MTS_BIN_MUL, y, (double)alpha));
}

void mts_lower_softsign(mts_import *import)
{
    value x = mts_import_in(import, 0);
    value below = with_number(import, MTS_BIN_ADD, unary(import, MTS_FN_ABS, x), 1.0);
    mts_import_out(import, 0, binary(import, MTS_BIN_DIV, x, below));
}

/* x sigmoid(alpha x) */
void mts_lower_swish(mts_import *import)
{
    const float alpha = mts_attr_float(import, "alpha", 1.0f);
    value x = mts_import_in(import, 0);
    value inner = with_number(import, MTS_BIN_MUL, x, (double)alpha);
    mts_import_out(import, 0,
                   alpha < 1.0f || alpha > 1.0f
                       ? binary(import, MTS_BIN_MUL, x, unary(import, MTS_FN_SIGMOID, inner))
                       : unary(import, MTS_FN_SILU, x));
}

/* x where x > alpha, else 0: max(x - alpha, 0) and alpha where that is not 0, so that -infinity gives 0 */
void mts_lower_thresholded_relu(mts_import *import)
{
    const double alpha = (double)mts_attr_float(import, "alpha", 1.0f);
    value x = mts_import_in(import, 0);
    value above = unary(import, MTS_FN_RELU, with_number(import, MTS_BIN_SUB, x, alpha));
    value step = with_number(import, MTS_BIN_MUL, unary(import, MTS_FN_NOT_ZERO, above), alpha);
    mts_import_out(import, 0, binary(import, MTS_BIN_ADD, above, step));
}

/* ---- normalisations ---- */

typedef struct statistics {
    value mean, deviation; /* mean: NULL where nothing is subtracted */
} statistics;

/* x / sqrt(mean(x^2) + epsilon) over some axes; `centre`: of x - mean(x). */
static value normalize(mts_import *import, value x, uint32_t axes, double epsilon, bool centre,
                       statistics *out)
{
    value mean = centre ? reduce(import, MTS_REDUCE_MEAN, x, axes, true) : NULL;
    value centred = centre ? binary(import, MTS_BIN_SUB, x, mean) : x;
    value square = binary(import, MTS_BIN_MUL, centred, centred);
    value variance = reduce(import, MTS_REDUCE_MEAN, square, axes, true);
    value deviation = unary(import, MTS_FN_SQRT, with_number(import, MTS_BIN_ADD, variance, epsilon));
    if (out) {
        *out = (statistics){.mean = mean, .deviation = deviation};
    }
    return binary(import, MTS_BIN_DIV, centred, deviation);
}

static value scale_and_shift(mts_import *import, value y, value scale, value shift)
{
    y = scale ? binary(import, MTS_BIN_MUL, y, scale) : y;
    return shift ? binary(import, MTS_BIN_ADD, y, shift) : y;
}

/* LayerNormalization and RMSNormalization: over the axes from `axis` on. */
void mts_lower_layer_norm(mts_import *import)
{
    value x = mts_import_in(import, 0);
    const uint32_t rank = x->shape.rank;
    const uint32_t axis = mts_import_axis(import, mts_attr_int(import, "axis", -1), rank);
    const double epsilon = (double)mts_attr_float(import, "epsilon", 1e-5f);
    const uint32_t axes = ((1u << rank) - 1u) & ~((1u << axis) - 1u);
    statistics found = {0};
    value y = normalize(import, x, axes, epsilon, mts_import_is_op(import, "LayerNormalization"), &found);
    mts_import_out(import, 0, scale_and_shift(import, y, mts_import_in(import, 1), mts_import_in(import, 2)));
    if (mts_import_out_wanted(import, 1)) {
        mts_import_out(import, 1, found.mean);
    }
    if (mts_import_out_wanted(import, 2)) {
        mts_import_out(import, 2, unary(import, MTS_FN_RECIPROCAL, found.deviation));
    }
}

/* A vector of one number a channel as [1, channels, 1, ...], to be broadcast over the others. */
static value per_channel(mts_import *import, value vector, uint32_t rank, int64_t channels)
{
    mts_shape shape = {.rank = rank};
    if (!vector || mts_shape_count(&vector->shape) != (size_t)channels) {
        mts_import_fail(import, MTS_STATUS_MALFORMED,
                        "scale or bias is not one number for each of %lld channels", (long long)channels);
        return NULL;
    }
    for (uint32_t i = 0; i < rank; i++) {
        shape.dims[i] = i == 1 ? channels : 1;
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
    const double epsilon = (double)mts_attr_float(import, "epsilon", 1e-5f);
    if (!has_channels(import, x)) {
        return;
    }
    const uint32_t rank = x->shape.rank;
    value y = normalize(import, x, (1u << rank) - 4u, epsilon, true, NULL);
    mts_import_out(import, 0,
                   scale_and_shift(import, y,
                                   per_channel(import, mts_import_in(import, 1), rank, x->shape.dims[1]),
                                   per_channel(import, mts_import_in(import, 2), rank, x->shape.dims[1])));
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

/* Channels of a group are normalised together: [n, groups, everything else]. */
void mts_lower_group_norm(mts_import *import)
{
    value x = mts_import_in(import, 0), scale = mts_import_in(import, 1), bias = mts_import_in(import, 2);
    const int64_t groups = mts_attr_int(import, "num_groups", 0);
    const double epsilon = (double)mts_attr_float(import, "epsilon", 1e-5f);
    if (!has_channels(import, x)) {
        return;
    }
    const int64_t channels = x->shape.dims[1];
    if (groups < 1 || channels % groups != 0) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "%lld channels are not %lld equal groups",
                        (long long)channels, (long long)groups);
        return;
    }
    mts_shape three = {.rank = 3, .dims = {x->shape.dims[0], groups, channels / groups}};
    for (uint32_t i = 2; i < x->shape.rank; i++) {
        three.dims[2] *= x->shape.dims[i];
    }
    value y = normalize(import, mts_import_emit_reshape(import, x, &three), 4u, epsilon, true, NULL);
    y = mts_import_emit_reshape(import, y, &x->shape);
    if (import->opset < 21) {
        scale = of_groups(import, scale, groups, channels);
        bias = of_groups(import, bias, groups, channels);
    }
    mts_import_out(import, 0,
                   scale_and_shift(import, y, per_channel(import, scale, x->shape.rank, channels),
                                   per_channel(import, bias, x->shape.rank, channels)));
}

void mts_lower_mean_variance_norm(mts_import *import)
{
    value x = mts_import_in(import, 0);
    int64_t numbers[MTS_TENSOR_RANK_MAX] = {0, 2, 3};
    const uint32_t given = mts_attr_ints(import, "axes", numbers, MTS_TENSOR_RANK_MAX);
    uint32_t axes = 0;
    for (uint32_t i = 0; i < (given ? given : 3); i++) {
        axes |= 1u << mts_import_axis(import, numbers[i], x->shape.rank);
    }
    /* the 1e-9 is added to the deviation here, not to the variance */
    value mean = reduce(import, MTS_REDUCE_MEAN, x, axes, true);
    value centred = binary(import, MTS_BIN_SUB, x, mean);
    value variance =
        reduce(import, MTS_REDUCE_MEAN, binary(import, MTS_BIN_MUL, centred, centred), axes, true);
    value deviation = with_number(import, MTS_BIN_ADD, unary(import, MTS_FN_SQRT, variance), 1e-9);
    mts_import_out(import, 0, binary(import, MTS_BIN_DIV, centred, deviation));
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
    value terms = p == 1 ? unary(import, MTS_FN_ABS, x) : binary(import, MTS_BIN_MUL, x, x);
    value sum = reduce(import, MTS_REDUCE_SUM, terms, 1u << axis, true);
    value norm = p == 1 ? sum : unary(import, MTS_FN_SQRT, sum);
    /* of a norm of 0, which only zeros have, the result is 0 */
    mts_import_out(import, 0, binary(import, MTS_BIN_DIV, x, with_number(import, MTS_BIN_MAX, norm, 1e-30)));
}

/* ---- reductions ---- */

/* ReduceL1, L2, SumSquare, LogSum, LogSumExp. */
void mts_lower_reduce_composed(mts_import *import)
{
    value x = mts_import_in(import, 0);
    bool keep = true;
    const uint32_t axes = mts_import_reduce_axes(import, x, import->opset >= 18, &keep);
    if (!mts_import_ok(import)) {
        return;
    }
    const bool log_sum_exp = mts_import_is_op(import, "ReduceLogSumExp");
    const bool square = mts_import_is_op(import, "ReduceL2") || mts_import_is_op(import, "ReduceSumSquare");
    value most = log_sum_exp ? reduce(import, MTS_REDUCE_MAX, x, axes, true) : NULL;
    value terms = log_sum_exp ? unary(import, MTS_FN_EXP, binary(import, MTS_BIN_SUB, x, most))
                  : square    ? binary(import, MTS_BIN_MUL, x, x)
                  : mts_import_is_op(import, "ReduceL1") ? unary(import, MTS_FN_ABS, x)
                                                         : x;
    value sum = reduce(import, MTS_REDUCE_SUM, terms, axes, keep);
    if (mts_import_is_op(import, "ReduceL2")) {
        sum = unary(import, MTS_FN_SQRT, sum);
    } else if (log_sum_exp || mts_import_is_op(import, "ReduceLogSum")) {
        sum = unary(import, MTS_FN_LOG, sum);
    }
    if (log_sum_exp && sum && most) {
        sum = binary(import, MTS_BIN_ADD, sum, mts_import_emit_reshape(import, most, &sum->shape));
    }
    mts_import_out(import, 0, sum);
}
