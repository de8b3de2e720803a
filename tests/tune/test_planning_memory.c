/*
 * test_planning_memory.c: a planning that runs out of the host's memory, of the device's, or of its caller's
 * patience; what a prediction is the sum of; and the memory of a session that nothing is measured for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/state.h"
#include "tune/memory.h"
#include "tune/tune.h"
#include "support/fault_allocator.h"
#include "support/net.h"
#include "support/random_net.h"
#include "support/synth.h"

static mts_device *open_null(const mts_allocator *allocator)
{
    size_t count = 0;
    mts_device *device = NULL;
    mts_error error = {0};
    const mts_device_options options = {.allocator = allocator};
    const mts_backend *const *table = mts_backend_table(&count);
    for (size_t i = 0; i < count && !device; i++) {
        if (strcmp(table[i]->name, "null") == 0) {
            test_must(table[i]->open(0, &options, &device, &error), &error, "null");
        }
    }
    assert_non_null(device);
    return device;
}

static mts_planning_options how;
static mts_planning_report report; /* of the last session */

static mts_engine_options measured(uint64_t budget)
{
    how = (mts_planning_options){.grouping = MTS_GROUPING_MEASURED};
    return (mts_engine_options){
        .strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true, .memory_budget = {budget}};
}

/* Tasks of two structures, so that the model is asked too. */
static void open_family(test_synth *s, uint32_t tasks)
{
    const double prune[2] = {0.97, 0.95};
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, tasks, prune, 2, 0.5);
    test_synth_open(s, &o);
}

static uint32_t count_failed(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report.plan_count; i++) {
        count += report.plans[i].verdict == MTS_VERDICT_FAILED;
    }
    return count;
}

/* Nothing that was measured under a lack of memory is taken for a result. Only what profiles tell of a
   layer's bytes may be missing. */
static void every_failing_allocation_ends_the_planning_and_leaks_nothing(void **state)
{
    test_synth s;
    uint32_t failures = 0;
    (void)state;
    open_family(&s, 3);
    for (int budget = 0; budget < 2; budget++) {
        for (size_t step = 1;; step += 1 + step / 4) {
            mts_fault_allocator fault;
            mts_engine *engine = NULL;
            mts_error error = {0};
            mts_fault_allocator_init(&fault, 0);
            mts_device *device = open_null(&fault.allocator);
            const size_t alive = fault.alive;
            const mts_engine_options options = measured(budget == 0 ? 0 : UINT64_C(1) << 40);
            fault.fail_at = fault.calls + step;
            const mts_status status =
                mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error);
            const bool failed = fault.calls >= fault.fail_at;
            const bool harmless = status == MTS_STATUS_OK && count_failed() == 0;
            assert_true(status == MTS_STATUS_OUT_OF_MEMORY || harmless);
            assert_true(failed || status == MTS_STATUS_OK);
            mts_planning_report_release(&report);
            mts_engine_destroy(&engine);
            assert_int_equal(fault.alive, alive);
            mts_device_destroy(&device);
            failures += status == MTS_STATUS_OUT_OF_MEMORY ? 1 : 0;
            if (!failed) {
                break;
            }
        }
    }
    assert_true(failures > 40);
    test_synth_close(&s);
}

static void a_device_with_room_for_one_session_only_is_planned_for(void **state)
{
    test_synth s;
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_device *device = open_null(mts_allocator_default());
    (void)state;
    open_family(&s, 4);
    mts_engine_options options = measured(0);
    how.grouping = MTS_GROUPING_FAMILY;
    test_must(mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error), &error,
              "family");
    const uint64_t peak = engine->stats.peak_bytes;
    mts_planning_report_release(&report);
    mts_engine_destroy(&engine);
    how.grouping = MTS_GROUPING_MEASURED;
    device->info.memory_bytes = peak * 9 / 8;
    test_must(mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error), &error,
              "measured");
    assert_true(engine->stats.peak_bytes <= device->info.memory_bytes);
    assert_int_equal(report.sample_count, 7); /* all, each alone, two pairs */
    mts_planning_report_release(&report);
    mts_engine_destroy(&engine);
    device->info.memory_bytes = peak / 4;
    assert_int_equal(mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error),
                     MTS_STATUS_OUT_OF_MEMORY);
    assert_null(engine);
    mts_device_destroy(&device);
    test_synth_close(&s);
}

