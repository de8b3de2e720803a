/*
 * zip.c: mtsz_zip: options, the walk over the rows, and the bundle that comes out.
 */
#include "compress/zip/zip.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "compiler/models/models.h"
#include "compress/train/distill.h"
#include "compress/zip/low_rank.h"
#include "compress/zip/merge.h"
#include "compress/zip/plan.h"
#include "compress/zip/ties.h"

#define IMAGES_BYTES ((uint64_t)1 << 30)
#define GATE_IMAGES 512u
#define GATE_IMAGES_GATED 1000u /* more, where a decision hangs on them */
#define GATE_IMAGES_LIMITED 2048u
#define TOLD_WORK 3e12 /* multiply-adds of all tasks for the answers after all rows */
#define TOLD_LEAST 4u
#define HELD_OUT_LEAST 12u /* images: fewer serve for fitting and for comparing */
#define GATE_BYTES ((size_t)256 << 20)

/* Everything of one call. */
typedef struct call {
    mts_zip zip;
    mts_models models;
    mtsz_zip_report report;
    uint32_t *of_bundle; /* [task of zip]: index in the bundle */
    mts_task *written;   /* [task of the bundle] */
    bool *frozen;
    const char *out_path;
    const mts_zip_row *first_failed; /* at the gate, or NULL */
    uint32_t first_failed_task;
    double first_failed_change, first_failed_limit;
    bool trained;
    mts_zip_found found; /* by the search under a limit */
} call;

static double seconds_since(uint64_t start_ns)
{
    return (double)(mts_os_clock_ns() - start_ns) * 1e-9;
}

/* ---- options ---- */

void mtsz_zip_options_default_sized(mtsz_zip_options *options, size_t size)
{
    const mtsz_zip_options defaults = {
        .size = sizeof(mtsz_zip_options), .share = 0.9, .round = 4, .max_change = 100.0, .seed = 1};
    mts_sized_default(options, size, &defaults);
}

static mts_status take_tasks(call *c, const mtsz_zip_options *options, mts_error *error)
{
    mts_zip *zip = &c->zip;
    const uint32_t count = options->task_count ? options->task_count : c->models.count;
    if (count < 2 || count > MTS_ZIP_TASKS_MAX) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s: zipping takes 2 to %u tasks, not %u",
                        c->models.path, MTS_ZIP_TASKS_MAX, count);
    }
    zip->tasks = mts_arena_zero(&zip->arena, count, sizeof(*zip->tasks));
    c->of_bundle = mts_arena_zero(&zip->arena, count, sizeof(*c->of_bundle));
    c->frozen = mts_arena_zero(&zip->arena, count, sizeof(*c->frozen));
    c->written = mts_arena_zero(&zip->arena, c->models.count, sizeof(*c->written));
    if (!zip->tasks || !c->of_bundle || !c->frozen || !c->written) {
        return mts_fail_memory(error);
    }
    memcpy(c->written, c->models.tasks, c->models.count * sizeof(*c->written));
    zip->frozen = c->frozen;
    for (; zip->count < count; zip->count++) {
        uint32_t *task = &c->of_bundle[zip->count];
        *task = zip->count;
        const mts_status status = options->task_count
                                      ? mts_models_find(&c->models, options->tasks[zip->count], task, error)
                                      : MTS_STATUS_OK;
        if (status != MTS_STATUS_OK) {
            return status;
        }
        for (uint32_t i = 0; i < zip->count; i++) {
            if (c->of_bundle[i] == *task) {
                return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "task '%s' is named twice",
                                c->models.tasks[*task].name);
            }
        }
        zip->tasks[zip->count] = c->models.tasks[*task];
        zip->other_tasks_bytes -= mts_zip_bytes(zip->tasks[zip->count].graph);
    }
    for (uint32_t t = 0; t < c->models.count; t++) {
        zip->other_tasks_bytes += mts_zip_bytes(c->models.tasks[t].graph);
    }
    return MTS_STATUS_OK;
}

static mts_status take_base(call *c, const mtsz_zip_options *options, mts_error *error)
{
    mts_zip *zip = &c->zip;
    for (uint32_t i = 0; i < options->base_count; i++) {
        uint32_t t = 0;
        while (t < zip->count && strcmp(zip->tasks[t].name, options->base[i]) != 0) {
            t++;
        }
        if (t == zip->count) {
            return mts_fail(error, MTS_STATUS_NOT_FOUND, "base: '%.255s' is none of the tasks to zip",
                            options->base[i]);
        }
        c->frozen[t] = true;
        zip->reference = zip->based ? zip->reference : t;
        zip->based = true;
    }
    for (uint32_t t = 0; t < zip->count; t++) {
        if (!c->frozen[t]) {
            return MTS_STATUS_OK;
        }
    }
    return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "base: every task is of it, there is nothing to zip");
}

