/*
 * libFuzzer target: a camera's driver that answers anything. Frames that come from it lie in the memory that was mapped.
 */
#include <errno.h>
#include <string.h>

#include "camera/v4l2.h"
#include "fuzz/fuzz_bytes.h"

#define CALLS_MOST 4000
#define MAP_MOST 400000u
#define HELD_MOST 8

const char *const cli_program = "fuzz_v4l2";

static fuzz_bytes in;
static unsigned long calls;

static const uint32_t codes[] = {V4L2_PIX_FMT_NV12,   V4L2_PIX_FMT_NV12M,   V4L2_PIX_FMT_NV21,
                                 V4L2_PIX_FMT_YUV420, V4L2_PIX_FMT_YUV420M, V4L2_PIX_FMT_YUYV,
                                 V4L2_PIX_FMT_UYVY,   V4L2_PIX_FMT_RGB24,   V4L2_PIX_FMT_GREY,
                                 V4L2_PIX_FMT_XBGR32, V4L2_PIX_FMT_MJPEG};

static int play_open(void *context, const char *path)
{
    (void)context;
    (void)path;
    return 5;
}

static int play_close(void *context, int fd)
{
    (void)context;
    (void)fd;
    return 0;
}

static void play_format(struct v4l2_format *format)
{
    if (format->type == V4L2_BUF_TYPE_VIDEO_CAPTURE) {
        format->fmt.pix.width = fuzz_size(&in, 64);
        format->fmt.pix.height = fuzz_size(&in, 64);
        format->fmt.pix.bytesperline = fuzz_size(&in, 200);
        format->fmt.pix.colorspace = fuzz_u8(&in);
        format->fmt.pix.ycbcr_enc = fuzz_u8(&in);
        return;
    }
    format->fmt.pix_mp.width = fuzz_size(&in, 64);
    format->fmt.pix_mp.height = fuzz_size(&in, 64);
    format->fmt.pix_mp.num_planes = (uint8_t)fuzz_size(&in, 4);
    for (int i = 0; i < 3; i++) {
        format->fmt.pix_mp.plane_fmt[i].bytesperline = fuzz_size(&in, 200);
    }
}

static void play_buffer(struct v4l2_buffer *buffer, unsigned long request)
{
    if (request == VIDIOC_DQBUF) {
        buffer->index = fuzz_size(&in, 8);
    }
    buffer->flags = fuzz_u8(&in) % 8 ? 0 : fuzz_u32(&in);
    if (buffer->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE) {
        for (uint32_t i = 0; i < buffer->length && i < 3; i++) {
            struct v4l2_plane *plane = &buffer->m.planes[i];
            plane->length = fuzz_u8(&in) % 2 ? 100000 : fuzz_size(&in, 300000);
            plane->bytesused = fuzz_u8(&in) % 2 ? 100000 : fuzz_u32(&in);
            plane->data_offset = fuzz_u8(&in) % 2 ? 0 : fuzz_size(&in, 200000);
        }
        return;
    }
    buffer->length = fuzz_u8(&in) % 2 ? 100000 : fuzz_size(&in, 300000);
    buffer->bytesused = fuzz_u8(&in) % 2 ? 100000 : fuzz_u32(&in);
}

static int play_ioctl(void *context, int fd, unsigned long request, void *argument)
{
    static const int numbers[] = {EINVAL, ENODEV, EAGAIN, EIO, EBUSY, EINTR};
    (void)context;
    (void)fd;
    const uint32_t kind = fuzz_u8(&in);
    if (++calls > CALLS_MOST || kind >= 250) {
        errno = calls > CALLS_MOST ? ENODEV : numbers[kind - 250];
        return -1;
    }
    if (request == VIDIOC_QUERYCAP) {
        struct v4l2_capability *can = argument;
        can->capabilities = (fuzz_u8(&in) % 2 ? V4L2_CAP_VIDEO_CAPTURE : V4L2_CAP_VIDEO_CAPTURE_MPLANE) |
                            (fuzz_u8(&in) % 8 ? V4L2_CAP_STREAMING : 0u);
    } else if (request == VIDIOC_ENUM_FMT) {
        struct v4l2_fmtdesc *entry = argument;
        entry->pixelformat = fuzz_u8(&in) % 8 ? codes[fuzz_u8(&in) % 11] : fuzz_u32(&in);
        if (entry->index > 20) {
            errno = EINVAL;
            return -1;
        }
    } else if (request == VIDIOC_G_FMT || request == VIDIOC_S_FMT) {
        play_format(argument);
    } else if (request == VIDIOC_G_PARM || request == VIDIOC_S_PARM) {
        struct v4l2_streamparm *rate = argument;
        rate->parm.capture.capability = fuzz_u8(&in) % 2 ? V4L2_CAP_TIMEPERFRAME : 0;
        rate->parm.capture.timeperframe.numerator = fuzz_size(&in, 2);
        rate->parm.capture.timeperframe.denominator = fuzz_size(&in, 60);
    } else if (request == VIDIOC_REQBUFS) {
        struct v4l2_requestbuffers *wanted = argument;
        wanted->count = fuzz_u8(&in) % 4 ? wanted->count : fuzz_size(&in, 32);
    } else if (request == VIDIOC_QUERYBUF || request == VIDIOC_DQBUF) {
        play_buffer(argument, request);
    }
    return 0;
}

