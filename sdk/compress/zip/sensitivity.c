/*
 * sensitivity.c: what each row costs, from unlabelled images: the row alone is shared among
 * tasks, all others stay as they are.
 *
 * A row's statistics give the variance that each channel of each task loses by a common
 * filter, and the variance that each rank of a difference gives back. How many points of
 * accuracy a unit of variance is worth is measured: the row's zipped filters are put into the
 * original networks and the answers compared. Loss grows in proportion to variance as long as
 * it is small, so one measurement of a row and task is enough.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "compress/net/threads.h"
#include "compress/solve/product.h"
#include "compress/zip/merge.h"
#include "compress/zip/pam.h"
#include "compress/zip/plan.h"

#define IMAGES_MOST 512u
#define BATCH_MOST 32u
#define LOSS_LINEAR 3.0 /* points of a row alone; above it, loss no longer follows variance */

typedef struct sensing {
    mts_zip *zip;
    mts_zip_row *row;
    mts_zip_curve *curve;
    mts_zip_fit *fit;
    uint32_t images;                   /* that answers are compared on */
    float *answers[MTS_ZIP_TASKS_MAX]; /* of the originals to these */
} sensing;

/* ---- answers with one row changed ---- */

/* The slot of the traces, and so the image, that image i of `images` is. */
static uint32_t slot_of(const sensing *s, uint32_t i)
{
    return (uint32_t)((uint64_t)i * s->zip->trace_images / s->images);
}

static mts_status load(const sensing *s, uint32_t t, mts_net_run *run, uint32_t first, uint32_t count,
                       uint32_t *node, mts_error *error)
{
    const mts_zip_trace *trace = &s->zip->traces[0][t];
    uint32_t indices[BATCH_MOST];
    *node = trace->node;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t slot = slot_of(s, first + i);
        indices[i] = mts_zip_image_fit(s->zip, slot, s->zip->trace_images);
        if (trace->node) {
            mts_zip_trace_load(trace, run, i, slot, 1);
        }
    }
    return trace->node ? MTS_STATUS_OK : mts_data_feed(s->zip->data, t, run, indices, count, NULL, error);
}

static size_t answer_size(const mts_zip *zip, uint32_t t)
{
    const mts_graph *graph = zip->tasks[t].graph;
    return mts_shape_count(&graph->values[graph->outputs[0].value].shape);
}

/* Runs a task from the row's trace to the end; `sums` NULL: keeps the answers instead. */
static mts_status answer(const sensing *s, uint32_t t, mts_net_run *run, mts_change *sums, mts_error *error)
{
    mts_zip *zip = s->zip;
    const mts_graph *graph = zip->tasks[t].graph;
    const size_t size = answer_size(zip, t);
    mts_status status = MTS_STATUS_OK;
    for (uint32_t first = 0; first < s->images && status == MTS_STATUS_OK; first += zip->batch) {
        const uint32_t count = s->images - first < zip->batch ? s->images - first : zip->batch;
        uint32_t node = 0;
        status = load(s, t, run, first, count, &node, error);
        MTS_TRY(status, mts_net_run_forward(run, count, node, graph->node_count, error));
        if (status != MTS_STATUS_OK) {
            break;
        }
        float *known = s->answers[t] + first * size;
        const float *now = mts_net_run_value(run, graph->outputs[0].value);
        if (sums) {
            mts_change_add(sums, known, now, size, count);
        } else {
            memcpy(known, now, size * count * sizeof *known);
        }
    }
    return status;
}

static mts_status open_job(void *context, uint32_t t, uint32_t worker, mts_error *error)
{
    (void)worker;
    const sensing *s = context;
    return s->zip->frozen[t] ? MTS_STATUS_OK : answer(s, t, s->zip->original_runs[t], NULL, error);
}

static mts_status look_job(void *context, uint32_t t, uint32_t worker, mts_error *error)
{
    (void)worker;
    const sensing *s = context;
    mts_zip *zip = s->zip;
    mts_change sums = {.form = zip->forms[t]};
    const mts_status status = zip->frozen[t] ? MTS_STATUS_OK : answer(s, t, zip->runs[t], &sums, error);
    zip->loss[t] = mts_change_loss(&sums);
    return status;
}

/* ---- partitions ---- */

/* One less the mean squared correlation of the pre-activations that two tasks' filters make of the
   same inputs; of either task's inputs, which C = G w of the originals holds. */
static double distance(const mts_zip *zip, const mts_zip_row *row, const mts_zip_stats *stats, uint32_t a,
                       uint32_t b)
{
    const uint32_t length = row->inputs * row->taps;
    double sum = 0.0;
    for (uint32_t o = 0; o < row->outputs; o++) {
        double dot = 0.0, norm[2] = {1e-30, 1e-30};
        for (uint32_t side = 0; side < 2; side++) {
            const uint32_t t = side ? b : a, other = side ? a : b;
            const mts_net_layer own = mts_net_layer_of(zip->originals[t], row->nodes[t]);
            const mts_net_layer layer = mts_net_layer_of(zip->originals[other], row->nodes[other]);
            const double *c = stats[t].gram.xy + (size_t)o * length;
            for (uint32_t i = 0; i < length; i++) {
                const size_t at = (size_t)o * length + i;
                dot += 0.5 * (double)layer.scale[o] * (double)layer.weight[at] * c[i];
                norm[side] += (double)own.scale[o] * (double)own.weight[at] * c[i];
            }
        }
        const double square = dot * dot / (norm[0] * norm[1]);
        sum += isfinite(square) && square < 1.0 ? 1.0 - square : 0.0;
    }
    return sum / row->outputs;
}

