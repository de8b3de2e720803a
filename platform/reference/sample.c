/*
 * sample.c: reference kernel that samples images at the positions of a grid, as ONNX
 * defines GridSample.
 */
#include <math.h>

#include "platform/reference/reference.h"

typedef struct extent {
    double low, high, size;
} extent;

static extent extent_of(const mts_sample_params *r, uint32_t size)
{
    const double n = (double)size;
    return r->align ? (extent){0.0, n - 1.0, n} : (extent){-0.5, n - 0.5, n};
}

static double reflect(double x, const extent *e)
{
    const double range = e->high - e->low;
    if (range <= 0.0) {
        return e->low;
    }
    while (x < e->low || x > e->high) {
        /* whole turns there and back change nothing */
        const double over = x < e->low ? e->low - x : x - e->high;
        const double rest = fmod(over, 2.0 * range);
        x = x < e->low ? e->low + rest : e->high - rest;
    }
    return x;
}

/* In float as other runtimes do; what is no number, or far away, goes to an end that
   floats name exactly. */
static double position(const mts_sample_params *r, float at, uint32_t size)
{
    const extent e = extent_of(r, size);
    const float n = (float)size;
    const float stated = r->align ? (at + 1.0f) * 0.5f * (n - 1.0f) : ((at + 1.0f) * n - 1.0f) * 0.5f;
    double x = stated > -1048576.0f ? fmin((double)stated, 1048576.0) : -1048576.0;
    if (r->mode == MTS_RESIZE_NEAREST) {
        x = nearbyint(x);
    }
    if (x >= e.low && x <= e.high) {
        return x;
    }
    if (r->padding == MTS_SAMPLE_BORDER) {
        return fmin(fmax(x, 0.0), e.size - 1.0);
    }
    return r->padding == MTS_SAMPLE_REFLECT ? reflect(x, &e) : x;
}

/* Row or column of a tap; -1: it counts as 0. */
static int64_t tap(const mts_sample_params *r, double at, uint32_t size)
{
    const extent e = extent_of(r, size);
    if (r->padding == MTS_SAMPLE_ZEROS && (at < 0.0 || at >= e.size)) {
        return -1;
    }
    at = r->padding == MTS_SAMPLE_REFLECT ? reflect(at, &e) : at;
    return (int64_t)fmin(fmax(at, 0.0), e.size - 1.0);
}

/* Keys' cubic with a = -0.75, a triangle, or 1. */
static double weight(uint32_t mode, double d)
{
    const double a = -0.75;
    d = fabs(d);
    if (mode != MTS_RESIZE_CUBIC) {
        return mode == MTS_RESIZE_LINEAR ? 1.0 - d : 1.0;
    }
    return d <= 1.0 ? (a + 2.0) * d * d * d - (a + 3.0) * d * d + 1.0
                    : a * d * d * d - 5.0 * a * d * d + 8.0 * a * d - 4.0 * a;
}

static float sample_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_sample_params *r = params;
    const uint32_t point[MTS_PARAM_RANK] = {at[0], at[1], at[2], at[4], at[5], 0};
    const float *grid = (r->grid_pool ? call->pool : call->act) + mts_reference_view_at(&r->grid, point);
    const double x = position(r, grid[0], r->in_w), y = position(r, grid[r->grid.stride[5]], r->in_h);
    const int first = r->mode == MTS_RESIZE_CUBIC ? -1 : 0, last = (int)r->mode;
    double sum = 0.0;
    for (int v = first; v <= last; v++) {
        for (int u = first; u <= last; u++) {
            const double row_at = floor(y) + v, column_at = floor(x) + u;
            const int64_t row = tap(r, row_at, r->in_h), column = tap(r, column_at, r->in_w);
            if (row >= 0 && column >= 0) {
                const uint32_t from[MTS_PARAM_RANK] = {at[0], at[1],         at[2],
                                                       at[3], (uint32_t)row, (uint32_t)column};
                sum += weight(r->mode, y - row_at) * weight(r->mode, x - column_at) *
                       (double)(r->src_pool ? call->pool : call->act)[mts_reference_view_at(&r->src, from)];
            }
        }
    }
    return (float)sum;
}

static const char *sample_member(const mts_reference_call *call, const void *params)
{
    const mts_sample_params *r = params;
    const uint32_t *d = r->dest.dims;
    const uint32_t image[MTS_PARAM_RANK] = {d[0], d[1], d[2], d[3], r->in_h, r->in_w};
    const uint32_t points[MTS_PARAM_RANK] = {d[0], d[1], d[2], d[4], d[5], 2};
    if (r->mode > MTS_RESIZE_CUBIC || r->in_h == 0 || r->in_w == 0) {
        return "a mode or a size is out of range";
    }
    if (!mts_reference_view_fits(call, &r->src, image, r->src_pool) ||
        !mts_reference_view_fits(call, &r->grid, points, r->grid_pool)) {
        return "an operand leaves its buffer";
    }
    return mts_reference_write(call, &r->dest, r, sample_value);
}

const char *mts_reference_sample_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_sample_params), sample_member);
}
