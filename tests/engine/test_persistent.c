/*
 * test_persistent.c: frames as few persistent launches: the bits of launch by launch, counters that are found as
 * they were left, a wait that never ends, and devices that have no such launches.
 *
 * The random families are those of the other engine tests, merged into waves, so that launches of several kernels
 * follow each other. With MTS_TEST_DEVICE=cuda the emulated GPU has OpenCL's place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/control.h"
#include "engine/state.h"
#include "support/control_world.h"
#include "support/fault.h"
#include "tune/explain.h"

#define WORK MTS_BINARY_DIR "/persistent"
#define ALL ((1u << TASKS) - 1)

/* The same world in all tests: its kernels are built once. */
static const random_family usual = {.seed = 5, .tasks = TASKS, .steps = 7};

static const uint32_t apart[TASKS] = {0, 1, 2, 3};

static mts_device *opencl(void)
{
    if (!control_devices[1] || !control_devices[1]->info.persistent) {
        print_message("no device with persistent launches\n");
        skip();
    }
    return control_devices[1];
}

static mts_engine *make(const control_world *w, mts_device *device, bool persistent, uint32_t slots)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT,
                                        .separate_inputs = !w->family.common,
                                        .persistent = persistent,
                                        .slots = slots,
                                        .depth = slots};
    const mts_decision decision = {.group_of = apart};
    mts_engine *engine = NULL;
    mts_error error = {0};
    control_must(mts_engine_create(device, w->net.archive, &options, &decision, NULL, &engine, &error),
                 &error, "create");
    return engine;
}

static uint32_t persistent_launches(const mts_engine *engine)
{
    mts_session_stats stats = {.size = sizeof stats};
    mts_engine_stats_get(engine, &stats);
    return stats.persistent_launches;
}

/* A world whose outputs are those of launch by launch, and an engine of persistent launches. */
static mts_engine *open(control_world *w, const random_family *family, mts_device *device, uint32_t slots)
{
    control_world_make(w, family);
    mts_engine *plain = make(w, device, false, 1);
    control_keep_outputs(w, plain);
    assert_int_equal(persistent_launches(plain), 0);
    mts_engine_destroy(&plain);
    return make(w, device, true, slots);
}

static void check_round(const control_world *w, mts_engine *engine, uint32_t round)
{
    control_run_round(w, engine, round);
    control_check_outputs(w, engine, round == 0 ? 0 : ALL, "persistent");
}

static void random_families_have_the_bits_of_launch_by_launch(void **state)
{
    (void)state;
    mts_device *device = opencl();
    const char *most = getenv("MTS_TEST_FAMILIES");
    const bool quick =
        strcmp(device->info.backend, "opencl") != 0; /* its driver builds kernels for seconds */
    const uint32_t families = most ? (uint32_t)strtoul(most, NULL, 10) : quick ? 4 : 1;
    uint32_t fewer = 0;
    for (uint32_t i = 0; i < families; i++) {
        const random_family family = {
            .seed = usual.seed + i, .tasks = TASKS, .steps = usual.steps, .common = i % 2 != 0};
        control_world w;
        mts_engine *engine = open(&w, &family, device, 1);
        mts_session_stats stats = {.size = sizeof stats};
        mts_engine_stats_get(engine, &stats);
        fewer += stats.persistent_launches > 0 && stats.persistent_launches < stats.launches ? 1 : 0;
        print_message("family %u: %u launches, %u persistent\n", family.seed, stats.launches,
                      stats.persistent_launches);
        for (uint32_t frame = 0; frame < 10; frame++) { /* the counters are as they were found */
            check_round(&w, engine, frame % 2);
        }
        mts_engine_destroy(&engine);
        control_world_release(&w);
    }
    assert_int_equal(fewer, families);
}

