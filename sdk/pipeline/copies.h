/*
 * copies.h: what runs were submitted with, kept until they are consumed, so that they can
 * begin anew after the loss of a device.
 *
 * Internal to sdk/pipeline. Without mts_pipeline_options.replan nothing is kept.
 */
#ifndef MTS_PIPELINE_COPIES_H
#define MTS_PIPELINE_COPIES_H

#include "pipeline/state.h"

typedef struct mts_copied_bytes {
    void *data;
    size_t size, capacity;
} mts_copied_bytes;

/* A frame with its pixels, unless its memory stays the caller's until the run has ended. */
typedef struct mts_frame_copy {
    bool given;
    mts_frame_view view;
    mts_copied_bytes pixels;
} mts_frame_copy;

/* An input: a tensor, or a frame. */
typedef struct mts_input_copy {
    bool given;
    mts_copied_bytes tensor;
    mts_frame_copy frame;
} mts_input_copy;

/* Regions of one task, or of all. */
typedef struct mts_region_copy {
    bool given;
    uint32_t task;
    mts_copied_bytes regions;
    uint32_t count;
} mts_region_copy;

struct mts_pipeline_copy {
    mts_input_copy *inputs;
    mts_frame_copy frame;
};

struct mts_pipeline_copies {
    uint32_t input_count;
    uint32_t *first; /* [task]: its first input */
    mts_input_copy *now;
    mts_pipeline_copy *runs;  /* [slots + spare] */
    mts_region_copy *regions; /* [tasks + 1], the last of all tasks */
};

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

#endif
