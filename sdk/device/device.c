/*
 * device.c: the front of a device: every argument is checked here, once.
 *
 * Backends and decorators are called only with arguments that make sense, and never with
 * an empty transfer. Not responsible for what a command does, nor for finding devices.
 */
#include "device/device.h"

#include <string.h>

#include "base/size.h"
#include "device/front.h"
#include "device/kernel.h"

static const char *launch_label(const mts_launch *launch)
{
    return launch->label ? launch->label : "unnamed";
}

static mts_status check_grid(const mts_launch *launch, mts_error *error)
{
    uint64_t items = 1;
    for (int i = 0; i < 3; i++) {
        const uint32_t global = launch->global[i];
        const uint32_t local = launch->local[i];
        if (local == 0 || global == 0 || global % local != 0) {
            return mts_fail(
                error, MTS_STATUS_INVALID_ARGUMENT,
                "launch '%s': dimension %d: %u work-items are not a positive multiple of the work-group's %u",
                launch_label(launch), i, global, local);
        }
        items *= local; /* cannot overflow: at most work_group_size (32 bits) before each step */
        if (items > launch->kernel->work_group_size) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "launch '%s': a work-group of %ux%ux%u exceeds the kernel's %u work-items",
                            launch_label(launch), launch->local[0], launch->local[1], launch->local[2],
                            launch->kernel->work_group_size);
        }
    }
    return MTS_STATUS_OK;
}

static mts_status check_accesses(const mts_launch *launch, mts_error *error)
{
    for (uint32_t i = 0; launch->accesses && i < launch->access_count; i++) {
        const mts_access *access = &launch->accesses[i];
        if (access->begin > access->end || access->end > launch->act->size) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "launch '%s': it touches bytes %zu to %zu of a buffer of %zu",
                            launch_label(launch), access->begin, access->end, launch->act->size);
        }
    }
    return MTS_STATUS_OK;
}

static mts_status check_sources(const mts_device *device, const mts_launch *launch, mts_error *error)
{
    const bool wanted = launch->kernel && launch->kernel->sources;
    for (uint32_t i = 0; i < MTS_LAUNCH_SOURCES; i++) {
        const mts_buffer *source = launch->sources[i];
        if (wanted != (source != NULL)) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            wanted ? "launch '%s': source %u is NULL: the kernel reads %d of them"
                                   : "launch '%s': source %u is given to a kernel without any (of %d)",
                            launch_label(launch), i, MTS_LAUNCH_SOURCES);
        }
        if (source && source->device != device) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "launch '%s': source %u belongs to another device", launch_label(launch), i);
        }
    }
    return MTS_STATUS_OK;
}

static mts_status check_launch(const mts_device *device, const mts_launch *launch, mts_error *error)
{
    const bool product = launch->gemm.m > 0;
    if (product == (launch->kernel != NULL) || !launch->act || !launch->pool || !launch->params) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "launch '%s': the kernel or a buffer is NULL, or it has a kernel and a product",
                        launch_label(launch));
    }
    if (launch->act->imported || launch->params->imported) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "launch '%s': only the pool and sources may be imported memory",
                        launch_label(launch));
    }
    if ((!product && launch->kernel->device != device) || launch->act->device != device ||
        launch->pool->device != device || launch->params->device != device) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "launch '%s': the kernel or a buffer belongs to another device",
                        launch_label(launch));
    }
    mts_status status = check_sources(device, launch, error);
    MTS_TRY(status, check_accesses(launch, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (product && !device->info.gemm) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "launch '%s': device '%s' takes no matrix products",
                        launch_label(launch), device->info.name);
    }
    if (product) {
        return mts_gemm_check(&launch->gemm, launch->act->size / sizeof(float),
                              launch->pool->size / sizeof(float), launch_label(launch), error);
    }
    if (launch->first >= launch->params->size / sizeof(uint32_t)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "launch '%s': kernel parameters %u lie outside the buffer of %zu bytes",
                        launch_label(launch), launch->first, launch->params->size);
    }
    return check_grid(launch, error);
}

