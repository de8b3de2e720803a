/*
 * wrap.c: the pass-through under check, fault and trace.
 */
#include "platform/wrap/wrap.h"

#include <string.h>

static mts_status begin(mts_wrap *wrap, const mts_wrap_call *call, mts_error *error)
{
    return wrap->hooks->before ? wrap->hooks->before(wrap, call, error) : MTS_STATUS_OK;
}

static mts_status end(mts_wrap *wrap, const mts_wrap_call *call, mts_status status)
{
    if (mts_device_is_lost(wrap->inner)) {
        mts_device_lose(&wrap->base);
    }
    wrap->base.full = wrap->base.full || wrap->inner->full;
    wrap->inner->full = false;
    if (wrap->hooks->after) {
        wrap->hooks->after(wrap, call, status);
    }
    return status;
}

static void object_free(mts_wrap *wrap, mts_wrap_object *object)
{
    if (object) {
        mts_alloc_free(wrap->base.allocator, object->name);
        mts_alloc_free(wrap->base.allocator, object->launches);
        mts_alloc_free(wrap->base.allocator, object->extra);
        mts_alloc_free(wrap->base.allocator, object);
    }
}

static mts_wrap_object *object_new(mts_wrap *wrap, mts_wrap_type type, mts_error *error)
{
    mts_wrap_object *object = mts_alloc_zero(wrap->base.allocator, 1, sizeof *object);
    if (!object) {
        (void)mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a %s",
                       mts_wrap_type_name(type));
        return NULL;
    }
    object->type = type;
    return object;
}

static void object_add(mts_wrap *wrap, mts_wrap_object *object)
{
    object->id = ++wrap->last_id;
    object->next = wrap->objects;
    wrap->objects = object;
}

static void inner_destroy(mts_wrap *wrap, mts_wrap_object *object)
{
    switch (object->type) {
    case MTS_WRAP_TYPE_BUFFER:
        mts_buffer_destroy(&object->inner.buffer);
        break;
    case MTS_WRAP_TYPE_KERNEL:
        mts_kernel_destroy(&object->inner.kernel);
        break;
    case MTS_WRAP_TYPE_LIST:
        mts_command_list_destroy(&object->inner.list);
        break;
    case MTS_WRAP_TYPE_HOST:
        mts_host_destroy(wrap->inner, &object->inner.host);
        break;
    }
    object->dead = true;
}

static void object_remove(mts_wrap *wrap, mts_wrap_object *object)
{
    mts_wrap_object **link = &wrap->objects;
    while (*link && *link != object) {
        link = &(*link)->next;
    }
    if (*link) {
        *link = object->next;
    }
    object_free(wrap, object);
}

static void object_destroy(mts_wrap *wrap, mts_wrap_kind kind, mts_wrap_object *object)
{
    const mts_wrap_call call = {.kind = kind, .object = object};
    if (begin(wrap, &call, NULL) != MTS_STATUS_OK) {
        return;
    }
    inner_destroy(wrap, object);
    (void)end(wrap, &call, MTS_STATUS_OK);
    if (!wrap->keep_dead) {
        object_remove(wrap, object);
    }
}

static void wrap_destroy(mts_device *device)
{
    static const mts_wrap_type order[] = {MTS_WRAP_TYPE_LIST, MTS_WRAP_TYPE_KERNEL, MTS_WRAP_TYPE_BUFFER,
                                          MTS_WRAP_TYPE_HOST};
    mts_wrap *wrap = (mts_wrap *)device;
    const mts_allocator *allocator = device->allocator;
    const mts_wrap_call call = {.kind = MTS_WRAP_KIND_DEVICE_DESTROY};
    (void)begin(wrap, &call, NULL);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        for (mts_wrap_object *object = wrap->objects; object; object = object->next) {
            if (object->type == order[i] && !object->dead) {
                inner_destroy(wrap, object);
            }
        }
    }
    (void)end(wrap, &call, MTS_STATUS_OK);
    while (wrap->objects) {
        object_remove(wrap, wrap->objects);
    }
    mts_device_destroy(&wrap->inner);
    mts_alloc_free(allocator, wrap->context);
    mts_alloc_free(allocator, wrap);
}

