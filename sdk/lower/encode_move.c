/*
 * encode_move.c: operators that only move values.
 */
#include <string.h>

#include "base/size.h"
#include "lower/copy_dims.h"
#include "lower/encoders.h"
#include "lower/pack_dims.h"

/* A copy of an operand that is broadcast to `dims`; the caller changes its steps. */
static void copy_operand(mts_encoding *encoding, const mts_member *member,
                         const uint32_t dims[MTS_PARAM_RANK], mts_copy_params *r)
{
    r->dest = mts_encode_output(encoding, member);
    r->src = mts_encode_operand(encoding, member, 0, dims, &r->src_pool);
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        r->step[i] = (mts_i32)r->src.stride[i];
    }
}

/* Copies the whole operand; returns the number of dimensions that it lacks. */
static uint32_t copy_whole(mts_encoding *encoding, const mts_member *member, mts_copy_params *r)
{
    uint32_t own[MTS_PARAM_RANK];
    mts_shape_pad(&mts_member_operand(encoding->stitched, member, 0)->shape, own);
    copy_operand(encoding, member, own, r);
    return MTS_PARAM_RANK - encoding->stitched->values[member->output].shape.rank;
}

/* Of packs; false: there are none. */
static bool slice_packs(mts_encoding *encoding, const mts_member *member, mts_copy_params *r)
{
    const mts_attrs_slice *slice = &mts_member_node(encoding->stitched, member)->attrs.slice;
    mts_pack_form form;
    if (!mts_packs_touch(encoding, member, &form)) {
        return false;
    }
    r->dest = mts_packs_output(encoding, member, &form);
    r->src = mts_packs_operand(encoding, member, 0, &form, &r->src_pool);
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        r->step[i] = (mts_i32)r->src.stride[i];
    }
    for (int i = 0; i < 4; i++) {
        const mts_u32 start = (mts_u32)slice->start[i] / (i == 1 ? MTS_CHANNEL_PACK : 1);
        r->src.base += start * r->src.stride[form.at[i]];
        r->step[form.at[i]] *= (mts_i32)slice->step[i];
    }
    mts_copy_join_dims(r);
    return true;
}

static void fill_slice(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_slice *slice = &mts_member_node(encoding->stitched, member)->attrs.slice;
    mts_copy_params *r = params;
    if (slice_packs(encoding, member, r)) {
        return;
    }
    const uint32_t skip = copy_whole(encoding, member, r);
    for (uint32_t axis = skip; axis < MTS_PARAM_RANK; axis++) {
        r->src.base += (mts_u32)slice->start[axis - skip] * r->src.stride[axis];
        r->step[axis] *= (mts_i32)slice->step[axis - skip];
    }
    mts_copy_join_dims(r);
}

MTS_OPERATOR(slice, copy, fill_slice, NULL);

static void fill_transpose(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_transpose *transpose = &mts_member_node(encoding->stitched, member)->attrs.transpose;
    mts_copy_params *r = params;
    const uint32_t skip = copy_whole(encoding, member, r);
    for (uint32_t axis = skip; axis < MTS_PARAM_RANK; axis++) {
        r->step[axis] = (mts_i32)r->src.stride[skip + transpose->perm[axis - skip]];
    }
    mts_copy_join_dims(r);
}

MTS_OPERATOR(transpose, copy, fill_transpose, NULL);

static void fill_expand(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_dest_params dest = mts_encode_output(encoding, member);
    copy_operand(encoding, member, dest.dims, params);
    mts_copy_join_dims(params);
}

MTS_OPERATOR(expand, copy, fill_expand, NULL);

/* Writes the parts of one concatenation; returns the index of the first. form: of packs,
   or NULL. */
static uint32_t add_parts(mts_encoding *encoding, const mts_member *member, uint32_t axis,
                          const mts_pack_form *form)
{
    const bool by_packs = form && axis == MTS_PARAM_RANK - 3;
    uint32_t start = 0;
    const uint32_t first = (uint32_t)encoding->params.count;
    mts_part_params *parts = mts_arena_zero(encoding->arena, member->input_count, sizeof *parts);
    for (uint32_t i = 0; parts && i < member->input_count; i++) {
        uint32_t own[MTS_PARAM_RANK];
        mts_shape_pad(&mts_member_operand(encoding->stitched, member, i)->shape, own);
        parts[i].start = start;
        parts[i].view = form ? mts_packs_operand(encoding, member, i, form, &parts[i].pool)
                             : mts_encode_operand(encoding, member, i, own, &parts[i].pool);
        start += own[axis] / (by_packs ? MTS_CHANNEL_PACK : 1);
    }
    if (!parts) {
        encoding->params.failed = true;
        return first;
    }
    return mts_param_buffer_add(&encoding->params, parts,
                                MTS_PARAM_WORDS(mts_part_params) * member->input_count);
}

