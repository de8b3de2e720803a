/*
 * stats.c: the original and the zipped network of every task, and what a row is fitted
 * to: inputs as the zipped network has them, targets as the original one had them. So
 * each layer makes up for what the layers before it have changed; on a residual branch
 * the target includes what the other branch has lost.
 */
#include <string.h>

#include "compress/net/threads.h"
#include "compress/zip/zip.h"

#define RUN_BYTES_MOST ((uint64_t)1 << 30) /* of all runs together */
#define BATCH_MOST 32u
#define IMAGES_LEAST 1000u
#define ROWS_PER_UNKNOWN 32u
#define ROWS_LEAST 40000u /* equations of a small layer: more cost time and change nothing */

static mts_status fail_task(mts_zip *zip, uint32_t task, mts_status status)
{
    return mts_fail_prefix(zip->error, status, "task '%s'", zip->tasks[task].name);
}

static mts_status create_task(mts_zip *zip, uint32_t t)
{
    const mts_graph *graph = zip->tasks[t].graph;
    mts_status status = mts_net_create(graph, zip->allocator, &zip->originals[t], zip->error);
    MTS_TRY(status, mts_net_create(graph, zip->allocator, &zip->nets[t], zip->error));
    return status == MTS_STATUS_OK ? status : fail_task(zip, t, status);
}

static mts_status create_runs(mts_zip *zip, uint32_t t)
{
    mts_status status = mts_net_run_create(zip->originals[t], zip->batch, MTS_NET_INFERENCE,
                                           &zip->original_runs[t], zip->error);
    MTS_TRY(status,
            mts_net_run_create(zip->nets[t], zip->batch, MTS_NET_INFERENCE, &zip->runs[t], zip->error));
    return status == MTS_STATUS_OK ? status : fail_task(zip, t, status);
}

mts_status mts_zip_nets_create(mts_zip *zip)
{
    mts_status status = MTS_STATUS_OK;
    uint64_t bytes = 1;
    for (uint32_t t = 0; t < zip->count && status == MTS_STATUS_OK; t++) {
        status = create_task(zip, t);
        bytes +=
            status == MTS_STATUS_OK ? 2 * (uint64_t)mts_net_run_bytes(zip->nets[t], 1, MTS_NET_INFERENCE) : 0;
    }
    const uint64_t fit = RUN_BYTES_MOST / bytes;
    zip->batch = fit < 1 ? 1 : fit > BATCH_MOST ? BATCH_MOST : (uint32_t)fit;
    for (uint32_t t = 0; t < zip->count && status == MTS_STATUS_OK; t++) {
        status = create_runs(zip, t);
    }
    return status;
}

void mts_zip_nets_destroy(mts_zip *zip)
{
    for (uint32_t t = 0; t < zip->count; t++) {
        mts_net_run_destroy(&zip->original_runs[t]);
        mts_net_run_destroy(&zip->runs[t]);
        mts_net_destroy(&zip->originals[t]);
        mts_net_destroy(&zip->nets[t]);
    }
}

/* ---- statistics ---- */

typedef struct gathering {
    mts_zip *zip;
    const mts_zip_row *row;
    mts_zip_stats *stats;
} gathering;

static uint64_t pixels_of(const mts_zip *zip, const mts_zip_row *row, uint32_t t)
{
    const mts_graph *graph = zip->tasks[t].graph;
    const mts_shape *shape = &graph->values[graph->nodes[row->nodes[t]].output].shape;
    const uint64_t pixels = (uint64_t)shape->dims[2] * (uint64_t)shape->dims[3];
    return pixels ? pixels : 1;
}

static uint64_t rows_wanted(const mts_zip_row *row)
{
    const uint64_t wanted = (uint64_t)row->inputs * row->taps * ROWS_PER_UNKNOWN;
    return wanted < ROWS_LEAST ? ROWS_LEAST : wanted;
}

uint32_t mts_zip_stats_images(const mts_zip *zip, const mts_zip_row *row, uint32_t t)
{
    const uint64_t images = rows_wanted(row) / pixels_of(zip, row, t) + 1;
    const uint64_t least = images < IMAGES_LEAST ? IMAGES_LEAST : images;
    return least < zip->images ? (uint32_t)least : zip->images;
}

/* Every how manieth pixel is taken: tasks may look at images of other sizes. */
static uint32_t step_of(const mts_zip *zip, const mts_zip_row *row, uint32_t t)
{
    const uint64_t step = mts_zip_stats_images(zip, row, t) * pixels_of(zip, row, t) / rows_wanted(row);
    return step < 1 ? 1 : step > UINT32_MAX ? UINT32_MAX : (uint32_t)step;
}

