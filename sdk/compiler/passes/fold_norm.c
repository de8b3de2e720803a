/*
 * fold_norm.c: rules for normalisations that exporters write as several nodes, and for
 * what stands around one.
 *
 *     d = x - mean(x);  y = d / sqrt(mean(d^2) + e)          and without the mean, and times 1 / sqrt(..)
 *     m = scale / sqrt(..);  y = x m + (bias - mean(x) m)
 *     y = x / max(|x|, e)                                    |x| is the sum of absolute values or of squares
 *
 * The intermediate values that others read too are still computed. A scale, a bias and
 * groups of channels that were written as reshapes join the operator.
 */
#include <math.h>
#include <string.h>

#include "compiler/passes/fold_work.h"

static bool is_binary(const mts_node *node, uint32_t kind)
{
    return node && node->op == MTS_OP_BINARY && node->attrs.binary.kind == kind &&
           node->attrs.binary.act.fn == MTS_FN_NONE;
}

static bool is_unary(const mts_node *node, uint32_t fn)
{
    return node && node->op == MTS_OP_UNARY && node->attrs.unary.act.fn == fn;
}

static bool is_constant(const mts_fold_work *work, uint32_t value)
{
    return value != MTS_NONE && mts_fold_value(work, value)->kind == MTS_VALUE_CONST;
}

static bool is_reduction(const mts_node *node, uint32_t kind)
{
    return node && node->op == MTS_OP_REDUCE && node->attrs.reduce.kind == kind && node->attrs.reduce.keep;
}

static bool same_shape(const mts_fold_work *work, uint32_t a, uint32_t b)
{
    return mts_shape_equal(&mts_fold_value(work, a)->shape, &mts_fold_value(work, b)->shape);
}

/* The value whose square a node is. */
static bool square_of(mts_fold_work *work, const mts_node *node, uint32_t *x)
{
    float two = 0.0f;
    const bool product = is_binary(node, MTS_BIN_MUL);
    if (!product && !is_binary(node, MTS_BIN_POW)) {
        return false;
    }
    *x = mts_fold_input(work, node, 0);
    const uint32_t other = mts_fold_input(work, node, 1);
    return product ? other == *x
                   : same_shape(work, *x, node->output) && mts_fold_uniform(work, other, &two) &&
                         mts_fold_near(two, 2.0f);
}

/* ---- what is divided by ---- */

typedef struct norm_match {
    uint32_t x, mean; /* mean: MTS_NONE where nothing is subtracted */
    uint32_t kind, axes;
    float epsilon;
} norm_match;

/* d = x - mean(x) over the axes. */
static bool match_centre(mts_fold_work *work, uint32_t d, norm_match *m)
{
    const mts_node *node = mts_fold_home(work, d);
    if (!is_binary(node, MTS_BIN_SUB)) {
        return false;
    }
    const uint32_t x = mts_fold_input(work, node, 0), mean = mts_fold_input(work, node, 1);
    const mts_node *made = mts_fold_home(work, mean);
    if (!is_reduction(made, MTS_REDUCE_MEAN) || made->attrs.reduce.axes != m->axes ||
        mts_fold_input(work, made, 0) != x) {
        return false;
    }
    m->x = x;
    m->mean = mean;
    return true;
}

/* The mean of squares of d, where d is x - mean(x), or x itself. */
static bool match_variance(mts_fold_work *work, uint32_t variance, norm_match *m)
{
    const mts_node *node = mts_fold_home(work, variance);
    uint32_t d = MTS_NONE;
    if (is_reduction(node, MTS_REDUCE_MEAN_SQUARE)) {
        d = mts_fold_input(work, node, 0);
    } else if (!is_reduction(node, MTS_REDUCE_MEAN) ||
               !square_of(work, mts_fold_home(work, mts_fold_input(work, node, 0)), &d)) {
        return false;
    }
    m->axes = node->attrs.reduce.axes;
    m->x = d;
    m->mean = MTS_NONE;
    (void)match_centre(work, d, m);
    return true;
}

