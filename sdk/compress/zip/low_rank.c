/*
 * low_rank.c: mtsz_zip with low_rank: the walk over the layers of aligned tasks, and the
 * bundle that comes out. The numbers are ancestor.c's.
 */
#include "compress/zip/low_rank.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

#include "base/sized.h"
#include "compiler/models/options.h"
#include "compress/zip/ancestor.h"
#include "compress/zip/change.h"
#include "compress/zip/zip.h"

#define IMAGES_BYTES ((uint64_t)1 << 30)

typedef struct call {
    const mtsz_zip_options *options;
    const mtsc_options *compiler;
    const mts_allocator *allocator;
    mts_error *error;
    mts_models models;
    mts_arena arena;
    uint32_t count;                        /* tasks to zip */
    uint32_t of_bundle[MTS_ZIP_TASKS_MAX]; /* index in the bundle */
    mts_task *tasks;                       /* [count] */
    mts_task *written;                     /* [task of the bundle] */
    uint32_t *uses[MTS_ZIP_TASKS_MAX];
    mts_low_rank_layer *layers[MTS_ZIP_TASKS_MAX]; /* [task], ascending by node */
    uint32_t layer_count[MTS_ZIP_TASKS_MAX];
    uint32_t base;                    /* task that keeps every bit, or MTS_NONE */
    double shared[MTS_ZIP_TASKS_MAX]; /* numbers in bases, of each task */
    mtsz_zip_report report;
    uint64_t started_ns;
    /* The refused layer that came closest, for the message if none is taken. */
    char closest[96];
    double closest_deviation;
    uint32_t closest_rank, closest_task;
} call;

/* A layer that several tasks have, with weights of one size. */
typedef struct layer {
    const char *name;
    uint32_t rows, columns;
    uint32_t member_count;
    uint32_t tasks[MTS_ZIP_TASKS_MAX], nodes[MTS_ZIP_TASKS_MAX], class_of[MTS_ZIP_TASKS_MAX];
    uint32_t class_count; /* of equal weights, those of most tasks first */
    const float *weights[MTS_ZIP_TASKS_MAX];
    uint32_t class_tasks[MTS_ZIP_TASKS_MAX];
} layer;

/* ---- options ---- */

static mts_status take_tasks(call *c)
{
    const mtsz_zip_options *o = c->options;
    const uint32_t count = o->task_count ? o->task_count : c->models.count;
    if (count < 2 || count > MTS_ZIP_TASKS_MAX) {
        return mts_fail(c->error, MTS_STATUS_INVALID_ARGUMENT, "%s: zipping takes 2 to %u tasks, not %u",
                        c->models.path, MTS_ZIP_TASKS_MAX, count);
    }
    c->tasks = mts_arena_zero(&c->arena, count, sizeof *c->tasks);
    c->written = mts_arena_zero(&c->arena, c->models.count, sizeof *c->written);
    if (!c->tasks || !c->written) {
        return mts_fail_memory(c->error);
    }
    memcpy(c->written, c->models.tasks, c->models.count * sizeof *c->written);
    for (; c->count < count; c->count++) {
        uint32_t *task = &c->of_bundle[c->count];
        *task = c->count;
        const mts_status status =
            o->task_count ? mts_models_find(&c->models, o->tasks[c->count], task, c->error) : MTS_STATUS_OK;
        if (status != MTS_STATUS_OK) {
            return status;
        }
        for (uint32_t i = 0; i < c->count; i++) {
            if (c->of_bundle[i] == *task) {
                return mts_fail(c->error, MTS_STATUS_INVALID_ARGUMENT, "task '%s' is named twice",
                                c->models.tasks[*task].name);
            }
        }
        c->tasks[c->count] = c->models.tasks[*task];
    }
    return MTS_STATUS_OK;
}

static mts_status take_base(call *c)
{
    c->base = MTS_NONE;
    for (uint32_t t = 0; t < c->count && c->options->base_count; t++) {
        if (strcmp(c->tasks[t].name, c->options->base[0]) == 0) {
            c->base = t;
        }
    }
    return !c->options->base_count || c->base != MTS_NONE
               ? MTS_STATUS_OK
               : mts_fail(c->error, MTS_STATUS_NOT_FOUND, "base: '%.255s' is none of the tasks to zip",
                          c->options->base[0]);
}

static mts_status count_uses(call *c)
{
    for (uint32_t t = 0; t < c->count; t++) {
        const mts_graph *graph = c->tasks[t].graph;
        c->uses[t] = mts_arena_zero(&c->arena, graph->value_count, sizeof(uint32_t));
        c->layers[t] = mts_arena_zero(&c->arena, graph->node_count, sizeof(mts_low_rank_layer));
        if (!c->uses[t] || !c->layers[t]) {
            return mts_fail_memory(c->error);
        }
        mts_graph_count_uses(graph, c->uses[t]);
    }
    return MTS_STATUS_OK;
}

