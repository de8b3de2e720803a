/*
 * test_v4l2.c: a camera that is played: behind the system calls stands v4l2_player.c, a driver of
 * our own.
 */
#include <stdio.h>

#ifndef MTS_CAMERA
int main(void)
{
    printf("the camera is not built here\n");
    return 77;
}
#else

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "camera/v4l2_player.h"

const char *const cli_program = "test_v4l2";

static char error[CLI_ERROR];

static camera_status camera_open(const char *query, source **out)
{
    char rest[128];
    const source_request request = {.uri = "v4l2-raw:///dev/video7", .format = -1, .yuv = -1, .held = 3};
    (void)snprintf(rest, sizeof rest, "/dev/video7%s", query);
    error[0] = '\0';
    return v4l2_open(&request, rest, &player_calls, out, error);
}

static source *opened(const char *query)
{
    source *out = NULL;
    const camera_status status = camera_open(query, &out);
    if (status != CAMERA_OK) {
        fail_msg("%s", error);
    }
    assert_true(camera.streaming);
    return out;
}

static void refused(const char *query, camera_status status, const char *sentence)
{
    source *out = NULL;
    assert_int_equal(camera_open(query, &out), status);
    assert_null(out);
    if (!strstr(error, sentence)) {
        fail_msg("'%s' does not say '%s'", error, sentence);
    }
}

/* Rows of a plane are those that the driver wrote. */
static void rows_check(const void *start, size_t stride, size_t bytes, uint32_t rows, uint32_t memory,
                       size_t offset, size_t line)
{
    assert_int_equal(stride, line);
    for (uint32_t y = 0; y < rows; y++) {
        const unsigned char *row = (const unsigned char *)start + stride * y;
        for (size_t x = 0; x < bytes; x++) {
            assert_int_equal(row[x], player_byte(camera.frame - 1, memory, offset + line * y + x));
        }
    }
}

typedef struct format_case {
    uint32_t code;
    mts_pixel_format format;
    size_t pixel_bytes; /* of a row of 31 */
} format_case;

static const format_case cases[] = {
    {V4L2_PIX_FMT_NV12, MTS_PIXEL_FORMAT_NV12, 31},    {V4L2_PIX_FMT_NV21, MTS_PIXEL_FORMAT_NV21, 31},
    {V4L2_PIX_FMT_YUV420, MTS_PIXEL_FORMAT_I420, 31},  {V4L2_PIX_FMT_NV12M, MTS_PIXEL_FORMAT_NV12, 31},
    {V4L2_PIX_FMT_NV21M, MTS_PIXEL_FORMAT_NV21, 31},   {V4L2_PIX_FMT_YUV420M, MTS_PIXEL_FORMAT_I420, 31},
    {V4L2_PIX_FMT_YUYV, MTS_PIXEL_FORMAT_YUYV, 64},    {V4L2_PIX_FMT_UYVY, MTS_PIXEL_FORMAT_UYVY, 64},
    {V4L2_PIX_FMT_RGB24, MTS_PIXEL_FORMAT_RGB, 93},    {V4L2_PIX_FMT_BGR24, MTS_PIXEL_FORMAT_BGR, 93},
    {V4L2_PIX_FMT_RGBA32, MTS_PIXEL_FORMAT_RGBA, 124}, {V4L2_PIX_FMT_RGBX32, MTS_PIXEL_FORMAT_RGBA, 124},
    {V4L2_PIX_FMT_ABGR32, MTS_PIXEL_FORMAT_BGRA, 124}, {V4L2_PIX_FMT_XBGR32, MTS_PIXEL_FORMAT_BGRA, 124},
    {V4L2_PIX_FMT_GREY, MTS_PIXEL_FORMAT_GREY, 31},
};

static void chroma_check(const mts_frame *frame)
{
    const uint32_t planes = frame->format == MTS_PIXEL_FORMAT_I420 ? 2 : 1;
    const size_t bytes = planes == 2 ? 16 : 32;
    for (uint32_t i = 0; i < planes; i++) {
        if (camera.memories > 1) {
            rows_check(frame->chroma[i], frame->chroma_stride[i], bytes, 9, i + 1, 0, camera.lines[i + 1]);
            continue;
        }
        const size_t line = planes == 2 ? camera.lines[0] / 2 : camera.lines[0];
        const size_t offset = camera.lines[0] * 17 + i * line * 9;
        rows_check(frame->chroma[i], frame->chroma_stride[i], bytes, 9, 0, offset, line);
    }
}

