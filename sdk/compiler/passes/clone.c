/*
 * clone.c: see clone.h.
 */
#include "compiler/passes/clone.h"

#include <string.h>

static void *copy(mts_arena *arena, const void *array, size_t count, size_t size)
{
    void *made = mts_arena_zero(arena, count, size);
    if (made && count) {
        memcpy(made, array, count * size);
    }
    return made;
}

static bool clone_values(mts_graph *clone, const mts_graph *graph)
{
    clone->values = copy(clone->arena, graph->values, graph->value_count, sizeof(*graph->values));
    for (uint32_t i = 0; clone->values && i < graph->value_count; i++) {
        mts_value *value = &clone->values[i];
        if (value->block_count == 0) {
            continue;
        }
        value->blocks = copy(clone->arena, value->blocks, value->block_count, sizeof(*value->blocks));
        if (!value->blocks) {
            return false;
        }
    }
    return clone->values;
}

static bool clone_nodes(mts_graph *clone, const mts_graph *graph)
{
    clone->nodes = copy(clone->arena, graph->nodes, graph->node_count, sizeof(*graph->nodes));
    for (uint32_t i = 0; clone->nodes && i < graph->node_count; i++) {
        mts_node *node = &clone->nodes[i];
        node->inputs = copy(clone->arena, node->inputs, node->input_count, sizeof(*node->inputs));
        if (!node->inputs) {
            return false;
        }
        if (node->scatter) {
            const int64_t rows = graph->values[node->inputs[1]].shape.dims[0];
            node->scatter = copy(clone->arena, node->scatter, (size_t)rows, sizeof(*node->scatter));
            if (!node->scatter) {
                return false;
            }
        }
    }
    return clone->nodes;
}

mts_graph *mts_graph_clone(const mts_graph *graph, mts_arena *arena)
{
    mts_graph *clone = copy(arena, graph, 1, sizeof(*graph));
    if (!clone) {
        return NULL;
    }
    clone->arena = arena;
    clone->names = NULL;
    clone->value_capacity = graph->value_count;
    clone->node_capacity = graph->node_count;
    clone->input_capacity = clone->output_capacity = 0;
    clone->inputs = copy(arena, graph->inputs, graph->input_count, sizeof(*graph->inputs));
    clone->outputs = copy(arena, graph->outputs, graph->output_count, sizeof(*graph->outputs));
    const bool done =
        clone->inputs && clone->outputs && clone_values(clone, graph) && clone_nodes(clone, graph);
    return done ? clone : NULL;
}
