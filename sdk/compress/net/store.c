/*
 * store.c: writes the parameters of a net into a graph as constants, one block each,
 * filters in the order of their channels. What was float16 is again, where its numbers
 * can be.
 */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "compress/net/inside.h"

typedef struct store {
    const mts_net *net;
    mts_graph *graph;
    uint32_t *uses; /* [value] readers that still read it */
    uint32_t known; /* values that `uses` covers */
} store;

#define HALF_MOST 65504.0f /* the largest float16 */

static bool fits_half(const float *data, size_t count)
{
    bool fits = true;
    for (size_t i = 0; i < count && fits; i++) {
        fits = fabsf(data[i]) <= HALF_MOST;
    }
    return fits;
}

/* The bytes of a constant that takes the place of `value` (or MTS_NONE), and their type;
   NULL if memory is short. */
static const void *encode(const store *s, uint32_t value, const mts_shape *shape, const float *data,
                          mts_type *dtype)
{
    const size_t count = mts_shape_count(shape);
    *dtype = MTS_TYPE_FLOAT32;
    if (value == MTS_NONE || s->graph->values[value].dtype != MTS_TYPE_FLOAT16 || !fits_half(data, count)) {
        return data;
    }
    uint16_t *half = mts_arena_zero(s->graph->arena, count, sizeof *half);
    if (half) {
        *dtype = MTS_TYPE_FLOAT16;
        mts_half_array_from_float(data, half, count);
    }
    return half;
}

/* Operand `index` of a node gets these bytes; a constant that others read too stays, a
   new one takes its place. */
static bool put(store *s, uint32_t node_index, uint32_t index, const mts_shape *shape, const float *data)
{
    mts_node *node = &s->graph->nodes[node_index];
    const uint32_t value = node->inputs[index];
    mts_type dtype = MTS_TYPE_FLOAT32;
    const void *bytes = encode(s, value, shape, data, &dtype);
    if (!bytes) {
        return false;
    }
    if (value != MTS_NONE && value < s->known && s->uses[value] > 1) {
        s->uses[value]--;
        node->inputs[index] = mts_graph_add_const(s->graph, NULL, dtype, shape, bytes);
        return node->inputs[index] != MTS_NONE;
    }
    if (value == MTS_NONE) {
        const uint32_t added = mts_graph_add_const(s->graph, NULL, dtype, shape, bytes);
        node->inputs[index] = added;
        return added != MTS_NONE;
    }
    mts_value *constant = &s->graph->values[value];
    mts_block_ref *block = mts_arena_zero(s->graph->arena, 1, sizeof *block);
    if (!block) {
        return false;
    }
    uint32_t inner = 0;
    constant->dtype = dtype;
    block->block = MTS_NONE;
    block->data = bytes;
    mts_value_matrix(constant, &block->out_count, &block->in_count, &inner);
    constant->blocks = block;
    constant->block_count = 1;
    return true;
}

/* `absent` is what the graph means without the operand. */
static bool put_vector(store *s, uint32_t node_index, uint32_t index, const float *data, uint32_t count,
                       float absent)
{
    const uint32_t value = mts_node_input(&s->graph->nodes[node_index], index);
    bool same = true;
    for (uint32_t i = 0; i < count && same; i++) {
        same = data[i] == absent;
    }
    if (value == MTS_NONE && same) {
        return true;
    }
    const mts_shape plain = mts_shape_make(1, (const int64_t[]){count});
    const mts_shape shape = value == MTS_NONE ? plain : s->graph->values[value].shape;
    float *copy = mts_arena_zero(s->graph->arena, count, sizeof *copy);
    if (!copy) {
        return false;
    }
    memcpy(copy, data, count * sizeof *copy);
    return put(s, node_index, index, &shape, copy);
}

static bool widen(mts_graph *graph, mts_node *node, uint32_t count)
{
    if (node->input_count >= count) {
        return true;
    }
    uint32_t *inputs = mts_arena_zero(graph->arena, count, sizeof *inputs);
    if (!inputs) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        inputs[i] = mts_node_input(node, i);
    }
    node->inputs = inputs;
    node->input_count = count;
    return true;
}

static bool put_conv_weight(store *s, uint32_t node_index, const mts_net_layer *layer)
{
    const size_t taps = (size_t)layer->rows * layer->columns, filter = taps * layer->inputs;
    float *data = mts_arena_zero(s->graph->arena, filter * layer->outputs, sizeof *data);
    if (!data) {
        return false;
    }
    for (uint32_t r = 0; r < layer->outputs; r++) {
        for (uint32_t c = 0; c < layer->inputs; c++) {
            for (size_t k = 0; k < taps; k++) {
                data[r * filter + c * taps + k] = layer->weight[r * filter + k * layer->inputs + c];
            }
        }
    }
    const mts_shape shape = s->graph->values[s->graph->nodes[node_index].inputs[1]].shape;
    return put(s, node_index, 1, &shape, data);
}

static bool store_conv(store *s, uint32_t node_index, const mts_net_layer *layer)
{
    mts_node *node = &s->graph->nodes[node_index];
    if (!widen(s->graph, node, 4) || !put_conv_weight(s, node_index, layer) ||
        !put_vector(s, node_index, 2, layer->scale, layer->outputs, 1.0f) ||
        !put_vector(s, node_index, 3, layer->bias, layer->outputs, 0.0f)) {
        return false;
    }
    node->scatter = NULL;
    return !layer->slope || put_vector(s, node_index, 5, layer->slope, layer->outputs, 0.0f);
}

static bool store_plain(store *s, uint32_t node_index, const mts_net_layer *layer)
{
    const mts_node *node = &s->graph->nodes[node_index];
    const uint32_t operand = node->op == MTS_OP_MATMUL ? mts_net_matmul_weight(s->graph, node) : 1;
    const mts_shape shape = s->graph->values[node->inputs[operand]].shape;
    const size_t count = mts_shape_count(&shape);
    float *data = mts_arena_zero(s->graph->arena, count, sizeof *data);
    if (!data) {
        return false;
    }
    memcpy(data, layer->weight, count * sizeof *data);
    return put(s, node_index, operand, &shape, data) &&
           (!layer->bias || put_vector(s, node_index, 2, layer->bias, layer->outputs, 0.0f));
}

static bool store_node(store *s, uint32_t index)
{
    const mts_net_layer *layer = &s->net->layers[index];
    switch (s->graph->nodes[index].op) {
    case MTS_OP_CONV:
        return store_conv(s, index, layer);
    case MTS_OP_SCALE:
        return put_vector(s, index, 1, layer->scale, layer->outputs, 1.0f) &&
               put_vector(s, index, 2, layer->bias, layer->outputs, 0.0f) &&
               (!layer->slope || put_vector(s, index, 3, layer->slope, layer->outputs, 0.0f));
    default:
        return !layer->weight || store_plain(s, index, layer);
    }
}

bool mts_net_store(const mts_net *net, const bool *nodes, mts_graph *graph)
{
    store s = {.net = net, .graph = graph, .known = graph->value_count};
    s.uses = mts_alloc_zero(net->allocator, graph->value_count, sizeof *s.uses);
    if (!s.uses) {
        return false;
    }
    mts_graph_count_uses(graph, s.uses);
    bool good = true;
    for (uint32_t i = 0; i < net->graph->node_count && good; i++) {
        good = (nodes && !nodes[i]) || store_node(&s, i);
    }
    mts_alloc_free(net->allocator, s.uses);
    return good;
}
