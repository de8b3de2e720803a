/*
 * test_control.c: which tasks of an engine run: rates; deadlines and cancelling on a device that is slow; what
 * is allocated for sets of tasks. That outputs keep their bits is test_control_sets.c.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/control.h"
#include "engine/state.h"
#include "tune/explain.h"
#include "tune/tune.h"
#include "engine/profile.h"
#include "platform/os/os.h"
#include "platform/wrap/wrap.h"
#include "support/fault_allocator.h"
#include "support/control_world.h"

#define WORK MTS_BINARY_DIR "/control"

static void common_make(control_world *w)
{
    control_world_make(w, &(random_family){.seed = 77, .tasks = TASKS, .steps = 5, .common = true});
}

static mts_engine *engine_make(const control_world *w, mts_device *device, mts_strategy strategy,
                               uint64_t budget)
{
    const mts_engine_options options = {.strategy = strategy, .memory_budget = {budget}};
    mts_engine *engine = NULL;
    mts_error error = {0};
    control_must(mts_planned_engine_create(device, w->net.archive, &options, NULL, &engine, NULL, &error),
                 &error, "create");
    return engine;
}

/* The number of the run that each task's outputs are of; 0: none. */
static uint64_t run_of(const mts_engine *engine, uint32_t task)
{
    uint64_t run = 0;
    const mts_status status = mts_engine_output_run(engine, task, &run, NULL);
    assert_true(status == MTS_STATUS_OK || status == MTS_STATUS_NOT_FOUND);
    return status == MTS_STATUS_OK ? run : 0;
}

static void a_task_with_a_rate_runs_in_every_nth_submission(void **state)
{
    control_world w;
    mts_error error = {0};
    (void)state;
    common_make(&w);
    mts_engine *engine = engine_make(&w, control_devices[0], MTS_STRATEGY_COMPACT, 0);
    control_must(mts_engine_rate(engine, 1, 3, &error), &error, "rate");
    control_must(mts_engine_rate(engine, 2, 2, &error), &error, "rate");
    for (uint64_t n = 1; n <= 13; n++) {
        control_run_round(&w, engine, 0);
        assert_int_equal(run_of(engine, 0), n);
        assert_int_equal(run_of(engine, 1), (n - 1) / 3 * 3 + 1);
        assert_int_equal(run_of(engine, 2), (n - 1) / 2 * 2 + 1);
    }
    control_must(mts_engine_enable(engine, 1, false, &error), &error, "disable"); /* the count goes on */
    control_run_round(&w, engine, 0);                                             /* 14 */
    control_must(mts_engine_enable(engine, 1, true, &error), &error, "enable");
    control_run_round(&w, engine, 0);
    assert_int_equal(run_of(engine, 1), 13);
    control_run_round(&w, engine, 0);
    assert_int_equal(run_of(engine, 1), 16);
    control_must(mts_engine_rate(engine, 1, 1, &error), &error, "rate");
    control_run_round(&w, engine, 0);
    assert_int_equal(run_of(engine, 1), 17);
    mts_engine_destroy(&engine);
    control_world_release(&w);
}

static void pause_ms(uint32_t ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};
    (void)nanosleep(&time, NULL);
}

