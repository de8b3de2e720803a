/*
 * encode_element.c: element functions, scale and bias per channel, binary operators and
 * choices with broadcasting.
 */
#include "lower/encoders.h"

static void fill_unary(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_act *act = &mts_member_node(encoding->stitched, member)->attrs.unary.act;
    mts_unary_params *r = params;
    *r = (mts_unary_params){.dest = mts_encode_output(encoding, member),
                            .src = mts_encode_view(encoding, member->inputs[0]),
                            .fn = act->fn,
                            .a = act->a,
                            .b = act->b};
    mts_view_params *const operands[] = {&r->src};
    while (mts_encode_join_planes(&r->dest, operands, 1)) {
    }
}

MTS_OPERATOR(unary, unary, fill_unary, NULL);

static void fill_binary(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_binary *attrs = &mts_member_node(encoding->stitched, member)->attrs.binary;
    mts_binary_params *r = params;
    r->dest = mts_encode_output(encoding, member);
    r->lhs = mts_encode_operand(encoding, member, 0, r->dest.dims, &r->lhs_pool);
    r->rhs = mts_encode_operand(encoding, member, 1, r->dest.dims, &r->rhs_pool);
    mts_view_params *const operands[] = {&r->lhs, &r->rhs};
    while (mts_encode_join_planes(&r->dest, operands, 2)) {
    }
    r->kind = attrs->kind;
    r->fn = attrs->act.fn;
    r->a = attrs->act.a;
    r->b = attrs->act.b;
}

MTS_OPERATOR(binary, binary, fill_binary, NULL);

static void fill_select(mts_encoding *encoding, const mts_member *member, void *params)
{
    mts_select_params *r = params;
    r->dest = mts_encode_output(encoding, member);
    for (uint32_t i = 0; i < 3; i++) {
        r->in[i] = mts_encode_operand(encoding, member, i, r->dest.dims, &r->in_pool[i]);
    }
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

static void fill_scale(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_act *act = &mts_member_node(encoding->stitched, member)->attrs.unary.act;
    const mts_shape *shape = &encoding->stitched->values[member->output].shape;
    uint32_t dims[MTS_PARAM_RANK];
    channel_dims(shape, dims);
    mts_scale_params *r = params;
    r->dest = mts_encode_dest_as(encoding, encoding->plan->value_storage[member->output], dims);
    r->src = mts_encode_view(encoding, member->inputs[0]);
    if (shape->rank != 4) {
        mts_encode_strides(dims, r->src.stride);
    }
    r->scale = mts_encode_vector(encoding, member, 1, NULL, dims[3]);
    r->bias = mts_encode_vector(encoding, member, 2, NULL, dims[3]);
    r->slope = mts_encode_vector(encoding, member, 3, NULL, dims[3]);
#ifndef MTS_SMALL
    mts_view_params *const operands[] = {&r->src};
    r->columns = dims[4] * dims[5] == 1 && r->scale != MTS_PARAM_NONE && r->bias != MTS_PARAM_NONE &&
                 r->slope == MTS_PARAM_NONE && mts_encode_join_planes(&r->dest, operands, 1);
#endif
    r->fn = act->fn;
    r->a = act->a;
    r->b = act->b;
}

MTS_OPERATOR(scale, scale, fill_scale, NULL);
