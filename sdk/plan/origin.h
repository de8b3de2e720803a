/*
 * origin.h: layers are cut where some of their members read weights that are on the device
 * already, and others do not: a launch reads one buffer of weights.
 *
 * Pure. A library built with MTS_SMALL does not have it.
 */
#ifndef MTS_PLAN_ORIGIN_H
#define MTS_PLAN_ORIGIN_H

#include "base/alloc.h"
#include "stitch/stitch.h"

/* `there`: per block of the archive, `count` of them. Members of a layer that stand side by
   side and are alike stay one layer. Errors: OUT_OF_MEMORY. */
mts_status mts_origin_cut(mts_stitched *stitched, const bool *there, uint32_t count, mts_arena *arena,
                          mts_error *error);

#endif
