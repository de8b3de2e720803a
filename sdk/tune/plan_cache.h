/*
 * plan_cache.h: decisions and tunings on disk, beside the programs of
 * platform/opencl/cache.c.
 *
 * A plan file holds one session's decision and its planning report; its key spells out
 * bundle, tasks, options, device, driver, library and kernels. A tuning file holds the
 * measured configurations of one device and the candidates that failed on it; its layers
 * may come from any bundle. A file is written in one step and has a checksum; one that is
 * damaged, foreign or outdated is a miss that is counted, never a failure. Old files are
 * not removed.
 */
#ifndef MTS_TUNE_PLAN_CACHE_H
#define MTS_TUNE_PLAN_CACHE_H

#include "base/text.h"
#include "tune/planning.h"

/*
 * Part of every key. Raise it by hand with each change after which an old decision or
 * measurement is not what this library would find: of what the files hold, of stitching,
 * layouts, slices, encoding, defaults or candidates, and of how groups and slices are
 * selected. Kernels need no thought: keys have their sources.
 */
#define MTS_PLAN_FORMAT 14u

/* Adds the part of a key that names everything but the session that latencies depend on. */
void mts_plan_cache_device_key(const mts_device_info *info, mts_precision precision, const mts_cache *cache,
                               mts_text *key);
/* Fills p->decision and p->report from an earlier session with the same key. False: there
   is none. */
bool mts_plan_cache_load(mts_planning *p);
void mts_plan_cache_store(mts_planning *p);
/* The loaded decision cannot be created: the hit becomes a rejection, and p is as before
   it. */
void mts_plan_cache_refuse(mts_planning *p);

/* Adds the device's measured configurations and failed candidates to p. */
void mts_tuning_cache_load(mts_planning *p);
void mts_tuning_cache_store(mts_planning *p);

#endif
