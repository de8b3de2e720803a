/*
 * gate_device.c: a queue before another device's functions. Fails the test where something goes or changes
 * that a command in the queue uses: a list, a buffer, also one that only a list's launches name, or host
 * memory of the device.
 */
#include "support/gate_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COMMANDS_MOST 4096
#define LISTS_MOST 256
#define HOSTS_MOST 64
#define HOST_ALIGN 64u

typedef enum command_kind { SEND, FETCH, FILL, LIST, EVENT } command_kind;

typedef struct command {
    command_kind kind;
    mts_buffer *buffer;
    mts_command_list *list;
    size_t offset, size;
    const void *from;
    void *to;
    uint32_t event, word;
} command;

/* What a list was made of; list NULL: a free place. */
typedef struct list_record {
    const mts_command_list *list;
    mts_launch *launches;
    size_t count;
} list_record;

typedef struct host_record {
    char *memory; /* NULL: a free place */
    size_t size;
} host_record;

static struct {
    const mts_device_ops *inner;
    mts_device_ops ops;
    mts_device *device;
    command queue[COMMANDS_MOST];
    uint32_t count, done, lists;
    bool passed[MTS_DEVICE_EVENTS];
    list_record records[LISTS_MOST];
    host_record hosts[HOSTS_MOST];
} gate;

static command *enqueue(command_kind kind)
{
    if (gate.done == gate.count) {
        gate.done = gate.count = 0;
    }
    assert_true(gate.count < COMMANDS_MOST);
    command *c = &gate.queue[gate.count++];
    *c = (command){.kind = kind};
    return c;
}

static mts_status perform(const command *c, mts_error *error)
{
    switch (c->kind) {
    case SEND:
        return gate.inner->buffer_write(gate.device, c->buffer, c->offset, c->from, c->size, true, error);
    case FETCH:
        return gate.inner->buffer_read_async(gate.device, c->buffer, c->offset, c->to, c->size, error);
    case FILL:
        return gate.inner->buffer_fill(gate.device, c->buffer, c->offset, c->size, c->word, error);
    case LIST:
        return gate.inner->command_list_submit(gate.device, c->list, error);
    default:
        gate.passed[c->event] = true;
        return MTS_STATUS_OK;
    }
}

static mts_status drain(mts_error *error)
{
    mts_status code = MTS_STATUS_OK;
    while (code == MTS_STATUS_OK && gate.done < gate.count) {
        code = perform(&gate.queue[gate.done++], error);
    }
    return code;
}

static mts_status gate_write(mts_device *device, mts_buffer *buffer, size_t offset, const void *data,
                             size_t size, bool async, mts_error *error)
{
    if (async) {
        command *c = enqueue(SEND);
        c->buffer = buffer;
        c->offset = offset;
        c->from = data;
        c->size = size;
        return MTS_STATUS_OK;
    }
    const mts_status code = drain(error);
    return code != MTS_STATUS_OK ? code
                                 : gate.inner->buffer_write(device, buffer, offset, data, size, false, error);
}

static mts_status gate_fetch(mts_device *device, mts_buffer *buffer, size_t offset, void *data, size_t size,
                             mts_error *error)
{
    (void)device;
    (void)error;
    command *c = enqueue(FETCH);
    c->buffer = buffer;
    c->offset = offset;
    c->to = data;
    c->size = size;
    return MTS_STATUS_OK;
}

static mts_status gate_fill(mts_device *device, mts_buffer *buffer, size_t offset, size_t size, uint32_t word,
                            mts_error *error)
{
    (void)device;
    (void)error;
    command *c = enqueue(FILL);
    c->buffer = buffer;
    c->offset = offset;
    c->size = size;
    c->word = word;
    return MTS_STATUS_OK;
}

static mts_status gate_read(mts_device *device, mts_buffer *buffer, size_t offset, void *data, size_t size,
                            mts_error *error)
{
    const mts_status code = drain(error);
    return code != MTS_STATUS_OK ? code : gate.inner->buffer_read(device, buffer, offset, data, size, error);
}

static mts_status gate_submit(mts_device *device, mts_command_list *list, mts_error *error)
{
    (void)device;
    (void)error;
    enqueue(LIST)->list = list;
    gate.lists++;
    return MTS_STATUS_OK;
}

static mts_status gate_wait(mts_device *device, mts_error *error)
{
    const mts_status code = drain(error);
    return code != MTS_STATUS_OK ? code : gate.inner->wait(device, error);
}

static mts_status gate_event(mts_device *device, uint32_t index, mts_error *error)
{
    (void)device;
    (void)error;
    for (uint32_t i = gate.done; i < gate.count; i++) {
        assert_false(gate.queue[i].kind == EVENT && gate.queue[i].event == index);
    }
    enqueue(EVENT)->event = index;
    gate.passed[index] = false;
    return MTS_STATUS_OK;
}

static mts_status gate_passed(mts_device *device, uint32_t index, bool wait, bool *passed, mts_error *error)
{
    (void)device;
    mts_status code = MTS_STATUS_OK;
    while (wait && code == MTS_STATUS_OK && !gate.passed[index]) {
        code = perform(&gate.queue[gate.done++], error);
    }
    *passed = gate.passed[index];
    return code;
}

static void gate_drain(mts_device *device)
{
    while (gate.done < gate.count) {
        (void)perform(&gate.queue[gate.done++], NULL);
    }
    if (gate.inner->drain) {
        gate.inner->drain(device);
    }
}

static list_record *find_record(const mts_command_list *list)
{
    for (uint32_t i = 0; i < LISTS_MOST; i++) {
        if (gate.records[i].list == list) {
            return &gate.records[i];
        }
    }
    return NULL; /* it was made before the gate */
}

