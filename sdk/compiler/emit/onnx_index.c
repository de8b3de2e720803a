/*
 * onnx_index.c: what ONNX nodes compute the operators whose values or results are
 * positions, and scans.
 *
 * Positions are float32 in a graph and int64 in ONNX, so that casts stand between them.
 */
#include "compiler/emit/onnx_build.h"

void mts_onnx_add_arg(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const uint32_t kind = node->attrs.reduce.kind;
    const bool least = kind == MTS_REDUCE_ARG_MIN || kind == MTS_REDUCE_ARG_MIN_LAST;
    const char *x = mts_onnx_value(onnx, node->inputs[0]), *at = mts_onnx_temporary(onnx);
    Onnx__NodeProto *made = mts_onnx_node(onnx, least ? "ArgMin" : "ArgMax", &x, 1, at);
    mts_onnx_int(onnx, made, "axis", mts_reduce_axis(&node->attrs.reduce));
    mts_onnx_int(onnx, made, "keepdims", node->attrs.reduce.keep);
    mts_onnx_int(onnx, made, "select_last_index", kind >= MTS_REDUCE_ARG_MAX_LAST);
    (void)mts_onnx_cast(onnx, at, MTS_TYPE_FLOAT32, output);
}

void mts_onnx_add_take(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_shape *shape = &onnx->graph->values[node->output].shape;
    const char *expand[2] = {mts_onnx_cast(onnx, mts_onnx_value(onnx, node->inputs[1]), MTS_TYPE_INT64, NULL),
                             mts_onnx_ints_const(onnx, shape->dims, shape->rank)};
    const char *wide = mts_onnx_temporary(onnx);
    (void)mts_onnx_node(onnx, "Expand", expand, 2, wide);
    const char *inputs[2] = {mts_onnx_value(onnx, node->inputs[0]), wide};
    mts_onnx_int(onnx, mts_onnx_node(onnx, "GatherElements", inputs, 2, output), "axis", 1);
}

void mts_onnx_add_scan(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const mts_attrs_scan *scan = &node->attrs.scan;
    const int64_t axis = scan->axis;
    const char *inputs[2] = {mts_onnx_value(onnx, node->inputs[0]), mts_onnx_ints_const(onnx, &axis, 1)};
    Onnx__NodeProto *made = mts_onnx_node(onnx, "CumSum", inputs, 2, output);
    mts_onnx_int(onnx, made, "exclusive", scan->exclusive);
    mts_onnx_int(onnx, made, "reverse", scan->reverse);
}

/* The second result of TopK; the first one is not read. */
void mts_onnx_add_order(mts_onnx *onnx, const mts_node *node, const char *output)
{
    const int64_t count = node->attrs.order.count;
    const char *inputs[2] = {mts_onnx_value(onnx, node->inputs[0]), mts_onnx_ints_const(onnx, &count, 1)};
    const char *largest = mts_onnx_temporary(onnx), *at = mts_onnx_temporary(onnx);
    Onnx__NodeProto *made = mts_onnx_node(onnx, "TopK", inputs, 2, largest);
    char **outputs = mts_onnx_alloc(onnx, 2, sizeof *outputs);
    if (made && outputs) {
        outputs[0] = made->output[0];
        outputs[1] = (char *)at;
        made->output = outputs;
        made->n_output = 2;
    }
    mts_onnx_int(onnx, made, "axis", -1);
    mts_onnx_int(onnx, made, "largest", node->attrs.order.largest);
    (void)mts_onnx_cast(onnx, at, MTS_TYPE_FLOAT32, output);
}
