/*
 * part.c: an engine as a part of a pipeline.
 */
#include "engine/part.h"

#ifndef MTS_SMALL

#include "engine/state.h"

void mts_engine_hold(mts_engine *engine, bool held)
{
    engine->submissions.held = held;
    engine->submissions.part = true;
}

bool mts_engine_waits(const mts_engine *engine, uint64_t run)
{
    const mts_submission *s = mts_submissions_find(&engine->submissions, run);
    return s && s->state == MTS_SUBMISSION_WAITING;
}

uint32_t mts_engine_begun(const mts_engine *engine)
{
    const mts_submissions *all = &engine->submissions;
    return all->used - mts_submissions_count(all, MTS_SUBMISSION_WAITING);
}

#endif
