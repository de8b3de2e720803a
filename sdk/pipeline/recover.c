/*
 * recover.c: places the tasks anew on the devices that remain, and starts the runs again
 * that had not ended, with the inputs that they had.
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include "pipeline/recover.h"

#include <string.h>

#include "pipeline/copies.h"
#include "platform/os/os.h"

#define PAUSE_NS 100000u

static bool is_lost(const mts_pipeline *p)
{
    for (uint32_t i = 0; i < p->now->plan.partition.part_count; i++) {
        if (mts_device_is_lost(p->devices[p->now->plan.partition.parts[i].device])) {
            return true;
        }
    }
    return false;
}

static uint32_t count_lost(const mts_pipeline *p)
{
    uint32_t count = 0;
    for (uint32_t d = 0; d < p->device_count; d++) {
        count += mts_device_is_lost(p->devices[d]) ? 1 : 0;
    }
    return count;
}

static mts_status give_inputs(mts_pipeline *p, const mts_input_copy *inputs, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; t < p->task_count; t++) {
        const uint32_t count = p->archive->tasks[p->tasks[t]].graph->input_count;
        for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
            const mts_input_copy *input = &inputs[p->copies->first[t] + i];
            if (input->frame.given) {
                status = mts_pipeline_give_task_frame(p, p->tasks[t], &input->frame.view, error);
            } else if (input->given) {
                status =
                    mts_pipeline_give_input(p, p->tasks[t], i, input->tensor.data, input->tensor.size, error);
            }
        }
    }
    return status;
}

/* In the order in which they were set: those of all tasks, then those of one. */
static mts_status give_regions(mts_pipeline *p, const mts_region_copy *regions, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; p->copies->has_regions && status == MTS_STATUS_OK && t < p->task_count; t++) {
        const mts_task *task = &p->archive->tasks[p->tasks[t]];
        if (mts_preprocess_takes_frames(&task->preprocess, task->graph)) { /* none are left of another run */
            status = mts_pipeline_give_regions(p, p->tasks[t], NULL, 0, error);
        }
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && i <= p->task_count; i++) {
        const mts_region_copy *own = &regions[i == 0 ? p->task_count : i - 1];
        if (own->given) {
            status = mts_pipeline_give_regions(p, own->task, own->regions.data, own->count, error);
        }
    }
    return status;
}

/* Waits until what was given before has begun, so that inputs may change. */
static bool settle(mts_pipeline *p, bool begins)
{
    while (!is_lost(p) && (mts_pipeline_has_waiting(p) || (begins && !mts_pipeline_may_begin(p)))) {
        mts_pipeline_move(p);
        mts_os_sleep_ns(PAUSE_NS);
    }
    return !is_lost(p);
}

/* A run that cannot begin again, for another reason than a loss, fails alone. */
static mts_status run_again(mts_pipeline *p, mts_pipeline_run *run, mts_error *error)
{
    mts_error own = {0};
    run->begun = run->taken = 0;
    memset(run->in_part, 0, sizeof run->in_part);
    run->failed = run->over = false;
    run->finished = 0;
    run->status = MTS_STATUS_OK;
    if (!settle(p, !run->has_frame)) {
        return MTS_STATUS_OK; /* lost again */
    }
    mts_status status = give_regions(p, run->copy->regions, &own);
    MTS_TRY(status, give_inputs(p, run->copy->inputs, &own));
    if (status == MTS_STATUS_OK) {
        status = run->has_frame ? mts_pipeline_give_frame(p, run, &run->copy->frame.view, &own)
                                : mts_pipeline_begin_inputs(p, run, &own);
    }
    if (status == MTS_STATUS_DEVICE_LOST) {
        *error = own;
        return status;
    }
    if (status != MTS_STATUS_OK) {
        memset(run->in_part, 0, sizeof run->in_part);
        mts_pipeline_end(p, run, 0, status, &own);
    }
    mts_pipeline_move(p);
    return MTS_STATUS_OK;
}

/* Ends the session, and the runs that had not ended. */
static void end_all(mts_pipeline *p, const mts_error *error)
{
    for (uint32_t i = 0; i < p->used; i++) {
        mts_pipeline_run *run = p->queue[i];
        if (!run->over || run->status == MTS_STATUS_DEVICE_LOST) {
            run->failed = run->over = true;
            run->status = error->code;
            run->error = *error;
        }
    }
    mts_placed_empty(p->now, p->allocator);
}

/* Frees the devices for the next placement. Of the one before the first loss the outputs stay,
   which the caller may still read. */
static void retire(mts_pipeline *p)
{
    for (uint32_t i = p->now->plan.partition.part_count; i-- > 0;) {
        mts_engine_retire(p->now->engines[i]);
    }
    if (p->old) {
        mts_placed_empty(p->now, p->allocator);
    } else {
        p->old = p->now;
        p->now = p->old == &p->both[0] ? &p->both[1] : &p->both[0];
    }
}

static mts_status begin_anew(mts_pipeline *p, mts_error *error)
{
    for (uint32_t i = 0; i < p->used; i++) {
        mts_pipeline_run *run = p->queue[i];
        run->again = !run->failed || run->status == MTS_STATUS_DEVICE_LOST;
        run->begun = run->taken = 0; /* it is not looked for in the new engines yet */
        run->over = run->failed;
        memset(run->in_part, 0, sizeof run->in_part);
    }
    retire(p);
    mts_status status = mts_pipeline_place(p, error);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < p->used; i++) {
        status = p->queue[i]->again ? run_again(p, p->queue[i], error) : status;
    }
    if (status == MTS_STATUS_OK && settle(p, false)) {
        status = give_regions(p, p->copies->regions, error);
        MTS_TRY(status, give_inputs(p, p->copies->now, error));
    }
    p->replans++;
    return status;
}

void mts_pipeline_recover(mts_pipeline *p)
{
    bool again = p->copies && !p->stopped && is_lost(p);
    while (again) {
        const uint32_t before = count_lost(p);
        mts_error error = {0};
        mts_device *lost = NULL;
        const char *id = "";
        for (uint32_t d = 0; d < p->device_count; d++) {
            if (mts_device_is_lost(p->devices[d])) {
                lost = p->devices[d];
                id = p->ids[d];
            }
        }
        mts_log_write(lost->log, MTS_LOG_WARNING,
                      "device '%s' was lost; the session is placed on the others, and %u runs begin again",
                      id, p->used);
        const mts_status status = begin_anew(p, &error);
        /* Another device may have been lost meanwhile, and others may be left. */
        again = status == MTS_STATUS_OK ? is_lost(p) : count_lost(p) > before;
        if (status != MTS_STATUS_OK && !again) {
            error.code = MTS_STATUS_DEVICE_LOST;
            (void)mts_fail_prefix(&error, error.code, "device '%s' was lost, and the session cannot go on",
                                  id);
            end_all(p, &error);
            return;
        }
    }
}

bool mts_pipeline_is_replaced(mts_pipeline *p, mts_status status)
{
    const uint32_t before = p->replans;
    if (status == MTS_STATUS_DEVICE_LOST) {
        mts_pipeline_recover(p);
    }
    return p->replans != before && p->now->plan.partition.part_count > 0;
}

#endif
