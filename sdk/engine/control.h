/*
 * control.h: which of an engine's tasks run, and until when. Tasks are named by their
 * index in the archive.
 *
 * Settings hold from the next submission on, and may change while runs are in flight. A
 * task that is left out keeps the outputs of its last run; see mts_engine_output_run.
 */
#ifndef MTS_ENGINE_CONTROL_H
#define MTS_ENGINE_CONTROL_H

#include "engine/engine.h"
#include "engine/tasks.h"

/* NOT_FOUND: no such task, here and below. */
mts_status mts_engine_enable(mts_engine *engine, uint32_t task, bool enabled, mts_error *error);
/* The task runs in every n-th submission, from the next on; at least 1. */
mts_status mts_engine_rate(mts_engine *engine, uint32_t task, uint32_t every, mts_error *error);
/* The task runs at most so often a second, on average, by the clock at submission; 0: no
 * limit. Finite, not negative. */
mts_status mts_engine_rate_hz(mts_engine *engine, uint32_t task, double hz, mts_error *error);
/*
 * Task groups that have not begun `ms` after the submission are left out; 0: no deadline.
 * With a deadline and more than one task group a run starts with the first group alone;
 * mts_engine_advance and waiting submit the others.
 */
void mts_engine_deadline(mts_engine *engine, uint32_t ms);
/* The number, from 1, of the submission that a task's outputs are of. NOT_FOUND: it has
   not run. */
mts_status mts_engine_output_run(const mts_engine *engine, uint32_t task, uint64_t *run, mts_error *error);

/* The same of tasks that no engine has alone (sdk/pipeline). */
mts_status mts_tasks_enable(mts_engine_tasks *tasks, uint32_t task, bool enabled, mts_error *error);
mts_status mts_tasks_rate(mts_engine_tasks *tasks, uint32_t task, uint32_t every, mts_error *error);
mts_status mts_tasks_rate_hz(mts_engine_tasks *tasks, uint32_t task, double hz, mts_error *error);

/* Fills the mask of the tasks that a submission runs at this time, in nanoseconds. */
void mts_schedule_choose(const mts_engine_tasks *tasks, uint64_t now, uint32_t *active);
/* Counts a submission of these tasks: the count of `every` goes on while a task is
 * disabled, the clock of `period` does not. */
void mts_schedule_count(mts_engine_tasks *tasks, uint64_t now, const uint32_t *active);

#endif
