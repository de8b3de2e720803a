/*
 * engine.h: a plan as buffers, kernels and one command list; and running it.
 *
 * mts_engine_create does all the work: it stitches, plans, builds kernels, packs and
 * uploads weights, and records the command list. A run uploads inputs, submits the
 * command list and reads outputs back. It allocates and builds nothing, with three
 * exceptions: the frame buffer grows when a larger frame comes, memory of a zero-copy
 * frame is imported, and a part of a pipeline imports its links and records a list at the
 * first run of each slot (links.h). Tasks are named by their index in the archive.
 *
 * Thread-safety: an engine belongs to one thread at a time.
 */
#ifndef MTS_ENGINE_ENGINE_H
#define MTS_ENGINE_ENGINE_H

#include "bundle/archive.h"
#include "device/device.h"
#include "frame/layout.h"
#include "lower/launch.h"
#include "lower/launch_shape.h"
#include "lower/persist.h"
#include "lower/precision.h"
#include "plan/budget.h"
#include "plan/decision.h"

typedef struct mts_engine mts_engine;

typedef struct mts_engine_options {
    mts_strategy strategy;
    /* FLOAT16 becomes FLOAT16_STORAGE on a device without half_products. */
    mts_precision precision;
    /* Indices of the archive's tasks, distinct; NULL: all. */
    const uint32_t *tasks;
    uint32_t task_count;
    bool separate_inputs;
    /* Inputs stay in the caller's memory, see mts_engine_set_input. */
    bool zero_copy_inputs;
    mts_memory_budget memory_budget;
#ifndef MTS_SMALL
    /* Bytes of the weights' last buffer that stay free, for blocks of later engines that share
       it. */
    uint64_t weights_reserve;
    /* Of a part of a pipeline (links.h): runs in flight, each of which has a slot; 0: inputs and
       outputs are copied. `links_out`: outputs lie in the slots, where the device computes in
       memory of the process. */
    uint32_t link_slots;
    bool links_out;
#endif
    /* Groups run one after another, a launch for each layer, without lanes and waves
       (plan/lanes.h, waves.h): dry runs and samples of a session with a budget, which has
       them only if they fit, and samples whose layers are measured. */
    bool in_order;
    /* Runs of all tasks are persistent launches where the device has such, see
       engine/persistent.h. */
    bool persistent;
    /* Convolutions take packs of channels where the device can (plan/packed.h); kernels read
       weights through images where it has them. AUTO: plan/device_defaults.h. */
    mts_use packed_channels, weight_images;
    /* Per task, the higher the earlier; NULL: all alike. */
    const uint32_t *priorities;
    /* Submissions in flight at most: submitted, and not consumed; 0: one. */
    uint32_t slots;
    /* Submissions on the device at a time, at most `slots`; 0: one. */
    uint32_t depth;
    /* A frame that finds no free slot takes that of the oldest one that is not on the
     * device; then depth is less than slots. */
    bool drop_oldest;
    /* Of `progress`, which may be NULL; non-zero cancels. */
    void *context;
    int (*progress)(void *context, float fraction, const char *what);
} mts_engine_options;

/* What building an engine may use, and what it reports besides its status. */
typedef struct mts_engine_build {
    /* An engine whose kernels the new one shares where the device still has them; NULL:
       none. */
    const mts_engine *like;
#ifndef MTS_SMALL
    /* Its weights on the device are shared, too: only blocks that it does not have are
       uploaded. Blocks have the same numbers in both archives, and tasks that both have the same
       graphs, by address. The new engine belongs to a second thread while it is made. */
    bool shares_weights;
#endif
    /* Out: kernels did not build, did not run, or (NOT_FOUND) do not exist for this
       device. */
    bool kernels_failed;
} mts_engine_build;

/*
 * Builds an engine for a decision; nothing is measured. The device and the archive
 * outlive the engine; `decision` and `build`, which may be NULL, are needed during the
 * call only.
 */
