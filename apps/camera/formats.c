/*
 * formats.c: the table of pixel formats.
 */
#include "formats.h"

#include <strings.h>

typedef struct name_row {
    const char *name;
    int value;
} name_row;

/* The first name of a format is its own. */
static const name_row formats[] = {
    {"rgb", MTS_PIXEL_FORMAT_RGB},      {"rgb24", MTS_PIXEL_FORMAT_RGB},  {"bgr", MTS_PIXEL_FORMAT_BGR},
    {"bgr24", MTS_PIXEL_FORMAT_BGR},    {"rgba", MTS_PIXEL_FORMAT_RGBA},  {"rgbx", MTS_PIXEL_FORMAT_RGBA},
    {"bgra", MTS_PIXEL_FORMAT_BGRA},    {"bgrx", MTS_PIXEL_FORMAT_BGRA},  {"grey", MTS_PIXEL_FORMAT_GREY},
    {"gray", MTS_PIXEL_FORMAT_GREY},    {"gray8", MTS_PIXEL_FORMAT_GREY}, {"nv12", MTS_PIXEL_FORMAT_NV12},
    {"nv21", MTS_PIXEL_FORMAT_NV21},    {"i420", MTS_PIXEL_FORMAT_I420},  {"yu12", MTS_PIXEL_FORMAT_I420},
    {"yuv420p", MTS_PIXEL_FORMAT_I420}, {"yuyv", MTS_PIXEL_FORMAT_YUYV},  {"yuy2", MTS_PIXEL_FORMAT_YUYV},
    {"uyvy", MTS_PIXEL_FORMAT_UYVY},
};

static const name_row standards[] = {
    {"bt601", MTS_YUV_BT601},
    {"bt601-full", MTS_YUV_BT601_FULL},
    {"bt709", MTS_YUV_BT709},
    {"bt709-full", MTS_YUV_BT709_FULL},
};

static int value_of(const name_row *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(rows[i].name, name) == 0) {
            return rows[i].value;
        }
    }
    return -1;
}

static const char *name_of(const name_row *rows, size_t count, int value)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].value == value) {
            return rows[i].name;
        }
    }
    return "?";
}

int format_find(const char *name)
{
    return value_of(formats, sizeof formats / sizeof formats[0], name);
}

const char *format_name(mts_pixel_format format)
{
    return name_of(formats, sizeof formats / sizeof formats[0], (int)format);
}

int format_yuv_find(const char *name)
{
    return value_of(standards, sizeof standards / sizeof standards[0], name);
}

const char *format_yuv_name(mts_yuv yuv)
{
    return name_of(standards, sizeof standards / sizeof standards[0], (int)yuv);
}

size_t format_row_bytes(mts_pixel_format format, uint32_t width)
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
        return (size_t)4 * ((width + 1u) / 2u);
    case MTS_PIXEL_FORMAT_GREY:
    case MTS_PIXEL_FORMAT_NV12:
    case MTS_PIXEL_FORMAT_NV21:
    case MTS_PIXEL_FORMAT_I420:
        break;
    }
    return width;
}

size_t format_chroma_stride(mts_pixel_format format, size_t stride)
{
    if (format == MTS_PIXEL_FORMAT_I420) {
        return (stride + 1) / 2;
    }
    /* pairs of an odd width take one byte more than the row of Y */
    return format == MTS_PIXEL_FORMAT_NV12 || format == MTS_PIXEL_FORMAT_NV21 ? (stride + 1) / 2 * 2 : 0;
}

size_t format_frame_bytes(mts_pixel_format format, uint32_t height, size_t stride)
{
    const size_t planes = format == MTS_PIXEL_FORMAT_I420 ? 2 : 1;
    const size_t rows = (height + 1u) / 2u;
    return stride * height + planes * rows * format_chroma_stride(format, stride);
}
