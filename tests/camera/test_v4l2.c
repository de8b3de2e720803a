/*
 * test_v4l2.c: a camera that is played: behind the system calls stands a driver of our own, which offers
 * formats, lends buffers with paddings, loses frames, and goes away.
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

#include <cmocka.h>

#include "camera/v4l2.h"

const char *const cli_program = "test_v4l2";

#define BUFFERS 8
#define PADDING 16 /* bytes behind every row */
#define DESCRIPTOR 77

/* A driver. */
typedef struct player {
    /* what it is like */
    bool planes; /* the API of several planes */
    uint32_t capabilities;
    uint32_t codes[4]; /* formats that it lists, 0 ends */
    uint32_t width, height;
    uint32_t buffers_most;
    uint32_t vanish_at;  /* frame before which it goes away, UINT32_MAX: never */
    uint32_t broken_at;  /* frame that is marked as an error */
    uint32_t empty_at;   /* frame that says that it has no bytes */
    uint32_t again_at;   /* frame that is said to lie where the one before it lies */
    uint32_t hiccups_at; /* frame before which taking fails 3 times */
    uint32_t silent_at;  /* frame from which on none comes */
    int open_errno, set_errno;
    uint32_t sets_code; /* what S_FMT makes of it; 0: what was asked for */
    uint32_t colorspace, encoding, quantization;
    size_t cut; /* bytes that buffers are too short */
    size_t data_offset;
    /* what it does */
    uint32_t code, memories;
    size_t lines[3], sizes[3];
    unsigned char *memory[BUFFERS][3];
    bool queued[BUFFERS], mapped[BUFFERS][3];
    uint32_t count, frame, next;
    bool opened, streaming;
    int hiccups, fps;
} player;

static player camera;
static char error[CLI_ERROR];

static bool gone(void)
{
    return camera.frame >= camera.vanish_at;
}

static int refuse(int number)
{
    errno = number;
    return -1;
}

static int play_open(void *context, const char *path)
{
    (void)context;
    assert_string_equal(path, "/dev/video7");
    if (camera.open_errno) {
        return refuse(camera.open_errno);
    }
    camera.opened = true;
    return DESCRIPTOR;
}

static int play_close(void *context, int fd)
{
    (void)context;
    assert_int_equal(fd, DESCRIPTOR);
    camera.opened = false;
    return 0;
}

static uint32_t memories_of(uint32_t code)
{
    return code == V4L2_PIX_FMT_YUV420M                               ? 3
           : code == V4L2_PIX_FMT_NV12M || code == V4L2_PIX_FMT_NV21M ? 2
                                                                      : 1;
}

/* Lines with padding, and what each memory takes. */
static void lay_out(uint32_t code)
{
    const size_t width = camera.width, height = camera.height, half = (width + 1) / 2;
    const size_t low = (height + 1) / 2;
    camera.code = code;
    camera.memories = memories_of(code);
    switch (code) {
    case V4L2_PIX_FMT_NV12M:
    case V4L2_PIX_FMT_NV21M:
        camera.lines[0] = width + PADDING;
        camera.lines[1] = 2 * half + 2 * PADDING;
        camera.sizes[1] = camera.lines[1] * low;
        camera.sizes[0] = camera.lines[0] * height;
        break;
    case V4L2_PIX_FMT_YUV420M:
        camera.lines[0] = width + PADDING;
        camera.lines[1] = camera.lines[2] = half + PADDING;
        camera.sizes[0] = camera.lines[0] * height;
        camera.sizes[1] = camera.sizes[2] = camera.lines[1] * low;
        break;
    case V4L2_PIX_FMT_NV12:
    case V4L2_PIX_FMT_NV21:
    case V4L2_PIX_FMT_YUV420:
        camera.lines[0] = width + PADDING;
        camera.sizes[0] = camera.lines[0] * height + camera.lines[0] * low;
        break;
    default:
        camera.lines[0] = PADDING + (code == V4L2_PIX_FMT_GREY                                  ? width
                                     : code == V4L2_PIX_FMT_YUYV || code == V4L2_PIX_FMT_UYVY   ? 4 * half
                                     : code == V4L2_PIX_FMT_RGB24 || code == V4L2_PIX_FMT_BGR24 ? 3 * width
                                                                                                : 4 * width);
        camera.sizes[0] = camera.lines[0] * height;
        break;
    }
}

