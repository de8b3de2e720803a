/*
 * layout.h: the storage of each value and the conversions it needs (rules: plan.h). Used
 * by plan.c and cost.c only.
 */
#ifndef MTS_PLAN_LAYOUT_H
#define MTS_PLAN_LAYOUT_H

#include "plan/plan.h"

/* Variants of convolutions, and what is in place. Errors: OUT_OF_MEMORY. */
mts_status mts_layout_members(const mts_stitched *stitched, mts_arena *arena, const mts_member_plan **members,
                              mts_error *error);
/* Fills plan->storages, import_value, conversions, value_storage, members. Errors:
   OUT_OF_MEMORY, LIMIT. */
mts_status mts_layout_assign(mts_plan *plan, const mts_plan_request *request, mts_arena *arena,
                             mts_error *error);

#endif
