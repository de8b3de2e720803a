/*
 * session_run.c: frames into a session, starting a run and waiting for it.
 */
#include <inttypes.h>

#include "api/api.h"

static mts_code frame_set(mts_session *session, const char *name, const mts_frame *frame, mts_error *error)
{
    mts_picture picture;
    const uint32_t task = mts_api_session_task(session, name, error);
    if (task == MTS_NONE) {
        return error->code;
    }
    if (!frame) {
        return mts_fail(error, MTS_CODE_INVALID_ARGUMENT, "mts_session_input_frame: frame is NULL");
    }
    if (!session->separate_inputs && session->task_count > 1) {
        return mts_fail(
            error, MTS_CODE_INVALID_ARGUMENT,
            "the session's inputs are common: submit the frame, or create it with separate_inputs");
    }
    if (session->bundle->archive->tasks[task].preprocess.color == MTS_COLOR_NONE) {
        return mts_fail(error, MTS_CODE_INVALID_ARGUMENT,
                        "task '%s' takes no frames: it was compiled without a color, use mts_session_input",
                        name);
    }
    const mts_code code = mts_api_picture(frame, &picture, error);
    if (code != MTS_CODE_OK) {
        return code;
    }
    if (session->running) {
        return mts_fail(error, MTS_CODE_BUSY, "the previous run has not been waited for");
    }
    mts_waiter_settle(&session->runtime->waiter);
    return mts_engine_set_picture(session->engine, task, &picture, error);
}

mts_status mts_session_input_frame(mts_session *session, const char *task, const mts_frame *frame)
{
    mts_error error = {0};
    if (!session) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    const mts_code code = frame_set(session, task, frame, &error);
    return mts_api_report(&session->runtime->sink, code, &error);
}

static bool takes_frames(const mts_session *session)
{
    for (uint32_t i = 0; i < session->task_count; i++) {
        const mts_task *task = &session->bundle->archive->tasks[session->tasks[i]];
        if (mts_preprocess_takes_pictures(&task->preprocess, task->graph)) {
            return true;
        }
    }
    return false;
}

static mts_code run_start(mts_session *session, const mts_frame *frame, mts_error *error)
{
    mts_picture picture;
    mts_code code = MTS_CODE_OK;
    if (frame) {
        code = mts_api_picture(frame, &picture, error);
        if (code != MTS_CODE_OK) {
            return code;
        }
        if (!takes_frames(session)) {
            return mts_fail(error, MTS_CODE_INVALID_ARGUMENT,
                            "no task of this session takes frames: use mts_session_input and submit NULL");
        }
    }
    if (session->running) {
        return mts_fail(error, MTS_CODE_BUSY, "the previous run has not been waited for");
    }
    mts_waiter_settle(&session->runtime->waiter);
    if (frame) {
        code = mts_engine_set_picture(session->engine, MTS_NONE, &picture, error);
    }
    return code == MTS_CODE_OK ? mts_engine_submit(session->engine, error) : code;
}

mts_status mts_session_submit(mts_session *session, const mts_frame *frame, mts_ticket *ticket)
{
    mts_error error = {0};
    mts_code code = MTS_CODE_OK;
    if (!session) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    if (!ticket) {
        code = mts_fail(&error, MTS_CODE_INVALID_ARGUMENT, "mts_session_submit: ticket is NULL");
    } else {
        code = run_start(session, frame, &error);
    }
    if (code == MTS_CODE_OK) {
        session->ticket += 1;
        session->running = true;
        session->finished = false;
        *ticket = session->ticket;
    }
    return mts_api_report(&session->runtime->sink, code, &error);
}

mts_status mts_session_wait(mts_session *session, mts_ticket ticket, uint32_t timeout_ms)
{
    mts_error error = {0};
    mts_code code = MTS_CODE_OK;
    if (!session) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    if (ticket == 0 || ticket != session->ticket) {
        code = mts_fail(&error, MTS_CODE_INVALID_ARGUMENT,
                        "ticket %" PRIu64 " is not that of the last submission, %" PRIu64, ticket,
                        session->ticket);
        return mts_api_report(&session->runtime->sink, code, &error);
    }
    if (!session->running) {
        if (!session->finished) {
            code = mts_fail(&error, MTS_CODE_INVALID_ARGUMENT, "the run of ticket %" PRIu64 " has failed",
                            ticket);
        }
        return mts_api_report(&session->runtime->sink, code, &error);
    }
    if (timeout_ms != MTS_TIMEOUT_INFINITE &&
        mts_waiter_start(&session->runtime->waiter, &error) != MTS_CODE_OK) {
        return mts_api_report(&session->runtime->sink, error.code, &error);
    }
    if (timeout_ms != MTS_TIMEOUT_INFINITE || mts_waiter_holds(&session->runtime->waiter, &session->job)) {
        code = mts_waiter_wait(&session->runtime->waiter, &session->job, timeout_ms, &error);
    } else {
        mts_waiter_settle(&session->runtime->waiter);
        code = mts_engine_wait(session->engine, &error);
    }
    if (code != MTS_CODE_TIMEOUT) {
        session->running = false;
        session->finished = code == MTS_CODE_OK || code == MTS_CODE_CANCELLED;
    }
    return mts_api_report(&session->runtime->sink, code, &error);
}
