/*
 * zero_copy.c: inputs that stay in the caller's memory. Where the device can read that
 * memory a buffer names it and nothing is copied; elsewhere a buffer of the input's size
 * is written before every run.
 */
#include "engine/zero_copy.h"

#include <inttypes.h>

static void replace(mts_input_slots *slots, mts_input_slot *slot, mts_buffer *buffer, const float *data)
{
    slots->generation++;
    mts_buffer_destroy(&slot->buffer);
    slot->buffer = buffer;
    slot->data = data;
}

/*
 * A buffer over the data, or NULL where the device does not read this memory: a page of
 * it may be imported already, as part of another input, or of the one that this one
 * replaces.
 */
static mts_status import(mts_input_slots *slots, mts_input_slot *slot, const float *data, mts_buffer **out,
                         mts_error *error)
{
    const mts_memory memory = {.kind = MTS_MEMORY_HOST, .host = data, .size = slot->count * sizeof(float)};
    *out = NULL;
    if ((slots->device->info.imports & MTS_MEMORY_BIT(MTS_MEMORY_HOST)) == 0) {
        return MTS_STATUS_OK;
    }
    mts_status status = mts_buffer_import(slots->device, &memory, out, error);
    if (status == MTS_STATUS_UNSUPPORTED && slot->buffer) {
        replace(slots, slot, NULL, NULL);
        status = mts_buffer_import(slots->device, &memory, out, error);
    }
    return status == MTS_STATUS_UNSUPPORTED ? MTS_STATUS_OK : status;
}

mts_status mts_zero_copy_set(mts_input_slots *slots, mts_input_slot *slot, const float *data,
                             mts_error *error)
{
    if (slot->data == data || (slot->buffer && slot->uploaded)) {
        slot->data = data;
        return MTS_STATUS_OK;
    }
    mts_buffer *fresh = NULL;
    mts_status status = import(slots, slot, data, &fresh, error);
    const bool uploaded = !fresh;
    if (status == MTS_STATUS_OK && uploaded) {
        status = mts_buffer_create(slots->device, slot->count * sizeof(float), &fresh, error);
    }
    if (status == MTS_STATUS_OK) {
        replace(slots, slot, fresh, data);
        slot->uploaded = uploaded;
    }
    return status;
}

mts_status mts_zero_copy_check(const mts_input_slots *slots, mts_error *error)
{
    for (uint32_t s = 0; s < slots->count; s++) {
        const mts_input_slot *slot = &slots->items[s];
        if (slot->zero_copy && !slot->buffer) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "input %" PRIu32 " of task %s was never set: with zero-copy inputs, set every "
                            "input before the first run",
                            slot->input, slot->task);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_zero_copy_upload(const mts_input_slots *slots, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t s = 0; status == MTS_STATUS_OK && s < slots->count; s++) {
        const mts_input_slot *slot = &slots->items[s];
        if (slot->buffer && slot->uploaded) {
            status = mts_buffer_write(slot->buffer, 0, slot->data, slot->count * sizeof(float), error);
        }
    }
    return status;
}

void mts_zero_copy_release(mts_input_slots *slots)
{
    for (uint32_t s = 0; slots->items && s < slots->count; s++) {
        mts_buffer_destroy(&slots->items[s].buffer);
    }
}
