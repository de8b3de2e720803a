/*
 * offline.c: a device of which only the compute capability is known, and that is not
 * here.
 *
 * It makes programs as PTX and keeps them in the cache directory; a device of that
 * compute capability finds them there, and needs no compiler. Its buffers have no memory,
 * its command lists do nothing, and reads give zeros. Its description is that of the
 * board with that compute capability, so that a session asks for the same programs.
 */
#include "platform/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNITS_OTHERS 32
#define MEMORY_BYTES ((uint64_t)1 << 40)
#define GROUP_MOST 1024
#define LOCAL_BYTES 49152

typedef struct offline_device {
    mts_device base;
    mts_cu_builder builder;
} offline_device;

static void offline_destroy(mts_device *base)
{
    offline_device *device = (offline_device *)base;
    mts_cu_builder_release(&device->builder);
    mts_alloc_free(base->allocator, device);
}

static mts_status offline_buffer_create(mts_device *device, const mts_memory *memory, size_t size,
                                        mts_buffer **out, mts_error *error)
{
    (void)memory;
    mts_buffer *buffer = mts_alloc_zero(device->allocator, 1, sizeof *buffer);
    if (!buffer) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a buffer of %zu bytes", size);
    }
    *out = buffer;
    return MTS_STATUS_OK;
}

static void offline_buffer_destroy(mts_device *device, mts_buffer *buffer)
{
    mts_alloc_free(device->allocator, buffer);
}

static mts_status offline_buffer_write(mts_device *device, mts_buffer *buffer, size_t offset,
                                       const void *data, size_t size, bool async, mts_error *error)
{
    (void)device, (void)buffer, (void)offset, (void)data, (void)size, (void)async, (void)error;
    return MTS_STATUS_OK;
}

static mts_status offline_buffer_read(mts_device *device, mts_buffer *buffer, size_t offset, void *data,
                                      size_t size, mts_error *error)
{
    (void)device, (void)buffer, (void)offset, (void)error;
    memset(data, 0, size);
    return MTS_STATUS_OK;
}

static mts_status offline_buffer_fill(mts_device *device, mts_buffer *buffer, size_t offset, size_t size,
                                      uint32_t word, mts_error *error)
{
    (void)device, (void)buffer, (void)offset, (void)size, (void)word, (void)error;
    return MTS_STATUS_OK;
}

/* Compiles, and stores if there is a cache directory. The device exists for the file, so
 * a full disk is a failure. */
static mts_status make_text(mts_cu_builder *builder, const mts_kernel_source *source, const char *options,
                            const char *key, mts_error *error)
{
    mts_cu_image image = {.data = NULL};
    mts_status status = mts_cu_compile(builder, source, options, true, &image, error);
    if (status == MTS_STATUS_NOT_FOUND || status == MTS_STATUS_UNSUPPORTED) {
        return mts_fail_prefix(error, status, "programs for sm_%u cannot be made here", builder->info->arch);
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (key && mts_cu_cache_store(builder, key, &image) != MTS_STATUS_OK) {
        status = mts_fail(error, MTS_STATUS_IO, "kernel '%s': its program cannot be written to '%s'",
                          source->name, builder->cache_dir);
    }
    mts_cu_image_release(builder, &image);
    return status;
}

static mts_status find_or_make(mts_cu_builder *builder, const mts_kernel_source *source, const char *options,
                               mts_error *error)
{
    mts_cu_image image = {.data = NULL};
    char *key = NULL;
    if (builder->cache_dir) {
        key = mts_cu_cache_key(builder, true, source, options);
        if (!key) {
            return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the key of kernel '%s'",
                            source->name);
        }
        if (mts_cu_cache_load(builder, true, key, &image)) {
            builder->made.cache.hits++;
            mts_cu_image_release(builder, &image);
            mts_alloc_free(builder->allocator, key);
            return MTS_STATUS_OK;
        }
        builder->made.cache.misses++;
    }
    const mts_status status = make_text(builder, source, options, key, error);
    mts_alloc_free(builder->allocator, key);
    return status;
}

static mts_status offline_kernel_create(mts_device *base, const mts_kernel_desc *desc, mts_kernel **out,
                                        mts_error *error)
{
    mts_cu_builder *builder = &((offline_device *)base)->builder;
    mts_kernel *kernel = mts_alloc_zero(base->allocator, 1, sizeof *kernel);
    char *options = kernel ? mts_cu_options_make(builder, desc->defines) : NULL;
    mts_status status = MTS_STATUS_OK;
    if (!options) {
        status = mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for kernel '%s'", desc->name);
    } else {
        status = find_or_make(builder, mts_kernel_find(desc->name), options, error);
    }
    mts_alloc_free(base->allocator, options);
    if (builder->counts) {
        *builder->counts = builder->made;
    }
    if (status != MTS_STATUS_OK) {
        mts_alloc_free(base->allocator, kernel);
        return status;
    }
    kernel->work_group_size = base->info.work_group_size;
    *out = kernel;
    return MTS_STATUS_OK;
}

