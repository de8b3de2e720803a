/*
 * order.c: the operator ORDER.
 */
#include "graph/ops/common.h"

static mts_status order_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_order *order = &call->attrs->order;
    const mts_status status = mts_infer_rank(call, 0, 1, MTS_TENSOR_RANK_MAX);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    *out = *call->inputs[0];
    const int64_t length = out->dims[out->rank - 1];
    if (order->count == 0 || (int64_t)order->count > length || order->largest > 1) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "%u of %lld elements are wanted", order->count,
                        (long long)length);
    }
    out->dims[out->rank - 1] = order->count;
    return mts_infer_positions(call, length);
}

/* A row is read once for each of its results. */
static uint64_t order_mul_adds(const mts_graph *graph, const mts_node *node)
{
    return mts_cost_input(graph, node) * node->attrs.order.count;
}

static const mts_op_field order_fields[] = {MTS_OP_WORD(order, count, false),
                                            MTS_OP_WORD(order, largest, true)};

const mts_op_row mts_op_order = MTS_OP_ROW("order", 1, 1, MTS_NONE, order_fields, order_infer, NULL,
                                           order_mul_adds, NULL, mts_channels_unstitched, MTS_OP_INPUT_DATA);
