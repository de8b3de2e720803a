/*
 * encode_index.c: operators whose values or results are positions, and scans.
 */
#include "lower/encoders.h"

static void fill_take(mts_encoding *encoding, const mts_member *member, void *params)
{
    mts_take_params *r = params;
    r->dest = mts_encode_output(encoding, member);
    r->src = mts_encode_operand(encoding, member, 0, NULL, &r->src_pool);
    r->index = mts_encode_operand(encoding, member, 1, r->dest.dims, &r->index_pool);
    r->length = (mts_u32)mts_member_operand(encoding->stitched, member, 0)->shape.dims[1];
}

static uint32_t take_positions(const mts_stitched *stitched, const mts_member *member)
{
    return (uint32_t)mts_member_operand(stitched, member, 0)->shape.dims[1];
}

MTS_OPERATOR(take, take, fill_take, take_positions);

static void fill_scan(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_scan *scan = &mts_member_node(encoding->stitched, member)->attrs.scan;
    mts_scan_params *r = params;
    r->length = mts_encode_line(encoding, member, scan->axis, &r->dest, &r->src, &r->axis);
    r->kind = scan->kind;
    r->exclusive = scan->exclusive;
    r->reverse = scan->reverse;
}

MTS_OPERATOR(scan, scan, fill_scan, NULL);

static void fill_order(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_shape *in = &encoding->stitched->values[member->inputs[0]].shape;
    *(mts_order_params *)params =
        (mts_order_params){.dest = mts_encode_output(encoding, member),
                           .src = mts_encode_view(encoding, member->inputs[0]),
                           .length = (mts_u32)in->dims[in->rank - 1],
                           .largest = mts_member_node(encoding->stitched, member)->attrs.order.largest};
}

static uint32_t order_positions(const mts_stitched *stitched, const mts_member *member)
{
    const mts_shape *in = &mts_member_operand(stitched, member, 0)->shape;
    return (uint32_t)in->dims[in->rank - 1];
}

MTS_OPERATOR(order, order, fill_order, order_positions);

static void fill_sample(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_sample *sample = &mts_member_node(encoding->stitched, member)->attrs.sample;
    const mts_shape *in = &mts_member_operand(encoding->stitched, member, 0)->shape;
    mts_sample_params *r = params;
    r->dest = mts_encode_output(encoding, member);
    r->src = mts_encode_operand(encoding, member, 0, NULL, &r->src_pool);
    r->grid = mts_encode_operand(encoding, member, 1, NULL, &r->grid_pool);
    r->in_h = (mts_u32)in->dims[2];
    r->in_w = (mts_u32)in->dims[3];
    r->mode = sample->mode;
    r->padding = sample->padding;
    r->align = sample->align;
    encoding->mul_adds += mts_node_mul_adds(encoding->stitched->graphs[member->graph],
                                            mts_member_node(encoding->stitched, member));
}

MTS_OPERATOR(sample, sample, fill_sample, NULL);
