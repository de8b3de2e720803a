/*
 * check.c: hooks that follow the life of every object and what of a buffer was written.
 */
#include "platform/wrap/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct check {
    uint32_t count;
    uint64_t copies;                    /* that were enqueued without a wait */
    uint64_t done;                      /* of those, the first so many have finished */
    uint64_t events[MTS_DEVICE_EVENTS]; /* copies before each */
} check;

/* What is known of host memory: the number of the last copy from or to it. NULL: none was
   made. */
typedef struct host_use {
    uint64_t copy;
} host_use;

/* What is known of a buffer: one bit per 32-bit word, set once any byte of it was
   written. NULL (no memory for it): all counts as written. */
typedef struct written {
    bool any;
    bool all; /* a kernel wrote: anywhere */
    uint32_t words[];
} written;

static void report(mts_wrap *wrap, const char *format, ...) MTS_PRINTF(2, 3);

static void report(mts_wrap *wrap, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ((check *)wrap->context)->count++;
    mts_log_write(wrap->base.log, MTS_LOG_ERROR, "check: %s", text);
}

static void mark(written *state, size_t offset, size_t size)
{
    if (!state) {
        return;
    }
    state->any = true;
    for (size_t word = offset / 4; word <= (offset + size - 1) / 4; word++) {
        state->words[word / 32] |= 1u << (word % 32);
    }
}

/* Offset of the first byte's word that nothing wrote, or SIZE_MAX. */
static size_t find_unwritten(const written *state, size_t offset, size_t size)
{
    if (!state || state->all) {
        return SIZE_MAX;
    }
    for (size_t word = offset / 4; word <= (offset + size - 1) / 4; word++) {
        if (!(state->words[word / 32] >> (word % 32) & 1u)) {
            return word * 4;
        }
    }
    return SIZE_MAX;
}

static mts_status check_alive(mts_wrap *wrap, const mts_wrap_object *object, const char *user,
                              mts_error *error)
{
    if (!object->dead) {
        return MTS_STATUS_OK;
    }
    report(wrap, "%s uses %s #%u, which was destroyed", user, mts_wrap_type_name(object->type), object->id);
    return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s uses %s #%u, which was destroyed", user,
                    mts_wrap_type_name(object->type), object->id);
}

static mts_status check_launches(mts_wrap *wrap, const mts_wrap_call *call, mts_error *error)
{
    const char *user = mts_wrap_kind_name(call->kind);
    for (size_t i = 0; i < call->count; i++) {
        const mts_launch *launch = &call->launches[i];
        const void *used[4 + MTS_LAUNCH_SOURCES] = {launch->kernel, launch->act, launch->pool,
                                                    launch->params};
        memcpy(&used[4], launch->sources, sizeof launch->sources);
        for (size_t k = 0; k < sizeof used / sizeof used[0]; k++) {
            const mts_wrap_object *object = used[k];
            if (k > 0 && object && object->base.buffer.mapped && call->kind == MTS_WRAP_KIND_LIST_SUBMIT) {
                report(wrap, "launch '%s' uses buffer #%u, which is mapped",
                       launch->label ? launch->label : "unnamed", object->id);
            }
            const mts_status status = used[k] ? check_alive(wrap, used[k], user, error) : MTS_STATUS_OK;
            if (status != MTS_STATUS_OK) {
                return status;
            }
        }
    }
    return MTS_STATUS_OK;
}

