/*
 * encode_convert.c: copies of values in another layout, and the caller's data of
 * zero-copy inputs.
 */
#include "lower/copy_dims.h"
#include "lower/encoders.h"
#include "lower/launch_shape.h"

/* src_pool of a launch whose pool is float32 data of the caller, whatever the session's
 * precision (kernels/abi/params.h). */
enum { CALLERS_POOL = 2 };

static mts_status launch_copies(mts_encoding *encoding, mts_copy_params *params, uint32_t count,
                                const char *label)
{
    for (uint32_t i = 0; params && i < count; i++) {
        mts_copy_join_dims(&params[i]);
    }
    return mts_encode_dests(encoding, "copy_any__f32_planar", label, params, MTS_PARAM_WORDS(mts_copy_params),
                            count);
}

/* Says for which tasks the launch that was appended last converts: one entry per
 * conversion `which`[count].
 */
static mts_status mark_conversions(mts_encoding *encoding, const uint32_t *which, uint32_t count,
                                   uint32_t words)
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

/* A zero-copy input in the caller's buffer, row-major. */
static mts_view_params callers_view(const mts_encoding *encoding, uint32_t value)
{
    mts_view_params view = {.base = 0};
    uint32_t dims[MTS_PARAM_RANK];
    mts_shape_pad(&encoding->stitched->values[value].shape, dims);
    mts_encode_strides(dims, view.stride);
    return view;
}

/* The view of the result of a TRANSPOSE, given that of its operand. */
static mts_view_params turned_view(const mts_encoding *encoding, uint32_t result,
                                   const mts_view_params *operand)
{
    const mts_stitched *s = encoding->stitched;
    const mts_node *node = mts_member_node(s, &s->members[s->values[result].member]);
    const uint32_t skip = MTS_PARAM_RANK - s->values[result].shape.rank;
    mts_view_params view = *operand;
    for (uint32_t d = skip; d < MTS_PARAM_RANK; d++) {
        view.stride[d] = operand->stride[skip + node->attrs.transpose.perm[d - skip]];
    }
    return view;
}

/* The view of a conversion's value, which a TRANSPOSE may make of its source. */
static mts_view_params view_of(const mts_encoding *encoding, const mts_conversion *c)
{
    const mts_view_params source =
        c->zero_copy ? callers_view(encoding, c->source) : mts_encode_view(encoding, c->source);
    return c->source != c->value ? turned_view(encoding, c->value, &source) : source;
}

static void steps_of(mts_copy_params *params)
{
    for (int d = 0; d < MTS_PARAM_RANK; d++) {
        params->step[d] = (mts_i32)params->src.stride[d];
    }
}

static mts_copy_params copy_of(const mts_encoding *encoding, const mts_conversion *c)
{
    mts_copy_params params = {.dest = mts_encode_dest(encoding, c->storage), .src = view_of(encoding, c)};
    steps_of(&params);
    return params;
}

/* Planes of a conversion's storage that are copied apart, as they do not follow each
   other; else 1. */
static uint32_t copies_of(const mts_encoding *encoding, uint32_t conversion)
{
    const mts_storage *to = &encoding->plan->storages[encoding->plan->conversions[conversion].storage];
    return MTS_HAS_SHUFFLES && to->planes ? to->dims[3] : 1;
}

#if MTS_HAS_SHUFFLES
/* Plane p of a copy of channels. */
static mts_copy_params plane_of(const mts_copy_params *whole, const uint32_t *planes, uint32_t p)
{
    mts_copy_params params = *whole;
    params.dest.base += planes[p] * whole->dest.pitch;
    params.dest.tail = p + 1 == whole->dest.dims[3] ? whole->dest.tail : 0;
    params.dest.dims[3] = 1;
    params.src.base += p * whole->src.stride[3];
    return params;
}
#endif

