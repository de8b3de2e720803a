/*
 * submission.c: runs from submission to the hands of whoever asks for their outputs. Each call looks at what has
 * finished and gives the device its next run; nothing happens between calls. Not responsible for what a run
 * consists of (control.c) nor for its outputs (outputs.c).
 */
#include <inttypes.h>
#include <string.h>

#include "device/timeline.h"
#include "engine/control.h"
#include "engine/engine_internal.h"
#include "platform/os/os.h"

#define PAUSE_LEAST_NS 20000u
#define PAUSE_MOST_NS 500000u

mts_status mts_flights_make(mts_engine *engine, mts_error *error)
{
    const size_t size = mts_precision_size(engine->stats.precision);
    const uint32_t count = engine->places + engine->spare;
    engine->flights = mts_arena_zero(&engine->arena, count, sizeof *engine->flights);
    engine->queue = mts_arena_zero(&engine->arena, count, sizeof(engine_flight *));
    bool made = engine->flights && engine->queue;
    for (uint32_t f = 0; made && f < count; f++) {
        engine_flight *flight = &engine->flights[f];
        engine->queue[f] = flight;
        flight->ran = mts_arena_zero(&engine->arena, engine->subsets.words, sizeof *flight->ran);
        flight->ended = mts_arena_zero(&engine->arena, engine->group_count, sizeof *flight->ended);
        made = flight->ran && flight->ended;
        mts_status code = MTS_STATUS_OK;
        if (made && engine->output_floats > 0) {
            code = mts_host_create(engine->device, engine->output_floats * size, &flight->outputs, error);
        }
        if (made && code == MTS_STATUS_OK && engine->input_floats > 0) {
            code = mts_host_create(engine->device, engine->input_floats * size, &flight->inputs, error);
        }
        if (made) {
            MTS_TRY(code, mts_staged_frame_create(&flight->staged, &engine->frames, error));
        }
        if (code != MTS_STATUS_OK) {
            return code;
        }
    }
    return made ? MTS_STATUS_OK : mts_fail_memory(error);
}

void mts_flights_release(mts_engine *engine)
{
    for (uint32_t f = 0; engine->flights && f < engine->places + engine->spare; f++) {
        mts_staged_frame_release(&engine->flights[f].staged, &engine->frames);
        mts_host_destroy(engine->device, &engine->flights[f].outputs);
        mts_host_destroy(engine->device, &engine->flights[f].inputs);
    }
}

/* ---- the queue ---- */

static uint32_t count_state(const mts_engine *engine, engine_flight_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < engine->used; i++) {
        count += engine->queue[i]->state == state ? 1 : 0;
    }
    return count;
}

bool mts_flights_on_device(const mts_engine *engine)
{
    return count_state(engine, MTS_FLIGHT_RUNNING) > 0;
}

uint32_t mts_flight_tasks(const mts_engine *engine, const engine_flight *flight)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < engine->task_count; t++) {
        count += mts_flight_runs(flight, t) ? 1 : 0;
    }
    return count;
}

static mts_status no_place(const mts_engine *engine, mts_error *error)
{
    return engine->places == 1 ? mts_fail(error, MTS_STATUS_BUSY, "the previous run has not been waited for")
                               : mts_fail(error, MTS_STATUS_BUSY,
                                          "%" PRIu32 " runs are under way or were not taken", engine->places);
}

engine_flight *mts_flight_next(const mts_engine *engine, mts_error *error)
{
    if (engine->used == engine->places) {
        (void)no_place(engine, error);
        return NULL;
    }
    if (count_state(engine, MTS_FLIGHT_WAITING) > 0) {
        (void)mts_fail(error, MTS_STATUS_BUSY, "a frame waits for its turn, and would see this input");
        return NULL;
    }
    return engine->queue[engine->used];
}

/*
 * Its place becomes the last free one: the next one stays what it was, with whatever was done for the next
 * submission already.
 */
