/*
 * cost.c: multiply-adds of a node and readers of values.
 */
#include "graph/graph.h"

#include <string.h>

static uint64_t count_of(const mts_graph *graph, uint32_t value)
{
    return (uint64_t)mts_shape_count(&graph->values[value].shape);
}

/* Products of one result: the weight without its output (conv) or input (deconv) channels. */
static uint64_t window_of(const mts_graph *graph, uint32_t weight)
{
    const mts_shape *shape = &graph->values[weight].shape;
    return (uint64_t)(shape->dims[1] * shape->dims[2] * shape->dims[3]);
}

void mts_graph_count_uses(const mts_graph *graph, uint32_t *counts)
{
    memset(counts, 0, graph->value_count * sizeof(*counts));
    for (uint32_t i = 0; i < graph->node_count; i++) {
        for (uint32_t j = 0; j < graph->nodes[i].input_count; j++) {
            if (graph->nodes[i].inputs[j] != MTS_NONE) {
                counts[graph->nodes[i].inputs[j]]++;
            }
        }
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        counts[graph->outputs[i].value]++;
    }
}

uint64_t mts_node_mul_adds(const mts_graph *graph, const mts_node *node)
{
    static const uint64_t taps[] = {
        [MTS_RESIZE_NEAREST] = 0, [MTS_RESIZE_LINEAR] = 4, [MTS_RESIZE_CUBIC] = 16};
    uint64_t in = count_of(graph, node->inputs[0]), out = count_of(graph, node->output);
    const mts_shape *x = &graph->values[node->inputs[0]].shape;
    switch (node->op) {
    case MTS_OP_CONV:
        return out * window_of(graph, node->inputs[1]);
    case MTS_OP_DECONV:
        return in * window_of(graph, node->inputs[1]);
    case MTS_OP_MATMUL:
        return out * (uint64_t)x->dims[x->rank - 1];
    case MTS_OP_POOL:
        return out * node->attrs.pool.kernel[0] * node->attrs.pool.kernel[1];
    case MTS_OP_LRN:
        return out * node->attrs.lrn.size;
    case MTS_OP_RESIZE:
        return out * taps[node->attrs.resize.mode];
    case MTS_OP_REDUCE:
    case MTS_OP_SOFTMAX:
        return in;
    case MTS_OP_SCALE:
    case MTS_OP_UNARY:
    case MTS_OP_BINARY:
        return out;
    default:
        return 0;
    }
}
