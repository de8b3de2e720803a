/*
 * carry.h: what one engine of a session hands to the next one, which has other tasks or other
 * weights. Tasks of both are those with the same index in their archives.
 *
 * A library built with MTS_SMALL does not have it.
 */
#ifndef MTS_ENGINE_CARRY_H
#define MTS_ENGINE_CARRY_H

#include "engine/engine.h"
#include "engine/submission.h"

/*
 * Before the first submission of `to`: numbers of submissions go on, and tasks keep their
 * settings, regions and the inputs that were set; of inputs that frames fill these alone, and only
 * if `no_frames`: `from` has had no frame. What is on the device may be waited for, where inputs
 * are carried. On failure `from` is as it was, and `to` is to be destroyed.
 */
mts_status mts_engine_carry(mts_engine *from, mts_engine *to, bool no_frames, mts_error *error);
/* Before the first submission of `to`, if it has no frame: inputs that frames fill become what they
   are in `from`, where nothing waits. Inputs that were set in `to` stay. */
mts_status mts_engine_carry_frame(mts_engine *from, mts_engine *to, mts_error *error);
/* No submission of `from` is in flight, and none of `to` was consumed: tasks that do not run keep the
   outputs that can be read. */
void mts_engine_carry_outputs(const mts_engine *from, mts_engine *to);
/* Whether a submission is in that state. */
bool mts_engine_has(const mts_engine *engine, mts_submission_state state);
/* Submissions in flight at most; whether a frame takes the slot of an older one. */
uint32_t mts_engine_slots(const mts_engine *engine);
bool mts_engine_drops(const mts_engine *engine);
/* While it is held no submission begins. */
void mts_engine_pause(mts_engine *engine, bool held);

#endif
