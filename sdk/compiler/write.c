/*
 * write.c: mtsc_compiler_write, and what every method writes with: copies of all tasks, discovery, bytes, and
 * the file.
 */
#include "compiler/compiler.h"
#include "compiler/emit/file.h"
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
    summary->tasks = archive->task_count;
    summary->families = report->families;
    summary->blocks = archive->block_count;
    summary->nodes = 0;
    for (uint32_t t = 0; t < archive->task_count; t++) {
        summary->nodes += archive->tasks[t].graph->node_count;
    }
    summary->weights_bytes = report->bytes;
    summary->weights_bytes_unshared = report->bytes_unshared;
    summary->deviation = report->deviation;
}

static mts_status write_archive(mts_archive *archive, const mtsc_options *options, const char *path,
                                mts_discover_report *report, mts_error *error)
{
    const mts_discover_options discover = {.tolerance = options->tolerance};
    mts_status code = mts_discover(archive, &discover, report, error);
    MTS_TRY(code, mts_compiler_progress(options, 0.6f, "writing the bundle", error));
    MTS_TRY(code, mts_bundle_write(archive, path, archive->arena.allocator, error));
    return code;
}

mts_status mts_compiler_write_tasks(const mts_task *tasks, size_t count, const mtsc_options *options,
                                    const char *path, const mts_allocator *allocator, mtsc_summary *summary,
                                    mts_error *error)
{
    mts_archive *archive = NULL;
    mts_discover_report report = {0};
    mts_status code = mts_compiler_progress(options, 0.0f, "looking for shared weights", error);
    MTS_TRY(code, make_archive(tasks, count, allocator, &archive, error));
    MTS_TRY(code, write_archive(archive, options, path, &report, error));
    if (code == MTS_STATUS_OK && summary) {
        summarize(archive, &report, summary);
    }
    mts_archive_destroy(&archive);
    return code;
}

static mts_status write_bundle(const mtsc_compiler *compiler, const char *path, mtsc_summary *summary,
                               mts_error *error)
{
    if (!path || !*path || (summary && summary->size != sizeof(*summary))) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "no path, or a summary whose size is not set");
    }
    if (compiler->count == 0) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "there is no task to write");
    }
    mts_task *tasks = mts_alloc_zero(compiler->allocator, compiler->count, sizeof(*tasks));
    if (!tasks) {
        return mts_fail_memory(error);
    }
    for (size_t i = 0; i < compiler->count; i++) {
        tasks[i] = compiler->tasks[i].task;
    }
    const mts_status code = mts_compiler_write_tasks(tasks, compiler->count, &compiler->options, path,
                                                     compiler->allocator, summary, error);
    mts_alloc_free(compiler->allocator, tasks);
    return code;
}

mts_status mtsc_compiler_write(mtsc_compiler *compiler, const char *path, mtsc_summary *summary)
{
    mts_error error = {0};
    if (!compiler) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    const mts_status code = write_bundle(compiler, path, summary, &error);
    if (code == MTS_STATUS_OK) {
        (void)mts_compiler_progress(&compiler->options, 1.0f, "done", NULL);
    }
    return mts_compiler_report(&compiler->options, code, &error);
}