/* Some of the tasks, and stages, have lists of their own; the form comes back with all of them. */
static void some_of_the_tasks_go_launch_by_launch(void **state)
{
    (void)state;
    control_world w;
    mts_engine *engine = open(&w, &usual, opencl(), 1);
    const uint32_t launches = persistent_launches(engine);
    for (uint32_t set = 1; set <= ALL; set += 2) {
        control_enable(engine, ALL);
        check_round(&w, engine, 0);
        control_enable(engine, set);
        control_run_round(&w, engine, 1);
        control_check_outputs(&w, engine, set, "some");
    }
    assert_int_equal(persistent_launches(engine), launches);
    mts_engine_destroy(&engine);
    control_world_release(&w);
}

/* Lets all launches of the first run that wait for its first one wait for a ticket more than there is. */
static void plant(const mts_engine *engine, uint32_t patience)
{
    const mts_persist_run *run = &engine->persistent.plan.runs[0];
    mts_buffer *act = engine->launches.act;
    mts_persist_launch first;
    uint32_t table = 0;
    mts_error error = {0};
    control_must(
        mts_buffer_read(engine->launches.params, run->params * sizeof table, &table, sizeof table, &error),
        &error, "read");
    const size_t at = table * sizeof table;
    control_must(mts_buffer_write(act, at + offsetof(mts_persist_params, patience), &patience,
                                  sizeof patience, &error),
                 &error, "write");
    control_must(mts_buffer_read(act, at + sizeof(mts_persist_params), &first, sizeof first, &error), &error,
                 "read");
    first.tickets++;
    control_must(mts_buffer_write(act, at + sizeof(mts_persist_params), &first, sizeof first, &error), &error,
                 "write");
}

static void a_counter_that_never_comes_ends_the_form_and_loses_nothing(void **state)
{
    (void)state;
    control_world w;
    mts_engine *engine = open(&w, &usual, opencl(), 1);
    assert_true(persistent_launches(engine) > 0);
    check_round(&w, engine, 0);
    plant(engine, 5000);
    check_round(&w, engine, 1);
    assert_int_equal(persistent_launches(engine), 0);
    check_round(&w, engine, 0);
    check_round(&w, engine, 1);
    mts_engine_destroy(&engine);
    control_world_release(&w);
}

static void set_inputs(const control_world *w, mts_engine *engine, uint32_t round)
{
    mts_error error = {0};
    const uint32_t tasks = w->family.common ? 1 : TASKS;
    for (uint32_t t = 0; t < tasks; t++) {
        const mts_shape *shape = &w->graphs[t]->values[w->graphs[t]->inputs[0].value].shape;
        control_must(mts_engine_set_input(engine, t, 0, w->inputs[round][t],
                                          (size_t)mts_shape_count(shape) * sizeof(float), &error),
                     &error, "input");
    }
}

static void a_frame_that_is_repeated_has_its_own_inputs(void **state)
{
    (void)state;
    control_world w;
    mts_error error = {0};
    mts_engine *engine = open(&w, &usual, opencl(), 2);
    for (uint32_t planted = 0; planted < 2; planted++) {
        if (planted != 0) {
            plant(engine, 5000);
        }
        set_inputs(&w, engine, 0);
        control_start(engine);
        set_inputs(&w, engine, 1); /* while the first frame may still have to be repeated */
        control_start(engine);
        control_must(mts_engine_wait(engine, &error), &error, "wait");
        control_check_outputs(&w, engine, 0, "first of two");
        control_must(mts_engine_wait(engine, &error), &error, "wait");
        control_check_outputs(&w, engine, ALL, "second of two");
    }
    assert_int_equal(persistent_launches(engine), 0);
    mts_engine_destroy(&engine);
    control_world_release(&w);
}

static mts_engine *within(const control_world *w, bool persistent, uint64_t bytes)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT,
                                        .separate_inputs = true,
                                        .persistent = persistent,
                                        .memory_budget = {.bytes = bytes}};
    const mts_decision decision = {.group_of = apart};
    mts_engine *engine = NULL;
    mts_error error = {0};
    control_must(mts_engine_create(opencl(), w->net.archive, &options, &decision, NULL, &engine, &error),
                 &error, "create");
    return engine;
}

