/*
 * test_filters.c: command lists for some of an engine's tasks while other runs are on the device: a run with other
 * tasks waits for them only where their lists have to go. The device computes when it is told to (gate_device.h),
 * and fails the test where something goes that it still uses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/control.h"
#include "engine/state.h"
#include "support/control_world.h"
#include "support/fault.h"
#include "support/gate_device.h"

#define WORK MTS_BINARY_DIR "/filters"
#define DEPTH 3u

typedef struct filter_world {
    control_world control;
    mts_device *device;
    mts_fault_plan fault;
    mts_engine *engine;
} filter_world;

static void engine_make(filter_world *w, uint64_t budget)
{
    const mts_engine_options options = {
        .strategy = MTS_STRATEGY_COMPACT, .memory_budget = {budget}, .slots = DEPTH, .depth = DEPTH};
    const mts_decision decision = {0};
    mts_error error = {0};
    control_must(
        mts_engine_create(w->device, w->control.net.archive, &options, &decision, NULL, &w->engine, &error),
        &error, "create");
}

/* The outputs of all tasks are those of round 0, and the inputs those of round 1. */
static void begin(filter_world *w)
{
    control_enable(w->engine, 0xf);
    control_run_round(&w->control, w->engine, 0);
    control_enable(w->engine, 0);
    control_run_round(&w->control, w->engine, 1);
    control_check_outputs(&w->control, w->engine, 0, "begin");
}

/* kept: sets of tasks whose lists the budget has space for; 0: no budget. */
static void open(filter_world *w, uint32_t kept)
{
    mts_error error = {0};
    *w = (filter_world){.engine = NULL};
    control_world_make(&w->control, &(random_family){.seed = 77, .tasks = TASKS, .steps = 5, .common = true});
    control_must(net_device_open("reference", WORK, &w->device, &error), &error, "open");
    gate_install(w->device);
    control_must(mts_wrap_fault(&w->device, &w->fault, &w->device, &error), &error, "wrap");
    engine_make(w, 0);
    control_keep_outputs(&w->control, w->engine);
    if (kept > 0) {
        mts_session_stats stats;
        mts_engine_stats_get(w->engine, &stats);
        control_enable(w->engine, 0x1);
        control_run_round(&w->control, w->engine, 1);
        const mts_filters *filters = &w->engine->filters;
        const uint64_t words = filters->base_words + kept * filters->region_words;
        mts_engine_destroy(&w->engine);
        engine_make(w, stats.peak_bytes + words * sizeof(uint32_t));
    }
    begin(w);
}

static void close(filter_world *w)
{
    mts_engine_destroy(&w->engine);
    mts_device_destroy(&w->device);
    control_world_release(&w->control);
}

static mts_status submit(filter_world *w, uint32_t set)
{
    control_enable(w->engine, set);
    return mts_engine_submit(w->engine, NULL);
}

/* Runs that have not finished. */
static uint32_t on_device(filter_world *w)
{
    uint32_t count = 0;
    mts_engine_advance(w->engine);
    for (uint32_t i = 0; i < w->engine->submissions.used; i++) {
        count += w->engine->submissions.queue[i]->state == MTS_SUBMISSION_RUNNING ? 1 : 0;
    }
    return count;
}

static void take_all(filter_world *w)
{
    mts_error error = {0};
    while (mts_engine_in_flight(w->engine) > 0) {
        control_must(mts_engine_wait(w->engine, &error), &error, "wait");
    }
}

static void other_tasks_go_behind_the_runs_on_the_device(void **state)
{
    filter_world w;
    (void)state;
    open(&w, 0);
    assert_int_equal(submit(&w, 0x1), MTS_STATUS_OK);
    assert_int_equal(submit(&w, 0x2), MTS_STATUS_OK);
    assert_int_equal(submit(&w, 0xc), MTS_STATUS_OK);
    assert_int_equal(on_device(&w), 3);
    take_all(&w);
    control_check_outputs(&w.control, w.engine, 0xf, "three runs");
    begin(&w);
    assert_int_equal(submit(&w, 0xc), MTS_STATUS_OK); /* kept ones, and new ones between */
    assert_int_equal(submit(&w, 0x3), MTS_STATUS_OK);
    assert_int_equal(submit(&w, 0x1), MTS_STATUS_OK);
    assert_int_equal(on_device(&w), 3);
    take_all(&w);
    control_check_outputs(&w.control, w.engine, 0xf, "three runs again");
    close(&w);
}