static mts_status inner_buffer(mts_wrap *wrap, const mts_memory *memory, size_t size, mts_buffer **out,
                               mts_error *error)
{
    return memory ? mts_buffer_import(wrap->inner, memory, out, error)
                  : mts_buffer_create(wrap->inner, size, out, error);
}

static mts_status wrap_buffer_create(mts_device *device, const mts_memory *memory, size_t size,
                                     mts_buffer **out, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_call call = {.kind = MTS_WRAP_KIND_BUFFER_CREATE, .size = size, .imported = memory};
    mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_wrap_object *object = object_new(wrap, MTS_WRAP_TYPE_BUFFER, error);
    status =
        object ? inner_buffer(wrap, memory, size, &object->inner.buffer, error) : MTS_STATUS_OUT_OF_MEMORY;
    if (status != MTS_STATUS_OK) {
        object_free(wrap, object);
        return end(wrap, &call, status);
    }
    object_add(wrap, object);
    object->base.buffer.size = size;
    *out = &object->base.buffer;
    call.object = object;
    return end(wrap, &call, MTS_STATUS_OK);
}

static void wrap_buffer_destroy(mts_device *device, mts_buffer *buffer)
{
    object_destroy((mts_wrap *)device, MTS_WRAP_KIND_BUFFER_DESTROY, (mts_wrap_object *)buffer);
}

static mts_status wrap_buffer_write(mts_device *device, mts_buffer *buffer, size_t offset, const void *data,
                                    size_t size, bool async, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_object *object = (mts_wrap_object *)buffer;
    const mts_wrap_call call = {
        .kind = async ? MTS_WRAP_KIND_BUFFER_WRITE_ASYNC : MTS_WRAP_KIND_BUFFER_WRITE,
        .object = object,
        .offset = offset,
        .size = size,
        .data = data,
    };
    const mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_buffer *inner = object->inner.buffer;
    return end(wrap, &call,
               async ? mts_buffer_write_async(inner, offset, data, size, error)
                     : mts_buffer_write(inner, offset, data, size, error));
}

static mts_status wrap_buffer_fetch(mts_device *device, mts_buffer *buffer, size_t offset, void *data,
                                    size_t size, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_object *object = (mts_wrap_object *)buffer;
    const mts_wrap_call call = {
        .kind = MTS_WRAP_KIND_BUFFER_FETCH, .object = object, .offset = offset, .size = size, .data = data};
    const mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return end(wrap, &call, mts_buffer_read_async(object->inner.buffer, offset, data, size, error));
}

static mts_status wrap_buffer_read(mts_device *device, mts_buffer *buffer, size_t offset, void *data,
                                   size_t size, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_object *object = (mts_wrap_object *)buffer;
    const mts_wrap_call call = {
        .kind = MTS_WRAP_KIND_BUFFER_READ, .object = object, .offset = offset, .size = size, .data = data};
    const mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return end(wrap, &call, mts_buffer_read(object->inner.buffer, offset, data, size, error));
}

static mts_status wrap_buffer_fill(mts_device *device, mts_buffer *buffer, size_t offset, size_t size,
                                   uint32_t word, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_object *object = (mts_wrap_object *)buffer;
    const mts_wrap_call call = {
        .kind = MTS_WRAP_KIND_BUFFER_FILL, .object = object, .offset = offset, .size = size};
    const mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return end(wrap, &call, mts_buffer_fill(object->inner.buffer, offset, size, word, error));
}

static mts_status wrap_buffer_map(mts_device *device, mts_buffer *buffer, size_t offset, size_t size,
                                  bool overwrites, void **out, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_object *object = (mts_wrap_object *)buffer;
    const mts_wrap_call call = {.kind = MTS_WRAP_KIND_BUFFER_MAP,
                                .object = object,
                                .offset = offset,
                                .size = size,
                                .overwrites = overwrites};
    mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    status = mts_buffer_map(object->inner.buffer, offset, size, overwrites, error);
    *out = object->inner.buffer->mapped;
    return end(wrap, &call, status);
}

