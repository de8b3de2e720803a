/*
 * pipeline.h: a session's tasks on its devices: one engine, or one for each part of a
 * partition.
 *
 * On one device a pipeline is its engine: every call hands on. On several, a run goes
 * through its parts: in a chain one after another, a frame's outputs of one part being the
 * inputs of the next; else in all of them at once. A part is given its next run only when
 * its device and the slots behind it have room (back-pressure), and runs keep their order.
 * There are no threads: each call looks at all parts. A library built with MTS_SMALL has
 * one device, and a pipeline is an engine by name.
 *
 * The functions have the meaning, the errors and the thread-safety of those of
 * engine/engine.h with the same name.
 */
#ifndef MTS_PIPELINE_PIPELINE_H
#define MTS_PIPELINE_PIPELINE_H

#include "base/text.h"
#include "engine/control.h"
#include "tune/tune.h"

#ifdef MTS_SMALL

typedef mts_engine mts_pipeline;
#define mts_pipeline_destroy mts_engine_destroy
#define mts_pipeline_part_count(pipeline) 1u
#define mts_pipeline_part(pipeline, part) (pipeline)
#define mts_pipeline_set_input mts_engine_set_input
#define mts_pipeline_set_frame mts_engine_set_frame
#define mts_pipeline_set_regions mts_engine_set_regions
#define mts_pipeline_submit mts_engine_submit
#define mts_pipeline_submit_frame mts_engine_submit_frame
#define mts_pipeline_advance mts_engine_advance
#define mts_pipeline_oldest mts_engine_oldest
#define mts_pipeline_wait_until mts_engine_wait_until
#define mts_pipeline_take mts_engine_take
#define mts_pipeline_drop_oldest mts_engine_drop_oldest
#define mts_pipeline_cancel mts_engine_cancel
#define mts_pipeline_withdraw mts_engine_withdraw
#define mts_pipeline_stop mts_engine_stop
#define mts_pipeline_holds mts_engine_holds
#define mts_pipeline_can_start mts_engine_can_start
#define mts_pipeline_can_start_by_drop mts_engine_can_start_by_drop
#define mts_pipeline_has_slot mts_engine_has_slot
#define mts_pipeline_in_flight mts_engine_in_flight
#define mts_pipeline_output mts_engine_output
#define mts_pipeline_output_run mts_engine_output_run
#define mts_pipeline_latency mts_engine_latency
#define mts_pipeline_enable mts_engine_enable
#define mts_pipeline_rate mts_engine_rate
#define mts_pipeline_rate_hz mts_engine_rate_hz
#define mts_pipeline_deadline mts_engine_deadline
#define mts_pipeline_stats_get mts_engine_stats_get
#define mts_pipeline_group_of mts_engine_group_of

#else

#include "partition/parts.h"

typedef struct mts_pipeline mts_pipeline;

typedef struct mts_pipeline_options {
    /* Several; they outlive the pipeline. */
    mts_device *const *devices;
    uint32_t device_count;
    /* Their ids, for sentences; outlive the pipeline. */
    const char *const *ids;
    /* Of the whole session; memory_budget is that of each device. */
    mts_engine_options engine;
    mts_planning_options how;
    /* Which kinds of placement are looked at: stages, groups of whole tasks. */
    bool stages, groups;
    mts_chain_goal goal;
    /* After the loss of a device: plans again on the others, and runs what was in flight. */
    bool replan;
    /* Runs of a part that have begun and were not handed on; 0: two. */
    uint32_t part_slots;
    /* Given: nothing is measured. Devices and ends of stages, or the device of each task. */
    const mts_chain *chain;
    const uint32_t *device_of;
} mts_pipeline_options;

/*
 * A pipeline of one engine, which it takes. `report` is that of its planning; the caller
 * keeps it.
 */
mts_status mts_pipeline_of_engine(mts_engine **engine, const mts_allocator *allocator, mts_pipeline **out,
                                  mts_error *error);
/* A pipeline on several devices. The archive outlives it. Errors: LIMIT (no placement keeps
   the memory, or a layer runs on none of the devices), and those of engines. */
