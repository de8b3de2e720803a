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

#endif
