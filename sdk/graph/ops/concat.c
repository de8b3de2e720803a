/*
 * concat.c: the operator CONCAT.
 */
#include "graph/ops/common.h"

static mts_status concat_infer(const mts_infer_call *call, mts_shape *out)
{
    uint32_t axis = call->attrs->concat.axis;
    *out = *call->inputs[0];
    if (axis >= out->rank) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "axis %u does not fit rank %u", axis, out->rank);
    }
    for (uint32_t i = 1; i < call->input_count; i++) {
        const mts_shape *x = call->inputs[i];
        bool fits = x->rank == out->rank;
        for (uint32_t d = 0; fits && d < out->rank; d++) {
            fits = d == axis || x->dims[d] == out->dims[d];
        }
        if (!fits) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED,
                            "input %u does not fit input 0 outside axis %u", i, axis);
        }
        out->dims[axis] += x->dims[axis];
    }
    return MTS_STATUS_OK;
}

static mts_propagation concat_channels(const mts_graph *graph, const mts_node *node)
{
    const uint32_t axis = node->attrs.concat.axis;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (graph->values[node->inputs[i]].kind == MTS_VALUE_CONST) {
            return mts_channels_fixed("a constant in a concatenation");
        }
    }
    return (mts_propagation){.pass = axis == 1 ? MTS_CHANNELS_JOINED : MTS_CHANNELS_KEPT,
                             .reason = axis == 0 ? "a concatenation of batches" : NULL};
}

static const mts_op_field concat_fields[] = {MTS_OP_WORD(axis, axis, true)};

const mts_op_row mts_op_concat = MTS_OP_ROW("concat", 1, MTS_OP_ANY, MTS_NONE, concat_fields, concat_infer,
                                            NULL, mts_cost_none, NULL, concat_channels, MTS_OP_INPUT_VALUE);
