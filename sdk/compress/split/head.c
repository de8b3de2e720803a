/*
 * head.c: see head.h.
 */
#include "compress/split/head.h"

#include <stdio.h>
#include <string.h>

#define NAME_ROOM 64u

/* ---- finding ---- */

static const char *title(const mts_task *task, const mts_node *node)
{
    return mts_node_title(task->graph, node);
}

/* What may stand behind the scores of a classifier without changing which is the
   largest. */
static bool keeps_order(const mts_node *node)
{
    return node->op == MTS_OP_RESHAPE || node->op == MTS_OP_SOFTMAX ||
           (node->op == MTS_OP_UNARY && node->attrs.unary.act.fn == MTS_FN_SIGMOID);
}

static bool fully_connected(const mts_graph *graph, const mts_node *node)
{
    const mts_attrs_conv *conv = &node->attrs.conv;
    const mts_shape *x = &graph->values[node->inputs[0]].shape;
    const mts_shape *y = &graph->values[node->output].shape;
    const bool feature_map = x->rank == 4 && y->rank == 4;
    const bool point = feature_map && x->dims[2] * x->dims[3] == 1 && y->dims[2] * y->dims[3] == 1;
    return point && conv->group == 1 && conv->kernel[0] == 1 && conv->kernel[1] == 1 &&
           graph->values[node->inputs[0]].kind == MTS_VALUE_NODE;
}

mts_status mts_head_find(const mts_task *task, mts_head *out, mts_error *error)
{
    const mts_graph *graph = task->graph;
    if (graph->output_count != 1) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "task '%s' is no classifier: it has %u outputs, not one with a score a class",
                        task->name, graph->output_count);
    }
    uint32_t value = graph->outputs[0].value;
    while (graph->values[value].kind == MTS_VALUE_NODE &&
           keeps_order(&graph->nodes[graph->values[value].producer])) {
        value = graph->nodes[graph->values[value].producer].inputs[0];
    }
    if (graph->values[value].kind != MTS_VALUE_NODE) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "task '%s' is no classifier: it computes nothing",
                        task->name);
    }
    const uint32_t index = graph->values[value].producer;
    const mts_node *node = &graph->nodes[index];
    if (node->op != MTS_OP_CONV || !fully_connected(graph, node) || node->attrs.conv.act.fn != MTS_FN_NONE ||
        (node->input_count > 4 && node->inputs[4] != MTS_NONE)) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "task '%s' is no classifier: it ends in node '%s' (%s), not in a fully connected "
                        "layer with a score a class",
                        task->name, title(task, node), mts_op_name(node->op));
    }
    const mts_shape *y = &graph->values[value].shape;
    if (y->dims[0] != 1 || y->dims[1] < 2) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "task '%s' is no classifier: node '%s' gives %lld scores for %lld images", task->name,
                        title(task, node), (long long)y->dims[1], (long long)y->dims[0]);
    }
    *out = (mts_head){.node = index,
                      .features = (uint32_t)graph->values[node->inputs[0]].shape.dims[1],
                      .input = node->inputs[0],
                      .output = value,
                      .classes = (uint32_t)y->dims[1]};
    return MTS_STATUS_OK;
}

/* ---- building ---- */

/* A graph being copied up to a value. */
typedef struct copy {
    const mts_graph *from;
    mts_graph *to;
    uint32_t *values; /* of `from` -> of `to`, MTS_NONE: not yet */
    uint32_t *nodes;  /* likewise */
    bool *needed;     /* nodes of `from` */
    mts_error *error;
} copy;

static mts_status memory_short(mts_error *error)
{
    return mts_fail_memory(error);
}

void mts_head_mark(const mts_graph *graph, uint32_t value, bool *needed)
{
    if (graph->values[value].kind == MTS_VALUE_NODE) {
        needed[graph->values[value].producer] = true;
    }
    for (uint32_t n = graph->node_count; n-- > 0;) {
        const mts_node *node = &graph->nodes[n];
        for (uint32_t i = 0; needed[n] && i < node->input_count; i++) {
            if (node->inputs[i] != MTS_NONE && graph->values[node->inputs[i]].kind == MTS_VALUE_NODE) {
                needed[graph->values[node->inputs[i]].producer] = true;
            }
        }
    }
}

static mts_status copy_inputs(copy *c)
{
    for (uint32_t i = 0; i < c->from->input_count; i++) {
        const mts_port *port = &c->from->inputs[i];
        c->values[port->value] = mts_graph_add_input(c->to, port->name, port->dtype, &port->shape);
        if (c->values[port->value] == MTS_NONE) {
            return memory_short(c->error);
        }
    }
    return MTS_STATUS_OK;
}

/* The copy of an operand; constants are copied when they are first read. */
static bool copy_operand(copy *c, uint32_t value, uint32_t *out)
{
    *out = MTS_NONE;
    if (value == MTS_NONE) {
        return true;
    }
    const mts_value *v = &c->from->values[value];
    if (c->values[value] == MTS_NONE && v->kind == MTS_VALUE_CONST) {
        c->values[value] = mts_graph_add_const(c->to, v->name, v->dtype, &v->shape, v->blocks[0].data);
    }
    *out = c->values[value];
    return *out != MTS_NONE;
}

