/*
 * parts.c: runs on their way through the parts: begun, handed on, ended. Each step is
 * small and is tried at every call; none waits for a device.
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include <string.h>

#include "pipeline/state.h"
#include "platform/os/os.h"

static uint32_t bit(uint32_t part)
{
    return 1u << part;
}

static bool is_last(const mts_pipeline *p, uint32_t part)
{
    return part + 1 == p->now->plan.partition.part_count;
}

/* The run that is the oldest one of a part's engine; *finished: there. */
static mts_pipeline_run *oldest_in(const mts_pipeline *p, uint32_t part, bool *finished)
{
    mts_engine_run oldest = {0};
    *finished = mts_engine_oldest(p->now->engines[part], &oldest) && oldest.finished;
    for (uint32_t i = 0; oldest.number != 0 && i < p->used; i++) {
        mts_pipeline_run *run = p->queue[i];
        if (run->in_part[part] == oldest.number && (run->taken & bit(part)) == 0) {
            return run;
        }
    }
    return NULL;
}

static bool finished_in(const mts_pipeline *p, const mts_pipeline_run *run, uint32_t part)
{
    bool finished = false;
    return (run->begun & bit(part)) != 0 && oldest_in(p, part, &finished) == run && finished;
}

bool mts_pipeline_run_finished(const mts_pipeline *p, const mts_pipeline_run *run)
{
    const uint32_t count = p->now->plan.partition.part_count;
    if (run->over) {
        return true;
    }
    bool all = true;
    for (uint32_t i = mts_pipeline_is_chain(p) ? count - 1 : 0; all && i < count; i++) {
        /* A part that a failed run does not begin any more is not waited for. */
        all = (run->failed && (run->begun & ~run->taken & bit(i)) == 0) || finished_in(p, run, i);
    }
    return all;
}

void mts_pipeline_end(mts_pipeline *p, mts_pipeline_run *run, uint32_t part, mts_status status,
                      const mts_error *error)
{
    run->failed = true;
    run->over = (run->begun & ~run->taken) == 0;
    run->status = status;
    run->error = *error;
    if (status != MTS_STATUS_CANCELLED) {
        const uint32_t device = p->now->plan.partition.parts[part].device;
        (void)mts_fail_prefix(&run->error, status, "part %u of %u, on device '%s'", part + 1,
                              p->now->plan.partition.part_count, p->ids[device]);
    }
}

/* ---- active tasks ---- */

void mts_pipeline_choose(mts_pipeline *p, mts_pipeline_run *run)
{
    if (!run->chosen) {
        const uint64_t now = mts_os_clock_ns();
        mts_schedule_choose(&p->schedule, now, run->active);
        mts_schedule_count(&p->schedule, now, run->active);
        run->chosen = true;
    }
}

void mts_pipeline_activate(mts_pipeline *p, const mts_pipeline_run *run, uint32_t part)
{
    const mts_part *what = &p->now->plan.partition.parts[part];
    for (uint32_t k = 0; k < what->archive->task_count; k++) {
        bool active = false;
        for (uint32_t t = 0; !active && t < p->task_count; t++) {
            active = mts_task_is_active(run->active, t) && what->needed[t][k];
        }
        (void)mts_engine_enable(p->now->engines[part], k, active, NULL);
    }
}

/* A part has ended: tasks that it left out, for the deadline, are so in the parts to come. */
static void leave_out(mts_pipeline *p, mts_pipeline_run *run, uint32_t part)
{
    const mts_part *what = &p->now->plan.partition.parts[part];
    for (uint32_t k = 0; k < what->archive->task_count; k++) {
        uint64_t ran = 0;
        (void)mts_engine_output_run(p->now->engines[part], k, &ran, NULL);
        for (uint32_t t = 0; ran != run->in_part[part] && t < p->task_count; t++) {
            if (what->needed[t][k]) {
                run->active[t / 32] &= ~(1u << t % 32);
            }
        }
    }
}

/* ---- from part to part ---- */

/* The oldest run of a part has finished, and its outputs stay in its slot: the run refers to the
   links there, and gets the early outputs. */
