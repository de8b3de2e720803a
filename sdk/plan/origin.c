/*
 * origin.c: see origin.h.
 */
#include "plan/origin.h"

#ifndef MTS_SMALL

/* Where a member's constants are; ANYWHERE: it has none. */
typedef enum origin { ANYWHERE, THERE, ELSEWHERE } origin;

static origin origin_of(const mts_stitched *stitched, const mts_member *member, const bool *there,
                        uint32_t count)
{
    origin found = ANYWHERE;
    for (uint32_t i = 0; i < member->input_count; i++) {
        const mts_value *value = mts_member_operand(stitched, member, i);
        const bool constant = value && value->kind == MTS_VALUE_CONST;
        for (uint32_t b = 0; constant && b < value->block_count; b++) {
            const uint32_t block = value->blocks[b].block;
            if (block >= count || !there[block]) {
                return ELSEWHERE;
            }
            found = THERE;
        }
    }
    return found;
}

/* Appends the layer in parts; returns the new number of layers. */
static uint32_t cut(const mts_stitched *stitched, const mts_layer *layer, const bool *there, uint32_t count,
                    mts_layer *layers, uint32_t made)
{
    mts_layer part = *layer;
    origin now = ANYWHERE;
    part.count = 0;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        const origin own = origin_of(stitched, &stitched->members[m], there, count);
        if (own != ANYWHERE && now != ANYWHERE && own != now) {
            layers[made++] = part;
            part.first = m;
            part.count = 0;
        }
        now = own != ANYWHERE ? own : now;
        part.count++;
    }
    layers[made++] = part;
    return made;
}

mts_status mts_origin_cut(mts_stitched *stitched, const bool *there, uint32_t count, mts_arena *arena,
                          mts_error *error)
{
    mts_layer *layers = mts_arena_zero(arena, stitched->member_count, sizeof *layers);
    uint32_t made = 0;
    if (!layers) {
        return mts_fail_memory(error);
    }
    for (uint32_t l = 0; l < stitched->layer_count; l++) {
        made = cut(stitched, &stitched->layers[l], there, count, layers, made);
    }
    stitched->layers = layers;
    stitched->layer_count = made;
    return MTS_STATUS_OK;
}

#endif