/* Fills `params` and `which` for copies_of one conversion; returns how many that are. */
static uint32_t add_copies(const mts_encoding *encoding, uint32_t conversion, mts_copy_params *params,
                           uint32_t *which)
{
    const mts_conversion *c = &encoding->plan->conversions[conversion];
    const uint32_t count = copies_of(encoding, conversion);
    const mts_copy_params whole = copy_of(encoding, c);
    for (uint32_t i = 0; i < count; i++) {
        params[i] = whole;
        which[i] = conversion;
#if MTS_HAS_SHUFFLES
        if (encoding->plan->storages[c->storage].planes) {
            params[i] = plane_of(&whole, encoding->plan->storages[c->storage].planes, i);
        }
#endif
    }
    return count;
}

/* Copies of conversions `which`[count] in one launch. */
static mts_status encode_copies(mts_encoding *encoding, const uint32_t *which, uint32_t count,
                                mts_copy_params *params, const char *label)
{
    mts_status status = launch_copies(encoding, params, count, label);
    MTS_TRY(status, mark_conversions(encoding, which, count, MTS_PARAM_WORDS(mts_copy_params)));
    return status;
}

mts_status mts_encode_copies(mts_encoding *encoding, const mts_step *step)
{
    const uint32_t *order = &encoding->plan->order[step->first];
    uint32_t count = 0;
    for (uint32_t i = 0; i < step->count; i++) {
        count += copies_of(encoding, order[i]);
    }
    mts_copy_params *params = mts_arena_zero(encoding->arena, count, sizeof *params);
    uint32_t *which = mts_arena_zero(encoding->arena, count, sizeof *which);
    for (uint32_t i = 0, at = 0; params && which && i < step->count; i++) {
        at += add_copies(encoding, order[i], &params[at], &which[at]);
    }
    return !which ? mts_encode_memory(encoding)
                  : encode_copies(encoding, which, count, params,
                                  encoding->plan->conversions[order[0]].part ? "copy to concat"
                                                                             : "copy to dense");
}

/* A whole input, as the result of the TRANSPOSE that reads it. */
static mts_copy_params turned_input(const mts_encoding *encoding, uint32_t input)
{
    const uint32_t result = encoding->plan->turned[input];
    const mts_view_params operand = callers_view(encoding, input);
    mts_copy_params params = {.dest = mts_encode_dest(encoding, encoding->plan->value_storage[result]),
                              .src = turned_view(encoding, result, &operand),
                              .src_pool = CALLERS_POOL};
    steps_of(&params);
    return params;
}

/* The caller's data of one part, flat, to where it lies in its value's storage. */
static mts_copy_params flat_part(const mts_encoding *encoding, const mts_encode_part *part)
{
    const mts_plan *plan = encoding->plan;
    const uint32_t count = (uint32_t)part->count;
    const mts_u32 base = (mts_u32)(plan->storages[plan->value_storage[part->value]].offset + part->first);
    return (mts_copy_params){
        .dest = {.base = base, .dims = {1, 1, 1, 1, 1, count}, .row = count, .pitch = count},
        .src = {.stride = {0, 0, 0, 0, 0, 1}},
        .src_pool = CALLERS_POOL,
        .step = {0, 0, 0, 0, 0, 1}};
}

static mts_status copy_part(mts_encoding *encoding, const mts_encode_part *part)
{
    mts_copy_params params = encoding->plan->turned[part->value] != MTS_NONE
                                 ? turned_input(encoding, part->value)
                                 : flat_part(encoding, part);
    const mts_status status = launch_copies(encoding, &params, 1, "input");
    if (status != MTS_STATUS_OK) {
        return status;
    }
    encoding->launches[encoding->launch_count - 1].source = part->slot + 1;
    const uint32_t task_mask = encoding->masks ? encoding->masks->values[part->value] : MTS_TASKS_ALL;
    return mts_encode_entries(encoding, MTS_ENTRY_PARAMS, MTS_PARAM_WORDS(mts_copy_params), &task_mask, 1);
}

mts_status mts_encode_inputs(mts_encoding *encoding, const mts_step *step)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = step->first; i < step->first + step->count; i++) {
        for (uint32_t p = 0; status == MTS_STATUS_OK && p < encoding->part_count; p++) {
            if (encoding->parts[p].value == encoding->plan->imports[i]) {
                status = copy_part(encoding, &encoding->parts[p]);
            }
        }
    }
    return status;
}

