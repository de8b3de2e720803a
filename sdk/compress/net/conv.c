/*
 * conv.c: forward of a convolution: oneDNN's, and behind it what oneDNN does not do,
 * while the result is in the cache.
 */
#include <string.h>

#include "compress/net/cpu.h"
#include "kernels/abi/kinds.h"

static bool answers_alone(const mts_step *step)
{
    const uint32_t fn = step->node->attrs.conv.act.fn;
    return mts_node_input(step->node, 4) == MTS_NONE && (fn == MTS_FN_RELU || fn == MTS_FN_LEAKY) &&
           (step->run->mode == MTS_NET_INFERENCE || !step->run->before[step->node->output]);
}

static mts_status run_conv(const mts_step *step, mts_conv_kind kind, float *out)
{
    const uint32_t input = step->node->inputs[0];
    const mts_view x = mts_run_view(step->run, input, step->first);
    const int64_t images = (int64_t)step->count * mts_run_shape(step->run, input)->dims[0];
    mts_conv_slot *slot = NULL;
    const mts_status status = mts_conv_slot_get(step, kind, images, &slot);
    return status ? status : mts_conv_slot_run(step, slot, kind, x.data, out);
}

static void add_residual_relu(float *restrict y, const float *restrict residual, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const float sum = y[i] + residual[i];
        y[i] = sum < 0.0f ? 0.0f : sum;
    }
}

static void add_residual(float *restrict y, const float *restrict residual, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        y[i] += residual[i];
    }
}

static void finish(const mts_step *step, float *y)
{
    const mts_act *act = &step->node->attrs.conv.act;
    const mts_net_layer *layer = &step->run->net->layers[step->index];
    const uint32_t residual = mts_node_input(step->node, 4), output = step->node->output;
    const size_t elements = mts_net_elements(step->run->net->graph, output);
    const size_t count = elements * step->count;
    float *before = step->run->mode == MTS_NET_TRAINING ? step->run->before[output] : NULL;
    if (residual != MTS_NONE) {
        const mts_view r = mts_run_view(step->run, residual, step->first);
        if (act->fn == MTS_FN_RELU) {
            add_residual_relu(y, r.data, count);
            return;
        }
        add_residual(y, r.data, count);
    }
    if (before) {
        memcpy(before + elements * step->first, y, count * sizeof *y);
    }
    mts_act_apply(act, layer->slope, layer->outputs, y, count);
}

mts_status mts_forward_conv(const mts_step *step)
{
    float *y = mts_run_view(step->run, step->node->output, step->first).data;
    if (answers_alone(step)) {
        return run_conv(step, MTS_CONV_ANSWER, y);
    }
    const mts_status status = run_conv(step, MTS_CONV_LINEAR, y);
    if (status == MTS_STATUS_OK) {
        finish(step, y);
    }
    return status;
}

mts_status mts_conv_linear(const mts_step *step, bool raw, float *out)
{
    return run_conv(step, raw ? MTS_CONV_RAW : MTS_CONV_LINEAR, out);
}
