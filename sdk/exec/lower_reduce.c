/*
 * lower_reduce.c: reductions, softmax, matrix products.
 */
#include "exec/lower.h"

mts_code mts_lower_reduce(mts_lowering *lowering, const mts_layer *layer)
{
    mts_rec_reduce *records = mts_arena_zero(lowering->arena, layer->count, sizeof *records);
    for (uint32_t i = 0; records != NULL && i < layer->count; i++) {
        const mts_member *member = &lowering->stitched->members[layer->first + i];
        const mts_attrs_reduce *reduce = &mts_member_node(lowering->stitched, member)->attrs.reduce;
        const mts_shape *in = &lowering->stitched->values[member->inputs[0]].shape;
        uint32_t dims[MTS_REC_RANK]; /* of the output, the reduced dimensions kept as 1 */
        mts_shape_pad(in, dims);
        mts_rec_reduce *r = &records[i];
        r->src = mts_lower_view(lowering, member->inputs[0]);
        for (uint32_t d = 0; d < MTS_REC_RANK; d++) {
            const uint32_t skip = MTS_REC_RANK - in->rank;
            const bool reduced = d >= skip && (reduce->axes >> (d - skip) & 1) != 0;
            r->extent[d] = reduced ? dims[d] : 1;
            r->step[d] = reduced ? r->src.stride[d] : 0;
            dims[d] = reduced ? 1 : dims[d];
        }
        r->dest = mts_lower_dest_as(lowering, lowering->plan->value_storage[member->output], dims);
        r->kind = reduce->kind;
    }
    return records == NULL ? mts_lower_memory(lowering)
                           : mts_lower_dests(lowering, "reduce_any__f32_planar",
                                             mts_lower_label(lowering, layer, "reduce"), records,
                                             MTS_REC_WORDS(mts_rec_reduce), layer->count);
}

mts_code mts_lower_softmax(mts_lowering *lowering, const mts_layer *layer)
{
    mts_rec_softmax *records = mts_arena_zero(lowering->arena, layer->count, sizeof *records);
    for (uint32_t i = 0; records != NULL && i < layer->count; i++) {
        const mts_member *member = &lowering->stitched->members[layer->first + i];
        const mts_attrs_softmax *softmax = &mts_member_node(lowering->stitched, member)->attrs.softmax;
        const mts_shape *shape = &lowering->stitched->values[member->output].shape;
        records[i] =
            (mts_rec_softmax){.dest = mts_lower_dest(lowering, lowering->plan->value_storage[member->output]),
                              .src = mts_lower_view(lowering, member->inputs[0]),
                              .axis = MTS_REC_RANK - shape->rank + softmax->axis,
                              .length = (mts_u32)shape->dims[softmax->axis],
                              .log = softmax->log};
    }
    return records == NULL ? mts_lower_memory(lowering)
                           : mts_lower_dests(lowering, "softmax_any__f32_planar",
                                             mts_lower_label(lowering, layer, "softmax"), records,
                                             MTS_REC_WORDS(mts_rec_softmax), layer->count);
}

/* A factor's view: batch dimensions broadcast to the output's, the matrix dimensions its own. */
static mts_rec_view factor(mts_lowering *lowering, const mts_member *member, uint32_t input,
                           const uint32_t out[MTS_REC_RANK], uint32_t *pool)
{
    uint32_t dims[MTS_REC_RANK];
    mts_shape_pad(&mts_member_operand(lowering->stitched, member, input)->shape, dims);
    for (int d = 0; d < 4; d++) {
        dims[d] = out[d];
    }
    return mts_lower_operand(lowering, member, input, dims, pool);
}

mts_code mts_lower_matmul(mts_lowering *lowering, const mts_layer *layer)
{
    mts_rec_matmul *records = mts_arena_zero(lowering->arena, layer->count, sizeof *records);
    for (uint32_t i = 0; records != NULL && i < layer->count; i++) {
        const mts_member *member = &lowering->stitched->members[layer->first + i];
        const mts_node *node = mts_member_node(lowering->stitched, member);
        const mts_shape *lhs = &mts_member_operand(lowering->stitched, member, 0)->shape;
        const bool adds = mts_member_operand(lowering->stitched, member, 2) != NULL;
        mts_rec_matmul *r = &records[i];
        r->dest = mts_lower_dest(lowering, lowering->plan->value_storage[member->output]);
        r->lhs = factor(lowering, member, 0, r->dest.dims, &r->lhs_pool);
        r->rhs = factor(lowering, member, 1, r->dest.dims, &r->rhs_pool);
        if (adds) {
            r->add = mts_lower_operand(lowering, member, 2, r->dest.dims, &r->add_pool);
        }
        r->depth = (mts_u32)lhs->dims[lhs->rank - 1];
        r->alpha = node->attrs.matmul.alpha;
        r->beta = adds ? node->attrs.matmul.beta : 0.0f;
        lowering->mul_adds += mts_node_mul_adds(lowering->stitched->graphs[member->graph], node);
    }
    return records == NULL ? mts_lower_memory(lowering)
                           : mts_lower_dests(lowering, "matmul_any__f32_planar",
                                             mts_lower_label(lowering, layer, "matmul"), records,
                                             MTS_REC_WORDS(mts_rec_matmul), layer->count);
}
