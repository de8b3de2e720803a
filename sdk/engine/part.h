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
/* Ends all runs, and frees everything on the device. Outputs of the run that was consumed last can
   be read until the engine is destroyed, which is all that may follow. */
void mts_engine_retire(mts_engine *engine);
/* Whether this submission waits: it has not gone to the device. */
bool mts_engine_waits(const mts_engine *engine, uint64_t run);
/* Frees the slot of the oldest submission, which has finished (else BUSY): what the caller
   reads stays. Returns how it ended. */
mts_status mts_engine_discard(mts_engine *engine, mts_error *error);
/* Submissions that have gone to the device and were not consumed. */
uint32_t mts_engine_begun(const mts_engine *engine);
/*
 * Gives the next run an input of type float32 without a wait: the caller keeps `floats`, and
 * `halves` of as many elements (NULL where the engine computes in float32), until that run has
 * ended. It is read in place where the engine has slots, the device imports this memory, and
 * all tasks run; else its upload is enqueued. mts_engine_can_start holds.
 */
mts_status mts_engine_link_input(mts_engine *engine, uint32_t task, uint32_t input, const float *floats,
                                 uint16_t *halves, mts_error *error);
/* The slot (links.h) of the next submission: one of options.link_slots that no run in flight
   has. */
void mts_engine_use_slot(mts_engine *engine, uint32_t slot);
/* Whether runs of all tasks leave their outputs in their slots. */
bool mts_engine_moves(const mts_engine *engine);
/* Whether the oldest submission has finished with outputs in its slot: all of its tasks have
   run. It is discarded, not taken; outputs can be read until the slot's next run begins. */
bool mts_engine_is_moved(const mts_engine *engine);
/* Where an output of that submission lies, as float32; NULL: it is not such, or has no such
   output. */
const float *mts_engine_moved_output(const mts_engine *engine, uint32_t task, uint32_t output);
/* The same, copied as the caller reads it: of the port's dtype. */
void mts_engine_copy_moved(const mts_engine *engine, uint32_t task, uint32_t output, void *to);

#endif
