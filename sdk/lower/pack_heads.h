/*
 * pack_heads.h: where two K segments of a convolution meet within a pack of channels,
 * which of them multiplies it.
 *
 * The second one takes the channels of the first that lie in that pack (a head of its
 * packed weights), so that the pack is multiplied once. It does where that stores no
 * weights twice: no other member of the layer has its block, and wherever the layer has
 * the first one's block, what follows takes as much of it. Otherwise both multiply the
 * pack, each with zeros for the other's channels. Pure.
 */
#ifndef MTS_LOWER_PACK_HEADS_H
#define MTS_LOWER_PACK_HEADS_H

#include "base/alloc.h"
#include "stitch/stitch.h"
#include "stitch/tiles.h"

typedef struct mts_pack_heads {
    const mts_stitched *stitched;
    const mts_layer *layer;
    /* Per member of the layer and block of its weight: no other member has the block. */
    const bool **exclusive;
} mts_pack_heads;

/* False: no memory. */
bool mts_pack_heads_find(mts_pack_heads *heads, const mts_stitched *stitched, const mts_layer *layer,
                         mts_arena *arena);
/* Channels of segment s - 1 of a row block that segment s takes. `base`: the image's
   channel that the rows' first one is. */
uint32_t mts_pack_heads_count(const mts_pack_heads *heads, uint32_t member, const mts_tile_segment *segments,
                              uint32_t s, uint32_t base);

#endif
