/*
 * distill.c: see distill.h. Here: what training is made of and one step after another;
 * the parts are in the other files of this folder.
 *
 * Students are trained as copies, which are written back at the end, so that whatever
 * fails before leaves them as they were. A step is the same whatever the number of
 * threads: jobs have their own memory, and sums are taken in the order of lanes and
 * tasks.
 */
#include "compress/train/distill.h"

#include <math.h>
#include <string.h>

#include "compress/net/threads.h"
#include "compress/train/lane.h"
#include "compress/train/schedule.h"
#include "compress/train/ties.h"
#include "platform/os/os.h"

#define MEMORY_MOST ((size_t)2 << 30) /* of all runs; more make batches go through in chunks */
#define JOBS_LEAST 4                  /* lanes of a step, or a multiple of this, where batches allow it */
#define LANE_IMAGES_LEAST 8           /* smaller lanes would waste more than processors that wait */
#define LOSS_FAR 0.25                 /* of a student at its start that takes the full rate */
#define RATE_PART_LEAST 0.05
#define MEASURE_IMAGES 256     /* whose answers' variance is measured */
#define PROGRESS_NS 100000000u /* between calls of the callback */

typedef struct trainer {
    const mts_allocator *allocator;
    const mts_distill_options *options;
    uint32_t count;
    mts_net *const *given;
    const mts_net *const *teachers;
    const mts_tie *ties;
    uint32_t tie_count;
    mts_frozen frozen;
    mts_data *data;
    mts_arena arena;
    mts_net **copies, **originals; /* [count] of answers graphs; NULL where the task is frozen */
    mts_lane_task *tasks;          /* [count] */
    uint32_t lanes_per_task, lane_count;
    mts_lane *lanes;   /* of a task one after another */
    float **gradients; /* [count]: of the first lane */
    mts_batch batch;
    mts_parameters parameters;
    mts_schedule schedule;
    double *losses; /* [step] */
    size_t loss_capacity;
    double loss_sum; /* since the last report */
    uint32_t loss_count;
    double loss;       /* of the last report */
    uint64_t reported; /* when that was; 0: there was none */
} trainer;

static const char *task_name(const trainer *t, uint32_t task)
{
    const char *given = t->options->names ? t->options->names[task] : NULL;
    const char *name = given ? given : mts_net_graph(t->given[task])->name;
    return name ? name : "(no name)";
}

/* ---- checks ---- */

static mts_status options_check(const mts_distill_options *o, mts_error *error)
{
    const char *defect = NULL;
    if (!(o->seconds > 0)) {
        defect = "the time is not positive";
    } else if (o->epochs == 0 || o->batch == 0) {
        defect = "no epochs, or batches of no images";
    } else if (!(o->rate > 0) || !isfinite(o->rate)) {
        defect = "the rate is not positive";
    } else if (o->shift > 1024) {
        defect = "images move by more than 1024 pixels";
    }
    return defect ? mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "training: %s", defect) : MTS_STATUS_OK;
}

static bool ports_equal(const mts_graph *a, const mts_graph *b)
{
    bool equal = a->input_count == b->input_count && a->output_count == b->output_count;
    for (uint32_t i = 0; equal && i < a->input_count; i++) {
        equal = mts_shape_equal(&a->values[a->inputs[i].value].shape, &b->values[b->inputs[i].value].shape);
    }
    for (uint32_t i = 0; equal && i < a->output_count; i++) {
        equal = mts_shape_equal(&a->values[a->outputs[i].value].shape, &b->values[b->outputs[i].value].shape);
    }
    return equal;
}

static bool answers_equal(const mts_graph *a, const mts_graph *b)
{
    for (uint32_t i = 0; i < a->output_count; i++) {
        const mts_answer left = mts_answer_of(a, i), right = mts_answer_of(b, i);
        if (left.elements != right.elements || left.classes != right.classes ||
            left.computed != right.computed) {
            return false;
        }
    }
    return true;
}

