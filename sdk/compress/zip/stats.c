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
#define TRACE_BYTES_MOST ((uint64_t)2 << 30) /* of all tasks in front of one row; a walk has two of these */
#define IMAGES_LEAST 1000u /* of 32 x 32 pixels; a larger one shows as many places as several of these */
#define IMAGES_LEAST_LARGE 128u
#define PIXELS_SMALL 1024u
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
    mts_zip_traces_drop(zip);
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
    bool keep; /* what the row reads */
} gathering;

static uint64_t pixels_of(const mts_zip *zip, const mts_zip_row *row, uint32_t t)
{
    const mts_graph *graph = zip->tasks[t].graph;
    const mts_shape *shape = &graph->values[graph->nodes[row->nodes[t]].output].shape;
    const uint64_t pixels = (uint64_t)shape->dims[2] * (uint64_t)shape->dims[3];
    return pixels ? pixels : 1;
}

/* A search fits every row several times, so it takes half of the equations. */
static uint64_t rows_wanted(const mts_zip *zip, const mts_zip_row *row)
{
    const uint64_t each = zip->held_out ? ROWS_PER_UNKNOWN / 2 : ROWS_PER_UNKNOWN;
    const uint64_t wanted = (uint64_t)row->inputs * row->taps * each;
    return wanted < ROWS_LEAST ? ROWS_LEAST : wanted;
}

/* Images of a task that stand for all that its layers may see. */
static uint64_t images_least(const mts_zip *zip, uint32_t t)
{
    const mts_graph *graph = zip->tasks[t].graph;
    const mts_shape *shape = &graph->values[graph->inputs[0].value].shape;
    const uint64_t pixels = shape->rank == 4 ? (uint64_t)shape->dims[2] * (uint64_t)shape->dims[3] : 1;
    const uint64_t least = IMAGES_LEAST * PIXELS_SMALL / (pixels > PIXELS_SMALL ? pixels : PIXELS_SMALL);
    return least < IMAGES_LEAST_LARGE ? IMAGES_LEAST_LARGE : least;
}

uint32_t mts_zip_stats_images(const mts_zip *zip, const mts_zip_row *row, uint32_t t)
{
    const uint64_t images = rows_wanted(zip, row) / pixels_of(zip, row, t) + 1;
    const uint64_t first = images_least(zip, t), least = images < first ? first : images;
    const uint32_t most = mts_zip_images_fit(zip);
    return least < most ? (uint32_t)least : most;
}

/* Every how manieth pixel is taken: tasks may look at images of other sizes. */
static uint32_t step_of(const gathering *g, uint32_t t, uint32_t images)
{
    const uint64_t step = images * pixels_of(g->zip, g->row, t) / rows_wanted(g->zip, g->row);
    return step < 1 ? 1 : step > UINT32_MAX ? UINT32_MAX : (uint32_t)step;
}

/* Adds what the residual of the original has that the zipped one's has not. */
static void add_lost(const float *original, const float *zipped, size_t count, float *target)
{
    for (size_t i = 0; i < count; i++) {
        target[i] += original[i] - zipped[i];
    }
}

/* ---- the way to the row ---- */

bool mts_zip_traces_fit(const mts_zip *zip, const mts_zip_row *row, uint32_t networks, uint32_t images)
{
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < zip->count; t++) {
        bytes += zip->frozen[t]
                     ? 0
                     : (uint64_t)networks * images * mts_zip_trace_bytes(zip->tasks[t].graph, row->nodes[t]);
    }
    return bytes <= TRACE_BYTES_MOST;
}

/* The state in front of a row, of one network of a task. */
typedef struct way {
    mts_zip_trace *trace; /* where it begins */
    mts_zip_trace *next;  /* what the row reads; unused unless `keep` */
    mts_net_run *run;
} way;

static mts_status way_go(const gathering *g, way *w, uint32_t t, uint32_t first, const uint32_t *indices,
                         uint32_t count, mts_error *error)
{
    const uint32_t n = g->row->nodes[t];
    mts_status status = MTS_STATUS_OK;
    if (w->trace->node) {
        mts_zip_trace_load(w->trace, w->run, 0, first, count);
    } else {
        status = mts_data_feed(g->zip->data, t, w->run, indices, count, NULL, error);
    }
    MTS_TRY(status, mts_net_run_forward(w->run, count, w->trace->node, n, error));
    if (status == MTS_STATUS_OK && g->keep) {
        mts_zip_trace_keep(w->next, w->run, first, count);
    }
    return status;
}

static void way_end(const gathering *g, way *w, bool done)
{
    if (g->keep && done) {
        const mts_zip_trace before = *w->trace;
        *w->trace = *w->next;
        *w->next = before;
    }
    mts_zip_trace_empty(w->next);
}