static void format_run(const format_case *entry, bool planes, size_t data_offset)
{
    source_frame frame;
    (void)player_make(NULL);
    camera.planes = planes;
    camera.capabilities =
        V4L2_CAP_STREAMING | (planes ? V4L2_CAP_VIDEO_CAPTURE_MPLANE : V4L2_CAP_VIDEO_CAPTURE);
    camera.codes[0] = V4L2_PIX_FMT_MJPEG;
    camera.codes[1] = entry->code;
    camera.codes[2] = 0;
    camera.data_offset = data_offset;
    source *out = opened("");
    assert_int_equal(out->info.format, entry->format);
    assert_true(out->info.live);
    for (uint32_t i = 0; i < 12; i++) {
        assert_int_equal(source_next(out, 100, &frame, error), CAMERA_OK);
        assert_int_equal(frame.number, i);
        assert_int_equal(frame.frame.width, 31);
        assert_int_equal(frame.frame.height, 17);
        assert_int_equal(frame.frame.format, entry->format);
        rows_check(frame.frame.data, frame.frame.stride, entry->pixel_bytes, 17, 0, 0, camera.lines[0]);
        if (entry->pixel_bytes == 31 && entry->format != MTS_PIXEL_FORMAT_GREY) {
            chroma_check(&frame.frame);
        } else {
            assert_null(frame.frame.chroma[0]);
        }
        source_release(out, &frame);
    }
    assert_true(frame.time_ms > 11 * 32.9 && frame.time_ms < 11 * 33.1);
    source_close(&out);
    (void)player_check(NULL);
}

static void every_format_arrives_with_its_planes_and_strides(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (player_memories(cases[i].code) == 1) {
            format_run(&cases[i], false, 0);
        }
        format_run(&cases[i], true, 0);
        format_run(&cases[i], true, 64);
    }
}

static void colour_comes_before_grey_and_few_bytes_before_many(void **state)
{
    (void)state;
    const uint32_t codes[4] = {V4L2_PIX_FMT_GREY, V4L2_PIX_FMT_RGB24, V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_NV12};
    memcpy(camera.codes, codes, sizeof codes);
    source *out = opened("");
    assert_int_equal(out->info.format, MTS_PIXEL_FORMAT_NV12);
    source_close(&out);
}

static void a_format_that_is_asked_for_is_taken(void **state)
{
    (void)state;
    const uint32_t codes[4] = {V4L2_PIX_FMT_NV12, V4L2_PIX_FMT_GREY, 0, 0};
    memcpy(camera.codes, codes, sizeof codes);
    source *out = opened("?format=grey&fps=15");
    assert_int_equal(out->info.format, MTS_PIXEL_FORMAT_GREY);
    assert_true(out->info.fps > 14.9 && out->info.fps < 15.1);
    source_close(&out);
}

static void another_size_than_asked_for_is_told(void **state)
{
    (void)state;
    source *out = opened("?width=640&height=480");
    assert_int_equal(out->info.width, 31);
    assert_non_null(strstr(out->info.note, "no 640x480"));
    source_close(&out);
}

static void colour_standards_are_told_apart(void **state)
{
    static const struct {
        uint32_t colorspace, encoding, quantization;
        mts_yuv yuv;
    } rows[] = {
        {V4L2_COLORSPACE_SMPTE170M, 0, 0, MTS_YUV_BT601},
        {V4L2_COLORSPACE_JPEG, 0, 0, MTS_YUV_BT601_FULL},
        {V4L2_COLORSPACE_REC709, 0, 0, MTS_YUV_BT709},
        {V4L2_COLORSPACE_SRGB, V4L2_YCBCR_ENC_709, V4L2_QUANTIZATION_FULL_RANGE, MTS_YUV_BT709_FULL},
        {V4L2_COLORSPACE_SRGB, 0, 0, MTS_YUV_BT601},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)player_make(NULL);
        camera.colorspace = rows[i].colorspace;
        camera.encoding = rows[i].encoding;
        camera.quantization = rows[i].quantization;
        source *out = opened("");
        assert_int_equal(out->info.yuv, rows[i].yuv);
        source_close(&out);
        (void)player_check(NULL);
    }
    (void)player_make(NULL);
    source *out = opened("?yuv=bt709");
    assert_int_equal(out->info.yuv, MTS_YUV_BT709);
    source_close(&out);
}

