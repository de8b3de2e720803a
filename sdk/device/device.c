/*
 * device.c: the front of a device: every argument is checked here, once.
 *
 * Backends and decorators are called only with arguments that make sense, and never with
 * an empty transfer. Not responsible for what a command does, nor for finding devices.
 */
#include "device/device.h"

#include <string.h>

#include "base/size.h"
#include "device/kernel.h"

#define HOST_ALIGN 64u

/* Stands before host memory that the front allocated. */
struct mts_host_head {
    void *start; /* what the allocator gave */
    mts_host_head *next;
};

/* Drains a lost device before a caller learns of the loss and frees memory that the queue
   still uses. */
static void see_loss(mts_device *device)
{
    if (device->lost && !device->drained) {
        device->drained = true;
        mts_device_drain(device);
    }
}

static mts_status check_device(mts_device *device, mts_error *error)
{
    if (!device || !device->ops) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "device is NULL");
    }
    if (device->ops->abi != MTS_DEVICE_ABI) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "device '%s' has interface version %u, and this library needs %u", device->info.name,
                        device->ops->abi, MTS_DEVICE_ABI);
    }
    see_loss(device);
    if (device->lost) {
        return mts_fail(error, MTS_STATUS_DEVICE_LOST, "device '%s' was lost; destroy it and open it again",
                        device->info.name);
    }
    return MTS_STATUS_OK;
}

/* A backend that notices the loss within a call may return any code. */
static mts_status after(mts_device *device, mts_status status, mts_error *error)
{
    see_loss(device);
    if (status != MTS_STATUS_OK && device->lost && status != MTS_STATUS_DEVICE_LOST) {
        status = MTS_STATUS_DEVICE_LOST;
        if (error) {
            error->code = status;
        }
    }
    return status;
}

/* Begins `call`, which makes an object of the device. */
static mts_status check_create(mts_device *device, bool has_out, const char *call, mts_error *error)
{
    return has_out ? check_device(device, error)
                   : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s: out is NULL", call);
}

static mts_status check_made(const mts_device *device, bool made, mts_error *error)
{
    return made ? MTS_STATUS_OK
                : mts_fail(error, MTS_STATUS_INTERNAL, "backend '%s' reported success without an object",
                           device->info.backend);
}

/* What an entry of the backend says. `error` is that of the function around. */
#define CALL(device, entry, ...) after(device, (device)->ops->entry(device, __VA_ARGS__, error), error)

/* Destroys an object of a device and clears the caller's handle. */
#define DESTROY(handle, entry)                                                                               \
    do {                                                                                                     \
        if ((handle) && *(handle)) {                                                                         \
            mts_device *device = (*(handle))->device;                                                        \
            device->ops->entry(device, *(handle));                                                           \
            *(handle) = NULL;                                                                                \
            see_loss(device);                                                                                \
        }                                                                                                    \
    } while (0)

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
    const mts_status status = check_device(buffer->device, error);
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

static const char *launch_label(const mts_launch *launch)
{
    return launch->label ? launch->label : "unnamed";
}

static mts_status check_grid(const mts_launch *launch, mts_error *error)
{
    uint64_t items = 1;
    for (int i = 0; i < 3; i++) {
        const uint32_t global = launch->global[i];
        const uint32_t local = launch->local[i];
        if (local == 0 || global == 0 || global % local != 0) {
            return mts_fail(
                error, MTS_STATUS_INVALID_ARGUMENT,
                "launch '%s': dimension %d: %u work-items are not a positive multiple of the work-group's %u",
                launch_label(launch), i, global, local);
        }
        items *= local; /* cannot overflow: at most work_group_size (32 bits) before each step */
        if (items > launch->kernel->work_group_size) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "launch '%s': a work-group of %ux%ux%u exceeds the kernel's %u work-items",
                            launch_label(launch), launch->local[0], launch->local[1], launch->local[2],
                            launch->kernel->work_group_size);
        }
    }
    return MTS_STATUS_OK;
}

static mts_status check_accesses(const mts_launch *launch, mts_error *error)
{
    for (uint32_t i = 0; launch->accesses && i < launch->access_count; i++) {
        const mts_access *access = &launch->accesses[i];
        if (access->begin > access->end || access->end > launch->act->size) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "launch '%s': it touches bytes %zu to %zu of a buffer of %zu",
                            launch_label(launch), access->begin, access->end, launch->act->size);
        }
    }
    return MTS_STATUS_OK;
}

static mts_status check_sources(const mts_device *device, const mts_launch *launch, mts_error *error)
{
    const bool wanted = launch->kernel && launch->kernel->sources;
    for (uint32_t i = 0; i < MTS_LAUNCH_SOURCES; i++) {
        const mts_buffer *source = launch->sources[i];
        if (wanted != (source != NULL)) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            wanted ? "launch '%s': source %u is NULL: the kernel reads %d of them"
                                   : "launch '%s': source %u is given to a kernel without any (of %d)",
                            launch_label(launch), i, MTS_LAUNCH_SOURCES);
        }
        if (source && source->device != device) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "launch '%s': source %u belongs to another device", launch_label(launch), i);
        }
    }
    return MTS_STATUS_OK;
}

