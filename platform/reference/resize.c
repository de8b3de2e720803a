/*
 * resize.c: reference kernels that interpolate: resize (ONNX) and frame (a camera picture).
 */
#include <math.h>

#include "platform/reference/reference.h"

/* ---- resize ---- */

/* Where output coordinate `at` of `out` lies in the source, by ONNX's definitions, in float as other runtimes
 * do. */
static float source_coordinate(const mts_rec_resize *r, int axis, uint32_t at, uint32_t out)
{
    const float x = (float)at;
    const float last = (float)r->in[axis] - 1.0f;
    switch (r->coord) {
    case MTS_COORD_PYTORCH_HALF_PIXEL:
        return out > 1 ? (x + 0.5f) / r->scale[axis] - 0.5f : 0.0f;
    case MTS_COORD_ALIGN_CORNERS:
        return out > 1 ? x * last / (float)(out - 1) : 0.0f;
    case MTS_COORD_ASYMMETRIC:
        return x / r->scale[axis];
    case MTS_COORD_TF_HALF_PIXEL:
        return (x + 0.5f) / r->scale[axis];
    case MTS_COORD_TF_CROP: {
        const float start = r->roi_start[axis];
        const float end = r->roi_end[axis];
        return out > 1 ? start * last + x * (end - start) * last / (float)(out - 1)
                       : 0.5f * (start + end) * last;
    }
    default:
        return (x + 0.5f) / r->scale[axis] - 0.5f;
    }
}

static float round_nearest(uint32_t round, float x)
{
    switch (round) {
    case MTS_ROUND_PREFER_CEIL:
        return floorf(x + 0.5f);
    case MTS_ROUND_FLOOR:
        return floorf(x);
    case MTS_ROUND_CEIL:
        return ceilf(x);
    default:
        return ceilf(x - 0.5f);
    }
}

/* The cubic convolution kernel at distance d. */
static double cubic(double a, double d)
{
    d = fabs(d);
    if (d <= 1.0) {
        return (a + 2.0) * d * d * d - (a + 3.0) * d * d + 1.0;
    }
    return d < 2.0 ? a * d * d * d - 5.0 * a * d * d + 8.0 * a * d - 4.0 * a : 0.0;
}

typedef struct taps {
    int count;
    int64_t at[4];
    double weight[4];
} taps;

static void cubic_taps(const mts_rec_resize *r, float x, int64_t last, taps *t)
{
    double sum = 0.0;
    t->count = 4;
    for (int i = 0; i < 4; i++) {
        t->at[i] = (int64_t)floorf(x) - 1 + i;
        const bool outside = t->at[i] < 0 || t->at[i] > last;
        t->weight[i] =
            r->exclude_outside && outside ? 0.0 : cubic((double)r->cubic_a, (double)x - (double)t->at[i]);
        sum += t->weight[i];
    }
    for (int i = 0; i < 4 && r->exclude_outside; i++) {
        t->weight[i] /= sum;
    }
}

/* Source positions (clamped to the image) and their weights; false: outside the crop, the extrapolation
 * value. */
static bool find_taps(const mts_rec_resize *r, int axis, uint32_t at, uint32_t out, taps *t)
{
    const int64_t last = (int64_t)r->in[axis] - 1;
    float x = source_coordinate(r, axis, at, out);
    if (r->coord == MTS_COORD_TF_CROP && (x < 0.0f || x > (float)last)) {
        return false;
    }
    if (r->mode == MTS_RESIZE_NEAREST) {
        *t = (taps){1, {(int64_t)round_nearest(r->round, x)}, {1.0}};
    } else if (r->mode == MTS_RESIZE_LINEAR) {
        x = x < 0.0f ? 0.0f : x > (float)last ? (float)last : x;
        const double above = (double)x - floor((double)x);
        *t = (taps){2, {(int64_t)x, (int64_t)x + 1}, {1.0 - above, above}};
    } else {
        cubic_taps(r, x, last, t);
    }
    for (int i = 0; i < t->count; i++) {
        t->at[i] = t->at[i] < 0 ? 0 : t->at[i] > last ? last : t->at[i];
    }
    return true;
}

static float resize_value(const mts_reference_call *call, const void *record, const uint32_t *at)
{
    const mts_rec_resize *r = record;
    taps rows;
    taps columns;
    double sum = 0.0;
    if (!find_taps(r, 0, at[4], r->dest.dims[4], &rows) ||
        !find_taps(r, 1, at[5], r->dest.dims[5], &columns)) {
        return r->extrapolation;
    }
    for (int y = 0; y < rows.count; y++) {
        for (int x = 0; x < columns.count; x++) {
            const uint32_t from[MTS_REC_RANK] = {
                at[0], at[1], at[2], at[3], (uint32_t)rows.at[y], (uint32_t)columns.at[x]};
            sum +=
                rows.weight[y] * columns.weight[x] * (double)call->act[mts_reference_view_at(&r->src, from)];
        }
    }
    return (float)sum;
}