/* Channels of a work-item: a CPU's gets some hundred floats of small planes, and all
   channels of an image that has them last, so that its rows are fetched once. */
static mts_u32 channels_each(const mts_device_info *device, uint64_t floats, uint32_t channels,
                             uint32_t column)
{
    enum { FLOATS = 1024 };
    const uint64_t few = column > 1 ? channels : FLOATS / (floats > 0 ? floats : 1);
    const uint64_t each = device->is_gpu ? 1 : few;
    return each < 1 ? 1 : each > channels && channels > 0 ? channels : (mts_u32)each;
}

static mts_space_to_depth_params params_of(const mts_encoding *encoding, const mts_conversion *c)
{
    const mts_storage *out = &encoding->plan->storages[c->storage];
    const mts_shape *shape = &encoding->stitched->values[c->value].shape;
    const mts_view_params view = view_of(encoding, c);
    const uint32_t channels = (uint32_t)(shape->dims[0] * shape->dims[1]);
    const uint64_t floats = (uint64_t)out->pitch * c->stride[0] * c->stride[1];
    return (mts_space_to_depth_params){.out = (mts_u32)out->offset,
                                       .pitch = out->pitch,
                                       .rows = c->rows,
                                       .row = out->row,
                                       .channels = channels,
                                       .each =
                                           channels_each(encoding->device, floats, channels, view.stride[5]),
                                       .sy = c->stride[0],
                                       .sx = c->stride[1],
                                       .top = (mts_i32)c->top,
                                       .left = (mts_i32)c->left,
                                       .src = view.base,
                                       .src_pitch = view.stride[3],
                                       .src_row = view.stride[4],
                                       .src_column = view.stride[5],
                                       .in_h = (mts_u32)shape->dims[2],
                                       .in_w = (mts_u32)shape->dims[3],
                                       .src_pool = c->zero_copy ? CALLERS_POOL : 0};
}

/* `launch` over the conversions `which`, whose kernel parameters have `words` each. */
static mts_status launch_conversions(mts_encoding *encoding, mts_encoded_launch *launch, const void *params,
                                     uint32_t words, const uint32_t *which, const mts_extent *extent)
{
    mts_launch_over_plane(encoding->device, extent->pitch, launch->global, launch->local);
    mts_status status = mts_extent_launch(encoding, extent, launch, params, words);
    MTS_TRY(status, mark_conversions(encoding, which, extent->count, words));
    return status;
}

/* One launch over conversions `which`[count]; source: see mts_encoded_launch. */
static mts_status launch_space_to_depth(mts_encoding *encoding, const uint32_t *which, uint32_t count,
                                        uint32_t source)
{
    mts_encoded_launch launch = {
        .kernel = "space_to_depth_any__f32_planar", .label = "space to depth", .source = source};
    mts_space_to_depth_params *params = mts_arena_zero(encoding->arena, count, sizeof *params);
    mts_extent extent;
    if (!params || !mts_extent_open(encoding, &extent, count)) {
        return mts_encode_memory(encoding);
    }
    for (uint32_t i = 0; i < count; i++) {
        params[i] = params_of(encoding, &encoding->plan->conversions[which[i]]);
        const uint32_t items = (params[i].channels + params[i].each - 1) / params[i].each;
        mts_extent_add(&extent, params[i].pitch, items);
    }
    return launch_conversions(encoding, &launch, params, MTS_PARAM_WORDS(mts_space_to_depth_params), which,
                              &extent);
}

/* A copy of each second (or stride-th) row and column, for 1x1 convolutions. */
static mts_copy_params thinned(const mts_encoding *encoding, const mts_conversion *c)
{
    mts_copy_params params = copy_of(encoding, c);
    params.step[4] *= (mts_i32)c->stride[0];
    params.step[5] *= (mts_i32)c->stride[1];
    return params;
}

/* ---- codes ---- */

