/*
 * device.c: a device whose buffers are host memory and whose kernels do nothing.
 *
 * Transfers and fills are real, so that what is read back is defined: a launch leaves the
 * activations as they are.
 */
#include "platform/null/null.h"

#include <stdio.h>
#include <string.h>

typedef struct null_device {
    mts_device base;
    uint64_t launch_ns;
    uint64_t used; /* bytes of all live buffers */
} null_device;

typedef struct null_buffer {
    mts_buffer base;
    size_t size; /* the front fills base.size only after the create */
    unsigned char *bytes;
} null_buffer;

static void null_destroy(mts_device *device)
{
    mts_alloc_free(device->allocator, device);
}

static mts_status null_buffer_create(mts_device *base, const mts_memory *memory, size_t size,
                                     mts_buffer **out, mts_error *error)
{
    (void)memory; /* info.imports is 0 */
    null_device *device = (null_device *)base;
    if (size > base->info.memory_bytes - device->used) {
        base->full = true;
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "%zu bytes do not fit: %llu of %llu are in use",
                        size, (unsigned long long)device->used, (unsigned long long)base->info.memory_bytes);
    }
    null_buffer *buffer = mts_alloc_zero(base->allocator, 1, sizeof *buffer);
    if (buffer) {
        buffer->size = size;
        buffer->bytes = mts_alloc_zero(base->allocator, size, 1);
    }
    if (!buffer || !buffer->bytes) {
        mts_alloc_free(base->allocator, buffer);
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no host memory for a buffer of %zu bytes", size);
    }
    device->used += size;
    *out = &buffer->base;
    return MTS_STATUS_OK;
}

static void null_buffer_destroy(mts_device *base, mts_buffer *base_buffer)
{
    null_buffer *buffer = (null_buffer *)base_buffer;
    ((null_device *)base)->used -= buffer->size;
    mts_alloc_free(base->allocator, buffer->bytes);
    mts_alloc_free(base->allocator, buffer);
}

static mts_status null_buffer_write(mts_device *device, mts_buffer *buffer, size_t offset, const void *data,
                                    size_t size, bool async, mts_error *error)
{
    (void)device;
    (void)async; /* the copy is made at once */
    (void)error;
    memcpy(((null_buffer *)buffer)->bytes + offset, data, size);
    return MTS_STATUS_OK;
}

static mts_status null_buffer_read(mts_device *device, mts_buffer *buffer, size_t offset, void *data,
                                   size_t size, mts_error *error)
{
    (void)device;
    (void)error;
    memcpy(data, ((null_buffer *)buffer)->bytes + offset, size);
    return MTS_STATUS_OK;
}

static mts_status null_buffer_fill(mts_device *device, mts_buffer *buffer, size_t offset, size_t size,
                                   uint32_t word, mts_error *error)
{
    unsigned char *bytes = ((null_buffer *)buffer)->bytes + offset;
    (void)device;
    (void)error;
    for (size_t i = 0; i < size; i += sizeof word) {
        memcpy(bytes + i, &word, sizeof word);
    }
    return MTS_STATUS_OK;
}

static mts_status null_kernel_create(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                                     mts_error *error)
{
    mts_kernel *kernel = mts_alloc_zero(device->allocator, 1, sizeof *kernel);
    if (!kernel) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for kernel '%s'", desc->name);
    }
    kernel->work_group_size = device->info.work_group_size;
    *out = kernel;
    return MTS_STATUS_OK;
}

static void null_kernel_destroy(mts_device *device, mts_kernel *kernel)
{
    mts_alloc_free(device->allocator, kernel);
}

/* A real backend copies what it needs of the launches here; there is nothing to need. */
static mts_status null_command_list_create(mts_device *device, const mts_launch *launches, size_t count,
                                           mts_command_list **out, mts_error *error)
{
    (void)launches;
    mts_command_list *list = mts_alloc_zero(device->allocator, 1, sizeof *list);
    if (!list) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY,
                        "not enough memory for a command list of %zu launches", count);
    }
    *out = list;
    return MTS_STATUS_OK;
}

static void null_command_list_destroy(mts_device *device, mts_command_list *list)
{
    mts_alloc_free(device->allocator, list);
}

