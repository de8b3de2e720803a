/*
 * test_control.c: some tasks of an engine run, the others do not: what runs has the bits that it has when all
 * run, what does not run keeps its outputs.
 *
 * Random families in all strategies, every set of their tasks, with lists of their own and with a list per
 * group; rates; deadlines and cancelling on a device that is slow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <time.h>

#include "engine/control.h"
#include "engine/engine_internal.h"
#include "tune/explain.h"
#include "tune/tune.h"
#include "engine/profile.h"
#include "plan/block.h"
#include "platform/os/os.h"
#include "platform/wrap/wrap.h"
#include "support/fault_allocator.h"
#include "support/net.h"
#include "support/random_net.h"
#include "support/synth.h"

#define TASKS 4
#define OUTPUTS_MOST 16
#define FAMILIES 3
#define OPENCL_EVERY 6 /* a family in so many runs on OpenCL too: its driver builds kernels for seconds */
#define WORK MTS_BINARY_DIR "/control"
#define NEVER_MS 1000000u

static mts_device *devices[2];
static const char *const device_names[2] = {"reference", "opencl"};

typedef struct world {
    random_family family;
    mts_arena arena;
    const mts_graph *graphs[TASKS];
    test_net net;
    float *inputs[2][TASKS]; /* [round][task] */
    float *outputs[2][TASKS][OUTPUTS_MOST];
    size_t counts[TASKS][OUTPUTS_MOST];
} world;

static void must(mts_status code, const mts_error *error, const char *what)
{
    if (code != MTS_STATUS_OK) {
        print_error("%s: %s: %s\n", what, mts_status_text(code), error->text);
        fail();
    }
}

static void world_make(world *w, const random_family *family)
{
    mts_error error = {0};
    *w = (world){.family = *family};
    mts_arena_init(&w->arena, mts_allocator_default());
    for (uint32_t t = 0; t < TASKS; t++) {
        w->graphs[t] = random_net(family, t, &w->arena);
        assert_non_null(w->graphs[t]);
        must(mts_graph_verify(w->graphs[t], &error), &error, "verify");
        for (uint32_t round = 0; round < 2; round++) {
            w->inputs[round][t] = random_input(family, t, w->graphs[t], round, &w->arena);
            assert_non_null(w->inputs[round][t]);
        }
    }
    must(net_make(w->graphs, TASKS, 0.0f, &w->net, &error), &error, "bundle");
}

static void world_release(world *w)
{
    net_release(&w->net);
    mts_arena_release(&w->arena);
}

static void run_round(const world *w, mts_engine *engine, uint32_t round)
{
    const void *data[TASKS];
    const void *const *inputs[TASKS];
    mts_error error = {0};
    for (uint32_t t = 0; t < TASKS; t++) {
        data[t] = w->inputs[round][t];
        inputs[t] = &data[t];
    }
    must(net_engine_run(engine, &w->net, inputs, &error), &error, "run");
}

static void enable_set(mts_engine *engine, uint32_t set)
{
    mts_error error = {0};
    for (uint32_t t = 0; t < TASKS; t++) {
        must(mts_engine_enable(engine, t, (set >> t & 1u) != 0, &error), &error, "enable");
    }
}

/* Outputs of both rounds when all tasks run. */
static void keep_outputs(world *w, mts_engine *engine)
{
    for (uint32_t round = 0; round < 2; round++) {
        run_round(w, engine, round);
        for (uint32_t t = 0; t < TASKS; t++) {
            assert_true(w->graphs[t]->output_count <= OUTPUTS_MOST);
            for (uint32_t o = 0; o < w->graphs[t]->output_count; o++) {
                const float *got = net_output(engine, &w->net, t, o, &w->counts[t][o]);
                float **to = &w->outputs[round][t][o];
                assert_non_null(got);
                *to = mts_arena_zero(&w->arena, w->counts[t][o], sizeof **to);
                assert_non_null(*to);
                memcpy(*to, got, w->counts[t][o] * sizeof **to);
            }
        }
    }
}

