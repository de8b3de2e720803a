/*
 * reduce.c: the operator REDUCE.
 */
#include "graph/ops/common.h"

uint32_t mts_reduce_axis(const mts_attrs_reduce *reduce)
{
    uint32_t axis = 0;
    while (!(reduce->axes >> axis & 1u)) {
        axis++;
    }
    return axis;
}

static mts_status reduce_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_reduce *reduce = &call->attrs->reduce;
    const mts_shape *x = call->inputs[0];
    if (reduce->kind >= MTS_REDUCE_COUNT || reduce->keep > 1) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "a mode is out of range");
    }
    if (reduce->axes == 0 || reduce->axes >= 1u << x->rank) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "axes 0x%x do not fit rank %u", reduce->axes,
                        x->rank);
    }
    if (MTS_REDUCE_IS_POSITION(reduce->kind)) {
        const uint32_t axis = mts_reduce_axis(reduce);
        if (reduce->axes != 1u << axis) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED,
                            "a position lies in one dimension, not in axes 0x%x", reduce->axes);
        }
        const mts_status status = mts_infer_positions(call, x->dims[axis]);
        if (status != MTS_STATUS_OK) {
            return status;
        }
    }
    out->rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!(reduce->axes >> i & 1u)) {
            out->dims[out->rank++] = x->dims[i];
        } else if (reduce->keep) {
            out->dims[out->rank++] = 1;
        }
    }
    return MTS_STATUS_OK;
}

static mts_propagation reduce_channels(const mts_graph *graph, const mts_node *node)
{
    (void)graph;
    const mts_attrs_reduce *reduce = &node->attrs.reduce;
    const bool kept = (reduce->axes & 2u) == 0 && (reduce->keep || (reduce->axes & 1u) == 0);
    return (mts_propagation){.pass = kept ? MTS_CHANNELS_KEPT : MTS_CHANNELS_FIXED,
                             .reason = (reduce->axes & 3u) != 0 ? "a reduction over channels" : NULL};
}

static const mts_op_field reduce_fields[] = {MTS_OP_WORD(reduce, kind, true), MTS_OP_WORD(reduce, axes, true),
                                             MTS_OP_WORD(reduce, keep, true)};

const mts_op_row mts_op_reduce = MTS_OP_ROW("reduce", 1, 1, MTS_NONE, reduce_fields, reduce_infer, NULL,
                                            mts_cost_input, NULL, reduce_channels, MTS_OP_INPUT_DATA);
