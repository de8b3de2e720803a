/*
 * formats.c: bytes of rows.
 */
#include "formats.h"

#include <stdbool.h>

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

size_t format_chroma_bytes(mts_pixel_format format, uint32_t width)
{
    const size_t half = ((size_t)width + 1) / 2;
    const bool pairs = format == MTS_PIXEL_FORMAT_NV12 || format == MTS_PIXEL_FORMAT_NV21;
    return format == MTS_PIXEL_FORMAT_I420 ? half : pairs ? 2 * half : 0;
}

const char *format_yuv_name(mts_yuv yuv)
{
    static const char *const names[] = {[MTS_YUV_BT601] = "bt601",
                                        [MTS_YUV_BT601_FULL] = "bt601-full",
                                        [MTS_YUV_BT709] = "bt709",
                                        [MTS_YUV_BT709_FULL] = "bt709-full"};
    return (unsigned)yuv < sizeof names / sizeof names[0] ? names[yuv] : "?";
}