mts_status mts_pipeline_create(const mts_archive *archive, const mts_pipeline_options *options,
                               mts_pipeline **out, mts_error *error);
void mts_pipeline_destroy(mts_pipeline **pipeline);
/* Whether it is on one device, which has everything. */
bool mts_pipeline_is_engine(const mts_pipeline *pipeline);
/* Parts, and their engines; one where it is an engine. */
uint32_t mts_pipeline_part_count(const mts_pipeline *pipeline);
mts_engine *mts_pipeline_part(const mts_pipeline *pipeline, uint32_t part);

mts_status mts_pipeline_set_input(mts_pipeline *pipeline, uint32_t task, uint32_t input, const void *data,
                                  size_t size, mts_error *error);
mts_status mts_pipeline_set_frame(mts_pipeline *pipeline, uint32_t task, const mts_frame_view *frame,
                                  mts_error *error);
mts_status mts_pipeline_set_regions(mts_pipeline *pipeline, uint32_t task, const mts_region *regions,
                                    uint32_t count, mts_error *error);
mts_status mts_pipeline_submit(mts_pipeline *pipeline, mts_error *error);
mts_status mts_pipeline_submit_frame(mts_pipeline *pipeline, const mts_frame_view *frame,
                                     mts_engine_drop *dropped, mts_error *error);
void mts_pipeline_advance(mts_pipeline *pipeline);
bool mts_pipeline_oldest(const mts_pipeline *pipeline, mts_engine_run *out);
mts_status mts_pipeline_wait_until(mts_pipeline *pipeline, uint64_t until, mts_error *error);
mts_status mts_pipeline_take(mts_pipeline *pipeline, mts_error *error);
bool mts_pipeline_drop_oldest(mts_pipeline *pipeline, mts_engine_drop *dropped);
bool mts_pipeline_cancel(mts_pipeline *pipeline, uint64_t run);
bool mts_pipeline_withdraw(mts_pipeline *pipeline, uint64_t run);
void mts_pipeline_stop(mts_pipeline *pipeline);
bool mts_pipeline_holds(const mts_pipeline *pipeline, uint64_t run);
bool mts_pipeline_can_start(const mts_pipeline *pipeline);
bool mts_pipeline_can_start_by_drop(const mts_pipeline *pipeline);
bool mts_pipeline_has_slot(const mts_pipeline *pipeline);
uint32_t mts_pipeline_in_flight(const mts_pipeline *pipeline);
mts_status mts_pipeline_output(const mts_pipeline *pipeline, uint32_t task, uint32_t output,
                               const void **data, size_t *size, mts_error *error);
mts_status mts_pipeline_output_run(const mts_pipeline *pipeline, uint32_t task, uint64_t *run,
                                   mts_error *error);
mts_status mts_pipeline_latency(const mts_pipeline *pipeline, uint32_t task, uint64_t *runs, double *p50,
                                double *p95, mts_error *error);

mts_status mts_pipeline_enable(mts_pipeline *pipeline, uint32_t task, bool enabled, mts_error *error);
mts_status mts_pipeline_rate(mts_pipeline *pipeline, uint32_t task, uint32_t every, mts_error *error);
mts_status mts_pipeline_rate_hz(mts_pipeline *pipeline, uint32_t task, double hz, mts_error *error);
/* Of the part that takes the inputs: tasks that it leaves out end there. */
void mts_pipeline_deadline(mts_pipeline *pipeline, uint32_t ms);

/* Sums over the parts; workspace_bytes has the links, too. */
void mts_pipeline_stats_get(const mts_pipeline *pipeline, mts_session_stats *stats);
/* In a chain that of the part that ends the task; groups of parts are numbered one after
   another. */
uint32_t mts_pipeline_group_of(const mts_pipeline *pipeline, uint32_t task);
/* How the tasks were placed, and each part's engine, of a pipeline on several devices. */
void mts_pipeline_explain(const mts_pipeline *pipeline, bool json, mts_text *text);

#endif
#endif
