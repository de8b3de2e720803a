/*
 * reduce.c: reference kernels that combine many elements into one: reduce, softmax,
 * matmul.
 */
#include <math.h>

#include "platform/reference/reference.h"

/* ---- reduce ---- */

/* Elements of extent[], counted row-major: offset of the n-th. */
static uint64_t reduce_offset(const mts_reduce_params *r, uint64_t n)
{
    uint64_t offset = 0;
    for (int i = MTS_PARAM_RANK - 1; i >= 0; i--) {
        offset += n % r->extent[i] * r->step[i];
        n /= r->extent[i];
    }
    return offset;
}

static uint64_t reduce_count(const mts_reduce_params *r)
{
    uint64_t count = 1;
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        count *= r->extent[i];
    }
    return count;
}

/* The position in one dimension. */
static float reduce_where(const mts_reduce_params *r, const float *src, uint64_t count)
{
    const bool least = r->kind == MTS_REDUCE_ARG_MIN || r->kind == MTS_REDUCE_ARG_MIN_LAST;
    const bool last = r->kind >= MTS_REDUCE_ARG_MAX_LAST;
    uint64_t best = 0;
    for (uint64_t n = 1; n < count; n++) {
        const float a = src[reduce_offset(r, n)], b = src[reduce_offset(r, best)];
        const bool better = least ? a < b : a > b;
        best = better || (last && a == b) ? n : best;
    }
    return (float)best;
}

static double reduce_term(uint32_t kind, double x, double most)
{
    switch (kind) {
    case MTS_REDUCE_L1:
        return fabs(x);
    case MTS_REDUCE_L2:
    case MTS_REDUCE_SUM_SQUARE:
    case MTS_REDUCE_MEAN_SQUARE:
        return x * x;
    case MTS_REDUCE_LOG_SUM_EXP:
        return exp(x - most);
    default:
        return x;
    }
}

/* What is made of the sum of the terms. */
static double reduce_end(uint32_t kind, double sum, double count, double most)
{
    switch (kind) {
    case MTS_REDUCE_MEAN:
    case MTS_REDUCE_MEAN_SQUARE:
        return sum / count;
    case MTS_REDUCE_L2:
        return sqrt(sum);
    case MTS_REDUCE_LOG_SUM:
        return log(sum);
    case MTS_REDUCE_LOG_SUM_EXP:
        return log(sum) + most;
    default:
        return sum;
    }
}

static float reduce_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_reduce_params *r = params;
    const float *src = call->act + mts_reference_view_at(&r->src, at);
    const uint64_t count = reduce_count(r);
    double sum = 0.0, product = 1.0;
    float most = -INFINITY;
    float least = INFINITY;
    if (MTS_REDUCE_IS_POSITION(r->kind)) {
        return reduce_where(r, src, count);
    }
    for (uint64_t n = 0; n < count; n++) {
        const float v = src[reduce_offset(r, n)];
        product *= (double)v;
        most = v > most ? v : most;
        least = v < least ? v : least;
    }
    /* An infinite one is left out of sums: infinity less infinity is NaN. */
    const double shift = isfinite(most) ? (double)most : 0.0;
    for (uint64_t n = 0; n < count; n++) {
        sum += reduce_term(r->kind, (double)src[reduce_offset(r, n)], shift);
    }
    switch (r->kind) {
    case MTS_REDUCE_MAX:
        return most;
    case MTS_REDUCE_MIN:
        return least;
    case MTS_REDUCE_PROD:
        return (float)product;
    default:
        return (float)reduce_end(r->kind, sum, (double)count, shift);
    }
}

static const char *reduce_member(const mts_reference_call *call, const void *params)
{
    const mts_reduce_params *r = params;
    mts_view_params last = r->src;
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        const uint64_t reach = r->extent[i] ? (uint64_t)(r->extent[i] - 1) * r->step[i] : UINT32_MAX;
        if (reach >= UINT32_MAX - last.base) {
            return "the operand leaves the arena";
        }
        last.base += (uint32_t)reach;
    }
    if (!mts_reference_view_fits(call, &last, r->dest.dims, false)) {
        return "the operand leaves the arena";
    }
    return mts_reference_write(call, &r->dest, r, reduce_value);
}

const char *mts_reference_reduce_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_reduce_params), reduce_member);
}

