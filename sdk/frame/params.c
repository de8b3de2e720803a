/*
 * params.c: the arithmetic of the frame kernel's parameters: colours, planes, fit and
 * filter of a region. Not responsible for where the planes of a format lie (layout.c).
 */
#include "frame/params.h"

#include <math.h>
#include <string.h>

/* Of an image pixel, in one direction. */
#define POINTS_MOST 32.0

/* The constants of libyuv: their unit is 1/64, and the factor of blue is at most
   128/64. */
typedef struct yuv_constants {
    uint32_t gain; /* 65536/257 of Y's factor, in 1/64 */
    float bias, bu, gu, gv, rv;
} yuv_constants;

static const yuv_constants yuv_table[] = {
    [MTS_YUV_BT601] = {18997, -1192.0f, 128.0f, 25.0f, 52.0f, 102.0f},
    [MTS_YUV_BT601_FULL] = {16320, 0.0f, 113.0f, 22.0f, 46.0f, 90.0f},
    [MTS_YUV_BT709] = {18997, -1192.0f, 128.0f, 14.0f, 34.0f, 115.0f},
    [MTS_YUV_BT709_FULL] = {16320, 0.0f, 119.0f, 12.0f, 30.0f, 101.0f},
};

mts_region_defaults mts_frame_defaults(const mts_preprocess *preprocess)
{
    mts_region_defaults defaults = {.fit = (mts_fit)preprocess->fit,
                                    .filter = (mts_filter)preprocess->filter};
    memcpy(defaults.fill, preprocess->fill, sizeof defaults.fill);
    memcpy(defaults.crop, preprocess->crop, sizeof defaults.crop);
    return defaults;
}

mts_frame_params mts_frame_params_of(const mts_preprocess *preprocess, const int64_t dims[4], mts_type dtype,
                                     uint64_t offset, uint32_t index)
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
    if (dtype == MTS_TYPE_INT8 || dtype == MTS_TYPE_UINT8) {
        r.least = dtype == MTS_TYPE_INT8 ? -128.0f : 0.0f;
        r.most = r.least + 255.0f;
    }
    return r;
}

/* The three bytes of a pixel are red, green and blue, or Y, U and V. */
void mts_frame_params_place(mts_frame_params *r, const mts_frame_view *view,
                            const uint32_t at[MTS_FRAME_PLANES])
{
    static const uint32_t rgb[3] = {0, 1, 2};
    static const uint32_t bgr[3] = {2, 1, 0};
    static const uint32_t yuyv[3] = {0, 1, 3};
    static const uint32_t uyvy[3] = {1, 0, 2};
    const mts_pixel_format f = view->frame.format;
    const bool planar = f == MTS_PIXEL_FORMAT_I420;
    const uint32_t *order = f == MTS_PIXEL_FORMAT_RGB || f == MTS_PIXEL_FORMAT_RGBA   ? rgb
                            : f == MTS_PIXEL_FORMAT_BGR || f == MTS_PIXEL_FORMAT_BGRA ? bgr
                            : f == MTS_PIXEL_FORMAT_YUYV                              ? yuyv
                                                                                      : uyvy;
    r->shift[0] = f >= MTS_PIXEL_FORMAT_NV12 && f <= MTS_PIXEL_FORMAT_I420;
    r->shift[1] = f >= MTS_PIXEL_FORMAT_NV12;
    for (uint32_t k = 0; k < 3; k++) {
        r->plane[k] = at[0] + (f == MTS_PIXEL_FORMAT_GREY ? 0 : order[k]);
        r->stride[k] = view->stride[0];
    }
    if (r->shift[0]) {
        r->plane[0] = at[0];
        r->plane[1] = at[1] + (f == MTS_PIXEL_FORMAT_NV21);
        r->plane[2] = planar ? at[2] : at[1] + (f == MTS_PIXEL_FORMAT_NV12);
        r->stride[1] = view->stride[1];
        r->stride[2] = view->stride[planar ? 2 : 1];
    }
    r->pixel[0] = f == MTS_PIXEL_FORMAT_RGBA || f == MTS_PIXEL_FORMAT_BGRA   ? 4
                  : f == MTS_PIXEL_FORMAT_RGB || f == MTS_PIXEL_FORMAT_BGR   ? 3
                  : f == MTS_PIXEL_FORMAT_YUYV || f == MTS_PIXEL_FORMAT_UYVY ? 2
                                                                             : 1;
    r->pixel[1] = !r->shift[1] ? r->pixel[0] : r->shift[0] ? (planar ? 1 : 2) : 4;
}

static void set_colours(mts_frame_params *r, const mts_frame_view *view)
{
    const yuv_constants *k = &yuv_table[view->frame.yuv];
    r->yuv = view->frame.format >= MTS_PIXEL_FORMAT_NV12;
    r->gain = (float)k->gain * 257.0f / 65536.0f / 64.0f;
    r->bias = k->bias / 64.0f;
    r->bu = k->bu / 64.0f;
    r->gu = k->gu / 64.0f;
    r->gv = k->gv / 64.0f;
    r->rv = k->rv / 64.0f;
}

/* A bar gets the value that a frame of its colour would have in the image. */
static void set_bars(mts_frame_params *r, const uint8_t fill[3])
{
    const float luma = 0.299f * (float)fill[0] + 0.587f * (float)fill[1] + 0.114f * (float)fill[2];
    for (uint32_t c = 0; c < r->channels; c++) {
        const float colour = r->order[c] < 3 ? (float)fill[r->order[c]] : luma;
        const float value = (colour - r->mean[c]) * r->scale[c];
        r->bar[c] = r->least < r->most ? rintf(fminf(fmaxf(value, r->least), r->most)) : value;
    }
}

