/*
 * test_planning.c: priorities, memory budgets, and what is said about the plans that were not selected.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/state.h"
#include "tune/explain.h"
#include "tune/tune.h"
#include "support/net.h"
#include "support/synth.h"

/* The null device computes nothing, which is enough where only memory and order count. */
static mts_device *device, *reference, *null_device;
static mts_planning_options how;
static mts_planning_report report; /* of the last session */

static mts_engine_options options_of(mts_strategy strategy, mts_grouping grouping, uint64_t budget)
{
    how = (mts_planning_options){.grouping = grouping};
    return (mts_engine_options){.strategy = strategy, .separate_inputs = true, .memory_budget = {budget}};
}

static mts_engine *make(const test_synth *s, const mts_engine_options *options)
{
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_planning_report_release(&report);
    test_must(mts_planned_engine_create(device, s->archive, options, &how, &engine, &report, &error), &error,
              "session");
    return engine;
}

static uint64_t peak_of(const test_synth *s, const mts_engine_options *options)
{
    mts_engine *engine = make(s, options);
    const uint64_t peak = engine->stats.peak_bytes;
    mts_engine_destroy(&engine);
    return peak;
}

/* ---- priorities ---- */

static void assert_order(const mts_engine *engine, const uint32_t *priorities)
{
    for (uint32_t a = 0; a < engine->tasks.count; a++) {
        for (uint32_t b = 0; b < engine->tasks.count; b++) {
            if (priorities[a] > priorities[b]) {
                assert_true(engine->tasks.items[a].group < engine->tasks.items[b].group);
            }
        }
    }
}

static void tasks_of_higher_priority_run_in_earlier_groups_of_their_own(void **state)
{
    static const uint32_t priorities[5] = {1, 7, 1, 7, 0};
    const double prune = 0.9;
    test_synth s;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 5, &prune, 1, 0.5);
    (void)state;
    test_synth_open(&s, &o);
    for (int grouping = 0; grouping < 2; grouping++) {
        for (int strategy = 0; strategy < MTS_STRATEGY_COUNT; strategy++) {
            mts_engine_options options = options_of((mts_strategy)strategy, (mts_grouping)grouping, 0);
            options.priorities = priorities;
            mts_engine *engine = make(&s, &options);
            assert_order(engine, priorities);
            if (strategy == MTS_STRATEGY_COMPACT && grouping == 0) {
                assert_int_equal(engine->tasks.group_count, 3);
                assert_int_equal(engine->tasks.items[1].group, 0);
                assert_int_equal(engine->tasks.items[3].group, 0);
            }
            mts_engine_destroy(&engine);
        }
    }
    test_synth_close(&s);
}

static void priorities_change_no_output(void **state)
{
    static const uint32_t priorities[3] = {1, 0, 3};
    const double prune = 0.95;
    size_t count = 0;
    test_synth s;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 3, &prune, 1, 0.5);
    (void)state;
    device = reference;
    test_synth_open(&s, &o);
    mts_engine_options options = options_of(MTS_STRATEGY_COMPACT, MTS_GROUPING_FAMILY, 0);
    mts_engine *engine = make(&s, &options);
    float *expected = test_synth_run(engine, s.archive, &count);
    mts_engine_destroy(&engine);
    options.priorities = priorities;
    engine = make(&s, &options);
    float *outputs = test_synth_run(engine, s.archive, &count);
    assert_true(test_difference(outputs, expected, count) <= 1e-4);
    free(expected);
    free(outputs);
    mts_engine_destroy(&engine);
    test_synth_close(&s);
}

static void launches_of_a_higher_priority_come_first(void **state)
{
    static const uint32_t priorities[3] = {0, 0, 5};
    const double prune = 0.9;
    test_synth s;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 3, &prune, 1, 0.5);
    (void)state;
    test_synth_open(&s, &o);
    mts_engine_options options = options_of(MTS_STRATEGY_COMPACT, MTS_GROUPING_FAMILY, 0);
    options.priorities = priorities;
    mts_engine *engine = make(&s, &options);
    uint32_t last = 0;
    for (uint32_t i = 0; i < engine->launches.count; i++) {
        if (engine->launches.encoded[i].group != MTS_NONE) {
            assert_true(engine->launches.encoded[i].group >= last);
            last = engine->launches.encoded[i].group;
        }
    }
    assert_int_equal(last, 1);
    assert_int_equal(engine->tasks.items[2].group, 0);
    mts_engine_destroy(&engine);
    test_synth_close(&s);
}

/* ---- budgets ---- */

/* The last number of the sentence, which is the smallest budget that can be met. */
static uint64_t named_number(const char *text)
{
    uint64_t number = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at >= '0' && *at <= '9' && (at == text || at[-1] < '0' || at[-1] > '9')) {
            number = strtoull(at, NULL, 10);
        }
    }
    return number;
}

