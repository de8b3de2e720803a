/*
 * tokens_emit.c: the nodes that compute on transposed values, and how each becomes one.
 */
#include "compiler/passes/tokens_work.h"

#include <string.h>

typedef mts_status emit_function(mts_tokens_work *work, const mts_node *node, uint32_t *out);

static const mts_value *value_of(const mts_graph *graph, uint32_t value)
{
    return value == MTS_NONE ? NULL : &graph->values[value];
}

static const mts_value *operand(const mts_graph *graph, const mts_node *node, uint32_t index)
{
    return index < node->input_count ? value_of(graph, node->inputs[index]) : NULL;
}

static bool is_constant(const mts_value *value)
{
    return value && value->kind == MTS_VALUE_CONST;
}

static const mts_shape *result_shape(const mts_graph *graph, const mts_node *node)
{
    return &graph->values[node->output].shape;
}

/* ---- products ---- */

/* A constant matrix [K, O] of one block; other dimensions are 1. */
static bool is_matrix(const mts_value *value)
{
    return is_constant(value) && value->block_count == 1 && value->shape.rank >= 2 &&
           mts_tokens_matrix(&value->shape).images == 1 &&
           (value->dtype == MTS_TYPE_FLOAT32 || value->dtype == MTS_TYPE_FLOAT16 ||
            value->dtype == MTS_TYPE_INT8);
}

static bool is_product(const mts_graph *graph, const mts_node *node)
{
    const mts_value *x = operand(graph, node, 0), *added = operand(graph, node, 2);
    const float beta = node->attrs.matmul.beta;
    return node->op == MTS_OP_MATMUL && x && !is_constant(x) && is_matrix(operand(graph, node, 1)) &&
           graph->values[node->inputs[1]].shape.rank <= x->shape.rank &&
           (!added || (beta >= 1.0f && beta <= 1.0f &&
                       (is_constant(added) ? mts_tokens_constant_fits(added, result_shape(graph, node))
                                           : mts_shape_equal(&added->shape, result_shape(graph, node)))));
}

bool mts_tokens_connects(const mts_graph *graph, const mts_node *node)
{
    return is_product(graph, node) &&
           mts_tokens_matrix(result_shape(graph, node)).rows >= MTS_TOKENS_PIXELS_LEAST;
}

bool mts_tokens_connects_rows(const mts_graph *graph, const mts_node *node)
{
    return is_product(graph, node) &&
           mts_tokens_matrix(result_shape(graph, node)).rows < MTS_TOKENS_PIXELS_LEAST;
}

/* [K, O] as [O, K, 1, 1], of the same type. */
static mts_status add_weight(mts_tokens_work *work, const mts_value *matrix, uint32_t *out)
{
    const mts_token_matrix m = mts_tokens_matrix(&matrix->shape);
    const mts_shape shape = {.rank = 4, .dims = {m.channels, m.rows, 1, 1}};
    const size_t size = mts_type_size(matrix->dtype), inner = (size_t)m.rows, outer = (size_t)m.channels;
    char *copy = mts_arena_zero(work->arena, mts_shape_count(&shape), size);
    if (!copy) {
        return mts_tokens_short(work);
    }
    const char *data = matrix->blocks[0].data;
    for (size_t o = 0; o < outer; o++) {
        for (size_t k = 0; k < inner; k++) {
            memcpy(copy + (o * inner + k) * size, data + (k * outer + o) * size, size);
        }
    }
    *out = mts_graph_add_const(work->to, matrix->name, matrix->dtype, &shape, copy);
    return *out != MTS_NONE ? MTS_STATUS_OK : mts_tokens_short(work);
}

