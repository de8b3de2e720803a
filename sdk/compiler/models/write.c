/*
 * write.c: see write.h. Copies of all tasks, discovery, bytes, and the file.
 */
#include "compiler/models/write.h"

#include "base/sized.h"
#include "compiler/models/bundle.h"
#include "compiler/models/options.h"
#include "compiler/passes/clone.h"
#include "compiler/passes/discover.h"
#include "compiler/passes/siblings.h"

/* The tasks with graphs of their own, so that they can be written more than once. */
static mts_status make_archive(const mts_task *tasks, size_t count, const mts_allocator *allocator,
                               mts_archive **out, mts_error *error)
{
    mts_archive *archive = mts_archive_create(allocator);
    *out = archive;
    if (archive) {
        archive->tasks = mts_arena_zero(&archive->arena, count, sizeof(*archive->tasks));
    }
    if (!archive || !archive->tasks) {
        return mts_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        mts_task *task = &archive->tasks[i];
        *task = tasks[i];
        task->graph = mts_graph_clone(task->graph, &archive->arena);
        if (!task->graph) {
            return mts_fail_memory(error);
        }
        mts_graph_sort_siblings(task->graph);
        archive->task_count++;
    }
    return MTS_STATUS_OK;
}

static void summarize(const mts_archive *archive, const mts_discover_report *report, mtsc_summary *summary)
{
    mtsc_summary all = {.tasks = archive->task_count,
                        .families = report->families,
                        .blocks = archive->block_count,
                        .weights_bytes = report->bytes,
                        .weights_bytes_unshared = report->bytes_unshared,
                        .deviation = report->deviation};
    for (uint32_t t = 0; t < archive->task_count; t++) {
        all.nodes += archive->tasks[t].graph->node_count;
    }
    mts_sized_write(summary, &all);
}

static mts_status write_archive(mts_archive *archive, const mtsc_options *options, const char *path,
                                mts_discover_report *report, mts_error *error)
{
    const mts_discover_options discover = {.tolerance = options->tolerance};
    mts_status status = mts_discover(archive, &discover, report, error);
    if (path) {
        MTS_TRY(status, mts_options_progress(options, 0.6f, "writing the bundle", error));
        MTS_TRY(status, mts_bundle_write(archive, path, archive->arena.allocator, error));
    }
    return status;
}

mts_status mts_tasks_write(const mts_task *tasks, size_t count, const mtsc_options *options, const char *path,
                           const mts_allocator *allocator, mtsc_summary *summary, mts_error *error)
{
    mts_archive *archive = NULL;
    mts_discover_report report = {0};
    mts_status status = mts_options_progress(options, 0.0f, "looking for shared weights", error);
    MTS_TRY(status, make_archive(tasks, count, allocator, &archive, error));
    MTS_TRY(status, write_archive(archive, options, path, &report, error));
    if (status == MTS_STATUS_OK && summary) {
        summarize(archive, &report, summary);
    }
    mts_archive_destroy(&archive);
    return status;
}
