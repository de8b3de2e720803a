/*
 * fold_act.c: rules for element functions and sums: they become part of the convolution or product before them.
 */
#include "compiler/passes/fold_work.h"

#include <math.h>
#include <string.h>

/* x * sigmoid(x) and x * hard_sigmoid(x) are functions of x alone. */
static bool product_to_unary(mts_fold_work *work, mts_node *node)
{
    for (uint32_t i = 0; i < 2; i++) {
        mts_node *gate = mts_fold_producer(work, node, i);
        uint32_t x = mts_fold_input(work, node, 1 - i);
        if (!gate || gate->op != MTS_OP_UNARY || !mts_fold_single_use(work, gate) ||
            mts_fold_input(work, gate, 0) != x) {
            continue;
        }
        const mts_act *act = &gate->attrs.unary.act;
        uint32_t fn = act->fn == MTS_FN_SIGMOID ? MTS_FN_SILU
                      : act->fn == MTS_FN_HARD_SIGMOID && mts_fold_near(act->a, 1.0f / 6.0f) &&
                              mts_fold_near(act->b, 0.5f)
                          ? MTS_FN_HARD_SWISH
                          : MTS_FN_NONE;
        if (fn == MTS_FN_NONE) {
            continue;
        }
        mts_node merged = *gate;
        merged.name = node->name;
        merged.attrs = (mts_attrs){.unary = {.act = {.fn = fn}}};
        mts_fold_merge(work, node, &merged, gate);
        return true;
    }
    return false;
}

/* Whether a node only moves elements, so that element functions commute with it. */
static bool moves_elements(const mts_fold_work *work, const mts_node *node)
{
    return node->op == MTS_OP_RESHAPE ||
           (node->op == MTS_OP_DECONV &&
            mts_deconv_is_shuffle(node, mts_fold_value(work, mts_fold_input(work, node, 1))));
}

/* What computes the elements of a node's first operand; nothing else reads what lies between. */
static mts_node *computes(mts_fold_work *work, const mts_node *node)
{
    mts_node *producer = mts_fold_producer(work, node, 0);
    while (producer && moves_elements(work, producer) && mts_fold_single_use(work, producer)) {
        producer = mts_fold_producer(work, producer, 0);
    }
    return producer;
}

/* The node whose result an element function may join. */
static mts_node *owner_of(mts_fold_work *work, const mts_node *node)
{
    mts_node *producer = computes(work, node);
    return producer && !moves_elements(work, producer) && mts_fold_single_use(work, producer) &&
                   mts_fold_free_act(producer) && mts_op_applies(producer->op, node->attrs.unary.act.fn)
               ? producer
               : NULL;
}

/* Whether what an activation cuts off is cut off by the quantisation after it anyway. */
static bool is_spare(const mts_act *act, const mts_act *next)
{
    const float width = next->fn == MTS_FN_QUANT8 ? 255.0f : 65535.0f;
    const bool cuts = act->fn == MTS_FN_RELU || act->fn == MTS_FN_CLIP;
    const bool quantises = next->fn == MTS_FN_QUANT8 || next->fn == MTS_FN_QUANT16;
    const float low = act->fn == MTS_FN_CLIP ? act->a : 0.0f;
    const float high = act->fn == MTS_FN_CLIP ? act->b : INFINITY;
    return cuts && quantises && rintf(low / next->a) <= next->b && rintf(high / next->a) >= next->b + width;
}

/* An activation before a quantisation that makes it needless goes. */
static void drop_spare(mts_fold_work *work, const mts_node *node)
{
    mts_node *before = computes(work, node);
    mts_act *act = before ? (mts_act *)mts_node_act(before) : NULL;
    if (!act || !mts_fold_single_use(work, before) || !is_spare(act, &node->attrs.unary.act)) {
        return;
    }
    *act = (mts_act){.fn = MTS_FN_NONE};
    if (before->op == MTS_OP_UNARY) {
        mts_fold_replace(work, before, mts_fold_input(work, before, 0));
    }
}

/* The rounding that ends an operand, or NULL. */
static const mts_act *rounding_of(mts_fold_work *work, const mts_node *node, uint32_t index)
{
    const mts_node *producer = mts_fold_producer(work, node, index);
    const mts_act *act = producer ? mts_node_act(producer) : NULL;
    return act && (act->fn == MTS_FN_QUANT8 || act->fn == MTS_FN_QUANT16) ? act : NULL;
}

static bool same_act(const mts_act *a, const mts_act *b)
{
    return a->fn == b->fn && !(a->a < b->a || a->a > b->a) && !(a->b < b->b || a->b > b->b);
}

static bool join_function(mts_fold_work *work, mts_node *node)
{
    const mts_act *before = rounding_of(work, node, 0);
    /* all numbers are rounded so already */
    if (before && same_act(before, &node->attrs.unary.act)) {
        mts_fold_replace(work, node, mts_fold_input(work, node, 0));
        return true;
    }
    drop_spare(work, node);
    mts_node *owner = owner_of(work, node);
    if (!owner) {
        return false;
    }
    *mts_fold_free_act(owner) = node->attrs.unary.act;
    mts_fold_replace(work, node, mts_fold_input(work, node, 0));
    return true;
}

