/*
 * gate.c: how much of what the tasks answer has changed, layer by layer (change.h).
 */
#include <string.h>

#include "compress/net/threads.h"
#include "compress/zip/change.h"
#include "compress/zip/zip.h"

#define BATCH_MOST 32u

#define HELD_OUT 3u /* every so manieth image is held out */

uint32_t mts_zip_images_gate(const mts_zip *zip)
{
    return zip->held_out ? zip->images / HELD_OUT : zip->images;
}

uint32_t mts_zip_images_fit(const mts_zip *zip)
{
    return zip->held_out ? zip->images - zip->images / HELD_OUT : zip->images;
}

static uint32_t spread(uint32_t i, uint32_t count, uint32_t all)
{
    return (uint32_t)((uint64_t)i * all / count);
}

uint32_t mts_zip_image_gate(const mts_zip *zip, uint32_t i, uint32_t count)
{
    const uint32_t at = spread(i, count, mts_zip_images_gate(zip));
    return zip->held_out ? HELD_OUT * at + HELD_OUT - 1 : at;
}

uint32_t mts_zip_image_fit(const mts_zip *zip, uint32_t i, uint32_t count)
{
    const uint32_t at = spread(i, count, mts_zip_images_fit(zip));
    return zip->held_out ? at + at / (HELD_OUT - 1) : at;
}

typedef struct look {
    mts_zip *zip;
    uint32_t images;
    bool whole; /* originals run beside, their answers are not kept */
} look;

static const mts_value *output_of(const mts_zip *zip, uint32_t t)
{
    const mts_graph *graph = zip->tasks[t].graph;
    return &graph->values[graph->outputs[0].value];
}

static mts_status run_batch(mts_zip *zip, mts_net_run *run, uint32_t t, const uint32_t *indices,
                            uint32_t count, mts_error *error)
{
    const mts_graph *graph = zip->tasks[t].graph;
    const mts_status status = mts_data_feed(zip->data, t, run, indices, count, NULL, error);
    return status == MTS_STATUS_OK ? mts_net_run_forward(run, count, 0, graph->node_count, error) : status;
}

static mts_status look_batch(const look *l, uint32_t t, uint32_t first, uint32_t count,
                             const uint32_t *indices, mts_change *sums, mts_error *error)
{
    mts_zip *zip = l->zip;
    const size_t size = mts_shape_count(&output_of(zip, t)->shape);
    const uint32_t value = zip->tasks[t].graph->outputs[0].value;
    const float *original = zip->answers[t] ? zip->answers[t] + (size_t)first * size : NULL;
    mts_status status = MTS_STATUS_OK;
    if (l->whole) {
        status = run_batch(zip, zip->original_runs[t], t, indices, count, error);
        original = mts_net_run_value(zip->original_runs[t], value);
    }
    MTS_TRY(status, run_batch(zip, zip->runs[t], t, indices, count, error));
    if (status == MTS_STATUS_OK) {
        mts_change_add(sums, original, mts_net_run_value(zip->runs[t], value), size, count);
    }
    return status;
}

static void list_images(const look *l, uint32_t first, uint32_t count, uint32_t *indices)
{
    for (uint32_t i = 0; i < count; i++) {
        indices[i] = mts_zip_image_gate(l->zip, first + i, l->images);
    }
}

static mts_status look_task(void *context, uint32_t t, uint32_t worker, mts_error *error)
{
    (void)worker;
    const look *l = context;
    mts_zip *zip = l->zip;
    uint32_t indices[BATCH_MOST];
    mts_change sums = {.form = zip->forms[t]};
    mts_status status = MTS_STATUS_OK;
    zip->change[t] = 0.0;
    for (uint32_t first = 0; first < l->images && status == MTS_STATUS_OK && !zip->frozen[t];
         first += zip->batch) {
        const uint32_t count = l->images - first < zip->batch ? l->images - first : zip->batch;
        list_images(l, first, count, indices);
        status = look_batch(l, t, first, count, indices, &sums, error);
    }
    zip->change[t] = mts_change_of(&sums, zip->tasks[t].graph);
    zip->loss[t] = mts_change_loss(&sums);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "task '%s'", zip->tasks[t].name);
}

static mts_status open_task(void *context, uint32_t t, uint32_t worker, mts_error *error)
{
    (void)worker;
    const look *l = context;
    mts_zip *zip = l->zip;
    const size_t size = mts_shape_count(&output_of(zip, t)->shape);
    uint32_t indices[BATCH_MOST];
    mts_status status = MTS_STATUS_OK;
    for (uint32_t first = 0; first < l->images && status == MTS_STATUS_OK; first += zip->batch) {
        const uint32_t count = l->images - first < zip->batch ? l->images - first : zip->batch;
        list_images(l, first, count, indices);
        status = run_batch(zip, zip->original_runs[t], t, indices, count, error);
        if (status == MTS_STATUS_OK) {
            memcpy(zip->answers[t] + (size_t)first * size,
                   mts_net_run_value(zip->original_runs[t], zip->tasks[t].graph->outputs[0].value),
                   size * count * sizeof(float));
        }
    }
    zip->forms[t] = mts_change_form_of(zip->tasks[t].graph, zip->answers[t], size, l->images);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "task '%s'", zip->tasks[t].name);
}

mts_status mts_zip_gate_open(mts_zip *zip)
{
    for (uint32_t t = 0; t < zip->count; t++) {
        zip->answers[t] = mts_arena_zero(
            &zip->arena, mts_shape_count(&output_of(zip, t)->shape) * zip->gate_images, sizeof(float));
        if (!zip->answers[t]) {
            return mts_fail(zip->error, MTS_STATUS_OUT_OF_MEMORY, "task '%s': no memory for its answers",
                            zip->tasks[t].name);
        }
    }
    look l = {.zip = zip, .images = zip->gate_images};
    return mts_threads_run(zip->count, open_task, &l, zip->error);
}

mts_status mts_zip_gate_look(mts_zip *zip, uint32_t *worst)
{
    look l = {.zip = zip, .images = zip->gate_images};
    const mts_status status = mts_threads_run(zip->count, look_task, &l, zip->error);
    *worst = 0;
    for (uint32_t t = 1; t < zip->count; t++) {
        *worst = mts_change_worse(zip->change[t], zip->change[*worst]) ? t : *worst;
    }
    return status;
}

mts_status mts_zip_gate_final(mts_zip *zip, double *mean, double *worst)
{
    look l = {.zip = zip, .images = mts_zip_images_gate(zip), .whole = true};
    const mts_status status = mts_threads_run(zip->count, look_task, &l, zip->error);
    uint32_t changed = 0;
    *mean = *worst = 0.0;
    for (uint32_t t = 0; t < zip->count; t++) {
        changed += zip->frozen[t] ? 0 : 1;
        *mean += zip->change[t];
        *worst = mts_change_worse(zip->change[t], *worst) ? zip->change[t] : *worst;
    }
    *mean /= changed ? changed : 1;
    return status;
}
