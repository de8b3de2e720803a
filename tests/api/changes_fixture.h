/*
 * changes_fixture.h: what the tests of sessions that change have in common: bundles, what each set of tasks answers,
 * and a stream of frames over a change.
 */
#ifndef MTS_TESTS_API_CHANGES_FIXTURE_H
#define MTS_TESTS_API_CHANGES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/api_fixture.h"
#include "support/subset.h"
#include "support/synth.h"

#define TASKS 4u
#define PICTURES 5u
#define CLASSES 10u
#define FRAMES_MOST 16u

/* What a frame may run: each set's outputs are known before. */
typedef enum task_set { FIRST, ALL, WITHOUT, UPDATED, SETS } task_set;

static const char *const names[TASKS] = {"t0", "t1", "t2", "t3"};

static struct {
    test_synth all;
    char base[128], extra[128], other[128]; /* t0 to t2; t3; t1 with other weights */
    const char *device;
    mts_runtime *runtime;
    char error[512];
    mts_bundle *base_bundle, *extra_bundle, *other_bundle, *all_bundle;
    uint8_t pixels[PICTURES][API_PIXELS];
    float known[SETS][PICTURES][TASKS][CLASSES];
} world;

static void must(mts_status status, const char *what)
{
    if (status != MTS_STATUS_OK) {
        fail_msg("%s on %s: %s (%s)", what, world.device, mts_status_name(status), world.error);
    }
}

static bool has_task(task_set set, uint32_t task)
{
    return set == FIRST ? task < 3 : set == WITHOUT ? task != 1 : true;
}

static void read_outputs(mts_session *session, task_set set, float outputs[TASKS][CLASSES])
{
    for (uint32_t t = 0; t < TASKS; t++) {
        mts_tensor tensor;
        if (has_task(set, t)) {
            must(mts_session_output(session, names[t], 0, &tensor), names[t]);
            assert_int_equal(tensor.bytes, CLASSES * sizeof(float));
            memcpy(outputs[t], tensor.data, tensor.bytes);
        } else {
            assert_int_equal(mts_session_output(session, names[t], 0, &tensor), MTS_STATUS_NOT_FOUND);
        }
    }
}

/* ---- what each set of tasks computes ---- */

static void know(task_set set, mts_bundle *bundle, const char *const *tasks, uint32_t count)
{
    mts_session_options options;
    mts_session *session = NULL;
    mts_session_options_default(&options);
    options.tasks = tasks;
    options.task_count = count;
    must(mts_session_create(world.runtime, bundle, &options, &session), "create");
    for (uint32_t i = 0; i < PICTURES; i++) {
        mts_ticket ticket = 0;
        const mts_frame frame = api_frame(world.pixels[i]);
        must(mts_session_submit(session, &frame, &ticket), "submit");
        must(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), "wait");
        for (uint32_t t = 0; t < TASKS; t++) {
            mts_tensor tensor;
            if (mts_session_output(session, names[t], 0, &tensor) == MTS_STATUS_OK) {
                memcpy(world.known[set][i][t], tensor.data, tensor.bytes);
            }
        }
    }
    mts_session_destroy(&session);
}

static void know_all(void)
{
    static const char *const without[] = {"t0", "t2", "t3"};
    know(FIRST, world.base_bundle, NULL, 0);
    know(ALL, world.all_bundle, NULL, 0);
    know(WITHOUT, world.all_bundle, without, 3);
    know(UPDATED, world.all_bundle, NULL, 0);
    know(UPDATED, world.other_bundle, NULL, 0); /* overwrites what t1 computes */
}

static void write_bundles(void)
{
    static const uint32_t first[] = {0, 1, 2};
    static const uint32_t last[] = {3};
    static const uint32_t other[] = {1};
    const double prune = 0.8;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, TASKS, &prune, 1, 0.8);
    test_synth_open(&world.all, &o);
    (void)snprintf(world.base, sizeof world.base, "%s.base", world.all.path);
    (void)snprintf(world.extra, sizeof world.extra, "%s.extra", world.all.path);
    (void)snprintf(world.other, sizeof world.other, "%s.other", world.all.path);
    test_subset_write(world.all.archive, first, 3, 1.0f, world.base);
    test_subset_write(world.all.archive, last, 1, 1.0f, world.extra);
    test_subset_write(world.all.archive, other, 1, 1.25f, world.other);
}

static void open_runtime(mts_runtime_options *options)
{
    options->device = world.device;
    options->error_text = world.error;
    options->error_size = sizeof world.error;
    must(mts_runtime_create(options, &world.runtime), "runtime");
    must(mts_bundle_open(world.runtime, world.base, &world.base_bundle), "base");
    must(mts_bundle_open(world.runtime, world.extra, &world.extra_bundle), "extra");
    must(mts_bundle_open(world.runtime, world.other, &world.other_bundle), "other");
    must(mts_bundle_open(world.runtime, world.all.path, &world.all_bundle), "all");
}

static void close_runtime(void)
{
    mts_bundle_destroy(&world.base_bundle);
    mts_bundle_destroy(&world.extra_bundle);
    mts_bundle_destroy(&world.other_bundle);
    mts_bundle_destroy(&world.all_bundle);
    mts_runtime_destroy(&world.runtime);
}

