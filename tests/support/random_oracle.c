/*
 * random_oracle.c: a graph's values one node at a time, without stitching, planning or shared memory.
 */
#include "support/random_net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/net.h"

typedef struct oracle {
    const mts_graph *graph;
    mts_device *device;
    mts_arena *arena;
    float **values;
} oracle;

static const float *operand(const oracle *o, const mts_node *node, uint32_t index)
{
    return index < node->input_count && node->inputs[index] != MTS_NONE ? o->values[node->inputs[index]]
                                                                        : NULL;
}

static float apply(const mts_act *act, double x, float slope)
{
    switch (act->fn) {
    case MTS_FN_RELU:
        return x > 0 ? (float)x : 0.0f;
    case MTS_FN_LEAKY:
        return (float)(x > 0 ? x : (double)act->a * x);
    case MTS_FN_LEAKY_BOUND:
        return (float)fmax(x > 0 ? x : (double)act->a * x, (double)act->b);
    case MTS_FN_CLIP:
        return x < (double)act->a ? act->a : x > (double)act->b ? act->b : (float)x;
    case MTS_FN_PRELU:
        return (float)(x > 0 ? x : (double)slope * x);
    case MTS_FN_SIGMOID:
        return (float)(1.0 / (1.0 + exp(-x)));
    case MTS_FN_HARD_SWISH_LINE:
        return (float)((double)act->a * x * fmin(fmax(x / 6.0 + 0.5, 0.0), 1.0) + (double)act->b);
    case MTS_FN_GELU:
        return (float)(0.5 * x * (1.0 + erf(x / sqrt(2.0))));
    case MTS_FN_NONE:
        return (float)x;
    default: /* no function that random_net.c draws: no output is equal */
        return NAN;
    }
}

static double conv_sum(const oracle *o, const mts_node *node, int64_t image, int64_t row, int64_t y,
                       int64_t x)
{
    const mts_attrs_conv *a = &node->attrs.conv;
    const int64_t *in = o->graph->values[node->inputs[0]].shape.dims,
                  *w = o->graph->values[node->inputs[1]].shape.dims;
    const int64_t first = row / (w[0] / (int64_t)a->group) * w[1];
    const float *data = o->values[node->inputs[0]], *weight = o->values[node->inputs[1]];
    double sum = 0;
    for (int64_t c = 0; c < w[1]; c++) {
        for (int64_t k = 0; k < w[2] * w[3]; k++) {
            const int64_t iy = y * a->stride[0] + k / w[3] * a->dilation[0] - a->pad[0];
            const int64_t ix = x * a->stride[1] + k % w[3] * a->dilation[1] - a->pad[1];
            if (iy >= 0 && iy < in[2] && ix >= 0 && ix < in[3]) {
                sum += (double)data[((image * in[1] + first + c) * in[2] + iy) * in[3] + ix] *
                       (double)weight[(row * w[1] + c) * w[2] * w[3] + k];
            }
        }
    }
    return sum;
}

static void run_conv(const oracle *o, const mts_node *node, float *out)
{
    const int64_t *s = o->graph->values[node->output].shape.dims;
    const float *scale = operand(o, node, 2), *bias = operand(o, node, 3), *residual = operand(o, node, 4),
                *slope = operand(o, node, 5);
    for (int64_t i = 0; i < s[0] * s[1] * s[2] * s[3]; i++) {
        const int64_t x = i % s[3], y = i / s[3] % s[2], row = i / (s[2] * s[3]) % s[1],
                      image = i / (s[1] * s[2] * s[3]);
        const int64_t channel = node->scatter ? (int64_t)node->scatter[row] : row;
        const int64_t at = ((image * s[1] + channel) * s[2] + y) * s[3] + x;
        double value = conv_sum(o, node, image, row, y, x) * (scale ? (double)scale[channel] : 1.0);
        value += (bias ? (double)bias[channel] : 0.0) + (residual ? (double)residual[at] : 0.0);
        out[at] = apply(&node->attrs.conv.act, value, slope ? slope[channel] : 0.0f);
    }
}