/* ---- making ---- */

static mts_status copy_make(trainer *t, const mts_net *of, mts_net **copy, mts_error *error)
{
    mts_graph *graph = mts_answers_graph(mts_net_graph(of), &t->arena);
    if (!graph) {
        return mts_fail_memory(error);
    }
    const mts_status status = mts_net_create(graph, t->allocator, copy, error);
    if (status == MTS_STATUS_OK) {
        mts_parameters_copy(*copy, of);
    }
    return status;
}

static mts_status lane_task_make(trainer *t, uint32_t task, mts_error *error)
{
    const mts_graph *graph = mts_net_graph(t->copies[task]);
    const uint32_t count = graph->output_count;
    mts_answer *answers = mts_arena_zero(&t->arena, count, sizeof(*answers));
    bool made = answers;
    for (uint32_t i = 0; made && i < count; i++) {
        answers[i] = mts_answer_of(graph, i);
        answers[i].sums = mts_arena_zero(&t->arena, answers[i].elements, sizeof(double));
        made = answers[i].sums;
    }
    t->tasks[task] = (mts_lane_task){.task = task,
                                     .teacher = t->originals[task],
                                     .student = t->copies[task],
                                     .answer_count = count,
                                     .answers = answers,
                                     .labels = t->options->labels,
                                     .label_part = t->options->label_part};
    return made ? MTS_STATUS_OK : mts_fail_memory(error);
}

static mts_status task_make(trainer *t, uint32_t task, mts_error *error)
{
    const mts_graph *graph = mts_net_graph(t->given[task]);
    if (!ports_equal(graph, mts_net_graph(t->teachers[task]))) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "student and teacher have other ports");
    }
    mts_status status = copy_make(t, t->given[task], &t->copies[task], error);
    MTS_TRY(status, copy_make(t, t->teachers[task], &t->originals[task], error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    graph = mts_net_graph(t->copies[task]);
    if (!answers_equal(graph, mts_net_graph(t->originals[task]))) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "student and teacher end in other operators");
    }
    return lane_task_make(t, task, error);
}

static mts_status tasks_make(trainer *t, mts_error *error)
{
    t->copies = mts_arena_zero(&t->arena, t->count, sizeof(mts_net *));
    t->originals = mts_arena_zero(&t->arena, t->count, sizeof(mts_net *));
    t->tasks = mts_arena_zero(&t->arena, t->count, sizeof(mts_lane_task));
    t->gradients = mts_arena_zero(&t->arena, t->count, sizeof(float *));
    if (!t->copies || !t->originals || !t->tasks || !t->gradients) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        const mts_status status = mts_frozen_task(&t->frozen, i) ? MTS_STATUS_OK : task_make(t, i, error);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(error, status, "task '%s'", task_name(t, i));
        }
    }
    if (!mts_parameters_init(&t->parameters, t->copies, t->count, &t->frozen, t->allocator)) {
        return mts_fail_memory(error);
    }
    return mts_ties_mark(t->ties, t->tie_count, t->given, t->count, t->options->names, &t->frozen,
                         &t->parameters, error);
}

/* Fewer tasks than processors, or few more, would leave processors waiting: tasks get
   several lanes. */
static uint32_t lanes_of_task(uint32_t tasks, uint32_t batch)
{
    uint32_t lanes = 1;
    while (lanes < JOBS_LEAST && tasks * lanes % JOBS_LEAST && batch / (lanes * 2) >= LANE_IMAGES_LEAST) {
        lanes *= 2;
    }
    return lanes;
}

/* Images that all lanes can have in memory at once. */
static uint32_t chunk_of_lane(const trainer *t, uint32_t images)
{
    for (uint32_t chunk = images; chunk > 1; chunk = (chunk + 1) / 2) {
        size_t bytes = 0;
        for (uint32_t i = 0; i < t->count; i++) {
            if (t->copies[i]) {
                bytes += t->lanes_per_task * (mts_net_run_bytes(t->originals[i], chunk, MTS_NET_INFERENCE) +
                                              mts_net_run_bytes(t->copies[i], chunk, MTS_NET_TRAINING));
            }
        }
        if (bytes <= MEMORY_MOST) {
            return chunk;
        }
    }
    return 1;
}