static void offline_kernel_destroy(mts_device *device, mts_kernel *kernel)
{
    mts_alloc_free(device->allocator, kernel);
}

static mts_status offline_command_list_create(mts_device *device, const mts_launch *launches, size_t count,
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

static void offline_command_list_destroy(mts_device *device, mts_command_list *list)
{
    mts_alloc_free(device->allocator, list);
}

static mts_status offline_command_list_update(mts_device *device, mts_command_list *list,
                                              const mts_launch *launches, size_t count, mts_error *error)
{
    (void)device, (void)list, (void)launches, (void)count, (void)error;
    return MTS_STATUS_OK;
}

static mts_status offline_command_list_submit(mts_device *device, mts_command_list *list, mts_error *error)
{
    (void)device, (void)list, (void)error;
    return MTS_STATUS_OK;
}

static mts_status offline_wait(mts_device *device, mts_error *error)
{
    (void)device, (void)error;
    return MTS_STATUS_OK;
}

static mts_status offline_event_record(mts_device *device, uint32_t index, mts_error *error)
{
    (void)device, (void)index, (void)error;
    return MTS_STATUS_OK;
}

static mts_status offline_event_query(mts_device *device, uint32_t index, bool wait, bool *passed,
                                      mts_error *error)
{
    (void)device, (void)index, (void)wait, (void)error;
    *passed = true;
    return MTS_STATUS_OK;
}

static const mts_device_ops ops = {
    .abi = MTS_DEVICE_ABI,
    .destroy = offline_destroy,
    .buffer_create = offline_buffer_create,
    .buffer_destroy = offline_buffer_destroy,
    .buffer_write = offline_buffer_write,
    .buffer_read = offline_buffer_read,
    .buffer_read_async = offline_buffer_read,
    .buffer_fill = offline_buffer_fill,
    .kernel_create = offline_kernel_create,
    .kernel_destroy = offline_kernel_destroy,
    .command_list_create = offline_command_list_create,
    .command_list_destroy = offline_command_list_destroy,
    .command_list_update = offline_command_list_update,
    .command_list_submit = offline_command_list_submit,
    .wait = offline_wait,
    .event_record = offline_event_record,
    .event_query = offline_event_query,
};

static mts_status parse_name(const char *name, uint32_t *arch, mts_error *error)
{
    static const char prefix[] = "sm_";
    char *end = NULL;
    unsigned long number = 0;
    const char *digits = name + (sizeof prefix - 1);
    if (strncmp(name, prefix, sizeof prefix - 1) == 0 && *digits >= '0' && *digits <= '9') {
        number = strtoul(digits, &end, 10);
    }
    if (!end || *end != '\0' || number < 30 || number > 999) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND,
                        "'%s' is neither a number nor a compute capability like sm_62", name);
    }
    *arch = (uint32_t)number;
    return MTS_STATUS_OK;
}

static void describe(uint32_t arch, mts_device_info *info)
{
    const mts_cu_quirks *quirks = mts_cu_quirks_find(arch);
    const bool board = quirks->arch == arch && quirks->units > 0;
    (void)snprintf(info->backend, sizeof info->backend, "cuda");
    (void)snprintf(info->name, sizeof info->name, "NVIDIA sm_%u", arch);
    (void)snprintf(info->driver, sizeof info->driver, "none, compute capability %u.%u", arch / 10, arch % 10);
    info->is_gpu = true;
    info->packed_lanes = MTS_CHANNEL_PACK;
    info->unified_memory = board;
    info->imports = board && quirks->host_memory ? MTS_MEMORY_BIT(MTS_MEMORY_HOST) : 0;
    info->compute_units = board ? quirks->units : UNITS_OTHERS;
    info->launch_ns = MTS_CU_LAUNCH_NS;
    info->vector_floats = 4;
    info->work_group_size = GROUP_MOST;
    info->groups_most = MTS_CU_GROUPS_MOST;
    info->memory_bytes = info->buffer_bytes = MEMORY_BYTES;
    info->local_bytes = LOCAL_BYTES;
    info->half_products = quirks->half_products;
    info->byte_products = mts_cu_multiplies_bytes(arch);
    info->matrix_units = quirks->matrix_units;
    info->arch = arch;
}

mts_status mts_cu_offline_open(const char *name, const mts_device_options *options, mts_device **out,
                               mts_error *error)
{
    uint32_t arch = 0;
    *out = NULL;
    if (options->external_context || options->external_queue) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "'%s' is not here and takes no CUDA context", name);
    }
    mts_status status = parse_name(name, &arch, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    offline_device *device = mts_alloc_zero(options->allocator, 1, sizeof *device);
    if (!device) {
        return mts_fail_memory(error);
    }
    device->base.ops = &ops;
    device->base.allocator = options->allocator;
    device->base.log = options->log;
    describe(arch, &device->base.info);
    status = mts_cu_builder_init(&device->builder, &device->base, options, error);
    if (status != MTS_STATUS_OK) {
        offline_destroy(&device->base);
        return status;
    }
    *out = &device->base;
    return MTS_STATUS_OK;
}
