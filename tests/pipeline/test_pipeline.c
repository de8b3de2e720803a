/*
 * Several devices give what one gives, bit by bit: any cut of random families, with every strategy, with residuals
 * and several outputs across the border, with tasks on and off, in float16, and whole tasks dealt out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/measure.h"
#include "pipeline/pipeline.h"
#include "platform/os/os.h"
#include "support/fault.h"
#include "support/must.h"
#include "support/net.h"
#include "support/nets.h"
#include "support/pipeline_world.h"
#include "support/random_net.h"
#include "support/timed_device.h"

static void every_cut_of_every_strategy_gives_the_same_bits(void **state)
{
    (void)state;
    static const char *const names[] = {"sequential", "compact", "netfuse", "dense"};
    for (uint32_t seed = 1; seed <= 3; seed++) {
        const random_family family = {
            .seed = seed + 20, .tasks = PIPELINE_TASKS, .steps = 4, .common = seed % 2 == 0};
        pipeline_world w;
        pipeline_world_make(&w, &family);
        const uint32_t count = pipeline_world_units(&w);
        for (uint32_t strategy = 0; strategy < 4; strategy++) {
            w.options.engine.strategy = (mts_strategy)strategy;
            for (uint32_t cut = 1 + seed % 2; cut < count; cut += seed == 1 ? 1 : 3) {
                const mts_chain chain = pipeline_chain_of(count, &cut, 2);
                char how[64];
                (void)snprintf(how, sizeof how, "seed %u, %s, cut %u of %u", seed, names[strategy], cut,
                               count);
                pipeline_world_compare(&w, &chain, how);
            }
        }
        pipeline_world_release(&w);
    }
}

static void four_devices_and_float16(void **state)
{
    (void)state;
    const random_family family = {.seed = 31, .tasks = PIPELINE_TASKS, .steps = 5, .common = true};
    pipeline_world w;
    pipeline_world_make(&w, &family);
    const uint32_t count = pipeline_world_units(&w);
    const uint32_t ends[] = {count / 4, count / 2, count / 2 + 2};
    const mts_chain chain = pipeline_chain_of(count, ends, 4);
    pipeline_world_compare(&w, &chain, "four devices");
    w.options.engine.precision = MTS_PRECISION_FLOAT16_STORAGE;
    pipeline_world_compare(&w, &chain, "float16");
    pipeline_world_release(&w);
}

/* Tasks that share a prefix: a task that is off gives its part of it all the same. */
static void tasks_that_are_off_still_give_what_others_read(void **state)
{
    (void)state;
    const random_family family = {
        .seed = 5, .tasks = PIPELINE_TASKS, .steps = 5, .common = true, .equal = true};
    pipeline_world w;
    pipeline_world_make(&w, &family);
    const uint32_t count = pipeline_world_units(&w);
    const uint32_t cut = count / 2;
    const mts_chain chain = pipeline_chain_of(count, &cut, 2);
    mts_pipeline *one = pipeline_world_one(&w);
    mts_pipeline *other = pipeline_world_chain(&w, &chain);
    mts_error error = {0};
    for (uint32_t off = 0; off < PIPELINE_TASKS; off++) {
        for (uint32_t t = 0; t < PIPELINE_TASKS; t++) {
            test_must(mts_pipeline_enable(one, t, t != off, &error), &error, "enable");
            test_must(mts_pipeline_enable(other, t, t != off, &error), &error, "enable");
        }
        pipeline_world_same(&w, one, other, "a task is off");
        for (uint32_t t = 0; t < PIPELINE_TASKS; t++) {
            uint64_t run[2] = {0};
            const mts_status status = mts_pipeline_output_run(one, t, &run[0], NULL);
            assert_int_equal(mts_pipeline_output_run(other, t, &run[1], NULL), status);
            assert_int_equal(run[0], run[1]);
        }
    }
    mts_pipeline_destroy(&one);
    mts_pipeline_destroy(&other);
    pipeline_world_release(&w);
}

static void whole_tasks_on_devices_of_their_own(void **state)
{
    (void)state;
    static const uint32_t device_of[PIPELINE_TASKS] = {1, 0, 1};
    for (uint32_t common = 0; common < 2; common++) {
        const random_family family = {.seed = 9, .tasks = PIPELINE_TASKS, .steps = 4, .common = common == 1};
        pipeline_world w;
        pipeline_world_make(&w, &family);
        mts_pipeline *one = pipeline_world_one(&w);
        mts_pipeline *other = NULL;
        mts_error error = {0};
        mts_pipeline_options options = w.options;
        options.device_count = 2;
        options.device_of = device_of;
        test_must(mts_pipeline_create(w.net.archive, &options, &other, &error), &error, "groups");
        assert_int_equal(mts_pipeline_part_count(other), 2);
        pipeline_world_same(&w, one, other, "groups");
        mts_pipeline_destroy(&one);
        mts_pipeline_destroy(&other);
        pipeline_world_release(&w);
    }
}

