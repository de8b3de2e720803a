/*
 * codes.h: which operators other than convolutions compute with codes, and which planes
 * of codes are stored by the member that computes the value. Used by layout.c only.
 */
#ifndef MTS_PLAN_CODES_H
#define MTS_PLAN_CODES_H

#include "plan/plan.h"

/*
 * Finds members other than convolutions that compute with codes (MTS_VARIANT_CODES):
 * operands are stored as codes, and the result is or may be read as codes. Convolutions'
 * variants are known.
 */
mts_status mts_codes_choose(mts_plan *plan, mts_arena *arena, mts_error *error);

/*
 * Adds conversions to codes for operators that compute with them. Gives those without a
 * stride to the member that computes their value where it can store them, and makes
 * others of the same value of those. Finds members whose output itself nothing reads. All
 * members' variants, convolutions' input conversions and their borders are known.
 */
void mts_codes_link(mts_plan *plan);
/* Whether an operator that reads codes is a mean, which stores floats alone. */
bool mts_codes_is_mean(const mts_node *node);

#endif