static mts_status add_conv(mts_tokens_work *work, const mts_node *node, uint32_t x, uint32_t *out)
{
    const mts_value *matrix = operand(work->from, node, 1);
    const float alpha = node->attrs.matmul.alpha;
    const mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    uint32_t inputs[3] = {x, MTS_NONE, MTS_NONE};
    mts_status status = add_weight(work, matrix, &inputs[1]);
    if (!(alpha >= 1.0f && alpha <= 1.0f)) {
        MTS_TRY(status,
                mts_tokens_filled(work, mts_tokens_matrix(&matrix->shape).channels, alpha, &inputs[2]));
    }
    MTS_TRY(status, mts_graph_add_node(work->to, MTS_OP_CONV, node->name, inputs,
                                       inputs[2] != MTS_NONE ? 3 : 2, &attrs, out, work->error));
    return status;
}

static mts_status transposed_operand(mts_tokens_work *work, const mts_node *node, uint32_t index,
                                     uint32_t *out)
{
    const uint32_t value = node->inputs[index];
    return is_constant(&work->from->values[value]) ? mts_tokens_transpose_constant(work, value, out)
                                                   : mts_tokens_transposed(work, value, out);
}

static mts_status add_sum(mts_tokens_work *work, const mts_node *node, uint32_t y, uint32_t other,
                          uint32_t *out)
{
    const mts_attrs attrs = {.binary = {.kind = MTS_BIN_ADD}};
    const uint32_t inputs[2] = {y, other};
    return mts_graph_add_node(work->to, MTS_OP_BINARY, node->name, inputs, 2, &attrs, out, work->error);
}

static mts_status emit_product(mts_tokens_work *work, const mts_node *node, uint32_t *out)
{
    uint32_t x = MTS_NONE, added = MTS_NONE;
    mts_status status = mts_tokens_transposed(work, node->inputs[0], &x);
    MTS_TRY(status, add_conv(work, node, x, out));
    if (status == MTS_STATUS_OK && operand(work->from, node, 2)) {
        status = transposed_operand(work, node, 2, &added);
        MTS_TRY(status, add_sum(work, node, *out, added, out));
    }
    return status;
}

mts_status mts_tokens_emit_connected(mts_tokens_work *work, const mts_node *node)
{
    const mts_token_matrix in = mts_tokens_matrix(&operand(work->from, node, 0)->shape);
    const mts_shape *shape = result_shape(work->from, node);
    const mts_attrs rows = {
        .reshape = {.shape = {.rank = 4, .dims = {in.images * in.rows, in.channels, 1, 1}}}};
    const mts_attrs back = {.reshape = {.shape = *shape}};
    uint32_t x = MTS_NONE, y = MTS_NONE, added = MTS_NONE;
    mts_status status = mts_tokens_plain(work, node->inputs[0], &x);
    MTS_TRY(status, mts_graph_add_node(work->to, MTS_OP_RESHAPE, NULL, &x, 1, &rows, &x, work->error));
    MTS_TRY(status, add_conv(work, node, x, &y));
    MTS_TRY(status, mts_graph_add_node(work->to, MTS_OP_RESHAPE, NULL, &y, 1, &back, &y, work->error));
    if (status == MTS_STATUS_OK && operand(work->from, node, 2)) {
        status = mts_tokens_plain(work, node->inputs[2], &added);
        MTS_TRY(status, add_sum(work, node, y, added, &y));
    }
    work->forms[node->output].plain = y;
    return status;
}

/* ---- element by element ---- */

static bool same_shape(const mts_graph *graph, const mts_node *node, const mts_value *x)
{
    return x && mts_shape_equal(&x->shape, result_shape(graph, node));
}

static bool elements_transposable(const mts_graph *graph, const mts_node *node)
{
    float number = 0.0f;
    bool transposable = same_shape(graph, node, operand(graph, node, 0));
    if (node->op == MTS_OP_UNARY) {
        return transposable;
    }
    if (node->op == MTS_OP_SCALE) {
        for (uint32_t i = 1; transposable && i < node->input_count; i++) {
            transposable = node->inputs[i] == MTS_NONE || mts_tokens_uniform(graph, node->inputs[i], &number);
        }
        return transposable;
    }
    transposable = true;
    for (uint32_t i = 0; transposable && i < 2; i++) {
        const mts_value *x = operand(graph, node, i);
        transposable = x && (is_constant(x) ? mts_tokens_constant_fits(x, result_shape(graph, node))
                                            : same_shape(graph, node, x));
    }
    return transposable;
}

