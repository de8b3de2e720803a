/*
 * permute.c: moves the channels of weights and vectors into the common order (family.h);
 * what a graph computes stays the same, because producers and consumers of a value move
 * alike.
 */
#include "compiler/passes/family.h"

#include <string.h>

/* A constant seen as [outer][count][inner] elements, of which the middle dimension is put
 * into another order.
 */
typedef struct layout {
    size_t outer, count, inner;
} layout;

static const uint32_t *order_of(const mts_family *family, uint32_t task, uint32_t value)
{
    const uint32_t g = value == MTS_NONE ? MTS_NONE : family->channels[task].group_of[value];
    return g == MTS_NONE ? NULL : family->orders[task][g];
}

static bool move_const(mts_graph *graph, uint32_t value, uint32_t axis, const uint32_t *order)
{
    if (value == MTS_NONE || !order) {
        return true;
    }
    mts_value *constant = &graph->values[value];
    const mts_shape *shape = &constant->shape;
    layout l = {.outer = 1, .count = (size_t)shape->dims[axis], .inner = mts_type_size(constant->dtype)};
    for (uint32_t i = 0; i < shape->rank; i++) {
        l.outer *= i < axis ? (size_t)shape->dims[i] : 1;
        l.inner *= i > axis ? (size_t)shape->dims[i] : 1;
    }
    unsigned char *moved = mts_arena_zero(graph->arena, l.outer * l.count, l.inner);
    if (!moved) {
        return false;
    }
    const unsigned char *data = constant->blocks[0].data;
    for (size_t o = 0; o < l.outer; o++) {
        for (size_t c = 0; c < l.count; c++) {
            memcpy(moved + (o * l.count + c) * l.inner, data + (o * l.count + order[c]) * l.inner, l.inner);
        }
    }
    constant->blocks[0].data = moved;
    return true;
}

static uint32_t input_of(const mts_node *node, uint32_t index)
{
    return index < node->input_count ? node->inputs[index] : MTS_NONE;
}

static bool permute_conv(const mts_family *family, uint32_t task, const mts_node *node)
{
    mts_graph *graph = family->graphs[task];
    const uint32_t *out = order_of(family, task, node->output);
    const uint32_t *in = order_of(family, task, node->inputs[0]);
    const uint32_t weight = node->inputs[1];
    return move_const(graph, weight, 0, out) &&
           (node->attrs.conv.group != 1 || move_const(graph, weight, 1, in)) &&
           move_const(graph, input_of(node, 2), 0, out) && move_const(graph, input_of(node, 3), 0, out) &&
           move_const(graph, input_of(node, 5), 0, out);
}

static bool permute_node(const mts_family *family, uint32_t task, const mts_node *node)
{
    mts_graph *graph = family->graphs[task];
    const uint32_t *out = order_of(family, task, node->output);
    bool done = true;
    if (node->op == MTS_OP_CONV) {
        return permute_conv(family, task, node);
    }
    if (node->op == MTS_OP_SCALE) {
        for (uint32_t i = 1; i < node->input_count && done; i++) {
            done = move_const(graph, node->inputs[i], 0, out);
        }
    }
    if (node->op == MTS_OP_BINARY) {
        for (uint32_t i = 0; i < 2 && done; i++) {
            const uint32_t axis = mts_channels_axis(graph, node, i);
            if (graph->values[node->inputs[i]].kind == MTS_VALUE_CONST && axis != MTS_NONE) {
                done = move_const(graph, node->inputs[i], axis, out);
            }
        }
    }
    return done;
}

bool mts_family_permute_weights(mts_family *family)
{
    for (uint32_t t = 0; t < family->count; t++) {
        for (uint32_t n = 0; n < family->graphs[t]->node_count; n++) {
            if (!permute_node(family, t, &family->graphs[t]->nodes[n])) {
                return false;
            }
        }
    }
    return true;
}
