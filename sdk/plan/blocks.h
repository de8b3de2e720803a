/*
 * blocks.h: which values lie in blocks of channels (mts_storage.lanes) instead of planes,
 * decided by predicted cycles, and the cycles of 1x1 convolutions whose output rows are
 * the lanes of a vector.
 *
 * A 1x1 convolution reads and writes either layout, so that it converts where it stores.
 * A depthwise convolution has both operands in one layout, unless its output is planes of
 * one pixel, and a residual lies as the output does. All that is read by anything else is
 * planes.
 */
#ifndef MTS_PLAN_BLOCKS_H
#define MTS_PLAN_BLOCKS_H

#include "base/size.h"
#include "plan/places.h"
#include "plan/plan.h"

/* Pixels that conv_tile sums at a time where rows are lanes. */
#define MTS_ROW_LANES_TILE 28u
#define MTS_ROW_LANES_QUAD 4u /* planes are multiples of so many pixels */

/* The pixels of a plane, rounded up to whole stretches. */
static inline uint32_t mts_row_lanes_pixels(uint32_t pixels)
{
    return mts_u32_ceil_div(pixels, MTS_ROW_LANES_QUAD) * MTS_ROW_LANES_QUAD;
}

/* A 1x1 convolution, or one image of it. */
typedef struct mts_pointwise {
    uint32_t channels, in_channels, images;
    uint32_t plane; /* pixels of an image, a multiple of MTS_ROW_LANES_QUAD */
    uint32_t lanes; /* floats of a vector */
    uint32_t rows;  /* of a tile */
} mts_pointwise;

/* Cycles with rows as lanes; turns: the sums are stored as planes. */
uint64_t mts_pointwise_by_rows(const mts_pointwise *p, bool turns);
/* Cycles with pixels as lanes, tile by tile. */
uint64_t mts_pointwise_by_pixels(const mts_pointwise *p);
/* Whether a layer of planes has its rows as lanes, from the cycles of its members. The
   planner and lowering ask the same question, so that a layer costs what was predicted. */
bool mts_pointwise_prefers_rows(uint64_t by_rows, uint64_t by_pixels);

/* What is known of values as planes, per svalue. */
typedef struct mts_blocks_facts {
    const bool *flat;           /* rows and planes lie without a border */
    const bool *tied;           /* it lies in rows of its class, not dense */
    const bool *forced, *dense; /* it has to be dense; it is read dense */
    const mts_place *places;
    uint32_t tile_rows; /* mts_plan_request.tile_rows */
} mts_blocks_facts;

/* The storage of a value in blocks of so many lanes, but for its place. */
mts_storage mts_storage_of_blocks(const mts_shape *shape, uint32_t lanes);
/* Marks the values that lie in another one's storage, and those that have others in their
   own. */
void mts_blocks_find_shared(const mts_stitched *stitched, const mts_place *places, bool *shared);
/* Fills blocks[value_count]: the values that lie in blocks. Variants, conversions and
   fused layers of plan->members are known. Errors: OUT_OF_MEMORY. */
mts_status mts_blocks_choose(const mts_plan *plan, const mts_blocks_facts *facts, bool *blocks,
                             mts_arena *arena, mts_error *error);
/* Whether a depthwise convolution reads blocks and stores planes, which are of one pixel
   and lie side by side. */
bool mts_blocks_end(const mts_plan *plan, const bool *blocks, uint32_t member);

#endif
