/*
 * net.c: the parameters of a net: read from the graph's constants, copied, counted in
 * versions.
 *
 * Writing them back is store.c's; running is run.c's.
 */
#include <stdint.h>
#include <string.h>

#include "base/size.h"
#include "compress/net/inside.h"
#include "kernels/abi/kinds.h"

#define ELEMENTS_MOST ((size_t)1 << 31) /* of a value, as in every graph that was verified */

/* ---- reading constants ---- */

static void read_vector(const mts_graph *graph, const mts_node *node, uint32_t operand, uint32_t count,
                        float absent, float *out)
{
    const mts_value *value = mts_net_constant(graph, node, operand);
    for (uint32_t i = 0; i < count && !value; i++) {
        out[i] = absent;
    }
    if (value) {
        mts_value_read_f32(value, out);
    }
}

/* A filter of the graph, [inputs][rows * columns], becomes [rows * columns][inputs]. */
static void read_conv_weight(const mts_node *node, const mts_net_layer *layer, const float *rows)
{
    const size_t taps = (size_t)layer->rows * layer->columns, filter = taps * layer->inputs;
    for (uint32_t r = 0; r < layer->outputs; r++) {
        const float *from = rows + r * filter;
        float *to = layer->weight + (node->scatter ? node->scatter[r] : r) * filter;
        for (uint32_t c = 0; c < layer->inputs; c++) {
            for (size_t k = 0; k < taps; k++) {
                to[k * layer->inputs + c] = from[c * taps + k];
            }
        }
    }
}

static bool read_layer(const mts_net *net, const mts_node *node, const mts_net_layer *layer)
{
    const mts_graph *graph = net->graph;
    if (node->op == MTS_OP_CONV) {
        float *rows = mts_alloc_zero(net->allocator, mts_net_weights(graph, node), sizeof *rows);
        if (!rows) {
            return false;
        }
        mts_value_read_f32(&graph->values[node->inputs[1]], rows);
        read_conv_weight(node, layer, rows);
        mts_alloc_free(net->allocator, rows);
        read_vector(graph, node, 2, layer->outputs, 1.0f, layer->scale);
        read_vector(graph, node, 3, layer->outputs, 0.0f, layer->bias);
        if (layer->slope) {
            read_vector(graph, node, 5, layer->outputs, 0.0f, layer->slope);
        }
    } else if (node->op == MTS_OP_SCALE) {
        read_vector(graph, node, 1, layer->outputs, 1.0f, layer->scale);
        read_vector(graph, node, 2, layer->outputs, 0.0f, layer->bias);
        if (layer->slope) {
            read_vector(graph, node, 3, layer->outputs, 0.0f, layer->slope);
        }
    } else if (layer->weight) {
        const uint32_t operand = node->op == MTS_OP_MATMUL ? mts_net_matmul_weight(graph, node) : 1;
        mts_value_read_f32(&graph->values[node->inputs[operand]], layer->weight);
        if (layer->bias) {
            read_vector(graph, node, 2, layer->outputs, 0.0f, layer->bias);
        }
    }
    return true;
}

/* Whether an operand is read as a value, not as a parameter of the layer. */
static bool is_operand(const mts_graph *graph, const mts_node *node, uint32_t index)
{
    if (node->op == MTS_OP_MATMUL) {
        return index != mts_net_matmul_weight(graph, node) && index != mts_net_matmul_bias(graph, node);
    }
    return node->op == MTS_OP_BINARY || node->op == MTS_OP_CONCAT || node->op == MTS_OP_EXPAND ||
           node->op == MTS_OP_NORM || node->op == MTS_OP_TAKE || node->op == MTS_OP_ATTENTION;
}

static bool read_constants(mts_net *net, const mts_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const mts_value *value = mts_net_constant(net->graph, node, i);
        if (!value || !is_operand(net->graph, node, i) || net->constants[node->inputs[i]]) {
            continue;
        }
        float *data = mts_net_floats(&net->arena, mts_shape_count(&value->shape));
        if (!data) {
            return false;
        }
        mts_value_read_f32(value, data);
        net->constants[node->inputs[i]] = data;
    }
    return true;
}

static mts_status check_value(const mts_value *value, mts_error *error)
{
    char text[96];
    const size_t count = mts_shape_count(&value->shape); /* 0 too where it cannot be counted */
    for (uint32_t i = 0; i < value->shape.rank && i < MTS_TENSOR_RANK_MAX; i++) {
        if (value->shape.dims[i] <= 0) {
            return mts_fail(error, MTS_STATUS_MALFORMED, "value '%s' of shape %s has no elements",
                            value->name, mts_shape_text(&value->shape, text, sizeof text));
        }
    }
    return count > 0 && count < ELEMENTS_MOST
               ? MTS_STATUS_OK
               : mts_fail(error, MTS_STATUS_LIMIT, "value '%s' of shape %s has too many elements",
                          value->name, mts_shape_text(&value->shape, text, sizeof text));
}

