/*
 * conv_jobs.h: the jobs of a stitched convolution while they are made; shared by the
 * kernels that take mts_conv_params.
 */
#ifndef MTS_LOWER_CONV_JOBS_H
#define MTS_LOWER_CONV_JOBS_H

#include "base/map.h"
#include "lower/encode_conv.h"

/* A job before it is written: the params, its epilogues as a list. */
typedef struct mts_tile_job {
    mts_conv_params params;
    uint64_t work;  /* multiply-adds of a pixel */
    uint32_t owner; /* 0: another member has weights of it; else of the member, by number */
    uint32_t order; /* weight rows: jobs of one weight block stand together */
    uint32_t at;    /* index in the kernel parameters of the params, once it is written */
    uint32_t first_epilogue, last_epilogue;
    uint32_t task_mask; /* of tasks that it serves */
    uint32_t shape;     /* of conv_packed: equal ones are equal mts_packed_params; else 0 */
    const mts_segment_params *segments;
} mts_tile_job;

typedef struct mts_tile_epilogue {
    mts_epilogue_params params;
    uint32_t next, task_mask;
} mts_tile_epilogue;

typedef struct mts_tiler {
    mts_encoding *encoding;
    const mts_layer *layer;
    /* Output rows of a job at most. */
    uint32_t rows;
    /* Jobs put rows into lanes (row_lanes.h). */
    bool row_lanes;
    /* Jobs of one member, none with rows of two blocks, and each with one epilogue. */
    bool alone;
    /* Receives the row cases of the jobs, or NULL. */
    mts_kernel_cases *cases;
    mts_arena scratch;
    mts_tile_job *jobs;
    size_t job_count, job_capacity;
    /* Finds a job by its input and its weights; empty if the layer's tasks share
       nothing. */
    mts_map equal_jobs;
    mts_tile_epilogue *epilogues;
    size_t epilogue_count, epilogue_capacity;
    uint32_t members;
    uint32_t owner;        /* of the jobs of the member in hand */
    mts_entry_job *shared; /* jobs of several epilogues, once they are written */
    uint32_t shared_count;
    mts_status status;
} mts_tiler;

/* Makes the jobs of a layer's members of variant TILE; a failure is in t->status.
   mts_tiler_close in any case. */
void mts_tiler_open(mts_tiler *t, mts_encoding *encoding, const mts_layer *layer, uint32_t rows,
                    mts_kernel_cases *cases);
/* The same with jobs that put rows into lanes, of a layer that mts_row_lanes_choose has
   chosen. */
void mts_tiler_open_lanes(mts_tiler *t, mts_encoding *encoding, const mts_layer *layer);
/* The same of one member: jobs for the kernel that computes it with others. */
void mts_tiler_open_member(mts_tiler *t, mts_encoding *encoding, const mts_layer *layer, uint32_t member,
                           uint32_t rows);
void mts_tiler_close(mts_tiler *t);
/* The same without jobs, for callers that make their own: */
void mts_tiler_begin(mts_tiler *t, mts_encoding *encoding, const mts_layer *layer, uint32_t rows,
                     mts_kernel_cases *cases);
/* Adds a job, or only its epilogue if an equal job of the layer exists; false: only that,
   or a failure. */
bool mts_tiler_add(mts_tiler *t, const mts_tile_job *fresh, const mts_epilogue_params *epilogue);
/* OUT_OF_MEMORY (or LIMIT, if the pool is full), which it also keeps in t->status. */
mts_status mts_tiler_memory(mts_tiler *t);
/* Sorts the jobs, larger ones first, those that share weights side by side, and writes
   them to the parameter buffer. */
void mts_tiler_write(mts_tiler *t);
/* mts_encode_entries for the launch that was appended last, whose entries are tiles. */
void mts_tiler_entries(mts_tiler *t, mts_entry_kind kind, const uint32_t *masks, size_t count);
/* "conv 3x3 x32 layer1.0.conv1" */
const char *mts_tiler_label(const mts_tiler *t);

#endif
