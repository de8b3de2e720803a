/*
 * element.c: the operators SCALE, UNARY, BINARY and SELECT, which work element by
 * element.
 */
#include "graph/ops/common.h"

static mts_status scale_infer(const mts_infer_call *call, mts_shape *out)
{
    mts_status status = mts_infer_rank(call, 0, 2, MTS_TENSOR_RANK_MAX);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    *out = *call->inputs[0];
    static const char *const names[3] = {"scale", "bias", "slope"};
    for (uint32_t i = 0; i < 3 && status == MTS_STATUS_OK; i++) {
        status = mts_infer_vector(call, i + 1, out->dims[1], names[i]);
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return mts_infer_act(call, &call->attrs->unary.act, mts_infer_input(call, 3));
}

static mts_status unary_infer(const mts_infer_call *call, mts_shape *out)
{
    *out = *call->inputs[0];
    return mts_infer_act(call, &call->attrs->unary.act, false);
}

static mts_status broadcast(const mts_infer_call *call, uint32_t index, mts_shape *out)
{
    const mts_shape before = *out;
    if (!mts_shape_broadcast(&before, call->inputs[index], out)) {
        char a[96], b[96];
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "shapes %s and %s do not broadcast",
                        mts_shape_text(&before, a, sizeof a),
                        mts_shape_text(call->inputs[index], b, sizeof b));
    }
    return MTS_STATUS_OK;
}

static mts_status select_infer(const mts_infer_call *call, mts_shape *out)
{
    *out = *call->inputs[0];
    mts_status status = broadcast(call, 1, out);
    MTS_TRY(status, broadcast(call, 2, out));
    return status;
}

static mts_status binary_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_binary *binary = &call->attrs->binary;
    if (binary->kind >= MTS_BIN_COUNT) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "binary function %u does not exist", binary->kind);
    }
    *out = *call->inputs[0];
    mts_status status = broadcast(call, 1, out);
    MTS_TRY(status, mts_infer_act(call, &binary->act, false));
    return status;
}

static mts_propagation unary_channels(const mts_graph *graph, const mts_node *node)
{
    (void)graph;
    return mts_channels_kept_after(&node->attrs.unary.act);
}

/* The dense form dirty a constant operand up so that zero stays zero; two computed
   operands are both zero. */
static mts_propagation binary_channels(const mts_graph *graph, const mts_node *node)
{
    const mts_shape *out = &graph->values[node->output].shape;
    const uint32_t kind = node->attrs.binary.kind;
    uint32_t computed = 0;
    if (kind >= MTS_BIN_ALONE) {
        return mts_channels_fixed("a comparison or a remainder");
    }
    for (uint32_t i = 0; i < 2; i++) {
        const mts_value *v = &graph->values[node->inputs[i]];
        if (v->kind == MTS_VALUE_CONST) {
            continue;
        }
        computed++;
        if (v->shape.rank != out->rank || v->shape.dims[0] != out->dims[0] ||
            v->shape.dims[1] != out->dims[1]) {
            return mts_channels_fixed("an operand that is broadcast over channels");
        }
    }
    const bool constant_right = graph->values[node->inputs[1]].kind == MTS_VALUE_CONST;
    const bool divides = kind == MTS_BIN_DIV || kind == MTS_BIN_POW;
    if (computed == 0 || (divides && !constant_right) || (kind == MTS_BIN_PRELU && computed == 1)) {
        return mts_channels_fixed("a binary operator that is undefined at 0");
    }
    return mts_channels_kept_after(&node->attrs.binary.act);
}

static const mts_op_field unary_fields[] = {MTS_OP_ACT(unary, act)};

static const mts_op_field binary_fields[] = {MTS_OP_WORD(binary, kind, true), MTS_OP_ACT(binary, act)};

const mts_op_row mts_op_scale = MTS_OP_ROW("scale", 3, 4, MTS_NONE, unary_fields, scale_infer, NULL,
                                           mts_cost_output, NULL, unary_channels, MTS_OP_INPUT_DATA,
                                           MTS_OP_INPUT_VECTOR, MTS_OP_INPUT_AFFINE, MTS_OP_INPUT_VECTOR);

const mts_op_row mts_op_unary = MTS_OP_ROW("unary", 1, 1, MTS_NONE, unary_fields, unary_infer, NULL,
                                           mts_cost_output, NULL, unary_channels, MTS_OP_INPUT_DATA);

const mts_op_row mts_op_binary = MTS_OP_ROW("binary", 2, 2, MTS_NONE, binary_fields, binary_infer, NULL,
                                            mts_cost_output, NULL, binary_channels, MTS_OP_INPUT_VALUE);

const mts_op_row mts_op_select =
    MTS_OP_ROW_BARE("select", 3, 3, MTS_NONE, select_infer, NULL, mts_cost_output, NULL,
                    mts_channels_unstitched, MTS_OP_INPUT_VALUE);
