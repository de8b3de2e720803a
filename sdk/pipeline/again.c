/*
 * again.c: copies of inputs and frames, and runs that begin anew after the loss of a
 * device. Memory is allocated while copies grow; a frame of a size that was seen before
 * allocates nothing.
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include "pipeline/again.h"

#include <string.h>

#include "platform/os/os.h"

#define PAUSE_NS 100000u

typedef struct bytes {
    void *data;
    size_t size, capacity;
} bytes;

/* A frame with its pixels, unless its memory stays the caller's until the run has ended. */
typedef struct frame_copy {
    bool given;
    mts_frame_view view;
    bytes pixels;
} frame_copy;

/* An input: a tensor, or a frame. */
typedef struct input_copy {
    bool given;
    bytes tensor;
    frame_copy frame;
} input_copy;

/* Regions of one task, or of all. */
typedef struct region_copy {
    bool given;
    uint32_t task;
    bytes regions;
    uint32_t count;
} region_copy;

struct mts_pipeline_copy {
    input_copy *inputs;
    frame_copy frame;
};

struct mts_pipeline_copies {
    uint32_t input_count;
    uint32_t *first; /* [task]: its first input */
    input_copy *now;
    mts_pipeline_copy *runs; /* [slots + spare] */
    region_copy *regions;    /* [tasks + 1], the last of all tasks */
};

/* ---- memory ---- */

static mts_status store(const mts_pipeline *p, bytes *to, const void *data, size_t size, mts_error *error)
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

static mts_status store_frame(const mts_pipeline *p, frame_copy *to, const mts_frame_view *view,
                              mts_error *error)
{
    size_t all = 0;
    size_t at = 0;
    to->view = *view;
    to->given = true;
    if (view->frame.memory != MTS_MEMORY_HOST || view->frame.zero_copy != 0) {
        return MTS_STATUS_OK;
    }
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

static mts_status store_copy(const mts_pipeline *p, input_copy *to, const input_copy *from, mts_error *error)
{
    mts_status status = store(p, &to->tensor, from->tensor.data, from->tensor.size, error);
    to->given = from->given;
    to->frame.given = false;
    if (from->frame.given) {
        MTS_TRY(status, store_frame(p, &to->frame, &from->frame.view, error));
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
        p->items[i].copy = &c->runs[i];
        if (!c->runs[i].inputs) {
            return mts_fail_memory(error);
        }
    }
    p->copies = c;
    return MTS_STATUS_OK;
}

static void release_input(const mts_pipeline *p, input_copy *input)
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
    input_copy *to = &p->copies->now[p->copies->first[task] + input];
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
    return store_frame(p, &p->copies->now[p->copies->first[task]].frame, frame, error);
}

mts_status mts_pipeline_remember_regions(mts_pipeline *p, uint32_t task, const mts_region *regions,
                                         uint32_t count, mts_error *error)
{
    uint32_t t = 0;
    if (!p->copies) {
        return MTS_STATUS_OK;
    }
    while (t < p->task_count && p->tasks[t] != task) {
        t++;
    }
    region_copy *to = &p->copies->regions[t];
    to->given = true;
    to->task = task;
    to->count = count;
    return store(p, &to->regions, regions, count * sizeof *regions, error);
}

mts_status mts_pipeline_copy_inputs(mts_pipeline *p, mts_pipeline_run *run, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; p->copies && status == MTS_STATUS_OK && i < p->copies->input_count; i++) {
        status = store_copy(p, &run->copy->inputs[i], &p->copies->now[i], error);
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
    MTS_TRY(status, store_frame(p, &run->copy->frame, frame, error));
    return status;
}

/* ---- after a loss ---- */

static bool is_lost(const mts_pipeline *p)
{
    for (uint32_t i = 0; i < p->now->plan.partition.part_count; i++) {
        if (p->devices[p->now->plan.partition.parts[i].device]->lost) {
            return true;
        }
    }
    return false;
}

static mts_status give_inputs(mts_pipeline *p, const input_copy *inputs, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; t < p->task_count; t++) {
        const uint32_t count = p->archive->tasks[p->tasks[t]].graph->input_count;
        for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
            const input_copy *input = &inputs[p->copies->first[t] + i];
            if (input->frame.given) {
                status = mts_pipeline_give_task_frame(p, p->tasks[t], &input->frame.view, error);
            } else if (input->given) {
                status = mts_pipeline_give_input(p, p->tasks[t], i, input->tensor.data, input->tensor.size,
                                                 error);
            }
        }
    }
    return status;
}