static mts_status copy_node(copy *c, uint32_t index)
{
    const mts_node *node = &c->from->nodes[index];
    uint32_t *inputs = mts_arena_zero(c->to->arena, node->input_count, sizeof *inputs);
    bool complete = inputs;
    for (uint32_t i = 0; complete && i < node->input_count; i++) {
        complete = copy_operand(c, node->inputs[i], &inputs[i]);
    }
    if (!complete) {
        return memory_short(c->error);
    }
    c->nodes[index] = c->to->node_count;
    uint32_t value = MTS_NONE;
    const mts_status status = mts_graph_add_node(c->to, node->op, node->name, inputs, node->input_count,
                                                 &node->attrs, &value, c->error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    c->values[node->output] = value;
    return mts_graph_name_value(c->to, value, c->from->values[node->output].name) ? MTS_STATUS_OK
                                                                                  : memory_short(c->error);
}

static uint32_t add_array(mts_graph *graph, const char *name, const mts_shape *shape, const float *data)
{
    const size_t count = mts_shape_count(shape);
    float *kept = mts_arena_zero(graph->arena, count, sizeof *kept);
    if (!kept) {
        return MTS_NONE;
    }
    memcpy(kept, data, count * sizeof *kept);
    return mts_graph_add_const(graph, name, MTS_TYPE_FLOAT32, shape, kept);
}

/* value [1,inputs,1,1] -> [1,outputs,1,1]. */
static mts_status add_product(mts_graph *graph, const mts_head_layer *layer, const char *prefix,
                              uint32_t number, uint32_t *value, mts_error *error)
{
    char names[3][NAME_ROOM];
    (void)snprintf(names[0], NAME_ROOM, "%s.head%u", prefix, number);
    (void)snprintf(names[1], NAME_ROOM, "%s.head%u.weight", prefix, number);
    (void)snprintf(names[2], NAME_ROOM, "%s.head%u.bias", prefix, number);
    const mts_shape matrix = mts_shape_make(4, (int64_t[]){layer->outputs, layer->inputs, 1, 1});
    const mts_shape vector = mts_shape_make(1, (int64_t[]){layer->outputs});
    const uint32_t weight = add_array(graph, names[1], &matrix, layer->weight);
    const uint32_t bias = layer->bias ? add_array(graph, names[2], &vector, layer->bias) : MTS_NONE;
    if (weight == MTS_NONE || (layer->bias && bias == MTS_NONE)) {
        return memory_short(error);
    }
    const uint32_t inputs[4] = {*value, weight, MTS_NONE, bias};
    const mts_attrs conv = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    return mts_graph_add_node(graph, MTS_OP_CONV, names[0], inputs, layer->bias ? 4 : 2, &conv, value, error);
}

static mts_status add_layer(mts_graph *graph, const mts_head_layer *layer, const char *prefix,
                            uint32_t number, uint32_t *value, mts_error *error)
{
    char name[NAME_ROOM];
    mts_status status =
        layer->weight ? add_product(graph, layer, prefix, number, value, error) : MTS_STATUS_OK;
    if (status == MTS_STATUS_OK && layer->softmax) {
        (void)snprintf(name, sizeof name, "%s.softmax", prefix);
        const mts_attrs softmax = {.softmax = {.axis = 1}};
        status = mts_graph_add_node(graph, MTS_OP_SOFTMAX, name, value, 1, &softmax, value, error);
    }
    if (status == MTS_STATUS_OK && layer->log) {
        const mts_attrs log = {.unary = {.act = {.fn = MTS_FN_LOG}}};
        (void)snprintf(name, sizeof name, "%s.log", prefix);
        status = mts_graph_add_node(graph, MTS_OP_UNARY, name, value, 1, &log, value, error);
    }
    return status;
}

static mts_status add_layers(copy *c, uint32_t value, const mts_head_layer *layers, uint32_t count)
{
    const char *prefix = layers[0].prefix ? layers[0].prefix : "split";
    char name[NAME_ROOM];
    mts_status status = MTS_STATUS_OK;
    (void)snprintf(name, sizeof name, "%s.answer", prefix);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        status = add_layer(c->to, &layers[i], prefix, i, &value, c->error);
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const mts_shape shape = mts_shape_make(2, (int64_t[]){1, layers[count - 1].outputs});
    const mts_attrs reshape = {.reshape = {.shape = shape}};
    uint32_t flat = MTS_NONE;
    status = mts_graph_add_node(c->to, MTS_OP_RESHAPE, name, &value, 1, &reshape, &flat, c->error);
    return status != MTS_STATUS_OK ? status
                                   : mts_graph_add_output(c->to, c->from->outputs[0].name, flat,
                                                          MTS_TYPE_FLOAT32, &shape, c->error);
}

mts_status mts_head_replace(const mts_graph *graph, uint32_t value, const mts_head_layer *layers,
                            uint32_t count, mts_arena *arena, mts_graph **out, uint32_t **nodes,
                            mts_error *error)
{
    copy c = {.from = graph, .to = mts_graph_create(arena, graph->name), .error = error};
    *out = NULL;
    c.values = mts_arena_zero(arena, graph->value_count, sizeof *c.values);
    c.nodes = mts_arena_zero(arena, graph->node_count, sizeof *c.nodes);
    c.needed = mts_arena_zero(arena, graph->node_count, sizeof *c.needed);
    if (!c.to || !c.values || !c.nodes || !c.needed) {
        return memory_short(error);
    }
    memset(c.values, 0xff, graph->value_count * sizeof *c.values);
    memset(c.nodes, 0xff, graph->node_count * sizeof *c.nodes);
    mts_head_mark(graph, value, c.needed);
    mts_status status = copy_inputs(&c);
    for (uint32_t n = 0; status == MTS_STATUS_OK && n < graph->node_count; n++) {
        status = c.needed[n] ? copy_node(&c, n) : MTS_STATUS_OK;
    }
    MTS_TRY(status, add_layers(&c, c.values[value], layers, count));
    if (status == MTS_STATUS_OK) {
        *out = c.to;
        if (nodes) {
            *nodes = c.nodes;
        }
    }
    return status;
}
