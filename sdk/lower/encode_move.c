/*
 * encode_move.c: operators that only move values, and the conversions between layouts.
 */
#include <string.h>

#include "lower/encode.h"

/* src_pool of a launch whose pool is float32 data of the caller, whatever the session's precision (params.h).
 */
enum { CALLERS_POOL = 2 };

static mts_status launch_copies(mts_encoding *encoding, const mts_copy_params *params, uint32_t count,
                                const char *label)
{
    return mts_encode_dests(encoding, "copy_any__f32_planar", label, params, MTS_PARAM_WORDS(mts_copy_params),
                            count);
}

/* A copy of an operand; `step` is filled with its strides, for the caller to change. */
static mts_copy_params copy_of(mts_encoding *encoding, const mts_member *member, const mts_dest_params *dest)
{
    mts_copy_params params = {.dest = *dest};
    uint32_t own[MTS_PARAM_RANK];
    mts_shape_pad(&mts_member_operand(encoding->stitched, member, 0)->shape, own);
    params.src = mts_encode_operand(encoding, member, 0, own, &params.src_pool);
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        params.step[i] = (mts_i32)params.src.stride[i];
    }
    return params;
}

static mts_dest_params member_dest(const mts_encoding *encoding, const mts_member *member)
{
    return mts_encode_dest(encoding, encoding->plan->value_storage[member->output]);
}

mts_status mts_encode_slice(mts_encoding *encoding, const mts_layer *layer)
{
    mts_copy_params *params = mts_arena_zero(encoding->arena, layer->count, sizeof *params);
    for (uint32_t i = 0; params && i < layer->count; i++) {
        const mts_member *member = &encoding->stitched->members[layer->first + i];
        const mts_attrs_slice *slice = &mts_member_node(encoding->stitched, member)->attrs.slice;
        const uint32_t rank = encoding->stitched->values[member->output].shape.rank;
        const mts_dest_params dest = member_dest(encoding, member);
        mts_copy_params *r = &params[i];
        *r = copy_of(encoding, member, &dest);
        for (uint32_t d = 0; d < rank; d++) {
            const uint32_t axis = MTS_PARAM_RANK - rank + d;
            r->src.base += (mts_u32)slice->start[d] * r->src.stride[axis];
            r->step[axis] *= (mts_i32)slice->step[d];
        }
    }
    return launch_copies(encoding, params, layer->count, mts_encode_label(encoding, layer, "slice"));
}

mts_status mts_encode_transpose(mts_encoding *encoding, const mts_layer *layer)
{
    mts_copy_params *params = mts_arena_zero(encoding->arena, layer->count, sizeof *params);
    for (uint32_t i = 0; params && i < layer->count; i++) {
        const mts_member *member = &encoding->stitched->members[layer->first + i];
        const mts_attrs_transpose *transpose = &mts_member_node(encoding->stitched, member)->attrs.transpose;
        const uint32_t rank = encoding->stitched->values[member->output].shape.rank;
        const uint32_t skip = MTS_PARAM_RANK - rank;
        const mts_dest_params dest = member_dest(encoding, member);
        params[i] = copy_of(encoding, member, &dest);
        for (uint32_t d = 0; d < rank; d++) {
            params[i].step[skip + d] = (mts_i32)params[i].src.stride[skip + transpose->perm[d]];
        }
    }
    return launch_copies(encoding, params, layer->count, mts_encode_label(encoding, layer, "transpose"));
}

mts_status mts_encode_expand(mts_encoding *encoding, const mts_layer *layer)
{
    mts_copy_params *params = mts_arena_zero(encoding->arena, layer->count, sizeof *params);
    for (uint32_t i = 0; params && i < layer->count; i++) {
        const mts_member *member = &encoding->stitched->members[layer->first + i];
        mts_copy_params *r = &params[i];
        r->dest = member_dest(encoding, member);
        r->src = mts_encode_operand(encoding, member, 0, r->dest.dims, &r->src_pool);
        for (int d = 0; d < MTS_PARAM_RANK; d++) {
            r->step[d] = (mts_i32)r->src.stride[d];
        }
    }
    return launch_copies(encoding, params, layer->count, mts_encode_label(encoding, layer, "expand"));
}

