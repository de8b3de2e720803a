/*
 * stream.c: streams as queues of work, and events.
 */
#include "cuda/fake/driver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static CUstream new_stream(fake_context *context)
{
    CUstream stream = calloc(1, sizeof *stream);
    if (!stream) {
        abort(); /* the test machine is out of memory */
    }
    stream->object.context = context;
    return stream;
}

CUstream fake_stream_find(CUstream stream)
{
    /* the backend never asks for the stream that it did not make */
    if (!stream) {
        fake_misuse("the default stream");
        return NULL;
    }
    return fake_object_find(stream, FAKE_KIND_STREAM);
}

CUresult fake_stream_add(CUstream stream, const fake_work *work, const void *taken, size_t taken_size)
{
    fake_work *made = malloc(sizeof *made + taken_size);
    if (!made) {
        abort(); /* as above */
    }
    *made = *work;
    made->next = NULL;
    if (taken) {
        memcpy(made->taken, taken, taken_size);
        made->from = made->taken;
    }
    if (stream->last) {
        stream->last->next = made;
    } else {
        stream->first = made;
    }
    stream->last = made;
    return CUDA_SUCCESS;
}

static CUresult do_work(const fake_work *work)
{
    unsigned int *words = work->to;
    switch (work->kind) {
    case FAKE_WORK_LAUNCH:
        return fake_launch_run(&work->launch);
    case FAKE_WORK_COPY:
        memcpy(work->to, work->from, work->size);
        return CUDA_SUCCESS;
    case FAKE_WORK_FILL:
        for (size_t i = 0; i < work->size; i++) {
            words[i] = work->word;
        }
        return CUDA_SUCCESS;
    case FAKE_WORK_EVENT:
        if (work->record == work->event->records) {
            work->event->happened = true;
            work->event->stream = NULL;
            work->event->ns = now();
        }
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_UNKNOWN;
    }
}

static void step(CUstream stream)
{
    fake_context *context = stream->object.context;
    fake_work *work = stream->first;
    stream->first = work->next;
    if (!stream->first) {
        stream->last = NULL;
    }
    const CUresult result = context->broken ? CUDA_SUCCESS : do_work(work);
    if (result != CUDA_SUCCESS) {
        context->broken = result;
    }
    free(work);
}

CUresult fake_stream_step(CUstream stream)
{
    if (stream->first) {
        step(stream);
    }
    return stream->object.context->broken;
}

CUresult fake_stream_drain(CUstream stream)
{
    fake_context *context = stream->object.context;
    while (stream->first) {
        step(stream);
    }
    if (!fake_blocks_whole(context) && !context->broken) {
        context->broken = CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    return context->broken;
}

CUresult fake_streams_drain(fake_context *context)
{
    CUresult result = context ? context->broken : CUDA_ERROR_INVALID_CONTEXT;
    for (fake_object *o = context ? fake_object_next(NULL, FAKE_KIND_STREAM, context) : NULL; o;
         o = fake_object_next(o, FAKE_KIND_STREAM, context)) {
        result = fake_stream_drain((CUstream)o);
    }
    return result;
}

void fake_streams_release(fake_context *context)
{
    static const fake_kind kinds[] = {FAKE_KIND_STREAM, FAKE_KIND_EVENT};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        fake_object *o = NULL;
        while ((o = fake_object_next(NULL, kinds[i], context))) {
            fake_orphan();
            fake_object_remove(o);
            free(o);
        }
    }
}

CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    if (result == CUDA_SUCCESS && flags > CU_STREAM_NON_BLOCKING) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *out = new_stream(fake_current());
        fake_object_add(&(*out)->object, FAKE_KIND_STREAM, fake_current());
    }
    return fake_leave(result);
}

CUresult cuStreamDestroy_v2(CUstream handle)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUstream stream = fake_stream_find(handle);
    if (stream) {
        (void)fake_stream_drain(stream);
        fake_object_remove(&stream->object);
        free(stream);
    }
    return fake_leave(result ? result : stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuStreamSynchronize(CUstream handle)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUstream stream = result == CUDA_SUCCESS ? fake_stream_find(handle) : NULL;
    if (result == CUDA_SUCCESS) {
        result = stream ? fake_stream_drain(stream) : CUDA_ERROR_INVALID_HANDLE;
    }
    return fake_leave(result);
}

CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    (void)flags;
    if (result == CUDA_SUCCESS) {
        *out = calloc(1, sizeof **out);
        if (!*out) {
            abort(); /* as above */
        }
        fake_object_add(&(*out)->object, FAKE_KIND_EVENT, fake_current());
    }
    return fake_leave(result);
}

CUresult cuEventDestroy_v2(CUevent handle)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUevent event = fake_object_find(handle, FAKE_KIND_EVENT);
    if (event) {
        if (event->stream) {
            (void)fake_stream_drain(event->stream);
        }
        fake_object_remove(&event->object);
        free(event);
    }
    return fake_leave(result ? result : event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuEventRecord(CUevent handle, CUstream on)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUstream stream = result == CUDA_SUCCESS ? fake_stream_find(on) : NULL;
    CUevent event = result == CUDA_SUCCESS ? fake_object_find(handle, FAKE_KIND_EVENT) : NULL;
    if (result == CUDA_SUCCESS && (!stream || !event)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        const fake_work work = {.kind = FAKE_WORK_EVENT, .event = event, .record = ++event->records};
        event->happened = false;
        event->stream = stream;
        result = fake_stream_add(stream, &work, NULL, 0);
    }
    return fake_leave(result);
}

/* Takes one step, so that who asks often enough comes to an end. */
CUresult cuEventQuery(CUevent handle)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUevent event = result == CUDA_SUCCESS ? fake_object_find(handle, FAKE_KIND_EVENT) : NULL;
    if (result == CUDA_SUCCESS && !event) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS && event->stream) {
        result = fake_stream_step(event->stream);
        result = result == CUDA_SUCCESS && event->stream ? CUDA_ERROR_NOT_READY : result;
    }
    return fake_leave(result);
}

CUresult cuEventSynchronize(CUevent handle)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUevent event = result == CUDA_SUCCESS ? fake_object_find(handle, FAKE_KIND_EVENT) : NULL;
    if (result == CUDA_SUCCESS && !event) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS && event->stream) {
        result = fake_stream_drain(event->stream);
    }
    return fake_leave(result);
}

CUresult cuEventElapsedTime(float *out, CUevent from, CUevent to)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUevent a = result == CUDA_SUCCESS ? fake_object_find(from, FAKE_KIND_EVENT) : NULL;
    CUevent b = result == CUDA_SUCCESS ? fake_object_find(to, FAKE_KIND_EVENT) : NULL;
    if (result == CUDA_SUCCESS && (!a || !b)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        result = a->stream || b->stream         ? CUDA_ERROR_NOT_READY
                 : !a->happened || !b->happened ? CUDA_ERROR_INVALID_HANDLE
                                                : CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS) {
        *out = (float)((double)(int64_t)(b->ns - a->ns) * 1e-6);
    }
    return fake_leave(result);
}
