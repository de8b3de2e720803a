/*
 * state.h: a pipeline on several devices, and its runs.
 *
 * A run waits, then begins at the part that takes the inputs (at each part, where parts are
 * no chain), goes from part to part, and is finished at the last. The engines of the parts
 * are held: a run begins there when the pipeline says so, after it has chosen which tasks
 * are active.
 *
 * Internal to sdk/pipeline.
 */
#ifndef MTS_PIPELINE_STATE_H
#define MTS_PIPELINE_STATE_H

#include "engine/part.h"
#include "engine/tasks.h"
#include "pipeline/placement.h"
#include "pipeline/pipeline.h"

typedef struct mts_pipeline_copy mts_pipeline_copy;
typedef struct mts_pipeline_copies mts_pipeline_copies;

typedef struct mts_pipeline_run {
    /* From 1; when it was submitted. */
    uint64_t number, submitted;
    bool has_frame;
    /* Bits of parts: where it has begun, where it was taken from. */
    uint32_t begun, taken;
    /* Its number in each part's engine; 0: it is not there. */
    uint64_t in_part[MTS_PARTITION_DEVICES];
    /* The active tasks were chosen; their mask. */
    bool chosen;
    uint32_t *active;
    /* When it was found finished; 0: it was not. */
    uint64_t finished;
    bool cancelled;
    /* It begins again after a loss. */
    bool again;
    /* It has failed: no other part begins. It is over when no engine has it any more. */
    bool failed;
    /* It ended before its last part. */
    bool over;
    mts_status status;
    mts_error error;
    /* Values that cross borders, and as float16, where they are copied; outputs of earlier
       parts. */
    float *links;
    uint16_t *halves;
    /* [link]: where it lies, in `links` or in the slot of the part that gives it. */
    const float **link_data;
    unsigned char *early;
    /* What it was submitted with, where it may have to run again (copies.c). */
    mts_pipeline_copy *copy;
} mts_pipeline_run;

/* An output that ends before the last part. */
typedef struct mts_early_output {
    size_t at, size;
    bool is_early;
} mts_early_output;

/* An input of a part that takes a link. */
typedef struct mts_pipeline_feed {
    uint32_t task, input, link;
} mts_pipeline_feed;

/* A placement with its engines, and what runs need of it. */
typedef struct mts_placed {
    mts_placement_plan plan;
    mts_engine *engines[MTS_PARTITION_DEVICES];
    mts_planning_report reports[MTS_PARTITION_DEVICES];
    /* Per part: the number of its engine's last submission. */
    uint64_t numbers[MTS_PARTITION_DEVICES];
    mts_arena arena;
    size_t *link_at; /* [link]: elements before it */
    size_t link_elements, early_bytes;
    mts_pipeline_feed *feeds[MTS_PARTITION_DEVICES];
    uint32_t feed_counts[MTS_PARTITION_DEVICES];
    mts_early_output **early; /* [task][output] */
    unsigned char *kept;      /* the early outputs of the runs that were consumed last */
} mts_placed;

struct mts_pipeline {
    const mts_allocator *allocator;
    /* On one device: everything. */
    mts_engine *engine;
    /* The one before a change (change.h), or NULL. */
    mts_engine *before;
    /* The last frame is in its inputs, and not in those of `engine`. */
    bool frame_is_before;

    /* ---- on several ---- */

    const mts_archive *archive;
    mts_pipeline_options options;
    mts_device *devices[MTS_PARTITION_DEVICES];
    const char *ids[MTS_PARTITION_DEVICES];
    uint32_t device_count;

    mts_arena arena; /* of the tasks and the runs */
    uint32_t task_count;
    uint32_t *tasks; /* indices in the archive */
    mts_engine_tasks schedule;
    uint32_t part_slots;

    mts_placed both[2];
    /* Without parts after a loss that no plan was found for. */
    mts_placed *now;
    /* The one before a loss, whose outputs can be read until another run is consumed; or NULL. */
    mts_placed *old;
    uint32_t replans;

