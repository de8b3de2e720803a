/*
 * submission.c: the states of submissions (submission.h). Each call looks at what has
 * finished and gives the device its next run; nothing happens between calls. Not
 * responsible for which tasks run (control.c), nor for their launches (launches.c,
 * filter.c) and outputs (outputs.c).
 */
#include "engine/submission.h"

#include <inttypes.h>
#include <string.h>

#include "device/timeline.h"
#include "engine/control.h"
#include "engine/part.h"
#include "engine/state.h"
#include "platform/os/os.h"

/* Between looks at what a caller waits for with a limit. */
#define PAUSE_MOST_NS 500000u

/* ---- task groups one by one ---- */

/* The stage of the next list that has something to do; group_count: none. */
static uint32_t next_stage(const mts_engine *engine, const mts_submission *s)
{
    uint32_t stage = s->stage;
    while (stage < engine->tasks.group_count && !s->split->lists[stage]) {
        stage++;
    }
    return stage;
}

static bool is_partial(const mts_engine *engine, const mts_submission *s)
{
    return s->split && next_stage(engine, s) < engine->tasks.group_count;
}

static mts_status submit_stage(const mts_engine *engine, mts_submission *s, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    s->stage = next_stage(engine, s);
    if (s->stage < engine->tasks.group_count) {
        status = mts_command_list_submit(s->split->lists[s->stage++], error);
    }
    /* Behind its last stage a run uses the lists no more, and another set may take their
       place. */
    s->split = is_partial(engine, s) ? s->split : NULL;
    return status;
}

/* Leaves out the tasks of task groups from `group` on. */
static void leave_out(const mts_engine *engine, mts_submission *s, uint32_t group)
{
    for (uint32_t t = 0; t < engine->tasks.count; t++) {
        if (engine->tasks.items[t].group >= group) {
            s->active[t / 32] &= ~(1u << t % 32);
        }
    }
    s->split = NULL;
}

/* The device has finished what was submitted: submits the next task group, or leaves out
   the rest. */
static mts_status submit_rest(const mts_engine *engine, mts_submission *s, mts_error *error)
{
    const uint64_t passed = mts_os_clock_ns() - s->submitted;
    if (s->cancelled || passed >= (uint64_t)s->deadline_ms * 1000000u) {
        leave_out(engine, s, next_stage(engine, s));
        return MTS_STATUS_OK;
    }
    return submit_stage(engine, s, error);
}

/* ---- waiting, or new: running ---- */

static mts_status submit_filtered(mts_engine *engine, mts_submission *s, bool split, mts_error *error)
{
    const uint32_t running = mts_submissions_count(&engine->submissions, MTS_SUBMISSION_RUNNING);
    mts_status status = mts_zero_copy_check(&engine->inputs.slots, error);
    MTS_TRY(status, mts_filters_get(engine, s->active, split, running, &s->split, error));
    MTS_TRY(status, mts_zero_copy_upload(&engine->inputs.slots, error));
    MTS_TRY(status, submit_stage(engine, s, error));
    if (!split || status != MTS_STATUS_OK) {
        s->split = NULL;
    }
    return status;
}

/* Submits the launches of the active tasks; with a deadline those of the first task group
   that has any. */
static mts_status submit_launches(mts_engine *engine, mts_submission *s, bool persistent, mts_error *error)
{
    mts_launches *launches = persistent ? &engine->persistent.whole : &engine->launches;
    const mts_engine_tasks *tasks = &engine->tasks;
    const uint32_t count = mts_tasks_count_active(tasks, s->active);
    const bool split = s->deadline_ms > 0 && tasks->group_count > 1 && launches->count > 0;
    mts_status status = MTS_STATUS_OK;
    const mts_input_slots *inputs = &engine->inputs.slots;
    s->persistent = persistent && count == tasks->count && !split;
#ifndef MTS_SMALL
    s->linked = engine->links.count > 0 && !persistent && count == tasks->count && !split;
    launches = s->linked ? &engine->links.slots[s->link_slot].launches : launches;
    inputs = s->linked ? &engine->links.slots[s->link_slot].inputs : inputs;
#endif
    if (count == tasks->count && !split) {
        status = mts_launches_prepare(launches, inputs, error);
        if (status == MTS_STATUS_OK && launches->list) {
            status = mts_command_list_submit(launches->list, error);
        }
    } else if (count == 0) {
        status = mts_zero_copy_check(&engine->inputs.slots, error);
    } else if (launches->count > 0) {
        status = submit_filtered(engine, s, split, error);
    }
    return status;
}

