/*
 * recording.c: an engine's launches as one command list. It is made with the engine, and again before a run
 * when lent inputs have other buffers than those it names (lend.c).
 */
#include "exec/engine_internal.h"

/* Fails with the name of the first input that nobody lent. */
static mts_code check_lent(const mts_engine *engine, mts_error *error)
{
    for (uint32_t t = 0; t < engine->task_count; t++) {
        const engine_task *task = &engine->tasks[t];
        for (uint32_t i = 0; i < task->input_count; i++) {
            const engine_slot *slot = &engine->slots[task->inputs[i].slot];
            if (slot->lent && slot->buffer == NULL) {
                return mts_fail(error, MTS_CODE_INVALID_ARGUMENT,
                                "input %u of task %s was never set, and the session borrows its inputs", i,
                                engine->archive->tasks[task->task].name);
            }
        }
    }
    return MTS_CODE_OK;
}

mts_code mts_engine_record(mts_engine *engine, mts_buffer *stand_in, mts_error *error)
{
    const mts_code code = stand_in == NULL ? check_lent(engine, error) : MTS_CODE_OK;
    if (code != MTS_CODE_OK || engine->list != NULL || engine->launch_count == 0) {
        return code; /* no launch: every output is a constant or an input */
    }
    for (uint32_t i = 0; i < engine->launch_count; i++) {
        const uint32_t source = engine->launches[i].source;
        mts_buffer *lent = source == 0 ? engine->pool : engine->slots[source - 1].buffer;
        engine->recorded[i].pool = lent != NULL ? lent : stand_in;
    }
    return mts_list_create(engine->device, engine->recorded, engine->launch_count, &engine->list, error);
}
