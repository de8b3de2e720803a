/*
 * norm.c: normalisations, forwards and backwards.
 *
 * Each set of elements that are normalised together has one number of the statistics.
 * Loops run over the elements with a stride of 0 for what a set has once. Channels that
 * form groups count as two dimensions.
 */
#include <math.h>
#include <string.h>

#include "compress/net/inside.h"
#include "kernels/abi/kinds.h"

/* Numbers of the sets, one array after another in the run's scratch. */
typedef struct statistics {
    float *mean, *factor; /* y = (x - mean) factor, before scale and bias */
    float *sum, *product; /* backwards: of g, and of g (x - mean) */
} statistics;

typedef struct form {
    const mts_step *step;
    const mts_attrs_norm *norm;
    mts_shape shape; /* of an image, groups and channels of a group apart */
    ptrdiff_t sets[MTS_TENSOR_RANK_MAX];
    size_t per_image, count; /* sets of an image, elements of a set */
    statistics of;
} form;

/* Strides of a value or factor as those of the shape with groups. */
static void split_strides(const form *f, const ptrdiff_t *from, ptrdiff_t to[MTS_TENSOR_RANK_MAX])
{
    const uint32_t extra = f->norm->groups > 1 ? 1 : 0;
    for (uint32_t i = 0, k = 0; i < f->shape.rank; i++) {
        to[i] = extra && i == 1 ? from[1] * (ptrdiff_t)f->shape.dims[2] : from[k];
        k += extra && i == 1 ? 0 : 1;
    }
}

static mts_status begin(const mts_step *step, form *f)
{
    const mts_shape *shape = mts_run_shape(step->run, step->node->output);
    *f = (form){.step = step, .norm = &step->node->attrs.norm, .shape = *shape, .per_image = 1};
    const uint32_t extra = f->norm->groups > 1 ? 1 : 0;
    if (extra) {
        memmove(f->shape.dims + 2, shape->dims + 1, (shape->rank - 1) * sizeof shape->dims[0]);
        f->shape.dims[1] = f->norm->groups;
        f->shape.dims[2] = shape->dims[1] / (int64_t)f->norm->groups;
        f->shape.rank++;
    }
    for (uint32_t i = f->shape.rank; i-- > 0;) {
        const uint32_t own = extra && i > 0 ? i - 1 : i;
        const bool inside = (f->norm->axes >> own & 1u) != 0 && !(extra && i == 1);
        f->sets[i] = inside ? 0 : (ptrdiff_t)f->per_image;
        f->per_image *= inside ? 1 : (size_t)f->shape.dims[i];
    }
    f->count = mts_shape_count(shape) / f->per_image;
    const size_t all = f->per_image * step->count;
    float *scratch = mts_run_scratch(step->run, 4 * all, step->error);
    if (!scratch) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    memset(scratch, 0, 4 * all * sizeof *scratch);
    f->of = (statistics){scratch, scratch + all, scratch + 2 * all, scratch + 3 * all};
    return MTS_STATUS_OK;
}

/* ---- loops ---- */

static void add_view(const form *f, mts_loop *loop, const mts_view *view)
{
    ptrdiff_t strides[MTS_TENSOR_RANK_MAX] = {0};
    split_strides(f, view->strides, strides);
    mts_loop_add_strides(loop, view->data, view->image, strides);
}

static void add_statistic(const form *f, mts_loop *loop, float *numbers)
{
    mts_loop_add_strides(loop, numbers, (ptrdiff_t)f->per_image, f->sets);
}

/* Operands: what is multiplied or added to, and a factor. */
static void multiply_line(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    const bool add = *(const bool *)context;
    for (size_t i = 0; i < count; i++) {
        float *y = &at[0][(ptrdiff_t)i * step[0]];
        const float number = at[1][(ptrdiff_t)i * step[1]];
        *y = add ? *y + number : *y * number;
    }
}

