/*
 * test_channel_blocks.c: networks whose values lie in blocks of channels compute what the reference does.
 *
 * Which values do so is checked in tests/plan/test_blocks.c.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/profile.h"
#include "lower/layouts.h"
#include "support/planted_world.h"

#define TOLERANCE 1e-5

/* Inverted residuals on maps of plan->seed and 14 columns, with and without a residual, and readers of planes
   behind them. */
static void build(mts_net *net)
{
    static const int64_t sizes[] = {28, 14, 18, 10, 4};
    const mts_net_value x = mts_net_input(net, 3, sizes[net->plan->seed % (sizeof sizes / sizeof *sizes)]);
    /* behind a pool, no convolution's border reaches */
    const mts_net_value stem =
        mts_net_pool(net, mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL));
    const mts_net_value first = mts_net_conv(net, stem, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value narrow =
        mts_net_conv(net, mts_net_depthwise(net, first), mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value wide = mts_net_conv(net, narrow, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value sum = mts_net_conv(net, mts_net_depthwise(net, wide), narrow, 1, 1, &narrow);
    const mts_net_value more = mts_net_conv(net, sum, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value pair = mts_net_conv(net, mts_net_depthwise(net, more), narrow, 1, 1, &sum);
    const mts_net_value left = mts_net_conv(net, pair, mts_net_channels(net, true), 1, 1, NULL);
    /* no convolution with a border: it would lengthen the rows of all of them */
    mts_net_end(net, mts_net_mean(net, mts_net_concat(net, mts_net_pool(net, left), mts_net_pool(net, sum))),
                5);
}

/* Blocks of 2x2 pixels end in a depthwise convolution to one pixel, which a fully connected
   layer reads. */
static void build_end(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 4);
    const mts_net_value stem =
        mts_net_pool(net, mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL));
    const mts_net_value wide = mts_net_conv(net, stem, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value pixel = mts_net_depthwise_half(net, wide);
    mts_net_end(net, mts_net_conv(net, pixel, mts_net_channels(net, true), 1, 1, NULL), 5);
}

/* Depthwise layers in blocks: without any, a test would compare planes. */
static uint32_t count_blocks(const mts_engine *engine)
{
    mts_engine_view view;
    uint32_t count = 0;
    mts_engine_view_get(engine, &view);
    for (uint32_t i = 0; i < view.launch_count; i++) {
        const bool is_blocks = strcmp(view.launches[i].kernel, "depthwise_rows__f32_blocks") == 0;
        assert_true(!is_blocks || view.launches[i].reads == 1u << MTS_LAYOUT_BLOCKS);
        count += is_blocks ? 1 : 0;
    }
    return count;
}

/* An engine with all layers apart. */
static mts_engine *make(const planted_world *w, mts_device *device)
{
    const mts_kernel_config config = {.kernel = MTS_KERNEL_CONFIG_TILE, .rows = 6, .vectors = 4, .local = 16};
    const mts_kernel_configs forced = {.forced = &config};
    const mts_decision decision = {.configs = &forced};
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
    mts_engine *engine = NULL;
    mts_error error = {0};
    const mts_status status =
        mts_engine_create(device, w->net.archive, &options, &decision, NULL, &engine, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, MTS_STATUS_OK);
    return engine;
}

static void run(const planted_world *w, mts_device *device, uint32_t *in_blocks)
{
    mts_engine *engine = make(w, device);
    planted_world_check(w, engine, TOLERANCE);
    *in_blocks += count_blocks(engine);
    mts_engine_destroy(&engine);
}

static void check_net(mts_device *device, mts_net_build net, const mts_net_plan *family, bool has_blocks)
{
    uint32_t in_blocks = 0;
    for (uint32_t seed = 0; seed < 5; seed++) {
        mts_net_plan plan = *family;
        planted_world w;
        plan.seed = seed;
        planted_world_make(&w, net, &plan);
        run(&w, device, &in_blocks);
        planted_world_release(&w);
    }
    assert_int_equal(in_blocks > 0, has_blocks);
}

static void check(mts_device *device, const mts_net_plan *family, bool has_blocks)
{
    check_net(device, build, family, has_blocks);
}

/* What MTS_TEST_DEVICE names, or skips the test: only `cpu` with vectors of 16 floats has blocks. */
static mts_device *device_with_blocks(void)
{
    mts_device *device = NULL;
    mts_error error = {0};
    if (net_device_open("opencl", NULL, &device, &error) != MTS_STATUS_OK) {
        skip();
    }
    if (!device->info.row_lanes) {
        mts_device_destroy(&device);
        skip();
    }
    return device;
}

static void blocks_that_end_in_one_pixel_agree(void **state)
{
    (void)state;
    mts_device *device = device_with_blocks();
    check_net(device, build_end, &(mts_net_plan){.tasks = 1, .shared = 64}, true);
    check_net(device, build_end, &(mts_net_plan){.tasks = 3, .exclusive = 64}, true);
    mts_device_destroy(&device);
}

static void one_network_agrees(void **state)
{
    (void)state;
    mts_device *device = device_with_blocks();
    check(device, &(mts_net_plan){.tasks = 1, .shared = 64}, true);
    mts_device_destroy(&device);
}

static void tasks_that_share_all_weights_agree(void **state)
{
    (void)state;
    mts_device *device = device_with_blocks();
    check(device, &(mts_net_plan){.tasks = 3, .shared = 64}, true);
    mts_device_destroy(&device);
}

static void tasks_with_weights_of_their_own_agree(void **state)
{
    (void)state;
    mts_device *device = device_with_blocks();
    check(device, &(mts_net_plan){.tasks = 3, .exclusive = 64}, true);
    mts_device_destroy(&device);
}

static void check_sets(mts_device *device, const mts_net_plan *family)
{
    planted_world w;
    planted_world_make(&w, build, family);
    mts_engine *engine = make(&w, device);
    assert_true(count_blocks(engine) > 0);
    planted_world_check_sets(&w, engine);
    planted_world_check(&w, engine, TOLERANCE);
    mts_engine_destroy(&engine);
    planted_world_release(&w);
}

static void some_of_the_tasks_have_the_bits_of_all(void **state)
{
    (void)state;
    mts_device *device = device_with_blocks();
    check_sets(device, &(mts_net_plan){.tasks = 3, .shared = 64, .seed = 1});
    check_sets(device, &(mts_net_plan){.tasks = 3, .exclusive = 64, .seed = 2});
    mts_device_destroy(&device);
}

/* Their weights are several blocks, so that values lie in planes. */
static void tasks_that_share_some_weights_agree(void **state)
{
    (void)state;
    mts_device *device = device_with_blocks();
    check(device, &(mts_net_plan){.tasks = 3, .shared = 16, .exclusive = 16, .shuffled = true}, false);
    mts_device_destroy(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_network_agrees),
        cmocka_unit_test(blocks_that_end_in_one_pixel_agree),
        cmocka_unit_test(tasks_that_share_all_weights_agree),
        cmocka_unit_test(tasks_with_weights_of_their_own_agree),
        cmocka_unit_test(tasks_that_share_some_weights_agree),
        cmocka_unit_test(some_of_the_tasks_have_the_bits_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