/* Tasks of `set` have the outputs of round 1, the others of round 0. */
static void check_outputs(const world *w, const mts_engine *engine, uint32_t set, const char *how)
{
    for (uint32_t t = 0; t < TASKS; t++) {
        for (uint32_t o = 0; o < w->graphs[t]->output_count; o++) {
            size_t count = 0;
            const uint32_t round = set >> t & 1u;
            const float *got = net_output(engine, &w->net, t, o, &count);
            assert_non_null(got);
            assert_int_equal(count, w->counts[t][o]);
            if (memcmp(got, w->outputs[round][t][o], count * sizeof *got) != 0) {
                print_error("family %u, %s: tasks %x run: output %u of task %u is not that of round %u\n",
                            w->family.seed, how, set, o, t, round);
                fail();
            }
        }
    }
}

static void run_sets(const world *w, mts_engine *engine, const char *how)
{
    for (uint32_t set = 0; set < 1u << TASKS; set++) {
        uint64_t before = 0;
        uint64_t run = 0;
        mts_error error = {0};
        enable_set(engine, (1u << TASKS) - 1);
        run_round(w, engine, 0);
        check_outputs(w, engine, 0, how);
        must(mts_engine_output_run(engine, 0, &before, &error), &error, "run");
        enable_set(engine, set);
        run_round(w, engine, 1);
        check_outputs(w, engine, set, how);
        for (uint32_t t = 0; t < TASKS; t++) {
            must(mts_engine_output_run(engine, t, &run, &error), &error, "run");
            assert_int_equal(run, before + (set >> t & 1u));
        }
    }
}

static void run_with(world *w, int device, mts_strategy strategy, mts_precision precision)
{
    static const uint64_t slices[] = {0, 1, 3000, 30000};
    const mts_engine_options options = {.strategy = strategy,
                                        .precision = precision,
                                        .separate_inputs = !w->family.common,
                                        .lend_inputs = w->family.seed % 3 == 1};
    const mts_decision decision = {.slice_bytes = slices[w->family.seed / 3 % 4]};
    mts_engine *engine = NULL;
    mts_error error = {0};
    char how[96];
    must(mts_engine_create(devices[device], w->net.archive, &options, &decision, NULL, &engine, &error),
         &error, "create");
    keep_outputs(w, engine);
    for (uint32_t split = 0; split < 2; split++) {
        (void)snprintf(how, sizeof how, "%s, strategy %d, precision %d%s", device_names[device],
                       (int)strategy, (int)precision, split != 0 ? ", group by group" : "");
        mts_engine_deadline(engine, split * NEVER_MS);
        run_sets(w, engine, how);
    }
    mts_engine_destroy(&engine);
}

static void run_world(const random_family *family)
{
    world w;
    world_make(&w, family);
    for (int d = 0; d < 2; d++) {
        if (!devices[d] || (d == 1 && family->seed % OPENCL_EVERY != 0)) {
            continue;
        }
        for (int s = 0; s < MTS_STRATEGY_COUNT; s++) {
            run_with(&w, d, (mts_strategy)s, MTS_PRECISION_FLOAT32);
        }
        run_with(&w, d, MTS_STRATEGY_COMPACT, MTS_PRECISION_FLOAT16_STORAGE);
    }
    world_release(&w);
}

static void every_set_of_tasks_with_inputs_of_their_own_has_its_bits(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < FAMILIES; seed++) {
        run_world(&(random_family){.seed = 1200 + seed, .tasks = TASKS, .steps = 3 + seed % 6});
    }
}

static void every_set_of_tasks_with_a_common_input_has_its_bits(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < FAMILIES; seed++) {
        run_world(
            &(random_family){.seed = 5400 + seed, .tasks = TASKS, .steps = 3 + seed % 6, .common = true});
    }
}

static void equal_networks_keep_their_outputs_apart(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < FAMILIES / 2; seed++) {
        run_world(&(random_family){.seed = 9000 + seed,
                                   .tasks = TASKS,
                                   .steps = 4 + seed % 4,
                                   .common = seed % 2 == 0,
                                   .equal = true});
    }
}

/* ---- rates, deadlines, memory ---- */

static void common_make(world *w)
{
    world_make(w, &(random_family){.seed = 77, .tasks = TASKS, .steps = 5, .common = true});
}