static void a_device_with_too_few_groups_refuses_before_anything_is_built(void **state)
{
    test_synth s;
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_device *device = open_null(mts_allocator_default());
    (void)state;
    open_family(&s, 4);
    mts_engine_options options = measured(0);
    how.grouping = MTS_GROUPING_FAMILY;
    device->info.groups_most = 2;
    assert_int_equal(mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error),
                     MTS_STATUS_LIMIT);
    assert_null(engine);
    assert_non_null(strstr(error.text, "the device has 2"));
    mts_device_destroy(&device);
    test_synth_close(&s);
}

/* Stops at the `stop_at`-th report of some work; 0: never. */
typedef struct watcher {
    const char *work;
    uint32_t seen, stop_at;
} watcher;

static int watch(void *context, float fraction, const char *what)
{
    watcher *w = context;
    (void)fraction;
    w->seen += strcmp(what, w->work) == 0 ? 1 : 0;
    return w->stop_at != 0 && w->seen == w->stop_at;
}

static void the_search_for_groups_and_each_footprint_report_and_can_be_cancelled(void **state)
{
    static const char *const works[] = {"searching for groups", "estimating a plan's memory"};
    test_synth s;
    mts_device *device = open_null(mts_allocator_default());
    (void)state;
    open_family(&s, 4);
    for (int i = 0; i < 2; i++) {
        for (uint32_t stop = 1; stop <= (i == 0 ? 1u : 5u); stop += 4) {
            watcher w = {.work = works[i], .stop_at = stop};
            mts_engine_options options = measured(UINT64_C(1) << 40);
            mts_engine *engine = NULL;
            mts_error error = {0};
            options.progress = watch;
            options.context = &w;
            const mts_status status =
                mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error);
            assert_int_equal(status, MTS_STATUS_CANCELLED);
            assert_int_equal(w.seen, stop);
            assert_null(engine);
        }
    }
    mts_device_destroy(&device);
    test_synth_close(&s);
}

/* Each class counts, those of one task too. */
static void a_prediction_is_the_sum_over_all_classes(void **state)
{
    static const uint32_t priorities[3] = {2, 1, 0};
    test_synth s;
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_device *device = open_null(mts_allocator_default());
    (void)state;
    open_family(&s, 3);
    mts_engine_options options = measured(0);
    options.priorities = priorities;
    test_must(mts_planned_engine_create(device, s.archive, &options, &how, &engine, &report, &error), &error,
              "session");
    double sum = 0.0;
    assert_int_equal(report.sample_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(report.samples[i].of_class, i);
        sum += report.samples[i].latency;
    }
    assert_true(sum > 0.0 && report.predicted_ms > sum * 0.7);
    mts_planning_report_release(&report);
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
    test_synth_close(&s);
}

/* The weight pool is the largest block of host memory that a session takes. */
static void the_weights_of_a_float16_session_take_half_the_host_memory(void **state)
{
    test_synth s;
    size_t bytes[2] = {0};
    const double prune = 0.8;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 2, &prune, 1, 0.5);
    (void)state;
    test_synth_open(&s, &o);
    for (int half = 0; half < 2; half++) {
        mts_fault_allocator fault;
        mts_engine *engine = NULL;
        mts_error error = {0};
        mts_fault_allocator_init(&fault, 0);
        mts_device *device = open_null(&fault.allocator);
        const mts_engine_options options = {.strategy = MTS_STRATEGY_SEQUENTIAL,
                                            .precision =
                                                half ? MTS_PRECISION_FLOAT16_STORAGE : MTS_PRECISION_FLOAT32,
                                            .separate_inputs = true};
        const mts_decision decision = {.slice_bytes = 0};
        fault.bytes = 0;
        test_must(mts_engine_create(device, s.archive, &options, &decision, NULL, &engine, &error), &error,
                  "null");
        bytes[half] = fault.bytes;
        assert_true(bytes[half] >= engine->stats.weight_bytes);
        mts_engine_destroy(&engine);
        mts_device_destroy(&device);
    }
    assert_int_equal(bytes[1] * 2, bytes[0]);
    test_synth_close(&s);
}

