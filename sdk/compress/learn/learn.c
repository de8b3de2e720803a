/*
 * learn.c: mtsz_train: checks the options, runs the frozen part once, trains the candidates,
 * and writes the bundle.
 */
#include "compress/learn/learn.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/size.h"
#include "base/sized.h"
#include "compiler/models/options.h"
#include "compress/learn/heads.h"
#include "compress/learn/tails.h"
#include "platform/os/os.h"

#define DATA_MEMORY ((uint64_t)1 << 30)
#define FEATURES_MOST ((size_t)4 << 30)
#define HEAD_RATE 0.05
#define HEAD_DECAY 0.02
#define HEAD_EPOCHS 40u
#define TAIL_RATE 0.001
#define TAIL_DECAY 0.02
#define TAIL_EPOCHS 12u
#define SPREAD 4.0 /* of the candidates' rates: from 1/4 to 4 times the usual one */
#define RATES 4u   /* different ones */
#define DECAYS 3u

/* ---- what is asked for ---- */

static const char *options_defect(const mtsz_train_options *w)
{
    if (!w->task || !*w->task) {
        return "train: the new task has no name";
    }
    if ((unsigned)w->method > MTSZ_TRAIN_ALL) {
        return "train: method is not one of mtsz_train_method";
    }
    if (w->blocks < 1 || w->blocks > 1000 || w->rank < 1 || w->rank > 64) {
        return "train: blocks are 1 to 1000, and rank is 1 to 64";
    }
    if (w->candidate_count < 1 || w->candidate_count > 256) {
        return "train: there are 1 to 256 candidates";
    }
    if (!(w->rate >= 0.0 && w->rate <= 1.0)) {
        return "train: rate is not a number from 0 (the method's own) to 1";
    }
    if (!(w->decay >= 0.0 && w->decay <= 10.0) && w->decay != -1.0) {
        return "train: decay is not a number from 0 to 10, or -1 (the method's own)";
    }
    if (w->epochs > 10000 || w->batch < 1 || w->batch > 4096) {
        return "train: epochs are 10000 at most, and a batch is 1 to 4096 images";
    }
    if (!(w->held_out > 0.0 && w->held_out <= 0.9)) {
        return "train: held_out is not a part above 0, of 0.9 at most";
    }
    if (w->forms < 1 || w->forms > 16) {
        return "train: forms of an image are 1 to 16";
    }
    return NULL;
}

static mts_status candidates_check(const mtsz_train_options *w, mts_error *error)
{
    for (uint32_t k = 0; w->candidates && k < w->candidate_count; k++) {
        const mtsz_train_candidate *c = &w->candidates[k];
        if (!(c->rate > 0.0 && c->rate <= 1.0) || !(c->decay >= 0.0 && c->decay <= 10.0)) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "train: candidate %u has rate %g and decay %g: rates are above 0, 1 at most, and "
                            "decays are 0 to 10",
                            k, c->rate, c->decay);
        }
    }
    return MTS_STATUS_OK;
}

/* Names of tasks are file names and arguments too. */
static mts_status name_check(const mts_learn *learn, mts_error *error)
{
    const char *name = learn->wanted->task;
    const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    if (strlen(name) > 255 || name[strspn(name, letters)]) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "train: a task cannot be called '%.255s': names have up to 255 letters, digits, '_', "
                        "'.' and '-'",
                        name);
    }
    for (uint32_t t = 0; t < learn->models.count; t++) {
        if (strcmp(learn->models.tasks[t].name, name) == 0) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s: has a task '%s' already",
                            learn->models.path, name);
        }
    }
    return MTS_STATUS_OK;
}

/* ---- candidates ---- */

static double usual_rate(const mtsz_train_options *w)
{
    return w->rate > 0.0 ? w->rate : w->method == MTSZ_TRAIN_HEAD ? HEAD_RATE : TAIL_RATE;
}

static double usual_decay(const mtsz_train_options *w)
{
    return w->decay >= 0.0 ? w->decay : w->method == MTSZ_TRAIN_HEAD ? HEAD_DECAY : TAIL_DECAY;
}

static mtsz_train_candidate candidate_of(const mtsz_train_options *w, uint32_t number)
{
    static const double decays[DECAYS] = {1.0, 0.0, SPREAD};
    const uint32_t rates = w->candidate_count < RATES ? w->candidate_count : RATES;
    mtsz_train_candidate made = {.rate = usual_rate(w), .decay = usual_decay(w), .seed = w->seed + number};
    if (w->candidate_count > 1) {
        const double place = 2.0 * (number % rates) / (rates - 1) - 1.0;
        made.rate = fmin(1.0, made.rate * pow(SPREAD, place));
        made.decay = fmin(10.0, made.decay * decays[number / rates % DECAYS]);
    }
    return made;
}

