/*
 * prune.c: mtsz_prune: measures the importance of every task's channels, chooses which to
 * remove, removes them, fits their readers and writes the result.
 */
#include "compress/prune/prune.h"

#include <pthread.h>
#include <string.h>

#include "base/sized.h"
#include "compiler/models/options.h"
#include "compiler/models/models.h"
#include "compress/net/threads.h"
#include "compress/prune/refit.h"

#define IMAGES_BYTES ((uint64_t)256 << 20)
/* Parts of the progress when importance is measured, and when weights are fitted. */
#define MEASURED 0.3
#define FITTED 0.95
#define STRIDE 7919u /* a prime: images that are taken first are spread over the data */

typedef struct work {
    const mtsz_prune_options *prune;
    const mtsc_options *options;
    const mts_allocator *allocator;
    mts_models models;
    mts_arena arena;
    mts_prune_task *tasks;
    uint32_t count;
    mts_task *selected; /* [count]: for data */
    mts_data *data;     /* NULL: none is needed */
    uint32_t *images, image_count;
    bool fits;            /* the steps of tasks that run now */
    double *shares;       /* [count]: what is done of the step */
    pthread_mutex_t lock; /* of shares and the caller's progress */
} work;

/* One task's view of the progress. */
typedef struct step {
    work *w;
    uint32_t task;
} step;

/* ---- progress ---- */

static mts_status go_on(void *context, double share, const char *what, mts_error *error)
{
    const step *s = context;
    work *w = s->w;
    double done = 0;
    (void)pthread_mutex_lock(&w->lock);
    w->shares[s->task] = share;
    for (uint32_t t = 0; t < w->count; t++) {
        done += w->shares[t] / w->count;
    }
    const double from = w->fits ? MEASURED : 0.0, to = w->fits ? FITTED : MEASURED;
    const mts_status status =
        mts_options_progress(w->options, (float)(from + (to - from) * done), what, error);
    (void)pthread_mutex_unlock(&w->lock);
    return status;
}

static mts_prune_images images_of(work *w, step *s)
{
    return (mts_prune_images){.data = w->data,
                              .task = s->task,
                              .indices = w->images,
                              .count = w->image_count,
                              .go_on = go_on,
                              .context = s};
}

/* ---- what is asked ---- */

static mts_status check_options(const mtsz_prune_options *prune, mts_error *error)
{
    const mts_status status = MTS_STATUS_INVALID_ARGUMENT;
    if ((unsigned)prune->criterion > MTSZ_CRITERION_HYBRID || (unsigned)prune->target > MTSZ_TARGET_BYTES) {
        return mts_fail(error, status, "prune: unknown criterion %d or target %d", (int)prune->criterion,
                        (int)prune->target);
    }
    if (!(prune->ratio >= 0.0 && prune->ratio <= 0.99)) {
        return mts_fail(error, status, "prune: the ratio %g is not from 0 to 0.99", prune->ratio);
    }
    if (!prune->tasks && prune->task_count > 0) {
        return mts_fail(error, status, "prune: %u tasks are counted, but their names are missing",
                        prune->task_count);
    }
    if (prune->round == 0 || (prune->tasks && prune->task_count == 0)) {
        return mts_fail(error, status, "prune: %s", prune->round ? "no task is named" : "round is 0");
    }
    return MTS_STATUS_OK;
}

static mts_status add_task(work *w, uint32_t index, mts_error *error)
{
    for (uint32_t t = 0; t < w->count; t++) {
        if (w->tasks[t].index == index) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "task '%s' is named twice",
                            w->models.tasks[index].name);
        }
    }
    mts_prune_task *task = &w->tasks[w->count];
    task->task = &w->models.tasks[index];
    task->index = index;
    mts_arena_init(&task->arena, w->allocator);
    w->selected[w->count++] = w->models.tasks[index];
    return MTS_STATUS_OK;
}

static mts_status select_tasks(work *w, mts_error *error)
{
    const uint32_t named = w->prune->tasks ? w->prune->task_count : w->models.count;
    w->tasks = mts_arena_zero(&w->arena, named, sizeof(*w->tasks));
    w->selected = mts_arena_zero(&w->arena, named, sizeof(*w->selected));
    w->shares = mts_arena_zero(&w->arena, named, sizeof(*w->shares));
    mts_status status = w->tasks && w->selected && w->shares ? MTS_STATUS_OK : mts_fail_memory(error);
    for (uint32_t i = 0; i < named && status == MTS_STATUS_OK; i++) {
        uint32_t index = i;
        if (w->prune->tasks && !w->prune->tasks[i]) {
            status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "prune: a task's name is missing");
        } else if (w->prune->tasks) {
            status = mts_models_find(&w->models, w->prune->tasks[i], &index, error);
        }
        MTS_TRY(status, add_task(w, index, error));
    }
    return status;
}

