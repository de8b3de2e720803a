/*
 * slice.c: the operator SLICE.
 */
#include "graph/ops/common.h"

static mts_status slice_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_slice *slice = &call->attrs->slice;
    const mts_shape *x = call->inputs[0];
    out->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t start = slice->start[i], step = slice->step[i], size = slice->size[i], dim = x->dims[i];
        bool fits =
            start >= 0 && start < dim && step != 0 && step >= -dim && step <= dim && size >= 1 && size <= dim;
        if (fits) {
            int64_t last = start + (size - 1) * step;
            fits = last >= 0 && last < dim;
        }
        if (!fits) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED,
                            "dimension %u: start %lld, step %lld, size %lld leave the input's %lld", i,
                            (long long)start, (long long)step, (long long)size, (long long)dim);
        }
        out->dims[i] = size;
    }
    return MTS_STATUS_OK;
}

static mts_propagation slice_channels(const mts_graph *graph, const mts_node *node)
{
    const mts_attrs_slice *slice = &node->attrs.slice;
    const mts_shape *x = &graph->values[node->inputs[0]].shape;
    bool whole[2] = {false, false}; /* batch, channels */
    for (uint32_t i = 0; i < 2; i++) {
        whole[i] = slice->start[i] == 0 && slice->step[i] == 1 && slice->size[i] == x->dims[i];
    }
    return (mts_propagation){.pass = whole[1] ? MTS_CHANNELS_KEPT : MTS_CHANNELS_FIXED,
                             .reason = whole[0] && whole[1] ? NULL : "a slice of channels"};
}

static const mts_op_field slice_fields[] = {MTS_OP_LONG(slice, start, false), MTS_OP_LONG(slice, step, true),
                                            MTS_OP_LONG(slice, size, false)};

const mts_op_row mts_op_slice = MTS_OP_ROW("slice", 1, 1, MTS_NONE, slice_fields, slice_infer, NULL,
                                           mts_cost_none, NULL, slice_channels, MTS_OP_INPUT_DATA);