static mts_status lanes_make(trainer *t, uint32_t trained, mts_error *error)
{
    const uint32_t size = t->batch.size;
    t->lanes_per_task = lanes_of_task(trained, size);
    const uint32_t images = (size + t->lanes_per_task - 1) / t->lanes_per_task;
    const uint32_t chunk = chunk_of_lane(t, images);
    t->lanes = mts_arena_zero(&t->arena, (size_t)trained * t->lanes_per_task, sizeof(mts_lane));
    if (!t->lanes) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        for (uint32_t part = 0; t->copies[i] && part < t->lanes_per_task; part++) {
            mts_lane *lane = &t->lanes[t->lane_count++];
            lane->of = &t->tasks[i];
            lane->first = part * images;
            lane->end = size < lane->first + images ? size : lane->first + images;
            lane->chunk = chunk;
            const mts_status status = mts_lane_init(lane, t->parameters.elements[i], t->allocator, error);
            if (status != MTS_STATUS_OK) {
                return mts_fail_prefix(error, status, "task '%s'", task_name(t, i));
            }
            if (part == 0) {
                t->gradients[i] = lane->gradients;
            }
        }
    }
    return MTS_STATUS_OK;
}

/* ---- a step ---- */

static mts_status measure_job(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    trainer *t = context;
    mts_lane *lane = &t->lanes[job * t->lanes_per_task];
    const uint32_t task = lane->of->task;
    const uint32_t count = t->batch.images < MEASURE_IMAGES ? t->batch.images : MEASURE_IMAGES;
    (void)worker;
    const mts_status status = mts_lane_measure(lane, &t->parameters, t->data, t->batch.order, count, error);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "task '%s'", task_name(t, task));
}

static mts_status lane_job(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    trainer *t = context;
    mts_lane *lane = &t->lanes[job];
    (void)worker;
    const mts_status status = mts_lane_step(lane, t->data, &t->batch, &t->parameters, error);
    return status == MTS_STATUS_OK
               ? status
               : mts_fail_prefix(error, status, "task '%s'", task_name(t, lane->of->task));
}

/* Adds the other lanes' gradients of a task to its first lane's. */
static void reduce_job(void *context, uint32_t job)
{
    trainer *t = context;
    const mts_lane *lanes = &t->lanes[job * t->lanes_per_task];
    const size_t count = t->parameters.elements[lanes->of->task];
    for (uint32_t part = 1; part < t->lanes_per_task; part++) {
        for (size_t i = 0; i < count; i++) {
            lanes->gradients[i] += lanes[part].gradients[i];
        }
    }
}

static void gather_job(void *context, uint32_t job)
{
    trainer *t = context;
    if (mts_tie_moves(&t->ties[job], &t->frozen)) {
        mts_tie_gather(&t->ties[job], &t->parameters, t->gradients);
    }
}

static void update_job(void *context, uint32_t job)
{
    trainer *t = context;
    const mts_parameter_array *array = &t->parameters.arrays[job];
    mts_parameter_step(array, t->gradients[array->task] + array->offset, t->schedule.step, t->schedule.rate);
}

static void spread_job(void *context, uint32_t job)
{
    trainer *t = context;
    if (mts_tie_moves(&t->ties[job], &t->frozen)) {
        mts_tie_spread(&t->ties[job], &t->parameters);
    }
}

static void touch_job(void *context, uint32_t job)
{
    trainer *t = context;
    const uint32_t task = t->lanes[job * t->lanes_per_task].of->task;
    for (uint32_t i = t->parameters.first[task]; i < t->parameters.first[task + 1]; i++) {
        if (i == t->parameters.first[task] ||
            t->parameters.arrays[i].node != t->parameters.arrays[i - 1].node) {
            mts_net_touch(t->copies[task], t->parameters.arrays[i].node);
        }
    }
}

