/*
 * resize.c: reference kernel that resizes as ONNX defines it.
 */
#include <math.h>

#include "platform/reference/reference.h"

/* Where output coordinate `at` of `out` lies in the source, by ONNX's definitions, in
 * float as other runtimes do. */
static float source_coordinate(const mts_resize_params *r, int axis, uint32_t at, uint32_t out)
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

static void cubic_taps(const mts_resize_params *r, float x, int64_t last, taps *t)
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

/* Source positions (clamped to the image) and their weights; false: outside the crop, the
 * extrapolation value. */
static bool find_taps(const mts_resize_params *r, int axis, uint32_t at, uint32_t out, taps *t)
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

static float resize_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_resize_params *r = params;
    taps rows;
    taps columns;
    double sum = 0.0;
    const uint32_t pixel = at[5] >> r->lane_bits;
    const uint32_t lane = at[5] - (pixel << r->lane_bits);
    if (!find_taps(r, 0, at[4], r->dest.dims[4], &rows) ||
        !find_taps(r, 1, pixel, r->dest.dims[5] >> r->lane_bits, &columns)) {
        return r->extrapolation;
    }
    for (int y = 0; y < rows.count; y++) {
        for (int x = 0; x < columns.count; x++) {
            const uint32_t column = ((uint32_t)columns.at[x] << r->lane_bits) + lane;
            const uint32_t from[MTS_PARAM_RANK] = {at[0], at[1], at[2], at[3], (uint32_t)rows.at[y], column};
            sum +=
                rows.weight[y] * columns.weight[x] * (double)call->act[mts_reference_view_at(&r->src, from)];
        }
    }
    return (float)sum;
}

static const char *resize_member(const mts_reference_call *call, const void *params)
{
    const mts_resize_params *r = params;
    if (r->lane_bits > 2 || r->in[1] > UINT32_MAX >> r->lane_bits) {
        return "packs have four lanes";
    }
    const uint32_t dims[MTS_PARAM_RANK] = {r->dest.dims[0], r->dest.dims[1], r->dest.dims[2],
                                           r->dest.dims[3], r->in[0],        r->in[1] << r->lane_bits};
    if (r->in[0] == 0 || r->in[1] == 0 || !mts_reference_view_fits(call, &r->src, dims, false)) {
        return "the operand leaves the arena";
    }
    return mts_reference_write(call, &r->dest, r, resize_value);
}

static float resize_sum_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_resize_sum_params *r = params;
    return mts_reference_sum(call, &r->addend, at, resize_value(call, &r->resize, at));
}

static const char *resize_sum_member(const mts_reference_call *call, const void *params)
{
    const mts_resize_sum_params *r = params;
    const mts_resize_params *resize = &r->resize;
    const uint32_t dims[MTS_PARAM_RANK] = {resize->dest.dims[0], resize->dest.dims[1], resize->dest.dims[2],
                                           resize->dest.dims[3], resize->in[0],        resize->in[1]};
    if (resize->lane_bits != 0 || resize->in[0] == 0 || resize->in[1] == 0 ||
        !mts_reference_view_fits(call, &resize->src, dims, false)) {
        return "the operand leaves the arena";
    }
    if (!mts_reference_view_fits(call, &r->addend.other, resize->dest.dims, r->addend.other_pool)) {
        return "the summand leaves its buffer";
    }
    return mts_reference_write(call, &resize->dest, r, resize_sum_value);
}

const char *mts_reference_resize_sum__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_resize_sum_params), resize_sum_member);
}

const char *mts_reference_resize_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_resize_params), resize_member);
}
