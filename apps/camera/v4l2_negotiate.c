/*
 * v4l2_negotiate.c: which format, size and rate a V4L2 camera is set to, and how its
 * frames lie in memory. Drivers are not trusted: strides and sizes are checked before a
 * pixel is read.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kit/frames.h"
#include "v4l2.h"

#define FORMATS_MOST 256u
#define STRIDE_MOST ((size_t)1 << 20)
#define INTERRUPTIONS_MOST 1000 /* by signals, then it is a failure */

typedef struct pixel_row {
    uint32_t code;
    mts_pixel_format format;
    uint32_t memories;
} pixel_row;

/* In the order in which they are preferred: few bytes a pixel first, grey only where
   there is no colour. */
static const pixel_row pixels[] = {
    {V4L2_PIX_FMT_NV12, MTS_PIXEL_FORMAT_NV12, 1},   {V4L2_PIX_FMT_NV12M, MTS_PIXEL_FORMAT_NV12, 2},
    {V4L2_PIX_FMT_NV21, MTS_PIXEL_FORMAT_NV21, 1},   {V4L2_PIX_FMT_NV21M, MTS_PIXEL_FORMAT_NV21, 2},
    {V4L2_PIX_FMT_YUV420, MTS_PIXEL_FORMAT_I420, 1}, {V4L2_PIX_FMT_YUV420M, MTS_PIXEL_FORMAT_I420, 3},
    {V4L2_PIX_FMT_YUYV, MTS_PIXEL_FORMAT_YUYV, 1},   {V4L2_PIX_FMT_UYVY, MTS_PIXEL_FORMAT_UYVY, 1},
    {V4L2_PIX_FMT_RGB24, MTS_PIXEL_FORMAT_RGB, 1},   {V4L2_PIX_FMT_BGR24, MTS_PIXEL_FORMAT_BGR, 1},
    {V4L2_PIX_FMT_RGBX32, MTS_PIXEL_FORMAT_RGBA, 1}, {V4L2_PIX_FMT_RGBA32, MTS_PIXEL_FORMAT_RGBA, 1},
    {V4L2_PIX_FMT_XBGR32, MTS_PIXEL_FORMAT_BGRA, 1}, {V4L2_PIX_FMT_ABGR32, MTS_PIXEL_FORMAT_BGRA, 1},
    {V4L2_PIX_FMT_GREY, MTS_PIXEL_FORMAT_GREY, 1},
};
#define PIXEL_ROWS (sizeof pixels / sizeof pixels[0])

typedef struct talk {
    const v4l2_calls *calls;
    int fd;
    const char *path;
    const source_request *wanted;
    v4l2_shape *shape;
    char *note; /* 160 bytes */
    char *error;
} talk;

int v4l2_ioctl(const v4l2_calls *calls, int fd, unsigned long request, void *argument)
{
    int result = -1;
    errno = EINTR;
    for (int tries = 0; result < 0 && errno == EINTR && tries < INTERRUPTIONS_MOST; tries++) {
        result = calls->ioctl(calls->context, fd, request, argument);
    }
    return result;
}

static int ask(const talk *with, unsigned long request, void *argument)
{
    return v4l2_ioctl(with->calls, with->fd, request, argument);
}

static camera_status failed(const talk *with, const char *what)
{
    const camera_status status = errno == ENODEV ? CAMERA_VANISHED : CAMERA_ABSENT;
    return source_fail(with->error, status, "'%s': %s failed: %s", with->path, what, strerror(errno));
}

static camera_status kind_find(talk *with)
{
    struct v4l2_capability can = {0};
    if (ask(with, VIDIOC_QUERYCAP, &can) < 0) {
        return source_fail(with->error, CAMERA_ABSENT, "'%s' is no V4L2 device: %s", with->path,
                           strerror(errno));
    }
    const uint32_t bits = can.capabilities & V4L2_CAP_DEVICE_CAPS ? can.device_caps : can.capabilities;
    if (!(bits & (V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_VIDEO_CAPTURE_MPLANE))) {
        return source_fail(with->error, CAMERA_ABSENT, "'%s' (%.32s) is no camera: it does not capture video",
                           with->path, (const char *)can.card);
    }
    if (!(bits & V4L2_CAP_STREAMING)) {
        return source_fail(with->error, CAMERA_ABSENT,
                           "'%s' (%.32s) does not stream its buffers (no V4L2_CAP_STREAMING)", with->path,
                           (const char *)can.card);
    }
    with->shape->type =
        bits & V4L2_CAP_VIDEO_CAPTURE ? V4L2_BUF_TYPE_VIDEO_CAPTURE : V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
    return CAMERA_OK;
}

