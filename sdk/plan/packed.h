/*
 * packed.h: which values lie in packs of MTS_CHANNEL_PACK channels (mts_storage.lanes)
 * instead of planes.
 *
 * A value's producer and its readers decide: it lies in packs where all of them take such,
 * and in planes elsewhere. Convolutions that take packs (MTS_VARIANT_PACKED) read and
 * store either layout, each operand for itself. So do element functions, concatenations,
 * slices and padding where channels fill packs (lower/pack_dims.h); where they do not, all
 * that such a member touches lies in packs or nothing does, because lanes beyond the last
 * channel have to stay 0. Pools, resizes and reductions of rows and columns make packs of
 * packs, and planes of either. No launch only converts.
 */
#ifndef MTS_PLAN_PACKED_H
#define MTS_PLAN_PACKED_H

#include "plan/blocks.h"

/* Whether a member is a convolution, or a transposed one, with a filter for each channel. */
bool mts_packed_is_depthwise(const mts_stitched *stitched, const mts_member *member);
/* Whether a member that has another variant so far becomes one of variant PACKED: convolutions,
   and transposed ones (phases.h). */
bool mts_packed_takes(const mts_stitched *stitched, const mts_member *member, mts_variant variant);
/* Floats behind a value for the zeros of its last pack: of one image of one pixel, which lies
   the same in packs and in planes but for these. Others: 0. */
uint32_t mts_packed_zeros_behind(const mts_shape *shape);
/* Fills blocks[value_count]: the values that lie in packs. Errors: OUT_OF_MEMORY. */
mts_status mts_packed_choose(const mts_plan *plan, const mts_blocks_facts *facts, bool *blocks,
                             mts_arena *arena, mts_error *error);

#endif