/* sqrt(variance + e), or sqrt(variance) + e. */
static bool match_deviation(mts_fold_work *work, uint32_t value, norm_match *m)
{
    mts_fold_line line = {.x = value};
    const mts_node *node = mts_fold_home(work, value);
    m->kind = MTS_NORM_VARIANCE;
    if (is_unary(node, MTS_FN_SQRT)) {
        value = mts_fold_input(work, node, 0);
        node = mts_fold_home(work, value);
        line.x = mts_fold_as_line(work, node, MTS_FN_NONE, &line) ? line.x : value;
    } else if (!mts_fold_as_line(work, node, MTS_FN_SQRT, &line)) {
        m->kind = MTS_NORM_DEVIATION;
        if (!mts_fold_as_line(work, node, MTS_FN_NONE, &line) ||
            !is_unary(mts_fold_home(work, line.x), MTS_FN_SQRT)) {
            return false;
        }
        line.x = mts_fold_input(work, mts_fold_home(work, line.x), 0);
    }
    const bool plain = line.x == value;
    m->epsilon = plain ? 0.0f : line.bias;
    return (plain || mts_fold_near(line.scale, 1.0f)) && m->epsilon >= 0.0f &&
           match_variance(work, line.x, m);
}

/* max(|x|, e), perhaps broadcast. */
static bool match_length(mts_fold_work *work, uint32_t value, norm_match *m)
{
    const mts_node *node = mts_fold_home(work, value);
    m->epsilon = 0.0f;
    if (is_unary(node, MTS_FN_CLIP) && node->attrs.unary.act.b >= 3e38f) {
        m->epsilon = node->attrs.unary.act.a;
        value = mts_fold_input(work, node, 0);
    } else if (is_binary(node, MTS_BIN_MAX) &&
               mts_fold_uniform(work, mts_fold_input(work, node, 1), &m->epsilon)) {
        value = mts_fold_input(work, node, 0);
    }
    node = mts_fold_home(work, value);
    m->kind = is_reduction(node, MTS_REDUCE_L2) ? MTS_NORM_L2 : MTS_NORM_L1;
    if (m->epsilon < 0.0f || (!is_reduction(node, MTS_REDUCE_L2) && !is_reduction(node, MTS_REDUCE_L1))) {
        return false;
    }
    m->axes = node->attrs.reduce.axes;
    m->x = mts_fold_input(work, node, 0);
    m->mean = MTS_NONE;
    return true;
}

static uint32_t without_expand(const mts_fold_work *work, uint32_t value)
{
    const mts_node *node = mts_fold_home(work, value);
    return node && node->op == MTS_OP_EXPAND ? mts_fold_input(work, node, 0) : value;
}

/* What x - mean, or x, is divided by; `inverse`: what it is multiplied by. */
static bool match_divisor(mts_fold_work *work, uint32_t value, bool inverse, norm_match *m)
{
    float one = 0.0f;
    value = without_expand(work, value);
    if (inverse) {
        const mts_node *node = mts_fold_home(work, value);
        if (is_unary(node, MTS_FN_RECIPROCAL)) {
            value = mts_fold_input(work, node, 0);
        } else if (is_binary(node, MTS_BIN_DIV) &&
                   mts_fold_uniform(work, mts_fold_input(work, node, 0), &one) && mts_fold_near(one, 1.0f)) {
            value = mts_fold_input(work, node, 1);
        } else {
            return false;
        }
    }
    return match_deviation(work, value, m) || match_length(work, value, m);
}

/* Whether `top` is what the divisor belongs to: x, or x - mean(x). */
static bool fits_top(mts_fold_work *work, uint32_t top, norm_match *m)
{
    norm_match own = *m;
    if (m->mean == MTS_NONE) {
        m->kind = m->kind == MTS_NORM_VARIANCE ? MTS_NORM_RMS : m->kind;
        return top == m->x && m->kind != MTS_NORM_DEVIATION;
    }
    return match_centre(work, top, &own) && own.x == m->x && own.mean == m->mean;
}

/* ---- rewriting ---- */

/* The node computes something else of other operands. */
static bool become(mts_fold_work *work, mts_node *node, mts_op op, const mts_attrs *attrs,
                   const uint32_t *inputs, uint32_t count)
{
    mts_node merged = *node;
    merged.inputs = mts_arena_zero(work->graph->arena, count, sizeof *merged.inputs);
    if (!merged.inputs) {
        work->failed = true;
        return false;
    }
    memcpy(merged.inputs, inputs, count * sizeof *inputs);
    merged.op = op;
    merged.input_count = count;
    merged.attrs = *attrs;
    mts_fold_become(work, node, &merged);
    return true;
}

static bool make_norm(mts_fold_work *work, mts_node *node, const norm_match *m, uint32_t scale, uint32_t bias)
{
    const uint32_t inputs[3] = {m->x, scale, bias};
    const mts_attrs attrs = {.norm = {.kind = m->kind,
                                      .axes = m->axes,
                                      .groups = 1,
                                      .epsilon = m->epsilon,
                                      .act = node->attrs.binary.act}};
    return become(work, node, MTS_OP_NORM, &attrs, inputs, bias != MTS_NONE ? 3 : 1);
}

