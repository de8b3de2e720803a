/*
 * conversion.h: the conversions of values for convolutions, found or added. Used by
 * layout.c, plan.c and codes.c only.
 */
#ifndef MTS_PLAN_CONVERSION_H
#define MTS_PLAN_CONVERSION_H

#include "plan/plan.h"

/* Conversions that a plan has at most. */
size_t mts_conversions_most(const mts_stitched *stitched);
/* Index of the space-to-depth conversion of a value with this stride, of floats or of
 * codes, which is added on first use. plan->conversions has room. */
uint32_t mts_conversion_of(mts_plan *plan, uint32_t value, const uint32_t stride[2], bool codes);

#endif
