/*
 * list.c: command lists: their launches, submission and measurement.
 */
#include "platform/opencl/opencl.h"

#include <string.h>

static mts_status set_argument(mts_cl_device *device, cl_kernel kernel, cl_uint index, size_t size,
                               const void *value, mts_error *error)
{
    const cl_int result = device->cl.clSetKernelArg(kernel, index, size, value);
    return mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clSetKernelArg", error);
}

static mts_status set_arguments(mts_cl_device *device, const mts_cl_launch *made, mts_error *error)
{
    const cl_mem *const buffers[] = {&made->act, &made->pool, &made->params};
    for (cl_uint i = 0; i < 3; i++) {
        const mts_status status = set_argument(device, made->handle, i, sizeof(cl_mem), buffers[i], error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
    }
    mts_status status = set_argument(device, made->handle, 3, sizeof made->first, &made->first, error);
    if (made->image) {
        MTS_TRY(status, set_argument(device, made->handle, 4, sizeof(cl_mem), &made->image, error));
    }
    for (cl_uint i = 0; made->sources[0] && i < MTS_LAUNCH_SOURCES; i++) {
        MTS_TRY(status, set_argument(device, made->handle, 4 + i, sizeof(cl_mem), &made->sources[i], error));
    }
    return status;
}

static cl_mem take_buffer(const mts_buffer *base, uint64_t *serial)
{
    const mts_cl_buffer *buffer = (const mts_cl_buffer *)base;
    *serial = buffer->serial;
    return buffer->handle;
}

/* All of a launch but its kernel object and label. */
static mts_status fill_launch(mts_cl_device *device, mts_cl_launch *made, const mts_launch *launch,
                              mts_error *error)
{
    made->gemm = launch->gemm;
    made->act = take_buffer(launch->act, &made->serials[0]);
    made->pool = take_buffer(launch->pool, &made->serials[1]);
    made->params = take_buffer(launch->params, &made->serials[2]);
    for (int i = 0; i < MTS_LAUNCH_SOURCES && launch->sources[0]; i++) {
        made->sources[i] = take_buffer(launch->sources[i], &made->serials[3 + i]);
    }
    made->first = launch->first;
    for (int i = 0; i < 3; i++) {
        made->global[i] = launch->global[i];
        made->local[i] = launch->local[i];
    }
#ifndef MTS_SMALL
    const mts_cl_kernel *kernel = (const mts_cl_kernel *)launch->kernel;
    if (kernel && kernel->images) {
        return mts_cl_buffer_image(device, (mts_cl_buffer *)launch->pool, kernel->half, &made->image, error);
    }
#else
    (void)device;
    (void)error;
#endif
    return MTS_STATUS_OK;
}

/* Counts the launch as made as soon as there is something to release. */
static mts_status add_launch(mts_cl_device *device, mts_cl_command_list *list, const mts_launch *launch,
                             mts_error *error)
{
    mts_cl_launch *made = &list->launches[list->made];
    cl_int result = CL_SUCCESS;
    mts_status status = fill_launch(device, made, launch, error);
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
    return set_arguments(device, made, error);
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
    const bool recorded = list->recording;
    bool changed = false;
    collect_foreign(list, launches, count);
    for (size_t i = 0; i < count; i++) {
        mts_cl_launch *made = &list->launches[i];
        const mts_cl_launch before = *made;
        mts_status status = fill_launch(device, made, &launches[i], error);
        made->label = launches[i].label ? launches[i].label : made->label;
        if (status == MTS_STATUS_OK && (!made->handle || takes_same(&before, made))) {
            continue;
        }
        MTS_TRY(status, set_arguments(device, made, error));
        if (status != MTS_STATUS_OK) {
            return status;
        }
        changed = true;
    }
    if (recorded && changed) {
        mts_cl_replay_release(device, list); /* it holds the arguments that the launches had */
        mts_cl_replay_record(device, list);
    }
    return MTS_STATUS_OK;
}

static mts_status enqueue(mts_cl_device *device, cl_command_queue queue, const mts_cl_launch *launch,
                          cl_event *event, mts_error *error)
{
    const bool product = !launch->handle;
    const cl_int result =
        product ? mts_cl_gemm_enqueue(&device->gemm, &launch->gemm, launch->act, launch->pool, queue, event)
                : device->cl.clEnqueueNDRangeKernel(queue, launch->handle, 3, NULL, launch->global,
                                                    launch->local, 0, NULL, event);
    const mts_status status = mts_cl_check(device, result, MTS_CL_STAGE_ENQUEUE,
                                           product ? "CLBlastSgemm" : "clEnqueueNDRangeKernel", error);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "launch '%s'", launch->label);
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
    if (device->import.dmabuf == MTS_CL_IMPORT_KHR) {
        list->foreign =
            mts_alloc_zero(base->allocator, count * (1 + MTS_LAUNCH_SOURCES), sizeof *list->foreign);
    }
    if (!list->launches || (device->import.dmabuf == MTS_CL_IMPORT_KHR && !list->foreign)) {
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
    mts_alloc_free(base->allocator, list->launches);
    mts_alloc_free(base->allocator, list);
}

static mts_status enqueue_all(mts_cl_device *device, const mts_cl_command_list *list, mts_error *error)
{
    const uint32_t every = device->flush_every;
    for (size_t i = 0; i < list->made; i++) {
        const mts_status status = enqueue(device, device->queue, &list->launches[i], NULL, error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        if (every && (i + 1) % every == 0) {
            (void)device->cl.clFlush(device->queue); /* a failure shows at the end */
        }
    }
    return MTS_STATUS_OK;
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
    if (!mts_cl_replay_submit(device, list)) {
        status = enqueue_all(device, list, error);
    }
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
        status = enqueue(device, device->profile_queue, &list->launches[i], &events[i], error);
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
        cl_int result = CL_SUCCESS;
        device->profile_queue =
            device->cl.clCreateCommandQueue(device->context, device->id, CL_QUEUE_PROFILING_ENABLE, &result);
        const mts_status status =
            mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clCreateCommandQueue", error);
        if (status != MTS_STATUS_OK) {
            device->profile_queue = NULL;
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
