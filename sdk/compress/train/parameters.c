/*
 * parameters.c: see parameters.h.
 */
#include "compress/train/parameters.h"

#include <math.h>
#include <string.h>

#define DECAY_FIRST 0.9
#define DECAY_SECOND 0.999
#define EPSILON 1e-8f
#define UNIT_OF_NOTHING 1e-2 /* where all numbers are zero */

bool mts_frozen_task(const mts_frozen *frozen, uint32_t task)
{
    return frozen->tasks && frozen->tasks[task];
}

bool mts_frozen_node(const mts_frozen *frozen, uint32_t task, uint32_t node)
{
    return mts_frozen_task(frozen, task) || (frozen->nodes && node < frozen->nodes[task]);
}

/* Elements of a node's constant weight: operand 1, or operand 0 of a product that has it
   there. */
static size_t weight_count(const mts_graph *graph, const mts_node *node)
{
    const mts_value *right = &graph->values[node->inputs[1]];
    const bool swapped = node->op == MTS_OP_MATMUL && right->kind != MTS_VALUE_CONST;
    return mts_shape_count(swapped ? &graph->values[node->inputs[0]].shape : &right->shape);
}

float *mts_parameter_of(const mts_net_layer *layer, const mts_graph *graph, uint32_t node,
                        mts_parameter which, size_t *count)
{
    *count = layer->outputs;
    switch (which) {
    case MTS_PARAMETER_WEIGHT:
        *count = layer->weight ? weight_count(graph, &graph->nodes[node]) : 0;
        return layer->weight;
    case MTS_PARAMETER_SCALE:
        return layer->scale;
    case MTS_PARAMETER_BIAS:
        return layer->bias;
    default:
        return layer->slope;
    }
}

static bool array_add(mts_parameters *p, mts_net *net, uint32_t task, uint32_t node, mts_parameter which)
{
    const mts_graph *graph = mts_net_graph(net);
    mts_parameter_array *array = &p->arrays[p->count];
    *array = (mts_parameter_array){
        .task = task, .node = node, .which = which, .layer = mts_net_layer_of(net, node)};
    array->values = mts_parameter_of(&array->layer, graph, node, which, &array->count);
    if (!array->values) {
        return true;
    }
    array->offset = p->elements[task];
    array->first = mts_arena_zero(&p->arena, array->count, sizeof(float));
    array->second = mts_arena_zero(&p->arena, array->count, sizeof(float));
    if (which == MTS_PARAMETER_WEIGHT) {
        p->weight[task][node] = p->count;
        if (graph->nodes[node].op == MTS_OP_CONV) {
            array->cells = mts_arena_zero(&p->arena, (size_t)array->layer.outputs * array->layer.inputs, 1);
        }
    }
    p->elements[task] += array->count;
    p->count++;
    return array->first && array->second &&
           (array->cells || which != MTS_PARAMETER_WEIGHT || graph->nodes[node].op != MTS_OP_CONV);
}

static bool net_add(mts_parameters *p, mts_net *net, uint32_t task, const mts_frozen *frozen)
{
    const uint32_t nodes = mts_net_graph(net)->node_count;
    p->weight[task] = mts_arena_zero(&p->arena, nodes, sizeof(**p->weight));
    if (!p->weight[task]) {
        return false;
    }
    for (uint32_t node = 0; node < nodes; node++) {
        p->weight[task][node] = MTS_NONE;
        const bool keeps = mts_frozen_node(frozen, task, node);
        for (int which = 0; !keeps && which < MTS_PARAMETER_COUNT; which++) {
            if (!array_add(p, net, task, node, (mts_parameter)which)) {
                return false;
            }
        }
    }
    return true;
}

bool mts_parameters_init(mts_parameters *parameters, mts_net *const *nets, uint32_t count,
                         const mts_frozen *frozen, const mts_allocator *allocator)
{
    size_t nodes = 0;
    *parameters = (mts_parameters){.allocator = allocator};
    mts_arena_init(&parameters->arena, allocator);
    for (uint32_t i = 0; i < count; i++) {
        nodes += nets[i] ? mts_net_graph(nets[i])->node_count : 0;
    }
    /* One more: array_add looks at each possible array in the place of the next. */
    parameters->arrays =
        mts_arena_zero(&parameters->arena, nodes * MTS_PARAMETER_COUNT + 1, sizeof(*parameters->arrays));
    parameters->first = mts_arena_zero(&parameters->arena, (size_t)count + 1, sizeof(*parameters->first));
    parameters->weight = mts_arena_zero(&parameters->arena, count, sizeof(*parameters->weight));
    parameters->elements = mts_arena_zero(&parameters->arena, count, sizeof(*parameters->elements));
    if (!parameters->arrays || !parameters->first || !parameters->weight || !parameters->elements) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (nets[i] && !net_add(parameters, nets[i], i, frozen)) {
            return false;
        }
        parameters->first[i + 1] = parameters->count;
    }
    return true;
}