/* ---- rows ---- */

static uint64_t row_cost(const mts_zip *zip, const mts_zip_row *row)
{
    return row->fit ? row->cost * 2 * mts_zip_stats_images(zip, row, 0) +
                          zip->rows[zip->row_count - 1].cost * zip->gate_images
                    : 0;
}

/* `change` of `task`: after the row, or, if it was rolled back, that for which it was. */
static mts_status tell(mts_zip *zip, const mts_zip_row *row, double change, uint32_t task, bool rolled_back)
{
    const mtsz_zip_options *options = zip->options;
    const double spent = seconds_since(zip->started_ns);
    const double part = zip->cost_all ? (double)zip->cost_done / (double)zip->cost_all : 1.0;
    const mtsz_zip_layer layer = {.size = sizeof layer,
                                  .name = row->name,
                                  .channels = row->outputs,
                                  .shared = row->shared,
                                  .change = change,
                                  .task = zip->tasks[task].name,
                                  .rolled_back = rolled_back,
                                  .seconds_left = part > 0.0 ? spent * (1.0 - part) / part : 0.0};
    if (options->layer && row->share) {
        options->layer(options->context, &layer);
    }
    char what[256];
    (void)snprintf(what, sizeof(what),
                   "%.80s: %u of %u channels, %.1f %% changed%s, %.2g %% of its variance lost, %.0f s left",
                   row->name, row->shared, row->outputs, layer.change, rolled_back ? " (rolled back)" : "",
                   100.0 * row->lost, layer.seconds_left);
    return mts_options_progress(zip->compiler, (float)(0.95 * part), what, zip->error);
}

/* The part of the limit that the bytes saved so far may use up. */
static double limit_of(const mts_zip *zip, const mts_zip_row *row)
{
    const double limit = zip->options->max_change;
    const uint64_t saved = zip->bytes_zipped + mts_zip_row_saving(zip, row, row->shared);
    return limit >= 100.0 || saved >= zip->bytes_all ? limit : limit * (double)saved / (double)zip->bytes_all;
}

/* Fits the row with `shared` channels in common, and looks at the answers. */
static mts_status fit_row(mts_zip *zip, mts_zip_row *row, uint32_t shared, const mts_zip_stats *stats,
                          uint32_t *worst)
{
    mts_status status = mts_zip_merge(zip, row, shared, stats, &row->lost);
    return status == MTS_STATUS_OK ? mts_zip_gate_look(zip, worst) : status;
}

/* Filters of each task's own again: as they were, or, behind layers that were zipped,
 * fitted to their inputs.
 */
static mts_status roll_back(call *c, mts_zip_row *row, const mts_zip_stats *stats, uint32_t worst)
{
    mts_zip *zip = &c->zip;
    uint32_t then = 0;
    if (zip->rolled_back++ == 0) {
        c->first_failed = row;
        c->first_failed_task = worst;
        c->first_failed_change = zip->change[worst];
        c->first_failed_limit = limit_of(zip, row);
    }
    mts_zip_row_undo(zip, row);
    if (zip->zipped) {
        return fit_row(zip, row, 0, stats, &then);
    }
    for (uint32_t t = 0; t < zip->count; t++) {
        mts_zip_put_layer(zip, row, t, zip->originals[t]);
    }
    row->lost = 0.0;
    return mts_zip_gate_look(zip, &then);
}

