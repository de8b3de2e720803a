/*
 * carry.c: see carry.h.
 */
#include "engine/carry.h"

#ifndef MTS_SMALL

#include <string.h>

#include "engine/state.h"

/* ---- inputs ---- */

static mts_status copy_slot(const mts_engine *from, const mts_input_slot *a, const mts_engine *to,
                            const mts_input_slot *b, void *memory, mts_error *error)
{
    const size_t size = mts_precision_size(from->stats.precision);
    const size_t bytes = a->count * size;
    mts_status status = mts_buffer_read(from->launches.act, (size_t)a->offset * size, memory, bytes, error);
    MTS_TRY(status, mts_buffer_write(to->launches.act, (size_t)b->offset * size, memory, bytes, error));
    return status;
}

/* Which inputs go over. */
typedef enum carried {
    SET,     /* that the caller has set and no frame fills */
    SET_ANY, /* that the caller has set */
    FRAMES   /* that frames fill, but for those that the caller has set since in the engine they go to */
} carried;

static bool is_carried(const mts_input_slot *slot, carried which)
{
    return which == FRAMES ? slot->frame_input != MTS_NONE
                           : slot->set && (which == SET_ANY || slot->frame_input == MTS_NONE);
}

static mts_status carry_slots(mts_engine *from, mts_engine *to, carried which, void *memory, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; t < to->tasks.count; t++) {
        const mts_engine_task *task = &to->tasks.items[t];
        const mts_engine_task *old = mts_tasks_find(&from->tasks, task->task);
        for (uint32_t i = 0; old && status == MTS_STATUS_OK && i < task->input_count && i < old->input_count;
             i++) {
            const mts_input_slot *a = &from->inputs.slots.items[old->inputs[i].slot];
            mts_input_slot *b = &to->inputs.slots.items[task->inputs[i].slot];
            if (is_carried(a, which) && a->count == b->count && !b->set) {
                status = copy_slot(from, a, to, b, memory, error);
                b->set = status == MTS_STATUS_OK; /* several tasks may read it */
            }
        }
    }
    return status;
}

static mts_status carry_inputs(mts_engine *from, mts_engine *to, carried which, mts_error *error)
{
    bool any = false;
    for (uint32_t s = 0; s < from->inputs.slots.count; s++) {
        any = any || is_carried(&from->inputs.slots.items[s], which);
    }
    if (!any) {
        return MTS_STATUS_OK;
    }
    void *memory = mts_alloc_raw(from->allocator, mts_engine_largest_input(from), sizeof(float));
    if (!memory) {
        return mts_fail_memory(error);
    }
    const mts_status status = carry_slots(from, to, which, memory, error);
    mts_alloc_free(from->allocator, memory);
    return status;
}

mts_status mts_engine_carry_frame(mts_engine *from, mts_engine *to, mts_error *error)
{
    return carry_inputs(from, to, FRAMES, error);
}

/* ---- settings ---- */

static void carry_regions(const mts_engine *from, mts_engine *to, uint32_t a, uint32_t b)
{
    const mts_frame_list *own = &from->frames.lists[a];
    const mts_frame_list *other = &to->frames.lists[b];
    for (uint32_t i = 0; i < own->count && i < other->count; i++) {
        const mts_frame_image *image = &from->frames.images[own->first + i];
        to->frames.images[other->first + i].region = image->region;
        to->frames.images[other->first + i].show = image->show;
    }
}

static void carry_settings(const mts_engine *from, mts_engine *to)
{
    for (uint32_t t = 0; t < to->tasks.count; t++) {
        mts_engine_task *task = &to->tasks.items[t];
        const mts_engine_task *old = mts_tasks_find(&from->tasks, task->task);
        if (!old) {
            continue;
        }
        task->schedule = old->schedule;
        if (task->input_count == 0 || old->input_count == 0) {
            continue;
        }
        const uint32_t a = from->inputs.slots.items[old->inputs[0].slot].frame_input;
        const uint32_t b = to->inputs.slots.items[task->inputs[0].slot].frame_input;
        if (a != MTS_NONE && b != MTS_NONE) {
            carry_regions(from, to, a, b);
        }
    }
}

/* What the engine has written to a section that it shares is found by later engines from now on. Not
   before: until the engine is the session's, its archive may go, and block numbers and addresses with
   it. */
static void keep_weights(mts_launches *launches)
{
    if (launches->grown_store) {
        const mts_weights_index old = launches->grown_store->index;
        launches->grown_store->index = launches->grown;
        launches->grown_store = NULL;
        launches->grown = old; /* goes with the engine */
    }
}

mts_status mts_engine_carry(mts_engine *from, mts_engine *to, bool no_frames, mts_error *error)
{
    const mts_status status = carry_inputs(from, to, no_frames ? SET_ANY : SET, error);
    if (status == MTS_STATUS_OK) {
        keep_weights(&to->launches);
        carry_settings(from, to);
        to->submissions.last = from->submissions.last;
        to->submissions.deadline_ms = from->submissions.deadline_ms;
    }
    return status;
}

void mts_engine_carry_outputs(const mts_engine *from, mts_engine *to)
{
    for (uint32_t t = 0; t < to->tasks.count; t++) {
        mts_engine_task *task = &to->tasks.items[t];
        const mts_engine_task *old = mts_tasks_find(&from->tasks, task->task);
        if (!old) {
            continue;
        }
        task->latencies = old->latencies;
        task->output_run = old->output_run;
        for (uint32_t o = 0; old->output_run != 0 && o < task->output_count && o < old->output_count; o++) {
            mts_outputs_carry(&from->outputs, &old->outputs[o], &to->outputs, &task->outputs[o]);
        }
    }
    to->outputs.valid = from->outputs.valid;
}

/* ---- submissions ---- */

bool mts_engine_has(const mts_engine *engine, mts_submission_state state)
{
    return mts_submissions_count(&engine->submissions, state) > 0;
}

uint32_t mts_engine_slots(const mts_engine *engine)
{
    return engine->submissions.slots;
}

bool mts_engine_drops(const mts_engine *engine)
{
    return engine->submissions.spare > 0;
}

void mts_engine_pause(mts_engine *engine, bool held)
{
    engine->submissions.held = held;
}

#endif
