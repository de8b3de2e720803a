/*
 * sums.c: see sums.h.
 */
#include "plan/sums.h"

#include "device/kernel.h"

#if MTS_FUSES

/* A member that computes floats of its own. */
static bool in_floats(const mts_fuse_finder *f, uint32_t member)
{
    const mts_member_plan *how = &f->plan->members[member];
    return how->variant == MTS_VARIANT_NONE && !how->in_place && !how->fused && !how->bare &&
           how->codes_conversion == MTS_NONE && how->input_conversion == MTS_NONE;
}

/* Nearest or linear to twice the rows and columns, as resize_sum computes it. */
static bool is_twice(const mts_stitched *s, const mts_member *member)
{
    const mts_attrs_resize *r = &mts_member_node(s, member)->attrs.resize;
    const mts_shape *in = &s->values[member->inputs[0]].shape, *out = &s->values[member->output].shape;
    const bool middle = r->coord == MTS_COORD_HALF_PIXEL || r->coord == MTS_COORD_PYTORCH_HALF_PIXEL;
    const bool halves = r->round != MTS_ROUND_FLOOR && r->round != MTS_ROUND_CEIL;
    const bool nearest =
        r->mode == MTS_RESIZE_NEAREST &&
        ((middle && halves) || (r->coord == MTS_COORD_ASYMMETRIC && r->round == MTS_ROUND_FLOOR));
    bool twice = in->rank == 4 && out->rank == 4 && (nearest || (r->mode == MTS_RESIZE_LINEAR && middle));
    for (int d = 0; twice && d < 2; d++) {
        /* images of one row or column have coordinates of their own */
        twice = 2 * in->dims[2 + d] == out->dims[2 + d] && !(r->scale[d] < 2.0f || r->scale[d] > 2.0f);
    }
    return twice;
}

static bool is_operator(const mts_stitched *s, const mts_member *member)
{
    const mts_attrs_binary *r = &mts_member_node(s, member)->attrs.binary;
    return r->kind < MTS_BIN_ALONE && !mts_fn_is_alone(r->act.fn) && r->act.fn != MTS_FN_PRELU;
}

/* Whether a sum's operand can be computed with it, as far as this member tells. */
static bool takes(const mts_fuse_finder *f, uint32_t sum, uint32_t operand)
{
    const mts_stitched *s = f->stitched;
    const mts_member *m = &s->members[sum];
    const mts_attrs_binary *r = &mts_member_node(s, m)->attrs.binary;
    const uint32_t part = s->values[m->inputs[operand]].member;
    const mts_member *summand = &s->members[part];
    const mts_shape *shape = &s->values[m->output].shape;
    const uint32_t other = m->inputs[1 - operand];
    const bool alike = mts_shape_equal(&s->values[summand->output].shape, shape);
    if (!in_floats(f, sum) || !in_floats(f, part) || r->kind != MTS_BIN_ADD || mts_fn_is_alone(r->act.fn) ||
        r->act.fn == MTS_FN_PRELU || !alike) {
        return false;
    }
    if (mts_member_node(s, summand)->op == MTS_OP_BINARY) {
        return is_operator(s, summand);
    }
    return mts_member_node(s, summand)->op == MTS_OP_RESIZE && other != MTS_NONE &&
           summand->inputs[0] != MTS_NONE && mts_shape_equal(&s->values[other].shape, shape) &&
           is_twice(s, summand);
}

static bool all_take(const mts_fuse_finder *f, const mts_layer *layer, uint32_t operand)
{
    bool all = true;
    for (uint32_t m = layer->first; all && m < layer->first + layer->count; m++) {
        const mts_member *member = &f->stitched->members[m];
        all = member->inputs[operand] != MTS_NONE && takes(f, m, operand);
    }
    return all;
}

void mts_sums_try(const mts_fuse_finder *f, uint32_t layer)
{
    const mts_layer *l = &f->stitched->layers[layer];
    if (l->op != MTS_OP_BINARY || !mts_fuse_is_free(f, layer)) {
        return;
    }
    for (uint32_t operand = 0; operand < 2; operand++) {
        const uint32_t source = mts_fuse_source(f, l, operand);
        if (source != MTS_NONE && mts_fuse_is_free(f, source) && all_take(f, l, operand)) {
            f->plan->fusions[layer].summand = source;
            mts_fuse_join(f, source, layer);
            return;
        }
    }
}

uint32_t mts_sums_operand(const mts_plan *plan, const mts_member *sum)
{
    const uint32_t value = sum->inputs[0];
    const uint32_t producer = value != MTS_NONE ? plan->stitched->values[value].member : MTS_NONE;
    return producer != MTS_NONE && plan->members[producer].fused ? 0 : 1;
}

#endif