static mts_engine *engine_make(const world *w, mts_device *device, mts_strategy strategy, uint64_t budget)
{
    const mts_engine_options options = {.strategy = strategy, .memory_budget = budget};
    mts_engine *engine = NULL;
    mts_error error = {0};
    must(mts_planned_engine_create(device, w->net.archive, &options, NULL, &engine, NULL, &error), &error,
         "create");
    return engine;
}

/* The number of the run that each task's outputs are of; 0: none. */
static uint64_t run_of(const mts_engine *engine, uint32_t task)
{
    uint64_t run = 0;
    const mts_status code = mts_engine_output_run(engine, task, &run, NULL);
    assert_true(code == MTS_STATUS_OK || code == MTS_STATUS_NOT_FOUND);
    return code == MTS_STATUS_OK ? run : 0;
}

static void a_task_with_a_rate_runs_in_every_nth_submission(void **state)
{
    world w;
    mts_error error = {0};
    (void)state;
    common_make(&w);
    mts_engine *engine = engine_make(&w, devices[0], MTS_STRATEGY_COMPACT, 0);
    must(mts_engine_rate(engine, 1, 3, &error), &error, "rate");
    must(mts_engine_rate(engine, 2, 2, &error), &error, "rate");
    for (uint64_t n = 1; n <= 13; n++) {
        run_round(&w, engine, 0);
        assert_int_equal(run_of(engine, 0), n);
        assert_int_equal(run_of(engine, 1), (n - 1) / 3 * 3 + 1);
        assert_int_equal(run_of(engine, 2), (n - 1) / 2 * 2 + 1);
    }
    must(mts_engine_enable(engine, 1, false, &error), &error, "disable"); /* the count goes on */
    run_round(&w, engine, 0);                                             /* 14 */
    must(mts_engine_enable(engine, 1, true, &error), &error, "enable");
    run_round(&w, engine, 0);
    assert_int_equal(run_of(engine, 1), 13);
    run_round(&w, engine, 0);
    assert_int_equal(run_of(engine, 1), 16);
    must(mts_engine_rate(engine, 1, 1, &error), &error, "rate");
    run_round(&w, engine, 0);
    assert_int_equal(run_of(engine, 1), 17);
    mts_engine_destroy(&engine);
    world_release(&w);
}

static void pause_ms(uint32_t ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};
    (void)nanosleep(&time, NULL);
}

