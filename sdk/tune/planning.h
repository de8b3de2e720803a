/*
 * planning.h: the state of planning one session: its tasks, and what has been decided
 * about them so far. The files of sdk/tune share it; each of them has a header for what
 * it does with it.
 */
#ifndef MTS_TUNE_PLANNING_H
#define MTS_TUNE_PLANNING_H

#include "engine/engine.h"
#include "tune/tune.h"

typedef struct mts_planning {
    mts_device *device;
    const mts_archive *archive;
    const mts_allocator *allocator;
    mts_engine_options options; /* its `tasks` are the caller's; see below */
    mts_planning_options how;
    uint32_t task_count;
    uint32_t *tasks; /* indices in the archive */
    const mts_graph **graphs;
    uint32_t *priorities;
    mts_arena arena;

    /* A class holds tasks of one family and one priority. Classes of higher priority come
       first. */
    uint32_t class_count;
    uint32_t *class_of;

    /* What has been decided so far; its group_of and configs point to the members
       below. */
    mts_decision decision;
    /* The decision is not in the plan cache. */
    bool fresh;
    uint32_t *group_of;
    /* Slices of a session that is not measured. */
    uint64_t usual_slice_bytes;
    mts_kernel_configs measured; /* on this device, for this session or earlier ones */
    mts_kernel_configs planned;  /* those of a plan from the cache */
    mts_kernel_configs defaults; /* no entries */
    /* Configurations that do not build or run on the device. */
    mts_kernel_config *failed;
    size_t failed_count, failed_capacity;
    mts_planning_report report;

    /* Weights and kernel parameters that no grouping changes, where there is a memory
       budget. */
    uint64_t fixed_bytes;
    /* Of the plan that takes least memory; NULL: it was not looked for. */
    const uint32_t *least_groups;
    uint64_t least_slice_bytes;

    /* What samples read as inputs. */
    const float *inputs;
    size_t input_count;
    /* Kept until the next engine exists, so that the device keeps its programs. */
    mts_engine *previous;
    /* The session as it was decided, or NULL: it is planned when it is created. */
    mts_engine_draft *draft;

    uint64_t start;    /* nanoseconds of the clock */
    uint64_t tuned_ns; /* spent on tuning kernels */
    bool blocks_left;  /* there was no time to measure what could be fused */
    float fraction;    /* of the progress bar, where the work is */
    float reported;    /* the last fraction that the caller was told; it never falls */
    mts_error *error;
} mts_planning;

/* Sets the error; OUT_OF_MEMORY. */
mts_status mts_planning_memory(const mts_planning *p);
/* Calls the caller's progress function; CANCELLED if that asks for it. */
mts_status mts_planning_progress(mts_planning *p, float fraction, const char *what);
/* Append a copy to the report. */
mts_status mts_planning_add_plan(mts_planning *p, const mts_considered_plan *plan);
mts_status mts_planning_add_sample(mts_planning *p, const mts_planning_sample *sample);
/* Sorts the tasks into classes and puts each class into one group. */
mts_status mts_planning_classes(mts_planning *p);
/* Remembers a configuration that does not build or run on the device. */
mts_status mts_planning_add_failed(mts_planning *p, const mts_kernel_config *config);
/* Forgets all failed configurations but the first `count`. */
void mts_planning_keep_failed(mts_planning *p, size_t count);

#endif
