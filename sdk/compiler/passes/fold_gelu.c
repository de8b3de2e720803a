/*
 * fold_gelu.c: the rule for Gelu by tanh that exporters write as several nodes:
 *
 *     x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
 *
 * The half may stand at the product or at one of its factors, the cube may be a power or
 * two products.
 */
#include "compiler/passes/fold_work.h"

static bool is_binary(const mts_node *node, uint32_t kind)
{
    return node && node->op == MTS_OP_BINARY && node->attrs.binary.kind == kind &&
           node->attrs.binary.act.fn == MTS_FN_NONE;
}

static bool is_power(mts_fold_work *work, const mts_node *node, uint32_t x, float exponent)
{
    float number = 0.0f;
    return is_binary(node, MTS_BIN_POW) && mts_fold_input(work, node, 0) == x &&
           mts_fold_uniform(work, mts_fold_input(work, node, 1), &number) && mts_fold_near(number, exponent);
}

static bool is_square(mts_fold_work *work, const mts_node *node, uint32_t x)
{
    return is_power(work, node, x, 2.0f) ||
           (is_binary(node, MTS_BIN_MUL) && mts_fold_input(work, node, 0) == x &&
            mts_fold_input(work, node, 1) == x);
}

static bool is_cube(mts_fold_work *work, const mts_node *node, uint32_t x)
{
    if (is_power(work, node, x, 3.0f)) {
        return true;
    }
    for (uint32_t i = 0; is_binary(node, MTS_BIN_MUL) && i < 2; i++) {
        if (mts_fold_input(work, node, i) == x && is_square(work, mts_fold_producer(work, node, 1 - i), x)) {
            return true;
        }
    }
    return false;
}

/* x + 0.044715 x^3: x. */
static uint32_t match_argument(mts_fold_work *work, uint32_t value)
{
    const mts_node *sum = mts_fold_home(work, value);
    mts_fold_line line;
    for (uint32_t i = 0; is_binary(sum, MTS_BIN_ADD) && i < 2; i++) {
        const uint32_t x = mts_fold_input(work, sum, i);
        const mts_node *scaled = mts_fold_producer(work, sum, 1 - i);
        if (scaled && mts_fold_is_line(work, scaled, MTS_FN_NONE, 0.044715f, 0.0f, &line) &&
            is_cube(work, mts_fold_home(work, line.x), x)) {
            return x;
        }
    }
    return MTS_NONE;
}

/* number + number tanh(..): x of the argument. */
static uint32_t match_gate(mts_fold_work *work, const mts_node *node, float number)
{
    mts_fold_line outer, inner;
    if (!node || !mts_fold_is_line(work, node, MTS_FN_NONE, number, number, &outer)) {
        return MTS_NONE;
    }
    const mts_node *tanh = mts_fold_home(work, outer.x);
    return tanh && mts_fold_is_line(work, tanh, MTS_FN_TANH, 0.79788456f, 0.0f, &inner)
               ? match_argument(work, inner.x)
               : MTS_NONE;
}

/* The product of a gate and x, or if `whole`, of a half of one of them: x. */
static uint32_t match_product(mts_fold_work *work, const mts_node *node, bool whole)
{
    mts_fold_line half;
    for (uint32_t i = 0; is_binary(node, MTS_BIN_MUL) && i < 2; i++) {
        const mts_node *gate = mts_fold_producer(work, node, i),
                       *other = mts_fold_producer(work, node, 1 - i);
        const uint32_t x = match_gate(work, gate, 1.0f);
        const bool plain = mts_fold_input(work, node, 1 - i) == x;
        if (x != MTS_NONE &&
            (whole ? other && mts_fold_is_line(work, other, MTS_FN_NONE, 0.5f, 0.0f, &half) && half.x == x
                   : plain)) {
            return x;
        }
        const uint32_t halved = whole ? match_gate(work, gate, 0.5f) : MTS_NONE;
        if (halved != MTS_NONE && mts_fold_input(work, node, 1 - i) == halved) {
            return halved;
        }
    }
    return MTS_NONE;
}

bool mts_fold_gelu(mts_fold_work *work, mts_node *node)
{
    mts_fold_line outer;
    uint32_t x = match_product(work, node, true);
    if (x == MTS_NONE && mts_fold_is_line(work, node, MTS_FN_NONE, 0.5f, 0.0f, &outer)) {
        x = match_product(work, mts_fold_home(work, outer.x), false);
    }
    if (x == MTS_NONE) {
        return false;
    }
    mts_node merged = *node;
    merged.inputs = mts_arena_zero(work->graph->arena, 1, sizeof *merged.inputs);
    if (!merged.inputs) {
        work->failed = true;
        return false;
    }
    merged.inputs[0] = x;
    merged.op = MTS_OP_UNARY;
    merged.input_count = 1;
    merged.attrs = (mts_attrs){.unary = {.act = {.fn = MTS_FN_GELU_TANH}}};
    mts_fold_become(work, node, &merged);
    return true;
}
