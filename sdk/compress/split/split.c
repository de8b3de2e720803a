/*
 * split.c: mtsz_split: checks the options, runs the whole network, makes the subnets, and
 * writes the bundle.
 */
#include "compress/split/split.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "compiler/models/options.h"
#include "compress/split/collect.h"
#include "compress/split/narrow.h"

#define RATIO_MOST 0.99
#define DATA_MEMORY ((uint64_t)1 << 30)

/* ---- what is asked for ---- */

static const char *options_defect(const mtsz_split_options *split)
{
    if (!split->task || !*split->task) {
        return "split: no task is named";
    }
    if (!(split->ratio >= 0.0 && split->ratio <= RATIO_MOST)) {
        return "split: ratio is not from 0 to 0.99";
    }
    if (!(split->trunk >= 0.0 && split->trunk <= RATIO_MOST)) {
        return "split: trunk is not from 0 to 0.99";
    }
    if ((unsigned)split->criterion > MTSZ_CRITERION_HYBRID) {
        return "split: criterion is not one of mtsz_criterion";
    }
    if ((unsigned)split->grouping > MTSZ_GROUPING_RANDOM) {
        return "split: grouping is not one of mtsz_grouping";
    }
    if (split->search && split->criterion != MTSZ_CRITERION_HYBRID) {
        return "split: search is for the criterion HYBRID alone";
    }
    if (!(split->retrain_seconds >= 0.0) || !isfinite(split->retrain_seconds)) {
        return "split: retrain_seconds is not a number from 0 up";
    }
    return NULL;
}

static mts_status groups_check(const mts_split *split, mts_error *error)
{
    const uint32_t groups = split->wanted->groups;
    if (groups < 2 || groups > split->head.classes) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "task '%s' has %u classes: they make from 2 to %u groups, not %u",
                        mts_split_task(split)->name, split->head.classes, split->head.classes, groups);
    }
    return mts_split_names_check(split, error);
}

/* Labels, and whether a search has images to compare by. */
static mts_status images_check(const mts_split *split, mts_error *error)
{
    const mtsz_split_options *wanted = split->wanted;
    if (wanted->search && split->images < MTS_SPLIT_HELD_OUT) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "split: search holds out each image number %u of the data, which has %u images",
                        MTS_SPLIT_HELD_OUT, split->images);
    }
    if (wanted->labels && wanted->label_count != split->images) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "split: there are %u labels for %u images",
                        wanted->label_count, split->images);
    }
    for (uint32_t i = 0; wanted->labels && i < split->images; i++) {
        if (wanted->labels[i] >= split->head.classes) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "split: image %u has label %u, but task '%s' has %u classes", i,
                            wanted->labels[i], mts_split_task(split)->name, split->head.classes);
        }
    }
    return MTS_STATUS_OK;
}

/* ---- the whole network's answers ---- */

static bool arrays_make(mts_split *split)
{
    const mts_head *head = &split->head;
    split->features = mts_arena_zero(&split->arena, split->images, head->features * sizeof(float));
    split->answers = mts_arena_zero(&split->arena, split->images, head->classes * sizeof(float));
    split->combined = mts_arena_zero(&split->arena, split->images, head->classes * sizeof(float));
    split->answer = mts_arena_zero(&split->arena, split->images, sizeof(*split->answer));
    split->group_of = mts_arena_zero(&split->arena, head->classes, sizeof(*split->group_of));
    split->subnets = mts_arena_zero(&split->arena, split->wanted->groups, sizeof(*split->subnets));
    split->needed = mts_arena_zero(&split->arena, mts_split_task(split)->graph->node_count, sizeof(bool));
    return split->features && split->answers && split->combined && split->answer && split->group_of &&
           split->subnets && split->needed;
}

static uint32_t largest(const float *values, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        best = values[i] > values[best] ? i : best;
    }
    return best;
}

/* Scores to probabilities; false: a score is no number. */
static bool softmax(float *scores, uint32_t count)
{
    const double most = (double)scores[largest(scores, count)];
    double sum = 0;
    for (uint32_t c = 0; c < count; c++) {
        sum += exp((double)scores[c] - most);
    }
    for (uint32_t c = 0; c < count; c++) {
        scores[c] = (float)(exp((double)scores[c] - most) / sum);
    }
    return isfinite(sum) && isfinite(most);
}