/* What the kernels of a command list read for certain, and what they may write. */
static void follow_launches(mts_wrap *wrap, const mts_wrap_call *call)
{
    for (size_t i = 0; i < call->count; i++) {
        const mts_launch *launch = &call->launches[i];
        const mts_wrap_object *params = (const mts_wrap_object *)launch->params;
        const mts_wrap_object *pool = (const mts_wrap_object *)launch->pool;
        const char *label = launch->label ? launch->label : "unnamed";
        const bool reads_params = launch->gemm.m == 0;
        const bool reads_pool = reads_params || launch->gemm.a_pool || launch->gemm.b_pool;
        if (reads_params && find_unwritten(params->extra, (size_t)launch->first * 4, 4) != SIZE_MAX) {
            report(wrap, "launch '%s' reads parameter word %u of buffer #%u, which nothing wrote", label,
                   launch->first, params->id);
        }
        const written *weights = pool->extra;
        if (reads_pool && weights && !weights->any && !weights->all) {
            report(wrap, "launch '%s' gets buffer #%u as its pool, which nothing wrote", label, pool->id);
        }
        written *activations = ((mts_wrap_object *)launch->act)->extra;
        if (activations) {
            activations->all = true;
        }
    }
}

static void report_leaks(mts_wrap *wrap)
{
    for (const mts_wrap_object *object = wrap->objects; object; object = object->next) {
        if (!object->dead) {
            report(wrap, "%s #%u%s%s is alive when the device is destroyed", mts_wrap_type_name(object->type),
                   object->id, object->name ? " " : "", object->name ? object->name : "");
        }
    }
}

static mts_status check_destroy(mts_wrap *wrap, const mts_wrap_object *object)
{
    if (!object->dead) {
        return MTS_STATUS_OK;
    }
    report(wrap, "%s #%u is destroyed twice", mts_wrap_type_name(object->type), object->id);
    return MTS_STATUS_INVALID_ARGUMENT;
}

static void check_read(mts_wrap *wrap, const mts_wrap_call *call)
{
    const size_t at = find_unwritten(call->object->extra, call->offset, call->size);
    if (at != SIZE_MAX) {
        report(wrap, "%zu bytes at %zu of buffer #%u are read; nothing wrote those at %zu", call->size,
               call->offset, call->object->id, at);
    }
}

static void check_idle(mts_wrap *wrap, const mts_wrap_object *host)
{
    const host_use *last = host->extra;
    if (last && !mts_device_is_lost(&wrap->base) && last->copy > ((const check *)wrap->context)->done) {
        report(wrap, "host memory #%u is destroyed, and a copy from or to it may be on its way", host->id);
    }
}

static mts_status check_before(mts_wrap *wrap, const mts_wrap_call *call, mts_error *error)
{
    const char *user = mts_wrap_kind_name(call->kind);
    mts_status status = MTS_STATUS_OK;
    switch (call->kind) {
    case MTS_WRAP_KIND_DEVICE_DESTROY:
        report_leaks(wrap);
        break;
    case MTS_WRAP_KIND_BUFFER_DESTROY:
    case MTS_WRAP_KIND_KERNEL_DESTROY:
    case MTS_WRAP_KIND_LIST_DESTROY:
        status = check_destroy(wrap, call->object);
        break;
    case MTS_WRAP_KIND_BUFFER_WRITE:
    case MTS_WRAP_KIND_BUFFER_WRITE_ASYNC:
    case MTS_WRAP_KIND_BUFFER_FILL:
    case MTS_WRAP_KIND_BUFFER_UNMAP:
        status = check_alive(wrap, call->object, user, error);
        break;
    case MTS_WRAP_KIND_BUFFER_MAP:
        status = check_alive(wrap, call->object, user, error);
        if (status == MTS_STATUS_OK && !call->overwrites) {
            check_read(wrap, call);
        }
        break;
    case MTS_WRAP_KIND_BUFFER_READ:
    case MTS_WRAP_KIND_BUFFER_FETCH:
        status = check_alive(wrap, call->object, user, error);
        if (status == MTS_STATUS_OK) {
            check_read(wrap, call);
        }
        break;
    case MTS_WRAP_KIND_HOST_DESTROY:
        check_idle(wrap, call->object);
        break;
    case MTS_WRAP_KIND_LIST_CREATE:
        status = check_launches(wrap, call, error);
        break;
    case MTS_WRAP_KIND_LIST_UPDATE:
        status = check_alive(wrap, call->object, user, error);
        MTS_TRY(status, check_launches(wrap, call, error));
        break;
    case MTS_WRAP_KIND_LIST_SUBMIT:
    case MTS_WRAP_KIND_LIST_PROFILE:
    case MTS_WRAP_KIND_LIST_TRACE:
    case MTS_WRAP_KIND_LIST_CALIBRATE:
        status = check_alive(wrap, call->object, user, error);
        MTS_TRY(status, check_launches(wrap, call, error));
        if (status == MTS_STATUS_OK) {
            follow_launches(wrap, call);
        }
        break;
    default:
        break;
    }
    return status;
}