/* Two devices of their own, the second of which can fail; the first task on the first one. */
typedef struct two {
    mts_device *devices[2];
    mts_fault_plan plan;
    const timed_costs *costs[2]; /* or NULL */
    mts_pipeline *p;
} two;

static void two_make(const pipeline_world *w, bool chain, two *out)
{
    static const uint32_t device_of[PIPELINE_TASKS] = {0, 1, 1};
    const mts_chain halves =
        pipeline_chain_of(pipeline_world_units(w), (uint32_t[]){pipeline_world_units(w) / 2}, 2);
    mts_error error = {0};
    mts_pipeline_options options = w->options;
    for (int d = 0; d < 2; d++) {
        test_must(net_device_open("reference", NULL, &out->devices[d], &error), &error, "device");
    }
    test_must(mts_wrap_fault(&out->devices[1], &out->plan, &out->devices[1], &error), &error, "fault");
    for (int d = 0; d < 2 && out->costs[d]; d++) {
        timed_install(out->devices[d], out->costs[d]);
    }
    options.devices = out->devices;
    options.device_count = 2;
    options.chain = chain ? &halves : NULL;
    options.device_of = chain ? NULL : device_of;
    test_must(mts_pipeline_create(w->net.archive, &options, &out->p, &error), &error, "pipeline");
    assert_int_equal(mts_pipeline_part_count(out->p), 2);
}

static void two_close(two *t)
{
    mts_pipeline_destroy(&t->p);
    mts_device_destroy(&t->devices[0]);
    mts_device_destroy(&t->devices[1]);
}

/* The second part refuses a run that the first one has begun. */
static void a_run_that_fails_at_a_later_group_holds_nothing_up(void **state)
{
    (void)state;
    const random_family family = {.seed = 9, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    two t = {.plan = {.kind = MTS_WRAP_KIND_LIST_SUBMIT, .code = MTS_STATUS_OUT_OF_MEMORY}};
    mts_error error = {0};
    pipeline_world w;
    pipeline_world_make(&w, &family);
    two_make(&w, false, &t);
    mts_pipeline *one = pipeline_world_one(&w);
    for (uint32_t failures = 0; failures < 2 * PIPELINE_FRAMES; failures++) {
        t.plan.nth = t.plan.calls + 1;
        pipeline_world_give(&w, t.p, 0);
        assert_true(mts_pipeline_can_start(t.p));
        test_must(mts_pipeline_submit(t.p, &error), &error, "submit");
        test_must(mts_pipeline_wait_until(t.p, mts_os_clock_ns() + 2000000000u, &error), &error, "wait");
        mts_engine_drop dropped = {0};
        if (failures % 2 == 0) {
            assert_int_equal(mts_pipeline_take(t.p, &error), MTS_STATUS_OUT_OF_MEMORY);
            assert_non_null(strstr(error.text, "part 2 of 2, on device 'second'"));
        } else {
            assert_true(mts_pipeline_drop_oldest(t.p, &dropped));
            assert_int_equal(dropped.status, MTS_STATUS_OUT_OF_MEMORY);
        }
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(mts_engine_in_flight(mts_pipeline_part(t.p, i)), 0);
        }
    }
    pipeline_world_same(&w, one, t.p, "after failures");
    mts_pipeline_destroy(&one);
    two_close(&t);
    pipeline_world_release(&w);
}