#ifdef MTS_SMALL
#define is_moved(engine, s) false
#else
/* Whether outputs stay where they are. */
static bool is_moved(const mts_engine *engine, const mts_submission *s)
{
    return s->linked && engine->links.moves;
}
#endif

/* Behind what was submitted: the copies of the outputs, if that was all, and the timeline
   value. */
static mts_status seal(mts_engine *engine, mts_submission *s, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    if (!is_partial(engine, s) && !is_moved(engine, s)) {
        status = mts_outputs_read_async(&engine->outputs, &engine->tasks, s->active, &s->readback, error);
    }
    if (MTS_HAS_PERSISTENT && s->persistent) {
        MTS_TRY(status, mts_persistent_ask(&engine->persistent, s->wait_failed, error));
    }
    MTS_TRY(status, mts_timeline_signal(engine->device, &s->timeline, error));
    return status;
}

/* After a failure no one waits for what was enqueued before it. */
static mts_status drain_on_error(const mts_engine *engine, mts_status status)
{
    if (status != MTS_STATUS_OK) {
        (void)mts_device_wait(engine->device, NULL);
    }
    return status;
}

/* *launched: what may have failed is not a launch, but what follows them. */
static mts_status enqueue(mts_engine *engine, mts_submission *s, bool persistent, bool *launched,
                          mts_error *error)
{
    mts_status status = mts_outputs_hand_back(&engine->outputs, error);
    MTS_TRY(status, submit_launches(engine, s, persistent, error));
    *launched = status == MTS_STATUS_OK;
    MTS_TRY(status, seal(engine, s, error));
    return drain_on_error(engine, status);
}

/* A driver that takes the first persistent launches may refuse later ones. */
static bool is_persistent_failure(const mts_submission *s, mts_status status)
{
    return MTS_HAS_PERSISTENT && s->persistent && status == MTS_STATUS_DEVICE;
}

static mts_status start(mts_engine *engine, mts_submission *s, mts_error *error)
{
#ifndef MTS_SMALL
    engine->submissions.held = engine->submissions.part;
#endif
    /* The tasks are chosen first: a run that fails from here on is one of these tasks. */
    s->began = mts_os_clock_ns();
    mts_schedule_choose(&engine->tasks, s->began, s->active);
    s->split = NULL;
    s->stage = 0;
    s->deadline_ms = engine->submissions.deadline_ms;
    memset(s->group_ended, 0, engine->tasks.group_count * sizeof *s->group_ended);
    mts_status status = s->has_frame ? mts_frame_submit(&engine->frames, &s->staged, error) : MTS_STATUS_OK;
    bool launched = false;
    MTS_TRY(status, enqueue(engine, s, MTS_HAS_PERSISTENT && engine->persistent.on, &launched, error));
    if (is_persistent_failure(s, status)) {
        mts_persistent_give_up(&engine->persistent, error ? error->text : "a call failed", !launched);
        if (error) {
            *error = (mts_error){0}; /* the log has it, and the frame may succeed */
        }
        status = enqueue(engine, s, false, &launched, error);
    }
    if (status == MTS_STATUS_OK) {
        mts_schedule_count(&engine->tasks, s->began, s->active);
    }
    s->state = MTS_SUBMISSION_RUNNING;
    return drain_on_error(engine, status);
}

/* ---- running: finished ---- */

static void end_groups(const mts_engine *engine, mts_submission *s, uint32_t before)
{
    const uint64_t now = mts_os_clock_ns();
    for (uint32_t g = 0; g < before && g < engine->tasks.group_count; g++) {
        s->group_ended[g] = s->group_ended[g] != 0 ? s->group_ended[g] : now;
    }
}

static void finish(mts_engine *engine, mts_submission *s, mts_status status)
{
    end_groups(engine, s, engine->tasks.group_count);
    s->state = MTS_SUBMISSION_FINISHED;
    s->split = NULL;
    s->status = status;
    if (status == MTS_STATUS_OK && s->cancelled) {
        s->status = mts_fail(&s->error, MTS_STATUS_CANCELLED, "the run was cancelled");
    }
    mts_frame_unpin(&s->staged, &engine->frames);
}

/* Its persistent launches failed: the run comes again, launch by launch, with its inputs,
   which nothing has changed meanwhile (device_has_room, settle). */
