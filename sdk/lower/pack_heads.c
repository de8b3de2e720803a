/*
 * pack_heads.c: see pack_heads.h. Not responsible for packing (weights_pack.c).
 */
#include "lower/pack_heads.h"

#include "device/kernel.h"

static const mts_value *weight_of(const mts_pack_heads *heads, uint32_t member)
{
    return mts_member_operand(heads->stitched, &heads->stitched->members[member], 1);
}

/* Whether two blocks are the same bytes. */
static bool is_same(const mts_block_ref *a, const mts_block_ref *b)
{
    return a->block != MTS_NONE ? a->block == b->block : b->block == MTS_NONE && a->data == b->data;
}

static bool has_block(const mts_value *weight, const mts_block_ref *block)
{
    bool has = false;
    for (uint32_t i = 0; !has && i < weight->block_count; i++) {
        has = is_same(&weight->blocks[i], block);
    }
    return has;
}

static bool is_exclusive(const mts_pack_heads *heads, uint32_t member, const mts_block_ref *block)
{
    const mts_layer *layer = heads->layer;
    bool exclusive = true;
    for (uint32_t m = layer->first; heads->stitched->shared && exclusive && m < layer->first + layer->count;
         m++) {
        exclusive = m == member || !has_block(weight_of(heads, m), block);
    }
    return exclusive;
}

bool mts_pack_heads_find(mts_pack_heads *heads, const mts_stitched *stitched, const mts_layer *layer,
                         mts_arena *arena)
{
    *heads = (mts_pack_heads){.stitched = stitched, .layer = layer};
    heads->exclusive = mts_arena_zero(arena, layer->count, sizeof *heads->exclusive);
    for (uint32_t m = 0; heads->exclusive && m < layer->count; m++) {
        const mts_value *weight = weight_of(heads, layer->first + m);
        bool *exclusive = mts_arena_zero(arena, weight->block_count, sizeof *exclusive);
        if (!exclusive) {
            return false;
        }
        for (uint32_t b = 0; b < weight->block_count; b++) {
            exclusive[b] = is_exclusive(heads, layer->first + m, &weight->blocks[b]);
        }
        heads->exclusive[m] = exclusive;
    }
    return heads->exclusive != NULL;
}

/* Whether block b holds the channels behind those of block a, of some of the same rows. */
static bool follows(const mts_block_ref *a, const mts_block_ref *b)
{
    return b->in_first == a->in_first + a->in_count && b->out_first < a->out_first + a->out_count &&
           a->out_first < b->out_first + b->out_count;
}

/* Whether all that follows a block in a member is exclusive to it, and something does. */
static bool is_taken_from(const mts_pack_heads *heads, uint32_t member, const mts_block_ref *block)
{
    const mts_value *weight = weight_of(heads, member);
    const bool *exclusive = heads->exclusive[member - heads->layer->first];
    bool found = false;
    bool all = true;
    for (uint32_t b = 0; b < weight->block_count; b++) {
        if (follows(block, &weight->blocks[b])) {
            found = true;
            all = all && exclusive[b];
        }
    }
    return found && all;
}

uint32_t mts_pack_heads_count(const mts_pack_heads *heads, uint32_t member, const mts_tile_segment *segments,
                              uint32_t s, uint32_t base)
{
    const uint32_t lane = (base + segments[s].channel) % MTS_CHANNEL_PACK;
    const mts_layer *layer = heads->layer;
    if (s == 0 || lane == 0 || segments[s - 1].count <= lane) {
        return 0;
    }
    const mts_block_ref *before = &weight_of(heads, member)->blocks[segments[s - 1].ref_a];
    bool taken = true;
    for (uint32_t m = layer->first; taken && m < layer->first + layer->count; m++) {
        const mts_value *weight = weight_of(heads, m);
        for (uint32_t b = 0; taken && b < weight->block_count; b++) {
            const bool same = heads->stitched->shared ? is_same(&weight->blocks[b], before)
                                                      : m == member && &weight->blocks[b] == before;
            taken = !same || is_taken_from(heads, m, &weight->blocks[b]);
        }
    }
    return taken ? lane : 0;
}
