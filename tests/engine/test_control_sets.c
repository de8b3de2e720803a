/*
 * test_control_sets.c: some tasks of an engine run, the others do not: what runs has the bits that it has when
 * all run, what does not run keeps its outputs.
 *
 * Random families in all strategies and a synthetic ResNet, every set of their tasks, with lists of their own and
 * with a list per group.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/control.h"
#include "lower/encode_block.h"
#include "support/control_world.h"
#include "support/synth.h"

#define FAMILIES 3
#define OPENCL_EVERY 6 /* a family in so many runs on OpenCL too: its driver builds kernels for seconds */
#define WORK MTS_BINARY_DIR "/control_sets"

static void run_sets(const control_world *w, mts_engine *engine, const char *how)
{
    for (uint32_t set = 0; set < 1u << TASKS; set++) {
        uint64_t before = 0;
        uint64_t run = 0;
        mts_error error = {0};
        control_enable(engine, (1u << TASKS) - 1);
        control_run_round(w, engine, 0);
        control_check_outputs(w, engine, 0, how);
        control_must(mts_engine_output_run(engine, 0, &before, &error), &error, "run");
        control_enable(engine, set);
        control_run_round(w, engine, 1);
        control_check_outputs(w, engine, set, how);
        for (uint32_t t = 0; t < TASKS; t++) {
            control_must(mts_engine_output_run(engine, t, &run, &error), &error, "run");
            assert_int_equal(run, before + (set >> t & 1u));
        }
    }
}

/* `waves`: task groups of one task each, on a device whose launches cost time. */
static void run_with(control_world *w, int device, mts_strategy strategy, mts_precision precision, bool waves)
{
    static const uint32_t apart[TASKS] = {0, 1, 2, 3};
    static const uint64_t slices[] = {0, 1, 3000, 30000};
    const mts_engine_options options = {.strategy = strategy,
                                        .precision = precision,
                                        .separate_inputs = !w->family.common,
                                        .zero_copy_inputs = w->family.seed % 3 == 1};
    const mts_decision decision = {.group_of = waves ? apart : NULL,
                                   .slice_bytes = slices[w->family.seed / 3 % 4]};
    mts_engine *engine = NULL;
    mts_error error = {0};
    char how[96];
    control_devices[device]->info.launch_ns = waves ? 20000 : 0;
    control_must(mts_engine_create(control_devices[device], w->net.archive, &options, &decision, NULL,
                                   &engine, &error),
                 &error, "create");
    control_keep_outputs(w, engine);
    for (uint32_t split = 0; split < 2; split++) {
        (void)snprintf(how, sizeof how, "%s, strategy %d, precision %d%s%s", control_device_names[device],
                       (int)strategy, (int)precision, waves ? ", waves" : "",
                       split != 0 ? ", group by group" : "");
        mts_engine_deadline(engine, split * NEVER_MS);
        run_sets(w, engine, how);
    }
    mts_engine_destroy(&engine);
}