static void a_rate_in_hertz_counts_by_the_clock(void **state)
{
    world w;
    mts_error error = {0};
    (void)state;
    common_make(&w);
    mts_engine *engine = engine_make(&w, devices[0], MTS_STRATEGY_COMPACT, 0);
    must(mts_engine_rate_hz(engine, 0, 1e-6, &error), &error, "rate"); /* once in eleven days */
    must(mts_engine_rate_hz(engine, 1, 20.0, &error), &error, "rate");
    const uint64_t begin = mts_os_clock_ns();
    uint32_t runs = 0;
    uint64_t last = 0;
    for (uint64_t n = 1; n <= 20; n++) {
        run_round(&w, engine, 0);
        assert_int_equal(run_of(engine, 0), 1);
        assert_int_equal(run_of(engine, 2), n);
        runs += run_of(engine, 1) != last ? 1 : 0;
        last = run_of(engine, 1);
        pause_ms(10);
    }
    const double seconds = (double)(mts_os_clock_ns() - begin) * 1e-9;
    assert_true((double)runs <= seconds * 20.0 + 1.0); /* one at once, one each twentieth of a second */
    assert_true(runs >= 2);
    must(mts_engine_rate_hz(engine, 0, 0.0, &error), &error, "rate");
    run_round(&w, engine, 0);
    assert_int_equal(run_of(engine, 0), 21);
    assert_int_equal(mts_engine_rate_hz(engine, 0, -1.0, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_engine_rate_hz(engine, 0, NAN, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_engine_rate_hz(engine, 0, INFINITY, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_engine_rate(engine, 0, 0, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_engine_rate(engine, 99, 1, &error), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_engine_enable(engine, 99, true, &error), MTS_STATUS_NOT_FOUND);
    mts_engine_destroy(&engine);
    world_release(&w);
}

static void a_task_that_never_ran_has_no_outputs(void **state)
{
    world w;
    mts_error error = {0};
    const void *data = NULL;
    size_t size = 0;
    (void)state;
    common_make(&w);
    mts_engine *engine = engine_make(&w, devices[0], MTS_STRATEGY_COMPACT, 0);
    enable_set(engine, 0x5);
    run_round(&w, engine, 0);
    assert_int_equal(mts_engine_output(engine, 0, 0, &data, &size, &error), MTS_STATUS_OK);
    assert_int_equal(mts_engine_output(engine, 1, 0, &data, &size, &error), MTS_STATUS_NOT_FOUND);
    assert_int_equal(run_of(engine, 3), 0);
    enable_set(engine, 0); /* a run of nothing is a run */
    run_round(&w, engine, 0);
    assert_int_equal(mts_engine_output(engine, 0, 0, &data, &size, &error), MTS_STATUS_OK);
    assert_int_equal(run_of(engine, 0), 1);
    mts_engine_destroy(&engine);
    world_release(&w);
}

/* What a device was told to do. */
typedef struct slow {
    uint32_t submits, lists, items;
    uint32_t sleep_ms;
} slow;

static slow slowness; /* hooks have no context of the test's own: wrap.h frees theirs */

static void count_calls(mts_wrap *wrap, const mts_wrap_call *call, mts_status code)
{
    (void)wrap;
    (void)code;
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
            must(backends[i]->open(0, &options, &device, &error), &error, "open");
        }
    }
    must(mts_wrap_make(&device, &hooks, NULL, false, &device, &error), &error, "wrap");
    slowness = (slow){.sleep_ms = sleep_ms};
    return device;
}

static void start(mts_engine *engine)
{
    mts_error error = {0};
    must(mts_engine_submit(engine, &error), &error, "submit");
}

static void groups_that_begin_too_late_are_left_out(void **state)
{
    world w;
    mts_error error = {0};
    (void)state;
    common_make(&w);
    mts_device *device = slow_open(mts_allocator_default(), 0);
    mts_engine *engine = engine_make(&w, device, MTS_STRATEGY_SEQUENTIAL, 0);
    assert_int_equal(engine->group_count, TASKS);
    keep_outputs(&w, engine); /* runs 1 and 2 */
    run_round(&w, engine, 0); /* 3 */
    slowness.sleep_ms = 60;
    slowness.submits = 0;
    mts_engine_deadline(engine, 100); /* groups begin at 0, 60 and 120 ms */
    run_round(&w, engine, 1);
    assert_int_equal(slowness.submits, 2);
    check_outputs(&w, engine, 0x3, "late");
    assert_int_equal(run_of(engine, 1), 4);
    assert_int_equal(run_of(engine, 2), 3);
    mts_engine_deadline(engine, 1);
    run_round(&w, engine, 0);
    assert_int_equal(run_of(engine, 0), 5); /* the first group always runs */
    assert_int_equal(run_of(engine, 1), 4);
    mts_engine_deadline(engine, 0);
    run_round(&w, engine, 1);
    check_outputs(&w, engine, 0xf, "no deadline");
    assert_int_equal(mts_engine_wait(engine, &error), MTS_STATUS_OK); /* nothing to wait for */
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
    world_release(&w);
}

static void a_cancelled_run_leaves_out_what_has_not_begun(void **state)
{
    world w;
    mts_error error = {0};
    (void)state;
    common_make(&w);
    mts_device *device = slow_open(mts_allocator_default(), 0);
    mts_engine *engine = engine_make(&w, device, MTS_STRATEGY_SEQUENTIAL, 0);
    mts_engine_deadline(engine, NEVER_MS);
    keep_outputs(&w, engine);
    run_round(&w, engine, 0);
    start(engine);                              /* the first group begins */
    assert_false(mts_engine_cancel(engine, 3)); /* it is over */
    assert_true(mts_engine_cancel(engine, 4));
    assert_int_equal(mts_engine_wait(engine, &error), MTS_STATUS_CANCELLED);
    assert_int_equal(run_of(engine, 0), 4);
    assert_int_equal(run_of(engine, 1), 3);
    check_outputs(&w, engine, 0, "cancelled");
    run_round(&w, engine, 1); /* the next one is not */
    check_outputs(&w, engine, 0xf, "after it");
    start(engine);
    mts_engine_destroy(&engine); /* with groups that have not begun */
    mts_device_destroy(&device);
    world_release(&w);
}

static void rates_that_alternate_allocate_nothing_and_make_no_list(void **state)
{
    world w;
    mts_error error = {0};
    mts_fault_allocator memory;
    (void)state;
    common_make(&w);
    mts_fault_allocator_init(&memory, 0);
    mts_device *device = slow_open(&memory.allocator, 0);
    mts_engine *engine = engine_make(&w, device, MTS_STRATEGY_COMPACT, 0);
    mts_engine_stats before;
    mts_engine_stats after;
    mts_engine_stats_get(engine, &before);
    must(mts_engine_rate(engine, 1, 2, &error), &error, "rate");
    must(mts_engine_rate(engine, 2, 4, &error), &error, "rate");
    for (int i = 0; i < 4; i++) {
        run_round(&w, engine, 0);
    }
    mts_engine_stats_get(engine, &after);
    assert_true(after.workspace_bytes > before.workspace_bytes);
    assert_int_equal(after.peak_bytes - before.peak_bytes, after.workspace_bytes - before.workspace_bytes);
    const size_t calls = memory.calls;
    const uint32_t lists = slowness.lists;
    for (int i = 0; i < 16; i++) {
        run_round(&w, engine, (uint32_t)i % 2);
    }
    assert_int_equal(memory.calls, calls);
    assert_int_equal(slowness.lists, lists);
    for (uint32_t set = 1; set < 1u << TASKS; set++) { /* more sets than are kept */
        enable_set(engine, set);
        run_round(&w, engine, 0);
    }
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
    assert_int_equal(memory.alive, 0);
    world_release(&w);
}

static void a_set_whose_lists_cannot_be_made_fails_and_may_be_tried_again(void **state)
{
    world w;
    mts_error error = {0};
    mts_fault_allocator memory;
    (void)state;
    common_make(&w);
    mts_fault_allocator_init(&memory, 0);
    mts_device *device = slow_open(&memory.allocator, 0);
    bool failed = true;
    for (size_t nth = 1; failed; nth++) {
        mts_engine *engine = engine_make(&w, device, MTS_STRATEGY_SEQUENTIAL, 0);
        keep_outputs(&w, engine);
        run_round(&w, engine, 0);
        enable_set(engine, 0x6);
        const size_t before = memory.calls;
        memory.fail_at = memory.calls + nth;
        const mts_status code = mts_engine_submit(engine, &error);
        failed = code != MTS_STATUS_OK;
        memory.fail_at = 0;
        assert_true(failed ? code == MTS_STATUS_OUT_OF_MEMORY : memory.calls - before < nth);
        if (!failed) {
            must(mts_engine_wait(engine, &error), &error, "wait");
        }
        run_round(&w, engine, 1);
        check_outputs(&w, engine, 0x6, "after a failure");
        mts_engine_destroy(&engine);
    }
    mts_device_destroy(&device);
    assert_int_equal(memory.alive, 0);
    world_release(&w);
}

static void a_budget_without_room_for_other_lists_refuses_them(void **state)
{
    world w;
    mts_error error = {0};
    mts_engine_stats stats;
    (void)state;
    common_make(&w);
    mts_engine *engine = engine_make(&w, devices[0], MTS_STRATEGY_SEQUENTIAL, 0);
    mts_engine_stats_get(engine, &stats);
    mts_engine_destroy(&engine);
    engine = engine_make(&w, devices[0], MTS_STRATEGY_SEQUENTIAL, stats.peak_bytes);
    keep_outputs(&w, engine);
    enable_set(engine, 0x1);
    assert_int_equal(mts_engine_submit(engine, &error), MTS_STATUS_LIMIT);
    assert_non_null(strstr(error.text, "budget"));
    enable_set(engine, 0xf);
    run_round(&w, engine, 1);
    check_outputs(&w, engine, 0xf, "all");
    mts_engine_destroy(&engine);
    world_release(&w);
}

static void a_disabled_task_has_no_work_group(void **state)
{
    world w;
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
            must(mts_planned_engine_create(device, w.net.archive, &options, NULL, &engine, NULL, &error),
                 &error, "create");
            for (uint32_t t = 0; alone == 0 && t < TASKS; t++) {
                must(mts_engine_enable(engine, t, t == only, &error), &error, "enable");
            }
            start(engine);
            must(mts_engine_wait(engine, &error), &error, "wait");
            items[alone] = slowness.items;
            mts_engine_destroy(&engine);
        }
        print_message("strategy %d: %u work-items, alone %u\n", s, items[0], items[1]);
        assert_true(items[0] <= items[1] + items[1] / 4); /* grids are cut for all tasks */
    }
    mts_device_destroy(&device);
    world_release(&w);
}

