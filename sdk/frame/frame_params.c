/*
 * frame_params.c: the arithmetic of pictures: where the planes of a format lie, and what the frame kernel
 * has to know of a region. Pure; no device calls.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "frame/frame.h"

/* As libyuv has them: 1/64 is their unit, and 128/64 their largest for blue. */
typedef struct yuv_constants {
    uint32_t gain; /* 65536/257 of Y's factor, in 1/64 */
    float bias, bu, gu, gv, rv;
} yuv_constants;

static const yuv_constants yuv_table[MTS_YUV_KIND_COUNT] = {
    [MTS_YUV_KIND_BT601] = {18997, -1192.0f, 128.0f, 25.0f, 52.0f, 102.0f},
    [MTS_YUV_KIND_BT601_FULL] = {16320, 0.0f, 113.0f, 22.0f, 46.0f, 90.0f},
    [MTS_YUV_KIND_BT709] = {18997, -1192.0f, 128.0f, 14.0f, 34.0f, 115.0f},
    [MTS_YUV_KIND_BT709_FULL] = {16320, 0.0f, 119.0f, 12.0f, 30.0f, 101.0f},
};

static uint32_t half_up(uint32_t x)
{
    return x / 2 + x % 2;
}

mts_picture_layout mts_picture_lay_out(uint32_t format, uint32_t width, uint32_t height)
{
    mts_picture_layout layout = {.planes = 1, .rows = {height}, .row_bytes = {3 * width}};
    switch (format) {
    case MTS_PIXEL_RGBA:
    case MTS_PIXEL_BGRA:
        layout.row_bytes[0] = 4 * width;
        break;
    case MTS_PIXEL_GREY:
        layout.row_bytes[0] = width;
        break;
    case MTS_PIXEL_YUYV:
    case MTS_PIXEL_UYVY:
        layout.row_bytes[0] = 4 * half_up(width);
        break;
    case MTS_PIXEL_NV12:
    case MTS_PIXEL_NV21:
    case MTS_PIXEL_I420:
        layout.planes = format == MTS_PIXEL_I420 ? 3 : 2;
        layout.row_bytes[0] = width;
        layout.rows[1] = layout.rows[2] = half_up(height);
        layout.row_bytes[1] = layout.row_bytes[2] = half_up(width) * (format == MTS_PIXEL_I420 ? 1 : 2);
        layout.down = 1;
        break;
    default:
        break;
    }
    return layout;
}

/* The last row ends with its last pixel, not with its stride. */
size_t mts_picture_plane_bytes(const mts_picture_layout *layout, const uint32_t *stride, uint32_t plane)
{
    return (size_t)stride[plane] * (layout->rows[plane] - 1) + layout->row_bytes[plane];
}

