/*
 * lanes.h: memory for task groups that run at the same time.
 *
 * A device that runs independent launches at once (mts_device_info.overlaps) can only do
 * so where their tensors do not share memory. So groups are dealt out to lanes: the
 * groups of a lane run one after another and share memory, lanes have memory of their
 * own. Groups go to the lane that has least to do, largest first, among those that the
 * limits leave room for them in. Pure.
 */
#ifndef MTS_PLAN_LANES_H
#define MTS_PLAN_LANES_H

#include "plan/plan.h"

typedef struct mts_lanes_limits {
    uint32_t lanes;
    /* Floats that several lanes may take more than one does, beside a tenth. */
    uint64_t spare;
    /* Floats that several lanes may take at most. One lane takes what it needs. */
    uint64_t peak;
} mts_lanes_limits;

/*
 * Places spans[storage_count], the transient storages of a plan (mts_arena_place), in as
 * many lanes as the limits allow. *peak: the end of the highest. Errors: as
 * mts_arena_place.
 */
mts_status mts_lanes_place(const mts_plan *plan, const mts_lanes_limits *limits, mts_span *spans,
                           mts_arena *arena, uint64_t *peak, mts_error *error);

#endif