/* Multiplies by the scale, or adds the bias, where the node has it. */
static void apply_factor(const form *f, const mts_view *y, uint32_t input)
{
    const uint32_t value = mts_node_input(f->step->node, input);
    const mts_shape *own = value == MTS_NONE ? NULL : mts_run_shape(f->step->run, value);
    const bool add = input == 2;
    if (!own) {
        return;
    }
    const mts_shape *shape = mts_run_shape(f->step->run, f->step->node->output);
    const mts_view factor = mts_run_view(f->step->run, value, 0);
    mts_view wide = {.data = factor.data};
    for (uint32_t i = 0; i < own->rank; i++) {
        wide.strides[shape->rank - own->rank + i] = own->dims[i] == 1 ? 0 : factor.strides[i];
    }
    mts_loop loop;
    mts_loop_begin(&loop, f->step->count, &f->shape);
    add_view(f, &loop, y);
    add_view(f, &loop, &wide);
    mts_loop_run(&loop, multiply_line, &add);
}

/* ---- statistics ---- */

/* Operands: x, mean, what the term is added to: x, (x - mean)^2 or |x|. */
static void sum_line(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    const int term = *(const int *)context;
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t k = (ptrdiff_t)i;
        const double x = (double)at[0][k * step[0]];
        const double d = x - (double)at[1][k * step[1]];
        const double value = term == 0 ? x : term == 1 ? d * d : fabs(x);
        if (step[2] == 0) {
            sum += value;
        } else {
            at[2][k * step[2]] += (float)value;
        }
    }
    if (step[2] == 0) {
        *at[2] += (float)sum;
    }
}

static void sum_terms(const form *f, const mts_view *x, int term, float *to)
{
    mts_loop loop;
    mts_loop_begin(&loop, f->step->count, &f->shape);
    add_view(f, &loop, x);
    add_statistic(f, &loop, f->of.mean);
    add_statistic(f, &loop, to);
    mts_loop_run(&loop, sum_line, &term);
}

static double factor_of(const form *f, double sum)
{
    const double epsilon = (double)f->norm->epsilon, mean = sum / (double)f->count;
    switch (f->norm->kind) {
    case MTS_NORM_L1:
        return 1.0 / (sum <= epsilon ? epsilon : sum); /* NaN stays */
    case MTS_NORM_L2:
        return 1.0 / (sqrt(sum) <= epsilon ? epsilon : sqrt(sum));
    case MTS_NORM_DEVIATION:
        return 1.0 / (sqrt(mean) + epsilon);
    default:
        return 1.0 / sqrt(mean + epsilon);
    }
}

static void measure(const form *f, const mts_view *x)
{
    const size_t all = f->per_image * f->step->count;
    if (f->norm->kind <= MTS_NORM_DEVIATION) {
        sum_terms(f, x, 0, f->of.sum);
        for (size_t i = 0; i < all; i++) {
            f->of.mean[i] = f->of.sum[i] / (float)f->count;
            f->of.sum[i] = 0.0f;
        }
    }
    sum_terms(f, x, f->norm->kind == MTS_NORM_L1 ? 2 : 1, f->of.factor);
    for (size_t i = 0; i < all; i++) {
        f->of.factor[i] = (float)factor_of(f, (double)f->of.factor[i]);
    }
}

/* ---- forwards ---- */

/* Operands: y, x, mean, factor. */
static void write_line(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t k = (ptrdiff_t)i;
        at[0][k * step[0]] = (at[1][k * step[1]] - at[2][k * step[2]]) * at[3][k * step[3]];
    }
}

mts_status mts_forward_norm(const mts_step *step)
{
    const uint32_t output = step->node->output;
    const mts_view x = mts_run_view(step->run, step->node->inputs[0], step->first);
    const mts_view y = mts_run_view(step->run, output, step->first);
    const size_t elements = mts_net_elements(step->run->net->graph, output);
    form f;
    const mts_status status = begin(step, &f);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    measure(&f, &x);
    mts_loop loop;
    mts_loop_begin(&loop, step->count, &f.shape);
    add_view(&f, &loop, &y);
    add_view(&f, &loop, &x);
    add_statistic(&f, &loop, f.of.mean);
    add_statistic(&f, &loop, f.of.factor);
    mts_loop_run(&loop, write_line, NULL);
    apply_factor(&f, &y, 1);
    apply_factor(&f, &y, 2);
    mts_run_keep_before(step, y.data, elements);
    mts_act_apply(&f.norm->act, NULL, 1, y.data, elements * step->count);
    return MTS_STATUS_OK;
}

