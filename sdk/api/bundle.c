/*
 * bundle.c: the bundle handle: getting the bytes into memory, and describing tasks and
 * ports.
 *
 * Verifying the bytes is the reader's work (sdk/bundle); reports are sdk/bundle/report.h.
 */
#include <inttypes.h>
#include <string.h>

#include "api/api.h"
#include "base/size.h"
#include "bundle/report.h"

#define BUNDLE_ALIGNMENT ((size_t)64)

/* Where the bytes come from: memory, else a path, else a descriptor. */
typedef struct bundle_source {
    const char *defect; /* of the caller's arguments; NULL: none */
    const char *name;   /* for messages */
    const void *data;
    size_t data_size;
    const char *path;
    int fd;
    uint64_t offset, size; /* of the descriptor's range */
} bundle_source;

static bool aligned(const void *data)
{
    return ((uintptr_t)data & (BUNDLE_ALIGNMENT - 1)) == 0;
}

/* Copies the bytes to an aligned place that the bundle owns; NULL if memory is short. */
static const void *bundle_copy(mts_bundle *bundle, const void *data, size_t size)
{
    size_t room = 0;
    if (!mts_size_add(size, BUNDLE_ALIGNMENT, &room)) {
        return NULL;
    }
    bundle->copy = mts_alloc_zero(&bundle->runtime->allocator, room, 1);
    if (!bundle->copy) {
        return NULL;
    }
    const size_t past = (uintptr_t)bundle->copy & (BUNDLE_ALIGNMENT - 1);
    unsigned char *place = (unsigned char *)bundle->copy + (past ? BUNDLE_ALIGNMENT - past : 0);
    memcpy(place, data, size);
    return place;
}

static mts_status bundle_read(mts_bundle *bundle, const void *data, size_t size, const char *name,
                              mts_error *error)
{
    const mts_archive_limits limits = mts_archive_limits_default();
    if (size > limits.file_bytes) {
        return mts_fail(error, MTS_STATUS_LIMIT, "%s: %zu bytes, more than the limit of %" PRIu64, name, size,
                        limits.file_bytes);
    }
    if (!aligned(data)) {
        data = bundle_copy(bundle, data, size);
        mts_os_unmap(&bundle->map);
        if (!data) {
            return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "%s: no memory for a copy of %zu bytes", name,
                            size);
        }
    }
    return mts_archive_read(data, size, name, &limits, &bundle->runtime->allocator, &bundle->archive, error);
}

static mts_status bundle_map(mts_bundle *bundle, const bundle_source *source, mts_error *error)
{
    if (source->data) {
        return MTS_STATUS_OK;
    }
    return source->path
               ? mts_os_map_file(source->path, &bundle->map, error)
               : mts_os_map_descriptor(source->fd, source->offset, source->size, &bundle->map, error);
}

static mts_status bundle_make(mts_runtime *runtime, const bundle_source *source, mts_bundle **out,
                              mts_error *error)
{
    if (source->defect) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s", source->defect);
    }
    mts_bundle *bundle = mts_alloc_zero(&runtime->allocator, 1, sizeof *bundle);
    if (!bundle) {
        return mts_fail_memory(error);
    }
    bundle->runtime = runtime;
    mts_status status = bundle_map(bundle, source, error);
    MTS_TRY(status, source->data
                        ? bundle_read(bundle, source->data, source->data_size, source->name, error)
                        : bundle_read(bundle, bundle->map.data, bundle->map.size, source->name, error));
    if (status != MTS_STATUS_OK) {
        mts_bundle_destroy(&bundle);
    }
    *out = bundle;
    return status;
}

/* What the three ways of opening have in common. */
static mts_status bundle_open(mts_runtime *runtime, const bundle_source *source, mts_bundle **out)
{
    mts_error error = {0};
    if (!out) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    *out = NULL;
    if (!runtime) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    const mts_status status = bundle_make(runtime, source, out, &error);
    return mts_sink_report(&runtime->sink, status, &error);
}

mts_status mts_bundle_open(mts_runtime *runtime, const char *path, mts_bundle **out)
{
    const bundle_source source = {
        .name = path, .path = path, .defect = path ? NULL : "mts_bundle_open: path is NULL"};
    return bundle_open(runtime, &source, out);
}

mts_status mts_bundle_open_fd(mts_runtime *runtime, int fd, uint64_t offset, uint64_t size, mts_bundle **out)
{
    const bundle_source source = {.name = "bundle (descriptor)",
                                  .fd = fd,
                                  .offset = offset,
                                  .size = size,
                                  .defect = fd < 0      ? "mts_bundle_open_fd: the descriptor is negative"
                                            : size == 0 ? "mts_bundle_open_fd: size is 0"
                                                        : NULL};
    return bundle_open(runtime, &source, out);
}

