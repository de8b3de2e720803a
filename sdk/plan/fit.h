/*
 * fit.h: layers cut so that what one of them reads lies in buffers of a device whose
 * buffers are small. Pure; changes how many members a layer has, never a result.
 */
#ifndef MTS_PLAN_FIT_H
#define MTS_PLAN_FIT_H

#include "base/alloc.h"
#include "stitch/stitch.h"

/*
 * Replaces stitched->layers, in arena, by layers whose constants are about `most`
 * elements or fewer together, or that have one member. Constants that members share count
 * once. most = 0 changes nothing. A layer's constants may take up to 16/9 of their size
 * on the device (conv_winograd), which is reckoned with. Errors: OUT_OF_MEMORY.
 */
mts_status mts_fit_weights(mts_stitched *stitched, uint64_t most, mts_arena *arena, mts_error *error);

#endif
