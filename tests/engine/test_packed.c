/*
 * test_packed.c: networks whose values lie in packs of channels compute what a plain evaluation does.
 *
 * The layout is asked for, with weights in buffers and in images where the device has those. Convolutions of all kinds, of tasks that share none,
 * some or all of their weights, one frame for all or a frame each, and every set of tasks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/state.h"
#include "lower/layouts.h"
#include "plan/device_defaults.h"
#include "support/planted_world.h"
#include "support/tolerance.h"

#define TOLERANCE 1e-4

static mts_device *devices[2];

/* images: pixels of one that kernels may read; launches beyond its end read the buffer.
   Values of the plan that lie in packs, and launches of the kernel. */
static void check_launches(const mts_engine *engine, bool packed, uint64_t images)
{
    mts_engine_view view;
    uint32_t launches = 0, reading = 0, others = 0, layouts = 0;
    mts_engine_view_get(engine, &view);
    for (uint32_t i = 0; i < view.launch_count; i++) {
        layouts |= view.launches[i].reads | view.launches[i].writes;
        const bool takes_packs = strcmp(view.launches[i].kernel, "conv_packed__f32_lanes") == 0;
        launches += takes_packs;
        reading += takes_packs && strstr(view.launches[i].defines, MTS_KERNEL_IMAGES);
        others += strcmp(view.launches[i].kernel, "conv_tile__f32_planar") == 0 ||
                  strcmp(view.launches[i].kernel, "conv_block__f32_planar") == 0 ||
                  strcmp(view.launches[i].kernel, "depthwise_tile__f32_planar") == 0 ||
                  strcmp(view.launches[i].kernel, "depthwise_rows__f32_planar") == 0;
    }
    assert_int_equal(launches > 0, packed);
    assert_int_equal(reading > 0, packed && images > 0);
    const size_t pixel = engine->stats.precision == MTS_PRECISION_FLOAT32 ? 16 : 8;
    assert_int_equal(reading == launches, !packed || images * pixel >= engine->stats.weight_bytes);
    assert_int_equal(others > 0, !packed);
    assert_int_equal(layouts >> MTS_LAYOUT_PACKS & 1u, packed);
    assert_int_equal(layouts >> MTS_LAYOUT_PHASES & 1u, !packed);
}

static void run(planted_world *w, mts_device *device, bool separate, mts_use packed, mts_use images,
                mts_precision precision)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT,
                                        .precision = precision,
                                        .separate_inputs = separate,
                                        .packed_channels = packed,
                                        .weight_images = images};
    mts_engine *engine = NULL;
    mts_error error = {0};
    const mts_status status =
        mts_planned_engine_create(device, w->net.archive, &options, NULL, &engine, NULL, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, MTS_STATUS_OK);
    check_launches(engine, packed == MTS_USE_ON, images == MTS_USE_ON ? device->info.image_texels : 0);
    planted_world_check(w, engine, precision == MTS_PRECISION_FLOAT32 ? TOLERANCE : TEST_TOLERANCE_FLOAT16);
    if (separate) {
        planted_world_check_sets(w, engine);
    }
    mts_engine_destroy(&engine);
}

static void check(mts_net_build build, const mts_net_plan *plan)
{
    planted_world w;
    planted_world_make(&w, build, plan);
    for (int d = 0; d < 2; d++) {
        for (int separate = 0; devices[d] && separate < 2; separate++) {
            run(&w, devices[d], separate, MTS_USE_ON, MTS_USE_OFF, MTS_PRECISION_FLOAT32);
            run(&w, devices[d], separate, MTS_USE_ON, MTS_USE_ON, MTS_PRECISION_FLOAT32);
        }
    }
    planted_world_release(&w);
}

/* Strides and maps of odd sizes, a residual, one image after another in packs: 3x3, 1x1, 3x3 of stride 2. */
static void build_strided(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 15);
    const mts_net_value stem = mts_net_conv(net, x, mts_net_channels(net, true), 3, 2, NULL);
    const mts_net_value wide = mts_net_conv(net, stem, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value sum = mts_net_conv(net, wide, stem, 3, 1, &stem);
    const mts_net_value half = mts_net_conv(net, sum, mts_net_channels(net, true), 3, 2, NULL);
    const mts_net_value last = mts_net_conv(net, half, mts_net_channels(net, true), 1, 1, NULL);
    mts_net_end(net, mts_net_mean(net, mts_net_depthwise(net, last)), 5);
}

