/*
 * course.c: see course.h.
 */
#include "compress/learn/course.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compiler/models/options.h"
#include "compress/train/random.h"
#include "platform/os/os.h"

#define PI 3.14159265358979323846
#define WARM_FRACTION 0.05 /* of the steps, over which the rate rises */
#define CHECKPOINT_NS UINT64_C(1000000000)
#define PROGRESS_NS UINT64_C(100000000)

typedef struct runner {
    mts_courses *courses;
    const mts_learner *learner;
    uint32_t *order; /* [rows] */
    mts_learn_step *steps;
    uint32_t steps_per_epoch, epoch;
    bool *stopped;
    mts_standing *standings;
    uint64_t reported, written;
} runner;

/* ---- an epoch ---- */

/* The order depends on the number of the epoch alone, so that training can go on anywhere. */
static void order_make(const runner *r)
{
    uint64_t state = r->courses->seed;
    state = mts_random_next(&state) + r->epoch;
    for (uint32_t i = 0; i < r->courses->rows; i++) {
        r->order[i] = i;
    }
    mts_random_shuffle(&state, r->order, r->courses->rows);
}

static void steps_make(const runner *r)
{
    const mts_courses *c = r->courses;
    const double total = (double)c->epochs * r->steps_per_epoch;
    for (uint32_t i = 0; i < r->steps_per_epoch; i++) {
        const uint64_t before = (uint64_t)r->epoch * r->steps_per_epoch + i;
        const double fraction = (double)before / total;
        const double warm = fmin(1.0, (fraction + 1.0 / total) / WARM_FRACTION);
        r->steps[i] = (mts_learn_step){.rows = r->order + (size_t)i * c->batch,
                                       .count = c->batch,
                                       .number = before + 1,
                                       .part = warm * 0.5 * (1.0 + cos(PI * fraction))};
    }
}

static mts_status progress(runner *r, uint32_t step, bool always, mts_error *error)
{
    const mts_courses *c = r->courses;
    const uint64_t now = mts_os_clock_ns();
    double best = 0;
    char what[128];
    if (!always && now - r->reported < PROGRESS_NS) {
        return MTS_STATUS_OK;
    }
    r->reported = now;
    for (uint32_t k = 0; k < c->candidates; k++) {
        best = fmax(best, 100.0 * c->courses[k].best.right / c->held_out);
    }
    const double epochs = r->epoch + (double)step / r->steps_per_epoch;
    (void)snprintf(what, sizeof what, "%s: epoch %u of %u, best %.2f %% right", c->what, r->epoch, c->epochs,
                   best);
    return mts_options_progress(c->options, c->from + (c->to - c->from) * (float)(epochs / c->epochs), what,
                                error);
}

static mts_status after_step(void *context, uint32_t step, mts_error *error)
{
    return progress(context, step + 1, false, error);
}

static bool is_better(const mts_standing *a, const mts_standing *b)
{
    return a->right != b->right ? a->right > b->right : a->loss < b->loss;
}

/* Looks at all candidates that have not stopped. */
static mts_status judge(runner *r, mts_error *error)
{
    mts_courses *c = r->courses;
    const mts_status status = r->learner->measure(r->learner->self, r->stopped, r->standings, error);
    for (uint32_t k = 0; k < c->candidates && status == MTS_STATUS_OK; k++) {
        mts_course *course = &c->courses[k];
        const mts_standing *now = &r->standings[k];
        if (r->stopped[k]) {
            continue;
        }
        course->epochs = r->epoch;
        if (!isfinite(now->loss)) {
            course->stopped = true;
        } else if (!course->usable || is_better(now, &course->best)) {
            course->best = *now;
            course->best_epoch = r->epoch;
            course->usable = true;
            r->learner->keep(r->learner->self, k);
        } else if (c->patience > 0 && r->epoch - course->best_epoch >= c->patience) {
            course->stopped = true;
        }
        r->stopped[k] = course->stopped;
    }
    return status;
}

static bool all_stopped(const runner *r)
{
    for (uint32_t k = 0; k < r->courses->candidates; k++) {
        if (!r->stopped[k]) {
            return false;
        }
    }
    return true;
}

static mts_status write(runner *r, bool always, mts_error *error)
{
    const uint64_t now = mts_os_clock_ns();
    if (!r->courses->checkpoint || (!always && now - r->written < CHECKPOINT_NS)) {
        return MTS_STATUS_OK;
    }
    r->written = now;
    return mts_checkpoint_write(r->courses, r->learner, r->epoch, error);
}

static mts_status epoch_run(runner *r, mts_error *error)
{
    order_make(r);
    steps_make(r);
    mts_status status =
        r->learner->train(r->learner->self, r->steps, r->steps_per_epoch, r->stopped, after_step, r, error);
    if (status == MTS_STATUS_OK) {
        r->epoch++;
        status = judge(r, error);
    }
    MTS_TRY(status, write(r, r->epoch == r->courses->epochs || all_stopped(r), error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    status = progress(r, 0, true, error);
    if (status == MTS_STATUS_CANCELLED) { /* what was cancelled may go on another day */
        const mts_status written = write(r, true, error);
        status = written == MTS_STATUS_OK ? status : written;
    }
    return status;
}

/* ---- all of it ---- */

static mts_status start(runner *r, mts_error *error)
{
    mts_courses *c = r->courses;
    mts_status status =
        c->checkpoint ? mts_checkpoint_read(c, r->learner, &c->resumed, error) : MTS_STATUS_OK;
    r->epoch = c->resumed;
    for (uint32_t k = 0; k < c->candidates; k++) {
        r->stopped[k] = c->courses[k].stopped;
    }
    if (status == MTS_STATUS_OK && c->resumed == 0) {
        status = judge(r, error); /* as they begin */
    }
    return status;
}

mts_status mts_courses_run(mts_courses *courses, const mts_learner *learner, mts_error *error)
{
    const mts_allocator *allocator = courses->allocator;
    courses->batch = courses->batch < courses->rows ? courses->batch : courses->rows;
    runner r = {.courses = courses,
                .learner = learner,
                .steps_per_epoch = courses->rows / courses->batch,
                .order = mts_alloc_zero(allocator, courses->rows, sizeof *r.order),
                .stopped = mts_alloc_zero(allocator, courses->candidates, sizeof *r.stopped),
                .standings = mts_alloc_zero(allocator, courses->candidates, sizeof *r.standings)};
    r.steps = mts_alloc_zero(allocator, r.steps_per_epoch, sizeof *r.steps);
    mts_status status =
        r.order && r.stopped && r.standings && r.steps ? start(&r, error) : mts_fail_memory(error);
    MTS_TRY(status, progress(&r, 0, true, error));
    while (status == MTS_STATUS_OK && r.epoch < courses->epochs && !all_stopped(&r)) {
        status = epoch_run(&r, error);
    }
    mts_alloc_free(allocator, r.order);
    mts_alloc_free(allocator, r.stopped);
    mts_alloc_free(allocator, r.standings);
    mts_alloc_free(allocator, r.steps);
    return status;
}

mts_status mts_courses_best(const mts_courses *courses, uint32_t *best, mts_error *error)
{
    *best = courses->candidates;
    for (uint32_t k = 0; k < courses->candidates; k++) {
        const mts_course *course = &courses->courses[k];
        if (course->usable &&
            (*best == courses->candidates || is_better(&course->best, &courses->courses[*best].best))) {
            *best = k;
        }
    }
    return *best < courses->candidates
               ? MTS_STATUS_OK
               : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "train: no candidate's answers to the held-out images are finite numbers");
}
