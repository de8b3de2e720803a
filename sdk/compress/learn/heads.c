/*
 * heads.c: see heads.h.
 *
 * Candidates' columns stand side by side in groups, so that one pass over the features of a
 * batch serves all candidates of a group. Every number is a sum in the order of features or
 * rows, whatever stands beside it: a candidate that trains alone gets the same bits. Groups
 * have nothing in common but the features and are jobs of their own.
 */
#include "compress/learn/heads.h"

#include <math.h>
#include <string.h>

#include "compress/learn/loss.h"
#include "compress/net/threads.h"
#include "compress/train/random.h"

#define COLUMNS 64u /* of a group, or of one candidate where it has more */
#define ROWS 4u     /* that share a pass over the weights */
#define DECAY_FIRST 0.9f
#define DECAY_SECOND 0.999f
#define EPSILON 1e-8f

/* Candidates whose columns stand side by side. */
typedef struct group {
    uint32_t first, count; /* candidates */
    uint32_t columns;
    float *weight, *moment, *square, *best; /* [features + 1][columns]; the last row is the bias */
    float *gradient;                        /* likewise */
    float *scores;                          /* [batch][columns] */
    float *batch;                           /* [batch][features + 1] */
    float *rate, *decay;                    /* [columns]: of the step in hand */
    uint32_t room;                          /* rows of scores and batch */
} group;

struct mts_heads {
    const mts_allocator *allocator;
    mts_arena arena;
    mts_heads_data data;
    const mtsz_train_candidate *candidates;
    uint32_t count;
    uint32_t stride;     /* features + 1 */
    float *features;     /* [rows][stride]: scaled, and a one */
    double *mean, *size; /* [features] */
    float unit;          /* of the weights: what rates are relative to */
    group *groups;
    uint32_t group_count;
    /* The call in hand. */
    const mts_learn_step *steps;
    uint32_t step_count;
    const bool *stopped;
    mts_standing *standings;
};

/* ---- making ---- */

static void scale_features(mts_heads *h)
{
    const mts_heads_data *d = &h->data;
    for (uint32_t r = 0; r < d->trained; r++) {
        for (uint32_t f = 0; f < d->count; f++) {
            h->mean[f] += (double)d->features[(size_t)r * d->count + f] / d->trained;
        }
    }
    for (uint32_t r = 0; r < d->trained; r++) {
        for (uint32_t f = 0; f < d->count; f++) {
            const double x = (double)d->features[(size_t)r * d->count + f] - h->mean[f];
            h->size[f] += x * x / d->trained;
        }
    }
    for (uint32_t f = 0; f < d->count; f++) { /* a feature that never changes is left at 0 */
        h->size[f] = h->size[f] > 1e-12 * (1.0 + h->mean[f] * h->mean[f]) ? sqrt(h->size[f]) : 1.0;
    }
    for (uint32_t r = 0; r < d->rows; r++) {
        float *to = h->features + (size_t)r * h->stride;
        for (uint32_t f = 0; f < d->count; f++) {
            to[f] = (float)(((double)d->features[(size_t)r * d->count + f] - h->mean[f]) / h->size[f]);
        }
        to[d->count] = 1.0f;
    }
}

/* Where a candidate's columns begin in its group. */
static uint32_t column_of(const mts_heads *h, const group *g, uint32_t candidate)
{
    return (candidate - g->first) * h->data.classes;
}

static void weights_start(const mts_heads *h, const group *g, uint32_t candidate)
{
    uint64_t state = h->candidates[candidate].seed;
    const uint32_t at = column_of(h, g, candidate);
    for (uint32_t f = 0; f < h->data.count; f++) {
        for (uint32_t c = 0; c < h->data.classes; c++) {
            g->weight[(size_t)f * g->columns + at + c] = h->unit * mts_random_signed(&state);
        }
    }
}

static bool group_make(mts_heads *h, group *g)
{
    const size_t count = (size_t)h->stride * g->columns;
    g->weight = mts_arena_zero(&h->arena, count, sizeof(float));
    g->moment = mts_arena_zero(&h->arena, count, sizeof(float));
    g->square = mts_arena_zero(&h->arena, count, sizeof(float));
    g->best = mts_arena_zero(&h->arena, count, sizeof(float));
    g->gradient = mts_arena_zero(&h->arena, count, sizeof(float));
    g->rate = mts_arena_zero(&h->arena, g->columns, sizeof(float));
    g->decay = mts_arena_zero(&h->arena, g->columns, sizeof(float));
    if (!g->weight || !g->moment || !g->square || !g->best || !g->gradient || !g->rate || !g->decay) {
        return false;
    }
    for (uint32_t k = g->first; k < g->first + g->count; k++) {
        weights_start(h, g, k);
    }
    return true;
}