/* The front holds it for unmapped after a call that was refused, so the inner device has to, too. */
static mts_status wrap_buffer_unmap(mts_device *device, mts_buffer *buffer, void *mapped, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_object *object = (mts_wrap_object *)buffer;
    const mts_wrap_call call = {.kind = MTS_WRAP_KIND_BUFFER_UNMAP, .object = object};
    const mts_status status = begin(wrap, &call, error);
    (void)mapped;
    if (status != MTS_STATUS_OK) {
        (void)mts_buffer_unmap(object->inner.buffer, NULL);
        return status;
    }
    return end(wrap, &call, mts_buffer_unmap(object->inner.buffer, error));
}

static mts_status kernel_forward(mts_wrap *wrap, mts_wrap_object *object, const mts_kernel_desc *desc,
                                 mts_error *error)
{
    object->name = mts_alloc_string(wrap->base.allocator, desc->name);
    if (!object->name) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the name of kernel '%s'",
                        desc->name);
    }
    return mts_kernel_create(wrap->inner, desc, &object->inner.kernel, error);
}

static mts_status wrap_kernel_create(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                                     mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_call call = {.kind = MTS_WRAP_KIND_KERNEL_CREATE, .desc = desc};
    mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_wrap_object *object = object_new(wrap, MTS_WRAP_TYPE_KERNEL, error);
    status = object ? kernel_forward(wrap, object, desc, error) : MTS_STATUS_OUT_OF_MEMORY;
    if (status != MTS_STATUS_OK) {
        object_free(wrap, object);
        return end(wrap, &call, status);
    }
    object_add(wrap, object);
    object->base.kernel.work_group_size = object->inner.kernel->work_group_size;
    object->base.kernel.resident = object->inner.kernel->resident;
    object->base.kernel.resident_promised = object->inner.kernel->resident_promised;
    *out = &object->base.kernel;
    call.object = object;
    return end(wrap, &call, MTS_STATUS_OK);
}

static void wrap_kernel_destroy(mts_device *device, mts_kernel *kernel)
{
    object_destroy((mts_wrap *)device, MTS_WRAP_KIND_KERNEL_DESTROY, (mts_wrap_object *)kernel);
}

/* The same launches of the inner device's objects; NULL: no memory. */
static mts_launch *inner_launches(const mts_wrap *wrap, const mts_launch *launches, size_t count)
{
    mts_launch *inner = mts_alloc_zero(wrap->base.allocator, count, sizeof *inner);
    for (size_t i = 0; inner && i < count; i++) {
        inner[i] = launches[i];
        inner[i].kernel = launches[i].kernel ? ((mts_wrap_object *)launches[i].kernel)->inner.kernel : NULL;
        inner[i].act = ((mts_wrap_object *)launches[i].act)->inner.buffer;
        inner[i].pool = ((mts_wrap_object *)launches[i].pool)->inner.buffer;
        inner[i].params = ((mts_wrap_object *)launches[i].params)->inner.buffer;
        for (int k = 0; k < MTS_LAUNCH_SOURCES && launches[i].sources[k]; k++) {
            inner[i].sources[k] = ((mts_wrap_object *)launches[i].sources[k])->inner.buffer;
        }
    }
    return inner;
}

/* Keeps the outer launches in the object and hands the inner ones on. */
static mts_status list_forward(mts_wrap *wrap, mts_wrap_object *object, const mts_launch *launches,
                               size_t count, mts_error *error)
{
    const mts_allocator *allocator = wrap->base.allocator;
    mts_launch *inner = inner_launches(wrap, launches, count);
    object->launches = mts_alloc_zero(allocator, count, sizeof *inner);
    if (!inner || !object->launches) {
        mts_alloc_free(allocator, inner);
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY,
                        "not enough memory for a command list of %zu launches", count);
    }
    for (size_t i = 0; i < count; i++) {
        object->launches[i] = launches[i];
    }
    const mts_status status = mts_command_list_create(wrap->inner, inner, count, &object->inner.list, error);
    mts_alloc_free(allocator, inner);
    return status;
}

static mts_status update_forward(mts_wrap *wrap, mts_wrap_object *object, const mts_launch *launches,
                                 size_t count, mts_error *error)
{
    mts_launch *inner = inner_launches(wrap, launches, count);
    if (!inner) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY,
                        "not enough memory for a command list of %zu launches", count);
    }
    const mts_status status = mts_command_list_update(object->inner.list, inner, count, error);
    for (size_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        object->launches[i] = launches[i];
    }
    mts_alloc_free(wrap->base.allocator, inner);
    return status;
}

