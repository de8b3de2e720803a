/*
 * Layers by conv_block: on a device that passes for a GPU, outputs are those of the plain C device in every
 * shape of a block; several tasks share a block where images are small; what the kernel cannot compute is
 * left to tiles; and where it does not build, the session falls back to tiles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/state.h"
#include "tune/tune.h"
#include "lower/encode_block.h"
#include "support/device_fixture.h"
#include "support/synth.h"

#define TOLERANCE 1e-4

static void family_open(test_synth *f, mtsc_arch arch, double share, uint32_t input)
{
    const double prune = 0.9;
    mtsc_synth_options options = test_synth_options(arch, 3, &prune, 1, share);
    options.input = input;
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

/* A CPU's device is planned for as if it were a GPU: its kernels take single numbers and large groups. */
static mts_device *gpu_open(void)
{
    mts_device *device = device_open("opencl");
    if (!device || device->info.work_group_size < 256) {
        skip();
    }
    device->info.is_gpu = true;
    device->info.arch = device->info.arch != 0 ? device->info.arch : 87; /* a real one compiles for its own */
    device->info.compute_units = 16;
    return device;
}

static mts_engine *engine_make(mts_device *device, const test_synth *f, const mts_kernel_config *forced,
                               bool common)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = !common};
    const mts_kernel_configs configs = {.forced = forced};
    const mts_decision decision = {.configs = forced ? &configs : NULL};
    mts_engine *engine = NULL;
    mts_error error = {0};
    test_must(mts_engine_create(device, f->archive, &options, &decision, NULL, &engine, &error), &error,
              "engine");
    return engine;
}

static uint32_t count_blocks(const mts_engine *engine)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < engine->launches.count; i++) {
        count += strcmp(engine->launches.encoded[i].kernel, "conv_block__f32_planar") == 0;
    }
    return count;
}

/* Blocks of a launch, and how many stretches of pixels they hold together. */
static uint32_t launch_parts(const mts_engine *engine, uint32_t launch, uint32_t *blocks)
{
    const mts_encoded_launch *l = &engine->launches.encoded[launch];
    uint32_t parts = 0;
    *blocks = l->global[0] / l->local[0];
    for (uint32_t b = 0; b < *blocks; b++) {
        mts_block_params record;
        mts_error error = {0};
        const size_t at = (l->first + (size_t)b * MTS_PARAM_WORDS(mts_block_params)) * sizeof(uint32_t);
        test_must(mts_buffer_read(engine->launches.params, at, &record, sizeof record, &error), &error,
                  "table");
        parts += record.parts;
    }
    return parts;
}

static uint32_t shared_blocks(const mts_engine *engine)
{
    uint32_t launches = 0;
    for (uint32_t i = 0; i < engine->launches.count; i++) {
        uint32_t blocks = 0;
        launches += strcmp(engine->launches.encoded[i].kernel, "conv_block__f32_planar") == 0 &&
                    launch_parts(engine, i, &blocks) > blocks;
    }
    return launches;
}

static void agree(const test_synth *f, bool common, bool few_shapes)
{
    mts_device *reference = device_open("reference");
    mts_device *gpu = gpu_open();
    mts_engine *engine = engine_make(reference, f, NULL, common);
    size_t count = 0;
    float *expected = test_synth_run(engine, f->archive, &count);
    mts_engine_destroy(&engine);
    mts_kernel_config config;
    for (uint32_t i = 0; mts_block_candidate(&gpu->info, i, &config); i += few_shapes ? 5 : 1) {
        engine = engine_make(gpu, f, &config, common);
        assert_true(count_blocks(engine) > 0);
        if (config.parts > 1) {
            assert_true(shared_blocks(engine) > 0);
        }
        float *found = test_synth_run(engine, f->archive, &count);
        const double worst = test_difference(expected, found, count);
        print_message("%ux%u, groups of %u, %u deep, %u parts: %.1e\n", config.rows, config.vectors,
                      config.local, config.depth, config.parts, worst);
        assert_true(worst <= TOLERANCE);
        free(found);
        mts_engine_destroy(&engine);
    }
    free(expected);
    mts_device_destroy(&gpu);
    mts_device_destroy(&reference);
}

