/*
 * trace.h: a device that tells of every call.
 */
#ifndef MTS_SUPPORT_TRACE_H
#define MTS_SUPPORT_TRACE_H

#include "platform/wrap/wrap.h"

typedef struct mts_trace_event {
    mts_wrap_kind kind;
    mts_status code;
    uint32_t object; /* number of the object, 0: none */
    size_t offset, size;
    size_t count;        /* launches */
    uint32_t event;      /* of event_record and event_query */
    bool passed;         /* of event_query */
    const char *name;    /* of the kernel, "" if none; valid during the callback */
    uint64_t start_ns;   /* monotonic clock */
    uint64_t elapsed_ns; /* of the call on the host */
} mts_trace_event;

typedef struct mts_trace_sink {
    void *context;
    void (*event)(void *context, const mts_trace_event *event);
} mts_trace_sink;

/* Takes *inner (NULL afterwards) if it succeeds; out may be inner. The sink is copied; its context outlives
 * the device. */
mts_status mts_wrap_trace(mts_device **inner, const mts_trace_sink *sink, mts_device **out, mts_error *error);
/* "buffer_write #3 16 bytes at 0: ok, 12 us" into text, always terminated; returns text. */
const char *mts_trace_text(const mts_trace_event *event, char *text, size_t size);

#endif