static void record_launches(list_record *record, const mts_launch *launches, size_t count)
{
    free(record->launches);
    record->launches = malloc((count + 1) * sizeof *launches);
    assert_non_null(record->launches);
    for (size_t i = 0; i < count; i++) {
        record->launches[i] = launches[i];
    }
    record->count = count;
}

static mts_status gate_list_create(mts_device *device, const mts_launch *launches, size_t count,
                                   mts_command_list **out, mts_error *error)
{
    const mts_status code = gate.inner->command_list_create(device, launches, count, out, error);
    if (code == MTS_STATUS_OK) {
        list_record *record = find_record(NULL);
        assert_non_null(record);
        record->list = *out;
        record_launches(record, launches, count);
    }
    return code;
}

static void expect_list_idle(const mts_command_list *list)
{
    for (uint32_t i = gate.done; i < gate.count; i++) {
        assert_ptr_not_equal(gate.queue[i].list, list);
    }
}

static mts_status gate_list_update(mts_device *device, mts_command_list *list, const mts_launch *launches,
                                   size_t count, mts_error *error)
{
    expect_list_idle(list);
    const mts_status code = gate.inner->command_list_update(device, list, launches, count, error);
    list_record *record = find_record(list);
    if (code == MTS_STATUS_OK && record) {
        record_launches(record, launches, count);
    }
    return code;
}

static void gate_list_destroy(mts_device *device, mts_command_list *list)
{
    expect_list_idle(list);
    list_record *record = find_record(list);
    if (record) {
        free(record->launches);
        *record = (list_record){.list = NULL};
    }
    gate.inner->command_list_destroy(device, list);
}

static void expect_list_without(const mts_command_list *list, const mts_buffer *buffer)
{
    const list_record *record = list ? find_record(list) : NULL;
    for (size_t i = 0; record && i < record->count; i++) {
        assert_ptr_not_equal(record->launches[i].act, buffer);
        assert_ptr_not_equal(record->launches[i].pool, buffer);
        assert_ptr_not_equal(record->launches[i].params, buffer);
    }
}

static void gate_buffer_destroy(mts_device *device, mts_buffer *buffer)
{
    for (uint32_t i = gate.done; i < gate.count; i++) {
        assert_ptr_not_equal(gate.queue[i].buffer, buffer);
        expect_list_without(gate.queue[i].list, buffer);
    }
    gate.inner->buffer_destroy(device, buffer);
}

static host_record *find_host(const void *memory)
{
    for (uint32_t i = 0; i < HOSTS_MOST; i++) {
        if (gate.hosts[i].memory == memory) {
            return &gate.hosts[i];
        }
    }
    fail_msg("host memory that was made before the gate, or too much of it");
    return NULL;
}

static mts_status gate_host_create(mts_device *device, size_t size, void **out, mts_error *error)
{
    mts_status code = MTS_STATUS_OK;
    if (gate.inner->host_create) {
        code = gate.inner->host_create(device, size, out, error);
    } else {
        *out = aligned_alloc(HOST_ALIGN, (size + HOST_ALIGN - 1) / HOST_ALIGN * HOST_ALIGN);
        code = *out ? MTS_STATUS_OK : mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no host memory");
    }
    if (code == MTS_STATUS_OK) {
        *find_host(NULL) = (host_record){.memory = *out, .size = size};
    }
    return code;
}

static void gate_host_destroy(mts_device *device, void *memory)
{
    host_record *host = find_host(memory);
    for (uint32_t i = gate.done; i < gate.count; i++) {
        const command *c = &gate.queue[i];
        const uintptr_t used = (uintptr_t)(c->kind == SEND ? c->from : c->to);
        assert_false(used - (uintptr_t)host->memory < host->size);
    }
    *host = (host_record){.memory = NULL};
    if (gate.inner->host_create) {
        gate.inner->host_destroy(device, memory);
    } else {
        free(memory);
    }
}

void gate_install(mts_device *device)
{
    memset(&gate, 0, sizeof gate);
    gate.inner = device->ops;
    gate.device = device;
    gate.ops = *device->ops;
    gate.ops.buffer_write = gate_write;
    gate.ops.buffer_read_async = gate_fetch;
    gate.ops.buffer_read = gate_read;
    gate.ops.command_list_submit = gate_submit;
    gate.ops.wait = gate_wait;
    gate.ops.event_record = gate_event;
    gate.ops.event_query = gate_passed;
    gate.ops.command_list_destroy = gate_list_destroy;
    gate.ops.buffer_destroy = gate_buffer_destroy;
    gate.ops.buffer_fill = gate_fill;
    gate.ops.command_list_create = gate_list_create;
    gate.ops.command_list_update = gate.inner->command_list_update ? gate_list_update : NULL;
    gate.ops.host_create = gate_host_create;
    gate.ops.host_destroy = gate_host_destroy;
    gate.ops.command_list_profile = NULL; /* it would overtake the queue */
    gate.ops.drain = gate_drain;
    for (uint32_t i = 0; i < MTS_DEVICE_EVENTS; i++) {
        gate.passed[i] = true;
    }
    device->ops = &gate.ops;
}

void gate_pass(uint32_t events)
{
    mts_error error = {0};
    while (events > 0 && gate.done < gate.count) {
        const command *c = &gate.queue[gate.done++];
        events -= c->kind == EVENT ? 1 : 0;
        assert_int_equal(perform(c, &error), MTS_STATUS_OK);
    }
}

uint32_t gate_marks(void)
{
    uint32_t count = 0;
    for (uint32_t i = gate.done; i < gate.count; i++) {
        count += gate.queue[i].kind == EVENT ? 1 : 0;
    }
    return count;
}

uint32_t gate_lists(void)
{
    return gate.lists;
}
