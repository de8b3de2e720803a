/*
 * deconv.c: transposed convolution in plain loops, forwards and backwards: each input
 * pixel spreads over the window of outputs that it reaches. Output channels of a group
 * are the innermost loop.
 */
#include <string.h>

#include "compress/net/inside.h"
#include "kernels/abi/kinds.h"

typedef struct deconv {
    const mts_attrs_conv *attrs;
    size_t ins, outs; /* channels of a group */
    size_t groups, taps;
    int64_t in[2], out[2];
    size_t x_channels, y_channels;
} deconv;

static deconv deconv_of(const mts_step *step)
{
    const mts_net_layer *layer = &step->run->net->layers[step->index];
    const int64_t *in = mts_run_shape(step->run, step->node->inputs[0])->dims;
    const int64_t *out = mts_run_shape(step->run, step->node->output)->dims;
    const size_t groups = step->node->attrs.conv.group;
    return (deconv){.attrs = &step->node->attrs.conv,
                    .ins = layer->inputs,
                    .outs = layer->outputs / groups,
                    .groups = groups,
                    .taps = (size_t)layer->rows * layer->columns,
                    .in = {in[2], in[3]},
                    .out = {out[2], out[3]},
                    .x_channels = (size_t)in[1],
                    .y_channels = (size_t)out[1]};
}

/* [input][output][tap] of the graph to [tap][input][output], or back. */
static void turn_weight(const deconv *d, bool back, float *ours, float *packed)
{
    for (size_t c = 0; c < d->x_channels; c++) {
        for (size_t o = 0; o < d->outs; o++) {
            for (size_t k = 0; k < d->taps; k++) {
                float *graph = &ours[(c * d->outs + o) * d->taps + k];
                float *inner = &packed[(k * d->x_channels + c) * d->outs + o];
                *(back ? graph : inner) = back ? *inner : *graph;
            }
        }
    }
}

static void add_scaled(float *restrict to, const float *restrict from, float factor, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] += factor * from[i];
    }
}

static float dot(const float *restrict a, const float *restrict b, size_t count)
{
    float sum = 0.0f;
    for (size_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* One input pixel and one output pixel that meet at a tap; the pointers are at their
   channels. */
typedef struct meeting {
    float *x, *y;        /* values; backwards y is the gradient of the result */
    float *dx, *dweight; /* backwards only; dx may be NULL */
    const float *weight; /* of the tap */
} meeting;

static void meet(const deconv *d, bool back, const meeting *m)
{
    for (size_t c = 0; c < d->x_channels; c++) {
        float *y = m->y + c / d->ins * d->outs;
        if (!back) {
            add_scaled(y, m->weight + c * d->outs, m->x[c], d->outs);
            continue;
        }
        add_scaled(m->dweight + c * d->outs, y, m->x[c], d->outs);
        if (m->dx) {
            m->dx[c] += dot(y, m->weight + c * d->outs, d->outs);
        }
    }
}

/* Calls meet for all pairs of pixels of one image. */
static void walk(const deconv *d, bool back, const meeting *start)
{
    const mts_attrs_conv *a = d->attrs;
    for (int64_t pixel = 0; pixel < d->in[0] * d->in[1]; pixel++) {
        for (size_t k = 0; k < d->taps; k++) {
            const int64_t oy =
                pixel / d->in[1] * a->stride[0] + (int64_t)(k / a->kernel[1]) * a->dilation[0] - a->pad[0];
            const int64_t ox =
                pixel % d->in[1] * a->stride[1] + (int64_t)(k % a->kernel[1]) * a->dilation[1] - a->pad[1];
            if (oy < 0 || oy >= d->out[0] || ox < 0 || ox >= d->out[1]) {
                continue;
            }
            const size_t from = (size_t)pixel * d->x_channels, tap = k * d->x_channels * d->outs;
            const meeting m = {.x = start->x + from,
                               .y = start->y + (size_t)(oy * d->out[1] + ox) * d->y_channels,
                               .dx = start->dx ? start->dx + from : NULL,
                               .dweight = start->dweight ? start->dweight + tap : NULL,
                               .weight = start->weight + tap};
            meet(d, back, &m);
        }
    }
}

mts_status mts_forward_deconv(const mts_step *step)
{
    const deconv d = deconv_of(step);
    const mts_net_layer *layer = &step->run->net->layers[step->index];
    const mts_view x = mts_run_view(step->run, step->node->inputs[0], step->first);
    const mts_view y = mts_run_view(step->run, step->node->output, step->first);
    const size_t images = (size_t)mts_run_shape(step->run, step->node->output)->dims[0] * step->count;
    const size_t in = (size_t)(d.in[0] * d.in[1]) * d.x_channels, pixels = (size_t)(d.out[0] * d.out[1]);
    float *packed = mts_run_scratch(step->run, d.taps * d.x_channels * d.outs, step->error);
    if (!packed) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    turn_weight(&d, false, layer->weight, packed);
    for (size_t i = 0; i < images * pixels * d.y_channels; i++) {
        y.data[i] = layer->bias ? layer->bias[i % d.y_channels] : 0.0f;
    }
    for (size_t n = 0; n < images; n++) {
        const meeting m = {.x = x.data + n * in, .y = y.data + n * pixels * d.y_channels, .weight = packed};
        walk(&d, false, &m);
    }
    const size_t count = images * pixels * d.y_channels;
    float *before = step->run->mode == MTS_NET_TRAINING ? step->run->before[step->node->output] : NULL;
    if (before) {
        memcpy(before + (size_t)y.image * step->first, y.data, count * sizeof *before);
    }
    mts_act_apply(&d.attrs->act, NULL, d.y_channels, y.data, count);
    return MTS_STATUS_OK;
}

mts_status mts_backward_deconv(const mts_step *step)
{
    const deconv d = deconv_of(step);
    mts_net_run *run = step->run;
    const uint32_t input = step->node->inputs[0], output = step->node->output;
    const mts_net_layer *gradient = &run->layer_gradients[step->index];
    const size_t images = (size_t)mts_run_shape(run, output)->dims[0] * step->count;
    const size_t in = (size_t)(d.in[0] * d.in[1]) * d.x_channels;
    const size_t out = (size_t)(d.out[0] * d.out[1]) * d.y_channels;
    const size_t weights = d.taps * d.x_channels * d.outs;
    float *packed = mts_run_scratch(run, 2 * weights, step->error);
    if (!packed) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    float *y = mts_run_view_gradient(run, output, 0).data;
    turn_weight(&d, false, run->net->layers[step->index].weight, packed);
    memset(packed + weights, 0, weights * sizeof *packed);
    mts_act_derive(&d.attrs->act, NULL, d.y_channels, run->before[output], run->values[output], y,
                   images * out);
    float *dx = mts_run_open_gradient(run, input, step->count);
    for (size_t n = 0; n < images; n++) {
        const meeting m = {.x = run->values[input] + n * in,
                           .y = y + n * out,
                           .dx = dx ? dx + n * in : NULL,
                           .dweight = packed + weights,
                           .weight = packed};
        walk(&d, true, &m);
    }
    turn_weight(&d, true, gradient->weight, packed + weights);
    for (size_t i = 0; i < images * out && gradient->bias; i++) {
        gradient->bias[i % d.y_channels] += y[i];
    }
    return MTS_STATUS_OK;
}