static void lists_that_no_run_uses_go_without_a_wait(void **state)
{
    filter_world w;
    (void)state;
    open(&w, 2);
    assert_int_equal(submit(&w, 0x1), MTS_STATUS_OK);
    assert_int_equal(submit(&w, 0x2), MTS_STATUS_OK);
    gate_pass(1);
    assert_int_equal(on_device(&w), 1);
    assert_int_equal(mts_engine_take(w.engine, NULL), MTS_STATUS_OK);
    assert_int_equal(submit(&w, 0xc), MTS_STATUS_OK);
    assert_int_equal(w.engine->filters.kept_count, 2);
    assert_int_equal(on_device(&w), 2);
    take_all(&w);
    control_check_outputs(&w.control, w.engine, 0xf, "two sets kept");
    close(&w);
}

static void lists_that_a_run_uses_stay_until_it_has_ended(void **state)
{
    filter_world w;
    (void)state;
    open(&w, 1);
    assert_int_equal(submit(&w, 0x1), MTS_STATUS_OK);
    assert_int_equal(submit(&w, 0x1), MTS_STATUS_OK);
    assert_int_equal(on_device(&w), 2);
    assert_int_equal(submit(&w, 0x2), MTS_STATUS_OK);
    assert_int_equal(w.engine->filters.kept_count, 1);
    assert_int_equal(on_device(&w), 1);
    take_all(&w);
    control_check_outputs(&w.control, w.engine, 0x3, "one set kept");
    close(&w);
}

static void a_wait_that_fails_leaves_lists_as_they_were(void **state)
{
    filter_world w;
    (void)state;
    open(&w, 1);
    assert_int_equal(submit(&w, 0x1), MTS_STATUS_OK);
    w.fault = (mts_fault_plan){.kind = MTS_WRAP_KIND_WAIT, .nth = 1, .code = MTS_STATUS_DEVICE};
    assert_int_equal(submit(&w, 0x2), MTS_STATUS_DEVICE);
    assert_int_equal(w.fault.failed, 1);
    take_all(&w);
    control_check_outputs(&w.control, w.engine, 0x1, "the run before");
    assert_int_equal(submit(&w, 0x1), MTS_STATUS_OK);
    take_all(&w);
    assert_int_equal(submit(&w, 0x2), MTS_STATUS_OK);
    take_all(&w);
    control_check_outputs(&w.control, w.engine, 0x3, "after a failure");
    close(&w);
}

static uint32_t calls_during(filter_world *w, mts_wrap_kind kind, uint32_t set)
{
    w->fault = (mts_fault_plan){.kind = kind};
    assert_int_equal(submit(w, set), MTS_STATUS_OK);
    take_all(w);
    return w->fault.calls;
}

/* All tasks of a family share its launches. */
static void lists_of_the_same_launches_are_updated(void **state)
{
    filter_world w;
    (void)state;
    open(&w, 1);
    (void)calls_during(&w, MTS_WRAP_KIND_COUNT, 0x3);
    assert_int_equal(calls_during(&w, MTS_WRAP_KIND_LIST_CREATE, 0x5), 0);
    assert_int_equal(calls_during(&w, MTS_WRAP_KIND_LIST_UPDATE, 0x3), 1);
    assert_int_equal(w.engine->filters.kept_count, 1);
    control_check_outputs(&w.control, w.engine, 0x7, "updated lists");
    w.fault = (mts_fault_plan){.kind = MTS_WRAP_KIND_LIST_UPDATE, .nth = 1, .code = MTS_STATUS_DEVICE};
    assert_int_equal(submit(&w, 0x5), MTS_STATUS_DEVICE);
    assert_int_equal(w.fault.failed, 1);
    assert_int_equal(calls_during(&w, MTS_WRAP_KIND_LIST_CREATE, 0x5), 1); /* such a list is of no use */
    control_check_outputs(&w.control, w.engine, 0x7, "after a failed update");
    close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_tasks_go_behind_the_runs_on_the_device),
        cmocka_unit_test(lists_that_no_run_uses_go_without_a_wait),
        cmocka_unit_test(lists_that_a_run_uses_stay_until_it_has_ended),
        cmocka_unit_test(a_wait_that_fails_leaves_lists_as_they_were),
        cmocka_unit_test(lists_of_the_same_launches_are_updated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
