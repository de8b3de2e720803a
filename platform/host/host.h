/*
 * host.h: buffers and events of backends that compute in the process itself: "cpu" and
 * "reference".
 *
 * A buffer is host memory, and a command has finished when it returns. The functions are
 * entries of mts_device_ops (device/device.h says what each promises). Not responsible
 * for kernels and command lists.
 *
 * Thread-safety: as the device's.
 */
#ifndef MTS_HOST_HOST_H
#define MTS_HOST_HOST_H

#include "device/device.h"

typedef struct mts_host_buffer {
    mts_buffer base;
    unsigned char *bytes; /* at a multiple of 64, unless the caller's */
    void *own;            /* what was allocated; NULL: the memory is the caller's */
} mts_host_buffer;

/* A block whose *aligned, a multiple of 64, has `size` bytes behind it, of any content;
   the block is to be freed. NULL: no memory. */
void *mts_host_block_alloc(const mts_allocator *allocator, size_t size, void **aligned);

mts_status mts_host_buffer_create(mts_device *device, const mts_memory *memory, size_t size, mts_buffer **out,
                                  mts_error *error);
void mts_host_buffer_destroy(mts_device *device, mts_buffer *buffer);
mts_status mts_host_buffer_write(mts_device *device, mts_buffer *buffer, size_t offset, const void *data,
                                 size_t size, bool async, mts_error *error);
/* Also buffer_read_async. */
mts_status mts_host_buffer_read(mts_device *device, mts_buffer *buffer, size_t offset, void *data,
                                size_t size, mts_error *error);
mts_status mts_host_buffer_fill(mts_device *device, mts_buffer *buffer, size_t offset, size_t size,
                                uint32_t word, mts_error *error);
mts_status mts_host_queue_wait(mts_device *device, mts_error *error);
mts_status mts_host_queue_record(mts_device *device, uint32_t index, mts_error *error);
mts_status mts_host_queue_query(mts_device *device, uint32_t index, bool waits, bool *passed,
                                mts_error *error);

#endif
