/*
 * test_tuning.c: measured kernel configurations change no output; kernels that do not build are skipped, remembered and
 * replaced.
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
#include "platform/wrap/wrap.h"
#include "support/net.h"
#include "support/random_net.h"
#include "support/synth.h"

/* Refuses convolution programs: all but the first that was asked for, that one, or any. Or
   the combined program. */
typedef enum refusal { NONE, OTHERS, FIRST, ALL, COMBINED } refusal;

static struct {
    refusal what;
    char first[512];
    uint32_t refused;
} plan;

static mts_status refuse(mts_wrap *wrap, const mts_wrap_call *call, mts_error *error)
{
    (void)wrap;
    if (call->kind == MTS_WRAP_KIND_KERNEL_CREATE && plan.what == COMBINED &&
        strcmp(call->desc->name, MTS_KERNEL_MIXED) == 0) {
        plan.refused++;
        return mts_fail(error, MTS_STATUS_DEVICE, "no combined program");
    }
    if (call->kind != MTS_WRAP_KIND_KERNEL_CREATE || strncmp(call->desc->name, "conv_tile", 9) != 0) {
        return MTS_STATUS_OK;
    }
    if (plan.first[0] == '\0') {
        (void)snprintf(plan.first, sizeof plan.first, "%s", call->desc->defines);
    }
    const bool first = strcmp(plan.first, call->desc->defines) == 0;
    if (plan.what == ALL || (plan.what == FIRST && first) || (plan.what == OTHERS && !first)) {
        plan.refused++;
        return mts_fail(error, MTS_STATUS_DEVICE, "refusal %u of a kernel", plan.refused);
    }
    return MTS_STATUS_OK;
}

static mts_planning_options how;
static mts_planning_report report; /* of the last session */

static const mts_wrap_hooks hooks = {refuse, NULL};

static mts_device *open_device(const char *name, refusal what)
{
    mts_device *device = NULL;
    mts_error error = {0};
    memset(&plan, 0, sizeof plan);
    how = (mts_planning_options){0};
    plan.what = what;
    test_must(net_device_open(name, NULL, &device, &error), &error, name);
    test_must(mts_wrap_make(&device, &hooks, NULL, false, &device, &error), &error, "wrap");
    return device;
}

static void open_synth(test_synth *s, uint32_t tasks, double prune)
{
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, tasks, &prune, 1, 0.5);
    test_synth_open(s, &o);
}

static void tuned_kernels_give_the_same_outputs(void **state)
{
    test_synth s;
    size_t count = 0;
    mts_engine *engine = NULL;
    mts_error error = {0};
    (void)state;
    mts_device *device = open_device("reference", NONE);
    open_synth(&s, 2, 0.95);
    mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
    test_must(mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error), &error,
              "default");
    assert_int_equal(report.candidates, 0);
    float *expected = test_synth_run(engine, s.archive, &count);
    mts_planning_report_release(&report);
    mts_engine_destroy(&engine);
    how.tuning_ms = 30000; /* all candidates are done long before */
    test_must(mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error), &error,
              "tuned");
    assert_true(report.candidates > 0 && report.complete == 1);
    assert_true(report.layers_tuned > 5);
    assert_int_equal(report.fallback, 0);
    float *outputs = test_synth_run(engine, s.archive, &count);
    assert_true(test_difference(outputs, expected, count) <= 1e-4);
    free(expected);
    free(outputs);
    mts_planning_report_release(&report);
    mts_engine_destroy(&engine);
    test_synth_close(&s);
    mts_device_destroy(&device);
}

