/*
 * fold_slope.c: rules for functions of two straight lines that meet at 0, and for bounds,
 * however they are written.
 *
 * PReLU is often exported as max(x, 0) - slope max(-x, 0), as max(x, slope x) or with
 * |x|. A tree of such nodes over one value multiplies what is above 0 by one number a
 * channel and what is below by another. Where the first is 1, the tree is PReLU. A
 * maximum or minimum with one number is a clip.
 */
#include "compiler/passes/fold_work.h"

#include <math.h>

/* Nodes between a value and what it is a function of, at most. */
#define DEPTH_MOST 6

/* Factors of each channel above and below 0. */
typedef struct lines {
    float *above, *below;
    size_t channels;
} lines;

static bool alloc_lines(mts_fold_work *work, size_t channels, lines *out)
{
    *out = (lines){.above = mts_arena_zero(work->graph->arena, channels, sizeof(float)),
                   .below = mts_arena_zero(work->graph->arena, channels, sizeof(float)),
                   .channels = channels};
    work->failed = work->failed || !out->above || !out->below;
    return !work->failed;
}

static bool all_finite(const lines *l)
{
    for (size_t i = 0; i < l->channels; i++) {
        if (!isfinite(l->above[i]) || !isfinite(l->below[i])) {
            return false;
        }
    }
    return true;
}

static bool is_const(mts_fold_work *work, const mts_node *node, uint32_t index)
{
    return mts_fold_value(work, mts_fold_input(work, node, index))->kind == MTS_VALUE_CONST;
}

/* The operand that a node's lines continue; the first one of two. MTS_NONE: the node's
   function is no such lines. */
static uint32_t operand_of(mts_fold_work *work, const mts_node *node)
{
    if (!node || (node->op != MTS_OP_UNARY && node->op != MTS_OP_SCALE && node->op != MTS_OP_BINARY)) {
        return MTS_NONE;
    }
    const uint32_t at = node->op == MTS_OP_BINARY && is_const(work, node, 0) ? 1 : 0;
    const uint32_t operand = mts_fold_input(work, node, at);
    return mts_fold_value(work, operand)->kind != MTS_VALUE_CONST &&
                   mts_shape_equal(&mts_fold_value(work, operand)->shape,
                                   &mts_fold_value(work, node->output)->shape)
               ? operand
               : MTS_NONE;
}

/* A value of which both operands of a node may be functions. */
static uint32_t common_source(mts_fold_work *work, const mts_node *node)
{
    uint32_t a = mts_fold_input(work, node, 0);
    for (int i = 0; i < DEPTH_MOST && a != MTS_NONE; i++) {
        uint32_t b = mts_fold_input(work, node, 1);
        for (int j = 0; j < DEPTH_MOST && b != MTS_NONE; j++) {
            if (a == b) {
                return a;
            }
            b = operand_of(work, mts_fold_home(work, b));
        }
        a = operand_of(work, mts_fold_home(work, a));
    }
    return MTS_NONE;
}

static bool apply_act(const mts_act *act, lines *l)
{
    for (size_t i = 0; i < l->channels; i++) {
        float *above = &l->above[i], *below = &l->below[i];
        switch (act->fn) {
        case MTS_FN_NONE:
            break;
        case MTS_FN_RELU:
            *above = fmaxf(*above, 0.0f);
            *below = fminf(*below, 0.0f);
            break;
        case MTS_FN_NEG:
            *above = -*above;
            *below = -*below;
            break;
        case MTS_FN_ABS:
            *above = fabsf(*above);
            *below = -fabsf(*below);
            break;
        default:
            return false;
        }
    }
    return true;
}

/* `factors`: a vector of one number a channel, or what broadcasts to that. */
static bool multiply(mts_fold_work *work, uint32_t factors, bool vector, bool divide, const mts_shape *x,
                     lines *l)
{
    const mts_shape row = {.rank = 2, .dims = {1, x->dims[1]}};
    float *numbers = NULL;
    if (!mts_fold_channel_numbers(work, factors, vector ? &row : x, &numbers)) {
        return false;
    }
    for (size_t i = 0; i < l->channels; i++) {
        const float by = divide ? 1.0f / numbers[i] : numbers[i];
        if (!isfinite(by)) {
            return false;
        }
        l->above[i] *= by;
        l->below[i] *= by;
    }
    return all_finite(l);
}

/* kind of two functions of one value: below 0 the larger factor gives the smaller
   product. */
