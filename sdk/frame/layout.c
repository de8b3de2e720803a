/*
 * layout.c: checks a frame and its regions, and finds the planes of its pixels. Not
 * responsible for what an image shows of a frame (params.c).
 */
#include "frame/layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "base/sized.h"

/* Of rectangles at any place: float32 still tells tenths of a pixel apart. */
#define SIDES_MOST 65536.0
#define MIDDLE_MOST 1048576.0
#define ANGLE_MOST 65536.0
#define BYTES_MOST ((uint64_t)INT32_MAX) /* kernels count the bytes of a frame in 32 bits */

static uint32_t half_up(uint32_t x)
{
    return x / 2 + x % 2;
}

mts_frame_planes mts_frame_planes_of(mts_pixel_format format, uint32_t width, uint32_t height)
{
    mts_frame_planes planes = {.count = 1, .rows = {height}, .row_bytes = {3 * width}};
    switch (format) {
    case MTS_PIXEL_FORMAT_RGBA:
    case MTS_PIXEL_FORMAT_BGRA:
        planes.row_bytes[0] = 4 * width;
        break;
    case MTS_PIXEL_FORMAT_GREY:
        planes.row_bytes[0] = width;
        break;
    case MTS_PIXEL_FORMAT_YUYV:
    case MTS_PIXEL_FORMAT_UYVY:
        planes.row_bytes[0] = 4 * half_up(width);
        break;
    case MTS_PIXEL_FORMAT_NV12:
    case MTS_PIXEL_FORMAT_NV21:
    case MTS_PIXEL_FORMAT_I420:
        planes.count = format == MTS_PIXEL_FORMAT_I420 ? 3 : 2;
        planes.row_bytes[0] = width;
        planes.rows[1] = planes.rows[2] = half_up(height);
        planes.row_bytes[1] = planes.row_bytes[2] =
            half_up(width) * (format == MTS_PIXEL_FORMAT_I420 ? 1 : 2);
        planes.down = 1;
        break;
    default:
        break;
    }
    return planes;
}

/* The last row ends with its last pixel, not with its stride. */
static uint64_t bytes_of(const mts_frame_planes *planes, const uint32_t *stride, uint32_t plane)
{
    return (uint64_t)stride[plane] * (planes->rows[plane] - 1) + planes->row_bytes[plane];
}

size_t mts_frame_plane_bytes(const mts_frame_planes *planes, const uint32_t *stride, uint32_t plane)
{
    return (size_t)bytes_of(planes, stride, plane);
}

/* A rectangle at any place and angle. */
static mts_status check_sides(const mts_region *region, const char *what, mts_error *error)
{
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    const double wide = (double)region->sides[0];
    const double high = (double)region->sides[1];
    const double x = (double)region->middle[0];
    const double y = (double)region->middle[1];
    const double angle = (double)region->angle;
    if (wide == 0.0) {
        return MTS_STATUS_OK;
    }
    if (!(wide > 0.0 && high > 0.0 && wide <= SIDES_MOST && high <= SIDES_MOST)) {
        return mts_fail(error, bad, "%s: sides of %g and %g pixels; they are above 0 and at most %g", what,
                        wide, high, SIDES_MOST);
    }
    if (!(fabs(x) <= MIDDLE_MOST && fabs(y) <= MIDDLE_MOST && fabs(angle) <= ANGLE_MOST)) {
        return mts_fail(error, bad, "%s: a middle of %g, %g and an angle of %g; they are at most %g and %g",
                        what, x, y, angle, MIDDLE_MOST, ANGLE_MOST);
    }
    if (region->x != 0 || region->y != 0 || region->width != 0 || region->height != 0) {
        return mts_fail(error, bad, "%s: x, y, width and height are 0 where sides are given", what);
    }
    return MTS_STATUS_OK;
}

static mts_status check_reserved(const mts_region *region, const char *what, mts_error *error)
{
    for (size_t i = 0; i < sizeof region->reserved / sizeof region->reserved[0]; i++) {
        if (region->reserved[i] != 0) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "%s: reserved[%zu] is %" PRIu32 ", and has to be 0 in this version", what, i,
                            region->reserved[i]);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_region_check(const mts_region *region, const char *what, mts_error *error)
{
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    const int turn = (int)region->rotation;
    if (turn != 0 && turn != 90 && turn != 180 && turn != 270) {
        return mts_fail(error, bad, "%s: rotation %d is not 0, 90, 180 or 270 degrees", what, turn);
    }
    mts_status status = mts_check_flag(what, "mirror", region->mirror, error);
    MTS_TRY(status, mts_check_kind(what, "fit", (int)region->fit, MTS_FIT_CROP, error));
    MTS_TRY(status, mts_check_kind(what, "filter", (int)region->filter, MTS_FILTER_AREA, error));
    if (status == MTS_STATUS_OK && region->width != 0 && region->height == 0) {
        status = mts_fail(error, bad, "%s: the region has a width of %" PRIu32 " and no height", what,
                          region->width);
    }
    MTS_TRY(status, mts_check_kind(what, "outside", (int)region->outside, MTS_OUTSIDE_EDGE, error));
    MTS_TRY(status, check_sides(region, what, error));
    MTS_TRY(status, check_reserved(region, what, error));
    return status;
}

mts_status mts_region_check_inside(const mts_region *region, uint32_t width, uint32_t height,
                                   mts_error *error)
{
    if (region->width == 0) {
        return MTS_STATUS_OK;
    }
    if (region->height == 0 || region->x >= width || region->y >= height ||
        region->width > width - region->x || region->height > height - region->y) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "frame: the region %" PRIu32 "x%" PRIu32 " at %" PRIu32 ",%" PRIu32
                        " is not inside %" PRIu32 "x%" PRIu32,
                        region->width, region->height, region->x, region->y, width, height);
    }
    return MTS_STATUS_OK;
}

