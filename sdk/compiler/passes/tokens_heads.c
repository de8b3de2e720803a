/*
 * tokens_heads.c: products of heads with constant matrices, one for each head, become a
 * convolution with a group for each head.
 *
 * XLNet's scores by distance are such: (q + v) r, where r comes from constants only.
 */
#include "compiler/passes/tokens_work.h"

#include <math.h>

bool mts_tokens_multiplies_heads(const mts_graph *graph, const mts_node *node, mts_tokens_heads *heads)
{
    if (node->op != MTS_OP_MATMUL || node->input_count > 2) {
        return false;
    }
    const mts_value *matrix = &graph->values[node->inputs[1]];
    const mts_shape *shape = &matrix->shape, *out = &graph->values[node->output].shape;
    *heads = (mts_tokens_heads){.matrix = node->inputs[1], .scale = node->attrs.matmul.alpha};
    if (matrix->kind != MTS_VALUE_CONST || matrix->dtype != MTS_TYPE_FLOAT32 || matrix->block_count != 1 ||
        shape->rank < 3 || graph->values[node->inputs[0]].kind == MTS_VALUE_CONST ||
        mts_tokens_matrix(out).rows < MTS_TOKENS_PIXELS_LEAST ||
        !mts_tokens_find_operand(graph, node->inputs[0], false, &heads->x, &heads->scale)) {
        return false;
    }
    const mts_token_matrix m = mts_tokens_matrix(shape), source = mts_tokens_source_matrix(graph, &heads->x);
    return isfinite(heads->scale) && m.images == shape->dims[shape->rank - 3] && m.images == heads->x.heads &&
           m.rows == heads->x.depth && mts_tokens_matrix(out).images == source.images * m.images;
}

/* [heads, depth, columns] as [heads columns, depth, 1, 1]. */
static mts_status add_weight(mts_tokens_work *work, const mts_value *matrix, uint32_t *out)
{
    const mts_token_matrix m = mts_tokens_matrix(&matrix->shape);
    const mts_shape shape = {.rank = 4, .dims = {m.images * m.channels, m.rows, 1, 1}};
    const size_t depth = (size_t)m.rows, columns = (size_t)m.channels;
    float *copy = mts_arena_zero(work->arena, mts_shape_count(&shape), sizeof *copy);
    if (!copy) {
        return mts_tokens_short(work);
    }
    for (size_t row = 0; row < (size_t)m.images * columns; row++) {
        const size_t head = row / columns, column = row % columns;
        for (size_t d = 0; d < depth; d++) {
            mts_value_read_run(matrix, matrix->blocks[0].data, (head * depth + d) * columns + column, 1,
                               copy + row * depth + d);
        }
    }
    *out = mts_graph_add_const(work->to, matrix->name, MTS_TYPE_FLOAT32, &shape, copy);
    return *out != MTS_NONE ? MTS_STATUS_OK : mts_tokens_short(work);
}

mts_status mts_tokens_emit_heads(mts_tokens_work *work, const mts_node *node, const mts_tokens_heads *heads)
{
    const mts_value *matrix = &work->from->values[heads->matrix];
    const mts_token_matrix m = mts_tokens_matrix(&matrix->shape);
    const mts_attrs attrs = {
        .conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = (uint32_t)m.images}};
    const mts_attrs back = {
        .reshape = {.shape = mts_tokens_transposed_shape(&work->from->values[node->output].shape)}};
    uint32_t inputs[3] = {MTS_NONE, MTS_NONE, MTS_NONE}, made = MTS_NONE;
    mts_status status = mts_tokens_emit_operand(work, &heads->x, &inputs[0]);
    MTS_TRY(status, add_weight(work, matrix, &inputs[1]));
    if (!(heads->scale >= 1.0f && heads->scale <= 1.0f)) {
        MTS_TRY(status, mts_tokens_filled(work, m.images * m.channels, heads->scale, &inputs[2]));
    }
    MTS_TRY(status, mts_graph_add_node(work->to, MTS_OP_CONV, node->name, inputs,
                                       inputs[2] != MTS_NONE ? 3 : 2, &attrs, &made, work->error));
    MTS_TRY(status, mts_graph_add_node(work->to, MTS_OP_RESHAPE, NULL, &made, 1, &back, &made, work->error));
    work->forms[node->output].transposed = made;
    return status;
}
