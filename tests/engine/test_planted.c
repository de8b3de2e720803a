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

#include "support/planted_world.h"

#define TOLERANCE 1e-4

static mts_device *devices[2];

static void run(const planted_world *w, mts_device *device, mts_strategy strategy, bool separate)
{
    const mts_engine_options options = {.strategy = strategy, .separate_inputs = separate};
    mts_engine *engine = NULL;
    mts_error error = {0};
    const mts_status status =
        mts_planned_engine_create(device, w->net.archive, &options, NULL, &engine, NULL, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, MTS_STATUS_OK);
    planted_world_check(w, engine, TOLERANCE);
    mts_engine_destroy(&engine);
}

static void check(mts_net_build build, const mts_net_plan *plan, bool opencl)
{
    planted_world w;
    planted_world_make(&w, build, plan);
    assert_true(w.net.weight_bytes < w.net.weight_bytes_unshared);
    for (int d = 0; d < (opencl ? 2 : 1); d++) {
        if (devices[d]) {
            run(&w, devices[d], MTS_STRATEGY_SEQUENTIAL, true);
            run(&w, devices[d], MTS_STRATEGY_COMPACT, true);
            run(&w, devices[d], MTS_STRATEGY_COMPACT, false);
        }
    }
    planted_world_release(&w);
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
