/*
 * logistic.c: see logistic.h. The loss is convex; its gradient is summed over slices of
 * the rows on all processors, always in the same order.
 */
#include "compress/split/logistic.h"

#include <math.h>
#include <string.h>

#include "compress/net/threads.h"
#include "compress/split/minimize.h"

#define SLICES 16u
#define LANES 8u
#define TOLERANCE 1e-6

typedef struct fit {
    const mts_logistic *problem;
    uint32_t width;        /* inputs + 1 for the bias, rounded up to LANES */
    float *rows;           /* [count][width], of mean 0 and variance 1, then 1, then 0 */
    float *mean, *inverse; /* [inputs]: of the inputs, 1 / deviation */
    float *weight;         /* [outputs][width] */
    float *gradients;      /* [SLICES][outputs][width] */
    float *scores;         /* [SLICES][outputs] */
    double losses[SLICES], total;
} fit;

static float dot(const float *a, const float *b, uint32_t width)
{
    float lanes[LANES] = {0};
    float sum = 0;
    for (uint32_t i = 0; i < width; i += LANES) {
        for (uint32_t l = 0; l < LANES; l++) {
            lanes[l] += a[i + l] * b[i + l];
        }
    }
    for (uint32_t l = 0; l < LANES; l++) {
        sum += lanes[l];
    }
    return sum;
}

/* Scores to probabilities; returns the cross-entropy with the target. */
static double softmax_loss(float *scores, const float *target, uint32_t count)
{
    float most = scores[0];
    double sum = 0;
    double loss = 0;
    for (uint32_t j = 1; j < count; j++) {
        most = scores[j] > most ? scores[j] : most;
    }
    for (uint32_t j = 0; j < count; j++) {
        sum += exp((double)(scores[j] - most));
    }
    const double logarithm = log(sum) + (double)most;
    for (uint32_t j = 0; j < count; j++) {
        const double p = (double)scores[j] - logarithm;
        loss -= (double)target[j] * p;
        scores[j] = (float)exp(p);
    }
    return loss;
}

static mts_status slice_gradient(void *context, uint32_t slice, uint32_t worker, mts_error *error)
{
    fit *f = context;
    const mts_logistic *p = f->problem;
    const uint32_t first = (uint32_t)((uint64_t)p->count * slice / SLICES);
    const uint32_t end = (uint32_t)((uint64_t)p->count * (slice + 1) / SLICES);
    const size_t size = (size_t)p->outputs * f->width;
    float *gradient = f->gradients + slice * size;
    float *scores = f->scores + (size_t)slice * p->outputs;
    (void)worker;
    (void)error;
    memset(gradient, 0, size * sizeof *gradient);
    f->losses[slice] = 0;
    for (uint32_t i = first; i < end; i++) {
        const float *row = f->rows + (size_t)i * f->width;
        const float *target = p->targets + (size_t)i * p->outputs;
        const float weight = p->weights ? p->weights[i] : 1.0f;
        for (uint32_t j = 0; j < p->outputs; j++) {
            scores[j] = dot(row, f->weight + (size_t)j * f->width, f->width);
        }
        f->losses[slice] += (double)weight * softmax_loss(scores, target, p->outputs);
        for (uint32_t j = 0; j < p->outputs; j++) {
            const float slope = weight * (scores[j] - target[j]);
            float *out = gradient + (size_t)j * f->width;
            for (uint32_t k = 0; k < f->width; k++) {
                out[k] += slope * row[k];
            }
        }
    }
    return MTS_STATUS_OK;
}

