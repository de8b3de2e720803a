/*
 * table.c: which TensorFlow Lite operators are imported, with how many operands, by which
 * function.
 */
#include "compiler/import/tflite/lower.h"
#include "compiler/import/tflite/tflite.h"

#include <stdio.h>
#include <string.h>

#define ANY 0xffffu

static const mts_tflite_row rows[] = {
    /* number in the schema, name, required and most operands, function */
    {0, "ADD", 2, 2, mts_tflite_lower_binary},
    {1, "AVERAGE_POOL_2D", 1, 1, mts_tflite_lower_average_pool},
    {2, "CONCATENATION", 1, ANY, mts_tflite_lower_concat},
    {3, "CONV_2D", 2, 3, mts_tflite_lower_conv},
    {4, "DEPTHWISE_CONV_2D", 2, 3, mts_tflite_lower_depthwise},
    {5, "DEPTH_TO_SPACE", 1, 1, mts_tflite_lower_depth_to_space},
    {6, "DEQUANTIZE", 1, 1, mts_tflite_lower_dequantize},
    {7, "EMBEDDING_LOOKUP", 2, 2, mts_tflite_lower_embedding},
    {8, "FLOOR", 1, 1, mts_tflite_lower_unary},
    {9, "FULLY_CONNECTED", 2, 3, mts_tflite_lower_fully_connected},
    {11, "L2_NORMALIZATION", 1, 1, mts_tflite_lower_l2_norm},
    {14, "LOGISTIC", 1, 1, mts_tflite_lower_unary},
    {17, "MAX_POOL_2D", 1, 1, mts_tflite_lower_max_pool},
    {18, "MUL", 2, 2, mts_tflite_lower_binary},
    {19, "RELU", 1, 1, mts_tflite_lower_unary},
    {20, "RELU_N1_TO_1", 1, 1, mts_tflite_lower_unary},
    {21, "RELU6", 1, 1, mts_tflite_lower_unary},
    {22, "RESHAPE", 1, 2, mts_tflite_lower_reshape},
    {23, "RESIZE_BILINEAR", 2, 2, mts_tflite_lower_resize_bilinear},
    {25, "SOFTMAX", 1, 1, mts_tflite_lower_softmax},
    {26, "SPACE_TO_DEPTH", 1, 1, mts_tflite_lower_space_to_depth},
    {28, "TANH", 1, 1, mts_tflite_lower_unary},
    {34, "PAD", 2, 2, mts_tflite_lower_pad},
    {36, "GATHER", 2, 2, mts_tflite_lower_gather},
    {37, "BATCH_TO_SPACE_ND", 3, 3, mts_tflite_lower_batch_to_space},
    {38, "SPACE_TO_BATCH_ND", 3, 3, mts_tflite_lower_space_to_batch},
    {39, "TRANSPOSE", 2, 2, mts_tflite_lower_transpose},
    {40, "MEAN", 2, 2, mts_tflite_lower_reduce},
    {41, "SUB", 2, 2, mts_tflite_lower_binary},
    {42, "DIV", 2, 2, mts_tflite_lower_binary},
    {43, "SQUEEZE", 1, 1, mts_tflite_lower_squeeze},
    {44, "UNIDIRECTIONAL_SEQUENCE_LSTM", 1, 24, mts_tflite_lower_lstm},
    {45, "STRIDED_SLICE", 4, 4, mts_tflite_lower_strided_slice},
    {47, "EXP", 1, 1, mts_tflite_lower_unary},
    {48, "TOPK_V2", 2, 2, mts_tflite_lower_top_k},
    {49, "SPLIT", 2, 2, mts_tflite_lower_split},
    {50, "LOG_SOFTMAX", 1, 1, mts_tflite_lower_softmax},
    {53, "CAST", 1, 1, mts_tflite_lower_cast},
    {54, "PRELU", 2, 2, mts_tflite_lower_prelu},
    {55, "MAXIMUM", 2, 2, mts_tflite_lower_binary},
    {56, "ARG_MAX", 2, 2, mts_tflite_lower_arg},
    {57, "MINIMUM", 2, 2, mts_tflite_lower_binary},
    {58, "LESS", 2, 2, mts_tflite_lower_compare},
    {59, "NEG", 1, 1, mts_tflite_lower_unary},
    {60, "PADV2", 3, 3, mts_tflite_lower_pad},
    {61, "GREATER", 2, 2, mts_tflite_lower_compare},
    {62, "GREATER_EQUAL", 2, 2, mts_tflite_lower_compare},
    {63, "LESS_EQUAL", 2, 2, mts_tflite_lower_compare},
    {64, "SELECT", 3, 3, mts_tflite_lower_select},
    {65, "SLICE", 3, 3, mts_tflite_lower_slice},
    {66, "SIN", 1, 1, mts_tflite_lower_unary},
    {67, "TRANSPOSE_CONV", 3, 4, mts_tflite_lower_transpose_conv},
    {69, "TILE", 2, 2, mts_tflite_lower_tile},
    {70, "EXPAND_DIMS", 2, 2, mts_tflite_lower_expand_dims},
    {71, "EQUAL", 2, 2, mts_tflite_lower_compare},
    {72, "NOT_EQUAL", 2, 2, mts_tflite_lower_compare},
    {73, "LOG", 1, 1, mts_tflite_lower_unary},
    {74, "SUM", 2, 2, mts_tflite_lower_reduce},
    {75, "SQRT", 1, 1, mts_tflite_lower_unary},
    {76, "RSQRT", 1, 1, mts_tflite_lower_unary},
    {77, "SHAPE", 1, 1, mts_tflite_lower_shape},
    {78, "POW", 2, 2, mts_tflite_lower_binary},
    {79, "ARG_MIN", 2, 2, mts_tflite_lower_arg},
    {81, "REDUCE_PROD", 2, 2, mts_tflite_lower_reduce},
    {82, "REDUCE_MAX", 2, 2, mts_tflite_lower_reduce},
    {83, "PACK", 1, ANY, mts_tflite_lower_pack},
    {84, "LOGICAL_OR", 2, 2, mts_tflite_lower_compare},
    {85, "ONE_HOT", 4, 4, mts_tflite_lower_one_hot},
    {86, "LOGICAL_AND", 2, 2, mts_tflite_lower_compare},
    {87, "LOGICAL_NOT", 1, 1, mts_tflite_lower_not},
    {88, "UNPACK", 1, 1, mts_tflite_lower_unpack},
    {89, "REDUCE_MIN", 2, 2, mts_tflite_lower_reduce},
    {90, "FLOOR_DIV", 2, 2, mts_tflite_lower_floor_div},
    {92, "SQUARE", 1, 1, mts_tflite_lower_unary},
    {94, "FILL", 2, 2, mts_tflite_lower_fill},
    {95, "FLOOR_MOD", 2, 2, mts_tflite_lower_binary},
    {97, "RESIZE_NEAREST_NEIGHBOR", 2, 2, mts_tflite_lower_resize_nearest},
    {98, "LEAKY_RELU", 1, 1, mts_tflite_lower_leaky},
    {99, "SQUARED_DIFFERENCE", 2, 2, mts_tflite_lower_squared_difference},
    {100, "MIRROR_PAD", 2, 2, mts_tflite_lower_mirror_pad},
    {101, "ABS", 1, 1, mts_tflite_lower_unary},
    {102, "SPLIT_V", 3, 3, mts_tflite_lower_split_sizes},
    {104, "CEIL", 1, 1, mts_tflite_lower_unary},
    {106, "ADD_N", 1, ANY, mts_tflite_lower_add_n},
    {107, "GATHER_ND", 2, 2, mts_tflite_lower_gather_nd},
    {108, "COS", 1, 1, mts_tflite_lower_unary},
    {111, "ELU", 1, 1, mts_tflite_lower_unary},
    {114, "QUANTIZE", 1, 1, mts_tflite_lower_dequantize},
    {116, "ROUND", 1, 1, mts_tflite_lower_unary},
    {117, "HARD_SWISH", 1, 1, mts_tflite_lower_unary},
    {122, "SCATTER_ND", 3, 3, mts_tflite_lower_scatter_nd},
    {123, "SELECT_V2", 3, 3, mts_tflite_lower_select},
    {124, "DENSIFY", 1, 1, mts_tflite_lower_dequantize},
    {126, "BATCH_MATMUL", 2, 2, mts_tflite_lower_batch_matmul},
    {128, "CUMSUM", 2, 2, mts_tflite_lower_cumsum},
    {130, "BROADCAST_TO", 2, 2, mts_tflite_lower_broadcast},
    {150, "GELU", 1, 1, mts_tflite_lower_gelu},
    {152, "RELU_0_TO_1", 1, 1, mts_tflite_lower_unary},
    {158, "SIGN", 1, 1, mts_tflite_lower_unary},
    {MTS_TFLITE_CUSTOM, "Convolution2DTransposeBias", 2, 3, mts_tflite_lower_transpose_bias}};

