/*
 * frame.c: checks a caller's frame and regions and translates them to what the engine takes. Not responsible
 * for whether a region lies inside a frame: regions may come before the frame does, so the engine looks.
 */
#include <inttypes.h>
#include <string.h>

#include "api/api.h"
#include "frame/frame.h"
#include "kernels/abi/kinds.h"

#define SIDE_MOST 16384u
#define BYTES_MOST ((uint64_t)INT32_MAX) /* kernels count a picture's bytes in 32 bits */

void mts_frame_default(mts_frame *frame)
{
    if (frame) {
        memset(frame, 0, sizeof *frame);
        frame->size = sizeof *frame;
    }
}

mts_status mts_api_region_check(const mts_region *region, const char *what, mts_error *error)
{
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    const int turn = (int)region->rotation;
    if (turn != 0 && turn != 90 && turn != 180 && turn != 270) {
        return mts_fail(error, bad, "%s: a rotation by %d is not 0, 90, 180 or 270 degrees", what, turn);
    }
    if (region->mirror > 1) {
        return mts_fail(error, bad, "%s: mirror is 0 or 1, not %" PRIu32, what, region->mirror);
    }
    if ((unsigned)region->fit > MTS_FIT_LETTERBOX) {
        return mts_fail(error, bad, "%s: %d is no fit", what, (int)region->fit);
    }
    if ((unsigned)region->filter > MTS_FILTER_AREA) {
        return mts_fail(error, bad, "%s: %d is no filter", what, (int)region->filter);
    }
    if (region->width != 0 && region->height == 0) {
        return mts_fail(error, bad, "%s: the region has no rows", what);
    }
    return MTS_STATUS_OK;
}

mts_picture_region mts_api_region(const void *regions, uint32_t index)
{
    const mts_region *from = (const mts_region *)regions + index;
    mts_picture_region to = {.x = from->x,
                             .y = from->y,
                             .width = from->width,
                             .height = from->height,
                             .turns = (uint32_t)from->rotation / 90,
                             .mirror = from->mirror != 0,
                             .fit = (uint32_t)from->fit,
                             .filter = (uint32_t)from->filter};
    memcpy(to.fill, from->fill, sizeof to.fill);
    return to;
}

static mts_status check_sizes(const mts_frame *frame, mts_error *error)
{
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    if (frame->size != sizeof *frame) {
        return mts_fail(error, bad, "frame: `size` is not sizeof(mts_frame)");
    }
    if ((unsigned)frame->format >= MTS_PIXEL_COUNT) {
        return mts_fail(error, bad, "frame: %d is no pixel format", (int)frame->format);
    }
    if ((unsigned)frame->yuv >= MTS_YUV_KIND_COUNT) {
        return mts_fail(error, bad, "frame: %d is no kind of YUV", (int)frame->yuv);
    }
    if (frame->zero_copy > 1) {
        return mts_fail(error, bad, "frame: zero_copy is 0 or 1, not %" PRIu32, frame->zero_copy);
    }

    if ((unsigned)frame->memory > MTS_MEMORY_ANDROID) {
        return mts_fail(error, bad, "frame: %d is no kind of memory", (int)frame->memory);
    }
    if (frame->memory == MTS_MEMORY_HOST && !frame->data) {
        return mts_fail(error, bad, "frame: data is NULL");
    }
    if (frame->memory == MTS_MEMORY_ANDROID && !frame->buffer) {
        return mts_fail(error, bad, "frame: buffer is NULL");
    }
    if (frame->width == 0 || frame->height == 0 || frame->width > SIDE_MOST || frame->height > SIDE_MOST) {
        return mts_fail(error, bad, "frame: %" PRIu32 "x%" PRIu32 " pixels; sides are 1..%u", frame->width,
                        frame->height, SIDE_MOST);
    }
    return MTS_STATUS_OK;
}

static mts_status find_strides(const mts_frame *frame, const mts_picture_layout *layout, mts_picture *out,
                               mts_error *error)
{
    for (uint32_t k = 0; k < layout->planes; k++) {
        const uint32_t stride = k == 0 ? frame->stride : frame->chroma_stride[k - 1];
        if (stride != 0 && stride < layout->row_bytes[k]) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "frame: %s %" PRIu32 " is less than a row's %" PRIu32 " bytes",
                            k == 0 ? "stride" : "chroma_stride", stride, layout->row_bytes[k]);
        }
        out->stride[k] = stride ? stride : layout->row_bytes[k];
    }
    return MTS_STATUS_OK;
}

