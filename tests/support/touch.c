/*
 * touch.c: see touch.h.
 */
#include "support/touch.h"

#include <stdlib.h>
#include <string.h>

#define NOT_A_NUMBER 0xff /* four of it, or two */

typedef struct images {
    mts_buffer *act;
    size_t size;
    unsigned char *before, *after, *poisoned;
    bool *touched, *written; /* per byte */
} images;

static mts_launch inner_launch(const mts_launch *outer)
{
    mts_launch launch = *outer;
    launch.kernel = outer->kernel ? ((const mts_wrap_object *)outer->kernel)->inner.kernel : NULL;
    launch.act = ((const mts_wrap_object *)outer->act)->inner.buffer;
    launch.pool = ((const mts_wrap_object *)outer->pool)->inner.buffer;
    launch.params = ((const mts_wrap_object *)outer->params)->inner.buffer;
    return launch;
}

/* Runs the list on `from`, and reads what is there then. */
static mts_status run_on(const images *m, mts_command_list *list, const unsigned char *from,
                         unsigned char *to, mts_error *error)
{
    mts_status status = mts_buffer_write(m->act, 0, from, m->size, error);
    MTS_TRY(status, mts_command_list_submit(list, error));
    MTS_TRY(status, mts_buffer_read(m->act, 0, to, m->size, error));
    return status;
}

static void mark(const images *m, const mts_launch *launch)
{
    memset(m->touched, 0, m->size);
    memset(m->written, 0, m->size);
    for (uint32_t i = 0; i < launch->access_count; i++) {
        const mts_access *access = &launch->accesses[i];
        memset(m->touched + access->begin, 1, access->end - access->begin);
        if (access->writes) {
            memset(m->written + access->begin, 1, access->end - access->begin);
        }
    }
}

/* The first byte that differs, of those that the launch writes or of the others; m->size: none does. */
static size_t find_difference(const images *m, const unsigned char *a, const unsigned char *b, bool written)
{
    unsigned any = 0;
    for (size_t i = 0; i < m->size; i++) { /* without a branch, many at a time */
        any |= (unsigned)(a[i] ^ b[i]) & (m->written[i] == written ? 0xffu : 0u);
    }
    for (size_t i = 0; any && i < m->size; i++) {
        if (m->written[i] == written && a[i] != b[i]) {
            return i;
        }
    }
    return m->size;
}

static mts_status check_launch(const images *m, mts_command_list *list, const mts_launch *launch,
                               mts_error *error)
{
    mark(m, launch);
    mts_status status = mts_buffer_read(m->act, 0, m->before, m->size, error);
    MTS_TRY(status, run_on(m, list, m->before, m->after, error));
    size_t at = find_difference(m, m->before, m->after, false);
    if (status == MTS_STATUS_OK && at < m->size) {
        status = mts_fail(error, MTS_STATUS_INTERNAL,
                          "launch '%s' writes byte %zu, of which it does not say so", launch->label, at);
    }
    for (size_t i = 0; i < m->size; i++) {
        m->before[i] = m->touched[i] ? m->before[i] : NOT_A_NUMBER;
    }
    MTS_TRY(status, run_on(m, list, m->before, m->poisoned, error));
    at = find_difference(m, m->after, m->poisoned, true);
    if (status == MTS_STATUS_OK && at < m->size) {
        status =
            mts_fail(error, MTS_STATUS_INTERNAL,
                     "launch '%s' computes byte %zu of bytes of which it does not say that it reads them",
                     launch->label, at);
    }
    MTS_TRY(status, mts_buffer_write(m->act, 0, m->after, m->size, error));
    return status;
}

static mts_status check_list(mts_wrap *wrap, const mts_wrap_object *object, mts_error *error)
{
    images m = {.act = ((const mts_wrap_object *)object->launches[0].act)->inner.buffer};
    mts_status status = MTS_STATUS_OK;
    m.size = m.act->size;
    unsigned char *block = calloc(5, m.size);
    if (!block) {
        return mts_fail_memory(error);
    }
    m.before = block;
    m.after = block + m.size;
    m.poisoned = block + 2 * m.size;
    m.touched = (bool *)(block + 3 * m.size);
    m.written = (bool *)(block + 4 * m.size);
    for (size_t i = 0; status == MTS_STATUS_OK && i < object->base.list.count; i++) {
        const mts_launch launch = inner_launch(&object->launches[i]);
        mts_command_list *list = NULL;
        if (launch.accesses && launch.act == m.act) {
            status = mts_command_list_create(wrap->inner, &launch, 1, &list, error);
            MTS_TRY(status, check_launch(&m, list, &launch, error));
            mts_command_list_destroy(&list);
        } else {
            status = mts_fail(error, MTS_STATUS_INTERNAL, "launch '%s' does not say what it touches",
                              launch.label);
        }
    }
    free(block);
    return status;
}

static mts_status before(mts_wrap *wrap, const mts_wrap_call *call, mts_error *error)
{
    /* The kernels that turn frames into inputs are lists of their own, which nothing runs beside. */
    const bool list = call->kind == MTS_WRAP_KIND_LIST_SUBMIT && call->object->base.list.count > 0 &&
                      call->object->launches[0].accesses;
    return list ? check_list(wrap, call->object, error) : MTS_STATUS_OK;
}

static const mts_wrap_hooks hooks = {before, NULL};

mts_status mts_wrap_touch(mts_device **device, mts_error *error)
{
    return mts_wrap_make(device, &hooks, NULL, false, device, error);
}
