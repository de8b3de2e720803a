/*
 * v4l2_player.c: see v4l2_player.h.
 */
#include "camera/v4l2_player.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PADDING 16 /* bytes behind every row */
#define DESCRIPTOR 77

player camera;

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

uint32_t player_memories(uint32_t code)
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
    camera.memories = player_memories(code);
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

unsigned char player_byte(uint32_t frame, uint32_t memory, size_t at)
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
            camera.memory[i][p][camera.data_offset + at] = player_byte(camera.frame, p, at);
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
    if (camera.interrupted < camera.signals) {
        camera.interrupted += camera.signals < UINT32_MAX;
        return refuse(EINTR);
    }
    camera.interrupted = 0;
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

const v4l2_calls player_calls = {.open = play_open,
                                 .close = play_close,
                                 .ioctl = play_ioctl,
                                 .map = play_map,
                                 .unmap = play_unmap,
                                 .wait = play_wait};

int player_make(void **state)
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

int player_check(void **state)
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
