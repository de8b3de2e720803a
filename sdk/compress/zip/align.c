/*
 * align.c: brings the channels of all tasks into the order of the reference's, so that
 * channel c means about the same in every task. A group of coupled channels
 * (passes/channels.h), such as the stream of a residual stage, moves as one, so what a
 * task computes stays the same.
 *
 * Channels are alike when their activations correlate over the images (Li et al. 2015,
 * "Convergent Learning"); an assignment makes the total correlation largest. Models of
 * one ancestor are in order already: an order that is hardly better than none is not
 * taken.
 */
#include <math.h>
#include <string.h>

#include "compress/net/threads.h"
#include "compiler/passes/family.h"
#include "compress/solve/assign.h"
#include "compress/solve/product.h"
#include "compress/zip/zip.h"

#define IMAGES_MOST 512u
#define RUN_BYTES_MOST ((uint64_t)1 << 30) /* of the runs of all workers */
#define BATCH_MOST 16u
#define PIXELS_MOST 64u /* of an image's value that are looked at */
#define BETTER 0.05     /* of the channels' mean correlation: less is no reason to move them */

/* Sums over pixels of two values' channels. */
typedef struct moments {
    uint32_t channels, rows;
    double *xy; /* [channels][channels]: of the reference, of the task */
    double *x, *y, *xx, *yy;
} moments;

typedef struct matching {
    mts_zip *zip;
    const mts_net *reference;
    uint32_t task;
    mts_net *net;
    mts_net_run *runs[2]; /* of the reference, of the task */
    uint32_t batch;       /* of these */
    mts_channels channels;
    mts_arena arena;
    float *work;      /* [channels][channels] of the row with the most */
    double **cost;    /* [group]: [channel of the reference][channel]: minus the correlations */
    uint32_t **order; /* [group]: [channel] the one that comes here */
    mts_error *error;
} matching;

static mts_status no_memory(const matching *m)
{
    return mts_fail_memory(m->error);
}

static bool moments_init(moments *sums, mts_arena *arena, uint32_t channels)
{
    const size_t n = channels;
    sums->channels = channels;
    sums->xy = mts_arena_zero(arena, n * n, sizeof(double));
    sums->x = mts_arena_zero(arena, 4 * n, sizeof(double));
    sums->y = sums->x + n;
    sums->xx = sums->x + 2 * n;
    sums->yy = sums->x + 3 * n;
    return sums->xy && sums->x;
}

static void add_means(const float *x, size_t stride, size_t rows, uint32_t n, double *sums, double *squares)
{
    for (size_t r = 0; r < rows; r++) {
        for (uint32_t i = 0; i < n; i++) {
            const double value = (double)x[r * stride + i];
            sums[i] += value;
            squares[i] += value * value;
        }
    }
}

/* Adds rows that lie `stride` numbers apart. `work`: [channels][channels] */
static void moments_add(moments *sums, const float *x, const float *y, size_t stride, size_t rows,
                        float *work)
{
    const uint32_t n = sums->channels;
    const mts_columns left = {x, n, stride}, right = {y, n, stride};
    mts_cross_product(left, right, rows, false, work, n);
    for (size_t i = 0; i < (size_t)n * n; i++) {
        sums->xy[i] += (double)work[i];
    }
    add_means(x, stride, rows, n, sums->x, sums->xx);
    add_means(y, stride, rows, n, sums->y, sums->yy);
    sums->rows += (uint32_t)rows;
}

static double correlation(const moments *sums, uint32_t i, uint32_t j)
{
    const double count = sums->rows ? sums->rows : 1;
    const double both =
        sums->xy[(size_t)i * sums->channels + j] / count - sums->x[i] * sums->y[j] / (count * count);
    const double a = sums->xx[i] / count - sums->x[i] * sums->x[i] / (count * count);
    const double b = sums->yy[j] / count - sums->y[j] * sums->y[j] / (count * count);
    return a > 1e-12 && b > 1e-12 ? both / sqrt(a * b) : 0.0;
}

static const mts_shape *shape_of(const matching *m, const mts_zip_row *row, uint32_t task)
{
    const mts_graph *graph = m->zip->tasks[task].graph;
    return &graph->values[graph->nodes[row->nodes[task]].output].shape;
}

/*
 * Group of the channels that a row's convolution writes, if they are free to move in the
 * task and their images lie pixel by pixel as the reference's do (tasks may look at
 * images of other sizes).
 */
static uint32_t group_of(const matching *m, const mts_zip_row *row)
{
    if (!mts_shape_equal(shape_of(m, row, m->task), shape_of(m, row, m->zip->reference))) {
        return MTS_NONE;
    }
    const uint32_t group =
        m->channels.group_of[m->zip->tasks[m->task].graph->nodes[row->nodes[m->task]].output];
    return group != MTS_NONE && row->share && m->channels.groups[group].kind == MTS_CHANNEL_FREE ? group
                                                                                                 : MTS_NONE;
}

