/*
 * lend.c: inputs that stay in the caller's memory. Where the device can use that memory a buffer names it and
 * nothing is copied but what a run reads; elsewhere a buffer of the input's size is written before every run.
 */
#include "exec/engine_internal.h"

static mts_code make_buffer(mts_engine *engine, const void *data, size_t bytes, mts_buffer **out,
                            mts_error *error)
{
    if (engine->device->info.host_buffers) {
        return mts_buffer_import(engine->device, data, bytes, out, error);
    }
    return mts_buffer_create(engine->device, bytes, out, error);
}

mts_code mts_engine_lend(mts_engine *engine, engine_slot *slot, const float *data, mts_error *error)
{
    const bool imports = engine->device->info.host_buffers;
    if (slot->data == data || (slot->buffer != NULL && !imports)) {
        slot->data = data;
        return MTS_CODE_OK;
    }
    mts_buffer *fresh = NULL;
    const mts_code code = make_buffer(engine, data, slot->count * sizeof(float), &fresh, error);
    if (code != MTS_CODE_OK) {
        return code;
    }
    mts_list_destroy(&engine->list); /* it names the buffer that goes */
    mts_buffer_destroy(&slot->buffer);
    slot->buffer = fresh;
    slot->data = data;
    return MTS_CODE_OK;
}

mts_code mts_engine_ready(mts_engine *engine, mts_error *error)
{
    mts_code code = mts_engine_record(engine, NULL, error);
    for (uint32_t s = 0; code == MTS_CODE_OK && s < engine->slot_count; s++) {
        const engine_slot *slot = &engine->slots[s];
        if (slot->buffer != NULL && !engine->device->info.host_buffers) {
            code = mts_buffer_write(slot->buffer, 0, slot->data, slot->count * sizeof(float), error);
        }
    }
    return code;
}

void mts_engine_lent_release(mts_engine *engine)
{
    for (uint32_t s = 0; engine->slots != NULL && s < engine->slot_count; s++) {
        mts_buffer_destroy(&engine->slots[s].buffer);
    }
}