mts_status mts_engine_create(mts_device *device, const mts_archive *archive,
                             const mts_engine_options *options, const mts_decision *decision,
                             mts_engine_build *build, mts_engine **out, mts_error *error);

/* An engine that is planned and encoded: what mts_engine_create does without a device call. */
typedef struct mts_builder mts_engine_draft;

/* Also tells the engine's memory and launches. `error` outlives the draft. Errors: LIMIT,
   OUT_OF_MEMORY. */
mts_status mts_engine_draft_create(mts_device *device, const mts_archive *archive,
                                   const mts_engine_options *options, const mts_decision *decision,
                                   mts_engine_draft **out, mts_session_stats *stats, mts_error *error);
void mts_engine_draft_destroy(mts_engine_draft **draft);
/* Makes the engine of a draft, which is destroyed in any case. Of `options` only the
   progress function is read. */
mts_status mts_engine_build_draft(mts_engine_draft **draft, const mts_engine_options *options,
                                  mts_engine_build *build, mts_engine **out, mts_error *error);

/* A dry run: the memory and launches of such an engine without a device call. Errors:
 * LIMIT, OUT_OF_MEMORY.
 */
mts_status mts_engine_footprint(mts_device *device, const mts_archive *archive,
                                const mts_engine_options *options, const mts_decision *decision,
                                mts_session_stats *stats, mts_error *error);
/* Bytes that such an engine of strategy sequential takes at least: its activations and its
   constants. No launch is encoded for this. */
mts_status mts_engine_least(mts_device *device, const mts_archive *archive, const mts_engine_options *options,
                            const mts_decision *decision, uint64_t *bytes, mts_error *error);
void mts_engine_destroy(mts_engine **engine);

/*
 * Enqueues an input's upload: row-major, of the port's dtype, `size` bytes exactly (else
 * INVALID_ARGUMENT). With zero_copy_inputs only the address is kept, and each run reads
 * the data there. An address other than the last one makes the next run update its
 * command list, which allocates. A run before all inputs were set is INVALID_ARGUMENT.
 */
mts_status mts_engine_set_input(mts_engine *engine, uint32_t task, uint32_t input, const void *data,
                                size_t size, mts_error *error);
/* Enqueues the preprocessing of a frame into input 0 of a task, or of every task that
 * takes frames (MTS_NONE). INVALID_ARGUMENT: a region that is going to be shown is not
 * inside the frame. */
mts_status mts_engine_set_frame(mts_engine *engine, uint32_t task, const mts_frame_view *frame,
                                mts_error *error);
/* From the next frame on, image i of the batches shows regions[i]; later images keep what
 * they hold. count 0: all show the frame's own region. INVALID_ARGUMENT: a batch has
 * fewer images. */
mts_status mts_engine_set_regions(mts_engine *engine, uint32_t task, const mts_region *regions,
                                  uint32_t count, mts_error *error);

/* ---- runs ---- */

/* A submission that was not consumed. */
typedef struct mts_engine_run {
    /* From 1. */
    uint64_t number;
    bool finished;
} mts_engine_run;

/* A submission that ended without being consumed. */
typedef struct mts_engine_drop {
    /* 0: none. */
    uint64_t run;
    /* CANCELLED, or how it had failed. */
    mts_status status;
} mts_engine_drop;

/* Starts a run with the inputs as they are. BUSY: no slot is free, or the device or a
 * waiting frame would have to come first. */
mts_status mts_engine_submit(mts_engine *engine, mts_error *error);
/* Starts a run with a frame that becomes the input of every task that takes frames. It
 * waits in its slot while the device is busy. Where no slot is free, the oldest
 * submission that is not on the device is dropped (drop_oldest), else BUSY. */
mts_status mts_engine_submit_frame(mts_engine *engine, const mts_frame_view *frame, mts_engine_drop *dropped,
                                   mts_error *error);
/* Looks at what has finished, and gives the device its next runs. Does not wait; a
 * failure becomes that of its run. */
