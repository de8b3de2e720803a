/*
 * lower_element.c: operators that work element by element, softmax, reductions and matrix
 * products.
 */
#include "compiler/import/tflite/lower.h"

#include <math.h>

/* By the numbers of the schema. */
enum {
    CODE_MUL = 18,
    CODE_SUB = 41,
    CODE_DIV = 42,
    CODE_MAXIMUM = 55,
    CODE_MINIMUM = 57,
    CODE_POW = 78,
    CODE_FLOOR_MOD = 95,
    CODE_MEAN = 40,
    CODE_SUM = 74,
    CODE_REDUCE_MAX = 82,
    CODE_REDUCE_PROD = 81,
    CODE_LOG_SOFTMAX = 50,
    CODE_RSQRT = 76,
    CODE_SQUARE = 92
};

void mts_tflite_lower_unary(mts_tflite *model)
{
    static const struct {
        uint32_t code, fn;
        float a, b;
    } functions[] = {{19, MTS_FN_RELU, 0.0f, 0.0f},        {20, MTS_FN_CLIP, -1.0f, 1.0f},
                     {21, MTS_FN_CLIP, 0.0f, 6.0f},        {152, MTS_FN_CLIP, 0.0f, 1.0f},
                     {14, MTS_FN_SIGMOID, 0.0f, 0.0f},     {28, MTS_FN_TANH, 0.0f, 0.0f},
                     {117, MTS_FN_HARD_SWISH, 0.0f, 0.0f}, {47, MTS_FN_EXP, 0.0f, 0.0f},
                     {75, MTS_FN_SQRT, 0.0f, 0.0f},        {CODE_RSQRT, MTS_FN_SQRT, 0.0f, 0.0f},
                     {101, MTS_FN_ABS, 0.0f, 0.0f},        {59, MTS_FN_NEG, 0.0f, 0.0f},
                     {8, MTS_FN_FLOOR, 0.0f, 0.0f},        {104, MTS_FN_CEIL, 0.0f, 0.0f},
                     {73, MTS_FN_LOG, 0.0f, 0.0f},         {66, MTS_FN_SIN, 0.0f, 0.0f},
                     {108, MTS_FN_COS, 0.0f, 0.0f},        {111, MTS_FN_ELU, 1.0f, 1.0f},
                     {116, MTS_FN_ROUND, 0.0f, 0.0f},      {158, MTS_FN_SIGN, 0.0f, 0.0f}};
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    const bool planar = mts_tflite_is_planar(tensor);
    mts_import_value *x = mts_tflite_value(model, tensor, planar);
    if (model->node->code == CODE_SQUARE) {
        x = mts_import_emit_binary(model->import, MTS_BIN_MUL, x, x);
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (functions[i].code == model->node->code) {
            x = mts_import_emit_unary(model->import, functions[i].fn, functions[i].a, functions[i].b, x);
        }
    }
    if (model->node->code == CODE_RSQRT) {
        x = mts_import_emit_unary(model->import, MTS_FN_RECIPROCAL, 0.0f, 0.0f, x);
    }
    mts_tflite_out(model, 0, x, planar);
}

void mts_tflite_lower_gelu(mts_tflite *model)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    const bool planar = mts_tflite_is_planar(tensor);
    const bool tanh = mts_tflite_option(model, 0, MTS_FLAT_U8, 0) != 0;
    mts_import_value *x = mts_tflite_value(model, tensor, planar);
    mts_tflite_out(model, 0,
                   mts_import_emit_unary(model->import, tanh ? MTS_FN_GELU_TANH : MTS_FN_GELU, 0.0f, 0.0f, x),
                   planar);
}

void mts_tflite_lower_leaky(mts_tflite *model)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    const bool planar = mts_tflite_is_planar(tensor);
    const float alpha = mts_flat_float(&model->flat, &model->node->options, 0, 0.0f);
    mts_import_value *x = mts_tflite_value(model, tensor, planar);
    mts_tflite_out(model, 0, mts_import_emit_unary(model->import, MTS_FN_LEAKY, alpha, 0.0f, x), planar);
}

