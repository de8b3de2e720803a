/*
 * session_profile.c: where a session's time goes, and where its numbers overflow.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "mts/profile.h"

#include "api/api.h"
#include "engine/overflow.h"
#include "engine/predict.h"
#include "engine/profile.h"

enum { RUNS_MOST = 10000 };

/* The label up to " x<count> <name>"; a conversion's whole label. */
static void kind_of(const char *label, char *kind, size_t size)
{
    size_t length = strlen(label);
    for (const char *at = strstr(label, " x"); at; at = strstr(at + 1, " x")) {
        if (at[2] >= '0' && at[2] <= '9') {
            length = (size_t)(at - label);
            break;
        }
    }
    length = length < size ? length : size - 1;
    memcpy(kind, label, length);
    kind[length] = '\0';
}

/* What fills the launches: times of so many runs, or what the model says of a device with
   such ceilings. */
typedef struct request {
    const char *name;
    bool predicts;
    uint32_t runs;
    const mts_ceilings *ceilings;
} request;

/* The launches of all parts, one part after another. */
static mts_status fill_parts(mts_pipeline *pipeline, const request *r, mts_launch_profile *out,
                             mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < mts_pipeline_part_count(pipeline); i++) {
        mts_engine *engine = mts_pipeline_part(pipeline, i);
        status = r->predicts ? mts_engine_predict(engine, r->ceilings, out, error)
                             : mts_engine_profile(engine, r->runs, out, error);
#ifndef MTS_SMALL
        mts_session_stats stats;
        mts_engine_stats_get(engine, &stats);
        out += stats.launches;
#endif
    }
    return status;
}

/* A call that is for one device; its name begins the sentence. */
static mts_status one_device(const mts_session *session, const char *name, mts_error *error)
{
#ifdef MTS_SMALL
    (void)session;
    (void)name;
    (void)error;
    return MTS_STATUS_OK;
#else
    return mts_pipeline_is_engine(session->pipeline)
               ? MTS_STATUS_OK
               : mts_fail(error, MTS_STATUS_UNSUPPORTED, "%s: the session runs on several devices", name);
#endif
}

/* The caller's elements may be smaller: their distance is the size that the first one
   says. */
static mts_status fill(mts_session *session, const request *r, uint32_t count, mts_launch_profile *launches,
                       mts_error *error)
{
    const mts_allocator *allocator = &session->runtime->allocator;
    mts_launch_profile *known = mts_alloc_zero(allocator, count, sizeof *known);
    if (!known) {
        return mts_fail_memory(error);
    }
    const size_t size = count > 0 ? launches->size : 0;
    const mts_status status = fill_parts(session->pipeline, r, known, error);
    for (uint32_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        unsigned char *out = (unsigned char *)launches + i * size;
        kind_of(known[i].label, known[i].kind, sizeof known[i].kind);
        known[i].size = size;
        memcpy(out, &known[i], size);
    }
    mts_alloc_free(allocator, known);
    return status;
}

/* The array and its size; *count: of the session's launches. */
static mts_status array_check(const mts_session *session, const char *name,
                              const mts_launch_profile *launches, uint32_t capacity, uint32_t *count,
                              mts_error *error)
{
    mts_session_stats stats = {0};
    if (!count || (!launches && capacity > 0)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s: %s is NULL", name,
                        count ? "launches" : "count");
    }
    if (capacity > 0) {
        const mts_status status = mts_sized_check(launches, sizeof *launches, "mts_launch_profile", error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
    }
    mts_pipeline_stats_get(session->pipeline, &stats);
    *count = stats.launches;
    return MTS_STATUS_OK;
}

static mts_status capacity_check(uint32_t count, uint32_t capacity, mts_error *error)
{
    return capacity < count
               ? mts_fail(error, MTS_STATUS_LIMIT,
                          "the session has %" PRIu32 " launches, but capacity is %" PRIu32, count, capacity)
               : MTS_STATUS_OK;
}

static mts_status runs_check(const mts_session *session, uint32_t runs, mts_error *error)
{
    if (runs == 0 || runs > RUNS_MOST) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "mts_session_profile: runs is 1 to %d, not %" PRIu32, RUNS_MOST, runs);
    }
    return mts_pipeline_in_flight(session->pipeline) > 0 || session->delivering
               ? mts_fail(error, MTS_STATUS_BUSY, "a run is in flight: wait for it, then profile")
               : MTS_STATUS_OK;
}

mts_status mts_session_profile(mts_session *session, uint32_t runs, mts_launch_profile *launches,
                               uint32_t capacity, uint32_t *count)
{
    const request r = {.name = "mts_session_profile", .runs = runs};
    mts_error error = {0};
    if (!session) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    mts_status status = array_check(session, r.name, launches, capacity, count, &error);
    MTS_TRY(status, runs_check(session, runs, &error));
    MTS_TRY(status, capacity_check(*count, capacity, &error));
    MTS_TRY(status, fill(session, &r, *count, launches, &error));
    return mts_api_session_report(session, status, &error);
}

