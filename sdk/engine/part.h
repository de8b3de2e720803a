/*
 * part.h: what a pipeline needs of the engines of its parts (sdk/pipeline): runs that start
 * when it says so, and inputs that come from another device.
 */
#ifndef MTS_ENGINE_PART_H
#define MTS_ENGINE_PART_H

#include "engine/engine.h"

/* Makes the engine a part of a pipeline. While it is held none of its runs begins: frames
   wait, and the device has no room for others. Once a run has begun it is held again. */
void mts_engine_hold(mts_engine *engine, bool held);
/* Whether this submission waits: it has not gone to the device. */
bool mts_engine_waits(const mts_engine *engine, uint64_t run);
/* Frees the slot of the oldest submission, which has finished (else BUSY): what the caller
   reads stays. Returns how it ended. */
mts_status mts_engine_discard(mts_engine *engine, mts_error *error);
/* Submissions that have gone to the device and were not consumed. */
uint32_t mts_engine_begun(const mts_engine *engine);
/*
 * Enqueues the upload of an input of type float32 without a wait: the caller keeps `floats`,
 * and `halves` of as many elements (NULL where the engine computes in float32), until the run
 * that is submitted next has ended. mts_engine_can_start holds.
 */
mts_status mts_engine_link_input(mts_engine *engine, uint32_t task, uint32_t input, const float *floats,
                                 uint16_t *halves, mts_error *error);

#endif
