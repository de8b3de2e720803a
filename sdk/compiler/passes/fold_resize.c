/*
 * fold_resize.c: a 1x1 convolution of an enlarged image moves before the enlarging.
 *
 * A 1x1 convolution is the same sum at every pixel, and nearest and linear interpolation are
 * weighted means whose weights sum to 1. So the two commute, bias included. The convolution then
 * has as many times fewer pixels as the image was enlarged by. An element function commutes with
 * the nearest pixel only; behind linear interpolation it stays a node. Before linear interpolation
 * only convolutions of finite numbers move: interpolation multiplies pixels by 0 too, which makes NaN
 * of an infinite sum, such as one with an infinite bias.
 */
#include "compiler/passes/fold_work.h"

#include <string.h>

enum {
    /* Multiply-adds for an element of a linear resize. */
    RESIZE_COST = 4,
    /* The same in the time of a pass over an element, which a convolution's end would save. */
    PASS_COST = 12
};

static bool is_mean(const mts_attrs_resize *resize)
{
    return resize->coord != MTS_COORD_TF_CROP &&
           (resize->mode == MTS_RESIZE_NEAREST || resize->mode == MTS_RESIZE_LINEAR);
}

/* Stride 1 and no border, constants alone beside the image. */
static bool is_pointwise(const mts_fold_work *work, const mts_node *node)
{
    const mts_attrs_conv *conv = &node->attrs.conv;
    bool plain = node->op == MTS_OP_CONV && !node->scatter && mts_fold_input(work, node, 4) == MTS_NONE;
    for (int i = 0; plain && i < 2; i++) {
        plain = conv->kernel[i] == 1 && conv->stride[i] == 1 && conv->pad[i] == 0 && conv->pad[i + 2] == 0;
    }
    for (uint32_t i = 1; plain && i < node->input_count; i++) {
        const uint32_t value = mts_fold_input(work, node, i);
        plain = value == MTS_NONE || mts_fold_value(work, value)->kind == MTS_VALUE_CONST;
    }
    return plain;
}

/* Whether the convolution saves more than a resize of its channels and `passes` over its output
   cost. */
static bool is_gain(const mts_fold_work *work, const mts_node *resize, const mts_node *conv, int64_t passes)
{
    const int64_t *in = mts_fold_value(work, mts_fold_input(work, resize, 0))->shape.dims;
    const int64_t *out = mts_fold_value(work, conv->output)->shape.dims;
    const int64_t depth = in[1] / (int64_t)conv->attrs.conv.group, pixels = out[2] * out[3];
    const int64_t fewer = pixels - in[2] * in[3];
    return fewer > 0 &&
           (double)fewer * (double)depth * (double)out[1] >
               (double)pixels * (double)(RESIZE_COST * (out[1] - in[1]) + PASS_COST * passes * out[1]);
}

/* Whether all constants of the convolution are finite; no, if memory is short. */
static bool is_finite(mts_fold_work *work, const mts_node *conv)
{
    bool all = true;
    for (uint32_t i = 1; all && i < conv->input_count; i++) {
        const uint32_t value = mts_fold_input(work, conv, i);
        const mts_value *constant = value == MTS_NONE ? NULL : mts_fold_value(work, value);
        const size_t count = constant ? mts_shape_count(&constant->shape) : 0;
        float *numbers = constant ? mts_arena_zero(work->graph->arena, count, sizeof *numbers) : NULL;
        if (numbers) {
            mts_value_read_f32(constant, numbers);
        } else if (constant) {
            work->failed = true;
            return false;
        }
        all = !constant || mts_all_finite(numbers, count);
    }
    return all;
}

/* The resize that a convolution reads alone and may move before; NULL: none. */
static mts_node *resize_before(mts_fold_work *work, const mts_node *conv, int64_t passes)
{
    mts_node *resize = is_pointwise(work, conv) ? mts_fold_producer(work, conv, 0) : NULL;
    const bool fits = resize && resize->op == MTS_OP_RESIZE && is_mean(&resize->attrs.resize) &&
                      mts_fold_single_use(work, resize) && is_gain(work, resize, conv, passes) &&
                      (resize->attrs.resize.mode == MTS_RESIZE_NEAREST || is_finite(work, conv));
    return fits ? resize : NULL;
}

