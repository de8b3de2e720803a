/*
 * resize.c: the operator RESIZE.
 */
#include "graph/ops/common.h"

#include <math.h>

static mts_status resize_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_resize *resize = &call->attrs->resize;
    mts_status status = mts_infer_rank(call, 0, 4, 4);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (resize->mode > MTS_RESIZE_CUBIC || resize->coord > MTS_COORD_TF_CROP ||
        resize->round > MTS_ROUND_CEIL || resize->exclude_outside > 1 || !isfinite(resize->cubic_a) ||
        !isfinite(resize->extrapolation)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "a mode is out of range");
    }
    *out = *call->inputs[0];
    for (int i = 0; i < 2; i++) {
        if (!(resize->scale[i] > 0.0f) || !isfinite(resize->scale[i]) || !isfinite(resize->roi_start[i]) ||
            !isfinite(resize->roi_end[i])) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED, "a scale or region is out of range");
        }
        out->dims[i + 2] = resize->out[i];
    }
    return MTS_STATUS_OK;
}

static uint64_t resize_mul_adds(const mts_graph *graph, const mts_node *node)
{
    static const uint64_t taps[] = {
        [MTS_RESIZE_NEAREST] = 0, [MTS_RESIZE_LINEAR] = 4, [MTS_RESIZE_CUBIC] = 16};
    return mts_cost_output(graph, node) * taps[node->attrs.resize.mode];
}

static mts_propagation resize_channels(const mts_graph *graph, const mts_node *node)
{
    (void)graph;
    const float outside = node->attrs.resize.extrapolation;
    return (mts_propagation){.pass = MTS_CHANNELS_KEPT, .dirty = outside < 0.0f || outside > 0.0f};
}

static const mts_op_field resize_fields[] = {
    MTS_OP_WORD(resize, mode, true),        MTS_OP_WORD(resize, coord, true),
    MTS_OP_WORD(resize, round, true),       MTS_OP_WORD(resize, exclude_outside, true),
    MTS_OP_WORD(resize, out, false),        MTS_OP_FLOAT(resize, scale, false),
    MTS_OP_FLOAT(resize, roi_start, false), MTS_OP_FLOAT(resize, roi_end, false),
    MTS_OP_FLOAT(resize, cubic_a, true),    MTS_OP_FLOAT(resize, extrapolation, true)};

const mts_op_row mts_op_resize = MTS_OP_ROW("resize", 1, 1, MTS_NONE, resize_fields, resize_infer, NULL,
                                            resize_mul_adds, NULL, resize_channels, MTS_OP_INPUT_DATA);