/* Operators that files hold often and that are refused, so that messages can name
   them. */
static const struct {
    uint32_t code;
    const char *op;
} refused[] = {{13, "LOCAL_RESPONSE_NORMALIZATION"},
               {16, "LSTM"},
               {96, "RANGE"},
               {118, "IF"},
               {119, "WHILE"},
               {120, "NON_MAX_SUPPRESSION_V4"},
               {121, "NON_MAX_SUPPRESSION_V5"},
               {142, "VAR_HANDLE"}};

const char *mts_tflite_operator_at(size_t index, uint32_t *code)
{
    if (index >= sizeof rows / sizeof rows[0]) {
        return NULL;
    }
    *code = rows[index].code;
    return rows[index].op;
}

const mts_tflite_row *mts_tflite_find(const mts_tflite_operator *node)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].code == node->code && (!node->custom || strcmp(rows[i].op, node->custom) == 0)) {
            return &rows[i];
        }
    }
    return NULL;
}

const char *mts_tflite_operator_name(const mts_tflite_operator *node, char *text, size_t size)
{
    const mts_tflite_row *row = mts_tflite_find(node);
    if (row || node->custom) {
        return row ? row->op : node->custom;
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (refused[i].code == node->code) {
            return refused[i].op;
        }
    }
    (void)snprintf(text, size, "operator %u", node->code);
    return text;
}
