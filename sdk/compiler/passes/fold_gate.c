/*
 * fold_gate.c: rules for functions that exporters write as several nodes: the product of a value and a gate
 * that follows from it.
 *
 * Gelu is x (1 + erf(x / sqrt(2))) / 2, HardSwish x clip(x + 3, 0, 6) / 6, and the half or the sixth may stand at
 * the product or at its first factor.
 */
#include "compiler/passes/fold_work.h"

#include <math.h>

#define NODES_MOST 4

/* scale x + bias, with one number each. */
typedef struct line {
    uint32_t x;
    float scale, bias;
} line;

/* What is matched: the function of x that stands for all these nodes, which nothing else reads. */
typedef struct gate_match {
    uint32_t x, fn;
    float factor;
    mts_node *nodes[NODES_MOST]; /* readers first */
    uint32_t count;
} gate_match;

static bool near(float a, float b)
{
    return fabsf(a - b) < 1e-5f * (fabsf(b) > 1.0f ? fabsf(b) : 1.0f);
}

/* The number that a constant's elements all are. */
static bool uniform(mts_fold_work *work, uint32_t value, float *number)
{
    const mts_value *constant = value == MTS_NONE ? NULL : mts_fold_value(work, value);
    if (!constant || constant->kind != MTS_VALUE_CONST || constant->dtype != MTS_TYPE_FLOAT32) {
        return false;
    }
    const size_t count = mts_shape_count(&constant->shape);
    float *numbers = mts_arena_zero(work->graph->arena, count, sizeof *numbers);
    if (!numbers) {
        work->failed = true;
        return false;
    }
    mts_value_read_f32(constant, numbers);
    for (size_t i = 1; i < count; i++) {
        if (!(numbers[i] >= numbers[0] && numbers[i] <= numbers[0])) {
            return false;
        }
    }
    *number = numbers[0];
    return true;
}

static bool binary_line(mts_fold_work *work, const mts_node *node, line *out)
{
    const uint32_t kind = node->attrs.binary.kind;
    const bool swapped = (kind == MTS_BIN_ADD || kind == MTS_BIN_MUL) &&
                         mts_fold_value(work, mts_fold_input(work, node, 0))->kind == MTS_VALUE_CONST;
    float number = 0.0f;
    const uint32_t constant = mts_fold_input(work, node, swapped ? 0 : 1);
    *out = (line){.x = mts_fold_input(work, node, swapped ? 1 : 0), .scale = 1.0f};
    if (kind > MTS_BIN_DIV || mts_shape_count(&mts_fold_value(work, constant)->shape) != 1 ||
        !uniform(work, constant, &number)) {
        return false;
    }
    out->bias = kind == MTS_BIN_ADD ? number : kind == MTS_BIN_SUB ? -number : 0.0f;
    out->scale = kind == MTS_BIN_MUL ? number : kind == MTS_BIN_DIV ? 1.0f / number : 1.0f;
    return mts_shape_equal(&mts_fold_value(work, out->x)->shape, &mts_fold_value(work, node->output)->shape);
}

/* Whether a node is a line before its activation, which is `fn`. */
static bool as_line(mts_fold_work *work, const mts_node *node, uint32_t fn, line *out)
{
    const mts_act *act = node ? mts_node_act(node) : NULL;
    if (!act || act->fn != fn) {
        return false;
    }
    if (node->op == MTS_OP_SCALE && mts_fold_input(work, node, 3) == MTS_NONE) {
        *out = (line){.x = mts_fold_input(work, node, 0)};
        return uniform(work, mts_fold_input(work, node, 1), &out->scale) &&
               uniform(work, mts_fold_input(work, node, 2), &out->bias);
    }
    return node->op == MTS_OP_BINARY && binary_line(work, node, out);
}

static bool is_line(mts_fold_work *work, const mts_node *node, uint32_t fn, float scale, float bias,
                    line *out)
{
    return as_line(work, node, fn, out) && near(out->scale, scale) && near(out->bias, bias);
}