static void add_pixels(const matching *m, const mts_zip_row *row, uint32_t images, moments *sums)
{
    const mts_graph *graph = m->zip->tasks[m->task].graph;
    const mts_graph *other = m->zip->tasks[m->zip->reference].graph;
    const uint32_t value = graph->nodes[row->nodes[m->task]].output;
    const size_t channels = row->outputs;
    const size_t pixels = mts_shape_count(&graph->values[value].shape) / channels * images;
    const size_t step = pixels / ((size_t)PIXELS_MOST * images) + 1;
    const float *x = mts_net_run_value(m->runs[0], other->nodes[row->nodes[m->zip->reference]].output);
    const float *y = mts_net_run_value(m->runs[1], value);
    moments_add(sums, x, y, step * channels, (pixels + step - 1) / step, m->work);
}

static mts_status run_batch(const matching *m, const uint32_t *indices, uint32_t count)
{
    mts_status status = MTS_STATUS_OK;
    const uint32_t tasks[2] = {m->zip->reference, m->task};
    for (int side = 0; side < 2 && status == MTS_STATUS_OK; side++) {
        const mts_graph *graph = m->zip->tasks[tasks[side]].graph;
        status = mts_data_feed(m->zip->data, tasks[side], m->runs[side], indices, count, NULL, m->error);
        MTS_TRY(status, mts_net_run_forward(m->runs[side], count, 0, graph->node_count, m->error));
    }
    return status;
}

static mts_status gather(const matching *m, moments *sums)
{
    mts_zip *zip = m->zip;
    const uint32_t images = zip->images < IMAGES_MOST ? zip->images : IMAGES_MOST;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t first = 0; first < images && status == MTS_STATUS_OK; first += m->batch) {
        uint32_t indices[BATCH_MOST];
        const uint32_t count = images - first < m->batch ? images - first : m->batch;
        for (uint32_t i = 0; i < count; i++) {
            indices[i] = (uint32_t)((uint64_t)(first + i) * zip->images / images);
        }
        status = run_batch(m, indices, count);
        for (uint32_t r = 0; r < zip->row_count && status == MTS_STATUS_OK; r++) {
            if (sums[r].channels) {
                add_pixels(m, &zip->rows[r], count, &sums[r]);
            }
        }
    }
    return status;
}

/* Rows that write into a group add up: all of them are channel c's activations. */
static bool add_costs(matching *m, const moments *sums)
{
    for (uint32_t r = 0; r < m->zip->row_count; r++) {
        if (sums[r].channels == 0) {
            continue;
        }
        const uint32_t n = sums[r].channels;
        double **cost = &m->cost[group_of(m, &m->zip->rows[r])];
        *cost = *cost ? *cost : mts_arena_zero(&m->arena, (size_t)n * n, sizeof(double));
        for (uint32_t i = 0; *cost && i < n; i++) {
            for (uint32_t j = 0; j < n; j++) {
                (*cost)[(size_t)i * n + j] -= correlation(&sums[r], i, j);
            }
        }
        if (!*cost) {
            return false;
        }
    }
    return true;
}

/* Whether no assignment can gain enough: of each channel's best match. A large layer
   whose channels are in order already is then not assigned, which would take the cube of
   its channels. */
static bool in_order(const double *cost, uint32_t n)
{
    double now = 0.0, most = 0.0;
    for (uint32_t c = 0; c < n; c++) {
        double best = 0.0;
        for (uint32_t k = 0; k < n; k++) {
            const double match = -cost[(size_t)c * n + k];
            best = match > best ? match : best;
        }
        now -= cost[(size_t)c * n + c];
        most += best;
    }
    return most - now <= BETTER * now; /* the best assignment is worth `now` at least */
}

/* False if memory is short; the order stays NULL where moving is no gain. */
static bool find_order(matching *m, uint32_t group)
{
    const uint32_t n = m->channels.groups[group].channels;
    const double *cost = m->cost[group];
    if (in_order(cost, n)) {
        return true;
    }
    uint32_t *order = mts_arena_zero(&m->arena, n, sizeof(*order));
    if (!order) {
        return false;
    }
    const bool greedy = m->zip->options->assignment == MTSZ_ASSIGNMENT_GREEDY;
    const bool done = greedy ? mts_assign_greedy(cost, n, m->zip->allocator, order)
                             : mts_assign_optimal(cost, n, m->zip->allocator, order);
    double gain = 0.0, whole = 0.0;
    for (uint32_t c = 0; done && c < n; c++) {
        gain += cost[(size_t)c * n + c] - cost[(size_t)c * n + order[c]];
        whole += fabs(cost[(size_t)c * n + order[c]]);
    }
    m->order[group] = done && gain > BETTER * whole ? order : NULL;
    return done;
}

/* Orders of groups that consist of others follow from these. Parts have fewer channels:
   this ends. */
