/*
 * codes.h: which planes of codes are stored by the convolution that computes the value. Used by layout.c only.
 */
#ifndef MTS_PLAN_CODES_H
#define MTS_PLAN_CODES_H

#include "plan/plan.h"

/* Gives conversions to codes without a stride to the member that computes their value where it can store them, and
 * finds members whose output itself nothing reads. All members' variants and input conversions are known. */
void mts_codes_link(mts_plan *plan);

#endif