static int open_world(void **state)
{
    mts_runtime_options options;
    (void)state;
    for (uint32_t i = 0; i < PICTURES; i++) {
        api_pixels(world.pixels[i], i + 1);
    }
    mts_runtime_options_default(&options);
    open_runtime(&options);
    know_all();
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    close_runtime();
    return 0;
}

/* ---- a stream of frames ---- */

typedef struct stream {
    mts_session *session;
    uint32_t in_flight; /* frames that are kept in flight */
    mts_ticket first, last;
    task_set sets[FRAMES_MOST + 1]; /* by ticket */
    uint32_t checked;
} stream;

static uint64_t reserve; /* of the sessions that are made */
static bool drop_oldest;

static void open_stream(stream *s, uint32_t in_flight)
{
    mts_session_options options;
    memset(s, 0, sizeof *s);
    mts_session_options_default(&options);
    options.frames_in_flight = in_flight;
    options.weights_reserve = reserve;
    options.when_full = drop_oldest ? MTS_WHEN_FULL_DROP_OLDEST : options.when_full;
    s->in_flight = in_flight;
    s->first = 1;
    must(mts_session_create(world.runtime, world.base_bundle, &options, &s->session), "create");
}

static void close_stream(stream *s)
{
    mts_session_destroy(&s->session);
}

static double difference(const float *a, const float *b)
{
    return test_difference(a, b, CLASSES);
}

static void consume(stream *s)
{
    float outputs[TASKS][CLASSES];
    const uint32_t at = (uint32_t)(s->first % (FRAMES_MOST + 1));
    must(mts_session_wait(s->session, s->first, MTS_TIMEOUT_INFINITE), "wait");
    for (uint32_t t = 0; t < TASKS; t++) {
        mts_tensor tensor;
        mts_ticket ticket = 0;
        if (!has_task(s->sets[at], t) ||
            mts_session_output(s->session, names[t], 0, &tensor) == MTS_STATUS_NOT_FOUND) {
            continue; /* a task that was removed meanwhile has no outputs that can be read */
        }
        must(mts_session_output_ticket(s->session, names[t], &ticket), "ticket");
        assert_int_equal(ticket, s->first);
        memcpy(outputs[t], tensor.data, sizeof outputs[t]);
        const float *known = world.known[s->sets[at]][s->first % PICTURES][t];
        if (memcmp(outputs[t], known, sizeof outputs[t]) != 0) {
            fail_msg("%s: frame %u, task %s, set %d: the outputs differ by %g", world.device,
                     (unsigned)s->first, names[t], (int)s->sets[at], difference(outputs[t], known));
        }
    }
    s->first++;
    s->checked++;
}

/* Submits a frame, whose tasks are known once it was submitted: `before`, or `after` if the change has been
   made. True: it has. */
static bool submit(stream *s, task_set before, task_set after, const char *told, bool there)
{
    mts_ticket ticket = 0;
    mts_tensor tensor;
    while (s->last + 1 - s->first >= s->in_flight) {
        consume(s);
    }
    const mts_frame frame = api_frame(world.pixels[(s->last + 1) % PICTURES]);
    must(mts_session_submit(s->session, &frame, &ticket), "submit");
    assert_int_equal(ticket, s->last + 1);
    s->last = ticket;
    /* the session says of a task that it does not have that there is none */
    mts_task_stats stats = {.size = sizeof stats};
    const bool has = mts_session_task_stats(s->session, told, &stats) == MTS_STATUS_OK;
    (void)tensor;
    s->sets[ticket % (FRAMES_MOST + 1)] = has == there ? after : before;
    return has == there;
}

/* Frames until the change has been made, and some after it. */
static void stream_over_change(stream *s, task_set before, task_set after, const char *told, bool there)
{
    uint32_t frames = 0;
    while (!submit(s, before, after, told, there)) {
        assert_true(++frames < 200000);
    }
    for (uint32_t i = 0; i < 2 * PICTURES; i++) {
        assert_true(submit(s, before, after, told, there));
    }
    must(mts_session_settle(s->session, 0), "settle");
}

static void drain(stream *s)
{
    mts_flow flow = {.size = sizeof flow};
    while (s->first <= s->last) {
        consume(s);
    }
    must(mts_session_flow(s->session, &flow), "flow");
    assert_int_equal(flow.submitted, s->last);
    assert_int_equal(flow.completed, s->last);
    assert_int_equal(flow.dropped + flow.failed + flow.in_flight, 0);
    assert_int_equal(s->checked, s->last);
}

static void run_and_check(mts_session *session, uint32_t picture, task_set set)
{
    float outputs[TASKS][CLASSES];
    mts_ticket ticket = 0;
    const mts_frame frame = api_frame(world.pixels[picture]);
    must(mts_session_submit(session, &frame, &ticket), "submit");
    must(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), "wait");
    read_outputs(session, set, outputs);
    for (uint32_t t = 0; t < TASKS; t++) {
        if (has_task(set, t)) {
            assert_memory_equal(outputs[t], world.known[set][picture][t], sizeof outputs[t]);
        }
    }
}

static mts_session_stats stats_of(const mts_session *session)
{
    mts_session_stats stats = {.size = sizeof stats};
    must(mts_session_stats_get(session, &stats), "stats");
    return stats;
}

#endif
