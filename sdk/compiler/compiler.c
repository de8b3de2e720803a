/*
 * compiler.c: the compiler handle, its options, and the way of failures to the caller.
 */
#include "compiler/compiler.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void caller_log(void *context, mts_log_severity level, const char *text)
{
    const mtsc_options *options = context;
    options->log(options->context, (mts_log_severity)level, text);
}

mts_status mts_compiler_progress(const mtsc_options *options, float fraction, const char *what,
                                 mts_error *error)
{
    if (options->progress && options->progress(options->context, fraction, what) != 0) {
        return mts_fail(error, MTS_STATUS_CANCELLED, "cancelled while %s", what);
    }
    return MTS_STATUS_OK;
}

mts_status mts_compiler_report(const mtsc_options *options, mts_status code, const mts_error *error)
{
    if (code == MTS_STATUS_OK) {
        return MTS_STATUS_OK;
    }
    const char *text = error->text[0] ? error->text : mts_status_text(code);
    if (options->error_text && options->error_size > 0) {
        (void)snprintf(options->error_text, options->error_size, "%s", text);
    }
    if (options->log) {
        options->log(options->context, MTS_LOG_ERROR, text);
    }
    return (mts_status)code;
}

const char *mts_compiler_options_defect(const mtsc_options *options)
{
    if (!(options->tolerance >= 0.0f) || !isfinite(options->tolerance)) {
        return "compiler options: tolerance is not a number from 0 up";
    }
    if (options->error_size > 0 && !options->error_text) {
        return "compiler options: error_size without error_text";
    }
    return NULL;
}

void mts_compiler_drop_tasks(mtsc_compiler *compiler, size_t count)
{
    while (compiler->count > count) {
        mts_compiler_task *last = &compiler->tasks[--compiler->count];
        mts_arena_release(last->arena);
        mts_alloc_free(compiler->allocator, last->arena);
        memset(last, 0, sizeof(*last));
    }
}

void mtsc_options_default(mtsc_options *options)
{
    if (options) {
        memset(options, 0, sizeof(*options));
        options->size = sizeof(*options);
    }
}

void mtsc_task_default(mtsc_task *task)
{
    if (task) {
        memset(task, 0, sizeof(*task));
        task->size = sizeof(*task);
        for (int i = 0; i < 4; i++) {
            task->std[i] = 1.0f;
        }
    }
}

mts_status mtsc_compiler_create(const mtsc_options *options, mtsc_compiler **out)
{
    mtsc_options defaults;
    mts_error error = {0};
    if (!out) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    *out = NULL;
    mtsc_options_default(&defaults);
    options = options ? options : &defaults;
    if (options->size != sizeof(*options)) {
        return MTS_STATUS_INVALID_ARGUMENT; /* where its error text lies is not known either */
    }
    const char *defect = mts_compiler_options_defect(options);
    if (defect) {
        const mts_status code = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "%s", defect);
        return mts_compiler_report(options, code, &error);
    }
    const mts_allocator *allocator = mts_allocator_default();
    mtsc_compiler *compiler = mts_alloc_zero(allocator, 1, sizeof(*compiler));
    if (!compiler) {
        const mts_status code = mts_fail_memory(&error);
        return mts_compiler_report(options, code, &error);
    }
    compiler->allocator = allocator;
    compiler->options = *options;
    compiler->log = (mts_log){&compiler->options, options->log ? caller_log : NULL};
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
    mts_status code = MTS_STATUS_OK;
    if (!task || task->size != sizeof(*task)) {
        code = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT,
                        "task: `size` is not that of this library; use mtsc_task_default");
    } else {
        code = mts_compiler_add_task(compiler, task, MTS_COMPILER_LAYOUT_AUTO, &error);
    }
    return mts_compiler_report(&compiler->options, code, &error);
}

mts_status mtsc_compiler_add_config(mtsc_compiler *compiler, const char *path)
{
    mts_error error = {0};
    if (!compiler) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    if (!path) {
        const mts_status code = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "no path of a task list");
        return mts_compiler_report(&compiler->options, code, &error);
    }
    const size_t before = compiler->count;
    const mts_status code = mts_compiler_read_config(compiler, path, &error);
    if (code != MTS_STATUS_OK) {
        mts_compiler_drop_tasks(compiler, before);
    }
    return mts_compiler_report(&compiler->options, code, &error);
}