static void refer_to_outputs(mts_pipeline *p, mts_pipeline_run *run, uint32_t part)
{
    const mts_part *what = &p->now->plan.partition.parts[part];
    const mts_engine *engine = p->now->engines[part];
    for (uint32_t k = 0; k < what->archive->task_count; k++) {
        for (uint32_t o = 0; o < what->archive->tasks[k].graph->output_count; o++) {
            const mts_part_port *port = &what->outputs[k][o];
            if (port->link != MTS_NONE) {
                run->link_data[port->link] = mts_engine_moved_output(engine, k, o);
            } else {
                mts_engine_copy_moved(engine, k, o, run->early + p->now->early[what->tasks[k]][port->own].at);
            }
        }
    }
}

/* Copies the links and the early outputs of a part that was taken into the run. */
static void store_outputs(mts_pipeline *p, mts_pipeline_run *run, uint32_t part)
{
    const mts_part *what = &p->now->plan.partition.parts[part];
    for (uint32_t k = 0; k < what->archive->task_count; k++) {
        const mts_graph *graph = what->archive->tasks[k].graph;
        uint64_t ran = 0;
        (void)mts_engine_output_run(p->now->engines[part], k, &ran, NULL);
        for (uint32_t o = 0; ran == run->in_part[part] && o < graph->output_count; o++) {
            const mts_part_port *port = &what->outputs[k][o];
            const void *data = NULL;
            size_t size = 0;
            if (mts_engine_output(p->now->engines[part], k, o, &data, &size, NULL) != MTS_STATUS_OK) {
                continue;
            }
            if (port->link != MTS_NONE) {
                run->link_data[port->link] = run->links + p->now->link_at[port->link];
                memcpy(run->links + p->now->link_at[port->link], data, size);
            } else {
                memcpy(run->early + p->now->early[what->tasks[k]][port->own].at, data, size);
            }
        }
    }
}

static mts_status link_inputs(mts_pipeline *p, const mts_pipeline_run *run, uint32_t part, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < p->now->feed_counts[part]; i++) {
        const mts_pipeline_feed *feed = &p->now->feeds[part][i];
        status =
            mts_engine_link_input(p->now->engines[part], feed->task, feed->input, run->link_data[feed->link],
                                  run->halves + p->now->link_at[feed->link], error);
    }
    return status;
}

static bool has_room(const mts_pipeline *p, uint32_t part)
{
    mts_engine *engine = p->now->engines[part];
    mts_engine_hold(engine, false);
    const bool room = mts_engine_can_start(engine) && (is_last(p, part) || !mts_pipeline_is_chain(p) ||
                                                       mts_engine_begun(engine) < p->part_slots);
    mts_engine_hold(engine, true);
    return room;
}

/* Starts a run at a part that is not the first. */
static void begin_next(mts_pipeline *p, mts_pipeline_run *run, uint32_t part)
{
    mts_engine *engine = p->now->engines[part];
    mts_error error = {0};
    mts_pipeline_activate(p, run, part);
    mts_engine_use_slot(engine, mts_pipeline_slot(p, run));
    mts_status status = link_inputs(p, run, part, &error);
    mts_engine_hold(engine, false);
    MTS_TRY(status, mts_engine_submit(engine, &error));
    mts_engine_hold(engine, true);
    if (status != MTS_STATUS_OK) {
        (void)mts_device_wait(p->devices[p->now->plan.partition.parts[part].device], NULL);
        mts_pipeline_end(p, run, part, status, &error);
        return;
    }
    run->begun |= bit(part);
    run->in_part[part] = ++p->now->numbers[part];
}

/* Hands the oldest run of a part to the next one, if it has finished and there is room.
   False: nothing was done. */
static bool hand_on(mts_pipeline *p, uint32_t part)
{
    bool finished = false;
    mts_pipeline_run *run = oldest_in(p, part, &finished);
    if (!run || !finished || (!run->cancelled && !has_room(p, part + 1))) {
        return false;
    }
    mts_error error = {0};
    mts_engine *engine = p->now->engines[part];
    const bool moved = mts_engine_is_moved(engine);
    if (moved) {
        refer_to_outputs(p, run, part);
    }
    mts_status status = moved ? mts_engine_discard(engine, &error) : mts_engine_take(engine, &error);
    run->taken |= bit(part);
    if (status == MTS_STATUS_OK && run->cancelled) {
        status = mts_fail(&error, MTS_STATUS_CANCELLED, "the run was cancelled");
    }
    if (status != MTS_STATUS_OK) {
        mts_pipeline_end(p, run, part, status, &error);
        return true;
    }
    if (!moved) {
        store_outputs(p, run, part);
        leave_out(p, run, part);
    }
    begin_next(p, run, part + 1);
    return true;
}