/* ---- backwards: g is the gradient of (x - mean) factor ---- */

/* Operands: g, x, mean, sum of g, sum of g (x - mean). */
static void gather_line(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t k = (ptrdiff_t)i;
        const float g = at[0][k * step[0]];
        at[3][k * step[3]] += g;
        at[4][k * step[4]] += g * (at[1][k * step[1]] - at[2][k * step[2]]);
    }
}

/* Operands: gradient of x, g, factor. */
static void pass_line(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t k = (ptrdiff_t)i;
        at[0][k * step[0]] += at[1][k * step[1]] * at[2][k * step[2]];
    }
}

/* Operands: gradient of x, x, mean, shift, slope: what follows through the mean and the
   divisor. */
static void correct_line(const void *context, float *const *at, const ptrdiff_t *step, size_t count)
{
    const bool sign = *(const bool *)context;
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t k = (ptrdiff_t)i;
        const float d = at[1][k * step[1]] - at[2][k * step[2]];
        const float by = sign ? (d > 0.0f ? 1.0f : d < 0.0f ? -1.0f : 0.0f) : d;
        at[0][k * step[0]] -= at[3][k * step[3]] + by * at[4][k * step[4]];
    }
}

/* Makes of the sums the shift and slope of correct_line. */
static void derive(const form *f)
{
    const float n = (float)f->count, epsilon = f->norm->epsilon;
    for (size_t i = 0; i < f->per_image * f->step->count; i++) {
        const float factor = f->of.factor[i], product = f->of.product[i];
        const float cubed = factor * factor * factor * product;
        const float deviation = 1.0f / factor - epsilon;
        const bool bounded = f->norm->kind >= MTS_NORM_L2 && !(1.0f / factor > epsilon);
        f->of.sum[i] = f->norm->kind <= MTS_NORM_DEVIATION ? factor * f->of.sum[i] / n : 0.0f;
        f->of.product[i] = bounded ? 0.0f
                           : f->norm->kind == MTS_NORM_DEVIATION
                               ? (deviation > 0.0f ? factor * factor * product / (n * deviation) : 0.0f)
                           : f->norm->kind == MTS_NORM_L1 ? factor * factor * product
                           : f->norm->kind == MTS_NORM_L2 ? cubed
                                                          : cubed / n;
    }
}

mts_status mts_backward_norm(const mts_step *step)
{
    mts_net_run *run = step->run;
    const uint32_t output = step->node->output;
    const size_t count = mts_net_elements(run->net->graph, output) * step->count;
    mts_view dx, g;
    if (!mts_step_gradients(step, &dx, &g)) {
        return MTS_STATUS_OK;
    }
    const mts_view x = mts_run_view(run, step->node->inputs[0], 0);
    form f;
    const mts_status status = begin(step, &f);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    measure(&f, &x);
    mts_act_derive(&f.norm->act, NULL, 1, run->before[output], run->values[output], run->gradients[output],
                   count);
    apply_factor(&f, &g, 1);
    mts_loop loops[3];
    for (int i = 0; i < 3; i++) {
        mts_loop_begin(&loops[i], step->count, &f.shape);
        add_view(&f, &loops[i], i == 0 ? &g : &dx);
        add_view(&f, &loops[i], i == 1 ? &g : &x);
        add_statistic(&f, &loops[i], i == 1 ? f.of.factor : f.of.mean);
        if (i != 1) {
            add_statistic(&f, &loops[i], f.of.sum);
            add_statistic(&f, &loops[i], f.of.product);
        }
    }
    const bool sign = f.norm->kind == MTS_NORM_L1;
    mts_loop_run(&loops[0], gather_line, NULL);
    derive(&f);
    mts_loop_run(&loops[1], pass_line, NULL);
    mts_loop_run(&loops[2], correct_line, &sign);
    return MTS_STATUS_OK;
}