/* As for creating: nothing was kept, so nothing changes. */
static mts_status null_command_list_update(mts_device *device, mts_command_list *list,
                                           const mts_launch *launches, size_t count, mts_error *error)
{
    (void)device;
    (void)list;
    (void)launches;
    (void)count;
    (void)error;
    return MTS_STATUS_OK;
}

static mts_status null_command_list_submit(mts_device *device, mts_command_list *list, mts_error *error)
{
    (void)device;
    (void)list;
    (void)error;
    return MTS_STATUS_OK;
}

static mts_status null_wait(mts_device *device, mts_error *error)
{
    (void)device;
    (void)error;
    return MTS_STATUS_OK;
}

static mts_status null_command_list_profile(mts_device *device, mts_command_list *list,
                                            mts_launch_time *times, size_t count, mts_error *error)
{
    (void)list;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        const uint64_t each = ((null_device *)device)->launch_ns;
        times[i] = (mts_launch_time){.start = i * each, .end = (i + 1) * each};
    }
    return MTS_STATUS_OK;
}

static mts_status null_event_record(mts_device *device, uint32_t index, mts_error *error)
{
    (void)device;
    (void)index;
    (void)error;
    return MTS_STATUS_OK;
}

/* A command has finished when it returns. */
static mts_status null_event_query(mts_device *device, uint32_t index, bool wait, bool *passed,
                                   mts_error *error)
{
    (void)device;
    (void)index;
    (void)wait;
    (void)error;
    *passed = true;
    return MTS_STATUS_OK;
}

static const mts_device_ops ops = {
    .abi = MTS_DEVICE_ABI,
    .destroy = null_destroy,
    .buffer_create = null_buffer_create,
    .buffer_destroy = null_buffer_destroy,
    .buffer_write = null_buffer_write,
    .buffer_read = null_buffer_read,
    .buffer_read_async = null_buffer_read,
    .buffer_fill = null_buffer_fill,
    .kernel_create = null_kernel_create,
    .kernel_destroy = null_kernel_destroy,
    .command_list_create = null_command_list_create,
    .command_list_destroy = null_command_list_destroy,
    .command_list_update = null_command_list_update,
    .command_list_submit = null_command_list_submit,
    .wait = null_wait,
    .event_record = null_event_record,
    .event_query = null_event_query,
    .command_list_profile = null_command_list_profile,
};

static uint32_t backend_count(void)
{
    return 1;
}

static mts_status backend_describe(uint32_t index, mts_device_info *info, mts_error *error)
{
    mts_null_limits limits;
    memset(info, 0, sizeof *info);
    if (index != 0) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "there is no null device %u", index);
    }
    mts_null_limits_default(&limits);
    *info = limits.info;
    return MTS_STATUS_OK;
}

static mts_status backend_open(uint32_t index, const mts_device_options *options, mts_device **out,
                               mts_error *error)
{
    mts_null_limits limits;
    *out = NULL;
    if (index != 0) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "there is no null device %u", index);
    }
    mts_null_limits_default(&limits);
    return mts_null_open(&limits, options, out, error);
}

const mts_backend mts_backend_null = {
    .name = "null",
    .count = backend_count,
    .describe = backend_describe,
    .open = backend_open,
};

void mts_null_limits_default(mts_null_limits *limits)
{
    memset(limits, 0, sizeof *limits);
    (void)snprintf(limits->info.backend, sizeof limits->info.backend, "null");
    (void)snprintf(limits->info.name, sizeof limits->info.name, "null device");
    (void)snprintf(limits->info.driver, sizeof limits->info.driver, "1");
    limits->info.unified_memory = true;
    limits->info.compute_units = 1;
    limits->info.vector_floats = 4;
    limits->info.work_group_size = 256;
    limits->info.local_bytes = 1 << 15;
    limits->info.memory_bytes = (uint64_t)1 << 30;
    limits->info.buffer_bytes = (uint64_t)1 << 30;
    limits->launch_ns = 1000;
}

mts_status mts_null_open(const mts_null_limits *limits, const mts_device_options *options, mts_device **out,
                         mts_error *error)
{
    *out = NULL;
    null_device *device = mts_alloc_zero(options->allocator, 1, sizeof *device);
    if (!device) {
        return mts_fail_memory(error);
    }
    device->base.ops = &ops;
    device->base.allocator = options->allocator;
    device->base.log = options->log;
    device->base.info = limits->info;
    device->launch_ns = limits->launch_ns;
    *out = &device->base;
    return MTS_STATUS_OK;
}
