/*
 * engine.h: a plan turned into buffers, kernels and one command list; and running it.
 *
 * mts_engine_create does all the work (stitch, plan, build kernels, pack and upload weights, record the
 * list); a run uploads inputs, submits the list and copies outputs: nothing is allocated or built (two
 * exceptions: the frame buffer grows when a larger frame comes, and a borrowed frame's memory is taken hold
 * of). Tasks are named by their index in the archive. Thread-safety: one thread at a time.
 */
#ifndef MTS_ENGINE_ENGINE_H
#define MTS_ENGINE_ENGINE_H

#include "bundle/archive.h"
#include "device/device.h"
#include "frame/layout.h"
#include "lower/encode.h"
#include "plan/budget.h"
#include "plan/decision.h"
#include "plan/strategy.h"

typedef struct mts_engine mts_engine;

typedef struct mts_engine_options {
    mts_strategy strategy;
    mts_precision precision; /* FLOAT16 becomes FLOAT16_STORAGE on a device without half_products */
    const uint32_t *tasks;   /* indices of the archive's tasks, distinct; NULL: all */
    uint32_t task_count;
    bool separate_inputs;
    bool lend_inputs; /* inputs stay in the caller's memory, see mts_engine_set_input */
    mts_memory_budget memory_budget;
    const uint32_t *priorities; /* per task, the higher the earlier; NULL: all alike */
    uint32_t places;            /* runs that may be under way or not taken; 0: one */

    uint32_t depth;   /* those on the device at a time, at most `places`; 0: one */
    bool drop_oldest; /* then depth is less than places */
    void *context;
    int (*progress)(void *context, float fraction, const char *what); /* may be NULL; non-zero cancels */
} mts_engine_options;

typedef struct mts_engine_stats {
    uint64_t weight_bytes, activation_bytes, workspace_bytes, peak_bytes;
    uint64_t mul_adds;
    uint32_t launches, groups, kernels;
    mts_precision precision; /* that is used */
} mts_engine_stats;

/* What building an engine may use, and what it reports besides its status. */
typedef struct mts_engine_build {
    /* An engine whose kernels the new one shares where the device still has them; NULL: none. */
    const mts_engine *like;
    /* Out: kernels did not build, did not run, or (NOT_FOUND) do not exist for this device. */
    bool kernels_failed;
} mts_engine_build;

/*
 * Builds an engine for a decision; nothing is measured. The device and the archive outlive the engine;
 * `decision` and `build`, which may be NULL, are needed during the call only.
 */
mts_status mts_engine_create(mts_device *device, const mts_archive *archive,
                             const mts_engine_options *options, const mts_decision *decision,
                             mts_engine_build *build, mts_engine **out, mts_error *error);
/* A dry run: the memory and launches of such an engine without a device call. Errors: LIMIT, OUT_OF_MEMORY.
 */
mts_status mts_engine_footprint(mts_device *device, const mts_archive *archive,
                                const mts_engine_options *options, const mts_decision *decision,
                                mts_engine_stats *stats, mts_error *error);
void mts_engine_destroy(mts_engine **engine);

/*
 * Enqueues an input's upload: row-major, of the port's dtype, `size` bytes exactly (else INVALID_ARGUMENT).
 * With lend_inputs only the address is kept; each run reads what lies there. An address other than the last
 * one makes the next run record its list anew, which allocates. A run before all were lent is
 * INVALID_ARGUMENT.
 */
mts_status mts_engine_set_input(mts_engine *engine, uint32_t task, uint32_t input, const void *data,
                                size_t size, mts_error *error);
/* Enqueues the preprocessing of a frame into input 0 of a task, or of every task that takes frames
 * (MTS_NONE). INVALID_ARGUMENT: a region that is going to be shown is not inside the frame. */
mts_status mts_engine_set_frame(mts_engine *engine, uint32_t task, const mts_frame_view *frame,
                                mts_error *error);
/* From the next frame on, image i of the batches shows regions[i]; later images keep what they hold. count 0:
 * all show the frame's own region. INVALID_ARGUMENT: a batch has fewer images. */
mts_status mts_engine_set_regions(mts_engine *engine, uint32_t task, const mts_region *regions,
                                  uint32_t count, mts_error *error);

/* ---- runs ---- */

/* One that was submitted and not taken. */
typedef struct mts_engine_run {
    uint64_t number; /* of its submission, from 1 */
    bool finished;
} mts_engine_run;