static uint64_t peak_of(const mts_engine *engine)
{
    mts_session_stats stats = {.size = sizeof stats};
    mts_engine_stats_get(engine, &stats);
    return stats.peak_bytes;
}

/* A budget that launch by launch keeps is kept, with and without waves, if need be without the form. */
static void tables_give_way_to_the_memory_budget(void **state)
{
    (void)state;
    control_world w;
    mts_engine *engine = open(&w, &usual, opencl(), 1);
    const uint64_t with_tables = peak_of(engine);
    mts_engine_destroy(&engine);
    engine = within(&w, true, with_tables);
    assert_true(persistent_launches(engine) > 0);
    mts_engine_destroy(&engine);
    engine = within(&w, true, with_tables - 1);
    assert_int_equal(persistent_launches(engine), 0);
    assert_true(peak_of(engine) < with_tables);
    check_round(&w, engine, 1);
    const uint64_t least = peak_of(engine);
    mts_engine_destroy(&engine);
    engine = within(&w, true, least);
    assert_int_equal(peak_of(engine), least);
    check_round(&w, engine, 0);
    mts_engine_destroy(&engine);
    control_world_release(&w);
}

static void a_device_without_such_launches_runs_the_same_frames(void **state)
{
    (void)state;
    control_world w;
    mts_engine *engine = open(&w, &usual, control_devices[0], 1);
    assert_int_equal(persistent_launches(engine), 0);
    check_round(&w, engine, 1);
    mts_engine_destroy(&engine);
    control_world_release(&w);
}

/* Makes a session on a device whose `nth` call of a kind fails, and runs it; whether it goes launch by launch.
   `calls`: of that kind, until it is made. */
static bool survives(const control_world *w, mts_fault_plan *plan, uint32_t *calls)
{
    const mts_engine_options options = {
        .strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true, .persistent = true};
    const mts_decision decision = {.group_of = apart};
    mts_device *device = NULL;
    mts_engine *engine = NULL;
    mts_error error = {0};
    bool without = false;
    control_must(net_device_open("opencl", WORK, &device, &error), &error, "open");
    control_must(mts_wrap_fault(&device, plan, &device, &error), &error, "wrap");
    const mts_status status =
        mts_engine_create(device, w->net.archive, &options, &decision, NULL, &engine, &error);
    *calls = plan->calls;
    plan->nth = 0;
    if (status == MTS_STATUS_OK) {
        without = persistent_launches(engine) == 0;
        check_round(w, engine, 1);
    }
    mts_engine_destroy(&engine);
    mts_device_destroy(&device);
    return without;
}

/* Where the program, the meeting or the first run fails, a session goes without, or is not made; it never stops. */
static void a_failure_while_it_is_built_is_survived(void **state)
{
    (void)state;
    static const mts_wrap_kind kinds[] = {MTS_WRAP_KIND_KERNEL_CREATE, MTS_WRAP_KIND_LIST_CREATE,
                                          MTS_WRAP_KIND_LIST_SUBMIT, MTS_WRAP_KIND_BUFFER_FILL,
                                          MTS_WRAP_KIND_BUFFER_READ};
    control_world w;
    mts_engine *first = open(&w, &usual, opencl(), 1);
    mts_engine_destroy(&first);
    uint32_t without = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        mts_fault_plan plan = {.kind = kinds[k], .code = MTS_STATUS_DEVICE};
        uint32_t calls = 0, ignored = 0;
        assert_false(survives(&w, &plan, &calls));
        for (uint32_t back = 0; back < 3 && back < calls; back++) {
            plan = (mts_fault_plan){.kind = kinds[k], .nth = calls - back, .code = MTS_STATUS_DEVICE};
            without += survives(&w, &plan, &ignored) ? 1 : 0;
            assert_int_equal(plan.failed, 1);
        }
    }
    assert_true(without > 0);
    control_world_release(&w);
}

/* No frame is lost, whatever fails at a later run: its launches, what is enqueued behind them (a timeline value, the
   copies of the outputs), or waiting for it. The form ends where it may be the launches that failed. */