static void a_rate_in_hertz_counts_by_the_clock(void **state)
{
    control_world w;
    mts_error error = {0};
    (void)state;
    common_make(&w);
    mts_engine *engine = engine_make(&w, control_devices[0], MTS_STRATEGY_COMPACT, 0);
    control_must(mts_engine_rate_hz(engine, 0, 1e-6, &error), &error, "rate"); /* once in eleven days */
    control_must(mts_engine_rate_hz(engine, 1, 20.0, &error), &error, "rate");
    const uint64_t begin = mts_os_clock_ns();
    uint32_t runs = 0;
    uint64_t last = 0;
    for (uint64_t n = 1; n <= 20; n++) {
        control_run_round(&w, engine, 0);
        assert_int_equal(run_of(engine, 0), 1);
        assert_int_equal(run_of(engine, 2), n);
        runs += run_of(engine, 1) != last ? 1 : 0;
        last = run_of(engine, 1);
        pause_ms(10);
    }
    const double seconds = (double)(mts_os_clock_ns() - begin) * 1e-9;
    assert_true((double)runs <= seconds * 20.0 + 1.0); /* one at once, one each twentieth of a second */
    assert_true(runs >= 2);
    control_must(mts_engine_rate_hz(engine, 0, 0.0, &error), &error, "rate");
    control_run_round(&w, engine, 0);
    assert_int_equal(run_of(engine, 0), 21);
    assert_int_equal(mts_engine_rate_hz(engine, 0, -1.0, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_engine_rate_hz(engine, 0, NAN, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_engine_rate_hz(engine, 0, INFINITY, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_engine_rate(engine, 0, 0, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_engine_rate(engine, 99, 1, &error), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_engine_enable(engine, 99, true, &error), MTS_STATUS_NOT_FOUND);
    mts_engine_destroy(&engine);
    control_world_release(&w);
}

static void a_task_that_never_ran_has_no_outputs(void **state)
{
    control_world w;
    mts_error error = {0};
    const void *data = NULL;
    size_t size = 0;
    (void)state;
    common_make(&w);
    mts_engine *engine = engine_make(&w, control_devices[0], MTS_STRATEGY_COMPACT, 0);
    control_enable(engine, 0x5);
    control_run_round(&w, engine, 0);
    assert_int_equal(mts_engine_output(engine, 0, 0, &data, &size, &error), MTS_STATUS_OK);
    assert_int_equal(mts_engine_output(engine, 1, 0, &data, &size, &error), MTS_STATUS_NOT_FOUND);
    assert_int_equal(run_of(engine, 3), 0);
    control_enable(engine, 0); /* a run of nothing is a run */
    control_run_round(&w, engine, 0);
    assert_int_equal(mts_engine_output(engine, 0, 0, &data, &size, &error), MTS_STATUS_OK);
    assert_int_equal(run_of(engine, 0), 1);
    mts_engine_destroy(&engine);
    control_world_release(&w);
}

/* What a device was told to do. */
typedef struct slow {
    uint32_t submits, lists, items;
    uint32_t sleep_ms;
} slow;

static slow slowness; /* hooks have no context of the test's own: wrap.h frees theirs */

static void count_calls(mts_wrap *wrap, const mts_wrap_call *call, mts_status status)
{
    (void)wrap;
    (void)status;
    if (call->kind == MTS_WRAP_KIND_LIST_SUBMIT) {
        slowness.submits++;
        slowness.items = 0;
        for (size_t i = 0; i < call->object->base.list.count; i++) {
            const mts_launch *l = &call->object->launches[i];
            slowness.items += l->global[0] * l->global[1] * l->global[2];
        }
        pause_ms(slowness.sleep_ms);
    }
    slowness.lists += call->kind == MTS_WRAP_KIND_LIST_CREATE ? 1 : 0;
}

static mts_device *slow_open(const mts_allocator *allocator, uint32_t sleep_ms)
{
    static const mts_wrap_hooks hooks = {.after = count_calls};
    mts_device *device = NULL;
    mts_error error = {0};
    size_t count = 0;
    const mts_backend *const *backends = mts_backend_table(&count);
    const mts_device_options options = {.allocator = allocator};
    for (size_t i = 0; i < count && !device; i++) {
        if (strcmp(backends[i]->name, "reference") == 0) {
            control_must(backends[i]->open(0, &options, &device, &error), &error, "open");
        }
    }
    control_must(mts_wrap_make(&device, &hooks, NULL, false, &device, &error), &error, "wrap");
    slowness = (slow){.sleep_ms = sleep_ms};
    return device;
}

static void groups_that_begin_too_late_are_left_out(void **state)
{
    control_world w;
    mts_error error = {0};
    (void)state;
    common_make(&w);
    mts_device *device = slow_open(mts_allocator_default(), 0);
    mts_engine *engine = engine_make(&w, device, MTS_STRATEGY_SEQUENTIAL, 0);
    assert_int_equal(engine->tasks.group_count, TASKS);
    control_keep_outputs(&w, engine); /* runs 1 and 2 */
    control_run_round(&w, engine, 0); /* 3 */
    slowness.sleep_ms = 300;
    slowness.submits = 0;
    mts_engine_deadline(engine, 450); /* groups begin at 0, 300 and 600 ms */
    control_run_round(&w, engine, 1);
    assert_int_equal(slowness.submits, 2);
    control_check_outputs(&w, engine, 0x3, "late");
    assert_int_equal(run_of(engine, 1), 4);
    assert_int_equal(run_of(engine, 2), 3);
    mts_engine_deadline(engine, 1);
    control_run_round(&w, engine, 0);
    assert_int_equal(run_of(engine, 0), 5); /* the first group always runs */
    assert_int_equal(run_of(engine, 1), 4);
    mts_engine_deadline(engine, 0);
    control_run_round(&w, engine, 1);
    control_check_outputs(&w, engine, 0xf, "no deadline");
    assert_int_equal(mts_engine_wait(engine, &error), MTS_STATUS_OK); /* nothing to wait for */
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
    control_world_release(&w);
}

static void a_cancelled_run_leaves_out_what_has_not_begun(void **state)
{
    control_world w;
    mts_error error = {0};
    (void)state;
    common_make(&w);
    mts_device *device = slow_open(mts_allocator_default(), 0);
    mts_engine *engine = engine_make(&w, device, MTS_STRATEGY_SEQUENTIAL, 0);
    mts_engine_deadline(engine, NEVER_MS);
    control_keep_outputs(&w, engine);
    control_run_round(&w, engine, 0);
    control_start(engine);                      /* the first group begins */
    assert_false(mts_engine_cancel(engine, 3)); /* it is over */
    assert_true(mts_engine_cancel(engine, 4));
    assert_int_equal(mts_engine_wait(engine, &error), MTS_STATUS_CANCELLED);
    assert_int_equal(run_of(engine, 0), 4);
    assert_int_equal(run_of(engine, 1), 3);
    control_check_outputs(&w, engine, 0, "cancelled");
    control_run_round(&w, engine, 1); /* the next one is not */
    control_check_outputs(&w, engine, 0xf, "after it");
    control_start(engine);
    mts_engine_destroy(&engine); /* with groups that have not begun */
    mts_device_destroy(&device);
    control_world_release(&w);
}

/* A task group for each task, whose layers share launches where those cost time. */
static mts_engine *groups_make(const control_world *w, mts_device *device, uint32_t launch_ns)
{
    static const uint32_t apart[TASKS] = {0, 1, 2, 3};
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT};
    const mts_decision decision = {.group_of = apart};
    mts_engine *engine = NULL;
    mts_error error = {0};
    device->info.launch_ns = launch_ns;
    control_must(mts_engine_create(device, w->net.archive, &options, &decision, NULL, &engine, &error),
                 &error, "create");
    return engine;
}

static uint32_t launches_of_groups(const control_world *w, uint32_t launch_ns)
{
    mts_device *device = slow_open(mts_allocator_default(), 0);
    mts_engine *engine = groups_make(w, device, launch_ns);
    mts_session_stats stats;
    mts_engine_stats_get(engine, &stats);
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
    return stats.launches;
}

enum { COSTLY_NS = 20000 };

static void check_rates(bool waves)
{
    control_world w;
    mts_error error = {0};
    mts_fault_allocator memory;
    common_make(&w);
    assert_true(launches_of_groups(&w, COSTLY_NS) < launches_of_groups(&w, 0));
    mts_fault_allocator_init(&memory, 0);
    mts_device *device = slow_open(&memory.allocator, 0);
    mts_engine *engine =
        waves ? groups_make(&w, device, COSTLY_NS) : engine_make(&w, device, MTS_STRATEGY_COMPACT, 0);
    mts_session_stats before;
    mts_session_stats after;
    mts_engine_stats_get(engine, &before);
    control_must(mts_engine_rate(engine, 1, 2, &error), &error, "rate");
    control_must(mts_engine_rate(engine, 2, 4, &error), &error, "rate");
    for (int i = 0; i < 4; i++) {
        control_run_round(&w, engine, 0);
    }
    mts_engine_stats_get(engine, &after);
    assert_true(after.workspace_bytes > before.workspace_bytes);
    assert_int_equal(after.peak_bytes - before.peak_bytes, after.workspace_bytes - before.workspace_bytes);
    const size_t calls = memory.calls;
    const uint32_t lists = slowness.lists;
    for (int i = 0; i < 16; i++) {
        control_run_round(&w, engine, (uint32_t)i % 2);
    }
    assert_int_equal(memory.calls, calls);
    assert_int_equal(slowness.lists, lists);
    for (uint32_t set = 1; set < 1u << TASKS; set++) { /* more sets than are kept */
        control_enable(engine, set);
        control_run_round(&w, engine, 0);
    }
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
    assert_int_equal(memory.alive, 0);
    control_world_release(&w);
}

static void rates_that_alternate_allocate_nothing_and_make_no_list(void **state)
{
    (void)state;
    check_rates(false);
}

static void nor_do_they_where_layers_share_launches(void **state)
{
    (void)state;
    check_rates(true);
}

/* Every set but all and none, two times; how many lists the second time makes. */
static uint32_t run_all_sets_again(const control_world *w, mts_engine *engine)
{
    uint32_t lists = 0;
    for (int again = 0; again < 2; again++) {
        lists = slowness.lists;
        for (uint32_t set = 1; set + 1 < 1u << TASKS; set++) {
            control_enable(engine, set);
            control_run_round(w, engine, set % 2);
        }
        control_enable(engine, 0x5);
        control_run_round(w, engine, 1);
        control_check_outputs(w, engine, 0x5, "set 5");
    }
    return slowness.lists - lists;
}

static void more_sets_than_one_chunk_holds_are_kept_where_the_budget_allows(void **state)
{
    control_world w;
    mts_fault_allocator memory;
    mts_session_stats first;
    mts_session_stats all;
    (void)state;
    common_make(&w);
    mts_fault_allocator_init(&memory, 0);
    mts_device *device = slow_open(&memory.allocator, 0);
    mts_engine *engine = engine_make(&w, device, MTS_STRATEGY_COMPACT, 0);
    control_keep_outputs(&w, engine);
    control_enable(engine, 0x1);
    control_run_round(&w, engine, 0);
    mts_engine_stats_get(engine, &first);
    assert_int_equal(run_all_sets_again(&w, engine), 0);
    mts_engine_stats_get(engine, &all);
    assert_true(all.workspace_bytes > first.workspace_bytes);
    mts_engine_destroy(&engine);
    /* With space for one chunk only, sets take the place of others. */
    engine = engine_make(&w, device, MTS_STRATEGY_COMPACT, first.peak_bytes);
    control_keep_outputs(&w, engine);
    assert_true(run_all_sets_again(&w, engine) > 0);
    mts_engine_stats_get(engine, &all);
    assert_true(all.peak_bytes <= first.peak_bytes);
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
    assert_int_equal(memory.alive, 0);
    control_world_release(&w);
}

static void a_set_whose_lists_cannot_be_made_fails_and_may_be_tried_again(void **state)
{
    control_world w;
    mts_error error = {0};
    mts_fault_allocator memory;
    (void)state;
    common_make(&w);
    mts_fault_allocator_init(&memory, 0);
    mts_device *device = slow_open(&memory.allocator, 0);
    bool failed = true;
    for (size_t nth = 1; failed; nth++) {
        mts_engine *engine = engine_make(&w, device, MTS_STRATEGY_SEQUENTIAL, 0);
        control_keep_outputs(&w, engine);
        control_run_round(&w, engine, 0);
        control_enable(engine, 0x6);
        const size_t before = memory.calls;
        memory.fail_at = memory.calls + nth;
        const mts_status status = mts_engine_submit(engine, &error);
        failed = status != MTS_STATUS_OK;
        memory.fail_at = 0;
        assert_true(failed ? status == MTS_STATUS_OUT_OF_MEMORY : memory.calls - before < nth);
        if (!failed) {
            control_must(mts_engine_wait(engine, &error), &error, "wait");
        }
        control_run_round(&w, engine, 1);
        control_check_outputs(&w, engine, 0x6, "after a failure");
        mts_engine_destroy(&engine);
    }
    mts_device_destroy(&device);
    assert_int_equal(memory.alive, 0);
    control_world_release(&w);
}

static void a_budget_without_room_for_other_lists_refuses_them(void **state)
{
    control_world w;
    mts_error error = {0};
    mts_session_stats stats;
    (void)state;
    common_make(&w);
    mts_engine *engine = engine_make(&w, control_devices[0], MTS_STRATEGY_SEQUENTIAL, 0);
    mts_engine_stats_get(engine, &stats);
    mts_engine_destroy(&engine);
    engine = engine_make(&w, control_devices[0], MTS_STRATEGY_SEQUENTIAL, stats.peak_bytes);
    control_keep_outputs(&w, engine);
    control_enable(engine, 0x1);
    assert_int_equal(mts_engine_submit(engine, &error), MTS_STATUS_LIMIT);
    assert_non_null(strstr(error.text, "budget"));
    control_enable(engine, 0xf);
    control_run_round(&w, engine, 1);
    control_check_outputs(&w, engine, 0xf, "all");
    mts_engine_destroy(&engine);
    control_world_release(&w);
}

static void a_disabled_task_has_no_work_group(void **state)
{
    control_world w;
    (void)state;
    common_make(&w);
    mts_device *device = slow_open(mts_allocator_default(), 0);
    for (int s = 0; s < MTS_STRATEGY_DENSE; s++) {
        const uint32_t only = 2;
        uint32_t items[2];
        for (int alone = 0; alone < 2; alone++) {
            const mts_engine_options options = {.strategy = (mts_strategy)s,
                                                .tasks = alone != 0 ? &only : NULL,
                                                .task_count = alone != 0 ? 1 : 0};
            mts_engine *engine = NULL;
            mts_error error = {0};
            control_must(
                mts_planned_engine_create(device, w.net.archive, &options, NULL, &engine, NULL, &error),
                &error, "create");
            for (uint32_t t = 0; alone == 0 && t < TASKS; t++) {
                control_must(mts_engine_enable(engine, t, t == only, &error), &error, "enable");
            }
            control_start(engine);
            control_must(mts_engine_wait(engine, &error), &error, "wait");
            items[alone] = slowness.items;
            mts_engine_destroy(&engine);
        }
        print_message("strategy %d: %u work-items, alone %u\n", s, items[0], items[1]);
        assert_true(items[0] <= items[1] + items[1] / 4); /* grids are cut for all tasks */
    }
    mts_device_destroy(&device);
    control_world_release(&w);
}

static void a_profile_shows_all_and_leaves_outputs_as_they_were(void **state)
{
    control_world w;
    mts_error error = {0};
    mts_session_stats stats;
    (void)state;
    common_make(&w);
    mts_engine *engine = engine_make(&w, control_devices[0], MTS_STRATEGY_COMPACT, 0);
    control_keep_outputs(&w, engine);
    control_run_round(&w, engine, 0);
    control_enable(engine, 0x2);
    control_run_round(&w, engine, 1); /* inputs are those of round 1 from now on */
    mts_engine_stats_get(engine, &stats);
    mts_launch_profile *launches = calloc(stats.launches, sizeof *launches);
    assert_non_null(launches);
    control_must(mts_engine_profile(engine, 1, launches, &error), &error, "profile");
    free(launches);
    control_run_round(&w, engine, 1);
    control_check_outputs(&w, engine, 0x2, "after a profile");
    const mts_planning_report report = {0};
    mts_text text;
    mts_text_init(&text, mts_allocator_default());
    mts_explain(engine, &report, true, &text);
    assert_non_null(strstr(mts_text_get(&text), "t3"));
    mts_text_release(&text);
    mts_engine_destroy(&engine);
    control_world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_with_a_rate_runs_in_every_nth_submission),
        cmocka_unit_test(a_rate_in_hertz_counts_by_the_clock),
        cmocka_unit_test(a_task_that_never_ran_has_no_outputs),
        cmocka_unit_test(groups_that_begin_too_late_are_left_out),
        cmocka_unit_test(a_cancelled_run_leaves_out_what_has_not_begun),
        cmocka_unit_test(rates_that_alternate_allocate_nothing_and_make_no_list),
        cmocka_unit_test(nor_do_they_where_layers_share_launches),
        cmocka_unit_test(more_sets_than_one_chunk_holds_are_kept_where_the_budget_allows),
        cmocka_unit_test(a_set_whose_lists_cannot_be_made_fails_and_may_be_tried_again),
        cmocka_unit_test(a_budget_without_room_for_other_lists_refuses_them),
        cmocka_unit_test(a_disabled_task_has_no_work_group),
        cmocka_unit_test(a_profile_shows_all_and_leaves_outputs_as_they_were),
    };
    return control_tests_run(WORK, tests, sizeof tests / sizeof tests[0]);
}