static const uint32_t *order_of(matching *m, uint32_t group)
{
    const mts_channel_group *g = &m->channels.groups[group];
    if (g->kind != MTS_CHANNEL_PARTS || m->order[group]) {
        return m->order[group];
    }
    uint32_t *order = mts_arena_zero(&m->arena, g->channels, sizeof(*order));
    uint32_t first = 0;
    for (uint32_t i = 0; order && i < g->part_count; i++) {
        const mts_channel_part *part = &m->channels.parts[g->part_first + i];
        const uint32_t channels = m->channels.groups[part->group].channels;
        const uint32_t *own = order_of(m, part->group);
        for (uint32_t c = 0; c < channels * part->factor; c++) {
            const uint32_t from = own ? own[c / part->factor] : c / part->factor;
            order[first + c] = first + from * part->factor + c % part->factor;
        }
        first += channels * part->factor;
    }
    m->order[group] = order;
    return order;
}

static mts_status permute(matching *m)
{
    mts_graph *graph = m->zip->tasks[m->task].graph;
    bool done = true;
    for (uint32_t g = 0; g < m->channels.group_count && done; g++) {
        done = !m->cost[g] || find_order(m, g);
    }
    for (uint32_t g = 0; g < m->channels.group_count && done; g++) {
        done = m->channels.groups[g].kind != MTS_CHANNEL_PARTS || order_of(m, g);
    }
    mts_family family = {
        .graphs = &graph, .count = 1, .arena = &m->arena, .channels = &m->channels, .orders = &m->order};
    return done && mts_family_permute_weights(&family) ? MTS_STATUS_OK : no_memory(m);
}

static mts_status match(matching *m)
{
    mts_zip *zip = m->zip;
    moments *sums = mts_arena_zero(&m->arena, zip->row_count, sizeof(*sums));
    m->cost = mts_arena_zero(&m->arena, m->channels.group_count, sizeof(*m->cost));
    m->order = mts_arena_zero(&m->arena, m->channels.group_count, sizeof(*m->order));
    bool ready = sums && m->cost && m->order;
    size_t most = 1;
    for (uint32_t r = 0; r < zip->row_count && ready; r++) {
        const bool moves = group_of(m, &zip->rows[r]) != MTS_NONE;
        ready = !moves || moments_init(&sums[r], &m->arena, zip->rows[r].outputs);
        most = moves && zip->rows[r].outputs > most ? zip->rows[r].outputs : most;
    }
    m->work = ready ? mts_arena_zero(&m->arena, most * most, sizeof *m->work) : NULL;
    ready = ready && m->work;
    if (!ready) {
        return no_memory(m);
    }
    const mts_status status = gather(m, sums);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return add_costs(m, sums) ? permute(m) : no_memory(m);
}

static uint32_t batch_of(const matching *m)
{
    const uint64_t bytes = 1 + (uint64_t)mts_net_run_bytes(m->reference, 1, MTS_NET_INFERENCE) +
                           (uint64_t)mts_net_run_bytes(m->net, 1, MTS_NET_INFERENCE);
    const uint64_t fit = RUN_BYTES_MOST / mts_threads_count() / bytes;
    return fit < 1 ? 1 : fit > BATCH_MOST ? BATCH_MOST : (uint32_t)fit;
}

static mts_status match_job(void *context, uint32_t t, uint32_t worker, mts_error *error)
{
    (void)worker;
    const matching *common = context;
    mts_zip *zip = common->zip;
    if (t == zip->reference || zip->frozen[t]) {
        return MTS_STATUS_OK;
    }
    matching m = {.zip = zip, .reference = common->reference, .task = t, .error = error};
    mts_arena_init(&m.arena, zip->allocator);
    mts_status status = mts_channels_find(zip->tasks[t].graph, &m.arena, &m.channels, error);
    MTS_TRY(status, mts_net_create(zip->tasks[t].graph, zip->allocator, &m.net, error));
    if (status == MTS_STATUS_OK) {
        m.batch = batch_of(&m);
        status = mts_net_run_create(m.reference, m.batch, MTS_NET_INFERENCE, &m.runs[0], error);
    }
    MTS_TRY(status, mts_net_run_create(m.net, m.batch, MTS_NET_INFERENCE, &m.runs[1], error));
    MTS_TRY(status, match(&m));
    mts_net_run_destroy(&m.runs[0]);
    mts_net_run_destroy(&m.runs[1]);
    mts_net_destroy(&m.net);
    mts_arena_release(&m.arena);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "task '%s'", zip->tasks[t].name);
}

mts_status mts_zip_align(mts_zip *zip)
{
    matching common = {.zip = zip};
    mts_net *reference = NULL;
    mts_status status =
        mts_net_create(zip->tasks[zip->reference].graph, zip->allocator, &reference, zip->error);
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(zip->error, status, "task '%s'", zip->tasks[zip->reference].name);
    }
    common.reference = reference;
    status = mts_threads_run(zip->count, match_job, &common, zip->error);
    mts_net_destroy(&reference);
    return status;
}
