/*
 * onnx_norm.c: what ONNX nodes compute reductions and normalisations.
 *
 * Opset 13 has InstanceNormalization only; the others are written as the nodes that their
 * formulas consist of, which importing finds again.
 */
#include "compiler/emit/onnx_build.h"

static const char *value(mts_onnx *onnx, const mts_node *node, uint32_t index)
{
    return index < node->input_count && node->inputs[index] != MTS_NONE
               ? mts_onnx_value(onnx, node->inputs[index])
               : NULL;
}

/* ---- reductions ---- */

/* NULL output: a temporary. The output's name is returned. */
static const char *reduce(mts_onnx *onnx, const char *op, const char *x, uint32_t mask, uint32_t keep,
                          const char *output)
{
    const bool as_input = op[6] == 'S' && op[9] == '\0'; /* ReduceSum, the only one in opset 13 */
    int64_t axes[MTS_TENSOR_RANK_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < MTS_TENSOR_RANK_MAX; i++) {
        if (mask >> i & 1u) {
            axes[count++] = i;
        }
    }
    output = output ? output : mts_onnx_temporary(onnx);
    const char *inputs[2] = {x, as_input ? mts_onnx_ints_const(onnx, axes, count) : ""};
    Onnx__NodeProto *made = mts_onnx_node(onnx, op, inputs, as_input ? 2 : 1, output);
    if (!as_input) {
        mts_onnx_ints(onnx, made, "axes", axes, count);
    }
    mts_onnx_int(onnx, made, "keepdims", keep);
    return output;
}

void mts_onnx_add_reduce(mts_onnx *onnx, const mts_node *node, const char *output)
{
    static const char *const names[MTS_REDUCE_COUNT] = {[MTS_REDUCE_MEAN] = "ReduceMean",
                                                        [MTS_REDUCE_SUM] = "ReduceSum",
                                                        [MTS_REDUCE_MAX] = "ReduceMax",
                                                        [MTS_REDUCE_MIN] = "ReduceMin",
                                                        [MTS_REDUCE_PROD] = "ReduceProd",
                                                        [MTS_REDUCE_L1] = "ReduceL1",
                                                        [MTS_REDUCE_L2] = "ReduceL2",
                                                        [MTS_REDUCE_SUM_SQUARE] = "ReduceSumSquare",
                                                        [MTS_REDUCE_MEAN_SQUARE] = "ReduceMean",
                                                        [MTS_REDUCE_LOG_SUM] = "ReduceLogSum",
                                                        [MTS_REDUCE_LOG_SUM_EXP] = "ReduceLogSumExp"};
    const mts_attrs_reduce *attrs = &node->attrs.reduce;
    if (MTS_REDUCE_IS_POSITION(attrs->kind)) {
        mts_onnx_add_arg(onnx, node, output);
        return;
    }
    const char *x = value(onnx, node, 0);
    x = attrs->kind == MTS_REDUCE_MEAN_SQUARE ? mts_onnx_two(onnx, "Mul", x, x, NULL) : x;
    (void)reduce(onnx, names[attrs->kind], x, attrs->axes, attrs->keep, output);
}

/* ---- normalisations ---- */

/* Whether scale and bias are numbers of channels. */
static bool by_channel(const mts_onnx *onnx, const mts_node *node, int64_t channels)
{
    const uint32_t rank = onnx->graph->values[node->output].shape.rank;
    for (uint32_t i = 1; i < node->input_count; i++) {
        const mts_shape *shape =
            node->inputs[i] == MTS_NONE ? NULL : &onnx->graph->values[node->inputs[i]].shape;
        if (shape && (shape->rank != rank - 1 || shape->dims[0] != channels ||
                      mts_shape_count(shape) != (size_t)channels)) {
            return false;
        }
    }
    return true;
}

/* A factor as a vector, or `number` for each channel. */
static const char *vector(mts_onnx *onnx, const mts_node *node, uint32_t index, int64_t channels,
                          float number)
{
    const mts_shape shape = {.rank = 1, .dims = {channels}};
    if (index >= node->input_count || node->inputs[index] == MTS_NONE) {
        return mts_onnx_vector_const(onnx, channels, number);
    }
    return onnx->shared
               ? mts_onnx_shaped(onnx, "Reshape", value(onnx, node, index), shape.dims, shape.rank, NULL)
               : mts_onnx_floats_const(onnx, NULL, &shape, mts_onnx_dense(onnx, node->inputs[index]));
}

