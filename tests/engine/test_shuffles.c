/*
 * test_shuffles.c: channel shuffles without a launch compute what a plain evaluation does.
 *
 * Convolutions write where the shuffle puts their channels (sdk/plan/shuffles.h), alone or into a
 * concatenation whose other half is copied. Of tasks that share none, some or all of their weights, and for
 * every set of tasks. Which shuffles have no launch is checked in tests/plan/test_shuffles.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/state.h"
#include "support/planted_world.h"

#define TOLERANCE 1e-4

enum { DEVICES = 3 };

static mts_device *devices[DEVICES];

static uint32_t count_transposes(const mts_engine *engine)
{
    mts_engine_view view;
    uint32_t count = 0;
    mts_engine_view_get(engine, &view);
    for (uint32_t i = 0; i < view.launch_count; i++) {
        count += strstr(view.launches[i].label, "transpose") ? 1 : 0;
    }
    return count;
}

static void run(planted_world *w, mts_device *device, bool packed, uint32_t transposes)
{
    const mts_engine_options options = {
        .strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true, .packed_channels = packed ? MTS_USE_ON : MTS_USE_OFF};
    mts_engine *engine = NULL;
    mts_error error = {0};
    const mts_status status =
        mts_planned_engine_create(device, w->net.archive, &options, NULL, &engine, NULL, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, MTS_STATUS_OK);
    assert_int_equal(count_transposes(engine), transposes);
    planted_world_check(w, engine, TOLERANCE);
    planted_world_check_sets(w, engine);
    mts_engine_destroy(&engine);
}

static void check(mts_net_build build, const mts_net_plan *plan, uint32_t transposes)
{
    planted_world w;
    planted_world_make(&w, build, plan);
    for (int d = 0; d < DEVICES; d++) {
        for (int packed = 0; devices[d] && packed < (plan->tasks == 1 ? 2 : 1); packed++) {
            run(&w, devices[d], packed != 0, transposes);
        }
    }
    planted_world_release(&w);
}

/* ShuffleNet: behind a 1x1 convolution, before a depthwise one. A row of 13 floats has a border. */
static void build_behind_a_convolution(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 13);
    const mts_net_value stem = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    const mts_net_value turned = mts_net_shuffle(net, stem, 3);
    const mts_net_value middle = mts_net_depthwise(net, turned);
    const mts_net_value again = mts_net_shuffle(net, middle, 4); /* a depthwise convolution writes it */
    const mts_net_value half = mts_net_conv(net, again, mts_net_channels(net, true), 3, 2, NULL);
    mts_net_end(net, mts_net_mean(net, half), 5);
}

/* ShuffleNetV2: one half of the channels passes by, and the shuffled halves are cut again. */
static mts_net_value unit(mts_net *net, mts_net_value x)
{
    const uint32_t half = x.count / 2;
    const mts_net_value kept = mts_net_slice(net, x, 0, half);
    const mts_net_value taken = mts_net_slice(net, x, half, half);
    const mts_net_value wide = mts_net_conv(net, taken, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value last =
        mts_net_conv(net, mts_net_depthwise(net, wide), mts_net_slice(net, x, half, half), 1, 1, NULL);
    return mts_net_shuffle(net, mts_net_concat(net, kept, last), 2);
}

static void build_units(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 10);
    const mts_net_value stem =
        mts_net_pool(net, mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL));
    mts_net_end(net, mts_net_mean(net, unit(net, unit(net, stem))), 5);
}

/* A residual is read in the order of the output: such a convolution writes no other order. */
static void build_residual(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 9);
    const mts_net_value stem = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    const mts_net_value sum = mts_net_conv(net, stem, stem, 3, 1, &stem);
    mts_net_end(net, mts_net_mean(net, mts_net_shuffle(net, sum, 2)), 5);
}

static void behind_a_convolution(void **state)
{
    (void)state;
    check(build_behind_a_convolution, &(mts_net_plan){.tasks = 1, .shared = 12}, 0);
    check(build_behind_a_convolution, &(mts_net_plan){.tasks = 3, .shared = 12}, 0);
    check(build_behind_a_convolution,
          &(mts_net_plan){.tasks = 3, .shared = 9, .exclusive = 3, .shuffled = true, .seed = 4}, 0);
}

static void behind_a_concatenation(void **state)
{
    (void)state;
    check(build_units, &(mts_net_plan){.tasks = 1, .shared = 8}, 0);
    check(build_units, &(mts_net_plan){.tasks = 2, .shared = 36}, 0);
    check(build_units,
          &(mts_net_plan){
              .tasks = 3, .shared = 10, .exclusive = 2, .shuffled = true, .filters = true, .seed = 1},
          0);
}

static void behind_a_sum_a_launch_is_left(void **state)
{
    (void)state;
    check(build_residual, &(mts_net_plan){.tasks = 1, .shared = 8}, 1);
}

int main(void)
{
    static const char *const names[DEVICES] = {"reference", "opencl", "cpu"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_a_convolution),
        cmocka_unit_test(behind_a_concatenation),
        cmocka_unit_test(behind_a_sum_a_launch_is_left),
    };
    mts_error error = {0};
    for (int d = 0; d < DEVICES; d++) {
        if (net_device_open(names[d], NULL, &devices[d], &error) != MTS_STATUS_OK) {
            printf("%s: %s\n", names[d], error.text);
        }
    }
    const int failed = devices[0] ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    for (int d = 0; d < DEVICES; d++) {
        mts_device_destroy(&devices[d]);
    }
    return failed;
}
