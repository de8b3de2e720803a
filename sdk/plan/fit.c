/*
 * fit.c: cuts layers where their members' constants are more than a buffer holds. Not
 * responsible for which buffer they go to (lower/weights.c) nor for slices that stay in a
 * cache (slices.c).
 */
#include "plan/fit.h"

/* Of a block that no earlier member of the part [first, member) reads. */
static bool read_before(const mts_stitched *stitched, uint32_t first, uint32_t member, uint32_t block)
{
    for (uint32_t m = first; m < member && block != MTS_NONE; m++) {
        for (uint32_t i = 0; i < stitched->members[m].input_count; i++) {
            const mts_value *value = mts_member_operand(stitched, &stitched->members[m], i);
            const bool constant = value && value->kind == MTS_VALUE_CONST;
            for (uint32_t b = 0; constant && b < value->block_count; b++) {
                if (value->blocks[b].block == block) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* Elements of a member's constants. part: without the blocks that members from `first` on
   read before it. */
static uint64_t count_constants(const mts_stitched *stitched, uint32_t first, uint32_t member, bool part)
{
    const mts_member *m = &stitched->members[member];
    uint64_t count = 0;
    for (uint32_t i = 0; i < m->input_count; i++) {
        const mts_value *value = mts_member_operand(stitched, m, i);
        if (!value || value->kind != MTS_VALUE_CONST) {
            continue;
        }
        uint32_t out = 0;
        uint32_t in = 0;
        uint32_t inner = 0;
        const bool matrix = value->block_count > 1;
        if (matrix) {
            mts_value_matrix(value, &out, &in, &inner);
        }
        for (uint32_t b = 0; b < value->block_count; b++) {
            const mts_block_ref *ref = &value->blocks[b];
            if (!part || !stitched->shared || !read_before(stitched, first, member, ref->block)) {
                count += matrix ? (uint64_t)ref->out_count * ref->in_count * inner
                                : (uint64_t)mts_shape_count(&value->shape);
            }
        }
    }
    return count;
}

/* Appends the layer in parts; returns the new number of layers. */
static uint32_t cut(const mts_stitched *stitched, const mts_layer *layer, uint64_t most, mts_layer *layers,
                    uint32_t count)
{
    uint64_t all = 0;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        all += count_constants(stitched, layer->first, m, false);
    }
    mts_layer part = *layer;
    part.count = all <= most ? layer->count : 0;
    uint64_t sum = 0;
    for (uint32_t m = layer->first; all > most && m < layer->first + layer->count; m++) {
        const uint64_t own = count_constants(stitched, part.first, m, true);
        if (part.count > 0 && sum + own > most) {
            layers[count++] = part;
            part.first = m;
            part.count = 0;
            sum = 0;
        }
        sum += part.count == 0 ? count_constants(stitched, m, m, true) : own;
        part.count++;
    }
    layers[count++] = part;
    return count;
}

mts_status mts_fit_weights(mts_stitched *stitched, uint64_t most, mts_arena *arena, mts_error *error)
{
    if (most == 0) {
        return MTS_STATUS_OK;
    }
    mts_layer *layers = mts_arena_zero(arena, stitched->member_count, sizeof *layers);
    if (!layers) {
        return mts_fail_memory(error);
    }
    uint32_t count = 0;
    for (uint32_t l = 0; l < stitched->layer_count; l++) {
        count = cut(stitched, &stitched->layers[l], most / 16 * 9, layers, count);
    }
    stitched->layers = layers;
    stitched->layer_count = count;
    return MTS_STATUS_OK;
}