static mts_status ask_whole(mts_split *split, mts_error *error)
{
    const uint32_t classes = split->head.classes;
    const mts_collect wanted[2] = {{split->head.input, split->features},
                                   {split->head.output, split->answers}};
    const mts_status status =
        mts_collect_values(split->whole, split->data, 0, wanted, 2, split->allocator, error);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < split->images; i++) {
        float *scores = split->answers + (size_t)i * classes;
        if (!softmax(scores, classes)) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "task '%s' answers image %u with numbers that are not finite",
                            mts_split_task(split)->name, i);
        }
        split->answer[i] = largest(scores, classes);
    }
    split->class_of = split->wanted->labels ? split->wanted->labels : split->answer;
    return status;
}

static mts_status prepare(mts_split *split, const char *path, const mtsz_data *data, const char *out_path,
                          mts_error *error)
{
    mts_status status = mts_models_open(path, split->allocator, &split->models, error);
    MTS_TRY(status, mts_models_check_output(&split->models, out_path, error));
    MTS_TRY(status, mts_models_find(&split->models, split->wanted->task, &split->task, error));
    MTS_TRY(status, mts_head_find(mts_split_task(split), &split->head, error));
    MTS_TRY(status, groups_check(split, error));
    MTS_TRY(status, mts_data_create(data, mts_split_task(split), 1, DATA_MEMORY, split->allocator,
                                    &split->data, error));
    if (status == MTS_STATUS_OK) {
        split->images = mts_data_count(split->data);
        status = images_check(split, error);
    }
    if (status == MTS_STATUS_OK) {
        status = mts_net_create(mts_split_task(split)->graph, split->allocator, &split->whole, error);
    }
    if (status == MTS_STATUS_OK && !arrays_make(split)) {
        status = mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the answers to %u images",
                          split->images);
    }
    return status;
}

/* ---- the bundle ---- */

/* Images whose most probable class is another one for the subnets together, in
   percent. */
static double changed(const mts_split *split)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < split->images; i++) {
        const uint32_t answer =
            largest(split->combined + (size_t)i * split->head.classes, split->head.classes);
        count += answer != split->answer[i] ? 1 : 0;
    }
    return 100.0 * count / split->images;
}

/* Multiply-adds of the trunk as the subnets have it: without nodes that no subnet
   needs. */
static uint64_t trunk_work(const mts_split *split)
{
    const mts_graph *graph = mts_split_task(split)->graph;
    const uint32_t trunk = mts_split_trunk(split);
    uint64_t sum = 0;
    mts_head_mark(graph, split->head.input, split->needed);
    for (uint32_t n = 0; n < trunk; n++) {
        sum += split->needed[n] ? mts_node_mul_adds(graph, &graph->nodes[n]) : 0;
    }
    return sum;
}

static void report_fill(const mts_split *split, mtsz_split_report *report)
{
    const uint64_t trunk = trunk_work(split);
    report->mul_adds = mts_split_work(mts_split_task(split)->graph, 0);
    report->mul_adds_groups = trunk; /* once for all */
    for (uint32_t g = 0; g < split->wanted->groups; g++) {
        report->mul_adds_groups += mts_split_work(split->subnets[g].graph, 0) - trunk;
    }
    report->change = changed(split);
}

/* The subnets stand where the task stood. */
static mts_status write_tasks(mts_split *split, const char *path, mtsc_summary *summary, mts_error *error)
{
    const uint32_t groups = split->wanted->groups;
    const uint32_t most = split->models.count + groups;
    mts_task *tasks = mts_arena_zero(&split->arena, most, sizeof *tasks);
    uint32_t count = 0;
    if (!tasks) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for %u tasks", most);
    }
    for (uint32_t t = 0; t < split->models.count; t++) {
        if (t != split->task || split->wanted->keep) {
            tasks[count++] = split->models.tasks[t];
        }
        for (uint32_t g = 0; t == split->task && g < groups; g++) {
            tasks[count++] = split->subnets[g];
        }
    }
    return mts_models_write(&split->models, tasks, count, path, split->options, summary, error);
}