static void a_later_failure_of_the_device_goes_on_launch_by_launch(void **state)
{
    (void)state;
    static const mts_wrap_kind kinds[] = {MTS_WRAP_KIND_LIST_SUBMIT, MTS_WRAP_KIND_EVENT_RECORD,
                                          MTS_WRAP_KIND_EVENT_QUERY, MTS_WRAP_KIND_BUFFER_FETCH};
    static const bool ends[] = {true, false, true, false};
    uint32_t failed = 0;
    control_world w;
    mts_engine *first = open(&w, &usual, opencl(), 1);
    mts_engine_destroy(&first);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        mts_fault_plan plan = {.kind = kinds[k], .code = MTS_STATUS_DEVICE};
        mts_device *device = NULL;
        mts_error error = {0};
        control_must(net_device_open("opencl", WORK, &device, &error), &error, "open");
        control_must(mts_wrap_fault(&device, &plan, &device, &error), &error, "wrap");
        mts_engine *engine = make(&w, device, true, 1);
        check_round(&w, engine, 0);
        const uint32_t launches = persistent_launches(engine);
        assert_true(launches > 0);
        plan.nth = plan.calls + 1;
        check_round(&w, engine, 1);
        assert_int_equal(persistent_launches(engine), plan.failed > 0 && ends[k] ? 0 : launches);
        failed += plan.failed;
        plan.nth = 0;
        check_round(&w, engine, 0);
        check_round(&w, engine, 1);
        mts_engine_destroy(&engine);
        mts_device_destroy(&device);
    }
    assert_true(failed >= 3);
    control_world_release(&w);
}

static uint32_t count_of(const char *text, const char *what)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what)) {
        count++;
    }
    return count;
}

/* What `mts inspect --plan --persistent` prints: each launch once, and which of them are one. */
static void a_plan_shows_what_is_one_persistent_launch(void **state)
{
    (void)state;
    control_world w;
    mts_engine *engine = open(&w, &usual, opencl(), 1);
    for (int persistent = 1; persistent >= 0; persistent--) {
        const mts_planning_report report = {.allocator = mts_allocator_default()};
        mts_engine_view view;
        uint32_t members = 0;
        mts_text text, json;
        mts_text_init(&text, mts_allocator_default());
        mts_text_init(&json, mts_allocator_default());
        mts_engine_view_get(engine, &view);
        mts_explain(engine, &report, false, &text);
        mts_explain(engine, &report, true, &json);
        for (uint32_t r = 0; r < view.run_count; r++) {
            assert_true(view.runs[r].count >= 2);
            members += view.runs[r].count;
        }
        assert_int_equal(view.run_count > 0, persistent);
        assert_int_equal(count_of(mts_text_get(&text), "persistent launch "), view.run_count);
        assert_int_equal(count_of(mts_text_get(&text), " |  "), members);
        assert_int_equal(count_of(mts_text_get(&json), "\"persistent\": "), members);
        assert_true(!persistent ||
                    persistent_launches(engine) == view.launch_count - members + view.run_count);
        mts_text_release(&text);
        mts_text_release(&json);
        mts_engine_destroy(&engine);
        engine = persistent ? make(&w, opencl(), false, 1) : NULL;
    }
    control_world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_families_have_the_bits_of_launch_by_launch),
        cmocka_unit_test(some_of_the_tasks_go_launch_by_launch),
        cmocka_unit_test(a_counter_that_never_comes_ends_the_form_and_loses_nothing),
        cmocka_unit_test(a_frame_that_is_repeated_has_its_own_inputs),
        cmocka_unit_test(tables_give_way_to_the_memory_budget),
        cmocka_unit_test(a_device_without_such_launches_runs_the_same_frames),
        cmocka_unit_test(a_failure_while_it_is_built_is_survived),
        cmocka_unit_test(a_plan_shows_what_is_one_persistent_launch),
        cmocka_unit_test(a_later_failure_of_the_device_goes_on_launch_by_launch),
    };
    return control_tests_run(WORK, tests, sizeof tests / sizeof tests[0]);
}
