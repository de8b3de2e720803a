/*
 * part.c: an engine as a part of a pipeline.
 */
#include "engine/part.h"

#ifndef MTS_SMALL

#include <inttypes.h>

#include "base/half.h"
#include "engine/state.h"

void mts_engine_hold(mts_engine *engine, bool held)
{
    engine->submissions.held = held;
    engine->submissions.part = true;
}

bool mts_engine_waits(const mts_engine *engine, uint64_t run)
{
    const mts_submission *s = mts_submissions_find(&engine->submissions, run);
    return s && s->state == MTS_SUBMISSION_WAITING;
}

uint32_t mts_engine_begun(const mts_engine *engine)
{
    const mts_submissions *all = &engine->submissions;
    return all->used - mts_submissions_count(all, MTS_SUBMISSION_WAITING);
}

mts_status mts_engine_link_input(mts_engine *engine, uint32_t task, uint32_t input, const float *floats,
                                 uint16_t *halves, mts_error *error)
{
    const mts_engine_task *t = mts_tasks_find(&engine->tasks, task);
    if (!t || input >= t->input_count) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "the part has no input %" PRIu32 " of task %" PRIu32,
                        input, task);
    }
    const mts_input_slots *slots = &engine->inputs.slots;
    const mts_input_slot *own = &slots->items[t->inputs[input].slot];
    const size_t size = mts_precision_size(engine->stats.precision);
    const void *data = floats;
    if (engine->stats.precision != MTS_PRECISION_FLOAT32) {
        mts_half_array_from_float(floats, halves, own->count);
        data = halves;
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t s = 0; status == MTS_STATUS_OK && s < slots->count; s++) {
        const mts_input_slot *slot = &slots->items[s];
        if (slot->common == own->common) {
            status = mts_buffer_write_async(engine->launches.act, (size_t)slot->offset * size, data,
                                            slot->count * size, error);
        }
    }
    return status;
}

#endif
