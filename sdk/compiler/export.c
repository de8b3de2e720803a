/*
 * export.c: mtsc_export and mtsc_export_stitched, one task or all tasks of a bundle as an
 * ONNX file, and mtsc_file_write, the writer of bundles and models for the files of a
 * program.
 */
#include "bundle/archive.h"
#include "compiler/emit/onnx.h"
#include "compiler/models/options.h"
#include "platform/os/os.h"

static mts_status export_task(const mts_archive *archive, const char *bundle_path, const char *name,
                              const char *onnx_path, mts_error *error)
{
    const mts_allocator *allocator = mts_allocator_default();
    const uint32_t task = mts_archive_find(archive, name);
    if (task == MTS_NONE) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "%s: there is no task '%.255s' in it", bundle_path,
                        name);
    }
    void *data = NULL;
    size_t size = 0;
    mts_status status = mts_onnx_export(archive->tasks[task].graph, allocator, &data, &size, error);
    if (status != MTS_STATUS_OK) {
        status = mts_fail_prefix(error, status, "%s: task '%s'", bundle_path, name);
    } else {
        status = mts_os_file_write(onnx_path, data, size, error);
    }
    mts_alloc_free(allocator, data);
    return status;
}

/* Per task and input: the first earlier task whose input it shares, or MTS_NONE. */
static mts_status find_inputs(const mts_archive *archive, bool separate, mts_arena *arena,
                              mts_onnx_task *tasks, mts_error *error)
{
    for (uint32_t t = 0; t < archive->task_count; t++) {
        const mts_graph *graph = archive->tasks[t].graph;
        uint32_t *input_of = mts_arena_zero(arena, graph->input_count, sizeof *input_of);
        if (!input_of) {
            return mts_fail_memory(error);
        }
        for (uint32_t i = 0; i < graph->input_count; i++) {
            input_of[i] = MTS_NONE;
            for (uint32_t o = 0; o < t && input_of[i] == MTS_NONE && !separate; o++) {
                input_of[i] = mts_archive_same_input(archive, o, t, i) ? o : MTS_NONE;
            }
        }
        tasks[t] = (mts_onnx_task){archive->tasks[t].name, graph, input_of};
    }
    return MTS_STATUS_OK;
}

static mts_status export_all(const mts_archive *archive, const char *bundle_path, bool separate,
                             const char *onnx_path, mts_error *error)
{
    const mts_allocator *allocator = mts_allocator_default();
    mts_arena arena;
    void *data = NULL;
    size_t size = 0;
    mts_arena_init(&arena, allocator);
    mts_onnx_task *tasks = mts_arena_zero(&arena, archive->task_count, sizeof *tasks);
    mts_status status = tasks ? find_inputs(archive, separate, &arena, tasks, error) : mts_fail_memory(error);
    MTS_TRY(status, mts_onnx_export_stitched(tasks, archive->task_count, archive->block_count, allocator,
                                             &data, &size, error));
    if (status != MTS_STATUS_OK) {
        status = mts_fail_prefix(error, status, "%s", bundle_path);
    } else {
        status = mts_os_file_write(onnx_path, data, size, error);
    }
    mts_alloc_free(allocator, data);
    mts_arena_release(&arena);
    return status;
}

/* task NULL: all of them. */
static mts_status export_bundle(const char *bundle_path, const char *task, bool separate,
                                const char *onnx_path, mts_error *error)
{
    mts_os_map map = {0};
    mts_archive *archive = NULL;
    mts_status status = mts_os_map_file(bundle_path, &map, error);
    MTS_TRY(status, mts_archive_read(map.size ? map.data : NULL, map.size, bundle_path, NULL,
                                     mts_allocator_default(), &archive, error));
    if (status == MTS_STATUS_OK) {
        status = task ? export_task(archive, bundle_path, task, onnx_path, error)
                      : export_all(archive, bundle_path, separate, onnx_path, error);
    }
    mts_archive_destroy(&archive);
    mts_os_unmap(&map);
    return status;
}

static bool has_text(const char *text)
{
    return text && *text;
}

mts_status mtsc_export(const char *bundle_path, const char *task, const char *onnx_path,
                       const mtsc_options *options)
{
    mtsc_options own;
    mts_error error = {0};
    mts_status status = mts_options_take(options, &own, &error);
    if (status == MTS_STATUS_OK && (!bundle_path || !task || !has_text(onnx_path))) {
        status =
            mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "export: a path or the task's name is missing");
    }
    MTS_TRY(status, export_bundle(bundle_path, task, true, onnx_path, &error));
    return mts_options_report(&own, status, &error);
}

mts_status mtsc_export_stitched(const char *bundle_path, const char *onnx_path, uint32_t separate_inputs,
                                const mtsc_options *options)
{
    mtsc_options own;
    mts_error error = {0};
    mts_status status = mts_options_take(options, &own, &error);
    if (status == MTS_STATUS_OK && (!bundle_path || !has_text(onnx_path))) {
        status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "export: a path is missing");
    }
    if (status == MTS_STATUS_OK && separate_inputs > 1) {
        status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "export: separate_inputs is 0 or 1, not %u",
                          separate_inputs);
    }
    MTS_TRY(status, export_bundle(bundle_path, NULL, separate_inputs == 1, onnx_path, &error));
    return mts_options_report(&own, status, &error);
}

mts_status mtsc_file_write(const char *path, const void *data, size_t size, const mtsc_options *options)
{
    mtsc_options own;
    mts_error error = {0};
    mts_status status = mts_options_take(options, &own, &error);
    if (status == MTS_STATUS_OK && (!path || !*path || (!data && size > 0))) {
        status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "file: the path or the data is missing");
    }
    MTS_TRY(status, mts_os_file_write(path, data, size, &error));
    return mts_options_report(&own, status, &error);
}
