/*
 * fold_scale.c: rules for arithmetic with one number a channel: it becomes a scale and a
 * bias, and those go into the convolution or scale before them.
 */
#include "compiler/passes/fold_work.h"

#include <math.h>

/* Vectors of a node's epilogue; NULL: all ones (scale) or zeros (bias). */
typedef struct vectors {
    float *scale, *bias;
    uint32_t count;
} vectors;

static float *read_vector(mts_fold_work *work, uint32_t value, uint32_t count, float fill)
{
    float *out = mts_arena_zero(work->graph->arena, count, sizeof(*out));
    if (!out) {
        work->failed = true;
        return NULL;
    }
    for (uint32_t i = 0; value == MTS_NONE && i < count; i++) {
        out[i] = fill;
    }
    if (value != MTS_NONE) {
        mts_value_read_f32(mts_fold_value(work, value), out);
    }
    return out;
}

static bool all_ones(const float *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] < 1.0f || numbers[i] > 1.0f) {
            return false;
        }
    }
    return true;
}

bool mts_fold_channel_numbers(mts_fold_work *work, uint32_t value, const mts_shape *x, float **out)
{
    const mts_value *constant = mts_fold_value(work, value);
    const mts_shape *shape = &constant->shape;
    if (constant->kind != MTS_VALUE_CONST || constant->dtype != MTS_TYPE_FLOAT32 || x->rank < 2 ||
        shape->rank > x->rank) {
        return false;
    }
    uint32_t channel = x->rank - shape->rank <= 1 ? 1 - (x->rank - shape->rank) : MTS_NONE;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] != 1 && (i != channel || shape->dims[i] != x->dims[1])) {
            return false;
        }
    }
    size_t count = mts_shape_count(shape), channels = (size_t)x->dims[1];
    *out = mts_arena_zero(work->graph->arena, channels, sizeof(**out));
    if (!*out) {
        work->failed = true;
        return false;
    }
    if (count == 1) {
        float one = 0.0f;
        mts_value_read_f32(constant, &one);
        for (size_t i = 0; i < channels; i++) {
            (*out)[i] = one;
        }
    } else {
        mts_value_read_f32(constant, *out);
    }
    return true;
}

static bool is_affine(mts_fold_work *work, const mts_node *node)
{
    const mts_node *producer = mts_fold_producer(work, node, 0);
    return producer && (producer->op == MTS_OP_CONV || producer->op == MTS_OP_SCALE);
}

/* y = x op numbers (or numbers op x) as scale x + bias. */
static bool as_affine(uint32_t kind, bool swapped, const float *numbers, uint32_t count, float *scale,
                      float *bias)
{
    for (uint32_t i = 0; i < count; i++) {
        scale[i] = 1.0f;
        bias[i] = 0.0f;
        switch (kind) {
        case MTS_BIN_ADD:
            bias[i] = numbers[i];
            break;
        case MTS_BIN_SUB:
            scale[i] = swapped ? -1.0f : 1.0f;
            bias[i] = swapped ? numbers[i] : -numbers[i];
            break;
        case MTS_BIN_MUL:
            scale[i] = numbers[i];
            break;
        case MTS_BIN_DIV:
            if (swapped || !(numbers[i] < 0.0f || numbers[i] > 0.0f)) {
                return false;
            }
            scale[i] = 1.0f / numbers[i];
            if (!isfinite(scale[i])) {
                return false;
            }
            break;
        default:
            return false;
        }
    }
    return true;
}

static bool binary_to_scale(mts_fold_work *work, mts_node *node)
{
    uint32_t a = mts_fold_input(work, node, 0), b = mts_fold_input(work, node, 1);
    bool swapped = mts_fold_value(work, a)->kind == MTS_VALUE_CONST;
    uint32_t x = swapped ? b : a, constant = swapped ? a : b;
    const mts_shape shape = mts_fold_value(work, x)->shape;
    float *numbers = NULL;
    /* elsewhere the second dimension is no channel and a vector along it no gain */
    bool image = shape.rank == 4 || (!swapped && is_affine(work, node));
    if (!image || mts_fold_value(work, x)->kind == MTS_VALUE_CONST ||
        !mts_shape_equal(&shape, &mts_fold_value(work, node->output)->shape) ||
        !mts_fold_channel_numbers(work, constant, &shape, &numbers)) {
        return false;
    }
    uint32_t channels = (uint32_t)shape.dims[1];
    float *scale = read_vector(work, MTS_NONE, channels, 1.0f),
          *bias = read_vector(work, MTS_NONE, channels, 0.0f);
    if (!scale || !bias || !as_affine(node->attrs.binary.kind, swapped, numbers, channels, scale, bias)) {
        return false;
    }
    mts_act act = node->attrs.binary.act;
    mts_attrs attrs = {.unary = {.act = act}};
    uint32_t ids[2] = {mts_fold_vector(work, scale, channels), mts_fold_vector(work, bias, channels)};
    if (work->failed || !mts_fold_widen(work, node, 3)) {
        return false;
    }
    work->uses[constant]--;
    node->op = MTS_OP_SCALE;
    node->attrs = attrs;
    node->inputs[0] = x;
    for (uint32_t i = 0; i < 2; i++) {
        node->inputs[i + 1] = ids[i];
        work->uses[ids[i]]++;
    }
    return true;
}

