/*
 * input.c: tensors and frames of the caller's into inputs, with the type that the arena has.
 */
#include "base/half.h"
#include "engine/engine_internal.h"

static void to_floats(mts_type dtype, const void *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        switch (dtype) {
        case MTS_TYPE_FLOAT16:
            to[i] = mts_half_to_float(((const uint16_t *)from)[i]);
            break;
        case MTS_TYPE_FLOAT64:
            to[i] = (float)((const double *)from)[i];
            break;
        case MTS_TYPE_INT32:
            to[i] = (float)((const int32_t *)from)[i];
            break;
        case MTS_TYPE_INT64:
            to[i] = (float)((const int64_t *)from)[i];
            break;
        case MTS_TYPE_UINT8:
            to[i] = (float)((const uint8_t *)from)[i];
            break;
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
    if (engine->stats.precision == MTS_PRECISION_FLOAT32) {
        return mts_buffer_write(engine->act, (size_t)offset * size, floats, count * size, error);
    }
    mts_half_array_from_float(floats, engine->halves, count);
    return mts_buffer_write(engine->act, (size_t)offset * size, engine->halves, count * size, error);
}

static mts_status set_slot(mts_engine *engine, engine_slot *slot, const float *floats, mts_error *error)
{
    return slot->lent ? mts_engine_lend(engine, slot, floats, error)
                      : write_arena(engine, slot->offset, floats, slot->count, error);
}

mts_status mts_engine_set_input(mts_engine *engine, uint32_t task, uint32_t input, const void *data,
                                size_t size, mts_error *error)
{
    const engine_task *t = mts_engine_find(engine, task);
    if (!t || input >= t->input_count) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "the session has no input %u of task %u", input, task);
    }
    const engine_port *port = &t->inputs[input];
    if (size != port->count * mts_type_size(port->dtype)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "input %u of task %s takes %zu bytes, not %zu",
                        input, engine->archive->tasks[task].name, port->count * mts_type_size(port->dtype),
                        size);
    }
    if (!mts_flight_next(engine, error)) {
        return MTS_STATUS_BUSY;
    }
    const float *floats = data;
    if (port->dtype != MTS_TYPE_FLOAT32) {
        float *own = engine->slots[port->slot].lent ? engine->slots[port->slot].floats : engine->conversion;
        to_floats(port->dtype, data, own, port->count);
        floats = own;
    }
    mts_status code = MTS_STATUS_OK;
    for (uint32_t s = 0; code == MTS_STATUS_OK && s < engine->slot_count; s++) {
        if (engine->slots[s].common == engine->slots[port->slot].common) {
            code = set_slot(engine, &engine->slots[s], floats, error);
        }
    }
    return code;
}

size_t mts_engine_largest_input(const mts_engine *engine)
{
    size_t most = 0;
    for (uint32_t s = 0; s < engine->slot_count; s++) {
        most = engine->slots[s].count > most ? engine->slots[s].count : most;
    }
    return most;
}

mts_status mts_engine_fill_inputs(mts_engine *engine, const float *values, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t s = 0; status == MTS_STATUS_OK && s < engine->slot_count; s++) {
        status = set_slot(engine, &engine->slots[s], values, error);
    }
    return status;
}

/* ---- frames ---- */

/* The frame input of a task, or of all (MTS_NONE). */
static mts_status find_frame_input(const mts_engine *engine, uint32_t task, uint32_t *input, mts_error *error)
{
    const mts_status code = mts_engine_check_frames(engine, error);
    *input = MTS_NONE;
    if (code != MTS_STATUS_OK || task == MTS_NONE) {
        return code;
    }
    const engine_task *t = mts_engine_find(engine, task);
    *input = t && t->input_count > 0 ? engine->slots[t->inputs[0].slot].frame_input : MTS_NONE;
    return *input != MTS_NONE
               ? MTS_STATUS_OK
               : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "task %u of the session takes no frames: give its color, mean and std "
                          "to the compiler, or set tensors",
                          task);
}

mts_status mts_engine_set_frame(mts_engine *engine, uint32_t task, const mts_frame_view *frame,
                                mts_error *error)
{
    engine_flight *flight = mts_flight_next(engine, error);
    if (!flight) {
        return MTS_STATUS_BUSY;
    }
    mts_frame_way way = {.now = true};
    mts_status code = find_frame_input(engine, task, &way.input, error);
    MTS_TRY(code, mts_frame_stage(&engine->frames, &flight->staged, &way, frame, error));
    if (code != MTS_STATUS_OK) {
        return code;
    }
    flight->early = flight->early || flight->staged.zero_copy;
    code = mts_frame_submit(&engine->frames, &flight->staged, error);
    if (code != MTS_STATUS_OK) {
        (void)mts_device_wait(engine->device, NULL); /* the launch may be on the device all the same */
        mts_frame_unpin_last(&flight->staged);
    }
    return code;
}

mts_status mts_engine_set_regions(mts_engine *engine, uint32_t task, const mts_region *regions,
                                  uint32_t count, mts_error *error)
{
    uint32_t input = MTS_NONE;
    const mts_status code = find_frame_input(engine, task, &input, error);
    return code == MTS_STATUS_OK ? mts_frames_set_regions(&engine->frames, input, regions, count, error)
                                 : code;
}
