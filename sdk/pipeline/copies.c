/*
 * copies.c: copies of inputs and frames. Memory is allocated while copies grow; a frame of
 * a size that was seen before allocates nothing.
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include "pipeline/copies.h"

#include <string.h>

/* ---- memory ---- */

static mts_status store(const mts_pipeline *p, mts_copied_bytes *to, const void *data, size_t size,
                        mts_error *error)
{
    if (!mts_alloc_grow(p->allocator, &to->data, &to->capacity, size, 1)) {
        return mts_fail_memory(error);
    }
    if (size > 0) {
        memcpy(to->data, data, size);
    }
    to->size = size;
    return MTS_STATUS_OK;
}

/* `stays`: the pixels stay where they are until the run has ended, if the caller says so. */
static mts_status store_frame(const mts_pipeline *p, mts_frame_copy *to, const mts_frame_view *view,
                              bool stays, mts_error *error)
{
    size_t all = 0;
    size_t at = 0;
    to->view = *view;
    to->given = true;
    to->used_by = 0;
    if (view->frame.memory != MTS_MEMORY_HOST || (stays && view->frame.zero_copy != 0)) {
        return MTS_STATUS_OK;
    }
    to->view.frame.zero_copy = 0; /* a copy may change before a device has read it */
    for (uint32_t i = 0; i < view->planes.count; i++) {
        all += mts_frame_plane_bytes(&view->planes, view->stride, i);
    }
    if (!mts_alloc_grow(p->allocator, &to->pixels.data, &to->pixels.capacity, all, 1)) {
        to->given = false;
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < view->planes.count; i++) {
        const size_t size = mts_frame_plane_bytes(&view->planes, view->stride, i);
        to->view.plane[i] = (unsigned char *)to->pixels.data + at;
        memcpy((unsigned char *)to->pixels.data + at, view->plane[i], size);
        at += size;
    }
    return MTS_STATUS_OK;
}

static mts_status store_copy(const mts_pipeline *p, mts_input_copy *to, const mts_input_copy *from,
                             mts_error *error)
{
    mts_status status = store(p, &to->tensor, from->tensor.data, from->tensor.size, error);
    to->given = from->given;
    to->frame.given = false;
    if (from->frame.given) {
        MTS_TRY(status, store_frame(p, &to->frame, &from->frame.view, false, error));
        to->frame.used_by = from->frame.used_by;
    }
    return status;
}

mts_status mts_pipeline_copies_make(mts_pipeline *p, mts_error *error)
{
    if (!p->options.replan) {
        return MTS_STATUS_OK;
    }
    mts_arena *arena = &p->arena;
    const uint32_t count = p->slots + p->spare;
    mts_pipeline_copies *c = mts_arena_zero(arena, 1, sizeof *c);
    if (!c) {
        return mts_fail_memory(error);
    }
    c->first = mts_arena_zero(arena, p->task_count, sizeof *c->first);
    c->regions = mts_arena_zero(arena, (size_t)p->task_count + 1, sizeof *c->regions);
    c->runs = mts_arena_zero(arena, count, sizeof *c->runs);
    for (uint32_t t = 0; c->first && t < p->task_count; t++) {
        c->first[t] = c->input_count;
        c->input_count += p->archive->tasks[p->tasks[t]].graph->input_count;
    }
    c->now = mts_arena_zero(arena, c->input_count, sizeof *c->now);
    if (!c->first || !c->regions || !c->runs || !c->now) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < count; i++) {
        c->runs[i].inputs = mts_arena_zero(arena, c->input_count, sizeof *c->runs[i].inputs);
        c->runs[i].regions = mts_arena_zero(arena, (size_t)p->task_count + 1, sizeof *c->regions);
        p->items[i].copy = &c->runs[i];
        if (!c->runs[i].inputs || !c->runs[i].regions) {
            return mts_fail_memory(error);
        }
    }
    p->copies = c;
    return MTS_STATUS_OK;
}

static void release_input(const mts_pipeline *p, mts_input_copy *input)
{
    mts_alloc_free(p->allocator, input->tensor.data);
    mts_alloc_free(p->allocator, input->frame.pixels.data);
}

