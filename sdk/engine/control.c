/*
 * control.c: which tasks a submission runs, and handing their launches over, group by group where there is a
 * deadline. Not responsible for what a set's launches are (filter.c).
 */
#include "engine/control.h"

#include <math.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "platform/os/os.h"

#define LONGEST_NS 1e18 /* some thirty years */

static engine_task *find(const mts_engine *engine, uint32_t task, mts_error *error)
{
    engine_task *found = mts_engine_find(engine, task);
    if (!found) {
        (void)mts_fail(error, MTS_STATUS_NOT_FOUND, "the session has no task %u", task);
    }
    return found;
}

mts_status mts_engine_enable(mts_engine *engine, uint32_t task, bool enabled, mts_error *error)
{
    engine_task *t = find(engine, task, error);
    if (!t) {
        return MTS_STATUS_NOT_FOUND;
    }
    t->disabled = !enabled;
    return MTS_STATUS_OK;
}

mts_status mts_engine_rate(mts_engine *engine, uint32_t task, uint32_t every, mts_error *error)
{
    engine_task *t = find(engine, task, error);
    if (!t) {
        return MTS_STATUS_NOT_FOUND;
    }
    if (every == 0) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "a rate of every 0th submission");
    }
    t->every = every;
    t->pause = 0;
    return MTS_STATUS_OK;
}

mts_status mts_engine_rate_hz(mts_engine *engine, uint32_t task, double hz, mts_error *error)
{
    engine_task *t = find(engine, task, error);
    if (!t) {
        return MTS_STATUS_NOT_FOUND;
    }
    if (!isfinite(hz) || hz < 0.0) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "a rate of %g times a second", hz);
    }
    const double period = hz > 0.0 ? 1e9 / hz : 0.0;
    t->period = (uint64_t)(period < LONGEST_NS ? period : LONGEST_NS);
    t->next = 0;
    return MTS_STATUS_OK;
}

void mts_engine_deadline(mts_engine *engine, uint32_t ms)
{
    engine->deadline_ms = ms;
}

mts_status mts_engine_latency(const mts_engine *engine, uint32_t task, uint64_t *runs, double *p50,
                              double *p95, mts_error *error)
{
    const engine_task *t = find(engine, task, error);
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
    const engine_task *t = find(engine, task, error);
    if (!t) {
        return MTS_STATUS_NOT_FOUND;
    }
    if (t->fetched == 0) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "task %s has no outputs: it has not run",
                        engine->archive->tasks[t->task].name);
    }
    *run = t->fetched;
    return MTS_STATUS_OK;
}

void mts_control_choose(const mts_engine *engine, engine_flight *flight)
{
    const uint64_t now = mts_os_clock_ns();
    flight->began = now;
    flight->current = NULL;
    memset(flight->ran, 0, engine->subsets.words * sizeof *flight->ran);
    for (uint32_t i = 0; i < engine->task_count; i++) {
        const engine_task *t = &engine->tasks[i];
        const bool runs = !t->disabled && t->pause == 0 && now >= t->next;
        flight->ran[i / 32] |= runs ? 1u << i % 32 : 0;
    }
}

void mts_control_count(mts_engine *engine, const engine_flight *flight)
{
    const uint64_t now = flight->began;
    for (uint32_t i = 0; i < engine->task_count; i++) {
        engine_task *t = &engine->tasks[i];
        const bool runs = mts_flight_runs(flight, i);
        if (t->pause > 0) {
            t->pause--;
        } else if (t->every > 1 && (runs || t->disabled)) {
            t->pause = t->every - 1;
        }
        if (runs && t->period > 0) {
            const bool goes_on = t->next != 0 && now - t->next < t->period; /* 0: the first run */
            t->next = (goes_on ? t->next : now) + t->period;
        }
    }
}

/* The stage of the next list that has something to do; group_count: none. */
static uint32_t next_stage(const mts_engine *engine, const engine_flight *flight)
{
    uint32_t stage = flight->stage;
    while (stage < engine->group_count && !flight->current->lists[stage]) {
        stage++;
    }
    return stage;
}

bool mts_control_is_parted(const mts_engine *engine, const engine_flight *flight)
{
    return flight->current && next_stage(engine, flight) < engine->group_count;
}

static mts_status submit_stage(const mts_engine *engine, engine_flight *flight, mts_error *error)
{
    flight->stage = next_stage(engine, flight);
    if (flight->stage == engine->group_count) {
        return MTS_STATUS_OK;
    }
    return mts_command_list_submit(flight->current->lists[flight->stage++], error);
}

static mts_status submit_subset(mts_engine *engine, engine_flight *flight, bool split, mts_error *error)
{
    mts_status code = mts_engine_check_lent(engine, error);
    MTS_TRY(code, mts_subset_get(engine, flight->ran, split, &flight->current, error));
    MTS_TRY(code, mts_engine_upload_lent(engine, error));
    MTS_TRY(code, submit_stage(engine, flight, error));
    if (!split || code != MTS_STATUS_OK) {
        flight->current = NULL;
    }
    return code;
}

static mts_status submit_all(mts_engine *engine, mts_error *error)
{
    const mts_status code = mts_engine_ready(engine, error);
    return code == MTS_STATUS_OK && engine->list ? mts_command_list_submit(engine->list, error) : code;
}

mts_status mts_control_begin(mts_engine *engine, engine_flight *flight, mts_error *error)
{
    const uint32_t count = mts_flight_tasks(engine, flight);
    const bool split = engine->deadline_ms > 0 && engine->group_count > 1 && engine->launch_count > 0;
    mts_status code = MTS_STATUS_OK;
    flight->stage = 0;
    flight->limit_ms = engine->deadline_ms;
    if (count == engine->task_count && !split) {
        code = submit_all(engine, error);
    } else if (count == 0) {
        code = mts_engine_check_lent(engine, error);
    } else if (engine->launch_count > 0) {
        code = submit_subset(engine, flight, split, error);
    }
    return code;
}

/* Tasks of groups from `group` on have not run. */
static void leave_out(const mts_engine *engine, engine_flight *flight, uint32_t group)
{
    for (uint32_t i = 0; i < engine->task_count; i++) {
        if (engine->tasks[i].group >= group) {
            flight->ran[i / 32] &= ~(1u << i % 32);
        }
    }
    flight->current = NULL;
}

mts_status mts_control_go_on(mts_engine *engine, engine_flight *flight, mts_error *error)
{
    const uint64_t passed = mts_os_clock_ns() - flight->submitted;
    if (flight->cancelled || passed >= (uint64_t)flight->limit_ms * 1000000u) {
        leave_out(engine, flight, next_stage(engine, flight));
        return MTS_STATUS_OK;
    }
    return submit_stage(engine, flight, error);
}
