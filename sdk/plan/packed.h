/*
 * packed.h: which values lie in packs of MTS_CHANNEL_PACK channels (mts_storage.lanes)
 * instead of planes.
 *
 * Convolutions that take packs (MTS_VARIANT_PACKED) read and store either layout, each
 * operand for itself, so that a value's producer and its readers decide: it lies in packs
 * where all of them take such, and in planes elsewhere.
 */
#ifndef MTS_PLAN_PACKED_H
#define MTS_PLAN_PACKED_H

#include "plan/blocks.h"

/* Whether a member that has another variant so far becomes one of variant PACKED. */
bool mts_packed_takes(const mts_stitched *stitched, const mts_member *member, mts_variant variant);
/* Fills blocks[value_count]: the values that lie in packs. Errors: OUT_OF_MEMORY. */
mts_status mts_packed_choose(const mts_plan *plan, const mts_blocks_facts *facts, bool *blocks,
                             mts_arena *arena, mts_error *error);

#endif
