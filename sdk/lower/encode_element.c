/*
 * encode_element.c: element functions, scale and bias per channel, binary operators and
 * choices with broadcasting.
 */
#include "lower/encoders.h"
#include "lower/pack_dims.h"

/*
 * Result and operands of a member that computes each element by itself: operand i of
 * `count` is the member's input i. Dimensions are joined as far as they can be.
 */
static void fill_elements(mts_encoding *encoding, const mts_member *member, mts_dest_params *dest,
                          mts_view_params *const *operands, uint32_t *const *pools, uint32_t count)
{
    mts_pack_form form;
    const bool packs = mts_packs_touch(encoding, member, &form);
    *dest = packs ? mts_packs_output(encoding, member, &form) : mts_encode_output(encoding, member);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t pool = 0;
        *operands[i] = packs ? mts_packs_operand(encoding, member, i, &form, &pool)
                             : mts_encode_operand(encoding, member, i, dest->dims, &pool);
        if (pools) {
            *pools[i] = pool;
        }
    }
    if (packs && form.packs) {
        mts_packs_join(dest, operands, count);
    }
    while (mts_encode_join_planes(dest, operands, count)) {
    }
}

static void fill_unary(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_act *act = &mts_member_node(encoding->stitched, member)->attrs.unary.act;
    mts_unary_params *r = params;
    mts_view_params *const operands[] = {&r->src};
    fill_elements(encoding, member, &r->dest, operands, NULL, 1);
    r->fn = act->fn;
    r->a = act->a;
    r->b = act->b;
}

MTS_OPERATOR(unary, unary, fill_unary, NULL);

static void fill_binary(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_binary *attrs = &mts_member_node(encoding->stitched, member)->attrs.binary;
    mts_binary_params *r = params;
    mts_view_params *const operands[] = {&r->lhs, &r->rhs};
    uint32_t *const pools[] = {&r->lhs_pool, &r->rhs_pool};
    fill_elements(encoding, member, &r->dest, operands, pools, 2);
    r->kind = attrs->kind;
    r->fn = attrs->act.fn;
    r->a = attrs->act.a;
    r->b = attrs->act.b;
}

MTS_OPERATOR(binary, binary, fill_binary, NULL);

static void fill_select(mts_encoding *encoding, const mts_member *member, void *params)
{
    mts_select_params *r = params;
    mts_view_params *const operands[] = {&r->in[0], &r->in[1], &r->in[2]};
    uint32_t *const pools[] = {&r->in_pool[0], &r->in_pool[1], &r->in_pool[2]};
    fill_elements(encoding, member, &r->dest, operands, pools, 3);
}

MTS_OPERATOR(select, select, fill_select, NULL);

/* Channels of a value of any rank stand at coordinate 3: [1, 1, N, C, H, W], all but rank
 * 4 as [1, 1, N, C, 1, rest]. */
static void channel_dims(const mts_shape *shape, uint32_t dims[MTS_PARAM_RANK])
{
    mts_shape_pad(shape, dims);
    if (shape->rank == 4) {
        return;
    }
    uint32_t rest = 1;
    for (uint32_t i = 2; i < shape->rank; i++) {
        rest *= (uint32_t)shape->dims[i];
    }
    const uint32_t as[MTS_PARAM_RANK] = {1, 1, (uint32_t)shape->dims[0], (uint32_t)shape->dims[1], 1, rest};
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        dims[i] = as[i];
    }
}

/* Of packs; false: there are none. */
static bool scale_packs(mts_encoding *encoding, const mts_member *member, mts_scale_params *r)
{
    mts_pack_form form;
    uint32_t pool = 0;
    if (!mts_packs_touch(encoding, member, &form)) {
        return false;
    }
    r->dest = mts_packs_output(encoding, member, &form);
    r->src = mts_packs_operand(encoding, member, 0, &form, &pool);
    r->channel[0] = MTS_CHANNEL_PACK;
    r->channel[form.packs ? 2 : 1] = 1;
    return true;
}

static void fill_scale(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_act *act = &mts_member_node(encoding->stitched, member)->attrs.unary.act;
    const mts_shape *shape = &encoding->stitched->values[member->output].shape;
    uint32_t dims[MTS_PARAM_RANK];
    channel_dims(shape, dims);
    mts_scale_params *r = params;
    const bool packs = scale_packs(encoding, member, r);
    if (!packs) {
        r->dest = mts_encode_dest_as(encoding, encoding->plan->value_storage[member->output], dims);
        r->src = mts_encode_view(encoding, member->inputs[0]);
        r->channel[1] = 1;
    }
    if (shape->rank != 4) {
        mts_encode_strides(dims, r->src.stride);
    }
    r->scale = mts_encode_vector(encoding, member, 1, NULL, dims[3]);
    r->bias = mts_encode_vector(encoding, member, 2, NULL, dims[3]);
    r->slope = mts_encode_vector(encoding, member, 3, NULL, dims[3]);
#ifndef MTS_SMALL
    mts_view_params *const operands[] = {&r->src};
    if (!packs && dims[4] * dims[5] == 1 && r->scale != MTS_PARAM_NONE && r->bias != MTS_PARAM_NONE &&
        r->slope == MTS_PARAM_NONE && mts_encode_join_planes(&r->dest, operands, 1)) {
        r->channel[1] = 0;
        r->channel[2] = 1;
    }
#endif
    r->fn = act->fn;
    r->a = act->a;
    r->b = act->b;
}

MTS_OPERATOR(scale, scale, fill_scale, NULL);