const char *mts_reference_reduce_group__f32_planar(const mts_reference_call *call)
{
    return mts_reference_reduce_any__f32_planar(call);
}

/* ---- softmax ---- */

/* The line of `length` elements along the axis that begins at coordinates at[]. */
static void softmax_line(const mts_reference_call *call, const mts_softmax_params *r, uint32_t *at)
{
    float most = -INFINITY;
    double sum = 0.0;
    for (uint32_t k = 0; k < r->length; k++) {
        at[r->axis] = k;
        const float v = call->act[mts_reference_view_at(&r->src, at)];
        most = v > most ? v : most;
    }
    for (uint32_t k = 0; k < r->length; k++) {
        at[r->axis] = k;
        sum += exp((double)call->act[mts_reference_view_at(&r->src, at)] - (double)most);
    }
    for (uint32_t k = 0; k < r->length; k++) {
        at[r->axis] = k;
        const double v = (double)call->act[mts_reference_view_at(&r->src, at)] - (double)most;
        call->act[mts_reference_dest_at(&r->dest, at)] = (float)(r->log ? v - log(sum) : exp(v) / sum);
    }
}

static const char *softmax_member(const mts_reference_call *call, const void *params)
{
    const mts_softmax_params *r = params;
    if (r->axis >= MTS_PARAM_RANK || r->length != r->dest.dims[r->axis]) {
        return "the length is not that of the axis";
    }
    if (!mts_reference_view_fits(call, &r->src, r->dest.dims, false)) {
        return "the operand leaves the arena";
    }
    const char *reason = mts_reference_write(call, &r->dest, r, mts_reference_zero);
    if (reason) {
        return reason;
    }
    uint64_t lines = 1;
    for (uint32_t i = 0; i < MTS_PARAM_RANK; i++) {
        lines *= i == r->axis ? 1 : r->dest.dims[i];
    }
    for (uint64_t n = 0; n < lines; n++) {
        uint32_t at[MTS_PARAM_RANK] = {0};
        uint64_t rest = n;
        for (uint32_t i = MTS_PARAM_RANK; i-- > 0;) {
            if (i != r->axis) {
                at[i] = (uint32_t)(rest % r->dest.dims[i]);
                rest /= r->dest.dims[i];
            }
        }
        softmax_line(call, r, at);
    }
    return NULL;
}

const char *mts_reference_softmax_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_softmax_params), softmax_member);
}

/* ---- matmul ---- */

static float matmul_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_matmul_params *r = params;
    const float *lhs = r->lhs_pool ? call->pool : call->act;
    const float *rhs = r->rhs_pool ? call->pool : call->act;
    double sum = 0.0;
    for (uint32_t k = 0; k < r->depth; k++) {
        const uint32_t left[MTS_PARAM_RANK] = {at[0], at[1], at[2], at[3], at[4], k};
        const uint32_t right[MTS_PARAM_RANK] = {at[0], at[1], at[2], at[3], k, at[5]};
        sum += (double)lhs[mts_reference_view_at(&r->lhs, left)] *
               (double)rhs[mts_reference_view_at(&r->rhs, right)];
    }
    double value = (double)r->alpha * sum;
    if (r->beta != 0.0f) {
        const float *add = r->add_pool ? call->pool : call->act;
        value += (double)r->beta * (double)add[mts_reference_view_at(&r->add, at)];
    }
    return (float)value;
}

static const char *matmul_member(const mts_reference_call *call, const void *params)
{
    const mts_matmul_params *r = params;
    const uint32_t *d = r->dest.dims;
    const uint32_t left[MTS_PARAM_RANK] = {d[0], d[1], d[2], d[3], d[4], r->depth};
    const uint32_t right[MTS_PARAM_RANK] = {d[0], d[1], d[2], d[3], r->depth, d[5]};
    if (!mts_reference_view_fits(call, &r->lhs, left, r->lhs_pool) ||
        !mts_reference_view_fits(call, &r->rhs, right, r->rhs_pool) ||
        (r->beta != 0.0f && !mts_reference_view_fits(call, &r->add, d, r->add_pool))) {
        return "an operand leaves its buffer";
    }
    return mts_reference_write(call, &r->dest, r, matmul_value);
}

const char *mts_reference_matmul_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_matmul_params), matmul_member);
}

const char *mts_reference_matmul_block__f32_planar(const mts_reference_call *call)
{
    return mts_reference_matmul_any__f32_planar(call);
}