/* Starts a run with the inputs as they are. BUSY: no place is free, or the device or a waiting frame would
 * have to come first. */
mts_status mts_engine_submit(mts_engine *engine, mts_error *error);
/* A run that ended without being taken. */
typedef struct mts_engine_drop {
    uint64_t run;    /* 0: none */
    mts_status code; /* CANCELLED, or how it had failed */
} mts_engine_drop;

/* The same with a frame that becomes the input of every task that takes frames. It waits in its place
 * where the device is busy. Where no place is free, the oldest run that is not on the device is dropped
 * (drop_oldest), else BUSY. */

mts_status mts_engine_submit_frame(mts_engine *engine, const mts_frame_view *frame, mts_engine_drop *dropped,
                                   mts_error *error);

/* Looks at what has finished and hands over what waits. Does not wait; a failure becomes that of its run. */
void mts_engine_advance(mts_engine *engine);
/* The oldest run that nobody has taken; false: there is none. */
bool mts_engine_oldest(const mts_engine *engine, mts_engine_run *out);
/* Waits until that one has finished, or the clock of mts_os_clock_ns says `until` (TIMEOUT); UINT64_MAX: as
 * long as it takes. */
mts_status mts_engine_wait_until(mts_engine *engine, uint64_t until, mts_error *error);
/* Takes the oldest run, which has finished (else BUSY): its outputs become those that can be read. Returns
 * how it went: CANCELLED has outputs of the groups that ran, other failures none. */
mts_status mts_engine_take(mts_engine *engine, mts_error *error);
/* Waits for the oldest run and takes it; OK if there is none. */
mts_status mts_engine_wait(mts_engine *engine, mts_error *error);
/* Frees the place of the oldest run that is not on the device; false: there is none. */
bool mts_engine_drop_oldest(mts_engine *engine, mts_engine_drop *dropped);
/* Whether a run without a frame would start at once. */
bool mts_engine_takes_run(const mts_engine *engine);
/* Frees the place of this run if it has not gone to the device; else false. */
bool mts_engine_withdraw(mts_engine *engine, uint64_t run);
/* Whether it was submitted, and not taken or dropped. */
bool mts_engine_holds(const mts_engine *engine, uint64_t run);
/* Waits for what is on the device, and ends what is not: CANCELLED. Nothing can be submitted then but to be
 * dropped. */
void mts_engine_stop(mts_engine *engine);
bool mts_engine_has_place(const mts_engine *engine);
/* Runs that were submitted and not taken. */
uint32_t mts_engine_under_way(const mts_engine *engine);
/* An output of a task's last run that was taken, row-major, of the port's dtype; valid until another one is.
 * NOT_FOUND: no such output, or that task has not run. INVALID_ARGUMENT: no run was taken yet. */
mts_status mts_engine_output(const mts_engine *engine, uint32_t task, uint32_t output, const void **data,
                             size_t *size, mts_error *error);
/* How often a task's runs were taken, and milliseconds from submission to their end (latency.h). NOT_FOUND.
 */
mts_status mts_engine_latency(const mts_engine *engine, uint32_t task, uint64_t *runs, double *p50,
                              double *p95, mts_error *error);

/* ---- reports ---- */

void mts_engine_stats_get(const mts_engine *engine, mts_engine_stats *stats);

/* What an engine was built of; valid as long as the engine. */
typedef struct mts_engine_view {
    const mts_device *device;
    const mts_archive *archive;
    const mts_engine_options *options;
    uint32_t task_count, group_count, launch_count;
    const mts_encoded_launch *launches;
    /* Why tasks were not put into one group, or "". */
    const char *note;
} mts_engine_view;

void mts_engine_view_get(const mts_engine *engine, mts_engine_view *view);
/* Task `position` of the engine as its index in the archive; *group is the task group that runs it. */
uint32_t mts_engine_task_at(const mts_engine *engine, uint32_t position, uint32_t *group);
/* The task group of a task of the archive; MTS_NONE: the engine does not have the task. */
uint32_t mts_engine_group_of(const mts_engine *engine, uint32_t task);
/* Elements of the largest input. */
size_t mts_engine_largest_input(const mts_engine *engine);
/* Gives every input the first of these values, as many as it has elements. With zero-copy inputs the caller
 * keeps them valid. */
mts_status mts_engine_fill_inputs(mts_engine *engine, const float *values, mts_error *error);

#endif