/* Adds what the residual of the original has that the zipped one's has not. */
static void add_lost(const float *original, const float *zipped, size_t count, float *target)
{
    for (size_t i = 0; i < count; i++) {
        target[i] += original[i] - zipped[i];
    }
}

static mts_status add_batch(const gathering *g, uint32_t t, const uint32_t *indices, uint32_t count,
                            float *target, mts_error *error)
{
    mts_zip *zip = g->zip;
    const mts_graph *graph = zip->tasks[t].graph;
    const uint32_t n = g->row->nodes[t];
    const mts_node *node = &graph->nodes[n];
    const mts_shape *shape = &graph->values[node->output].shape;
    mts_status status = mts_data_feed(zip->data, t, zip->original_runs[t], indices, count, NULL, error);
    if (status == MTS_STATUS_OK) {
        mts_net_run_copy_inputs(zip->runs[t], zip->original_runs[t], count);
        status = mts_net_run_forward(zip->original_runs[t], count, 0, n, error);
    }
    MTS_TRY(status, mts_net_run_forward(zip->runs[t], count, 0, n, error));
    MTS_TRY(status, mts_net_run_linear(zip->original_runs[t], count, n, false, target, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (node->input_count > 4 && node->inputs[4] != MTS_NONE) {
        add_lost(mts_net_run_value(zip->original_runs[t], node->inputs[4]),
                 mts_net_run_value(zip->runs[t], node->inputs[4]), mts_shape_count(shape) * count, target);
    }
    mts_gram_add(&g->stats[t].gram, mts_net_run_value(zip->runs[t], node->inputs[0]),
                 &graph->values[node->inputs[0]].shape, &node->attrs.conv, target, shape, count,
                 step_of(zip, g->row, t));
    return MTS_STATUS_OK;
}

static mts_status gather_task(void *context, uint32_t t, uint32_t worker, mts_error *error)
{
    (void)worker;
    const gathering *g = context;
    mts_zip *zip = g->zip;
    if (zip->frozen[t]) {
        return MTS_STATUS_OK; /* keeps its filters */
    }
    const mts_graph *graph = zip->tasks[t].graph;
    const size_t size = mts_shape_count(&graph->values[graph->nodes[g->row->nodes[t]].output].shape);
    const uint32_t images = mts_zip_stats_images(zip, g->row, t);
    float *target = mts_alloc_zero(zip->allocator, size * zip->batch, sizeof(*target));
    mts_status status = target ? MTS_STATUS_OK : mts_fail_memory(error);
    uint32_t indices[BATCH_MOST];
    for (uint32_t first = 0; first < images && status == MTS_STATUS_OK; first += zip->batch) {
        const uint32_t count = images - first < zip->batch ? images - first : zip->batch;
        for (uint32_t i = 0; i < count; i++) {
            indices[i] = (uint32_t)((uint64_t)(first + i) * zip->images / images);
        }
        status = add_batch(g, t, indices, count, target, error);
    }
    mts_alloc_free(zip->allocator, target);
    MTS_TRY(status, mts_gram_finish(&g->stats[t].gram, error));
    return status == MTS_STATUS_OK
               ? status
               : mts_fail_prefix(error, status, "task '%s', layer '%s'", zip->tasks[t].name, g->row->name);
}

mts_status mts_zip_stats_gather(mts_zip *zip, const mts_zip_row *row, mts_zip_stats *stats)
{
    gathering g = {.zip = zip, .row = row, .stats = stats};
    for (uint32_t t = 0; t < zip->count; t++) {
        const mts_net_layer layer = mts_net_layer_of(zip->originals[t], row->nodes[t]);
        if (!zip->frozen[t] && !mts_gram_init(&stats[t].gram, layer.inputs * layer.rows * layer.columns,
                                              layer.outputs, zip->allocator)) {
            return mts_fail(zip->error, MTS_STATUS_OUT_OF_MEMORY,
                            "task '%s', layer '%s': no memory for statistics", zip->tasks[t].name, row->name);
        }
    }
    return mts_threads_run(zip->count, gather_task, &g, zip->error);
}

void mts_zip_stats_release(mts_zip *zip, mts_zip_stats *stats)
{
    for (uint32_t t = 0; t < zip->count; t++) {
        if (stats[t].gram.allocator) {
            mts_gram_release(&stats[t].gram);
        }
    }
}
