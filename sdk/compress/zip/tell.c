/*
 * tell.c: what a search has traded, row by row: the originals become the zipped networks from
 * the inputs on, and after each row their answers are compared.
 */
#include <stdio.h>
#include <string.h>

#include "compress/net/threads.h"
#include "compress/zip/merge.h"
#include "compress/zip/plan.h"

#define IMAGES_MOST 256u
#define BATCH_MOST 32u

typedef struct telling {
    mts_zip *zip;
    const mts_zip_row *row;
    const mts_net *const *zipped; /* [task] */
    bool look;                    /* the row's answers are wanted */
    bool keep;                    /* the next row begins in front of this one */
    uint32_t images;
    mts_zip_trace traces[MTS_ZIP_TASKS_MAX];
} telling;

/* Images first .. first + count - 1 of the walk, among those whose answers the gate has kept. */
static void list(const telling *s, uint32_t first, uint32_t count, uint32_t *gate, uint32_t *indices)
{
    const mts_zip *zip = s->zip;
    for (uint32_t i = 0; i < count; i++) {
        gate[i] = (uint32_t)((uint64_t)(first + i) * zip->gate_images / s->images);
        indices[i] = mts_zip_image_gate(zip, gate[i], zip->gate_images);
    }
}

static mts_status walk(telling *s, uint32_t t, mts_zip_trace *next, mts_change *sums, mts_error *error)
{
    const uint32_t node = s->row->nodes[t];
    mts_zip *zip = s->zip;
    const mts_graph *graph = zip->tasks[t].graph;
    const uint32_t value = graph->outputs[0].value;
    const size_t size = mts_shape_count(&graph->values[value].shape);
    mts_net_run *run = zip->runs[t];
    uint32_t gate[BATCH_MOST], indices[BATCH_MOST];
    mts_status status = MTS_STATUS_OK;
    for (uint32_t first = 0; first < s->images && status == MTS_STATUS_OK; first += zip->batch) {
        const uint32_t count = s->images - first < zip->batch ? s->images - first : zip->batch;
        list(s, first, count, gate, indices);
        if (s->traces[t].node) {
            mts_zip_trace_load(&s->traces[t], run, 0, first, count);
        } else {
            status = mts_data_feed(zip->data, t, run, indices, count, NULL, error);
        }
        MTS_TRY(status, mts_net_run_forward(run, count, s->traces[t].node, node, error));
        if (status == MTS_STATUS_OK && s->keep) {
            mts_zip_trace_keep(next, run, first, count);
        }
        MTS_TRY(status,
                s->look ? mts_net_run_forward(run, count, node, graph->node_count, error) : MTS_STATUS_OK);
        for (uint32_t i = 0; i < count && status == MTS_STATUS_OK && s->look; i++) {
            mts_change_add(sums, zip->answers[t] + gate[i] * size, mts_net_run_value(run, value) + i * size,
                           size, 1);
        }
    }
    return status;
}

static mts_status row_job(void *context, uint32_t t, uint32_t worker, mts_error *error)
{
    (void)worker;
    telling *s = context;
    mts_zip *zip = s->zip;
    mts_change sums = {.form = zip->forms[t]};
    mts_zip_trace next = {.node = 0};
    if (zip->frozen[t]) {
        return MTS_STATUS_OK;
    }
    /* The nodes before the row are computed with what they have become; the row is new from here. */
    mts_status status = !s->keep || mts_zip_trace_init(&next, zip->tasks[t].graph, s->row->nodes[t],
                                                       s->images, zip->allocator)
                            ? MTS_STATUS_OK
                            : mts_fail_memory(error);
    mts_zip_put_layer(zip, s->row, t, s->zipped[t]);
    MTS_TRY(status, s->keep || s->look ? walk(s, t, &next, &sums, error) : status);
    if (status == MTS_STATUS_OK && s->keep) {
        mts_zip_trace_release(&s->traces[t]);
        s->traces[t] = next;
    } else {
        mts_zip_trace_release(&next);
    }
    zip->change[t] = mts_change_of(&sums, zip->tasks[t].graph);
    return status;
}

/* ---- texts ---- */

/* Bytes of a text that names every task once. */
static size_t text_room(const mts_zip *zip)
{
    size_t room = 1;
    for (uint32_t t = 0; t < zip->count; t++) {
        room += strlen(zip->tasks[t].name) + 1;
    }
    return room;
}

