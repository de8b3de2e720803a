/*
 * window.c: reference kernels that look at a neighbourhood of the image: pool, lrn,
 * deconv.
 */
#include <float.h>
#include <math.h>

#include "platform/reference/reference.h"

/* ---- pool ---- */

/* Taps first .. end - 1 of a window lie at low .. high - 1; tap k lies at start + k *
   dilation. */
typedef struct tap_range {
    int64_t first, end;
} tap_range;

static tap_range taps_inside(int64_t start, uint32_t taps, uint32_t dilation, int64_t low, int64_t high)
{
    const int64_t step = dilation;
    tap_range range = {.first = start < low ? (low - start + step - 1) / step : 0,
                       .end = start < high ? (high - 1 - start) / step + 1 : 0};
    range.end = range.end < taps ? range.end : taps;
    range.first = range.first < range.end ? range.first : range.end;
    return range;
}

static float pool_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_pool_params *r = params;
    const int64_t size[2] = {r->in_h, r->in_w};
    int64_t start[2];
    tap_range image[2];
    double inside = 1.0;
    double padded = 1.0;
    for (int d = 0; d < 2; d++) {
        const uint32_t bits = d == 1 ? r->lane_bits : 0;
        const uint32_t pixel = at[4 + d] >> bits;
        start[d] = ((int64_t)pixel * r->stride[d] << bits) + at[4 + d] - (pixel << bits) - r->pad[d];
        image[d] = taps_inside(start[d], r->window[d], r->dilation[d], 0, size[d]);
        const tap_range both =
            taps_inside(start[d], r->window[d], r->dilation[d], -(int64_t)r->pad[d], size[d] + r->pad[d + 2]);
        inside *= (double)(image[d].end - image[d].first);
        padded *= (double)(both.end - both.first);
    }
    double sum = 0.0;
    float most = -FLT_MAX;
    for (int64_t ky = image[0].first; ky < image[0].end; ky++) {
        for (int64_t kx = image[1].first; kx < image[1].end; kx++) {
            const uint32_t from[MTS_PARAM_RANK] = {at[0],
                                                   at[1],
                                                   at[2],
                                                   at[3],
                                                   (uint32_t)(start[0] + ky * r->dilation[0]),
                                                   (uint32_t)(start[1] + kx * r->dilation[1])};
            const float v = call->act[mts_reference_view_at(&r->src, from)];
            sum += v;
            most = v > most ? v : most;
        }
    }
    if (r->kind == MTS_POOL_MAX) {
        return most;
    }
    const double count = r->include_pad ? padded : inside;
    return count > 0.0 ? (float)(sum / count) : 0.0f;
}

static const char *pool_member(const mts_reference_call *call, const void *params)
{
    const mts_pool_params *r = params;
    const uint32_t dims[MTS_PARAM_RANK] = {r->dest.dims[0], r->dest.dims[1], r->dest.dims[2],
                                           r->dest.dims[3], r->in_h,         r->in_w};
    if (r->dilation[0] == 0 || r->dilation[1] == 0) {
        return "a dilation is 0";
    }
    if (r->lane_bits > 2) {
        return "packs have four lanes";
    }
    if (!mts_reference_view_fits(call, &r->src, dims, false)) {
        return "the operand leaves the arena";
    }
    return mts_reference_write(call, &r->dest, r, pool_value);
}

const char *mts_reference_pool_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_pool_params), pool_member);
}

/* ---- lrn ---- */

static float lrn_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_lrn_params *r = params;
    const int64_t start = (int64_t)at[3] - (r->size - 1) / 2;
    const tap_range channels = taps_inside(start, r->size, 1, 0, r->channels);
    double sum = 0.0;
    for (int64_t c = start + channels.first; c < start + channels.end; c++) {
        const uint32_t from[MTS_PARAM_RANK] = {at[0], at[1], at[2], (uint32_t)c, at[4], at[5]};
        const double v = call->act[mts_reference_view_at(&r->src, from)];
        sum += v * v;
    }
    const double x = call->act[mts_reference_view_at(&r->src, at)];
    return (float)(x / pow((double)r->bias + (double)r->alpha / r->size * sum, (double)r->beta));
}