static void what_is_dropped_leaves_the_outputs_that_are_read(void **state)
{
    (void)state;
    const random_family family = {.seed = 9, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    for (int chain = 0; chain < 2; chain++) {
        two t = {.p = NULL};
        mts_error error = {0};
        mts_engine_drop dropped = {0};
        size_t sizes[3] = {0};
        pipeline_world w;
        pipeline_world_make(&w, &family);
        two_make(&w, chain == 1, &t);
        pipeline_world_give(&w, t.p, 0);
        pipeline_world_submit(t.p);
        pipeline_world_take(t.p);
        unsigned char *before = pipeline_world_read(&w, t.p, &sizes[0]);
        pipeline_world_give(&w, t.p, 1);
        pipeline_world_submit(t.p);
        test_must(mts_pipeline_wait_until(t.p, UINT64_MAX, &error), &error, "wait");
        assert_true(mts_pipeline_drop_oldest(t.p, &dropped));
        assert_int_equal(dropped.status, MTS_STATUS_CANCELLED);
        unsigned char *after = pipeline_world_read(&w, t.p, &sizes[1]);
        assert_true(sizes[0] == sizes[1] && memcmp(before, after, sizes[0]) == 0);
        pipeline_world_submit(t.p);
        pipeline_world_take(t.p);
        unsigned char *other = pipeline_world_read(&w, t.p, &sizes[2]);
        assert_true(memcmp(before, other, sizes[0]) != 0);
        free(before);
        free(after);
        free(other);
        two_close(&t);
        pipeline_world_release(&w);
    }
}

/* The first part has ended long before the second: the clock stands still unless the second is waited for. */
static void the_part_that_has_not_finished_is_waited_for(void **state)
{
    (void)state;
    const random_family family = {.seed = 9, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    const timed_costs fast = {.launch_ns = 1000};
    const timed_costs slow = {.launch_ns = 1000000};
    two t = {.costs = {&fast, &slow}};
    pipeline_world w;
    pipeline_world_make(&w, &family);
    timed_reset();
    two_make(&w, false, &t);
    pipeline_world_give(&w, t.p, 0);
    pipeline_world_submit(t.p);
    pipeline_world_take(t.p);
    assert_true(timed_now >= 1000000);
    two_close(&t);
    pipeline_world_release(&w);
}

static void an_input_is_given_to_a_part_once(void **state)
{
    (void)state;
    const random_family family = {.seed = 9, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    two t = {.plan = {.kind = MTS_WRAP_KIND_BUFFER_WRITE}};
    mts_error error = {0};
    size_t size = 0;
    pipeline_world w;
    pipeline_world_make(&w, &family);
    two_make(&w, false, &t);
    const mts_port *port = &w.net.archive->tasks[0].graph->inputs[0];
    (void)mts_shape_bytes(&port->shape, port->dtype, &size);
    const uint32_t before = t.plan.calls;
    test_must(mts_engine_set_input(mts_pipeline_part(t.p, 1), 0, 0, w.inputs[0][0], size, &error), &error,
              "part");
    const uint32_t once = t.plan.calls - before;
    assert_true(once > 0);
    test_must(mts_pipeline_set_input(t.p, 0, 0, w.inputs[0][0], size, &error), &error, "input");
    assert_int_equal(t.plan.calls - before, 2 * once);
    two_close(&t);
    pipeline_world_release(&w);
}

/* The measured placement is one of the possible ones, says what it is, and gives the same. */
static void a_measured_placement_gives_the_same(void **state)
{
    (void)state;
    const random_family family = {.seed = 12, .tasks = 2, .steps = 5};
    for (int kind = 0; kind < 2; kind++) {
        pipeline_world w;
        mts_pipeline *other = NULL;
        mts_error error = {0};
        mts_text text;
        pipeline_world_make(&w, &family);
        mts_pipeline *one = pipeline_world_one(&w);
        mts_pipeline_options options = w.options;
        options.device_count = 2;
        options.stages = kind == 0;
        options.groups = kind == 1;
        test_must(mts_pipeline_create(w.net.archive, &options, &other, &error), &error, "measured");
        pipeline_world_same(&w, one, other, "measured");
        mts_text_init(&text, mts_allocator_default());
        mts_pipeline_explain(other, false, &text);
        assert_non_null(strstr(mts_text_get(&text), kind == 0 ? "as stages" : "as groups"));
        mts_text_release(&text);
        mts_pipeline_destroy(&one);
        mts_pipeline_destroy(&other);
        pipeline_world_release(&w);
    }
}

/* The backend of OpenCL where it has so many devices; else NULL. */
static const mts_backend *find_opencl(uint32_t least)
{
    size_t backends = 0;
    const mts_backend *const *table = mts_backend_table(&backends);
    const mts_backend *opencl = NULL;
    for (size_t i = 0; i < backends; i++) {
        opencl = strcmp(table[i]->name, "opencl") == 0 && table[i]->count() >= least ? table[i] : opencl;
    }
    return opencl;
}

/* A stage on each of the first two devices of OpenCL, where there are two: remote.sh has one in another process. */
static void two_devices_of_opencl_give_the_same(void **state)
{
    (void)state;
    const mts_backend *opencl = find_opencl(2);
    const mts_device_options open = {.allocator = mts_allocator_default()};
    mts_device *const kept = pipeline_devices[0];
    mts_device *both[2] = {NULL};
    mts_error error = {0};
    if (!opencl) {
        skip();
    }
    for (uint32_t d = 0; d < 2; d++) {
        mts_copy_cost to = {0};
        mts_copy_cost from = {0};
        test_must(opencl->open(d, &open, &both[d], &error), &error, "device");
        test_must(mts_measure_copies(both[d], &to, &from, &error), &error, "copies");
        print_message("%s: to it %.3f ms and %.3f ms a MB, from it %.3f ms and %.3f ms a MB\n",
                      both[d]->info.name, to.ms, to.ms_per_byte * 1e6, from.ms, from.ms_per_byte * 1e6);
    }
    pipeline_devices[0] = both[0];
    const random_family family = {.seed = 14, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    pipeline_world w;
    pipeline_world_make(&w, &family);
    const uint32_t count = pipeline_world_units(&w);
    const bool equal = strcmp(both[0]->info.name, both[1]->info.name) == 0;
    for (uint32_t cut = count / 3; equal && cut <= count / 2; cut += count / 2 - count / 3) {
        const mts_chain chain = pipeline_chain_of(count, &cut, 2);
        mts_pipeline *one = pipeline_world_one(&w);
        mts_pipeline *other = NULL;
        mts_pipeline_options options = w.options;
        options.devices = both;
        options.device_count = 2;
        options.chain = &chain;
        test_must(mts_pipeline_create(w.net.archive, &options, &other, &error), &error, "two devices");
        assert_int_equal(mts_pipeline_part_count(other), 2);
        pipeline_world_same(&w, one, other, "two devices of OpenCL");
        print_message("cut %u of %u: the same bits\n", cut, count);
        mts_pipeline_destroy(&one);
        mts_pipeline_destroy(&other);
    }
    pipeline_world_release(&w);
    mts_device_destroy(&both[0]);
    mts_device_destroy(&both[1]);
    pipeline_devices[0] = kept;
}

/* Two and four parts of an OpenCL device beside the whole one. Four threads take turns where there are fewer cores. */
static void parts_of_a_device_give_what_it_gives(void **state)
{
    (void)state;
    const mts_backend *opencl = find_opencl(1);
    const mts_device_options open = {.allocator = mts_allocator_default()};
    mts_device *const kept = pipeline_devices[0];
    if (!opencl || opencl->open(0, &open, &pipeline_devices[0], NULL) != MTS_STATUS_OK) {
        pipeline_devices[0] = kept;
        skip();
    }
    const random_family family = {.seed = 14, .tasks = PIPELINE_TASKS, .steps = 4, .common = true};
    pipeline_world w;
    pipeline_world_make(&w, &family);
    const uint32_t count = pipeline_world_units(&w);
    const uint32_t ends[] = {count / 4, count / 2, count / 2 + 2};
    mts_device *parts[PIPELINE_DEVICES] = {NULL};
    uint32_t compared = 0;
    for (uint32_t number = 2; number <= PIPELINE_DEVICES; number += 2) {
        bool made = true;
        mts_error error = {0};
        for (uint32_t d = 0; made && d < number; d++) {
            char name[16];
            (void)snprintf(name, sizeof name, "0/%uof%u", d, number);
            const mts_status status = opencl->open_named(name, &open, &parts[d], &error);
            made = status == MTS_STATUS_OK;
            assert_true(made || status == MTS_STATUS_UNSUPPORTED);
        }
        if (made) {
            const mts_chain chain = pipeline_chain_of(count, number == 2 ? &ends[1] : ends, number);
            mts_pipeline *one = pipeline_world_one(&w);
            mts_pipeline_options options = w.options;
            mts_pipeline *other = NULL;
            options.devices = parts;
            options.device_count = number;
            options.chain = &chain;
            test_must(mts_pipeline_create(w.net.archive, &options, &other, &error), &error, "parts");
            pipeline_world_same(&w, one, other, "parts of a device");
            mts_pipeline_destroy(&one);
            mts_pipeline_destroy(&other);
            compared++;
        }
        for (uint32_t d = 0; d < PIPELINE_DEVICES; d++) {
            mts_device_destroy(&parts[d]);
        }
    }
    print_message("%u divisions compared\n", compared);
    assert_true(compared == 2 || pipeline_devices[0]->info.compute_units < 4);
    assert_int_equal(opencl->open_named("0/2of2", &open, &parts[0], NULL), MTS_STATUS_NOT_FOUND);
    assert_int_equal(opencl->open_named("0/0of4096", &open, &parts[0], NULL), MTS_STATUS_UNSUPPORTED);
    pipeline_world_release(&w);
    mts_device_destroy(&pipeline_devices[0]);
    pipeline_devices[0] = kept;
}

/* Whether some cut in two, or none, keeps the budget of each device. */
static bool some_cut_fits(const pipeline_world *w, const mts_pipeline_options *options, uint32_t count)
{
    bool fits = false;
    for (uint32_t cut = 1; !fits && cut <= count; cut++) {
        const mts_chain chain = pipeline_chain_of(count, &cut, cut < count ? 2 : 1);
        mts_pipeline_options own = *options;
        mts_pipeline *p = NULL;
        own.chain = &chain;
        const mts_status status = mts_pipeline_create(w->net.archive, &own, &p, NULL);
        assert_true(status == MTS_STATUS_OK || status == MTS_STATUS_LIMIT);
        fits = status == MTS_STATUS_OK;
        mts_pipeline_destroy(&p);
    }
    return fits;
}

/* Memory is predicted, and engines know better: where any cut fits one is found, though the first may not. */
static void a_cut_that_fits_is_found(void **state)
{
    (void)state;
    uint32_t found = 0;
    uint32_t refused = 0;
    for (uint32_t seed = 41; seed <= 42; seed++) {
        const random_family family = {.seed = seed, .tasks = 2, .steps = 6, .common = true};
        mts_session_stats whole = {0};
        pipeline_world w;
        pipeline_world_make(&w, &family);
        const uint32_t count = pipeline_world_units(&w);
        mts_pipeline *one = pipeline_world_one(&w);
        mts_pipeline_stats_get(one, &whole);
        mts_pipeline_options options = w.options;
        options.device_count = 2;
        options.groups = false;
        for (uint64_t part = 5; part <= 11; part++) {
            mts_pipeline *other = NULL;
            options.engine.memory_budget = (mts_memory_budget){whole.peak_bytes * part / 10};
            const mts_status status = mts_pipeline_create(w.net.archive, &options, &other, NULL);
            assert_int_equal(status, some_cut_fits(&w, &options, count) ? MTS_STATUS_OK : MTS_STATUS_LIMIT);
            if (status == MTS_STATUS_OK && part == 8) {
                pipeline_world_same(&w, one, other, "a cut that fits");
            }
            found += status == MTS_STATUS_OK ? 1 : 0;
            refused += status != MTS_STATUS_OK ? 1 : 0;
            mts_pipeline_destroy(&other);
        }
        mts_pipeline_destroy(&one);
        pipeline_world_release(&w);
    }
    assert_true(found > 0 && refused > 0);
}

static void strange_requests_are_refused(void **state)
{
    (void)state;
    const random_family family = {.seed = 12, .tasks = 2, .steps = 5};
    pipeline_world w;
    mts_pipeline *p = NULL;
    mts_error error = {0};
    pipeline_world_make(&w, &family);
    mts_pipeline_options options = w.options;
    options.device_count = MTS_PARTITION_DEVICES + 1;
    assert_int_equal(mts_pipeline_create(w.net.archive, &options, &p, &error), MTS_STATUS_INVALID_ARGUMENT);
    options.device_count = 2;
    options.engine.memory_budget = (mts_memory_budget){16};
    assert_int_equal(mts_pipeline_create(w.net.archive, &options, &p, &error), MTS_STATUS_LIMIT);
    assert_null(p);
    pipeline_world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_of_every_strategy_gives_the_same_bits),
        cmocka_unit_test(four_devices_and_float16),
        cmocka_unit_test(tasks_that_are_off_still_give_what_others_read),
        cmocka_unit_test(whole_tasks_on_devices_of_their_own),
        cmocka_unit_test(a_run_that_fails_at_a_later_group_holds_nothing_up),
        cmocka_unit_test(what_is_dropped_leaves_the_outputs_that_are_read),
        cmocka_unit_test(the_part_that_has_not_finished_is_waited_for),
        cmocka_unit_test(an_input_is_given_to_a_part_once),
        cmocka_unit_test(a_measured_placement_gives_the_same),
        cmocka_unit_test(parts_of_a_device_give_what_it_gives),
        cmocka_unit_test(two_devices_of_opencl_give_the_same),
        cmocka_unit_test(a_cut_that_fits_is_found),
        cmocka_unit_test(strange_requests_are_refused),
    };
    mts_error error = {0};
    (void)setenv("POCL_MAX_PTHREAD_COUNT", "4", 0);
    for (uint32_t d = 0; d < PIPELINE_DEVICES; d++) {
        if (net_device_open("reference", NULL, &pipeline_devices[d], &error) != MTS_STATUS_OK) {
            print_error("%s\n", error.text);
            return 77;
        }
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (uint32_t d = 0; d < PIPELINE_DEVICES; d++) {
        mts_device_destroy(&pipeline_devices[d]);
    }
    return failed;
}
