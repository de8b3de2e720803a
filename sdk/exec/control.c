/*
 * control.c: which tasks a submission runs, and handing their launches over, group by group where there is a
 * deadline. Not responsible for what a set's launches are (subset.c).
 */
#include "exec/control.h"

#include <math.h>

#include "exec/engine_internal.h"
#include "platform/os/os.h"

#define LONGEST_NS 1e18 /* some thirty years */

static engine_task *find(const mts_engine *engine, uint32_t task, mts_error *error)
{
    engine_task *found = mts_engine_find(engine, task);
    if (found == NULL) {
        (void)mts_fail(error, MTS_CODE_NOT_FOUND, "the session has no task %u", task);
    }
    return found;
}

mts_code mts_engine_enable(mts_engine *engine, uint32_t task, bool enabled, mts_error *error)
{
    engine_task *t = find(engine, task, error);
    if (t == NULL) {
        return MTS_CODE_NOT_FOUND;
    }
    t->disabled = !enabled;
    return MTS_CODE_OK;
}

mts_code mts_engine_rate(mts_engine *engine, uint32_t task, uint32_t every, mts_error *error)
{
    engine_task *t = find(engine, task, error);
    if (t == NULL) {
        return MTS_CODE_NOT_FOUND;
    }
    if (every == 0) {
        return mts_fail(error, MTS_CODE_INVALID_ARGUMENT, "a rate of every 0th submission");
    }
    t->every = every;
    t->pause = 0;
    return MTS_CODE_OK;
}

mts_code mts_engine_rate_hz(mts_engine *engine, uint32_t task, double hz, mts_error *error)
{
    engine_task *t = find(engine, task, error);
    if (t == NULL) {
        return MTS_CODE_NOT_FOUND;
    }
    if (!isfinite(hz) || hz < 0.0) {
        return mts_fail(error, MTS_CODE_INVALID_ARGUMENT, "a rate of %g times a second", hz);
    }
    const double period = hz > 0.0 ? 1e9 / hz : 0.0;
    t->period = (uint64_t)(period < LONGEST_NS ? period : LONGEST_NS);
    t->next = 0;
    return MTS_CODE_OK;
}

void mts_engine_deadline(mts_engine *engine, uint32_t ms)
{
    engine->deadline_ms = ms;
}

void mts_engine_cancel(mts_engine *engine)
{
    atomic_store(&engine->cancelled, true);
}

mts_code mts_engine_output_run(const mts_engine *engine, uint32_t task, uint64_t *run, mts_error *error)
{
    const engine_task *t = find(engine, task, error);
    if (t == NULL) {
        return MTS_CODE_NOT_FOUND;
    }
    if (t->fetched == 0) {
        return mts_fail(error, MTS_CODE_NOT_FOUND, "task %s has no outputs: it has not run",
                        engine->archive->tasks[t->task].name);
    }
    *run = t->fetched;
    return MTS_CODE_OK;
}

/* Fills `chosen` and each task's `runs`; returns how many run. */
static uint32_t choose(mts_engine *engine, uint64_t now)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < engine->subsets.words; w++) {
        engine->chosen[w] = 0;
    }
    for (uint32_t i = 0; i < engine->task_count; i++) {
        engine_task *t = &engine->tasks[i];
        t->runs = !t->disabled && t->pause == 0 && now >= t->next;
        engine->chosen[i / 32] |= t->runs ? 1u << i % 32 : 0;
        count += t->runs ? 1 : 0;
    }
    return count;
}

/* Of a submission that succeeded. The count goes on while a task is disabled; the clock does not. */
static void count_rates(mts_engine *engine, uint64_t now)
{
    for (uint32_t i = 0; i < engine->task_count; i++) {
        engine_task *t = &engine->tasks[i];
        if (t->pause > 0) {
            t->pause--;
        } else if (t->every > 1 && (t->runs || t->disabled)) {
            t->pause = t->every - 1;
        }
        if (t->runs && t->period > 0) {
            const bool goes_on = t->next != 0 && now - t->next < t->period; /* 0: the first run */
            t->next = (goes_on ? t->next : now) + t->period;
        }
    }
}

/* The next list that has something to do, or NULL. */
static mts_list *next_list(mts_engine *engine)
{
    while (engine->stage < engine->group_count && engine->current->lists[engine->stage] == NULL) {
        engine->stage++;
    }
    return engine->stage < engine->group_count ? engine->current->lists[engine->stage] : NULL;
}

static mts_code submit_subset(mts_engine *engine, bool split, mts_error *error)
{
    mts_code code = mts_engine_check_lent(engine, error);
    code =
        code != MTS_CODE_OK ? code : mts_subset_get(engine, engine->chosen, split, &engine->current, error);
    code = code != MTS_CODE_OK ? code : mts_engine_upload_lent(engine, error);
    engine->stage = 0;
    if (code == MTS_CODE_OK && next_list(engine) != NULL) {
        code = mts_list_submit(next_list(engine), error);
        engine->stage++;
    }
    if (!split || code != MTS_CODE_OK) {
        engine->current = NULL;
    }
    return code;
}

static mts_code submit_all(mts_engine *engine, mts_error *error)
{
    const mts_code code = mts_engine_ready(engine, error);
    return code == MTS_CODE_OK && engine->list != NULL ? mts_list_submit(engine->list, error) : code;
}

mts_code mts_control_submit(mts_engine *engine, mts_error *error)
{
    const uint64_t now = mts_os_clock_ns();
    const uint32_t count = choose(engine, now);
    const bool split = engine->deadline_ms > 0 && engine->group_count > 1 && engine->launch_count > 0;
    mts_code code = MTS_CODE_OK;
    engine->current = NULL;
    if (count == engine->task_count && !split) {
        code = submit_all(engine, error);
    } else if (count == 0) {
        code = mts_engine_check_lent(engine, error);
    } else if (engine->launch_count > 0) {
        code = submit_subset(engine, split, error);
    }
    if (code != MTS_CODE_OK) {
        return code;
    }
    count_rates(engine, now);
    atomic_store(&engine->cancelled, false);
    engine->submitted = now;
    engine->limit_ms = engine->deadline_ms;
    engine->run++;
    return MTS_CODE_OK;
}

/* Tasks of groups from `group` on have not run. */
static void leave_out(mts_engine *engine, uint32_t group)
{
    for (uint32_t i = 0; i < engine->task_count; i++) {
        engine->tasks[i].runs = engine->tasks[i].runs && engine->tasks[i].group < group;
    }
}

static bool is_late(const mts_engine *engine)
{
    return mts_os_clock_ns() - engine->submitted >= (uint64_t)engine->limit_ms * 1000000u;
}

mts_code mts_control_wait(mts_engine *engine, mts_error *error)
{
    mts_code code = mts_device_wait(engine->device, error);
    while (code == MTS_CODE_OK && engine->current != NULL && next_list(engine) != NULL) {
        if (atomic_load(&engine->cancelled) || is_late(engine)) {
            leave_out(engine, engine->stage);
            break;
        }
        const mts_code submitted = mts_list_submit(next_list(engine), error);
        engine->stage++;
        code = mts_device_wait(engine->device, submitted == MTS_CODE_OK ? error : NULL); /* a part may run */
        code = submitted != MTS_CODE_OK ? submitted : code;
    }
    engine->current = NULL;
    return code;
}