mts_status mts_picture_region_check(const mts_picture_region *region, uint32_t width, uint32_t height,
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

mts_frame_params mts_picture_image(const mts_preprocess *preprocess, const int64_t dims[4], uint64_t offset,
                                   uint32_t index)
{
    const mts_preprocess *p = preprocess;
    const bool inner = p->interleaved != 0;
    mts_frame_params r = {.channels = (mts_u32)dims[inner ? 3 : 1],
                          .height = (mts_u32)dims[inner ? 1 : 2],
                          .width = (mts_u32)dims[inner ? 2 : 3]};
    r.out = (mts_u32)offset + index * r.channels * r.height * r.width;
    r.step[0] = inner ? 1 : r.height * r.width;
    r.step[1] = inner ? r.width * r.channels : r.width;
    r.step[2] = inner ? r.channels : 1;
    for (uint32_t c = 0; c < r.channels; c++) {
        r.order[c] = p->color == MTS_COLOR_GREY ? 3 : p->color == MTS_COLOR_BGR ? 2 - c : c;
        r.mean[c] = p->mean[c];
        r.scale[c] = 1.0f / p->std[c];
    }
    return r;
}

/* The three bytes of a pixel: red, green, blue, or Y, U, V. */
static void describe_planes(mts_frame_params *r, const mts_picture *picture, const uint32_t *at)
{
    static const uint32_t rgb[3] = {0, 1, 2};
    static const uint32_t bgr[3] = {2, 1, 0};
    static const uint32_t yuyv[3] = {0, 1, 3};
    static const uint32_t uyvy[3] = {1, 0, 2};
    const uint32_t f = picture->format;
    const bool planar = f == MTS_PIXEL_I420;
    const uint32_t *order = f == MTS_PIXEL_RGB || f == MTS_PIXEL_RGBA   ? rgb
                            : f == MTS_PIXEL_BGR || f == MTS_PIXEL_BGRA ? bgr
                            : f == MTS_PIXEL_YUYV                       ? yuyv
                                                                        : uyvy;
    r->shift[0] = f >= MTS_PIXEL_NV12 && f <= MTS_PIXEL_I420;
    r->shift[1] = f >= MTS_PIXEL_NV12;
    for (uint32_t k = 0; k < 3; k++) {
        r->plane[k] = at[0] + (f == MTS_PIXEL_GREY ? 0 : order[k]);
        r->stride[k] = picture->stride[0];
    }
    if (r->shift[0]) {
        r->plane[0] = at[0];
        r->plane[1] = at[1] + (f == MTS_PIXEL_NV21);
        r->plane[2] = planar ? at[2] : at[1] + (f == MTS_PIXEL_NV12);
        r->stride[1] = picture->stride[1];
        r->stride[2] = picture->stride[planar ? 2 : 1];
    }
    r->pixel[0] = f == MTS_PIXEL_RGBA || f == MTS_PIXEL_BGRA   ? 4
                  : f == MTS_PIXEL_RGB || f == MTS_PIXEL_BGR   ? 3
                  : f == MTS_PIXEL_YUYV || f == MTS_PIXEL_UYVY ? 2
                                                               : 1;
    r->pixel[1] = !r->shift[1] ? r->pixel[0] : r->shift[0] ? (planar ? 1 : 2) : 4;
}

static void describe_colours(mts_frame_params *r, const mts_picture *picture)
{
    const yuv_constants *k = &yuv_table[picture->yuv < MTS_YUV_KIND_COUNT ? picture->yuv : 0];
    r->yuv = picture->format >= MTS_PIXEL_NV12;
    r->gain = (float)k->gain * 257.0f / 65536.0f / 64.0f;
    r->bias = k->bias / 64.0f;
    r->bu = k->bu / 64.0f;
    r->gu = k->gu / 64.0f;
    r->gv = k->gv / 64.0f;
    r->rv = k->rv / 64.0f;
}

/* Bars have the colour that a picture of that colour would give. */
static void describe_bars(mts_frame_params *r, const uint8_t fill[3])
{
    const float luma = 0.299f * (float)fill[0] + 0.587f * (float)fill[1] + 0.114f * (float)fill[2];
    for (uint32_t c = 0; c < r->channels; c++) {
        r->bar[c] = ((r->order[c] < 3 ? (float)fill[r->order[c]] : luma) - r->mean[c]) * r->scale[c];
    }
}

/* Where a region that is `high` and `wide` upright lies in the image. */
static void fit(mts_frame_params *r, uint32_t kind, uint32_t high, uint32_t wide)
{
    r->rows = r->height;
    r->columns = r->width;
    if (kind == MTS_FIT_KIND_LETTERBOX) {
        const double scale = fmin((double)r->height / high, (double)r->width / wide);
        const double rows = fmax(floor(high * scale + 0.5), 1.0);
        const double columns = fmax(floor(wide * scale + 0.5), 1.0);
        r->rows = (mts_u32)fmin(rows, r->height);
        r->columns = (mts_u32)fmin(columns, r->width);
    }
    r->top = (r->height - r->rows) / 2;
    r->left = (r->width - r->columns) / 2;
}

static void scale(mts_frame_params *r, int direction, uint32_t from, uint32_t to, uint32_t filter)
{
    r->ratio[direction] = (float)from / (float)to;
    r->inverse[direction] = (float)to / (float)from;
    r->box[direction] = filter == MTS_FILTER_KIND_AREA && from > to;
}

void mts_picture_describe(mts_frame_params *r, const mts_picture *picture, const mts_picture_region *region,
                          const uint32_t at[MTS_PICTURE_PLANES])
{
    const bool whole = region->width == 0;
    r->x = whole ? 0 : region->x;
    r->y = whole ? 0 : region->y;
    r->w = whole ? picture->width : region->width;
    r->h = whole ? picture->height : region->height;
    /* A quarter turn to the right: the left column becomes the upper row, from its lower end on. */
    r->turned = region->turns % 2;
    r->flip_x = region->turns == 2 || region->turns == 3;
    r->flip_y = region->turns == 1 || region->turns == 2;
    if (region->mirror) {
        r->flip_x ^= !r->turned;
        r->flip_y ^= r->turned;
    }
    const uint32_t high = r->turned ? r->w : r->h;
    const uint32_t wide = r->turned ? r->h : r->w;
    fit(r, region->fit, high, wide);
    scale(r, 0, high, r->rows, region->filter);
    scale(r, 1, wide, r->columns, region->filter);
    describe_planes(r, picture, at);
    describe_colours(r, picture);
    describe_bars(r, region->fill);
}