static void a_budget_that_cannot_be_met_is_refused_with_one_that_can(void **state)
{
    const double prune[2] = {0.95, 0.9};
    (void)state;
    for (uint32_t kinds = 1; kinds <= 2; kinds++) {
        test_synth s;
        const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 4, prune, kinds, 0.5);
        test_synth_open(&s, &o);
        for (int i = 0; i < 2 * MTS_STRATEGY_COUNT; i++) {
            mts_engine_options options = options_of((mts_strategy)(i / 2), (mts_grouping)(i % 2), 1000);
            mts_engine *engine = NULL;
            mts_error error = {0};
            assert_int_equal(
                mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error),
                MTS_STATUS_LIMIT);
            assert_null(engine);
            assert_non_null(strstr(error.text, "budget of 1000 bytes"));
            options.memory_budget.bytes = named_number(error.text);
            assert_true(options.memory_budget.bytes > 1000);
            engine = make(&s, &options);
            assert_true(engine->stats.peak_bytes <= options.memory_budget.bytes);
            mts_engine_destroy(&engine);
            options.memory_budget.bytes--;
            assert_int_equal(
                mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error),
                MTS_STATUS_LIMIT);
            assert_int_equal(named_number(error.text), options.memory_budget.bytes + 1);
        }
        test_synth_close(&s);
    }
}

/* The device gets lanes of memory for groups (plan/lanes.h): what can be met is counted without them. */
static void budgets_are_met_where_groups_run_at_the_same_time(void **state)
{
    const mts_device_info before = device->info;
    device->info.overlaps = true;
    device->info.compute_units = 4;
    a_budget_that_cannot_be_met_is_refused_with_one_that_can(state);
    device->info = before;
}

/* Between the least and what the unlimited plan takes, every budget is kept. */
static void a_budget_is_kept_by_groups_and_by_slices(void **state)
{
    const double prune[3] = {0.9, 0.8, 0.85};
    test_synth s;
    mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 6, prune, 3, 0.8);
    (void)state;
    o.input = 64;
    test_synth_open(&s, &o);
    for (int grouping = 0; grouping < 2; grouping++) {
        mts_engine_options options = options_of(MTS_STRATEGY_COMPACT, (mts_grouping)grouping, 1);
        mts_engine *engine = NULL;
        mts_error error = {0};
        assert_int_equal(
            mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error),
            MTS_STATUS_LIMIT);
        const uint64_t least = named_number(error.text);
        options.memory_budget.bytes = 0;
        const uint64_t most = peak_of(&s, &options);
        assert_true(least <= most);
        for (uint64_t step = 0; step <= 4; step++) {
            options.memory_budget.bytes = least + (most - least) * step / 4;
            assert_true(peak_of(&s, &options) <= options.memory_budget.bytes);
        }
    }
    test_synth_close(&s);
}

static void a_family_keeps_a_budget_by_slices_and_gives_the_same_outputs(void **state)
{
    const double prune = 0.95;
    size_t count = 0;
    test_synth s;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 4, &prune, 1, 0.8);
    (void)state;
    device = reference;
    test_synth_open(&s, &o);
    mts_engine_options options = options_of(MTS_STRATEGY_COMPACT, MTS_GROUPING_FAMILY, 0);
    mts_engine *engine = make(&s, &options);
    const uint64_t peak = engine->stats.peak_bytes;
    float *expected = test_synth_run(engine, s.archive, &count);
    mts_engine_destroy(&engine);
    options.memory_budget.bytes = peak - 1;
    engine = make(&s, &options);
    assert_true(engine->stats.peak_bytes < peak);
    assert_int_equal(engine->stats.groups, 1);
    float *outputs = test_synth_run(engine, s.archive, &count);
    assert_true(test_difference(outputs, expected, count) <= 1e-4);
    free(expected);
    free(outputs);
    mts_engine_destroy(&engine);
    test_synth_close(&s);
}

/* ---- what is said ---- */

static uint32_t count_verdict(mts_verdict verdict)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report.plan_count; i++) {
        count += report.plans[i].verdict == (uint32_t)verdict ? 1 : 0;
    }
    return count;
}