/* ---- sessions that are not measured ---- */

#define FAMILIES 30u
#define FAMILY_MOST 6u

/* Two to five networks that align, and one that does not. */
static void open_relatives(test_net *net, uint32_t seed)
{
    const uint32_t tasks = 2 + seed % (FAMILY_MOST - 2);
    const random_family family = {.seed = 900 + seed, .tasks = tasks, .steps = 6 + seed % 8},
                        other = {.seed = 1900 + seed, .tasks = 1, .steps = 5};
    const mts_graph *graphs[FAMILY_MOST];
    mts_error error = {0};
    mts_arena arena;
    mts_arena_init(&arena, mts_allocator_default());
    for (uint32_t t = 0; t < tasks; t++) {
        graphs[t] = random_net(&family, t, &arena);
        assert_non_null(graphs[t]);
    }
    graphs[tasks] = random_net(&other, 0, &arena);
    assert_non_null(graphs[tasks]);
    test_must(net_make(graphs, tasks + 1, 0.0f, net, &error), &error, "net");
    mts_arena_release(&arena);
}

static mts_session_stats stats_of(mts_device *device, const mts_archive *archive, mts_strategy strategy,
                                  uint64_t budget)
{
    const mts_engine_options options = {
        .strategy = strategy, .separate_inputs = true, .memory_budget = {budget}};
    mts_session_stats stats = {0};
    mts_engine *engine = NULL;
    mts_error error = {0};
    how = (mts_planning_options){.grouping = MTS_GROUPING_FAMILY};
    test_must(mts_planned_engine_create(device, archive, &options, &how, &engine, &report, &error), &error,
              "session");
    mts_engine_stats_get(engine, &stats);
    mts_planning_report_release(&report);
    mts_engine_destroy(&engine);
    return stats;
}

/* Tensors of stitched networks live side by side. Where launches cost time, waves add to that. Alignment counts
   in small networks, hence the 4 KiB. */
static void a_session_takes_a_tenth_more_than_its_tasks_one_by_one_at_most(void **state)
{
    mts_device *device = open_null(mts_allocator_default());
    uint32_t smaller = 0, stitched = 0;
    (void)state;
    for (uint32_t seed = 0; seed < 2 * FAMILIES; seed++) {
        test_net net;
        device->info.launch_ns = seed % 2 ? 20000 : 0;
        open_relatives(&net, seed / 2);
        const mts_session_stats apart = stats_of(device, net.archive, MTS_STRATEGY_SEQUENTIAL, 0);
        const mts_session_stats usual = stats_of(device, net.archive, MTS_STRATEGY_COMPACT, 0);
        const mts_session_stats any = stats_of(device, net.archive, MTS_STRATEGY_COMPACT, UINT64_C(1) << 40);
        assert_true(usual.peak_bytes <= apart.peak_bytes + apart.peak_bytes / 10 + 4096);
        smaller += usual.peak_bytes < any.peak_bytes; /* a budget says what may be taken */
        stitched += usual.launches < apart.launches;
        net_release(&net);
    }
    assert_true(smaller > FAMILIES / 4);
    assert_true(stitched > FAMILIES);
    mts_device_destroy(&device);
}

/* Counts what says that no slices are small enough. */
static void count_refusals(void *context, mts_log_severity level, const char *text)
{
    *(uint32_t *)context += level == MTS_LOG_INFO && strstr(text, "no slices keep the session") ? 1 : 0;
}

