/*
 * placement.h: which part of the tasks runs on which device: decided by measurement.
 *
 * Internal to sdk/pipeline.
 */
#ifndef MTS_PIPELINE_PLACEMENT_H
#define MTS_PIPELINE_PLACEMENT_H

#include "partition/balance.h"
#include "partition/parts.h"
#include "tune/tune.h"
#include "pipeline/pipeline.h"

/*
 * Placements that are tried. A stage that is refused is out, and no other is, so the first one
 * that fits is the best that does, and where none is left none fits. That holds where
 * fewer stages than this are refused: always of up to 44 units on equal devices, which have 990
 * stages. Beyond it stages are left out that are not expected to fit, and as many more
 * placements are tried.
 */
#define MTS_PLACEMENT_TRIES 1024u

typedef struct mts_placement_plan {
    /* Of units and costs. */
    mts_arena arena;
    mts_units units;
    mts_device_costs costs[MTS_PARTITION_DEVICES];
    mts_chain chain;
    /* [device][2 * MTS_PLACEMENT_TRIES]: stages that were refused; NULL: none was yet. */
    mts_chain_refusal *refusals;
    /* How often the next placement was asked for. */
    uint32_t tries;
    /* [task]; the busiest device's time. */
    uint32_t *device_of;
    double busiest_ms;
    /* Whole tasks: [device] bytes that it was dealt, by prediction, and may be dealt; 0: no limit. */
    uint64_t groups_memory[MTS_PARTITION_DEVICES], groups_budget[MTS_PARTITION_DEVICES];
    mts_partition partition;
    /* Times of both, where both were looked at; 0: not. */
    double chain_ms, groups_ms;
} mts_placement_plan;

/* Chooses a placement of the tasks on the devices that are not lost. */
mts_status mts_placement_find(mts_placement_plan *plan, const mts_archive *archive, const uint32_t *tasks,
                              uint32_t task_count, const mts_pipeline_options *options, mts_error *error);
/* The next placement by the times that were measured, after the engine of a part did not fit its
   device: that stage is out, or whole tasks of less memory are dealt. LIMIT:
   there is none. */
mts_status mts_placement_again(mts_placement_plan *plan, uint32_t part, const mts_pipeline_options *options,
                               mts_error *error);
/* Whether a device reads what crosses borders where it lies, in memory of the process. */
bool mts_placement_reads(const mts_pipeline_options *options, uint32_t device);
void mts_placement_release(mts_placement_plan *plan);

#endif
