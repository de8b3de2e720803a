/*
 * recover.h: a pipeline after the loss of one of its devices.
 *
 * Internal to sdk/pipeline.
 */
#ifndef MTS_PIPELINE_RECOVER_H
#define MTS_PIPELINE_RECOVER_H

#include "pipeline/state.h"

/* Where a device is lost: places the tasks on those that remain, and starts the runs again
   that were in flight. Does nothing without a loss. */
void mts_pipeline_recover(mts_pipeline *pipeline);
/* After a call to an engine that failed so: whether that was the loss of a device, which was
   recovered from, so that the call can be made again. */
bool mts_pipeline_is_replaced(mts_pipeline *pipeline, mts_status status);

#endif
