/*
 * lower_element.c: element functions, scale and bias per channel, and binary operators with broadcasting.
 */
#include "exec/lower.h"

/* Scratch records of a layer, zeroed; NULL if memory is short. Lives in the lowering's arena. */
#define RECORDS(type, layer) ((type *)mts_arena_zero(lowering->arena, (layer)->count, sizeof(type)))

static uint32_t output_storage(const mts_lowering *lowering, const mts_member *member)
{
    return lowering->plan->value_storage[member->output];
}

mts_code mts_lower_unary(mts_lowering *lowering, const mts_layer *layer)
{
    mts_rec_unary *records = RECORDS(mts_rec_unary, layer);
    for (uint32_t i = 0; records != NULL && i < layer->count; i++) {
        const mts_member *member = &lowering->stitched->members[layer->first + i];
        const mts_act *act = &mts_member_node(lowering->stitched, member)->attrs.unary.act;
        records[i] = (mts_rec_unary){.dest = mts_lower_dest(lowering, output_storage(lowering, member)),
                                     .src = mts_lower_view(lowering, member->inputs[0]),
                                     .fn = act->fn,
                                     .a = act->a,
                                     .b = act->b};
    }
    return records == NULL ? mts_lower_memory(lowering)
                           : mts_lower_dests(lowering, "unary_any__f32_planar",
                                             mts_lower_label(lowering, layer, "unary"), records,
                                             MTS_REC_WORDS(mts_rec_unary), layer->count);
}

mts_code mts_lower_binary(mts_lowering *lowering, const mts_layer *layer)
{
    mts_rec_binary *records = RECORDS(mts_rec_binary, layer);
    for (uint32_t i = 0; records != NULL && i < layer->count; i++) {
        const mts_member *member = &lowering->stitched->members[layer->first + i];
        const mts_attrs_binary *attrs = &mts_member_node(lowering->stitched, member)->attrs.binary;
        mts_rec_binary *r = &records[i];
        r->dest = mts_lower_dest(lowering, output_storage(lowering, member));
        r->lhs = mts_lower_operand(lowering, member, 0, r->dest.dims, &r->lhs_pool);
        r->rhs = mts_lower_operand(lowering, member, 1, r->dest.dims, &r->rhs_pool);
        r->kind = attrs->kind;
        r->fn = attrs->act.fn;
        r->a = attrs->act.a;
        r->b = attrs->act.b;
    }
    return records == NULL ? mts_lower_memory(lowering)
                           : mts_lower_dests(lowering, "binary_any__f32_planar",
                                             mts_lower_label(lowering, layer, "binary"), records,
                                             MTS_REC_WORDS(mts_rec_binary), layer->count);
}

/* Channels of a value of any rank stand at coordinate 3: [1, 1, N, C, H, W], all but rank 4 as [1, 1, N, C, 1, rest]. */
static void channel_dims(const mts_shape *shape, uint32_t dims[MTS_REC_RANK])
{
    mts_shape_pad(shape, dims);
    if (shape->rank == 4) {
        return;
    }
    uint32_t rest = 1;
    for (uint32_t i = 2; i < shape->rank; i++) {
        rest *= (uint32_t)shape->dims[i];
    }
    const uint32_t as[MTS_REC_RANK] = {1, 1, (uint32_t)shape->dims[0], (uint32_t)shape->dims[1], 1, rest};
    for (int i = 0; i < MTS_REC_RANK; i++) {
        dims[i] = as[i];
    }
}

mts_code mts_lower_scale(mts_lowering *lowering, const mts_layer *layer)
{
    mts_rec_scale *records = RECORDS(mts_rec_scale, layer);
    for (uint32_t i = 0; records != NULL && i < layer->count; i++) {
        const mts_member *member = &lowering->stitched->members[layer->first + i];
        const mts_act *act = &mts_member_node(lowering->stitched, member)->attrs.unary.act;
        const mts_shape *shape = &lowering->stitched->values[member->output].shape;
        uint32_t dims[MTS_REC_RANK];
        channel_dims(shape, dims);
        mts_rec_scale *r = &records[i];
        r->dest = mts_lower_dest_as(lowering, output_storage(lowering, member), dims);
        r->src = mts_lower_view(lowering, member->inputs[0]);
        if (shape->rank != 4) {
            mts_lower_strides(dims, r->src.stride);
        }
        r->scale = mts_lower_vector(lowering, member, 1, NULL, dims[3]);
        r->bias = mts_lower_vector(lowering, member, 2, NULL, dims[3]);
        r->slope = mts_lower_vector(lowering, member, 3, NULL, dims[3]);
        r->fn = act->fn;
        r->a = act->a;
        r->b = act->b;
    }
    return records == NULL ? mts_lower_memory(lowering)
                           : mts_lower_dests(lowering, "scale_any__f32_planar",
                                             mts_lower_label(lowering, layer, "scale"), records,
                                             MTS_REC_WORDS(mts_rec_scale), layer->count);
}
