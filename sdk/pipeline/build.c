/*
 * build.c: a pipeline from options, and its end: its tasks, the memory of its runs. Not
 * responsible for the engines of its parts (place.c).
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include "pipeline/copies.h"

/* Runs of a part that have begun and were not handed on: one computes and one follows it. */
#define PART_SLOTS 2u

mts_status mts_pipeline_of_engine(mts_engine **engine, const mts_allocator *allocator, mts_pipeline **out,
                                  mts_error *error)
{
    *out = mts_alloc_zero(allocator, 1, sizeof **out);
    if (!*out) {
        return mts_fail_memory(error);
    }
    (*out)->allocator = allocator;
    (*out)->engine = *engine;
    *engine = NULL;
    return MTS_STATUS_OK;
}

/* ---- memory that lives as long as the pipeline ---- */

static mts_status make_tasks(mts_pipeline *p, mts_error *error)
{
    const mts_engine_options *o = &p->options.engine;
    mts_arena *arena = &p->arena;
    p->task_count = o->tasks ? o->task_count : p->archive->task_count;
    p->tasks = mts_arena_zero(arena, p->task_count, sizeof *p->tasks);
    p->schedule.items = mts_arena_zero(arena, p->task_count, sizeof *p->schedule.items);
    uint32_t *priorities = mts_arena_zero(arena, p->task_count, sizeof *priorities);
    if (!p->tasks || !p->schedule.items || !priorities) {
        return mts_fail_memory(error);
    }
    if (p->task_count == 0) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "a session needs at least one task");
    }
    p->schedule.count = p->task_count;
    p->schedule.mask_words = (p->task_count + 31) / 32;
    for (uint32_t t = 0; t < p->task_count; t++) {
        p->tasks[t] = o->tasks ? o->tasks[t] : t;
        p->schedule.items[t].task = p->tasks[t];
        priorities[t] = o->priorities ? o->priorities[t] : 0;
    }
    /* The caller's need not live until the tasks are placed anew. */
    p->options.engine.priorities = o->priorities ? priorities : NULL;
    p->options.engine.tasks = o->tasks ? p->tasks : NULL;
    return MTS_STATUS_OK;
}

static mts_status make_runs(mts_pipeline *p, mts_error *error)
{
    const mts_engine_options *o = &p->options.engine;
    p->slots = o->slots > 0 ? o->slots : 1;
    p->spare = o->drop_oldest ? 1 : 0;
    p->begun_most = p->slots - p->spare;
    p->part_slots = p->options.part_slots > 0 ? p->options.part_slots : PART_SLOTS;
    const uint32_t count = p->slots + p->spare;
    p->items = mts_arena_zero(&p->arena, count, sizeof *p->items);
    p->queue = mts_arena_zero(&p->arena, count, sizeof(mts_pipeline_run *));
    if (!p->items || !p->queue) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < count; i++) {
        p->queue[i] = &p->items[i];
        p->items[i].active = mts_arena_zero(&p->arena, p->schedule.mask_words, sizeof *p->items[i].active);
        if (!p->items[i].active) {
            return mts_fail_memory(error);
        }
    }
    return MTS_STATUS_OK;
}

/* ---- create, destroy ---- */

static mts_status options_take(mts_pipeline *p, const mts_pipeline_options *options, mts_error *error)
{
    p->options = *options;
    if (options->device_count == 0 || options->device_count > MTS_PARTITION_DEVICES) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "a session has 1 to %u devices, not %u",
                        MTS_PARTITION_DEVICES, options->device_count);
    }
    p->device_count = options->device_count;
    for (uint32_t d = 0; d < p->device_count; d++) {
        p->devices[d] = options->devices[d];
        p->ids[d] = options->ids ? options->ids[d] : p->devices[d]->info.name;
    }
    p->options.devices = p->devices;
    p->options.ids = p->ids;
    return MTS_STATUS_OK;
}

mts_status mts_pipeline_create(const mts_archive *archive, const mts_pipeline_options *options,
                               mts_pipeline **out, mts_error *error)
{
    const mts_allocator *allocator = options->devices[0]->allocator;
    mts_error ignored = {0};
    mts_error *why = error ? error : &ignored;
    mts_pipeline *p = mts_alloc_zero(allocator, 1, sizeof *p);
    *out = NULL;
    if (!p) {
        return mts_fail_memory(error);
    }
    p->allocator = allocator;
    p->archive = archive;
    mts_arena_init(&p->arena, allocator);
    p->now = &p->both[0];
    mts_arena_init(&p->both[0].arena, allocator);
    mts_arena_init(&p->both[1].arena, allocator);
    mts_status status = options_take(p, options, why);
    MTS_TRY(status, make_tasks(p, why));
    MTS_TRY(status, make_runs(p, why));
    MTS_TRY(status, mts_pipeline_copies_make(p, why));
    MTS_TRY(status, mts_pipeline_place(p, why));
    if (status != MTS_STATUS_OK) {
        mts_pipeline_destroy(&p);
        return status;
    }
    p->options.engine.progress = NULL; /* of the creation alone, as what follows */
    p->options.engine.context = NULL;
    p->options.chain = NULL;
    p->options.device_of = NULL;
    *out = p;
    return MTS_STATUS_OK;
}

void mts_pipeline_destroy(mts_pipeline **pipeline)
{
    if (!pipeline || !*pipeline) {
        return;
    }
    mts_pipeline *p = *pipeline;
    const mts_allocator *allocator = p->allocator;
    *pipeline = NULL;
    mts_engine_destroy(&p->before);
    if (p->engine) {
        mts_engine_destroy(&p->engine);
    } else {
        mts_placed_empty(&p->both[0], allocator);
        mts_placed_empty(&p->both[1], allocator);
        mts_pipeline_copies_release(p);
        mts_arena_release(&p->arena);
    }
    mts_alloc_free(allocator, p);
}

bool mts_pipeline_is_engine(const mts_pipeline *p)
{
    return p->engine;
}

uint32_t mts_pipeline_part_count(const mts_pipeline *p)
{
    return p->engine ? 1 : p->now->plan.partition.part_count;
}

mts_engine *mts_pipeline_part(const mts_pipeline *p, uint32_t part)
{
    return p->engine ? p->engine : p->now->engines[part];
}

#endif