static mts_status candidates_make(mts_learn *learn, mts_error *error)
{
    const mtsz_train_options *w = learn->wanted;
    learn->candidates = mts_arena_zero(&learn->arena, w->candidate_count, sizeof *learn->candidates);
    for (uint32_t k = 0; learn->candidates && k < w->candidate_count; k++) {
        learn->candidates[k] = w->candidates ? w->candidates[k] : candidate_of(w, k);
    }
    return learn->candidates ? MTS_STATUS_OK : mts_fail_memory(error);
}

/* ---- the frozen part ---- */

static double seconds_since(uint64_t start)
{
    return (double)(mts_os_clock_ns() - start) * 1e-9;
}

static mts_status features_make(mts_learn *learn, const mts_net *whole, mts_error *error)
{
    const mts_learn_plan *plan = &learn->plan;
    const uint64_t start = mts_os_clock_ns();
    size_t bytes = 0;
    const bool fits = mts_size_mul(plan->elements * sizeof(float), learn->rows.count, &bytes);
    if (!fits || bytes > FEATURES_MOST) {
        return mts_fail(
            error, MTS_STATUS_LIMIT,
            "train: the frozen part gives %zu numbers for each of %u images: more than 4 GB; train "
            "fewer blocks, in fewer forms, or on fewer images",
            plan->elements, learn->rows.count);
    }
    learn->features = mts_alloc_raw(learn->allocator, bytes, 1);
    if (!learn->features) {
        return mts_fail_memory(error);
    }
    const mts_status status =
        mts_features_run(learn, whole, plan->cut, plan->values, plan->count, learn->features, error);
    learn->frozen_seconds = seconds_since(start);
    return status;
}

/* ---- training ---- */

static mts_courses courses_of(const mts_learn *learn, mts_course *courses)
{
    const mtsz_train_options *w = learn->wanted;
    const bool head = w->method == MTSZ_TRAIN_HEAD;
    return (mts_courses){.allocator = learn->allocator,
                         .options = learn->options,
                         .what = "training",
                         .from = 0.5f,
                         .to = 0.95f,
                         .candidates = w->candidate_count,
                         .rows = learn->rows.trained,
                         .held_out = learn->rows.count - learn->rows.trained,
                         .batch = w->batch,
                         .epochs = w->epochs ? w->epochs
                                   : head    ? HEAD_EPOCHS
                                             : TAIL_EPOCHS,
                         .patience = w->patience,
                         .seed = w->seed,
                         .checkpoint = w->checkpoint,
                         .courses = courses};
}

/* Everything that the bits of a training depend on. */
static uint64_t identity_of(const mts_learn *learn, const mts_courses *courses)
{
    const mtsz_train_options *w = learn->wanted;
    const mts_rows *rows = &learn->rows;
    const uint64_t numbers[] = {
        w->method,       w->blocks,         w->rank,       w->class_count, courses->batch,      w->seed,
        courses->epochs, courses->patience, rows->trained, rows->count,    learn->plan.elements};
    uint64_t hash = mts_hash(numbers, sizeof numbers, 1);
    hash = mts_hash(learn->candidates, w->candidate_count * sizeof *learn->candidates, hash);
    hash = mts_hash(rows->labels, rows->count * sizeof *rows->labels, hash);
    const mts_graph *graph = learn->plan.tail;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        const mts_value *value = &graph->values[v];
        if (value->kind == MTS_VALUE_CONST) {
            hash = mts_hash(value->blocks[0].data,
                            mts_shape_count(&value->shape) * mts_type_size(value->dtype), hash);
        }
    }
    return mts_hash(learn->features, rows->count * learn->plan.elements * sizeof *learn->features, hash);
}

static mts_heads_data heads_data(const mts_learn *learn, const float *features)
{
    return (mts_heads_data){.features = features,
                            .labels = learn->rows.labels,
                            .trained = learn->rows.trained,
                            .rows = learn->rows.count,
                            .count = learn->plan.features,
                            .classes = learn->wanted->class_count};
}

/* weight and bias of the best candidate's last layer. */
static mts_status heads_train(const mts_learn *learn, const float *features,
                              const mtsz_train_candidate *candidates, mts_courses *courses, float *weight,
                              float *bias, uint32_t *best, mts_error *error)
{
    const mts_heads_data data = heads_data(learn, features);
    mts_heads *heads = mts_heads_create(&data, candidates, courses->candidates, learn->allocator);
    if (!heads) {
        return mts_fail_memory(error);
    }
    const mts_learner learner = mts_heads_learner(heads);
    mts_status status = mts_courses_run(courses, &learner, error);
    MTS_TRY(status, mts_courses_best(courses, best, error));
    if (status == MTS_STATUS_OK) {
        mts_heads_best(heads, *best, weight, bias);
    }
    mts_heads_destroy(&heads);
    return status;
}