/* The nodes change places. The value between them has the channels of the convolution and the size
   before the resize. It loses its name, since it is no value of the model; the last value keeps its
   name and its numbers. */
static bool move_before(mts_fold_work *work, mts_node *resize, mts_node *conv)
{
    const mts_node earlier = *resize, later = *conv;
    uint32_t *inputs = mts_arena_zero(work->graph->arena, later.input_count, sizeof *inputs);
    uint32_t *image = mts_arena_zero(work->graph->arena, 1, sizeof *image);
    if (!inputs || !image) {
        work->failed = true;
        return false;
    }
    mts_value *between = &work->graph->values[earlier.output];
    memcpy(inputs, later.inputs, later.input_count * sizeof *inputs);
    inputs[0] = earlier.inputs[0];
    image[0] = earlier.output;
    between->shape = mts_fold_value(work, mts_fold_input(work, &earlier, 0))->shape;
    between->shape.dims[1] = mts_fold_value(work, later.output)->shape.dims[1];
    between->name = "";
    *resize = later;
    resize->inputs = inputs;
    resize->output = earlier.output;
    *conv = earlier;
    conv->inputs = image;
    conv->output = later.output;
    return true;
}

/* Rounded numbers stay where they are: convolutions of 8 bits read what is known to be rounded, and
   a resize hides it. */
static bool rounds(uint32_t fn)
{
    return fn == MTS_FN_QUANT8 || fn == MTS_FN_QUANT16;
}

/* Whether a node would become a part of the convolution that computes operand `index`, which then
   has to stay behind. */
static bool would_join(mts_fold_work *work, const mts_node *node, uint32_t index)
{
    const mts_node *resize = mts_fold_producer(work, mts_fold_producer(work, node, index), 0);
    const uint32_t fn = node->op == MTS_OP_UNARY ? node->attrs.unary.act.fn : MTS_FN_NONE;
    const bool nearest =
        resize && resize->op == MTS_OP_RESIZE && resize->attrs.resize.mode == MTS_RESIZE_NEAREST;
    if (node->op == MTS_OP_UNARY) {
        return !nearest && index == 0 && !rounds(fn);
    }
    if (node->op != MTS_OP_BINARY) {
        return false;
    }
    const uint32_t other = mts_fold_input(work, node, 1 - index);
    return node->attrs.binary.kind == MTS_BIN_PRELU
               ? !nearest && index == 0
               : node->attrs.binary.kind == MTS_BIN_ADD &&
                     mts_fold_value(work, other)->kind != MTS_VALUE_CONST;
}

bool mts_fold_resize(mts_fold_work *work, mts_node *node)
{
    for (uint32_t i = 0; i < node->input_count && i < 2; i++) {
        mts_node *conv = mts_fold_producer(work, node, i);
        if (!conv || conv->op != MTS_OP_CONV || !mts_fold_single_use(work, conv) ||
            !mts_fold_free_act(conv) || !would_join(work, node, i)) {
            continue;
        }
        mts_node *resize = resize_before(work, conv, 1);
        if (resize) {
            return move_before(work, resize, conv);
        }
    }
    return false;
}

bool mts_fold_resize_last(mts_fold_work *work, mts_node *node)
{
    mts_node *resize = node->op == MTS_OP_CONV ? resize_before(work, node, 0) : NULL;
    const uint32_t fn = node->op == MTS_OP_CONV ? node->attrs.conv.act.fn : MTS_FN_NONE;
    const bool nearest = resize && resize->attrs.resize.mode == MTS_RESIZE_NEAREST;
    return resize && (fn == MTS_FN_NONE || (nearest && !rounds(fn))) && move_before(work, resize, node);
}
