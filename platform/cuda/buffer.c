/*
 * buffer.c: device memory and transfers.
 *
 * A synchronous write copies the caller's memory to one of the device's pinned staging
 * buffers, from which the driver copies without blocking; the write waits only while all
 * staging buffers are in use. An asynchronous transfer uses the caller's memory directly:
 * the driver does not wait where that is pinned (mts_cu_host_create), and does where it
 * is pageable.
 */
#include "platform/cuda/cuda.h"

#include <string.h>

static mts_cu_buffer *buffer_of(mts_buffer *buffer)
{
    return (mts_cu_buffer *)buffer;
}

static mts_status register_host(mts_cu_device *device, const void *host, size_t size, mts_cu_buffer *buffer,
                                mts_error *error)
{
    const mts_cu_library *cu = &device->cu;
    void *memory = (void *)(uintptr_t)host; /* read only, although the driver's type does not say so */
    CUresult result = cu->cuMemHostRegister_v2(memory, size, CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "%zu bytes at %p, or a page of them, are in use by the device '%s' already", size,
                        host, device->base.info.name);
    }
    mts_status status = mts_cu_check(device, result, MTS_CU_CALL_CREATE, "cuMemHostRegister", error);
    if (status == MTS_STATUS_DEVICE) {
        return mts_fail(
            error, MTS_STATUS_UNSUPPORTED,
            "%zu bytes at %p cannot be used by the device '%s': cuMemHostRegister failed with %s (%d)", size,
            host, device->base.info.name, mts_cu_library_error_name(cu, result), result);
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    buffer->registered = memory;
    result = cu->cuMemHostGetDevicePointer_v2(&buffer->address, memory, 0);
    return mts_cu_check(device, result, MTS_CU_CALL_CREATE, "cuMemHostGetDevicePointer", error);
}

static void buffer_free(mts_cu_device *device, mts_cu_buffer *buffer)
{
    if (buffer->registered) {
        (void)device->cu.cuMemHostUnregister(buffer->registered);
    } else if (buffer->address) {
        (void)device->cu.cuMemFree_v2(buffer->address);
    }
}

mts_status mts_cu_buffer_create(mts_device *base, const mts_memory *memory, size_t size, mts_buffer **out,
                                mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    mts_cu_buffer *buffer = mts_alloc_zero(base->allocator, 1, sizeof *buffer);
    if (!buffer) {
        return mts_fail_memory(error);
    }
    mts_status status = mts_cu_enter(device, error);
    if (status == MTS_STATUS_OK) {
        status = memory ? register_host(device, memory->host, size, buffer, error)
                        : mts_cu_check(device, device->cu.cuMemAlloc_v2(&buffer->address, size),
                                       MTS_CU_CALL_CREATE, "cuMemAlloc", error);
        if (status != MTS_STATUS_OK) {
            buffer_free(device, buffer);
        }
        mts_cu_leave(device);
    }
    if (status != MTS_STATUS_OK) {
        mts_alloc_free(base->allocator, buffer);
        return status;
    }
    *out = &buffer->base;
    return MTS_STATUS_OK;
}

/*
 * What still runs may read registered memory: cuMemFree waits for it, cuMemHostUnregister
 * does not say so. Runs that do not read it, as that of the next frame, are not waited
 * for.
 */
void mts_cu_buffer_destroy(mts_device *base, mts_buffer *buffer)
{
    mts_cu_device *device = (mts_cu_device *)base;
    if (mts_cu_enter_to_release(device)) {
        if (buffer_of(buffer)->registered && buffer_of(buffer)->used > device->finished &&
            !mts_device_is_lost(base)) {
            (void)mts_cu_finish(device, NULL);
        }
        buffer_free(device, buffer_of(buffer));
        mts_cu_leave(device);
    }
    mts_alloc_free(base->allocator, buffer);
}

/* The next stage, once what was copied from it last is through. */
static mts_status stage_take(mts_cu_device *device, mts_cu_stage **out, mts_error *error)
{
    mts_cu_stage *stage = &device->stages[device->next_stage];
    *out = stage;
    if (!stage->in_use) {
        return MTS_STATUS_OK;
    }
    const mts_status status = mts_cu_check(device, device->cu.cuEventSynchronize(stage->passed),
                                           MTS_CU_CALL_WAIT, "cuEventSynchronize", error);
    stage->in_use = status != MTS_STATUS_OK;
    return status;
}

/* A copy in flight whose event could not be recorded must not lose its memory. */
static mts_status stage_enqueued(mts_cu_device *device, mts_cu_stage *stage, mts_error *error)
{
    const mts_status status = mts_cu_check(device, device->cu.cuEventRecord(stage->passed, device->stream),
                                           MTS_CU_CALL_CREATE, "cuEventRecord", error);
    if (status != MTS_STATUS_OK) {
        (void)mts_cu_finish(device, NULL);
        return status;
    }
    stage->in_use = true;
    device->next_stage = (device->next_stage + 1) % MTS_CU_STAGES;
    return MTS_STATUS_OK;
}

