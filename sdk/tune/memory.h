/*
 * memory.h: keeping the memory budget: footprints of plans, and the plan that takes least
 * memory.
 */
#ifndef MTS_TUNE_MEMORY_H
#define MTS_TUNE_MEMORY_H

#include "plan/slices.h"
#include "tune/sample.h"

/* The footprint of the session with these groups, slices and configurations (NULL:
   defaults). */
mts_status mts_memory_footprint(mts_planning *p, const uint32_t *group_of, uint64_t slice_bytes,
                                const mts_kernel_configs *configs, mts_session_stats *stats);
/*
 * The peak of the session with these groups and the slices decided so far; with smaller
 * slices where that is over the budget and they help. `group_of` stays valid as long as
 * the planning.
 */
mts_status mts_memory_peak(mts_planning *p, const uint32_t *group_of, uint64_t *slice_bytes, uint64_t *peak);
/*
 * Decides which slices a session has that is not measured: usual_slice_bytes, the device's,
 * or smaller ones where stitched layers would take more than a tenth above what the tasks
 * take one by one. With a memory budget the device's: the budget says what may be taken.
 */
mts_status mts_memory_choose_slices(mts_planning *p);
/* Finds the plan that takes least memory, with default configurations. LIMIT: even that
 * is over the budget; the error has its size. Does nothing without a budget. */
mts_status mts_memory_find_least(mts_planning *p);
/* Decides for the groups of that plan: they leave most memory to be spent on others. */
mts_status mts_memory_use_least(mts_planning *p);
/*
 * Makes the decision keep the budget: by smaller slices, by default configurations, by
 * the plan that takes least if that was looked for. Nothing is measured. LIMIT as above.
 */
mts_status mts_memory_fit(mts_planning *p);

#endif
