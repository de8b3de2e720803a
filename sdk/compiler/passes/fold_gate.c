/*
 * fold_gate.c: rules for functions that exporters write as several nodes: the product of
 * a value and a gate that follows from it.
 *
 * Gelu is x (1 + erf(x / sqrt(2))) / 2, HardSwish x clip(x + 3, 0, 6) / 6, and the half
 * or the sixth may stand at the product or at one of its factors.
 */
#include "compiler/passes/fold_work.h"

#define NODES_MOST 4

/* What is matched: the function of x that stands for all these nodes, which nothing else
   reads. */
typedef struct gate_match {
    uint32_t x, fn;
    float factor;
    mts_node *nodes[NODES_MOST]; /* readers first */
    uint32_t count;
} gate_match;

static bool match_clip(mts_fold_work *work, mts_node *node, float scale, float bias, float high,
                       gate_match *match)
{
    mts_fold_line line;
    const mts_act *act = mts_node_act(node);
    if (!mts_fold_is_line(work, node, MTS_FN_CLIP, scale, bias, &line) || !mts_fold_near(act->a, 0.0f) ||
        !mts_fold_near(act->b, high)) {
        return false;
    }
    match->nodes[match->count++] = node;
    match->x = line.x;
    match->fn = MTS_FN_HARD_SWISH;
    match->factor = 1.0f / 6.0f;
    return true;
}

/* number + number erf(x / sqrt(2)) */
static bool match_erf(mts_fold_work *work, mts_node *node, float number, gate_match *match)
{
    mts_fold_line outer, inner;
    mts_node *erf = mts_fold_is_line(work, node, MTS_FN_NONE, number, number, &outer)
                        ? mts_fold_home(work, outer.x)
                        : NULL;
    if (!erf || !mts_fold_single_use(work, erf) ||
        !mts_fold_is_line(work, erf, MTS_FN_ERF, 0.70710678f, 0.0f, &inner)) {
        return false;
    }
    match->nodes[match->count++] = node;
    match->nodes[match->count++] = erf;
    match->x = inner.x;
    match->fn = MTS_FN_GELU;
    match->factor = 0.5f;
    return true;
}

/* 1 + erf(x / sqrt(2)), or clip(x + 3, 0, 6). */
static bool match_gate(mts_fold_work *work, mts_node *gate, gate_match *match)
{
    return gate && mts_fold_single_use(work, gate) &&
           (match_clip(work, gate, 1.0f, 3.0f, 6.0f, match) || match_erf(work, gate, 1.0f, match));
}

/* factor gate, of two nodes or of one. */
static bool match_scaled_gate(mts_fold_work *work, mts_node *node, gate_match *match)
{
    mts_fold_line line;
    if (!node || !mts_fold_single_use(work, node)) {
        return false;
    }
    if (match_clip(work, node, 1.0f / 6.0f, 0.5f, 1.0f, match) || match_erf(work, node, 0.5f, match)) {
        return true;
    }
    if (!mts_fold_as_line(work, node, MTS_FN_NONE, &line)) {
        return false;
    }
    match->nodes[match->count++] = node;
    return match_gate(work, mts_fold_home(work, line.x), match) && mts_fold_near(line.scale, match->factor) &&
           mts_fold_near(line.bias, 0.0f);
}

/* The product of a gate and x; if `whole`, that of a gate and factor x, or of factor gate
   and x. */
static bool match_product(mts_fold_work *work, mts_node *product, bool whole, gate_match *match)
{
    const uint32_t before = match->count;
    const bool fits = product && product->op == MTS_OP_BINARY && product->attrs.binary.kind == MTS_BIN_MUL &&
                      product->attrs.binary.act.fn == MTS_FN_NONE;
    for (uint32_t i = 0; fits && i < 2; i++) {
        match->count = before;
        mts_fold_line half;
        if (whole && match_scaled_gate(work, mts_fold_producer(work, product, i), match) &&
            mts_fold_input(work, product, 1 - i) == match->x) {
            return true;
        }
        match->count = before;
        if (!match_gate(work, mts_fold_producer(work, product, i), match)) {
            continue;
        }
        mts_node *other = mts_fold_producer(work, product, 1 - i);
        if (!whole && mts_fold_input(work, product, 1 - i) == match->x) {
            return true;
        }
        if (whole && other && mts_fold_single_use(work, other) &&
            mts_fold_is_line(work, other, MTS_FN_NONE, match->factor, 0.0f, &half) && half.x == match->x) {
            match->nodes[match->count++] = other;
            return true;
        }
    }
    match->count = before;
    return false;
}

/* factor (x gate), (factor x) gate, or x (factor gate). */
static bool match_whole(mts_fold_work *work, mts_node *node, gate_match *match)
{
    mts_fold_line outer;
    if (match_product(work, node, true, match)) {
        return true;
    }
    mts_node *product =
        mts_fold_as_line(work, node, MTS_FN_NONE, &outer) ? mts_fold_home(work, outer.x) : NULL;
    if (!product) {
        return false;
    }
    match->nodes[match->count++] = product;
    return mts_fold_single_use(work, product) && match_product(work, product, false, match) &&
           mts_fold_near(outer.scale, match->factor) && mts_fold_near(outer.bias, 0.0f);
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
