/*
 * Layers as matrix products: where all of them are forced to be, outputs are those of the tiles, in every
 * strategy; where a layer is no matrix, or the device takes none, it is left to the tiles.
 *
 * Runs on plain C, and on an OpenCL device where CLBlast is installed.
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

#include "base/hash.h"
#include "engine/state.h"
#include "engine/profile.h"
#include "support/device_fixture.h"
#include "support/synth.h"

#define TOLERANCE 1e-4 /* of an output's largest magnitude */

static const char *const strategy_names[MTS_STRATEGY_COUNT] = {[MTS_STRATEGY_SEQUENTIAL] = "sequential",
                                                               [MTS_STRATEGY_COMPACT] = "compact",
                                                               [MTS_STRATEGY_NETFUSE] = "netfuse",
                                                               [MTS_STRATEGY_DENSE] = "dense"};
static const mts_kernel_config products = {
    .kernel = MTS_KERNEL_CONFIG_GEMM, .rows = 8, .vectors = 48, .local = 1};

static void family_open(test_synth *f, mtsc_arch arch, uint32_t tasks, double prune, double share,
                        uint32_t batch)
{
    mtsc_synth_options options = test_synth_options(arch, tasks, &prune, 1, share);
    options.batch = &batch;
    options.batch_count = 1;
    test_synth_open(f, &options);
}

static mts_device *device_open(const char *name)
{
    const mts_backend *backend = device_fixture_backend(name);
    const mts_device_options options = {.allocator = mts_allocator_default(), .gemm = MTS_USE_ON};
    mts_device *device = NULL;
    mts_error error = {0};
    if (!backend || backend->count() == 0) {
        return NULL;
    }
    test_must(backend->open(0, &options, &device, &error), &error, name);
    if (!device->info.gemm) {
        mts_device_destroy(&device);
    }
    return device;
}

static mts_engine *engine_make(mts_device *device, const test_synth *f, mts_strategy strategy, bool forced)
{
    const mts_engine_options options = {.strategy = strategy, .separate_inputs = true};
    const mts_kernel_configs configs = {.forced = &products};
    const mts_decision decision = {.configs = forced ? &configs : NULL};
    mts_engine *engine = NULL;
    mts_error error = {0};
    test_must(mts_engine_create(device, f->archive, &options, &decision, NULL, &engine, &error), &error,
              strategy_names[strategy]);
    return engine;
}

static void run(mts_engine *engine, const test_synth *f)
{
    mts_error error = {0};
    for (uint32_t t = 0; t < f->archive->task_count; t++) {
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

static void compare(const mts_engine *want, const mts_engine *got, const test_synth *f, const char *how)
{
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
            const double x = (double)((const float *)a)[i];
            const double y = (double)((const float *)b)[i];
            if (!(fabs(x - y) <= TOLERANCE * most)) {
                fail_msg("%s, task %u: [%zu] is %g instead of %g", how, t, i, y, x);
            }
        }
    }
}

static uint32_t count_products(const mts_engine *engine)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < engine->launches.count; i++) {
        count += engine->launches.encoded[i].gemm.m > 0 ? 1 : 0;
    }
    return count;
}

/* Tiles against products in all strategies; least: launches that have to be products in each. */
static void agree_on(mts_device *device, const test_synth *f, const uint32_t least[MTS_STRATEGY_COUNT])
{
    for (uint32_t s = 0; s < MTS_STRATEGY_COUNT; s++) {
        mts_engine *tiles = engine_make(device, f, (mts_strategy)s, false);
        mts_engine *gemm = engine_make(device, f, (mts_strategy)s, true);
        mts_session_stats stats[2];
        assert_int_equal(count_products(tiles), 0); /* never unless it was chosen */
        if (count_products(gemm) < least[s]) {
            fail_msg("%s: %u products instead of %u", strategy_names[s], count_products(gemm), least[s]);
        }
        run(tiles, f);
        run(gemm, f);
        compare(tiles, gemm, f, strategy_names[s]);
        mts_engine_stats_get(tiles, &stats[0]);
        mts_engine_stats_get(gemm, &stats[1]);
        assert_true(stats[1].mul_adds >= stats[0].mul_adds); /* tiles do equal jobs once */
        mts_engine_destroy(&tiles);
        mts_engine_destroy(&gemm);
    }
}

static void agree(const test_synth *f, const uint32_t least[MTS_STRATEGY_COUNT])
{
    static const char *const names[] = {"reference", "opencl"};
    for (size_t d = 0; d < 2; d++) {
        mts_device *device = device_open(names[d]);
        if (!device) {
            (void)printf("%s takes no products here\n", names[d]);
            continue;
        }
        agree_on(device, f, least);
        mts_device_destroy(&device);
    }
}

