/*
 * change.h: a pipeline of one engine whose tasks or weights change: the engine before, whose
 * runs come to their end, and the one that takes later submissions.
 *
 * The runs of the engine before come first, everywhere: they are finished, consumed and
 * dropped before those of the other one. Its outputs are read until a run of the other one is
 * consumed; then it goes. While it has frames that wait, and while a dropping session's runs
 * of it are on the device, the other one is held.
 */
#ifndef MTS_PIPELINE_CHANGE_H
#define MTS_PIPELINE_CHANGE_H

#include "pipeline/pipeline.h"

/* Whether mts_pipeline_change can be called now: the last change is over, or nothing was
   submitted since. */
bool mts_pipeline_may_change(const mts_pipeline *pipeline);
/* The next engine takes all later submissions, and is the pipeline's. A first submission without a
   frame gets the last frame of the engine before. On failure the pipeline is as it was, and *next
   the caller's. */
mts_status mts_pipeline_change(mts_pipeline *pipeline, mts_engine **next, mts_error *error);

/* ---- while there is an engine before; each as in pipeline.h ---- */

void mts_pair_advance(mts_pipeline *pipeline);
mts_status mts_pair_submit(mts_pipeline *pipeline, mts_error *error);
mts_status mts_pair_submit_frame(mts_pipeline *pipeline, const mts_frame_view *frame,
                                 mts_engine_drop *dropped, mts_error *error);
bool mts_pair_oldest(const mts_pipeline *pipeline, mts_engine_run *out);
mts_status mts_pair_wait_until(mts_pipeline *pipeline, uint64_t until, mts_error *error);
mts_status mts_pair_take(mts_pipeline *pipeline, mts_error *error);
bool mts_pair_drop_oldest(mts_pipeline *pipeline, mts_engine_drop *dropped);
bool mts_pair_can_start(const mts_pipeline *pipeline);
bool mts_pair_can_start_by_drop(const mts_pipeline *pipeline);
bool mts_pair_has_slot(const mts_pipeline *pipeline);
uint32_t mts_pair_in_flight(const mts_pipeline *pipeline);
/* The engine whose outputs are read. */
const mts_engine *mts_pair_shown(const mts_pipeline *pipeline);

#endif
