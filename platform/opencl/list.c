/*
 * list.c: command lists: their launches, submission and measurement.
 */
#include "platform/opencl/opencl.h"

#include <string.h>

/* Counts the launch as made as soon as there is something to release. */
static mts_status add_launch(mts_cl_device *device, mts_cl_command_list *list, const mts_launch *launch,
                             mts_error *error)
{
    mts_cl_launch *made = &list->launches[list->made];
    cl_int result = CL_SUCCESS;
    mts_status status = mts_cl_launch_fill(device, made, launch, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    made->label = launch->label ? launch->label : "unnamed";
    if (launch->gemm.m > 0) {
        list->has_gemm = true;
        list->made++;
        return MTS_STATUS_OK;
    }
    const mts_cl_program *program = ((const mts_cl_kernel *)launch->kernel)->program;
    made->handle = device->cl.clCreateKernel(program->handle, program->source->name, &result);
    status = mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clCreateKernel", error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    list->made++;
    made->label = launch->label ? launch->label : program->source->name;
    return mts_cl_launch_set_arguments(device, made, error);
}

/* Most launches of a command list stay as they are. */
static bool takes_same(const mts_cl_launch *a, const mts_cl_launch *b)
{
    return memcmp(a->serials, b->serials, sizeof a->serials) == 0 && a->first == b->first &&
           memcmp(a->global, b->global, sizeof a->global) == 0 &&
           memcmp(a->local, b->local, sizeof a->local) == 0;
}

static void add_foreign(mts_cl_command_list *list, const mts_buffer *read)
{
    const mts_cl_buffer *buffer = (const mts_cl_buffer *)read;
    cl_uint at = 0;
    while (at < list->foreign_count && list->foreign[at] != buffer->handle) {
        at++;
    }
    if (buffer->acquired && at == list->foreign_count) {
        list->foreign[list->foreign_count++] = buffer->handle;
    }
}

/* Pools and sources that have to be acquired, each once. */
static void collect_foreign(mts_cl_command_list *list, const mts_launch *launches, size_t count)
{
    list->foreign_count = 0;
    for (size_t i = 0; i < count && list->foreign; i++) {
        add_foreign(list, launches[i].pool);
        for (int k = 0; k < MTS_LAUNCH_SOURCES && launches[i].sources[k]; k++) {
            add_foreign(list, launches[i].sources[k]);
        }
    }
}

static mts_status acquire(mts_cl_device *device, const mts_cl_command_list *list, cl_command_queue queue,
                          mts_error *error)
{
    if (list->foreign_count == 0) {
        return MTS_STATUS_OK;
    }
    const cl_int result = device->import.acquire(queue, list->foreign_count, list->foreign, 0, NULL, NULL);
    return mts_cl_check(device, result, MTS_CL_STAGE_ENQUEUE, "clEnqueueAcquireExternalMemObjectsKHR", error);
}

static mts_status release(mts_cl_device *device, const mts_cl_command_list *list, cl_command_queue queue,
                          mts_error *error)
{
    if (list->foreign_count == 0) {
        return MTS_STATUS_OK;
    }
    const cl_int result = device->import.release(queue, list->foreign_count, list->foreign, 0, NULL, NULL);
    return mts_cl_check(device, result, MTS_CL_STAGE_ENQUEUE, "clEnqueueReleaseExternalMemObjectsKHR", error);
}

mts_status mts_cl_command_list_update(mts_device *base, mts_command_list *base_list,
                                      const mts_launch *launches, size_t count, mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    mts_cl_command_list *list = (mts_cl_command_list *)base_list;
    bool changed = false;
    collect_foreign(list, launches, count);
    for (size_t i = 0; i < count; i++) {
        mts_cl_launch *made = &list->launches[i];
        const mts_cl_launch before = *made;
        mts_status status = mts_cl_launch_fill(device, made, &launches[i], error);
        made->label = launches[i].label ? launches[i].label : made->label;
        list->changed[i] = made->handle && !takes_same(&before, made);
        if (status == MTS_STATUS_OK && !list->changed[i]) {
            continue;
        }
        MTS_TRY(status, mts_cl_launch_set_arguments(device, made, error));
        if (status != MTS_STATUS_OK) {
            return status;
        }
        changed = true;
    }
    if (changed) {
        mts_cl_replay_change(device, list, list->changed);
    }
    return MTS_STATUS_OK;
}

mts_status mts_cl_command_list_create(mts_device *base, const mts_launch *launches, size_t count,
                                      mts_command_list **out, mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    mts_status status = MTS_STATUS_OK;
    mts_cl_command_list *list = mts_alloc_zero(base->allocator, 1, sizeof *list);
    if (!list) {
        return mts_fail_memory(error);
    }
    list->launches = mts_alloc_zero(base->allocator, count, sizeof *list->launches);
    list->changed = mts_alloc_zero(base->allocator, count, sizeof *list->changed);
    if (device->import.dmabuf == MTS_CL_IMPORT_KHR) {
        list->foreign =
            mts_alloc_zero(base->allocator, count * (1 + MTS_LAUNCH_SOURCES), sizeof *list->foreign);
    }
    if (!list->launches || !list->changed || (device->import.dmabuf == MTS_CL_IMPORT_KHR && !list->foreign)) {
        status = mts_fail(error, MTS_STATUS_OUT_OF_MEMORY,
                          "not enough memory for a command list of %zu launches", count);
    }
    for (size_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        status = add_launch(device, list, &launches[i], error);
    }
    if (status != MTS_STATUS_OK) {
        mts_cl_command_list_destroy(base, &list->base);
        return status;
    }
    collect_foreign(list, launches, count);
    mts_cl_replay_record(device, list);
    *out = &list->base;
    return MTS_STATUS_OK;
}

void mts_cl_command_list_destroy(mts_device *base, mts_command_list *base_list)
{
    mts_cl_device *device = (mts_cl_device *)base;
    mts_cl_command_list *list = (mts_cl_command_list *)base_list;
    mts_cl_replay_release(device, list);
    for (size_t i = 0; i < list->made; i++) {
        if (list->launches[i].handle) {
            (void)device->cl.clReleaseKernel(list->launches[i].handle);
        }
    }
    mts_alloc_free(base->allocator, list->foreign);
    mts_alloc_free(base->allocator, list->changed);
    mts_alloc_free(base->allocator, list->launches);
    mts_alloc_free(base->allocator, list);
}

mts_status mts_cl_command_list_submit(mts_device *base, mts_command_list *base_list, mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    mts_cl_command_list *list = (mts_cl_command_list *)base_list;
    mts_error ignored;
    mts_status status = acquire(device, list, device->queue, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    status = mts_cl_list_enqueue(device, list, mts_cl_replay_submit(device, list), error);
    const mts_status released =
        release(device, list, device->queue, status == MTS_STATUS_OK ? error : &ignored);
    MTS_TRY(status, released);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const cl_int result = device->cl.clFlush(device->queue);
    return mts_cl_check(device, result, MTS_CL_STAGE_ENQUEUE, "clFlush", error);
}

static mts_status read_clock(mts_cl_device *device, cl_event event, cl_uint what, uint64_t *clock,
                             mts_error *error)
{
    cl_ulong value = 0;
    const cl_int result = device->cl.clGetEventProfilingInfo(event, what, sizeof value, &value, NULL);
    *clock = value;
    return mts_cl_check(device, result, MTS_CL_STAGE_WAIT, "clGetEventProfilingInfo", error);
}

/* Some drivers' clocks are coarse or not quite in order: a time before `zero` is zero. */
static mts_status read_time(mts_cl_device *device, cl_event event, uint64_t zero, mts_launch_time *time,
                            mts_error *error)
{
    uint64_t start = 0;
    uint64_t end = 0;
    mts_status status = read_clock(device, event, CL_PROFILING_COMMAND_START, &start, error);
    MTS_TRY(status, read_clock(device, event, CL_PROFILING_COMMAND_END, &end, error));
    time->start = start > zero ? start - zero : 0;
    time->end = end > zero && end - zero > time->start ? end - zero : time->start;
    return status;
}

/* Two queues are not ordered with each other, so each is drained before the other is
   used. */
static mts_status run_profiled(mts_cl_device *device, const mts_cl_command_list *list, cl_event *events,
                               mts_launch_time *times, mts_error *error)
{
    mts_error ignored;
    mts_status status = mts_cl_finish(device, error);
    MTS_TRY(status, acquire(device, list, device->profile_queue, error));
    const bool acquired = status == MTS_STATUS_OK;
    for (size_t i = 0; i < list->made && status == MTS_STATUS_OK; i++) {
        status = mts_cl_launch_enqueue(device, device->profile_queue, &list->launches[i], &events[i], error);
    }
    if (acquired) {
        const mts_status released =
            release(device, list, device->profile_queue, status == MTS_STATUS_OK ? error : &ignored);
        MTS_TRY(status, released);
    }
    const bool failed = status != MTS_STATUS_OK;
    const mts_status finished = /* also after a failure: events are running */
        mts_cl_queue_finish(device, device->profile_queue, failed ? &ignored : error);
    status = failed ? status : finished;
    uint64_t zero = 0;
    if (status == MTS_STATUS_OK && list->made > 0) {
        status = read_clock(device, events[0], CL_PROFILING_COMMAND_QUEUED, &zero, error);
    }
    for (size_t i = 0; i < list->made && status == MTS_STATUS_OK; i++) {
        status = read_time(device, events[i], zero, &times[i], error);
        if (status == MTS_STATUS_OK && !list->launches[i].handle) {
            /* several commands, of which the event is the last one's */
            times[i].start = i > 0 && times[i - 1].end < times[i].end ? times[i - 1].end : 0;
        }
        /* The queue is in order, whatever the clock says (Mesa's lets launches
           overlap). */
        if (i > 0 && times[i].start < times[i - 1].end) {
            times[i].start = times[i - 1].end;
            times[i].end = times[i].end > times[i].start ? times[i].end : times[i].start;
        }
    }
    return status;
}

mts_status mts_cl_command_list_profile(mts_device *base, mts_command_list *base_list, mts_launch_time *times,
                                       size_t count, mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    const mts_cl_command_list *list = (const mts_cl_command_list *)base_list;
    if (!device->cl.clGetEventProfilingInfo || !device->cl.clReleaseEvent) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "the OpenCL library has no profiling functions");
    }
    if (!device->profile_queue) {
        const mts_status status =
            mts_cl_queue_create(device, CL_QUEUE_PROFILING_ENABLE, &device->profile_queue, error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
    }
    cl_event *events = mts_alloc_zero(base->allocator, count, sizeof *events);
    if (!events) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for %zu events", count);
    }
    const mts_status status = run_profiled(device, list, events, times, error);
    for (size_t i = 0; i < count; i++) {
        if (events[i]) {
            (void)device->cl.clReleaseEvent(events[i]);
        }
    }
    mts_alloc_free(base->allocator, events);
    return status;
}