static mts_status open_data(work *w, const mtsz_data *data, mts_error *error)
{
    if (w->prune->criterion == MTSZ_CRITERION_L1 && !w->prune->refit) {
        return MTS_STATUS_OK;
    }
    if (!data) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "prune: there are no images, which %s needs; only l1 without refit does without",
                        w->prune->criterion == MTSZ_CRITERION_L1 ? "refit" : "the criterion");
    }
    mts_status status =
        mts_data_create(data, w->selected, w->count, IMAGES_BYTES, w->allocator, &w->data, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    w->image_count = mts_data_count(w->data);
    w->images = mts_arena_zero(&w->arena, w->image_count, sizeof(*w->images));
    const uint32_t stride = w->image_count % STRIDE == 0 ? 1 : STRIDE;
    for (uint32_t i = 0; w->images && i < w->image_count; i++) {
        w->images[i] = (uint32_t)((uint64_t)i * stride % w->image_count);
    }
    return w->images ? MTS_STATUS_OK : mts_fail_memory(error);
}

/* ---- steps of a task ---- */

static mts_status measure_task(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    work *w = context;
    mts_prune_task *task = &w->tasks[job];
    const mts_graph *graph = task->task->graph;
    step s = {w, job};
    (void)worker;
    mts_status status = mts_channels_find(graph, &task->arena, &task->channels, error);
    if (status == MTS_STATUS_OK) {
        task->removable = mts_thin_removable(graph, &task->channels, &task->arena);
        const bool done = task->removable && mts_cost_make(graph, &task->channels, &task->arena, &task->cost);
        status = done ? MTS_STATUS_OK : mts_fail_memory(error);
    }
    if (status == MTS_STATUS_OK) {
        const mts_prune_images images = images_of(w, &s);
        status = mts_importance_find(graph, &task->channels, task->removable, w->prune->criterion,
                                     MTS_IMPORTANCE_LARGE, &images, &task->arena, &task->importance, error);
    }
    MTS_TRY(status, go_on(&s, 1.0, "measuring channels", error));
    return status == MTS_STATUS_OK || status == MTS_STATUS_CANCELLED
               ? status
               : mts_fail_prefix(error, status, "task '%s'", task->task->name);
}

static mts_status thin_task(mts_prune_task *task, mts_error *error)
{
    const bool *const *keep = (const bool *const *)task->keep;
    mts_status status =
        mts_thin_select(task->task->graph, &task->channels, keep, &task->arena, &task->kept, error);
    MTS_TRY(status,
            mts_thin(task->task->graph, &task->channels, keep, &task->arena, &task->thin, NULL, error));
    task->out = task->thin;
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "task '%s'", task->task->name);
}

static mts_status fit_task(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    work *w = context;
    mts_prune_task *task = &w->tasks[job];
    step s = {w, job};
    const mts_prune_images images = images_of(w, &s);
    (void)worker;
    mts_status status = mts_refit(task->task->graph, &task->channels, task->kept, task->thin,
                                  (const bool *const *)task->fixed, &images, &task->arena, &task->out, error);
    MTS_TRY(status, go_on(&s, 1.0, "fitting weights", error));
    return status == MTS_STATUS_OK || status == MTS_STATUS_CANCELLED
               ? status
               : mts_fail_prefix(error, status, "task '%s'", task->task->name);
}

/* Tasks side by side; a single one has all processors. */
static mts_status for_tasks(work *w, bool fits, mts_threads_job job, mts_error *error)
{
    w->fits = fits;
    memset(w->shares, 0, w->count * sizeof(*w->shares));
    return w->count == 1 ? job(w, 0, 0, error) : mts_threads_run(w->count, job, w, error);
}

/* ---- all tasks ---- */

static mts_status check_removable(const work *w, mts_error *error)
{
    for (uint32_t t = 0; t < w->count; t++) {
        const mts_prune_task *task = &w->tasks[t];
        bool some = false;
        for (uint32_t g = 0; g < task->channels.group_count; g++) {
            some = some || task->removable[g];
        }
        if (!some && w->prune->ratio > 0) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "task '%s': nothing can be removed: every channel is seen from outside or mixed "
                            "by an operator",
                            task->task->name);
        }
    }
    return MTS_STATUS_OK;
}

static void count_graph(const mts_graph *graph, uint64_t *mul_adds, uint64_t *bytes)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        *mul_adds += mts_node_mul_adds(graph, &graph->nodes[n]);
    }
    for (uint32_t v = 0; v < graph->value_count; v++) {
        size_t size = 0;
        if (graph->values[v].kind == MTS_VALUE_CONST &&
            mts_shape_bytes(&graph->values[v].shape, graph->values[v].dtype, &size)) {
            *bytes += size;
        }
    }
}