static mts_status wrap_command_list_create(mts_device *device, const mts_launch *launches, size_t count,
                                           mts_command_list **out, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_call call = {.kind = MTS_WRAP_KIND_LIST_CREATE, .launches = launches, .count = count};
    mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_wrap_object *object = object_new(wrap, MTS_WRAP_TYPE_LIST, error);
    status = object ? list_forward(wrap, object, launches, count, error) : MTS_STATUS_OUT_OF_MEMORY;
    if (status != MTS_STATUS_OK) {
        object_free(wrap, object);
        return end(wrap, &call, status);
    }
    object_add(wrap, object);
    object->base.list.count = count;
    *out = &object->base.list;
    call.object = object;
    return end(wrap, &call, MTS_STATUS_OK);
}

static void wrap_command_list_destroy(mts_device *device, mts_command_list *list)
{
    object_destroy((mts_wrap *)device, MTS_WRAP_KIND_LIST_DESTROY, (mts_wrap_object *)list);
}

static mts_wrap_call list_call(mts_wrap_kind kind, mts_wrap_object *object)
{
    const mts_wrap_call call = {
        .kind = kind, .object = object, .launches = object->launches, .count = object->base.list.count};
    return call;
}

static mts_status wrap_command_list_submit(mts_device *device, mts_command_list *list, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_object *object = (mts_wrap_object *)list;
    const mts_wrap_call call = list_call(MTS_WRAP_KIND_LIST_SUBMIT, object);
    const mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return end(wrap, &call, mts_command_list_submit(object->inner.list, error));
}

static mts_status wrap_command_list_update(mts_device *device, mts_command_list *list,
                                           const mts_launch *launches, size_t count, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_object *object = (mts_wrap_object *)list;
    const mts_wrap_call call = {
        .kind = MTS_WRAP_KIND_LIST_UPDATE, .object = object, .launches = launches, .count = count};
    const mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return end(wrap, &call, update_forward(wrap, object, launches, count, error));
}

static mts_status wrap_wait(mts_device *device, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    const mts_wrap_call call = {.kind = MTS_WRAP_KIND_WAIT};
    const mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return end(wrap, &call, mts_device_wait(wrap->inner, error));
}

/* Not a call of the user's: no hook is asked. */
static void wrap_drain(mts_device *device)
{
    mts_device_drain(((mts_wrap *)device)->inner);
}

static mts_status wrap_event_record(mts_device *device, uint32_t index, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    const mts_wrap_call call = {.kind = MTS_WRAP_KIND_EVENT_RECORD, .event = index};
    const mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return end(wrap, &call, mts_device_event_record(wrap->inner, index, error));
}

static mts_status wrap_event_query(mts_device *device, uint32_t index, bool wait, bool *passed,
                                   mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_call call = {.kind = MTS_WRAP_KIND_EVENT_QUERY, .event = index};
    mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (wait) {
        status = mts_device_event_wait(wrap->inner, index, error);
        call.passed = status == MTS_STATUS_OK;
    } else {
        status = mts_device_event_passed(wrap->inner, index, &call.passed, error);
    }
    *passed = call.passed;
    return end(wrap, &call, status);
}

static mts_status wrap_host_create(mts_device *device, size_t size, void **out, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_call call = {.kind = MTS_WRAP_KIND_HOST_CREATE, .size = size};
    mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_wrap_object *object = object_new(wrap, MTS_WRAP_TYPE_HOST, error);
    status =
        object ? mts_host_create(wrap->inner, size, &object->inner.host, error) : MTS_STATUS_OUT_OF_MEMORY;
    if (status != MTS_STATUS_OK) {
        object_free(wrap, object);
        return end(wrap, &call, status);
    }
    object_add(wrap, object);
    object->size = size;
    *out = object->inner.host;
    call.object = object;
    return end(wrap, &call, MTS_STATUS_OK);
}

