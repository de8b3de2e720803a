/*
 * fold_gain.c: rules for gains: a line (scale x + bias, one number each) behind an
 * activation becomes part of it, and x + x g becomes x (1 + g), whose sum is as small as
 * the gate g.
 */
#include "compiler/passes/fold_work.h"

#include <math.h>
#include <string.h>

/* y = clip(x, low, high), where a RELU or a HARD_SIGMOID is one of scale x + bias. */
typedef struct cut {
    float low, high;
    mts_fold_line inner; /* without its x */
} cut;

static bool as_cut(const mts_act *act, cut *out)
{
    const bool gate = act->fn == MTS_FN_HARD_SIGMOID;
    *out = (cut){.low = act->fn == MTS_FN_CLIP ? act->a : 0.0f,
                 .high = act->fn == MTS_FN_CLIP   ? act->b
                         : act->fn == MTS_FN_RELU ? INFINITY
                                                  : 1.0f,
                 .inner = {.scale = gate ? act->a : 1.0f, .bias = gate ? act->b : 0.0f}};
    return act->fn == MTS_FN_CLIP || act->fn == MTS_FN_RELU || gate;
}

/* The scale or the bias of a node with the line behind it; MTS_NONE: it has no vector of
   one finite number a channel, or memory is short. */
static uint32_t joined_vector(mts_fold_work *work, const mts_node *node, uint32_t index,
                              const mts_fold_line *line, uint32_t count)
{
    const uint32_t old = mts_fold_input(work, node, index);
    const bool is_scale = node->op == MTS_OP_CONV ? index == 2 : index == 1;
    if (old != MTS_NONE && mts_fold_value(work, old)->shape.rank != 1) {
        return MTS_NONE;
    }
    float *numbers = mts_arena_zero(work->graph->arena, count, sizeof *numbers);
    if (!numbers) {
        work->failed = true;
        return MTS_NONE;
    }
    if (old != MTS_NONE) {
        mts_value_read_f32(mts_fold_value(work, old), numbers);
    }
    for (uint32_t i = 0; i < count; i++) {
        const double number = old == MTS_NONE && is_scale ? 1.0 : (double)numbers[i];
        numbers[i] = (float)((double)line->scale * number + (is_scale ? 0.0 : (double)line->bias));
        if (!isfinite(numbers[i])) {
            return MTS_NONE;
        }
    }
    return mts_fold_vector(work, numbers, count);
}

static void set_vector(mts_fold_work *work, mts_node *node, uint32_t index, uint32_t made)
{
    const uint32_t old = mts_fold_input(work, node, index);
    if (old != MTS_NONE) {
        work->uses[old]--;
    }
    node->inputs[index] = made;
    work->uses[made]++;
}

/* s bound + b, which may be infinite only where the bound was. */
static bool move_bound(const mts_fold_line *line, float bound, float *out)
{
    *out = line->scale * bound + line->bias;
    return isfinite(*out) || isinf(bound);
}

/* s clip(v, low, high) + b = clip(s v + b, s low + b, s high + b), for the convolution or
   scale that computes v. */
static bool join_cut(mts_fold_work *work, mts_node *before, mts_act *act, const mts_fold_line *line)
{
    cut c;
    const bool conv = before->op == MTS_OP_CONV;
    const uint32_t at = conv ? 2 : 1;
    if ((!conv && before->op != MTS_OP_SCALE) || !as_cut(act, &c) || !(line->scale * line->scale > 0.0f) ||
        (conv && (before->scatter || mts_fold_input(work, before, 4) != MTS_NONE))) {
        return false;
    }
    const mts_fold_line all = {.scale = line->scale * c.inner.scale,
                               .bias = line->scale * c.inner.bias + line->bias};
    const uint32_t count = (uint32_t)mts_fold_value(work, before->output)->shape.dims[1];
    float low, high;
    if (!move_bound(line, c.low, &low) || !move_bound(line, c.high, &high)) {
        return false;
    }
    const uint32_t scale = joined_vector(work, before, at, &all, count);
    const uint32_t bias = scale == MTS_NONE ? MTS_NONE : joined_vector(work, before, at + 1, &all, count);
    if (bias == MTS_NONE || !mts_fold_widen(work, before, at + 2)) {
        return false;
    }
    set_vector(work, before, at, scale);
    set_vector(work, before, at + 1, bias);
    *act = (mts_act){.fn = MTS_FN_CLIP, .a = fminf(low, high), .b = fmaxf(low, high)};
    return true;
}

