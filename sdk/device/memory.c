/*
 * memory.c: the front of a device's memory: buffers, transfers, and host memory.
 */
#include "base/size.h"
#include "device/front.h"

#define HOST_ALIGN 64u

/* Stands before host memory that the front allocated. */
struct mts_host_head {
    void *start; /* what the allocator gave */
    mts_host_head *next;
};

static mts_status check_range(const mts_buffer *buffer, size_t offset, const void *data, size_t size,
                              mts_error *error)
{
    size_t end = 0;
    if (!buffer) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "buffer is NULL");
    }
    if (!data && size) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "data is NULL");
    }
    const mts_status status = mts_front_check(buffer->device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (buffer->imported) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "an imported buffer is neither read nor written through the device");
    }
    if (!mts_size_add(offset, size, &end) || end > buffer->size) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "%zu bytes at offset %zu exceed the buffer of %zu bytes", size, offset, buffer->size);
    }
    return MTS_STATUS_OK;
}

static mts_status make_buffer(mts_device *device, const mts_memory *memory, size_t size, mts_buffer **out,
                              mts_error *error)
{
    mts_status status = mts_front_check_create(device, out, "mts_buffer_create", error);
    if (out) {
        *out = NULL;
    }
    if (status == MTS_STATUS_OK && size == 0) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "a buffer needs at least one byte");
    }
    if (status == MTS_STATUS_OK && size > device->info.buffer_bytes) {
        status = mts_fail(error, MTS_STATUS_LIMIT, "a buffer of %zu bytes exceeds the %llu of device '%s'",
                          size, (unsigned long long)device->info.buffer_bytes, device->info.name);
    }
    mts_buffer *buffer = NULL;
    MTS_TRY(status, MTS_FRONT_CALL(device, buffer_create, memory, size, &buffer));
    MTS_TRY(status, mts_front_check_made(device, buffer, error));
    if (status == MTS_STATUS_OK) {
        buffer->device = device;
        buffer->size = size;
        buffer->imported = memory;
        *out = buffer;
    }
    return status;
}

mts_status mts_buffer_create(mts_device *device, size_t size, mts_buffer **out, mts_error *error)
{
    return make_buffer(device, NULL, size, out, error);
}

mts_status mts_buffer_import(mts_device *device, const mts_memory *memory, mts_buffer **out, mts_error *error)
{
    static const char *const names[MTS_MEMORY_KINDS] = {"host memory", "dma-bufs", "hardware buffers"};
    if (out) {
        *out = NULL;
    }
    if (!memory || (unsigned)memory->kind >= MTS_MEMORY_KINDS ||
        (memory->kind == MTS_MEMORY_DMABUF ? memory->fd < 0 : !memory->host)) {
        return mts_fail(
            error, MTS_STATUS_INVALID_ARGUMENT,
            "the memory to import is NULL, of an unknown kind or without an address or descriptor");
    }
    if (device && !(device->info.imports & MTS_MEMORY_BIT(memory->kind))) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "device '%s' cannot import %s", device->info.name,
                        names[memory->kind]);
    }
    return make_buffer(device, memory, memory->size, out, error);
}

void mts_buffer_destroy(mts_buffer **buffer)
{
    if (buffer && *buffer && (*buffer)->mapped) {
        (void)mts_buffer_unmap(*buffer, NULL);
    }
    MTS_FRONT_DESTROY(buffer, buffer_destroy);
}

/* An empty transfer does not reach the backend. The names are those of the functions
   around. */
#define TRANSFER(entry, ...)                                                                                 \
    (status == MTS_STATUS_OK && size > 0                                                                     \
         ? MTS_FRONT_CALL(buffer->device, entry, buffer, offset, __VA_ARGS__)                                \
         : status)

mts_status mts_buffer_write(mts_buffer *buffer, size_t offset, const void *data, size_t size,
                            mts_error *error)
{
    const mts_status status = check_range(buffer, offset, data, size, error);
    return TRANSFER(buffer_write, data, size, false);
}

mts_status mts_buffer_write_async(mts_buffer *buffer, size_t offset, const void *data, size_t size,
                                  mts_error *error)
{
    const mts_status status = check_range(buffer, offset, data, size, error);
    return TRANSFER(buffer_write, data, size, true);
}

mts_status mts_buffer_read_async(mts_buffer *buffer, size_t offset, void *data, size_t size, mts_error *error)
{
    const mts_status status = check_range(buffer, offset, data, size, error);
    return TRANSFER(buffer_read_async, data, size);
}

