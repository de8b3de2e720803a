/*
 * profile.h: where the time of a run goes, launch by launch.
 */
#ifndef MTS_ENGINE_PROFILE_H
#define MTS_ENGINE_PROFILE_H

#include "engine/engine.h"

/* Texts live as long as the engine. */
typedef struct mts_engine_launch {
    const char *label;  /* "conv 3x3 x8 layer1.0.conv1" */
    const char *kernel; /* row of the manifest */
    uint32_t group;     /* of tasks; MTS_NONE: serves several */
    uint32_t members, tasks;
    uint64_t mul_adds,
        bytes; /* bytes: that have to be moved at least; 0: counted with the layer's main launch */
    double start_ms, duration_ms;
} mts_engine_launch;

/*
 * Runs `runs` (>= 1) times after one run that is not counted, and fills out[stats.launches]. Each duration
 * and each gap between launches is the median of its runs; start_ms adds them up from the submission on.
 * Outputs of earlier runs stay. BUSY: a run is under way or was not taken. UNSUPPORTED: not on this device.
 */
mts_status mts_engine_profile(mts_engine *engine, uint32_t runs, mts_engine_launch *out, mts_error *error);

#endif