/* ---- a layer's weights ---- */

static bool wanted(const mtsz_zip_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->layer_count; i++) {
        if (strncmp(name, options->layers[i], strlen(options->layers[i])) == 0) {
            return true;
        }
    }
    return options->layer_count == 0;
}

/* The tasks of a row whose weights can be compared: those of the size that the first has. */
static void collect(const call *c, const uint32_t *row, const uint32_t *members, uint32_t count, layer *out)
{
    const mts_shape *shape = NULL;
    *out = (layer){.member_count = 0};
    for (uint32_t i = 0; i < count; i++) {
        const mts_graph *graph = c->tasks[members[i]].graph;
        const mts_node *node = row[i] == MTS_NONE ? NULL : &graph->nodes[row[i]];
        if (!node || !mts_low_rank_takes(graph, node, c->uses[members[i]])) {
            continue;
        }
        const mts_shape *own = &graph->values[node->inputs[1]].shape;
        if (shape && !mts_shape_equal(shape, own)) {
            continue;
        }
        if (!shape) {
            shape = own;
            out->name = mts_node_title(graph, node);
            out->rows = (uint32_t)own->dims[0];
            out->columns = (uint32_t)(own->dims[1] * own->dims[2] * own->dims[3]);
        }
        out->tasks[out->member_count] = members[i];
        out->nodes[out->member_count++] = row[i];
    }
}

static const float *weight_of(const call *c, const layer *l, uint32_t member)
{
    const mts_graph *graph = c->tasks[l->tasks[member]].graph;
    return graph->values[graph->nodes[l->nodes[member]].inputs[1]].blocks[0].data;
}

static void swap_classes(layer *l, uint32_t a, uint32_t b)
{
    const float *weight = l->weights[a];
    const uint32_t tasks = l->class_tasks[a];
    l->weights[a] = l->weights[b];
    l->class_tasks[a] = l->class_tasks[b];
    l->weights[b] = weight;
    l->class_tasks[b] = tasks;
    for (uint32_t m = 0; m < l->member_count; m++) {
        const uint32_t class = l->class_of[m];
        l->class_of[m] = class == a ? b : class == b ? a : class;
    }
}

static void classify(const call *c, layer *l)
{
    const size_t bytes = (size_t)l->rows * l->columns * sizeof(float);
    for (uint32_t m = 0; m < l->member_count; m++) {
        const float *weight = weight_of(c, l, m);
        uint32_t class = 0;
        while (class < l->class_count && memcmp(l->weights[class], weight, bytes) != 0) {
            class ++;
        }
        l->weights[class] = weight;
        l->class_tasks[class]++;
        l->class_of[m] = class;
        l->class_count += class == l->class_count;
    }
    for (uint32_t class = 1; class < l->class_count; class ++) {
        if (l->class_tasks[class] > l->class_tasks[0]) {
            swap_classes(l, 0, class);
        }
    }
}

/* Numbers that are stored now: filters that are equal in several tasks are stored once. */
static uint64_t stored_now(const layer *l)
{
    uint64_t filters = 0;
    for (uint32_t class = 0; class < l->class_count; class ++) {
        for (uint32_t r = 0; r < l->rows; r++) {
            const size_t at = (size_t)r * l->columns;
            uint32_t other = 0;
            while (other < class &&
                   memcmp(l->weights[other] + at, l->weights[class] + at, l->columns * sizeof(float)) != 0) {
                other++;
            }
            filters += other == class;
        }
    }
    return filters * l->columns;
}

static uint32_t rank_most(const call *c, const layer *l)
{
    const uint64_t half = (uint64_t)l->rows * l->columns / 2 / ((uint64_t)l->rows + l->columns);
    return c->options->max_rank && c->options->max_rank < half ? c->options->max_rank : (uint32_t)half;
}

/* ---- what becomes of it ---- */

/* The class whose difference says most: the largest rank among those that fit, or the
   largest deviation among those that do not. */
static uint32_t worst_class(const layer *l, const mts_ancestor *found, bool taken, double *largest)
{
    uint32_t worst = 0;
    *largest = 0.0;
    for (uint32_t class = 0; class < l->class_count; class ++) {
        const mts_difference *d = &found->differences[class];
        const mts_difference *w = &found->differences[worst];
        if (taken ? d->fits && (!w->fits || d->rank > w->rank) : d->deviation > w->deviation) {
            worst = class;
        }
        *largest = (d->fits || !taken) && d->deviation > *largest ? d->deviation : *largest;
    }
    return worst;
}