static void what_is_no_camera_is_absent(void **state)
{
    (void)state;
    camera.open_errno = ENOENT;
    refused("", CAMERA_ABSENT, "cannot open the camera '/dev/video7': No such file");
    camera.open_errno = EACCES;
    refused("", CAMERA_ABSENT, "Permission denied");
    camera.open_errno = 0;
    camera.capabilities = V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_STREAMING;
    refused("", CAMERA_ABSENT, "does not capture video");
    camera.capabilities = V4L2_CAP_VIDEO_CAPTURE;
    refused("", CAMERA_ABSENT, "does not stream its buffers");
}

static void a_camera_that_another_program_uses_is_absent(void **state)
{
    (void)state;
    camera.set_errno = EBUSY;
    refused("", CAMERA_ABSENT, "another program uses it");
}

static void formats_that_the_library_does_not_take_are_listed(void **state)
{
    (void)state;
    camera.codes[0] = V4L2_PIX_FMT_MJPEG;
    camera.codes[1] = V4L2_PIX_FMT_H264;
    refused("", CAMERA_FORMAT, "has the formats MJPG, H264, none of which");
    camera.codes[1] = V4L2_PIX_FMT_YUYV;
    refused("?format=nv12", CAMERA_FORMAT, "but no nv12");
    camera.codes[0] = 0;
    refused("", CAMERA_FORMAT, "(none)");
}

static void a_driver_that_contradicts_itself_is_refused(void **state)
{
    (void)state;
    camera.sets_code = V4L2_PIX_FMT_MJPEG;
    refused("", CAMERA_FORMAT, "does not fit");
    (void)player_make(NULL);
    camera.width = 0;
    refused("", CAMERA_FORMAT, "does not fit");
    (void)player_make(NULL);
    camera.cut = 1;
    refused("", CAMERA_FORMAT, "its frames take");
    (void)player_check(NULL);
    (void)player_make(NULL);
    camera.buffers_most = 2;
    refused("", CAMERA_ABSENT, "has 2 buffers");
}

static void a_camera_that_vanishes_is_named_with_the_frames_that_came(void **state)
{
    source_frame frames[2];
    (void)state;
    camera.vanish_at = 5;
    source *out = opened("");
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(source_next(out, 100, &frames[0], error), CAMERA_OK);
        source_release(out, &frames[0]);
    }
    assert_int_equal(source_next(out, 100, &frames[1], error), CAMERA_OK);
    assert_int_equal(source_next(out, 100, &frames[0], error), CAMERA_VANISHED);
    assert_non_null(strstr(error, "vanished after 5 frames"));
    assert_non_null(strstr(error, "No such device"));
    assert_int_equal(((const unsigned char *)frames[1].frame.data)[0],
                     player_byte(4, 0, 0)); /* still there */
    source_release(out, &frames[1]);        /* to a driver that is gone */
    assert_int_equal(source_next(out, 100, &frames[0], error), CAMERA_VANISHED);
    source_close(&out);
}

static void a_broken_frame_is_left_out(void **state)
{
    source_frame frame;
    (void)state;
    camera.broken_at = 2;
    source *out = opened("");
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(source_next(out, 100, &frame, error), CAMERA_OK);
        assert_int_equal(((const unsigned char *)frame.frame.data)[0], player_byte(i + (i >= 2), 0, 0));
        source_release(out, &frame);
    }
    source_close(&out);
}

