/*
 * test_tuning_goes_on.c: what a tuning measured outlives the end of its time, of the session that was to be
 * made and of the device; memory budgets and time limits hold while it measures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/state.h"
#include "tune/tune.h"
#include "lower/implementations.h"
#include "platform/wrap/wrap.h"
#include "support/net.h"
#include "support/synth.h"

enum { CANDIDATES_MOST = 64, LONG_ENOUGH = 120000 };

/* What the device does, and what it has seen. */
static struct {
    bool lost, refuses;
    uint32_t build_ms, run_ms;
    char first[512]; /* defines of the first tile program, which it may refuse to build */
    uint32_t refused;
    int buffers, most_buffers;
} plan;

static char folder[64];
static mts_cache cache;
static test_synth synth;
static mts_planning_options how;
static mts_planning_report report; /* of the last session */

static void sleep_ms(uint32_t ms)
{
    const struct timespec time = {.tv_nsec = (long)ms * 1000000};
    (void)nanosleep(&time, NULL);
}

static mts_status before(mts_wrap *wrap, const mts_wrap_call *call, mts_error *error)
{
    (void)wrap;
    if (call->kind == MTS_WRAP_KIND_LIST_SUBMIT) {
        sleep_ms(plan.run_ms);
        return plan.lost ? mts_fail(error, MTS_STATUS_DEVICE_LOST, "lost by a kernel") : MTS_STATUS_OK;
    }
    if (call->kind != MTS_WRAP_KIND_KERNEL_CREATE) {
        return MTS_STATUS_OK;
    }
    sleep_ms(plan.build_ms);
    if (!plan.refuses || strncmp(call->desc->name, "conv_tile", 9) != 0) {
        return MTS_STATUS_OK;
    }
    if (plan.first[0] == '\0') {
        (void)snprintf(plan.first, sizeof plan.first, "%s", call->desc->defines);
    }
    if (strcmp(plan.first, call->desc->defines) != 0) {
        return MTS_STATUS_OK;
    }
    plan.refused++;
    return mts_fail(error, MTS_STATUS_DEVICE, "a kernel that does not build");
}

static void after(mts_wrap *wrap, const mts_wrap_call *call, mts_status status)
{
    (void)wrap;
    plan.buffers += call->kind == MTS_WRAP_KIND_BUFFER_CREATE && status == MTS_STATUS_OK;
    plan.buffers -= call->kind == MTS_WRAP_KIND_BUFFER_DESTROY;
    plan.most_buffers = plan.buffers > plan.most_buffers ? plan.buffers : plan.most_buffers;
}

static const mts_wrap_hooks hooks = {before, after};

static mts_device *open_device(const char *name)
{
    mts_device *device = NULL;
    mts_error error = {0};
    memset(&plan, 0, sizeof plan);
    test_must(net_device_open(name, NULL, &device, &error), &error, name);
    test_must(mts_wrap_make(&device, &hooks, NULL, false, &device, &error), &error, "wrap");
    return device;
}

static int open_all(void **state)
{
    const double prune[2] = {0.95, 0.9};
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 4, prune, 2, 0.5);
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/mts-goes-on-XXXXXX");
    assert_non_null(mkdtemp(folder));
    cache = (mts_cache){.directory = folder, .allocator = mts_allocator_default()};
    test_synth_open(&synth, &o);
    return 0;
}

