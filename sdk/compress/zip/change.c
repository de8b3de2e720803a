/*
 * change.c: see change.h.
 */
#include "compress/zip/change.h"

#include <math.h>

#include "compress/train/answers.h"

#define BATCH 8u

static bool classifies(const mts_graph *graph)
{
    const mts_answer answer = mts_answer_of(graph, 0);
    return answer.classes > 0 && answer.classes == answer.elements;
}

static uint32_t largest(const float *numbers, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = numbers[i] > numbers[best] ? i : best;
    }
    return (uint32_t)best;
}

bool mts_change_worse(double change, double than)
{
    return change > than || (isnan(change) && !isnan(than));
}

/* log(sum of exp), and what is subtracted from scores makes logarithms of probabilities. */
static double log_sum(const float *scores, size_t count)
{
    const double most = (double)scores[largest(scores, count)];
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += exp((double)scores[i] - most);
    }
    return most + log(sum);
}

#define PROBABILITY_LEAST 1e-7 /* float32 does not tell smaller ones from 0 beside 1 */

static double logarithm(float probability)
{
    return log((double)probability <= PROBABILITY_LEAST ? PROBABILITY_LEAST
                                                        : (double)probability); /* NaN stays */
}

static double divergence_of(mts_change_form form, const float *original, const float *now, size_t size)
{
    const bool scores = form == MTS_CHANGE_SCORES;
    const double norm = scores ? log_sum(original, size) : 0.0, norm_now = scores ? log_sum(now, size) : 0.0;
    double sum = 0.0;
    for (size_t i = 0; i < size; i++) {
        const double p = scores ? (double)original[i] - norm : logarithm(original[i]);
        const double q = scores ? (double)now[i] - norm_now : logarithm(now[i]);
        const double part = exp(p);
        sum += part == 0.0 ? 0.0 : part * (p - q); /* a class that is ruled out may have -INFINITY twice */
    }
    return sum;
}

mts_change_form mts_change_form_of(const mts_graph *graph, const float *answers, size_t size, uint32_t images)
{
    if (!classifies(graph)) {
        return MTS_CHANGE_NUMBERS;
    }
    for (uint32_t i = 0; i < images; i++) {
        double sum = 0.0;
        bool scores = false;
        for (size_t c = 0; c < size; c++) {
            scores = scores || answers[i * size + c] < 0.0f;
            sum += (double)answers[i * size + c];
        }
        if (scores || fabs(sum - 1.0) > 1e-3) {
            return MTS_CHANGE_SCORES;
        }
    }
    return MTS_CHANGE_PROBABILITIES;
}

double mts_change_loss(const mts_change *sums)
{
    if (sums->images == 0 || sums->numbers == 0) {
        return 0.0;
    }
    if (sums->form != MTS_CHANGE_NUMBERS) {
        return 50.0 * sums->divergence / sums->images;
    }
    const double count = (double)sums->numbers;
    const double variance = sums->square / count - sums->sum * sums->sum / (count * count);
    return 100.0 * sums->difference / count / (variance > 1e-20 ? variance : 1e-20);
}

void mts_change_add(mts_change *sums, const float *original, const float *now, size_t size, uint32_t images)
{
    for (uint32_t i = 0; i < images; i++) {
        sums->images++;
        const uint32_t answer = largest(now + i * size, size);
        sums->divergence += sums->form == MTS_CHANGE_NUMBERS
                                ? 0.0
                                : divergence_of(sums->form, original + i * size, now + i * size, size);
        sums->other += answer != largest(original + i * size, size) || isnan(now[i * size + answer]) ? 1 : 0;
    }
    for (size_t i = 0; i < size * images; i++) {
        const double d = (double)original[i] - (double)now[i];
        sums->difference += d * d;
        sums->sum += (double)original[i];
        sums->square += (double)original[i] * (double)original[i];
    }
    sums->numbers += size * images;
}

double mts_change_of(const mts_change *sums, const mts_graph *graph)
{
    if (sums->images == 0 || sums->numbers == 0) {
        return 0.0;
    }
    if (classifies(graph)) {
        return 100.0 * sums->other / sums->images;
    }
    const double count = (double)sums->numbers;
    const double variance = sums->square / count - sums->sum * sums->sum / (count * count);
    return 100.0 * sqrt(sums->difference / count / (variance > 1e-20 ? variance : 1e-20));
}

/* ---- two graphs side by side ---- */

typedef struct pair {
    mts_net *nets[2];
    mts_net_run *runs[2];
    const mts_graph *graphs[2];
    uint32_t batch;
} pair;

static mts_status pair_open(pair *p, uint32_t images, const mts_allocator *allocator, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    p->batch = images < BATCH ? images : BATCH;
    for (uint32_t i = 0; i < 2 && status == MTS_STATUS_OK; i++) {
        const mts_graph *graph = p->graphs[i];
        if (graph->output_count == 0 || graph->values[graph->outputs[0].value].kind != MTS_VALUE_NODE) {
            return mts_fail(error, MTS_STATUS_UNSUPPORTED, "its first output is not computed");
        }
        status = mts_net_create(graph, allocator, &p->nets[i], error);
        MTS_TRY(status, mts_net_run_create(p->nets[i], p->batch, MTS_NET_INFERENCE, &p->runs[i], error));
    }
    return status;
}

static void pair_close(pair *p)
{
    for (uint32_t i = 0; i < 2; i++) {
        mts_net_run_destroy(&p->runs[i]);
        mts_net_destroy(&p->nets[i]);
    }
}

static mts_status pair_run(pair *p, mts_data *data, uint32_t task, uint32_t first, uint32_t count,
                           mts_change *sums, mts_error *error)
{
    uint32_t indices[BATCH];
    const float *outputs[2];
    for (uint32_t i = 0; i < count; i++) {
        indices[i] = first + i;
    }
    for (uint32_t i = 0; i < 2; i++) {
        mts_status status = mts_data_feed(data, task, p->runs[i], indices, count, NULL, error);
        MTS_TRY(status, mts_net_run_forward(p->runs[i], count, 0, p->graphs[i]->node_count, error));
        if (status != MTS_STATUS_OK) {
            return status;
        }
        outputs[i] = mts_net_run_value(p->runs[i], p->graphs[i]->outputs[0].value);
    }
    const mts_graph *graph = p->graphs[0];
    const size_t size = mts_shape_count(&graph->values[graph->outputs[0].value].shape);
    mts_change_add(sums, outputs[0], outputs[1], size, count);
    return MTS_STATUS_OK;
}

mts_status mts_change_between(const mts_graph *original, const mts_graph *now, mts_data *data, uint32_t task,
                              const mts_allocator *allocator, double *percent, mts_error *error)
{
    const uint32_t images = mts_data_count(data);
    pair p = {.graphs = {original, now}};
    mts_change sums = {0};
    mts_status status = pair_open(&p, images, allocator, error);
    for (uint32_t first = 0; first < images && status == MTS_STATUS_OK; first += p.batch) {
        const uint32_t count = images - first < p.batch ? images - first : p.batch;
        status = pair_run(&p, data, task, first, count, &sums, error);
    }
    *percent = mts_change_of(&sums, original);
    pair_close(&p);
    return status;
}
