/*
 * report.c: what public calls have in common: the status and its sentence, the session's
 * state, the task that a name stands for, a text for the caller's buffer. Not responsible
 * for what a call does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *mts_status_name(mts_status status)
{
    return mts_status_text(status);
}

const char *mts_version(void)
{
    return VERSION_TEXT(MTS_VERSION_MAJOR, MTS_VERSION_MINOR, MTS_VERSION_PATCH);
}

mts_status mts_api_session_report(const mts_session *session, mts_status status, const mts_error *error)
{
    return session ? mts_sink_report(&session->runtime->sink, status, error) : MTS_STATUS_INVALID_ARGUMENT;
}

mts_status mts_api_session_task(const mts_session *session, const char *name, uint32_t *task,
                                mts_error *error)
{
    if (!session || !name) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "the name of the task is NULL");
    }
    *task = mts_archive_find(mts_api_archive(session), name);
    for (uint32_t i = 0; *task != MTS_NONE && i < session->task_count; i++) {
        if (session->tasks[i] == *task) {
            return MTS_STATUS_OK;
        }
    }
    return mts_fail(error, MTS_STATUS_NOT_FOUND,
                    *task == MTS_NONE ? "the bundle has no task '%s'" : "this session does not run task '%s'",
                    name);
}

mts_status mts_api_session_free(const mts_session *session, mts_error *error)
{
    if (!session) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "the session is NULL");
    }
    return session->delivering
               ? mts_fail(error, MTS_STATUS_BUSY, "inside `done` only the outputs of the session can be read")
               : MTS_STATUS_OK;
}

mts_status mts_api_port(const mts_task *task, bool output, uint32_t index, const mts_port **port,
                        mts_error *error)
{
    const char *what = output ? "output" : "input";
    const uint32_t count = output ? task->graph->output_count : task->graph->input_count;
    if (index >= count) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "task '%s' has %" PRIu32 " %ss, there is no %s %" PRIu32,
                        task->name, count, what, what, index);
    }
    *port = output ? &task->graph->outputs[index] : &task->graph->inputs[index];
    return MTS_STATUS_OK;
}

mts_status mts_api_answer(const mts_runtime *runtime, void *out, const void *answer, size_t size,
                          const char *name)
{
    mts_error error = {0};
    const mts_status status = mts_sized_check(out, size, name, &error);
    if (status == MTS_STATUS_OK) {
        mts_sized_write(out, answer);
    }
    return mts_sink_report(&runtime->sink, status, &error);
}

static mts_status text_check(mts_report report, const char *buffer, size_t size, mts_error *error)
{
    if ((uint32_t)report > MTS_REPORT_DOT) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "unknown kind of report %d", (int)report);
    }
    return !buffer && size > 0 ? mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                                          "the buffer of the report is NULL, but its size is %zu", size)
                               : MTS_STATUS_OK;
}

static mts_status text_out(const mts_text *text, char *buffer, size_t size, size_t *needed, mts_error *error)
{
    if (text->failed) {
        return mts_fail_memory(error);
    }
    const size_t bytes = text->length + 1;
    if (needed) {
        *needed = bytes;
    }
    if (size > 0) {
        const size_t copied = bytes < size ? bytes : size;
        memcpy(buffer, mts_text_get(text), copied);
        buffer[copied - 1] = '\0';
    }
    if (bytes > size) {
        return mts_fail(error, MTS_STATUS_LIMIT, "the report has %zu bytes, the buffer %zu", bytes, size);
    }
    return MTS_STATUS_OK;
}

mts_status mts_api_text(const mts_runtime *runtime, mts_api_text_writer *write, const void *object,
                        mts_report report, char *buffer, size_t size, size_t *needed)
{
    mts_error error = {0};
    mts_text text;
    if (!runtime) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    mts_text_init(&text, &runtime->allocator);
    mts_status status = text_check(report, buffer, size, &error);
    MTS_TRY(status, write(object, report, &text, &error));
    MTS_TRY(status, text_out(&text, buffer, size, needed, &error));
    mts_text_release(&text);
    return mts_sink_report(&runtime->sink, status, &error);
}