static void repeat(mts_engine *engine, mts_submission *s, const char *why)
{
    bool launched = false;
    mts_persistent_give_up(&engine->persistent, why, true);
    const mts_status status = enqueue(engine, s, false, &launched, &s->error);
    if (status != MTS_STATUS_OK) {
        finish(engine, s, status);
    }
}

/* The device could not say that the submission has finished. */
static void end_failed(mts_engine *engine, mts_submission *s, mts_status status)
{
    (void)drain_on_error(engine, status);
    if (is_persistent_failure(s, status)) {
        repeat(engine, s, s->error.text);
    } else {
        finish(engine, s, status);
    }
}

/* The timeline value has been reached: the submission has finished, or its next task
   group runs. */
static void go_on(mts_engine *engine, mts_submission *s)
{
    if (MTS_HAS_PERSISTENT && s->persistent && *s->wait_failed != 0) {
        repeat(engine, s, "a work-group waited too long for another one");
        return;
    }
    if (!is_partial(engine, s)) {
        finish(engine, s, MTS_STATUS_OK);
        return;
    }
    end_groups(engine, s, s->stage);
    mts_status status = submit_rest(engine, s, &s->error);
    MTS_TRY(status, seal(engine, s, &s->error));
    if (drain_on_error(engine, status) != MTS_STATUS_OK) {
        finish(engine, s, status);
    }
}

/* Looks at the submissions on the device in their order, until one has not finished. */
static void look(mts_engine *engine)
{
    for (uint32_t i = 0; i < engine->submissions.used; i++) {
        mts_submission *s = engine->submissions.queue[i];
        while (s->state == MTS_SUBMISSION_RUNNING) {
            bool reached = false;
            const mts_status status = mts_timeline_reached(engine->device, s->timeline, &reached, &s->error);
            if (status != MTS_STATUS_OK) {
                end_failed(engine, s, status);
            } else if (reached) {
                go_on(engine, s);
            } else {
                return;
            }
        }
    }
}

void mts_submissions_settle(mts_engine *engine)
{
    for (uint32_t i = 0; MTS_HAS_PERSISTENT && i < engine->submissions.used; i++) {
        const mts_submission *s = engine->submissions.queue[i];
        while (s->state == MTS_SUBMISSION_RUNNING && s->persistent) {
            (void)mts_timeline_wait(engine->device, s->timeline, NULL); /* a failure shows below */
            look(engine);
        }
    }
}

/* Whether the device takes another run: it has fewer than it may, and none that is
   partially submitted. */
static bool device_has_room(const mts_engine *engine)
{
    const mts_submissions *all = &engine->submissions;
    bool partial = false;
#ifndef MTS_SMALL
    partial = all->held;
#endif
    for (uint32_t i = 0; i < all->used; i++) {
        partial = partial || is_partial(engine, all->queue[i]);
    }
    /* A run that may have to be repeated needs its inputs until it has ended. */
    const uint32_t depth = MTS_HAS_PERSISTENT && engine->persistent.on ? 1 : all->depth;
    return !partial && mts_submissions_count(all, MTS_SUBMISSION_RUNNING) < depth;
}

void mts_engine_advance(mts_engine *engine)
{
    look(engine);
    for (uint32_t i = 0; i < engine->submissions.used && device_has_room(engine); i++) {
        mts_submission *s = engine->submissions.queue[i];
        if (s->state == MTS_SUBMISSION_WAITING) {
            const mts_status status = start(engine, s, &s->error);
            if (status != MTS_STATUS_OK) {
                finish(engine, s, status);
            }
        }
    }
}

/* ---- free: waiting or running ---- */

/* Whether nothing is on the device, of any session: a blocking copy does not wait
   then. */
static bool is_idle(const mts_engine *engine)
{
    bool reached = false;
    return mts_submissions_count(&engine->submissions, MTS_SUBMISSION_RUNNING) == 0 &&
           mts_timeline_reached(engine->device, engine->device->timeline_last, &reached, NULL) ==
               MTS_STATUS_OK &&
           reached;
}

bool mts_engine_can_start(const mts_engine *engine)
{
    return mts_engine_has_slot(engine) && device_has_room(engine) &&
           mts_submissions_count(&engine->submissions, MTS_SUBMISSION_WAITING) == 0;
}

