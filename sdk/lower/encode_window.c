/*
 * encode_window.c: pooling, resizing, local response normalisation, transposed
 * convolution.
 */
#include "lower/encoders.h"
#include "lower/pack_dims.h"

#include <string.h>

enum { LANE_BITS = 2 }; /* of MTS_CHANNEL_PACK */

/* Result and operand of a member whose windows go over rows and columns. Returns the bits
   of the lanes among its columns. */
static uint32_t fill_rows(mts_encoding *encoding, const mts_member *member, mts_dest_params *dest,
                          mts_view_params *src)
{
    mts_pack_form form;
    uint32_t pool = 0;
    if (!mts_packs_touch(encoding, member, &form)) {
        *dest = mts_encode_output(encoding, member);
        *src = mts_encode_view(encoding, member->inputs[0]);
        return 0;
    }
    *dest = mts_packs_output(encoding, member, &form);
    *src = mts_packs_operand(encoding, member, 0, &form, &pool);
    if (form.packs) {
        mts_packs_by_rows(dest, src);
    }
    return form.packs ? LANE_BITS : 0;
}

static void fill_pool(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_pool *pool = &mts_member_node(encoding->stitched, member)->attrs.pool;
    const int64_t *in = encoding->stitched->values[member->inputs[0]].shape.dims;
    mts_pool_params *r = params;
    *r = (mts_pool_params){
        .in_h = (mts_u32)in[2], .in_w = (mts_u32)in[3], .kind = pool->kind, .include_pad = pool->include_pad};
    r->lane_bits = fill_rows(encoding, member, &r->dest, &r->src);
    memcpy(r->window, pool->kernel, sizeof r->window);
    memcpy(r->stride, pool->stride, sizeof r->stride);
    memcpy(r->dilation, pool->dilation, sizeof r->dilation);
    memcpy(r->pad, pool->pad, sizeof r->pad);
    r->in_w <<= r->lane_bits;
    r->dilation[1] <<= r->lane_bits;
    r->pad[1] *= 1 << r->lane_bits;
    r->pad[3] *= 1 << r->lane_bits;
}

MTS_OPERATOR(pool, pool, fill_pool, NULL);

static void fill_resize(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_resize *resize = &mts_member_node(encoding->stitched, member)->attrs.resize;
    const int64_t *in = encoding->stitched->values[member->inputs[0]].shape.dims;
    mts_resize_params *r = params;
    r->lane_bits = fill_rows(encoding, member, &r->dest, &r->src);
    for (int d = 0; d < 2; d++) {
        r->in[d] = (mts_u32)in[2 + d];
        r->scale[d] = resize->scale[d];
        r->roi_start[d] = resize->roi_start[d];
        r->roi_end[d] = resize->roi_end[d];
    }
    r->mode = resize->mode;
    r->coord = resize->coord;
    r->round = resize->round;
    r->exclude_outside = resize->exclude_outside;
    r->cubic_a = resize->cubic_a;
    r->extrapolation = resize->extrapolation;
}

MTS_OPERATOR(resize, resize, fill_resize, NULL);

static void fill_lrn(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_lrn *lrn = &mts_member_node(encoding->stitched, member)->attrs.lrn;
    *(mts_lrn_params *)params =
        (mts_lrn_params){.dest = mts_encode_output(encoding, member),
                         .src = mts_encode_view(encoding, member->inputs[0]),
                         .channels = (mts_u32)encoding->stitched->values[member->output].shape.dims[1],
                         .size = lrn->size,
                         .alpha = lrn->alpha,
                         .beta = lrn->beta,
                         .bias = lrn->bias};
}

MTS_OPERATOR(lrn, lrn, fill_lrn, NULL);

static void fill_deconv(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_node *node = mts_member_node(encoding->stitched, member);
    const mts_attrs_conv *conv = &node->attrs.conv;
    const int64_t *in = encoding->stitched->values[member->inputs[0]].shape.dims;
    const int64_t *out = encoding->stitched->values[member->output].shape.dims;
    mts_deconv_params *r = params;
    *r = (mts_deconv_params){.dest = mts_encode_output(encoding, member),
                             .src = mts_encode_view(encoding, member->inputs[0]),
                             .in_channels = (mts_u32)in[1],
                             .in_h = (mts_u32)in[2],
                             .in_w = (mts_u32)in[3],
                             .group = conv->group,
                             .pad = {conv->pad[0], conv->pad[1]},
                             .fn = conv->act.fn,
                             .a = conv->act.a,
                             .b = conv->act.b};
    for (int d = 0; d < 2; d++) {
        r->window[d] = conv->kernel[d];
        r->stride[d] = conv->stride[d];
        r->dilation[d] = conv->dilation[d];
    }
    r->weight = mts_weights_dense(&encoding->pool, mts_member_operand(encoding->stitched, member, 1),
                                  mts_encode_owner(encoding, member));
    r->bias = mts_encode_vector(encoding, member, 2, NULL, (uint32_t)out[1]);
    encoding->mul_adds += mts_node_mul_adds(encoding->stitched->graphs[member->graph], node);
}

MTS_OPERATOR(deconv, deconv, fill_deconv, NULL);
