/*
 * tokens_attention.c: products, a softmax and products again become the operator
 * ATTENTION.
 *
 *     p = softmax(scale q k + mask);  y = p v
 *
 * Operands and the result are heads of transposed values (tokens_view.c). What is added to
 * the scores, before or after factors, is the mask: positions of XLNet, and masks proper.
 */
#include "compiler/passes/tokens_work.h"

#include <math.h>

#define STEPS_MOST 8u /* between the softmax and the product of q and k */

/* The operand of a RESHAPE that leaves the last two dimensions as they are; MTS_NONE: it is none. */
static uint32_t regrouped(const mts_graph *graph, const mts_node *node)
{
    if (!node || node->op != MTS_OP_RESHAPE) {
        return MTS_NONE;
    }
    const mts_shape *in = &graph->values[node->inputs[0]].shape, *out = &graph->values[node->output].shape;
    return in->rank >= 2 && out->rank >= 2 && in->dims[in->rank - 1] == out->dims[out->rank - 1] &&
                   in->dims[in->rank - 2] == out->dims[out->rank - 2]
               ? node->inputs[0]
               : MTS_NONE;
}

static bool is_sum(const mts_node *node)
{
    return node->op == MTS_OP_BINARY && node->attrs.binary.act.fn == MTS_FN_NONE &&
           (node->attrs.binary.kind == MTS_BIN_ADD || node->attrs.binary.kind == MTS_BIN_SUB);
}

/* Whether sums, factors and reshapes lead from a value up to a product of two run-time values. */
static bool leads_to_product(const mts_graph *graph, uint32_t value, uint32_t steps)
{
    float factor = 1.0f;
    uint32_t x = MTS_NONE;
    const mts_node *node = mts_tokens_producer(graph, value);
    if (!node || steps == 0) {
        return false;
    }
    if (node->op == MTS_OP_MATMUL) {
        return graph->values[node->inputs[1]].kind != MTS_VALUE_CONST;
    }
    x = regrouped(graph, node);
    if (x != MTS_NONE || mts_tokens_is_factor(graph, node, &x, &factor)) {
        return leads_to_product(graph, x, steps - 1);
    }
    return is_sum(node) && (leads_to_product(graph, node->inputs[0], steps - 1) ||
                            leads_to_product(graph, node->inputs[1], steps - 1));
}

static bool add_mask(const mts_graph *graph, mts_tokens_attention *a, uint32_t value, uint32_t to,
                     float factor)
{
    float number = 1.0f;
    if (mts_tokens_uniform(graph, value, &number) && number >= 0.0f && number <= 0.0f) {
        return true;
    }
    if (a->mask_count == MTS_TOKENS_MASKS) {
        return false;
    }
    a->masks[a->mask_count++] = (mts_tokens_mask){value, to, factor};
    return true;
}

/* Which operand of a sum the scores are in; the other one becomes a mask. MTS_NONE: none. */
static uint32_t scores_of_sum(const mts_graph *graph, const mts_node *sum, float factor,
                              mts_tokens_attention *a)
{
    const bool subtracts = sum->attrs.binary.kind == MTS_BIN_SUB;
    for (uint32_t i = 0; i < (subtracts ? 1u : 2u); i++) {
        if (leads_to_product(graph, sum->inputs[i], STEPS_MOST) &&
            mts_shape_equal(&graph->values[sum->inputs[i]].shape, &graph->values[sum->output].shape)) {
            return add_mask(graph, a, sum->inputs[1 - i], sum->output, subtracts ? -factor : factor)
                       ? sum->inputs[i]
                       : MTS_NONE;
        }
    }
    return MTS_NONE;
}

/* From the softmax up to the product of q and k. */
static const mts_node *find_scores(const mts_graph *graph, uint32_t value, mts_tokens_attention *a)
{
    float factor = 1.0f;
    for (uint32_t steps = 0; steps < STEPS_MOST && value != MTS_NONE; steps++) {
        const mts_node *node = mts_tokens_producer(graph, value);
        float own = 1.0f;
        if (!node) {
            return NULL;
        }
        if (node->op == MTS_OP_MATMUL) {
            const uint32_t added = node->input_count > 2 ? node->inputs[2] : MTS_NONE;
            const float beta = node->attrs.matmul.beta;
            a->scale *= factor * node->attrs.matmul.alpha;
            const bool fits =
                added == MTS_NONE || beta == 0.0f || add_mask(graph, a, added, node->output, factor * beta);
            return fits ? node : NULL;
        }
        const uint32_t x = regrouped(graph, node);
        if (x != MTS_NONE) {
            value = x;
        } else if (mts_tokens_is_factor(graph, node, &value, &own)) {
            factor *= own;
        } else {
            value = is_sum(node) ? scores_of_sum(graph, node, factor, a) : MTS_NONE;
        }
    }
    return NULL;
}