static void a_candidate_that_does_not_build_is_skipped_and_remembered(void **state)
{
    char folder[] = "/tmp/mts-tuning-XXXXXX";
    char command[64];
    test_synth a, b;
    mts_engine *engine = NULL;
    mts_error error = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    mts_device *device = open_device("null", OTHERS);
    open_synth(&a, 2, 0.9);
    open_synth(&b, 3, 0.8);
    mts_cache cache = {.directory = folder, .allocator = mts_allocator_default()};
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
    how = (mts_planning_options){.tuning_ms = 60000, .cache = &cache};
    test_must(mts_planned_engine_create(device, a.archive, &options, &how, &engine, &report, &error), &error,
              "session");
    const uint32_t refused = plan.refused;
    assert_true(refused >= 5);
    assert_int_equal(report.skipped, refused);
    assert_int_equal(report.complete, 1);
    assert_int_equal(report.fallback, 0);
    assert_int_equal(cache.skipped, refused);
    assert_true(cache.counts[MTS_CACHE_TUNINGS].written > 0);
    mts_planning_report_release(&report);
    mts_engine_destroy(&engine);
    plan.first[0] = '\0'; /* another bundle, whose first program is another */
    test_must(mts_planned_engine_create(device, b.archive, &options, &how, &engine, &report, &error), &error,
              "other session");
    assert_int_equal(cache.counts[MTS_CACHE_TUNINGS].hits, 1);
    assert_int_equal(plan.refused, refused);
    assert_int_equal(report.skipped, refused);
    mts_planning_report_release(&report);
    mts_engine_destroy(&engine);
    test_synth_close(&a);
    test_synth_close(&b);
    mts_device_destroy(&device);
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static void where_the_default_does_not_build_the_smallest_tiles_do(void **state)
{
    test_synth s;
    size_t count = 0;
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_text text;
    (void)state;
    open_synth(&s, 2, 0.95);
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
    mts_device *device = open_device("reference", NONE);
    test_must(mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error), &error,
              "session");
    float *expected = test_synth_run(engine, s.archive, &count);
    mts_planning_report_release(&report);
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
    device = open_device("reference", FIRST);
    test_must(mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error), &error,
              "fallback");
    assert_int_equal(plan.refused, 3); /* without joined programs, then without Winograd too */
    assert_int_equal(report.fallback, 2);
    float *outputs = test_synth_run(engine, s.archive, &count);
    assert_true(test_difference(outputs, expected, count) <= 1e-4);
    mts_text_init(&text, mts_allocator_default());
    mts_explain(engine, &report, false, &text);
    assert_non_null(strstr(mts_text_get(&text), "the smallest tiles instead"));
    mts_text_release(&text);
    free(expected);
    free(outputs);
    mts_planning_report_release(&report);
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
    test_synth_close(&s);
}

/* Layers of unlike networks share launches, or have their own where the program for that
   does not build. */
static void where_the_combined_program_does_not_build_sessions_go_without(void **state)
{
    enum { TASKS = 6 };
    static const refusal refusals[] = {NONE, COMBINED};
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
    const mts_graph *graphs[TASKS];
    uint32_t launches[2];
    mts_error error = {0};
    mts_arena arena;
    test_net net;
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    for (uint32_t t = 0; t < TASKS; t++) {
        const random_family family = {.seed = 740 + t, .tasks = 1, .steps = 8};
        graphs[t] = random_net(&family, 0, &arena);
        assert_non_null(graphs[t]);
    }
    assert_int_equal(net_make(graphs, TASKS, 0.0f, &net, &error), MTS_STATUS_OK);
    mts_arena_release(&arena);
    for (int i = 0; i < 2; i++) {
        mts_engine *engine = NULL;
        mts_session_stats stats = {0};
        mts_device *device = open_device("null", refusals[i]);
        device->info.launch_ns = 20000;
        test_must(mts_planned_engine_create(device, net.archive, &options, &how, &engine, &report, &error),
                  &error, "session");
        assert_int_equal(plan.refused, i);
        assert_int_equal(report.fallback, i);
        mts_engine_stats_get(engine, &stats);
        launches[i] = stats.launches;
        mts_planning_report_release(&report);
        mts_engine_destroy(&engine);
        mts_device_destroy(&device);
    }
    assert_true(launches[1] > launches[0]);
    net_release(&net);
}

static void where_nothing_builds_the_first_reason_is_given(void **state)
{
    test_synth s;
    mts_engine *engine = NULL;
    mts_error error = {0};
    (void)state;
    open_synth(&s, 2, 0.95);
    mts_device *device = open_device("null", ALL);
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
    assert_int_equal(mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error),
                     MTS_STATUS_DEVICE);
    assert_null(engine);
    assert_int_equal(plan.refused, 4);
    assert_non_null(strstr(error.text, "refusal 1 of a kernel"));
    mts_device_destroy(&device);
    test_synth_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tuned_kernels_give_the_same_outputs),
        cmocka_unit_test(a_candidate_that_does_not_build_is_skipped_and_remembered),
        cmocka_unit_test(where_the_default_does_not_build_the_smallest_tiles_do),
        cmocka_unit_test(where_the_combined_program_does_not_build_sessions_go_without),
        cmocka_unit_test(where_nothing_builds_the_first_reason_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
