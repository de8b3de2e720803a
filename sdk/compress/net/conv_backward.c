/*
 * conv_backward.c: gradients of a convolution.
 *
 * With d the gradient of scale * conv(x) + bias and G = x * d that of a weight without
 * scale: the weight's is scale G, the scale's is the sum of W G over the filter (conv(x)
 * is linear in W, so nothing of it has to be kept), the bias's the sum of d, the input's
 * d through scale W.
 */
#include <string.h>

#include "compress/net/cpu.h"
#include "kernels/abi/kinds.h"

static void add_dense(float *restrict to, const float *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] += from[i];
    }
}

/* Puts `count` floats at offset `at` of a value's gradient, or adds them. */
static void deposit(const mts_step *step, uint32_t value, bool filled, size_t at, const float *from,
                    size_t count)
{
    float *to = step->run->gradients[value] + at;
    if (filled) {
        add_dense(to, from, count);
    } else {
        memcpy(to, from, count * sizeof *to);
    }
}

/* Images [first, first + count) of step: the gradient of the result becomes d; the
   residual gets its part. */
static void derive_chunk(const mts_step *step, bool residual_filled)
{
    mts_net_run *run = step->run;
    const mts_net_layer *layer = &run->net->layers[step->index];
    const uint32_t output = step->node->output, residual = mts_node_input(step->node, 4);
    const size_t elements = mts_net_elements(run->net->graph, output);
    const size_t at = elements * step->first, count = elements * step->count;
    const float *before = run->before[output] ? run->before[output] + at : NULL;
    float *d = run->gradients[output] + at;
    if (layer->slope) {
        mts_act_derive_slope(layer->outputs, before, d, count, run->layer_gradients[step->index].slope);
    }
    mts_act_derive(&step->node->attrs.conv.act, layer->slope, layer->outputs, before,
                   run->values[output] + at, d, count);
    if (mts_run_wants(run, residual)) {
        deposit(step, residual, residual_filled, at, d, count);
    }
}

static mts_status data_chunk(const mts_step *step, bool filled)
{
    mts_net_run *run = step->run;
    const uint32_t input = step->node->inputs[0], output = step->node->output;
    const int64_t images = (int64_t)step->count * mts_run_shape(run, input)->dims[0];
    const size_t elements = mts_net_elements(run->net->graph, input);
    const float *d = mts_run_view_gradient(run, output, step->first).data;
    float *target = mts_run_view_gradient(run, input, step->first).data;
    mts_conv_slot *slot = NULL;
    mts_status status = mts_conv_slot_get(step, MTS_CONV_DATA, images, &slot);
    float *room = target;
    if (status == MTS_STATUS_OK && filled) {
        room = mts_run_scratch(run, elements * step->count, step->error);
        status = room ? MTS_STATUS_OK : MTS_STATUS_OUT_OF_MEMORY;
    }
    status = status ? status : mts_conv_slot_run(step, slot, MTS_CONV_DATA, d, room);
    if (status == MTS_STATUS_OK && filled) {
        add_dense(target, room, elements * step->count);
    }
    return status;
}

static mts_status weights(const mts_step *step)
{
    mts_net_run *run = step->run;
    const uint32_t input = step->node->inputs[0];
    const mts_net_layer *layer = &run->net->layers[step->index];
    const mts_net_layer *gradient = &run->layer_gradients[step->index];
    const size_t filter = (size_t)layer->rows * layer->columns * layer->inputs;
    const int64_t images = (int64_t)step->count * mts_run_shape(run, input)->dims[0];
    mts_conv_slot *slot = NULL;
    mts_status status = mts_conv_slot_get(step, MTS_CONV_WEIGHTS, images, &slot);
    status = status
                 ? status
                 : mts_conv_slot_weights(step, slot, run->values[input], run->gradients[step->node->output],
                                         gradient->weight, gradient->bias);
    for (uint32_t o = 0; o < layer->outputs && status == MTS_STATUS_OK; o++) {
        double sum = 0.0;
        for (size_t i = o * filter; i < (o + 1) * filter; i++) {
            sum += (double)layer->weight[i] * (double)gradient->weight[i];
            gradient->weight[i] *= layer->scale[o];
        }
        gradient->scale[o] = (float)sum;
    }
    return status;
}

mts_status mts_backward_conv(const mts_step *step)
{
    mts_net_run *run = step->run;
    const uint32_t input = step->node->inputs[0], residual = mts_node_input(step->node, 4);
    const bool wants_residual = mts_run_wants(run, residual), wants_data = mts_run_wants(run, input);
    const bool residual_filled = wants_residual && run->filled[residual];
    if (wants_residual) {
        run->filled[residual] = true;
    }
    const bool data_filled = wants_data && run->filled[input];
    mts_status status = MTS_STATUS_OK;
    for (uint32_t image = 0; image < step->count && status == MTS_STATUS_OK; image += run->chunk) {
        mts_step chunk = *step;
        chunk.first = image;
        chunk.count = step->count - image < run->chunk ? step->count - image : run->chunk;
        derive_chunk(&chunk, residual_filled);
        if (wants_data) {
            status = data_chunk(&chunk, data_filled);
        }
    }
    if (wants_data) {
        run->filled[input] = true;
    }
    return status ? status : weights(step);
}