/* Where the smallest slices of a family still take too much, they would only be more launches. One family in some
   40 is so. */
static void slices_that_cannot_help_stay_those_of_the_device(void **state)
{
    uint32_t refusals = 0;
    const mts_log log = {.context = &refusals, .write = count_refusals};
    mts_device *device = open_null(mts_allocator_default());
    (void)state;
    device->info.launch_ns = 20000;
    device->log = &log;
    for (uint32_t seed = 0; seed < 20 * FAMILIES && refusals == 0; seed++) {
        test_net net;
        open_relatives(&net, seed);
        const mts_session_stats usual = stats_of(device, net.archive, MTS_STRATEGY_COMPACT, 0);
        if (refusals > 0) {
            const mts_session_stats apart = stats_of(device, net.archive, MTS_STRATEGY_SEQUENTIAL, 0);
            const mts_session_stats any =
                stats_of(device, net.archive, MTS_STRATEGY_COMPACT, UINT64_C(1) << 40);
            assert_true(usual.peak_bytes > apart.peak_bytes + apart.peak_bytes / 10);
            assert_int_equal(usual.launches, any.launches);
            assert_int_equal(usual.peak_bytes, any.peak_bytes);
        }
        net_release(&net);
    }
    assert_int_equal(refusals, 1);
    mts_device_destroy(&device);
}

/* Slices are chosen for the session as it is, which says itself why it cannot be made. */
static void what_cannot_be_estimated_leaves_no_error_behind(void **state)
{
    test_net net;
    mts_error error = {0};
    mts_device *device = open_null(mts_allocator_default());
    (void)state;
    open_relatives(&net, 0);
    const uint32_t tasks = net.archive->task_count;
    mts_planning p = {.device = device,
                      .archive = net.archive,
                      .allocator = mts_allocator_default(),
                      .options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true},
                      .task_count = tasks,
                      .error = &error};
    uint32_t index[FAMILY_MOST], priorities[FAMILY_MOST] = {0}, classes[FAMILY_MOST], groups[FAMILY_MOST];
    const mts_graph *graphs[FAMILY_MOST];
    for (uint32_t t = 0; t < tasks; t++) {
        index[t] = t;
        graphs[t] = net.archive->tasks[t].graph;
    }
    p.tasks = index;
    p.priorities = priorities;
    p.class_of = classes;
    p.group_of = groups;
    p.graphs = graphs;
    mts_arena_init(&p.arena, p.allocator);
    mts_kernel_configs_init(&p.defaults, p.allocator);
    test_must(mts_planning_classes(&p), &error, "classes");
    device->info.groups_most = 1;
    mts_session_stats stats = {0};
    assert_int_equal(mts_memory_footprint(&p, groups, 0, NULL, &stats), MTS_STATUS_LIMIT);
    error = (mts_error){0};
    assert_int_equal(mts_memory_choose_slices(&p), MTS_STATUS_OK);
    assert_int_equal(error.code, MTS_STATUS_OK);
    assert_string_equal(error.text, "");
    mts_kernel_configs_release(&p.defaults);
    mts_arena_release(&p.arena);
    net_release(&net);
    mts_device_destroy(&device);
}

/* Dry runs of one by one are spared where this says that a session takes less. */
static void what_tasks_take_at_least_is_not_more_than_they_take(void **state)
{
    mts_device *device = open_null(mts_allocator_default());
    (void)state;
    for (uint32_t seed = 0; seed < FAMILIES; seed++) {
        test_net net;
        mts_error error = {0};
        open_relatives(&net, seed);
        const mts_engine_options options = {.strategy = MTS_STRATEGY_SEQUENTIAL,
                                            .separate_inputs = true,
                                            .precision = seed % 2 ? MTS_PRECISION_FLOAT16_STORAGE
                                                                  : MTS_PRECISION_FLOAT32};
        const mts_decision decision = {.slice_bytes = 0};
        mts_session_stats stats = {0};
        uint64_t least = 0;
        test_must(mts_engine_footprint(device, net.archive, &options, &decision, &stats, &error), &error,
                  "all");
        test_must(mts_engine_least(device, net.archive, &options, &decision, &least, &error), &error,
                  "least");
        assert_true(least > stats.activation_bytes && least <= stats.peak_bytes);
        net_release(&net);
    }
    mts_device_destroy(&device);
}

