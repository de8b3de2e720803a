/*
 * control.h: which of an engine's tasks run, and until when. Tasks are named by their index in the archive.
 *
 * Settings hold from the next mts_engine_submit on and may change while a run is under way. A task that is
 * left out keeps the outputs of its last run; see mts_engine_output_run.
 */
#ifndef MTS_ENGINE_CONTROL_H
#define MTS_ENGINE_CONTROL_H

#include "engine/engine.h"

/* NOT_FOUND: no such task, here and below. */
mts_status mts_engine_enable(mts_engine *engine, uint32_t task, bool enabled, mts_error *error);
/* In every n-th submission, from the next on; at least 1. */
mts_status mts_engine_rate(mts_engine *engine, uint32_t task, uint32_t every, mts_error *error);
/* At most so often a second, on average, by the clock at submission; 0: no limit. Finite, not negative. */
mts_status mts_engine_rate_hz(mts_engine *engine, uint32_t task, double hz, mts_error *error);
/*
 * Groups that have not begun `ms` after the submission are left out; 0: no deadline. With one, and more than
 * one group, a run starts with the first group alone; mts_engine_advance and waiting hand over the others.
 */
void mts_engine_deadline(mts_engine *engine, uint32_t ms);
/* Leaves out the groups that have not begun; a run that has not ended does so as CANCELLED. false: no such
 * run is under way. One that waits is withdrawn instead (mts_engine_withdraw). */
bool mts_engine_cancel(mts_engine *engine, uint64_t run);
/* The number, from 1, of the submission that a task's outputs are of. NOT_FOUND: it has not run. */
mts_status mts_engine_output_run(const mts_engine *engine, uint32_t task, uint64_t *run, mts_error *error);

#endif