/* conv + other of the same shape: the sum moves into the convolution, which then stands where the sum stood.
 */
static bool take_residual(mts_fold_work *work, mts_node *node)
{
    const mts_shape *shape = &mts_fold_value(work, node->output)->shape;
    for (uint32_t i = 0; i < 2 && mts_op_applies(MTS_OP_CONV, node->attrs.binary.act.fn); i++) {
        mts_node *conv = mts_fold_producer(work, node, i);
        uint32_t other = mts_fold_input(work, node, 1 - i);
        bool fits = conv && conv->op == MTS_OP_CONV && mts_fold_single_use(work, conv) &&
                    mts_fold_free_act(conv) && mts_fold_input(work, conv, 4) == MTS_NONE && !conv->scatter &&
                    mts_fold_value(work, other)->kind != MTS_VALUE_CONST &&
                    mts_shape_equal(&mts_fold_value(work, other)->shape, shape) &&
                    mts_shape_equal(&mts_fold_value(work, conv->output)->shape, shape);
        if (!fits || !mts_fold_widen(work, conv, 5)) {
            continue;
        }
        mts_node merged = *conv;
        uint32_t *inputs = mts_arena_zero(work->graph->arena, merged.input_count, sizeof(*inputs));
        if (!inputs) {
            work->failed = true;
            return false;
        }
        memcpy(inputs, merged.inputs, merged.input_count * sizeof(*inputs));
        inputs[4] = other;
        merged.inputs = inputs;
        merged.attrs.conv.act = node->attrs.binary.act;
        mts_fold_merge(work, node, &merged, conv);
        return true;
    }
    return false;
}

bool mts_fold_summand(mts_fold_work *work, mts_node *node)
{
    const mts_shape *shape = &mts_fold_value(work, node->output)->shape;
    const bool sum = node->op == MTS_OP_BINARY && node->attrs.binary.kind == MTS_BIN_ADD &&
                     node->attrs.binary.act.fn == MTS_FN_NONE;
    for (uint32_t i = 0; sum && i < 2; i++) {
        mts_node *product = mts_fold_producer(work, node, i);
        const uint32_t other = mts_fold_input(work, node, 1 - i);
        if (!product || product->op != MTS_OP_MATMUL || !mts_fold_single_use(work, product) ||
            mts_fold_input(work, product, 2) != MTS_NONE ||
            mts_fold_value(work, other)->dtype != MTS_TYPE_FLOAT32 ||
            !mts_shape_equal(&mts_fold_value(work, product->output)->shape, shape)) {
            continue;
        }
        mts_node merged = *product;
        merged.inputs = mts_arena_zero(work->graph->arena, 3, sizeof *merged.inputs);
        if (!merged.inputs) {
            work->failed = true;
            return false;
        }
        memcpy(merged.inputs, product->inputs, 2 * sizeof *merged.inputs);
        merged.inputs[2] = other;
        merged.input_count = 3;
        merged.attrs.matmul.beta = 1.0f;
        mts_fold_merge(work, node, &merged, product);
        return true;
    }
    return false;
}

/* The larger or smaller of two numbers that were rounded alike is that of the numbers,
 * rounded: rounding keeps their order. */
static bool round_after(mts_fold_work *work, mts_node *node)
{
    const mts_act *acts[2] = {rounding_of(work, node, 0), rounding_of(work, node, 1)};
    if (!acts[0] || !acts[1] || !same_act(acts[0], acts[1])) {
        return false;
    }
    mts_node merged = *node;
    merged.attrs.binary.act = *acts[0];
    merged.inputs = mts_arena_zero(work->graph->arena, 2, sizeof *merged.inputs);
    if (!merged.inputs) {
        work->failed = true;
        return false;
    }
    bool any = false;
    for (uint32_t i = 0; i < 2; i++) {
        const mts_node *producer = mts_fold_producer(work, node, i);
        const bool spare = producer->op == MTS_OP_UNARY && mts_fold_single_use(work, producer);
        merged.inputs[i] = mts_fold_input(work, spare ? producer : node, spare ? 0 : i);
        any = any || spare;
    }
    if (any) {
        mts_fold_become(work, node, &merged);
    }
    return any;
}

bool mts_fold_activation(mts_fold_work *work, mts_node *node)
{
    if (node->op == MTS_OP_BINARY && node->attrs.binary.act.fn == MTS_FN_NONE &&
        (node->attrs.binary.kind == MTS_BIN_MAX || node->attrs.binary.kind == MTS_BIN_MIN)) {
        return round_after(work, node);
    }
    if (node->op == MTS_OP_BINARY && node->attrs.binary.act.fn == MTS_FN_NONE &&
        node->attrs.binary.kind == MTS_BIN_MUL) {
        return product_to_unary(work, node);
    }
    if (node->op == MTS_OP_BINARY && node->attrs.binary.kind == MTS_BIN_ADD) {
        return take_residual(work, node);
    }
    return node->op == MTS_OP_UNARY && join_function(work, node);
}