static bool is_dense_view(const mts_view_params *view, const uint32_t dims[MTS_PARAM_RANK])
{
    uint32_t stride[MTS_PARAM_RANK];
    mts_encode_strides(dims, stride);
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        if (dims[i] != 1 && view->stride[i] != stride[i]) {
            return false;
        }
    }
    return true;
}

/* Dimensions behind the axis are one with it, and those before it are rows, where all
 * parts and the result are dense: a row of a part then is as long as can be, and many
 * short ones lie in one plane. */
static void join_dims(mts_encoding *encoding, mts_concat_params *r)
{
    mts_part_params *parts = (mts_part_params *)(void *)(encoding->params.words + r->part);
    mts_dest_params *dest = &r->dest;
    uint32_t outer = 1;
    uint32_t inner = 1;
    for (uint32_t i = 0; i < MTS_PARAM_RANK; i++) {
        outer *= i < r->axis ? dest->dims[i] : 1;
        inner *= i > r->axis ? dest->dims[i] : 1;
    }
    const bool dense = mts_dest_is_dense(dest);
    uint32_t own[MTS_PARAM_RANK];
    memcpy(own, dest->dims, sizeof own);
    for (uint32_t i = 0; i < r->parts; i++) {
        own[r->axis] = (i + 1 < r->parts ? parts[i + 1].start : dest->dims[r->axis]) - parts[i].start;
        if (!dense || !is_dense_view(&parts[i].view, own)) {
            return;
        }
    }
    const uint32_t whole = dest->dims[r->axis] * inner;
    for (uint32_t i = 0; i < r->parts; i++) {
        const uint32_t end = i + 1 < r->parts ? parts[i + 1].start : dest->dims[r->axis];
        const uint32_t row =
            (end - parts[i].start) * inner; /* starts below i have changed, this one not yet */
        parts[i].start *= inner;
        parts[i].view = (mts_view_params){.base = parts[i].view.base, .stride = {0, 0, 0, 0, row, 1}};
    }
    const uint32_t dims[MTS_PARAM_RANK] = {1, 1, 1, 1, outer, whole};
    memcpy(dest->dims, dims, sizeof dims);
    dest->row = whole;
    dest->pitch = outer * whole;
    r->axis = MTS_PARAM_RANK - 1;
}

static void fill_concat(mts_encoding *encoding, const mts_member *member, void *params)
{
    const uint32_t rank = encoding->stitched->values[member->output].shape.rank;
    mts_concat_params *r = params;
    mts_pack_form form;
    const uint32_t axis = mts_member_node(encoding->stitched, member)->attrs.concat.axis;
    const bool packs = mts_packs_touch(encoding, member, &form);
    r->dest = packs ? mts_packs_output(encoding, member, &form) : mts_encode_output(encoding, member);
    r->axis = packs ? form.at[axis] : MTS_PARAM_RANK - rank + axis;
    r->parts = member->input_count;
    r->part = add_parts(encoding, member, MTS_PARAM_RANK - rank + axis, packs ? &form : NULL);
    if (!encoding->params.failed) {
        join_dims(encoding, r);
    }
}

MTS_OPERATOR(concat, concat, fill_concat, NULL);

/*
 * The last dimension is one with that before it where it is not padded, or where it is a
 * single column: rows are then as long as can be. Both sides are dense.
 */
static void join_last(mts_pad_params *r)
{
    mts_u32 *from = r->src_dims, *to = r->dest.dims;
    const mts_u32 columns = from[5];
    for (int i = 5; i > 0; i--) {
        const mts_u32 by = i == 5 ? columns : 1;
        from[i] = from[i - 1] * by;
        to[i] = to[i - 1] * by;
        r->before[i] = r->before[i - 1] * (mts_i32)by;
    }
    from[0] = to[0] = 1;
    r->before[0] = 0;
    r->dest.row = to[5];
    r->dest.pitch = to[4] * to[5];
    mts_encode_strides(from, r->src.stride);
}

