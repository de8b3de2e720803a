/*
 * Layers by Winograd: where all of them are forced to be, outputs are those of the tiles, in every strategy;
 * where a layer or a device is not made for it, it is left to the tiles. Every weight block is transformed
 * once.
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

#include "lower/implementations.h"
#include "base/hash.h"
#include "engine/state.h"
#include "lower/encode_winograd.h"
#include "support/device_fixture.h"
#include "support/synth.h"

#define TOLERANCE 1e-4 /* of an output's largest magnitude */

static const char *const strategy_names[MTS_STRATEGY_COUNT] = {[MTS_STRATEGY_SEQUENTIAL] = "sequential",
                                                               [MTS_STRATEGY_COMPACT] = "compact",
                                                               [MTS_STRATEGY_NETFUSE] = "netfuse",
                                                               [MTS_STRATEGY_DENSE] = "dense"};

static void family_open(test_synth *f, mtsc_arch arch, double prune, double share, uint32_t input,
                        uint32_t batch)
{
    mtsc_synth_options options = test_synth_options(arch, 3, &prune, 1, share);
    options.input = input;
    options.batch = &batch;
    options.batch_count = 1;
    test_synth_open(f, &options);
}

static mts_device *device_open(const char *name)
{
    const mts_backend *backend = device_fixture_backend(name);
    const mts_device_options options = {.allocator = mts_allocator_default()};
    mts_device *device = NULL;
    mts_error error = {0};
    if (backend && backend->count() > 0) {
        test_must(backend->open(0, &options, &device, &error), &error, name);
    }
    return device;
}

static mts_engine *engine_make(mts_device *device, const test_synth *f, mts_strategy strategy, bool common,
                               uint32_t kernel)
{
    const mts_engine_options options = {.strategy = strategy, .separate_inputs = !common};
    mts_kernel_config config = mts_kernel_config_default(&device->info, NULL);
    config.kernel = kernel;
    const mts_kernel_configs configs = {.forced = &config};
    const mts_decision decision = {.configs = &configs};
    mts_engine *engine = NULL;
    mts_error error = {0};
    test_must(mts_engine_create(device, f->archive, &options, &decision, NULL, &engine, &error), &error,
              strategy_names[strategy]);
    return engine;
}

static void run(mts_engine *engine, const test_synth *f, bool common)
{
    mts_error error = {0};
    for (uint32_t t = 0; t < (common ? 1 : f->archive->task_count); t++) {
        const size_t count = mts_shape_count(&f->archive->tasks[t].graph->inputs[0].shape);
        float *data = calloc(count, sizeof *data);
        assert_non_null(data);
        for (size_t k = 0; k < count; k++) {
            const size_t words[2] = {t, k};
            data[k] = (float)(mts_hash(words, sizeof words, 5) >> 40) / (float)(1u << 23) - 1.0f;
        }
        test_must(mts_engine_set_input(engine, t, 0, data, count * sizeof *data, &error), &error, "input");
        free(data);
    }
    for (int round = 0; round < 2; round++) { /* the second finds what the first left behind */
        test_must(mts_engine_submit(engine, &error), &error, "submit");
        test_must(mts_engine_wait(engine, &error), &error, "wait");
    }
}

/* Largest difference as a part of the output's largest magnitude. */
static double difference(const mts_engine *want, const mts_engine *got, const test_synth *f)
{
    double worst = 0.0;
    for (uint32_t t = 0; t < f->archive->task_count; t++) {
        const void *a = NULL;
        const void *b = NULL;
        size_t size = 0;
        double most = 1e-3;
        mts_error error = {0};
        test_must(mts_engine_output(want, t, 0, &a, &size, &error), &error, "output");
        test_must(mts_engine_output(got, t, 0, &b, &size, &error), &error, "output");
        for (size_t i = 0; i < size / sizeof(float); i++) {
            most = fmax(most, fabs((double)((const float *)a)[i]));
        }
        for (size_t i = 0; i < size / sizeof(float); i++) {
            const double d = fabs((double)((const float *)a)[i] - (double)((const float *)b)[i]) / most;
            worst = d <= worst ? worst : d; /* a NaN is kept */
        }
    }
    return worst;
}

static uint32_t count_winograd(const mts_engine *engine)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < engine->launches.count; i++) {
        count += strcmp(engine->launches.encoded[i].kernel, "conv_winograd__f32_planar") == 0;
    }
    return count;
}

/* least: launches that have to be Winograd's in each strategy. */
static void agree_on(mts_device *device, const test_synth *f, bool common, uint32_t least)
{
    for (uint32_t s = 0; s < MTS_STRATEGY_COUNT; s++) {
        const mts_strategy kind = (mts_strategy)s;
        mts_engine *tiles = engine_make(device, f, kind, common, MTS_KERNEL_CONFIG_TILE);
        mts_engine *winograd = engine_make(device, f, kind, common, MTS_KERNEL_CONFIG_WINOGRAD);
        assert_int_equal(count_winograd(tiles), 0);
        if (count_winograd(winograd) < least) {
            fail_msg("%s: %u launches instead of %u", strategy_names[s], count_winograd(winograd), least);
        }
        run(tiles, f, common);
        run(winograd, f, common);
        const double worst = difference(tiles, winograd, f);
        print_message("%s, %s: %.1e\n", device->info.backend, strategy_names[s], worst);
        assert_true(worst <= TOLERANCE);
        mts_engine_destroy(&tiles);
        mts_engine_destroy(&winograd);
    }
}