static bool groups_make(mts_heads *h)
{
    const uint32_t together = h->data.classes < COLUMNS ? COLUMNS / h->data.classes : 1;
    h->group_count = (h->count + together - 1) / together;
    h->groups = mts_arena_zero(&h->arena, h->group_count, sizeof *h->groups);
    for (uint32_t i = 0; h->groups && i < h->group_count; i++) {
        group *g = &h->groups[i];
        g->first = i * together;
        g->count = h->count - g->first < together ? h->count - g->first : together;
        g->columns = g->count * h->data.classes;
        if (!group_make(h, g)) {
            return false;
        }
    }
    return h->groups;
}

mts_heads *mts_heads_create(const mts_heads_data *data, const mtsz_train_candidate *candidates,
                            uint32_t count, const mts_allocator *allocator)
{
    mts_heads *h = mts_alloc_zero(allocator, 1, sizeof *h);
    if (!h) {
        return NULL;
    }
    h->allocator = allocator;
    mts_arena_init(&h->arena, allocator);
    h->data = *data;
    h->candidates = candidates;
    h->count = count;
    h->stride = data->count + 1;
    h->unit = 1.0f / sqrtf((float)data->count);
    h->features = mts_arena_zero(&h->arena, (size_t)data->rows * h->stride, sizeof *h->features);
    h->mean = mts_arena_zero(&h->arena, data->count, sizeof *h->mean);
    h->size = mts_arena_zero(&h->arena, data->count, sizeof *h->size);
    if (!h->features || !h->mean || !h->size || !groups_make(h)) {
        mts_heads_destroy(&h);
        return NULL;
    }
    scale_features(h);
    return h;
}

void mts_heads_destroy(mts_heads **heads)
{
    mts_heads *h = *heads;
    if (!h) {
        return;
    }
    for (uint32_t i = 0; h->groups && i < h->group_count; i++) {
        mts_alloc_free(h->allocator, h->groups[i].scores);
        mts_alloc_free(h->allocator, h->groups[i].batch);
    }
    mts_arena_release(&h->arena);
    mts_alloc_free(h->allocator, h);
    *heads = NULL;
}

/* ---- products ---- */

/* out[rows][columns] = x[rows][stride] * weight[stride][columns] */
static void scores_run(const group *g, uint32_t stride, const float *x, uint32_t rows, float *out)
{
    const uint32_t n = g->columns;
    memset(out, 0, (size_t)rows * n * sizeof *out);
    for (uint32_t r = 0; r < rows; r += ROWS) {
        const uint32_t count = rows - r < ROWS ? rows - r : ROWS;
        for (uint32_t f = 0; f < stride; f++) {
            const float *restrict weight = g->weight + (size_t)f * n;
            for (uint32_t i = 0; i < count; i++) {
                const float value = x[(size_t)(r + i) * stride + f];
                float *restrict y = out + (size_t)(r + i) * n;
                for (uint32_t j = 0; j < n; j++) {
                    y[j] += value * weight[j];
                }
            }
        }
    }
}

/* gradient[stride][columns] = transposed x * d[rows][columns] */
static void gradient_run(const group *g, uint32_t stride, const float *x, const float *d, uint32_t rows)
{
    const uint32_t n = g->columns;
    memset(g->gradient, 0, (size_t)stride * n * sizeof *g->gradient);
    for (uint32_t f = 0; f < stride; f++) {
        float *restrict sum = g->gradient + (size_t)f * n;
        for (uint32_t r = 0; r < rows; r++) {
            const float value = x[(size_t)r * stride + f];
            const float *restrict row = d + (size_t)r * n;
            for (uint32_t j = 0; j < n; j++) {
                sum[j] += value * row[j];
            }
        }
    }
}

