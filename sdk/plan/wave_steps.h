/*
 * wave_steps.h: waves of a plan's steps: their dependencies and costs, the order of the
 * steps, and the memory that steps of a wave need at the same time. How waves are found:
 * waves.h. Pure.
 */
#ifndef MTS_PLAN_WAVE_STEPS_H
#define MTS_PLAN_WAVE_STEPS_H

#include "device/device.h"
#include "plan/bounded_waves.h"
#include "plan/lanes.h"

/* Multiply-adds that a compute unit does in a nanosecond, about half of the peak of usual
   ones. */
uint64_t mts_wave_rate(const mts_device_info *device);
/* Elements of a device's tiles, as mts_plan_waves.tile. */
uint32_t mts_wave_tile(const mts_device_info *device);
/* Tiles of a step, each of which one unit computes alone and has so many elements. */
uint64_t mts_wave_tiles(const mts_plan *plan, const mts_step *step, uint32_t tile);

/*
 * Places spans[storage_count], the transient storages of a plan, and orders its steps by
 * waves, if those take less time by the model of the request (mts_plan_waves) and the
 * memory that `limits` allow; else the order stays and each step is a wave. limits->lanes
 * is not read. *peak: the end of the highest. Errors: as mts_arena_place.
 */
mts_status mts_wave_steps_place(mts_plan *plan, const mts_plan_waves *waves, const mts_lanes_limits *limits,
                                mts_span *spans, mts_arena *arena, uint64_t *peak, mts_error *error);

#ifndef MTS_SMALL
/*
 * The graph of a plan's steps and what they touch, as mts_wave_steps_place sees them; spans:
 * its storages, as there. memory->most has no value. after->next and what it points to are
 * released with mts_dependencies_release. OUT_OF_MEMORY.
 */
mts_status mts_wave_steps_request(mts_plan *plan, const mts_plan_waves *waves, const mts_span *spans,
                                  mts_arena *arena, mts_dependencies *after, mts_wave_request *request,
                                  mts_wave_memory *memory, mts_error *error);
#endif

#endif
