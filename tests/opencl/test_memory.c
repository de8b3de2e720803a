/*
 * Memory that the processor and the device share: a frame's bytes are written once, where the device reads them, and
 * outputs are read where it wrote them. Nothing else is copied but the parameters of a frame.
 *
 * The library in front of the machine's (fake/fake.h) counts what is copied, and launches that use what is mapped.
 * Skipped where it, an OpenCL device or shared memory is missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "mts/mts.h"
#include "opencl/fake/fake.h"
#include "platform/opencl/opencl.h"
#include "platform/os/os.h"
#include "support/frame_bundle.h"

#define SIDE 8
#define VALUES ((size_t)SIDE * SIDE)
#define WIDTH 256
#define HEIGHT 256
#define ROWS_LEAST ((uint64_t)SIDE * WIDTH) /* bytes that are read of a frame at least */
#define OUTPUT_BYTES (VALUES * sizeof(float))
#define RUNS 6
#define PARAMS_MOST 512u /* bytes of the parameters of a frame */

typedef struct world {
    mts_runtime *runtime;
    mts_bundle_bytes bytes;
    mts_bundle *bundle;
    mts_session *session;
    char error[512];
    uint8_t pixels[RUNS][WIDTH * HEIGHT];
} world;

static fake_opencl *fake;
static uint32_t reports; /* of runtime options' check */

static void keep_reports(void *context, mts_log_severity severity, const char *text)
{
    (void)context;
    (void)severity;
    reports += strncmp(text, "check: ", 7) == 0;
}

static void world_open(world *w, uint32_t in_flight, const char *missing, uint32_t check)
{
    const frame_task task = {
        .color = MTS_COLOR_GREY, .batch = 1, .height = SIDE, .width = SIDE, .deviation = 1.0f};
    mts_runtime_options runtime;
    mts_session_options options;
    memset(w, 0, sizeof *w);
    *fake = (fake_opencl){.asked = fake->asked, .missing = missing};
    mts_runtime_options_default(&runtime);
    runtime.device = "opencl:0";
    runtime.check = check;
    runtime.log = keep_reports;
    runtime.error_text = w->error;
    runtime.error_size = sizeof w->error;
    frame_bundle_make(&task, 1, &w->bytes);
    assert_int_equal(mts_runtime_create(&runtime, &w->runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open_memory(w->runtime, w->bytes.data, w->bytes.size, &w->bundle),
                     MTS_STATUS_OK);
    mts_session_options_default(&options);
    options.frames_in_flight = in_flight;
    assert_int_equal(mts_session_create(w->runtime, w->bundle, &options, &w->session), MTS_STATUS_OK);
    for (int r = 0; r < RUNS; r++) {
        memset(w->pixels[r], 40 * r + 3, sizeof w->pixels[r]);
    }
    fake->written = fake->read = 0;
    fake->maps = fake->unmaps = 0;
}

static void world_close(world *w)
{
    mts_session_destroy(&w->session);
    mts_bundle_destroy(&w->bundle);
    mts_runtime_destroy(&w->runtime);
    mts_bundle_bytes_release(&w->bytes);
    assert_int_equal(fake->misuses, 0);
    assert_int_equal(fake->maps, fake->unmaps);
}

static mts_status submit(world *w, int which, mts_ticket *ticket)
{
    const mts_frame frame = {.size = sizeof frame,
                             .data = w->pixels[which],
                             .width = WIDTH,
                             .height = HEIGHT,
                             .format = MTS_PIXEL_FORMAT_GREY};
    const mts_status status = mts_session_submit(w->session, &frame, ticket);
    memset(w->pixels[which], 0xff, sizeof w->pixels[which]); /* they are the caller's again */
    return status;
}

static void assert_seen(world *w, mts_ticket ticket, int which)
{
    mts_tensor tensor;
    if (mts_session_wait(w->session, ticket, MTS_TIMEOUT_INFINITE) != MTS_STATUS_OK) {
        fail_msg("%s", w->error);
    }
    assert_int_equal(mts_session_output(w->session, "a", 0, &tensor), MTS_STATUS_OK);
    const float *values = tensor.data;
    for (size_t i = 0; i < VALUES; i++) {
        assert_float_equal(values[i], (float)(40 * which + 3), 0.01f); /* resized */
    }
}

static void run_one(world *w, int which)
{
    mts_ticket ticket = 0;
    memset(w->pixels[which], 40 * which + 3, sizeof w->pixels[which]);
    if (submit(w, which, &ticket) != MTS_STATUS_OK) {
        fail_msg("%s", w->error);
    }
    assert_seen(w, ticket, which);
}

static void one_by_one_nothing_but_parameters_is_copied(void **state)
{
    world w;
    (void)state;
    world_open(&w, 1, NULL, 0);
    for (int r = 0; r < RUNS; r++) {
        run_one(&w, r);
    }
    assert_in_range(fake->written, 1, RUNS * PARAMS_MOST);
    assert_int_equal(fake->read, 0);
    assert_in_range(fake->maps, 2 * RUNS, 2 * RUNS + 1);
    world_close(&w);
}

static void with_several_in_flight_frames_are_written_once(void **state)
{
    world w;
    mts_ticket tickets[RUNS];
    (void)state;
    world_open(&w, 3, NULL, 0);
    for (int r = 0; r < RUNS; r++) {
        if (r >= 3) {
            assert_seen(&w, tickets[r - 3], r - 3);
        }
        assert_int_equal(submit(&w, r, &tickets[r]), MTS_STATUS_OK);
    }
    for (int r = RUNS - 3; r < RUNS; r++) {
        assert_seen(&w, tickets[r], r);
    }
    assert_in_range(fake->written, 1, RUNS * PARAMS_MOST);
    assert_int_equal(fake->read, RUNS * OUTPUT_BYTES); /* another run may write them meanwhile */
    world_close(&w);
}

static void without_mapping_the_same_runs_copy_frames_and_outputs(void **state)
{
    static const char *const missing[] = {"clEnqueueMapBuffer", "clEnqueueUnmapMemObject"};
    (void)state;
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        world w;
        world_open(&w, 1, missing[i], 0);
        for (int r = 0; r < RUNS; r++) {
            run_one(&w, r);
        }
        assert_true(fake->written >= RUNS * ROWS_LEAST);
        assert_int_equal(fake->read, RUNS * OUTPUT_BYTES);
        assert_int_equal(fake->maps, 0);
        world_close(&w);
    }
}

