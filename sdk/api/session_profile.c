/*
 * session_profile.c: where a session's time goes, and where its numbers overflow.
 */
#include <inttypes.h>
#include <string.h>

#include "api/api.h"
#include "engine/overflow.h"
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

/* The caller's elements may be smaller: their distance is the size that the first one says. */
static mts_status profile(mts_session *session, uint32_t runs, uint32_t count, mts_launch_profile *launches,
                          mts_error *error)
{
    const mts_allocator *allocator = &session->runtime->allocator;
    mts_launch_profile *known = mts_alloc_zero(allocator, count, sizeof *known);
    if (!known) {
        return mts_fail_memory(error);
    }
    const size_t size = count > 0 ? launches->size : 0;
    const mts_status status = mts_engine_profile(session->engine, runs, known, error);
    for (uint32_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        unsigned char *out = (unsigned char *)launches + i * size;
        kind_of(known[i].label, known[i].kind, sizeof known[i].kind);
        known[i].size = size;
        memcpy(out, &known[i], size);
    }
    mts_alloc_free(allocator, known);
    return status;
}

static mts_status profile_checked(mts_session *session, uint32_t runs, mts_launch_profile *launches,
                                  uint32_t capacity, uint32_t *count, mts_error *error)
{
    mts_session_stats stats = {0};
    if (!count || (!launches && capacity > 0)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "mts_session_profile: %s is NULL",
                        count ? "launches" : "count");
    }
    if (capacity > 0) {
        const mts_status status = mts_sized_check(launches, sizeof *launches, "mts_launch_profile", error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
    }
    mts_engine_stats_get(session->engine, &stats);
    *count = stats.launches;
    if (runs == 0 || runs > RUNS_MOST) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "mts_session_profile: runs is 1 to %d, not %" PRIu32, RUNS_MOST, runs);
    }

    if (mts_engine_in_flight(session->engine) > 0 || session->delivering) {
        return mts_fail(error, MTS_STATUS_BUSY, "a run is in flight: wait for it, then profile");
    }

    if (capacity < stats.launches) {
        return mts_fail(error, MTS_STATUS_LIMIT,
                        "the session has %" PRIu32 " launches, but capacity is %" PRIu32, stats.launches,
                        capacity);
    }
    return profile(session, runs, stats.launches, launches, error);
}

mts_status mts_session_profile(mts_session *session, uint32_t runs, mts_launch_profile *launches,
                               uint32_t capacity, uint32_t *count)
{
    mts_error error = {0};
    if (!session) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    const mts_status status = profile_checked(session, runs, launches, capacity, count, &error);
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
        status = mts_engine_find_overflow(session->engine, label, &error);
    }
    return mts_api_session_report(session, status, &error);
}