mts_status mts_buffer_read(mts_buffer *buffer, size_t offset, void *data, size_t size, mts_error *error)
{
    const mts_status status = check_range(buffer, offset, data, size, error);
    return TRANSFER(buffer_read, data, size);
}

mts_status mts_buffer_fill(mts_buffer *buffer, size_t offset, size_t size, uint32_t word, mts_error *error)
{
    mts_status status = check_range(buffer, offset, &word, size, error);
    if (status == MTS_STATUS_OK && (offset % sizeof word != 0 || size % sizeof word != 0)) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "filling %zu bytes at offset %zu: both have to be multiples of 4", size, offset);
    }
    return TRANSFER(buffer_fill, size, word);
}

mts_status mts_buffer_map(mts_buffer *buffer, size_t offset, size_t size, bool overwrites, mts_error *error)
{
    mts_status status = check_range(buffer, offset, buffer, size, error);
    if (status == MTS_STATUS_OK && (size == 0 || buffer->mapped)) {
        status =
            mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                     size == 0 ? "mapping a buffer needs at least one byte" : "the buffer is mapped already");
    }
    if (status == MTS_STATUS_OK && !buffer->device->info.maps) {
        status =
            mts_fail(error, MTS_STATUS_UNSUPPORTED, "device '%s' maps no buffers", buffer->device->info.name);
    }
    void *mapped = NULL;
    MTS_TRY(status, MTS_FRONT_CALL(buffer->device, buffer_map, buffer, offset, size, overwrites, &mapped));
    MTS_TRY(status, mts_front_check_made(buffer->device, mapped, error));
    if (status == MTS_STATUS_OK) {
        buffer->mapped = mapped;
    }
    return status;
}

mts_status mts_buffer_unmap(mts_buffer *buffer, mts_error *error)
{
    if (!buffer) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "buffer is NULL");
    }
    mts_status status = mts_front_check(buffer->device, error);
    if (status == MTS_STATUS_OK && buffer->mapped) {
        void *mapped = buffer->mapped;
        buffer->mapped = NULL;
        status = MTS_FRONT_CALL(buffer->device, buffer_unmap, buffer, mapped);
    }
    return status;
}

static mts_status allocate_host(const mts_device *device, size_t size, void **out, mts_error *error)
{
    size_t whole = 0;
    char *start = NULL;
    const size_t head = sizeof(mts_host_head);
    if (mts_size_add(size, HOST_ALIGN + head, &whole)) {
        start = device->allocator->alloc(device->allocator->context, whole);
    }
    if (!start) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no host memory for %zu bytes", size);
    }
    const size_t beyond = ((uintptr_t)start + head) % HOST_ALIGN;
    char *memory = start + head + (HOST_ALIGN - beyond) % HOST_ALIGN;
    ((mts_host_head *)(void *)memory)[-1].start = start;
    *out = memory;
    return MTS_STATUS_OK;
}

mts_status mts_host_create(mts_device *device, size_t size, void **out, mts_error *error)
{
    void *memory = NULL;
    mts_status status = mts_front_check_create(device, out, "mts_host_create", error);
    if (status == MTS_STATUS_OK && size == 0) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "host memory needs at least one byte");
    }
    MTS_TRY(status, device->ops->host_create ? MTS_FRONT_CALL(device, host_create, size, &memory)
                                             : allocate_host(device, size, &memory, error));
    MTS_TRY(status, mts_front_check_made(device, memory, error));
    if (out) {
        *out = status == MTS_STATUS_OK ? memory : NULL;
    }
    return status;
}

void mts_host_destroy(mts_device *device, void **memory)
{
    if (!device || !memory || !*memory) {
        return;
    }
    char *gone = *memory;
    *memory = NULL;
    const bool lost = mts_front_see_loss(device);
    if (device->ops->host_create) {
        device->ops->host_destroy(device, gone);
        return;
    }
    mts_host_head *head = (mts_host_head *)(void *)gone - 1;
    if (lost) { /* its queue may still write there */
        head->next = device->parked;
        device->parked = head;
    } else {
        mts_alloc_free(device->allocator, head->start);
    }
}

void mts_front_free_parked(const mts_allocator *allocator, mts_host_head *parked)
{
    while (parked) {
        void *start = parked->start;
        parked = parked->next;
        mts_alloc_free(allocator, start);
    }
}
