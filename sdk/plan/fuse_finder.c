/*
 * fuse_finder.c: see fuse_finder.h.
 */
#include "plan/fuse_finder.h"

void mts_fuse_count_readers(const mts_fuse_finder *f)
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

uint32_t mts_fuse_source(const mts_fuse_finder *f, const mts_layer *layer, uint32_t operand)
{
    const mts_stitched *s = f->stitched;
    uint32_t source = MTS_NONE;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        const uint32_t value = s->members[m].inputs[operand];
        const uint32_t producer = value != MTS_NONE ? s->values[value].member : MTS_NONE;
        if (producer == MTS_NONE || f->readers[value] != 1 || f->forced[value] ||
            (source != MTS_NONE && source != f->layer_of[producer])) {
            return MTS_NONE;
        }
        source = f->layer_of[producer];
    }
    const bool all = source != MTS_NONE && s->layers[source].count == layer->count &&
                     s->layers[source].group == layer->group;
    return all ? source : MTS_NONE;
}

bool mts_fuse_is_free(const mts_fuse_finder *f, uint32_t layer)
{
    return !mts_plan_fuses(f->plan, layer) && f->plan->fusions[layer].into == MTS_NONE &&
           mts_plan_summand(f->plan, layer) == MTS_NONE;
}

void mts_fuse_join(const mts_fuse_finder *f, uint32_t part, uint32_t into)
{
    const mts_layer *layer = &f->stitched->layers[part];
    f->plan->fusions[part].into = into;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        f->plan->members[m].fused = true;
    }
}