static void *play_map(void *context, int fd, size_t length, uint64_t offset)
{
    (void)context;
    (void)fd;
    (void)offset;
    errno = ENOMEM;
    return length > MAP_MOST ? NULL : malloc(length ? length : 1);
}

static int play_unmap(void *context, void *memory, size_t length)
{
    (void)context;
    (void)length;
    free(memory);
    return 0;
}

static int play_wait(void *context, int fd, uint32_t timeout_ms)
{
    (void)context;
    (void)fd;
    (void)timeout_ms;
    return fuzz_u8(&in) % 8 != 7;
}

static void touch(const void *from, size_t stride, size_t row, uint32_t rows)
{
    volatile unsigned char any = 0;
    for (uint32_t y = 0; from && y < rows; y++) {
        for (size_t x = 0; x < row; x++) {
            any = (unsigned char)(any ^ ((const unsigned char *)from)[stride * y + x]);
        }
    }
}

static void touch_frame(const mts_frame *frame)
{
    const size_t half = (frame->width + 1u) / 2;
    const uint32_t half_rows = (frame->height + 1u) / 2;
    size_t row = frame->width;
    switch (frame->format) {
    case MTS_PIXEL_FORMAT_RGB:
    case MTS_PIXEL_FORMAT_BGR:
        row *= 3;
        break;
    case MTS_PIXEL_FORMAT_RGBA:
    case MTS_PIXEL_FORMAT_BGRA:
        row *= 4;
        break;
    case MTS_PIXEL_FORMAT_YUYV:
    case MTS_PIXEL_FORMAT_UYVY:
        row = 4 * half;
        break;
    default:
        break;
    }
    touch(frame->data, frame->stride, row, frame->height);
    if (frame->format == MTS_PIXEL_FORMAT_NV12 || frame->format == MTS_PIXEL_FORMAT_NV21) {
        touch(frame->chroma[0], frame->chroma_stride[0], 2 * half, half_rows);
    } else if (frame->format == MTS_PIXEL_FORMAT_I420) {
        touch(frame->chroma[0], frame->chroma_stride[0], half, half_rows);
        touch(frame->chroma[1], frame->chroma_stride[1], half, half_rows);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const v4l2_calls played = {NULL, play_open, play_close, play_ioctl, play_map, play_unmap, play_wait};
    char error[CLI_ERROR] = "";
    source_frame frames[HELD_MOST];
    source *camera = NULL;
    uint32_t held = 0;
    in = (fuzz_bytes){data, size};
    calls = 0;
    source_request wanted = {.uri = "v4l2-raw:///dev/video0", .yuv = -1, .fps = 30, .held = fuzz_u8(&in) % 6};
    wanted.format = fuzz_u8(&in) % 3 ? -1 : (int)(fuzz_u8(&in) % 10);
    const camera_status status = v4l2_open(&wanted, "/dev/video0", &played, &camera, error);
    if ((status == CAMERA_OK) != (camera != NULL)) {
        abort(); /* a finding */
    }
    for (int i = 0; camera && i < 20; i++) {
        const camera_status got =
            held <= wanted.held ? source_next(camera, 1, &frames[held], error) : CAMERA_WAITING;
        if (got == CAMERA_OK) {
            touch_frame(&frames[held++].frame);
        } else if (got != CAMERA_WAITING) {
            break;
        }
        if (held > 0 && fuzz_u8(&in) % 2) {
            source_release(camera, &frames[--held]);
        }
    }
    source_close(&camera);
    return 0;
}