/* Adam with decoupled weight decay (Loshchilov, Hutter 2019). */
static void row_update(const group *g, size_t at, bool decays, float spread)
{
    const float *restrict gradient = g->gradient + at, *restrict rate = g->rate, *restrict decay = g->decay;
    float *restrict weight = g->weight + at, *restrict moment = g->moment + at,
                    *restrict square = g->square + at;
    for (uint32_t j = 0; j < g->columns; j++) {
        moment[j] += (1.0f - DECAY_FIRST) * (gradient[j] - moment[j]);
        square[j] += (1.0f - DECAY_SECOND) * (gradient[j] * gradient[j] - square[j]);
        const float kept = decays ? weight[j] - decay[j] * weight[j] : weight[j];
        weight[j] = kept - rate[j] * moment[j] / (sqrtf(square[j]) + EPSILON * spread);
    }
}

static void step_run(const mts_heads *h, group *g, const mts_learn_step *step)
{
    const uint32_t classes = h->data.classes;
    const double spread = sqrt(1.0 - pow((double)DECAY_SECOND, (double)step->number));
    const double start = 1.0 - pow((double)DECAY_FIRST, (double)step->number);
    for (uint32_t r = 0; r < step->count; r++) {
        memcpy(g->batch + (size_t)r * h->stride, h->features + (size_t)step->rows[r] * h->stride,
               h->stride * sizeof *g->batch);
    }
    scores_run(g, h->stride, g->batch, step->count, g->scores);
    for (uint32_t k = 0; k < g->count; k++) {
        const mtsz_train_candidate *candidate = &h->candidates[g->first + k];
        const double rate = candidate->rate * step->part;
        for (uint32_t c = 0; c < classes; c++) {
            g->rate[k * classes + c] = (float)(rate * (double)h->unit * spread / start);
            g->decay[k * classes + c] = (float)(rate * candidate->decay);
        }
        for (uint32_t r = 0; r < step->count; r++) {
            float *scores = g->scores + (size_t)r * g->columns + (size_t)k * classes;
            (void)mts_cross_entropy(scores, classes, h->data.labels[step->rows[r]], 1.0 / step->count,
                                    scores);
        }
    }
    gradient_run(g, h->stride, g->batch, g->scores, step->count);
    for (uint32_t f = 0; f < h->stride; f++) {
        row_update(g, (size_t)f * g->columns, f < h->data.count, (float)spread);
    }
}

/* ---- the learner ---- */

static bool group_stopped(const mts_heads *h, const group *g)
{
    for (uint32_t k = 0; k < g->count; k++) {
        if (!h->stopped[g->first + k]) {
            return false;
        }
    }
    return true;
}

static mts_status group_room(const mts_heads *h, group *g, uint32_t rows, mts_error *error)
{
    if (g->room >= rows) {
        return MTS_STATUS_OK;
    }
    mts_alloc_free(h->allocator, g->scores);
    mts_alloc_free(h->allocator, g->batch);
    g->scores = mts_alloc_zero(h->allocator, rows, g->columns * sizeof(float));
    g->batch = mts_alloc_zero(h->allocator, rows, h->stride * sizeof(float));
    g->room = g->scores && g->batch ? rows : 0;
    return g->room ? MTS_STATUS_OK : mts_fail_memory(error);
}

/* A stopped candidate trains on where its group does; its best numbers stay. */
static void train_job(void *context, uint32_t job)
{
    mts_heads *h = context;
    group *g = &h->groups[job];
    for (uint32_t i = 0; i < h->step_count && !group_stopped(h, g); i++) {
        step_run(h, g, &h->steps[i]);
    }
}

static mts_status heads_train(void *self, const mts_learn_step *steps, uint32_t count, const bool *stopped,
                              mts_status (*after)(void *context, uint32_t step, mts_error *error),
                              void *context, mts_error *error)
{
    mts_heads *h = self;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < h->group_count && status == MTS_STATUS_OK; i++) {
        status = group_room(h, &h->groups[i], steps->count, error);
    }
    if (status == MTS_STATUS_OK) {
        h->steps = steps;
        h->step_count = count;
        h->stopped = stopped;
        mts_threads_each(h->group_count, train_job, h);
        status = after(context, count - 1, error);
    }
    return status;
}

static void measure_candidate(const mts_heads *h, const group *g, uint32_t candidate, uint32_t first,
                              uint32_t rows)
{
    const uint32_t classes = h->data.classes;
    mts_standing *standing = &h->standings[candidate];
    for (uint32_t r = 0; r < rows; r++) {
        const float *scores = g->scores + (size_t)r * g->columns + column_of(h, g, candidate);
        const uint32_t label = h->data.labels[first + r];
        standing->right += mts_is_right(scores, classes, label) ? 1 : 0;
        standing->loss +=
            (mts_log_sum(scores, classes) - (double)scores[label]) / (double)(h->data.rows - h->data.trained);
    }
}

