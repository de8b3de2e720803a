/*
 * element.c: forward of operators whose results depend on one element of every operand:
 * unary, binary, scale.
 */
#include <string.h>

#include "compress/net/inside.h"

#define MTS_REAL float
#define MTS_MATH(name) name##f
#define mts_number(x) x##f
#include "kernels/abi/scalar.h"

mts_status mts_forward_unary(const mts_step *step)
{
    const size_t elements = mts_net_elements(step->run->net->graph, step->node->output);
    float *y = mts_run_view(step->run, step->node->output, step->first).data;
    memcpy(y, mts_run_view(step->run, step->node->inputs[0], step->first).data,
           elements * step->count * sizeof *y);
    mts_act_apply(&step->node->attrs.unary.act, NULL, 1, y, elements * step->count);
    return MTS_STATUS_OK;
}

/* ---- scale: channels are innermost at rank 4, else the values after a channel are ---- */

void mts_run_keep_before(const mts_step *step, const float *y, size_t elements)
{
    float *before = step->run->mode == MTS_NET_TRAINING ? step->run->before[step->node->output] : NULL;
    if (before) {
        memcpy(before + elements * step->first, y, elements * step->count * sizeof *y);
    }
}

/* Slope of a channel, the same for all elements behind it: applied line by line. */
static void apply_outer(const mts_act *act, const float *slope, size_t channels, size_t inner, float *y,
                        size_t count)
{
    for (size_t i = 0; i < count; i += inner) {
        mts_act_apply(act, slope ? slope + i / inner % channels : NULL, 1, y + i, inner);
    }
}

mts_status mts_forward_scale(const mts_step *step)
{
    const mts_shape *shape = mts_run_shape(step->run, step->node->output);
    const mts_net_layer *layer = &step->run->net->layers[step->index];
    const mts_act *act = &step->node->attrs.unary.act;
    const size_t elements = mts_shape_count(shape), count = elements * step->count;
    const size_t channels = layer->outputs;
    float *y = mts_run_view(step->run, step->node->output, step->first).data;
    const float *x = mts_run_view(step->run, step->node->inputs[0], step->first).data;
    if (shape->rank == 4 || shape->rank == 2) {
        for (size_t i = 0; i < count; i += channels) {
            for (size_t c = 0; c < channels; c++) {
                y[i + c] = x[i + c] * layer->scale[c] + layer->bias[c];
            }
        }
        mts_run_keep_before(step, y, elements);
        mts_act_apply(act, layer->slope, channels, y, count);
        return MTS_STATUS_OK;
    }
    const size_t inner = elements / (size_t)shape->dims[0] / channels;
    for (size_t i = 0; i < count; i += inner) {
        const size_t c = i / inner % channels;
        for (size_t k = 0; k < inner; k++) {
            y[i + k] = x[i + k] * layer->scale[c] + layer->bias[c];
        }
    }
    mts_run_keep_before(step, y, elements);
    apply_outer(act, layer->slope, channels, inner, y, count);
    return MTS_STATUS_OK;
}

/* ---- binary ---- */

static void add_dense(float *restrict y, const float *restrict a, const float *restrict b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        y[i] = a[i] + b[i];
    }
}

static void multiply_dense(float *restrict y, const float *restrict a, const float *restrict b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        y[i] = a[i] * b[i];
    }
}

static void binary_line(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    const uint32_t kind = *(const uint32_t *)context;
    const bool dense = step[0] == 1 && step[1] == 1 && step[2] == 1;
    if (dense && kind == MTS_BIN_ADD) {
        add_dense(at[0], at[1], at[2], count);
    } else if (dense && kind == MTS_BIN_MUL) {
        multiply_dense(at[0], at[1], at[2], count);
    } else {
        for (size_t i = 0; i < count; i++) {
            const ptrdiff_t k = (ptrdiff_t)i;
            at[0][k * step[0]] = mts_scalar_binary(kind, at[1][k * step[1]], at[2][k * step[2]]);
        }
    }
}

mts_status mts_forward_binary(const mts_step *step)
{
    const uint32_t output = step->node->output;
    const mts_attrs_binary *attrs = &step->node->attrs.binary;
    const mts_view y = mts_run_view(step->run, output, step->first);
    const size_t elements = mts_net_elements(step->run->net->graph, output);
    mts_loop loop;
    mts_loop_begin(&loop, step->count, mts_run_shape(step->run, output));
    mts_loop_add(&loop, &y, mts_run_shape(step->run, output));
    for (int i = 0; i < 2; i++) {
        const mts_view x = mts_run_view(step->run, step->node->inputs[i], step->first);
        mts_loop_add(&loop, &x, mts_run_shape(step->run, step->node->inputs[i]));
    }
    mts_loop_run(&loop, binary_line, &attrs->kind);
    mts_run_keep_before(step, y.data, elements);
    mts_act_apply(&attrs->act, NULL, 1, y.data, elements * step->count);
    return MTS_STATUS_OK;
}
