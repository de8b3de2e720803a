/*
 * fold_taps.c: rules for taps of a convolution that never meet its image, as all but the
 * middle one of 3 x 3 over one pixel: they go. A depthwise convolution of one tap is a
 * scale; one that would be left with taps of another form than 3 x 3 or 5 x 5, for which
 * there are kernels, keeps them all.
 */
#include "compiler/passes/fold_work.h"

/* The taps of one direction that meet the image anywhere: `count` of them from `first`
   on. */
typedef struct taps {
    uint32_t first, count;
} taps;

static taps useful_taps(const mts_attrs_conv *conv, int axis, int64_t in, int64_t out)
{
    taps found = {0};
    for (uint32_t k = 0; k < conv->kernel[axis]; k++) {
        const int64_t from = (int64_t)k * conv->dilation[axis] - conv->pad[axis];
        const int64_t stride = conv->stride[axis];
        const int64_t skipped = from < 0 ? (-from + stride - 1) / stride : 0;
        if (skipped < out && from + skipped * stride < in) {
            found.first = found.count == 0 ? k : found.first;
            found.count = k - found.first + 1;
        }
    }
    return found;
}

/* The same output from the taps that are left; false: as many as before, or a border
   would be negative. */
static bool cropped(const mts_attrs_conv *conv, const int64_t *in, const int64_t *out, mts_attrs_conv *made,
                    taps left[2])
{
    bool changed = false;
    *made = *conv;
    for (int axis = 0; axis < 2; axis++) {
        left[axis] = useful_taps(conv, axis, in[2 + axis], out[2 + axis]);
        const int64_t behind = (int64_t)conv->kernel[axis] - left[axis].first - left[axis].count;
        const int64_t before = conv->pad[axis] - (int64_t)left[axis].first * conv->dilation[axis];
        const int64_t after = conv->pad[2 + axis] - behind * conv->dilation[axis];
        if (left[axis].count == 0 || before < 0 || after < 0) {
            return false;
        }
        changed = changed || left[axis].count < conv->kernel[axis];
        made->kernel[axis] = left[axis].count;
        made->pad[axis] = (int32_t)before;
        made->pad[2 + axis] = (int32_t)after;
    }
    return changed;
}

/* 3 x 3 or 5 x 5 taps. */
static bool has_kernels(const mts_attrs_conv *conv)
{
    return conv->kernel[0] == conv->kernel[1] && (conv->kernel[0] == 3 || conv->kernel[0] == 5);
}

static bool is_worth_it(const mts_attrs_conv *before, const mts_attrs_conv *after)
{
    const bool one = after->kernel[0] == 1 && after->kernel[1] == 1;
    return before->group == 1 || !has_kernels(before) || has_kernels(after) || one;
}

/* The taps that are left of each row and channel; MTS_NONE: memory is short. */
static uint32_t crop_weight(mts_fold_work *work, const mts_value *weight, const taps left[2])
{
    const int64_t *dims = weight->shape.dims;
    const size_t planes = (size_t)(dims[0] * dims[1]), high = (size_t)dims[2], wide = (size_t)dims[3];
    const mts_shape shape = {.rank = 4, .dims = {dims[0], dims[1], left[0].count, left[1].count}};
    const size_t count = planes * left[0].count * left[1].count;
    float *all = mts_arena_zero(work->graph->arena, planes * high * wide, sizeof *all);
    float *kept = mts_arena_zero(work->graph->arena, count, sizeof *kept);
    if (!all || !kept) {
        work->failed = true;
        return MTS_NONE;
    }
    mts_value_read_f32(weight, all);
    size_t to = 0;
    for (size_t plane = 0; plane < planes; plane++) {
        for (size_t y = left[0].first; y < left[0].first + left[0].count; y++) {
            for (size_t x = left[1].first; x < left[1].first + left[1].count; x++) {
                kept[to++] = all[(plane * high + y) * wide + x];
            }
        }
    }
    return mts_fold_constant(work, kept, &shape);
}

