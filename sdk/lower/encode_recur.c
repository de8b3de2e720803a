/*
 * encode_recur.c: recurrent layers.
 */
#include "lower/encoders.h"

static void fill_recur(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_node *node = mts_member_node(encoding->stitched, member);
    const mts_value *weight = mts_member_operand(encoding->stitched, member, 1);
    mts_recur_params *r = params;
    r->dest = mts_encode_output(encoding, member);
    r->src = mts_encode_view(encoding, member->inputs[0]);
    r->weight = mts_weights_dense(&encoding->pool, weight, mts_encode_owner(encoding, member));
    r->kind = node->attrs.recur.kind;
    r->reverse = node->attrs.recur.reverse;
    r->hidden = (mts_u32)weight->shape.dims[0];
    r->length = r->dest.dims[3];
    r->bias = mts_encode_vector(encoding, member, 4, NULL, r->hidden);
    if (node->input_count > 2 && node->inputs[2] != MTS_NONE) {
        r->h = mts_encode_operand(encoding, member, 2, NULL, &r->h_pool);
        r->states |= 1u;
    }
    if (node->input_count > 3 && node->inputs[3] != MTS_NONE) {
        r->c = mts_encode_operand(encoding, member, 3, NULL, &r->c_pool);
        r->states |= 2u;
    }
    encoding->mul_adds += mts_node_mul_adds(encoding->stitched->graphs[member->graph], node);
}

MTS_OPERATOR(recur, recur, fill_recur, NULL);
