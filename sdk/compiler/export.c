/*
 * export.c: mtsc_export, one task of a bundle as a plain ONNX file, and mtsc_file_write, the writer
 * of bundles and models for the files of a program.
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

static mts_status export_bundle(const char *bundle_path, const char *task, const char *onnx_path,
                                mts_error *error)
{
    if (!bundle_path || !task || !onnx_path || !*onnx_path) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "export: a path or the task's name is missing");
    }
    mts_os_map map = {0};
    mts_archive *archive = NULL;
    mts_status status = mts_os_map_file(bundle_path, &map, error);
    MTS_TRY(status, mts_archive_read(map.size ? map.data : NULL, map.size, bundle_path, NULL,
                                     mts_allocator_default(), &archive, error));
    MTS_TRY(status, export_task(archive, bundle_path, task, onnx_path, error));
    mts_archive_destroy(&archive);
    mts_os_unmap(&map);
    return status;
}

mts_status mtsc_export(const char *bundle_path, const char *task, const char *onnx_path,
                       const mtsc_options *options)
{
    mtsc_options own;
    mts_error error = {0};
    mts_status status = mts_options_take(options, &own, &error);
    MTS_TRY(status, export_bundle(bundle_path, task, onnx_path, &error));
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