static void tell(call *c, const layer *l, const mts_ancestor *found, bool taken)
{
    double largest = 0.0;
    uint32_t member = 0;
    const uint32_t worst = worst_class(l, found, taken, &largest);
    while (l->class_of[member] != worst) {
        member++;
    }
    const mts_difference *d = &found->differences[worst];
    const mtsz_zip_layer out = {.size = sizeof out,
                                .name = l->name,
                                .channels = l->rows,
                                .shared = taken ? l->rows : 0,
                                .task = c->tasks[l->tasks[member]].name,
                                .rolled_back = taken ? 0 : 1,
                                .rank = d->rank,
                                .deviation = largest};
    if (c->options->layer) {
        c->options->layer(c->options->context, &out);
    }
    if (taken) {
        c->report.rank = d->rank > c->report.rank ? d->rank : c->report.rank;
        c->report.deviation = largest > c->report.deviation ? largest : c->report.deviation;
    } else if (!*c->closest || largest < c->closest_deviation) {
        (void)snprintf(c->closest, sizeof c->closest, "%.90s", l->name);
        c->closest_deviation = largest;
        c->closest_rank = d->rank;
        c->closest_task = l->tasks[member];
    }
}

static void enter(call *c, const layer *l, const mts_ancestor *found)
{
    for (uint32_t m = 0; m < l->member_count; m++) {
        const uint32_t t = l->tasks[m];
        const mts_difference *d = &found->differences[l->class_of[m]];
        if (d->fits) {
            c->layers[t][c->layer_count[t]++] = (mts_low_rank_layer){.node = l->nodes[m],
                                                                     .weight = found->base,
                                                                     .rank = d->rank,
                                                                     .left = d->left,
                                                                     .right = d->right};
            c->shared[t] += (double)l->rows * l->columns;
        }
    }
}

static mts_status do_layer(call *c, layer *l)
{
    mts_ancestor_options options = {
        .tolerance = c->options->low_rank, .rank = rank_most(c, l), .base = MTS_NONE};
    mts_ancestor found;
    classify(c, l);
    if (l->class_count < 2) {
        return MTS_STATUS_OK; /* one weight already */
    }
    for (uint32_t m = 0; m < l->member_count && c->base != MTS_NONE; m++) {
        options.base = l->tasks[m] == c->base ? l->class_of[m] : options.base;
    }
    const mts_status status = mts_ancestor_find(l->weights, l->class_count, l->rows, l->columns, &options,
                                                c->allocator, &c->arena, &found, c->error);
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(c->error, status, "layer '%s'", l->name);
    }
    const bool taken = found.numbers < stored_now(l);
    c->report.layers++;
    c->report.zipped += taken ? 1 : 0;
    c->report.rolled_back += taken ? 0 : 1;
    if (taken) {
        enter(c, l, &found);
    }
    tell(c, l, &found, taken);
    return MTS_STATUS_OK;
}

static mts_status do_family(call *c, const uint32_t *members, uint32_t count, uint32_t done)
{
    const mts_graph *graphs[MTS_ZIP_TASKS_MAX];
    mts_alignment rows = {0};
    for (uint32_t i = 0; i < count; i++) {
        graphs[i] = c->tasks[members[i]].graph;
    }
    mts_status status = mts_graph_align(graphs, count, &c->arena, &rows, c->error);
    for (uint32_t r = 0; r < rows.row_count && status == MTS_STATUS_OK; r++) {
        layer l;
        collect(c, rows.nodes + (size_t)r * count, members, count, &l);
        if (l.member_count < 2 || !wanted(c->options, l.name)) {
            continue;
        }
        const float part = ((float)done + (float)count * (float)r / (float)rows.row_count) / (float)c->count;
        status = mts_options_progress(c->compiler, 0.8f * part, l.name, c->error);
        MTS_TRY(status, do_layer(c, &l));
    }
    return status;
}

static mts_status do_families(call *c)
{
    const mts_graph *graphs[MTS_ZIP_TASKS_MAX];
    uint32_t family[MTS_ZIP_TASKS_MAX], members[MTS_ZIP_TASKS_MAX];
    uint32_t families = 0, done = 0;
    for (uint32_t t = 0; t < c->count; t++) {
        graphs[t] = c->tasks[t].graph;
    }
    mts_status status = mts_graph_families(graphs, c->count, c->allocator, family, &families, c->error);
    for (uint32_t f = 0; f < families && status == MTS_STATUS_OK; f++) {
        uint32_t count = 0;
        for (uint32_t t = 0; t < c->count; t++) {
            members[count] = t;
            count += family[t] == f;
        }
        status = count > 1 ? do_family(c, members, count, done) : status;
        done += count;
    }
    return status;
}

/* ---- the whole ---- */