void mts_tflite_lower_binary(mts_tflite *model)
{
    const uint32_t code = model->node->code;
    const uint32_t kind = code == CODE_MUL         ? MTS_BIN_MUL
                          : code == CODE_SUB       ? MTS_BIN_SUB
                          : code == CODE_DIV       ? MTS_BIN_DIV
                          : code == CODE_MAXIMUM   ? MTS_BIN_MAX
                          : code == CODE_MINIMUM   ? MTS_BIN_MIN
                          : code == CODE_POW       ? MTS_BIN_POW
                          : code == CODE_FLOOR_MOD ? MTS_BIN_MOD
                                                   : MTS_BIN_ADD;
    const bool may_activate = kind <= MTS_BIN_DIV;
    mts_import_value *both[2] = {NULL};
    const bool planar = mts_tflite_align(model, 2, both);
    mts_import_value *y = mts_import_emit_binary(model->import, kind, both[0], both[1]);
    const int64_t activation = may_activate ? mts_tflite_option(model, 0, MTS_FLAT_I8, 0) : 0;
    mts_tflite_out(model, 0, mts_tflite_activate(model, y, activation), planar);
}

void mts_tflite_lower_squared_difference(mts_tflite *model)
{
    mts_import_value *both[2] = {NULL};
    const bool planar = mts_tflite_align(model, 2, both);
    mts_import_value *y = mts_import_emit_binary(model->import, MTS_BIN_SUB, both[0], both[1]);
    mts_tflite_out(model, 0, mts_import_emit_binary(model->import, MTS_BIN_MUL, y, y), planar);
}

void mts_tflite_lower_prelu(mts_tflite *model)
{
    mts_import_value *both[2] = {NULL};
    const bool planar = mts_tflite_align(model, 2, both);
    mts_tflite_out(model, 0, mts_import_emit_binary(model->import, MTS_BIN_PRELU, both[0], both[1]), planar);
}

void mts_tflite_lower_softmax(mts_tflite *model)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    const bool planar = mts_tflite_is_planar(tensor), log = model->node->code == CODE_LOG_SOFTMAX;
    mts_import_value *x = mts_tflite_value(model, tensor, planar);
    const float beta = log ? 1.0f : mts_flat_float(&model->flat, &model->node->options, 0, 0.0f);
    if (!x || x->shape.rank == 0 || !isfinite(beta)) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "a scalar or beta %g has no softmax",
                        (double)beta);
        return;
    }
    if (beta < 1.0f || beta > 1.0f) {
        mts_import_value *factor = mts_import_scalar(model->import, MTS_TYPE_FLOAT32, (double)beta);
        x = mts_import_emit_binary(model->import, MTS_BIN_MUL, x, factor);
    }
    const mts_attrs attrs = {.softmax = {.axis = mts_tflite_dim(planar, tensor->shape.rank - 1), .log = log}};
    mts_tflite_out(model, 0, mts_import_emit(model->import, MTS_OP_SOFTMAX, &attrs, &x, 1), planar);
}

/* x / max(sqrt(sum of squares), 1e-6) along the last dimension: the 1e-6 is that of
   TensorFlow Lite's kernels. */
void mts_tflite_lower_l2_norm(mts_tflite *model)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    const bool planar = mts_tflite_is_planar(tensor);
    mts_import_value *x = mts_tflite_value(model, tensor, planar);
    if (!x || x->shape.rank == 0) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "a scalar has no dimension to normalise along");
        return;
    }
    const uint32_t axis = mts_tflite_dim(planar, tensor->shape.rank - 1);
    const mts_attrs attrs = {
        .norm = {.kind = MTS_NORM_L2, .axes = 1u << axis, .groups = 1, .epsilon = 1e-6f}};
    mts_import_value *y = mts_import_emit(model->import, MTS_OP_NORM, &attrs, &x, 1);
    mts_tflite_out(model, 0, mts_tflite_activate(model, y, mts_tflite_option(model, 0, MTS_FLAT_I8, 0)),
                   planar);
}

/* DEQUANTIZE, QUANTIZE and DENSIFY: tensors are held as real numbers, dense, so that only
   their result is rounded where it is quantised. float16 constants stay float16 for
   weights. */
void mts_tflite_lower_dequantize(mts_tflite *model)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    const bool planar = mts_tflite_is_planar(tensor);
    mts_tflite_out(model, 0, planar ? mts_tflite_planar(model, tensor) : mts_tflite_weight(model, tensor),
                   planar);
}

static uint32_t reduce_kind(uint32_t code)
{
    return code == CODE_MEAN          ? MTS_REDUCE_MEAN
           : code == CODE_SUM         ? MTS_REDUCE_SUM
           : code == CODE_REDUCE_MAX  ? MTS_REDUCE_MAX
           : code == CODE_REDUCE_PROD ? MTS_REDUCE_PROD
                                      : MTS_REDUCE_MIN;
}

