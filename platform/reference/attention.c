/*
 * attention.c: the reference kernel of attention.
 */
#include <math.h>

#include "platform/reference/reference.h"

#ifndef MTS_SMALL /* the smallest library has no attention */

/* Score of a key; at: image, head, query, key. */
static double score(const mts_reference_call *call, const mts_attention_params *r, const uint32_t at[4])
{
    double sum = 0.0;
    for (uint32_t d = 0; d < r->depth; d++) {
        const uint32_t channel = at[1] * r->depth + d;
        const uint32_t q[MTS_PARAM_RANK] = {0, 0, at[0], channel, 0, at[2]};
        const uint32_t k[MTS_PARAM_RANK] = {0, 0, at[0], channel, 0, at[3]};
        sum += (double)call->act[mts_reference_view_at(&r->q, q)] *
               (double)call->act[mts_reference_view_at(&r->k, k)];
    }
    sum *= (double)r->scale;
    if (r->mask_pool != MTS_PARAM_NONE) {
        const uint32_t m[MTS_PARAM_RANK] = {0, 0, at[0], at[1], at[2], at[3]};
        sum += (double)(r->mask_pool ? call->pool : call->act)[mts_reference_view_at(&r->mask, m)];
    }
    return sum;
}

/* Results of one query of a head. */
static void attend(const mts_reference_call *call, const mts_attention_params *r, uint32_t at[4])
{
    const uint32_t width = r->dest.dims[3] / r->heads;
    double most = -INFINITY, total = 0.0;
    for (at[3] = 0; at[3] < r->keys; at[3]++) {
        most = fmax(most, score(call, r, at));
    }
    double sums[MTS_ATTENTION_DEPTH] = {0};
    for (at[3] = 0; at[3] < r->keys; at[3]++) {
        const double weight = exp(score(call, r, at) - most);
        total += weight;
        for (uint32_t d = 0; d < width; d++) {
            const uint32_t v[MTS_PARAM_RANK] = {0, 0, at[0], at[1] * width + d, 0, at[3]};
            sums[d] += weight * (double)call->act[mts_reference_view_at(&r->v, v)];
        }
    }
    for (uint32_t d = 0; d < width; d++) {
        const uint32_t out[MTS_PARAM_RANK] = {0, 0, at[0], at[1] * width + d, 0, at[2]};
        call->act[mts_reference_dest_at(&r->dest, out)] = (float)(sums[d] / total);
    }
}

static const char *check(const mts_reference_call *call, const mts_attention_params *r)
{
    const uint32_t images = r->dest.dims[2], channels = r->dest.dims[3], queries = r->dest.dims[5];
    if (r->dest.dims[0] != 1 || r->dest.dims[1] != 1 || r->dest.dims[4] != 1 || r->heads == 0 ||
        channels % r->heads != 0 || channels / r->heads > MTS_ATTENTION_DEPTH || r->depth == 0 ||
        r->depth > MTS_ATTENTION_DEPTH || r->keys == 0) {
        return "the heads do not fit the output";
    }
    const uint32_t q[MTS_PARAM_RANK] = {1, 1, images, r->heads * r->depth, 1, queries};
    const uint32_t k[MTS_PARAM_RANK] = {1, 1, images, r->heads * r->depth, 1, r->keys};
    const uint32_t v[MTS_PARAM_RANK] = {1, 1, images, channels, 1, r->keys};
    const uint32_t mask[MTS_PARAM_RANK] = {1, 1, images, r->heads, queries, r->keys};
    const bool masks = r->mask_pool != MTS_PARAM_NONE;
    return mts_reference_view_fits(call, &r->q, q, false) && mts_reference_view_fits(call, &r->k, k, false) &&
                   mts_reference_view_fits(call, &r->v, v, false) &&
                   (!masks || mts_reference_view_fits(call, &r->mask, mask, r->mask_pool == 1))
               ? NULL
               : "an operand lies outside of its buffer";
}

static const char *member(const mts_reference_call *call, const void *params)
{
    const mts_attention_params *r = params;
    const char *reason = check(call, r);
    if (!reason) {
        reason = mts_reference_write(call, &r->dest, r, mts_reference_zero);
    }
    for (uint32_t n = 0; !reason && n < r->dest.dims[2] * r->heads; n++) {
        for (uint32_t query = 0; query < r->dest.dims[5]; query++) {
            uint32_t at[4] = {n / r->heads, n % r->heads, query, 0};
            attend(call, r, at);
        }
    }
    return reason;
}

#endif

const char *mts_reference_attention_any__f32_planar(const mts_reference_call *call)
{
#ifdef MTS_SMALL
    (void)call;
    return "the smallest library has no such kernel";
#else
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_attention_params), member);
#endif
}
