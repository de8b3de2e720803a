/*
 * move.c: reference kernels that only move values: copy, concat, pad, gather, phase.
 */
#include "platform/reference/reference.h"

/* ---- copy ---- */

static int64_t copy_offset(const mts_copy_params *r, const uint32_t *at)
{
    int64_t offset = r->src.base;
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        offset += (int64_t)at[i] * r->step[i];
    }
    return offset;
}

static float copy_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_copy_params *r = params;
    return (r->src_pool ? call->pool : call->act)[copy_offset(r, at)];
}

static const char *copy_member(const mts_reference_call *call, const void *params)
{
    const mts_copy_params *r = params;
    uint32_t low[MTS_PARAM_RANK];
    uint32_t high[MTS_PARAM_RANK];
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        if (r->dest.dims[i] == 0) {
            return NULL;
        }
        low[i] = r->step[i] < 0 ? r->dest.dims[i] - 1 : 0;
        high[i] = r->step[i] > 0 ? r->dest.dims[i] - 1 : 0;
    }
    const uint64_t size = r->src_pool ? call->pool_size : call->act_size;
    if (copy_offset(r, low) < 0 || (uint64_t)copy_offset(r, high) >= size) {
        return "the operand leaves its buffer";
    }
    return mts_reference_write(call, &r->dest, r, copy_value);
}

const char *mts_reference_copy_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_copy_params), copy_member);
}

/* ---- concat ---- */

static uint32_t part_of(const mts_concat_params *r, const mts_part_params *parts, uint32_t coordinate)
{
    uint32_t i = r->parts - 1;
    while (i > 0 && parts[i].start > coordinate) {
        i--;
    }
    return i;
}

static float concat_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_concat_params *r = params;
    const mts_part_params *parts = (const mts_part_params *)(const void *)(call->params + r->part);
    const mts_part_params *part = &parts[part_of(r, parts, at[r->axis])];
    uint32_t from[MTS_PARAM_RANK];
    for (uint32_t i = 0; i < MTS_PARAM_RANK; i++) {
        from[i] = i == r->axis ? at[i] - part->start : at[i];
    }
    return (part->pool ? call->pool : call->act)[mts_reference_view_at(&part->view, from)];
}

static const char *concat_member(const mts_reference_call *call, const void *params)
{
    const mts_concat_params *r = params;
    const uint64_t words = (uint64_t)r->parts * MTS_PARAM_WORDS(mts_part_params);
    const mts_part_params *parts = mts_reference_params(call, r->part, words);
    if (!parts || r->parts == 0 || r->axis >= MTS_PARAM_RANK || parts[0].start != 0) {
        return "the list of parts is wrong";
    }
    for (uint32_t i = 0; i < r->parts; i++) {
        const uint32_t end = i + 1 < r->parts ? parts[i + 1].start : r->dest.dims[r->axis];
        uint32_t dims[MTS_PARAM_RANK];
        for (uint32_t k = 0; k < MTS_PARAM_RANK; k++) {
            dims[k] = k == r->axis ? end - parts[i].start : r->dest.dims[k];
        }
        if (end < parts[i].start || !mts_reference_view_fits(call, &parts[i].view, dims, parts[i].pool)) {
            return "a part leaves its buffer";
        }
    }
    return mts_reference_write(call, &r->dest, r, concat_value);
}

const char *mts_reference_concat_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_concat_params), concat_member);
}

/* ---- pad ---- */

static float pad_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_pad_params *r = params;
    uint32_t from[MTS_PARAM_RANK];
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        const int64_t size = r->src_dims[i];
        int64_t c = (int64_t)at[i] - r->before[i];
        if (r->mode == MTS_PAD_CONSTANT && (c < 0 || c >= size)) {
            return r->value;
        }
        while (r->mode == MTS_PAD_REFLECT && size > 1 && (c < 0 || c >= size)) {
            c = c < 0 ? -c : 2 * (size - 1) - c;
        }
        c = c < 0 ? 0 : c >= size ? size - 1 : c;
        from[i] = (uint32_t)c;
    }
    return call->act[mts_reference_view_at(&r->src, from)];
}