static int query_capabilities(struct v4l2_capability *can)
{
    (void)snprintf((char *)can->card, sizeof can->card, "Played camera");
    can->capabilities = camera.capabilities | V4L2_CAP_DEVICE_CAPS;
    can->device_caps = camera.capabilities;
    return 0;
}

static int format_ask(struct v4l2_format *format, bool set)
{
    if (set && camera.set_errno) {
        return refuse(camera.set_errno);
    }
    if (camera.planes) {
        struct v4l2_pix_format_mplane *pix = &format->fmt.pix_mp;
        if (set) {
            lay_out(camera.sets_code ? camera.sets_code : pix->pixelformat);
        }
        pix->width = camera.width;
        pix->height = camera.height;
        pix->pixelformat = camera.code;
        pix->num_planes = (uint8_t)camera.memories;
        pix->colorspace = camera.colorspace;
        pix->ycbcr_enc = (uint8_t)camera.encoding;
        pix->quantization = (uint8_t)camera.quantization;
        for (uint32_t i = 0; i < camera.memories; i++) {
            pix->plane_fmt[i].bytesperline = (uint32_t)camera.lines[i];
            pix->plane_fmt[i].sizeimage = (uint32_t)camera.sizes[i];
        }
        return 0;
    }
    struct v4l2_pix_format *pix = &format->fmt.pix;
    if (set) {
        lay_out(camera.sets_code ? camera.sets_code : pix->pixelformat);
    }
    pix->width = camera.width;
    pix->height = camera.height;
    pix->pixelformat = camera.code;
    pix->bytesperline = (uint32_t)camera.lines[0];
    pix->sizeimage = (uint32_t)camera.sizes[0];
    pix->colorspace = camera.colorspace;
    pix->ycbcr_enc = camera.encoding;
    pix->quantization = camera.quantization;
    return 0;
}

static int buffers_make(struct v4l2_requestbuffers *wanted)
{
    camera.count = wanted->count < camera.buffers_most ? wanted->count : camera.buffers_most;
    wanted->count = camera.count;
    for (uint32_t i = 0; i < camera.count; i++) {
        for (uint32_t p = 0; p < camera.memories; p++) {
            camera.memory[i][p] = calloc(1, camera.sizes[p] + camera.data_offset);
            assert_non_null(camera.memory[i][p]);
        }
    }
    return 0;
}

static int buffer_query(struct v4l2_buffer *buffer)
{
    assert_true(buffer->index < camera.count);
    for (uint32_t p = 0; p < camera.memories; p++) {
        const uint32_t length = (uint32_t)(camera.sizes[p] + camera.data_offset - camera.cut);
        if (camera.planes) {
            buffer->m.planes[p].length = length;
            buffer->m.planes[p].m.mem_offset = 16 * buffer->index + p;
        } else {
            buffer->length = length;
            buffer->m.offset = 16 * buffer->index;
        }
    }
    return 0;
}

static int buffer_queue(const struct v4l2_buffer *buffer)
{
    assert_true(buffer->index < camera.count);
    assert_false(camera.queued[buffer->index]);
    camera.queued[buffer->index] = true;
    return gone() ? refuse(ENODEV) : 0;
}

/* Every byte of frame n is n plus its plane and its place. */
static unsigned char byte_of(uint32_t frame, uint32_t memory, size_t at)
{
    return (unsigned char)(frame * 31 + memory * 7 + at * 3);
}

