/*
 * index.c: reference kernels whose values or results are positions, and scans: take,
 * order, scan.
 */
#include <math.h>

#include "platform/reference/reference.h"

/* ---- take ---- */

static float take_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_take_params *r = params;
    const float index = (r->index_pool ? call->pool : call->act)[mts_reference_view_at(&r->index, at)];
    double row = index < 0.0f ? (double)index + (double)r->length : (double)index;
    row = row > 0.0 ? fmin(row, (double)r->length - 1.0) : 0.0; /* NaN too */
    const uint32_t from[MTS_PARAM_RANK] = {at[0], at[1], at[2], at[3], (uint32_t)row, at[5]};
    return (r->src_pool ? call->pool : call->act)[mts_reference_view_at(&r->src, from)];
}

static const char *take_member(const mts_reference_call *call, const void *params)
{
    const mts_take_params *r = params;
    const uint32_t *d = r->dest.dims;
    const uint32_t dims[MTS_PARAM_RANK] = {d[0], d[1], d[2], d[3], r->length, d[5]};
    if (r->length == 0 || !mts_reference_view_fits(call, &r->src, dims, r->src_pool) ||
        !mts_reference_view_fits(call, &r->index, d, r->index_pool)) {
        return "an operand leaves its buffer";
    }
    return mts_reference_write(call, &r->dest, r, take_value);
}

const char *mts_reference_take_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_take_params), take_member);
}

/* ---- scan ---- */

static float scan_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_scan_params *r = params;
    const uint32_t here = at[r->axis];
    double v = r->kind == MTS_SCAN_PROD ? 1.0 : 0.0;
    uint32_t from[MTS_PARAM_RANK] = {at[0], at[1], at[2], at[3], at[4], at[5]};
    for (uint32_t k = 0; k < r->length; k++) {
        from[r->axis] = k;
        if (k == here ? !r->exclusive : (k > here) == (r->reverse != 0)) {
            const double x = (double)call->act[mts_reference_view_at(&r->src, from)];
            v = r->kind == MTS_SCAN_PROD ? v * x : v + x;
        }
    }
    return (float)v;
}

static const char *scan_member(const mts_reference_call *call, const void *params)
{
    const mts_scan_params *r = params;
    if (r->axis >= MTS_PARAM_RANK || r->length != r->dest.dims[r->axis]) {
        return "the length is not that of the axis";
    }
    if (!mts_reference_view_fits(call, &r->src, r->dest.dims, false)) {
        return "the operand leaves the arena";
    }
    return mts_reference_write(call, &r->dest, r, scan_value);
}

const char *mts_reference_scan_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_scan_params), scan_member);
}

/* ---- order ---- */

/* Numbers, and beyond both infinities those that are none, by their sign. */
static int compare(float a, float b)
{
    const int none_a = isnan(a) ? signbit(a) ? -1 : 1 : 0;
    const int none_b = isnan(b) ? signbit(b) ? -1 : 1 : 0;
    if (none_a || none_b) {
        return none_a - none_b;
    }
    return (a > b) - (a < b);
}

/* Whether element a of a row comes before element b. */
static bool comes_before(const mts_order_params *r, const float *row, uint32_t a, uint32_t b)
{
    const uint64_t step = r->src.stride[5];
    const int order = compare(row[a * step], row[b * step]);
    return order == 0 ? a < b : r->largest ? order > 0 : order < 0;
}

/* Each result is the first of those that come after the result before it. */
static void order_row(const mts_reference_call *call, const mts_order_params *r, uint32_t *at)
{
    at[5] = 0;
    const float *row = call->act + mts_reference_view_at(&r->src, at);
    uint32_t previous = 0;
    for (uint32_t n = 0; n < r->dest.dims[5]; n++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < r->length; i++) {
            const bool left = n == 0 || comes_before(r, row, previous, i);
            best = left && (best == UINT32_MAX || comes_before(r, row, i, best)) ? i : best;
        }
        previous = best;
        at[5] = n;
        call->act[mts_reference_dest_at(&r->dest, at)] = (float)best;
    }
}

static const char *order_member(const mts_reference_call *call, const void *params)
{
    const mts_order_params *r = params;
    const uint32_t *d = r->dest.dims;
    const uint32_t dims[MTS_PARAM_RANK] = {d[0], d[1], d[2], d[3], d[4], r->length};
    if (d[5] > r->length) {
        return "more elements are wanted than there are";
    }
    if (!mts_reference_view_fits(call, &r->src, dims, false)) {
        return "the operand leaves the arena";
    }
    const char *reason = mts_reference_write(call, &r->dest, r, mts_reference_zero);
    for (uint64_t n = 0; !reason && n < (uint64_t)d[0] * d[1] * d[2] * d[3] * d[4]; n++) {
        uint32_t at[MTS_PARAM_RANK] = {0};
        uint64_t rest = n;
        for (uint32_t i = 5; i-- > 0;) {
            at[i] = (uint32_t)(rest % d[i]);
            rest /= d[i];
        }
        order_row(call, r, at);
    }
    return reason;
}

const char *mts_reference_order_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_order_params), order_member);
}
