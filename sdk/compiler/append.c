/*
 * append.c: mtsc_append: two bundles, or a bundle and a patch, as one bundle; or the patch
 * that leads from one to the other.
 */
#include "base/sized.h"
#include "bundle/join.h"
#include "compiler/models/options.h"
#include "compiler/models/patch.h"
#include "platform/os/os.h"

typedef struct appending {
    const mts_allocator *allocator;
    mts_os_map maps[2];
    mts_archive *archives[2];
    mts_archive *joined;
    mts_bundle_bytes made, patch;
    mtsc_append_report report;
} appending;

static mts_patch_file file_of(const mts_os_map *map, const char *path)
{
    return (mts_patch_file){.data = map->size ? map->data : NULL, .size = map->size, .name = path};
}

/* Maps both files, and reads the first, which is a bundle. */
static mts_status open_files(appending *a, const char *base, const char *extra, mts_error *error)
{
    mts_status status = mts_os_map_file(base, &a->maps[0], error);
    MTS_TRY(status, mts_os_map_file(extra, &a->maps[1], error));
    if (status == MTS_STATUS_OK && mts_patch_is(a->maps[0].data, a->maps[0].size)) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "%s: is a patch; name the bundle first, and the patch behind it", base);
    }
    MTS_TRY(status, mts_archive_read(a->maps[0].size ? a->maps[0].data : NULL, a->maps[0].size, base, NULL,
                                     a->allocator, &a->archives[0], error));
    return status;
}

static mts_status join(appending *a, const char *extra, mts_error *error)
{
    mts_status status = mts_archive_read(a->maps[1].size ? a->maps[1].data : NULL, a->maps[1].size, extra,
                                         NULL, a->allocator, &a->archives[1], error);
    MTS_TRY(status, mts_archive_join(a->archives[0], a->archives[1], MTS_JOIN_REFUSE, a->allocator,
                                     &a->joined, error));
    MTS_TRY(status, mts_bundle_encode(a->joined, a->allocator, &a->made, error));
    return status;
}

static mts_status apply(appending *a, const char *base, const char *extra, mts_error *error)
{
    const mts_patch_file from = file_of(&a->maps[0], base);
    const mts_patch_file patch = file_of(&a->maps[1], extra);
    mts_status status = mts_patch_apply(&from, &patch, a->allocator, &a->made, error);
    MTS_TRY(status, mts_archive_read(a->made.data, a->made.size, "the result", NULL, a->allocator, &a->joined,
                                     error));
    return status;
}

static mts_status make_patch(appending *a, const char *base, mts_error *error)
{
    const mts_patch_file from = file_of(&a->maps[0], base);
    const mts_patch_file to = {.data = a->made.data, .size = a->made.size, .name = "the result"};
    return mts_patch_make(&from, &to, a->allocator, &a->patch, NULL, error);
}

static uint32_t more(uint32_t count, uint32_t before)
{
    return count > before ? count - before : 0;
}

static void describe(appending *a)
{
    const mts_archive *base = a->archives[0];
    a->report.size = sizeof a->report;
    a->report.tasks = a->joined->task_count;
    /* a patch may lead to a bundle that has less */
    a->report.tasks_added = more(a->joined->task_count, base->task_count);
    a->report.blocks_added = more(a->joined->block_count, base->block_count);
    for (uint32_t i = base->block_count; i < a->joined->block_count; i++) {
        a->report.weights_added += a->joined->blocks[i].size;
    }
    a->report.base_bytes = a->maps[0].size;
    a->report.result_bytes = a->made.size;
    a->report.written_bytes = a->patch.size ? a->patch.size : a->made.size;
}

static mts_status check_output(const char *base, const char *extra, const char *output, mts_error *error)
{
    if (!base || !*base || !extra || !*extra || !output || !*output) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "append: a path is missing");
    }
    if (mts_os_file_same(base, output) || mts_os_file_same(extra, output)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s: is a file that is read; write another file",
                        output);
    }
    return MTS_STATUS_OK;
}

static mts_status append(appending *a, const char *base, const char *extra, bool patch, mts_error *error)
{
    mts_status status = open_files(a, base, extra, error);
    const bool is_patch = status == MTS_STATUS_OK && mts_patch_is(a->maps[1].data, a->maps[1].size);
    if (is_patch && patch) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s: is a patch already", extra);
    }
    MTS_TRY(status, is_patch ? apply(a, base, extra, error) : join(a, extra, error));
    MTS_TRY(status, patch ? make_patch(a, base, error) : MTS_STATUS_OK);
    return status;
}

static void release(appending *a)
{
    mts_bundle_bytes_release(&a->patch);
    mts_bundle_bytes_release(&a->made);
    mts_archive_destroy(&a->joined);
    for (int i = 0; i < 2; i++) {
        mts_archive_destroy(&a->archives[i]);
        mts_os_unmap(&a->maps[i]);
    }
}

mts_status mtsc_append(const char *bundle_path, const char *extra_path, const char *output_path,
                       uint32_t patch, const mtsc_options *options, mtsc_append_report *report)
{
    mtsc_options own;
    mts_error error = {0};
    appending a = {.allocator = mts_allocator_default()};
    a.made.allocator = a.patch.allocator = a.allocator;
    mts_status status = mts_options_take(options, &own, &error);
    if (report) {
        MTS_TRY(status, mts_sized_check(report, sizeof *report, "mtsc_append_report", &error));
    }
    if (status == MTS_STATUS_OK && patch > 1) {
        status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "append: patch is 0 or 1, not %u", patch);
    }
    MTS_TRY(status, check_output(bundle_path, extra_path, output_path, &error));
    MTS_TRY(status, append(&a, bundle_path, extra_path, patch == 1, &error));
    if (status == MTS_STATUS_OK) {
        const mts_bundle_bytes *bytes = patch == 1 ? &a.patch : &a.made;
        describe(&a);
        status = mts_os_file_write(output_path, bytes->data, bytes->size, &error);
    }
    if (status == MTS_STATUS_OK && report) {
        mts_sized_write(report, &a.report);
    }
    release(&a);
    return mts_options_report(&own, status, &error);
}