/* The next submission is prepared: it starts, or waits for its turn. */
static mts_status enter(mts_engine *engine, mts_submission *s, bool has_frame, mts_error *error)
{
    s->has_frame = has_frame;
    s->submitted = mts_os_clock_ns();
    s->number = engine->submissions.last + 1;
    s->cancelled = false;
#ifndef MTS_SMALL
    s->link_slot = engine->links.next;
#endif
    if (mts_engine_can_start(engine)) {
        const mts_status status = start(engine, s, error);
        if (status != MTS_STATUS_OK) { /* nothing is on the device any more */
            s->state = MTS_SUBMISSION_FREE;
            s->split = NULL;
            s->pinned_early = false;
            mts_frame_unpin(&s->staged, &engine->frames);
            return status;
        }
    } else {
        s->state = MTS_SUBMISSION_WAITING;
    }
    engine->submissions.last++;
    engine->submissions.used++;
    return MTS_STATUS_OK;
}

mts_status mts_engine_submit(mts_engine *engine, mts_error *error)
{
    const mts_submissions *all = &engine->submissions;
    mts_engine_advance(engine);
    if (!mts_engine_has_slot(engine)) {
        return mts_submissions_no_slot(all->slots, error);
    }
    if (!mts_engine_can_start(engine)) {
        return mts_fail(error, MTS_STATUS_BUSY,
                        "inputs as they are cannot wait, and %" PRIu32 " runs come before this one",
                        all->used);
    }
    return enter(engine, all->queue[all->used], false, error);
}

mts_status mts_engine_check_frames(const mts_engine *engine, mts_error *error)
{
    if (engine->options.zero_copy_inputs) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "the inputs of this session are the caller's tensors: it takes no frames");
    }
    return engine->frames.desc.input_count > 0
               ? MTS_STATUS_OK
               : mts_fail(
                     error, MTS_STATUS_INVALID_ARGUMENT,
                     "no task of this session takes frames: give its color, mean and std to the compiler, "
                     "or set tensors");
}