static int buffer_take(struct v4l2_buffer *buffer)
{
    if (gone()) {
        return refuse(ENODEV);
    }
    if (camera.frame == camera.hiccups_at && camera.hiccups < 3) {
        camera.hiccups++;
        return refuse(camera.hiccups == 2 ? EAGAIN : EIO);
    }
    uint32_t i = 0;
    while (i < camera.count && !camera.queued[(camera.next + i) % camera.count]) {
        i++;
    }
    if (i == camera.count) {
        return refuse(EAGAIN);
    }
    i = (camera.next + i) % camera.count;
    if (camera.frame == camera.again_at) {
        i = (camera.next + camera.count - 1) % camera.count;
    }
    camera.next = i + 1;
    camera.queued[i] = false;
    buffer->index = i;
    buffer->flags = camera.frame == camera.broken_at ? V4L2_BUF_FLAG_ERROR : 0;
    buffer->timestamp.tv_sec = 100;
    buffer->timestamp.tv_usec = (long)camera.frame * 33000;
    for (uint32_t p = 0; p < camera.memories; p++) {
        for (size_t at = 0; at < camera.sizes[p]; at++) {
            camera.memory[i][p][camera.data_offset + at] = byte_of(camera.frame, p, at);
        }
        const uint32_t used =
            camera.frame == camera.empty_at ? 0 : (uint32_t)(camera.sizes[p] + camera.data_offset);
        if (camera.planes) {
            buffer->m.planes[p].bytesused = used;
            buffer->m.planes[p].data_offset = (uint32_t)camera.data_offset;
        } else {
            buffer->bytesused = used;
        }
    }
    camera.frame++;
    return 0;
}

static int play_ioctl(void *context, int fd, unsigned long request, void *argument)
{
    (void)context;
    assert_int_equal(fd, DESCRIPTOR);
    if (request == VIDIOC_QUERYCAP) {
        return query_capabilities(argument);
    }
    if (request == VIDIOC_ENUM_FMT) {
        struct v4l2_fmtdesc *entry = argument;
        if (entry->index >= 4 || !camera.codes[entry->index]) {
            return refuse(EINVAL);
        }
        entry->pixelformat = camera.codes[entry->index];
        return 0;
    }
    if (request == VIDIOC_G_FMT || request == VIDIOC_S_FMT) {
        return format_ask(argument, request == VIDIOC_S_FMT);
    }
    if (request == VIDIOC_G_PARM || request == VIDIOC_S_PARM) {
        struct v4l2_captureparm *capture = &((struct v4l2_streamparm *)argument)->parm.capture;
        if (request == VIDIOC_S_PARM) {
            camera.fps = (int)(capture->timeperframe.denominator / capture->timeperframe.numerator);
        }
        capture->capability = V4L2_CAP_TIMEPERFRAME;
        capture->timeperframe = (struct v4l2_fract){1, (uint32_t)camera.fps};
        return 0;
    }
    if (request == VIDIOC_REQBUFS) {
        return buffers_make(argument);
    }
    if (request == VIDIOC_QUERYBUF) {
        return buffer_query(argument);
    }
    if (request == VIDIOC_QBUF) {
        return buffer_queue(argument);
    }
    if (request == VIDIOC_DQBUF) {
        return buffer_take(argument);
    }
    assert_true(request == VIDIOC_STREAMON || request == VIDIOC_STREAMOFF);
    camera.streaming = request == VIDIOC_STREAMON;
    return 0;
}

static void *play_map(void *context, int fd, size_t length, uint64_t offset)
{
    (void)context;
    assert_int_equal(fd, DESCRIPTOR);
    const uint32_t index = (uint32_t)offset / 16, memory = (uint32_t)offset % 16;
    assert_true(index < camera.count && memory < camera.memories);
    assert_int_equal(length, camera.sizes[memory] + camera.data_offset - camera.cut);
    camera.mapped[index][memory] = true;
    return camera.memory[index][memory];
}