static mts_status check_launch(const mts_device *device, const mts_launch *launch, mts_error *error)
{
    const bool product = launch->gemm.m > 0;
    if (product == (launch->kernel != NULL) || !launch->act || !launch->pool || !launch->params) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "launch '%s': the kernel or a buffer is NULL, or it has a kernel and a product",
                        launch_label(launch));
    }
    if (launch->act->imported || launch->params->imported) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "launch '%s': only the pool and sources may be imported memory",
                        launch_label(launch));
    }
    if ((!product && launch->kernel->device != device) || launch->act->device != device ||
        launch->pool->device != device || launch->params->device != device) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "launch '%s': the kernel or a buffer belongs to another device",
                        launch_label(launch));
    }
    mts_status status = check_sources(device, launch, error);
    MTS_TRY(status, check_accesses(launch, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (product && !device->info.gemm) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "launch '%s': device '%s' takes no matrix products",
                        launch_label(launch), device->info.name);
    }
    if (product) {
        return mts_gemm_check(&launch->gemm, launch->act->size / sizeof(float),
                              launch->pool->size / sizeof(float), launch_label(launch), error);
    }
    if (launch->first >= launch->params->size / sizeof(uint32_t)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "launch '%s': kernel parameters %u lie outside the buffer of %zu bytes",
                        launch_label(launch), launch->first, launch->params->size);
    }
    return check_grid(launch, error);
}

void mts_device_destroy(mts_device **device)
{
    if (device && *device) {
        mts_device *gone = *device;
        *device = NULL;
        see_loss(gone);
        const mts_allocator *allocator = gone->allocator;
        mts_host_head *parked = gone->parked;
        gone->ops->destroy(gone);
        while (parked) {
            void *start = parked->start;
            parked = parked->next;
            mts_alloc_free(allocator, start);
        }
    }
}

static mts_status make_buffer(mts_device *device, const mts_memory *memory, size_t size, mts_buffer **out,
                              mts_error *error)
{
    mts_status status = check_create(device, out, "mts_buffer_create", error);
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
    MTS_TRY(status, CALL(device, buffer_create, memory, size, &buffer));
    MTS_TRY(status, check_made(device, buffer, error));
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
    DESTROY(buffer, buffer_destroy);
}

/* An empty transfer does not reach the backend. The names are those of the functions
   around. */
#define TRANSFER(entry, ...)                                                                                 \
    (status == MTS_STATUS_OK && size > 0 ? CALL(buffer->device, entry, buffer, offset, __VA_ARGS__) : status)

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

mts_status mts_kernel_create(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                             mts_error *error)
{
    mts_status status = check_create(device, out, "mts_kernel_create", error);
    if (out) {
        *out = NULL;
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (!desc || !desc->name || !desc->name[0]) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "the kernel has no name");
    }
    if (!mts_kernel_find(desc->name)) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "there is no kernel '%s'", desc->name);
    }
    if (desc->resident_items > 0 && !device->info.persistent) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "'%s' has no persistent kernels", device->info.name);
    }
    const mts_kernel_desc whole = {desc->name, desc->defines ? desc->defines : "", desc->resident_items};
    mts_kernel *kernel = NULL;
    status = CALL(device, kernel_create, &whole, &kernel);
    MTS_TRY(status, check_made(device, kernel, error));
    if (status == MTS_STATUS_OK) {
        kernel->device = device;
        kernel->sources = strcmp(desc->name, MTS_KERNEL_MIXED) == 0;
        *out = kernel;
    }
    return status;
}

void mts_kernel_destroy(mts_kernel **kernel)
{
    DESTROY(kernel, kernel_destroy);
}

static mts_status check_launches(const mts_device *device, const mts_launch *launches, size_t count,
                                 mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (size_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        status = check_launch(device, &launches[i], error);
    }
    return status;
}

mts_status mts_command_list_create(mts_device *device, const mts_launch *launches, size_t count,
                                   mts_command_list **out, mts_error *error)
{
    size_t bytes = 0;
    mts_command_list *list = NULL;
    mts_status status = check_create(device, out, "mts_command_list_create", error);
    if (out) {
        *out = NULL;
    }
    if (status == MTS_STATUS_OK && ((!launches && count) || !mts_size_mul(count, sizeof *launches, &bytes))) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "a list of %zu launches, but launches is NULL or the count too large", count);
    }
    MTS_TRY(status, check_launches(device, launches, count, error));
    MTS_TRY(status, CALL(device, command_list_create, launches, count, &list));
    MTS_TRY(status, check_made(device, list, error));
    if (status == MTS_STATUS_OK) {
        list->device = device;
        list->count = count;
        *out = list;
    }
    return status;
}

void mts_command_list_destroy(mts_command_list **list)
{
    DESTROY(list, command_list_destroy);
}

/* `array`: `count` elements that go with the launches of a list; called `what`. */
static mts_status check_list(const mts_command_list *list, const void *array, size_t count, const char *what,
                             mts_error *error)
{
    if (!list || (!array && count)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "command list or %s is NULL", what);
    }
    const mts_status status = check_device(list->device, error);
    return status == MTS_STATUS_OK && count != list->count
               ? mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%zu %s for a command list of %zu launches",
                          count, what, list->count)
               : status;
}