static void measure_job(void *context, uint32_t job)
{
    mts_heads *h = context;
    const group *g = &h->groups[job];
    if (group_stopped(h, g)) {
        return;
    }
    for (uint32_t first = h->data.trained; first < h->data.rows; first += g->room) {
        const uint32_t left = h->data.rows - first, rows = left < g->room ? left : g->room;
        scores_run(g, h->stride, h->features + (size_t)first * h->stride, rows, g->scores);
        for (uint32_t k = 0; k < g->count; k++) {
            measure_candidate(h, g, g->first + k, first, rows);
        }
    }
}

static mts_status heads_measure(void *self, const bool *stopped, mts_standing *standings, mts_error *error)
{
    mts_heads *h = self;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < h->group_count && status == MTS_STATUS_OK; i++) {
        status = group_room(h, &h->groups[i], 1, error);
    }
    memset(standings, 0, h->count * sizeof *standings);
    h->stopped = stopped;
    h->standings = standings;
    if (status == MTS_STATUS_OK) {
        mts_threads_each(h->group_count, measure_job, h);
    }
    return status;
}

static group *group_of(const mts_heads *h, uint32_t candidate)
{
    return &h->groups[candidate / h->groups[0].count];
}

/* Copies a candidate's columns of one of a group's arrays: out of it, or into it. */
static void columns_copy(const mts_heads *h, float *array, uint32_t candidate, float *out, const float *in)
{
    const group *g = group_of(h, candidate);
    const uint32_t classes = h->data.classes;
    for (uint32_t f = 0; f < h->stride; f++) {
        float *columns = array + (size_t)f * g->columns + column_of(h, g, candidate);
        if (in) {
            memcpy(columns, in + (size_t)f * classes, classes * sizeof *in);
        } else {
            memcpy(out + (size_t)f * classes, columns, classes * sizeof *out);
        }
    }
}

static void heads_keep(void *self, uint32_t candidate)
{
    const mts_heads *h = self;
    const group *g = group_of(h, candidate);
    for (uint32_t f = 0; f < h->stride; f++) {
        const size_t at = (size_t)f * g->columns + column_of(h, g, candidate);
        memcpy(g->best + at, g->weight + at, h->data.classes * sizeof *g->best);
    }
}

static void heads_save(void *self, uint32_t candidate, float *state)
{
    const mts_heads *h = self;
    const group *g = group_of(h, candidate);
    const size_t one = (size_t)h->stride * h->data.classes;
    columns_copy(h, g->weight, candidate, state, NULL);
    columns_copy(h, g->moment, candidate, state + one, NULL);
    columns_copy(h, g->square, candidate, state + 2 * one, NULL);
    columns_copy(h, g->best, candidate, state + 3 * one, NULL);
}

static void heads_load(void *self, uint32_t candidate, const float *state)
{
    const mts_heads *h = self;
    const group *g = group_of(h, candidate);
    const size_t one = (size_t)h->stride * h->data.classes;
    columns_copy(h, g->weight, candidate, NULL, state);
    columns_copy(h, g->moment, candidate, NULL, state + one);
    columns_copy(h, g->square, candidate, NULL, state + 2 * one);
    columns_copy(h, g->best, candidate, NULL, state + 3 * one);
}

mts_learner mts_heads_learner(mts_heads *heads)
{
    return (mts_learner){.self = heads,
                         .floats = 4 * (size_t)heads->stride * heads->data.classes,
                         .train = heads_train,
                         .measure = heads_measure,
                         .keep = heads_keep,
                         .save = heads_save,
                         .load = heads_load};
}

void mts_heads_best(const mts_heads *heads, uint32_t candidate, float *weight, float *bias)
{
    const mts_heads *h = heads;
    const group *g = group_of(h, candidate);
    const float *best = g->best + column_of(h, g, candidate);
    for (uint32_t c = 0; c < h->data.classes; c++) {
        double sum = (double)best[(size_t)h->data.count * g->columns + c];
        for (uint32_t f = 0; f < h->data.count; f++) {
            const double w = (double)best[(size_t)f * g->columns + c] / h->size[f];
            weight[(size_t)c * h->data.count + f] = (float)w;
            sum -= w * h->mean[f];
        }
        bias[c] = (float)sum;
    }
}