static bool from_quotient(mts_fold_work *work, mts_node *node)
{
    const bool product = node->attrs.binary.kind == MTS_BIN_MUL;
    for (uint32_t i = 0; i < (product ? 2u : 1u); i++) {
        norm_match m = {0};
        const uint32_t top = mts_fold_input(work, node, i);
        if (is_constant(work, top) || !same_shape(work, top, node->output)) {
            continue;
        }
        if (match_divisor(work, mts_fold_input(work, node, 1 - i), product, &m) && fits_top(work, top, &m)) {
            return make_norm(work, node, &m, MTS_NONE, MTS_NONE);
        }
    }
    return false;
}

/* m = 1 / sqrt(..), or that times a constant. */
static bool match_multiplier(mts_fold_work *work, uint32_t value, norm_match *m, uint32_t *scale)
{
    *scale = MTS_NONE;
    if (match_divisor(work, value, true, m)) {
        return true;
    }
    const mts_node *node = mts_fold_home(work, value);
    for (uint32_t i = 0; is_binary(node, MTS_BIN_MUL) && i < 2; i++) {
        *scale = mts_fold_input(work, node, i);
        if (is_constant(work, *scale) && match_divisor(work, mts_fold_input(work, node, 1 - i), true, m)) {
            return true;
        }
    }
    return false;
}

/* x m + (bias - mean m), in either order. */
static bool from_sum(mts_fold_work *work, mts_node *node)
{
    for (uint32_t i = 0; i < 2; i++) {
        const mts_node *product = mts_fold_producer(work, node, i),
                       *rest = mts_fold_producer(work, node, 1 - i);
        const mts_node *shift = is_binary(rest, MTS_BIN_SUB) ? mts_fold_producer(work, rest, 1) : NULL;
        const uint32_t bias = is_binary(rest, MTS_BIN_SUB) ? mts_fold_input(work, rest, 0) : MTS_NONE;
        if (!is_binary(product, MTS_BIN_MUL) || !is_binary(shift, MTS_BIN_MUL) || !is_constant(work, bias)) {
            continue;
        }
        for (uint32_t k = 0; k < 2; k++) {
            norm_match m = {0};
            uint32_t scale = MTS_NONE;
            const uint32_t x = mts_fold_input(work, product, k), by = mts_fold_input(work, product, 1 - k);
            if (is_constant(work, by) || !match_multiplier(work, by, &m, &scale) || m.mean == MTS_NONE ||
                m.x != x || !same_shape(work, x, node->output)) {
                continue;
            }
            const uint32_t a = mts_fold_input(work, shift, 0), b = mts_fold_input(work, shift, 1);
            if ((a == m.mean && b == by) || (b == m.mean && a == by)) {
                return make_norm(work, node, &m, scale, bias);
            }
        }
    }
    return false;
}

/* ---- a scale or bias behind a normalisation ---- */

static bool free_norm(const mts_fold_work *work, const mts_node *norm, uint32_t input)
{
    return norm && norm->op == MTS_OP_NORM && mts_fold_single_use(work, norm) &&
           norm->attrs.norm.act.fn == MTS_FN_NONE && mts_fold_input(work, norm, 2) == MTS_NONE &&
           (input == 2 || mts_fold_input(work, norm, 1) == MTS_NONE);
}

static bool absorb_factor(mts_fold_work *work, mts_node *node)
{
    const uint32_t input = node->attrs.binary.kind == MTS_BIN_MUL ? 1 : 2;
    for (uint32_t i = 0; i < 2; i++) {
        mts_node *norm = mts_fold_producer(work, node, i);
        const uint32_t factor = mts_fold_input(work, node, 1 - i);
        if (!free_norm(work, norm, input) || !is_constant(work, factor) ||
            mts_fold_value(work, factor)->dtype != MTS_TYPE_FLOAT32 ||
            mts_fold_value(work, factor)->block_count != 1 || !same_shape(work, norm->output, node->output) ||
            !mts_op_applies(MTS_OP_NORM, node->attrs.binary.act.fn)) {
            continue;
        }
        const uint32_t scale = input == 1 ? factor : mts_fold_input(work, norm, 1);
        const uint32_t inputs[3] = {mts_fold_input(work, norm, 0), scale, input == 2 ? factor : MTS_NONE};
        mts_attrs attrs = norm->attrs;
        attrs.norm.act = node->attrs.binary.act;
        return become(work, node, MTS_OP_NORM, &attrs, inputs, input + 1);
    }
    return false;
}

/* ---- groups that were written as [n, groups, everything else] ---- */