/* A backend may lack some entries. */
static mts_status check_entry(const mts_device *device, bool there, const char *what, mts_error *error)
{
    return there
               ? MTS_STATUS_OK
               : mts_fail(error, MTS_STATUS_UNSUPPORTED, "device '%s' does not %s", device->info.name, what);
}

mts_status mts_command_list_update(mts_command_list *list, const mts_launch *launches, size_t count,
                                   mts_error *error)
{
    mts_status status = check_list(list, launches, count, "launches", error);
    MTS_TRY(status, check_launches(list->device, launches, count, error));
    MTS_TRY(status,
            check_entry(list->device, list->device->ops->command_list_update, "update command lists", error));
    MTS_TRY(status, CALL(list->device, command_list_update, list, launches, count));
    return status;
}

mts_status mts_command_list_submit(mts_command_list *list, mts_error *error)
{
    if (!list) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "command list is NULL");
    }
    const mts_status status = check_device(list->device, error);
    return status == MTS_STATUS_OK ? CALL(list->device, command_list_submit, list) : status;
}

mts_status mts_command_list_profile(mts_command_list *list, mts_launch_time *times, size_t count,
                                    mts_error *error)
{
    mts_status status = check_list(list, times, count, "times", error);
    MTS_TRY(status,
            check_entry(list->device, list->device->ops->command_list_profile, "measure launches", error));
    MTS_TRY(status, CALL(list->device, command_list_profile, list, times, count));
    return status;
}

mts_status mts_command_list_trace(mts_command_list *list, mts_chunk_time *chunks, size_t capacity,
                                  size_t *count, mts_error *error)
{
    *count = 0;
    if (!list || (!chunks && capacity > 0)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "mts_command_list_trace: %s is NULL",
                        list ? "chunks" : "the list");
    }
    mts_status status = check_device(list->device, error);
    MTS_TRY(status, check_entry(list->device, list->device->ops->command_list_trace, "tell its threads apart",
                                error));
    MTS_TRY(status, CALL(list->device, command_list_trace, list, chunks, capacity, count));
    return status;
}

/* After a failure: a device that cannot be waited for may still use host memory, and is
   lost. */
static void settle(mts_device *device)
{
    device->lost = device->lost || device->ops->wait(device, NULL) != MTS_STATUS_OK;
}

mts_status mts_device_wait(mts_device *device, mts_error *error)
{
    mts_status status = check_device(device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    status = device->ops->wait(device, error);
    if (status != MTS_STATUS_OK) {
        settle(device);
    }
    return after(device, status, error);
}

void mts_device_drain(mts_device *device)
{
    if (device->ops->drain) {
        device->ops->drain(device);
    }
}

static mts_status check_event(mts_device *device, uint32_t index, mts_error *error)
{
    const mts_status status = check_device(device, error);
    return status == MTS_STATUS_OK && index >= MTS_DEVICE_EVENTS
               ? mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "there is no event %u; a device has 0..%u",
                          index, MTS_DEVICE_EVENTS - 1)
               : status;
}

mts_status mts_device_event_record(mts_device *device, uint32_t index, mts_error *error)
{
    const mts_status status = check_event(device, index, error);
    return status == MTS_STATUS_OK ? CALL(device, event_record, index) : status;
}

static mts_status query_event(mts_device *device, uint32_t index, bool wait, bool *passed, mts_error *error)
{
    bool answer = false;
    mts_status status = check_event(device, index, error);
    if (status == MTS_STATUS_OK) {
        status = device->ops->event_query(device, index, wait, &answer, error);
        if (status != MTS_STATUS_OK) {
            settle(device);
        }
        status = after(device, status, error);
    }
    *passed = status == MTS_STATUS_OK && answer;
    return status;
}

mts_status mts_device_event_passed(mts_device *device, uint32_t index, bool *passed, mts_error *error)
{
    if (!passed) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "mts_device_event_passed: passed is NULL");
    }
    return query_event(device, index, false, passed, error);
}

mts_status mts_device_event_wait(mts_device *device, uint32_t index, mts_error *error)
{
    bool passed = false;
    return query_event(device, index, true, &passed, error);
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
    mts_status status = check_create(device, out, "mts_host_create", error);
    if (status == MTS_STATUS_OK && size == 0) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "host memory needs at least one byte");
    }
    MTS_TRY(status, device->ops->host_create ? CALL(device, host_create, size, &memory)
                                             : allocate_host(device, size, &memory, error));
    MTS_TRY(status, check_made(device, memory, error));
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
    see_loss(device);
    if (device->ops->host_create) {
        device->ops->host_destroy(device, gone);
        return;
    }
    mts_host_head *head = (mts_host_head *)(void *)gone - 1;
    if (device->lost) { /* its queue may still write there */
        head->next = device->parked;
        device->parked = head;
    } else {
        mts_alloc_free(device->allocator, head->start);
    }
}
