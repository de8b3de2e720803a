/*
 * flow.c: submissions of a pipeline from the call that starts one to the one that takes
 * its outputs. Not responsible for what happens between (parts.c).
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include <inttypes.h>
#include <string.h>

#include "engine/submission.h"
#include "pipeline/change.h"
#include "pipeline/copies.h"
#include "pipeline/recover.h"
#include "platform/os/os.h"

/* A part whose run has ended idles for so long at most before its next one begins. */
#define PAUSE_MOST_NS 100000u

static mts_status lost(mts_error *error)
{
    return mts_fail(error, MTS_STATUS_DEVICE_LOST,
                    "a device was lost, and the session could not be placed on the others");
}

static uint32_t find_run(const mts_pipeline *p, uint64_t number)
{
    uint32_t i = 0;
    while (i < p->used && p->queue[i]->number != number) {
        i++;
    }
    return i;
}

/* A slot becomes the last free one. */
static void free_slot(mts_pipeline *p, uint32_t index)
{
    const uint32_t last = p->slots + p->spare - 1;
    mts_pipeline_run *run = p->queue[index];
    mts_pipeline_forget_frames(p, run);
    memmove(&p->queue[index], &p->queue[index + 1], (last - index) * sizeof(mts_pipeline_run *));
    p->queue[last] = run;
    p->used--;
}

void mts_pipeline_advance(mts_pipeline *p)
{
    if (p->before) {
        mts_pair_advance(p);
        return;
    }
    if (p->engine) {
        mts_engine_advance(p->engine);
        return;
    }
    mts_pipeline_move(p);
    mts_pipeline_recover(p);
}

/* ---- starting ---- */

static mts_pipeline_run *open_run(mts_pipeline *p, bool has_frame)
{
    mts_pipeline_run *run = p->queue[p->used];
    run->number = p->last + 1;
    run->submitted = mts_os_clock_ns();
    run->has_frame = has_frame;
    run->begun = run->taken = 0;
    memset(run->in_part, 0, sizeof run->in_part);
    run->chosen = run->cancelled = run->failed = run->over = false;
    run->finished = 0;
    run->status = MTS_STATUS_OK;
    run->error = (mts_error){0};
    return run;
}

static void keep_run(mts_pipeline *p, const mts_pipeline_run *run)
{
    p->last = run->number;
    p->used++;
}

mts_status mts_pipeline_submit(mts_pipeline *p, mts_error *error)
{
    if (p->before) {
        return mts_pair_submit(p, error);
    }
    if (p->engine) {
        return mts_engine_submit(p->engine, error);
    }
    mts_pipeline_advance(p);
    if (p->now->plan.partition.part_count == 0) {
        return lost(error);
    }
    if (p->used >= p->slots) {
        return mts_submissions_no_slot(p->slots, error);
    }
    if (!mts_pipeline_may_begin(p)) {
        return mts_fail(error, MTS_STATUS_BUSY,
                        "inputs as they are cannot wait, and %" PRIu32 " runs come before this one", p->used);
    }
    mts_pipeline_run *run = open_run(p, false);
    mts_status status = mts_pipeline_copy_inputs(p, run, error);
    MTS_TRY(status, mts_pipeline_begin_inputs(p, run, error));
    if (status == MTS_STATUS_OK) {
        keep_run(p, run);
    }
    return status;
}

