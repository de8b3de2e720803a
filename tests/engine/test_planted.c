/*
 * Networks whose weights were cut into shared blocks compute what they computed before, under both
 * strategies.
 *
 * Families with planted sharing (support/nets.h) run through discovery, a bundle's bytes and the engine; the
 * outputs are compared with a plain evaluation of the networks as they were.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/eval.h"
#include "support/net.h"
#include "support/nets.h"

#define TASKS_MOST 6
#define TOLERANCE 1e-4

static mts_device *devices[2];

typedef struct world {
    mts_arena arena;
    uint32_t tasks;
    const mts_graph *graphs[TASKS_MOST];
    float *input[TASKS_MOST];
    const float *wanted[TASKS_MOST];
    test_net net;
} world;

static void make_world(world *w, mts_net_build build, const mts_net_plan *plan)
{
    mts_error error = {0};
    memset(w, 0, sizeof(*w));
    mts_arena_init(&w->arena, mts_allocator_default());
    w->tasks = plan->tasks;
    for (uint32_t t = 0; t < plan->tasks; t++) {
        mts_net net;
        mts_net_begin(&net, plan, &w->arena, t);
        build(&net);
        assert_false(net.failed);
        w->graphs[t] = net.graph;
        const size_t count = mts_shape_count(&net.graph->inputs[0].shape);
        w->input[t] = mts_arena_zero(&w->arena, count, sizeof(float));
        float **values = mts_arena_zero(&w->arena, net.graph->value_count, sizeof(*values));
        assert_true(w->input[t] && values);
        for (size_t i = 0; i < count; i++) {
            w->input[t][i] = (float)((i * 37 + 11) % 101) / 50.0f - 1.0f;
        }
        assert_true(mts_eval(net.graph, (const float *const *)&w->input[t], &w->arena, values));
        w->wanted[t] = values[net.graph->outputs[0].value];
    }
    assert_int_equal(net_make(w->graphs, w->tasks, 0.0f, &w->net, &error), MTS_STATUS_OK);
    assert_true(w->net.weight_bytes < w->net.weight_bytes_unshared);
}

static void compare(const world *w, const mts_engine *engine)
{
    for (uint32_t t = 0; t < w->tasks; t++) {
        size_t count = 0;
        const float *got = net_output(engine, &w->net, t, 0, &count);
        double most = 1e-3;
        assert_non_null(got);
        for (size_t i = 0; i < count; i++) {
            most = fmax(most, fabs((double)w->wanted[t][i]));
        }
        for (size_t i = 0; i < count; i++) {
            assert_true(fabs((double)got[i] - (double)w->wanted[t][i]) <= TOLERANCE * most);
        }
    }
}

static void run(const world *w, mts_device *device, mts_strategy strategy, bool separate)
{
    const mts_engine_options options = {.strategy = strategy, .separate_inputs = separate};
    mts_engine *engine = NULL;
    mts_error error = {0};
    const void *data[TASKS_MOST];
    const void *const *inputs[TASKS_MOST];
    for (uint32_t t = 0; t < w->tasks; t++) {
        data[t] = w->input[t];
        inputs[t] = &data[t];
    }
    const mts_status status =
        mts_planned_engine_create(device, w->net.archive, &options, NULL, &engine, NULL, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, MTS_STATUS_OK);
    assert_int_equal(net_engine_run(engine, &w->net, inputs, &error), MTS_STATUS_OK);
    compare(w, engine);
    mts_engine_destroy(&engine);
}

static void check(mts_net_build build, const mts_net_plan *plan, bool opencl)
{
    world w;
    make_world(&w, build, plan);
    for (int d = 0; d < (opencl ? 2 : 1); d++) {
        if (devices[d]) {
            run(&w, devices[d], MTS_STRATEGY_SEQUENTIAL, true);
            run(&w, devices[d], MTS_STRATEGY_COMPACT, true);
            run(&w, devices[d], MTS_STRATEGY_COMPACT, false);
        }
    }
    net_release(&w.net);
    mts_arena_release(&w.arena);
}

static void chains_with_common_channels(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 3; seed++) {
        check(mts_net_build_chain,
              &(mts_net_plan){
                  .tasks = 2 + seed, .shared = 12, .exclusive = 1 + seed, .shuffled = true, .seed = seed},
              seed == 1);
    }
}

static void residual_networks_with_common_filters(void **state)
{
    (void)state;
    const mts_net_plan plan = {
        .tasks = 4, .shared = 10, .exclusive = 2, .shuffled = true, .filters = true, .seed = 1};
    check(mts_net_build_residual, &plan, true);
}

static void residual_networks_with_common_channels(void **state)
{
    (void)state;
    check(mts_net_build_residual,
          &(mts_net_plan){.tasks = 4, .shared = 12, .exclusive = 3, .shuffled = true, .seed = 5}, true);
}

static void branches_that_are_concatenated(void **state)
{
    (void)state;
    check(mts_net_build_concat,
          &(mts_net_plan){.tasks = 3, .shared = 9, .exclusive = 2, .shuffled = true, .seed = 7}, true);
}

static void flattened_frames_and_depthwise_layers(void **state)
{
    (void)state;
    const mts_net_plan plan = {.tasks = 3, .shared = 16, .exclusive = 2, .shuffled = true, .seed = 8};
    check(mts_net_build_flatten, &plan, false);
    check(mts_net_build_depthwise, &plan, false);
}

static void common_prefixes_and_subsets_of_tasks(void **state)
{
    (void)state;
    check(mts_net_build_prefix, &(mts_net_plan){.tasks = 5, .shared = 12, .exclusive = 0}, false);
    check(mts_net_build_chain,
          &(mts_net_plan){.tasks = 4, .shared = 8, .subset = 4, .exclusive = 2, .shuffled = true, .seed = 3},
          true);
}

int main(void)
{
    static const char *const names[2] = {"reference", "opencl"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_with_common_channels),
        cmocka_unit_test(residual_networks_with_common_filters),
        cmocka_unit_test(residual_networks_with_common_channels),
        cmocka_unit_test(branches_that_are_concatenated),
        cmocka_unit_test(flattened_frames_and_depthwise_layers),
        cmocka_unit_test(common_prefixes_and_subsets_of_tasks),
    };
    mts_error error = {0};
    for (int d = 0; d < 2; d++) {
        if (net_device_open(names[d], NULL, &devices[d], &error) != MTS_STATUS_OK) {
            printf("%s: %s\n", names[d], error.text);
        }
    }
    const int failed = devices[0] ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    for (int d = 0; d < 2; d++) {
        mts_device_destroy(&devices[d]);
    }
    return failed;
}
