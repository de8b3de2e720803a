/*
 * encode_sum.c: sums that are part of the launch that computes a summand (plan/sums.h).
 */
#include "lower/encoders.h"
#include "plan/sums.h"

#if MTS_FUSES

/* The member that computes an operand of a sum. */
static const mts_member *summand_of(const mts_encoding *encoding, const mts_member *sum)
{
    const mts_stitched *s = encoding->stitched;
    return &s->members[s->values[sum->inputs[mts_sums_operand(encoding->plan, sum)]].member];
}

static mts_addend_params addend_of(mts_encoding *encoding, const mts_member *sum, const uint32_t *dims)
{
    const mts_act *act = &mts_member_node(encoding->stitched, sum)->attrs.binary.act;
    mts_addend_params r = {.fn = act->fn, .a = act->a, .b = act->b};
    uint32_t pool = 0;
    r.other = mts_encode_operand(encoding, sum, 1 - mts_sums_operand(encoding->plan, sum), dims, &pool);
    r.other_pool = pool;
    return r;
}

static void fill_binary_sum(mts_encoding *encoding, const mts_member *sum, void *params)
{
    const mts_member *summand = summand_of(encoding, sum);
    const mts_attrs_binary *attrs = &mts_member_node(encoding->stitched, summand)->attrs.binary;
    mts_binary_sum_params *r = params;
    mts_binary_params *b = &r->binary;
    mts_view_params *const operands[] = {&b->lhs, &b->rhs, &r->addend.other};
    uint32_t pools[2] = {0, 0};
    b->dest = mts_encode_output(encoding, sum);
    for (uint32_t i = 0; i < 2; i++) {
        *operands[i] = mts_encode_operand(encoding, summand, i, b->dest.dims, &pools[i]);
    }
    b->lhs_pool = pools[0];
    b->rhs_pool = pools[1];
    b->kind = attrs->kind;
    b->fn = attrs->act.fn;
    b->a = attrs->act.a;
    b->b = attrs->act.b;
    r->addend = addend_of(encoding, sum, b->dest.dims);
    while (mts_encode_join_planes(&b->dest, operands, 3)) {
    }
}

static void fill_resize_sum(mts_encoding *encoding, const mts_member *sum, void *params)
{
    mts_resize_sum_params *r = params;
    mts_operator_resize.fill(encoding, summand_of(encoding, sum), &r->resize);
    r->resize.dest = mts_encode_output(encoding, sum);
    r->addend = addend_of(encoding, sum, r->resize.dest.dims);
}

mts_status mts_encode_sum(mts_encoding *encoding, const mts_layer *layer)
{
    const mts_member *members = &encoding->stitched->members[layer->first];
    const mts_member *summand = summand_of(encoding, members);
    const bool resize = mts_member_node(encoding->stitched, summand)->op == MTS_OP_RESIZE;
    const uint32_t words =
        resize ? MTS_PARAM_WORDS(mts_resize_sum_params) : MTS_PARAM_WORDS(mts_binary_sum_params);
    char *params = mts_arena_zero(encoding->arena, layer->count, words * sizeof(mts_u32));
    for (uint32_t i = 0; params && i < layer->count; i++) {
        void *own = params + (size_t)i * words * sizeof(mts_u32);
        (resize ? fill_resize_sum : fill_binary_sum)(encoding, &members[i], own);
    }
    return mts_encode_dests(encoding, resize ? "resize_sum__f32_planar" : "binary_sum__f32_planar",
                            mts_encode_label(encoding, layer, resize ? "resize + sum" : "binary + sum"),
                            params, words, layer->count);
}

#endif