static mts_status train_heads(mts_learn *learn, mts_net *whole, mts_courses *courses, mts_error *error)
{
    const mts_net_layer layer = mts_net_layer_of(whole, learn->plan.head);
    const mts_status status = heads_train(learn, learn->features, learn->candidates, courses, layer.weight,
                                          layer.bias, &learn->best, error);
    mts_net_touch(whole, learn->plan.head);
    return status;
}

/* The last layer that tails start with: a linear classifier of what they compute then. */
static mts_status start_head(const mts_learn *learn, float *weight, float *bias, mts_error *error)
{
    const mtsz_train_candidate candidate = {
        .rate = HEAD_RATE, .decay = HEAD_DECAY, .seed = learn->wanted->seed};
    mts_course course = {0};
    mts_courses courses = courses_of(learn, &course);
    uint32_t best = 0;
    float *features =
        mts_alloc_zero(learn->allocator, learn->rows.count, learn->plan.features * sizeof(float));
    courses.candidates = 1;
    courses.checkpoint = NULL;
    courses.epochs = HEAD_EPOCHS;
    courses.what = "training the last layer";
    courses.to = 0.55f;
    mts_status status = features ? mts_tail_features(&learn->plan, learn->features, learn->rows.count,
                                                     features, learn->allocator, error)
                                 : mts_fail_memory(error);
    MTS_TRY(status, heads_train(learn, features, &candidate, &courses, weight, bias, &best, error));
    mts_alloc_free(learn->allocator, features);
    return status;
}

static mts_status train_tails(mts_learn *learn, mts_net *whole, mts_courses *courses, mts_error *error)
{
    const uint32_t classes = learn->wanted->class_count;
    float *weight = mts_arena_zero(&learn->arena, classes, learn->plan.features * sizeof(float));
    float *bias = mts_arena_zero(&learn->arena, classes, sizeof(float));
    const mts_tails_data data = {.plan = &learn->plan,
                                 .features = learn->features,
                                 .labels = learn->rows.labels,
                                 .trained = learn->rows.trained,
                                 .rows = learn->rows.count,
                                 .classes = classes,
                                 .batch = courses->batch,
                                 .weight = weight,
                                 .bias = bias};
    mts_tails *tails = NULL;
    mts_status status = weight && bias ? start_head(learn, weight, bias, error) : mts_fail_memory(error);
    MTS_TRY(status,
            mts_tails_create(&data, learn->candidates, courses->candidates, learn->allocator, &tails, error));
    if (status == MTS_STATUS_OK) {
        const mts_learner learner = mts_tails_learner(tails);
        courses->from = 0.55f;
        status = mts_courses_run(courses, &learner, error);
    }
    MTS_TRY(status, mts_courses_best(courses, &learn->best, error));
    if (status == MTS_STATUS_OK) {
        mts_tails_best(tails, learn->best, whole);
    }
    mts_tails_destroy(&tails);
    return status;
}

static void tell_results(const mts_learn *learn, const mts_courses *courses)
{
    const mtsz_train_options *w = learn->wanted;
    for (uint32_t k = 0; w->result && k < courses->candidates; k++) {
        const mts_course *c = &courses->courses[k];
        const mtsz_train_result result = {.size = sizeof result,
                                          .number = k,
                                          .rate = learn->candidates[k].rate,
                                          .decay = learn->candidates[k].decay,
                                          .seed = learn->candidates[k].seed,
                                          .accuracy = 100.0 * c->best.right / courses->held_out,
                                          .loss = c->usable ? c->best.loss : (double)INFINITY,
                                          .epochs = c->epochs,
                                          .best = c->best_epoch};
        w->result(w->context, &result);
    }
}

static mts_status train(mts_learn *learn, mts_net *whole, mtsz_train_report *report, mts_error *error)
{
    const uint64_t start = mts_os_clock_ns();
    mts_course *list = mts_arena_zero(&learn->arena, learn->wanted->candidate_count, sizeof *list);
    if (!list) {
        return mts_fail_memory(error);
    }
    mts_courses courses = courses_of(learn, list);
    courses.batch = courses.batch < courses.rows ? courses.batch : courses.rows;
    courses.identity = courses.checkpoint ? identity_of(learn, &courses) : 0;
    const mts_status status = learn->wanted->method == MTSZ_TRAIN_HEAD
                                  ? train_heads(learn, whole, &courses, error)
                                  : train_tails(learn, whole, &courses, error);
    learn->train_seconds = seconds_since(start);
    if (status == MTS_STATUS_OK) {
        tell_results(learn, &courses);
        report->accuracy = 100.0 * list[learn->best].best.right / courses.held_out;
        report->loss = list[learn->best].best.loss;
        report->resumed = courses.resumed;
    }
    return status;
}