static mts_status trace_check(const mts_session *session, const mts_chunk_profile *chunks, uint32_t capacity,
                              const uint32_t *count, mts_error *error)
{
    if (!count || !chunks || capacity == 0) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "mts_session_trace: %s",
                        !count ? "count is NULL" : "there are no chunks");
    }
    mts_status status = mts_sized_check(chunks, sizeof *chunks, "mts_chunk_profile", error);
    MTS_TRY(status, runs_check(session, 1, error));
    return status;
}

/* The caller's elements may be smaller, as those of launches. */
static void store_chunks(const mts_chunk_time *times, size_t count, mts_chunk_profile *chunks)
{
    const size_t size = chunks->size;
    for (size_t i = 0; i < count; i++) {
        const mts_chunk_profile known = {.size = size,
                                         .launch = times[i].launch,
                                         .thread = times[i].thread,
                                         .start_ms = (double)times[i].start * 1e-6,
                                         .duration_ms = (double)(times[i].end - times[i].start) * 1e-6};
        memcpy((unsigned char *)chunks + i * size, &known, size);
    }
}

/* Parts that a run can have, and no more than the caller takes: a capacity without bound
   costs no memory. */
static size_t room_of(const mts_session *session, uint32_t capacity)
{
    enum { PARTS_MOST = 4 }; /* of a launch, for each thread: as the header says */
    mts_session_stats stats = {0};
    mts_pipeline_stats_get(session->pipeline, &stats);
    const uint64_t most =
        (uint64_t)stats.launches * session->runtime->device->info.compute_units * PARTS_MOST;
    return most == 0 ? 1 : most < capacity ? (size_t)most : capacity;
}

mts_status mts_session_trace(mts_session *session, mts_chunk_profile *chunks, uint32_t capacity,
                             uint32_t *count)
{
    mts_error error = {0};
    size_t found = 0, room = 0;
    if (!session) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    const mts_allocator *allocator = &session->runtime->allocator;
    mts_chunk_time *times = NULL;
    mts_status status = trace_check(session, chunks, capacity, count, &error);
    MTS_TRY(status, one_device(session, "mts_session_trace", &error));
    if (status == MTS_STATUS_OK) {
        room = room_of(session, capacity);
        times = mts_alloc_zero(allocator, room, sizeof *times);
        status = times
                     ? mts_engine_trace(mts_pipeline_part(session->pipeline, 0), times, room, &found, &error)
                     : mts_fail_memory(&error);
        *count = (uint32_t)found;
    }
    if (status == MTS_STATUS_OK && found > room) {
        status = mts_fail(&error, MTS_STATUS_LIMIT, "the run had %zu parts, but capacity is %" PRIu32, found,
                          capacity);
    }
    if (status == MTS_STATUS_OK) {
        store_chunks(times, found, chunks);
    }
    mts_alloc_free(allocator, times);
    return mts_api_session_report(session, status, &error);
}

static mts_status ceilings_check(const mts_ceilings *ceilings, mts_ceilings *known, mts_error *error)
{
    if (!ceilings) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "mts_session_predict: ceilings is NULL");
    }
    mts_status status = mts_sized_read(known, sizeof *known, ceilings, "mts_ceilings", error);
    const bool above = known->gflops > 0.0 && known->copy_gbps > 0.0;
    if (status == MTS_STATUS_OK && !(above && isfinite(known->gflops) && isfinite(known->copy_gbps))) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "mts_session_predict: rates are above 0 and finite, not %g GFLOP/s and %g GB/s",
                          known->gflops, known->copy_gbps);
    }
    return status;
}

mts_status mts_session_predict(mts_session *session, const mts_ceilings *ceilings,
                               mts_launch_profile *launches, uint32_t capacity, uint32_t *count)
{
    mts_ceilings known = {.size = sizeof known};
    const request r = {.name = "mts_session_predict", .predicts = true, .ceilings = &known};
    mts_error error = {0};
    if (!session) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    mts_status status = array_check(session, r.name, launches, capacity, count, &error);
    MTS_TRY(status, ceilings_check(ceilings, &known, &error));
    MTS_TRY(status, capacity_check(*count, capacity, &error));
    MTS_TRY(status, fill(session, &r, *count, launches, &error));
    return mts_api_session_report(session, status, &error);
}

mts_status mts_session_find_overflow(mts_session *session, const char **label)
{
    mts_error error = {0};
    if (!session) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    mts_status status = MTS_STATUS_OK;
    if (!label) {
        status = mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "mts_session_find_overflow: label is NULL");
    } else if (session->delivering) {
        status = mts_fail(&error, MTS_STATUS_BUSY, "`done` is running: look for a layer after it");
    } else {
        status = one_device(session, "mts_session_find_overflow", &error);
        MTS_TRY(status, mts_engine_find_overflow(mts_pipeline_part(session->pipeline, 0), label, &error));
    }
    return mts_api_session_report(session, status, &error);
}