/* Writes the parts of one concatenation; returns the index in the kernel parameters of the first. */
static uint32_t add_parts(mts_encoding *encoding, const mts_member *member, uint32_t axis)
{
    uint32_t start = 0;
    const uint32_t first = (uint32_t)encoding->params.count;
    mts_part_params *parts = mts_arena_zero(encoding->arena, member->input_count, sizeof *parts);
    for (uint32_t i = 0; parts && i < member->input_count; i++) {
        uint32_t own[MTS_PARAM_RANK];
        mts_shape_pad(&mts_member_operand(encoding->stitched, member, i)->shape, own);
        parts[i].start = start;
        parts[i].view = mts_encode_operand(encoding, member, i, own, &parts[i].pool);
        start += own[axis];
    }
    if (!parts) {
        encoding->params.failed = true;
        return first;
    }
    return mts_param_buffer_add(&encoding->params, parts,
                                MTS_PARAM_WORDS(mts_part_params) * member->input_count);
}

mts_status mts_encode_concat(mts_encoding *encoding, const mts_layer *layer)
{
    mts_concat_params *params = mts_arena_zero(encoding->arena, layer->count, sizeof *params);
    for (uint32_t i = 0; params && i < layer->count; i++) {
        const mts_member *member = &encoding->stitched->members[layer->first + i];
        const uint32_t rank = encoding->stitched->values[member->output].shape.rank;
        mts_concat_params *r = &params[i];
        r->dest = member_dest(encoding, member);
        r->axis = MTS_PARAM_RANK - rank + mts_member_node(encoding->stitched, member)->attrs.concat.axis;
        r->parts = member->input_count;
        r->part = add_parts(encoding, member, r->axis);
    }
    return mts_encode_dests(encoding, "concat_any__f32_planar", mts_encode_label(encoding, layer, "concat"),
                            params, MTS_PARAM_WORDS(mts_concat_params), layer->count);
}

mts_status mts_encode_pad(mts_encoding *encoding, const mts_layer *layer)
{
    mts_pad_params *params = mts_arena_zero(encoding->arena, layer->count, sizeof *params);
    for (uint32_t i = 0; params && i < layer->count; i++) {
        const mts_member *member = &encoding->stitched->members[layer->first + i];
        const mts_attrs_pad *pad = &mts_member_node(encoding->stitched, member)->attrs.pad;
        const mts_shape *in = &encoding->stitched->values[member->inputs[0]].shape;
        mts_pad_params *r = &params[i];
        r->dest = member_dest(encoding, member);
        r->src = mts_encode_view(encoding, member->inputs[0]);
        mts_shape_pad(in, r->src_dims);
        for (uint32_t d = 0; d < in->rank; d++) {
            r->before[MTS_PARAM_RANK - in->rank + d] = (mts_i32)pad->before[d];
        }
        r->mode = pad->mode;
        r->value = pad->value;
    }
    return mts_encode_dests(encoding, "pad_any__f32_planar", mts_encode_label(encoding, layer, "pad"), params,
                            MTS_PARAM_WORDS(mts_pad_params), layer->count);
}

/* Both sides are dense (mts_plan_reads_dense, changes_rank): [outer, axis, inner] -> [outer, indices, inner].
 */
static mts_gather_params gather_of(mts_encoding *encoding, const mts_member *member)
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
    uint32_t to[MTS_PARAM_RANK];
    memcpy(to, from, sizeof to);
    to[4] = (uint32_t)mts_shape_count(&index->shape);
    mts_gather_params params = {.axis = 4};
    params.dest = mts_encode_dest_as(encoding, plan->value_storage[member->output], to);
    params.dest.row = to[5];
    params.dest.pitch = to[4] * to[5];
    const uint32_t copy = mts_plan_dense_copy(plan, member->inputs[0]);
    const uint32_t storage =
        copy != MTS_NONE ? plan->conversions[copy].storage : plan->value_storage[member->inputs[0]];
    params.src.base = (mts_u32)plan->storages[storage].offset;
    mts_encode_strides(from, params.src.stride);
    params.index = mts_param_buffer_add(&encoding->params, index->blocks[0].data, to[4]);
    return params;
}

mts_status mts_encode_gather(mts_encoding *encoding, const mts_layer *layer)
{
    mts_gather_params *params = mts_arena_zero(encoding->arena, layer->count, sizeof *params);
    for (uint32_t i = 0; params && i < layer->count; i++) {
        params[i] = gather_of(encoding, &encoding->stitched->members[layer->first + i]);
    }
    return mts_encode_dests(encoding, "gather_any__f32_planar", mts_encode_label(encoding, layer, "gather"),
                            params, MTS_PARAM_WORDS(mts_gather_params), layer->count);
}

