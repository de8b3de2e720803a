/*
 * predict.h: when each launch of a run would run, by a model.
 *
 * A launch takes its multiply-adds and its bytes at a part of the device's rates, and
 * something to begin. Its tiles are dealt out to the units; the last round may leave
 * units idle. Launches run one after another, or, on a device that overlaps them, as soon
 * as what they wait for has ended. Nothing runs.
 */
#ifndef MTS_ENGINE_PREDICT_H
#define MTS_ENGINE_PREDICT_H

#include "engine/engine.h"

/*
 * Fills out[stats.launches], all members but `size` and `kind`. Texts live as long as the
 * engine. Errors: OUT_OF_MEMORY.
 */
mts_status mts_engine_predict(const mts_engine *engine, const mts_ceilings *ceilings, mts_launch_profile *out,
                              mts_error *error);
/* Work-groups of a launch: what the units of a device share; 1: it is one piece, or not
   known. */
uint32_t mts_engine_tiles(const mts_launch *launch);
/* What is known of launch `index` without a run: all but times, `size` and `kind`. */
mts_launch_profile mts_engine_launch_describe(const mts_engine *engine, uint32_t index);

#endif
