/*
 * transposes.h: TRANSPOSEs without a launch: what reads or brings their operands does it
 * in the order of the result. Images that come with channels last are the common case.
 */
#ifndef MTS_PLAN_TRANSPOSES_H
#define MTS_PLAN_TRANSPOSES_H

#include "plan/places.h"

/*
 * Marks such members as in_place, all of a layer or none. There are two kinds. The
 * results of the first are read by convolutions of bytes or with a stride alone, whose
 * codes and space-to-depth copies are made of the TRANSPOSE's operand, or by ones for packs
 * of channels, which read it themselves. The result is `forced`. The operand of
 * the second is a zero-copy input that nothing else reads: the INPUT step writes the
 * result (plan->turned).
 *
 * plan: members' variants and the in_place of places.h are known. inputs: see
 * mts_plan_request. dense: of mts_plan_mark_dense. Errors: OUT_OF_MEMORY.
 */
mts_status mts_transposes_find(mts_plan *plan, const uint8_t *inputs, const bool *dense, bool *forced,
                               const mts_place *places, mts_arena *arena, mts_error *error);
/* The svalue that a space-to-depth copy of `value`, or a convolution for packs, reads: the
   operand of a TRANSPOSE of the first kind, or `value` itself. */
uint32_t mts_transpose_source(const mts_plan *plan, uint32_t value);
/* Makes the INPUT steps of plan->turned write the results. All values have storages. */
void mts_transposes_store(mts_plan *plan);

#endif