static const char *resize_member(const mts_reference_call *call, const void *record)
{
    const mts_rec_resize *r = record;
    const uint32_t dims[MTS_REC_RANK] = {r->dest.dims[0], r->dest.dims[1], r->dest.dims[2],
                                         r->dest.dims[3], r->in[0],        r->in[1]};
    if (r->in[0] == 0 || r->in[1] == 0 || !mts_reference_view_fits(call, &r->src, dims, false)) {
        return "the operand leaves the arena";
    }
    return mts_reference_write(call, &r->dest, r, resize_value);
}

const char *mts_reference_resize_any(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_REC_WORDS(mts_rec_resize), resize_member);
}

/* ---- frame ---- */

static uint32_t pixel_bytes(uint32_t format)
{
    switch (format) {
    case MTS_PIXEL_GREY:
        return 1;
    case MTS_PIXEL_RGBA:
    case MTS_PIXEL_BGRA:
        return 4;
    default:
        return 3;
    }
}

/* Colour of one pixel of the picture: 0 red, 1 green, 2 blue, 3 luma. */
static double pixel_colour(const mts_reference_call *call, const mts_rec_frame *r, uint64_t y, uint64_t x,
                           uint32_t colour)
{
    const unsigned char *picture = (const unsigned char *)(call->pool + r->src);
    const unsigned char *p = picture + y * r->stride + x * pixel_bytes(r->format);
    const bool reversed = r->format == MTS_PIXEL_BGR || r->format == MTS_PIXEL_BGRA;
    if (r->format == MTS_PIXEL_GREY) {
        return p[0];
    }
    const double rgb[3] = {p[reversed ? 2 : 0], p[1], p[reversed ? 0 : 2]};
    return colour < 3 ? rgb[colour] : 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
}

/* Position of output coordinate i in the crop, clamped to it. */
static float crop_coordinate(uint32_t i, uint32_t out, uint32_t size)
{
    const float x = ((float)i + 0.5f) * ((float)size / (float)out) - 0.5f;
    const float last = (float)size - 1.0f;
    return x < 0.0f ? 0.0f : x > last ? last : x;
}

static float frame_value(const mts_reference_call *call, const void *record, const uint32_t *at)
{
    const mts_rec_frame *r = record;
    const uint32_t shift = r->interleaved ? 1 : 0; /* H, W, C lie one dimension earlier */
    const uint32_t channel = r->interleaved ? at[5] : at[3];
    const float y = crop_coordinate(at[4 - shift], r->dest.dims[4 - shift], r->crop_h);
    const float x = crop_coordinate(at[5 - shift], r->dest.dims[5 - shift], r->crop_w);
    double sum = 0.0;
    for (uint32_t dy = 0; dy < 2; dy++) {
        for (uint32_t dx = 0; dx < 2; dx++) {
            const double wy = dy ? (double)y - floor((double)y) : 1.0 - ((double)y - floor((double)y));
            const double wx = dx ? (double)x - floor((double)x) : 1.0 - ((double)x - floor((double)x));
            const uint32_t py = (uint32_t)y + dy < r->crop_h ? (uint32_t)y + dy : r->crop_h - 1;
            const uint32_t px = (uint32_t)x + dx < r->crop_w ? (uint32_t)x + dx : r->crop_w - 1;
            sum +=
                wy * wx *
                pixel_colour(call, r, (uint64_t)r->crop_y + py, (uint64_t)r->crop_x + px, r->order[channel]);
        }
    }
    return (float)((sum - (double)r->mean[channel]) * (double)r->scale[channel]);
}

static const char *frame_member(const mts_reference_call *call, const void *record)
{
    const mts_rec_frame *r = record;
    const uint32_t channels = r->dest.dims[r->interleaved ? 5 : 3];
    if (channels > 4 || r->crop_w == 0 || r->crop_h == 0 || (uint64_t)r->crop_x + r->crop_w > r->width ||
        (uint64_t)r->crop_y + r->crop_h > r->height ||
        (uint64_t)r->width * pixel_bytes(r->format) > r->stride) {
        return "the crop leaves the picture";
    }
    const uint64_t bytes =
        (uint64_t)(r->height - 1) * r->stride + (uint64_t)r->width * pixel_bytes(r->format);
    const uint64_t first = (uint64_t)r->src * sizeof(float);
    if (first > call->pool_bytes || bytes > call->pool_bytes - first) {
        return "the picture leaves its buffer";
    }
    return mts_reference_write(call, &r->dest, r, frame_value);
}

const char *mts_reference_frame_any(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_REC_WORDS(mts_rec_frame), frame_member);
}