/*
 * The size of Adam's steps does not depend on the loss, so at the full rate a student
 * that is nearly equal to its teacher would get worse first. The loss grows with the
 * square of the error of the weights, so its root measures the distance that is left.
 */
static void rate_fit(trainer *t)
{
    const double part = sqrt(t->losses[0] / LOSS_FAR);
    mts_schedule_lower(&t->schedule, (float)fmin(1, fmax(RATE_PART_LEAST, part)));
}

/* The step's loss, mean of the tasks. */
static mts_status loss_take(trainer *t, mts_error *error)
{
    double sum = 0;
    for (uint32_t i = 0; i < t->lane_count; i++) {
        if (!isfinite(t->lanes[i].loss)) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "task '%s': the loss of training is not a number after %llu steps",
                            task_name(t, t->lanes[i].of->task), (unsigned long long)t->schedule.step - 1);
        }
        sum += t->lanes[i].loss;
    }
    void *losses = t->losses;
    if (!mts_alloc_grow(t->allocator, &losses, &t->loss_capacity, (size_t)t->schedule.step, sizeof(double))) {
        return mts_fail_memory(error);
    }
    t->losses = losses;
    t->losses[t->schedule.step - 1] = sum / (t->lane_count / t->lanes_per_task);
    t->loss_sum += t->losses[t->schedule.step - 1];
    t->loss_count++;
    if (t->schedule.step == 1) {
        rate_fit(t);
    }
    return MTS_STATUS_OK;
}

static mts_status step(trainer *t, mts_error *error)
{
    const uint32_t trained = t->lane_count / t->lanes_per_task;
    mts_batch_next(&t->batch);
    mts_status status = mts_threads_run(t->lane_count, lane_job, t, error);
    MTS_TRY(status, loss_take(t, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (t->lanes_per_task > 1) {
        mts_threads_each(trained, reduce_job, t);
    }
    mts_threads_each(t->tie_count, gather_job, t);
    mts_threads_each(t->parameters.count, update_job, t);
    mts_threads_each(t->tie_count, spread_job, t);
    mts_threads_each(trained, touch_job, t);
    return MTS_STATUS_OK;
}

/* Reports the mean loss since the last report. The last report comes behind that of the last
   step, which may have been just now; then it has the same loss. */
static mts_status progress(trainer *t, bool last, mts_error *error)
{
    const uint64_t now = mts_os_clock_ns();
    const bool nothing = t->loss_count == 0 && t->reported == 0;
    if (!t->options->progress || nothing ||
        (!last && t->schedule.step > 1 && now - t->reported < PROGRESS_NS)) {
        return MTS_STATUS_OK;
    }
    if (t->loss_count > 0) {
        t->loss = t->loss_sum / t->loss_count;
    }
    const float fraction = last ? 1.0f : (float)t->schedule.fraction;
    t->reported = now;
    t->loss_sum = 0;
    t->loss_count = 0;
    if (t->options->progress(t->options->context, fraction, t->loss,
                             last ? 0 : mts_schedule_left(&t->schedule))) {
        return mts_fail(error, MTS_STATUS_CANCELLED, "training was cancelled");
    }
    return MTS_STATUS_OK;
}

/* ---- all of it ---- */

/* Against an infinite variance, differences count nothing. */
static void drop_differences(trainer *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        for (uint32_t o = 0; t->copies[i] && o < t->tasks[i].answer_count; o++) {
            if (t->tasks[i].answers[o].classes) {
                t->tasks[i].answers[o].variance = (double)INFINITY;
            }
        }
    }
}

static mts_status train(trainer *t, uint32_t trained, uint64_t start, mts_error *error)
{
    const mts_distill_options *o = t->options;
    mts_status status = lanes_make(t, trained, error);
    MTS_TRY(status, mts_threads_run(trained, measure_job, t, error));
    if (status == MTS_STATUS_OK && o->soft) {
        drop_differences(t);
    }
    const uint64_t steps = (uint64_t)o->epochs * (t->batch.images / t->batch.size);
    mts_schedule_init(&t->schedule, start, o->seconds, steps < UINT32_MAX ? steps : UINT32_MAX, o->rate);
    while (status == MTS_STATUS_OK && mts_schedule_next(&t->schedule)) {
        status = step(t, error);
        MTS_TRY(status, progress(t, false, error));
    }
    for (uint32_t i = 0; i < t->parameters.count && status == MTS_STATUS_OK; i++) {
        if (!mts_parameters_finite(&t->parameters.arrays[i])) {
            status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "task '%s': training ended in no numbers",
                              task_name(t, t->parameters.arrays[i].task));
        }
    }
    return status == MTS_STATUS_OK ? progress(t, true, error) : status;
}

