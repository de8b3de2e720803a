/*
 * trace.c: hooks that measure a call and hand it to a callback.
 */
#include "tests/support/trace.h"

#include <stdio.h>

#include "platform/os/os.h"

typedef struct trace {
    mts_trace_sink sink;
    uint64_t start_ns; /* of the call in progress: there is one at a time */
} trace;

static mts_status trace_before(mts_wrap *wrap, const mts_wrap_call *call, mts_error *error)
{
    (void)call;
    (void)error;
    ((trace *)wrap->context)->start_ns = mts_os_clock_ns();
    return MTS_STATUS_OK;
}

static void trace_after(mts_wrap *wrap, const mts_wrap_call *call, mts_status code)
{
    const trace *self = wrap->context;
    mts_trace_event event = {
        .kind = call->kind,
        .code = code,
        .object = call->object ? call->object->id : 0,
        .offset = call->offset,
        .size = call->size,
        .count = call->count,
        .event = call->event,
        .passed = call->passed,
        .name = "",
        .start_ns = self->start_ns,
        .elapsed_ns = mts_os_clock_ns() - self->start_ns,
    };
    if (call->desc) {
        event.name = call->desc->name;
    } else if (call->object && call->object->name) {
        event.name = call->object->name;
    }
    self->sink.event(self->sink.context, &event);
}

static const mts_wrap_hooks hooks = {trace_before, trace_after};

mts_status mts_wrap_trace(mts_device **inner, const mts_trace_sink *sink, mts_device **out, mts_error *error)
{
    if (out != inner) {
        *out = NULL;
    }
    if (!inner || !*inner || !sink || !sink->event) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "a trace needs a device and a callback");
    }
    const mts_allocator *allocator = (*inner)->allocator;
    trace *self = mts_alloc_zero(allocator, 1, sizeof *self);
    if (!self) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no memory for a trace");
    }
    self->sink = *sink;
    const mts_status code = mts_wrap_make(inner, &hooks, self, false, out, error);
    if (code != MTS_STATUS_OK) {
        mts_alloc_free(allocator, self);
    }
    return code;
}

const char *mts_trace_text(const mts_trace_event *event, char *text, size_t size)
{
    char object[16] = "";
    char amount[80] = "";
    if (event->object) {
        (void)snprintf(object, sizeof object, " #%u", event->object);
    }
    if (event->size) {
        (void)snprintf(amount, sizeof amount, " %zu bytes at %zu", event->size, event->offset);
    } else if (event->count) {
        (void)snprintf(amount, sizeof amount, " %zu launches", event->count);
    } else if (event->kind == MTS_WRAP_KIND_EVENT_RECORD) {
        (void)snprintf(amount, sizeof amount, " %u", event->event);
    } else if (event->kind == MTS_WRAP_KIND_EVENT_QUERY) {
        (void)snprintf(amount, sizeof amount, " %u%s", event->event, event->passed ? "" : " not yet");
    }
    (void)snprintf(text, size, "%s%s%s%s%s: %s, %llu us", mts_wrap_kind_name(event->kind), object,
                   event->name[0] ? " " : "", event->name, amount, mts_status_text(event->code),
                   (unsigned long long)(event->elapsed_ns / 1000));
    return text;
}
