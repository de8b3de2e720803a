/*
 * replay.c: finds the extension, records a command list once, replays it.
 *
 * A recording may be enqueued again before it has run only if the device is capable of
 * that and it was recorded for it. On other devices it is used only if it is known to
 * have run (the queue was waited for, or an event behind it was seen passed); otherwise
 * the launches are enqueued one by one, which gives the same bits.
 */
#include "platform/opencl/opencl.h"

#include <string.h>

#define EXTENSION "cl_khr_command_buffer"
#define EXTENSIONS_MOST 65536

static bool has_extension(const mts_cl_library *cl, cl_device_id id, const mts_allocator *allocator)
{
    size_t size = 0;
    if (cl->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &size) != CL_SUCCESS || size == 0 ||
        size > EXTENSIONS_MOST) {
        return false;
    }
    char *text = mts_alloc_zero(allocator, size + 1, 1);
    const bool found = text &&
                       cl->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, size, text, NULL) == CL_SUCCESS &&
                       mts_cl_has_word(text, EXTENSION);
    mts_alloc_free(allocator, text);
    return found;
}

bool mts_cl_replay_find(const mts_cl_library *cl, cl_platform_id platform, cl_device_id id,
                        const mts_allocator *allocator, mts_cl_replay *out)
{
    cl_bitfield needed = 0;
    memset(out, 0, sizeof *out);
    if (!has_extension(cl, id, allocator)) {
        return false;
    }
    if (cl->clGetDeviceInfo(id, CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES, sizeof needed, &needed,
                            NULL) != CL_SUCCESS ||
        needed != 0) {
        return false;
    }
#define FIND(member, name)                                                                                   \
    {                                                                                                        \
        const mts_cl_function found = mts_cl_library_extension(cl, platform, name);                          \
        memcpy(&out->member, &found, sizeof found);                                                          \
    }
    FIND(create, "clCreateCommandBufferKHR")
    FIND(launch, "clCommandNDRangeKernelKHR")
    FIND(finalize, "clFinalizeCommandBufferKHR")
    FIND(enqueue, "clEnqueueCommandBufferKHR")
    FIND(release, "clReleaseCommandBufferKHR")
#undef FIND
    if (!out->create || !out->launch || !out->finalize || !out->enqueue || !out->release) {
        memset(out, 0, sizeof *out);
        return false;
    }
    cl_bitfield able = 0;
    out->simultaneous = cl->clGetDeviceInfo(id, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES, sizeof able, &able,
                                            NULL) == CL_SUCCESS &&
                        (able & CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE) != 0;
    return true;
}

static void discard(mts_cl_device *device, mts_cl_command_list *list, const char *call, cl_int result)
{
    mts_log_write(
        device->base.log, MTS_LOG_INFO,
        "'%s': %s failed with %s (%d): a command list of %zu launches is submitted one by one from now on",
        device->base.info.name, call, mts_cl_error_name(result), result, list->made);
    mts_cl_replay_release(device, list);
}

void mts_cl_replay_record(mts_cl_device *device, mts_cl_command_list *list)
{
    static const cl_ulong simultaneous[] = {CL_COMMAND_BUFFER_FLAGS, CL_COMMAND_BUFFER_SIMULTANEOUS_USE, 0};
    const mts_cl_replay *replay = &device->replay;
    cl_int result = CL_SUCCESS;
    if (!replay->create || list->made < 2 || list->has_gemm) {
        return; /* the commands that CLBlast enqueues cannot be recorded */
    }
    list->recording = replay->create(1, &device->queue, replay->simultaneous ? simultaneous : NULL, &result);
    if (result != CL_SUCCESS || !list->recording) {
        list->recording = NULL; /* a driver may leave anything there */
        discard(device, list, "clCreateCommandBufferKHR", result);
        return;
    }
    for (size_t i = 0; i < list->made; i++) {
        const mts_cl_launch *launch = &list->launches[i];
        result = replay->launch(list->recording, NULL, NULL, launch->handle, 3, NULL, launch->global,
                                launch->local, 0, NULL, NULL, NULL);
        if (result != CL_SUCCESS) {
            discard(device, list, "clCommandNDRangeKernelKHR", result);
            return;
        }
    }
    result = replay->finalize(list->recording);
    if (result != CL_SUCCESS) {
        discard(device, list, "clFinalizeCommandBufferKHR", result);
    }
}

bool mts_cl_replay_submit(mts_cl_device *device, mts_cl_command_list *list)
{
    if (!list->recording || (!device->replay.simultaneous && list->replayed > device->finished)) {
        return false;
    }
    const cl_int result = device->replay.enqueue(1, &device->queue, list->recording, 0, NULL, NULL);
    if (result != CL_SUCCESS) {
        discard(device, list, "clEnqueueCommandBufferKHR", result);
        return false;
    }
    list->replayed = ++device->replays;
    return true;
}

void mts_cl_replay_release(mts_cl_device *device, mts_cl_command_list *list)
{
    if (list->recording) {
        if (list->replayed > device->finished && !device->base.lost) {
            (void)mts_cl_finish(device, NULL); /* it may still run; not every driver keeps it until then */
        }
        (void)device->replay.release(list->recording);
        list->recording = NULL;
    }
}
