/*
 * device.c: finds, describes, opens and closes CUDA devices, and holds the backend's
 * vtable.
 *
 * A device lives in its GPU's primary context, which the whole process shares, or in a
 * context of the caller's. Every entry of the vtable makes it current and restores the
 * calling thread's own (context.c).
 */
#include "platform/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

/* ---- finding ---- */

static mts_status fail_call(const mts_cu_library *cu, CUresult result, const char *call, mts_error *error)
{
    const mts_status status = result == CUDA_ERROR_OUT_OF_MEMORY ? MTS_STATUS_OUT_OF_MEMORY
                              : result == CUDA_ERROR_NO_DEVICE   ? MTS_STATUS_NOT_FOUND
                                                                 : MTS_STATUS_DEVICE;
    return mts_fail(error, status, "%s failed with %s (%d)", call, mts_cu_library_error_name(cu, result),
                    result);
}

/* The driver, ready to be asked for devices; the caller closes it if this succeeds. */
static mts_status driver_open(mts_cu_library *cu, int *count, mts_error *error)
{
    mts_status status = mts_cu_library_open(cu, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const char *call = "cuInit";
    CUresult result = cu->cuInit(0);
    if (result == CUDA_SUCCESS) {
        call = "cuDeviceGetCount";
        result = cu->cuDeviceGetCount(count);
    }
    if (result != CUDA_SUCCESS) {
        status = fail_call(cu, result, call, error);
        mts_cu_library_close(cu);
    }
    return status;
}

static mts_status open_index(mts_cu_library *cu, uint32_t index, CUdevice *id, mts_error *error)
{
    int count = 0;
    mts_status status = driver_open(cu, &count, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (count < 0 || index >= (uint32_t)count) {
        status =
            mts_fail(error, MTS_STATUS_NOT_FOUND, "there is no CUDA device %u; %d were found", index, count);
    } else {
        const CUresult result = cu->cuDeviceGet(id, (int)index);
        status = result == CUDA_SUCCESS ? MTS_STATUS_OK : fail_call(cu, result, "cuDeviceGet", error);
    }
    if (status != MTS_STATUS_OK) {
        mts_cu_library_close(cu);
    }
    return status;
}

/* ---- describing ---- */

/* 0 if the driver does not answer. */
static uint32_t get_number(const mts_cu_library *cu, CUdevice id, int what)
{
    int value = 0;
    return cu->cuDeviceGetAttribute(&value, what, id) == CUDA_SUCCESS && value > 0 ? (uint32_t)value : 0;
}

static mts_status describe(const mts_cu_library *cu, CUdevice id, mts_device_info *info, mts_error *error)
{
    char name[MTS_DEVICE_NAME] = "";
    size_t memory = 0;
    const uint32_t major = get_number(cu, id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    const uint32_t minor = get_number(cu, id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    memset(info, 0, sizeof *info);
    CUresult result = cu->cuDeviceGetName(name, (int)sizeof name - 1, id);
    if (result != CUDA_SUCCESS) {
        return fail_call(cu, result, "cuDeviceGetName", error);
    }
    result = cu->cuDeviceTotalMem_v2(&memory, id);
    if (result != CUDA_SUCCESS) {
        return fail_call(cu, result, "cuDeviceTotalMem", error);
    }
    if (major == 0) {
        return mts_fail(error, MTS_STATUS_DEVICE, "the driver does not report the compute capability of '%s'",
                        name);
    }
    (void)snprintf(info->backend, sizeof info->backend, "cuda");
    (void)snprintf(info->name, sizeof info->name, "%s", name);
    (void)snprintf(info->driver, sizeof info->driver, "NVIDIA CUDA %d.%d, compute capability %u.%u",
                   cu->version / 1000, cu->version % 1000 / 10, major, minor);
    info->is_gpu = true;
    info->builds_aside = true;
    info->packed_lanes = MTS_CHANNEL_PACK;
    info->unified_memory = get_number(cu, id, CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0;
    const bool registers =
        info->unified_memory && get_number(cu, id, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY) != 0 &&
        get_number(cu, id, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED) != 0 && cu->cuMemHostRegister_v2 &&
        cu->cuMemHostUnregister && cu->cuMemHostGetDevicePointer_v2;
    info->imports = registers ? MTS_MEMORY_BIT(MTS_MEMORY_HOST) : 0;
    info->compute_units = get_number(cu, id, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info->launch_ns = MTS_CU_LAUNCH_NS;
    info->vector_floats = 4;
    info->work_group_size = get_number(cu, id, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    info->groups_most = MTS_CU_GROUPS_MOST;
    info->memory_bytes = info->buffer_bytes = memory;
    info->local_bytes = get_number(cu, id, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    info->persistent = get_number(cu, id, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) != 0 &&
                       cu->cuLaunchCooperativeKernel && cu->cuOccupancyMaxActiveBlocksPerMultiprocessor;
    info->arch = major * 10 + minor;
    info->half_products = mts_cu_quirks_find(info->arch)->half_products;
    info->byte_products = mts_cu_multiplies_bytes(info->arch);
    info->matrix_units = mts_cu_quirks_find(info->arch)->matrix_units;
    if (info->compute_units == 0 || info->work_group_size == 0 || info->local_bytes == 0) {
        return mts_fail(error, MTS_STATUS_DEVICE, "the driver does not report the size of '%s'", name);
    }
    return MTS_STATUS_OK;
}

static uint32_t backend_count(void)
{
    mts_cu_library cu;
    int count = 0;
    if (driver_open(&cu, &count, NULL) != MTS_STATUS_OK) {
        return 0;
    }
    mts_cu_library_close(&cu);
    return count > 0 ? (uint32_t)count : 0;
}

static mts_status backend_describe(uint32_t index, mts_device_info *info, mts_error *error)
{
    mts_cu_library cu;
    CUdevice id = 0;
    memset(info, 0, sizeof *info);
    mts_status status = open_index(&cu, index, &id, error);
    if (status == MTS_STATUS_OK) {
        status = describe(&cu, id, info, error);
        mts_cu_library_close(&cu);
    }
    return status;
}

/* ---- the vtable ---- */

static mts_status device_wait(mts_device *base, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    mts_status status = mts_cu_enter(device, error);
    if (status == MTS_STATUS_OK) {
        status = mts_cu_finish(device, error);
        mts_cu_leave(device);
    }
    return status;
}

static void device_drain(mts_device *base)
{
    mts_cu_device *device = (mts_cu_device *)base;
    if (mts_cu_enter_to_release(device)) {
        (void)mts_cu_finish(device, NULL);
        mts_cu_leave(device);
    }
}

/*
 * An error that broke the context stays until the context is gone, also for a device that
 * is opened again. As long as another part of the process retains the primary context,
 * releasing it does not destroy it; hence the reset. The reset takes nothing from the
 * others that still worked. A caller's context is the caller's to destroy.
 */
static void context_release(mts_cu_device *device)
{
    if (device->owns_context) {
        if (device->broken && device->cu.cuDevicePrimaryCtxReset) {
            (void)device->cu.cuDevicePrimaryCtxReset(device->id);
        }
        (void)device->cu.cuDevicePrimaryCtxRelease(device->id);
    }
}

/* Also of a half-opened device. */
static void device_destroy(mts_device *base)
{
    mts_cu_device *device = (mts_cu_device *)base;
    const mts_allocator *allocator = base->allocator;
    if (device->context && mts_cu_enter_to_release(device)) {
        if (!mts_device_is_lost(base) && device->stream) {
            (void)mts_cu_finish(device, NULL);
        }
        mts_cu_programs_release(device, true);
        mts_cu_events_release(device);
        mts_cu_stages_release(device);
        if (device->owns_stream) {
            (void)device->cu.cuStreamDestroy_v2(device->stream);
        }
        mts_cu_leave(device);
    }
    mts_cu_programs_release(device, false);
    context_release(device);
    mts_cu_builder_release(&device->builder);
    mts_cu_library_close(&device->cu);
    mts_alloc_free(allocator, device);
}

static const mts_device_ops ops = {
    .abi = MTS_DEVICE_ABI,
    .destroy = device_destroy,
    .buffer_create = mts_cu_buffer_create,
    .buffer_destroy = mts_cu_buffer_destroy,
    .buffer_write = mts_cu_buffer_write,
    .buffer_read = mts_cu_buffer_read,
    .buffer_read_async = mts_cu_buffer_read_async,
    .buffer_fill = mts_cu_buffer_fill,
    .kernel_create = mts_cu_kernel_create,
    .kernel_destroy = mts_cu_kernel_destroy,
    .command_list_create = mts_cu_command_list_create,
    .command_list_destroy = mts_cu_command_list_destroy,
    .command_list_update = mts_cu_command_list_update,
    .command_list_submit = mts_cu_command_list_submit,
    .wait = device_wait,
    .event_record = mts_cu_event_record,
    .event_query = mts_cu_event_query,
    .host_create = mts_cu_host_create,
    .host_destroy = mts_cu_host_destroy,
    .command_list_profile = mts_cu_command_list_profile,
    .drain = device_drain,
};

/* ---- opening ---- */

/* The number under which the driver lists a device. */
static uint32_t index_of(const mts_cu_library *cu, CUdevice id)
{
    int count = 0;
    CUdevice at = 0;
    if (cu->cuDeviceGetCount(&count) == CUDA_SUCCESS) {
        for (int i = 0; i < count; i++) {
            if (cu->cuDeviceGet(&at, i) == CUDA_SUCCESS && at == id) {
                return (uint32_t)i;
            }
        }
    }
    return (uint32_t)id; /* which it is in practice */
}

/* A caller's context decides which device it is; a number above 0 that says otherwise is
   a mistake. */
static mts_status adopt_context(mts_cu_device *device, uint32_t index, void *context, mts_error *error)
{
    CUdevice id = 0;
    device->context = context;
    mts_status status = mts_cu_enter(device, error);
    if (status != MTS_STATUS_OK) {
        device->context = NULL;
        return mts_fail_prefix(error, status, "the caller's CUDA context");
    }
    status =
        mts_cu_check(device, device->cu.cuCtxGetDevice(&id), MTS_CU_CALL_CREATE, "cuCtxGetDevice", error);
    mts_cu_leave(device);
    if (status == MTS_STATUS_OK && index != 0 && id != device->id) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "the caller's CUDA context is not one of device %u", index);
    }
    if (status == MTS_STATUS_OK && id != device->id) {
        device->id = id;
        device->base.index = index_of(&device->cu, id);
        status = describe(&device->cu, id, &device->base.info, error);
    }
    return status;
}

static mts_status retain_context(mts_cu_device *device, mts_error *error)
{
    const CUresult result = device->cu.cuDevicePrimaryCtxRetain(&device->context, device->id);
    if (result != CUDA_SUCCESS) {
        device->context = NULL;
    }
    device->owns_context = result == CUDA_SUCCESS;
    return mts_cu_check(device, result, MTS_CU_CALL_CREATE, "cuDevicePrimaryCtxRetain", error);
}

/* What lives in the context: the stream, the pinned memory and the events. */
static mts_status furnish(mts_cu_device *device, void *stream, mts_error *error)
{
    mts_status status = mts_cu_enter(device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    device->stream = stream;
    if (!stream) {
        const CUresult result = device->cu.cuStreamCreate(&device->stream, CU_STREAM_NON_BLOCKING);
        status = mts_cu_check(device, result, MTS_CU_CALL_CREATE, "cuStreamCreate", error);
        device->owns_stream = status == MTS_STATUS_OK;
        device->stream = device->owns_stream ? device->stream : NULL;
    }
    MTS_TRY(status, mts_cu_stages_make(device, error));
    MTS_TRY(status, mts_cu_events_make(device, error));
    mts_cu_leave(device);
    return status;
}

static mts_status start(mts_cu_device *device, uint32_t index, const mts_device_options *options,
                        mts_error *error)
{
    device->base.index = index;
    mts_status status = open_index(&device->cu, index, &device->id, error);
    MTS_TRY(status, describe(&device->cu, device->id, &device->base.info, error));
    MTS_TRY(status, options->external_context ? adopt_context(device, index, options->external_context, error)
                                              : retain_context(device, error));
    if (status == MTS_STATUS_OK) {
        device->replays = options->replay != MTS_USE_OFF && mts_cu_replay_has(&device->cu);
        status = furnish(device, options->external_queue, error);
    }
    device->builder.driver = device->cu.version;
    return status == MTS_STATUS_OK ? mts_cu_builder_init(&device->builder, &device->base, options, error)
                                   : status;
}

static mts_status backend_open(uint32_t index, const mts_device_options *options, mts_device **out,
                               mts_error *error)
{
    *out = NULL;
    if (options->external_queue && !options->external_context) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "a CUDA stream needs its context");
    }
    mts_cu_device *device = mts_alloc_zero(options->allocator, 1, sizeof *device);
    if (!device) {
        return mts_fail_memory(error);
    }
    device->base.ops = &ops;
    device->base.allocator = options->allocator;
    device->base.log = options->log;
    const mts_status status = start(device, index, options, error);
    if (status != MTS_STATUS_OK) {
        device_destroy(&device->base);
        return status;
    }
    *out = &device->base;
    return MTS_STATUS_OK;
}

const mts_backend mts_backend_cuda = {
    .name = "cuda",
    .count = backend_count,
    .describe = backend_describe,
    .open = backend_open,
    .open_named = mts_cu_offline_open,
    .takes_external = true,
};
