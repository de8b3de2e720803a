/*
 * profile.h: where the time of a run goes, launch by launch.
 */
#ifndef MTS_ENGINE_PROFILE_H
#define MTS_ENGINE_PROFILE_H

#include "engine/engine.h"

/*
 * Runs `runs` (>= 1) times after one run that is not counted, and fills
 * out[stats.launches], all members but `size` and `kind`. Each duration and each gap
 * between launches is the median of its runs; start_ms adds them up from the submission
 * on. Texts live as long as the engine. Outputs of earlier runs stay. BUSY: a submission
 * is in flight. UNSUPPORTED: not on this device.
 */
mts_status mts_engine_profile(mts_engine *engine, uint32_t runs, mts_launch_profile *out, mts_error *error);
/* Runs twice, and stores the parts of the second run (mts_command_list_trace). BUSY,
   UNSUPPORTED: as above. */
mts_status mts_engine_trace(mts_engine *engine, mts_chunk_time *chunks, size_t capacity, size_t *count,
                            mts_error *error);

#endif
