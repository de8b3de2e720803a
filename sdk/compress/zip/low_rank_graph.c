/*
 * low_rank_graph.c: see low_rank.h.
 */
#include <stdio.h>
#include <string.h>

#include "compiler/passes/clone.h"
#include "compress/zip/low_rank.h"

#define CELLS_MOST ((uint64_t)1 << 26) /* numbers of a weight; float64 copies of larger ones are too large */
#define INPUTS 5u                      /* x, weight, scale, bias, residual */
#define NAME_ROOM 288u

bool mts_low_rank_takes(const mts_graph *graph, const mts_node *node, const uint32_t *uses)
{
    if (node->op != MTS_OP_CONV || node->attrs.conv.group != 1 || node->scatter) {
        return false;
    }
    const mts_value *weight = &graph->values[node->inputs[1]];
    return weight->kind == MTS_VALUE_CONST && weight->dtype == MTS_TYPE_FLOAT32 && weight->block_count == 1 &&
           uses[node->inputs[1]] == 1 && (uint64_t)mts_shape_count(&weight->shape) <= CELLS_MOST;
}

static uint32_t input_of(const mts_node *node, uint32_t index)
{
    return index < node->input_count ? node->inputs[index] : MTS_NONE;
}

static mts_status add_product(mts_graph *graph, const mts_node *like, const char *part,
                              const mts_shape *shape, const float *weight, const uint32_t *rest,
                              const mts_attrs *attrs, uint32_t *value, mts_error *error)
{
    char name[NAME_ROOM];
    (void)snprintf(name, sizeof name, "%.255s/low_rank_%s", mts_node_title(graph, like), part);
    /* `rest`: x, then scale, bias and residual */
    const uint32_t inputs[INPUTS] = {rest[0],
                                     mts_graph_add_const(graph, NULL, MTS_TYPE_FLOAT32, shape, weight),
                                     rest[1], rest[2], rest[3]};
    uint32_t count = INPUTS;
    while (count > 2 && inputs[count - 1] == MTS_NONE) {
        count--;
    }
    return inputs[1] == MTS_NONE
               ? mts_fail_memory(error)
               : mts_graph_add_node(graph, MTS_OP_CONV, name, inputs, count, attrs, value, error);
}

/* Room for the residual among the inputs of a node. */
static bool set_residual(mts_graph *graph, mts_node *node, uint32_t value)
{
    if (node->input_count < INPUTS) {
        uint32_t *inputs = mts_arena_zero(graph->arena, INPUTS, sizeof *inputs);
        if (!inputs) {
            return false;
        }
        for (uint32_t i = 0; i < INPUTS; i++) {
            inputs[i] = input_of(node, i);
        }
        node->inputs = inputs;
        node->input_count = INPUTS;
    }
    node->inputs[4] = value;
    return true;
}

/* The scale of a convolution applies to its products alone, so left x needs it too; what
   was added to W x before is added to left x now. */
static mts_status add_factors(mts_graph *graph, const mts_low_rank_layer *layer, mts_error *error)
{
    const mts_node node = graph->nodes[layer->node];
    const mts_shape whole = graph->values[node.inputs[1]].shape;
    mts_shape shape = whole;
    mts_attrs attrs = node.attrs;
    uint32_t inner = MTS_NONE, outer = MTS_NONE;
    attrs.conv.act = (mts_act){.fn = MTS_FN_NONE};
    shape.dims[0] = layer->rank;
    const uint32_t first[4] = {node.inputs[0], MTS_NONE, MTS_NONE, MTS_NONE};
    mts_status status =
        add_product(graph, &node, "right", &shape, layer->right, first, &attrs, &inner, error);
    shape = (mts_shape){.rank = 4, .dims = {whole.dims[0], layer->rank, 1, 1}};
    attrs.conv = (mts_attrs_conv){
        .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1, .act = {.fn = MTS_FN_NONE}};
    const uint32_t second[4] = {inner, input_of(&node, 2), MTS_NONE, input_of(&node, 4)};
    MTS_TRY(status, add_product(graph, &node, "left", &shape, layer->left, second, &attrs, &outer, error));
    if (status == MTS_STATUS_OK && !set_residual(graph, &graph->nodes[layer->node], outer)) {
        status = mts_fail_memory(error);
    }
    return status;
}

/* Moves the added nodes, two a layer at the end, in front of the nodes that read them. */
static bool sort_nodes(mts_graph *graph, uint32_t old_count, const mts_low_rank_layer *layers, uint32_t count)
{
    mts_node *sorted = mts_arena_zero(graph->arena, graph->node_count, sizeof *sorted);
    uint32_t next = 0, added = old_count, layer = 0;
    for (uint32_t n = 0; sorted && n < old_count; n++) {
        if (layer < count && layers[layer].node == n) {
            for (uint32_t i = 0; i < (layers[layer].rank ? 2u : 0u); i++) {
                sorted[next++] = graph->nodes[added++];
            }
            layer++;
        }
        sorted[next++] = graph->nodes[n];
    }
    for (uint32_t n = 0; sorted && n < graph->node_count; n++) {
        graph->values[sorted[n].output].producer = n;
    }
    graph->nodes = sorted;
    graph->node_capacity = graph->node_count;
    return sorted;
}

mts_status mts_low_rank_graph(const mts_graph *graph, const mts_low_rank_layer *layers, uint32_t count,
                              mts_arena *arena, mts_graph **out, mts_error *error)
{
    mts_graph *clone = mts_graph_clone(graph, arena);
    mts_status status = clone ? MTS_STATUS_OK : mts_fail_memory(error);
    for (uint32_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        clone->values[clone->nodes[layers[i].node].inputs[1]].blocks[0].data = layers[i].weight;
        if (layers[i].rank) {
            status = add_factors(clone, &layers[i], error);
        }
    }
    if (status == MTS_STATUS_OK && !sort_nodes(clone, graph->node_count, layers, count)) {
        status = mts_fail_memory(error);
    }
    MTS_TRY(status, mts_graph_verify(clone, error));
    *out = status == MTS_STATUS_OK ? clone : NULL;
    return status;
}