static void count_task(const mts_prune_task *task, mtsz_prune_report *report)
{
    for (uint32_t g = 0; g < task->channels.group_count; g++) {
        if (task->removable[g]) {
            report->channels += task->channels.groups[g].channels;
            report->channels_kept += task->kept[g].count;
        }
    }
    count_graph(task->task->graph, &report->mul_adds, &report->weights_bytes);
    count_graph(task->out, &report->mul_adds_kept, &report->weights_bytes_kept);
}

static mts_status thin_tasks(work *w, mts_error *error)
{
    uint32_t removed = 0;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; t < w->count && status == MTS_STATUS_OK; t++) {
        status = thin_task(&w->tasks[t], error);
        for (uint32_t g = 0; g < w->tasks[t].channels.group_count && status == MTS_STATUS_OK; g++) {
            removed += !w->tasks[t].kept[g].all;
        }
    }
    if (status == MTS_STATUS_OK && removed == 0 && w->prune->ratio > 0) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "prune: the ratio %g is less than one channel of any layer", w->prune->ratio);
    }
    return status;
}

static mts_status fit_tasks(work *w, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    if (!w->prune->refit) {
        return status;
    }
    if (w->prune->together && w->count > 1) {
        status = mts_prune_fix_shared(w->tasks, w->count, &w->arena, error);
    }
    return status == MTS_STATUS_OK ? for_tasks(w, true, fit_task, error) : status;
}

static mts_status write_tasks(work *w, const char *path, mtsc_summary *summary, mts_error *error)
{
    mts_task *all = mts_arena_zero(&w->arena, w->models.count, sizeof(*all));
    if (!all) {
        return mts_fail_memory(error);
    }
    memcpy(all, w->models.tasks, w->models.count * sizeof(*all));
    for (uint32_t t = 0; t < w->count; t++) {
        all[w->tasks[t].index].graph = w->tasks[t].out;
    }
    return mts_models_write(&w->models, all, w->models.count, path, w->options, summary, error);
}

static mts_status run(work *w, const mtsz_data *data, const char *out_path, mtsz_prune_report *report,
                      mts_error *error)
{
    mts_status status = select_tasks(w, error);
    MTS_TRY(status, mts_models_check_output(&w->models, out_path, error));
    MTS_TRY(status, open_data(w, data, error));
    MTS_TRY(status, for_tasks(w, false, measure_task, error));
    MTS_TRY(status, check_removable(w, error));
    MTS_TRY(status, mts_prune_choose(w->tasks, w->count, w->prune, &w->arena, error));
    MTS_TRY(status, thin_tasks(w, error));
    MTS_TRY(status, fit_tasks(w, error));
    MTS_TRY(status, write_tasks(w, out_path, &report->summary, error));
    for (uint32_t t = 0; t < w->count && status == MTS_STATUS_OK; t++) {
        count_task(&w->tasks[t], report);
    }
    return status;
}

mts_status mts_prune_bundle(const char *bundle_path, const mtsz_data *data, const mtsz_prune_options *prune,
                            const char *out_path, const mtsc_options *options, const mts_allocator *allocator,
                            mtsz_prune_report *report, mts_error *error)
{
    work w = {.prune = prune, .options = options, .allocator = allocator};
    mtsz_prune_report counted = {.size = sizeof(counted), .summary = {.size = sizeof(counted.summary)}};
    mts_status status = check_options(prune, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (pthread_mutex_init(&w.lock, NULL) != 0) {
        return mts_fail_memory(error);
    }
    mts_arena_init(&w.arena, allocator);
    status = mts_models_open(bundle_path, allocator, &w.models, error);
    MTS_TRY(status, run(&w, data, out_path, &counted, error));
    if (status == MTS_STATUS_OK && report) {
        mts_sized_write(report, &counted);
    }
    mts_data_destroy(&w.data);
    for (uint32_t t = 0; t < w.count; t++) {
        mts_arena_release(&w.tasks[t].arena);
    }
    mts_arena_release(&w.arena);
    mts_models_release(&w.models);
    (void)pthread_mutex_destroy(&w.lock);
    return status;
}

void mtsz_prune_options_default_sized(mtsz_prune_options *options, size_t size)
{
    const mtsz_prune_options defaults = {
        .size = sizeof(mtsz_prune_options), .ratio = 0.5, .round = 1, .refit = 1};
    mts_sized_default(options, size, &defaults);
}

mts_status mtsz_prune(const char *bundle_path, const mtsz_data *data, const mtsz_prune_options *prune,
                      const char *out_path, const mtsc_options *options, mtsz_prune_report *report)
{
    mtsz_prune_options wanted;
    mtsz_prune_options_default(&wanted);
    mts_call call = MTS_CALL_BEGIN(mtsz_prune, options, prune, &wanted, report);
    MTS_TRY(call.status, mts_prune_bundle(bundle_path, data, &wanted, out_path, &call.options,
                                          mts_allocator_default(), report, &call.error));
    return mts_call_end(&call);
}