/* Whom conversions `which`[count], one per params of the launch that was appended last, serve. */
static mts_status serve(mts_encoding *encoding, const uint32_t *which, uint32_t count, uint32_t words)
{
    uint32_t *masks = mts_arena_zero(encoding->arena, count, sizeof *masks);
    if (!masks) {
        return mts_encode_memory(encoding);
    }
    for (uint32_t i = 0; encoding->masks && i < count; i++) {
        masks[i] = encoding->masks->conversions[which[i]];
    }
    return mts_encode_entries(encoding, MTS_ENTRY_PARAMS, words, masks, count);
}

mts_status mts_encode_copies(mts_encoding *encoding, const mts_step *step)
{
    const mts_plan *plan = encoding->plan;
    mts_copy_params *params = mts_arena_zero(encoding->arena, step->count, sizeof *params);
    for (uint32_t i = 0; params && i < step->count; i++) {
        const mts_conversion *c = &plan->conversions[plan->order[step->first + i]];
        params[i].dest = mts_encode_dest(encoding, c->storage);
        params[i].src = mts_encode_view(encoding, c->value);
        for (int d = 0; d < MTS_PARAM_RANK; d++) {
            params[i].step[d] = (mts_i32)params[i].src.stride[d];
        }
    }
    const mts_status code = launch_copies(encoding, params, step->count, "copy to dense");
    return code != MTS_STATUS_OK
               ? code
               : serve(encoding, &plan->order[step->first], step->count, MTS_PARAM_WORDS(mts_copy_params));
}

/* The caller's data of one part, flat, to where it lies in its value's storage. */
static mts_status bring_part(mts_encoding *encoding, const mts_encode_part *part)
{
    const mts_plan *plan = encoding->plan;
    const uint32_t count = (uint32_t)part->count;
    const mts_u32 base = (mts_u32)(plan->storages[plan->value_storage[part->value]].offset + part->first);
    const mts_copy_params params = {
        .dest = {.base = base, .dims = {1, 1, 1, 1, 1, count}, .row = count, .pitch = count},
        .src = {.stride = {0, 0, 0, 0, 0, 1}},
        .src_pool = CALLERS_POOL,
        .step = {0, 0, 0, 0, 0, 1}};
    const mts_status code = launch_copies(encoding, &params, 1, "input");
    if (code != MTS_STATUS_OK) {
        return code;
    }
    encoding->launches[encoding->launch_count - 1].source = part->slot + 1;
    const uint32_t task_mask = encoding->masks ? encoding->masks->values[part->value] : MTS_TASKS_ALL;
    return mts_encode_entries(encoding, MTS_ENTRY_PARAMS, MTS_PARAM_WORDS(mts_copy_params), &task_mask, 1);
}

mts_status mts_encode_inputs(mts_encoding *encoding, const mts_step *step)
{
    mts_status code = MTS_STATUS_OK;
    for (uint32_t i = step->first; i < step->first + step->count; i++) {
        for (uint32_t p = 0; code == MTS_STATUS_OK && p < encoding->part_count; p++) {
            if (encoding->parts[p].value == encoding->plan->imports[i]) {
                code = bring_part(encoding, &encoding->parts[p]);
            }
        }
    }
    return code;
}

/* A lent input is read in the caller's buffer, row-major. */
static mts_view_params phase_source(const mts_encoding *encoding, const mts_conversion *c)
{
    if (!c->zero_copy) {
        return mts_encode_view(encoding, c->value);
    }
    mts_view_params view = {.base = 0};
    uint32_t dims[MTS_PARAM_RANK];
    mts_shape_pad(&encoding->stitched->values[c->value].shape, dims);
    mts_encode_strides(dims, view.stride);
    return view;
}

static mts_space_to_depth_params phase_of(const mts_encoding *encoding, const mts_conversion *c)
{
    const mts_storage *out = &encoding->plan->storages[c->storage];
    const mts_shape *shape = &encoding->stitched->values[c->value].shape;
    const mts_view_params view = phase_source(encoding, c);
    return (mts_space_to_depth_params){.out = (mts_u32)out->offset,
                                       .pitch = out->pitch,
                                       .rows = c->rows,
                                       .row = out->row,
                                       .channels = (mts_u32)(shape->dims[0] * shape->dims[1]),
                                       .sy = c->stride[0],
                                       .sx = c->stride[1],
                                       .top = (mts_i32)c->top,
                                       .left = (mts_i32)c->left,
                                       .src = view.base,
                                       .src_pitch = view.stride[3],
                                       .src_row = view.stride[4],
                                       .in_h = (mts_u32)shape->dims[2],
                                       .in_w = (mts_u32)shape->dims[3],
                                       .src_pool = c->zero_copy ? CALLERS_POOL : 0};
}

