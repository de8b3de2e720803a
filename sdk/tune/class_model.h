/*
 * class_model.h: one class of tasks while its groups are decided: a model of what sets of
 * its tasks cost.
 */
#ifndef MTS_TUNE_CLASS_MODEL_H
#define MTS_TUNE_CLASS_MODEL_H

#include "plan/cost.h"
#include "plan/group.h"
#include "tune/planning.h"

/* Tasks that can be stitched and have one priority. An index is a position in `tasks`,
 * which holds positions in the session. All arrays lie in the planning's arena. */
typedef struct task_class {
    mts_planning *p;
    uint32_t number, count;
    uint32_t *tasks;
    uint64_t until; /* nanoseconds of the clock: nothing new begins then */
    bool uniform;   /* all tasks have one structure: a set's latency depends on its size only */

    /* [count + 1] by the size of a set, where uniform. */
    double *latency; /* milliseconds */
    uint64_t *arena; /* bytes */
    double *weights; /* bytes, where groups share none */

    /* [count] of each task by itself, where not uniform; 0: it was not run. */
    double *alone;                       /* milliseconds */
    double *alone_weights, *alone_arena; /* bytes */
    double *alone_model;                 /* milliseconds by the model */
    const mts_cost_table *table;
    mts_cost_set *sets; /* [1 << count], filled on demand; NULL: too many tasks for that */
    mts_cost_model model;
    mts_cost_sample *samples;
    uint32_t sample_count, sample_most;
    uint32_t *members; /* [count] scratch: the indices of a group */
} task_class;

/* Collects the tasks of class `number`. `samples`: how many plans mts_class_learn takes
   at most. */
mts_status mts_class_open(task_class *c, mts_planning *p, uint32_t number, uint32_t samples);
/* Whether there is time for more. */
bool mts_class_in_time(const task_class *c);
/* Runs a few sets of its tasks; from then on everything can be predicted. Errors: of the
 * first set that has to run. */
mts_status mts_class_calibrate(task_class *c);
/* Milliseconds of a plan: the sum of its groups. */
double mts_class_predict(const task_class *c, const uint32_t *groups, uint32_t group_count);
/* Latency and arena of a set, indices ascending; its weights too where they depend on the
   grouping. */
void mts_class_cost(const task_class *c, const uint32_t *indices, uint32_t count, mts_group_cost *cost);
/* Bytes of the weights of this class that are the same in every grouping. */
uint64_t mts_class_fixed_bytes(const task_class *c);
/* Adds a plan that ran as a sample. The model is fitted anew by mts_class_fit. */
void mts_class_learn(task_class *c, const uint32_t *groups, uint32_t group_count, double ms);
void mts_class_fit(task_class *c);

#endif
