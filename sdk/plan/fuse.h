/*
 * fuse.h: which convolutions are computed by one launch: a depthwise one, the 1x1 one
 * that reads it and, of an inverted residual, the 1x1 one that it reads
 * (docs/design/kernels.md).
 *
 * What lies between them is not stored. Responsible for what may be fused; whether it
 * pays is the caller's decision (mts_plan_fuse).
 */
#ifndef MTS_PLAN_FUSE_H
#define MTS_PLAN_FUSE_H

#include "plan/plan.h"

/*
 * Fills plan->fusions, and marks the members whose results are not stored. forced: per
 * svalue, it has to be dense. plan->members are known. Layers that an earlier call marked
 * as too large are left apart. Errors: OUT_OF_MEMORY.
 */
mts_status mts_fuse_find(mts_plan *plan, const mts_plan_fuse *how, const bool *forced, mts_arena *arena,
                         mts_error *error);
/* Marks the fused layers that do not fit the device, now that layouts are known, as too
   large; whether there is one. The plan then needs other layouts. */
bool mts_fuse_misfits(mts_plan *plan, const mts_plan_fuse *how);

#endif