static void every_shape_agrees_on_a_pruned_resnet_with_shared_channels(void **state)
{
    test_synth f;
    (void)state;
    family_open(&f, MTSC_ARCH_RESNET18, 0.8, 32); /* strides, residuals, images down to one pixel */
    agree(&f, false, false);
    test_synth_close(&f);
}

static void some_shapes_agree_on_a_common_frame(void **state)
{
    test_synth f;
    (void)state;
    family_open(&f, MTSC_ARCH_VGG16, 0.7, 32); /* equal products of the first layers have several epilogues */
    agree(&f, true, true);
    test_synth_close(&f);
}

static void an_nvidia_gpu_takes_blocks_where_nothing_was_measured(void **state)
{
    test_synth f;
    (void)state;
    family_open(&f, MTSC_ARCH_RESNET18, 0.8, 64);
    mts_device *gpu = gpu_open();
    mts_engine *engine = engine_make(gpu, &f, NULL, false);
    assert_true(count_blocks(engine) >= 15);
    mts_engine_destroy(&engine);
    if (strcmp(gpu->info.backend, "cuda") != 0) { /* which compiles for the number */
        gpu->info.arch = 0;
        engine = engine_make(gpu, &f, NULL, false);
        assert_int_equal(count_blocks(engine), 0);
        mts_engine_destroy(&engine);
    }
    mts_device_destroy(&gpu);
    test_synth_close(&f);
}

static void a_shape_that_the_device_has_no_room_for_is_left_to_tiles(void **state)
{
    test_synth f;
    mts_kernel_config config;
    (void)state;
    family_open(&f, MTSC_ARCH_RESNET18, 0.8, 32);
    mts_device *gpu = gpu_open();
    assert_true(mts_block_candidate(&gpu->info, 0, &config));
    gpu->info.local_bytes = 4096;
    mts_engine *engine = engine_make(gpu, &f, &config, false);
    assert_int_equal(count_blocks(engine), 0);
    mts_engine_destroy(&engine);
    mts_device_destroy(&gpu);
    test_synth_close(&f);
}

static mts_device_ops picky_ops;
static const mts_device_ops *whole_ops;

/* A compiler that fails on one kernel. */
static mts_status picky_kernel_create(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                                      mts_error *error)
{
    if (strcmp(desc->name, "conv_block__f32_planar") == 0) {
        return mts_fail(error, MTS_STATUS_DEVICE, "too many registers");
    }
    return whole_ops->kernel_create(device, desc, out, error);
}

static void blocks_that_do_not_build_become_tiles(void **state)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT};
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_planning_report report;
    test_synth f;
    (void)state;
    family_open(&f, MTSC_ARCH_RESNET18, 0.8, 32);
    mts_device *gpu = gpu_open();
    whole_ops = gpu->ops;
    picky_ops = *gpu->ops;
    picky_ops.kernel_create = picky_kernel_create;
    gpu->ops = &picky_ops;
    test_must(mts_planned_engine_create(gpu, f.archive, &options, NULL, &engine, &report, &error), &error,
              "engine");
    assert_int_equal(count_blocks(engine), 0);
    assert_int_equal(report.fallback, 1);
    mts_planning_report_release(&report);
    mts_engine_destroy(&engine);
    mts_device_destroy(&gpu);
    test_synth_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_agrees_on_a_pruned_resnet_with_shared_channels),
        cmocka_unit_test(some_shapes_agree_on_a_common_frame),
        cmocka_unit_test(an_nvidia_gpu_takes_blocks_where_nothing_was_measured),
        cmocka_unit_test(a_shape_that_the_device_has_no_room_for_is_left_to_tiles),
        cmocka_unit_test(blocks_that_do_not_build_become_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