static mts_status zip_row(call *c, mts_zip_row *row, mts_zip_stats *stats)
{
    mts_zip *zip = &c->zip;
    uint32_t worst = 0;
    bool rolled_back = false;
    const uint32_t shared = row->share ? mts_zip_row_target(zip, row) : 0;
    mts_status status = mts_zip_row_reads(zip, row) ? mts_zip_stats_gather(zip, row, stats)
                                                    : mts_fail(zip->error, MTS_STATUS_OUT_OF_MEMORY,
                                                               "layer '%s': out of memory", row->name);
    MTS_TRY(status, fit_row(zip, row, shared, stats, &worst));
    const double change = zip->change[worst];
    if (status == MTS_STATUS_OK && row->shared && !(change <= limit_of(zip, row))) { /* NaN does not pass */
        rolled_back = true;
        status = roll_back(c, row, stats, worst);
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    row->done = zip->zipped > 0 || row->shared > 0;
    zip->zipped += row->shared ? 1 : 0;
    zip->bytes_zipped += row->shared ? mts_zip_row_saving(zip, row, row->shared) : 0;
    zip->cost_done += row_cost(zip, row);
    return tell(zip, row, change, worst, rolled_back);
}

static mts_status zip_rows(call *c)
{
    mts_zip *zip = &c->zip;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t r = 0; r < zip->row_count && status == MTS_STATUS_OK; r++) {
        mts_zip_row *row = &zip->rows[r];
        if (!row->fit || (!row->share && zip->zipped == 0)) {
            zip->cost_done += row_cost(zip, row);
            continue; /* nothing before it has changed */
        }
        mts_zip_stats stats[MTS_ZIP_TASKS_MAX] = {{{0}}};
        status = zip_row(c, row, stats);
        mts_zip_stats_release(zip, stats);
    }
    if (status != MTS_STATUS_OK || zip->zipped) {
        return status;
    }
    if (!c->first_failed) {
        return mts_fail(zip->error, MTS_STATUS_INVALID_ARGUMENT,
                        "share %.3g leaves no channel of any layer in common", zip->options->share);
    }
    return mts_fail(zip->error, MTS_STATUS_LIMIT,
                    "no layer passes the limit: sharing layer '%s' changes task '%s' by %.2f %%, but may by "
                    "%.3g %% (the part of %.3g %% that is due to the bytes it saves)",
                    c->first_failed->name, zip->tasks[c->first_failed_task].name, c->first_failed_change,
                    c->first_failed_limit, zip->options->max_change);
}

/* ---- the whole ---- */

/* Images whose answers are told after each row, where nothing hangs on them: large
   networks would spend most of their time on it. */
static uint32_t told_images(const mts_zip *zip)
{
    double work = 1.0;
    for (uint32_t n = 0; n < zip->tasks[0].graph->node_count; n++) {
        work += (double)mts_node_mul_adds(zip->tasks[0].graph, &zip->tasks[0].graph->nodes[n]);
    }
    const double images = TOLD_WORK / (work * zip->count * zip->row_count);
    return images < TOLD_LEAST ? TOLD_LEAST : images < GATE_IMAGES ? (uint32_t)images : GATE_IMAGES;
}

/* Images whose original answers fit into the memory set aside for them. */
static uint32_t gate_images(const mts_zip *zip)
{
    size_t bytes = sizeof(float);
    for (uint32_t t = 0; t < zip->count; t++) {
        const mts_graph *graph = zip->tasks[t].graph;
        bytes += mts_shape_count(&graph->values[graph->outputs[0].value].shape) * sizeof(float);
    }
    const size_t fit = GATE_BYTES / bytes;
    const uint32_t wanted = mts_zip_limited(zip->options)      ? GATE_IMAGES_LIMITED
                            : zip->options->max_change < 100.0 ? GATE_IMAGES_GATED
                                                               : told_images(zip);
    const uint32_t all = mts_zip_images_gate(zip), most = all < wanted ? all : wanted;
    return fit < 1 ? 1 : fit < most ? (uint32_t)fit : most;
}

static mts_status check_outputs(const mts_zip *zip)
{
    for (uint32_t t = 0; t < zip->count; t++) {
        const mts_graph *graph = zip->tasks[t].graph;
        if (graph->output_count == 0 || graph->values[graph->outputs[0].value].kind != MTS_VALUE_NODE) {
            return mts_fail(zip->error, MTS_STATUS_UNSUPPORTED, "task '%s': its first output is not computed",
                            zip->tasks[t].name);
        }
    }
    return MTS_STATUS_OK;
}

/* An operator that gradients cannot pass is refused before the work, not after it. */
static mts_status check_trainable(mts_zip *zip)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; t < zip->count && status == MTS_STATUS_OK; t++) {
        status = zip->frozen[t] ? MTS_STATUS_OK : mts_net_trainable(zip->nets[t], zip->error);
        if (status != MTS_STATUS_OK) {
            status = mts_fail_prefix(zip->error, status, "task '%s'", zip->tasks[t].name);
        }
    }
    return status;
}

