/*
 * tune.h: from options to an engine: groups, slices and kernels are decided, by cache or by measurement, and
 * the engine is built. And what was considered on the way.
 */
#ifndef MTS_TUNE_TUNE_H
#define MTS_TUNE_TUNE_H

#include "base/text.h"
#include "engine/engine.h"
#include "tune/cache.h"
#include "tune/report.h"

/* The device and the archive outlive the engine. */
mts_status mts_engine_create(mts_device *device, const mts_archive *archive,
                             const mts_engine_options *options, mts_engine **out, mts_error *error);
/* Groups, launches with their members, memory; for people, or as a JSON object. */
void mts_engine_explain(const mts_engine *engine, bool json, mts_text *text);

#endif