void mts_parameters_release(mts_parameters *parameters)
{
    if (parameters->allocator) {
        mts_arena_release(&parameters->arena);
    }
    memset(parameters, 0, sizeof(*parameters));
}

void mts_parameters_copy(mts_net *target, const mts_net *source)
{
    const mts_graph *graph = mts_net_graph(source);
    const uint32_t there = mts_net_graph(target)->node_count;
    for (uint32_t node = 0; node < graph->node_count && node < there; node++) {
        const mts_net_layer from = mts_net_layer_of(source, node), to = mts_net_layer_of(target, node);
        bool changed = false;
        for (int which = 0; which < MTS_PARAMETER_COUNT; which++) {
            size_t count = 0, same = 0;
            const float *values = mts_parameter_of(&from, graph, node, (mts_parameter)which, &count);
            float *copy = mts_parameter_of(&to, graph, node, (mts_parameter)which, &same);
            if (values && copy) {
                memcpy(copy, values, count * sizeof(float));
                changed = true;
            }
        }
        if (changed) {
            mts_net_touch(target, node);
        }
    }
}

bool mts_parameters_finite(const mts_parameter_array *array)
{
    for (size_t i = 0; i < array->count; i++) {
        if (!isfinite(array->values[i])) {
            return false;
        }
    }
    return true;
}

void mts_parameter_measure(mts_parameter_array *array, double reach)
{
    double sum = 0;
    for (size_t i = 0; i < array->count; i++) {
        sum += (double)array->values[i] * (double)array->values[i];
    }
    const double size = sqrt(sum / (double)array->count);
    const double unit = array->which == MTS_PARAMETER_BIAS && reach > 0 ? reach : size;
    array->unit = (float)(unit > 0 ? unit : UNIT_OF_NOTHING);
}

/* The corrections of the moments' start from zero are in `rate` and `epsilon`. */
static void step_run(const mts_parameter_array *array, const float *gradients, size_t from, size_t end,
                     float rate, float epsilon)
{
    float *restrict values = array->values, *restrict first = array->first, *restrict second = array->second;
    for (size_t i = from; i < end; i++) {
        const float gradient = gradients[i];
        first[i] += (float)(1 - DECAY_FIRST) * (gradient - first[i]);
        second[i] += (float)(1 - DECAY_SECOND) * (gradient * gradient - second[i]);
        values[i] -= rate * first[i] / (sqrtf(second[i]) + epsilon);
    }
}

/* Runs of cells of a row that are trained. */
static void step_row(const mts_parameter_array *array, const unsigned char *cells, const float *gradients,
                     size_t at, float rate, float epsilon)
{
    const uint32_t inputs = array->layer.inputs;
    for (uint32_t i = 0; i < inputs;) {
        uint32_t end = i;
        while (end < inputs && !(cells[end] & MTS_CELL_KEPT)) {
            end++;
        }
        step_run(array, gradients, at + i, at + end, rate, epsilon);
        i = end + 1;
    }
}

void mts_parameter_step(const mts_parameter_array *array, const float *gradients, uint64_t step, float rate)
{
    const double spread = sqrt(1 - pow(DECAY_SECOND, (double)step));
    const float corrected = (float)(rate * array->unit * spread / (1 - pow(DECAY_FIRST, (double)step)));
    const float epsilon = (float)(EPSILON * spread);
    if (!array->cells) {
        step_run(array, gradients, 0, array->count, corrected, epsilon);
        return;
    }
    const size_t taps = (size_t)array->layer.rows * array->layer.columns, inputs = array->layer.inputs;
    for (uint32_t filter = 0; filter < array->layer.outputs; filter++) {
        for (size_t tap = 0; tap < taps; tap++) {
            step_row(array, array->cells + filter * inputs, gradients, (filter * taps + tap) * inputs,
                     corrected, epsilon);
        }
    }
}
