/*
 * table.c: which ONNX operators are imported, in which opsets, with how many inputs, by
 * which function.
 */
#include "compiler/import/lower.h"

#include <limits.h>
#include <string.h>

/*
 * The newest opset that every row up to LAST was checked against. A later opset may
 * change an operator without a sign of it in the model, so nodes of later opsets are
 * refused. To raise LAST, read what the new opset changes, and end the rows of operators
 * that it gives another meaning.
 */
#define LAST 28
#define ANY MTS_LOWER_ANY

static const mts_lower_row rows[] = {
    /* operator, opsets, required and most inputs, function */
    {"Conv", 1, LAST, 2, 3, mts_lower_conv},
    {"ConvTranspose", 1, LAST, 2, 3, mts_lower_conv_transpose},
    {"MaxPool", 1, LAST, 1, 1, mts_lower_max_pool},
    {"AveragePool", 1, LAST, 1, 1, mts_lower_average_pool},
    {"GlobalAveragePool", 1, LAST, 1, 1, mts_lower_global_pool},
    {"GlobalMaxPool", 1, LAST, 1, 1, mts_lower_global_pool},
    {"BatchNormalization", 7, LAST, 5, 5, mts_lower_batch_norm},
    {"LRN", 1, LAST, 1, 1, mts_lower_lrn},
    {"Relu", 6, LAST, 1, 1, mts_lower_unary},
    {"LeakyRelu", 6, LAST, 1, 1, mts_lower_unary},
    {"Sigmoid", 6, LAST, 1, 1, mts_lower_unary},
    {"HardSigmoid", 6, LAST, 1, 1, mts_lower_unary},
    {"Tanh", 6, LAST, 1, 1, mts_lower_unary},
    {"Exp", 6, LAST, 1, 1, mts_lower_unary},
    {"Sqrt", 6, LAST, 1, 1, mts_lower_unary},
    {"Abs", 6, LAST, 1, 1, mts_lower_unary},
    {"Neg", 6, LAST, 1, 1, mts_lower_unary},
    {"Floor", 6, LAST, 1, 1, mts_lower_unary},
    {"Ceil", 6, LAST, 1, 1, mts_lower_unary},
    {"Log", 6, LAST, 1, 1, mts_lower_unary},
    {"Reciprocal", 6, LAST, 1, 1, mts_lower_unary},
    {"Erf", 9, LAST, 1, 1, mts_lower_unary},
    {"Round", 11, LAST, 1, 1, mts_lower_unary},
    {"Sign", 9, LAST, 1, 1, mts_lower_unary},
    {"Sin", 7, LAST, 1, 1, mts_lower_unary},
    {"Cos", 7, LAST, 1, 1, mts_lower_unary},
    {"Tan", 7, LAST, 1, 1, mts_lower_unary},
    {"Asin", 7, LAST, 1, 1, mts_lower_unary},
    {"Acos", 7, LAST, 1, 1, mts_lower_unary},
    {"Atan", 7, LAST, 1, 1, mts_lower_unary},
    {"Sinh", 9, LAST, 1, 1, mts_lower_unary},
    {"Cosh", 9, LAST, 1, 1, mts_lower_unary},
    {"Asinh", 9, LAST, 1, 1, mts_lower_unary},
    {"Acosh", 9, LAST, 1, 1, mts_lower_unary},
    {"Atanh", 9, LAST, 1, 1, mts_lower_unary},
    {"Gelu", 20, LAST, 1, 1, mts_lower_gelu},
    {"IsNaN", 9, LAST, 1, 1, mts_lower_is_number},
    {"IsInf", 10, LAST, 1, 1, mts_lower_is_number},
    {"Clip", 6, 10, 1, 1, mts_lower_clip_attrs},
    {"Clip", 11, LAST, 1, 3, mts_lower_clip},
    {"PRelu", 7, LAST, 2, 2, mts_lower_prelu},
    {"HardSwish", 14, LAST, 1, 1, mts_lower_unary},
    {"Softmax", 1, 12, 1, 1, mts_lower_softmax_legacy},
    {"Softmax", 13, LAST, 1, 1, mts_lower_softmax},
    {"LogSoftmax", 1, 12, 1, 1, mts_lower_softmax_legacy},
    {"LogSoftmax", 13, LAST, 1, 1, mts_lower_softmax},
    {"Add", 7, LAST, 2, 2, mts_lower_binary},
    {"Sub", 7, LAST, 2, 2, mts_lower_binary},
    {"Mul", 7, LAST, 2, 2, mts_lower_binary},
    {"Div", 7, LAST, 2, 2, mts_lower_binary},
    {"Pow", 7, LAST, 2, 2, mts_lower_pow},
    {"Sum", 6, LAST, 1, ANY, mts_lower_nary},
    {"Mean", 6, LAST, 1, ANY, mts_lower_nary},
    {"Max", 6, LAST, 1, ANY, mts_lower_nary},
    {"Min", 6, LAST, 1, ANY, mts_lower_nary},
    {"Dropout", 7, LAST, 1, 3, mts_lower_dropout},
    {"Identity", 1, LAST, 1, 1, mts_lower_identity},
    {"Cast", 6, LAST, 1, 1, mts_lower_cast},
    {"Reshape", 5, LAST, 2, 2, mts_lower_reshape},
    {"Flatten", 1, LAST, 1, 1, mts_lower_flatten},
    {"Squeeze", 1, LAST, 1, 2, mts_lower_squeeze},
    {"Unsqueeze", 1, LAST, 1, 2, mts_lower_unsqueeze},
    {"Transpose", 1, LAST, 1, 1, mts_lower_transpose},
    {"Expand", 8, LAST, 2, 2, mts_lower_expand},
    {"Shape", 1, LAST, 1, 1, mts_lower_shape},
    {"Size", 1, LAST, 1, 1, mts_lower_size},
    {"Tile", 6, LAST, 2, 2, mts_lower_tile},
    {"DepthToSpace", 1, LAST, 1, 1, mts_lower_depth_to_space},
    {"SpaceToDepth", 1, LAST, 1, 1, mts_lower_space_to_depth},
    {"Constant", 1, LAST, 0, 0, mts_lower_constant},
    {"ConstantOfShape", 9, LAST, 1, 1, mts_lower_constant_of_shape},
    {"Range", 11, LAST, 3, 3, mts_lower_range},
    {"Where", 9, LAST, 3, 3, mts_lower_where},
    {"Equal", 7, LAST, 2, 2, mts_lower_compare},
    {"Greater", 7, LAST, 2, 2, mts_lower_compare},
    {"GreaterOrEqual", 12, LAST, 2, 2, mts_lower_compare},
    {"Less", 7, LAST, 2, 2, mts_lower_compare},
    {"LessOrEqual", 12, LAST, 2, 2, mts_lower_compare},
    {"And", 7, LAST, 2, 2, mts_lower_compare},
    {"Or", 7, LAST, 2, 2, mts_lower_compare},
    {"Xor", 7, LAST, 2, 2, mts_lower_compare},
    {"Not", 1, LAST, 1, 1, mts_lower_not},
    {"Mod", 10, LAST, 2, 2, mts_lower_mod},
    {"Slice", 1, LAST, 1, 5, mts_lower_slice},
    {"Split", 2, LAST, 1, 2, mts_lower_split},
    {"Concat", 4, LAST, 1, ANY, mts_lower_concat},
    {"Gather", 1, LAST, 2, 2, mts_lower_gather},
    {"Pad", 2, LAST, 1, 4, mts_lower_pad},
    {"Resize", 10, 10, 2, 2, mts_lower_resize_10},
    {"Resize", 11, LAST, 1, 4, mts_lower_resize},
    {"Upsample", 7, 8, 1, 1, mts_lower_upsample_7},
    {"Upsample", 9, 9, 2, 2, mts_lower_resize_10},
    {"LSTM", 7, LAST, 3, 8, mts_lower_lstm},
    {"GRU", 7, LAST, 3, 6, mts_lower_gru},
    {"RNN", 7, LAST, 3, 6, mts_lower_rnn},
    {"MatMul", 1, LAST, 2, 2, mts_lower_matmul},
    {"Gemm", 7, LAST, 2, 3, mts_lower_gemm},
    {"ReduceMean", 1, 17, 1, 1, mts_lower_reduce},
    {"ReduceMean", 18, LAST, 1, 2, mts_lower_reduce},
    {"ReduceSum", 1, 12, 1, 1, mts_lower_reduce},
    {"ReduceSum", 13, LAST, 1, 2, mts_lower_reduce},
    {"ReduceMax", 1, 17, 1, 1, mts_lower_reduce},
    {"ReduceMax", 18, LAST, 1, 2, mts_lower_reduce},
    {"ReduceMin", 1, 17, 1, 1, mts_lower_reduce},
    {"ReduceMin", 18, LAST, 1, 2, mts_lower_reduce},
    {"ReduceProd", 1, 17, 1, 1, mts_lower_reduce},
    {"ReduceProd", 18, LAST, 1, 2, mts_lower_reduce},
    {"Elu", 6, LAST, 1, 1, mts_lower_elu},
    {"Selu", 6, LAST, 1, 1, mts_lower_elu},
    {"Celu", 12, LAST, 1, 1, mts_lower_celu},
    {"Softplus", 1, LAST, 1, 1, mts_lower_unary},
    {"Mish", 18, LAST, 1, 1, mts_lower_unary},
    {"Softsign", 1, LAST, 1, 1, mts_lower_softsign},
    {"Swish", 24, LAST, 1, 1, mts_lower_swish},
    {"ThresholdedRelu", 10, LAST, 1, 1, mts_lower_thresholded_relu},
    {"LayerNormalization", 17, LAST, 2, 3, mts_lower_layer_norm},
    {"RMSNormalization", 23, LAST, 2, 2, mts_lower_layer_norm},
    {"InstanceNormalization", 6, LAST, 3, 3, mts_lower_instance_norm},
    {"GroupNormalization", 18, LAST, 3, 3, mts_lower_group_norm},
    {"MeanVarianceNormalization", 9, LAST, 1, 1, mts_lower_mean_variance_norm},
    {"LpNormalization", 1, LAST, 1, 1, mts_lower_lp_norm},
    {"ReduceL1", 1, 17, 1, 1, mts_lower_reduce},
    {"ReduceL1", 18, LAST, 1, 2, mts_lower_reduce},
    {"ReduceL2", 1, 17, 1, 1, mts_lower_reduce},
    {"ReduceL2", 18, LAST, 1, 2, mts_lower_reduce},
    {"ReduceSumSquare", 1, 17, 1, 1, mts_lower_reduce},
    {"ReduceSumSquare", 18, LAST, 1, 2, mts_lower_reduce},
    {"ReduceLogSum", 1, 17, 1, 1, mts_lower_reduce},
    {"ReduceLogSum", 18, LAST, 1, 2, mts_lower_reduce},
    {"ReduceLogSumExp", 1, 17, 1, 1, mts_lower_reduce},
    {"ReduceLogSumExp", 18, LAST, 1, 2, mts_lower_reduce},
    {"GatherElements", 11, LAST, 2, 2, mts_lower_gather_elements},
    {"GatherND", 11, LAST, 2, 2, mts_lower_gather_nd},
    {"Compress", 9, LAST, 2, 2, mts_lower_compress},
    {"ReverseSequence", 10, LAST, 2, 2, mts_lower_reverse_sequence},
    {"Trilu", 14, LAST, 1, 2, mts_lower_trilu},
    {"Scatter", 9, 10, 3, 3, mts_lower_scatter_elements},
    {"ScatterElements", 11, LAST, 3, 3, mts_lower_scatter_elements},
    {"ScatterND", 11, LAST, 3, 3, mts_lower_scatter_nd},
    {"ArgMax", 1, LAST, 1, 1, mts_lower_arg},
    {"ArgMin", 1, LAST, 1, 1, mts_lower_arg},
    {"TopK", 1, 9, 1, 1, mts_lower_top_k},
    {"TopK", 10, LAST, 2, 2, mts_lower_top_k},
    {"OneHot", 9, LAST, 3, 3, mts_lower_one_hot},
    {"Hardmax", 1, LAST, 1, 1, mts_lower_hardmax},
    {"CumSum", 11, LAST, 2, 2, mts_lower_scan},
    {"CumProd", 26, LAST, 2, 2, mts_lower_scan},
    {"GridSample", 16, LAST, 2, 2, mts_lower_grid_sample},
    {"EyeLike", 9, LAST, 1, 1, mts_lower_eye_like},
    {"NonZero", 9, LAST, 1, 1, mts_lower_non_zero},
    {"Einsum", 12, LAST, 1, 8, mts_lower_einsum},
    {"QuantizeLinear", 10, LAST, 2, 3, mts_lower_quantize},
    {"DequantizeLinear", 10, LAST, 2, 3, mts_lower_dequantize},
    {"DynamicQuantizeLinear", 11, LAST, 1, 1, mts_lower_dynamic_quantize},
    {"MatMulInteger", 10, LAST, 2, 4, mts_lower_matmul_integer},
    {"ConvInteger", 10, LAST, 2, 4, mts_lower_conv_integer},
    {"QLinearConv", 10, LAST, 8, 9, mts_lower_qlinear_conv},
    {"QLinearMatMul", 10, LAST, 8, 8, mts_lower_qlinear_matmul},
};

const mts_lower_row *mts_lower_row_at(size_t index)
{
    return index < sizeof rows / sizeof rows[0] ? &rows[index] : NULL;
}

const mts_lower_row *mts_lower_find(const char *op, int64_t opset, int known[2])
{
    known[0] = INT_MAX;
    known[1] = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].op, op) != 0) {
            continue;
        }
        known[0] = rows[i].since < known[0] ? rows[i].since : known[0];
        known[1] = rows[i].until > known[1] ? rows[i].until : known[1];
        if (opset >= rows[i].since && opset <= rows[i].until) {
            return &rows[i];
        }
    }
    return NULL;
}
