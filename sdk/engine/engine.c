/*
 * engine.c: the end of an engine, and what it tells of itself. Not responsible for
 * building it (build.c).
 */
#include "engine/part.h"
#include "engine/state.h"

/* What the engine has on its device, and all that serves its runs. */
static void release_device(mts_engine *engine)
{
    if (engine->launches.act) { /* a failed submission, or a frame without a run, may be on the device */
        (void)mts_device_wait(engine->device, NULL); /* where the device is lost nothing is on it */
    }
    mts_submissions_release(engine);
    mts_frames_release(&engine->frames);
    mts_filters_release(engine);
#ifndef MTS_SMALL
    mts_links_release(&engine->links);
#endif
    mts_zero_copy_release(&engine->inputs.slots);
    mts_persistent_release(&engine->persistent);
    mts_launches_release(&engine->launches);
}

#ifndef MTS_SMALL
void mts_engine_retire(mts_engine *engine)
{
    release_device(engine);
    engine->submissions = (mts_submissions){.items = NULL};
    engine->frames = (mts_frames){.lists = NULL};
    engine->filters = (mts_filters){.base = NULL};
    engine->links = (mts_links){.slots = NULL};
    engine->inputs.slots = (mts_input_slots){.items = NULL};
    engine->persistent = (mts_persistent){.kernel = NULL};
    engine->launches = (mts_launches){.device = engine->device};
}
#endif

void mts_engine_destroy(mts_engine **engine_at)
{
    if (!engine_at || !*engine_at) {
        return;
    }
    mts_engine *engine = *engine_at;
    *engine_at = NULL;
    release_device(engine);
    mts_alloc_free(engine->allocator, engine->outputs.floats);
    mts_alloc_free(engine->allocator, engine->outputs.input_floats);
    mts_alloc_free(engine->allocator, engine->inputs.conversion);
    mts_alloc_free(engine->allocator, engine->inputs.halves);
    mts_arena_release(&engine->arena);
    mts_alloc_free(engine->allocator, engine);
}

void mts_engine_stats_get(const mts_engine *engine, mts_session_stats *stats)
{
    *stats = engine->stats;
    stats->persistent_launches = mts_persistent_count(&engine->persistent);
    stats->workspace_bytes += mts_frames_bytes(&engine->frames);
    stats->peak_bytes += mts_frames_bytes(&engine->frames);
}

void mts_engine_view_get(const mts_engine *engine, mts_engine_view *view)
{
    *view = (mts_engine_view){.device = engine->device,
                              .archive = engine->archive,
                              .options = &engine->options,
                              .task_count = engine->tasks.count,
                              .group_count = engine->tasks.group_count,
                              .launch_count = engine->launches.count,
                              .launches = engine->launches.encoded,
                              .note = engine->note};
    if (mts_persistent_count(&engine->persistent) > 0) {
        view->runs = engine->persistent.plan.runs;
        view->run_count = engine->persistent.plan.run_count;
    }
}

uint32_t mts_engine_task_at(const mts_engine *engine, uint32_t position, uint32_t *group)
{
    *group = engine->tasks.items[position].group;
    return engine->tasks.items[position].task;
}

uint32_t mts_engine_group_of(const mts_engine *engine, uint32_t task)
{
    const mts_engine_task *found = mts_tasks_find(&engine->tasks, task);
    return found ? found->group : MTS_NONE;
}

bool mts_engine_oldest(const mts_engine *engine, mts_engine_run *out)
{
    const mts_submissions *all = &engine->submissions;
    if (all->used == 0) {
        return false;
    }
    *out = (mts_engine_run){.number = all->queue[0]->number,
                            .finished = all->queue[0]->state == MTS_SUBMISSION_FINISHED};
    return true;
}

uint32_t mts_engine_in_flight(const mts_engine *engine)
{
    return engine->submissions.used;
}
