/*
 * grouping.h: a class of tasks while its groups are decided: what grouping_model.c measures and predicts for
 * grouping.c. Private to the two.
 */
#ifndef MTS_TUNE_GROUPING_H
#define MTS_TUNE_GROUPING_H

#include "tune/planning.h"
#include "plan/cost.h"
#include "plan/group.h"

/* Tasks that can be stitched and have one priority. Indices are positions in `tasks`, which holds positions
   in the session. All arrays are the planning's. */
typedef struct task_class {
    mts_planning *p;
    uint32_t number, count;
    uint32_t *tasks;
    uint64_t until; /* nanoseconds of the clock: nothing new is begun then */
    bool uniform;   /* one structure: a set's latency depends on its size only */

    double *latency; /* [count + 1] by size, uniform only: milliseconds */
    uint64_t *arena; /* [count + 1] likewise: bytes */
    double *weights; /* [count + 1] likewise: bytes, where groups share none */

    double *alone, *alone_weights;     /* [count] of each task by itself, otherwise; 0: not run */
    double *alone_arena, *alone_model; /* [count] bytes; what the model says */
    const mts_cost_table *table;
    mts_cost_set *sets; /* [1 << count] where so few tasks are planned over sets: computed once; else NULL */
    mts_cost_model model;
    mts_cost_sample *samples;
    uint32_t sample_count, sample_most;
    uint32_t *members; /* [count] scratch: the indices of a group */
} task_class;

/* Collects the tasks of class `number`. `samples`: how many plans mts_class_learn may be told. */
mts_status mts_class_open(task_class *c, mts_planning *p, uint32_t number, uint32_t samples);
/* Whether there is time for more. */
bool mts_class_in_time(const task_class *c);
/* Runs a few sets of its tasks; then everything can be predicted. Errors: of the first set that has to run.
 */
mts_status mts_class_calibrate(task_class *c);
/* Milliseconds of a plan; of its groups one after another. */
double mts_class_predict(const task_class *c, const uint32_t *groups, uint32_t group_count);
/* Latency and arena of a set, indices ascending; its weights too where they depend on how tasks are grouped.
 */
void mts_class_cost(const task_class *c, const uint32_t *indices, uint32_t count, mts_group_cost *cost);
/* Weights of all its tasks that are the same in every grouping and belong to this class: bytes. */
uint64_t mts_class_fixed_bytes(const task_class *c);
/* A plan that ran is a sample too. The model is fitted anew by mts_class_fit. */
void mts_class_learn(task_class *c, const uint32_t *groups, uint32_t group_count, double ms);
void mts_class_fit(task_class *c);

#endif
