/*
 * infer_move.c: shapes of operators that move elements: concat, slice, pad, gather, transpose, reshape,
 * expand, resize.
 */
#include "graph/infer.h"

#include <math.h>

#define EXTENT_MAX MTS_GRAPH_COUNT_MAX /* bounds padding: records hold 32-bit numbers */

mts_status mts_infer_concat(const mts_infer_call *call, mts_shape *out)
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

mts_status mts_infer_slice(const mts_infer_call *call, mts_shape *out)
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

mts_status mts_infer_pad(const mts_infer_call *call, mts_shape *out)
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

mts_status mts_infer_gather(const mts_infer_call *call, mts_shape *out)
{
    uint32_t axis = call->attrs->gather.axis;
    const mts_shape *x = call->inputs[0], *index = call->inputs[1];
    if (axis >= x->rank || x->rank - 1 + index->rank > MTS_TENSOR_RANK_MAX) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "axis %u or index rank %u does not fit rank %u",
                        axis, index->rank, x->rank);
    }
    out->rank = 0;
    for (uint32_t i = 0; i < axis; i++) {
        out->dims[out->rank++] = x->dims[i];
    }
    for (uint32_t i = 0; i < index->rank; i++) {
        out->dims[out->rank++] = index->dims[i];
    }
    for (uint32_t i = axis + 1; i < x->rank; i++) {
        out->dims[out->rank++] = x->dims[i];
    }
    return MTS_STATUS_OK;
}

mts_status mts_infer_transpose(const mts_infer_call *call, mts_shape *out)
{
    const mts_shape *x = call->inputs[0];
    uint32_t seen = 0;
    out->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t from = call->attrs->transpose.perm[i];
        if (from >= x->rank || (seen >> from & 1u)) {
            return mts_fail(call->error, MTS_STATUS_MALFORMED, "perm is not a permutation of %u dimensions",
                            x->rank);
        }
        seen |= 1u << from;
        out->dims[i] = x->dims[from];
    }
    return MTS_STATUS_OK;
}

mts_status mts_infer_reshape(const mts_infer_call *call, mts_shape *out)
{
    const mts_shape *x = call->inputs[0], *shape = &call->attrs->reshape.shape;
    mts_status code = mts_graph_check_shape(shape, call->error);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    if (mts_shape_count(x) != mts_shape_count(shape)) {
        char a[96], b[96];
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "%s and %s have different element counts",
                        mts_shape_text(x, a, sizeof(a)), mts_shape_text(shape, b, sizeof(b)));
    }
    *out = *shape;
    return MTS_STATUS_OK;
}

mts_status mts_infer_expand(const mts_infer_call *call, mts_shape *out)
{
    const mts_shape *shape = &call->attrs->reshape.shape;
    mts_status code = mts_graph_check_shape(shape, call->error);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    if (!mts_shape_broadcast(call->inputs[0], shape, out) || !mts_shape_equal(out, shape)) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED,
                        "the input does not broadcast to the wanted shape");
    }
    return MTS_STATUS_OK;
}

mts_status mts_infer_resize(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_resize *resize = &call->attrs->resize;
    mts_status code = mts_infer_rank(call, 0, 4, 4);
    if (code != MTS_STATUS_OK) {
        return code;
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
