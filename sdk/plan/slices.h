/*
 * slices.h: which layers run for all tasks of a group at once, and which for a few tasks
 * after the other.
 *
 * A stitched layer touches the tensors of all its tasks. Early layers have large images
 * and few products: run for all tasks at once they stream through memory, and their
 * tensors decide the peak. So a group's layers are cut into stages; a stage runs `slices`
 * times, each time for some of the tasks, so that what it touches stays in a cache and
 * only what leaves the stage lives for all tasks. Late layers stay whole: they need all
 * tasks to fill the device. Pure; changes the order of layers only, never a result.
 */
#ifndef MTS_PLAN_SLICES_H
#define MTS_PLAN_SLICES_H

#include "base/alloc.h"
#include "stitch/stitch.h"

/* Slices of layers where the device has no default: of this size, and down to one task at
   a time. */
#define MTS_SLICE_FIRST (UINT64_C(8) << 20)
#define MTS_SLICE_SMALLEST UINT64_C(1)
/* One task at a time as well; waves do not put launches of different tasks together where
   they have to leave some out for the memory (plan/bounded_waves.h). */
#define MTS_SLICE_APART UINT64_C(2)

/*
 * Replaces stitched->layers by the sliced ones, in arena. A stage is sliced as often as
 * it takes for its layers to touch at most `target` bytes each, at most once per task;
 * the cuts minimise launches and the bytes that cross them. target = 0 changes nothing.
 * Errors: OUT_OF_MEMORY.
 */
mts_status mts_slices_cut(mts_stitched *stitched, uint64_t target, mts_arena *arena, mts_error *error);

#endif
