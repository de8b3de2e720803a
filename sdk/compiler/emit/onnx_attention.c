/*
 * onnx_attention.c: attention as products and a softmax.
 */
#include "compiler/emit/onnx_build.h"

/* [N, C, 1, tokens] as [N, heads, C / heads, tokens]. */
static const char *heads_of(mts_onnx *onnx, const mts_node *node, uint32_t index)
{
    const mts_shape *shape = &onnx->graph->values[node->inputs[index]].shape;
    const int64_t heads = node->attrs.attention.heads;
    const int64_t dims[4] = {shape->dims[0], heads, shape->dims[1] / heads, shape->dims[3]};
    return mts_onnx_shaped(onnx, "Reshape", mts_onnx_value(onnx, node->inputs[index]), dims, 4, NULL);
}

static const char *swapped(mts_onnx *onnx, const char *x)
{
    static const int64_t perm[4] = {0, 1, 3, 2};
    const char *output = mts_onnx_temporary(onnx);
    mts_onnx_ints(onnx, mts_onnx_node(onnx, "Transpose", &x, 1, output), "perm", perm, 4);
    return output;
}

void mts_onnx_add_attention(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_shape *shape = &onnx->graph->values[node->output].shape;
    const char *q = swapped(onnx, heads_of(onnx, node, 0));
    const char *scores = mts_onnx_two(onnx, "MatMul", q, heads_of(onnx, node, 1), NULL);
    scores = mts_onnx_two(onnx, "Mul", scores, mts_onnx_float_const(onnx, node->attrs.attention.scale), NULL);
    if (node->input_count > 3 && node->inputs[3] != MTS_NONE) {
        scores = mts_onnx_two(onnx, "Add", scores, mts_onnx_value(onnx, node->inputs[3]), NULL);
    }
    const char *weights = mts_onnx_temporary(onnx);
    mts_onnx_int(onnx, mts_onnx_node(onnx, "Softmax", &scores, 1, weights), "axis", -1);
    const char *v = swapped(onnx, heads_of(onnx, node, 2));
    const char *sums = swapped(onnx, mts_onnx_two(onnx, "MatMul", weights, v, NULL));
    (void)mts_onnx_shaped(onnx, "Reshape", sums, shape->dims, 4, output);
}
