/*
 * timed_device.c: the functions of a device, with a time for each command.
 */
#include "support/timed_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LISTS_MOST 256

uint64_t timed_now;

typedef struct timed {
    mts_device *device;
    const mts_device_ops *inner;
    mts_device_ops ops;
    timed_costs costs;
    uint64_t busy_until;
    uint64_t events[MTS_DEVICE_EVENTS];
    const mts_command_list *lists[LISTS_MOST]; /* NULL: a free place */
    uint32_t counts[LISTS_MOST];
} timed;

static timed all[TIMED_DEVICES];
static uint32_t used;

static timed *find(const mts_device *device)
{
    for (uint32_t i = 0; i < used; i++) {
        if (all[i].device == device) {
            return &all[i];
        }
    }
    fail();
    return NULL;
}

static void take(timed *t, uint64_t ns)
{
    t->busy_until = (t->busy_until > timed_now ? t->busy_until : timed_now) + ns;
}

static void take_copy(timed *t, size_t size)
{
    take(t, t->costs.copy_ns + (uint64_t)((double)size * t->costs.copy_ns_per_byte));
}

static void wait_until(uint64_t time)
{
    timed_now = time > timed_now ? time : timed_now;
}

static mts_status timed_write(mts_device *device, mts_buffer *buffer, size_t offset, const void *data,
                              size_t size, bool async, mts_error *error)
{
    timed *t = find(device);
    take_copy(t, size);
    return t->inner->buffer_write(device, buffer, offset, data, size, async, error);
}

static mts_status timed_read(mts_device *device, mts_buffer *buffer, size_t offset, void *data, size_t size,
                             mts_error *error)
{
    timed *t = find(device);
    take_copy(t, size);
    wait_until(t->busy_until);
    return t->inner->buffer_read(device, buffer, offset, data, size, error);
}

static mts_status timed_fetch(mts_device *device, mts_buffer *buffer, size_t offset, void *data, size_t size,
                              mts_error *error)
{
    timed *t = find(device);
    take_copy(t, size);
    return t->inner->buffer_read_async(device, buffer, offset, data, size, error);
}

static mts_status timed_create(mts_device *device, const mts_launch *launches, size_t count,
                               mts_command_list **out, mts_error *error)
{
    timed *t = find(device);
    const mts_status status = t->inner->command_list_create(device, launches, count, out, error);
    uint32_t place = 0;
    while (place < LISTS_MOST && t->lists[place]) {
        place++;
    }
    assert_true(place < LISTS_MOST);
    if (status == MTS_STATUS_OK) {
        t->lists[place] = *out;
        t->counts[place] = (uint32_t)count;
    }
    return status;
}

static uint32_t find_list(const timed *t, const mts_command_list *list)
{
    uint32_t place = 0;
    while (place < LISTS_MOST && t->lists[place] != list) {
        place++;
    }
    assert_true(place < LISTS_MOST);
    return place;
}

static void timed_destroy_list(mts_device *device, mts_command_list *list)
{
    timed *t = find(device);
    t->lists[find_list(t, list)] = NULL;
    t->inner->command_list_destroy(device, list);
}

static mts_status timed_submit(mts_device *device, mts_command_list *list, mts_error *error)
{
    timed *t = find(device);
    const uint32_t count = t->counts[find_list(t, list)];
    take(t, t->costs.list_ns ? t->costs.list_ns(t->costs.context, count) : count * t->costs.launch_ns);
    return t->inner->command_list_submit(device, list, error);
}

static mts_status timed_profile(mts_device *device, mts_command_list *list, mts_launch_time *times,
                                size_t count, mts_error *error)
{
    const uint64_t each = find(device)->costs.launch_ns;
    (void)list;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        times[i] = (mts_launch_time){.start = i * each, .end = (i + 1) * each};
    }
    return MTS_STATUS_OK;
}

static mts_status timed_wait(mts_device *device, mts_error *error)
{
    timed *t = find(device);
    wait_until(t->busy_until);
    return t->inner->wait(device, error);
}

static mts_status timed_event(mts_device *device, uint32_t index, mts_error *error)
{
    timed *t = find(device);
    t->events[index] = t->busy_until;
    return t->inner->event_record(device, index, error);
}

static mts_status timed_query(mts_device *device, uint32_t index, bool wait, bool *passed, mts_error *error)
{
    timed *t = find(device);
    if (wait) {
        wait_until(t->events[index]);
    }
    if (timed_now < t->events[index]) {
        *passed = false;
        return MTS_STATUS_OK;
    }
    return t->inner->event_query(device, index, wait, passed, error);
}

static void timed_destroy(mts_device *device)
{
    timed *t = find(device);
    t->device = NULL;
    t->inner->destroy(device);
}

void timed_install(mts_device *device, const timed_costs *costs)
{
    assert_true(used < TIMED_DEVICES);
    timed *t = &all[used++];
    memset(t, 0, sizeof *t);
    t->device = device;
    t->inner = device->ops;
    t->ops = *device->ops;
    t->costs = *costs;
    t->ops.destroy = timed_destroy;
    t->ops.buffer_write = timed_write;
    t->ops.buffer_read = timed_read;
    t->ops.buffer_read_async = timed_fetch;
    t->ops.command_list_create = timed_create;
    t->ops.command_list_destroy = timed_destroy_list;
    t->ops.command_list_submit = timed_submit;
    t->ops.command_list_profile = timed_profile;
    t->ops.wait = timed_wait;
    t->ops.event_record = timed_event;
    t->ops.event_query = timed_query;
    device->ops = &t->ops;
}

void timed_reset(void)
{
    used = 0;
    timed_now = 0;
}

bool timed_next(void)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < used; i++) {
        for (uint32_t e = 0; all[i].device && e < MTS_DEVICE_EVENTS; e++) {
            const uint64_t time = all[i].events[e];
            next = time > timed_now && time < next ? time : next;
        }
    }
    timed_now = next < UINT64_MAX ? next : timed_now;
    return next < UINT64_MAX;
}