static bool is_one(float number)
{
    return number >= 1.0f && number <= 1.0f;
}

/* Run-time values first, as a node cannot begin with constants. */
static void sort_masks(const mts_graph *graph, mts_tokens_attention *a)
{
    for (uint32_t i = 1; i < a->mask_count; i++) {
        if (graph->values[a->masks[0].value].kind == MTS_VALUE_CONST) {
            const mts_tokens_mask first = a->masks[0];
            a->masks[0] = a->masks[i];
            a->masks[i] = first;
        }
    }
}

static int64_t dim_from_end(const mts_shape *shape, uint32_t i)
{
    return i < shape->rank ? shape->dims[shape->rank - 1 - i] : 1;
}

/* Whether a mask means the same beside `scores` as beside what it is added to: that is grouped in the same
   way, or all groups have the same mask. */
static bool groups_agree(const mts_shape *mask, const mts_shape *to, const mts_shape *scores)
{
    bool same = true, one = true;
    for (uint32_t i = 2; i < MTS_TENSOR_RANK_MAX; i++) {
        same = same && dim_from_end(to, i) == dim_from_end(scores, i);
        one = one && dim_from_end(mask, i) == 1;
    }
    return same || one;
}

static bool masks_fit(const mts_graph *graph, mts_tokens_attention *a, int64_t images)
{
    const mts_shape scores = {.rank = 4,
                              .dims = {images, a->of[0].heads,
                                       mts_tokens_source_matrix(graph, &a->of[0]).rows,
                                       mts_tokens_source_matrix(graph, &a->of[1]).rows}};
    bool fit = true;
    sort_masks(graph, a);
    for (uint32_t i = 0; fit && i < a->mask_count; i++) {
        const mts_value *mask = &graph->values[a->masks[i].value];
        const bool constant = mask->kind == MTS_VALUE_CONST;
        mts_shape both;
        fit = isfinite(a->masks[i].factor) && mask->dtype == MTS_TYPE_FLOAT32 &&
              (!constant || mask->block_count == 1) &&
              (!constant || i > 0 || (a->mask_count == 1 && is_one(a->masks[0].factor))) &&
              groups_agree(&mask->shape, &graph->values[a->masks[i].to].shape, &scores) &&
              mts_shape_broadcast(&mask->shape, &scores, &both) && mts_shape_equal(&both, &scores);
    }
    return fit;
}

/* The softmax whose result a product multiplies by v. */
static const mts_node *softmax_of(const mts_graph *graph, const mts_node *product)
{
    const mts_node *node = mts_tokens_producer(graph, product->inputs[0]);
    for (uint32_t x = regrouped(graph, node); x != MTS_NONE; x = regrouped(graph, node)) {
        node = mts_tokens_producer(graph, x);
    }
    return node && node->op == MTS_OP_SOFTMAX && !node->attrs.softmax.log &&
                   node->attrs.softmax.axis + 1 == graph->values[node->output].shape.rank
               ? node
               : NULL;
}

bool mts_tokens_attends(const mts_graph *graph, const mts_node *node, mts_tokens_attention *a)
{
    if (node->op != MTS_OP_MATMUL || node->input_count > 2 || !is_one(node->attrs.matmul.alpha)) {
        return false;
    }
    *a = (mts_tokens_attention){.scale = 1.0f};
    const mts_node *softmax = softmax_of(graph, node);
    const mts_node *scores = softmax ? find_scores(graph, softmax->inputs[0], a) : NULL;
    float one = 1.0f;
    if (!scores || !mts_tokens_find_operand(graph, scores->inputs[0], false, &a->of[0], &a->scale) ||
        !mts_tokens_find_operand(graph, scores->inputs[1], true, &a->of[1], &a->scale) ||
        !mts_tokens_find_operand(graph, node->inputs[1], false, &a->of[2], &one)) {
        return false;
    }
    const int64_t images = mts_tokens_source_matrix(graph, &a->of[0]).images;
    for (uint32_t i = 1; i < 3; i++) {
        const mts_token_matrix m = mts_tokens_source_matrix(graph, &a->of[i]);
        if (m.images != images || a->of[i].heads != a->of[0].heads) {
            return false;
        }
    }
    /* weights that are grouped in another way may meet every v */
    const int64_t groups = mts_tokens_matrix(&graph->values[node->output].shape).images;
    return isfinite(a->scale) && is_one(one) && a->of[0].depth == a->of[1].depth &&
           groups == images * a->of[0].heads && masks_fit(graph, a, images);
}

