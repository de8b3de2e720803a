/*
 * fuse.c: see fuse.h.
 */
#include "plan/fuse.h"

#include "device/kernel.h"

/* What has to be known of values to fuse their readers. */
typedef struct finder {
    mts_plan *plan;
    const mts_stitched *stitched;
    const mts_plan_fuse *how;
    const bool *forced;
    uint32_t *readers;  /* per svalue: members that read it, and outputs of graphs */
    uint32_t *layer_of; /* per member */
} finder;

static void count_readers(finder *f)
{
    const mts_stitched *s = f->stitched;
    for (uint32_t m = 0; m < s->member_count; m++) {
        for (uint32_t i = 0; i < s->members[m].input_count; i++) {
            if (s->members[m].inputs[i] != MTS_NONE) {
                f->readers[s->members[m].inputs[i]]++;
            }
        }
    }
    for (uint32_t g = 0; g < s->graph_count; g++) {
        for (uint32_t o = 0; o < s->graphs[g]->output_count; o++) {
            const uint32_t value = s->value_of[g][s->graphs[g]->outputs[o].value];
            if (value != MTS_NONE) {
                f->readers[value]++;
            }
        }
    }
    for (uint32_t l = 0; l < s->layer_count; l++) {
        for (uint32_t m = 0; m < s->layers[l].count; m++) {
            f->layer_of[s->layers[l].first + m] = l;
        }
    }
}

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

/* The layer whose members one by one compute input 0 of a layer's members, which alone
   read it; or MTS_NONE. */
static uint32_t only_source(const finder *f, const mts_layer *layer)
{
    const mts_stitched *s = f->stitched;
    uint32_t source = MTS_NONE;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        const uint32_t value = s->members[m].inputs[0];
        const uint32_t producer = value != MTS_NONE ? s->values[value].member : MTS_NONE;
        if (producer == MTS_NONE || f->readers[value] != 1 || f->forced[value] ||
            (source != MTS_NONE && source != f->layer_of[producer])) {
            return MTS_NONE;
        }
        source = f->layer_of[producer];
    }
    const bool all = source != MTS_NONE && s->layers[source].op == MTS_OP_CONV &&
                     s->layers[source].count == layer->count && s->layers[source].group == layer->group;
    return all ? source : MTS_NONE;
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

/* A part of one block is no end of another: its own parts would then be computed by no
   launch. Layers are visited in their order, so `before` has been decided about. */
static bool is_free(const finder *f, uint32_t layer)
{
    return !mts_plan_fuses(f->plan, layer) && f->plan->fusions[layer].into == MTS_NONE;
}

static void fuse(finder *f, uint32_t part, uint32_t into)
{
    const mts_layer *layer = &f->stitched->layers[part];
    f->plan->fusions[part].into = into;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        f->plan->members[m].fused = true;
    }
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
    if (depthwise == MTS_NONE || !is_free(f, depthwise) || !all_are(f, depthwise, is_depthwise)) {
        return;
    }
    const uint32_t before = only_source(f, &f->stitched->layers[depthwise]);
    const bool expands = before != MTS_NONE && is_free(f, before) && all_are(f, before, is_expansion);
    choose(f, fusion, index, depthwise, expands ? before : MTS_NONE);
    if (fusion->reason) {
        return;
    }
    fuse(f, depthwise, index);
    if (fusion->expand != MTS_NONE) {
        fuse(f, fusion->expand, index);
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
    }
    if (!MTS_FUSES || !how) {
        return MTS_STATUS_OK;
    }
    f.readers = mts_arena_zero(arena, s->value_count, sizeof *f.readers);
    f.layer_of = mts_arena_zero(arena, s->member_count, sizeof *f.layer_of);
    if (!f.readers || !f.layer_of) {
        return mts_fail_memory(error);
    }
    count_readers(&f);
    for (uint32_t i = 0; i < s->layer_count; i++) {
        try_layer(&f, i);
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