static mts_status add_batch(const gathering *g, uint32_t t, way *ways, uint32_t first,
                            const uint32_t *indices, uint32_t count, uint32_t step, float *target,
                            mts_error *error)
{
    const mts_zip *zip = g->zip;
    const mts_graph *graph = zip->tasks[t].graph;
    const uint32_t n = g->row->nodes[t];
    const mts_node *node = &graph->nodes[n];
    const mts_shape *shape = &graph->values[node->output].shape;
    mts_status status = way_go(g, &ways[0], t, first, indices, count, error);
    MTS_TRY(status, zip->alone ? status : way_go(g, &ways[1], t, first, indices, count, error));
    MTS_TRY(status, mts_net_run_linear(ways[0].run, count, n, false, target, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_net_run *now = ways[zip->alone ? 0 : 1].run;
    if (node->input_count > 4 && node->inputs[4] != MTS_NONE && !zip->alone) {
        add_lost(mts_net_run_value(ways[0].run, node->inputs[4]), mts_net_run_value(now, node->inputs[4]),
                 mts_shape_count(shape) * count, target);
    }
    mts_gram_add(&g->stats[t].gram, mts_net_run_value(now, node->inputs[0]),
                 &graph->values[node->inputs[0]].shape, &node->attrs.conv, target, shape, count, step);
    return MTS_STATUS_OK;
}

static mts_status add_images(const gathering *g, uint32_t t, way *ways, uint32_t images, float *target,
                             mts_error *error)
{
    const mts_zip *zip = g->zip;
    const uint32_t step = step_of(g, t, images);
    mts_status status = MTS_STATUS_OK;
    uint32_t indices[BATCH_MOST];
    for (uint32_t first = 0; first < images && status == MTS_STATUS_OK; first += zip->batch) {
        const uint32_t count = images - first < zip->batch ? images - first : zip->batch;
        for (uint32_t i = 0; i < count; i++) {
            indices[i] = mts_zip_image_fit(zip, first + i, images);
        }
        status = add_batch(g, t, ways, first, indices, count, step, target, error);
    }
    return status;
}

static bool ways_begin(const gathering *g, uint32_t t, way *ways)
{
    mts_zip *zip = g->zip;
    ways[0] = (way){&zip->traces[0][t], &zip->spares[0][t], zip->original_runs[t]};
    ways[1] = (way){&zip->traces[1][t], &zip->spares[1][t], zip->runs[t]};
    bool done = true;
    for (uint32_t w = 0; w < (zip->alone ? 1u : 2u) && g->keep; w++) {
        done = mts_zip_trace_init(ways[w].next, zip->tasks[t].graph, g->row->nodes[t], zip->trace_images,
                                  zip->allocator) &&
               done;
    }
    return done;
}

static mts_status gather_task(void *context, uint32_t t, uint32_t worker, mts_error *error)
{
    (void)worker;
    const gathering *g = context;
    mts_zip *zip = g->zip;
    if (zip->frozen[t]) {
        return MTS_STATUS_OK; /* keeps its filters */
    }
    way ways[2];
    const mts_graph *graph = zip->tasks[t].graph;
    const size_t size = mts_shape_count(&graph->values[graph->nodes[g->row->nodes[t]].output].shape);
    const bool whole = g->keep || zip->traces[0][t].node;
    const uint32_t images = whole ? zip->trace_images : mts_zip_stats_images(zip, g->row, t);
    float *target = mts_alloc_zero(zip->allocator, size * zip->batch, sizeof(*target));
    mts_status status = ways_begin(g, t, ways) && target ? MTS_STATUS_OK : mts_fail_memory(error);
    MTS_TRY(status, add_images(g, t, ways, images, target, error));
    way_end(g, &ways[0], status == MTS_STATUS_OK);
    if (!zip->alone) {
        way_end(g, &ways[1], status == MTS_STATUS_OK);
    }
    mts_alloc_free(zip->allocator, target);
    MTS_TRY(status, mts_gram_finish(&g->stats[t].gram, error));
    return status == MTS_STATUS_OK
               ? status
               : mts_fail_prefix(error, status, "task '%s', layer '%s'", zip->tasks[t].name, g->row->name);
}

void mts_zip_traces_drop(mts_zip *zip)
{
    for (uint32_t t = 0; t < zip->count; t++) {
        for (uint32_t w = 0; w < 2; w++) {
            mts_zip_trace_release(&zip->traces[w][t]);
            mts_zip_trace_release(&zip->spares[w][t]);
        }
    }
}

/* Images that the row with the most equations takes of each. */
uint32_t mts_zip_trace_images(const mts_zip *zip)
{
    uint32_t most = 1;
    for (uint32_t r = 0; r < zip->row_count; r++) {
        for (uint32_t t = 0; t < zip->count && zip->rows[r].fit; t++) {
            const uint32_t images = mts_zip_stats_images(zip, &zip->rows[r], t);
            most = images > most ? images : most;
        }
    }
    return most;
}

mts_status mts_zip_stats_gather(mts_zip *zip, const mts_zip_row *row, mts_zip_stats *stats)
{
    zip->trace_images = zip->trace_images ? zip->trace_images : mts_zip_trace_images(zip);
    gathering g = {.zip = zip,
                   .row = row,
                   .stats = stats,
                   .keep = mts_zip_traces_fit(zip, row, zip->alone ? 1 : 2, zip->trace_images)};
    for (uint32_t t = 0; t < zip->count; t++) {
        const mts_net_layer layer = mts_net_layer_of(zip->originals[t], row->nodes[t]);
        if (!zip->frozen[t] && !mts_gram_init(&stats[t].gram, layer.inputs * layer.rows * layer.columns,
                                              layer.outputs, row->groups, zip->allocator)) {
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