static bool combine(uint32_t kind, lines *a, const lines *b)
{
    for (size_t i = 0; i < a->channels; i++) {
        switch (kind) {
        case MTS_BIN_ADD:
            a->above[i] += b->above[i];
            a->below[i] += b->below[i];
            break;
        case MTS_BIN_SUB:
            a->above[i] -= b->above[i];
            a->below[i] -= b->below[i];
            break;
        case MTS_BIN_MAX:
            a->above[i] = fmaxf(a->above[i], b->above[i]);
            a->below[i] = fminf(a->below[i], b->below[i]);
            break;
        case MTS_BIN_MIN:
            a->above[i] = fminf(a->above[i], b->above[i]);
            a->below[i] = fmaxf(a->below[i], b->below[i]);
            break;
        default:
            return false;
        }
    }
    return all_finite(a);
}

static bool is_zero(mts_fold_work *work, uint32_t bias)
{
    float number = 0.0f;
    return bias == MTS_NONE || (mts_fold_uniform(work, bias, &number) && fabsf(number) <= 0.0f);
}

/* The lines of `value` as a function of `x`. Recursion: at most `depth` deep. */
static bool lines_of(mts_fold_work *work, uint32_t value, uint32_t x, int depth, lines *out)
{
    const mts_shape *shape = &mts_fold_value(work, x)->shape;
    if (value == x) {
        if (!alloc_lines(work, (size_t)shape->dims[1], out)) {
            return false;
        }
        for (size_t i = 0; i < out->channels; i++) {
            out->above[i] = out->below[i] = 1.0f;
        }
        return true;
    }
    const mts_node *node = mts_fold_home(work, value);
    const uint32_t operand = depth > 0 ? operand_of(work, node) : MTS_NONE;
    if (operand == MTS_NONE || !lines_of(work, operand, x, depth - 1, out)) {
        return false;
    }
    if (node->op == MTS_OP_SCALE) {
        return mts_fold_input(work, node, 3) == MTS_NONE && is_zero(work, mts_fold_input(work, node, 2)) &&
               multiply(work, mts_fold_input(work, node, 1), true, false, shape, out) &&
               apply_act(mts_node_act(node), out);
    }
    if (node->op == MTS_OP_UNARY) {
        return apply_act(&node->attrs.unary.act, out);
    }
    const uint32_t kind = node->attrs.binary.kind;
    const bool swapped = is_const(work, node, 0);
    lines other;
    const bool fits = swapped || is_const(work, node, 1)
                          ? (kind == MTS_BIN_MUL || (kind == MTS_BIN_DIV && !swapped)) &&
                                multiply(work, mts_fold_input(work, node, swapped ? 0 : 1), false,
                                         kind == MTS_BIN_DIV, shape, out)
                          : lines_of(work, mts_fold_input(work, node, 1), x, depth - 1, &other) &&
                                combine(kind, out, &other);
    return fits && apply_act(&node->attrs.binary.act, out);
}

/* A constant with a number for each channel of a value of this rank. */
static uint32_t channel_constant(mts_fold_work *work, const float *numbers, const mts_shape *x)
{
    mts_shape shape = {.rank = x->rank - 1, .dims = {x->dims[1]}};
    for (uint32_t i = 1; i < shape.rank; i++) {
        shape.dims[i] = 1;
    }
    return mts_fold_constant(work, numbers, &shape);
}

static bool same_numbers(const float *numbers, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (numbers[i] < numbers[0] || numbers[i] > numbers[0]) {
            return false;
        }
    }
    return true;
}

static bool becomes(mts_fold_work *work, mts_node *node, const lines *l, uint32_t x)
{
    const bool uniform = same_numbers(l->below, l->channels);
    mts_node merged = *node;
    uint32_t *inputs = mts_arena_zero(work->graph->arena, 2, sizeof *inputs);
    const uint32_t slope =
        uniform ? MTS_NONE : channel_constant(work, l->below, &mts_fold_value(work, x)->shape);
    if (!inputs || work->failed) {
        work->failed = true;
        return false;
    }
    inputs[0] = x;
    inputs[1] = slope;
    merged.inputs = inputs;
    merged.input_count = uniform ? 1 : 2;
    if (uniform) {
        const bool is_relu = fabsf(l->below[0]) <= 0.0f;
        merged.op = MTS_OP_UNARY;
        merged.attrs = (mts_attrs){.unary = {.act = {.fn = is_relu ? MTS_FN_RELU : MTS_FN_LEAKY,
                                                     .a = is_relu ? 0.0f : l->below[0]}}};
    } else {
        merged.attrs = (mts_attrs){.binary = {.kind = MTS_BIN_PRELU}};
    }
    mts_fold_become(work, node, &merged);
    return true;
}