static mts_status give_regions(mts_pipeline *p, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; status == MTS_STATUS_OK && t <= p->task_count; t++) {
        const region_copy *regions = &p->copies->regions[t];
        if (regions->given) {
            status = mts_pipeline_give_regions(p, regions->task, regions->regions.data, regions->count, error);
        }
    }
    return status;
}

/* Waits until what was given before has begun, so that inputs may change. */
static bool settle(mts_pipeline *p, bool begins)
{
    while (!is_lost(p) && (mts_pipeline_has_waiting(p) || (begins && !mts_pipeline_may_begin(p)))) {
        mts_pipeline_move(p);
        mts_os_sleep_ns(PAUSE_NS);
    }
    return !is_lost(p);
}

static mts_status run_again(mts_pipeline *p, mts_pipeline_run *run, mts_error *error)
{
    run->begun = run->taken = 0;
    memset(run->in_part, 0, sizeof run->in_part);
    run->over = false;
    run->finished = 0;
    run->status = MTS_STATUS_OK;
    if (!settle(p, !run->has_frame)) {
        return MTS_STATUS_OK; /* lost again */
    }
    mts_status status = give_inputs(p, run->copy->inputs, error);
    if (status == MTS_STATUS_OK) {
        status = run->has_frame ? mts_pipeline_give_frame(p, run, &run->copy->frame.view, error)
                                : mts_pipeline_begin_inputs(p, run, error);
    }
    mts_pipeline_move(p);
    return status;
}

static void end_all(mts_pipeline *p, const mts_error *error)
{
    for (uint32_t i = 0; i < p->used; i++) {
        mts_pipeline_run *run = p->queue[i];
        if (!run->over || run->status == MTS_STATUS_DEVICE_LOST) {
            run->over = true;
            run->status = error->code;
            run->error = *error;
        }
    }
}

/* Keeps the placement before the loss, whose outputs the caller may still read. */
static mts_status retire(mts_pipeline *p, mts_error *error)
{
    mts_placed *next = mts_alloc_zero(p->allocator, 1, sizeof *next);
    if (!next) {
        return mts_fail_memory(error);
    }
    mts_arena_init(&next->arena, p->allocator);
    if (p->old) {
        mts_placed_destroy(&p->now, p->allocator);
    } else {
        p->old = p->now;
    }
    p->now = next;
    return MTS_STATUS_OK;
}

static mts_status begin_anew(mts_pipeline *p, mts_error *error)
{
    bool again[32] = {false};
    for (uint32_t i = 0; i < p->used && i < 32; i++) {
        const mts_pipeline_run *run = p->queue[i];
        again[i] = !run->over || run->status == MTS_STATUS_DEVICE_LOST;
    }
    for (uint32_t i = 0; i < p->used; i++) { /* none is looked for in the new engines yet */
        p->queue[i]->begun = p->queue[i]->taken = 0;
        memset(p->queue[i]->in_part, 0, sizeof p->queue[i]->in_part);
    }
    mts_status status = retire(p, error);
    MTS_TRY(status, mts_pipeline_place(p, error));
    MTS_TRY(status, give_regions(p, error));
    for (uint32_t i = 0; i < p->used && i < 32; i++) {
        if (again[i]) {
            MTS_TRY(status, run_again(p, p->queue[i], error));
        }
    }
    if (status == MTS_STATUS_OK && settle(p, false)) {
        status = give_inputs(p, p->copies->now, error);
    }
    p->replans++;
    return status;
}

void mts_pipeline_recover(mts_pipeline *p)
{
    while (p->copies && !p->stopped && is_lost(p)) {
        mts_error error = {0};
        mts_device *lost = NULL;
        const char *id = "";
        for (uint32_t d = 0; d < p->device_count; d++) {
            lost = p->devices[d]->lost ? p->devices[d] : lost;
            id = p->devices[d]->lost ? p->ids[d] : id;
        }
        mts_log_write(lost->log, MTS_LOG_WARNING,
                      "device '%s' was lost; the session is placed on the others, and %u runs begin again",
                      id, p->used);
        const mts_status status = begin_anew(p, &error);
        if (status != MTS_STATUS_OK && !is_lost(p)) {
            error.code = MTS_STATUS_DEVICE_LOST;
            (void)mts_fail_prefix(&error, error.code, "device '%s' was lost, and the session cannot go on", id);
            end_all(p, &error);
            return;
        }
    }
}

#endif