static mts_status prepare(call *c, const mtsz_data *data)
{
    mts_zip *zip = &c->zip;
    mts_status status = check_outputs(zip);
    MTS_TRY(status, mts_zip_rows_find(zip));
    MTS_TRY(status, mts_data_create(data, zip->tasks, zip->count, IMAGES_BYTES, zip->allocator, &zip->data,
                                    zip->error));
    if (status == MTS_STATUS_OK) {
        zip->images = mts_data_count(zip->data);
        zip->held_out = mts_zip_limited(zip->options) && zip->images >= HELD_OUT_LEAST;
        zip->gate_images = gate_images(zip);
        for (uint32_t r = 0; r < zip->row_count; r++) {
            zip->cost_all += row_cost(zip, &zip->rows[r]);
        }
        status = mts_options_progress(zip->compiler, 0.0f, "bringing channels into one order", zip->error);
    }
    MTS_TRY(status, mts_zip_align(zip));
    MTS_TRY(status, mts_channels_find(zip->tasks[0].graph, &zip->arena, &zip->channels, zip->error));
    if (status == MTS_STATUS_OK) {
        zip->common = mts_arena_zero(&zip->arena, zip->channels.group_count, sizeof(*zip->common));
        status = zip->common ? mts_zip_rows_sum(zip) : mts_fail_memory(zip->error);
    }
    MTS_TRY(status, mts_zip_nets_create(zip));
    if (status == MTS_STATUS_OK && !mts_zip_classes_find(zip)) {
        status = mts_fail_memory(zip->error);
    }
    if (status == MTS_STATUS_OK && zip->options->retrain_seconds > 0.0) {
        status = check_trainable(zip);
    }
    return status == MTS_STATUS_OK ? mts_zip_gate_open(zip) : status;
}

static int retrain_progress(void *context, float fraction, double loss, double left)
{
    const mts_zip *zip = context;
    char what[96];
    (void)snprintf(what, sizeof(what), "re-training: loss %.4f, %.0f s left", loss, left);
    return mts_options_progress(zip->compiler, 0.95f + 0.04f * fraction, what, NULL) == MTS_STATUS_OK ? 0 : 1;
}

static mts_status mean_change(mts_zip *zip, double *mean)
{
    uint32_t worst = 0;
    const mts_status status = mts_zip_gate_look(zip, &worst);
    *mean = 0.0;
    for (uint32_t t = 0; t < zip->count; t++) {
        *mean += zip->change[t] / zip->count;
    }
    return status;
}

static mts_status train(call *c)
{
    mts_zip *zip = &c->zip;
    mts_tie *ties = NULL;
    uint32_t tie_count = 0;
    mts_distill_report report = {0};
    mts_distill_options options;
    mts_distill_options_default(&options);
    options.seconds = zip->options->retrain_seconds;
    options.seed = zip->options->seed;
    options.frozen = c->frozen;
    const char *names[MTS_ZIP_TASKS_MAX];
    for (uint32_t t = 0; t < zip->count; t++) {
        names[t] = zip->tasks[t].name;
    }
    options.names = names;
    options.progress = retrain_progress;
    options.context = zip;
    mts_status status = mts_zip_ties(zip, &ties, &tie_count);
    MTS_TRY(status, mts_distill(zip->nets, (const mts_net *const *)zip->originals, zip->count, ties,
                                tie_count, zip->data, &options, zip->allocator, &report, zip->error));
    c->report.loss_first = report.loss_first;
    c->report.loss_last = report.loss_last;
    c->report.retrain_seconds = report.seconds;
    return status;
}

/* With little time or few images, training can do harm: the weights that change fewer
   answers are kept. */
static mts_status train_and_choose(call *c, mts_net **before)
{
    mts_zip *zip = &c->zip;
    double plain = 0.0, trained = 0.0;
    mts_status status = mean_change(zip, &plain);
    MTS_TRY(status, train(c));
    MTS_TRY(status, mean_change(zip, &trained));
    c->trained = status == MTS_STATUS_OK && trained <= plain;
    for (uint32_t t = 0; t < zip->count && status == MTS_STATUS_OK && !c->trained; t++) {
        mts_net_copy(zip->nets[t], before[t]);
    }
    return status;
}

static mts_status retrain(call *c)
{
    mts_zip *zip = &c->zip;
    mts_net *before[MTS_ZIP_TASKS_MAX] = {NULL};
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; t < zip->count && status == MTS_STATUS_OK; t++) {
        status = mts_net_create(zip->tasks[t].graph, zip->allocator, &before[t], zip->error);
        if (status == MTS_STATUS_OK) {
            mts_net_copy(before[t], zip->nets[t]);
        }
    }
    MTS_TRY(status, train_and_choose(c, before));
    for (uint32_t t = 0; t < zip->count; t++) {
        mts_net_destroy(&before[t]);
    }
    c->report.retrained = c->trained;
    return status;
}

