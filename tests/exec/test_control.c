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

#include "exec/control.h"
#include "exec/engine_internal.h"
#include "exec/profile.h"
#include "platform/os/os.h"
#include "platform/wrap/wrap.h"
#include "support/fault_allocator.h"
#include "support/net.h"
#include "support/nets.h"
#include "support/random_net.h"

#define TASKS 4
#define OUTPUTS_MOST 16
#define FAMILIES 12
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

static void must(mts_code code, const mts_error *error, const char *what)
{
    if (code != MTS_CODE_OK) {
        print_error("%s: %s: %s\n", what, mts_code_name(code), error->text);
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

static void run_with(world *w, int device, mts_strategy_kind strategy, mts_precision_kind precision)
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
    must(mts_engine_create_decided(devices[device], w->net.archive, &options, &decision, NULL, &engine,
                                   &error),
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
        for (int s = 0; s < MTS_STRATEGY_KIND_COUNT; s++) {
            run_with(&w, d, (mts_strategy_kind)s, MTS_PRECISION_KIND_FLOAT32);
        }
        run_with(&w, d, MTS_STRATEGY_KIND_COMPACT, MTS_PRECISION_KIND_FLOAT16_STORAGE);
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
        run_world(&(random_family){
            .seed = 5400 + seed, .tasks = TASKS, .steps = 3 + seed % 6, .common = true});
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_of_tasks_with_inputs_of_their_own_has_its_bits),
        cmocka_unit_test(every_set_of_tasks_with_a_common_input_has_its_bits),
        cmocka_unit_test(equal_networks_keep_their_outputs_apart),
    };
    mts_error error = {0};
    if (mts_os_directory_make(WORK, &error) != MTS_CODE_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    for (int d = 0; d < 2; d++) {
        if (net_device_open(device_names[d], WORK, &devices[d], &error) != MTS_CODE_OK) {
            printf("%s: %s\n", device_names[d], error.text);
        }
    }
    const int failed = devices[0] ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    for (int d = 0; d < 2; d++) {
        mts_device_destroy(&devices[d]);
    }
    return failed;
}
