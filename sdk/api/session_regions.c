/*
 * session_regions.c: which parts of the frames the images of a task's batch show.
 */
#include <inttypes.h>
#include <stdio.h>

#include "api/api.h"

/* The archive's index of a task whose input is its own, MTS_NONE for all. */
static mts_status find_task(const mts_session *session, const char *name, uint32_t *task, mts_error *error)
{
    *task = MTS_NONE;
    if (!name) {
        return MTS_STATUS_OK;
    }
    const mts_status status = mts_api_session_task(session, name, task, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (!session->separate_inputs && session->task_count > 1) {
        return mts_fail(
            error, MTS_STATUS_INVALID_ARGUMENT,
            "the session's inputs are common: set regions for all tasks (NULL), or create it with "
            "separate_inputs");
    }
    const mts_task *found = &mts_api_archive(session)->tasks[*task];
    if (!mts_preprocess_takes_frames(&found->preprocess, found->graph)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "task '%s' takes no frames", name);
    }
    return MTS_STATUS_OK;
}

/* Every task's batch has to hold them: what lies behind the caller's array is not looked
   at. */
static mts_status check_count(const mts_session *session, uint32_t task, uint32_t count, mts_error *error)
{
    for (uint32_t i = 0; i < session->task_count; i++) {
        const mts_task *t = &mts_api_archive(session)->tasks[session->tasks[i]];
        if ((task == MTS_NONE || task == session->tasks[i]) &&
            mts_preprocess_takes_frames(&t->preprocess, t->graph) &&
            count > t->graph->inputs[0].shape.dims[0]) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "%" PRIu32 " regions are more than the %" PRId64 " images of task '%s'", count,
                            t->graph->inputs[0].shape.dims[0], t->name);
        }
    }
    return MTS_STATUS_OK;
}

static mts_status regions_set(mts_session *session, const char *name, const mts_region *regions,
                              uint32_t count, mts_error *error)
{
    uint32_t task = MTS_NONE;
    mts_status status = mts_api_session_free(session, error);
    MTS_TRY(status, find_task(session, name, &task, error));
    if (status == MTS_STATUS_OK && count > 0 && !regions) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "mts_session_regions: regions is NULL");
    }
    MTS_TRY(status, check_count(session, task, count, error));
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        char what[32];
        (void)snprintf(what, sizeof what, "region %" PRIu32, i);
        status = mts_region_check(&regions[i], what, error);
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    return mts_pipeline_set_regions(session->pipeline, task, regions, count, error);
}

mts_status mts_session_regions(mts_session *session, const char *task, const mts_region *regions,
                               uint32_t count)
{
    mts_error error = {0};
    const mts_status status = regions_set(session, task, regions, count, &error);
    return mts_api_session_report(session, status, &error);
}