static void agree(const test_synth *f, bool common, uint32_t least)
{
    static const char *const names[] = {"reference", "opencl"};
    for (size_t d = 0; d < 2; d++) {
        mts_device *device = device_open(names[d]);
        if (!device || device->info.is_gpu) {
            print_message("%s has no device for it here\n", names[d]);
        } else {
            agree_on(device, f, common, least);
        }
        mts_device_destroy(&device);
    }
}

static void pruned_resnets_with_shared_channels_agree(void **state)
{
    test_synth f;
    (void)state;
    family_open(&f, MTSC_ARCH_RESNET18, 0.9, 0.8, 50, 1); /* images of 13, 7, 4 and 2 pixels a side */
    agree(&f, false, 13);
    test_synth_close(&f);
}

static void batches_agree(void **state)
{
    test_synth f;
    (void)state;
    family_open(&f, MTSC_ARCH_RESNET18, 0.9, 1.0, 33, 3);
    agree(&f, false, 1);
    test_synth_close(&f);
}

static void plain_stacks_agree_from_separate_and_from_common_frames(void **state)
{
    test_synth f;
    (void)state;
    family_open(&f, MTSC_ARCH_VGG16, 0.9, 0.7, 32, 1); /* the first layers of a common frame share products */
    agree(&f, false, 12);
    agree(&f, true, 8);
    test_synth_close(&f);
}

static void a_shared_block_is_transformed_once(void **state)
{
    test_synth f;
    mts_session_stats one;
    mts_session_stats direct;
    (void)state;
    mts_device *device = device_open("reference");
    assert_non_null(device);
    family_open(&f, MTSC_ARCH_VGG16, 0.95, 1.0, 32, 1);
    mts_engine *engine = engine_make(device, &f, MTS_STRATEGY_COMPACT, false, MTS_KERNEL_CONFIG_WINOGRAD);
    mts_engine_stats_get(engine, &one);
    mts_engine_destroy(&engine);
    engine = engine_make(device, &f, MTS_STRATEGY_COMPACT, false, MTS_KERNEL_CONFIG_TILE);
    mts_engine_stats_get(engine, &direct);
    mts_engine_destroy(&engine);
    assert_true(one.mul_adds >= direct.mul_adds); /* tiles do equal jobs once */
    assert_true(one.weight_bytes > direct.weight_bytes);
    assert_true((double)one.weight_bytes < (double)direct.weight_bytes * 16.0 / 9.0 * 1.05 + 65536.0);
    test_synth_close(&f);
    mts_device_destroy(&device);
}

static void a_device_without_memory_for_groups_has_tiles_whatever_was_chosen(void **state)
{
    test_synth f;
    (void)state;
    mts_device *device = device_open("reference");
    assert_non_null(device);
    family_open(&f, MTSC_ARCH_RESNET18, 0.95, 1.0, 32, 1);
    for (int i = 0; i < 2; i++) {
        device->info.local_bytes = i == 0 ? 0 : device->info.local_bytes;
        device->info.is_gpu = i == 1;
        mts_engine *engine = engine_make(device, &f, MTS_STRATEGY_DENSE, false, MTS_KERNEL_CONFIG_WINOGRAD);
        assert_int_equal(count_winograd(engine), 0);
        run(engine, &f, false);
        mts_engine_destroy(&engine);
        device->info.local_bytes = 1 << 19;
    }
    test_synth_close(&f);
    mts_device_destroy(&device);
}

static void it_pays_for_many_channels_on_processors_with_wide_vectors(void **state)
{
    mts_attrs_conv conv = {.kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1};
    mts_layer_facts facts = {
        .members = 1, .conv = &conv, .in_channels = 64, .out_channels = 64, .height = 56, .width = 56};
    mts_device_info device = {.compute_units = 2, .vector_floats = 16, .local_bytes = 2 << 20};
    mts_kernel_config config;
    (void)state;
    assert_true(mts_winograd_prefers(&device, &facts, &config));
    facts.in_channels = 16;
    assert_false(
        mts_winograd_prefers(&device, &facts, &config)); /* the transforms take longer than they save */
    facts.in_channels = facts.out_channels = 512;
    facts.height = facts.width = 5;
    assert_false(
        mts_winograd_prefers(&device, &facts, &config)); /* the weights take longer than the products */
    facts.height = facts.width = 7;
    assert_true(mts_winograd_prefers(&device, &facts, &config));
    device.is_gpu = true;
    assert_false(mts_winograd_prefers(&device, &facts, &config));
    device.is_gpu = false;
    device.local_bytes = 0;
    assert_false(mts_winograd_prefers(&device, &facts, &config));
    device.local_bytes = 2 << 20;
    conv.stride[1] = 2;
    assert_false(mts_winograd_prefers(&device, &facts, &config));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pruned_resnets_with_shared_channels_agree),
        cmocka_unit_test(batches_agree),
        cmocka_unit_test(plain_stacks_agree_from_separate_and_from_common_frames),
        cmocka_unit_test(a_shared_block_is_transformed_once),
        cmocka_unit_test(a_device_without_memory_for_groups_has_tiles_whatever_was_chosen),
        cmocka_unit_test(it_pays_for_many_channels_on_processors_with_wide_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
