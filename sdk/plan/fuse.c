/*
 * fuse.c: see fuse.h.
 */
#include "plan/fuse.h"

#include "device/kernel.h"
#include "plan/sums.h"

typedef mts_fuse_finder finder;

static const mts_attrs_conv *conv_of(const finder *f, uint32_t member)
{
    return &mts_member_node(f->stitched, &f->stitched->members[member])->attrs.conv;
}

static bool in_floats(const finder *f, uint32_t member, mts_variant variant)
{
    const mts_member_plan *how = &f->plan->members[member];
    return how->variant == variant && !how->in_place && how->codes_conversion == MTS_NONE && !how->bare &&
           f->stitched->values[f->stitched->members[member].output].shape.dims[0] == 1;
}

static bool is_pointwise(const finder *f, uint32_t member)
{
    const mts_attrs_conv *conv = conv_of(f, member);
    bool plain = conv->group == 1;
    for (int i = 0; i < 2; i++) {
        plain = plain && conv->kernel[i] == 1 && conv->stride[i] == 1;
    }
    for (int i = 0; i < 4; i++) {
        plain = plain && conv->pad[i] == 0;
    }
    return plain && in_floats(f, member, MTS_VARIANT_TILE);
}

static bool has_residual(const finder *f, uint32_t member)
{
    const mts_member *m = &f->stitched->members[member];
    return m->input_count > 4 && m->inputs[4] != MTS_NONE;
}

/* A depthwise member whose image can be read where it lies. */
static bool is_depthwise(const finder *f, uint32_t member)
{
    const mts_member *m = &f->stitched->members[member];
    const mts_attrs_conv *conv = conv_of(f, member);
    const int64_t *in = f->stitched->values[m->inputs[0]].shape.dims;
    const int64_t *out = f->stitched->values[m->output].shape.dims;
    return in_floats(f, member, MTS_VARIANT_DEPTHWISE) && conv->dilation[0] == 1 && in[1] == out[1] &&
           in[1] <= (int64_t)MTS_FUSED_CHANNELS && conv->pad[0] < (int32_t)conv->kernel[0] &&
           conv->pad[1] < (int32_t)conv->kernel[1] && mts_plan_by_rows(conv, (uint64_t)out[3]) &&
           !f->forced[m->inputs[0]] && !has_residual(f, member);
}

/* The convolutions that compute a layer's images, which alone read them; or MTS_NONE. */
static uint32_t only_source(const finder *f, const mts_layer *layer)
{
    const uint32_t source = mts_fuse_source(f, layer, 0);
    return source != MTS_NONE && f->stitched->layers[source].op == MTS_OP_CONV ? source : MTS_NONE;
}

typedef bool member_test(const finder *f, uint32_t member);

static bool all_are(const finder *f, uint32_t layer, member_test *is)
{
    const mts_layer *l = &f->stitched->layers[layer];
    bool all = l->op == MTS_OP_CONV;
    for (uint32_t m = l->first; all && m < l->first + l->count; m++) {
        all = is(f, m);
    }
    return all;
}

static bool is_expansion(const finder *f, uint32_t member)
{
    return is_pointwise(f, member) && !has_residual(f, member) &&
           !f->forced[f->stitched->members[member].inputs[0]];
}

/* Decides which of a layer's two blocks is fused: the whole one, else the pair, whichever
   fits the device and the caller wants. A block that was too large once is not asked for
   again, so that the search for layouts ends. expand: MTS_NONE where there is none. */
static void choose(const finder *f, mts_fusion *fusion, uint32_t index, uint32_t depthwise, uint32_t expand)
{
    const mts_fused_layers block = {.expand = expand, .depthwise = depthwise, .project = index};
    const mts_fused_layers pair = {.expand = MTS_NONE, .depthwise = depthwise, .project = index};
    fusion->depthwise = depthwise;
    fusion->reason = "it does not fit the memory of a work-group";
    if (expand != MTS_NONE && !fusion->large) {
        fusion->expand = expand;
        fusion->reason = f->how->refuses(f->how->context, f->stitched, &block);
    }
    if (fusion->reason && !fusion->large_pair) {
        fusion->expand = MTS_NONE;
        fusion->reason = f->how->refuses(f->how->context, f->stitched, &pair);
    }
    if (fusion->reason) {
        fusion->expand = MTS_NONE;
    }
}

static void try_layer(finder *f, uint32_t index)
{
    mts_fusion *fusion = &f->plan->fusions[index];
    const uint32_t depthwise =
        all_are(f, index, is_pointwise) ? only_source(f, &f->stitched->layers[index]) : MTS_NONE;
    if (depthwise == MTS_NONE || !mts_fuse_is_free(f, depthwise) || !all_are(f, depthwise, is_depthwise)) {
        return;
    }
    const uint32_t before = only_source(f, &f->stitched->layers[depthwise]);
    const bool expands =
        before != MTS_NONE && mts_fuse_is_free(f, before) && all_are(f, before, is_expansion);
    choose(f, fusion, index, depthwise, expands ? before : MTS_NONE);
    if (fusion->reason) {
        return;
    }
    mts_fuse_join(f, depthwise, index);
    if (fusion->expand != MTS_NONE) {
        mts_fuse_join(f, fusion->expand, index);
    }
}

mts_status mts_fuse_find(mts_plan *plan, const mts_plan_fuse *how, const bool *forced, mts_arena *arena,
                         mts_error *error)
{
    const mts_stitched *s = plan->stitched;
    finder f = {.plan = plan, .stitched = s, .how = how, .forced = forced};
    for (uint32_t i = 0; plan->fusions && i < s->layer_count; i++) {
        mts_fusion *fusion = &plan->fusions[i];
        *fusion = (mts_fusion){.into = MTS_NONE,
                               .depthwise = MTS_NONE,
                               .expand = MTS_NONE,
                               .large = fusion->large,
                               .large_pair = fusion->large_pair};
#if MTS_FUSES
        fusion->summand = MTS_NONE;
#endif
    }
    if (!MTS_FUSES || !how) {
        return MTS_STATUS_OK;
    }
    f.readers = mts_arena_zero(arena, s->value_count, sizeof *f.readers);
    f.layer_of = mts_arena_zero(arena, s->member_count, sizeof *f.layer_of);
    if (!f.readers || !f.layer_of) {
        return mts_fail_memory(error);
    }
    mts_fuse_count_readers(&f);
    for (uint32_t i = 0; i < s->layer_count; i++) {
        try_layer(&f, i);
#if MTS_FUSES
        if (how->sums) {
            mts_sums_try(&f, i);
        }
#endif
    }
    return MTS_STATUS_OK;
}

bool mts_fuse_misfits(mts_plan *plan, const mts_plan_fuse *how)
{
    bool found = false;
    for (uint32_t i = 0; MTS_FUSES && how && i < plan->stitched->layer_count; i++) {
        mts_fusion *fusion = &plan->fusions[i];
        if (mts_plan_fuses(plan, i) && !how->fits(how->context, plan, i)) {
            bool *large = fusion->expand != MTS_NONE ? &fusion->large : &fusion->large_pair;
            *large = found = true; /* so each layer is found twice at most */
        }
    }
    return found;
}