/* ---- at the parts that take inputs ---- */

static uint32_t count_begun(const mts_pipeline *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->used; i++) {
        count += p->queue[i]->begun != 0 && !mts_pipeline_run_finished(p, p->queue[i]) ? 1 : 0;
    }
    return count;
}

static mts_pipeline_run *next_waiting(const mts_pipeline *p, uint32_t part)
{
    for (uint32_t i = 0; i < p->used; i++) {
        mts_pipeline_run *run = p->queue[i];
        if (!run->failed && run->has_frame && (run->begun & bit(part)) == 0 && run->in_part[part] != 0) {
            return run;
        }
    }
    return NULL;
}

/* Whether a part that takes inputs has room for one more run. */
static bool has_root_room(const mts_pipeline *p, uint32_t part, const mts_pipeline_run *run)
{
    const bool chain = mts_pipeline_is_chain(p);
    const bool counted = run && run->begun != 0;
    return (counted || count_begun(p) < p->begun_most) &&
           (!chain || is_last(p, part) || mts_engine_begun(p->now->engines[part]) < p->part_slots);
}

static void begin_waiting(mts_pipeline *p, uint32_t part)
{
    mts_engine *engine = p->now->engines[part];
    mts_pipeline_run *run = next_waiting(p, part);
    while (run && has_root_room(p, part, run)) {
        mts_pipeline_choose(p, run);
        mts_pipeline_activate(p, run, part);
        mts_engine_hold(engine, false);
        mts_engine_advance(engine);
        mts_engine_hold(engine, true);
        if (mts_engine_waits(engine, run->in_part[part])) {
            return; /* its device has no room */
        }
        run->begun |= bit(part);
        run = next_waiting(p, part);
    }
}

bool mts_pipeline_has_waiting(const mts_pipeline *p)
{
    bool waits = false;
    for (uint32_t i = 0; i < p->now->plan.partition.part_count; i++) {
        waits = waits || (mts_pipeline_is_root(p, i) && next_waiting(p, i));
    }
    return waits;
}

bool mts_pipeline_may_begin(const mts_pipeline *p)
{
    for (uint32_t i = 0; i < p->now->plan.partition.part_count; i++) {
        if (mts_pipeline_is_root(p, i) &&
            (next_waiting(p, i) || !has_root_room(p, i, NULL) || !has_room(p, i))) {
            return false;
        }
    }
    return !p->stopped;
}

void mts_pipeline_move(mts_pipeline *p)
{
    const uint32_t count = p->now->plan.partition.part_count;
    for (uint32_t i = 0; i < count; i++) {
        mts_engine_advance(p->now->engines[i]);
    }
    bool moved = !p->stopped;
    while (moved) {
        moved = false;
        for (uint32_t i = count - 1; mts_pipeline_is_chain(p) && i-- > 0;) {
            moved = hand_on(p, i) || moved;
        }
    }
    for (uint32_t i = 0; !p->stopped && i < count; i++) {
        if (mts_pipeline_is_root(p, i)) {
            begin_waiting(p, i);
        }
    }
    for (uint32_t i = 0; i < p->used; i++) {
        mts_pipeline_run *run = p->queue[i];
        if (run->finished == 0 && mts_pipeline_run_finished(p, run)) {
            run->finished = mts_os_clock_ns();
        }
    }
}

mts_status mts_pipeline_take_parts(mts_pipeline *p, mts_pipeline_run *run, bool keep, mts_error *error)
{
    const uint32_t count = p->now->plan.partition.part_count;
    mts_status first = run->status; /* it may have failed before its parts came to an end */
    for (uint32_t i = 0; i < count; i++) {
        mts_error own = {0};
        if (!finished_in(p, run, i)) {
            continue;
        }
        mts_engine *engine = p->now->engines[i];
        const mts_status status = keep ? mts_engine_take(engine, &own) : mts_engine_discard(engine, &own);
        run->taken |= bit(i);
        if (keep && (status == MTS_STATUS_OK || status == MTS_STATUS_CANCELLED)) {
            leave_out(p, run, i);
        }
        if (status != MTS_STATUS_OK && (first == MTS_STATUS_OK || first == MTS_STATUS_CANCELLED)) {
            mts_pipeline_end(p, run, i, status, &own);
            first = status;
        }
    }
    if (first != MTS_STATUS_OK && error) {
        *error = run->error;
    }
    return first;
}

#endif
