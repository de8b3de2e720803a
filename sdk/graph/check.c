/*
 * check.c: what a single node and a single constant must satisfy in the context of their
 * graph.
 *
 * Used when a node is appended (build.c) and when a whole graph is verified (verify.c).
 * Rules of an operator stand with its row (op.h).
 */
#include "graph/check.h"

#include "graph/op.h"

static mts_status check_input(const mts_graph *graph, const mts_node *node, uint32_t index, mts_error *error)
{
    const mts_value *value = &graph->values[node->inputs[index]];
    const mts_op_input wanted = mts_op_input_kind(node->op, index);
    if (wanted == MTS_OP_INPUT_DATA && value->kind == MTS_VALUE_CONST) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "input %u ('%s') may not be a constant", index,
                        value->name);
    }
    if (wanted != MTS_OP_INPUT_VALUE && wanted != MTS_OP_INPUT_DATA && value->kind != MTS_VALUE_CONST) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "input %u ('%s') must be a constant", index,
                        value->name);
    }
    if (value->kind != MTS_VALUE_CONST) {
        return MTS_STATUS_OK;
    }
    const bool weight = wanted == MTS_OP_INPUT_BLOCKS || wanted == MTS_OP_INPUT_WEIGHT;
    const bool fits =
        wanted == MTS_OP_INPUT_INDEX
            ? value->dtype == MTS_TYPE_INT32
            : value->dtype == MTS_TYPE_FLOAT32 ||
                  (weight && (value->dtype == MTS_TYPE_FLOAT16 || value->dtype == MTS_TYPE_INT8));
    if (!fits) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "input %u ('%s') may not be of type %s", index,
                        value->name, mts_type_name(value->dtype));
    }
    if (value->block_count != 1 && wanted != MTS_OP_INPUT_BLOCKS) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "input %u ('%s') may not consist of %u blocks", index,
                        value->name, value->block_count);
    }
    return MTS_STATUS_OK;
}

/* Whether a vector of the convolution has a row for each image. */
static bool has_rows(const mts_graph *graph, const mts_node *node)
{
    for (uint32_t i = 2; i < node->input_count; i++) {
        if (i != 4 && node->inputs[i] != MTS_NONE && graph->values[node->inputs[i]].shape.rank > 1) {
            return true;
        }
    }
    return false;
}

static mts_status check_scatter(const mts_graph *graph, const mts_node *node, int64_t channels,
                                mts_error *error)
{
    if (has_rows(graph, node)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "scatter together with a scale, bias or slope by image");
    }
    unsigned char *seen = mts_alloc_zero(graph->arena->allocator, (size_t)channels, 1);
    if (!seen) {
        return mts_fail_memory(error);
    }
    bool fits = node->op == MTS_OP_CONV && node->attrs.conv.group == 1;
    for (int64_t i = 0; fits && i < channels; i++) {
        uint32_t at = node->scatter[i];
        fits = at < channels && !seen[at];
        if (fits) {
            seen[at] = 1;
        }
    }
    mts_alloc_free(graph->arena->allocator, seen);
    return fits ? MTS_STATUS_OK
                : mts_fail(error, MTS_STATUS_MALFORMED,
                           "scatter is not a permutation of a conv's output channels");
}

static mts_status check_block(const mts_value *value, const mts_block_ref *block, uint32_t out, uint32_t in,
                              mts_error *error)
{
    bool fits = block->out_count > 0 && block->in_count > 0 && block->out_first < out &&
                block->in_first < in && block->out_count <= out - block->out_first &&
                block->in_count <= in - block->in_first;
    if (!fits || !block->data) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "constant '%s': a block %s", value->name,
                        fits ? "has no data" : "leaves the matrix");
    }
    return MTS_STATUS_OK;
}

static bool blocks_overlap(const mts_block_ref *a, const mts_block_ref *b)
{
    return a->out_first < b->out_first + b->out_count && b->out_first < a->out_first + a->out_count &&
           a->in_first < b->in_first + b->in_count && b->in_first < a->in_first + a->in_count;
}

mts_status mts_graph_check_blocks(const mts_value *value, mts_error *error)
{
    uint32_t out = 0, in = 0, inner = 0;
    mts_value_matrix(value, &out, &in, &inner);
    if (value->block_count == 0 || value->block_count > MTS_GRAPH_BLOCKS_MAX || !value->blocks) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "constant '%s' has %u blocks", value->name,
                        value->block_count);
    }
    uint64_t area = 0;
    for (uint32_t i = 0; i < value->block_count; i++) {
        const mts_block_ref *block = &value->blocks[i];
        mts_status status = check_block(value, block, out, in, error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        for (uint32_t j = 0; j < i; j++) {
            if (blocks_overlap(block, &value->blocks[j])) {
                return mts_fail(error, MTS_STATUS_MALFORMED, "constant '%s': blocks %u and %u overlap",
                                value->name, j, i);
            }
        }
        area += (uint64_t)block->out_count * block->in_count;
    }
    if (area != (uint64_t)out * in) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "constant '%s': its blocks leave a gap", value->name);
    }
    return MTS_STATUS_OK;
}

static mts_status infer_node(const mts_graph *graph, const mts_node *node, mts_shape *out, mts_error *error)
{
    const mts_shape *few[8] = {0};
    const mts_shape **shapes = few;
    if (node->input_count > 8) {
        shapes = mts_alloc_zero(graph->arena->allocator, node->input_count, sizeof(const mts_shape *));
        if (!shapes) {
            return mts_fail_memory(error);
        }
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t input = node->inputs[i];
        if (input != MTS_NONE && input >= graph->value_count) {
            status = mts_fail(error, MTS_STATUS_MALFORMED, "input %u refers to value %u of %u", i, input,
                              graph->value_count);
            break;
        }
        shapes[i] = input == MTS_NONE ? NULL : &graph->values[input].shape;
    }
    MTS_TRY(status, mts_node_infer(node->op, &node->attrs, shapes, node->input_count, out, error));
    if (shapes != few) {
        mts_alloc_free(graph->arena->allocator, shapes);
    }
    return status;
}

mts_status mts_graph_check_node(const mts_graph *graph, const mts_node *node, mts_shape *out,
                                mts_error *error)
{
    mts_status status = infer_node(graph, node, out, error);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < node->input_count; i++) {
        if (node->inputs[i] != MTS_NONE) {
            status = check_input(graph, node, i, error);
        }
    }
    const mts_op_row *row = mts_op_find(node->op);
    if (status == MTS_STATUS_OK && row->check) {
        status = row->check(graph, node, error);
    }
    if (status == MTS_STATUS_OK && node->scatter) {
        status = check_scatter(graph, node, out->dims[1], error);
    }
    return status;
}
