/*
 * queue.c: the context and the queues of a device, with hints about priority and clocks.
 *
 * A hint is given only where the driver has its extension. A driver that refuses what it
 * says to have gets no hints, and the log says so.
 */
#include <string.h>

#include "platform/opencl/opencl.h"

#define CONTEXT_PROPERTIES 7 /* the platform, two hints, the end */

static bool is_first(mts_queue_mode mode)
{
    return mode == MTS_QUEUE_FAST;
}

static bool is_slow(mts_queue_mode mode)
{
    return mode == MTS_QUEUE_BACKGROUND;
}

/* Adreno's hints belong to contexts. Returns how many properties there are beside the end. */
static size_t fill_context(const char *has, cl_platform_id platform, mts_queue_mode mode,
                           intptr_t out[CONTEXT_PROPERTIES])
{
    size_t used = 0;
    memset(out, 0, CONTEXT_PROPERTIES * sizeof *out);
    out[used++] = CL_CONTEXT_PLATFORM;
    out[used++] = (intptr_t)platform;
    if (mode != MTS_QUEUE_DEFAULT && mts_cl_has_word(has, "cl_qcom_perf_hint")) {
        out[used++] = CL_CONTEXT_PERF_HINT_QCOM;
        out[used++] = is_slow(mode) ? CL_PERF_HINT_LOW_QCOM : CL_PERF_HINT_HIGH_QCOM;
    }
    if (mode != MTS_QUEUE_DEFAULT && mts_cl_has_word(has, "cl_qcom_priority_hint")) {
        out[used++] = CL_CONTEXT_PRIORITY_HINT_QCOM;
        out[used++] = is_first(mode) ? CL_PRIORITY_HINT_HIGH_QCOM : CL_PRIORITY_HINT_LOW_QCOM;
    }
    return used;
}

/* Khronos' hints belong to queues. */
static void fill_queue(mts_cl_device *device, const char *has, mts_queue_mode mode)
{
    cl_ulong *out = device->queue_hints;
    size_t used = 0;
    if (mode != MTS_QUEUE_DEFAULT && mts_cl_has_word(has, "cl_khr_priority_hints")) {
        out[used++] = CL_QUEUE_PRIORITY_KHR;
        out[used++] = is_first(mode) ? CL_QUEUE_PRIORITY_HIGH_KHR : CL_QUEUE_PRIORITY_LOW_KHR;
    }
    if (mode != MTS_QUEUE_DEFAULT && mts_cl_has_word(has, "cl_khr_throttle_hints")) {
        out[used++] = CL_QUEUE_THROTTLE_KHR;
        out[used++] = is_slow(mode) ? CL_QUEUE_THROTTLE_LOW_KHR : CL_QUEUE_THROTTLE_HIGH_KHR;
    }
}

static void refused(const mts_cl_device *device, const char *call, cl_int result)
{
    mts_log_write(device->base.log, MTS_LOG_INFO,
                  "'%s': %s takes no hints, although the driver has them: %s (%d)", device->base.info.name,
                  call, mts_cl_error_name(result), result);
}

static mts_status make_context(mts_cl_device *device, const char *has, cl_platform_id platform,
                               mts_queue_mode mode, mts_error *error)
{
    intptr_t properties[CONTEXT_PROPERTIES];
    const bool hints = fill_context(has, platform, mode, properties) > 2;
    cl_int result = CL_SUCCESS;
    device->context = device->cl.clCreateContext(properties, 1, &device->id, NULL, NULL, &result);
    if (hints && result != CL_SUCCESS) {
        refused(device, "clCreateContext", result);
        (void)fill_context("", platform, mode, properties);
        device->context = device->cl.clCreateContext(properties, 1, &device->id, NULL, NULL, &result);
    }
    const mts_status status = mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clCreateContext", error);
    device->context = status == MTS_STATUS_OK ? device->context : NULL;
    return status;
}

/* NULL: there are no hints, or the driver refuses them. */
static cl_command_queue create_with_hints(mts_cl_device *device, cl_bitfield properties)
{
    const size_t size = sizeof device->queue_hints;
    cl_ulong all[sizeof device->queue_hints / sizeof device->queue_hints[0] + 3] = {CL_QUEUE_PROPERTIES,
                                                                                    properties};
    cl_int result = CL_SUCCESS;
    if (device->queue_hints[0] == 0) {
        return NULL;
    }
    memcpy(&all[2], device->queue_hints, size);
    cl_command_queue queue =
        device->cl.clCreateCommandQueueWithProperties(device->context, device->id, all, &result);
    if (result == CL_SUCCESS && queue) {
        return queue;
    }
    refused(device, "clCreateCommandQueueWithProperties", result);
    memset(device->queue_hints, 0, size);
    return NULL;
}

mts_status mts_cl_queue_create(mts_cl_device *device, cl_bitfield properties, cl_command_queue *out,
                               mts_error *error)
{
    cl_int result = CL_SUCCESS;
    *out = create_with_hints(device, properties);
    if (*out) {
        return MTS_STATUS_OK;
    }
    *out = device->cl.clCreateCommandQueue(device->context, device->id, properties, &result);
    const mts_status status =
        mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clCreateCommandQueue", error);
    *out = status == MTS_STATUS_OK ? *out : NULL;
    return status;
}

mts_status mts_cl_queue_open(mts_cl_device *device, cl_platform_id platform, mts_queue_mode mode,
                             mts_error *error)
{
    char has[MTS_CL_EXTENSIONS_MOST];
    mts_cl_extensions(&device->cl, device->id, has);
    mts_status status = make_context(device, has, platform, mode, error);
    if (status == MTS_STATUS_OK && device->cl.clCreateCommandQueueWithProperties) {
        fill_queue(device, has, mode);
    }
    MTS_TRY(status, mts_cl_queue_create(device, 0, &device->queue, error));
    return status;
}