static void a_larger_frame_gets_a_larger_buffer(void **state)
{
    static uint8_t large[4 * WIDTH * HEIGHT];
    world w;
    mts_ticket ticket = 0;
    (void)state;
    world_open(&w, 1, NULL, 0);
    run_one(&w, 1);
    memset(large, 83, sizeof large);
    const mts_frame frame = {.size = sizeof frame,
                             .data = large,
                             .width = 2 * WIDTH,
                             .height = 2 * HEIGHT,
                             .format = MTS_PIXEL_FORMAT_GREY};
    assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
    assert_seen(&w, ticket, 2);
    run_one(&w, 3);
    assert_in_range(fake->written, 1, 3 * PARAMS_MOST);
    world_close(&w);
}

/* Each call in turn: its run fails, and the next one is right. */
static void a_call_that_fails_costs_one_run(void **state)
{
    static const char *const calls[] = {"clEnqueueMapBuffer", "clEnqueueUnmapMemObject"};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (uint32_t nth = 0; nth < 6; nth++) {
            world w;
            uint32_t failures = 0;
            world_open(&w, 1, NULL, 0);
            fake->fails = calls[i];
            fake->fails_from = nth;
            for (int r = 0; r < 4 && failures == 0; r++) {
                mts_ticket ticket = 0;
                memset(w.pixels[r], 40 * r + 3, sizeof w.pixels[r]);
                mts_status status = submit(&w, r, &ticket);
                if (status == MTS_STATUS_OK) {
                    status = mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE);
                }
                failures += status != MTS_STATUS_OK;
            }
            fake->fails = NULL;
            run_one(&w, 1);
            run_one(&w, 2);
            fake->unmaps = fake->maps; /* a failed call may leave a buffer with either side */
            mts_session_destroy(&w.session);
            fake->unmaps = fake->maps;
            world_close(&w);
        }
    }
}

static void the_checks_of_every_command_find_nothing(void **state)
{
    world w;
    (void)state;
    for (uint32_t in_flight = 1; in_flight <= 3; in_flight += 2) {
        world_open(&w, in_flight, NULL, 1);
        for (int r = 0; r < RUNS; r++) {
            run_one(&w, r);
        }
        world_close(&w);
    }
    assert_int_equal(reports, 0);
}

static const char *find_fake(void)
{
    mts_os_library *library = mts_os_library_open("libOpenCL.so.1", NULL, 0);
    void *const symbol = library ? mts_os_library_symbol(library, "fake_opencl_state") : NULL;
    fake_opencl_state_fn state = NULL;
    mts_device_info info;
    if (!symbol) {
        return "the library in front of OpenCL's is not there";
    }
    memcpy(&state, &symbol, sizeof symbol);
    fake = state();
    if (mts_backend_opencl.count() == 0) {
        return "there is no OpenCL device";
    }
    (void)mts_backend_opencl.describe(0, &info, NULL);
    return info.maps ? NULL : "the device shares no memory with the processor";
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_by_one_nothing_but_parameters_is_copied),
        cmocka_unit_test(with_several_in_flight_frames_are_written_once),
        cmocka_unit_test(without_mapping_the_same_runs_copy_frames_and_outputs),
        cmocka_unit_test(a_larger_frame_gets_a_larger_buffer),
        cmocka_unit_test(a_call_that_fails_costs_one_run),
        cmocka_unit_test(the_checks_of_every_command_find_nothing),
    };
    const char *missing = find_fake();
    if (missing) {
        (void)printf("skipped: %s\n", missing);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