static void a_profile_shows_all_and_leaves_outputs_as_they_were(void **state)
{
    world w;
    mts_error error = {0};
    mts_engine_stats stats;
    (void)state;
    common_make(&w);
    mts_engine *engine = engine_make(&w, devices[0], MTS_STRATEGY_COMPACT, 0);
    keep_outputs(&w, engine);
    run_round(&w, engine, 0);
    enable_set(engine, 0x2);
    run_round(&w, engine, 1); /* inputs are those of round 1 from now on */
    mts_engine_stats_get(engine, &stats);
    mts_engine_launch *launches = calloc(stats.launches, sizeof *launches);
    assert_non_null(launches);
    must(mts_engine_profile(engine, 1, launches, &error), &error, "profile");
    free(launches);
    run_round(&w, engine, 1);
    check_outputs(&w, engine, 0x2, "after a profile");
    const mts_planning_report report = {0};
    mts_text text;
    mts_text_init(&text, mts_allocator_default());
    mts_explain(engine, &report, true, &text);
    assert_non_null(strstr(mts_text_get(&text), "t3"));
    mts_text_release(&text);
    mts_engine_destroy(&engine);
    world_release(&w);
}

/* ---- what only GPUs run: blocks, and fully connected layers by groups ---- */

/* As test_blocks.c: a CPU's device is planned for as if it were a GPU. NULL: there is none that can. */
static mts_device *gpu_open(void)
{
    mts_device *device = NULL;
    mts_error error = {0};
    if (net_device_open("opencl", WORK, &device, &error) != MTS_STATUS_OK ||
        device->info.work_group_size < 256) {
        mts_device_destroy(&device);
        skip();
    }
    device->info.is_gpu = true;
    device->info.arch = device->info.arch != 0 ? device->info.arch : 87;
    device->info.compute_units = 16;
    return device;
}