    bool valid; /* a run was consumed that did not fail */
    uint32_t slots, spare, used, begun_most;
    mts_pipeline_run *items, **queue;
    uint64_t last;
    uint32_t deadline_ms;
    bool stopped;
    mts_pipeline_copies *copies; /* of the inputs as they are, see copies.h; or NULL */
};

static inline bool mts_pipeline_is_chain(const mts_pipeline *pipeline)
{
    return pipeline->now->plan.partition.chain;
}

/* The slot of a run, which no other one in flight has. */
static inline uint32_t mts_pipeline_slot(const mts_pipeline *pipeline, const mts_pipeline_run *run)
{
    return (uint32_t)(run - pipeline->items);
}

/* Whether a part takes the caller's inputs. */
static inline bool mts_pipeline_is_root(const mts_pipeline *pipeline, uint32_t part)
{
    return part == 0 || !mts_pipeline_is_chain(pipeline);
}

/* ---- place.c ---- */

/* Places the tasks on the devices that are not lost, and builds the engines. On failure
   `now` has no parts. */
mts_status mts_pipeline_place(mts_pipeline *pipeline, mts_error *error);
/* Destroys the engines of a placement, which has no parts then. */
void mts_placed_empty(mts_placed *placed, const mts_allocator *allocator);

/* ---- parts.c ---- */

bool mts_pipeline_run_finished(const mts_pipeline *pipeline, const mts_pipeline_run *run);
/* Looks at all parts, hands runs on, and begins those that wait. */
void mts_pipeline_move(mts_pipeline *pipeline);
/* Whether a run could begin now at every part that takes inputs. */
bool mts_pipeline_may_begin(const mts_pipeline *pipeline);
/* Whether frames wait at a part. */
bool mts_pipeline_has_waiting(const mts_pipeline *pipeline);
void mts_pipeline_choose(mts_pipeline *pipeline, mts_pipeline_run *run);
/* Gives the engine of a part the active tasks of a run. */
void mts_pipeline_activate(mts_pipeline *pipeline, const mts_pipeline_run *run, uint32_t part);
/* Ends a run that is not finished, with the part's device in the sentence. Parts that have
   begun come to their end, and are taken with it. */
void mts_pipeline_end(mts_pipeline *pipeline, mts_pipeline_run *run, uint32_t part, mts_status status,
                      const mts_error *error);
/* Takes a run from all engines that have finished it; `keep`: its outputs become those that
   the caller reads. */
mts_status mts_pipeline_take_parts(mts_pipeline *pipeline, mts_pipeline_run *run, bool keep,
                                   mts_error *error);

/* ---- give.c: to the engines that take the caller's inputs, and to nothing else ---- */

mts_status mts_pipeline_give_input(mts_pipeline *pipeline, uint32_t task, uint32_t input, const void *data,
                                   size_t size, mts_error *error);
mts_status mts_pipeline_give_task_frame(mts_pipeline *pipeline, uint32_t task, const mts_frame_view *frame,
                                        mts_error *error);
mts_status mts_pipeline_give_regions(mts_pipeline *pipeline, uint32_t task, const mts_region *regions,
                                     uint32_t count, mts_error *error);
/* Where the port of a task of the archive is. */
mts_status mts_pipeline_find_port(const mts_pipeline *pipeline, uint32_t task, bool output, uint32_t index,
                                  mts_part_place *place, mts_error *error);
/* Position of a task of the archive; task_count: the session does not run it. */
uint32_t mts_pipeline_position(const mts_pipeline *pipeline, uint32_t task);
/* Starts a run with the inputs as they are at each part that takes inputs. Where the first
   of them refuses it, the call fails; where a later one does, the run has failed. */
mts_status mts_pipeline_begin_inputs(mts_pipeline *pipeline, mts_pipeline_run *run, mts_error *error);
/* Gives a frame to each part that takes inputs, where it waits. */
mts_status mts_pipeline_give_frame(mts_pipeline *pipeline, mts_pipeline_run *run, const mts_frame_view *frame,
                                   mts_error *error);

#endif