void mts_device_destroy(mts_device **device)
{
    if (device && *device) {
        mts_device *gone = *device;
        *device = NULL;
        (void)mts_front_see_loss(gone);
        const mts_allocator *allocator = gone->allocator;
        mts_host_head *parked = gone->parked;
        gone->ops->destroy(gone);
        mts_front_free_parked(allocator, parked);
    }
}

mts_status mts_kernel_create(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                             mts_error *error)
{
    mts_status status = mts_front_check_create(device, out, "mts_kernel_create", error);
    if (out) {
        *out = NULL;
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (!desc || !desc->name || !desc->name[0]) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "the kernel has no name");
    }
    if (!mts_kernel_find(desc->name)) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "there is no kernel '%s'", desc->name);
    }
    if (desc->resident_items > 0 && !device->info.persistent) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "'%s' has no persistent kernels", device->info.name);
    }
    const mts_kernel_desc whole = {desc->name, desc->defines ? desc->defines : "", desc->resident_items};
    mts_kernel *kernel = NULL;
    status = MTS_FRONT_CALL(device, kernel_create, &whole, &kernel);
    MTS_TRY(status, mts_front_check_made(device, kernel, error));
    if (status == MTS_STATUS_OK) {
        kernel->device = device;
        kernel->sources = strcmp(desc->name, MTS_KERNEL_MIXED) == 0;
        *out = kernel;
    }
    return status;
}

void mts_kernel_destroy(mts_kernel **kernel)
{
    MTS_FRONT_DESTROY(kernel, kernel_destroy);
}

static mts_status check_launches(const mts_device *device, const mts_launch *launches, size_t count,
                                 mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (size_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        status = check_launch(device, &launches[i], error);
    }
    return status;
}

mts_status mts_command_list_create(mts_device *device, const mts_launch *launches, size_t count,
                                   mts_command_list **out, mts_error *error)
{
    size_t bytes = 0;
    mts_command_list *list = NULL;
    mts_status status = mts_front_check_create(device, out, "mts_command_list_create", error);
    if (out) {
        *out = NULL;
    }
    if (status == MTS_STATUS_OK && ((!launches && count) || !mts_size_mul(count, sizeof *launches, &bytes))) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "a list of %zu launches, but launches is NULL or the count too large", count);
    }
    MTS_TRY(status, check_launches(device, launches, count, error));
    MTS_TRY(status, MTS_FRONT_CALL(device, command_list_create, launches, count, &list));
    MTS_TRY(status, mts_front_check_made(device, list, error));
    if (status == MTS_STATUS_OK) {
        list->device = device;
        list->count = count;
        *out = list;
    }
    return status;
}

void mts_command_list_destroy(mts_command_list **list)
{
    MTS_FRONT_DESTROY(list, command_list_destroy);
}

/* `array`: `count` elements that go with the launches of a list; called `what`. */
static mts_status check_list(const mts_command_list *list, const void *array, size_t count, const char *what,
                             mts_error *error)
{
    if (!list || (!array && count)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "command list or %s is NULL", what);
    }
    const mts_status status = mts_front_check(list->device, error);
    return status == MTS_STATUS_OK && count != list->count
               ? mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%zu %s for a command list of %zu launches",
                          count, what, list->count)
               : status;
}

/* A backend may lack some entries. */
static mts_status check_entry(const mts_device *device, bool there, const char *what, mts_error *error)
{
    return there
               ? MTS_STATUS_OK
               : mts_fail(error, MTS_STATUS_UNSUPPORTED, "device '%s' does not %s", device->info.name, what);
}

mts_status mts_command_list_update(mts_command_list *list, const mts_launch *launches, size_t count,
                                   mts_error *error)
{
    mts_status status = check_list(list, launches, count, "launches", error);
    MTS_TRY(status, check_launches(list->device, launches, count, error));
    MTS_TRY(status,
            check_entry(list->device, list->device->ops->command_list_update, "update command lists", error));
    MTS_TRY(status, MTS_FRONT_CALL(list->device, command_list_update, list, launches, count));
    return status;
}