static void bottlenecks_are_products_in_every_strategy(void **state)
{
    /* ResNet50 has 36 convolutions of 1x1 and a classifier; compact's have several blocks, but the
     * classifiers */
    static const uint32_t least[] = {[MTS_STRATEGY_SEQUENTIAL] = 2,
                                     [MTS_STRATEGY_COMPACT] = 2,
                                     [MTS_STRATEGY_NETFUSE] = 2,
                                     [MTS_STRATEGY_DENSE] = 34};
    test_synth f;
    (void)state;
    family_open(&f, MTSC_ARCH_RESNET50, 2, 0.95, 0.8, 1);
    agree(&f, least);
    test_synth_close(&f);
}

static void batches_are_one_product_or_a_batch_of_them(void **state)
{
    static const uint32_t least[] = {[MTS_STRATEGY_SEQUENTIAL] = 8,
                                     [MTS_STRATEGY_COMPACT] = 8,
                                     [MTS_STRATEGY_NETFUSE] = 8,
                                     [MTS_STRATEGY_DENSE] = 4};
    test_synth f;
    (void)state;
    family_open(&f, MTSC_ARCH_RESNET18, 2, 0.95, 1.0, 3); /* all shared: every weight is one block */
    agree(&f, least);
    test_synth_close(&f);
}

static void fully_connected_layers_are_products(void **state)
{
    static const uint32_t least[] = {[MTS_STRATEGY_SEQUENTIAL] = 6,
                                     [MTS_STRATEGY_COMPACT] = 6,
                                     [MTS_STRATEGY_NETFUSE] = 6,
                                     [MTS_STRATEGY_DENSE] = 3};
    test_synth f;
    (void)state;
    family_open(&f, MTSC_ARCH_VGG16, 2, 0.97, 1.0, 2);
    agree(&f, least);
    test_synth_close(&f);
}

static void a_device_that_takes_none_has_tiles_whatever_was_chosen(void **state)
{
    test_synth f;
    (void)state;
    mts_device *device = device_open("reference");
    if (!device) {
        skip();
    }
    device->info.gemm = false;
    family_open(&f, MTSC_ARCH_RESNET18, 2, 0.97, 1.0, 1);
    mts_engine *engine = engine_make(device, &f, MTS_STRATEGY_DENSE, true);
    assert_int_equal(count_products(engine), 0);
    run(engine, &f);
    mts_engine_destroy(&engine);
    test_synth_close(&f);
    mts_device_destroy(&device);
}

static void a_profile_tells_products_from_their_epilogues(void **state)
{
    test_synth f;
    mts_error error = {0};
    uint64_t mul_adds = 0;
    uint32_t told = 0;
    (void)state;
    mts_device *device = device_open("reference");
    if (!device) {
        skip();
    }
    family_open(&f, MTSC_ARCH_RESNET18, 2, 0.97, 0.9, 1);
    mts_engine *engine = engine_make(device, &f, MTS_STRATEGY_DENSE, true);
    mts_launch_profile *launches = calloc(engine->launches.count, sizeof *launches);
    assert_non_null(launches);
    test_must(mts_engine_profile(engine, 1, launches, &error), &error, "profile");
    for (uint32_t i = 0; i < engine->launches.count; i++) {
        mul_adds += launches[i].mul_adds;
        if (strncmp(launches[i].label, "gemm ", 5) == 0) {
            told++;
            assert_string_equal(launches[i].kernel, "gemm__f32");
            assert_true(launches[i].mul_adds > 0 && launches[i].bytes > 0);
            assert_int_equal(strncmp(launches[i + 1].label, "epilogue ", 9), 0);
            assert_true(launches[i + 1].mul_adds == 0);
        }
    }
    assert_int_equal(told, count_products(engine));
    assert_true(told >= 4 && mul_adds == engine->stats.mul_adds);
    free(launches);
    mts_engine_destroy(&engine);
    test_synth_close(&f);
    mts_device_destroy(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bottlenecks_are_products_in_every_strategy),
        cmocka_unit_test(batches_are_one_product_or_a_batch_of_them),
        cmocka_unit_test(fully_connected_layers_are_products),
        cmocka_unit_test(a_device_that_takes_none_has_tiles_whatever_was_chosen),
        cmocka_unit_test(a_profile_tells_products_from_their_epilogues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