static void code_text(uint32_t code, char text[5])
{
    for (int i = 0; i < 4; i++) {
        const char letter = (char)(code >> (8 * i) & 0x7f);
        text[i] = letter >= ' ' && letter < 0x7f ? letter : '?';
    }
    text[4] = '\0';
}

/* The preferred one of the formats that the camera lists; PIXEL_ROWS: none. `list` names
   what it has. */
static size_t format_choose(const talk *with, char *list, size_t list_size)
{
    size_t best = PIXEL_ROWS;
    size_t length = 0;
    list[0] = '\0';
    for (uint32_t i = 0; i < FORMATS_MOST; i++) {
        struct v4l2_fmtdesc entry = {.index = i, .type = with->shape->type};
        char code[5];
        if (ask(with, VIDIOC_ENUM_FMT, &entry) < 0) {
            break;
        }
        code_text(entry.pixelformat, code);
        if (length + sizeof code + 2 < list_size) {
            length += (size_t)snprintf(list + length, list_size - length, "%s%s", i ? ", " : "", code);
        }
        for (size_t row = 0; row < best; row++) {
            const bool fits =
                with->wanted->format < 0 || pixels[row].format == (unsigned)with->wanted->format;
            if (pixels[row].code == entry.pixelformat && fits) {
                best = row;
            }
        }
    }
    return best;
}

/* Factors of colour; what the library has no factors for takes the nearest. */
static mts_yuv yuv_of(uint32_t colorspace, uint32_t encoding, uint32_t quantization)
{
    if (encoding == V4L2_YCBCR_ENC_DEFAULT) {
        encoding = V4L2_MAP_YCBCR_ENC_DEFAULT(colorspace);
    }
    if (quantization == V4L2_QUANTIZATION_DEFAULT) {
        quantization = V4L2_MAP_QUANTIZATION_DEFAULT(false, colorspace, encoding);
    }
    const bool full = quantization == V4L2_QUANTIZATION_FULL_RANGE;
    const bool hd = encoding == V4L2_YCBCR_ENC_709 || encoding == V4L2_YCBCR_ENC_XV709 ||
                    encoding == V4L2_YCBCR_ENC_BT2020 || encoding == V4L2_YCBCR_ENC_BT2020_CONST_LUM ||
                    encoding == V4L2_YCBCR_ENC_SMPTE240M;
    return hd ? (full ? MTS_YUV_BT709_FULL : MTS_YUV_BT709) : (full ? MTS_YUV_BT601_FULL : MTS_YUV_BT601);
}

/* Where the planes lie, from the bytes of a line that the driver named: V4L2 derives
   those of the other planes from the first one's where all lie in one memory. */
static void layout_make(v4l2_shape *shape, const size_t lines[V4L2_PLANES_MOST])
{
    const size_t rows = (shape->height + 1u) / 2u;
    const bool planar = shape->format == MTS_PIXEL_FORMAT_I420;
    shape->stride[0] = lines[0] ? lines[0] : cli_format_row_bytes(shape->format, shape->width);
    shape->needed[0] = shape->stride[0] * shape->height;
    if (!cli_format_chroma_bytes(shape->format, shape->width)) {
        return;
    }
    for (uint32_t i = 1; i < (planar ? 3u : 2u); i++) {
        const bool own = shape->memories > 1;
        shape->stride[i] = own && lines[i] ? lines[i] : shape->stride[0] / (planar ? 2 : 1);
        shape->offset[i] = own ? 0 : shape->needed[0];
        shape->needed[own ? i : 0] = shape->offset[i] + shape->stride[i] * rows;
    }
}

/* Every row has room for its pixels, and is not absurdly long. */
static bool layout_check(const v4l2_shape *shape)
{
    const size_t least = cli_format_row_bytes(shape->format, shape->width);
    const size_t chroma = cli_format_chroma_bytes(shape->format, shape->width);
    bool well = shape->stride[0] >= least && shape->stride[0] <= STRIDE_MOST;
    for (uint32_t i = 1; chroma && i < (shape->format == MTS_PIXEL_FORMAT_I420 ? 3u : 2u); i++) {
        well = well && shape->stride[i] >= chroma && shape->stride[i] <= STRIDE_MOST;
    }
    return well;
}

/* Reads what VIDIOC_S_FMT returned. False: it is not what was asked for, or contradicts
   itself. */