/* Pools, resizes, sums and scales of packs, two branches in one storage and a slice of it. */
static void build_between(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 16);
    const mts_net_value stem = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    const mts_net_value back = mts_net_double(net, mts_net_pool(net, stem));
    const mts_net_value sum = mts_net_scale(net, mts_net_add(net, back, stem));
    const mts_net_value a = mts_net_conv(net, sum, mts_net_channels(net, true), 3, 1, NULL);
    const mts_net_value b = mts_net_conv(net, sum, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value both = mts_net_concat(net, a, b);
    const mts_net_value part = mts_net_slice(net, both, 4, both.count - 4);
    const mts_net_value last = mts_net_conv(net, part, mts_net_channels(net, true), 3, 2, NULL);
    mts_net_end(net, mts_net_mean(net, last), 5);
}

/* A decoder: transposed convolutions of strides 2 and 3, one of a filter a channel; softmax along channels into
   packs, and along rows. */
static void build_decoder(mts_net *net)
{
    const mts_net_value x = mts_net_input(net, 3, 10);
    const mts_net_value stem = mts_net_conv(net, x, mts_net_channels(net, true), 3, 2, NULL);
    const mts_net_value twice = mts_net_deconv(net, stem, mts_net_channels(net, true), 4, 2, 1);
    const mts_net_value each = mts_net_deconv(net, twice, twice, 3, 2, twice.count);
    const mts_net_value part = mts_net_conv(net, each, mts_net_channels(net, true), 3, 1, NULL);
    const mts_net_value soft = mts_net_softmax(net, mts_net_softmax(net, part, 1), 2);
    const mts_net_value more = mts_net_deconv(net, soft, mts_net_channels(net, true), 5, 3, 1);
    mts_net_end(net, mts_net_mean(net, mts_net_conv(net, more, mts_net_channels(net, true), 1, 1, NULL)), 5);
}

/* A transposed convolution that reads the image and softmax along channels, which is the output: both in planes. */
static void build_mask(mts_net *net)
{
    const mts_net_value x =
        mts_net_deconv(net, mts_net_input(net, 3, 7), mts_net_channels(net, true), 2, 2, 1);
    const mts_net_value last = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    const uint32_t mask = mts_net_softmax(net, last, 1).value;
    net->failed = net->failed || mts_graph_add_output(net->graph, "y", mask, MTS_TYPE_FLOAT32,
                                                      &net->graph->values[mask].shape, NULL) != MTS_STATUS_OK;
}

static void decoders_agree(void **state)
{
    (void)state;
    check(build_decoder, &(mts_net_plan){.tasks = 1, .shared = 8});
    check(build_decoder,
          &(mts_net_plan){.tasks = 2, .shared = 5, .exclusive = 2, .shuffled = true, .seed = 3});
    check(build_mask, &(mts_net_plan){.tasks = 2, .shared = 7, .seed = 2});
}

static void other_operators_agree(void **state)
{
    (void)state;
    check(build_between, &(mts_net_plan){.tasks = 1, .shared = 8});
    check(build_between, &(mts_net_plan){.tasks = 1, .shared = 7, .seed = 2});
    check(build_between,
          &(mts_net_plan){.tasks = 3, .shared = 6, .exclusive = 2, .shuffled = true, .seed = 3});
}

static void one_network_agrees(void **state)
{
    (void)state;
    check(build_strided, &(mts_net_plan){.tasks = 1, .shared = 8});
    check(build_strided, &(mts_net_plan){.tasks = 1, .shared = 7, .seed = 2});
}

static void tasks_that_share_channels_agree(void **state)
{
    (void)state;
    check(build_strided,
          &(mts_net_plan){.tasks = 3, .shared = 9, .exclusive = 3, .shuffled = true, .seed = 4});
    check(mts_net_build_residual,
          &(mts_net_plan){.tasks = 4, .shared = 12, .exclusive = 3, .shuffled = true, .seed = 5});
}

static void tasks_that_share_filters_or_layers_agree(void **state)
{
    (void)state;
    check(mts_net_build_residual,
          &(mts_net_plan){
              .tasks = 4, .shared = 10, .exclusive = 2, .shuffled = true, .filters = true, .seed = 1});
    check(mts_net_build_depthwise,
          &(mts_net_plan){.tasks = 3, .shared = 16, .exclusive = 4, .shuffled = true, .seed = 8});
    check(mts_net_build_prefix, &(mts_net_plan){.tasks = 3, .shared = 12, .exclusive = 0});
}