static void an_explanation_lists_what_was_considered_and_why_it_was_not_selected(void **state)
{
    const double prune[2] = {0.95, 0.85};
    test_synth s;
    mts_text text;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 4, prune, 2, 0.5);
    (void)state;
    test_synth_open(&s, &o);
    mts_engine_options options = options_of(MTS_STRATEGY_COMPACT, MTS_GROUPING_MEASURED, 0);
    mts_engine *engine = make(&s, &options);
    assert_true(report.plan_count >= 3);
    assert_true(report.sample_count >= 5);
    assert_true(count_verdict(MTS_VERDICT_CHOSEN) >= 1);
    assert_true(count_verdict(MTS_VERDICT_SLOWER) + count_verdict(MTS_VERDICT_PREDICTED) >= 2);
    assert_int_equal(count_verdict(MTS_VERDICT_OVER_BUDGET), 0);
    assert_true(report.predicted_ms > 0.0 && report.planning_ms > 0.0);
    mts_text_init(&text, mts_allocator_default());
    mts_explain(engine, &report, false, &text);
    assert_non_null(strstr(mts_text_get(&text), "considered for the tasks of class 0"));
    assert_non_null(strstr(mts_text_get(&text), "chosen"));
    assert_non_null(strstr(mts_text_get(&text), "each task alone"));
    assert_non_null(strstr(mts_text_get(&text), "predicted:"));
    assert_non_null(strstr(mts_text_get(&text), "launches only move data, resize or pool: "));
    assert_non_null(strstr(mts_text_get(&text), "bytes: a convolution has a stride"));
    mts_text_release(&text);
    mts_text_init(&text, mts_allocator_default());
    mts_explain(engine, &report, true, &text);
    assert_non_null(strstr(mts_text_get(&text), "\"considered\": [{\"what\": "));
    assert_non_null(strstr(mts_text_get(&text), "\"verdict\": \"chosen\""));
    assert_non_null(strstr(mts_text_get(&text), "\"moves\": \"a convolution has a stride"));
    mts_text_release(&text);
    const uint64_t unlimited = engine->stats.peak_bytes;
    options.memory_budget.bytes = 1000;
    mts_engine_destroy(&engine);
    mts_error error = {0};
    assert_int_equal(mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error),
                     MTS_STATUS_LIMIT);
    options.memory_budget.bytes = named_number(error.text);
    assert_true(options.memory_budget.bytes < unlimited);
    engine = make(&s, &options);
    assert_true(engine->stats.peak_bytes <= options.memory_budget.bytes);
    assert_true(count_verdict(MTS_VERDICT_OVER_BUDGET) >= 1);
    mts_engine_destroy(&engine);
    test_synth_close(&s);
}

typedef struct watcher {
    int calls, stop_at;
    float last;
    bool backwards;
} watcher;

static int watch(void *context, float fraction, const char *what)
{
    watcher *w = context;
    (void)what;
    w->backwards = w->backwards || fraction < w->last - 1e-6f;
    w->last = fraction;
    return ++w->calls == w->stop_at;
}

static void planning_reports_its_progress_and_can_be_cancelled_at_any_time(void **state)
{
    const double prune[2] = {0.95, 0.9};
    test_synth s;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 3, prune, 2, 0.5);
    (void)state;
    test_synth_open(&s, &o);
    watcher w = {0};
    mts_engine_options options = options_of(MTS_STRATEGY_COMPACT, MTS_GROUPING_MEASURED, 0);
    how.tuning_ms = 300;
    options.context = &w;
    options.progress = watch;
    mts_engine *engine = make(&s, &options);
    mts_engine_destroy(&engine);
    assert_true(w.calls > 10);
    assert_true(w.last > 0.999f);
    assert_false(w.backwards);
    const int calls = w.calls;
    for (int stop = 1; stop < calls / 2; stop += 1 + calls / 12) {
        mts_error error = {0};
        w = (watcher){.stop_at = stop};
        assert_int_equal(
            mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error),
            MTS_STATUS_CANCELLED);
        assert_null(engine);
        assert_int_equal(w.calls, stop);
    }
    test_synth_close(&s);
}

static int use_null(void **state)
{
    (void)state;
    device = null_device;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(tasks_of_higher_priority_run_in_earlier_groups_of_their_own, use_null),
        cmocka_unit_test_setup(priorities_change_no_output, use_null),
        cmocka_unit_test_setup(launches_of_a_higher_priority_come_first, use_null),
        cmocka_unit_test_setup(a_budget_that_cannot_be_met_is_refused_with_one_that_can, use_null),
        cmocka_unit_test_setup(budgets_are_met_where_groups_run_at_the_same_time, use_null),
        cmocka_unit_test_setup(a_budget_is_kept_by_groups_and_by_slices, use_null),
        cmocka_unit_test_setup(a_family_keeps_a_budget_by_slices_and_gives_the_same_outputs, use_null),
        cmocka_unit_test_setup(an_explanation_lists_what_was_considered_and_why_it_was_not_selected,
                               use_null),
        cmocka_unit_test_setup(planning_reports_its_progress_and_can_be_cancelled_at_any_time, use_null),
    };
    mts_error error = {0};
    test_must(net_device_open("reference", NULL, &reference, &error), &error, "reference");
    test_must(net_device_open("null", NULL, &null_device, &error), &error, "null");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mts_planning_report_release(&report);
    mts_device_destroy(&reference);
    mts_device_destroy(&null_device);
    return failed;
}
