/*
 * control.c: which tasks a submission runs: settings, and the schedule that follows from
 * them. Not responsible for running them (submission.c).
 */
#include "engine/control.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/state.h"

#define LONGEST_NS 1e18 /* about thirty years */

static mts_engine_task *find(const mts_engine_tasks *tasks, uint32_t task, mts_error *error)
{
    mts_engine_task *found = mts_tasks_find(tasks, task);
    if (!found) {
        (void)mts_fail(error, MTS_STATUS_NOT_FOUND, "the session does not run task %" PRIu32, task);
    }
    return found;
}

mts_status mts_tasks_enable(mts_engine_tasks *tasks, uint32_t task, bool enabled, mts_error *error)
{
    mts_engine_task *t = find(tasks, task, error);
    if (!t) {
        return MTS_STATUS_NOT_FOUND;
    }
    t->schedule.disabled = !enabled;
    return MTS_STATUS_OK;
}

mts_status mts_engine_enable(mts_engine *engine, uint32_t task, bool enabled, mts_error *error)
{
    return mts_tasks_enable(&engine->tasks, task, enabled, error);
}

mts_status mts_tasks_rate(mts_engine_tasks *tasks, uint32_t task, uint32_t every, mts_error *error)
{
    mts_engine_task *t = find(tasks, task, error);
    if (!t) {
        return MTS_STATUS_NOT_FOUND;
    }
    if (every == 0) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "every is 0: a task runs in each submission (1) or less often");
    }
    t->schedule.every = every;
    t->schedule.pause = 0;
    return MTS_STATUS_OK;
}

mts_status mts_engine_rate(mts_engine *engine, uint32_t task, uint32_t every, mts_error *error)
{
    return mts_tasks_rate(&engine->tasks, task, every, error);
}

mts_status mts_tasks_rate_hz(mts_engine_tasks *tasks, uint32_t task, double hz, mts_error *error)
{
    mts_engine_task *t = find(tasks, task, error);
    if (!t) {
        return MTS_STATUS_NOT_FOUND;
    }
    if (!isfinite(hz) || hz < 0.0) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "a rate of %g Hz: it is finite and not negative, 0 is no limit", hz);
    }
    const double period = hz > 0.0 ? 1e9 / hz : 0.0;
    t->schedule.period = (uint64_t)(period < LONGEST_NS ? period : LONGEST_NS);
    t->schedule.next = 0;
    return MTS_STATUS_OK;
}

mts_status mts_engine_rate_hz(mts_engine *engine, uint32_t task, double hz, mts_error *error)
{
    return mts_tasks_rate_hz(&engine->tasks, task, hz, error);
}

void mts_engine_deadline(mts_engine *engine, uint32_t ms)
{
    engine->submissions.deadline_ms = ms;
}

mts_status mts_engine_latency(const mts_engine *engine, uint32_t task, uint64_t *runs, double *p50,
                              double *p95, mts_error *error)
{
    const mts_engine_task *t = find(&engine->tasks, task, error);
    if (!t) {
        return MTS_STATUS_NOT_FOUND;
    }
    *runs = t->latencies.count;
    *p50 = mts_latency_percentile(&t->latencies, 50);
    *p95 = mts_latency_percentile(&t->latencies, 95);
    return MTS_STATUS_OK;
}

mts_status mts_engine_output_run(const mts_engine *engine, uint32_t task, uint64_t *run, mts_error *error)
{
    const mts_engine_task *t = find(&engine->tasks, task, error);
    if (!t) {
        return MTS_STATUS_NOT_FOUND;
    }
    if (t->output_run == 0) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "task %s has no outputs: it has not run",
                        engine->archive->tasks[t->task].name);
    }
    *run = t->output_run;
    return MTS_STATUS_OK;
}

void mts_schedule_choose(const mts_engine_tasks *tasks, uint64_t now, uint32_t *active)
{
    memset(active, 0, tasks->mask_words * sizeof *active);
    for (uint32_t i = 0; i < tasks->count; i++) {
        const mts_schedule *s = &tasks->items[i].schedule;
        const bool runs = !s->disabled && s->pause == 0 && now >= s->next;
        active[i / 32] |= runs ? 1u << i % 32 : 0;
    }
}

void mts_schedule_count(mts_engine_tasks *tasks, uint64_t now, const uint32_t *active)
{
    for (uint32_t i = 0; i < tasks->count; i++) {
        mts_schedule *s = &tasks->items[i].schedule;
        const bool runs = mts_task_is_active(active, i);
        if (s->pause > 0) {
            s->pause--;
        } else if (s->every > 1 && (runs || s->disabled)) {
            s->pause = s->every - 1;
        }
        if (runs && s->period > 0) {
            const bool goes_on = s->next != 0 && now - s->next < s->period; /* 0: the first run */
            s->next = (goes_on ? s->next : now) + s->period;
        }
    }
}