void mts_pipeline_copies_release(mts_pipeline *p)
{
    mts_pipeline_copies *c = p->copies;
    for (uint32_t i = 0; c && i < c->input_count; i++) {
        release_input(p, &c->now[i]);
        for (uint32_t r = 0; r < p->slots + p->spare; r++) {
            release_input(p, &c->runs[r].inputs[i]);
        }
    }
    for (uint32_t r = 0; c && r < p->slots + p->spare; r++) {
        mts_alloc_free(p->allocator, c->runs[r].frame.pixels.data);
    }
    for (uint32_t t = 0; c && t <= p->task_count; t++) {
        mts_alloc_free(p->allocator, c->regions[t].regions.data);
        for (uint32_t r = 0; r < p->slots + p->spare; r++) {
            mts_alloc_free(p->allocator, c->runs[r].regions[t].regions.data);
        }
    }
    p->copies = NULL;
}

/* ---- what is remembered ---- */

mts_status mts_pipeline_remember_input(mts_pipeline *p, uint32_t task, uint32_t input, const void *data,
                                       size_t size, mts_error *error)
{
    if (!p->copies) {
        return MTS_STATUS_OK;
    }
    mts_input_copy *to = &p->copies->now[p->copies->first[task] + input];
    to->given = true;
    to->frame.given = false;
    return store(p, &to->tensor, data, size, error);
}

mts_status mts_pipeline_remember_frame(mts_pipeline *p, uint32_t task, const mts_frame_view *frame,
                                       mts_error *error)
{
    if (!p->copies || task == p->task_count) {
        return MTS_STATUS_OK;
    }
    return store_frame(p, &p->copies->now[p->copies->first[task]].frame, frame, false, error);
}

static void forget_frames(const mts_pipeline *p, mts_input_copy *inputs, uint64_t run)
{
    for (uint32_t i = 0; i < p->copies->input_count; i++) {
        mts_input_copy *input = &inputs[i];
        if (input->frame.given && input->frame.view.frame.memory != MTS_MEMORY_HOST &&
            input->frame.used_by == run) {
            input->frame.given = input->given = false;
        }
    }
}

void mts_pipeline_forget_frames(mts_pipeline *p, const mts_pipeline_run *run)
{
    if (p->copies) {
        forget_frames(p, p->copies->now, run->number);
    }
    for (uint32_t i = 0; p->copies && i < p->used; i++) {
        forget_frames(p, p->queue[i]->copy->inputs, run->number);
    }
}

mts_status mts_pipeline_remember_regions(mts_pipeline *p, uint32_t task, const mts_region *regions,
                                         uint32_t count, mts_error *error)
{
    if (!p->copies) {
        return MTS_STATUS_OK;
    }
    const uint32_t t = mts_pipeline_position(p, task);
    mts_region_copy *to = &p->copies->regions[t];
    for (uint32_t own = 0; t == p->task_count && own < t; own++) {
        p->copies->regions[own].given = false; /* those of all tasks take their place */
    }
    p->copies->has_regions = true;
    to->given = true;
    to->task = task;
    to->count = count;
    return store(p, &to->regions, regions, count * sizeof *regions, error);
}

mts_status mts_pipeline_copy_inputs(mts_pipeline *p, mts_pipeline_run *run, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; p->copies && status == MTS_STATUS_OK && i < p->copies->input_count; i++) {
        mts_frame_copy *frame = &p->copies->now[i].frame;
        frame->used_by = frame->used_by != 0 ? frame->used_by : run->number;
        status = store_copy(p, &run->copy->inputs[i], &p->copies->now[i], error);
    }
    for (uint32_t t = 0; p->copies && status == MTS_STATUS_OK && t <= p->task_count; t++) {
        const mts_region_copy *from = &p->copies->regions[t];
        mts_region_copy *to = &run->copy->regions[t];
        to->given = from->given;
        to->task = from->task;
        to->count = from->count;
        status = store(p, &to->regions, from->regions.data, from->regions.size, error);
    }
    return status;
}

mts_status mts_pipeline_copy_frame(mts_pipeline *p, mts_pipeline_run *run, const mts_frame_view *frame,
                                   mts_error *error)
{
    if (!p->copies) {
        return MTS_STATUS_OK;
    }
    mts_status status = mts_pipeline_copy_inputs(p, run, error);
    MTS_TRY(status, store_frame(p, &run->copy->frame, frame, true, error));
    return status;
}

#endif
