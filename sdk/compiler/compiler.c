/*
 * compiler.c: the compiler handle: its tasks, and writing them.
 */
#include "compiler/compiler.h"

#include <string.h>

#include "base/sized.h"
#include "compiler/models/options.h"
#include "compiler/models/write.h"

static void caller_log(void *context, mts_log_severity severity, const char *text)
{
    const mtsc_options *options = context;
    options->log(options->context, severity, text);
}

void mtsc_options_default_sized(mtsc_options *options, size_t size)
{
    const mtsc_options defaults = {.size = sizeof(mtsc_options)};
    mts_sized_default(options, size, &defaults);
}

mts_status mtsc_compiler_create(const mtsc_options *options, mtsc_compiler **out)
{
    mtsc_options own;
    mts_error error = {0};
    if (!out) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    *out = NULL;
    const mts_allocator *allocator = mts_allocator_default();
    mtsc_compiler *compiler = NULL;
    mts_status status = mts_options_take(options, &own, &error);
    if (status == MTS_STATUS_OK) {
        compiler = mts_alloc_zero(allocator, 1, sizeof *compiler);
        status = compiler ? MTS_STATUS_OK : mts_fail_memory(&error);
    }
    if (!compiler) {
        return mts_options_report(&own, status, &error);
    }
    compiler->allocator = allocator;
    compiler->options = own;
    compiler->log = (mts_log){&compiler->options, own.log ? caller_log : NULL};
    *out = compiler;
    return MTS_STATUS_OK;
}

void mtsc_compiler_destroy(mtsc_compiler **compiler)
{
    if (!compiler || !*compiler) {
        return;
    }
    const mts_allocator *allocator = (*compiler)->allocator;
    mts_compiler_drop_tasks(*compiler, 0);
    mts_alloc_free(allocator, (*compiler)->tasks);
    mts_alloc_free(allocator, *compiler);
    *compiler = NULL;
}

mts_status mtsc_compiler_add(mtsc_compiler *compiler, const mtsc_task *task)
{
    mts_error error = {0};
    if (!compiler) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    mtsc_task own;
    mtsc_task_default(&own);
    mts_status status = mts_sized_read(&own, sizeof own, task, "mtsc_task", &error);
    MTS_TRY(status, mts_compiler_add_task(compiler, &own, MTS_COMPILER_LAYOUT_AUTO, &error));
    return mts_options_report(&compiler->options, status, &error);
}

mts_status mtsc_compiler_add_config(mtsc_compiler *compiler, const char *path)
{
    mts_error error = {0};
    if (!compiler) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    if (!path) {
        const mts_status status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "no path of a task list");
        return mts_options_report(&compiler->options, status, &error);
    }
    const size_t before = compiler->count;
    const mts_status status = mts_compiler_read_config(compiler, path, &error);
    if (status != MTS_STATUS_OK) {
        mts_compiler_drop_tasks(compiler, before);
    }
    return mts_options_report(&compiler->options, status, &error);
}

static mts_status write_bundle(const mtsc_compiler *compiler, const char *path, mtsc_summary *summary,
                               mts_error *error)
{
    if (!path || !*path) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "the path of the bundle to write is missing");
    }
    const mts_status sized =
        summary ? mts_sized_check(summary, sizeof *summary, "mtsc_summary", error) : MTS_STATUS_OK;
    if (sized != MTS_STATUS_OK) {
        return sized;
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
    const mts_status status = mts_tasks_write(tasks, compiler->count, &compiler->options, path,
                                              compiler->allocator, summary, error);
    mts_alloc_free(compiler->allocator, tasks);
    return status;
}

mts_status mtsc_compiler_write(mtsc_compiler *compiler, const char *path, mtsc_summary *summary)
{
    mts_error error = {0};
    if (!compiler) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    const mts_status status = write_bundle(compiler, path, summary, &error);
    return mts_options_finish(&compiler->options, status, &error);
}