static uint64_t rows_bytes(const mts_picture *picture, const mts_picture_layout *layout, uint32_t plane)
{
    return (uint64_t)picture->stride[plane] * (layout->rows[plane] - 1) + layout->row_bytes[plane];
}

static mts_status too_large(const mts_picture *picture, const mts_picture_layout *layout, uint32_t plane,
                            uint64_t reach, mts_error *error)
{
    return mts_fail(error, MTS_STATUS_LIMIT,
                    "frame: %" PRIu32 " rows with stride %" PRIu32 " reach over %" PRIu64
                    " bytes, more than the limit of %" PRIu64,
                    layout->rows[plane], picture->stride[plane], reach, BYTES_MOST);
}

/* Addresses of the planes; in 64 bits, so that nothing wraps before it is looked at. */
static mts_status find_planes(const mts_frame *frame, const mts_picture_layout *layout, mts_picture *out,
                              mts_error *error)
{
    const char *next = frame->data;
    uint64_t reach = 0;
    for (uint32_t k = 0; k < layout->planes; k++) {
        const bool follows = k > 0 && !frame->chroma[k - 1];
        /* What lies right behind the plane before is a whole stride behind its last row. */
        reach += rows_bytes(out, layout, k) + (follows ? out->stride[k - 1] - layout->row_bytes[k - 1] : 0);
        if (reach > BYTES_MOST) {
            return too_large(out, layout, k, reach, error);
        }
        out->plane[k] = k > 0 && frame->chroma[k - 1] ? frame->chroma[k - 1] : next;
        if (k + 1 < layout->planes &&
            !frame->chroma[k]) { /* only then is there anything behind the last row */
            if ((uint64_t)out->stride[k] * layout->rows[k] > BYTES_MOST) {
                return mts_fail(error, MTS_STATUS_LIMIT,
                                "frame: the planes are more than %" PRIu64 " bytes apart", BYTES_MOST);
            }
            next = (const char *)out->plane[k] + (size_t)out->stride[k] * layout->rows[k];
        }
    }
    return MTS_STATUS_OK;
}

/* Where the planes begin in memory that is not the process's. */
static mts_status find_offsets(const mts_frame *frame, const mts_picture_layout *layout, mts_picture *out,
                               mts_error *error)
{
    uint64_t next = frame->offsets[0];
    uint64_t all = 0; /* planes may overlap, and are copied one by one */
    for (uint32_t k = 0; k < layout->planes; k++) {
        const uint64_t at = k > 0 && frame->offsets[k] > 0 ? frame->offsets[k] : next;

        const uint64_t end = at + rows_bytes(out, layout, k);
        all += rows_bytes(out, layout, k);
        if (end > BYTES_MOST || all > BYTES_MOST) {
            return too_large(out, layout, k, end > all ? end : all, error);
        }
        out->offset[k] = (uint32_t)at;
        next = at + (uint64_t)out->stride[k] * layout->rows[k];
    }
    out->memory = (mts_memory_kind)frame->memory;
    out->handle = frame->buffer;
    out->fd = frame->fd;
    return MTS_STATUS_OK;
}

static mts_status find_pixels(const mts_frame *frame, mts_picture *out, mts_error *error)
{
    const mts_picture_layout layout =
        mts_picture_lay_out((uint32_t)frame->format, frame->width, frame->height);
    const mts_status code = find_strides(frame, &layout, out, error);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    return frame->memory == MTS_MEMORY_HOST ? find_planes(frame, &layout, out, error)
                                            : find_offsets(frame, &layout, out, error);
}

mts_status mts_api_picture(const mts_frame *frame, mts_picture *out, mts_error *error)
{
    mts_status code = check_sizes(frame, error);
    MTS_TRY(code, mts_api_region_check(&frame->region, "frame", error));
    *out = (mts_picture){0};
    MTS_TRY(code, find_pixels(frame, out, error));
    if (code != MTS_STATUS_OK) {
        return code;
    }
    out->width = frame->width;
    out->height = frame->height;
    out->format = (uint32_t)frame->format;
    out->yuv = (uint32_t)frame->yuv;
    out->region = mts_api_region(&frame->region, 0);
    out->zero_copy = frame->zero_copy != 0;
    return mts_picture_region_check(&out->region, out->width, out->height, error);
}