static void a_frame_without_a_byte_is_left_out(void **state)
{
    source_frame frame;
    (void)state;
    for (uint32_t planes = 0; planes < 2; planes++) {
        (void)player_make(NULL);
        camera.planes = planes > 0;
        camera.capabilities =
            V4L2_CAP_STREAMING | (planes ? V4L2_CAP_VIDEO_CAPTURE_MPLANE : V4L2_CAP_VIDEO_CAPTURE);
        camera.empty_at = 2;
        source *out = opened("");
        for (uint32_t i = 0; i < 6; i++) {
            assert_int_equal(source_next(out, 100, &frame, error), CAMERA_OK);
            assert_int_equal(((const unsigned char *)frame.frame.data)[0], player_byte(i + (i >= 2), 0, 0));
            source_release(out, &frame);
        }
        source_close(&out);
        (void)player_check(NULL);
    }
}

static void a_driver_that_names_a_buffer_that_is_out_ends_the_source(void **state)
{
    source_frame frames[3];
    (void)state;
    camera.again_at = 2;
    source *out = opened("");
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(source_next(out, 100, &frames[i], error), CAMERA_OK);
    }
    assert_int_equal(source_next(out, 100, &frames[2], error), CAMERA_VANISHED);
    assert_non_null(strstr(error, "names buffer 1, which it does not have"));
    source_release(out, &frames[0]);
    source_release(out, &frames[1]);
    source_close(&out);
}

static void failures_that_pass_are_passed_over(void **state)
{
    source_frame frame;
    (void)state;
    camera.hiccups_at = 3;
    source *out = opened("");
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(source_next(out, 1000, &frame, error), CAMERA_OK);
        source_release(out, &frame);
    }
    assert_int_equal(camera.hiccups, 3);
    source_close(&out);
}

static void signals_are_slept_through_but_not_for_ever(void **state)
{
    source_frame frame;
    (void)state;
    camera.signals = 3;
    source *out = opened("");
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(source_next(out, 1000, &frame, error), CAMERA_OK);
        source_release(out, &frame);
    }
    source_close(&out);
    camera.signals = UINT32_MAX;
    (void)alarm(20); /* a loop without an end ends the test */
    refused("", CAMERA_ABSENT, "Interrupted system call");
    (void)alarm(0);
}

static void a_camera_that_gives_no_frame_is_waited_for(void **state)
{
    source_frame frame;
    (void)state;
    camera.silent_at = 1;
    source *out = opened("");
    assert_int_equal(source_next(out, 10, &frame, error), CAMERA_OK);
    source_release(out, &frame);
    assert_int_equal(source_next(out, 10, &frame, error), CAMERA_WAITING);
    source_close(&out);
}

static void a_driver_that_is_ready_and_never_gives_ends_the_source(void **state)
{
    source_frame frame;
    (void)state;
    source *out = opened("");
    memset(camera.queued, 0, sizeof camera.queued); /* it has lost the buffers */
    assert_int_equal(source_next(out, 5000, &frame, error), CAMERA_VANISHED);
    assert_non_null(strstr(error, "again and again"));
    source_close(&out);
}

#define PLAYED(f) cmocka_unit_test_setup_teardown(f, player_make, player_check)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_arrives_with_its_planes_and_strides),
        PLAYED(colour_comes_before_grey_and_few_bytes_before_many),
        PLAYED(a_format_that_is_asked_for_is_taken),
        PLAYED(another_size_than_asked_for_is_told),
        PLAYED(colour_standards_are_told_apart),
        PLAYED(what_is_no_camera_is_absent),
        PLAYED(a_camera_that_another_program_uses_is_absent),
        PLAYED(formats_that_the_library_does_not_take_are_listed),
        PLAYED(a_driver_that_contradicts_itself_is_refused),
        PLAYED(a_camera_that_vanishes_is_named_with_the_frames_that_came),
        PLAYED(a_broken_frame_is_left_out),
        cmocka_unit_test(a_frame_without_a_byte_is_left_out),
        PLAYED(a_driver_that_names_a_buffer_that_is_out_ends_the_source),
        PLAYED(failures_that_pass_are_passed_over),
        PLAYED(signals_are_slept_through_but_not_for_ever),
        PLAYED(a_camera_that_gives_no_frame_is_waited_for),
        PLAYED(a_driver_that_is_ready_and_never_gives_ends_the_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
