/*
 * reshape.c: the operators RESHAPE and EXPAND, whose output shape is an attribute.
 */
#include "graph/ops/common.h"

static mts_status reshape_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_shape *x = call->inputs[0], *shape = &call->attrs->reshape.shape;
    mts_status status = mts_graph_check_shape(shape, call->error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (mts_shape_count(x) != mts_shape_count(shape)) {
        char a[96], b[96];
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "%s and %s have different element counts",
                        mts_shape_text(x, a, sizeof a), mts_shape_text(shape, b, sizeof b));
    }
    *out = *shape;
    return MTS_STATUS_OK;
}

static mts_status expand_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_shape *shape = &call->attrs->reshape.shape;
    mts_status status = mts_graph_check_shape(shape, call->error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (!mts_shape_broadcast(call->inputs[0], shape, out) || !mts_shape_equal(out, shape)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "the input does not broadcast to the wanted shape");
    }
    return MTS_STATUS_OK;
}

static mts_propagation reshape_channels(const mts_graph *graph, const mts_node *node)
{
    const mts_shape *x = &graph->values[node->inputs[0]].shape;
    const mts_shape *y = &graph->values[node->output].shape;
    if (x->dims[0] != y->dims[0] || y->dims[1] % x->dims[1] != 0) {
        return mts_channels_fixed("a reshape that mixes channels");
    }
    const uint32_t factor = (uint32_t)(y->dims[1] / x->dims[1]);
    return (mts_propagation){.pass = factor == 1 ? MTS_CHANNELS_KEPT : MTS_CHANNELS_REPEATED,
                             .factor = factor};
}

static mts_propagation expand_channels(const mts_graph *graph, const mts_node *node)
{
    const mts_shape *x = &graph->values[node->inputs[0]].shape;
    const mts_shape *y = &graph->values[node->output].shape;
    const bool kept = x->rank == y->rank && x->dims[1] == y->dims[1];
    return (mts_propagation){.pass = kept ? MTS_CHANNELS_KEPT : MTS_CHANNELS_FIXED,
                             .reason = MTS_REASON_UNSTITCHED};
}

static const mts_op_field reshape_fields[] = {MTS_OP_WORD(reshape, shape.rank, false),
                                              MTS_OP_LONG(reshape, shape.dims, false)};

const mts_op_row mts_op_reshape = MTS_OP_ROW("reshape", 1, 1, MTS_NONE, reshape_fields, reshape_infer, NULL,
                                             mts_cost_none, NULL, reshape_channels, MTS_OP_INPUT_DATA);

const mts_op_row mts_op_expand = MTS_OP_ROW("expand", 1, 1, MTS_NONE, reshape_fields, expand_infer, NULL,
                                            mts_cost_none, NULL, expand_channels, MTS_OP_INPUT_VALUE);