static bool shape_read(v4l2_shape *shape, const struct v4l2_format *format, const pixel_row *row)
{
    size_t lines[V4L2_PLANES_MOST] = {0};
    uint32_t code = 0;
    if (shape->type == V4L2_BUF_TYPE_VIDEO_CAPTURE) {
        const struct v4l2_pix_format *pix = &format->fmt.pix;
        code = pix->pixelformat;
        shape->width = pix->width;
        shape->height = pix->height;
        lines[0] = pix->bytesperline;
        shape->yuv = yuv_of(pix->colorspace, pix->ycbcr_enc, pix->quantization);
    } else {
        const struct v4l2_pix_format_mplane *pix = &format->fmt.pix_mp;
        code = pix->pixelformat;
        shape->width = pix->width;
        shape->height = pix->height;
        if (pix->num_planes != row->memories) {
            return false;
        }
        for (uint32_t i = 0; i < row->memories; i++) {
            lines[i] = pix->plane_fmt[i].bytesperline;
        }
        shape->yuv = yuv_of(pix->colorspace, pix->ycbcr_enc, pix->quantization);
    }
    if (code != row->code || shape->width == 0 || shape->height == 0 || shape->width > 16384 ||
        shape->height > 16384) {
        return false;
    }
    shape->format = row->format;
    shape->memories = row->memories;
    layout_make(shape, lines);
    return layout_check(shape);
}

static camera_status format_set(talk *with, const pixel_row *row)
{
    struct v4l2_format format = {.type = with->shape->type};
    const source_request *wanted = with->wanted;
    char code[5];
    if (ask(with, VIDIOC_G_FMT, &format) < 0) {
        return failed(with, "asking for the format");
    }
    if (format.type == V4L2_BUF_TYPE_VIDEO_CAPTURE) {
        struct v4l2_pix_format *pix = &format.fmt.pix;
        *pix = (struct v4l2_pix_format){.width = wanted->width ? wanted->width : pix->width,
                                        .height = wanted->height ? wanted->height : pix->height,
                                        .pixelformat = row->code,
                                        .field = V4L2_FIELD_NONE};
    } else {
        struct v4l2_pix_format_mplane *pix = &format.fmt.pix_mp;
        *pix = (struct v4l2_pix_format_mplane){.width = wanted->width ? wanted->width : pix->width,
                                               .height = wanted->height ? wanted->height : pix->height,
                                               .pixelformat = row->code,
                                               .field = V4L2_FIELD_NONE,
                                               .num_planes = (uint8_t)row->memories};
    }
    if (ask(with, VIDIOC_S_FMT, &format) < 0) {
        return failed(with,
                      errno == EBUSY ? "setting the format (another program uses it)" : "setting the format");
    }
    code_text(row->code, code);
    if (!shape_read(with->shape, &format, row)) {
        return source_fail(with->error, CAMERA_FORMAT,
                           "'%s' lists the format %s, and was set to something that does not fit it",
                           with->path, code);
    }
    if (wanted->width && (wanted->width != with->shape->width || wanted->height != with->shape->height)) {
        (void)snprintf(with->note, 160, "the camera has no %ux%u, this is what it took instead",
                       wanted->width, wanted->height);
    }
    return CAMERA_OK;
}

/* Cameras without a rate that can be set keep theirs. */
static void rate_set(talk *with)
{
    struct v4l2_streamparm rate = {.type = with->shape->type};
    if (ask(with, VIDIOC_G_PARM, &rate) < 0) {
        return;
    }
    struct v4l2_captureparm *capture = &rate.parm.capture;
    if (with->wanted->fps > 0 && capture->capability & V4L2_CAP_TIMEPERFRAME) {
        capture->timeperframe =
            (struct v4l2_fract){.numerator = 1000, .denominator = (uint32_t)(with->wanted->fps * 1e3 + 0.5)};
        if (ask(with, VIDIOC_S_PARM, &rate) < 0) {
            return;
        }
    }
    if (capture->timeperframe.numerator > 0) {
        with->shape->fps = (double)capture->timeperframe.denominator / capture->timeperframe.numerator;
    }
}

camera_status v4l2_negotiate(const v4l2_calls *calls, int fd, const char *path, const source_request *wanted,
                             v4l2_shape *shape, char note[160], char *error)
{
    char list[128];
    talk with = {calls, fd, path, wanted, shape, note, error};
    *shape = (v4l2_shape){0};
    camera_status status = kind_find(&with);
    if (status != CAMERA_OK) {
        return status;
    }
    const size_t row = format_choose(&with, list, sizeof list);
    if (row == PIXEL_ROWS) {
        return source_fail(error, CAMERA_FORMAT,
                           "'%s' has the formats %s, %s%s (v4l2:// decodes and converts, with GStreamer)",
                           path, list[0] ? list : "(none)",
                           wanted->format < 0 ? "none of which the library takes" : "but no ",
                           wanted->format < 0 ? "" : cli_format_name((mts_pixel_format)wanted->format));
    }
    status = format_set(&with, &pixels[row]);
    if (status == CAMERA_OK) {
        rate_set(&with);
        shape->yuv = wanted->yuv < 0 ? shape->yuv : (mts_yuv)wanted->yuv;
    }
    return status;
}