static mts_status emit_elements(mts_tokens_work *work, const mts_node *node, uint32_t *out)
{
    const int64_t channels = mts_tokens_matrix(result_shape(work->from, node)).channels;
    uint32_t inputs[4] = {MTS_NONE, MTS_NONE, MTS_NONE, MTS_NONE};
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < node->input_count; i++) {
        float number = 0.0f;
        if (node->op == MTS_OP_SCALE && i > 0) {
            if (node->inputs[i] != MTS_NONE && mts_tokens_uniform(work->from, node->inputs[i], &number)) {
                status = mts_tokens_filled(work, channels, number, &inputs[i]);
            }
        } else {
            status = transposed_operand(work, node, i, &inputs[i]);
        }
    }
    MTS_TRY(status, mts_graph_add_node(work->to, node->op, node->name, inputs, node->input_count,
                                       &node->attrs, out, work->error));
    return status;
}

/* ---- along rows or channels ---- */

/* Dimension of a transposed value that a dimension of the plain one becomes; 0: none alone. */
static uint32_t transposed_axis(const mts_shape *shape, uint32_t axis)
{
    return axis + 1 == shape->rank ? 1 : axis + 2 == shape->rank ? 3 : 0;
}

static bool norm_transposable(const mts_graph *graph, const mts_node *node)
{
    const mts_shape *shape = result_shape(graph, node);
    bool transposable = node->attrs.norm.groups == 1 && node->attrs.norm.axes == 1u << (shape->rank - 1);
    for (uint32_t i = 1; transposable && i < node->input_count; i++) {
        transposable =
            node->inputs[i] == MTS_NONE || mts_tokens_constant_fits(operand(graph, node, i), shape);
    }
    return transposable;
}

static mts_status emit_norm(mts_tokens_work *work, const mts_node *node, uint32_t *out)
{
    mts_attrs attrs = node->attrs;
    uint32_t inputs[3] = {MTS_NONE, MTS_NONE, MTS_NONE};
    mts_status status = MTS_STATUS_OK;
    attrs.norm.axes = 2;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < node->input_count; i++) {
        status = node->inputs[i] != MTS_NONE ? transposed_operand(work, node, i, &inputs[i]) : status;
    }
    MTS_TRY(status, mts_graph_add_node(work->to, MTS_OP_NORM, node->name, inputs, node->input_count, &attrs,
                                       out, work->error));
    return status;
}

static bool softmax_transposable(const mts_graph *graph, const mts_node *node)
{
    return transposed_axis(result_shape(graph, node), node->attrs.softmax.axis) != 0;
}

static mts_status emit_softmax(mts_tokens_work *work, const mts_node *node, uint32_t *out)
{
    mts_attrs attrs = node->attrs;
    uint32_t x = MTS_NONE;
    mts_status status = mts_tokens_transposed(work, node->inputs[0], &x);
    attrs.softmax.axis = transposed_axis(result_shape(work->from, node), attrs.softmax.axis);
    MTS_TRY(status,
            mts_graph_add_node(work->to, MTS_OP_SOFTMAX, node->name, &x, 1, &attrs, out, work->error));
    return status;
}

/* Leading dimensions stay whole. */
static bool slice_transposable(const mts_graph *graph, const mts_node *node)
{
    const mts_shape *in = &operand(graph, node, 0)->shape;
    const mts_attrs_slice *slice = &node->attrs.slice;
    for (uint32_t i = 0; i + 2 < in->rank; i++) {
        if (slice->start[i] != 0 || slice->step[i] != 1 || slice->size[i] != in->dims[i]) {
            return false;
        }
    }
    return true;
}

