/*
 * guard.c: see guard.h. The device gets a table of entries that lock, and call those of its
 * own table.
 */
#include "device/guard.h"

#ifndef MTS_SMALL

#include <stdatomic.h>

#include "platform/os/thread.h"

/* Threads are served in the order in which they came: a thread that runs one frame after
   another would else keep the other one out. */
typedef struct turns {
    _Atomic(uint32_t) next, served;
} turns;

struct mts_guard {
    mts_device_ops ops; /* the first member: a device's table is its guard */
    const mts_device_ops *own;
    mts_device *device;
    uint32_t users; /* calls of mts_guard_begin that were not ended */
    turns commands, builds;
};

static void enter(turns *t)
{
    const uint32_t mine = atomic_fetch_add(&t->next, 1);
    for (uint32_t now = atomic_load(&t->served); now != mine; now = atomic_load(&t->served)) {
        mts_os_word_wait(&t->served, now);
    }
}

static void leave(turns *t)
{
    atomic_fetch_add(&t->served, 1);
    mts_os_word_wake(&t->served);
}

static mts_guard *guard_of(const mts_device *device)
{
    return (mts_guard *)(uintptr_t)device->ops;
}

/* An entry that locks and hands on. */
#define GUARDED(entry, parameters, arguments)                                                                \
    static mts_status entry parameters                                                                       \
    {                                                                                                        \
        mts_guard *g = guard_of(device);                                                                     \
        enter(&g->commands);                                                                                 \
        const mts_status status = g->own->entry arguments;                                                   \
        leave(&g->commands);                                                                                 \
        return status;                                                                                       \
    }
#define GUARDED_VOID(entry, parameters, arguments)                                                           \
    static void entry parameters                                                                             \
    {                                                                                                        \
        mts_guard *g = guard_of(device);                                                                     \
        enter(&g->commands);                                                                                 \
        g->own->entry arguments;                                                                             \
        leave(&g->commands);                                                                                 \
    }

GUARDED(buffer_create,
        (mts_device * device, const mts_memory *memory, size_t size, mts_buffer **out, mts_error *error),
        (device, memory, size, out, error))
GUARDED_VOID(buffer_destroy, (mts_device * device, mts_buffer *buffer), (device, buffer))
GUARDED(buffer_write,
        (mts_device * device, mts_buffer *buffer, size_t offset, const void *data, size_t size, bool async,
         mts_error *error),
        (device, buffer, offset, data, size, async, error))
GUARDED(buffer_read,
        (mts_device * device, mts_buffer *buffer, size_t offset, void *data, size_t size, mts_error *error),
        (device, buffer, offset, data, size, error))
GUARDED(buffer_read_async,
        (mts_device * device, mts_buffer *buffer, size_t offset, void *data, size_t size, mts_error *error),
        (device, buffer, offset, data, size, error))
GUARDED(buffer_fill,
        (mts_device * device, mts_buffer *buffer, size_t offset, size_t size, uint32_t word,
         mts_error *error),
        (device, buffer, offset, size, word, error))
GUARDED_VOID(kernel_destroy, (mts_device * device, mts_kernel *kernel), (device, kernel))
GUARDED(command_list_create,
        (mts_device * device, const mts_launch *launches, size_t count, mts_command_list **out,
         mts_error *error),
        (device, launches, count, out, error))
GUARDED_VOID(command_list_destroy, (mts_device * device, mts_command_list *list), (device, list))
GUARDED(command_list_update,
        (mts_device * device, mts_command_list *list, const mts_launch *launches, size_t count,
         mts_error *error),
        (device, list, launches, count, error))
GUARDED(command_list_submit, (mts_device * device, mts_command_list *list, mts_error *error),
        (device, list, error))
GUARDED(wait, (mts_device * device, mts_error *error), (device, error))
GUARDED(event_record, (mts_device * device, uint32_t index, mts_error *error), (device, index, error))
GUARDED(event_query, (mts_device * device, uint32_t index, bool waits, bool *passed, mts_error *error),
        (device, index, waits, passed, error))
GUARDED(host_create, (mts_device * device, size_t size, void **out, mts_error *error),
        (device, size, out, error))
GUARDED_VOID(host_destroy, (mts_device * device, void *memory), (device, memory))
GUARDED(command_list_profile,
        (mts_device * device, mts_command_list *list, mts_launch_time *times, size_t count, mts_error *error),
        (device, list, times, count, error))
GUARDED_VOID(drain, (mts_device * device), (device))
GUARDED(command_list_trace,
        (mts_device * device, mts_command_list *list, mts_chunk_time *chunks, size_t capacity, size_t *count,
         mts_error *error),
        (device, list, chunks, capacity, count, error))
GUARDED(command_list_calibrate, (mts_device * device, mts_command_list *list, mts_error *error),
        (device, list, error))
GUARDED(buffer_map,
        (mts_device * device, mts_buffer *buffer, size_t offset, size_t size, bool overwrites, void **out,
         mts_error *error),
        (device, buffer, offset, size, overwrites, out, error))
GUARDED(buffer_unmap, (mts_device * device, mts_buffer *buffer, void *mapped, mts_error *error),
        (device, buffer, mapped, error))

static mts_status kernel_create(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                                mts_error *error)
{
    mts_guard *g = guard_of(device);
    turns *t = device->info.builds_aside ? &g->builds : &g->commands;
    enter(t);
    const mts_status status = g->own->kernel_create(device, desc, out, error);
    leave(t);
    return status;
}

/* An entry that the backend lacks stays NULL, which has a meaning. */
#define KEEP(entry) .entry = own->entry ? (entry) : NULL

static mts_device_ops table_of(const mts_device_ops *own)
{
    return (mts_device_ops){.abi = own->abi,
                            .destroy = own->destroy,
                            KEEP(buffer_create),
                            KEEP(buffer_destroy),
                            KEEP(buffer_write),
                            KEEP(buffer_read),
                            KEEP(buffer_read_async),
                            KEEP(buffer_fill),
                            KEEP(kernel_create),
                            KEEP(kernel_destroy),
                            KEEP(command_list_create),
                            KEEP(command_list_destroy),
                            KEEP(command_list_update),
                            KEEP(command_list_submit),
                            KEEP(wait),
                            KEEP(event_record),
                            KEEP(event_query),
                            KEEP(host_create),
                            KEEP(host_destroy),
                            KEEP(command_list_profile),
                            KEEP(drain),
                            KEEP(command_list_trace),
                            KEEP(command_list_calibrate),
                            KEEP(buffer_map),
                            KEEP(buffer_unmap)};
}

mts_status mts_guard_begin(mts_device *device, mts_guard **out, mts_error *error)
{
    if (device->ops->wait == wait) { /* for another session of the device */
        *out = guard_of(device);
        (*out)->users++;
        return MTS_STATUS_OK;
    }
    mts_guard *guard = mts_alloc_zero(device->allocator, 1, sizeof *guard);
    *out = guard;
    if (!guard) {
        return mts_fail_memory(error);
    }
    guard->own = device->ops;
    guard->device = device;
    guard->users = 1;
    guard->ops = table_of(device->ops);
    device->ops = &guard->ops;
    return MTS_STATUS_OK;
}

void mts_guard_end(mts_guard **guard)
{
    mts_guard *ended = guard ? *guard : NULL;
    if (ended) {
        *guard = NULL;
        ended->users--;
    }
    if (ended && ended->users == 0) {
        mts_device *device = ended->device;
        device->ops = ended->own;
        mts_alloc_free(device->allocator, ended);
    }
}

#endif
