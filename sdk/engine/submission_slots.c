/*
 * submission_slots.c: the memory of submissions: made with the engine, so that a run
 * allocates nothing. Not responsible for their states (submission.c).
 */
#include "engine/state.h"
#include "engine/submission.h"

mts_status mts_submissions_create(mts_engine *engine, mts_error *error)
{
    mts_submissions *all = &engine->submissions;
    const uint32_t count = all->slots + all->spare;
    all->items = mts_arena_zero(&engine->arena, count, sizeof *all->items);
    all->queue = mts_arena_zero(&engine->arena, count, sizeof *all->queue);
    mts_status status = all->items && all->queue ? MTS_STATUS_OK : mts_fail_memory(error);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        mts_submission *s = &all->items[i];
        all->queue[i] = s;
        s->active = mts_arena_zero(&engine->arena, engine->tasks.mask_words, sizeof *s->active);
        s->group_ended = mts_arena_zero(&engine->arena, engine->tasks.group_count, sizeof *s->group_ended);
        status = s->active && s->group_ended ? MTS_STATUS_OK : mts_fail_memory(error);
        MTS_TRY(status, mts_readback_create(&s->readback, engine->device, &engine->outputs, error));
        MTS_TRY(status, mts_staged_frame_create(&s->staged, &engine->frames, error));
        if (MTS_HAS_PERSISTENT && status == MTS_STATUS_OK && engine->options.persistent) {
            status = mts_host_create(engine->device, sizeof *s->wait_failed, (void **)&s->wait_failed, error);
        }
    }
    return status;
}

void mts_submissions_release(mts_engine *engine)
{
    mts_submissions *all = &engine->submissions;
    for (uint32_t i = 0; all->items && i < all->slots + all->spare; i++) {
        mts_staged_frame_release(&all->items[i].staged, &engine->frames);
        mts_readback_destroy(&all->items[i].readback, engine->device);
        void *word = all->items[i].wait_failed;
        if (MTS_HAS_PERSISTENT) {
            mts_host_destroy(engine->device, &word);
        }
    }
}