static mts_status write_chunk(mts_cu_device *device, CUdeviceptr to, const void *data, size_t size,
                              mts_error *error)
{
    mts_cu_stage *stage = NULL;
    mts_status status = stage_take(device, &stage, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    memcpy(stage->memory, data, size);
    const CUresult result = device->cu.cuMemcpyHtoDAsync_v2(to, stage->memory, size, device->stream);
    status = mts_cu_check(device, result, MTS_CU_CALL_CREATE, "cuMemcpyHtoDAsync", error);
    return status == MTS_STATUS_OK ? stage_enqueued(device, stage, error) : status;
}

static mts_status write_staged(mts_cu_device *device, CUdeviceptr to, const void *data, size_t size,
                               mts_error *error)
{
    const unsigned char *bytes = data;
    mts_status status = MTS_STATUS_OK;
    for (size_t done = 0; done < size && status == MTS_STATUS_OK;) {
        const size_t chunk = size - done < MTS_CU_STAGE_BYTES ? size - done : MTS_CU_STAGE_BYTES;
        status = write_chunk(device, to + done, bytes + done, chunk, error);
        done += chunk;
    }
    return status;
}

mts_status mts_cu_buffer_write(mts_device *base, mts_buffer *buffer, size_t offset, const void *data,
                               size_t size, bool async, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    const CUdeviceptr to = buffer_of(buffer)->address + offset;
    mts_status status = mts_cu_enter(device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    status = async ? mts_cu_check(device, device->cu.cuMemcpyHtoDAsync_v2(to, data, size, device->stream),
                                  MTS_CU_CALL_CREATE, "cuMemcpyHtoDAsync", error)
                   : write_staged(device, to, data, size, error);
    mts_cu_leave(device);
    return status;
}

mts_status mts_cu_buffer_read_async(mts_device *base, mts_buffer *buffer, size_t offset, void *data,
                                    size_t size, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    const CUdeviceptr from = buffer_of(buffer)->address + offset;
    mts_status status = mts_cu_enter(device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    /* pageable memory: the driver waits */
    status = mts_cu_check(device, device->cu.cuMemcpyDtoHAsync_v2(data, from, size, device->stream),
                          MTS_CU_CALL_WAIT, "cuMemcpyDtoHAsync", error);
    mts_cu_leave(device);
    return status;
}

static mts_status read_chunk(mts_cu_device *device, CUdeviceptr from, void *data, size_t size,
                             mts_error *error)
{
    mts_cu_stage *stage = NULL;
    mts_status status = stage_take(device, &stage, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const CUresult result = device->cu.cuMemcpyDtoHAsync_v2(stage->memory, from, size, device->stream);
    status = mts_cu_check(device, result, MTS_CU_CALL_WAIT, "cuMemcpyDtoHAsync", error);
    MTS_TRY(status, mts_cu_finish(device, error));
    if (status == MTS_STATUS_OK) {
        memcpy(data, stage->memory, size);
    }
    return status;
}

mts_status mts_cu_buffer_read(mts_device *base, mts_buffer *buffer, size_t offset, void *data, size_t size,
                              mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    unsigned char *bytes = data;
    const CUdeviceptr from = buffer_of(buffer)->address + offset;
    mts_status status = mts_cu_enter(device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    for (size_t done = 0; done < size && status == MTS_STATUS_OK;) {
        const size_t chunk = size - done < MTS_CU_STAGE_BYTES ? size - done : MTS_CU_STAGE_BYTES;
        status = read_chunk(device, from + done, bytes + done, chunk, error);
        done += chunk;
    }
    mts_cu_leave(device);
    return status;
}

mts_status mts_cu_buffer_fill(mts_device *base, mts_buffer *buffer, size_t offset, size_t size, uint32_t word,
                              mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    mts_status status = mts_cu_enter(device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const CUresult result = device->cu.cuMemsetD32Async(buffer_of(buffer)->address + offset, word,
                                                        size / sizeof word, device->stream);
    status = mts_cu_check(device, result, MTS_CU_CALL_CREATE, "cuMemsetD32Async", error);
    mts_cu_leave(device);
    return status;
}

mts_status mts_cu_stages_make(mts_cu_device *device, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < MTS_CU_STAGES && status == MTS_STATUS_OK; i++) {
        mts_cu_stage *stage = &device->stages[i];
        CUresult result = device->cu.cuMemHostAlloc(&stage->memory, MTS_CU_STAGE_BYTES, 0);
        if (result != CUDA_SUCCESS) {
            stage->memory = NULL;
        }
        status = mts_cu_check(device, result, MTS_CU_CALL_CREATE, "cuMemHostAlloc", error);
        if (status == MTS_STATUS_OK) {
            result = device->cu.cuEventCreate(&stage->passed, CU_EVENT_DISABLE_TIMING);
            status = mts_cu_check(device, result, MTS_CU_CALL_CREATE, "cuEventCreate", error);
        }
        if (status != MTS_STATUS_OK) {
            stage->passed = NULL;
        }
    }
    return status;
}

void mts_cu_stages_release(mts_cu_device *device)
{
    for (uint32_t i = 0; i < MTS_CU_STAGES; i++) {
        mts_cu_stage *stage = &device->stages[i];
        if (stage->passed) {
            (void)device->cu.cuEventDestroy_v2(stage->passed);
        }
        if (stage->memory) {
            (void)device->cu.cuMemFreeHost(stage->memory);
        }
        *stage = (mts_cu_stage){.memory = NULL};
    }
}

mts_status mts_cu_host_create(mts_device *base, size_t size, void **out, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    const bool full = base->full;
    void *memory = NULL;
    mts_status status = mts_cu_enter(device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    status = mts_cu_check(device, device->cu.cuMemHostAlloc(&memory, size, 0), MTS_CU_CALL_CREATE,
                          "cuMemHostAlloc", error);
    mts_cu_leave(device);
    base->full = full; /* it is not the device's memory that there is none of */
    *out = status == MTS_STATUS_OK ? memory : NULL;
    return status;
}

void mts_cu_host_destroy(mts_device *base, void *memory)
{
    mts_cu_device *device = (mts_cu_device *)base;
    if (mts_cu_enter_to_release(device)) {
        (void)device->cu.cuMemFreeHost(memory);
        mts_cu_leave(device);
    }
}
