/*
 * frames.c: where a pixel of a frame lies, and its colour. One pixel at a time: drawing
 * has few of them.
 */
#include "frames.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

#define SIDE_MOST 16384
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *const formats[] = {
    [MTS_PIXEL_FORMAT_RGB] = "rgb",   [MTS_PIXEL_FORMAT_BGR] = "bgr",   [MTS_PIXEL_FORMAT_RGBA] = "rgba",
    [MTS_PIXEL_FORMAT_BGRA] = "bgra", [MTS_PIXEL_FORMAT_GREY] = "grey", [MTS_PIXEL_FORMAT_NV12] = "nv12",
    [MTS_PIXEL_FORMAT_NV21] = "nv21", [MTS_PIXEL_FORMAT_I420] = "i420", [MTS_PIXEL_FORMAT_YUYV] = "yuyv",
    [MTS_PIXEL_FORMAT_UYVY] = "uyvy"};

static const char *const colours[] = {[MTS_YUV_BT601] = "bt601",
                                      [MTS_YUV_BT601_FULL] = "bt601-full",
                                      [MTS_YUV_BT709] = "bt709",
                                      [MTS_YUV_BT709_FULL] = "bt709-full"};

/* What a colour standard multiplies Y - black, V, U, V, U with. */
static const struct {
    float black, y, v_red, u_green, v_green, u_blue;
} factors[] = {
    [MTS_YUV_BT601] = {16, 1.164f, 1.596f, 0.391f, 0.813f, 2.018f},
    [MTS_YUV_BT601_FULL] = {0, 1.0f, 1.402f, 0.344f, 0.714f, 1.772f},
    [MTS_YUV_BT709] = {16, 1.164f, 1.793f, 0.213f, 0.533f, 2.112f},
    [MTS_YUV_BT709_FULL] = {0, 1.0f, 1.575f, 0.187f, 0.468f, 1.856f},
};

/* A frame with every pointer and stride filled in. */
typedef struct view {
    const unsigned char *plane[3];
    size_t stride[3];
    mts_pixel_format format;
    mts_yuv yuv;
} view;

static size_t name_find(const char *const *names, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && strcmp(names[i], name) != 0) {
        i++;
    }
    return i;
}

bool cli_format_find(const char *name, mts_pixel_format *out)
{
    const size_t index = name_find(formats, COUNT(formats), name);
    *out = index < COUNT(formats) ? (mts_pixel_format)index : MTS_PIXEL_FORMAT_RGB;
    return index < COUNT(formats);
}

const char *cli_format_name(mts_pixel_format format)
{
    return (size_t)format < COUNT(formats) ? formats[format] : "unknown";
}

bool cli_yuv_find(const char *name, mts_yuv *out)
{
    const size_t index = name_find(colours, COUNT(colours), name);
    *out = index < COUNT(colours) ? (mts_yuv)index : MTS_YUV_BT601;
    return index < COUNT(colours);
}

const char *cli_yuv_name(mts_yuv yuv)
{
    return (size_t)yuv < COUNT(colours) ? colours[yuv] : "unknown";
}

bool cli_rotation_find(uint32_t degrees, mts_rotation *out)
{
    *out = (mts_rotation)degrees;
    return degrees % 90 == 0 && degrees < 360;
}