/* Products of float16 where the device is fast at them, else float16 is stored only. */
static void float16_agrees(void **state)
{
    planted_world w;
    (void)state;
    planted_world_make(&w, build_strided,
                       &(mts_net_plan){.tasks = 2, .shared = 9, .exclusive = 3, .seed = 4});
    for (int d = 0; d < 2 && devices[d]; d++) {
        run(&w, devices[d], false, MTS_USE_ON, MTS_USE_OFF, MTS_PRECISION_FLOAT16);
        run(&w, devices[d], false, MTS_USE_ON, MTS_USE_ON, MTS_PRECISION_FLOAT16);
    }
    planted_world_release(&w);
}

static void without_being_asked_for_it_is_not_taken(void **state)
{
    planted_world w;
    (void)state;
    planted_world_make(&w, build_strided, &(mts_net_plan){.tasks = 1, .shared = 8});
    for (int d = 0; d < 2 && devices[d]; d++) {
        run(&w, devices[d], true, MTS_USE_OFF, MTS_USE_ON, MTS_PRECISION_FLOAT32);
        if (!mts_device_defaults_find(&devices[d]->info)->packed) {
            run(&w, devices[d], true, MTS_USE_AUTO, MTS_USE_AUTO, MTS_PRECISION_FLOAT32);
        }
    }
    planted_world_release(&w);
}

/* Behind a profile that builds no program of the kernel (tests/opencl). */
static void a_driver_that_does_not_build_the_kernel_gets_planes(void **state)
{
    planted_world w;
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .packed_channels = MTS_USE_ON};
    mts_engine *engine = NULL;
    mts_error error = {0};
    (void)state;
    if (!devices[1] || !getenv("MTS_PROFILE") || !strstr(getenv("MTS_PROFILE"), "refuse=")) {
        skip();
    }
    planted_world_make(&w, build_strided, &(mts_net_plan){.tasks = 1, .shared = 8});
    assert_int_equal(
        mts_planned_engine_create(devices[1], w.net.archive, &options, NULL, &engine, NULL, &error),
        MTS_STATUS_OK);
    check_launches(engine, false, 0);
    planted_world_check(&w, engine, TOLERANCE);
    mts_engine_destroy(&engine);
    planted_world_release(&w);
}

/* Behind a profile that has no memory for images over buffers of weights. */
static void an_image_without_memory_gives_way_to_the_buffer(void **state)
{
    planted_world w;
    (void)state;
    if (!devices[1] || !getenv("MTS_PROFILE") || !strstr(getenv("MTS_PROFILE"), "image_most=")) {
        skip();
    }
    planted_world_make(&w, build_strided, &(mts_net_plan){.tasks = 1, .shared = 8});
    for (int i = 0; i < 2; i++) { /* the second session knows it */
        const mts_engine_options options = {
            .strategy = MTS_STRATEGY_COMPACT, .packed_channels = MTS_USE_ON, .weight_images = MTS_USE_ON};
        mts_engine *engine = NULL;
        mts_error error = {0};
        assert_true(devices[1]->no_images == (i > 0));
        assert_int_equal(
            mts_planned_engine_create(devices[1], w.net.archive, &options, NULL, &engine, NULL, &error),
            MTS_STATUS_OK);
        check_launches(engine, true, 0);
        planted_world_check(&w, engine, TOLERANCE);
        mts_engine_destroy(&engine);
    }
    planted_world_release(&w);
}

int main(void)
{
    static const char *const names[2] = {"reference", "opencl"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_network_agrees),
        cmocka_unit_test(other_operators_agree),
        cmocka_unit_test(decoders_agree),
        cmocka_unit_test(tasks_that_share_channels_agree),
        cmocka_unit_test(tasks_that_share_filters_or_layers_agree),
        cmocka_unit_test(float16_agrees),
        cmocka_unit_test(a_driver_that_does_not_build_the_kernel_gets_planes),
        cmocka_unit_test(an_image_without_memory_gives_way_to_the_buffer),
        cmocka_unit_test(without_being_asked_for_it_is_not_taken),
    };
    mts_error error = {0};
    for (int d = 0; d < 2; d++) {
        if (net_device_open(names[d], NULL, &devices[d], &error) != MTS_STATUS_OK) {
            printf("%s: %s\n", names[d], error.text);
        }
    }
    if (getenv("MTS_PROFILE") && strstr(getenv("MTS_PROFILE"), "refuse=")) {
        cmocka_set_test_filter("a_driver_*");
    }
    if (getenv("MTS_PROFILE") && strstr(getenv("MTS_PROFILE"), "image_most=")) {
        cmocka_set_test_filter("an_image_*");
    }
    const int failed = devices[0] ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    for (int d = 0; d < 2; d++) {
        mts_device_destroy(&devices[d]);
    }
    return failed;
}