mts_status mts_command_list_submit(mts_command_list *list, mts_error *error)
{
    if (!list) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "command list is NULL");
    }
    const mts_status status = mts_front_check(list->device, error);
    return status == MTS_STATUS_OK ? MTS_FRONT_CALL(list->device, command_list_submit, list) : status;
}

mts_status mts_command_list_profile(mts_command_list *list, mts_launch_time *times, size_t count,
                                    mts_error *error)
{
    mts_status status = check_list(list, times, count, "times", error);
    MTS_TRY(status,
            check_entry(list->device, list->device->ops->command_list_profile, "measure launches", error));
    MTS_TRY(status, MTS_FRONT_CALL(list->device, command_list_profile, list, times, count));
    return status;
}

mts_status mts_command_list_trace(mts_command_list *list, mts_chunk_time *chunks, size_t capacity,
                                  size_t *count, mts_error *error)
{
    *count = 0;
    if (!list || (!chunks && capacity > 0)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "mts_command_list_trace: %s is NULL",
                        list ? "chunks" : "the list");
    }
    mts_status status = mts_front_check(list->device, error);
    MTS_TRY(status, check_entry(list->device, list->device->ops->command_list_trace, "tell its threads apart",
                                error));
    MTS_TRY(status, MTS_FRONT_CALL(list->device, command_list_trace, list, chunks, capacity, count));
    return status;
}

mts_status mts_command_list_calibrate(mts_command_list *list, mts_error *error)
{
    if (!list) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "command list is NULL");
    }
    const mts_status status = mts_front_check(list->device, error);
    return status == MTS_STATUS_OK && list->device->ops->command_list_calibrate
               ? MTS_FRONT_CALL(list->device, command_list_calibrate, list)
               : status;
}

/* After a failure: a device that cannot be waited for may still use host memory, and is
   lost. */
static void settle(mts_device *device)
{
    if (!mts_device_is_lost(device) && device->ops->wait(device, NULL) != MTS_STATUS_OK) {
        mts_device_lose(device);
    }
}

mts_status mts_device_wait(mts_device *device, mts_error *error)
{
    mts_status status = mts_front_check(device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    status = device->ops->wait(device, error);
    if (status != MTS_STATUS_OK) {
        settle(device);
    }
    return mts_front_after(device, status, error);
}

static mts_status check_event(mts_device *device, uint32_t index, mts_error *error)
{
    const mts_status status = mts_front_check(device, error);
    return status == MTS_STATUS_OK && index >= MTS_DEVICE_EVENTS
               ? mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "there is no event %u; a device has 0..%u",
                          index, MTS_DEVICE_EVENTS - 1)
               : status;
}

mts_status mts_device_event_record(mts_device *device, uint32_t index, mts_error *error)
{
    const mts_status status = check_event(device, index, error);
    return status == MTS_STATUS_OK ? MTS_FRONT_CALL(device, event_record, index) : status;
}

static mts_status query_event(mts_device *device, uint32_t index, bool wait, bool *passed, mts_error *error)
{
    bool answer = false;
    mts_status status = check_event(device, index, error);
    if (status == MTS_STATUS_OK) {
        status = device->ops->event_query(device, index, wait, &answer, error);
        if (status != MTS_STATUS_OK) {
            settle(device);
        }
        status = mts_front_after(device, status, error);
    }
    *passed = status == MTS_STATUS_OK && answer;
    return status;
}

mts_status mts_device_event_passed(mts_device *device, uint32_t index, bool *passed, mts_error *error)
{
    if (!passed) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "mts_device_event_passed: passed is NULL");
    }
    return query_event(device, index, false, passed, error);
}

mts_status mts_device_event_wait(mts_device *device, uint32_t index, mts_error *error)
{
    bool passed = false;
    return query_event(device, index, true, &passed, error);
}