static void synth_run(mts_engine *engine, const mts_archive *archive, uint32_t round)
{
    mts_error error = {0};
    for (uint32_t t = 0; t < archive->task_count; t++) {
        const size_t count = mts_shape_count(&archive->tasks[t].graph->inputs[0].shape);
        float *data = calloc(count, sizeof *data);
        assert_non_null(data);
        for (size_t i = 0; i < count; i++) {
            data[i] = (float)((i * 31 + round * 17) % 101) / 50.0f - 1.0f;
        }
        must(mts_engine_set_input(engine, t, 0, data, count * sizeof *data, &error), &error, "input");
        free(data);
    }
    start(engine);
    must(mts_engine_wait(engine, &error), &error, "wait");
}

static float *synth_output(const mts_engine *engine, uint32_t task, size_t *size)
{
    const void *data = NULL;
    mts_error error = {0};
    must(mts_engine_output(engine, task, 0, &data, size, &error), &error, "output");
    float *copy = malloc(*size);
    assert_non_null(copy);
    memcpy(copy, data, *size);
    return copy;
}

static void check_synth(const test_synth *f, mts_device *gpu, const mts_kernel_config *forced, bool common)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = !common};
    const mts_kernel_configs choices = {.forced = forced};
    const mts_decision decision = {.choices = &choices};
    mts_engine *engine = NULL;
    mts_error error = {0};
    float *want[2][TASKS];
    size_t size = 0;
    must(mts_engine_create(gpu, f->archive, &options, &decision, NULL, &engine, &error), &error, "create");
    for (uint32_t round = 0; round < 2; round++) {
        synth_run(engine, f->archive, round);
        for (uint32_t t = 0; t < TASKS; t++) {
            want[round][t] = synth_output(engine, t, &size);
        }
    }
    for (uint32_t set = 0; set < 1u << TASKS; set++) {
        enable_set(engine, (1u << TASKS) - 1);
        synth_run(engine, f->archive, 0);
        enable_set(engine, set);
        synth_run(engine, f->archive, 1);
        for (uint32_t t = 0; t < TASKS; t++) {
            float *got = synth_output(engine, t, &size);
            assert_memory_equal(got, want[set >> t & 1u][t], size);
            free(got);
        }
    }
    for (uint32_t t = 0; t < TASKS; t++) {
        assert_memory_not_equal(want[0][t], want[1][t], size);
        free(want[0][t]);
        free(want[1][t]);
    }
    mts_engine_destroy(&engine);
}

