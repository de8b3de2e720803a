/*
 * session_flow.c: runs of a session from their submission until the caller has their
 * outputs: a free slot for the next one, `done`, poll and wait, and what became of all of
 * them. Not responsible for starting a run (session_run.c).
 */
#include <inttypes.h>
#include <string.h>

#include "api/api.h"
#include "engine/control.h"

void mts_api_session_count(mts_session *session)
{
    session->ticket++;
    session->drops <<= 1;
    session->flow.submitted++;
}

static void notify(mts_session *session, mts_ticket ticket, mts_status status)
{
    if (session->done) {
        session->delivering = true;
        session->done(session->context, ticket, status);
        session->delivering = false;
    }
}

void mts_api_session_dropped(mts_session *session, mts_ticket ticket, mts_status status)
{
    const uint64_t age = session->ticket - ticket;
    session->drops |= age < 64 ? (uint64_t)1 << age : 0;
    session->flow.dropped += status == MTS_STATUS_CANCELLED ? 1 : 0;
    session->flow.failed += status == MTS_STATUS_CANCELLED ? 0 : 1;
    notify(session, ticket, status);
}

static bool was_dropped(const mts_session *session, mts_ticket ticket)
{
    const uint64_t age = session->ticket - ticket;
    return age < 64 && (session->drops >> age & 1u) != 0;
}

/* Takes the oldest run, which has finished. A failure is reported before `done` is
   called. */
static mts_status consume(mts_session *session)
{
    mts_error error = {0};
    mts_engine_run run = {0};
    (void)mts_pipeline_oldest(session->pipeline, &run);
    const mts_status end = mts_pipeline_take(session->pipeline, &error);
    const bool well = end == MTS_STATUS_OK || end == MTS_STATUS_CANCELLED;
    session->consumed = run.number;
    session->end = end;
    session->flow.completed += well ? 1 : 0;
    session->flow.failed += well ? 0 : 1;
    const mts_status status = mts_sink_report(&session->runtime->sink, end, &error);
    notify(session, run.number, status);
    return status;
}

static bool is_finished(const mts_session *session)
{
    mts_engine_run run = {0};
    return mts_pipeline_oldest(session->pipeline, &run) && run.finished;
}

void mts_api_session_deliver(mts_session *session)
{
    mts_pipeline_advance(session->pipeline);
    while (session->done && is_finished(session)) {
        (void)consume(session);
    }
}

mts_status mts_api_session_make_room(mts_session *session, bool (*has_room)(const mts_pipeline *pipeline),
                                     mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    while (status == MTS_STATUS_OK && session->when_full == MTS_WHEN_FULL_BLOCK &&
           !has_room(session->pipeline)) {
        status = mts_pipeline_wait_until(session->pipeline, UINT64_MAX, error);
        mts_api_session_deliver(session);
    }
    return status; /* without BLOCK the engine drops a frame or refuses the new one */
}

void mts_api_session_abandon(mts_session *session)
{
    mts_engine_drop dropped = {0};
    mts_pipeline_stop(session->pipeline);
    while (mts_pipeline_drop_oldest(session->pipeline, &dropped)) {
        mts_api_session_dropped(session, dropped.run, dropped.status);
    }
}

mts_status mts_session_poll(mts_session *session, mts_ticket *ticket)
{
    mts_error error = {0};
    mts_status status = mts_api_session_free(session, &error);
    if (status == MTS_STATUS_OK && !ticket) {
        status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "mts_session_poll: ticket is NULL");
    }
    if (status != MTS_STATUS_OK) {
        return mts_api_session_report(session, status, &error);
    }
    mts_pipeline_advance(session->pipeline);
    if (!is_finished(session)) { /* no failures: they leave no sentence */
        return mts_pipeline_in_flight(session->pipeline) > 0 ? MTS_STATUS_BUSY : MTS_STATUS_NOT_FOUND;
    }
    do {
        status = consume(session);
        *ticket = session->consumed;
    } while (session->done && is_finished(session));
    return status;
}

/* Of a run that is over: what became of it. */
static mts_status outcome(const mts_session *session, mts_ticket ticket, mts_error *error)
{
    if (ticket == session->consumed) {
        return session->end == MTS_STATUS_OK
                   ? MTS_STATUS_OK
                   : mts_fail(error, session->end, "the run of ticket %" PRIu64 " %s", ticket,
                              session->end == MTS_STATUS_CANCELLED ? "was cancelled" : "has failed");
    }
    return was_dropped(session, ticket)
               ? mts_fail(error, MTS_STATUS_CANCELLED, "the frame of ticket %" PRIu64 " was dropped", ticket)
               : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "the run of ticket %" PRIu64 " is over, and not the last one that was consumed",
                          ticket);
}

/* Takes runs in their order up to the one that is asked for. */
static mts_status wait_for(mts_session *session, mts_ticket ticket, uint64_t until)
{
    mts_error error = {0};
    mts_status status = MTS_STATUS_OK;
    while (status == MTS_STATUS_OK && mts_pipeline_holds(session->pipeline, ticket)) {
        status = mts_pipeline_wait_until(session->pipeline, until, &error);
        if (status == MTS_STATUS_OK) {
            const mts_status end = consume(session);
            if (session->consumed == ticket) {
                return end;
            }
        }
    }
    MTS_TRY(status, outcome(session, ticket, &error));
    return mts_sink_report(&session->runtime->sink, status, &error);
}

mts_status mts_session_wait(mts_session *session, mts_ticket ticket, uint32_t timeout_ms)
{
    mts_error error = {0};
    const uint64_t until =
        timeout_ms == MTS_TIMEOUT_INFINITE ? UINT64_MAX : mts_os_clock_ns() + (uint64_t)timeout_ms * 1000000u;
    mts_status status = mts_api_session_free(session, &error);
    if (status == MTS_STATUS_OK && (ticket == 0 || ticket > session->ticket)) {
        status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT,
                          "no submission has ticket %" PRIu64 "; the last one is %" PRIu64, ticket,
                          session->ticket);
    }
    return status == MTS_STATUS_OK ? wait_for(session, ticket, until)
                                   : mts_api_session_report(session, status, &error);
}

mts_status mts_session_flow(const mts_session *session, mts_flow *flow)
{
    if (!session) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    mts_flow known = session->flow;
    known.in_flight = mts_pipeline_in_flight(session->pipeline);
    return mts_api_answer(session->runtime, flow, &known, sizeof known, "mts_flow");
}

mts_status mts_session_task_stats(const mts_session *session, const char *task, mts_task_stats *stats)
{
    mts_error error = {0};
    mts_task_stats known;
    uint32_t index = 0;
    memset(&known, 0, sizeof known);
    mts_status status = mts_sized_check(stats, sizeof *stats, "mts_task_stats", &error);
    MTS_TRY(status, mts_api_session_task(session, task, &index, &error));
    MTS_TRY(status, mts_pipeline_latency(session->pipeline, index, &known.runs, &known.p50_ms, &known.p95_ms,
                                         &error));
    if (status == MTS_STATUS_OK) {
        known.group = mts_pipeline_group_of(session->pipeline, index);
        mts_sized_write(stats, &known);
    }
    return mts_api_session_report(session, status, &error);
}
