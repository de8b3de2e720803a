/*
 * buffer.c: device memory and transfers.
 */
#include "platform/opencl/opencl.h"

static cl_mem handle_of(mts_buffer *buffer)
{
    return ((mts_cl_buffer *)buffer)->handle;
}

#ifndef MTS_SMALL
#define ALIGNMENT 4096u /* of a page, and more than any device asks for */

/* Memory of the process, where the driver computes in it (quirks.h): other devices can read it in
   place. */
static mts_status allocate_host(mts_cl_device *device, size_t size, mts_cl_buffer *buffer, void **host,
                                mts_error *error)
{
    if ((device->base.info.imports & MTS_MEMORY_BIT(MTS_MEMORY_HOST)) == 0) {
        return MTS_STATUS_OK;
    }
    if (size > SIZE_MAX - ALIGNMENT) {
        return mts_fail_memory(error);
    }
    const mts_status status = mts_host_create(&device->base, size + ALIGNMENT, &buffer->own, error);
    if (status == MTS_STATUS_OK) {
        const uintptr_t beyond = (uintptr_t)buffer->own % ALIGNMENT;
        *host = (char *)buffer->own + (ALIGNMENT - beyond) % ALIGNMENT;
    }
    return status;
}
#endif

static mts_status allocate(mts_cl_device *device, size_t size, mts_cl_buffer *buffer, mts_error *error)
{
    /* Where host and device share memory this flag lets the driver transfer without a
       staging copy. */
    cl_bitfield shared = device->base.info.unified_memory ? CL_MEM_ALLOC_HOST_PTR : 0;
    cl_int result = CL_SUCCESS;
    void *host = NULL;
#ifndef MTS_SMALL
    const mts_status status = allocate_host(device, size, buffer, &host, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    shared = host ? CL_MEM_USE_HOST_PTR : shared;
    buffer->base.host = host;
#endif
    buffer->handle =
        device->cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE | shared, size, host, &result);
    return mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clCreateBuffer", error);
}

#ifdef MTS_SMALL
#define release_host(device, buffer) (void)0
#else
static void release_host(mts_device *device, mts_cl_buffer *buffer)
{
    mts_host_destroy(device, &buffer->own);
}
#endif

mts_status mts_cl_buffer_create(mts_device *base, const mts_memory *memory, size_t size, mts_buffer **out,
                                mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    mts_cl_buffer *buffer = mts_alloc_zero(base->allocator, 1, sizeof *buffer);
    if (!buffer) {
        return mts_fail_memory(error);
    }
    const mts_status status =
        memory ? mts_cl_import_buffer(device, memory, buffer, error) : allocate(device, size, buffer, error);
    if (status != MTS_STATUS_OK) {
        release_host(base, buffer);
        mts_alloc_free(base->allocator, buffer);
        return status;
    }
    buffer->serial = ++device->buffers;
    *out = &buffer->base;
    return MTS_STATUS_OK;
}

void mts_cl_buffer_destroy(mts_device *base, mts_buffer *buffer)
{
    mts_cl_device *device = (mts_cl_device *)base;
    for (int i = 0; i < 2; i++) {
        if (((mts_cl_buffer *)buffer)->images[i]) {
            (void)device->cl.clReleaseMemObject(((mts_cl_buffer *)buffer)->images[i]);
        }
    }
    (void)device->cl.clReleaseMemObject(handle_of(buffer));
    release_host(base, (mts_cl_buffer *)buffer);
    mts_alloc_free(base->allocator, buffer);
}

#ifndef MTS_SMALL
/* Of as many pixels as the device allows, from the buffer's start. */
mts_status mts_cl_buffer_image(mts_cl_device *device, mts_cl_buffer *buffer, bool half, cl_mem *out,
                               mts_error *error)
{
    const size_t pixel = 4 * (half ? sizeof(uint16_t) : sizeof(float));
    const uint64_t most = device->base.info.image_texels;
    const size_t pixels = buffer->base.size / pixel;
    const cl_image_format format = {CL_RGBA, half ? CL_HALF_FLOAT : CL_FLOAT};
    const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER,
                                 .image_width = pixels < most ? pixels : (size_t)most,
                                 .buffer = buffer->handle};
    cl_mem *image = &buffer->images[half];
    if (!*image) {
        cl_int result = CL_SUCCESS;
        *image = device->cl.clCreateImage(device->context, CL_MEM_READ_ONLY, &format, &shape, NULL, &result);
        const mts_status status = mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clCreateImage", error);
        if (status != MTS_STATUS_OK) {
            *image = NULL;
            device->base.no_images = true;
            return status;
        }
    }
    *out = *image;
    return MTS_STATUS_OK;
}
#endif

mts_status mts_cl_buffer_write(mts_device *base, mts_buffer *buffer, size_t offset, const void *data,
                               size_t size, bool async, mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    const cl_bool waits = async ? CL_FALSE : CL_TRUE;
    const cl_int result = device->cl.clEnqueueWriteBuffer(device->queue, handle_of(buffer), waits, offset,
                                                          size, data, 0, NULL, NULL);
    return mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clEnqueueWriteBuffer", error);
}

mts_status mts_cl_buffer_read_async(mts_device *base, mts_buffer *buffer, size_t offset, void *data,
                                    size_t size, mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    const cl_int result = device->cl.clEnqueueReadBuffer(device->queue, handle_of(buffer), CL_FALSE, offset,
                                                         size, data, 0, NULL, NULL);
    return mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clEnqueueReadBuffer", error);
}

mts_status mts_cl_buffer_read(mts_device *base, mts_buffer *buffer, size_t offset, void *data, size_t size,
                              mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    const cl_int result = device->cl.clEnqueueReadBuffer(device->queue, handle_of(buffer), CL_TRUE, offset,
                                                         size, data, 0, NULL, NULL);
    if (result == CL_SUCCESS) {
        device->finished = device->replays; /* the queue is in order */
    }
    return mts_cl_check(device, result, MTS_CL_STAGE_WAIT, "clEnqueueReadBuffer", error);
}

mts_status mts_cl_buffer_fill(mts_device *base, mts_buffer *buffer, size_t offset, size_t size, uint32_t word,
                              mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    const cl_int result = device->cl.clEnqueueFillBuffer(device->queue, handle_of(buffer), &word, sizeof word,
                                                         offset, size, 0, NULL, NULL);
    return mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clEnqueueFillBuffer", error);
}

/* The memory was allocated to be mapped (CL_MEM_ALLOC_HOST_PTR), so that mapping is no copy. */
mts_status mts_cl_buffer_map(mts_device *base, mts_buffer *buffer, size_t offset, size_t size,
                             bool overwrites, void **out, mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    cl_int result = CL_SUCCESS;
    *out = device->cl.clEnqueueMapBuffer(device->queue, handle_of(buffer), CL_FALSE,
                                         overwrites ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ, offset,
                                         size, 0, NULL, NULL, &result);
    return mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clEnqueueMapBuffer", error);
}

mts_status mts_cl_buffer_unmap(mts_device *base, mts_buffer *buffer, void *mapped, mts_error *error)
{
    mts_cl_device *device = (mts_cl_device *)base;
    const cl_int result =
        device->cl.clEnqueueUnmapMemObject(device->queue, handle_of(buffer), mapped, 0, NULL, NULL);
    return mts_cl_check(device, result, MTS_CL_STAGE_CREATE, "clEnqueueUnmapMemObject", error);
}