static void add_instance(mts_onnx *onnx, const mts_node *node, int64_t channels, const char *output)
{
    const char *inputs[3] = {value(onnx, node, 0), vector(onnx, node, 1, channels, 1.0f),
                             vector(onnx, node, 2, channels, 0.0f)};
    mts_onnx_float(onnx, mts_onnx_node(onnx, "InstanceNormalization", inputs, 3, output), "epsilon",
                   node->attrs.norm.epsilon);
}

/* What x - mean, or x, is divided by. */
static const char *divisor(mts_onnx *onnx, const mts_attrs_norm *norm, const char *d, uint32_t axes)
{
    const char *epsilon = mts_onnx_float_const(onnx, norm->epsilon);
    if (norm->kind == MTS_NORM_L1 || norm->kind == MTS_NORM_L2) {
        const char *op = norm->kind == MTS_NORM_L1 ? "ReduceL1" : "ReduceL2";
        return mts_onnx_two(onnx, "Max", reduce(onnx, op, d, axes, 1, NULL), epsilon, NULL);
    }
    const char *variance = reduce(onnx, "ReduceMean", mts_onnx_two(onnx, "Mul", d, d, NULL), axes, 1, NULL);
    if (norm->kind == MTS_NORM_DEVIATION) {
        return mts_onnx_two(onnx, "Add", mts_onnx_one(onnx, "Sqrt", variance, NULL), epsilon, NULL);
    }
    return mts_onnx_one(onnx, "Sqrt", mts_onnx_two(onnx, "Add", variance, epsilon, NULL), NULL);
}

/* (x - mean) / divisor; groups of channels as a dimension of their own, and what is
   behind them as one. */
static const char *quotient(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_attrs_norm *norm = &node->attrs.norm;
    const mts_shape *shape = &onnx->graph->values[node->output].shape;
    const bool grouped = norm->groups > 1;
    const bool whole = norm->axes >> 1 == (1u << (shape->rank - 1)) - 1u;
    uint32_t axes = norm->axes;
    const char *x = value(onnx, node, 0);
    if (grouped) {
        mts_shape parts = {.rank = 3, .dims = {shape->dims[0], norm->groups, shape->dims[1] / norm->groups}};
        for (uint32_t i = 2; i < shape->rank; i++) {
            if (whole) {
                parts.dims[2] *= shape->dims[i];
            } else {
                parts.dims[parts.rank++] = shape->dims[i];
            }
        }
        axes = (norm->axes & 1u) | (whole ? 4u : (norm->axes & ~1u) << 1);
        x = mts_onnx_shaped(onnx, "Reshape", x, parts.dims, parts.rank, NULL);
    }
    const bool centred = norm->kind <= MTS_NORM_DEVIATION;
    const char *d =
        centred ? mts_onnx_two(onnx, "Sub", x, reduce(onnx, "ReduceMean", x, axes, 1, NULL), NULL) : x;
    const char *y = mts_onnx_two(onnx, "Div", d, divisor(onnx, norm, d, axes), grouped ? NULL : output);
    return grouped ? mts_onnx_shaped(onnx, "Reshape", y, shape->dims, shape->rank, output) : y;
}

void mts_onnx_add_norm(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_attrs_norm *norm = &node->attrs.norm;
    const mts_shape *shape = &onnx->graph->values[node->output].shape;
    const char *scale = value(onnx, node, 1), *bias = value(onnx, node, 2);
    const bool spatial = shape->rank >= 3 && norm->axes == (1u << shape->rank) - 4u;
    if (norm->kind == MTS_NORM_VARIANCE && spatial && by_channel(onnx, node, shape->dims[1])) {
        add_instance(onnx, node, shape->dims[1], output);
        return;
    }
    const char *y = quotient(onnx, node, scale || bias ? NULL : output);
    y = scale ? mts_onnx_two(onnx, "Mul", y, scale, bias ? NULL : output) : y;
    if (bias) {
        (void)mts_onnx_two(onnx, "Add", y, bias, output);
    }
}