static mts_status loss(void *context, const double *x, double *value, double *gradient, mts_error *error)
{
    fit *f = context;
    const mts_logistic *p = f->problem;
    const size_t size = (size_t)p->outputs * f->width;
    for (size_t i = 0; i < size; i++) {
        f->weight[i] = (float)x[i];
    }
    const mts_status status = mts_threads_run(SLICES, slice_gradient, f, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    *value = 0;
    memset(gradient, 0, size * sizeof *gradient);
    for (uint32_t s = 0; s < SLICES; s++) {
        *value += f->losses[s] / f->total;
        for (size_t i = 0; i < size; i++) {
            gradient[i] += (double)f->gradients[s * size + i] / f->total;
        }
    }
    for (size_t i = 0; i < size; i++) {
        if (i % f->width < p->inputs) { /* not the bias */
            *value += 0.5 * p->ridge * x[i] * x[i];
            gradient[i] += p->ridge * x[i];
        }
    }
    return MTS_STATUS_OK;
}

static double weight_of(const mts_logistic *problem, uint32_t row)
{
    return problem->weights ? (double)problem->weights[row] : 1.0;
}

static void find_scale(fit *f, uint32_t input)
{
    const mts_logistic *p = f->problem;
    double sum = 0;
    double squares = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        sum += weight_of(p, i) * (double)p->rows[(size_t)i * p->inputs + input];
    }
    const double mean = sum / f->total;
    for (uint32_t i = 0; i < p->count; i++) {
        const double difference = (double)p->rows[(size_t)i * p->inputs + input] - mean;
        squares += weight_of(p, i) * difference * difference;
    }
    const double deviation = sqrt(squares / f->total);
    f->mean[input] = (float)mean;
    /* an input that is always the same says nothing */
    f->inverse[input] = deviation > 1e-6 * fabs(mean) && deviation > 1e-20 ? (float)(1.0 / deviation) : 0.0f;
}

static void scale_rows(fit *f)
{
    const mts_logistic *p = f->problem;
    for (uint32_t k = 0; k < p->inputs; k++) {
        find_scale(f, k);
    }
    for (uint32_t i = 0; i < p->count; i++) {
        float *row = f->rows + (size_t)i * f->width;
        for (uint32_t k = 0; k < p->inputs; k++) {
            row[k] = (p->rows[(size_t)i * p->inputs + k] - f->mean[k]) * f->inverse[k];
        }
        row[p->inputs] = 1.0f;
    }
}

static void write_layer(const fit *f, const double *x, float *weight, float *bias)
{
    const mts_logistic *p = f->problem;
    for (uint32_t j = 0; j < p->outputs; j++) {
        const double *from = x + (size_t)j * f->width;
        double constant = from[p->inputs];
        for (uint32_t k = 0; k < p->inputs; k++) {
            const double scaled = from[k] * (double)f->inverse[k];
            weight[(size_t)j * p->inputs + k] = (float)scaled;
            constant -= scaled * (double)f->mean[k];
        }
        bias[j] = (float)constant;
    }
}

mts_status mts_logistic_fit(const mts_logistic *problem, float *weight, float *bias,
                            const mts_allocator *allocator, mts_error *error)
{
    mts_arena arena;
    fit f = {.problem = problem, .width = (problem->inputs + 1 + LANES - 1) / LANES * LANES};
    const size_t size = (size_t)problem->outputs * f.width;
    for (uint32_t i = 0; i < problem->count; i++) {
        f.total += weight_of(problem, i);
    }
    if (!(f.total > 0.0) || !isfinite(f.total)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "a layer cannot be fitted to no images");
    }
    mts_arena_init(&arena, allocator);
    f.rows = mts_arena_zero(&arena, problem->count, f.width * sizeof *f.rows);
    f.mean = mts_arena_zero(&arena, problem->inputs, sizeof *f.mean);
    f.inverse = mts_arena_zero(&arena, problem->inputs, sizeof *f.inverse);
    f.weight = mts_arena_zero(&arena, size, sizeof *f.weight);
    f.gradients = mts_arena_zero(&arena, size, SLICES * sizeof *f.gradients);
    f.scores = mts_arena_zero(&arena, problem->outputs, SLICES * sizeof *f.scores);
    double *x = mts_arena_zero(&arena, size, sizeof *x);
    mts_status status = MTS_STATUS_OK;
    if (!f.rows || !f.mean || !f.inverse || !f.weight || !f.gradients || !f.scores || !x) {
        status = mts_fail_memory(error);
    } else {
        scale_rows(&f);
        status = mts_minimize(loss, &f, x, size, problem->steps, TOLERANCE, allocator, error);
    }
    if (status == MTS_STATUS_OK) {
        write_layer(&f, x, weight, bias);
    }
    mts_arena_release(&arena);
    return status;
}