bool cli_frame_parse(const char *text, mts_frame *frame)
{
    char name[16];
    double sides[2];
    const char *colon = strchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : 0;
    mts_frame_default(frame);
    if (length == 0 || length >= sizeof name || cli_numbers(colon + 1, 'x', sides, 2) != 2) {
        return false;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    for (size_t i = 0; i < 2; i++) {
        if (sides[i] < 1 || sides[i] > SIDE_MOST || sides[i] != floor(sides[i])) {
            return false;
        }
    }
    frame->width = (uint32_t)sides[0];
    frame->height = (uint32_t)sides[1];
    return cli_format_find(name, &frame->format);
}

size_t cli_format_row_bytes(mts_pixel_format format, uint32_t width)
{
    switch (format) {
    case MTS_PIXEL_FORMAT_RGB:
    case MTS_PIXEL_FORMAT_BGR:
        return (size_t)3 * width;
    case MTS_PIXEL_FORMAT_RGBA:
    case MTS_PIXEL_FORMAT_BGRA:
        return (size_t)4 * width;
    case MTS_PIXEL_FORMAT_YUYV:
    case MTS_PIXEL_FORMAT_UYVY:
        return (size_t)4 * ((width + 1) / 2);
    case MTS_PIXEL_FORMAT_GREY:
    case MTS_PIXEL_FORMAT_NV12:
    case MTS_PIXEL_FORMAT_NV21:
    case MTS_PIXEL_FORMAT_I420:
        break;
    }
    return width;
}

size_t cli_format_chroma_bytes(mts_pixel_format format, uint32_t width)
{
    const size_t half = ((size_t)width + 1) / 2;
    const bool pairs = format == MTS_PIXEL_FORMAT_NV12 || format == MTS_PIXEL_FORMAT_NV21;
    return format == MTS_PIXEL_FORMAT_I420 ? half : pairs ? 2 * half : 0;
}

/* Whether colour lies in planes of its own. */
static bool planes_of(mts_pixel_format format)
{
    return cli_format_chroma_bytes(format, 1) > 0;
}

size_t cli_frame_bytes(const mts_frame *frame)
{
    const size_t pairs = (size_t)((frame->width + 1) / 2) * ((frame->height + 1) / 2);
    return cli_format_row_bytes(frame->format, frame->width) * frame->height +
           (planes_of(frame->format) ? 2 * pairs : 0);
}

static view view_of(const mts_frame *frame)
{
    view v = {.format = frame->format, .yuv = frame->yuv};
    const bool paired = frame->format != MTS_PIXEL_FORMAT_I420;
    v.plane[0] = frame->data;
    v.stride[0] = frame->stride ? frame->stride : cli_format_row_bytes(frame->format, frame->width);
    uint32_t rows = frame->height;
    for (size_t i = 0; i < (planes_of(frame->format) ? 2u : 0u); i++) {
        v.plane[i + 1] = frame->chroma[i] ? frame->chroma[i] : v.plane[i] + rows * v.stride[i];
        v.stride[i + 1] = frame->chroma_stride[i] ? frame->chroma_stride[i]
                                                  : cli_format_chroma_bytes(frame->format, frame->width);
        rows = (frame->height + 1) / 2;
        if (paired) {
            break;
        }
    }
    return v;
}

static unsigned char level(float value)
{
    return (unsigned char)(value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value + 0.5f);
}

static void colour_mix(mts_yuv yuv, unsigned char luma, unsigned char u, unsigned char v, unsigned char *rgb)
{
    const float y = ((float)luma - factors[yuv].black) * factors[yuv].y;
    const float blue = (float)u - 128.0f;
    const float red = (float)v - 128.0f;
    rgb[0] = level(y + factors[yuv].v_red * red);
    rgb[1] = level(y - factors[yuv].u_green * blue - factors[yuv].v_green * red);
    rgb[2] = level(y + factors[yuv].u_blue * blue);
}

/* The row of a plane of colour that belongs to row y. */
static const unsigned char *colour_row(const view *v, size_t plane, uint32_t y)
{
    return v->plane[plane] + y / 2 * v->stride[plane];
}

static void pixel_read(const view *v, uint32_t x, uint32_t y, unsigned char *rgb)
{
    const unsigned char *row = v->plane[0] + y * v->stride[0];
    const unsigned char *pair = row; /* of two pixels that share a colour */
    size_t first = 0;
    switch (v->format) {
    case MTS_PIXEL_FORMAT_RGB:
        memcpy(rgb, row + (size_t)3 * x, 3);
        return;
    case MTS_PIXEL_FORMAT_RGBA:
        memcpy(rgb, row + (size_t)4 * x, 3);
        return;
    case MTS_PIXEL_FORMAT_BGR:
    case MTS_PIXEL_FORMAT_BGRA:
        row += (v->format == MTS_PIXEL_FORMAT_BGR ? (size_t)3 : (size_t)4) * x;
        rgb[0] = row[2];
        rgb[1] = row[1];
        rgb[2] = row[0];
        return;
    case MTS_PIXEL_FORMAT_GREY:
        memset(rgb, row[x], 3);
        return;
    case MTS_PIXEL_FORMAT_NV12:
    case MTS_PIXEL_FORMAT_NV21:
        pair = colour_row(v, 1, y) + x / 2 * (size_t)2;
        first = v->format == MTS_PIXEL_FORMAT_NV12 ? 0 : 1;
        colour_mix(v->yuv, row[x], pair[first], pair[1 - first], rgb);
        return;
    case MTS_PIXEL_FORMAT_I420:
        colour_mix(v->yuv, row[x], colour_row(v, 1, y)[x / 2], colour_row(v, 2, y)[x / 2], rgb);
        return;
    case MTS_PIXEL_FORMAT_YUYV:
        pair = row + x / 2 * (size_t)4;
        colour_mix(v->yuv, pair[x % 2 * 2], pair[1], pair[3], rgb);
        return;
    case MTS_PIXEL_FORMAT_UYVY:
        pair = row + x / 2 * (size_t)4;
        colour_mix(v->yuv, pair[x % 2 * 2 + 1], pair[0], pair[2], rgb);
        return;
    }
}

void cli_frame_shown(const mts_frame *frame, uint32_t *width, uint32_t *height)
{
    const mts_region *region = &frame->region;
    const uint32_t across = region->width ? region->width : frame->width;
    const uint32_t down = region->width ? region->height : frame->height;
    const bool turned = region->rotation == MTS_ROTATION_90 || region->rotation == MTS_ROTATION_270;
    *width = turned ? down : across;
    *height = turned ? across : down;
}

bool cli_frame_to_image(const mts_frame *frame, cli_image *image, char *error)
{
    const mts_region *region = &frame->region;
    const view v = view_of(frame);
    uint32_t width = 0;
    uint32_t height = 0;
    cli_frame_shown(frame, &width, &height);
    if (!image->pixels || image->width != width || image->height != height) {
        cli_image_release(image);
        *image = (cli_image){malloc((size_t)3 * width * height), width, height};
    }
    if (!image->pixels) {
        (void)snprintf(error, CLI_ERROR, "no memory for a picture of %ux%u pixels", width, height);
        return false;
    }
    for (uint32_t y = 0; y < height; y++) {
        unsigned char *rgb = image->pixels + (size_t)3 * width * y;
        for (uint32_t i = 0; i < width; i++, rgb += 3) {
            const uint32_t x = region->mirror ? width - 1 - i : i;
            switch (region->rotation) { /* back to where it lies in memory */
            case MTS_ROTATION_0:
                pixel_read(&v, region->x + x, region->y + y, rgb);
                break;
            case MTS_ROTATION_90:
                pixel_read(&v, region->x + y, region->y + width - 1 - x, rgb);
                break;
            case MTS_ROTATION_180:
                pixel_read(&v, region->x + width - 1 - x, region->y + height - 1 - y, rgb);
                break;
            case MTS_ROTATION_270:
                pixel_read(&v, region->x + height - 1 - y, region->y + x, rgb);
                break;
            }
        }
    }
    return true;
}