static const char *lrn_member(const mts_reference_call *call, const void *params)
{
    const mts_lrn_params *r = params;
    if (r->size == 0 || r->channels != r->dest.dims[3] ||
        !mts_reference_view_fits(call, &r->src, r->dest.dims, false)) {
        return "the operand leaves the arena";
    }
    return mts_reference_write(call, &r->dest, r, lrn_value);
}

const char *mts_reference_lrn_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_lrn_params), lrn_member);
}

/* ---- deconv ---- */

/* Input coordinate i with i * stride + k * dilation - pad = out, or -1. */
static int64_t deconv_source(uint32_t out, uint32_t k, uint32_t dilation, uint32_t stride, int32_t pad,
                             uint32_t size)
{
    const int64_t place = (int64_t)out + pad - (int64_t)k * dilation;
    return place >= 0 && place % stride == 0 && place / stride < size ? place / stride : -1;
}

static float deconv_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_deconv_params *r = params;
    const uint32_t outs = r->dest.dims[3] / r->group;
    const uint32_t ins = r->in_channels / r->group;
    const uint32_t group = at[3] / outs;
    float sum = 0.0f;
    for (uint32_t c = group * ins; c < (group + 1) * ins; c++) {
        for (uint32_t ky = 0; ky < r->window[0]; ky++) {
            for (uint32_t kx = 0; kx < r->window[1]; kx++) {
                const int64_t y = deconv_source(at[4], ky, r->dilation[0], r->stride[0], r->pad[0], r->in_h);
                const int64_t x = deconv_source(at[5], kx, r->dilation[1], r->stride[1], r->pad[1], r->in_w);
                if (y >= 0 && x >= 0) {
                    const uint32_t from[MTS_PARAM_RANK] = {at[0], at[1], at[2], c, (uint32_t)y, (uint32_t)x};
                    const uint64_t filter = (uint64_t)c * outs + at[3] % outs;
                    const uint64_t tap = (filter * r->window[0] + ky) * r->window[1] + kx;
                    sum += call->pool[r->weight + tap] * call->act[mts_reference_view_at(&r->src, from)];
                }
            }
        }
    }
    const float bias = r->bias == MTS_PARAM_NONE ? 0.0f : call->pool[r->bias + at[3]];
    return mts_reference_apply(r->fn, sum + bias, r->a, r->b, 1.0f);
}

static const char *deconv_member(const mts_reference_call *call, const void *params)
{
    const mts_deconv_params *r = params;
    const uint32_t outs = r->dest.dims[3];
    const uint32_t dims[MTS_PARAM_RANK] = {r->dest.dims[0], r->dest.dims[1], r->dest.dims[2],
                                           r->in_channels,  r->in_h,         r->in_w};
    if (r->group == 0 || outs % r->group != 0 || r->in_channels % r->group != 0 || r->stride[0] == 0 ||
        r->stride[1] == 0) {
        return "the groups or strides are wrong";
    }
    if (!mts_reference_view_fits(call, &r->src, dims, false)) {
        return "the operand leaves the arena";
    }
    const uint64_t filters = (uint64_t)r->in_channels * (outs / r->group);
    const uint64_t taps = (uint64_t)r->window[0] * r->window[1];
    if (filters > call->pool_size || taps > call->pool_size ||
        !mts_reference_in_pool(call, r->weight, filters * taps) ||
        (r->bias != MTS_PARAM_NONE && !mts_reference_in_pool(call, r->bias, outs))) {
        return "the weights leave the pool";
    }
    return mts_reference_write(call, &r->dest, r, deconv_value);
}

const char *mts_reference_deconv_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_deconv_params), deconv_member);
}
