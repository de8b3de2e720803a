/*
 * encode_reduce.c: reductions, softmax, matrix products.
 */
#include "lower/encoders.h"

static void fill_reduce(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_reduce *reduce = &mts_member_node(encoding->stitched, member)->attrs.reduce;
    const mts_shape *in = &encoding->stitched->values[member->inputs[0]].shape;
    /* Of the output, the reduced dimensions kept as 1. */
    uint32_t dims[MTS_PARAM_RANK];
    mts_shape_pad(in, dims);
    mts_reduce_params *r = params;
    r->src = mts_encode_view(encoding, member->inputs[0]);
    for (uint32_t d = 0; d < MTS_PARAM_RANK; d++) {
        const uint32_t skip = MTS_PARAM_RANK - in->rank;
        const bool reduced = d >= skip && (reduce->axes >> (d - skip) & 1) != 0;
        r->extent[d] = reduced ? dims[d] : 1;
        r->step[d] = reduced ? r->src.stride[d] : 0;
        dims[d] = reduced ? 1 : dims[d];
    }
    r->dest = mts_encode_dest_as(encoding, encoding->plan->value_storage[member->output], dims);
    r->kind = reduce->kind;
}

static uint32_t reduce_positions(const mts_stitched *stitched, const mts_member *member)
{
    const mts_attrs_reduce *reduce = &mts_member_node(stitched, member)->attrs.reduce;
    const mts_shape *in = &mts_member_operand(stitched, member, 0)->shape;
    return MTS_REDUCE_IS_POSITION(reduce->kind) ? (uint32_t)in->dims[mts_reduce_axis(reduce)] : 0;
}

MTS_OPERATOR(reduce, reduce, fill_reduce, reduce_positions);

static void fill_softmax(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_softmax *softmax = &mts_member_node(encoding->stitched, member)->attrs.softmax;
    mts_softmax_params *r = params;
    r->length = mts_encode_line(encoding, member, softmax->axis, &r->dest, &r->src, &r->axis);
    r->log = softmax->log;
}

MTS_OPERATOR(softmax, softmax, fill_softmax, NULL);

/* A factor's view: batch dimensions broadcast to the output's, the matrix dimensions its own. */
static mts_view_params factor(mts_encoding *encoding, const mts_member *member, uint32_t input,
                              const uint32_t out[MTS_PARAM_RANK], uint32_t *pool)
{
    uint32_t dims[MTS_PARAM_RANK];
    mts_shape_pad(&mts_member_operand(encoding->stitched, member, input)->shape, dims);
    for (int d = 0; d < 4; d++) {
        dims[d] = out[d];
    }
    return mts_encode_operand(encoding, member, input, dims, pool);
}

static void fill_matmul(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_node *node = mts_member_node(encoding->stitched, member);
    const mts_shape *lhs = &mts_member_operand(encoding->stitched, member, 0)->shape;
    const bool adds = mts_member_operand(encoding->stitched, member, 2);
    mts_matmul_params *r = params;
    r->dest = mts_encode_output(encoding, member);
    r->lhs = factor(encoding, member, 0, r->dest.dims, &r->lhs_pool);
    r->rhs = factor(encoding, member, 1, r->dest.dims, &r->rhs_pool);
    if (adds) {
        r->add = mts_encode_operand(encoding, member, 2, r->dest.dims, &r->add_pool);
    }
    r->depth = (mts_u32)lhs->dims[lhs->rank - 1];
    r->alpha = node->attrs.matmul.alpha;
    r->beta = adds ? node->attrs.matmul.beta : 0.0f;
    encoding->mul_adds += mts_node_mul_adds(encoding->stitched->graphs[member->graph], node);
}

MTS_OPERATOR(matmul, matmul, fill_matmul, NULL);