/* Operators of positions are for what follows a network; they have no gradient. */
static bool has_step(const mts_node *node)
{
    switch (node->op) {
    case MTS_OP_SCAN:
    case MTS_OP_ORDER:
    case MTS_OP_SAMPLE:
    case MTS_OP_RECUR:
        return false;
    case MTS_OP_REDUCE:
        return node->attrs.reduce.kind <= MTS_REDUCE_MIN ||
               (node->attrs.reduce.kind >= MTS_REDUCE_L1 && node->attrs.reduce.kind <= MTS_REDUCE_LOG_SUM);
    default:
        return mts_net_ops[node->op].forward;
    }
}

/* Why a node cannot be run, or NULL. */
static const char *node_defect(const mts_graph *graph, const mts_node *node)
{
    if ((unsigned)node->op >= MTS_OP_COUNT) {
        return "not an operator";
    }
    if (!has_step(node)) {
        return "an operator that can be neither calibrated nor trained";
    }
    if (node->op == MTS_OP_NORM && node->attrs.norm.groups > 1 &&
        graph->values[node->output].shape.rank == MTS_TENSOR_RANK_MAX) {
        return "groups of channels of six dimensions cannot be calibrated";
    }
    for (uint32_t i = 2; node->op == MTS_OP_CONV && i < node->input_count; i++) {
        const mts_shape *shape = node->inputs[i] == MTS_NONE ? NULL : &graph->values[node->inputs[i]].shape;
        if (i != 4 && shape && shape->rank == 2 && shape->dims[0] > 1) {
            return "a scale, bias or slope with a row for each image cannot be calibrated";
        }
    }
    return NULL;
}

static mts_status check_graph(const mts_graph *graph, mts_error *error)
{
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const mts_status status = check_value(&graph->values[i], error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const char *defect = node_defect(graph, &graph->nodes[i]);
        if (defect) {
            return mts_fail(error, MTS_STATUS_UNSUPPORTED, "node '%s' (%s): %s",
                            mts_node_title(graph, &graph->nodes[i]), mts_op_name(graph->nodes[i].op), defect);
        }
    }
    return MTS_STATUS_OK;
}

static bool fill_net(mts_net *net)
{
    const mts_graph *graph = net->graph;
    net->layers = mts_arena_zero(&net->arena, graph->node_count, sizeof *net->layers);
    net->versions = mts_arena_zero(&net->arena, graph->node_count, sizeof *net->versions);
    net->constants = mts_arena_zero(&net->arena, graph->value_count, sizeof *net->constants);
    bool good = net->layers && net->versions && net->constants;
    for (uint32_t i = 0; i < graph->node_count && good; i++) {
        const mts_node *node = &graph->nodes[i];
        good = mts_net_layer_make(graph, node, &net->arena, &net->layers[i]) &&
               read_layer(net, node, &net->layers[i]) && read_constants(net, node);
        net->versions[i] = 1;
    }
    return good;
}

mts_status mts_net_create(const mts_graph *graph, const mts_allocator *allocator, mts_net **out,
                          mts_error *error)
{
    *out = NULL;
    const mts_status status = check_graph(graph, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_net *net = mts_alloc_zero(allocator, 1, sizeof *net);
    if (net) {
        net->graph = graph;
        net->allocator = allocator;
        mts_arena_init(&net->arena, allocator);
    }
    if (!net || !fill_net(net)) {
        mts_net_destroy(&net);
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the parameters of '%s'",
                        graph->name);
    }
    *out = net;
    return MTS_STATUS_OK;
}

void mts_net_destroy(mts_net **net)
{
    if (net && *net) {
        const mts_allocator *allocator = (*net)->allocator;
        mts_arena_release(&(*net)->arena);
        mts_alloc_free(allocator, *net);
        *net = NULL;
    }
}

const mts_graph *mts_net_graph(const mts_net *net)
{
    return net->graph;
}

mts_net_layer mts_net_layer_of(const mts_net *net, uint32_t node)
{
    return net->layers[node];
}

void mts_net_touch(mts_net *net, uint32_t node)
{
    net->versions[node]++;
}

static void copy_floats(float *to, const float *from, size_t count)
{
    if (to && from && count) {
        memcpy(to, from, count * sizeof *to);
    }
}

void mts_net_copy(mts_net *net, const mts_net *from)
{
    for (uint32_t i = 0; i < net->graph->node_count; i++) {
        const mts_net_layer *a = &net->layers[i], *b = &from->layers[i];
        copy_floats(a->weight, b->weight, mts_net_weights(net->graph, &net->graph->nodes[i]));
        copy_floats(a->scale, b->scale, a->outputs);
        copy_floats(a->bias, b->bias, a->outputs);
        copy_floats(a->slope, b->slope, a->outputs);
        net->versions[i]++;
    }
}
