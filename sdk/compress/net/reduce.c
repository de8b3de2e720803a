/*
 * reduce.c: operators that combine the elements along axes, forwards and backwards:
 * reduce, softmax.
 */
#include <math.h>

#include "compress/net/inside.h"
#include "kernels/abi/kinds.h"

/* ---- reduce: operand 0 is the input, operand 1 the result, which lies still along reduced dimensions ----
 */

static void sum_dense(const float *restrict x, float *restrict y, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        y[i] += x[i];
    }
}

/* What is summed. */
static float term_of(uint32_t kind, float x)
{
    return kind == MTS_REDUCE_L1                                     ? fabsf(x)
           : kind >= MTS_REDUCE_L2 && kind <= MTS_REDUCE_MEAN_SQUARE ? x * x
                                                                     : x;
}

static void reduce_line(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    const uint32_t kind = *(const uint32_t *)context;
    if (kind <= MTS_REDUCE_SUM && step[0] == 1 && step[1] == 1) {
        sum_dense(at[0], at[1], count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const float x = at[0][(ptrdiff_t)i * step[0]];
        float *y = &at[1][(ptrdiff_t)i * step[1]];
        if (kind == MTS_REDUCE_MAX) {
            *y = x > *y ? x : *y;
        } else if (kind == MTS_REDUCE_MIN) {
            *y = x < *y ? x : *y;
        } else {
            *y += term_of(kind, x);
        }
    }
}

/* Strides of the result for the dimensions of the input: 0 where it is reduced. */
static void reduced_strides(const mts_step *step, const mts_view *y, ptrdiff_t strides[MTS_TENSOR_RANK_MAX])
{
    const mts_attrs_reduce *attrs = &step->node->attrs.reduce;
    const uint32_t rank = mts_run_shape(step->run, step->node->inputs[0])->rank;
    uint32_t at = 0;
    for (uint32_t i = 0; i < rank; i++) {
        const bool gone = (attrs->axes >> i & 1u) != 0;
        strides[i] = gone ? 0 : y->strides[at];
        at += !gone || attrs->keep ? 1 : 0;
    }
}

static size_t reduced_count(const mts_step *step)
{
    return mts_net_elements(step->run->net->graph, step->node->inputs[0]) /
           mts_net_elements(step->run->net->graph, step->node->output);
}

static bool is_mean(uint32_t kind)
{
    return kind == MTS_REDUCE_MEAN || kind == MTS_REDUCE_MEAN_SQUARE;
}

mts_status mts_forward_reduce(const mts_step *step)
{
    const uint32_t kind = step->node->attrs.reduce.kind, input = step->node->inputs[0];
    const mts_view x = mts_run_view(step->run, input, step->first);
    const mts_view y = mts_run_view(step->run, step->node->output, step->first);
    const size_t count = mts_net_elements(step->run->net->graph, step->node->output) * step->count;
    const float start = kind == MTS_REDUCE_MAX ? -INFINITY : kind == MTS_REDUCE_MIN ? INFINITY : 0.0f;
    ptrdiff_t strides[MTS_TENSOR_RANK_MAX] = {0};
    mts_loop loop;
    for (size_t i = 0; i < count; i++) {
        y.data[i] = start;
    }
    reduced_strides(step, &y, strides);
    mts_loop_begin(&loop, step->count, mts_run_shape(step->run, input));
    mts_loop_add_strides(&loop, x.data, x.image, x.strides);
    mts_loop_add_strides(&loop, y.data, y.image, strides);
    mts_loop_run(&loop, reduce_line, &kind);
    const float share = 1.0f / (float)reduced_count(step);
    for (size_t i = 0; i < count && is_mean(kind); i++) {
        y.data[i] *= share;
    }
    for (size_t i = 0; i < count && kind == MTS_REDUCE_L2; i++) {
        y.data[i] = sqrtf(y.data[i]);
    }
    for (size_t i = 0; i < count && kind == MTS_REDUCE_LOG_SUM; i++) {
        y.data[i] = logf(y.data[i]);
    }
    return MTS_STATUS_OK;
}

/* Operands: gradient of the input, of the result. */
static void spread_line(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    const float factor = *(const float *)context;
    for (size_t i = 0; i < count; i++) {
        at[0][(ptrdiff_t)i * step[0]] += factor * at[1][(ptrdiff_t)i * step[1]];
    }
}

/* By how much the result y follows an element; what is an extreme gets the gradient. */
static float follow(uint32_t kind, float x, float y)
{
    switch (kind) {
    case MTS_REDUCE_L1:
        return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
    case MTS_REDUCE_L2:
        return y > 0.0f ? x / y : 0.0f;
    case MTS_REDUCE_SUM_SQUARE:
    case MTS_REDUCE_MEAN_SQUARE:
        return 2.0f * x;
    case MTS_REDUCE_LOG_SUM:
        return expf(-y);
    default:
        return x == y ? 1.0f : 0.0f;
    }
}

typedef struct follow_form {
    uint32_t kind;
    float share;
} follow_form;

/* The same, then input and result. */
static void follow_line(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    const follow_form *form = context;
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t k = (ptrdiff_t)i;
        at[0][k * step[0]] +=
            form->share * at[1][k * step[1]] * follow(form->kind, at[2][k * step[2]], at[3][k * step[3]]);
    }
}