static int count_plannings(void *context, float fraction, const char *what)
{
    (void)fraction;
    *(uint32_t *)context += strcmp(what, "planning launches") == 0;
    return 0;
}

/* The plan whose memory was counted is the session's: it is not made a second time. */
static void a_session_is_made_of_the_plan_that_was_counted(void **state)
{
    mts_device *device = open_null(mts_allocator_default());
    (void)state;
    for (uint32_t seed = 0; seed < FAMILIES; seed++) {
        test_net net;
        uint32_t plannings = 0;
        mts_error error = {0};
        mts_engine *engine = NULL, *again = NULL;
        mts_session_stats stats = {0}, same = {0};
        open_relatives(&net, seed);
        const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT,
                                            .separate_inputs = true,
                                            .context = &plannings,
                                            .progress = count_plannings};
        how = (mts_planning_options){.grouping = MTS_GROUPING_FAMILY};
        test_must(mts_planned_engine_create(device, net.archive, &options, &how, &engine, &report, &error),
                  &error, "session");
        assert_int_equal(plannings, 0);
        const mts_decision decision = {.slice_bytes = report.slice_bytes};
        test_must(mts_engine_create(device, net.archive, &options, &decision, NULL, &again, &error), &error,
                  "again");
        assert_int_equal(plannings, 1);
        mts_engine_stats_get(engine, &stats);
        mts_engine_stats_get(again, &same);
        assert_int_equal(stats.peak_bytes, same.peak_bytes);
        assert_int_equal(stats.launches, same.launches);
        assert_int_equal(stats.mul_adds, same.mul_adds);
        mts_planning_report_release(&report);
        mts_engine_destroy(&engine);
        mts_engine_destroy(&again);
        net_release(&net);
    }
    mts_device_destroy(&device);
}

/* Constants that are many times what stitching adds. */
static void networks_of_many_weights_are_not_sliced(void **state)
{
    test_synth s;
    mts_device *device = open_null(mts_allocator_default());
    const double prune = 0.5;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 3, &prune, 1, 0.0);
    (void)state;
    test_synth_open(&s, &o);
    const mts_session_stats usual = stats_of(device, s.archive, MTS_STRATEGY_COMPACT, 0);
    const mts_session_stats any = stats_of(device, s.archive, MTS_STRATEGY_COMPACT, UINT64_C(1) << 40);
    assert_int_equal(usual.launches, any.launches);
    assert_int_equal(usual.peak_bytes, any.peak_bytes);
    mts_device_destroy(&device);
    test_synth_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_weights_of_a_float16_session_take_half_the_host_memory),
        cmocka_unit_test(every_failing_allocation_ends_the_planning_and_leaks_nothing),
        cmocka_unit_test(a_device_with_room_for_one_session_only_is_planned_for),
        cmocka_unit_test(a_device_with_too_few_groups_refuses_before_anything_is_built),
        cmocka_unit_test(the_search_for_groups_and_each_footprint_report_and_can_be_cancelled),
        cmocka_unit_test(a_prediction_is_the_sum_over_all_classes),
        cmocka_unit_test(a_session_takes_a_tenth_more_than_its_tasks_one_by_one_at_most),
        cmocka_unit_test(what_tasks_take_at_least_is_not_more_than_they_take),
        cmocka_unit_test(a_session_is_made_of_the_plan_that_was_counted),
        cmocka_unit_test(slices_that_cannot_help_stay_those_of_the_device),
        cmocka_unit_test(what_cannot_be_estimated_leaves_no_error_behind),
        cmocka_unit_test(networks_of_many_weights_are_not_sliced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
