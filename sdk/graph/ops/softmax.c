/*
 * softmax.c: the operator SOFTMAX.
 */
#include "graph/ops/common.h"

static mts_status softmax_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_softmax *softmax = &call->attrs->softmax;
    *out = *call->inputs[0];
    if (softmax->axis >= out->rank || softmax->log > 1) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "axis %u does not fit rank %u", softmax->axis,
                        out->rank);
    }
    return MTS_STATUS_OK;
}

static mts_propagation softmax_channels(const mts_graph *graph, const mts_node *node)
{
    (void)graph;
    const uint32_t axis = node->attrs.softmax.axis;
    mts_propagation rule = {.pass = MTS_CHANNELS_KEPT};
    if (axis == 0) {
        rule.reason = "a softmax over the batch";
        return rule;
    }
    rule.across = axis == 1;
    rule.dirty = axis != 1 || node->attrs.softmax.log != 0;
    return rule;
}

static const mts_op_field softmax_fields[] = {MTS_OP_WORD(softmax, axis, true),
                                              MTS_OP_WORD(softmax, log, true)};

const mts_op_row mts_op_softmax = MTS_OP_ROW("softmax", 1, 1, MTS_NONE, softmax_fields, softmax_infer, NULL,
                                             mts_cost_input, NULL, softmax_channels, MTS_OP_INPUT_DATA);