mts_status mts_backward_reduce(const mts_step *step)
{
    const uint32_t input = step->node->inputs[0];
    mts_view x, y;
    if (!mts_step_gradients(step, &x, &y)) {
        return MTS_STATUS_OK;
    }
    const uint32_t kind = step->node->attrs.reduce.kind;
    const float factor = is_mean(kind) ? 1.0f / (float)reduced_count(step) : 1.0f;
    ptrdiff_t strides[MTS_TENSOR_RANK_MAX] = {0};
    mts_loop loop;
    reduced_strides(step, &y, strides);
    mts_loop_begin(&loop, step->count, mts_run_shape(step->run, input));
    mts_loop_add_strides(&loop, x.data, x.image, x.strides);
    mts_loop_add_strides(&loop, y.data, y.image, strides);
    if (kind > MTS_REDUCE_SUM) {
        mts_loop_add_strides(&loop, mts_run_view(step->run, input, 0).data, x.image, x.strides);
        mts_loop_add_strides(&loop, mts_run_view(step->run, step->node->output, 0).data, y.image, strides);
    }
    const follow_form form = {kind, factor};
    if (kind > MTS_REDUCE_SUM) {
        mts_loop_run(&loop, follow_line, &form);
    } else {
        mts_loop_run(&loop, spread_line, &factor);
    }
    return MTS_STATUS_OK;
}

/* ---- softmax: a loop over the lines along the axis, each handled by itself ---- */

typedef struct line_form {
    size_t length;
    ptrdiff_t step;
    bool log;
} line_form;

static void softmax_one(const line_form *form, const float *x, float *y)
{
    float most = -INFINITY;
    double sum = 0.0;
    for (size_t i = 0; i < form->length; i++) {
        const float v = x[(ptrdiff_t)i * form->step];
        most = v > most ? v : most;
    }
    for (size_t i = 0; i < form->length; i++) {
        sum += exp((double)x[(ptrdiff_t)i * form->step] - (double)most);
    }
    for (size_t i = 0; i < form->length; i++) {
        const double v = (double)x[(ptrdiff_t)i * form->step] - (double)most;
        y[(ptrdiff_t)i * form->step] = (float)(form->log ? v - log(sum) : exp(v) / sum);
    }
}

static void softmax_line(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        softmax_one(context, at[1] + (ptrdiff_t)i * step[1], at[0] + (ptrdiff_t)i * step[0]);
    }
}

/* The gradient of a line: y (d - sum(d y)), or d - exp(y) sum(d) of the logarithm. */
static void softmax_one_back(const line_form *form, const float *y, const float *d, float *gradient)
{
    double sum = 0.0;
    for (size_t i = 0; i < form->length; i++) {
        const ptrdiff_t k = (ptrdiff_t)i * form->step;
        sum += form->log ? (double)d[k] : (double)d[k] * (double)y[k];
    }
    for (size_t i = 0; i < form->length; i++) {
        const ptrdiff_t k = (ptrdiff_t)i * form->step;
        const double v =
            form->log ? (double)d[k] - exp((double)y[k]) * sum : (double)y[k] * ((double)d[k] - sum);
        gradient[k] += (float)v;
    }
}

static void softmax_line_back(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t k = (ptrdiff_t)i;
        softmax_one_back(context, at[1] + k * step[1], at[2] + k * step[2], at[0] + k * step[0]);
    }
}

static line_form begin_softmax(const mts_step *step, uint32_t images, mts_loop *loop)
{
    const mts_attrs_softmax *attrs = &step->node->attrs.softmax;
    const mts_view view = mts_run_view(step->run, step->node->output, step->first);
    mts_shape shape = *mts_run_shape(step->run, step->node->output);
    const line_form form = {
        .length = (size_t)shape.dims[attrs->axis], .step = view.strides[attrs->axis], .log = attrs->log != 0};
    shape.dims[attrs->axis] = 1;
    mts_loop_begin(loop, images, &shape);
    return form;
}

mts_status mts_forward_softmax(const mts_step *step)
{
    const mts_view x = mts_run_view(step->run, step->node->inputs[0], step->first);
    const mts_view y = mts_run_view(step->run, step->node->output, step->first);
    mts_loop loop;
    const line_form form = begin_softmax(step, step->count, &loop);
    mts_loop_add_strides(&loop, y.data, y.image, y.strides);
    mts_loop_add_strides(&loop, x.data, x.image, x.strides);
    mts_loop_run(&loop, softmax_line, &form);
    return MTS_STATUS_OK;
}

mts_status mts_backward_softmax(const mts_step *step)
{
    mts_view x, d;
    if (!mts_step_gradients(step, &x, &d)) {
        return MTS_STATUS_OK;
    }
    const mts_view y = mts_run_view(step->run, step->node->output, 0);
    mts_loop loop;
    const line_form form = begin_softmax(step, step->count, &loop);
    mts_loop_add_strides(&loop, x.data, x.image, x.strides);
    mts_loop_add_strides(&loop, y.data, y.image, y.strides);
    mts_loop_add_strides(&loop, d.data, d.image, d.strides);
    mts_loop_run(&loop, softmax_line_back, &form);
    return MTS_STATUS_OK;
}
