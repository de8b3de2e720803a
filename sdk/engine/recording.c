/*
 * recording.c: an engine's launches as one command list. It is made with the engine, and updated before a run
 * when lent inputs have other buffers than those it names (zero_copy.c); a device that cannot gets a new one.
 */
#include "engine/engine_internal.h"

mts_status mts_engine_check_lent(const mts_engine *engine, mts_error *error)
{
    for (uint32_t t = 0; t < engine->task_count; t++) {
        const engine_task *task = &engine->tasks[t];
        for (uint32_t i = 0; i < task->input_count; i++) {
            const engine_slot *slot = &engine->slots[task->inputs[i].slot];
            if (slot->lent && !slot->buffer) {
                return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                                "input %u of task %s was never set, and the session borrows its inputs", i,
                                engine->archive->tasks[task->task].name);
            }
        }
    }
    return MTS_STATUS_OK;
}

/* A list that could not be updated is of no more use, and the next run begins with a new one. */
static mts_status update(mts_engine *engine, mts_error *error)
{
    const mts_status code =
        mts_command_list_update(engine->list, engine->recorded, engine->launch_count, error);
    engine->stale = false;
    if (code != MTS_STATUS_OK) {
        mts_command_list_destroy(&engine->list);
    }
    return code;
}

mts_status mts_engine_record(mts_engine *engine, mts_buffer *stand_in, mts_error *error)
{
    mts_status code = !stand_in ? mts_engine_check_lent(engine, error) : MTS_STATUS_OK;
    if (code != MTS_STATUS_OK || (engine->list && !engine->stale) || engine->launch_count == 0) {
        return code; /* no launch: every output is a constant or an input */
    }
    for (uint32_t i = 0; i < engine->launch_count; i++) {
        const uint32_t source = engine->launches[i].source;
        mts_buffer *lent = source == 0 ? engine->pool : engine->slots[source - 1].buffer;
        engine->recorded[i].pool = lent ? lent : stand_in;
    }
    if (engine->list) {
        code = update(engine, error);
        if (code != MTS_STATUS_UNSUPPORTED) {
            return code;
        }
    }
    engine->stale = false;
    return mts_command_list_create(engine->device, engine->recorded, engine->launch_count, &engine->list,
                                   error);
}