static void take_partition(const mts_zip *zip, const uint32_t *group, uint32_t groups, mts_zip_partition *out)
{
    out->part_count = 0;
    for (uint32_t g = 0; g < groups; g++) {
        uint64_t tasks = 0;
        uint32_t count = 0;
        for (uint32_t t = 0; t < zip->count; t++) {
            tasks |= group[t] == g ? (uint64_t)1 << t : 0;
            count += group[t] == g ? 1 : 0;
        }
        if (count > 1) {
            out->parts[out->part_count++] = tasks;
        }
    }
}

/* All tasks; and two and a quarter of them as many parts, by similarity. With a base, all only. */
static mts_status partitions(sensing *s, const mts_zip_stats *stats)
{
    mts_zip *zip = s->zip;
    const uint32_t n = zip->count, groups[MTS_ZIP_PARTITIONS] = {1, 2, n / 4};
    uint32_t group[MTS_ZIP_TASKS_MAX] = {0};
    double *distances = mts_alloc_zero(zip->allocator, (size_t)n * n, sizeof *distances);
    if (!distances) {
        return mts_fail_memory(zip->error);
    }
    for (uint32_t a = 0; a < n && !zip->based; a++) {
        for (uint32_t b = 0; b < a; b++) {
            distances[a * n + b] = distances[b * n + a] = distance(zip, s->row, stats, a, b);
        }
    }
    take_partition(zip, group, 1, &s->curve->partitions[0]);
    s->curve->partition_count = 1;
    for (uint32_t i = 1; i < MTS_ZIP_PARTITIONS && !zip->based && n > 2; i++) {
        if (groups[i] > groups[i - 1]) {
            (void)mts_pam(distances, n, groups[i], group);
            take_partition(zip, group, groups[i], &s->curve->partitions[s->curve->partition_count++]);
        }
    }
    mts_alloc_free(zip->allocator, distances);
    return MTS_STATUS_OK;
}

/* ---- curves ---- */

/* The originals' filters are the best for their own inputs. */
static void own_of_original(const mts_zip_fit *fit, uint32_t t)
{
    const mts_net_layer layer = mts_net_layer_of(fit->zip->originals[t], fit->row->nodes[t]);
    for (size_t i = 0; i < (size_t)fit->outputs * fit->length; i++) {
        fit->own[t][i] = (double)layer.scale[i / fit->length] * (double)layer.weight[i];
    }
}

static bool wants_ranks(const mts_zip *zip, const mts_zip_row *row)
{
    return row->reducible && mts_zip_plan_allows(zip, MTSZ_FORM_LOW_RANK);
}

static mts_status take_prices(sensing *s, mts_zip_partition *partition)
{
    mts_zip *zip = s->zip;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t p = 0; p < partition->part_count && status == MTS_STATUS_OK; p++) {
        s->fit->tasks = partition->parts[p];
        status = mts_zip_fit_common(s->fit);
        for (uint32_t t = 0; t < zip->count && status == MTS_STATUS_OK; t++) {
            if (!mts_zip_fit_takes(s->fit, t)) {
                continue;
            }
            const size_t outputs = s->row->outputs;
            partition->price[t] = mts_arena_zero(&zip->arena, outputs, sizeof(double));
            partition->energy[t] =
                wants_ranks(zip, s->row) ? mts_arena_zero(&zip->arena, outputs, sizeof(double)) : NULL;
            if (!partition->price[t] || (wants_ranks(zip, s->row) && !partition->energy[t])) {
                return mts_fail_memory(zip->error);
            }
            memcpy(partition->price[t], s->fit->common_loss[t], outputs * sizeof(double));
            status = partition->energy[t] ? mts_zip_delta_energy(s->fit, t, partition->energy[t], zip->error)
                                          : status;
        }
    }
    return status;
}

/* ---- what variance costs ---- */

static void restore(const sensing *s)
{
    for (uint32_t t = 0; t < s->zip->count; t++) {
        if (!s->zip->frozen[t]) {
            mts_zip_put_layer(s->zip, s->row, t, s->zip->originals[t]);
        }
    }
}