static void blocks_of_a_gpu_keep_the_parts_of_the_tasks_that_run(void **state)
{
    const double prune = 0.9;
    mtsc_synth_options options = test_synth_options(MTSC_ARCH_RESNET18, TASKS, &prune, 1, 0.8);
    mts_device *gpu = gpu_open();
    test_synth f;
    mts_kernel_config choice;
    uint32_t i = 0;
    (void)state;
    test_synth_open(&f, &options);
    while (mts_block_candidate(&gpu->info, i, &choice) && choice.parts < 2) {
        i++;
    }
    assert_true(choice.parts >= 2);
    check_synth(&f, gpu, &choice, false);
    check_synth(&f, gpu, &choice, true);
    test_synth_close(&f);
    mts_device_destroy(&gpu);
}

static void a_synthetic_resnet_keeps_its_bits_on_opencl(void **state)
{
    const double prune[] = {0.9, 0.5};
    mtsc_synth_options options = test_synth_options(MTSC_ARCH_RESNET18, TASKS, prune, 2, 0.9);
    test_synth f;
    (void)state;
    if (!devices[1]) {
        skip();
    }
    test_synth_open(&f, &options);
    check_synth(&f, devices[1], NULL, false);
    check_synth(&f, devices[1], NULL, true);
    test_synth_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_of_tasks_with_inputs_of_their_own_has_its_bits),
        cmocka_unit_test(every_set_of_tasks_with_a_common_input_has_its_bits),
        cmocka_unit_test(equal_networks_keep_their_outputs_apart),
        cmocka_unit_test(a_task_with_a_rate_runs_in_every_nth_submission),
        cmocka_unit_test(a_rate_in_hertz_counts_by_the_clock),
        cmocka_unit_test(a_task_that_never_ran_has_no_outputs),
        cmocka_unit_test(groups_that_begin_too_late_are_left_out),
        cmocka_unit_test(a_cancelled_run_leaves_out_what_has_not_begun),
        cmocka_unit_test(rates_that_alternate_allocate_nothing_and_make_no_list),
        cmocka_unit_test(a_set_whose_lists_cannot_be_made_fails_and_may_be_tried_again),
        cmocka_unit_test(a_budget_without_room_for_other_lists_refuses_them),
        cmocka_unit_test(a_disabled_task_has_no_work_group),
        cmocka_unit_test(a_profile_shows_all_and_leaves_outputs_as_they_were),
        cmocka_unit_test(a_synthetic_resnet_keeps_its_bits_on_opencl),
        cmocka_unit_test(blocks_of_a_gpu_keep_the_parts_of_the_tasks_that_run),
    };
    mts_error error = {0};
    if (mts_os_directory_make(WORK, &error) != MTS_STATUS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    for (int d = 0; d < 2; d++) {
        if (net_device_open(device_names[d], WORK, &devices[d], &error) != MTS_STATUS_OK) {
            printf("%s: %s\n", device_names[d], error.text);
        }
    }
    const int failed = devices[0] ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    for (int d = 0; d < 2; d++) {
        mts_device_destroy(&devices[d]);
    }
    return failed;
}
