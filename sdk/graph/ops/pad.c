/*
 * pad.c: the operator PAD.
 */
#include "graph/ops/common.h"

#include <math.h>

#define EXTENT_MAX MTS_GRAPH_COUNT_MAX /* bounds padding: kernels read 32-bit numbers */

static mts_status pad_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_pad *pad = &call->attrs->pad;
    const mts_shape *x = call->inputs[0];
    if (pad->mode > MTS_PAD_REFLECT || isnan(pad->value)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "mode %u or the fill value is out of range",
                        pad->mode);
    }
    out->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t before = pad->before[i], after = pad->after[i], dim = x->dims[i];
        bool fits = before > -EXTENT_MAX && before < EXTENT_MAX && after > -EXTENT_MAX && after < EXTENT_MAX;
        /* coordinates on either side of a border are 32-bit numbers too */
        fits = fits && dim + before < EXTENT_MAX && dim + after < EXTENT_MAX;
        /* a single reflection must land inside the input */
        if (pad->mode == MTS_PAD_REFLECT) {
            fits = fits && before < dim && after < dim;
        }
        if (!fits || dim + before + after < 1) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED,
                            "dimension %u: padding %lld, %lld does not fit %lld", i, (long long)before,
                            (long long)after, (long long)dim);
        }
        out->dims[i] = dim + before + after;
    }
    return MTS_STATUS_OK;
}

static mts_propagation pad_channels(const mts_graph *graph, const mts_node *node)
{
    (void)graph;
    const mts_attrs_pad *pad = &node->attrs.pad;
    const bool batch = pad->before[0] != 0 || pad->after[0] != 0;
    const bool channels = pad->before[1] != 0 || pad->after[1] != 0;
    return (mts_propagation){.pass = channels ? MTS_CHANNELS_FIXED : MTS_CHANNELS_KEPT,
                             .dirty =
                                 pad->mode == MTS_PAD_CONSTANT && (pad->value < 0.0f || pad->value > 0.0f),
                             .reason = batch || channels ? "padding of channels" : NULL};
}

static const mts_op_field pad_fields[] = {MTS_OP_WORD(pad, mode, true), MTS_OP_FLOAT(pad, value, true),
                                          MTS_OP_LONG(pad, before, false), MTS_OP_LONG(pad, after, false)};

const mts_op_row mts_op_pad = MTS_OP_ROW("pad", 1, 1, MTS_NONE, pad_fields, pad_infer, NULL, mts_cost_none,
                                         NULL, pad_channels, MTS_OP_INPUT_DATA);
