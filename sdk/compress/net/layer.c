/*
 * layer.c: what a node of a net has: which parameters of which sizes, and memory for
 * them.
 *
 * Not responsible for their numbers, which net.c reads and training changes.
 */
#include <stdint.h>

#include "base/size.h"
#include "compress/net/inside.h"
#include "kernels/abi/kinds.h"

#define ALIGNMENT ((uintptr_t)64)

size_t mts_net_elements(const mts_graph *graph, uint32_t value)
{
    return mts_shape_count(&graph->values[value].shape);
}

float *mts_net_floats(mts_arena *arena, size_t count)
{
    size_t room = 0;
    if (!mts_size_add(count, ALIGNMENT / sizeof(float), &room)) {
        return NULL;
    }
    float *memory = mts_arena_zero(arena, room, sizeof *memory);
    const uintptr_t over = (uintptr_t)memory % ALIGNMENT;
    return memory && over ? memory + (ALIGNMENT - over) / sizeof *memory : memory;
}

const mts_value *mts_net_constant(const mts_graph *graph, const mts_node *node, uint32_t index)
{
    const uint32_t value = mts_node_input(node, index);
    return value != MTS_NONE && graph->values[value].kind == MTS_VALUE_CONST ? &graph->values[value] : NULL;
}

uint32_t mts_net_matmul_weight(const mts_graph *graph, const mts_node *node)
{
    return mts_net_constant(graph, node, 1) ? 1 : mts_net_constant(graph, node, 0) ? 0 : MTS_NONE;
}

uint32_t mts_net_matmul_bias(const mts_graph *graph, const mts_node *node)
{
    const mts_value *bias = mts_net_constant(graph, node, 2);
    const mts_shape *out = &graph->values[node->output].shape;
    const bool fits = bias && bias->shape.rank > 0 &&
                      bias->shape.dims[bias->shape.rank - 1] == out->dims[out->rank - 1] &&
                      (int64_t)mts_shape_count(&bias->shape) == out->dims[out->rank - 1];
    return fits && mts_net_matmul_weight(graph, node) != MTS_NONE ? 2 : MTS_NONE;
}

size_t mts_net_weights(const mts_graph *graph, const mts_node *node)
{
    switch (node->op) {
    case MTS_OP_CONV:
    case MTS_OP_DECONV:
        return mts_net_elements(graph, node->inputs[1]);
    case MTS_OP_MATMUL: {
        const uint32_t operand = mts_net_matmul_weight(graph, node);
        return operand == MTS_NONE ? 0 : mts_net_elements(graph, node->inputs[operand]);
    }
    default:
        return 0;
    }
}

/* ---- what a node has: sizes, and which vectors ---- */

typedef struct parts {
    mts_net_layer sizes; /* without arrays */
    bool scale, bias, slope;
} parts;

static parts describe_conv(const mts_graph *graph, const mts_node *node)
{
    const int64_t *w = graph->values[node->inputs[1]].shape.dims;
    return (parts){.sizes = {.outputs = (uint32_t)w[0],
                             .inputs = (uint32_t)w[1],
                             .rows = (uint32_t)w[2],
                             .columns = (uint32_t)w[3]},
                   .scale = true,
                   .bias = true,
                   .slope = node->attrs.conv.act.fn == MTS_FN_PRELU};
}

static parts describe_deconv(const mts_graph *graph, const mts_node *node)
{
    const int64_t *w = graph->values[node->inputs[1]].shape.dims;
    const uint32_t group = node->attrs.conv.group;
    return (parts){.sizes = {.outputs = (uint32_t)w[1] * group,
                             .inputs = (uint32_t)w[0] / group,
                             .rows = (uint32_t)w[2],
                             .columns = (uint32_t)w[3]},
                   .bias = mts_node_input(node, 2) != MTS_NONE};
}

static parts describe_matmul(const mts_graph *graph, const mts_node *node)
{
    if (mts_net_matmul_weight(graph, node) == MTS_NONE) {
        return (parts){.bias = false};
    }
    const mts_shape *b = &graph->values[node->inputs[1]].shape;
    return (parts){.sizes = {.outputs = (uint32_t)b->dims[b->rank - 1],
                             .inputs = (uint32_t)b->dims[b->rank - 2],
                             .rows = 1,
                             .columns = 1},
                   .bias = mts_net_matmul_bias(graph, node) != MTS_NONE};
}

static parts describe_scale(const mts_graph *graph, const mts_node *node)
{
    return (parts){.sizes = {.outputs = (uint32_t)graph->values[node->output].shape.dims[1]},
                   .scale = true,
                   .bias = true,
                   .slope = node->attrs.unary.act.fn == MTS_FN_PRELU};
}

static parts describe(const mts_graph *graph, const mts_node *node)
{
    static parts (*const known[MTS_OP_COUNT])(const mts_graph *,
                                              const mts_node *) = {[MTS_OP_CONV] = describe_conv,
                                                                   [MTS_OP_DECONV] = describe_deconv,
                                                                   [MTS_OP_MATMUL] = describe_matmul,
                                                                   [MTS_OP_SCALE] = describe_scale};
    return known[node->op] ? known[node->op](graph, node) : (parts){.bias = false};
}

static bool make_part(mts_arena *arena, bool wanted, size_t count, float **out)
{
    *out = wanted ? mts_net_floats(arena, count) : NULL;
    return *out || !wanted;
}

bool mts_net_layer_make(const mts_graph *graph, const mts_node *node, mts_arena *arena, mts_net_layer *out)
{
    const size_t weights = mts_net_weights(graph, node);
    const parts p = describe(graph, node);
    *out = p.sizes;
    return make_part(arena, weights > 0, weights, &out->weight) &&
           make_part(arena, p.scale, out->outputs, &out->scale) &&
           make_part(arena, p.bias, out->outputs, &out->bias) &&
           make_part(arena, p.slope, out->outputs, &out->slope);
}
