/*
 * sums.h: sums that are computed by the launch that computes one of their summands: a
 * binary operator, or an image resized to twice its size (kernels/sum). The summand is
 * not stored.
 *
 * Only on devices whose plans ask for it (mts_plan_fuse.sums). Pure.
 */
#ifndef MTS_PLAN_SUMS_H
#define MTS_PLAN_SUMS_H

#include "plan/fuse_finder.h"

/* Decides about a layer: sets plan->fusions[layer].summand, and marks the members that
   are not stored. */
void mts_sums_try(const mts_fuse_finder *f, uint32_t layer);
/* Which operand of a sum its step computes. */
uint32_t mts_sums_operand(const mts_plan *plan, const mts_member *sum);

#endif