/* s (a h(v) + b) + t = (s a) h(v) + (s b + t) */
static bool join_hard_swish(mts_act *act, const mts_fold_line *line)
{
    const bool bare = act->fn == MTS_FN_HARD_SWISH;
    if (!bare && act->fn != MTS_FN_HARD_SWISH_LINE) {
        return false;
    }
    const mts_fold_line own = {.scale = bare ? 1.0f : act->a, .bias = bare ? 0.0f : act->b};
    const mts_fold_line all = {.scale = line->scale * own.scale, .bias = line->scale * own.bias + line->bias};
    if (!isfinite(all.scale) || !isfinite(all.bias)) {
        return false;
    }
    *act = (mts_act){.fn = MTS_FN_HARD_SWISH_LINE, .a = all.scale, .b = all.bias};
    return true;
}

static bool line_behind(mts_fold_work *work, mts_node *node)
{
    mts_fold_line line;
    if (!mts_fold_as_line(work, node, MTS_FN_NONE, &line) || !isfinite(line.scale) || !isfinite(line.bias)) {
        return false;
    }
    mts_node *before = mts_fold_home(work, line.x);
    mts_act *act = before && mts_fold_single_use(work, before) ? (mts_act *)mts_node_act(before) : NULL;
    if (!act || (!join_hard_swish(act, &line) && !join_cut(work, before, act, &line))) {
        return false;
    }
    mts_fold_replace(work, node, line.x);
    return true;
}

/* ---- x + x g ---- */

/* The node becomes the binary operator `kind` of a and b. */
static bool become_binary(mts_fold_work *work, mts_node *node, uint32_t kind, uint32_t a, uint32_t b)
{
    mts_node merged = *node;
    merged.inputs = mts_arena_zero(work->graph->arena, 2, sizeof *merged.inputs);
    if (!merged.inputs) {
        work->failed = true;
        return false;
    }
    merged.inputs[0] = a;
    merged.inputs[1] = b;
    merged.attrs.binary.kind = kind;
    mts_fold_become(work, node, &merged);
    return true;
}

/* The operand of the product x g that is not x and is smaller, or MTS_NONE. */
static uint32_t gate_of(const mts_fold_work *work, const mts_node *product, uint32_t x)
{
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t gate = mts_fold_input(work, product, 1 - i);
        const mts_shape *small = &mts_fold_value(work, gate)->shape;
        if (mts_fold_input(work, product, i) == x && mts_fold_value(work, gate)->kind != MTS_VALUE_CONST &&
            mts_shape_count(small) < mts_shape_count(&mts_fold_value(work, x)->shape)) {
            return gate;
        }
    }
    return MTS_NONE;
}

static bool sum_with_gated(mts_fold_work *work, mts_node *node)
{
    const float one = 1.0f;
    for (uint32_t i = 0; i < 2; i++) {
        mts_node *product = mts_fold_producer(work, node, i);
        const uint32_t x = mts_fold_input(work, node, 1 - i);
        if (!product || product->op != MTS_OP_BINARY || product->attrs.binary.kind != MTS_BIN_MUL ||
            product->attrs.binary.act.fn != MTS_FN_NONE || !mts_fold_single_use(work, product) ||
            !mts_shape_equal(&mts_fold_value(work, x)->shape, &mts_fold_value(work, node->output)->shape)) {
            continue;
        }
        const uint32_t gate = gate_of(work, product, x);
        const uint32_t number = gate == MTS_NONE ? MTS_NONE : mts_fold_vector(work, &one, 1);
        if (number == MTS_NONE || !become_binary(work, product, MTS_BIN_ADD, gate, number)) {
            continue;
        }
        work->graph->values[product->output].shape = mts_fold_value(work, gate)->shape;
        if (!become_binary(work, node, MTS_BIN_MUL, x, product->output)) {
            return false;
        }
        (void)line_behind(work, product);
        return true;
    }
    return false;
}

bool mts_fold_gain(mts_fold_work *work, mts_node *node)
{
    if (node->op == MTS_OP_BINARY && node->attrs.binary.kind == MTS_BIN_ADD && sum_with_gated(work, node)) {
        return true;
    }
    return (node->op == MTS_OP_BINARY || node->op == MTS_OP_SCALE) && line_behind(work, node);
}