/* The node alone in a graph: run-time operands become inputs. */
static mts_status single(const oracle *o, const mts_node *node, mts_arena *arena, mts_graph **out,
                         const void **data, mts_error *error)
{
    mts_graph *graph = mts_graph_create(arena, "node");
    uint32_t *inputs = mts_arena_zero(arena, node->input_count, sizeof *inputs), value = 0, count = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        inputs[i] = MTS_NONE;
        if (node->inputs[i] == MTS_NONE) {
            continue;
        }
        const mts_value *from = &o->graph->values[node->inputs[i]];
        char name[16];
        (void)snprintf(name, sizeof name, "x%u", i);
        if (from->kind == MTS_VALUE_CONST && from->dtype == MTS_TYPE_INT32) {
            inputs[i] = mts_graph_add_const(graph, name, from->dtype, &from->shape, from->blocks[0].data);
        } else if (from->kind == MTS_VALUE_CONST) {
            inputs[i] =
                mts_graph_add_const(graph, name, MTS_TYPE_FLOAT32, &from->shape, o->values[node->inputs[i]]);
        } else {
            inputs[i] = mts_graph_add_input(graph, name, MTS_TYPE_FLOAT32, &from->shape);
            data[count++] = o->values[node->inputs[i]];
        }
    }
    const mts_status code =
        mts_graph_add_node(graph, node->op, "node", inputs, node->input_count, &node->attrs, &value, error);
    *out = graph;
    return code == MTS_STATUS_OK
               ? mts_graph_add_output(graph, "y", value, MTS_TYPE_FLOAT32, &graph->values[value].shape, error)
               : code;
}

static mts_status run_alone(const oracle *o, const mts_node *node, float *out, mts_error *error)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_SEQUENTIAL};
    const void *data[16] = {NULL};
    const void *const *inputs = data;
    mts_arena arena;
    mts_graph *graph = NULL;
    mts_engine *engine = NULL;
    test_net net = {0};
    mts_arena_init(&arena, mts_allocator_default());
    mts_status code = single(o, node, &arena, &graph, data, error);
    code = code ? code : net_make((const mts_graph *const *)&graph, 1, 0.0f, &net, error);
    code =
        code ? code : mts_planned_engine_create(o->device, net.archive, &options, NULL, &engine, NULL, error);
    code = code ? code : net_engine_run(engine, &net, &inputs, error);
    size_t count = 0;
    const float *y = code ? NULL : net_output(engine, &net, 0, 0, &count);
    if (y) {
        memcpy(out, y, count * sizeof *out);
    } else if (!code) {
        code = mts_fail(error, MTS_STATUS_INTERNAL, "no output");
    }
    mts_engine_destroy(&engine);
    net_release(&net);
    mts_arena_release(&arena);
    return code;
}

mts_status random_oracle(const mts_graph *graph, const float *const *inputs, mts_device *reference,
                         mts_arena *arena, float **values, mts_error *error)
{
    const oracle o = {.graph = graph, .device = reference, .arena = arena, .values = values};
    mts_status code = MTS_STATUS_OK;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        values[v] = mts_arena_zero(arena, mts_shape_count(&graph->values[v].shape), sizeof **values);
        if (!values[v]) {
            return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no memory");
        }
        if (graph->values[v].kind == MTS_VALUE_CONST && graph->values[v].dtype != MTS_TYPE_INT32) {
            mts_value_read_f32(&graph->values[v], values[v]);
        }
    }
    for (uint32_t i = 0; i < graph->input_count; i++) {
        memcpy(values[graph->inputs[i].value], inputs[i],
               mts_shape_count(&graph->inputs[i].shape) * sizeof(float));
    }
    for (uint32_t n = 0; n < graph->node_count && code == MTS_STATUS_OK; n++) {
        const mts_node *node = &graph->nodes[n];
        if (node->op == MTS_OP_CONV) {
            run_conv(&o, node, values[node->output]);
        } else {
            code = run_alone(&o, node, values[node->output], error);
        }
    }
    return code;
}