mts_wrap_object *mts_wrap_host_find(const mts_wrap *wrap, const void *memory)
{
    const uintptr_t at = (uintptr_t)memory;
    mts_wrap_object *object = wrap->objects;
    while (object && (object->type != MTS_WRAP_TYPE_HOST || object->dead ||
                      at - (uintptr_t)object->inner.host >= object->size)) {
        object = object->next;
    }
    return object;
}

static void wrap_host_destroy(mts_device *device, void *memory)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_object *object = mts_wrap_host_find(wrap, memory);
    if (object && object->inner.host == memory) {
        object_destroy(wrap, MTS_WRAP_KIND_HOST_DESTROY, object);
    }
}

static mts_status wrap_command_list_profile(mts_device *device, mts_command_list *list,
                                            mts_launch_time *times, size_t count, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_object *object = (mts_wrap_object *)list;
    const mts_wrap_call call = list_call(MTS_WRAP_KIND_LIST_PROFILE, object);
    const mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return end(wrap, &call, mts_command_list_profile(object->inner.list, times, count, error));
}

static mts_status wrap_command_list_trace(mts_device *device, mts_command_list *list, mts_chunk_time *chunks,
                                          size_t capacity, size_t *count, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_object *object = (mts_wrap_object *)list;
    const mts_wrap_call call = list_call(MTS_WRAP_KIND_LIST_TRACE, object);
    const mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return end(wrap, &call, mts_command_list_trace(object->inner.list, chunks, capacity, count, error));
}

static mts_status wrap_command_list_calibrate(mts_device *device, mts_command_list *list, mts_error *error)
{
    mts_wrap *wrap = (mts_wrap *)device;
    mts_wrap_object *object = (mts_wrap_object *)list;
    const mts_wrap_call call = list_call(MTS_WRAP_KIND_LIST_CALIBRATE, object);
    const mts_status status = begin(wrap, &call, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return end(wrap, &call, mts_command_list_calibrate(object->inner.list, error));
}

static const mts_device_ops ops = {
    .abi = MTS_DEVICE_ABI,
    .destroy = wrap_destroy,
    .buffer_create = wrap_buffer_create,
    .buffer_destroy = wrap_buffer_destroy,
    .buffer_write = wrap_buffer_write,
    .buffer_read = wrap_buffer_read,
    .buffer_read_async = wrap_buffer_fetch,
    .buffer_fill = wrap_buffer_fill,
    .kernel_create = wrap_kernel_create,
    .kernel_destroy = wrap_kernel_destroy,
    .command_list_create = wrap_command_list_create,
    .command_list_destroy = wrap_command_list_destroy,
    .command_list_update = wrap_command_list_update,
    .command_list_submit = wrap_command_list_submit,
    .wait = wrap_wait,
    .event_record = wrap_event_record,
    .event_query = wrap_event_query,
    .host_create = wrap_host_create,
    .host_destroy = wrap_host_destroy,
    .command_list_profile = wrap_command_list_profile,
    .command_list_trace = wrap_command_list_trace,
    .drain = wrap_drain,
    .command_list_calibrate = wrap_command_list_calibrate,
    .buffer_map = wrap_buffer_map,
    .buffer_unmap = wrap_buffer_unmap,
};

mts_status mts_wrap_make(mts_device **inner, const mts_wrap_hooks *hooks, void *context, bool keep_dead,
                         mts_device **out, mts_error *error)
{
    if (out != inner) {
        *out = NULL;
    }
    mts_wrap *wrap = mts_alloc_zero((*inner)->allocator, 1, sizeof *wrap);
    if (!wrap) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a device around '%s'",
                        (*inner)->info.name);
    }
    wrap->base.ops = &ops;
    wrap->base.allocator = (*inner)->allocator;
    wrap->base.log = (*inner)->log;
    wrap->base.info = (*inner)->info;
    wrap->base.info.builds_aside = false; /* kernels are in the list of objects, as buffers are */
    if (mts_device_is_lost(*inner)) {
        mts_device_lose(&wrap->base);
    }
    wrap->hooks = hooks;
    wrap->context = context;
    wrap->keep_dead = keep_dead;
    wrap->inner = *inner;
    *inner = NULL;
    *out = &wrap->base;
    return MTS_STATUS_OK;
}