static const char *pad_member(const mts_reference_call *call, const void *params)
{
    const mts_pad_params *r = params;
    if (!mts_reference_view_fits(call, &r->src, r->src_dims, false)) {
        return "the operand leaves the arena";
    }
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        if (r->src_dims[i] == 0 && r->mode != MTS_PAD_CONSTANT) {
            return "an empty operand has no edge";
        }
    }
    return mts_reference_write(call, &r->dest, r, pad_value);
}

const char *mts_reference_pad_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_pad_params), pad_member);
}

/* ---- gather ---- */

static float gather_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    const mts_gather_params *r = params;
    uint32_t from[MTS_PARAM_RANK];
    for (uint32_t i = 0; i < MTS_PARAM_RANK; i++) {
        from[i] = i == r->axis ? call->params[(uint64_t)r->index + at[i]] : at[i];
    }
    return call->act[mts_reference_view_at(&r->src, from)];
}

static const char *gather_member(const mts_reference_call *call, const void *params)
{
    const mts_gather_params *r = params;
    if (r->axis >= MTS_PARAM_RANK) {
        return "the axis does not exist";
    }
    const uint32_t *index = mts_reference_params(call, r->index, r->dest.dims[r->axis]);
    if (!index) {
        return "the indices lie outside the kernel parameters";
    }
    uint32_t dims[MTS_PARAM_RANK];
    for (uint32_t i = 0; i < MTS_PARAM_RANK; i++) {
        dims[i] = i == r->axis ? 1 : r->dest.dims[i];
    }
    for (uint32_t i = 0; i < r->dest.dims[r->axis]; i++) {
        dims[r->axis] = index[i] < UINT32_MAX ? index[i] + 1 : UINT32_MAX;
        if (!mts_reference_view_fits(call, &r->src, dims, false)) {
            return "an index leaves the operand";
        }
    }
    return mts_reference_write(call, &r->dest, r, gather_value);
}

const char *mts_reference_gather_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_gather_params), gather_member);
}

/* ---- phase ---- */

static float phase_value(const mts_reference_call *call, const mts_space_to_depth_params *r, uint32_t plane,
                         uint32_t e)
{
    const uint32_t px = plane % r->sx;
    const uint32_t py = plane / r->sx % r->sy;
    const uint32_t channel = plane / r->sx / r->sy;
    if (e / r->row >= r->rows) {
        return 0.0f;
    }
    const int64_t y = (int64_t)(e / r->row) * r->sy + py - r->top;
    const int64_t x = (int64_t)(e % r->row) * r->sx + px - r->left;
    if (y < 0 || y >= r->in_h || x < 0 || x >= r->in_w) {
        return 0.0f;
    }
    const float *from = r->src_pool != 0 ? call->pool : call->act;
    return from[r->src + (uint64_t)channel * r->src_pitch + (uint64_t)y * r->src_row +
                (uint64_t)x * r->src_column];
}

static const char *phase_member(const mts_reference_call *call, const void *params)
{
    const mts_space_to_depth_params *r = params;
    const uint64_t planes = (uint64_t)r->channels * r->sy * r->sx;
    const mts_view_params src = {r->src, {0, 0, 0, r->src_pitch, r->src_row, r->src_column}};
    const uint32_t dims[MTS_PARAM_RANK] = {1, 1, 1, r->channels, r->in_h, r->in_w};
    if (r->row == 0 || r->sx == 0 || r->sy == 0 || r->each == 0 || (uint64_t)r->rows * r->row > r->pitch) {
        return "the phases overlap";
    }
    if (!mts_reference_view_fits(call, &src, dims, r->src_pool != 0)) {
        return "the operand leaves the arena";
    }
    if (planes > call->act_size || !mts_reference_in_act(call, r->out, planes * r->pitch)) {
        return "the output leaves the arena";
    }
    for (uint32_t plane = 0; plane < planes; plane++) {
        for (uint32_t e = 0; e < r->pitch; e++) {
            call->act[r->out + (uint64_t)plane * r->pitch + e] = phase_value(call, r, plane, e);
        }
    }
    return NULL;
}

const char *mts_reference_space_to_depth_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_space_to_depth_params), phase_member);
}