/* The convolution or scale that a node's first operand comes from, seen through a reshape
 * that keeps the channels. */
static mts_node *affine_before(mts_fold_work *work, const mts_node *node)
{
    mts_node *producer = mts_fold_producer(work, node, 0);
    if (producer && producer->op == MTS_OP_RESHAPE && mts_fold_single_use(work, producer)) {
        const mts_shape *in = &mts_fold_value(work, mts_fold_input(work, producer, 0))->shape;
        const mts_shape *out = &mts_fold_value(work, producer->output)->shape;
        bool kept =
            in->rank >= 2 && out->rank >= 2 && in->dims[0] == out->dims[0] && in->dims[1] == out->dims[1];
        producer = kept ? mts_fold_producer(work, producer, 0) : NULL;
    }
    bool open = producer && mts_fold_single_use(work, producer) && mts_fold_free_act(producer) &&
                (producer->op == MTS_OP_CONV || producer->op == MTS_OP_SCALE);
    return open ? producer : NULL;
}

static void set_operand(mts_fold_work *work, mts_node *node, uint32_t index, const float *numbers,
                        uint32_t count)
{
    uint32_t old = mts_fold_input(work, node, index), made = mts_fold_vector(work, numbers, count);
    if (made == MTS_NONE) {
        return;
    }
    if (old != MTS_NONE) {
        work->uses[old]--;
    }
    node->inputs[index] = made;
    work->uses[made]++;
}

/* y = s (scale v + bias) + b = (s scale) v + (s bias + b), for the convolution or scale
   `before`. */
static bool absorb_scale(mts_fold_work *work, mts_node *node)
{
    mts_node *before = affine_before(work, node);
    if (!before || !mts_op_applies(before->op, node->attrs.unary.act.fn)) {
        return false;
    }
    bool conv = before->op == MTS_OP_CONV;
    uint32_t at = conv ? 2 : 1, count = (uint32_t)mts_fold_value(work, before->output)->shape.dims[1];
    uint32_t slope = mts_fold_input(work, node, 3), slope_at = conv ? 5 : 3;
    bool bare = conv && mts_fold_input(work, before, at) == MTS_NONE;
    float *s = read_vector(work, mts_fold_input(work, node, 1), count, 1.0f);
    float *b = read_vector(work, mts_fold_input(work, node, 2), count, 0.0f);
    float *scale = read_vector(work, mts_fold_input(work, before, at), count, 1.0f);
    float *bias = read_vector(work, mts_fold_input(work, before, at + 1), count, 0.0f);
    /* a residual is added unscaled, so only numbers that are added too can go in front of it */
    if (conv && mts_fold_input(work, before, 4) != MTS_NONE && (work->failed || !all_ones(s, count))) {
        return false;
    }
    for (uint32_t i = 0; i < count && !work->failed; i++) {
        scale[i] = (float)((double)s[i] * (double)scale[i]);
        bias[i] = (float)((double)s[i] * (double)bias[i] + (double)b[i]);
    }
    if (work->failed || !mts_all_finite(scale, count) || !mts_all_finite(bias, count) ||
        !mts_fold_widen(work, before, slope != MTS_NONE ? slope_at + 1 : at + 2)) {
        return false;
    }
    if (!bare || !all_ones(scale, count)) {
        set_operand(work, before, at, scale, count);
    }
    set_operand(work, before, at + 1, bias, count);
    if (slope != MTS_NONE) {
        before->inputs[slope_at] = slope;
        work->uses[slope]++;
    }
    *mts_fold_free_act(before) = node->attrs.unary.act;
    mts_fold_replace(work, node, mts_fold_input(work, node, 0));
    return !work->failed;
}

/* A slope for each channel goes beside the convolution or scale. */
static bool absorb_prelu(mts_fold_work *work, mts_node *node)
{
    mts_node *before = mts_fold_producer(work, node, 0);
    if (!before || (before->op != MTS_OP_CONV && before->op != MTS_OP_SCALE) || !mts_fold_free_act(before) ||
        !mts_fold_single_use(work, before) || node->attrs.binary.act.fn != MTS_FN_NONE) {
        return false;
    }
    const mts_shape shape = mts_fold_value(work, before->output)->shape;
    uint32_t at = before->op == MTS_OP_CONV ? 5 : 3;
    float *slope = NULL;
    if (!mts_shape_equal(&shape, &mts_fold_value(work, node->output)->shape) ||
        !mts_fold_channel_numbers(work, mts_fold_input(work, node, 1), &shape, &slope) ||
        !mts_fold_widen(work, before, at + 1)) {
        return false;
    }
    set_operand(work, before, at, slope, (uint32_t)shape.dims[1]);
    if (work->failed) {
        return false;
    }
    *mts_fold_free_act(before) = (mts_act){.fn = MTS_FN_PRELU};
    mts_fold_replace(work, node, before->output);
    return true;
}

bool mts_fold_channels(mts_fold_work *work, mts_node *node)
{
    if (node->op == MTS_OP_BINARY) {
        return node->attrs.binary.kind == MTS_BIN_PRELU ? absorb_prelu(work, node)
                                                        : binary_to_scale(work, node);
    }
    return node->op == MTS_OP_SCALE && absorb_scale(work, node);
}
