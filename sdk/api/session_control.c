/*
 * session_control.c: which tasks of a session run, how often and until when. Settings
 * hold from the next submission; none of these calls touches the device or waits.
 */
#include <inttypes.h>

#include "api/api.h"
#include "engine/control.h"

mts_status mts_session_enable(mts_session *session, const char *task, uint32_t enabled)
{
    mts_error error = {0};
    uint32_t index = 0;
    mts_status status = mts_api_session_task(session, task, &index, &error);
    MTS_TRY(status, mts_check_flag("mts_session_enable", "enabled", enabled, &error));
    MTS_TRY(status, mts_pipeline_enable(session->pipeline, index, enabled != 0, &error));
    return mts_api_session_report(session, status, &error);
}

mts_status mts_session_rate(mts_session *session, const char *task, uint32_t every)
{
    mts_error error = {0};
    uint32_t index = 0;
    mts_status status = mts_api_session_task(session, task, &index, &error);
    MTS_TRY(status, mts_pipeline_rate(session->pipeline, index, every, &error));
    return mts_api_session_report(session, status, &error);
}

mts_status mts_session_rate_hz(mts_session *session, const char *task, double hz)
{
    mts_error error = {0};
    uint32_t index = 0;
    mts_status status = mts_api_session_task(session, task, &index, &error);
    MTS_TRY(status, mts_pipeline_rate_hz(session->pipeline, index, hz, &error));
    return mts_api_session_report(session, status, &error);
}

mts_status mts_session_output_ticket(const mts_session *session, const char *task, mts_ticket *ticket)
{
    mts_error error = {0};
    uint32_t index = 0;
    mts_status status = mts_api_session_task(session, task, &index, &error);
    if (status == MTS_STATUS_OK && !ticket) {
        status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "mts_session_output_ticket: ticket is NULL");
    }
    MTS_TRY(status, mts_pipeline_output_run(session->pipeline, index, ticket, &error));
    return mts_api_session_report(session, status, &error);
}

mts_status mts_session_deadline(mts_session *session, uint32_t ms)
{
    if (!session) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    mts_pipeline_deadline(session->pipeline, ms);
    return MTS_STATUS_OK;
}

mts_status mts_session_cancel(mts_session *session, mts_ticket ticket)
{
    mts_error error = {0};
    mts_status status = mts_api_session_free(session, &error);
    if (status == MTS_STATUS_OK && mts_pipeline_withdraw(session->pipeline, ticket)) {
        mts_api_session_dropped(session, ticket, MTS_STATUS_CANCELLED);
    } else if (status == MTS_STATUS_OK && !mts_pipeline_cancel(session->pipeline, ticket)) {
        status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT,
                          "ticket %" PRIu64 " does not name a run in flight", ticket);
    }
    return mts_api_session_report(session, status, &error);
}