/* ---- building ---- */

static mts_status emit_sum(mts_tokens_work *work, uint32_t kind, uint32_t a, uint32_t b, uint32_t *out)
{
    const mts_attrs attrs = {.binary = {.kind = kind}};
    const uint32_t inputs[2] = {a, b};
    return mts_graph_add_node(work->to, MTS_OP_BINARY, NULL, inputs, 2, &attrs, out, work->error);
}

/* A constant, multiplied here. */
static mts_status scale_constant(mts_tokens_work *work, const mts_value *from, float factor, uint32_t *out)
{
    const size_t count = mts_shape_count(&from->shape);
    float *copy = mts_arena_zero(work->arena, count, sizeof *copy);
    if (!copy) {
        return mts_tokens_short(work);
    }
    mts_value_read_run(from, from->blocks[0].data, 0, count, copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] *= factor;
    }
    *out = mts_graph_add_const(work->to, from->name, MTS_TYPE_FLOAT32, &from->shape, copy);
    return *out != MTS_NONE ? MTS_STATUS_OK : mts_tokens_short(work);
}

static mts_status emit_mask(mts_tokens_work *work, const mts_tokens_mask *mask, float factor, uint32_t *out)
{
    const mts_value *value = &work->from->values[mask->value];
    uint32_t number = MTS_NONE;
    if (value->kind == MTS_VALUE_CONST && !is_one(factor)) {
        return scale_constant(work, value, factor, out);
    }
    mts_status status = mts_tokens_plain(work, mask->value, out);
    if (status == MTS_STATUS_OK && !is_one(factor)) {
        status = mts_tokens_filled(work, 1, factor, &number);
        MTS_TRY(status, emit_sum(work, MTS_BIN_MUL, *out, number, out));
    }
    return status;
}

/* The sum of what is added to the scores. */
static mts_status emit_masks(mts_tokens_work *work, const mts_tokens_attention *a, uint32_t *out)
{
    mts_status status = emit_mask(work, &a->masks[0], a->masks[0].factor, out);
    for (uint32_t i = 1; status == MTS_STATUS_OK && i < a->mask_count; i++) {
        const float factor = a->masks[i].factor;
        uint32_t next = MTS_NONE;
        status = emit_mask(work, &a->masks[i], factor < 0.0f ? -factor : factor, &next);
        MTS_TRY(status, emit_sum(work, factor < 0.0f ? MTS_BIN_SUB : MTS_BIN_ADD, *out, next, out));
    }
    return status;
}

mts_status mts_tokens_emit_attention(mts_tokens_work *work, const mts_node *node,
                                     const mts_tokens_attention *a)
{
    const mts_attrs attrs = {.attention = {.heads = (uint32_t)a->of[0].heads, .scale = a->scale}};
    uint32_t inputs[4] = {MTS_NONE, MTS_NONE, MTS_NONE, MTS_NONE}, made = MTS_NONE;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < 3; i++) {
        MTS_TRY(status, mts_tokens_emit_operand(work, &a->of[i], &inputs[i]));
    }
    if (status == MTS_STATUS_OK && a->mask_count > 0) {
        status = emit_masks(work, a, &inputs[3]);
    }
    MTS_TRY(status, mts_graph_add_node(work->to, MTS_OP_ATTENTION, node->name, inputs,
                                       a->mask_count > 0 ? 4 : 3, &attrs, &made, work->error));
    const mts_attrs back = {
        .reshape = {.shape = mts_tokens_transposed_shape(&work->from->values[node->output].shape)}};
    MTS_TRY(status, mts_graph_add_node(work->to, MTS_OP_RESHAPE, NULL, &made, 1, &back, &made, work->error));
    work->forms[node->output].transposed = made;
    return status;
}