mts_status mts_bundle_open_memory(mts_runtime *runtime, const void *data, size_t size, mts_bundle **out)
{
    const bundle_source source = {.name = "bundle (memory)",
                                  .data = data,
                                  .data_size = size,
                                  .defect = data ? NULL : "mts_bundle_open_memory: data is NULL"};
    return bundle_open(runtime, &source, out);
}

void mts_bundle_destroy(mts_bundle **bundle)
{
    if (!bundle || !*bundle) {
        return;
    }
    mts_bundle *dead = *bundle;
    *bundle = NULL;
    mts_archive_destroy(&dead->archive);
    mts_os_unmap(&dead->map);
    mts_alloc_free(&dead->runtime->allocator, dead->copy);
    mts_alloc_free(&dead->runtime->allocator, dead);
}

uint32_t mts_bundle_task_count(const mts_bundle *bundle)
{
    return bundle ? bundle->archive->task_count : 0;
}

static mts_status task_describe(const mts_archive *archive, uint32_t index, mts_task_desc *out,
                                mts_error *error)
{
    const mts_status status = mts_sized_check(out, sizeof *out, "mts_task_desc", error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (index >= archive->task_count) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND,
                        "the bundle has %" PRIu32 " tasks, there is no task %" PRIu32, archive->task_count,
                        index);
    }
    const mts_task *task = &archive->tasks[index];
    const mts_task_desc known = {
        .name = task->name,
        .input_count = task->graph->input_count,
        .output_count = task->graph->output_count,
        .takes_frames = mts_preprocess_takes_frames(&task->preprocess, task->graph) ? 1 : 0,
        .label_count = task->label_count,
        .labels = task->labels,
        .class_count = task->class_count,
        .class_map = task->class_map,
        .fit = (mts_fit)task->preprocess.fit,
        .filter = (mts_filter)task->preprocess.filter,
        .fill = {task->preprocess.fill[0], task->preprocess.fill[1], task->preprocess.fill[2]},
        .crop = {task->preprocess.crop[0], task->preprocess.crop[1], task->preprocess.crop[2],
                 task->preprocess.crop[3]},
    };
    mts_sized_write(out, &known);
    return MTS_STATUS_OK;
}

mts_status mts_bundle_task(const mts_bundle *bundle, uint32_t index, mts_task_desc *out)
{
    mts_error error = {0};
    if (!bundle) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    const mts_status status = task_describe(bundle->archive, index, out, &error);
    return mts_sink_report(&bundle->runtime->sink, status, &error);
}

static mts_status port_find(const mts_archive *archive, const char *task, bool output, uint32_t index,
                            const mts_port **out, mts_error *error)
{
    if (!task) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "the name of the task is NULL");
    }
    const uint32_t found = mts_archive_find(archive, task);
    if (found == MTS_NONE) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "the bundle has no task '%s'", task);
    }
    return mts_api_port(&archive->tasks[found], output, index, out, error);
}

static mts_status port_describe(const mts_bundle *bundle, const char *task, bool output, uint32_t index,
                                mts_port_desc *out)
{
    mts_error error = {0};
    const mts_port *port = NULL;
    if (!bundle) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    mts_status status = mts_sized_check(out, sizeof *out, "mts_port_desc", &error);
    MTS_TRY(status, port_find(bundle->archive, task, output, index, &port, &error));
    if (status == MTS_STATUS_OK) {
        mts_port_desc known = {.name = port->name, .type = (mts_type)port->dtype, .rank = port->shape.rank};
        memcpy(known.dims, port->shape.dims, sizeof known.dims);
        mts_sized_write(out, &known);
    }
    return mts_sink_report(&bundle->runtime->sink, status, &error);
}

mts_status mts_bundle_input(const mts_bundle *bundle, const char *task, uint32_t index, mts_port_desc *out)
{
    return port_describe(bundle, task, false, index, out);
}

mts_status mts_bundle_output(const mts_bundle *bundle, const char *task, uint32_t index, mts_port_desc *out)
{
    return port_describe(bundle, task, true, index, out);
}

static mts_status inspect(const void *bundle, mts_report report, mts_text *text, mts_error *error)
{
    const mts_bundle *self = bundle;
    return mts_archive_report(self->archive, (mts_report_kind)report, &self->runtime->allocator, text, error);
}

mts_status mts_bundle_inspect(const mts_bundle *bundle, mts_report report, char *buffer, size_t size,
                              size_t *needed)
{
    return mts_api_text(bundle ? bundle->runtime : NULL, inspect, bundle, report, buffer, size, needed);
}