/* Copies that the call enqueued, and those which are known to have finished by it. */
static void follow_copies(mts_wrap *wrap, const mts_wrap_call *call)
{
    check *self = wrap->context;
    mts_wrap_object *host = NULL;
    switch (call->kind) {
    case MTS_WRAP_KIND_BUFFER_WRITE_ASYNC:
    case MTS_WRAP_KIND_BUFFER_FETCH:
        self->copies++;
        host = mts_wrap_host_find(wrap, call->data);
        if (host && !host->extra) {
            host->extra = mts_alloc_zero(wrap->base.allocator, 1, sizeof(host_use));
        }
        if (host && host->extra) {
            ((host_use *)host->extra)->copy = self->copies;
        }
        break;
    case MTS_WRAP_KIND_EVENT_RECORD:
        self->events[call->event] = self->copies;
        break;
    case MTS_WRAP_KIND_EVENT_QUERY:
        if (call->passed && self->events[call->event] > self->done) {
            self->done = self->events[call->event];
        }
        break;
    case MTS_WRAP_KIND_WAIT:
    case MTS_WRAP_KIND_BUFFER_READ:
    case MTS_WRAP_KIND_LIST_PROFILE:
    case MTS_WRAP_KIND_LIST_TRACE:
        self->done = self->copies;
        break;
    default:
        break;
    }
}

static void check_after(mts_wrap *wrap, const mts_wrap_call *call, mts_status status)
{
    mts_wrap_object *object = call->object;
    if (status != MTS_STATUS_OK) {
        return;
    }
    follow_copies(wrap, call);
    if (call->kind == MTS_WRAP_KIND_BUFFER_CREATE &&
        !call->imported) { /* imported memory counts as written */
        const size_t words = (call->size / 4 + 32) / 32;
        object->extra = mts_alloc_zero(wrap->base.allocator, 1, sizeof(written) + words * sizeof(uint32_t));
    } else if (call->kind == MTS_WRAP_KIND_BUFFER_WRITE || call->kind == MTS_WRAP_KIND_BUFFER_WRITE_ASYNC ||
               call->kind == MTS_WRAP_KIND_BUFFER_FILL ||
               (call->kind == MTS_WRAP_KIND_BUFFER_MAP && call->overwrites)) {
        mark(object->extra, call->offset, call->size);
    } else if (call->kind == MTS_WRAP_KIND_BUFFER_DESTROY) {
        mts_alloc_free(wrap->base.allocator, object->extra); /* the large part of what is kept */
        object->extra = NULL;
    }
}

static const mts_wrap_hooks hooks = {check_before, check_after};

mts_status mts_wrap_check(mts_device **inner, mts_device **out, mts_error *error)
{
    if (out != inner) {
        *out = NULL;
    }
    if (!inner || !*inner) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "device is NULL");
    }
    const mts_allocator *allocator = (*inner)->allocator;
    check *self = mts_alloc_zero(allocator, 1, sizeof *self);
    if (!self) {
        return mts_fail_memory(error);
    }
    const mts_status status = mts_wrap_make(inner, &hooks, self, true, out, error);
    if (status != MTS_STATUS_OK) {
        mts_alloc_free(allocator, self);
    }
    return status;
}

uint32_t mts_wrap_check_count(const mts_device *device)
{
    return ((const check *)((const mts_wrap *)device)->context)->count;
}
