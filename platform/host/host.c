/*
 * host.c: see host.h.
 */
#include "platform/host/host.h"

#include <string.h>

#include "platform/os/os.h"

#define ALIGNMENT 64u               /* the widest vector, and a line of the cache */
#define LARGE ((size_t)4 * 1048576) /* two large pages, one of which lies inside in any case */

void *mts_host_block_alloc(const mts_allocator *allocator, size_t size, void **aligned)
{
    unsigned char *block =
        size <= SIZE_MAX - ALIGNMENT ? mts_alloc_raw(allocator, size + ALIGNMENT, 1) : NULL;
    *aligned = block ? block + (ALIGNMENT - (uintptr_t)block % ALIGNMENT) % ALIGNMENT : NULL;
    if (block && size >= LARGE) {
        mts_os_memory_prefer_large_pages(*aligned, size);
    }
    return block;
}

mts_status mts_host_buffer_create(mts_device *device, const mts_memory *memory, size_t size, mts_buffer **out,
                                  mts_error *error)
{
    mts_host_buffer *buffer = mts_alloc_zero(device->allocator, 1, sizeof *buffer);
    void *aligned = memory ? (void *)(uintptr_t)memory->host : NULL;
    if (buffer && !memory) {
        buffer->own = mts_host_block_alloc(device->allocator, size, &aligned);
    }
    if (!buffer || !aligned) {
        mts_alloc_free(device->allocator, buffer);
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no host memory for a buffer of %zu bytes", size);
    }
    buffer->bytes = aligned;
    buffer->base.host = memory ? NULL : aligned;
    *out = &buffer->base;
    return MTS_STATUS_OK;
}

void mts_host_buffer_destroy(mts_device *device, mts_buffer *buffer)
{
    mts_alloc_free(device->allocator, ((mts_host_buffer *)buffer)->own);
    mts_alloc_free(device->allocator, buffer);
}

mts_status mts_host_buffer_write(mts_device *device, mts_buffer *buffer, size_t offset, const void *data,
                                 size_t size, bool async, mts_error *error)
{
    (void)device;
    (void)async; /* the copy is made at once */
    (void)error;
    memcpy(((mts_host_buffer *)buffer)->bytes + offset, data, size);
    return MTS_STATUS_OK;
}

mts_status mts_host_buffer_read(mts_device *device, mts_buffer *buffer, size_t offset, void *data,
                                size_t size, mts_error *error)
{
    (void)device;
    (void)error;
    memcpy(data, ((mts_host_buffer *)buffer)->bytes + offset, size);
    return MTS_STATUS_OK;
}

mts_status mts_host_buffer_fill(mts_device *device, mts_buffer *buffer, size_t offset, size_t size,
                                uint32_t word, mts_error *error)
{
    (void)device;
    (void)error;
    unsigned char *bytes = ((mts_host_buffer *)buffer)->bytes + offset;
    if (word == 0) {
        memset(bytes, 0, size);
    }
    for (size_t i = 0; word != 0 && i < size; i += sizeof word) {
        memcpy(bytes + i, &word, sizeof word);
    }
    return MTS_STATUS_OK;
}

mts_status mts_host_queue_wait(mts_device *device, mts_error *error)
{
    (void)device;
    (void)error;
    return MTS_STATUS_OK; /* a command has finished when it returns */
}

mts_status mts_host_queue_record(mts_device *device, uint32_t index, mts_error *error)
{
    (void)device;
    (void)index;
    (void)error;
    return MTS_STATUS_OK;
}

mts_status mts_host_queue_query(mts_device *device, uint32_t index, bool waits, bool *passed,
                                mts_error *error)
{
    (void)device;
    (void)index;
    (void)waits;
    (void)error;
    *passed = true;
    return MTS_STATUS_OK;
}