static void join_pad_dims(mts_pad_params *r)
{
    const bool dense = mts_dest_is_dense(&r->dest) && is_dense_view(&r->src, r->src_dims);
    for (int i = 0; dense && i < MTS_PARAM_RANK - 1; i++) {
        const bool whole = r->before[5] == 0 && r->src_dims[5] == r->dest.dims[5];
        if (whole && (r->mode == MTS_PAD_CONSTANT || r->src_dims[5] == 1)) {
            join_last(r);
        }
    }
}

/* Of packs; false: there are none. */
static bool pad_packs(mts_encoding *encoding, const mts_member *member, mts_pad_params *r)
{
    const mts_attrs_pad *pad = &mts_member_node(encoding->stitched, member)->attrs.pad;
    const int64_t *in = encoding->stitched->values[member->inputs[0]].shape.dims;
    mts_pack_form form;
    uint32_t pool = 0;
    if (!mts_packs_touch(encoding, member, &form)) {
        return false;
    }
    r->dest = mts_packs_output(encoding, member, &form);
    r->src = mts_packs_operand(encoding, member, 0, &form, &pool);
    r->src_dims[0] = 1;
    r->src_dims[form.lane] = MTS_CHANNEL_PACK;
    for (int i = 0; i < 4; i++) {
        const uint32_t each = i == 1 ? MTS_CHANNEL_PACK : 1;
        r->src_dims[form.at[i]] = mts_u32_ceil_div((uint32_t)in[i], each);
        r->before[form.at[i]] = (mts_i32)pad->before[i] / (mts_i32)each;
    }
    return true;
}

static void fill_pad(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_pad *pad = &mts_member_node(encoding->stitched, member)->attrs.pad;
    const mts_shape *in = &encoding->stitched->values[member->inputs[0]].shape;
    mts_pad_params *r = params;
    const bool packs = pad_packs(encoding, member, r);
    for (uint32_t d = 0; !packs && d < in->rank; d++) {
        r->before[MTS_PARAM_RANK - in->rank + d] = (mts_i32)pad->before[d];
    }
    if (!packs) {
        r->dest = mts_encode_output(encoding, member);
        r->src = mts_encode_view(encoding, member->inputs[0]);
        mts_shape_pad(in, r->src_dims);
    }
    r->mode = pad->mode;
    r->value = pad->value;
    join_pad_dims(r);
}

MTS_OPERATOR(pad, pad, fill_pad, NULL);

/* Both sides are dense (mts_plan_reads_dense): [outer, axis, inner] -> [outer, indices,
   inner], or rows of the axis where inner is 1. */
static void fill_gather(mts_encoding *encoding, const mts_member *member, void *params)
{
    const uint32_t axis = mts_member_node(encoding->stitched, member)->attrs.gather.axis;
    const mts_shape *in = &encoding->stitched->values[member->inputs[0]].shape;
    const mts_value *index = mts_member_operand(encoding->stitched, member, 1);
    const mts_plan *plan = encoding->plan;
    uint32_t from[MTS_PARAM_RANK] = {1, 1, 1, 1, (uint32_t)in->dims[axis], 1};
    for (uint32_t d = 0; d < in->rank; d++) {
        if (d != axis) {
            from[d < axis ? 3 : 5] *= (uint32_t)in->dims[d];
        }
    }
    const uint32_t along = from[5] == 1 ? 5 : 4;
    if (along == 5) {
        from[5] = from[4];
        from[4] = from[3];
        from[3] = 1;
    }
    const uint32_t count = (uint32_t)mts_shape_count(&index->shape);
    uint32_t to[MTS_PARAM_RANK];
    memcpy(to, from, sizeof to);
    to[along] = count;
    mts_gather_params *r = params;
    r->axis = along;
    r->dest = mts_encode_dest_as(encoding, plan->value_storage[member->output], to);
    r->dest.row = to[5];
    r->dest.pitch = to[4] * to[5];
    const uint32_t copy = mts_plan_dense_copy(plan, member->inputs[0]);
    const uint32_t storage =
        copy != MTS_NONE ? plan->conversions[copy].storage : plan->value_storage[member->inputs[0]];
    r->src.base = (mts_u32)plan->storages[storage].offset;
    mts_encode_strides(from, r->src.stride);
    r->index = mts_param_buffer_add(&encoding->params, index->blocks[0].data, count);
}

MTS_OPERATOR(gather, gather, fill_gather, NULL);