/* Finds the part of the image that a region covers; the upright region is `high` by
   `wide` pixels. */
static void fit(mts_frame_params *r, mts_fit kind, double high, double wide)
{
    const mts_region_part part = mts_region_part_of(kind, wide, high, r->width, r->height);
    r->rows = part.rows;
    r->columns = part.columns;
    r->top = part.top;
    r->left = part.left;
}

static void scale(mts_frame_params *r, int direction, uint32_t from, uint32_t to, mts_filter filter)
{
    r->ratio[direction] = (float)from / (float)to;
    r->inverse[direction] = (float)to / (float)from;
    r->box[direction] = filter == MTS_FILTER_AREA && from > to;
}

/* First of the pixels from `low` to `high` that lie in 0..size, and their number, at
   least one. */
static void clip(double low, double high, uint32_t size, mts_u32 *first, mts_u32 *count)
{
    const double begin = fmin(fmax(floor(low), 0.0), size - 1.0);
    const double end = fmin(fmax(ceil(high), 0.0), size - 1.0);
    *first = (mts_u32)begin;
    *count = (mts_u32)(end - begin) + 1;
}

/* Points that an image pixel is the mean of, in a direction where it covers this many
   pixels of the frame. */
static mts_u32 points_each(double covered, mts_filter filter)
{
    return filter == MTS_FILTER_AREA ? (mts_u32)fmin(fmax(ceil(covered), 1.0), POINTS_MOST) : 1;
}

/* A rectangle at any place and angle. */
static void show_turned(mts_frame_params *r, const mts_frame_view *view, const mts_region *region)
{
    const bool quarter = mts_region_is_quarter(region);
    const double high = (double)region->sides[quarter ? 0 : 1];
    const double wide = (double)region->sides[quarter ? 1 : 0];
    double corner[4][2];
    fit(r, region->fit, high, wide);
    for (int i = 0; i < 4; i++) {
        mts_region_point(region, i & 1, i >> 1, corner[i]);
    }
    for (int k = 0; k < 2; k++) {
        r->m[3 * k] = (float)((corner[1][k] - corner[0][k]) / r->columns);
        r->m[3 * k + 1] = (float)((corner[2][k] - corner[0][k]) / r->rows);
        r->m[3 * k + 2] = (float)corner[0][k];
        const double low = fmin(fmin(corner[0][k], corner[1][k]), fmin(corner[2][k], corner[3][k]));
        const double most = fmax(fmax(corner[0][k], corner[1][k]), fmax(corner[2][k], corner[3][k]));
        /* with the pixels next to a point, and room for rounding */
        clip(low - 2.0, most + 2.0, k == 0 ? view->frame.width : view->frame.height, k == 0 ? &r->x : &r->y,
             k == 0 ? &r->w : &r->h);
    }
    r->turned_by = 1;
    r->edge = region->outside == MTS_OUTSIDE_EDGE;
    r->turned = r->flip_x = r->flip_y = 0;
    r->box[0] = points_each(high / r->rows, region->filter);
    r->box[1] = points_each(wide / r->columns, region->filter);
    r->ratio[0] = r->ratio[1] = r->inverse[0] = r->inverse[1] = 1.0f;
    for (int c = 0; c < 3; c++) {
        r->fill[c] = (float)region->fill[c];
    }
}

/* Whole pixels of the frame, turned by quarters. */
static void show_upright(mts_frame_params *r, const mts_frame_view *view, const mts_region *region)
{
    const bool whole = region->width == 0;
    r->x = whole ? 0 : region->x;
    r->y = whole ? 0 : region->y;
    r->w = whole ? view->frame.width : region->width;
    r->h = whole ? view->frame.height : region->height;
    /* A quarter turn to the right: the left column becomes the upper row, from its lower
       end on. */
    r->turned = mts_region_is_quarter(region);
    r->flip_x = region->rotation == MTS_ROTATION_180 || region->rotation == MTS_ROTATION_270;
    r->flip_y = region->rotation == MTS_ROTATION_90 || region->rotation == MTS_ROTATION_180;
    if (region->mirror != 0) {
        r->flip_x ^= !r->turned;
        r->flip_y ^= r->turned;
    }
    const uint32_t high = r->turned ? r->w : r->h;
    const uint32_t wide = r->turned ? r->h : r->w;
    fit(r, region->fit, high, wide);
    scale(r, 0, high, r->rows, region->filter);
    scale(r, 1, wide, r->columns, region->filter);
}

void mts_frame_params_show(mts_frame_params *r, const mts_frame_view *view, const mts_region *region,
                           const uint32_t at[MTS_FRAME_PLANES])
{
    if (region->sides[0] > 0.0f) {
        show_turned(r, view, region);
    } else {
        show_upright(r, view, region);
    }
    mts_frame_params_place(r, view, at);
    set_colours(r, view);
    set_bars(r, region->fill);
}

const mts_region *mts_frame_given_region(const mts_frame_image *image, const mts_frame_view *view)
{
    return image->show == MTS_FRAME_SHOW_REGION ? &image->region : &view->frame.region;
}

mts_region mts_frame_region(const mts_frame_image *image, const mts_frame_view *view)
{
    return mts_region_resolve(mts_frame_given_region(image, view), &image->defaults, view->frame.width,
                              view->frame.height, image->params.width, image->params.height);
}