static mts_status check_found(const call *c)
{
    if (c->report.zipped) {
        return MTS_STATUS_OK;
    }
    if (!*c->closest) {
        return mts_fail(c->error, MTS_STATUS_LIMIT,
                        "low rank: no layer has different weights of one size in several tasks%s",
                        c->options->layer_count ? " among those that `layers` names" : "");
    }
    return mts_fail(
        c->error, MTS_STATUS_LIMIT,
        "low rank: no layer's weights differ by a matrix of low rank; the closest is layer '%s' of "
        "task '%s', where rank %u leaves a relative error of %.3g, and the tolerance is %.3g",
        c->closest, c->tasks[c->closest_task].name, c->closest_rank, c->closest_deviation,
        c->options->low_rank);
}

static mts_status rewrite(call *c)
{
    mts_status status = check_found(c);
    for (uint32_t t = 0; t < c->count && status == MTS_STATUS_OK; t++) {
        mts_task *task = &c->written[c->of_bundle[t]];
        if (c->layer_count[t]) {
            status = mts_low_rank_graph(task->graph, c->layers[t], c->layer_count[t], &c->arena, &task->graph,
                                        c->error);
        }
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(c->error, status, "task '%s'", task->name);
        }
        c->report.shared_weights += c->shared[t] / mts_zip_weights(c->tasks[t].graph) / c->count;
    }
    return status;
}

/* What the tasks answer on the data, before and after. */
static mts_status measure(call *c, const mtsz_data *source)
{
    mts_data *data = NULL;
    double worst = 0.0, sum = 0.0;
    mts_status status =
        mts_data_create(source, c->tasks, c->count, IMAGES_BYTES, c->allocator, &data, c->error);
    for (uint32_t t = 0; t < c->count && status == MTS_STATUS_OK; t++) {
        double change = 0.0;
        status = mts_options_progress(c->compiler, 0.8f + 0.15f * (float)t / (float)c->count,
                                      "comparing answers", c->error);
        MTS_TRY(status, mts_change_between(c->tasks[t].graph, c->written[c->of_bundle[t]].graph, data, t,
                                           c->allocator, &change, c->error));
        if (status != MTS_STATUS_OK) {
            status = mts_fail_prefix(c->error, status, "task '%s'", c->tasks[t].name);
        }
        worst = mts_change_worse(change, worst) ? change : worst;
        sum += change;
    }
    mts_data_destroy(&data);
    c->report.change = sum / c->count;
    c->report.change_worst = worst;
    const bool limited = c->options->max_change < 100.0;
    if (status == MTS_STATUS_OK && (isnan(worst) || (limited && worst > c->options->max_change))) {
        status = mts_fail(c->error, MTS_STATUS_LIMIT,
                          "low rank: the answers of a task change by %.2f %%, and max_change is %.3g %%",
                          worst, c->options->max_change);
    }
    return status;
}

static mts_status run(call *c, const mtsz_data *data, const char *out_path)
{
    mts_status status = mts_models_check_output(&c->models, out_path, c->error);
    MTS_TRY(status, take_tasks(c));
    MTS_TRY(status, take_base(c));
    MTS_TRY(status, count_uses(c));
    MTS_TRY(status, do_families(c));
    MTS_TRY(status, rewrite(c));
    c->report.change = c->report.change_worst = -1.0;
    if (status == MTS_STATUS_OK && data && data->count) {
        status = measure(c, data);
    }
    MTS_TRY(status, mts_models_write(&c->models, c->written, c->models.count, out_path, c->compiler,
                                     &c->report.summary, c->error));
    c->report.zip_seconds = (double)(mts_os_clock_ns() - c->started_ns) * 1e-9;
    return status;
}

mts_status mts_zip_low_rank(const char *bundle_path, const mtsz_data *data, const mtsz_zip_options *zip,
                            const char *out_path, const mtsc_options *options, mtsz_zip_report *report,
                            mts_error *error)
{
    const mts_allocator *allocator = mts_allocator_default();
    call *c = mts_alloc_zero(allocator, 1, sizeof *c);
    if (!c) {
        return mts_fail_memory(error);
    }
    c->options = zip;
    c->compiler = options;
    c->allocator = allocator;
    c->error = error;
    c->started_ns = mts_os_clock_ns();
    c->report.summary.size = sizeof c->report.summary;
    mts_arena_init(&c->arena, allocator);
    mts_status status = mts_models_open(bundle_path, allocator, &c->models, error);
    MTS_TRY(status, run(c, data, out_path));
    if (status == MTS_STATUS_OK && report) {
        mts_sized_write(report, &c->report);
    }
    mts_arena_release(&c->arena);
    mts_models_release(&c->models);
    mts_alloc_free(allocator, c);
    return status;
}