static int play_unmap(void *context, void *memory, size_t length)
{
    (void)context;
    (void)length;
    for (uint32_t i = 0; i < camera.count; i++) {
        for (uint32_t p = 0; p < 3; p++) {
            if (camera.memory[i][p] == memory) {
                assert_true(camera.mapped[i][p]);
                camera.mapped[i][p] = false;
                return 0;
            }
        }
    }
    fail_msg("memory that was never mapped");
    return 0;
}

static int play_wait(void *context, int fd, uint32_t timeout_ms)
{
    (void)context;
    (void)timeout_ms;
    assert_int_equal(fd, DESCRIPTOR);
    return camera.frame >= camera.silent_at ? 0 : 1; /* a camera that is gone is readable: it has an error */
}

static const v4l2_calls calls = {.open = play_open,
                                 .close = play_close,
                                 .ioctl = play_ioctl,
                                 .map = play_map,
                                 .unmap = play_unmap,
                                 .wait = play_wait};

static int player_make(void **state)
{
    (void)state;
    camera = (player){.capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING,
                      .codes = {V4L2_PIX_FMT_YUYV},
                      .width = 31,
                      .height = 17,
                      .buffers_most = BUFFERS,
                      .vanish_at = UINT32_MAX,
                      .broken_at = UINT32_MAX,
                      .empty_at = UINT32_MAX,
                      .again_at = UINT32_MAX,
                      .hiccups_at = UINT32_MAX,
                      .silent_at = UINT32_MAX,
                      .colorspace = V4L2_COLORSPACE_SRGB,
                      .fps = 30};
    lay_out(V4L2_PIX_FMT_YUYV);
    return 0;
}

/* Nothing may be left of a camera that was closed. */
static int player_check(void **state)
{
    (void)state;
    assert_false(camera.opened);
    assert_false(camera.streaming);
    for (uint32_t i = 0; i < BUFFERS; i++) {
        for (uint32_t p = 0; p < 3; p++) {
            assert_false(camera.mapped[i][p]);
            free(camera.memory[i][p]);
        }
    }
    return 0;
}

static camera_status camera_open(const char *query, source **out)
{
    char rest[128];
    const source_request request = {.uri = "v4l2-raw:///dev/video7", .format = -1, .yuv = -1, .held = 3};
    (void)snprintf(rest, sizeof rest, "/dev/video7%s", query);
    error[0] = '\0';
    return v4l2_open(&request, rest, &calls, out, error);
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
            assert_int_equal(row[x], byte_of(camera.frame - 1, memory, offset + line * y + x));
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
        if (memories_of(cases[i].code) == 1) {
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
    refused("", CAMERA_ABSENT, "does not lend its buffers");
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
    refused("", CAMERA_ABSENT, "lends 2 buffers");
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
    assert_int_equal(((const unsigned char *)frames[1].frame.data)[0], byte_of(4, 0, 0)); /* still there */
    source_release(out, &frames[1]); /* to a driver that is gone */
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
        assert_int_equal(((const unsigned char *)frame.frame.data)[0], byte_of(i + (i >= 2), 0, 0));
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
            assert_int_equal(((const unsigned char *)frame.frame.data)[0], byte_of(i + (i >= 2), 0, 0));
            source_release(out, &frame);
        }
        source_close(&out);
        (void)player_check(NULL);
    }
}

static void a_driver_that_names_a_buffer_that_is_lent_is_given_up(void **state)
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

static void a_driver_that_is_ready_and_never_gives_is_given_up(void **state)
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
        PLAYED(a_driver_that_names_a_buffer_that_is_lent_is_given_up),
        PLAYED(failures_that_pass_are_passed_over),
        PLAYED(a_camera_that_gives_no_frame_is_waited_for),
        PLAYED(a_driver_that_is_ready_and_never_gives_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
