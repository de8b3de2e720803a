/*
 * element_backward.c: gradients of unary, binary and scale. The gradient of the result is
 * spent: derivatives of activations are multiplied into it.
 */
#include <math.h>
#include <string.h>

#include "compress/net/inside.h"
#include "kernels/abi/kinds.h"

static void add_dense(float *restrict to, const float *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] += from[i];
    }
}

mts_status mts_backward_unary(const mts_step *step)
{
    mts_net_run *run = step->run;
    const uint32_t input = step->node->inputs[0], output = step->node->output;
    const size_t count = mts_net_elements(run->net->graph, output) * step->count;
    if (!mts_run_wants(run, input)) {
        return MTS_STATUS_OK;
    }
    mts_act_derive(&step->node->attrs.unary.act, NULL, 1, run->values[input], run->values[output],
                   run->gradients[output], count);
    mts_run_open_gradient(run, input, step->count);
    add_dense(run->gradients[input], run->gradients[output], count);
    return MTS_STATUS_OK;
}

/* ---- scale ---- */

/* One channel after another (rank 2 and 4), or `inner` elements of each. */
typedef struct scale_form {
    size_t channels, inner, count;
} scale_form;

static void derive_scale(const mts_step *step, const scale_form *form)
{
    const mts_act *act = &step->node->attrs.unary.act;
    const mts_net_layer *layer = &step->run->net->layers[step->index];
    float *slope = step->run->layer_gradients[step->index].slope;
    const uint32_t output = step->node->output;
    const float *before = step->run->before[output], *y = step->run->values[output];
    float *d = step->run->gradients[output];
    const size_t piece = form->inner == 1 ? form->count : form->inner;
    const size_t channels = form->inner == 1 ? form->channels : 1;
    for (size_t i = 0; i < form->count; i += piece) {
        const size_t c = form->inner == 1 ? 0 : i / form->inner % form->channels;
        const float *x = before ? before + i : NULL;
        if (slope) {
            mts_act_derive_slope(channels, x, d + i, piece, slope + c);
        }
        mts_act_derive(act, layer->slope ? layer->slope + c : NULL, channels, x, y + i, d + i, piece);
    }
}

mts_status mts_backward_scale(const mts_step *step)
{
    mts_net_run *run = step->run;
    const uint32_t input = step->node->inputs[0], output = step->node->output;
    const mts_shape *shape = mts_run_shape(run, output);
    const mts_net_layer *layer = &run->net->layers[step->index];
    const mts_net_layer *gradient = &run->layer_gradients[step->index];
    const size_t elements = mts_shape_count(shape);
    const bool innermost = shape->rank == 2 || shape->rank == 4;
    const scale_form form = {.channels = layer->outputs,
                             .inner = innermost ? 1 : elements / (size_t)shape->dims[0] / layer->outputs,
                             .count = elements * step->count};
    const float *x = run->values[input], *d = run->gradients[output];
    derive_scale(step, &form);
    float *dx = mts_run_open_gradient(run, input, step->count);
    for (size_t i = 0; i < form.count; i += form.inner) {
        const size_t c = i / form.inner % form.channels;
        for (size_t k = i; k < i + form.inner; k++) {
            gradient->scale[c] += d[k] * x[k];
            gradient->bias[c] += d[k];
            if (dx) {
                dx[k] += d[k] * layer->scale[c];
            }
        }
    }
    return MTS_STATUS_OK;
}

/* ---- binary ---- */

/* By how much the result follows an operand. */
static float follow(uint32_t kind, bool second, float a, float b)
{
    switch (kind) {
    case MTS_BIN_ADD:
        return 1.0f;
    case MTS_BIN_SUB:
        return second ? -1.0f : 1.0f;
    case MTS_BIN_MUL:
        return second ? a : b;
    case MTS_BIN_DIV:
        return second ? -a / (b * b) : 1.0f / b;
    case MTS_BIN_PRELU:
        return second ? (a > 0.0f ? 0.0f : a) : a > 0.0f ? 1.0f : b;
    case MTS_BIN_MAX:
        return (a > b) != second ? 1.0f : 0.0f;
    case MTS_BIN_MIN:
        return (a < b) != second ? 1.0f : 0.0f;
    default:
        return second ? powf(a, b) * logf(a) : b * powf(a, b - 1.0f);
    }
}

typedef struct binary_form {
    uint32_t kind;
    bool second;
} binary_form;

/* Operands: gradient of the result, a, b, gradient of one of them. */
static void binary_line(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    const binary_form *form = context;
    if (form->kind == MTS_BIN_ADD && step[0] == 1 && step[3] == 1) {
        add_dense(at[3], at[0], count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t k = (ptrdiff_t)i;
        at[3][k * step[3]] +=
            at[0][k * step[0]] * follow(form->kind, form->second, at[1][k * step[1]], at[2][k * step[2]]);
    }
}

static void give_operand(const mts_step *step, uint32_t index)
{
    mts_net_run *run = step->run;
    const uint32_t value = step->node->inputs[index], output = step->node->output;
    const mts_view d = mts_run_view_gradient(run, output, 0);
    const binary_form form = {.kind = step->node->attrs.binary.kind, .second = index == 1};
    mts_run_open_gradient(run, value, step->count);
    mts_loop loop;
    mts_loop_begin(&loop, step->count, mts_run_shape(run, output));
    mts_loop_add(&loop, &d, mts_run_shape(run, output));
    for (int i = 0; i < 2; i++) {
        const mts_view x = mts_run_view(run, step->node->inputs[i], 0);
        mts_loop_add(&loop, &x, mts_run_shape(run, step->node->inputs[i]));
    }
    const mts_view gradient = mts_run_view_gradient(run, value, 0);
    mts_loop_add(&loop, &gradient, mts_run_shape(run, value));
    mts_loop_run(&loop, binary_line, &form);
}

mts_status mts_backward_binary(const mts_step *step)
{
    mts_net_run *run = step->run;
    const uint32_t output = step->node->output;
    const size_t count = mts_net_elements(run->net->graph, output) * step->count;
    mts_act_derive(&step->node->attrs.binary.act, NULL, 1, run->before[output], run->values[output],
                   run->gradients[output], count);
    for (uint32_t i = 0; i < 2; i++) {
        if (mts_run_wants(run, step->node->inputs[i])) {
            give_operand(step, i);
        }
    }
    return MTS_STATUS_OK;
}
