/*
 * zero_copy.c: inputs that stay in the caller's memory. Where the device can use that memory a buffer names it and
 * nothing is copied but what a run reads; elsewhere a buffer of the input's size is written before every run.
 */
#include "engine/engine_internal.h"

/*
 * A buffer over the data, or NULL where the device takes no memory of the caller's, or not this: a page of it
 * may be in use already, as that of another input, or of the one that this one replaces.
 */
static mts_status import(mts_engine *engine, engine_slot *slot, const float *data, mts_buffer **out,
                         mts_error *error)
{
    const mts_memory memory = {.kind = MTS_MEMORY_HOST, .host = data, .size = slot->count * sizeof(float)};
    *out = NULL;
    if ((engine->device->info.imports & MTS_MEMORY_BIT(MTS_MEMORY_HOST)) == 0) {
        return MTS_STATUS_OK;
    }
    mts_status code = mts_buffer_import(engine->device, &memory, out, error);
    if (code == MTS_STATUS_UNSUPPORTED && slot->buffer) {
        engine->stale = true;
        engine->lendings++;
        slot->data = NULL;
        mts_buffer_destroy(&slot->buffer);
        code = mts_buffer_import(engine->device, &memory, out, error);
    }
    return code == MTS_STATUS_UNSUPPORTED ? MTS_STATUS_OK : code;
}

mts_status mts_engine_lend(mts_engine *engine, engine_slot *slot, const float *data, mts_error *error)
{
    if (slot->data == data || (slot->buffer && slot->uploaded)) {
        slot->data = data;
        return MTS_STATUS_OK;
    }
    mts_buffer *fresh = NULL;
    mts_status code = import(engine, slot, data, &fresh, error);
    const bool uploaded = !fresh;
    if (code == MTS_STATUS_OK && uploaded) {
        code = mts_buffer_create(engine->device, slot->count * sizeof(float), &fresh, error);
    }
    if (code != MTS_STATUS_OK) {
        return code;
    }
    engine->stale = true; /* the list names the buffer that goes */
    engine->lendings++;
    mts_buffer_destroy(&slot->buffer);
    slot->buffer = fresh;
    slot->uploaded = uploaded;
    slot->data = data;
    return MTS_STATUS_OK;
}

mts_status mts_engine_upload_lent(const mts_engine *engine, mts_error *error)
{
    mts_status code = MTS_STATUS_OK;
    for (uint32_t s = 0; code == MTS_STATUS_OK && s < engine->slot_count; s++) {
        const engine_slot *slot = &engine->slots[s];
        if (slot->buffer && slot->uploaded) {
            code = mts_buffer_write(slot->buffer, 0, slot->data, slot->count * sizeof(float), error);
        }
    }
    return code;
}

mts_status mts_engine_ready(mts_engine *engine, mts_error *error)
{
    const mts_status code = mts_engine_record(engine, NULL, error);
    return code != MTS_STATUS_OK ? code : mts_engine_upload_lent(engine, error);
}

void mts_engine_lent_release(mts_engine *engine)
{
    for (uint32_t s = 0; engine->slots && s < engine->slot_count; s++) {
        mts_buffer_destroy(&engine->slots[s].buffer);
    }
}
