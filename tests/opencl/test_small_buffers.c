/*
 * test_small_buffers.c: ResNet18 on a device whose buffers the driver limits (profile/profile.c), which refuses larger
 * ones: weights in several buffers, and a layer that no buffer holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/state.h"
#include "platform/opencl/opencl.h"
#include "support/net.h"
#include "support/synth.h"

#define LARGEST_LAYER ((uint64_t)512 * 512 * 9 * 4) /* of ResNet18, bytes of float32 */

static mts_device *device, *reference;

static mts_status make(mts_device *on, const mts_archive *archive, mts_precision precision,
                       mts_engine **engine, mts_error *error)
{
    const mts_engine_options options = {
        .strategy = MTS_STRATEGY_COMPACT, .precision = precision, .separate_inputs = true};
    const mts_planning_options planning = {.grouping = MTS_GROUPING_FAMILY};
    return mts_planned_engine_create(on, archive, &options, &planning, engine, NULL, error);
}

/* Runs and returns the outputs; the sections of the weights are counted. */
static float *run(mts_device *on, const mts_archive *archive, mts_precision precision, uint32_t *sections,
                  size_t *count)
{
    mts_error error = {0};
    mts_engine *engine = NULL;
    test_must(make(on, archive, precision, &engine, &error), &error, "session");
    *sections = engine->launches.weight_count;
    float *outputs = test_synth_run(engine, archive, count);
    mts_engine_destroy(&engine);
    return outputs;
}

static void whole_resnets_run_in_small_buffers(void **state)
{
    test_synth b;
    mts_error error = {0};
    mts_engine *engine = NULL;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 2, NULL, 0, 0.5);
    const bool halves = device->info.buffer_bytes < LARGEST_LAYER;
    uint32_t sections = 0;
    size_t count = 0;
    (void)state;
    test_synth_open(&b, &o);
    if (halves) {
        assert_int_equal(make(device, b.archive, MTS_PRECISION_FLOAT32, &engine, &error), MTS_STATUS_LIMIT);
        assert_non_null(strstr(error.text, "the weights of layer layer4.0.conv2"));
        assert_non_null(strstr(error.text, "store them as float16"));
    }
    float *want = run(reference, b.archive, MTS_PRECISION_FLOAT32, &sections, &count);
    float *got = run(device, b.archive, halves ? MTS_PRECISION_FLOAT16_STORAGE : MTS_PRECISION_FLOAT32,
                     &sections, &count);
    assert_true(sections > 1);
    const double difference = test_difference(want, got, count);
    if (!(difference <= (halves ? 1e-2 : 1e-4))) {
        fail_msg("outputs differ by %g", difference);
    }
    free(want);
    free(got);
    test_synth_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_resnets_run_in_small_buffers)};
    mts_error error = {0};
    if (!getenv("OPENCL_LAYERS") || mts_backend_opencl.count() == 0) {
        print_message("skipped: no OpenCL device, or no loader that takes layers\n");
        return 77;
    }
    if (net_device_open("opencl", NULL, &device, &error) != MTS_STATUS_OK ||
        net_device_open("reference", NULL, &reference, &error) != MTS_STATUS_OK) {
        print_message("%s\n", error.text);
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mts_device_destroy(&device);
    mts_device_destroy(&reference);
    return failed;
}
