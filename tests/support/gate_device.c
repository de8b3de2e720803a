/*
 * gate_device.c: a queue before another device's functions. Fails the test where an object goes that is still
 * in the queue.
 */
#include "support/gate_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COMMANDS_MOST 4096

typedef enum command_kind { SEND, FETCH, LIST, MARK } command_kind;

typedef struct command {
    command_kind kind;
    mts_buffer *buffer;
    mts_list *list;
    size_t offset, size;
    const void *from;
    void *to;
    uint32_t mark;
} command;

static struct {
    const mts_device_ops *inner;
    mts_device_ops ops;
    mts_device *device;
    command queue[COMMANDS_MOST];
    uint32_t count, done, lists;
    bool passed[MTS_DEVICE_MARKS];
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

static mts_code perform(const command *c, mts_error *error)
{
    switch (c->kind) {
    case SEND:
        return gate.inner->buffer_write(gate.device, c->buffer, c->offset, c->from, c->size, true, error);
    case FETCH:
        return gate.inner->buffer_fetch(gate.device, c->buffer, c->offset, c->to, c->size, error);
    case LIST:
        return gate.inner->list_submit(gate.device, c->list, error);
    default:
        gate.passed[c->mark] = true;
        return MTS_CODE_OK;
    }
}

static mts_code drain(mts_error *error)
{
    mts_code code = MTS_CODE_OK;
    while (code == MTS_CODE_OK && gate.done < gate.count) {
        code = perform(&gate.queue[gate.done++], error);
    }
    return code;
}

static mts_code gate_write(mts_device *device, mts_buffer *buffer, size_t offset, const void *data,
                           size_t size, bool stays, mts_error *error)
{
    if (stays) {
        command *c = enqueue(SEND);
        c->buffer = buffer;
        c->offset = offset;
        c->from = data;
        c->size = size;
        return MTS_CODE_OK;
    }
    const mts_code code = drain(error);
    return code != MTS_CODE_OK ? code
                               : gate.inner->buffer_write(device, buffer, offset, data, size, false, error);
}

static mts_code gate_fetch(mts_device *device, mts_buffer *buffer, size_t offset, void *data, size_t size,
                           mts_error *error)
{
    (void)device;
    (void)error;
    command *c = enqueue(FETCH);
    c->buffer = buffer;
    c->offset = offset;
    c->to = data;
    c->size = size;
    return MTS_CODE_OK;
}

static mts_code gate_read(mts_device *device, mts_buffer *buffer, size_t offset, void *data, size_t size,
                          mts_error *error)
{
    const mts_code code = drain(error);
    return code != MTS_CODE_OK ? code : gate.inner->buffer_read(device, buffer, offset, data, size, error);
}

static mts_code gate_submit(mts_device *device, mts_list *list, mts_error *error)
{
    (void)device;
    (void)error;
    enqueue(LIST)->list = list;
    gate.lists++;
    return MTS_CODE_OK;
}

static mts_code gate_wait(mts_device *device, mts_error *error)
{
    const mts_code code = drain(error);
    return code != MTS_CODE_OK ? code : gate.inner->wait(device, error);
}

static mts_code gate_mark(mts_device *device, uint32_t index, mts_error *error)
{
    (void)device;
    (void)error;
    for (uint32_t i = gate.done; i < gate.count; i++) {
        assert_false(gate.queue[i].kind == MARK && gate.queue[i].mark == index);
    }
    enqueue(MARK)->mark = index;
    gate.passed[index] = false;
    return MTS_CODE_OK;
}

static mts_code gate_passed(mts_device *device, uint32_t index, bool wait, bool *passed, mts_error *error)
{
    (void)device;
    mts_code code = MTS_CODE_OK;
    while (wait && code == MTS_CODE_OK && !gate.passed[index]) {
        code = perform(&gate.queue[gate.done++], error);
    }
    *passed = gate.passed[index];
    return code;
}

static void gate_list_destroy(mts_device *device, mts_list *list)
{
    for (uint32_t i = gate.done; i < gate.count; i++) {
        assert_ptr_not_equal(gate.queue[i].list, list);
    }
    gate.inner->list_destroy(device, list);
}

static void gate_buffer_destroy(mts_device *device, mts_buffer *buffer)
{
    for (uint32_t i = gate.done; i < gate.count; i++) {
        assert_ptr_not_equal(gate.queue[i].buffer, buffer);
    }
    gate.inner->buffer_destroy(device, buffer);
}

void gate_install(mts_device *device)
{
    memset(&gate, 0, sizeof gate);
    gate.inner = device->ops;
    gate.device = device;
    gate.ops = *device->ops;
    gate.ops.buffer_write = gate_write;
    gate.ops.buffer_fetch = gate_fetch;
    gate.ops.buffer_read = gate_read;
    gate.ops.list_submit = gate_submit;
    gate.ops.wait = gate_wait;
    gate.ops.mark_set = gate_mark;
    gate.ops.mark_passed = gate_passed;
    gate.ops.list_destroy = gate_list_destroy;
    gate.ops.buffer_destroy = gate_buffer_destroy;
    gate.ops.list_update = NULL;
    for (uint32_t i = 0; i < MTS_DEVICE_MARKS; i++) {
        gate.passed[i] = true;
    }
    device->ops = &gate.ops;
}

void gate_pass(uint32_t marks)
{
    mts_error error = {0};
    while (marks > 0 && gate.done < gate.count) {
        const command *c = &gate.queue[gate.done++];
        marks -= c->kind == MARK ? 1 : 0;
        assert_int_equal(perform(c, &error), MTS_CODE_OK);
    }
}

uint32_t gate_marks(void)
{
    uint32_t count = 0;
    for (uint32_t i = gate.done; i < gate.count; i++) {
        count += gate.queue[i].kind == MARK ? 1 : 0;
    }
    return count;
}

uint32_t gate_lists(void)
{
    return gate.lists;
}