static mts_pack_params pack_of(const mts_encoding *encoding, const mts_conversion *c)
{
    const mts_storage *out = &encoding->plan->storages[c->storage];
    const mts_shape *shape = &encoding->stitched->values[c->value].shape;
    const mts_view_params view = view_of(encoding, c);
    const mts_grid *grid = &encoding->plan->grids[c->value];
    const mts_conversion *from = c->from != MTS_NONE ? &encoding->plan->conversions[c->from] : NULL;
    const mts_storage *codes = from ? &encoding->plan->storages[from->storage] : NULL;
    return (mts_pack_params){.out = (mts_u32)out->offset,
                             .pitch = out->pitch,
                             .rows = c->rows,
                             .row = out->row,
                             .images = (mts_u32)shape->dims[0],
                             .channels = (mts_u32)shape->dims[1],
                             .sy = c->stride[0],
                             .sx = c->stride[1],
                             .phases = c->phases,
                             .top = (mts_i32)c->top,
                             .left = (mts_i32)c->left,
                             .src = codes ? (mts_u32)codes->offset + from->top * codes->row + from->left
                                          : view.base,
                             .src_pitch = codes ? codes->pitch : view.stride[3],
                             .src_row = codes ? codes->row : view.stride[4],
                             .src_column = codes ? 1 : view.stride[5],
                             .in_h = (mts_u32)shape->dims[2],
                             .in_w = (mts_u32)shape->dims[3],
                             .coded = codes != NULL,
                             .inverse = 1.0f / grid->step,
                             .least = grid->least};
}

static mts_status launch_pack(mts_encoding *encoding, const uint32_t *which, uint32_t count)
{
    const bool coded = encoding->plan->conversions[which[0]].from != MTS_NONE;
    mts_encoded_launch launch = {.kernel = "pack_bytes__i32_words",
                                 .label = coded ? "codes to phases" : "floats to codes"};
    mts_pack_params *params = mts_arena_zero(encoding->arena, count, sizeof *params);
    mts_extent extent;
    if (!params || !mts_extent_open(encoding, &extent, count)) {
        return mts_encode_memory(encoding);
    }
    for (uint32_t i = 0; i < count; i++) {
        params[i] = pack_of(encoding, &encoding->plan->conversions[which[i]]);
        mts_extent_add(&extent, params[i].pitch, params[i].images * MTS_CODE_WORDS(params[i].channels));
    }
    return launch_conversions(encoding, &launch, params, MTS_PARAM_WORDS(mts_pack_params), which, &extent);
}

/* Conversions of zero-copy inputs each read a buffer of their own; the others are a
   launch of each kind. */
mts_status mts_encode_space_to_depth(mts_encoding *encoding, const mts_step *step)
{
    const mts_plan *plan = encoding->plan;
    uint32_t *kept = mts_arena_zero(encoding->arena, step->count, sizeof *kept);
    uint32_t *thinner = mts_arena_zero(encoding->arena, step->count, sizeof *thinner);
    mts_copy_params *thin = mts_arena_zero(encoding->arena, step->count, sizeof *thin);
    uint32_t *coded = mts_arena_zero(encoding->arena, step->count, sizeof *coded);
    uint32_t count = 0;
    uint32_t coded_count = 0;
    uint32_t thin_count = 0;
    mts_status status = kept && thinner && thin && coded ? MTS_STATUS_OK : mts_encode_memory(encoding);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < step->count; i++) {
        const uint32_t which = plan->order[step->first + i];
        const mts_conversion *c = &plan->conversions[which];
        if (c->codes) {
            coded[coded_count++] = which;
        } else if (c->zero_copy) {
            status =
                launch_space_to_depth(encoding, &which, 1, encoding->stitched->values[c->source].slot + 1);
        } else if (c->phases < c->stride[0] * c->stride[1]) {
            thinner[thin_count] = which;
            thin[thin_count++] = thinned(encoding, c);
        } else {
            kept[count++] = which;
        }
    }
    if (status == MTS_STATUS_OK && coded_count > 0) {
        status = launch_pack(encoding, coded, coded_count);
    }
    if (status == MTS_STATUS_OK && thin_count > 0) {
        status = encode_copies(encoding, thinner, thin_count, thin, "every other pixel");
    }
    return status == MTS_STATUS_OK && count > 0 ? launch_space_to_depth(encoding, kept, count, 0) : status;
}
