/*
 * inputs.c: tensors and frames of the caller into inputs. Not responsible for tensors
 * that stay in the caller's memory (zero_copy.c), nor for frames of submissions
 * (submission.c).
 */
#include "engine/inputs.h"

#include <inttypes.h>

#include "base/half.h"
#include "engine/state.h"

#define CAST(TYPE, c_type)                                                                                   \
    case MTS_TYPE_##TYPE:                                                                                    \
        to[i] = (float)((const c_type *)from)[i];                                                            \
        break

static void to_floats(mts_type dtype, const void *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        switch (dtype) {
        case MTS_TYPE_FLOAT16:
            to[i] = mts_half_to_float(((const uint16_t *)from)[i]);
            break;
            CAST(FLOAT64, double);
            CAST(INT32, int32_t);
            CAST(INT64, int64_t);
            CAST(UINT8, uint8_t);
            CAST(INT8, int8_t);
            CAST(UINT16, uint16_t);
            CAST(INT16, int16_t);
        case MTS_TYPE_BOOL:
            to[i] = ((const uint8_t *)from)[i] != 0 ? 1.0f : 0.0f;
            break;
        default:
            to[i] = ((const float *)from)[i];
            break;
        }
    }
}

/* Elements of the arena from float32. */
static mts_status write_arena(mts_engine *engine, uint64_t offset, const float *floats, size_t count,
                              mts_error *error)
{
    const size_t size = mts_precision_size(engine->stats.precision);
    mts_buffer *act = engine->launches.act;
    if (engine->stats.precision == MTS_PRECISION_FLOAT32) {
        return mts_buffer_write(act, (size_t)offset * size, floats, count * size, error);
    }
    mts_half_array_from_float(floats, engine->inputs.halves, count);
    return mts_buffer_write(act, (size_t)offset * size, engine->inputs.halves, count * size, error);
}

static mts_status set_slot(mts_engine *engine, mts_input_slot *slot, const float *floats, mts_error *error)
{
#ifndef MTS_SMALL
    slot->set = !slot->zero_copy;
#endif
    return slot->zero_copy ? mts_zero_copy_set(&engine->inputs.slots, slot, floats, error)
                           : write_arena(engine, slot->offset, floats, slot->count, error);
}

/*
 * Space for the float32 data of an input. A zero-copy slot keeps its address until the
 * next data come, so where one holds the same data the space is its own.
 */
static float *conversion_of(const mts_engine *engine, uint32_t common)
{
    const mts_input_slots *slots = &engine->inputs.slots;
    for (uint32_t s = 0; s < slots->count; s++) {
        if (slots->items[s].common == common && slots->items[s].zero_copy) {
            return slots->items[s].floats;
        }
    }
    return engine->inputs.conversion;
}

mts_status mts_engine_set_input(mts_engine *engine, uint32_t task, uint32_t input, const void *data,
                                size_t size, mts_error *error)
{
    mts_input_slots *slots = &engine->inputs.slots;
    const mts_engine_task *t = mts_tasks_find(&engine->tasks, task);
    if (!t || input >= t->input_count) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "the session has no input %" PRIu32 " of task %" PRIu32,
                        input, task);
    }
    const mts_input_port *port = &t->inputs[input];
    const mts_input_slot *own = &slots->items[port->slot];
    if (size != port->count * mts_type_size(port->dtype)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "input %" PRIu32 " of task %s has %zu bytes, not %zu", input,
                        engine->archive->tasks[task].name, port->count * mts_type_size(port->dtype), size);
    }
    if (!mts_submissions_next(&engine->submissions, error)) {
        return MTS_STATUS_BUSY;
    }
    mts_submissions_settle(engine);
    const float *floats = data;
    if (port->dtype != MTS_TYPE_FLOAT32) {
        float *converted = conversion_of(engine, own->common);
        to_floats(port->dtype, data, converted, port->count);
        floats = converted;
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t s = 0; status == MTS_STATUS_OK && s < slots->count; s++) {
        if (slots->items[s].common == own->common) {
            status = set_slot(engine, &slots->items[s], floats, error);
        }
    }
    return status;
}

size_t mts_engine_largest_input(const mts_engine *engine)
{
    size_t most = 0;
    for (uint32_t s = 0; s < engine->inputs.slots.count; s++) {
        const size_t count = engine->inputs.slots.items[s].count;
        most = count > most ? count : most;
    }
    return most;
}

mts_status mts_engine_fill_inputs(mts_engine *engine, const float *values, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t s = 0; status == MTS_STATUS_OK && s < engine->inputs.slots.count; s++) {
        status = set_slot(engine, &engine->inputs.slots.items[s], values, error);
    }
    return status;
}

/* ---- frames ---- */

/* The frame input of a task, or of all (MTS_NONE). */
static mts_status find_frame_input(const mts_engine *engine, uint32_t task, uint32_t *input, mts_error *error)
{
    const mts_status status = mts_engine_check_frames(engine, error);
    *input = MTS_NONE;
    if (status != MTS_STATUS_OK || task == MTS_NONE) {
        return status;
    }
    const mts_engine_task *t = mts_tasks_find(&engine->tasks, task);
    *input = t && t->input_count > 0 ? engine->inputs.slots.items[t->inputs[0].slot].frame_input : MTS_NONE;
    return *input != MTS_NONE ? MTS_STATUS_OK
                              : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                                         "task %" PRIu32 " takes no frames: give its color, mean and std to "
                                         "the compiler, or set tensors",
                                         task);
}

mts_status mts_engine_set_frame(mts_engine *engine, uint32_t task, const mts_frame_view *frame,
                                mts_error *error)
{
    mts_submission *next = mts_submissions_next(&engine->submissions, error);
    if (!next) {
        return MTS_STATUS_BUSY;
    }
    mts_frame_way way = {.now = true};
    mts_status status = find_frame_input(engine, task, &way.input, error);
    MTS_TRY(status, mts_frame_stage(&engine->frames, &next->staged, &way, frame, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_submissions_settle(engine);
    next->pinned_early = next->pinned_early || next->staged.zero_copy;
    status = mts_frame_submit(&engine->frames, &next->staged, error);
    if (status != MTS_STATUS_OK) {
        (void)mts_device_wait(engine->device, NULL); /* the launch may be on the device all the same */
        mts_frame_unpin_last(&next->staged);
    }
    return status;
}

mts_status mts_engine_set_regions(mts_engine *engine, uint32_t task, const mts_region *regions,
                                  uint32_t count, mts_error *error)
{
    uint32_t input = MTS_NONE;
    mts_status status = find_frame_input(engine, task, &input, error);
    MTS_TRY(status, mts_frames_set_regions(&engine->frames, input, regions, count, error));
    return status;
}