/* The mean loss if the `shared` cheapest channels are common; lost[task]: their variance. */
static mts_status measure(sensing *s, const mts_zip_candidate *order, uint32_t shared, double *lost,
                          double *mean)
{
    mts_zip *zip = s->zip;
    uint32_t changing = 0;
    restore(s);
    for (uint32_t t = 0; t < zip->count; t++) {
        lost[t] = 0.0;
        changing += zip->frozen[t] ? 0 : 1;
        for (uint32_t i = 0; i < shared && !zip->frozen[t]; i++) {
            lost[t] += s->fit->common_loss[t][order[i].channel];
            mts_zip_put_common(s->fit, s->row, t, order[i].channel);
        }
    }
    const mts_status status = mts_threads_run(zip->count, look_job, s, zip->error);
    *mean = 0.0;
    for (uint32_t t = 0; t < zip->count; t++) {
        *mean += zip->frozen[t] ? 0.0 : zip->loss[t] / (changing ? changing : 1);
    }
    return status;
}

/* After the fit of all tasks: points for a unit of variance of each task. */
static mts_status weigh(sensing *s)
{
    mts_zip *zip = s->zip;
    const uint32_t outputs = s->row->outputs;
    double lost[MTS_ZIP_TASKS_MAX] = {0.0}, mean = INFINITY;
    mts_zip_candidate *order = mts_alloc_zero(zip->allocator, outputs, sizeof *order);
    mts_status status = order ? MTS_STATUS_OK : mts_fail_memory(zip->error);
    for (uint32_t o = 0; order && o < outputs; o++) {
        order[o].channel = o;
        for (uint32_t t = 0; t < zip->count; t++) {
            order[o].price += zip->frozen[t] ? 0.0 : s->fit->common_loss[t][o];
        }
    }
    if (order) {
        mts_zip_candidates_sort(order, outputs);
    }
    for (uint32_t shared = outputs; status == MTS_STATUS_OK && shared && !(mean <= LOSS_LINEAR);
         shared /= 2) {
        status = measure(s, order, shared, lost, &mean);
    }
    for (uint32_t t = 0; t < zip->count; t++) {
        const bool known = !zip->frozen[t] && lost[t] > 0.0 && zip->loss[t] > 0.0;
        s->curve->weight[t] = known && status == MTS_STATUS_OK ? zip->loss[t] / lost[t] : 0.0;
    }
    restore(s);
    mts_alloc_free(zip->allocator, order);
    return status;
}

static mts_status sense_fitted(sensing *s, const mts_zip_stats *stats)
{
    mts_zip *zip = s->zip;
    for (uint32_t t = 0; t < zip->count; t++) {
        if (!zip->frozen[t]) {
            own_of_original(s->fit, t);
        }
    }
    mts_status status = partitions(s, stats);
    for (uint32_t p = 0; p < s->curve->partition_count && status == MTS_STATUS_OK; p++) {
        status = take_prices(s, &s->curve->partitions[p]);
        MTS_TRY(status, p == 0 ? weigh(s) : MTS_STATUS_OK);
    }
    return status;
}

static mts_status sense_row(sensing *s)
{
    mts_zip *zip = s->zip;
    mts_zip_stats stats[MTS_ZIP_TASKS_MAX] = {{{0}}};
    mts_zip_fit fit;
    mts_status status = mts_zip_stats_gather(zip, s->row, stats);
    if (status == MTS_STATUS_OK) {
        s->fit = &fit;
        status = mts_zip_fit_init(&fit, zip, s->row, stats);
        MTS_TRY(status, sense_fitted(s, stats));
        mts_zip_fit_release(&fit);
    }
    mts_zip_stats_release(zip, stats);
    return status;
}

/* ---- all rows ---- */

static mts_status begin(sensing *s)
{
    mts_zip *zip = s->zip;
    zip->alone = true;
    zip->trace_images = mts_zip_trace_images(zip);
    s->images = zip->trace_images < IMAGES_MOST ? zip->trace_images : IMAGES_MOST;
    for (uint32_t t = 0; t < zip->count; t++) {
        s->answers[t] = zip->frozen[t]
                            ? NULL
                            : mts_arena_zero(&zip->arena, answer_size(zip, t) * s->images, sizeof(float));
        if (!s->answers[t] && !zip->frozen[t]) {
            return mts_fail_memory(zip->error);
        }
    }
    return mts_threads_run(zip->count, open_job, s, zip->error);
}

mts_status mts_zip_curves(mts_zip *zip, mts_zip_curve **out)
{
    sensing s = {.zip = zip};
    char what[128];
    *out = mts_arena_zero(&zip->arena, zip->row_count, sizeof **out);
    mts_status status = *out ? begin(&s) : mts_fail_memory(zip->error);
    for (uint32_t r = 0; r < zip->row_count && status == MTS_STATUS_OK; r++) {
        const mts_zip_row_plan none = {.part_count = 0};
        s.row = &zip->rows[r];
        s.curve = &(*out)[r];
        if (!s.row->share) {
            continue;
        }
        s.curve->bytes = mts_zip_plan_bytes(zip, s.row, &none);
        (void)snprintf(what, sizeof what, "what sharing %.80s changes", s.row->name);
        status =
            mts_options_progress(zip->compiler, 0.3f * (float)r / (float)zip->row_count, what, zip->error);
        MTS_TRY(status, sense_row(&s));
    }
    mts_zip_traces_drop(zip);
    zip->alone = false;
    return status;
}