/* 1 + erf(x / sqrt(2)), or clip(x + 3, 0, 6). */
static bool match_gate(mts_fold_work *work, mts_node *gate, gate_match *match)
{
    line outer, inner;
    if (!gate || !mts_fold_single_use(work, gate)) {
        return false;
    }
    match->nodes[match->count++] = gate;
    if (is_line(work, gate, MTS_FN_CLIP, 1.0f, 3.0f, &outer)) {
        const mts_act *act = mts_node_act(gate);
        match->x = outer.x;
        match->fn = MTS_FN_HARD_SWISH;
        match->factor = 1.0f / 6.0f;
        return near(act->a, 0.0f) && near(act->b, 6.0f);
    }
    if (!is_line(work, gate, MTS_FN_NONE, 1.0f, 1.0f, &outer)) {
        return false;
    }
    mts_node *erf = mts_fold_home(work, outer.x);
    if (!erf || !mts_fold_single_use(work, erf) ||
        !is_line(work, erf, MTS_FN_ERF, 0.70710678f, 0.0f, &inner)) {
        return false;
    }
    match->nodes[match->count++] = erf;
    match->x = inner.x;
    match->fn = MTS_FN_GELU;
    match->factor = 0.5f;
    return true;
}

/* The product of a gate and x, or of a gate and factor x if `whole`. */
static bool match_product(mts_fold_work *work, mts_node *product, bool whole, gate_match *match)
{
    const uint32_t before = match->count;
    const bool fits = product && product->op == MTS_OP_BINARY && product->attrs.binary.kind == MTS_BIN_MUL &&
                      product->attrs.binary.act.fn == MTS_FN_NONE;
    for (uint32_t i = 0; fits && i < 2; i++) {
        match->count = before;
        line half;
        if (!match_gate(work, mts_fold_producer(work, product, i), match)) {
            continue;
        }
        mts_node *other = mts_fold_producer(work, product, 1 - i);
        if (!whole && mts_fold_input(work, product, 1 - i) == match->x) {
            return true;
        }
        if (whole && other && mts_fold_single_use(work, other) &&
            is_line(work, other, MTS_FN_NONE, match->factor, 0.0f, &half) && half.x == match->x) {
            match->nodes[match->count++] = other;
            return true;
        }
    }
    match->count = before;
    return false;
}

/* factor (x gate), or (factor x) gate. */
static bool match_whole(mts_fold_work *work, mts_node *node, gate_match *match)
{
    line outer;
    if (match_product(work, node, true, match)) {
        return true;
    }
    mts_node *product = as_line(work, node, MTS_FN_NONE, &outer) ? mts_fold_home(work, outer.x) : NULL;
    if (!product) {
        return false;
    }
    match->nodes[match->count++] = product;
    return mts_fold_single_use(work, product) && match_product(work, product, false, match) &&
           near(outer.scale, match->factor) && near(outer.bias, 0.0f);
}

bool mts_fold_gate(mts_fold_work *work, mts_node *node)
{
    gate_match match = {0};
    if (!match_whole(work, node, &match)) {
        return false;
    }
    uint32_t *inputs = mts_arena_zero(work->graph->arena, 1, sizeof *inputs);
    if (!inputs) {
        work->failed = true;
        return false;
    }
    inputs[0] = match.x;
    mts_node merged = *node;
    merged.op = MTS_OP_UNARY;
    merged.inputs = inputs;
    merged.input_count = 1;
    merged.attrs = (mts_attrs){.unary = {.act = {.fn = match.fn}}};
    mts_fold_merge(work, node, &merged, match.nodes[0]);
    for (uint32_t i = 1; i < match.count; i++) {
        /* its one reader is gone */
        work->uses[match.nodes[i]->output] = 1;
        mts_fold_release(work, match.nodes[i]);
    }
    return true;
}
