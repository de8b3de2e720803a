/*
 * test_fused.c: blocks of a depthwise convolution and the 1x1 ones beside it compute the same in one
 * launch as in several, and what lies between them takes no memory.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/planted_world.h"
#include "support/tolerance.h"

#define TOLERANCE 1e-5

/* Two pairs in a row, the second one with a residual, an inverted residual with one, and a depthwise
   convolution with two readers. */
static void build(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 20);
    const mts_net_value stem = mts_net_conv(net, x, mts_net_channels(net, true), 3, 2, NULL);
    const mts_net_value first = mts_net_conv(net, mts_net_depthwise(net, mts_net_scale(net, stem)),
                                             mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value pair = mts_net_conv(net, mts_net_depthwise(net, first), stem, 1, 1, &stem);
    const mts_net_value wide = mts_net_conv(net, pair, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value block = mts_net_conv(net, mts_net_depthwise(net, wide), pair, 1, 1, &pair);
    const mts_net_value twice = mts_net_depthwise(net, block);
    const mts_net_value left = mts_net_conv(net, twice, mts_net_channels(net, true), 1, 1, NULL);
    mts_net_end(net, mts_net_mean(net, mts_net_concat(net, left, twice)), 5);
}

/* An engine with every block fused, or none. */
static mts_engine *make(const planted_world *w, mts_device *device, mts_kernel_config_kernel kernel,
                        mts_precision precision)
{
    const mts_kernel_config config = {.kernel = kernel, .rows = 6, .vectors = 4, .local = 16};
    const mts_kernel_configs forced = {.forced = &config};
    const mts_decision decision = {.configs = &forced};
    const mts_engine_options options = {
        .strategy = MTS_STRATEGY_COMPACT, .precision = precision, .separate_inputs = true};
    mts_engine *engine = NULL;
    mts_error error = {0};
    const mts_status status =
        mts_engine_create(device, w->net.archive, &options, &decision, NULL, &engine, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, MTS_STATUS_OK);
    return engine;
}

static mts_session_stats run(const planted_world *w, mts_device *device, mts_kernel_config_kernel kernel)
{
    mts_engine *engine = make(w, device, kernel, MTS_PRECISION_FLOAT32);
    mts_session_stats stats;
    planted_world_check(w, engine, TOLERANCE);
    mts_engine_stats_get(engine, &stats);
    mts_engine_destroy(&engine);
    return stats;
}

/* Networks `first` to 2: of so many tasks and one. */
static void check(mts_device *device, uint32_t first)
{
    for (uint32_t seed = first; seed < 3; seed++) {
        const mts_net_plan plan = {.tasks = 1 + seed, .shared = 14, .exclusive = 1 + seed, .seed = seed};
        planted_world w;
        planted_world_make(&w, build, &plan);
        const mts_session_stats apart = run(&w, device, MTS_KERNEL_CONFIG_TILE);
        const mts_session_stats fused = run(&w, device, MTS_KERNEL_CONFIG_FUSED);
        /* a pair is a launch less, an inverted residual two; the depthwise one with two readers is apart */
        assert_int_equal(apart.launches - fused.launches, 4);
        assert_int_equal(apart.mul_adds, fused.mul_adds);
        assert_true(fused.activation_bytes <= apart.activation_bytes);
        planted_world_release(&w);
    }
}

static void blocks_agree_on_the_reference(void **state)
{
    mts_device *device = NULL;
    mts_error error = {0};
    (void)state;
    assert_int_equal(net_device_open("reference", NULL, &device, &error), MTS_STATUS_OK);
    check(device, 0);
    mts_device_destroy(&device);
}

/* "opencl", or what MTS_TEST_DEVICE names; skips the test without it. */
static mts_device *second_device(void)
{
    mts_device *device = NULL;
    mts_error error = {0};
    if (net_device_open("opencl", NULL, &device, &error) != MTS_STATUS_OK) {
        skip();
    }
    return device;
}

static void blocks_agree_on_a_device(void **state)
{
    (void)state;
    mts_device *device = second_device();
    check(device, device->info.ready_kernels ? 0 : 2); /* drivers compile for seconds */
    mts_device_destroy(&device);
}

/* Skips the test on drivers, which would compile for a minute. */
static mts_device *ready_device(void)
{
    mts_device *device = second_device();
    if (!device->info.ready_kernels) {
        mts_device_destroy(&device);
        skip();
    }
    return device;
}

static void some_of_the_tasks_have_the_bits_of_all(void **state)
{
    (void)state;
    mts_device *device = ready_device();
    const mts_net_plan plan = {.tasks = 3, .shared = 14, .exclusive = 3, .seed = 2};
    planted_world w;
    planted_world_make(&w, build, &plan);
    mts_engine *engine = make(&w, device, MTS_KERNEL_CONFIG_FUSED, MTS_PRECISION_FLOAT32);
    planted_world_check_sets(&w, engine);
    planted_world_check(&w, engine, TOLERANCE);
    mts_engine_destroy(&engine);
    planted_world_release(&w);
    mts_device_destroy(&device);
}

static void blocks_agree_in_float16(void **state)
{
    (void)state;
    mts_device *device = ready_device();
    const mts_net_plan plan = {.tasks = 3, .shared = 14, .exclusive = 3, .seed = 2};
    planted_world w;
    planted_world_make(&w, build, &plan);
    mts_engine *apart = make(&w, device, MTS_KERNEL_CONFIG_TILE, MTS_PRECISION_FLOAT16_STORAGE);
    mts_engine *fused = make(&w, device, MTS_KERNEL_CONFIG_FUSED, MTS_PRECISION_FLOAT16_STORAGE);
    mts_session_stats of_apart, of_fused;
    mts_engine_stats_get(apart, &of_apart);
    mts_engine_stats_get(fused, &of_fused);
    assert_int_equal(of_fused.precision, MTS_PRECISION_FLOAT16_STORAGE);
    assert_int_equal(of_apart.launches - of_fused.launches, 4);
    planted_world_check(&w, fused, TEST_TOLERANCE_FLOAT16);
    mts_engine_destroy(&fused);
    mts_engine_destroy(&apart);
    planted_world_release(&w);
    mts_device_destroy(&device);
}

/* Work-groups of many work-items, on whatever runs them. */
static void blocks_agree_on_a_gpu(void **state)
{
    (void)state;
    mts_device *device = second_device();
    if (strcmp(device->info.backend, "cpu") == 0) {
        mts_device_destroy(&device);
        skip();
    }
    device->info.is_gpu = true;
    device->info.local_bytes = 32 << 10;
    check(device, 2);
    mts_device_destroy(&device);
}

/* A sum of sums, an image of twice the size with its sum, and one that two read. */
static void build_sums(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 20);
    const mts_net_value wide = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    const mts_net_value small = mts_net_scale(net, mts_net_pool(net, wide));
    const mts_net_value level = mts_net_add(net, mts_net_double(net, small), wide);
    const mts_net_value chain = mts_net_add(net, mts_net_add(net, wide, level), wide);
    const mts_net_value twice = mts_net_double(net, mts_net_pool(net, chain));
    mts_net_end(net, mts_net_mean(net, mts_net_concat(net, mts_net_add(net, twice, chain), twice)), 5);
}

