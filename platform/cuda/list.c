/*
 * list.c: command lists: their launches, submission and measurement.
 */
#include "platform/cuda/cuda.h"

#include <string.h>

#define BLOCK_Z_MOST 64 /* work-items of a group in the last dimension, on every device */

static mts_status check_grid(const mts_cu_launch *made, mts_error *error)
{
    if (made->block[2] > BLOCK_Z_MOST || made->grid[0] > INT32_MAX || made->grid[1] > MTS_CU_GROUPS_MOST ||
        made->grid[2] > MTS_CU_GROUPS_MOST) {
        return mts_fail(error, MTS_STATUS_LIMIT,
                        "launch '%s': %ux%ux%u groups of %ux%ux%u exceed CUDA's %d x %d x %d groups or %d "
                        "work-items in the last dimension",
                        made->label, made->grid[0], made->grid[1], made->grid[2], made->block[0],
                        made->block[1], made->block[2], INT32_MAX, MTS_CU_GROUPS_MOST, MTS_CU_GROUPS_MOST,
                        BLOCK_Z_MOST);
    }
    return MTS_STATUS_OK;
}

static CUdeviceptr address_of(const mts_buffer *buffer)
{
    return ((const mts_cu_buffer *)buffer)->address;
}

/* In place: the addresses of its arguments stay the same. */
static mts_status fill_launch(mts_cu_launch *made, const mts_launch *launch, mts_error *error)
{
    const mts_cu_program *program = ((const mts_cu_kernel *)launch->kernel)->program;
    made->function = program->function;
    made->act = address_of(launch->act);
    made->pool = address_of(launch->pool);
    made->params = address_of(launch->params);
    made->first = launch->first;
    made->cooperative = launch->kernel->resident > 0;
    made->arguments[0] = &made->act;
    made->arguments[1] = &made->pool;
    made->arguments[2] = &made->params;
    made->arguments[3] = &made->first;
    for (int i = 0; i < MTS_LAUNCH_SOURCES; i++) {
        made->sources[i] = launch->sources[i] ? address_of(launch->sources[i]) : 0;
        made->arguments[4 + i] = &made->sources[i];
    }
    for (int i = 0; i < 3; i++) {
        made->grid[i] = launch->global[i] / launch->local[i];
        made->block[i] = launch->local[i];
    }
    made->label = launch->label ? launch->label : program->source->name;
    return check_grid(made, error);
}

static void add_imported(mts_cu_command_list *list, mts_buffer *read)
{
    mts_cu_buffer *buffer = (mts_cu_buffer *)read;
    size_t at = 0;
    if (!buffer->registered) {
        return;
    }
    if (!list->imported) {
        buffer->used = UINT64_MAX; /* not known */
        return;
    }
    while (at < list->imported_count && list->imported[at] != buffer) {
        at++;
    }
    if (at == list->imported_count) {
        list->imported[list->imported_count++] = buffer;
    }
}

/* Pools and sources that are registered memory, each once. The submission that reads them
   last is noted in them. */
static void collect_imported(mts_cu_command_list *list, const mts_launch *launches, size_t count)
{
    list->imported_count = 0;
    for (size_t i = 0; i < count; i++) {
        add_imported(list, launches[i].pool);
        for (int k = 0; k < MTS_LAUNCH_SOURCES && launches[i].sources[k]; k++) {
            add_imported(list, launches[i].sources[k]);
        }
    }
}

mts_status mts_cu_command_list_create(mts_device *base, const mts_launch *launches, size_t count,
                                      mts_command_list **out, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    mts_status status = MTS_STATUS_OK;
    mts_cu_command_list *list = mts_alloc_zero(base->allocator, 1, sizeof *list);
    if (!list) {
        return mts_fail_memory(error);
    }
    list->launches = mts_alloc_zero(base->allocator, count, sizeof *list->launches);
    if (base->info.imports) {
        list->imported =
            mts_alloc_zero(base->allocator, count * (1 + MTS_LAUNCH_SOURCES), sizeof(mts_cu_buffer *));
    }
    if (!list->launches || (base->info.imports && !list->imported)) {
        status = mts_fail(error, MTS_STATUS_OUT_OF_MEMORY,
                          "not enough memory for a command list of %zu launches", count);
    }
    for (size_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        status = fill_launch(&list->launches[i], &launches[i], error);
        list->cooperative = list->cooperative || list->launches[i].cooperative;
        list->made++;
    }
    MTS_TRY(status, mts_cu_enter(device, error));
    if (status != MTS_STATUS_OK) {
        mts_cu_command_list_destroy(base, &list->base);
        return status;
    }
    collect_imported(list, launches, count);
    mts_cu_replay_record(device, list);
    mts_cu_leave(device);
    *out = &list->base;
    return MTS_STATUS_OK;
}

void mts_cu_command_list_destroy(mts_device *base, mts_command_list *base_list)
{
    mts_cu_device *device = (mts_cu_device *)base;
    mts_cu_command_list *list = (mts_cu_command_list *)base_list;
    if (list->graph && mts_cu_enter_to_release(device)) {
        mts_cu_replay_release(device, list);
        mts_cu_leave(device);
    }
    mts_alloc_free(base->allocator, list->imported);
    mts_alloc_free(base->allocator, list->launches);
    mts_alloc_free(base->allocator, list);
}

/* Most launches of a command list stay as they are; only the others are changed in the
   graph. */
