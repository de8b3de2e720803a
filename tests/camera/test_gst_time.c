/*
 * test_gst_time.c: sources of GStreamer over time: their pace, sources that stall, vanish or end.
 */
#include <stdio.h>

#ifndef CAMERA_GSTREAMER
int main(void)
{
    printf("the camera is built without GStreamer\n");
    return 77;
}
#else

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "camera/clock.h"
#include "camera/gst_fixture.h"
#include "kit/measure.h"

const char *const cli_program = "test_gst_time";

static void frames_of_a_test_source_are_paced_by_the_clock(void **state)
{
    source_frame frame;
    source *out = NULL;
    (void)state;
    gst_fixture_needs(gst_test_elements);
    const source_request request = {.uri = "test://?frames=6&fps=50&width=32&height=32",
                                    .format = -1,
                                    .yuv = -1,
                                    .held = 1,
                                    .paced = true,
                                    .timeout_ms = 5000};
    assert_int_equal(source_open(&request, &out, gst_fixture_error), CAMERA_OK);
    const double begun = cli_now_ms();
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(source_next(out, 5000, &frame, gst_fixture_error), CAMERA_OK);
        assert_int_equal(frame.number, i);
        assert_true(frame.time_ms >= 20.0 * i - 1 && frame.time_ms <= 20.0 * i + 1);
        source_release(out, &frame);
    }
    assert_true(cli_now_ms() - begun >= 60.0);
    source_close(&out);
}

static void an_error_in_the_middle_is_a_source_that_vanished(void **state)
{
    source_frame frame;
    camera_status status = CAMERA_OK;
    uint32_t frames = 0;
    (void)state;
    gst_fixture_needs(gst_test_elements);
    source *out = gst_fixture_open("gst://videotestsrc ! video/x-raw,format=RGB,width=32,height=32 ! "
                                   "identity error-after=5");
    while (status == CAMERA_OK || status == CAMERA_WAITING) {
        status = source_next(out, 1000, &frame, gst_fixture_error);
        frames += status == CAMERA_OK ? 1 : 0;
        source_release(out, &frame);
        assert_true(frames < 10);
    }
    assert_int_equal(status, CAMERA_VANISHED);
    assert_non_null(strstr(gst_fixture_error, "vanished after"));
    source_close(&out);
}

static void a_source_that_gives_no_first_frame_stalls(void **state)
{
    source *out = NULL;
    (void)state;
    gst_fixture_needs(gst_test_elements);
    const source_request request = {
        .uri = "gst://videotestsrc ! valve drop=true", .format = -1, .yuv = -1, .held = 1, .timeout_ms = 200};
    assert_int_equal(source_open(&request, &out, gst_fixture_error), CAMERA_STALLED);
    assert_non_null(strstr(gst_fixture_error, "no frame within 0.2 s"));
    assert_null(out);
}

static void a_pipeline_of_ones_own_that_is_live_drops_and_has_no_end(void **state)
{
    source_frame frame;
    camera_status status = CAMERA_WAITING;
    (void)state;
    gst_fixture_needs(gst_test_elements);
    source *out =
        gst_fixture_open("gst://videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48,framerate=100/1");
    assert_false(out->info.live);
    source_close(&out);
    out = gst_fixture_open("gst://videotestsrc is-live=true num-buffers=20 ! "
                           "video/x-raw,width=64,height=48,framerate=100/1");
    assert_true(out->info.live);
    clock_nap(400); /* no call looks, and the camera does not wait */
    uint32_t came = 0;
    for (int i = 0; i < 100 && (status == CAMERA_OK || status == CAMERA_WAITING); i++) {
        status = source_next(out, 50, &frame, gst_fixture_error);
        if (status == CAMERA_OK) {
            came++;
            source_release(out, &frame);
        }
    }
    assert_int_equal(status, CAMERA_VANISHED);
    assert_non_null(strstr(gst_fixture_error, "the source ended after"));
    assert_true(came < 10);
    source_close(&out);
}

static void a_paced_clip_waits_until_it_is_asked(void **state)
{
    source_frame frame;
    source *out = NULL;
    (void)state;
    gst_fixture_needs(gst_test_elements);
    const source_request request = {.uri = "test://?width=64&height=48&fps=50&frames=100",
                                    .format = -1,
                                    .yuv = -1,
                                    .held = 2,
                                    .paced = true,
                                    .timeout_ms = 5000};
    assert_int_equal(source_open(&request, &out, gst_fixture_error), CAMERA_OK);
    clock_nap(300); /* networks are made */
    const double begun_ms = cli_now_ms();
    for (uint32_t i = 0; i < 12; i++) {
        assert_int_equal(source_next(out, 5000, &frame, gst_fixture_error), CAMERA_OK);
        assert_int_equal(frame.number, i);
        source_release(out, &frame);
    }
    assert_true(cli_now_ms() - begun_ms > 100); /* 12 of 50 a second; what was missed is not caught up with */
    source_close(&out);
}

static void opening_ends_when_it_is_told_to(void **state)
{
    static const sig_atomic_t stop = 1;
    source *out = NULL;
    (void)state;
    gst_fixture_needs(gst_test_elements);
    const source_request request = {.uri = "gst://videotestsrc ! valve drop=true",
                                    .format = -1,
                                    .yuv = -1,
                                    .held = 1,
                                    .timeout_ms = 60000,
                                    .stop = &stop};
    assert_int_equal(source_open(&request, &out, gst_fixture_error), CAMERA_END);
    assert_null(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_a_test_source_are_paced_by_the_clock),
        cmocka_unit_test(an_error_in_the_middle_is_a_source_that_vanished),
        cmocka_unit_test(a_source_that_gives_no_first_frame_stalls),
        cmocka_unit_test(a_pipeline_of_ones_own_that_is_live_drops_and_has_no_end),
        cmocka_unit_test(a_paced_clip_waits_until_it_is_asked),
        cmocka_unit_test(opening_ends_when_it_is_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
