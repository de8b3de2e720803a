/*
 * again.h: runs that begin anew on the devices that remain after one was lost. For that
 * every run keeps a copy of what it was submitted with until it is consumed.
 *
 * Internal to sdk/pipeline. Without mts_pipeline_options.replan nothing is kept.
 */
#ifndef MTS_PIPELINE_AGAIN_H
#define MTS_PIPELINE_AGAIN_H

#include "pipeline/state.h"

mts_status mts_pipeline_copies_make(mts_pipeline *pipeline, mts_error *error);
void mts_pipeline_copies_release(mts_pipeline *pipeline);

/* Inputs as they are now; `task` is the position. */
mts_status mts_pipeline_remember_input(mts_pipeline *pipeline, uint32_t task, uint32_t input,
                                       const void *data, size_t size, mts_error *error);
mts_status mts_pipeline_remember_frame(mts_pipeline *pipeline, uint32_t task, const mts_frame_view *frame,
                                       mts_error *error);
/* `task` is the archive's, or MTS_NONE. */
mts_status mts_pipeline_remember_regions(mts_pipeline *pipeline, uint32_t task, const mts_region *regions,
                                         uint32_t count, mts_error *error);
/* What a run is submitted with. */
mts_status mts_pipeline_copy_inputs(mts_pipeline *pipeline, mts_pipeline_run *run, mts_error *error);
mts_status mts_pipeline_copy_frame(mts_pipeline *pipeline, mts_pipeline_run *run, const mts_frame_view *frame,
                                   mts_error *error);

/* Where a device is lost: places the tasks on those that remain, and starts the runs again
   that were in flight. Does nothing without a loss. */
void mts_pipeline_recover(mts_pipeline *pipeline);

#endif
