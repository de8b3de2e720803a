/*
 * change.c: see change.h.
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include "engine/carry.h"
#include "engine/submission.h"
#include "pipeline/change.h"
#include "pipeline/state.h"

bool mts_pipeline_may_change(const mts_pipeline *p)
{
    return p->engine && (!p->before || mts_engine_in_flight(p->engine) == 0);
}

static void hold(mts_pipeline *p)
{
    const bool drops = mts_engine_drops(p->engine);
    mts_engine_pause(p->engine, mts_engine_has(p->before, MTS_SUBMISSION_WAITING) ||
                                    (drops && mts_engine_has(p->before, MTS_SUBMISSION_RUNNING)));
}

mts_status mts_pipeline_change(mts_pipeline *p, mts_engine **next, mts_error *error)
{
    const mts_status status = mts_engine_carry(p->engine, *next, p->before != NULL, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (p->before) { /* nothing was submitted to the engine between */
        mts_engine_destroy(&p->engine);
    } else {
        p->before = p->engine;
    }
    p->engine = *next;
    *next = NULL;
    p->frame_is_before = true;
    hold(p);
    return MTS_STATUS_OK;
}

/* The engine before has no runs any more, and one of the other engine is going to be consumed. */
static void retire(mts_pipeline *p)
{
    mts_engine_carry_outputs(p->before, p->engine);
    mts_engine_destroy(&p->before);
    mts_engine_pause(p->engine, false);
}

void mts_pair_advance(mts_pipeline *p)
{
    mts_engine_advance(p->before);
    hold(p);
    mts_engine_advance(p->engine);
}

uint32_t mts_pair_in_flight(const mts_pipeline *p)
{
    return mts_engine_in_flight(p->before) + mts_engine_in_flight(p->engine);
}

bool mts_pair_has_slot(const mts_pipeline *p)
{
    return mts_pair_in_flight(p) < mts_engine_slots(p->engine);
}

bool mts_pair_can_start(const mts_pipeline *p)
{
    return mts_pair_has_slot(p) && mts_engine_can_start(p->engine);
}

bool mts_pair_can_start_by_drop(const mts_pipeline *p)
{
    return mts_engine_can_start(p->engine) && mts_engine_has(p->before, MTS_SUBMISSION_FINISHED);
}

mts_status mts_pair_submit(mts_pipeline *p, mts_error *error)
{
    mts_pair_advance(p);
    if (!mts_pair_has_slot(p)) {
        return mts_submissions_no_slot(mts_engine_slots(p->engine), error);
    }
    /* while a frame waits there, this submission is refused, as it has none */
    mts_status status = MTS_STATUS_OK;
    if (p->frame_is_before && !mts_engine_has(p->before, MTS_SUBMISSION_WAITING)) {
        status = mts_engine_carry_frame(p->before, p->engine, error);
        p->frame_is_before = status != MTS_STATUS_OK;
    }
    return status == MTS_STATUS_OK ? mts_engine_submit(p->engine, error) : status;
}

mts_status mts_pair_submit_frame(mts_pipeline *p, const mts_frame_view *frame, mts_engine_drop *dropped,
                                 mts_error *error)
{
    mts_pair_advance(p);
    const bool full = !mts_pair_has_slot(p);
    *dropped = (mts_engine_drop){.run = 0};
    if (full && !mts_engine_drops(p->engine)) {
        return mts_submissions_no_slot(mts_engine_slots(p->engine), error);
    }
    const mts_status status = mts_engine_submit_frame(p->engine, frame, dropped, error);
    p->frame_is_before = p->frame_is_before && status != MTS_STATUS_OK;
    if (status == MTS_STATUS_OK && full && dropped->run == 0) {
        (void)mts_pair_drop_oldest(p, dropped);
    }
    return status;
}

bool mts_pair_oldest(const mts_pipeline *p, mts_engine_run *out)
{
    return mts_engine_oldest(p->before, out) || mts_engine_oldest(p->engine, out);
}

mts_status mts_pair_wait_until(mts_pipeline *p, uint64_t until, mts_error *error)
{
    const bool first = mts_engine_in_flight(p->before) > 0;
    mts_pair_advance(p);
    const mts_status status = mts_engine_wait_until(first ? p->before : p->engine, until, error);
    mts_pair_advance(p);
    return status;
}

mts_status mts_pair_take(mts_pipeline *p, mts_error *error)
{
    mts_engine_run run = {0};
    if (mts_engine_in_flight(p->before) > 0) {
        const mts_status status = mts_engine_take(p->before, error);
        mts_pair_advance(p);
        return status;
    }
    if (mts_engine_oldest(p->engine, &run) && run.finished) {
        retire(p);
    }
    return mts_engine_take(p->engine, error);
}

bool mts_pair_drop_oldest(mts_pipeline *p, mts_engine_drop *dropped)
{
    return mts_engine_drop_oldest(p->before, dropped) || mts_engine_drop_oldest(p->engine, dropped);
}

const mts_engine *mts_pair_shown(const mts_pipeline *p)
{
    return p->before ? p->before : p->engine;
}

#endif