static mts_session_stats run_sums(const planted_world *w, mts_device *device, mts_strategy strategy)
{
    const mts_decision decision = {0};
    const mts_engine_options options = {.strategy = strategy, .separate_inputs = true};
    mts_engine *engine = NULL;
    mts_session_stats stats;
    mts_error error = {0};
    assert_int_equal(mts_engine_create(device, w->net.archive, &options, &decision, NULL, &engine, &error),
                     MTS_STATUS_OK);
    planted_world_check(w, engine, TOLERANCE);
    mts_engine_stats_get(engine, &stats);
    mts_engine_destroy(&engine);
    return stats;
}

static void check_sums(mts_device *device)
{
    const mts_net_plan plan = {.tasks = 1, .shared = 14, .exclusive = 1, .seed = 1};
    planted_world w;
    planted_world_make(&w, build_sums, &plan);
    const mts_session_stats apart = run_sums(&w, device, MTS_STRATEGY_SEQUENTIAL);
    const mts_session_stats sums = run_sums(&w, device, MTS_STRATEGY_COMPACT);
    assert_int_equal(apart.launches - sums.launches, 2);
    planted_world_release(&w);
}

static void sums_join_what_computes_a_summand(void **state)
{
    mts_device *device = NULL;
    mts_error error = {0};
    (void)state;
    assert_int_equal(net_device_open("reference", NULL, &device, &error), MTS_STATUS_OK);
    check_sums(device);
    mts_device_destroy(&device);
    device = ready_device();
    check_sums(device);
    mts_device_destroy(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_agree_on_the_reference),
        cmocka_unit_test(blocks_agree_on_a_device),
        cmocka_unit_test(some_of_the_tasks_have_the_bits_of_all),
        cmocka_unit_test(blocks_agree_in_float16),
        cmocka_unit_test(blocks_agree_on_a_gpu),
        cmocka_unit_test(sums_join_what_computes_a_summand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