/* One launch over conversions `which`[count]; source: see mts_encoded_launch. */
static mts_status launch_phases(mts_encoding *encoding, const uint32_t *which, uint32_t count,
                                uint32_t source)
{
    const mts_plan *plan = encoding->plan;
    uint32_t pitch = 1;
    uint32_t planes = 1;
    mts_space_to_depth_params *params = mts_arena_zero(encoding->arena, count, sizeof *params);
    uint32_t *heights = mts_encode_heights(encoding, count);
    if (!params || (encoding->masks && !heights)) {
        return mts_encode_memory(encoding);
    }
    for (uint32_t i = 0; i < count; i++) {
        params[i] = phase_of(encoding, &plan->conversions[which[i]]);
        const uint32_t own = params[i].channels;
        pitch = params[i].pitch > pitch ? params[i].pitch : pitch;
        planes = own > planes ? own : planes;
        if (heights) {
            heights[i] = own;
        }
    }
    mts_encoded_launch launch = {.kernel = "space_to_depth_any__f32_planar",
                                 .defines = mts_launch_defines(encoding->device, encoding->precision),
                                 .label = "space to depth",
                                 .source = source,
                                 .members = count};
    launch.first =
        mts_param_buffer_add(&encoding->params, params, MTS_PARAM_WORDS(mts_space_to_depth_params) * count);
    mts_launch_over_plane(encoding->device, pitch, launch.global, launch.local);
    launch.global[1] = planes;
    launch.global[2] = count;
    launch.entries.heights = heights;
    const mts_status code = mts_encode_launch(encoding, &launch);
    return code != MTS_STATUS_OK ? code
                                 : serve(encoding, which, count, MTS_PARAM_WORDS(mts_space_to_depth_params));
}

/* A copy of each second (or stride-th) row and column, for 1x1 convolutions. */
static mts_copy_params thinned(const mts_encoding *encoding, const mts_conversion *c)
{
    mts_copy_params params = {.dest = mts_encode_dest(encoding, c->storage),
                              .src = mts_encode_view(encoding, c->value)};
    for (int d = 0; d < MTS_PARAM_RANK; d++) {
        params.step[d] = (mts_i32)params.src.stride[d];
    }
    params.step[4] *= (mts_i32)c->stride[0];
    params.step[5] *= (mts_i32)c->stride[1];
    return params;
}

/* Conversions of lent inputs each read a buffer of their own; the others are a launch of each kind. */
mts_status mts_encode_phases(mts_encoding *encoding, const mts_step *step)
{
    const mts_plan *plan = encoding->plan;
    uint32_t *kept = mts_arena_zero(encoding->arena, step->count, sizeof *kept);
    uint32_t *thinner = mts_arena_zero(encoding->arena, step->count, sizeof *thinner);
    mts_copy_params *thin = mts_arena_zero(encoding->arena, step->count, sizeof *thin);
    uint32_t count = 0;
    uint32_t thin_count = 0;
    mts_status code = kept && thinner && thin ? MTS_STATUS_OK : mts_encode_memory(encoding);
    for (uint32_t i = 0; code == MTS_STATUS_OK && i < step->count; i++) {
        const uint32_t which = plan->order[step->first + i];
        const mts_conversion *c = &plan->conversions[which];
        if (c->zero_copy) {
            code = launch_phases(encoding, &which, 1, encoding->stitched->values[c->value].slot + 1);
        } else if (c->phases < c->stride[0] * c->stride[1]) {
            thinner[thin_count] = which;
            thin[thin_count++] = thinned(encoding, c);
        } else {
            kept[count++] = which;
        }
    }
    if (code == MTS_STATUS_OK && thin_count > 0) {
        code = launch_copies(encoding, thin, thin_count, "every other pixel");
        MTS_TRY(code, serve(encoding, thinner, thin_count, MTS_PARAM_WORDS(mts_copy_params)));
    }
    return code == MTS_STATUS_OK && count > 0 ? launch_phases(encoding, kept, count, 0) : code;
}