static bool crop_taps(mts_fold_work *work, mts_node *node)
{
    const mts_value *weight = mts_fold_value(work, mts_fold_input(work, node, 1));
    const mts_value *in = mts_fold_value(work, mts_fold_input(work, node, 0));
    mts_attrs_conv made;
    taps left[2];
    if (weight->kind != MTS_VALUE_CONST || weight->dtype != MTS_TYPE_FLOAT32 ||
        !cropped(&node->attrs.conv, in->shape.dims, mts_fold_value(work, node->output)->shape.dims, &made,
                 left) ||
        !is_worth_it(&node->attrs.conv, &made)) {
        return false;
    }
    const uint32_t kept = crop_weight(work, weight, left);
    if (kept == MTS_NONE) {
        return false;
    }
    work->uses[mts_fold_input(work, node, 1)]--;
    work->uses[kept]++;
    node->inputs[1] = kept;
    node->attrs.conv = made;
    return true;
}

/* Whether each output is one input times a number. */
static bool is_one_tap(mts_fold_work *work, const mts_node *node)
{
    const mts_attrs_conv *conv = &node->attrs.conv;
    const mts_value *weight = mts_fold_value(work, mts_fold_input(work, node, 1));
    const int64_t *dims = weight->shape.dims;
    const bool whole = conv->kernel[0] == 1 && conv->kernel[1] == 1 && conv->stride[0] == 1 &&
                       conv->stride[1] == 1 && conv->pad[0] == 0 && conv->pad[1] == 0 && conv->pad[2] == 0 &&
                       conv->pad[3] == 0;
    return whole && conv->group > 1 && dims[0] == (int64_t)conv->group && dims[1] == 1 &&
           mts_fold_input(work, node, 4) == MTS_NONE && !node->scatter && weight->kind == MTS_VALUE_CONST &&
           weight->dtype == MTS_TYPE_FLOAT32;
}

static bool is_vector(mts_fold_work *work, uint32_t value)
{
    return value == MTS_NONE || mts_fold_value(work, value)->shape.rank == 1;
}

static bool tap_to_scale(mts_fold_work *work, mts_node *node)
{
    const uint32_t scale = mts_fold_input(work, node, 2), bias = mts_fold_input(work, node, 3),
                   slope = mts_fold_input(work, node, 5);
    if (!is_one_tap(work, node) || !is_vector(work, scale) || !is_vector(work, bias) ||
        !is_vector(work, slope)) {
        return false;
    }
    const uint32_t count = node->attrs.conv.group;
    float *weights = mts_arena_zero(work->graph->arena, count, sizeof *weights);
    float *scales = mts_arena_zero(work->graph->arena, count, sizeof *scales);
    uint32_t *inputs = mts_arena_zero(work->graph->arena, 4, sizeof *inputs);
    if (!weights || !scales || !inputs) {
        work->failed = true;
        return false;
    }
    mts_value_read_f32(mts_fold_value(work, mts_fold_input(work, node, 1)), weights);
    if (scale != MTS_NONE) {
        mts_value_read_f32(mts_fold_value(work, scale), scales);
    }
    for (uint32_t i = 0; i < count; i++) {
        weights[i] *= scale == MTS_NONE ? 1.0f : scales[i];
        scales[i] = 0.0f;
    }
    inputs[0] = mts_fold_input(work, node, 0);
    inputs[1] = mts_fold_vector(work, weights, count);
    inputs[2] = bias != MTS_NONE ? bias : mts_fold_vector(work, scales, count);
    inputs[3] = slope;
    if (work->failed) {
        return false;
    }
    mts_node made = *node;
    made.op = MTS_OP_SCALE;
    made.inputs = inputs;
    made.input_count = slope == MTS_NONE ? 3 : 4;
    made.attrs = (mts_attrs){.unary = {.act = node->attrs.conv.act}};
    mts_fold_become(work, node, &made);
    return true;
}

bool mts_fold_taps(mts_fold_work *work, mts_node *node)
{
    return node->op == MTS_OP_CONV && (crop_taps(work, node) || tap_to_scale(work, node));
}