static bool is_same(const mts_cu_launch *a, const mts_cu_launch *b)
{
    return a->function == b->function && a->act == b->act && a->pool == b->pool && a->params == b->params &&
           memcmp(a->sources, b->sources, sizeof a->sources) == 0 && a->first == b->first &&
           memcmp(a->grid, b->grid, sizeof a->grid) == 0 && memcmp(a->block, b->block, sizeof a->block) == 0;
}

mts_status mts_cu_command_list_update(mts_device *base, mts_command_list *base_list,
                                      const mts_launch *launches, size_t count, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    mts_cu_command_list *list = (mts_cu_command_list *)base_list;
    mts_status status = mts_cu_enter(device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    collect_imported(list, launches, count);
    for (size_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        const mts_cu_launch before = list->launches[i];
        status = fill_launch(&list->launches[i], &launches[i], error);
        if (status == MTS_STATUS_OK && !is_same(&before, &list->launches[i])) {
            mts_cu_replay_update(device, list, i);
        }
    }
    mts_cu_leave(device);
    return status;
}

static mts_status enqueue(mts_cu_device *device, mts_cu_launch *launch, mts_error *error)
{
    const uint32_t *grid = launch->grid;
    const uint32_t *block = launch->block;
    const CUresult result =
        launch->cooperative
            ? device->cu.cuLaunchCooperativeKernel(launch->function, grid[0], grid[1], grid[2], block[0],
                                                   block[1], block[2], 0, device->stream, launch->arguments)
            : device->cu.cuLaunchKernel(launch->function, grid[0], grid[1], grid[2], block[0], block[1],
                                        block[2], 0, device->stream, launch->arguments, NULL);
    const mts_status status =
        mts_cu_check(device, result, MTS_CU_CALL_ENQUEUE,
                     launch->cooperative ? "cuLaunchCooperativeKernel" : "cuLaunchKernel", error);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "launch '%s'", launch->label);
}

mts_status mts_cu_command_list_submit(mts_device *base, mts_command_list *base_list, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    mts_cu_command_list *list = (mts_cu_command_list *)base_list;
    mts_status status = mts_cu_enter(device, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    bool replayed = false;
    device->submits++;
    for (size_t i = 0; i < list->imported_count; i++) {
        list->imported[i]->used = device->submits;
    }
    status = mts_cu_replay_submit(device, list, &replayed, error);
    for (size_t i = 0; i < list->made && !replayed && status == MTS_STATUS_OK; i++) {
        status = enqueue(device, &list->launches[i], error);
    }
    mts_cu_leave(device);
    return status;
}

/* events[0] is before the first launch, events[i + 1] after launch i. */
static mts_status run_profiled(mts_cu_device *device, mts_cu_command_list *list, const CUevent *events,
                               mts_error *error)
{
    mts_status status = mts_cu_finish(device, error);
    for (size_t i = 0; i <= list->made && status == MTS_STATUS_OK; i++) {
        if (i > 0) {
            status = enqueue(device, &list->launches[i - 1], error);
        }
        MTS_TRY(status, mts_cu_check(device, device->cu.cuEventRecord(events[i], device->stream),
                                     MTS_CU_CALL_ENQUEUE, "cuEventRecord", error));
    }
    mts_error ignored; /* waits also after a failure: launches are running */
    const bool failed = status != MTS_STATUS_OK;
    const mts_status finished = mts_cu_finish(device, failed ? &ignored : error);
    return failed ? status : finished;
}

/* A launch ends with its event and begins where the one before it ended. */
static mts_status read_times(mts_cu_device *device, const CUevent *events, mts_launch_time *times,
                             size_t count, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    uint64_t before = 0;
    for (size_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        float ms = 0.0f;
        const CUresult result = device->cu.cuEventElapsedTime(&ms, events[0], events[i + 1]);
        status = mts_cu_check(device, result, MTS_CU_CALL_WAIT, "cuEventElapsedTime", error);
        const uint64_t now = ms > 0.0f ? (uint64_t)((double)ms * 1e6) : 0; /* also of what is no number */
        times[i].start = before;
        times[i].end = before = now > before ? now : before;
    }
    return status;
}

static mts_status profile(mts_cu_device *device, mts_cu_command_list *list, CUevent *events,
                          mts_launch_time *times, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    size_t made = 0;
    while (made <= list->made && status == MTS_STATUS_OK) {
        status = mts_cu_check(device, device->cu.cuEventCreate(&events[made], CU_EVENT_DEFAULT),
                              MTS_CU_CALL_CREATE, "cuEventCreate", error);
        made += status == MTS_STATUS_OK;
    }
    MTS_TRY(status, run_profiled(device, list, events, error));
    MTS_TRY(status, read_times(device, events, times, list->made, error));
    while (made > 0) {
        (void)device->cu.cuEventDestroy_v2(events[--made]);
    }
    return status;
}

mts_status mts_cu_command_list_profile(mts_device *base, mts_command_list *base_list, mts_launch_time *times,
                                       size_t count, mts_error *error)
{
    mts_cu_device *device = (mts_cu_device *)base;
    CUevent *events = mts_alloc_zero(base->allocator, count + 1, sizeof(CUevent));
    if (!events) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for %zu events", count + 1);
    }
    mts_status status = mts_cu_enter(device, error);
    if (status == MTS_STATUS_OK) {
        status = profile(device, (mts_cu_command_list *)base_list, events, times, error);
        mts_cu_leave(device);
    }
    mts_alloc_free(base->allocator, events);
    return status;
}