mts_status mts_pipeline_submit_frame(mts_pipeline *p, const mts_frame_view *frame, mts_engine_drop *dropped,
                                     mts_error *error)
{
    if (p->before) {
        return mts_pair_submit_frame(p, frame, dropped, error);
    }
    if (p->engine) {
        return mts_engine_submit_frame(p->engine, frame, dropped, error);
    }
    mts_pipeline_advance(p);
    *dropped = (mts_engine_drop){.run = 0};
    if (p->now->plan.partition.part_count == 0) {
        return lost(error);
    }
    if (p->used >= p->slots && p->spare == 0) {
        return mts_submissions_no_slot(p->slots, error);
    }
    mts_pipeline_run *run = open_run(p, true);
    mts_status status = mts_pipeline_copy_frame(p, run, frame, error);
    MTS_TRY(status, mts_pipeline_give_frame(p, run, frame, error));
    if (mts_pipeline_is_replaced(p, status)) {
        status = mts_pipeline_give_frame(p, run, frame, error);
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (p->used >= p->slots) { /* only now that this frame is known to be good */
        (void)mts_pipeline_drop_oldest(p, dropped);
    }
    keep_run(p, run);
    mts_pipeline_move(p);
    return MTS_STATUS_OK;
}

/* ---- the end ---- */

bool mts_pipeline_oldest(const mts_pipeline *p, mts_engine_run *out)
{
    if (p->before) {
        return mts_pair_oldest(p, out);
    }
    if (p->engine) {
        return mts_engine_oldest(p->engine, out);
    }
    if (p->used == 0) {
        return false;
    }
    *out = (mts_engine_run){.number = p->queue[0]->number,
                            .finished = mts_pipeline_run_finished(p, p->queue[0])};
    return true;
}

/* Where the oldest run is alone a device that has not finished it can be waited for: nothing
   else is to be done meanwhile. False: none has it. */
static bool wait_alone(mts_pipeline *p)
{
    const mts_pipeline_run *run = p->queue[0];
    for (uint32_t i = 0; i < p->now->plan.partition.part_count; i++) {
        mts_engine_run oldest = {0};
        const bool has = (run->begun >> i & 1u) != 0 && (run->taken >> i & 1u) == 0;
        if (has && mts_engine_oldest(p->now->engines[i], &oldest) && !oldest.finished) {
            (void)mts_engine_wait_until(p->now->engines[i], UINT64_MAX, NULL);
            return true;
        }
    }
    return false;
}

mts_status mts_pipeline_wait_until(mts_pipeline *p, uint64_t until, mts_error *error)
{
    uint64_t pause = 0;
    if (p->before) {
        return mts_pair_wait_until(p, until, error);
    }
    if (p->engine) {
        return mts_engine_wait_until(p->engine, until, error);
    }
    for (;;) {
        mts_pipeline_advance(p);
        if (p->used == 0 || mts_pipeline_run_finished(p, p->queue[0])) {
            return MTS_STATUS_OK;
        }
        if (until == UINT64_MAX && p->used == 1 && wait_alone(p)) {
            continue;
        }
        const mts_status status = mts_submissions_pause(until, &pause, PAUSE_MOST_NS, error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
    }
}

/* The early outputs of the active tasks become those that the caller reads. */
static void take_early(mts_pipeline *p, const mts_pipeline_run *run)
{
    for (uint32_t t = 0; t < p->task_count; t++) {
        const uint32_t outputs = p->archive->tasks[p->tasks[t]].graph->output_count;
        for (uint32_t o = 0; mts_task_is_active(run->active, t) && o < outputs; o++) {
            const mts_early_output *early = &p->now->early[t][o];
            if (early->is_early) {
                memcpy(p->now->kept + early->at, run->early + early->at, early->size);
            }
        }
    }
}

static void take_outputs(mts_pipeline *p, const mts_pipeline_run *run, bool good)
{
    if (good) {
        take_early(p, run);
        p->valid = true;
    }
    for (uint32_t t = 0; t < p->task_count; t++) {
        mts_engine_task *task = &p->schedule.items[t];
        if (run->chosen && mts_task_is_active(run->active, t)) {
            task->output_run = good ? run->number : 0;
            if (good) {
                mts_latency_add(&task->latencies, run->finished - run->submitted);
            }
        }
    }
}

/* The placement before a loss goes, and with it all outputs that were read from there. */
static void release_old(mts_pipeline *p)
{
    for (uint32_t t = 0; p->old && t < p->task_count; t++) {
        p->schedule.items[t].output_run = 0;
    }
    if (p->old) {
        mts_placed_empty(p->old, p->allocator);
        p->old = NULL;
    }
}

mts_status mts_pipeline_take(mts_pipeline *p, mts_error *error)
{
    if (p->before) {
        return mts_pair_take(p, error);
    }
    if (p->engine) {
        return mts_engine_take(p->engine, error);
    }
    if (p->used == 0 || !mts_pipeline_run_finished(p, p->queue[0])) {
        return mts_fail(error, MTS_STATUS_BUSY, "no run has finished");
    }
    mts_pipeline_run *run = p->queue[0];
    const bool over = run->over;
    run->finished = run->finished != 0 ? run->finished : mts_os_clock_ns();
    mts_status status = run->status;
    if (over && error) {
        *error = run->error;
    } else if (!over) {
        status = mts_pipeline_take_parts(p, run, true, error);
    }
    release_old(p);
    take_outputs(p, run, !over && (status == MTS_STATUS_OK || status == MTS_STATUS_CANCELLED));
    free_slot(p, 0);
    mts_pipeline_move(p);
    return status;
}

/* ---- dropping ---- */

static bool can_drop(const mts_pipeline *p, const mts_pipeline_run *run)
{
    return run->begun == 0 || mts_pipeline_run_finished(p, run);
}

static uint32_t oldest_to_drop(const mts_pipeline *p)
{
    uint32_t i = 0;
    while (i < p->used && !can_drop(p, p->queue[i])) {
        i++;
    }
    return i;
}

/* Takes a run out of the engines that have it. */
static void withdraw_parts(mts_pipeline *p, mts_pipeline_run *run)
{
    for (uint32_t i = 0; i < p->now->plan.partition.part_count; i++) {
        if (run->in_part[i] != 0 && (run->taken >> i & 1u) == 0) {
            (void)mts_engine_withdraw(p->now->engines[i], run->in_part[i]);
        }
    }
}

bool mts_pipeline_drop_oldest(mts_pipeline *p, mts_engine_drop *dropped)
{
    if (p->before) {
        return mts_pair_drop_oldest(p, dropped);
    }
    if (p->engine) {
        return mts_engine_drop_oldest(p->engine, dropped);
    }
    const uint32_t oldest = oldest_to_drop(p);
    if (oldest == p->used) {
        return false;
    }
    mts_pipeline_run *run = p->queue[oldest];
    mts_status end = run->status;
    if (!run->over && run->begun == 0) {
        withdraw_parts(p, run);
    } else if (!run->over) {
        end = mts_pipeline_take_parts(p, run, false, NULL);
        end = end == MTS_STATUS_OK ? MTS_STATUS_CANCELLED : end;
    }
    const bool failed = end != MTS_STATUS_OK && end != MTS_STATUS_CANCELLED;
    *dropped = (mts_engine_drop){.run = run->number, .status = failed ? end : MTS_STATUS_CANCELLED};
    free_slot(p, oldest);
    return true;
}

bool mts_pipeline_cancel(mts_pipeline *p, uint64_t number)
{
    if (p->before && mts_engine_cancel(p->before, number)) {
        return true;
    }
    if (p->engine) {
        return mts_engine_cancel(p->engine, number);
    }
    const uint32_t at = find_run(p, number);
    if (at == p->used) {
        return false;
    }
    mts_pipeline_run *run = p->queue[at];
    if (!mts_pipeline_run_finished(p, run)) {
        run->cancelled = true;
        for (uint32_t i = 0; i < p->now->plan.partition.part_count; i++) {
            if (run->in_part[i] != 0 && (run->taken >> i & 1u) == 0) {
                (void)mts_engine_cancel(p->now->engines[i], run->in_part[i]);
            }
        }
    }
    return true;
}

bool mts_pipeline_withdraw(mts_pipeline *p, uint64_t number)
{
    if (p->before && mts_engine_withdraw(p->before, number)) {
        return true;
    }
    if (p->engine) {
        return mts_engine_withdraw(p->engine, number);
    }
    const uint32_t at = find_run(p, number);
    if (at == p->used || p->queue[at]->begun != 0 || p->queue[at]->over) {
        return false;
    }
    withdraw_parts(p, p->queue[at]);
    free_slot(p, at);
    return true;
}

void mts_pipeline_stop(mts_pipeline *p)
{
    if (p->before) {
        mts_engine_stop(p->before);
    }
    if (p->engine) {
        mts_engine_stop(p->engine);
        return;
    }
    p->stopped = true;
    for (uint32_t i = 0; i < p->now->plan.partition.part_count; i++) {
        (void)mts_device_wait(p->devices[p->now->plan.partition.parts[i].device], NULL);
        mts_engine_advance(p->now->engines[i]);
    }
    for (uint32_t i = 0; i < p->used; i++) {
        mts_pipeline_run *run = p->queue[i];
        if (!mts_pipeline_run_finished(p, run)) {
            const mts_error cancelled = {.code = MTS_STATUS_CANCELLED, .text = "the session was stopped"};
            mts_pipeline_end(p, run, 0, MTS_STATUS_CANCELLED, &cancelled);
            run->over = true; /* no run begins any more, and none is held up */
        }
    }
}

/* ---- questions ---- */

bool mts_pipeline_holds(const mts_pipeline *p, uint64_t number)
{
    if (p->before && mts_engine_holds(p->before, number)) {
        return true;
    }
    return p->engine ? mts_engine_holds(p->engine, number) : find_run(p, number) < p->used;
}

bool mts_pipeline_has_slot(const mts_pipeline *p)
{
    if (p->before) {
        return mts_pair_has_slot(p);
    }
    return p->engine ? mts_engine_has_slot(p->engine) : p->used < p->slots;
}

bool mts_pipeline_can_start(const mts_pipeline *p)
{
    if (p->before) {
        return mts_pair_can_start(p);
    }
    return p->engine ? mts_engine_can_start(p->engine) : p->used < p->slots && mts_pipeline_may_begin(p);
}

bool mts_pipeline_can_start_by_drop(const mts_pipeline *p)
{
    if (p->before) {
        return mts_pair_can_start_by_drop(p);
    }
    if (p->engine) {
        return mts_engine_can_start_by_drop(p->engine);
    }
    const uint32_t oldest = oldest_to_drop(p);
    return oldest < p->used && mts_pipeline_run_finished(p, p->queue[oldest]) && mts_pipeline_may_begin(p);
}

uint32_t mts_pipeline_in_flight(const mts_pipeline *p)
{
    if (p->before) {
        return mts_pair_in_flight(p);
    }
    return p->engine ? mts_engine_in_flight(p->engine) : p->used;
}

#endif
