/*
 * frame.c: checks a caller's frame and translates it to the picture that the engine takes.
 */
#include <inttypes.h>

#include "api/api.h"

#define SIDE_MOST 16384u
#define BYTES_MOST ((uint64_t)INT32_MAX) /* kernels count a picture's bytes in 32 bits */

static uint32_t pixel_bytes(mts_pixel_format format)
{
    switch (format) {
    case MTS_PIXEL_FORMAT_RGB:
    case MTS_PIXEL_FORMAT_BGR:
        return 3;
    case MTS_PIXEL_FORMAT_RGBA:
    case MTS_PIXEL_FORMAT_BGRA:
        return 4;
    case MTS_PIXEL_FORMAT_GREY:
        return 1;
    }
    return 0; /* a number that is no format */
}

mts_code mts_api_picture(const mts_frame *frame, mts_picture *out, mts_error *error)
{
    const mts_code bad = MTS_CODE_INVALID_ARGUMENT;
    if (frame->size != sizeof *frame) {
        return mts_fail(error, bad, "frame: `size` is not sizeof(mts_frame)");
    }
    const uint32_t bytes = pixel_bytes(frame->format);
    if (bytes == 0) {
        return mts_fail(error, bad, "frame: %d is no pixel format", (int)frame->format);
    }
    if (!frame->data) {
        return mts_fail(error, bad, "frame: data is NULL");
    }
    if (frame->width == 0 || frame->height == 0 || frame->width > SIDE_MOST || frame->height > SIDE_MOST) {
        return mts_fail(error, bad, "frame: %" PRIu32 "x%" PRIu32 " pixels; sides are 1..%u", frame->width,
                        frame->height, SIDE_MOST);
    }
    const uint32_t dense = frame->width * bytes;
    if (frame->stride != 0 && frame->stride < dense) {
        return mts_fail(error, bad, "frame: stride %" PRIu32 " is less than a row's %" PRIu32 " bytes",
                        frame->stride, dense);
    }
    const uint32_t stride = frame->stride ? frame->stride : dense;
    const uint64_t reach = (uint64_t)stride * (frame->height - 1) + dense;
    if (reach > BYTES_MOST) {
        return mts_fail(error, MTS_CODE_LIMIT,
                        "frame: %" PRIu32 " rows with stride %" PRIu32 " reach over %" PRIu64
                        " bytes, more than the limit of %" PRIu64,
                        frame->height, stride, reach, BYTES_MOST);
    }
    *out = (mts_picture){
        .data = frame->data,
        .width = frame->width,
        .height = frame->height,
        .stride = stride,
        .format = (uint32_t)frame->format,
        .crop_width = frame->width,
        .crop_height = frame->height,
    };
    if (frame->crop_width == 0) {
        return MTS_CODE_OK;
    }
    if (frame->crop_height == 0 || frame->crop_x >= frame->width || frame->crop_y >= frame->height ||
        frame->crop_width > frame->width - frame->crop_x ||
        frame->crop_height > frame->height - frame->crop_y) {
        return mts_fail(error, bad,
                        "frame: the crop %" PRIu32 "x%" PRIu32 " at %" PRIu32 ",%" PRIu32
                        " is not inside %" PRIu32 "x%" PRIu32,
                        frame->crop_width, frame->crop_height, frame->crop_x, frame->crop_y, frame->width,
                        frame->height);
    }
    out->crop_x = frame->crop_x;
    out->crop_y = frame->crop_y;
    out->crop_width = frame->crop_width;
    out->crop_height = frame->crop_height;
    return MTS_CODE_OK;
}
