/*
 * plan_cache.h: decisions and tunings on disk, beside the programs of platform/opencl/cache.c.
 *
 * A plan file holds one session's decision and what led to it; its key spells out bundle, tasks, options,
 * device, driver, library and kernels. A tuning file holds the measured choices of one device and the
 * candidates that failed on it; its layers may come from any bundle. Files are written in one step and are
 * under a checksum; one that is damaged, foreign or outdated is a miss that is counted, never a failure.
 * Nothing removes old files.
 */
#ifndef MTS_TUNE_PLAN_CACHE_H
#define MTS_TUNE_PLAN_CACHE_H

#include "tune/planning.h"

/*
 * Part of every key. To be raised by hand with each change after which an old decision or measurement is not
 * what this library would find: of what the files hold, of stitching, layouts, slices, encoding, defaults or
 * candidates, and of how groups and slices are chosen. Kernels need no thought: keys have their sources.
 */
#define MTS_PLAN_FORMAT 5u

/* The decision and the findings of an earlier session with the same key: fills p->decision and p->report.
   False: there is none. */
bool mts_plan_cache_load(mts_planning *p);
void mts_plan_cache_store(mts_planning *p);
/* The decision that was loaded cannot be made: the hit becomes a rejection, and p is as before it. */
void mts_plan_cache_refuse(mts_planning *p);

/* Measured choices and failed candidates of the device are added to p. */
void mts_tuning_cache_load(mts_planning *p);
void mts_tuning_cache_store(mts_planning *p);

#endif