static bool slope_of_tree(mts_fold_work *work, mts_node *node)
{
    const uint32_t x = common_source(work, node);
    const mts_shape *shape = x == MTS_NONE ? NULL : &mts_fold_value(work, x)->shape;
    lines l = {0};
    if (!shape || shape->rank < 2 || shape->dims[1] == 0 ||
        mts_fold_value(work, x)->kind == MTS_VALUE_CONST ||
        !mts_shape_equal(shape, &mts_fold_value(work, node->output)->shape) ||
        !lines_of(work, node->output, x, DEPTH_MOST, &l)) {
        return false;
    }
    for (size_t i = 0; i < l.channels; i++) {
        if (!mts_fold_near(l.above[i], 1.0f)) {
            return false;
        }
    }
    return !(same_numbers(l.below, l.channels) && mts_fold_near(l.below[0], 1.0f)) &&
           becomes(work, node, &l, x);
}

/* max(x, number) and min(x, number). */
static bool bound_by_number(mts_fold_work *work, mts_node *node)
{
    const uint32_t at = is_const(work, node, 0) ? 0 : 1;
    const uint32_t x = mts_fold_input(work, node, 1 - at);
    const bool is_max = node->attrs.binary.kind == MTS_BIN_MAX;
    float number = 0.0f;
    if (!is_const(work, node, at) || mts_fold_value(work, x)->kind == MTS_VALUE_CONST ||
        !mts_shape_equal(&mts_fold_value(work, x)->shape, &mts_fold_value(work, node->output)->shape) ||
        !mts_fold_uniform(work, mts_fold_input(work, node, at), &number) || isnan(number)) {
        return false;
    }
    uint32_t *inputs = mts_arena_zero(work->graph->arena, 1, sizeof *inputs);
    if (!inputs) {
        work->failed = true;
        return false;
    }
    inputs[0] = x;
    mts_node merged = *node;
    merged.op = MTS_OP_UNARY;
    merged.inputs = inputs;
    merged.input_count = 1;
    merged.attrs = (mts_attrs){
        .unary = {
            .act = {.fn = MTS_FN_CLIP, .a = is_max ? number : -INFINITY, .b = is_max ? INFINITY : number}}};
    mts_fold_become(work, node, &merged);
    return true;
}

static float clip(float x, float low, float high)
{
    return fminf(fmaxf(x, low), high);
}

/* The function `then` of the function `first`, both of them bounds or the first one a
   leaky ReLU. */
static bool compose(const mts_act *first, const mts_act *then, mts_act *out)
{
    const float low = then->fn == MTS_FN_CLIP ? then->a : 0.0f;
    const float high = then->fn == MTS_FN_CLIP ? then->b : INFINITY;
    if ((then->fn != MTS_FN_RELU && then->fn != MTS_FN_CLIP) || low > high) {
        return false;
    }
    if ((first->fn == MTS_FN_LEAKY || first->fn == MTS_FN_LEAKY_BOUND) && high >= INFINITY) {
        *out = (mts_act){.fn = MTS_FN_LEAKY_BOUND,
                         .a = first->a,
                         .b = first->fn == MTS_FN_LEAKY_BOUND ? fmaxf(first->b, low) : low};
        return true;
    }
    if (first->fn == MTS_FN_RELU || first->fn == MTS_FN_CLIP) {
        const float below = first->fn == MTS_FN_CLIP ? first->a : 0.0f;
        const float above = first->fn == MTS_FN_CLIP ? first->b : INFINITY;
        *out = (mts_act){.fn = MTS_FN_CLIP, .a = clip(below, low, high), .b = clip(above, low, high)};
        if (fabsf(out->a) <= 0.0f && out->b >= INFINITY) {
            *out = (mts_act){.fn = MTS_FN_RELU};
        }
        return true;
    }
    return false;
}

/* A bound behind a bound or a leaky ReLU joins it. */
static bool bound_after(mts_fold_work *work, mts_node *node)
{
    mts_node *before = mts_fold_producer(work, node, 0);
    mts_act *act = before ? (mts_act *)mts_node_act(before) : NULL;
    mts_act joined;
    if (!act || !mts_fold_single_use(work, before) || !compose(act, &node->attrs.unary.act, &joined)) {
        return false;
    }
    *act = joined;
    mts_fold_replace(work, node, mts_fold_input(work, node, 0));
    return true;
}

bool mts_fold_slope(mts_fold_work *work, mts_node *node)
{
    if (node->op == MTS_OP_UNARY) {
        return bound_after(work, node);
    }
    if (node->op != MTS_OP_BINARY || node->attrs.binary.act.fn != MTS_FN_NONE) {
        return false;
    }
    const uint32_t kind = node->attrs.binary.kind;
    const bool bounds = kind == MTS_BIN_MAX || kind == MTS_BIN_MIN;
    return (bounds && bound_by_number(work, node)) ||
           ((bounds || kind == MTS_BIN_ADD || kind == MTS_BIN_SUB) && slope_of_tree(work, node));
}
