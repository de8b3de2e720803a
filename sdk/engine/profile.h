/*
 * profile.h: where the time of a run goes, launch by launch.
 */
#ifndef MTS_ENGINE_PROFILE_H
#define MTS_ENGINE_PROFILE_H

#include "engine/engine.h"

/*
 * Runs `runs` (>= 1) times after one run that is not counted, and fills out[stats.launches] but for size and kind. Each duration
 * and each gap between launches is the median of its runs; start_ms adds them up from the submission on.
 * Outputs of earlier runs stay. BUSY: a run is under way or was not taken. UNSUPPORTED: not on this device.
 */
mts_status mts_engine_profile(mts_engine *engine, uint32_t runs, mts_launch_profile *out, mts_error *error);

#endif
