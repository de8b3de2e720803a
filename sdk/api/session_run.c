/*
 * session_run.c: frames into a session, and starting a run. Its end is session_flow.c's.
 */
#include "api/api.h"

static mts_status frame_set(mts_session *session, const char *name, const mts_frame *frame, mts_error *error)
{
    mts_frame_view view;
    uint32_t task = 0;
    mts_status status = mts_api_session_task(session, name, &task, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (!frame) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "mts_session_input_frame: frame is NULL");
    }
    if (!session->separate_inputs && session->task_count > 1) {
        return mts_fail(
            error, MTS_STATUS_INVALID_ARGUMENT,
            "the session's inputs are common: submit the frame, or create it with separate_inputs");
    }
    if (mts_api_archive(session)->tasks[task].preprocess.color == MTS_COLOR_NONE) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "task '%s' takes no frames: it was compiled without a color, use mts_session_input",
                        name);
    }
    MTS_TRY(status, mts_frame_view_make(frame, &view, error));
    MTS_TRY(status, mts_pipeline_set_frame(session->pipeline, task, &view, error));
    return status;
}

mts_status mts_session_input_frame(mts_session *session, const char *task, const mts_frame *frame)
{
    mts_error error = {0};
    mts_status status = mts_api_session_free(session, &error);
    MTS_TRY(status, frame_set(session, task, frame, &error));
    return mts_api_session_report(session, status, &error);
}

static bool takes_frames(const mts_session *session)
{
    for (uint32_t i = 0; i < session->task_count; i++) {
        const mts_task *task = &mts_api_archive(session)->tasks[session->tasks[i]];
        if (mts_preprocess_takes_frames(&task->preprocess, task->graph)) {
            return true;
        }
    }
    return false;
}

static mts_status submit_frame(mts_session *session, const mts_frame *frame, mts_engine_drop *dropped,
                               mts_error *error)
{
    mts_frame_view view;
    mts_status status = mts_frame_view_make(frame, &view, error);
    if (status == MTS_STATUS_OK && !takes_frames(session)) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "no task of this session takes frames: use mts_session_input and submit NULL");
    }
    MTS_TRY(status, mts_api_session_make_room(session, mts_pipeline_has_slot, error));
    return status == MTS_STATUS_OK ? mts_pipeline_submit_frame(session->pipeline, &view, dropped, error)
                                   : status;
}

/* Inputs as they are cannot wait: the run needs a place on the device. */
static mts_status submit_inputs(mts_session *session, mts_engine_drop *dropped, mts_error *error)
{
    const mts_status status = mts_api_session_make_room(session, mts_pipeline_can_start, error);
    if (status == MTS_STATUS_OK && session->when_full == MTS_WHEN_FULL_DROP_OLDEST &&
        !mts_pipeline_has_slot(session->pipeline) && mts_pipeline_can_start_by_drop(session->pipeline)) {
        (void)mts_pipeline_drop_oldest(session->pipeline, dropped);
    }
    return status == MTS_STATUS_OK ? mts_pipeline_submit(session->pipeline, error) : status;
}

mts_status mts_session_submit(mts_session *session, const mts_frame *frame, mts_ticket *ticket)
{
    mts_error error = {0};
    mts_engine_drop dropped = {0};
    mts_status status = mts_api_session_free(session, &error);
    if (status == MTS_STATUS_OK && !ticket) {
        status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "mts_session_submit: ticket is NULL");
    }
    if (status == MTS_STATUS_OK) {
        mts_api_session_deliver(session);
#ifndef MTS_SMALL
        mts_api_session_change(session);
#endif
        status =
            frame ? submit_frame(session, frame, &dropped, &error) : submit_inputs(session, &dropped, &error);
    }
    if (status == MTS_STATUS_OK) {
        mts_api_session_count(session);
        *ticket = session->ticket;
    }
    if (dropped.run != 0) {
        mts_api_session_dropped(session, dropped.run, dropped.status);
    }
    return mts_api_session_report(session, status, &error);
}