static void remove_at(mts_engine *engine, uint32_t index)
{
    const uint32_t last = engine->places + engine->spare - 1;
    engine_flight *flight = engine->queue[index];
    if (flight->state == MTS_FLIGHT_WAITING && flight->early) {
        (void)mts_device_wait(engine->device, NULL); /* what it borrowed may be read at this moment */
    }
    memmove(&engine->queue[index], &engine->queue[index + 1], (last - index) * sizeof(engine_flight *));
    engine->queue[last] = flight;
    engine->used--;
    flight->state = MTS_FLIGHT_FREE;
    flight->early = false;
    mts_frame_unpin(&flight->staged, &engine->frames);
}

static engine_flight *find_run(const mts_engine *engine, uint64_t run)
{
    for (uint32_t i = 0; i < engine->used; i++) {
        if (engine->queue[i]->run == run) {
            return engine->queue[i];
        }
    }
    return NULL;
}

/* ---- on the device ---- */

static void end_groups(const mts_engine *engine, engine_flight *flight, uint32_t before)
{
    const uint64_t now = mts_os_clock_ns();
    for (uint32_t g = 0; g < before && g < engine->group_count; g++) {
        flight->ended[g] = flight->ended[g] != 0 ? flight->ended[g] : now;
    }
}

static void finish(mts_engine *engine, engine_flight *flight, mts_status code)
{
    end_groups(engine, flight, engine->group_count);
    flight->state = MTS_FLIGHT_FINISHED;
    flight->current = NULL;
    flight->code = code;
    if (code == MTS_STATUS_OK && flight->cancelled) {
        flight->code = mts_fail(&flight->error, MTS_STATUS_CANCELLED, "the run was cancelled");
    }
    mts_frame_unpin(&flight->staged, &engine->frames);
}

/* Behind what was handed over: the way of the outputs, once all of it was, and the fence. */
static mts_status seal(mts_engine *engine, engine_flight *flight, mts_error *error)
{
    const mts_status code =
        mts_control_is_parted(engine, flight) ? MTS_STATUS_OK : mts_outputs_fetch(engine, flight, error);
    return code != MTS_STATUS_OK ? code : mts_timeline_signal(engine->device, &flight->fence, error);
}

/* Nobody will wait for what was enqueued before a failure. */
static mts_status settle(const mts_engine *engine, mts_status code)
{
    if (code != MTS_STATUS_OK) {
        (void)mts_device_wait(engine->device, NULL);
    }
    return code;
}

static mts_status start(mts_engine *engine, engine_flight *flight, mts_error *error)
{
    mts_control_choose(engine, flight); /* first: a run that fails from here on is one of these tasks */
    memset(flight->ended, 0, engine->group_count * sizeof *flight->ended);
    mts_status code =
        flight->has_frame ? mts_frame_submit(&engine->frames, &flight->staged, error) : MTS_STATUS_OK;
    MTS_TRY(code, mts_control_begin(engine, flight, error));
    MTS_TRY(code, seal(engine, flight, error));
    if (code == MTS_STATUS_OK) {
        mts_control_count(engine, flight);
    }
    flight->state = MTS_FLIGHT_RUNNING;
    return settle(engine, code);
}

/* A flight on the device whose fence has passed: over, or its next groups. */
static void go_on(mts_engine *engine, engine_flight *flight)
{
    if (!mts_control_is_parted(engine, flight)) {
        finish(engine, flight, MTS_STATUS_OK);
        return;
    }
    end_groups(engine, flight, flight->stage);
    mts_status code = mts_control_go_on(engine, flight, &flight->error);
    MTS_TRY(code, seal(engine, flight, &flight->error));
    if (settle(engine, code) != MTS_STATUS_OK) {
        finish(engine, flight, code);
    }
}

/* Looks at the runs on the device in their order, until one has not finished. */
static void look(mts_engine *engine)
{
    for (uint32_t i = 0; i < engine->used; i++) {
        engine_flight *flight = engine->queue[i];
        while (flight->state == MTS_FLIGHT_RUNNING) {
            bool passed = false;
            const mts_status code =
                mts_timeline_reached(engine->device, flight->fence, &passed, &flight->error);
            if (code != MTS_STATUS_OK) {
                finish(engine, flight, settle(engine, code));
            } else if (passed) {
                go_on(engine, flight);
            } else {
                return;
            }
        }
    }
}