mts_status mts_engine_submit_frame(mts_engine *engine, const mts_frame_view *frame, mts_engine_drop *dropped,
                                   mts_error *error)
{
    const mts_submissions *all = &engine->submissions;
    mts_engine_advance(engine);
    *dropped = (mts_engine_drop){.run = 0};
    if (!mts_engine_has_slot(engine) && all->spare == 0) {
        return mts_submissions_no_slot(all->slots, error);
    }
    mts_submission *s = all->queue[all->used];
    const bool now = device_has_room(engine) && mts_submissions_count(all, MTS_SUBMISSION_WAITING) == 0;
    const mts_frame_way way = {.input = MTS_NONE, .alone = true, .now = now && is_idle(engine)};
    mts_status status = mts_engine_check_frames(engine, error);
    MTS_TRY(status, mts_frame_stage(&engine->frames, &s->staged, &way, frame, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (!mts_engine_has_slot(engine)) { /* only now that this frame is known to be good */
        (void)mts_engine_drop_oldest(engine, dropped);
    }
    return enter(engine, s, true, error);
}

/* ---- finished: free ---- */

mts_status mts_engine_wait_until(mts_engine *engine, uint64_t until, mts_error *error)
{
    const mts_submissions *all = &engine->submissions;
    uint64_t pause = 0;
    for (;;) {
        mts_engine_advance(engine);
        if (all->used == 0 || all->queue[0]->state == MTS_SUBMISSION_FINISHED) {
            return MTS_STATUS_OK;
        }
        mts_submission *oldest = all->queue[0]; /* it is on the device: no older one is before it */
        if (until == UINT64_MAX) {
            const mts_status status = mts_timeline_wait(engine->device, oldest->timeline, &oldest->error);
            if (status != MTS_STATUS_OK) {
                end_failed(engine, oldest, status);
            }
            continue;
        }
        const mts_status status = mts_submissions_pause(until, &pause, PAUSE_MOST_NS, error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
    }
}

/* The active tasks' outputs become those that the caller reads. */
static void take_outputs(mts_engine *engine, const mts_submission *s)
{
    const bool good = s->status == MTS_STATUS_OK || s->status == MTS_STATUS_CANCELLED;
    if (good) {
        mts_outputs_take(&engine->outputs, &engine->tasks, s->active, &s->readback);
    }
    for (uint32_t t = 0; t < engine->tasks.count; t++) {
        mts_engine_task *task = &engine->tasks.items[t];
        if (mts_task_is_active(s->active, t)) {
            task->output_run = good ? s->number : 0;
            if (good) {
                mts_latency_add(&task->latencies, s->group_ended[task->group] - s->submitted);
            }
        }
    }
}

mts_status mts_engine_take(mts_engine *engine, mts_error *error)
{
    const mts_submissions *all = &engine->submissions;
    if (all->used == 0 || all->queue[0]->state != MTS_SUBMISSION_FINISHED) {
        return mts_fail(error, MTS_STATUS_BUSY, "no run has finished");
    }
    mts_submission *s = all->queue[0];
    if (s->status != MTS_STATUS_OK && error) {
        *error = s->error;
    }
    take_outputs(engine, s);
    mts_submissions_free(engine, 0);
    return s->status;
}

#ifndef MTS_SMALL

mts_status mts_engine_discard(mts_engine *engine, mts_error *error)
{
    const mts_submissions *all = &engine->submissions;
    if (all->used == 0 || all->queue[0]->state != MTS_SUBMISSION_FINISHED) {
        return mts_fail(error, MTS_STATUS_BUSY, "no run has finished");
    }
    const mts_status status = all->queue[0]->status;
    if (status != MTS_STATUS_OK && error) {
        *error = all->queue[0]->error;
    }
    mts_submissions_free(engine, 0);
    return status;
}

#endif

mts_status mts_engine_wait(mts_engine *engine, mts_error *error)
{
    if (engine->submissions.used == 0) {
        return MTS_STATUS_OK;
    }
    const mts_status status = mts_engine_wait_until(engine, UINT64_MAX, error);
    return status == MTS_STATUS_OK ? mts_engine_take(engine, error) : status;
}

/* The oldest submission that is not on the device; used: none. */
static uint32_t oldest_to_drop(const mts_submissions *all)
{
    uint32_t i = 0;
    while (i < all->used && all->queue[i]->state == MTS_SUBMISSION_RUNNING) {
        i++;
    }
    return i;
}

bool mts_engine_can_start_by_drop(const mts_engine *engine)
{
    const mts_submissions *all = &engine->submissions;
    const uint32_t oldest = oldest_to_drop(all);
    const bool waits = oldest < all->used && all->queue[oldest]->state == MTS_SUBMISSION_WAITING;
    return oldest < all->used && device_has_room(engine) &&
           mts_submissions_count(all, MTS_SUBMISSION_WAITING) == (waits ? 1u : 0u);
}

bool mts_engine_drop_oldest(mts_engine *engine, mts_engine_drop *dropped)
{
    const uint32_t oldest = oldest_to_drop(&engine->submissions);
    if (oldest == engine->submissions.used) {
        return false;
    }
    const mts_submission *s = engine->submissions.queue[oldest];
    const bool failed = s->state == MTS_SUBMISSION_FINISHED && s->status != MTS_STATUS_OK &&
                        s->status != MTS_STATUS_CANCELLED;
    *dropped = (mts_engine_drop){.run = s->number, .status = failed ? s->status : MTS_STATUS_CANCELLED};
    mts_submissions_free(engine, oldest);
    return true;
}

bool mts_engine_cancel(mts_engine *engine, uint64_t run)
{
    mts_submission *s = mts_submissions_find(&engine->submissions, run);
    if (s) {
        s->cancelled = true;
    }
    return s;
}

bool mts_engine_withdraw(mts_engine *engine, uint64_t run)
{
    const mts_submissions *all = &engine->submissions;
    for (uint32_t i = 0; i < all->used; i++) {
        if (all->queue[i]->number == run && all->queue[i]->state == MTS_SUBMISSION_WAITING) {
            mts_submissions_free(engine, i);
            return true;
        }
    }
    return false;
}

void mts_engine_stop(mts_engine *engine)
{
    (void)mts_device_wait(engine->device, NULL);
    for (uint32_t i = 0; i < engine->submissions.used; i++) {
        if (engine->submissions.queue[i]->state != MTS_SUBMISSION_FINISHED) {
            finish(engine, engine->submissions.queue[i], MTS_STATUS_CANCELLED);
        }
    }
}

bool mts_engine_holds(const mts_engine *engine, uint64_t run)
{
    return mts_submissions_find(&engine->submissions, run);
}

bool mts_engine_has_slot(const mts_engine *engine)
{
    return engine->submissions.used < engine->submissions.slots;
}