static mts_status make_subnets(mts_split *split, mts_error *error)
{
    const uint32_t groups = split->wanted->groups;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t g = 0; status == MTS_STATUS_OK && g < groups; g++) {
        char what[64];
        (void)snprintf(what, sizeof what, "making subnet %u of %u", g + 1, groups);
        status = mts_options_progress(split->options, 0.1f + 0.8f * (float)g / (float)groups, what, error);
        MTS_TRY(status, mts_split_subnet(split, g, error));
        if (status == MTS_STATUS_OK && !mts_split_name(split, g)) {
            status = mts_fail_memory(error);
        }
    }
    return status;
}

static mts_status split_bundle(mts_split *split, const char *path, const mtsz_data *data,
                               const char *out_path, mtsz_split_report *report, mts_error *error)
{
    mts_status status = prepare(split, path, data, out_path, error);
    MTS_TRY(status, mts_options_progress(split->options, 0.0f, "running the whole network", error));
    MTS_TRY(status, ask_whole(split, error));
    MTS_TRY(status, mts_split_group(split, error));
    MTS_TRY(status, make_subnets(split, error));
    MTS_TRY(status, mts_options_progress(split->options, 0.9f, "writing the bundle", error));
    if (status == MTS_STATUS_OK) {
        mtsz_split_report made = {.size = sizeof made, .summary = {.size = sizeof made.summary}};
        report_fill(split, &made); /* writing rewrites the graphs */
        status = write_tasks(split, out_path, &made.summary, error);
        if (status == MTS_STATUS_OK && report) {
            mts_sized_write(report, &made);
        }
    }
    return status;
}

static void release(mts_split *split)
{
    mts_net_destroy(&split->whole);
    mts_data_destroy(&split->data);
    mts_models_release(&split->models);
    mts_arena_release(&split->arena);
}

static mts_status arguments_check(const char *path, const mtsz_data *data, const mtsz_split_options *split,
                                  const char *out_path, mts_error *error)
{
    if (!path || !*path || !out_path || !*out_path) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "split: a path is missing");
    }
    if (!data) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "split: there are no images to calibrate with");
    }
    const char *defect = options_defect(split);
    return defect ? mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s", defect) : MTS_STATUS_OK;
}

void mtsz_split_options_default_sized(mtsz_split_options *options, size_t size)
{
    const mtsz_split_options defaults = {.size = sizeof(mtsz_split_options),
                                         .groups = 2,
                                         .ratio = 0.5,
                                         .criterion = MTSZ_CRITERION_HYBRID,
                                         .seed = 1};
    mts_sized_default(options, size, &defaults);
}

/* The caller's options, with progress that never goes back, although each subnet and step
   counts from 0. */
typedef struct steady {
    const mtsc_options *caller;
    float told;
} steady;

static int steady_progress(void *context, float fraction, const char *what)
{
    steady *s = context;
    s->told = fraction > s->told ? fraction : s->told;
    return s->caller->progress ? s->caller->progress(s->caller->context, s->told, what) : 0;
}

static void steady_log(void *context, mts_log_severity severity, const char *text)
{
    const steady *s = context;
    if (s->caller->log) {
        s->caller->log(s->caller->context, severity, text);
    }
}

mts_status mtsz_split(const char *bundle_path, const mtsz_data *data, const mtsz_split_options *split,
                      const char *out_path, const mtsc_options *options, mtsz_split_report *report)
{
    mtsz_split_options wanted;
    mtsz_split_options_default(&wanted);
    mts_call call = MTS_CALL_BEGIN(mtsz_split, options, split, &wanted, report);
    if (call.status == MTS_STATUS_OK && !split) {
        call.status = mts_fail(&call.error, MTS_STATUS_INVALID_ARGUMENT, "mtsz_split_options is NULL");
    }
    MTS_TRY(call.status, arguments_check(bundle_path, data, &wanted, out_path, &call.error));
    if (call.status == MTS_STATUS_OK) {
        steady told = {.caller = &call.options};
        mtsc_options inner = call.options;
        inner.context = &told;
        inner.progress = steady_progress;
        inner.log = steady_log;
        mts_split work = {.allocator = mts_allocator_default(), .options = &inner, .wanted = &wanted};
        mts_arena_init(&work.arena, work.allocator);
        call.status = split_bundle(&work, bundle_path, data, out_path, report, &call.error);
        release(&work);
    }
    return mts_call_end(&call);
}
