/*
 * recording.c: an engine's launches as one command list. It is made with the engine, and again before a run
 * when lent inputs have other buffers than those it names (lend.c).
 */
#include "exec/engine_internal.h"

/* The data of slots that were never lent: zeros, for the largest of them. NULL if all were. */
static mts_code fit_zeros(mts_engine *engine, mts_error *error)
{
    size_t bytes = 0;
    for (uint32_t s = 0; s < engine->slot_count; s++) {
        const engine_slot *slot = &engine->slots[s];
        const size_t own = slot->count * sizeof(float);
        bytes = slot->lent && slot->buffer == NULL && own > bytes ? own : bytes;
    }
    if (engine->zeros != NULL && engine->zeros->size >= bytes && bytes > 0) {
        return MTS_CODE_OK;
    }
    if (engine->zeros != NULL) {
        mts_engine_account(engine, -(int64_t)engine->zeros->size);
        mts_buffer_destroy(&engine->zeros);
    }
    if (bytes == 0) {
        return MTS_CODE_OK;
    }
    const mts_code code = mts_buffer_create(engine->device, bytes, &engine->zeros, error);
    if (code != MTS_CODE_OK) {
        return code;
    }
    mts_engine_account(engine, (int64_t)bytes);
    return mts_buffer_fill(engine->zeros, 0, bytes, 0, error);
}

mts_code mts_engine_record(mts_engine *engine, mts_error *error)
{
    if (engine->list != NULL || engine->launch_count == 0) {
        return MTS_CODE_OK; /* no launch: every output is a constant or an input */
    }
    const mts_code code = fit_zeros(engine, error);
    if (code != MTS_CODE_OK) {
        return code;
    }
    for (uint32_t i = 0; i < engine->launch_count; i++) {
        const uint32_t source = engine->launches[i].source;
        mts_buffer *lent = source > 0 ? engine->slots[source - 1].buffer : NULL;
        engine->recorded[i].pool = source == 0 ? engine->pool : lent != NULL ? lent : engine->zeros;
    }
    return mts_list_create(engine->device, engine->recorded, engine->launch_count, &engine->list, error);
}