static bool neutral(mts_fold_work *work, const mts_node *norm, uint32_t input, float number)
{
    float all = number;
    const uint32_t value = mts_fold_input(work, norm, input);
    return value == MTS_NONE || (mts_fold_uniform(work, value, &all) && mts_fold_near(all, number));
}

static bool join_groups(mts_fold_work *work, mts_node *node)
{
    const mts_node *norm = mts_fold_producer(work, node, 0);
    if (!norm || norm->op != MTS_OP_NORM || norm->attrs.norm.axes != 4 || norm->attrs.norm.groups != 1 ||
        norm->attrs.norm.act.fn != MTS_FN_NONE || !mts_fold_single_use(work, norm)) {
        return false;
    }
    const mts_node *before = mts_fold_producer(work, norm, 0);
    if (!before || before->op != MTS_OP_RESHAPE || !neutral(work, norm, 1, 1.0f) ||
        !neutral(work, norm, 2, 0.0f)) {
        return false;
    }
    const uint32_t x = mts_fold_input(work, before, 0);
    const mts_shape *shape = &mts_fold_value(work, x)->shape;
    const mts_shape *three = &mts_fold_value(work, norm->output)->shape;
    if (!same_shape(work, x, node->output) || three->rank != 3 || shape->rank < 3 ||
        shape->dims[0] != three->dims[0] || shape->dims[1] % three->dims[1] != 0) {
        return false;
    }
    mts_attrs attrs = norm->attrs;
    attrs.norm.axes = (1u << shape->rank) - 2u;
    attrs.norm.groups = (uint32_t)three->dims[1];
    return become(work, node, MTS_OP_NORM, &attrs, &x, 1);
}

/* ---- sums of squares and of absolute values ---- */

static bool become_reduction(mts_fold_work *work, mts_node *node, const mts_node *sum, uint32_t x,
                             uint32_t kind)
{
    mts_attrs attrs = sum->attrs;
    attrs.reduce.kind = kind;
    return become(work, node, MTS_OP_REDUCE, &attrs, &x, 1);
}

/* sum(x^2), mean(x^2), sum(|x|) */
static bool square_reduction(mts_fold_work *work, mts_node *node)
{
    const uint32_t kind = node->attrs.reduce.kind;
    const mts_node *term = mts_fold_producer(work, node, 0);
    uint32_t x = MTS_NONE;
    if ((kind == MTS_REDUCE_SUM || kind == MTS_REDUCE_MEAN) && square_of(work, term, &x)) {
        return become_reduction(work, node, node, x,
                                kind == MTS_REDUCE_SUM ? MTS_REDUCE_SUM_SQUARE : MTS_REDUCE_MEAN_SQUARE);
    }
    return kind == MTS_REDUCE_SUM && is_unary(term, MTS_FN_ABS) &&
           become_reduction(work, node, node, mts_fold_input(work, term, 0), MTS_REDUCE_L1);
}

/* sqrt(sum(x^2)), log(sum(x)) */
static bool root_reduction(mts_fold_work *work, mts_node *node)
{
    const mts_node *sum = mts_fold_producer(work, node, 0);
    const uint32_t fn = node->attrs.unary.act.fn;
    if (!sum || sum->op != MTS_OP_REDUCE || !mts_fold_single_use(work, sum)) {
        return false;
    }
    const uint32_t kind = sum->attrs.reduce.kind;
    const uint32_t made = fn == MTS_FN_SQRT && kind == MTS_REDUCE_SUM_SQUARE ? MTS_REDUCE_L2
                          : fn == MTS_FN_LOG && kind == MTS_REDUCE_SUM       ? MTS_REDUCE_LOG_SUM
                                                                             : MTS_REDUCE_COUNT;
    return made < MTS_REDUCE_COUNT && become_reduction(work, node, sum, mts_fold_input(work, sum, 0), made);
}

bool mts_fold_norm(mts_fold_work *work, mts_node *node)
{
    const uint32_t kind = node->attrs.binary.kind;
    switch (node->op) {
    case MTS_OP_REDUCE:
        return square_reduction(work, node);
    case MTS_OP_UNARY:
        return root_reduction(work, node);
    case MTS_OP_RESHAPE:
        return join_groups(work, node);
    case MTS_OP_BINARY:
        return ((kind == MTS_BIN_MUL || kind == MTS_BIN_ADD) && absorb_factor(work, node)) ||
               ((kind == MTS_BIN_DIV || kind == MTS_BIN_MUL) && from_quotient(work, node)) ||
               (kind == MTS_BIN_ADD && from_sum(work, node));
    default:
        return false;
    }
}