static void report_fill(const trainer *t, uint64_t start, mts_distill_report *report)
{
    const uint64_t steps = t->schedule.step;
    const uint64_t tenth = (steps + 9) / 10;
    report->steps = (uint32_t)steps;
    for (uint64_t i = 0; i < tenth; i++) {
        report->loss_first += t->losses[i] / (double)tenth;
        report->loss_last += t->losses[steps - 1 - i] / (double)tenth;
    }
    report->seconds = (double)(mts_os_clock_ns() - start) * 1e-9;
}

static void trainer_release(trainer *t)
{
    for (uint32_t i = 0; t->lanes && i < t->lane_count; i++) {
        mts_lane_release(&t->lanes[i], t->allocator);
    }
    for (uint32_t i = 0; t->copies && t->originals && i < t->count; i++) {
        mts_net_destroy(&t->copies[i]);
        mts_net_destroy(&t->originals[i]);
    }
    mts_batch_release(&t->batch);
    mts_parameters_release(&t->parameters);
    mts_alloc_free(t->allocator, t->losses);
    mts_arena_release(&t->arena);
}

void mts_distill_options_default(mts_distill_options *options)
{
    *options = (mts_distill_options){
        .seconds = 60, .epochs = 20, .batch = 64, .rate = 1e-2f, .shift = 2, .mirror = true, .seed = 1};
}

mts_status mts_distill(mts_net *const *students, const mts_net *const *teachers, uint32_t count,
                       const mts_tie *ties, uint32_t tie_count, mts_data *data,
                       const mts_distill_options *options, const mts_allocator *allocator,
                       mts_distill_report *report, mts_error *error)
{
    const uint64_t start = mts_os_clock_ns();
    const uint32_t images = mts_data_count(data);
    trainer t = {.allocator = allocator,
                 .options = options,
                 .count = count,
                 .given = students,
                 .teachers = teachers,
                 .ties = ties,
                 .tie_count = tie_count,
                 .frozen = {options->frozen, options->frozen_nodes},
                 .data = data};
    uint32_t trained = 0;
    *report = (mts_distill_report){0};
    mts_arena_init(&t.arena, allocator);
    mts_status status = options_check(options, error);
    MTS_TRY(status, tasks_make(&t, error));
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        trained += t.copies[i] ? 1 : 0;
    }
    if (status == MTS_STATUS_OK && trained > 0) {
        const uint32_t size = options->batch < images ? options->batch : images;
        status =
            mts_batch_init(&t.batch, images, size, options->shift, options->mirror, options->seed, allocator)
                ? train(&t, trained, start, error)
                : mts_fail_memory(error);
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && trained > 0 && i < count; i++) {
        if (t.copies[i]) {
            mts_parameters_copy(students[i], t.copies[i]);
        }
    }
    if (status == MTS_STATUS_OK && trained > 0) {
        report_fill(&t, start, report);
    }
    trainer_release(&t);
    return status;
}
