/*
 * lanes.h: memory for task groups that run at the same time.
 *
 * A device that runs independent launches at once (mts_device_info.overlaps) can only do so where their tensors do not
 * share memory. So groups are dealt out to lanes: the groups of a lane run one after another and share memory, lanes have
 * memory of their own. Groups go to the lane that has least to do, largest first. Pure.
 */
#ifndef MTS_PLAN_LANES_H
#define MTS_PLAN_LANES_H

#include "plan/plan.h"

/*
 * Places spans[storage_count], the transient storages of a plan (mts_arena_place), in at most `lanes` lanes: in as many as
 * take at most `spare` floats, and a tenth, more than one lane. *peak: the end of the highest. Errors: as mts_arena_place.
 */
mts_status mts_lanes_place(const mts_plan *plan, uint32_t lanes, uint64_t spare, mts_span *spans,
                           mts_arena *arena, uint64_t *peak, mts_error *error);

#endif