static mts_status emit_slice(mts_tokens_work *work, const mts_node *node, uint32_t *out)
{
    const mts_shape *shape = result_shape(work->from, node);
    const mts_attrs_slice *slice = &node->attrs.slice;
    const uint32_t channels = shape->rank - 1, rows = shape->rank - 2;
    const mts_attrs attrs = {
        .slice = {.start = {0, slice->start[channels], 0, slice->start[rows]},
                  .step = {1, slice->step[channels], 1, slice->step[rows]},
                  .size = {mts_tokens_matrix(shape).images, slice->size[channels], 1, slice->size[rows]}}};
    uint32_t x = MTS_NONE;
    mts_status status = mts_tokens_transposed(work, node->inputs[0], &x);
    MTS_TRY(status, mts_graph_add_node(work->to, MTS_OP_SLICE, node->name, &x, 1, &attrs, out, work->error));
    return status;
}

static bool concat_transposable(const mts_graph *graph, const mts_node *node)
{
    const mts_shape *shape = result_shape(graph, node);
    bool transposable = transposed_axis(shape, node->attrs.concat.axis) != 0;
    for (uint32_t i = 0; transposable && i < node->input_count; i++) {
        const mts_value *x = operand(graph, node, i);
        transposable = !is_constant(x) || (x->dtype == MTS_TYPE_FLOAT32 && x->block_count == 1);
    }
    return transposable;
}

static mts_status emit_concat(mts_tokens_work *work, const mts_node *node, uint32_t *out)
{
    const mts_attrs attrs = {
        .concat = {.axis = transposed_axis(result_shape(work->from, node), node->attrs.concat.axis)}};
    uint32_t *inputs = mts_arena_zero(work->arena, node->input_count, sizeof *inputs);
    mts_status status = inputs ? MTS_STATUS_OK : mts_tokens_short(work);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < node->input_count; i++) {
        status = transposed_operand(work, node, i, &inputs[i]);
    }
    MTS_TRY(status, mts_graph_add_node(work->to, MTS_OP_CONCAT, node->name, inputs, node->input_count, &attrs,
                                       out, work->error));
    return status;
}

/* Another shape of the same images, rows and channels. */
static bool reshape_transposable(const mts_graph *graph, const mts_node *node)
{
    const mts_shape *in = &operand(graph, node, 0)->shape, *out = result_shape(graph, node);
    if (in->rank < 2) {
        return false;
    }
    const mts_token_matrix a = mts_tokens_matrix(in), b = mts_tokens_matrix(out);
    return a.images == b.images && a.rows == b.rows && a.channels == b.channels;
}

static mts_status emit_reshape(mts_tokens_work *work, const mts_node *node, uint32_t *out)
{
    return mts_tokens_transposed(work, node->inputs[0], out);
}

/* ---- all of them ---- */

typedef struct layout_rule {
    bool (*transposable)(const mts_graph *graph, const mts_node *node);
    emit_function *emit;
} layout_rule;

static layout_rule layout_rule_of(mts_op op)
{
    switch (op) {
    case MTS_OP_UNARY:
    case MTS_OP_SCALE:
    case MTS_OP_BINARY:
        return (layout_rule){elements_transposable, emit_elements};
    case MTS_OP_NORM:
        return (layout_rule){norm_transposable, emit_norm};
    case MTS_OP_SOFTMAX:
        return (layout_rule){softmax_transposable, emit_softmax};
    case MTS_OP_SLICE:
        return (layout_rule){slice_transposable, emit_slice};
    case MTS_OP_CONCAT:
        return (layout_rule){concat_transposable, emit_concat};
    case MTS_OP_RESHAPE:
        return (layout_rule){reshape_transposable, emit_reshape};
    default:
        return (layout_rule){NULL, NULL};
    }
}

bool mts_tokens_transposable(const mts_graph *graph, const mts_node *node)
{
    const layout_rule row = layout_rule_of(node->op);
    return row.transposable && result_shape(graph, node)->rank >= 2 && row.transposable(graph, node);
}

mts_status mts_tokens_emit_transposed(mts_tokens_work *work, const mts_node *node)
{
    uint32_t made = MTS_NONE;
    const mts_status status = mts_tokens_connects(work->from, node)
                                  ? emit_product(work, node, &made)
                                  : layout_rule_of(node->op).emit(work, node, &made);
    work->forms[node->output].transposed = made;
    return status;
}