void mts_engine_advance(mts_engine *engine);
/* The oldest submission in flight; false: there is none. */
bool mts_engine_oldest(const mts_engine *engine, mts_engine_run *out);
/* Waits until that one has finished, or the clock of mts_os_clock_ns reaches `until`
 * (TIMEOUT); UINT64_MAX: without a limit. */
mts_status mts_engine_wait_until(mts_engine *engine, uint64_t until, mts_error *error);
/* Takes the oldest submission, which has finished (else BUSY): its outputs become those
 * that can be read. Returns how it ended: CANCELLED has outputs of the task groups that
 * ran, other failures have none. */
mts_status mts_engine_take(mts_engine *engine, mts_error *error);
/* Waits for the oldest submission and takes it; OK if there is none. */
mts_status mts_engine_wait(mts_engine *engine, mts_error *error);
/* Frees the slot of the oldest submission that is not on the device; false: there is
   none. */
bool mts_engine_drop_oldest(mts_engine *engine, mts_engine_drop *dropped);
/* Leaves out the task groups that have not begun; unless it has finished, the run ends as
 * CANCELLED. false: no such submission is in flight. One that waits is withdrawn instead.
 */
bool mts_engine_cancel(mts_engine *engine, uint64_t run);
/* Frees the slot of a submission that has not gone to the device; else false. */
bool mts_engine_withdraw(mts_engine *engine, uint64_t run);
/* Waits for what is on the device, and ends the other submissions as CANCELLED. They can
 * only be dropped or consumed then. */
void mts_engine_stop(mts_engine *engine);
/* Whether a submission is in flight. */
bool mts_engine_holds(const mts_engine *engine, uint64_t run);
/* Whether a run without a frame would start at once. */
bool mts_engine_can_start(const mts_engine *engine);
/* Whether it would if mts_engine_drop_oldest dropped a submission. */
bool mts_engine_can_start_by_drop(const mts_engine *engine);
bool mts_engine_has_slot(const mts_engine *engine);
/* Submissions that were not consumed. */
uint32_t mts_engine_in_flight(const mts_engine *engine);
/* An output of a task's last run that was consumed, row-major, of the port's dtype; valid
 * until another one is. NOT_FOUND: no such output, or that task has not run.
 * INVALID_ARGUMENT: no run was consumed yet. */
mts_status mts_engine_output(const mts_engine *engine, uint32_t task, uint32_t output, const void **data,
                             size_t *size, mts_error *error);
/* How often a task's runs were consumed, and milliseconds from submission to their end
 * (latency.h). NOT_FOUND.
 */
mts_status mts_engine_latency(const mts_engine *engine, uint32_t task, uint64_t *runs, double *p50,
                              double *p95, mts_error *error);

/* ---- reports ---- */

void mts_engine_stats_get(const mts_engine *engine, mts_session_stats *stats);

/* What an engine was built of; valid as long as the engine. */
typedef struct mts_engine_view {
    const mts_device *device;
    const mts_archive *archive;
    const mts_engine_options *options;
    uint32_t task_count, group_count, launch_count;
    const mts_encoded_launch *launches;
    /* Which of them are one persistent launch in a run of all tasks; none: it goes launch by
       launch. */
    const mts_persist_run *runs;
    uint32_t run_count;
    /* Why tasks were not put into one group, or "". */
    const char *note;
} mts_engine_view;

void mts_engine_view_get(const mts_engine *engine, mts_engine_view *view);
/* Task `position` of the engine as its index in the archive; *group is the task group
   that runs it. */
uint32_t mts_engine_task_at(const mts_engine *engine, uint32_t position, uint32_t *group);
/* The task group of a task of the archive; MTS_NONE: the engine does not have the
   task. */
uint32_t mts_engine_group_of(const mts_engine *engine, uint32_t task);
/* Elements of the largest input. */
size_t mts_engine_largest_input(const mts_engine *engine);
/* Gives every input the first of these values, as many as it has elements. With zero-copy
 * inputs the caller keeps them valid. */
mts_status mts_engine_fill_inputs(mts_engine *engine, const float *values, mts_error *error);

#endif
