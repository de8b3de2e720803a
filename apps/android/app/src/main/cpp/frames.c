/*
 * frames.c: see frames.h. Responsible for refusing whatever would make the library read
 * beyond a plane.
 */
#include "frames.h"

#include <string.h>

#define SIDE_MOST 16384

/* Bytes from the first to the last pixel. */
static int64_t plane_bytes(const frame_planes *planes, int plane, int64_t width, int64_t height)
{
    return planes->row_stride[plane] * (height - 1) + planes->pixel_stride[plane] * (width - 1) + 1;
}

static const char *plane_fault(const frame_planes *planes)
{
    if (planes->width < 1 || planes->height < 1 || planes->width > SIDE_MOST || planes->height > SIDE_MOST) {
        return "the camera's picture has no size, or one beyond 16384";
    }
    for (int plane = 0; plane < 3; plane++) {
        const int64_t width = plane ? (planes->width + 1) / 2 : planes->width;
        const int64_t height = plane ? (planes->height + 1) / 2 : planes->height;
        const int32_t pixel = planes->pixel_stride[plane];
        if (!planes->data[plane]) {
            return "the camera's picture lacks a plane";
        }
        if (pixel != 1 && (plane == 0 || pixel != 2)) {
            return "the pixels of the camera's picture do not lie side by side, nor in pairs";
        }
        if (planes->row_stride[plane] < pixel * (width - 1) + 1) {
            return "the rows of the camera's picture overlap";
        }
        if (planes->bytes[plane] < plane_bytes(planes, plane, width, height)) {
            return "a plane of the camera's picture ends too early";
        }
    }
    if (planes->pixel_stride[1] != planes->pixel_stride[2]) {
        return "the two planes of colour of the camera's picture do not lie alike";
    }
    return NULL;
}

/* Two planes of one byte in two that are one plane of pairs. */
static const char *take_pairs(const frame_planes *planes, mts_frame *frame)
{
    const uintptr_t u = (uintptr_t)planes->data[1], v = (uintptr_t)planes->data[2];
    if (planes->row_stride[1] != planes->row_stride[2] || (u + 1 != v && v + 1 != u)) {
        return "the camera's colours lie two bytes apart and are no pairs";
    }
    /* the library reads whole pairs */
    if (planes->row_stride[1] < 2 * ((planes->width + 1) / 2)) {
        return "the rows of the camera's colours overlap";
    }
    frame->format = u < v ? MTS_PIXEL_FORMAT_NV12 : MTS_PIXEL_FORMAT_NV21;
    frame->chroma[0] = u < v ? planes->data[1] : planes->data[2];
    frame->chroma_stride[0] = (uint32_t)planes->row_stride[1];
    return NULL;
}

static const char *take_crop(const frame_planes *planes, mts_region *region)
{
    if (planes->left == 0 && planes->top == 0 && planes->right == 0 && planes->bottom == 0) {
        return NULL;
    }
    if (planes->left < 0 || planes->top < 0 || planes->right <= planes->left ||
        planes->bottom <= planes->top || planes->right > planes->width || planes->bottom > planes->height) {
        return "the crop of the camera's picture lies outside of it";
    }
    region->x = (uint32_t)planes->left;
    region->y = (uint32_t)planes->top;
    region->width = (uint32_t)(planes->right - planes->left);
    region->height = (uint32_t)(planes->bottom - planes->top);
    return NULL;
}

const char *frame_from_planes(const frame_planes *planes, mts_frame *frame)
{
    mts_frame_default(frame);
    const char *fault = plane_fault(planes);
    if (fault) {
        return fault;
    }
    frame->data = planes->data[0];
    frame->width = (uint32_t)planes->width;
    frame->height = (uint32_t)planes->height;
    frame->stride = (uint32_t)planes->row_stride[0];
    frame->yuv = MTS_YUV_BT601_FULL; /* YUV_420_888 of a camera is JPEG's */
    if (planes->pixel_stride[1] == 2) {
        fault = take_pairs(planes, frame);
    } else {
        frame->format = MTS_PIXEL_FORMAT_I420;
        for (int i = 0; i < 2; i++) {
            frame->chroma[i] = planes->data[1 + i];
            frame->chroma_stride[i] = (uint32_t)planes->row_stride[1 + i];
        }
    }
    return fault ? fault : take_crop(planes, &frame->region);
}

/* 0..359, a multiple of 90. */
static int32_t quarter(int32_t degrees)
{
    const int32_t turn = (degrees % 360 + 360) % 360;
    return (turn + 45) / 90 % 4 * 90;
}

bool frame_to_buffer(const void *buffer, mts_frame *frame)
{
    const uintptr_t first = (uintptr_t)frame->data;
    uint32_t offsets[3] = {0};
    for (int k = 0; k < 2; k++) {
        const uintptr_t plane = (uintptr_t)frame->chroma[k];
        if (!frame->chroma[k]) {
            continue;
        }
        if (plane <= first || plane - first > UINT32_MAX) {
            return false;
        }
        offsets[k + 1] = (uint32_t)(plane - first);
    }
    frame->memory = MTS_MEMORY_ANDROID;
    frame->buffer = buffer;
    memcpy(frame->offsets, offsets, sizeof offsets);
    frame->data = frame->chroma[0] = frame->chroma[1] = NULL;
    return true;
}

mts_rotation frame_rotation(int32_t sensor, int32_t display, bool front)
{
    /* A screen that turns one way turns the other way for a camera that looks at its
       viewer. */
    const int32_t turn = front ? quarter(sensor) + quarter(display) : quarter(sensor) - quarter(display);
    return (mts_rotation)quarter(turn);
}

static bool reaches(frame_size size, frame_size wanted)
{
    return size.width >= wanted.width && size.height >= wanted.height;
}

static bool has_shape(frame_size size, frame_size wanted)
{
    return (int64_t)size.width * wanted.height == (int64_t)size.height * wanted.width;
}

static bool is_better(frame_size size, frame_size best, frame_size wanted)
{
    const int64_t area = (int64_t)size.width * size.height, least = (int64_t)best.width * best.height;
    if (reaches(size, wanted) != reaches(best, wanted)) {
        return reaches(size, wanted);
    }
    if (!reaches(size, wanted)) {
        return area > least;
    }
    return has_shape(size, wanted) != has_shape(best, wanted) ? has_shape(size, wanted) : area < least;
}

bool frame_size_choose(const int32_t *offered, uint32_t count, int32_t format, frame_size wanted,
                       frame_size *out)
{
    bool found = false;
    for (uint32_t i = 0; offered && count >= 4 && i <= count - 4; i += 4) {
        const frame_size size = {offered[i + 1], offered[i + 2]};
        if (offered[i] != format || offered[i + 3] != 0 || size.width < 1 || size.height < 1) {
            continue;
        }
        if (!found || is_better(size, *out, wanted)) {
            *out = size;
            found = true;
        }
    }
    return found;
}