static mts_status check_values(const mts_frame *frame, mts_error *error)
{
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    mts_status status =
        mts_check_kind("frame", "pixel format", (int)frame->format, MTS_PIXEL_FORMAT_UYVY, error);
    MTS_TRY(status, mts_check_kind("frame", "yuv", (int)frame->yuv, MTS_YUV_BT709_FULL, error));
    MTS_TRY(status, mts_check_flag("frame", "zero_copy", frame->zero_copy, error));
    MTS_TRY(status, mts_check_kind("frame", "kind of memory", (int)frame->memory, MTS_MEMORY_ANDROID, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (frame->memory == MTS_MEMORY_HOST && !frame->data) {
        return mts_fail(error, bad, "frame: data is NULL");
    }
    if (frame->memory == MTS_MEMORY_ANDROID && !frame->buffer) {
        return mts_fail(error, bad, "frame: buffer is NULL");
    }
    if (frame->width == 0 || frame->height == 0 || frame->width > MTS_FRAME_SIDE_MOST ||
        frame->height > MTS_FRAME_SIDE_MOST) {
        return mts_fail(error, bad, "frame: %" PRIu32 "x%" PRIu32 " pixels; sides are 1..%u", frame->width,
                        frame->height, MTS_FRAME_SIDE_MOST);
    }
    return MTS_STATUS_OK;
}

static mts_status find_strides(mts_frame_view *view, mts_error *error)
{
    const mts_frame *frame = &view->frame;
    for (uint32_t k = 0; k < view->planes.count; k++) {
        const uint32_t stride = k == 0 ? frame->stride : frame->chroma_stride[k - 1];
        const uint32_t row_bytes = view->planes.row_bytes[k];
        if (stride != 0 && stride < row_bytes) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "frame: %s %" PRIu32 " is less than the %" PRIu32 " bytes of a row",
                            k == 0 ? "stride" : "chroma_stride", stride, row_bytes);
        }
        view->stride[k] = stride ? stride : row_bytes;
    }
    return MTS_STATUS_OK;
}

static mts_status too_large(const mts_frame_view *view, uint32_t plane, uint64_t reach, mts_error *error)
{
    return mts_fail(error, MTS_STATUS_LIMIT,
                    "frame: %" PRIu32 " rows with stride %" PRIu32 " reach over %" PRIu64
                    " bytes, more than the limit of %" PRIu64,
                    view->planes.rows[plane], view->stride[plane], reach, BYTES_MOST);
}

/* The sums are in 64 bits, so that none wraps before it is compared with the limit. */
static mts_status find_addresses(mts_frame_view *view, mts_error *error)
{
    const mts_frame *frame = &view->frame;
    const mts_frame_planes *planes = &view->planes;
    const char *next = frame->data;
    uint64_t reach = 0;
    for (uint32_t k = 0; k < planes->count; k++) {
        const bool follows = k > 0 && !frame->chroma[k - 1];
        /* A plane that follows another one begins a whole stride after the last row of
           that one. */
        reach += bytes_of(planes, view->stride, k) +
                 (follows ? view->stride[k - 1] - planes->row_bytes[k - 1] : 0);
        if (reach > BYTES_MOST) {
            return too_large(view, k, reach, error);
        }
        view->plane[k] = k > 0 && frame->chroma[k - 1] ? frame->chroma[k - 1] : next;
        if (k + 1 < planes->count && !frame->chroma[k]) {
            if ((uint64_t)view->stride[k] * planes->rows[k] > BYTES_MOST) {
                return mts_fail(error, MTS_STATUS_LIMIT,
                                "frame: the planes are more than %" PRIu64 " bytes apart", BYTES_MOST);
            }
            next = (const char *)view->plane[k] + (size_t)view->stride[k] * planes->rows[k];
        }
    }
    return MTS_STATUS_OK;
}

static mts_status find_offsets(mts_frame_view *view, mts_error *error)
{
    const uint32_t *offsets = view->frame.offsets;
    uint64_t next = offsets[0];
    uint64_t all = 0; /* planes may overlap, and are copied one by one */
    for (uint32_t k = 0; k < view->planes.count; k++) {
        const uint64_t at = k > 0 && offsets[k] > 0 ? offsets[k] : next;
        const uint64_t bytes = bytes_of(&view->planes, view->stride, k);
        all += bytes;
        if (at + bytes > BYTES_MOST || all > BYTES_MOST) {
            return too_large(view, k, at + bytes > all ? at + bytes : all, error);
        }
        view->offset[k] = (uint32_t)at;
        next = at + (uint64_t)view->stride[k] * view->planes.rows[k];
    }
    return MTS_STATUS_OK;
}

mts_status mts_frame_view_make(const mts_frame *given, mts_frame_view *out, mts_error *error)
{
    mts_frame known = {.size = sizeof known};
    const mts_frame *frame = &known;
    mts_status status = mts_sized_read(&known, sizeof known, given, "mts_frame", error);
    MTS_TRY(status, check_values(frame, error));
    MTS_TRY(status, mts_region_check(&frame->region, "frame", error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    *out = (mts_frame_view){.frame = *frame,
                            .planes = mts_frame_planes_of(frame->format, frame->width, frame->height)};
    status = find_strides(out, error);
    MTS_TRY(status, frame->memory == MTS_MEMORY_HOST ? find_addresses(out, error) : find_offsets(out, error));
    MTS_TRY(status, mts_region_check_inside(&frame->region, frame->width, frame->height, error));
    return status;
}