static void run_world(const random_family *family)
{
    control_world w;
    control_world_make(&w, family);
    for (int d = 0; d < 2; d++) {
        if (!control_devices[d] || (d == 1 && family->seed % OPENCL_EVERY != 0)) {
            continue;
        }
        for (int s = 0; s < MTS_STRATEGY_COUNT; s++) {
            run_with(&w, d, (mts_strategy)s, MTS_PRECISION_FLOAT32, false);
        }
        run_with(&w, d, MTS_STRATEGY_COMPACT, MTS_PRECISION_FLOAT16_STORAGE, false);
        run_with(&w, d, MTS_STRATEGY_COMPACT, MTS_PRECISION_FLOAT32, true);
    }
    control_world_release(&w);
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
        run_world(
            &(random_family){.seed = 5400 + seed, .tasks = TASKS, .steps = 3 + seed % 6, .common = true});
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

/* As test_blocks.c: a CPU's device is planned for as if it were a GPU. NULL: there is none that can. */
static mts_device *gpu_open(void)
{
    mts_device *device = NULL;
    mts_error error = {0};
    if (net_device_open("opencl", WORK, &device, &error) != MTS_STATUS_OK ||
        device->info.work_group_size < 256) {
        mts_device_destroy(&device);
        skip();
    }
    device->info.is_gpu = true;
    device->info.arch = device->info.arch != 0 ? device->info.arch : 87;
    device->info.compute_units = 16;
    return device;
}

static void synth_run(mts_engine *engine, const mts_archive *archive, uint32_t round)
{
    mts_error error = {0};
    for (uint32_t t = 0; t < archive->task_count; t++) {
        const size_t count = mts_shape_count(&archive->tasks[t].graph->inputs[0].shape);
        float *data = calloc(count, sizeof *data);
        assert_non_null(data);
        for (size_t i = 0; i < count; i++) {
            data[i] = (float)((i * 31 + round * 17) % 101) / 50.0f - 1.0f;
        }
        control_must(mts_engine_set_input(engine, t, 0, data, count * sizeof *data, &error), &error, "input");
        free(data);
    }
    control_start(engine);
    control_must(mts_engine_wait(engine, &error), &error, "wait");
}

static float *synth_output(const mts_engine *engine, uint32_t task, size_t *size)
{
    const void *data = NULL;
    mts_error error = {0};
    control_must(mts_engine_output(engine, task, 0, &data, size, &error), &error, "output");
    float *copy = malloc(*size);
    assert_non_null(copy);
    memcpy(copy, data, *size);
    return copy;
}

/* `waves`: a task group for each task, whose layers share launches. */
static void check_synth(const test_synth *f, mts_device *gpu, const mts_kernel_config *forced, bool common,
                        bool waves)
{
    static const uint32_t apart[TASKS] = {0, 1, 2, 3};
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = !common};
    const mts_kernel_configs configs = {.forced = forced};
    const mts_decision decision = {.group_of = waves ? apart : NULL, .configs = &configs};
    mts_engine *engine = NULL;
    mts_error error = {0};
    float *want[2][TASKS];
    size_t size = 0;
    gpu->info.launch_ns = waves ? 20000 : 0;
    control_must(mts_engine_create(gpu, f->archive, &options, &decision, NULL, &engine, &error), &error,
                 "create");
    for (uint32_t round = 0; round < 2; round++) {
        synth_run(engine, f->archive, round);
        for (uint32_t t = 0; t < TASKS; t++) {
            want[round][t] = synth_output(engine, t, &size);
        }
    }
    for (uint32_t set = 0; set < 1u << TASKS; set++) {
        control_enable(engine, (1u << TASKS) - 1);
        synth_run(engine, f->archive, 0);
        control_enable(engine, set);
        synth_run(engine, f->archive, 1);
        for (uint32_t t = 0; t < TASKS; t++) {
            float *got = synth_output(engine, t, &size);
            assert_memory_equal(got, want[set >> t & 1u][t], size);
            free(got);
        }
    }
    for (uint32_t t = 0; t < TASKS; t++) {
        assert_memory_not_equal(want[0][t], want[1][t], size);
        free(want[0][t]);
        free(want[1][t]);
    }
    mts_engine_destroy(&engine);
}

static void blocks_of_a_gpu_keep_the_parts_of_the_tasks_that_run(void **state)
{
    const double prune = 0.9;
    mtsc_synth_options options = test_synth_options(MTSC_ARCH_RESNET18, TASKS, &prune, 1, 0.8);
    mts_device *gpu = gpu_open();
    test_synth f;
    mts_kernel_config config;
    uint32_t i = 0;
    (void)state;
    test_synth_open(&f, &options);
    while (mts_block_candidate(&gpu->info, i, &config) && config.parts < 2) {
        i++;
    }
    assert_true(config.parts >= 2);
    check_synth(&f, gpu, &config, false, false);
    check_synth(&f, gpu, &config, false, true);
    check_synth(&f, gpu, &config, true, false);
    check_synth(&f, gpu, &config, true, true);
    test_synth_close(&f);
    mts_device_destroy(&gpu);
}

static void a_synthetic_resnet_keeps_its_bits_on_opencl(void **state)
{
    const double prune[] = {0.9, 0.5};
    mtsc_synth_options options = test_synth_options(MTSC_ARCH_RESNET18, TASKS, prune, 2, 0.9);
    test_synth f;
    (void)state;
    if (!control_devices[1]) {
        skip();
    }
    test_synth_open(&f, &options);
    check_synth(&f, control_devices[1], NULL, false, false);
    check_synth(&f, control_devices[1], NULL, true, true);
    test_synth_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_of_tasks_with_inputs_of_their_own_has_its_bits),
        cmocka_unit_test(every_set_of_tasks_with_a_common_input_has_its_bits),
        cmocka_unit_test(equal_networks_keep_their_outputs_apart),
        cmocka_unit_test(a_synthetic_resnet_keeps_its_bits_on_opencl),
        cmocka_unit_test(blocks_of_a_gpu_keep_the_parts_of_the_tasks_that_run),
    };
    return control_tests_run(WORK, tests, sizeof tests / sizeof tests[0]);
}
