/*
 * give.c: inputs, frames and runs to the engines of the parts that take the caller's inputs.
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include <inttypes.h>

#include "pipeline/state.h"

uint32_t mts_pipeline_position(const mts_pipeline *p, uint32_t task)
{
    uint32_t t = 0;
    while (t < p->task_count && p->tasks[t] != task) {
        t++;
    }
    return t;
}

mts_status mts_pipeline_find_port(const mts_pipeline *p, uint32_t task, bool output, uint32_t index,
                                  mts_part_place *place, mts_error *error)
{
    const uint32_t t = mts_pipeline_position(p, task);
    const mts_graph *graph = t < p->task_count ? p->archive->tasks[task].graph : NULL;
    if (!graph || index >= (output ? graph->output_count : graph->input_count)) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "the session has no %s %" PRIu32 " of task %" PRIu32,
                        output ? "output" : "input", index, task);
    }
    const mts_placed *from = output && p->old ? p->old : p->now;
    if (from->plan.partition.part_count == 0) {
        return mts_fail(error, MTS_STATUS_DEVICE_LOST, "a device was lost");
    }
    *place = output ? from->plan.partition.outputs[t][index] : from->plan.partition.inputs[t][index];
    return MTS_STATUS_OK;
}

/* ---- inputs ---- */

mts_status mts_pipeline_give_input(mts_pipeline *p, uint32_t task, uint32_t input, const void *data,
                                   size_t size, mts_error *error)
{
    mts_part_place place = {.part = MTS_NONE};
    const uint32_t t = mts_pipeline_position(p, task);
    mts_status status = mts_pipeline_find_port(p, task, false, input, &place, error);
    if (status != MTS_STATUS_OK || place.part == MTS_NONE) {
        return status; /* nothing reads it */
    }
    const mts_graph *graph = p->archive->tasks[task].graph;
    uint32_t given = 1u << place.part; /* tasks of a part share the input: it is given once */
    status = mts_engine_set_input(p->now->engines[place.part], place.task, place.port, data, size, error);
    /* Parts that are no chain have inputs of their own; equal ones of all of them are set. */
    for (uint32_t o = 0; o < p->task_count && !mts_pipeline_is_chain(p) && !p->options.engine.separate_inputs;
         o++) {
        const mts_graph *other = p->archive->tasks[p->tasks[o]].graph;
        const bool same = input < other->input_count && o != t &&
                          p->now->plan.units.number_of[o][other->inputs[input].value] ==
                              p->now->plan.units.number_of[t][graph->inputs[input].value];
        const mts_part_place *at = same ? &p->now->plan.partition.inputs[o][input] : &place;
        if (at->part != MTS_NONE && (given >> at->part & 1u) == 0) {
            given |= 1u << at->part;
            MTS_TRY(status,
                    mts_engine_set_input(p->now->engines[at->part], at->task, at->port, data, size, error));
        }
    }
    return status;
}

mts_status mts_pipeline_give_task_frame(mts_pipeline *p, uint32_t task, const mts_frame_view *frame,
                                        mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    mts_part_place place = {.part = MTS_NONE};
    if (task != MTS_NONE) {
        status = mts_pipeline_find_port(p, task, false, 0, &place, error);
        return status == MTS_STATUS_OK && place.part != MTS_NONE
                   ? mts_engine_set_frame(p->now->engines[place.part], place.task, frame, error)
                   : status;
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < p->now->plan.partition.part_count; i++) {
        status = mts_pipeline_is_root(p, i) ? mts_engine_set_frame(p->now->engines[i], MTS_NONE, frame, error)
                                            : status;
    }
    return status;
}

mts_status mts_pipeline_give_regions(mts_pipeline *p, uint32_t task, const mts_region *regions,
                                     uint32_t count, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    mts_part_place place = {.part = MTS_NONE};
    if (task != MTS_NONE) {
        status = mts_pipeline_find_port(p, task, false, 0, &place, error);
        return status == MTS_STATUS_OK && place.part != MTS_NONE
                   ? mts_engine_set_regions(p->now->engines[place.part], place.task, regions, count, error)
                   : status;
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < p->now->plan.partition.part_count; i++) {
        status = mts_pipeline_is_root(p, i)
                     ? mts_engine_set_regions(p->now->engines[i], MTS_NONE, regions, count, error)
                     : status;
    }
    return status;
}

/* ---- runs ---- */

mts_status mts_pipeline_begin_inputs(mts_pipeline *p, mts_pipeline_run *run, mts_error *error)
{
    mts_pipeline_choose(p, run);
    for (uint32_t i = 0; i < p->now->plan.partition.part_count && !run->failed; i++) {
        mts_error own = {0};
        if (!mts_pipeline_is_root(p, i)) {
            continue;
        }
        mts_pipeline_activate(p, run, i);
        mts_engine_use_slot(p->now->engines[i], mts_pipeline_slot(p, run));
        mts_engine_hold(p->now->engines[i], false);
        const mts_status status = mts_engine_submit(p->now->engines[i], &own);
        mts_engine_hold(p->now->engines[i], true);
        if (status != MTS_STATUS_OK && run->begun == 0 && !(p->copies && status == MTS_STATUS_DEVICE_LOST)) {
            if (error) {
                *error = own;
            }
            return status;
        }
        if (status != MTS_STATUS_OK) {
            mts_pipeline_end(p, run, i, status, &own);
        } else {
            run->begun |= 1u << i;
            run->in_part[i] = ++p->now->numbers[i];
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_pipeline_give_frame(mts_pipeline *p, mts_pipeline_run *run, const mts_frame_view *frame,
                                   mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    uint32_t given = 0;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < p->now->plan.partition.part_count; i++) {
        mts_engine_drop none = {0};
        if (mts_pipeline_is_root(p, i)) {
            mts_engine_use_slot(p->now->engines[i], mts_pipeline_slot(p, run));
            status = mts_engine_submit_frame(p->now->engines[i], frame, &none, error);
        }
        if (mts_pipeline_is_root(p, i) && status == MTS_STATUS_OK) {
            run->in_part[i] = ++p->now->numbers[i];
            given |= 1u << i;
        }
    }
    for (uint32_t i = 0; status != MTS_STATUS_OK && i < p->now->plan.partition.part_count; i++) {
        if ((given >> i & 1u) != 0) {
            (void)mts_engine_withdraw(p->now->engines[i], run->in_part[i]);
        }
    }
    return status;
}

#endif