void mts_tflite_lower_reduce(mts_tflite *model)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    int64_t axes[MTS_TENSOR_RANK_MAX] = {0};
    uint32_t mask = 0, held = 0;
    const uint32_t rank = tensor->shape.rank;
    const uint32_t count = mts_tflite_ints(model, 1, "the axes", axes, MTS_TENSOR_RANK_MAX);
    const bool keep = mts_tflite_option(model, 0, MTS_FLAT_U8, 0) != 0;
    for (uint32_t i = 0; i < count; i++) {
        mask |= 1u << mts_tflite_axis(model, axes[i], rank);
    }
    /* without rows and columns, or without channels, both layouts leave the same order */
    const bool same_order = keep || (mask & 6u) == 6u || (mask & 8u) != 0;
    const bool planar = mts_tflite_is_planar(tensor) && same_order;
    mts_import_value *x = mts_tflite_value(model, tensor, planar);
    for (uint32_t i = 0; x && i < rank; i++) {
        held |= (mask >> i & 1u) << mts_tflite_dim(planar, i);
    }
    const mts_attrs attrs = {.reduce = {.kind = reduce_kind(model->node->code), .axes = held, .keep = keep}};
    if (mask != 0) {
        x = mts_import_emit(model->import, MTS_OP_REDUCE, &attrs, &x, 1);
    }
    mts_tflite_out(model, 0, x, planar && (keep || mask == 0));
}

/* x [.., K] seen as rows of K elements, times a weight [O,K]. */
void mts_tflite_lower_fully_connected(mts_tflite *model)
{
    mts_import_value *x = mts_tflite_native(model, mts_tflite_in(model, 0));
    mts_import_value *weight = mts_tflite_weight(model, mts_tflite_in(model, 1));
    mts_tflite_tensor *bias_at = mts_tflite_in(model, 2);
    mts_import_value *bias = bias_at ? mts_tflite_native(model, bias_at) : NULL;
    if (!mts_import_ok(model->import)) {
        return;
    }
    if (mts_tflite_option(model, 1, MTS_FLAT_I8, 0) != 0 || weight->shape.rank != 2 ||
        !mts_import_is_const(weight) || (bias && !mts_import_is_const(bias))) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED,
                        "only a constant matrix in the default format and a constant bias are supported");
        return;
    }
    const int64_t inner = weight->shape.dims[1], count = (int64_t)mts_shape_count(&x->shape);
    if (inner < 1 || count % inner != 0) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "%lld elements are no rows of %lld",
                        (long long)count, (long long)inner);
        return;
    }
    const mts_shape rows = {.rank = 2, .dims = {count / inner, inner}};
    mts_import_value *y = mts_import_emit_connected(
        model->import, mts_import_emit_reshape(model->import, x, &rows), weight, 1.0f, bias);
    mts_shape out = x->shape;
    if (y && out.rank > 0 && mts_tflite_option(model, 2, MTS_FLAT_U8, 0) != 0) {
        out.dims[out.rank - 1] = weight->shape.dims[0];
        y = mts_import_emit_reshape(model->import, y, &out);
    }
    mts_tflite_out(model, 0, mts_tflite_activate(model, y, mts_tflite_option(model, 0, MTS_FLAT_I8, 0)),
                   false);
}

static mts_import_value *matrix(mts_tflite *model, uint32_t index, bool adjoint)
{
    uint32_t perm[MTS_TENSOR_RANK_MAX] = {0, 1, 2, 3, 4, 5};
    mts_import_value *x = mts_tflite_native(model, mts_tflite_in(model, index));
    if (!x || !adjoint) {
        return x;
    }
    const uint32_t rank = x->shape.rank;
    if (rank < 2) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "an operand of rank %u is no matrix", rank);
        return NULL;
    }
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return mts_import_emit_transpose(model->import, x, perm);
}

void mts_tflite_lower_batch_matmul(mts_tflite *model)
{
    const mts_attrs attrs = {.matmul = {.alpha = 1.0f, .beta = 0.0f}};
    mts_import_value *both[2] = {matrix(model, 0, mts_tflite_option(model, 0, MTS_FLAT_U8, 0) != 0),
                                 matrix(model, 1, mts_tflite_option(model, 1, MTS_FLAT_U8, 0) != 0)};
    if (both[0] && both[1]) {
        mts_tflite_out(model, 0, mts_import_emit(model->import, MTS_OP_MATMUL, &attrs, both, 2), false);
    }
}