static int close_all(void **state)
{
    char command[96];
    (void)state;
    mts_planning_report_release(&report);
    test_synth_close(&synth);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static mts_engine_options tuned(uint32_t tuning_ms)
{
    how = (mts_planning_options){.tuning_ms = tuning_ms, .cache = &cache};
    return (mts_engine_options){.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
}

static mts_engine *make(mts_device *device, const mts_engine_options *options)
{
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_planning_report_release(&report);
    test_must(mts_planned_engine_create(device, synth.archive, options, &how, &engine, &report, &error),
              &error, "session");
    return engine;
}

static uint32_t candidates_of(const mts_device *device)
{
    mts_kernel_config candidates[CANDIDATES_MOST];
    return mts_kernel_config_candidates(&device->info, candidates, CANDIDATES_MOST);
}

/* ---- what was measured ---- */

static void a_tuning_that_is_cut_short_goes_on_at_the_next_start(void **state)
{
    uint32_t starts = 1;
    (void)state;
    mts_device *device = open_device("null");
    const uint32_t all = candidates_of(device);
    const mts_engine_options options = tuned(1);
    mts_engine *engine = make(device, &options);
    assert_int_equal(report.complete, 0);
    assert_in_range(report.candidates, 1, all - 1);
    const uint32_t layers = report.layers_tuned;
    for (; !report.complete && starts <= all; starts++) {
        const uint32_t done = report.candidates;
        mts_engine_destroy(&engine);
        engine = make(device, &options);
        assert_true(report.candidates > done);
        assert_true(report.cached);
        assert_int_equal(report.layers_tuned, layers);
    }
    assert_int_equal(report.complete, 1);
    assert_int_equal(report.candidates, all);
    mts_engine_destroy(&engine);
    engine = make(device, &options);
    assert_int_equal(report.candidates, all);
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
}

typedef enum event { CANCEL, LOSE } event;

/* Something happens while the sixth candidate is tried. */
static int at_the_sixth(void *context, float fraction, const char *what)
{
    const event *e = context;
    (void)fraction;
    if (strncmp(what, "tuning, candidate 6 of", 22) == 0) {
        plan.lost = *e == LOSE;
        return *e == CANCEL;
    }
    return 0;
}

static void interrupt(mts_device *device, event what, mts_status expected)
{
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_engine_options options = tuned(LONG_ENOUGH);
    options.context = &what;
    options.progress = at_the_sixth;
    assert_int_equal(
        mts_planned_engine_create(device, synth.archive, &options, &how, &engine, &report, &error), expected);
    assert_null(engine);
    plan.lost = false;
}

static void a_cancelled_tuning_keeps_what_it_measured(void **state)
{
    (void)state;
    mts_device *device = open_device("null");
    const mts_engine_options options = tuned(LONG_ENOUGH);
    interrupt(device, CANCEL, MTS_STATUS_CANCELLED);
    mts_engine *engine = make(device, &options);
    assert_int_equal(report.complete, 1);
    assert_int_equal(report.candidates, candidates_of(device) - 5);
    assert_int_equal(report.skipped, 0);
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
}

static void a_candidate_that_lost_the_device_is_not_tried_again(void **state)
{
    (void)state;
    mts_device *device = open_device("null");
    const mts_engine_options options = tuned(LONG_ENOUGH);
    interrupt(device, LOSE, MTS_STATUS_DEVICE_LOST);
    mts_device_destroy(&device);
    device = open_device("null");
    mts_engine *engine = make(device, &options);
    assert_int_equal(report.complete, 1);
    assert_int_equal(report.candidates, candidates_of(device) - 6);
    assert_int_equal(report.skipped, 1);
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
}

/* Also by sessions for which nothing is measured. */
static void a_default_kernel_that_does_not_build_is_not_built_again(void **state)
{
    (void)state;
    mts_device *device = open_device("null");
    plan.refuses = true;
    const mts_engine_options options = tuned(0);
    mts_engine *engine = make(device, &options);
    assert_int_equal(report.fallback, 2);
    const uint32_t refused = plan.refused;
    assert_true(refused > 0);
    mts_engine_destroy(&engine);
    engine = make(device, &options);
    assert_int_equal(plan.refused, refused);
    assert_int_equal(report.fallback, 2);
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
}

/* ---- limits ---- */

/* The last number of the sentence, which is the smallest budget that can be met. */
static uint64_t named_number(const char *text)
{
    const char *last = strrchr(text, ' ');
    assert_non_null(last);
    return strtoull(last, NULL, 10);
}

static uint64_t least_budget(mts_device *device, const mts_engine_options *options)
{
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_engine_options tight = *options;
    tight.memory_budget.bytes = 1000;
    assert_int_equal(mts_planned_engine_create(device, synth.archive, &tight, &how, &engine, &report, &error),
                     MTS_STATUS_LIMIT);
    assert_non_null(strstr(error.text, "the smallest that can be met is "));
    return named_number(error.text);
}

static void the_smallest_budget_is_kept_whatever_is_measured(void **state)
{
    (void)state;
    mts_device *device = open_device("reference");
    for (int grouping = 0; grouping < 2; grouping++) {
        mts_engine_options options = tuned(5000);
        how.grouping = (mts_grouping)grouping;
        options.memory_budget.bytes = least_budget(device, &options);
        mts_engine *engine = make(device, &options);
        assert_true(report.candidates > 0 || grouping > 0);
        assert_true(engine->stats.peak_bytes <= options.memory_budget.bytes);
        mts_engine_destroy(&engine);
    }
    mts_device_destroy(&device);
}

/* The plan that takes least cuts layers to single tasks, which is not how sets of tasks are to be compared.
 */
static void a_budget_does_not_change_what_sets_of_tasks_are_measured_with(void **state)
{
    (void)state;
    mts_device *device = open_device("null");
    mts_engine_options options = tuned(0);
    how.grouping = MTS_GROUPING_MEASURED;
    mts_engine *unlimited = make(device, &options);
    options.memory_budget.bytes = least_budget(device, &options);
    mts_planning_report without = report;
    report = (mts_planning_report){0};
    mts_engine *limited = make(device, &options);
    assert_true(limited->stats.peak_bytes < unlimited->stats.peak_bytes);
    assert_true(without.sample_count > 0);
    for (uint32_t i = 0; i < without.sample_count; i++) {
        const mts_planning_sample *a = &without.samples[i];
        const mts_planning_sample *b = &report.samples[i];
        assert_int_equal(a->tasks, b->tasks);
        assert_int_equal(a->arena, b->arena);
        assert_int_equal(a->weights, b->weights); /* with kernel parameters, which slices change */
    }
    mts_planning_report_release(&without);
    mts_engine_destroy(&limited);
    mts_engine_destroy(&unlimited);
    mts_device_destroy(&device);
}

static void at_most_three_sessions_are_in_memory(void **state)
{
    (void)state;
    mts_device *device = open_device("null");
    mts_engine_options options = tuned(LONG_ENOUGH);
    mts_engine *engine = make(device, &options);
    const int one = plan.buffers;
    mts_engine_destroy(&engine);
    how.grouping = MTS_GROUPING_MEASURED;
    engine = make(device, &options);
    assert_in_range(plan.most_buffers, one + 1, 3 * one);
    mts_engine_destroy(&engine);
    assert_int_equal(plan.buffers, 0);
    mts_device_destroy(&device);
}

static void a_tuning_ends_within_its_time(void **state)
{
    (void)state;
    mts_device *device = open_device("null");
    plan.build_ms = 200; /* a session of five kernels takes a second */
    mts_engine_options options = tuned(0);
    const uint64_t start = mts_os_clock_ns();
    mts_engine *engine = make(device, &options);
    const double once = (double)(mts_os_clock_ns() - start) * 1e-6;
    mts_engine_destroy(&engine);
    how.tuning_ms = (uint32_t)(once * 3.5);
    engine = make(device, &options);
    assert_true(report.candidates > 0 && report.complete == 0);
    assert_true(report.planning_ms < once * 4.0);
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
}

static void measuring_groups_takes_no_time_from_tuning(void **state)
{
    (void)state;
    mts_device *device = open_device("null");
    mts_engine_options options = tuned(LONG_ENOUGH);
    mts_engine *engine = make(device, &options); /* all of the first tuning */
    mts_engine_destroy(&engine);
    options = tuned(1000);
    how.grouping = MTS_GROUPING_MEASURED;
    options.memory_budget.bytes = least_budget(device, &options); /* groups that it does not know */
    plan.run_ms = 20;
    engine = make(device, &options);
    assert_true(report.planning_ms > 1000.0);
    assert_true(report.candidates > 0);
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tuning_that_is_cut_short_goes_on_at_the_next_start, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(a_cancelled_tuning_keeps_what_it_measured, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_candidate_that_lost_the_device_is_not_tried_again, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(a_default_kernel_that_does_not_build_is_not_built_again, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(the_smallest_budget_is_kept_whatever_is_measured, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(a_budget_does_not_change_what_sets_of_tasks_are_measured_with,
                                        open_all, close_all),
        cmocka_unit_test_setup_teardown(at_most_three_sessions_are_in_memory, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_tuning_ends_within_its_time, open_all, close_all),
        cmocka_unit_test_setup_teardown(measuring_groups_takes_no_time_from_tuning, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
