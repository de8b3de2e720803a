/*
 * context.c: the device, its properties and contexts of the fake driver.
 *
 * Also the few functions that a program which uses CUDA itself calls (cuCtxCreate_v2 and the like), for tests
 * of foreign contexts; the backend does not know them.
 */
#include "cuda/fake/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fake_context primary;

FAKE_API CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice device);
FAKE_API CUresult cuCtxDestroy_v2(CUcontext handle);
FAKE_API CUresult cuCtxGetCurrent(CUcontext *out);

static bool is_device(CUdevice device)
{
    return device >= 0 && device < fake_cuda_device()->devices;
}

static void release_objects(fake_context *context)
{
    fake_streams_release(context);
    fake_graphs_release(context);
    fake_links_release(context);
    fake_modules_release(context);
    fake_blocks_release(context);
}

CUresult cuInit(unsigned int flags)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_NOTHING);
    if (result == CUDA_SUCCESS) {
        result = flags != 0                         ? CUDA_ERROR_INVALID_VALUE
                 : fake_cuda_device()->devices == 0 ? CUDA_ERROR_NO_DEVICE
                                                    : CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS) {
        fake_initialized();
    }
    return fake_leave(result);
}

CUresult cuDriverGetVersion(int *out)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_NOTHING);
    if (result == CUDA_SUCCESS) {
        *out = fake_cuda_device()->driver;
    }
    return fake_leave(result);
}

CUresult cuDeviceGetCount(int *out)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    if (result == CUDA_SUCCESS) {
        *out = fake_cuda_device()->devices;
    }
    return fake_leave(result);
}

CUresult cuDeviceGet(CUdevice *out, int ordinal)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    if (result == CUDA_SUCCESS) {
        result = is_device(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
        *out = ordinal;
    }
    return fake_leave(result);
}

CUresult cuDeviceGetName(char *out, int size, CUdevice device)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    if (result == CUDA_SUCCESS) {
        result = is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
        (void)snprintf(out, (size_t)size, "Emulated GPU %d", device);
    }
    return fake_leave(result);
}

static CUresult attribute(int *out, int what)
{
    const fake_cuda_properties *device = fake_cuda_device();
    switch (what) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *out = 1024;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        *out = 49152;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *out = FAKE_UNITS;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
        *out = device->resident > 0;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_INTEGRATED:
        *out = device->integrated;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        *out = 1;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *out = device->arch / 10;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *out = device->arch % 10;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
        *out = device->host_register;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuDeviceGetAttribute(int *out, int what, CUdevice device)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    if (result == CUDA_SUCCESS) {
        result = is_device(device) ? attribute(out, what) : CUDA_ERROR_INVALID_DEVICE;
    }
    return fake_leave(result);
}

CUresult cuDeviceTotalMem_v2(size_t *out, CUdevice device)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    if (result == CUDA_SUCCESS) {
        result = is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
        *out = (size_t)fake_cuda_device()->memory;
    }
    return fake_leave(result);
}

/* All devices have one context: a second device is there to be counted only. */
CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    if (result == CUDA_SUCCESS) {
        result = is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    }
    if (result == CUDA_SUCCESS) {
        if (primary.retained++ == 0) {
            primary.broken = 0;
            fake_object_add(&primary.object, FAKE_KIND_CONTEXT, NULL);
        }
        *out = (CUcontext)&primary;
    }
    return fake_leave(result);
}

static void release_context(fake_context *context)
{
    (void)fake_streams_drain(context);
    context->retained = 0;
    release_objects(context);
    fake_object_remove(&context->object);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    if (!is_device(device) || primary.retained == 0) {
        fake_misuse("a context that is not retained");
        return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    if (primary.retained == 1) {
        release_context(&primary);
    } else {
        primary.retained--;
    }
    return fake_leave(result);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    if (result == CUDA_SUCCESS && is_device(device) && primary.retained) {
        (void)fake_streams_drain(&primary);
        release_objects(&primary);
        primary.broken = 0;
    }
    return fake_leave(result);
}

CUresult cuCtxPushCurrent_v2(CUcontext handle)
{
    fake_context *context = (fake_context *)handle;
    CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    if (result == CUDA_SUCCESS && (!context || !fake_object_find(context, FAKE_KIND_CONTEXT))) {
        result = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (result == CUDA_SUCCESS && !fake_push(context)) {
        fake_misuse("the stack of contexts is full");
        result = CUDA_ERROR_UNKNOWN;
    }
    return fake_leave(result);
}

CUresult cuCtxPopCurrent_v2(CUcontext *out)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    fake_context *popped = fake_pop();
    if (!popped) {
        fake_misuse("no context to pop");
        result = result ? result : CUDA_ERROR_INVALID_CONTEXT;
    }
    if (out) {
        *out = (CUcontext)popped;
    }
    return fake_leave(result);
}

CUresult cuCtxGetDevice(CUdevice *out)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    if (result == CUDA_SUCCESS) {
        result = fake_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
        *out = result == CUDA_SUCCESS ? fake_current()->device : 0;
    }
    return fake_leave(result);
}

/* ---- for tests ---- */

CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice device)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    fake_context *context = calloc(1, sizeof *context);
    (void)flags;
    if (result != CUDA_SUCCESS || !is_device(device) || !context) {
        free(context);
        return fake_leave(result ? result : CUDA_ERROR_INVALID_DEVICE);
    }
    context->retained = 1;
    context->device = device;
    fake_object_add(&context->object, FAKE_KIND_CONTEXT, NULL);
    (void)fake_push(context);
    *out = (CUcontext)context;
    return fake_leave(CUDA_SUCCESS);
}

/* Pops it if it is current. */
CUresult cuCtxDestroy_v2(CUcontext handle)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    fake_context *context = fake_object_find(handle, FAKE_KIND_CONTEXT);
    if (!context || context == &primary) {
        return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    if (fake_current() == context) {
        (void)fake_pop();
    }
    release_context(context);
    free(context);
    return fake_leave(result);
}

CUresult cuCtxGetCurrent(CUcontext *out)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_INIT);
    *out = (CUcontext)fake_current();
    return fake_leave(result);
}