/* The tasks of each part that shares, parts apart by "|": "a+b|c+d". */
static void tasks_text(const mts_zip *zip, const mts_zip_row_plan *plan, char *text)
{
    const size_t room = text_room(zip);
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t p = 0; p < plan->part_count; p++) {
        bool first = true;
        for (uint32_t t = 0; t < zip->count && plan->parts[p].shared; t++) {
            if ((plan->parts[p].tasks >> t & 1) && at + 1 < room) {
                const char *before = !first ? "+" : at ? "|" : "";
                const int length = snprintf(text + at, room - at, "%s%s", before, zip->tasks[t].name);
                at += length > 0 ? (size_t)length : 0;
                first = false;
            }
        }
    }
}

static mtsz_zip_layer describe(const mts_zip *zip, const mts_zip_row *row, const mts_zip_row_plan *plan)
{
    const mts_zip_row_plan none = {.part_count = 0};
    const uint64_t before = mts_zip_plan_bytes(zip, row, &none);
    mtsz_zip_layer layer = {.size = sizeof layer,
                            .name = row->name,
                            .channels = row->outputs,
                            .form = MTSZ_FORM_NONE,
                            .bytes_saved = before > plan->bytes ? before - plan->bytes : 0,
                            .loss = plan->loss};
    for (uint32_t p = 0; p < plan->part_count; p++) {
        const mts_zip_part *part = &plan->parts[p];
        layer.parts += part->shared ? 1 : 0;
        layer.shared = part->shared > layer.shared ? part->shared : layer.shared;
        layer.form = part->reduced                                      ? MTSZ_FORM_LOW_RANK
                     : part->shared && layer.form != MTSZ_FORM_LOW_RANK ? MTSZ_FORM_FILTERS
                                                                        : layer.form;
        for (uint32_t t = 0; t < zip->count && part->reduced; t++) {
            layer.rank = plan->ranks[t] > layer.rank ? plan->ranks[t] : layer.rank;
        }
    }
    return layer;
}

static void tell_row(const telling *s, const mts_zip_row_plan *plan, char *text)
{
    const mts_zip *zip = s->zip;
    uint32_t worst = 0;
    mtsz_zip_layer layer = describe(zip, s->row, plan);
    for (uint32_t t = 1; t < zip->count; t++) {
        worst = mts_change_worse(zip->change[t], zip->change[worst]) ? t : worst;
    }
    tasks_text(zip, plan, text);
    layer.change = zip->change[worst];
    layer.task = zip->tasks[worst].name;
    layer.tasks = text;
    zip->options->layer(zip->options->context, &layer);
}

mts_status mts_zip_tell(mts_zip *zip, const mts_zip_found *found, mts_net *const *zipped)
{
    telling s = {.zip = zip, .zipped = (const mts_net *const *)zipped};
    s.images = zip->gate_images < IMAGES_MOST ? zip->gate_images : IMAGES_MOST;
    char *text = mts_alloc_zero(zip->allocator, text_room(zip), 1);
    mts_status status = text ? MTS_STATUS_OK : mts_fail_memory(zip->error);
    const uint32_t rows =
        zip->options->layer ? zip->row_count : 0; /* without a callback nothing is measured */
    for (uint32_t t = 0; t < zip->count && status == MTS_STATUS_OK; t++) {
        mts_net_copy(zip->nets[t], zip->originals[t]);
        zip->change[t] = 0.0;
    }
    for (uint32_t r = 0; r < rows && status == MTS_STATUS_OK; r++) {
        s.row = &zip->rows[r];
        s.look = s.row->share;
        s.keep = mts_zip_traces_fit(zip, s.row, 1, s.images);
        status = s.row->done ? mts_threads_run(zip->count, row_job, &s, zip->error) : status;
        if (status == MTS_STATUS_OK && s.row->share) {
            tell_row(&s, &found->plans[r], text);
        }
    }
    for (uint32_t t = 0; t < zip->count; t++) {
        mts_zip_trace_release(&s.traces[t]);
        mts_net_copy(zip->nets[t], zipped[t]);
    }
    mts_alloc_free(zip->allocator, text);
    return status;
}
