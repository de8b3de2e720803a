/*
 * shuffles.h: TRANSPOSEs that only put planes into another order (channel shuffles), and
 * have no launch: what computes their operand writes each plane where the result has it.
 * Used by places.c only.
 */
#ifndef MTS_PLAN_SHUFFLES_H
#define MTS_PLAN_SHUFFLES_H

#include "plan/places.h"

/*
 * Fills places of operands, and marks members as in_place, all of a layer or none: the
 * TRANSPOSE, the RESHAPEs in front of it, and the CONCAT that they read, if any. What a
 * convolution computes for nothing else is written in place; other operands of the CONCAT
 * are copied. forced, places: as of mts_places_find, before any other place is known;
 * stays: values that have to lie densely themselves. Errors: OUT_OF_MEMORY.
 */
mts_status mts_shuffles_find(mts_plan *plan, bool *forced, const bool *stays, mts_place *places,
                             mts_arena *arena, mts_error *error);

#endif
