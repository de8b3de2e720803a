/*
 * elementwise.c: reference kernels whose outputs each depend on one element of every
 * operand.
 */
#include "platform/reference/reference.h"

static float read_view(const mts_reference_call *call, const mts_view_params *view, const uint32_t *at,
                       uint32_t pool)
{
    return (pool ? call->pool : call->act)[mts_reference_view_at(view, at)];
}

static float unary_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_unary_params *r = params;
    return mts_reference_apply(r->fn, read_view(call, &r->src, at, 0), r->a, r->b, 1.0f);
}

static const char *unary_member(const mts_reference_call *call, const void *params)
{
    const mts_unary_params *r = params;
    if (!mts_reference_view_fits(call, &r->src, r->dest.dims, false)) {
        return "the operand leaves the arena";
    }
    return mts_reference_write(call, &r->dest, r, unary_value);
}

const char *mts_reference_unary_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_unary_params), unary_member);
}

static float binary_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_binary_params *r = params;
    const float x = read_view(call, &r->lhs, at, r->lhs_pool);
    const float y = read_view(call, &r->rhs, at, r->rhs_pool);
    return mts_reference_apply(r->fn, mts_reference_combine(r->kind, x, y), r->a, r->b, 1.0f);
}

static const char *binary_member(const mts_reference_call *call, const void *params)
{
    const mts_binary_params *r = params;
    if (!mts_reference_view_fits(call, &r->lhs, r->dest.dims, r->lhs_pool) ||
        !mts_reference_view_fits(call, &r->rhs, r->dest.dims, r->rhs_pool)) {
        return "an operand leaves its buffer";
    }
    return mts_reference_write(call, &r->dest, r, binary_value);
}

const char *mts_reference_binary_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_binary_params), binary_member);
}

/* fn(x + other) */
float mts_reference_sum(const mts_reference_call *call, const mts_addend_params *e, const uint32_t *at,
                        float x)
{
    const float other = read_view(call, &e->other, at, e->other_pool);
    return mts_reference_apply(e->fn, x + other, e->a, e->b, 1.0f);
}

static float binary_sum_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_binary_sum_params *r = params;
    return mts_reference_sum(call, &r->addend, at, binary_value(call, &r->binary, at));
}

static const char *binary_sum_member(const mts_reference_call *call, const void *params)
{
    const mts_binary_sum_params *r = params;
    const mts_binary_params *binary = &r->binary;
    if (!mts_reference_view_fits(call, &binary->lhs, binary->dest.dims, binary->lhs_pool) ||
        !mts_reference_view_fits(call, &binary->rhs, binary->dest.dims, binary->rhs_pool) ||
        !mts_reference_view_fits(call, &r->addend.other, binary->dest.dims, r->addend.other_pool)) {
        return "an operand leaves its buffer";
    }
    return mts_reference_write(call, &binary->dest, r, binary_sum_value);
}

const char *mts_reference_binary_sum__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_binary_sum_params), binary_sum_member);
}

static float select_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_select_params *r = params;
    const uint32_t chosen = read_view(call, &r->in[0], at, r->in_pool[0]) != 0.0f ? 1 : 2;
    return read_view(call, &r->in[chosen], at, r->in_pool[chosen]);
}

static const char *select_member(const mts_reference_call *call, const void *params)
{
    const mts_select_params *r = params;
    for (uint32_t i = 0; i < 3; i++) {
        if (!mts_reference_view_fits(call, &r->in[i], r->dest.dims, r->in_pool[i])) {
            return "an operand leaves its buffer";
        }
    }
    return mts_reference_write(call, &r->dest, r, select_value);
}

const char *mts_reference_select_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_select_params), select_member);
}

static float read_vector(const mts_reference_call *call, uint32_t base, uint32_t i, float absent)
{
    return base == MTS_PARAM_NONE ? absent : call->pool[(uint64_t)base + i];
}

static float scale_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_scale_params *r = params;
    const uint32_t channel = at[2] * r->channel[0] + at[3] * r->channel[1] + at[5] * r->channel[2];
    const float scale = read_vector(call, r->scale, channel, 1.0f);
    const float bias = read_vector(call, r->bias, channel, 0.0f);
    const float slope = read_vector(call, r->slope, channel, 1.0f);
    const float x = read_view(call, &r->src, at, 0);
    return mts_reference_apply(r->fn, x * scale + bias, r->a, r->b, slope);
}

static bool vector_fits(const mts_reference_call *call, uint32_t base, uint32_t count)
{
    return base == MTS_PARAM_NONE || mts_reference_in_pool(call, base, count);
}

static const char *scale_member(const mts_reference_call *call, const void *params)
{
    const mts_scale_params *r = params;
    const uint32_t *dims = r->dest.dims;
    const uint64_t last = (uint64_t)(dims[2] - 1) * r->channel[0] + (uint64_t)(dims[3] - 1) * r->channel[1] +
                          (uint64_t)(dims[5] - 1) * r->channel[2];
    const uint32_t channels = last < UINT32_MAX ? (uint32_t)last + 1 : UINT32_MAX;
    if (!mts_reference_view_fits(call, &r->src, r->dest.dims, false)) {
        return "the operand leaves the arena";
    }
    if (!vector_fits(call, r->scale, channels) || !vector_fits(call, r->bias, channels) ||
        !vector_fits(call, r->slope, channels)) {
        return "a vector of the channels leaves the pool";
    }
    return mts_reference_write(call, &r->dest, r, scale_value);
}

const char *mts_reference_scale_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_scale_params), scale_member);
}