static void fill_report(call *c)
{
    const mts_zip *zip = &c->zip;
    mtsz_zip_report *report = &c->report;
    double shared = 0.0;
    for (uint32_t r = 0; r < zip->row_count; r++) {
        const mts_zip_row *row = &zip->rows[r];
        report->layers += row->share ? 1 : 0;
        shared += (double)row->shared * row->readable * row->taps;
    }
    for (uint32_t t = 0; t < zip->count; t++) {
        report->shared_weights += shared / mts_zip_weights(zip->tasks[t].graph) / zip->count;
    }
    report->zipped = zip->zipped;
    report->rolled_back = zip->rolled_back;
}

/* Bytes that the search counts in, of the bundle that would be written now. */
static mts_status stored_bytes(void *context, const mts_zip_found *found, double *bytes)
{
    call *c = context;
    mtsc_summary summary = {.size = sizeof summary};
    mts_status status = mts_zip_store(&c->zip, found, false, c->of_bundle, c->written);
    MTS_TRY(status, mts_models_count(&c->models, c->written, c->models.count, c->zip.compiler, &summary,
                                     c->zip.error));
    *bytes = (double)summary.weights_bytes;
    return status;
}

static mts_status run(call *c, const mtsz_data *data)
{
    mts_zip *zip = &c->zip;
    zip->started_ns = mts_os_clock_ns();
    const bool searched = mts_zip_limited(zip->options);
    mts_status status = prepare(c, data);
    MTS_TRY(status, searched ? mts_zip_search(zip, &c->found) : zip_rows(c));
    if (status == MTS_STATUS_OK) {
        c->report.zip_seconds = seconds_since(zip->started_ns);
        status = zip->options->retrain_seconds > 0.0 ? retrain(c) : MTS_STATUS_OK;
    }
    if (!searched) {
        MTS_TRY(status, mts_zip_gate_final(zip, &c->report.change, &c->report.change_worst));
    }
    MTS_TRY(status, mts_zip_store(zip, &c->found, c->trained, c->of_bundle, c->written));
    if (status == MTS_STATUS_OK) {
        if (searched) {
            mts_zip_found_report(zip, &c->found, &c->report);
        }
        fill_report(c);
        status = mts_models_write(&c->models, c->written, c->models.count, c->out_path, zip->compiler,
                                  &c->report.summary, zip->error);
    }
    return status;
}

static mts_status zip_bundle(const char *bundle_path, const mtsz_data *data,
                             const mtsz_zip_options *zip_options, const char *out_path,
                             const mtsc_options *options, mtsz_zip_report *report, mts_error *error)
{
    call c = {.out_path = out_path};
    const mts_allocator *allocator = mts_allocator_default();
    const char *defect = mts_zip_options_defect(zip_options, data);
    if (!defect && zip_options->low_rank > 0.0) {
        return mts_zip_low_rank(bundle_path, data, zip_options, out_path, options, report, error);
    }
    if (defect || !data) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "zip: %s",
                        defect ? defect : "there are no images to calibrate with");
    }
    c.report.summary.size = sizeof(c.report.summary);
    c.zip.allocator = allocator;
    c.zip.compiler = options;
    c.zip.options = zip_options;
    c.zip.error = error;
    c.zip.stored = stored_bytes;
    c.zip.stored_context = &c;
    mts_arena_init(&c.zip.arena, allocator);
    mts_arena_init(&c.found.arena, allocator);
    mts_status status = mts_models_open(bundle_path, allocator, &c.models, error);
    MTS_TRY(status, mts_models_check_output(&c.models, out_path, error));
    MTS_TRY(status, take_tasks(&c, zip_options, error));
    MTS_TRY(status, take_base(&c, zip_options, error));
    MTS_TRY(status, run(&c, data));
    mts_zip_nets_destroy(&c.zip);
    mts_zip_found_release(&c.found);
    mts_data_destroy(&c.zip.data);
    mts_arena_release(&c.zip.arena);
    mts_models_release(&c.models);
    if (status == MTS_STATUS_OK && report) {
        mts_sized_write(report, &c.report);
    }
    return status;
}

mts_status mtsz_zip(const char *bundle_path, const mtsz_data *data, const mtsz_zip_options *zip,
                    const char *out_path, const mtsc_options *options, mtsz_zip_report *report)
{
    mtsz_zip_options wanted;
    mtsz_zip_options_default(&wanted);
    mts_call whole = MTS_CALL_BEGIN(mtsz_zip, options, zip, &wanted, report);
    MTS_TRY(whole.status,
            zip_bundle(bundle_path, data, &wanted, out_path, &whole.options, report, &whole.error));
    return mts_call_end(&whole);
}
