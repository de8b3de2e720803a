/*
 * ports.c: inputs and outputs of a pipeline's tasks, its settings, and what it tells of
 * itself.
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include "pipeline/change.h"

#include <inttypes.h>

#include "pipeline/copies.h"
#include "pipeline/recover.h"

/* ---- inputs ---- */

/* Inputs belong to the next run: it has a slot, and no frame waits that would see them. */
static mts_status check_next(const mts_pipeline *p, mts_error *error)
{
    if (p->used >= p->slots) {
        return mts_fail(error, MTS_STATUS_BUSY, "%" PRIu32 " runs are in flight, which is the most", p->used);
    }
    for (uint32_t i = 0; i < p->used; i++) {
        if (p->queue[i]->has_frame && p->queue[i]->begun == 0 && !p->queue[i]->over) {
            return mts_fail(error, MTS_STATUS_BUSY, "a frame waits for its turn, and would see this input");
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_pipeline_set_input(mts_pipeline *p, uint32_t task, uint32_t input, const void *data,
                                  size_t size, mts_error *error)
{
    if (p->engine) {
        return mts_engine_set_input(p->engine, task, input, data, size, error);
    }
    mts_pipeline_recover(p);
    mts_status status = check_next(p, error);
    MTS_TRY(status, mts_pipeline_give_input(p, task, input, data, size, error));
    if (mts_pipeline_is_replaced(p, status)) {
        status = mts_pipeline_give_input(p, task, input, data, size, error);
    }
    MTS_TRY(status, mts_pipeline_remember_input(p, mts_pipeline_position(p, task), input, data, size, error));
    return status;
}

mts_status mts_pipeline_set_frame(mts_pipeline *p, uint32_t task, const mts_frame_view *frame,
                                  mts_error *error)
{
    if (p->engine) {
        return mts_engine_set_frame(p->engine, task, frame, error);
    }
    mts_pipeline_recover(p);
    mts_status status = check_next(p, error);
    MTS_TRY(status, mts_pipeline_give_task_frame(p, task, frame, error));
    if (mts_pipeline_is_replaced(p, status)) {
        status = mts_pipeline_give_task_frame(p, task, frame, error);
    }
    MTS_TRY(status, mts_pipeline_remember_frame(p, mts_pipeline_position(p, task), frame, error));
    return status;
}

mts_status mts_pipeline_set_regions(mts_pipeline *p, uint32_t task, const mts_region *regions, uint32_t count,
                                    mts_error *error)
{
    if (p->engine) {
        return mts_engine_set_regions(p->engine, task, regions, count, error);
    }
    mts_pipeline_recover(p);
    mts_status status = mts_pipeline_give_regions(p, task, regions, count, error);
    MTS_TRY(status, mts_pipeline_remember_regions(p, task, regions, count, error));
    return status;
}

/* ---- outputs ---- */

mts_status mts_pipeline_output(const mts_pipeline *p, uint32_t task, uint32_t output, const void **data,
                               size_t *size, mts_error *error)
{
    if (p->engine) {
        return mts_engine_output(mts_pair_shown(p), task, output, data, size, error);
    }
    mts_part_place place = {.part = MTS_NONE};
    const uint32_t t = mts_pipeline_position(p, task);
    mts_status status = mts_pipeline_find_port(p, task, true, output, &place, error);
    if (status == MTS_STATUS_OK && !p->valid) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "there are no outputs yet: submit a run and wait for it");
    }
    if (status == MTS_STATUS_OK && p->schedule.items[t].output_run == 0) {
        status = mts_fail(error, MTS_STATUS_NOT_FOUND, "task %s has no outputs: it has not run",
                          p->archive->tasks[task].name);
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const mts_placed *from = p->old ? p->old : p->now;
    const mts_early_output *early = &from->early[t][output];
    if (early->is_early) {
        *data = from->kept + early->at;
        *size = early->size;
        return MTS_STATUS_OK;
    }
    return mts_engine_output(from->engines[place.part], place.task, place.port, data, size, error);
}

static const mts_engine_task *find_task(const mts_pipeline *p, uint32_t task, mts_error *error)
{
    const uint32_t t = mts_pipeline_position(p, task);
    if (t == p->task_count) {
        (void)mts_fail(error, MTS_STATUS_NOT_FOUND, "the session does not run task %" PRIu32, task);
        return NULL;
    }
    return &p->schedule.items[t];
}

mts_status mts_pipeline_output_run(const mts_pipeline *p, uint32_t task, uint64_t *run, mts_error *error)
{
    if (p->engine) {
        return mts_engine_output_run(mts_pair_shown(p), task, run, error);
    }
    const mts_engine_task *t = find_task(p, task, error);
    if (!t) {
        return MTS_STATUS_NOT_FOUND;
    }
    *run = t->output_run;
    return t->output_run != 0
               ? MTS_STATUS_OK
               : mts_fail(error, MTS_STATUS_NOT_FOUND, "task %s has no outputs: it has not run",
                          p->archive->tasks[task].name);
}

mts_status mts_pipeline_latency(const mts_pipeline *p, uint32_t task, uint64_t *runs, double *p50,
                                double *p95, mts_error *error)
{
    if (p->engine) {
        return mts_engine_latency(mts_pair_shown(p), task, runs, p50, p95, error);
    }
    const mts_engine_task *t = find_task(p, task, error);
    if (!t) {
        return MTS_STATUS_NOT_FOUND;
    }
    *runs = t->latencies.count;
    *p50 = mts_latency_percentile(&t->latencies, 50);
    *p95 = mts_latency_percentile(&t->latencies, 95);
    return MTS_STATUS_OK;
}

/* ---- settings ---- */

mts_status mts_pipeline_enable(mts_pipeline *p, uint32_t task, bool enabled, mts_error *error)
{
    if (p->before) { /* of its frames that wait; it may not have the task */
        (void)mts_engine_enable(p->before, task, enabled, NULL);
    }
    return p->engine ? mts_engine_enable(p->engine, task, enabled, error)
                     : mts_tasks_enable(&p->schedule, task, enabled, error);
}

mts_status mts_pipeline_rate(mts_pipeline *p, uint32_t task, uint32_t every, mts_error *error)
{
    if (p->before) { /* of its frames that wait; it may not have the task */
        (void)mts_engine_rate(p->before, task, every, NULL);
    }
    return p->engine ? mts_engine_rate(p->engine, task, every, error)
                     : mts_tasks_rate(&p->schedule, task, every, error);
}

mts_status mts_pipeline_rate_hz(mts_pipeline *p, uint32_t task, double hz, mts_error *error)
{
    if (p->before) { /* of its frames that wait; it may not have the task */
        (void)mts_engine_rate_hz(p->before, task, hz, NULL);
    }
    return p->engine ? mts_engine_rate_hz(p->engine, task, hz, error)
                     : mts_tasks_rate_hz(&p->schedule, task, hz, error);
}

void mts_pipeline_deadline(mts_pipeline *p, uint32_t ms)
{
    if (p->before) {
        mts_engine_deadline(p->before, ms);
    }
    if (p->engine) {
        mts_engine_deadline(p->engine, ms);
        return;
    }
    p->deadline_ms = ms;
    for (uint32_t i = 0; i < p->now->plan.partition.part_count; i++) {
        if (mts_pipeline_is_root(p, i)) {
            mts_engine_deadline(p->now->engines[i], ms);
        }
    }
}

/* ---- reports ---- */

void mts_pipeline_stats_get(const mts_pipeline *p, mts_session_stats *stats)
{
    if (p->engine) {
        mts_engine_stats_get(p->engine, stats);
        return;
    }
    *stats = (mts_session_stats){.size = sizeof *stats};
    for (uint32_t i = 0; i < p->now->plan.partition.part_count; i++) {
        mts_session_stats part;
        mts_engine_stats_get(p->now->engines[i], &part);
        stats->weight_bytes += part.weight_bytes;
        stats->activation_bytes += part.activation_bytes;
        stats->workspace_bytes += part.workspace_bytes;
        stats->peak_bytes += part.peak_bytes;
        stats->mul_adds += part.mul_adds;
        stats->launches += part.launches;
        stats->groups += part.groups;
        stats->kernels += part.kernels;
        stats->precision = part.precision;
        stats->persistent_launches += part.persistent_launches;
        stats->planning_ms += p->now->reports[i].planning_ms;
    }
    stats->predicted_ms =
        p->now->plan.partition.chain ? p->now->plan.chain.total_ms : p->now->plan.busiest_ms;
}

uint32_t mts_pipeline_group_of(const mts_pipeline *p, uint32_t task)
{
    if (p->engine) {
        return mts_engine_group_of(p->engine, task);
    }
    const uint32_t t = mts_pipeline_position(p, task);
    uint32_t group = MTS_NONE;
    uint32_t before = 0;
    for (uint32_t i = 0; t < p->task_count && i < p->now->plan.partition.part_count; i++) {
        mts_session_stats part;
        const uint32_t index = p->now->plan.partition.parts[i].index_of[t];
        mts_engine_stats_get(p->now->engines[i], &part);
        group = index != MTS_NONE ? before + mts_engine_group_of(p->now->engines[i], index) : group;
        before += part.groups;
    }
    return group;
}

#endif
