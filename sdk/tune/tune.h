/*
 * tune.h: an engine from options: what is not given is decided from a cache, by
 * measurement, or by default.
 */
#ifndef MTS_TUNE_TUNE_H
#define MTS_TUNE_TUNE_H

#include "engine/engine.h"
#include "tune/cache.h"
#include "tune/report.h"

/* All zero: nothing is measured and nothing is cached. */
typedef struct mts_planning_options {
    mts_grouping grouping;
    /* Time for measuring kernels; 0: the default kernels. */
    uint32_t tuning_ms;
    /* Of decisions and tunings; may be NULL; outlives the call. */
    mts_cache *cache;
} mts_planning_options;

/*
 * The device and the archive outlive the engine. `how` may be NULL. *report, which may be
 * NULL, is released by the caller; it stays as it is on failure.
 */
mts_status mts_planned_engine_create(mts_device *device, const mts_archive *archive,
                                     const mts_engine_options *options, const mts_planning_options *how,
                                     mts_engine **out, mts_planning_report *report, mts_error *error);

#ifndef MTS_SMALL
/*
 * The engine of a session that exists, for other tasks or other weights, by the decisions that it
 * has: nothing is measured. It shares the kernels and the weights of `like` (engine.h, shares_weights).
 * A second thread may do this while the first one runs frames, if the device is guarded
 * (device/guard.h). Errors: those of creating an engine; kernels do not fall back.
 */
mts_status mts_planned_engine_change(mts_device *device, const mts_archive *archive,
                                     const mts_engine_options *options, const mts_kept_plan *kept,
                                     const mts_engine *like, mts_engine **out, mts_error *error);
#endif

#endif
