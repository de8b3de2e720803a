/*
 * Sessions on a device that records its lists: in every strategy the same bits as launch by launch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/api_fixture.h"

#define OUTPUTS 64
#define RUNS 3

static bool has_driver(void)
{
    mts_device_desc desc = {.size = sizeof desc};
    for (uint32_t i = 0; mts_device_describe(i, &desc) == MTS_STATUS_OK; i++) {
        if (strcmp(desc.id, "opencl:0") == 0) {
            return true;
        }
    }
    return false;
}

/* All outputs of RUNS runs on different frames, one after another; returns how many floats. */
static size_t outputs_of(mts_use replay, mts_strategy strategy, float *out)
{
    api_fixture fixture;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_session_options session_options;
    uint8_t pixels[3 * 32 * 32];
    size_t count = 0;
    mts_runtime_options options = api_options(&fixture, "opencl:0");
    options.replay = replay;
    assert_int_equal(mts_runtime_create(&options, &fixture.runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open(fixture.runtime, api_bundle_path(), &bundle), MTS_STATUS_OK);
    mts_session_options_default(&session_options);
    session_options.strategy = strategy;
    assert_int_equal(mts_session_create(fixture.runtime, bundle, &session_options, &session), MTS_STATUS_OK);
    for (uint32_t run = 0; run < RUNS; run++) {
        mts_ticket ticket = 0;
        api_pixels(pixels, run + 1);
        const mts_frame frame = api_frame(pixels);
        assert_int_equal(mts_session_submit(session, &frame, &ticket), MTS_STATUS_OK);
        assert_int_equal(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        for (uint32_t t = 0; t < mts_bundle_task_count(bundle); t++) {
            mts_task_desc task = {.size = sizeof task};
            mts_tensor tensor;
            assert_int_equal(mts_bundle_task(bundle, t, &task), MTS_STATUS_OK);
            assert_int_equal(mts_session_output(session, task.name, 0, &tensor), MTS_STATUS_OK);
            assert_true(count + tensor.bytes / sizeof *out <= RUNS * OUTPUTS);
            memcpy(out + count, tensor.data, tensor.bytes);
            count += tensor.bytes / sizeof *out;
        }
    }
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    api_close(&fixture);
    return count;
}

static void recorded_runs_give_the_same_bits_in_every_strategy(void **state)
{
    static const mts_strategy strategies[] = {MTS_STRATEGY_SEQUENTIAL, MTS_STRATEGY_COMPACT,
                                              MTS_STRATEGY_NETFUSE, MTS_STRATEGY_DENSE};
    (void)state;
    if (!has_driver()) {
        (void)printf("skipped: there is no OpenCL device\n");
        skip();
    }
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        float plain[RUNS * OUTPUTS];
        float recorded[RUNS * OUTPUTS];
        const size_t count = outputs_of(MTS_USE_OFF, strategies[i], plain);
        assert_true(count >= RUNS * 8);
        assert_int_equal(outputs_of(MTS_USE_ON, strategies[i], recorded), count);
        assert_memory_equal(plain, recorded, count * sizeof *plain);
    }
}

static int remove_bundle(void **state)
{
    (void)state;
    api_bundle_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_runs_give_the_same_bits_in_every_strategy),
    };
    return cmocka_run_group_tests(tests, NULL, remove_bundle);
}
