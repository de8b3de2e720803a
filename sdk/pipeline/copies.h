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
    /* The run that it was set for, after which other memory is the caller's; 0: none. */
    uint64_t used_by;
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
    mts_region_copy *regions; /* as in mts_pipeline_copies */
};

struct mts_pipeline_copies {
    uint32_t input_count;
    uint32_t *first; /* [task]: its first input */
    mts_input_copy *now;
    mts_pipeline_copy *runs;  /* [slots + spare] */
    mts_region_copy *regions; /* [tasks + 1], the last of all tasks, which comes first */
    bool has_regions;         /* some were set */
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
/* A run leaves its slot: frames that were set for it in other memory are not read again. */
void mts_pipeline_forget_frames(mts_pipeline *pipeline, const mts_pipeline_run *run);
/* What a run is submitted with. */
mts_status mts_pipeline_copy_inputs(mts_pipeline *pipeline, mts_pipeline_run *run, mts_error *error);
mts_status mts_pipeline_copy_frame(mts_pipeline *pipeline, mts_pipeline_run *run, const mts_frame_view *frame,
                                   mts_error *error);

#endif