/* Whether the device takes another run: it holds fewer than it may, and none whose groups come one by one. */
static bool has_room(const mts_engine *engine)
{
    bool parted = false;
    for (uint32_t i = 0; i < engine->used; i++) {
        parted = parted || mts_control_is_parted(engine, engine->queue[i]);
    }
    return !parted && count_state(engine, MTS_FLIGHT_RUNNING) < engine->depth;
}

void mts_engine_advance(mts_engine *engine)
{
    look(engine);
    for (uint32_t i = 0; i < engine->used && has_room(engine); i++) {
        engine_flight *flight = engine->queue[i];
        if (flight->state == MTS_FLIGHT_WAITING) {
            const mts_status code = start(engine, flight, &flight->error);
            if (code != MTS_STATUS_OK) {
                finish(engine, flight, code);
            }
        }
    }
}

/* ---- submissions ---- */

/* Whether nothing at all is on the device, of any session: a blocking copy waits for nobody then. */
static bool is_idle(const mts_engine *engine)
{
    bool passed = false;
    return !mts_flights_on_device(engine) &&
           mts_timeline_reached(engine->device, engine->device->timeline_last, &passed, NULL) ==
               MTS_STATUS_OK &&
           passed;
}

bool mts_engine_takes_run(const mts_engine *engine)
{
    return engine->used < engine->places && has_room(engine) && count_state(engine, MTS_FLIGHT_WAITING) == 0;
}

/* Of the next flight, which is prepared: it begins, or waits for its turn. */
static mts_status enter(mts_engine *engine, engine_flight *flight, bool has_frame, mts_error *error)
{
    flight->has_frame = has_frame;
    flight->submitted = mts_os_clock_ns();
    flight->run = engine->run + 1;
    flight->cancelled = false;
    if (mts_engine_takes_run(engine)) {
        const mts_status code = start(engine, flight, error);
        if (code != MTS_STATUS_OK) { /* nothing is on the device any more */
            flight->state = MTS_FLIGHT_FREE;
            flight->current = NULL;
            flight->early = false;
            mts_frame_unpin(&flight->staged, &engine->frames);
            return code;
        }
    } else {
        flight->state = MTS_FLIGHT_WAITING;
    }
    engine->run++;
    engine->used++;
    return MTS_STATUS_OK;
}

mts_status mts_engine_submit(mts_engine *engine, mts_error *error)
{
    mts_engine_advance(engine);
    if (engine->used == engine->places) {
        return no_place(engine, error);
    }
    if (!mts_engine_takes_run(engine)) {
        return mts_fail(error, MTS_STATUS_BUSY,
                        "inputs as they are cannot wait, and %" PRIu32 " runs come before this one",
                        engine->used);
    }
    return enter(engine, engine->queue[engine->used], false, error);
}