/* ---- all of it ---- */

static mts_status prepare(mts_learn *learn, const char *path, const mtsz_data *data, const char *out_path,
                          mts_error *error)
{
    mts_status status = mts_models_open(path, learn->allocator, &learn->models, error);
    MTS_TRY(status, mts_models_check_output(&learn->models, out_path, error));
    MTS_TRY(status, name_check(learn, error));
    MTS_TRY(status, mts_learn_base_find(learn, data, error));
    MTS_TRY(status, mts_data_create(data, mts_learn_base(learn), 1, DATA_MEMORY, learn->allocator,
                                    &learn->data, error));
    if (status == MTS_STATUS_OK) {
        learn->images = mts_data_count(learn->data);
        status = mts_rows_make(learn->wanted, mts_data_changes(learn->data, 0), &learn->arena, &learn->rows,
                               error);
        learn->held_out = learn->rows.count - learn->rows.trained;
    }
    MTS_TRY(status, candidates_make(learn, error));
    MTS_TRY(status, mts_learn_plan_make(mts_learn_base(learn), &learn->head, learn->wanted, &learn->arena,
                                        &learn->plan, error));
    return status;
}

static mts_status learn_task(mts_learn *learn, const char *path, const mtsz_data *data, const char *out_path,
                             mtsz_train_report *report, mts_error *error)
{
    mtsz_train_report made = {.size = sizeof made, .summary = {.size = sizeof made.summary}};
    mts_net *whole = NULL;
    mts_status status = prepare(learn, path, data, out_path, error);
    MTS_TRY(status, mts_net_create(learn->plan.whole, learn->allocator, &whole, error));
    MTS_TRY(status, features_make(learn, whole, error));
    MTS_TRY(status, train(learn, whole, &made, error));
    MTS_TRY(status, mts_options_progress(learn->options, 0.95f, "writing the bundle", error));
    MTS_TRY(status, mts_learn_write(learn, whole, out_path, &made, error));
    mts_net_destroy(&whole);
    if (status == MTS_STATUS_OK && report) {
        mts_sized_write(report, &made);
    }
    return status;
}

static mts_status arguments_check(const char *path, const mtsz_data *data, const mtsz_train_options *wanted,
                                  const char *out_path, mts_error *error)
{
    if (!path || !*path || !out_path || !*out_path) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "train: a path is missing");
    }
    if (!data) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "train: there are no images to train with");
    }
    const char *defect = options_defect(wanted);
    if (defect) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s", defect);
    }
    mts_status status = candidates_check(wanted, error);
    MTS_TRY(status, mts_labels_check(wanted, data->count, error));
    return status;
}

void mtsz_train_options_default_sized(mtsz_train_options *options, size_t size)
{
    const mtsz_train_options defaults = {.size = sizeof(mtsz_train_options),
                                         .blocks = 1,
                                         .rank = 2,
                                         .candidate_count = 8,
                                         .decay = -1,
                                         .patience = 10,
                                         .batch = 64,
                                         .held_out = 0.2,
                                         .forms = 2,
                                         .seed = 1};
    mts_sized_default(options, size, &defaults);
}

mts_status mtsz_train(const char *bundle_path, const mtsz_data *data, const mtsz_train_options *train,
                      const char *out_path, const mtsc_options *options, mtsz_train_report *report)
{
    mtsz_train_options wanted;
    mtsz_train_options_default(&wanted);
    mts_call call = MTS_CALL_BEGIN(mtsz_train, options, train, &wanted, report);
    if (call.status == MTS_STATUS_OK && !train) {
        call.status = mts_fail(&call.error, MTS_STATUS_INVALID_ARGUMENT, "mtsz_train_options is NULL");
    }
    MTS_TRY(call.status, arguments_check(bundle_path, data, &wanted, out_path, &call.error));
    if (call.status == MTS_STATUS_OK) {
        mts_learn learn = {.allocator = mts_allocator_default(), .options = &call.options, .wanted = &wanted};
        mts_arena_init(&learn.arena, learn.allocator);
        call.status = learn_task(&learn, bundle_path, data, out_path, report, &call.error);
        mts_alloc_free(learn.allocator, learn.features);
        mts_data_destroy(&learn.data);
        mts_models_release(&learn.models);
        mts_arena_release(&learn.arena);
    }
    return mts_call_end(&call);
}