mts_status mts_engine_check_frames(const mts_engine *engine, mts_error *error)
{
    if (engine->options.lend_inputs) {
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
    mts_engine_advance(engine);
    *dropped = (mts_engine_drop){.run = 0};
    if (engine->used == engine->places && engine->spare == 0) {
        return no_place(engine, error);
    }
    engine_flight *flight = engine->queue[engine->used];
    const bool now = has_room(engine) && count_state(engine, MTS_FLIGHT_WAITING) == 0;
    const mts_frame_way way = {.input = MTS_NONE, .alone = true, .now = now && is_idle(engine)};
    mts_status code = mts_engine_check_frames(engine, error);
    MTS_TRY(code, mts_frame_stage(&engine->frames, &flight->staged, &way, frame, error));
    if (code != MTS_STATUS_OK) {
        return code;
    }
    if (engine->used == engine->places) { /* only now that this one is known to be good */
        (void)mts_engine_drop_oldest(engine, dropped);
    }
    return enter(engine, flight, true, error);
}

/* ---- their end ---- */

bool mts_engine_oldest(const mts_engine *engine, mts_engine_run *out)
{
    if (engine->used == 0) {
        return false;
    }
    *out = (mts_engine_run){.number = engine->queue[0]->run,
                            .finished = engine->queue[0]->state == MTS_FLIGHT_FINISHED};
    return true;
}

mts_status mts_engine_wait_until(mts_engine *engine, uint64_t until, mts_error *error)
{
    uint64_t pause = PAUSE_LEAST_NS;
    for (;;) {
        mts_engine_advance(engine);
        if (engine->used == 0 || engine->queue[0]->state == MTS_FLIGHT_FINISHED) {
            return MTS_STATUS_OK;
        }
        engine_flight *oldest = engine->queue[0]; /* on the device: an older one would wait before it */
        if (until == UINT64_MAX) {
            const mts_status code = mts_timeline_wait(engine->device, oldest->fence, &oldest->error);
            if (code != MTS_STATUS_OK) {
                finish(engine, oldest, settle(engine, code));
            }
            continue;
        }
        const uint64_t now = mts_os_clock_ns();
        if (now >= until) {
            return mts_fail(error, MTS_STATUS_TIMEOUT, "the run has not finished in time; it goes on");
        }
        mts_os_sleep_ns(until - now < pause ? until - now : pause);
        pause = pause < PAUSE_MOST_NS ? 2 * pause : PAUSE_MOST_NS;
    }
}

mts_status mts_engine_take(mts_engine *engine, mts_error *error)
{
    if (engine->used == 0 || engine->queue[0]->state != MTS_FLIGHT_FINISHED) {
        return mts_fail(error, MTS_STATUS_BUSY, "no run has finished");
    }
    engine_flight *flight = engine->queue[0];
    if (flight->code != MTS_STATUS_OK && error) {
        *error = flight->error;
    }
    mts_outputs_take(engine, flight);
    remove_at(engine, 0);
    return flight->code;
}

mts_status mts_engine_wait(mts_engine *engine, mts_error *error)
{
    if (engine->used == 0) {
        return MTS_STATUS_OK;
    }
    const mts_status code = mts_engine_wait_until(engine, UINT64_MAX, error);
    return code != MTS_STATUS_OK ? code : mts_engine_take(engine, error);
}

bool mts_engine_drop_oldest(mts_engine *engine, mts_engine_drop *dropped)
{
    for (uint32_t i = 0; i < engine->used; i++) {
        const engine_flight *flight = engine->queue[i];
        if (flight->state != MTS_FLIGHT_RUNNING) {
            const bool failed = flight->state == MTS_FLIGHT_FINISHED && flight->code != MTS_STATUS_OK &&
                                flight->code != MTS_STATUS_CANCELLED;
            *dropped =
                (mts_engine_drop){.run = flight->run, .code = failed ? flight->code : MTS_STATUS_CANCELLED};
            remove_at(engine, i);
            return true;
        }
    }
    return false;
}

bool mts_engine_cancel(mts_engine *engine, uint64_t run)
{
    engine_flight *flight = find_run(engine, run);
    if (!flight) {
        return false;
    }
    flight->cancelled = true;
    return true;
}

bool mts_engine_withdraw(mts_engine *engine, uint64_t run)
{
    for (uint32_t i = 0; i < engine->used; i++) {
        if (engine->queue[i]->run == run && engine->queue[i]->state == MTS_FLIGHT_WAITING) {
            remove_at(engine, i);
            return true;
        }
    }
    return false;
}

bool mts_engine_holds(const mts_engine *engine, uint64_t run)
{
    return find_run(engine, run);
}

void mts_engine_stop(mts_engine *engine)
{
    (void)mts_device_wait(engine->device, NULL);
    for (uint32_t i = 0; i < engine->used; i++) {
        if (engine->queue[i]->state != MTS_FLIGHT_FINISHED) {
            finish(engine, engine->queue[i], MTS_STATUS_CANCELLED);
        }
    }
}

bool mts_engine_has_place(const mts_engine *engine)
{
    return engine->used < engine->places;
}

uint32_t mts_engine_under_way(const mts_engine *engine)
{
    return engine->used;
}
