/*
 * cost.h: what a set of tasks costs when it is stitched into one group: a model with a
 * few constants that are fitted to measurements on the device.
 *
 * A table of the stitched layers of all tasks says for each task which computations it
 * needs; a set's launches, products and bytes are sums over the distinct computations of
 * its tasks. A group's time is a linear function of those with constants that cannot be
 * negative, found by least squares of relative errors. Pure.
 */
#ifndef MTS_PLAN_COST_H
#define MTS_PLAN_COST_H

#include "mts/types.h"
#include "stitch/stitch.h"

/* Terms of a set's time. Units keep the constants near one. */
typedef enum mts_cost_term {
    MTS_COST_LAUNCHES = 0, /* launches, in hundreds */
    MTS_COST_WORK = 1,     /* multiply-adds, in 1e9 */
    MTS_COST_SMALL = 2,    /* likewise, those of layers that are small for the device */
    MTS_COST_BYTES = 3,    /* of activations read and written, and weights, in 1e9 */
    MTS_COST_BEYOND = 4,   /* likewise, what a layer touches beyond the caches */
    MTS_COST_TERMS = 5
} mts_cost_term;

typedef struct mts_cost_set {
    double term[MTS_COST_TERMS];
} mts_cost_set;

typedef struct mts_cost_table mts_cost_table;

/*
 * The table of some tasks that were stitched as one group, graph t being task t. Lives in
 * `arena`; `stitched` may go. Errors: OUT_OF_MEMORY.
 */
mts_status mts_cost_table_make(const mts_stitched *stitched, mts_strategy strategy, mts_arena *arena,
                               const mts_cost_table **out, mts_error *error);
/* Terms of a set of tasks, ascending. */
void mts_cost_of(const mts_cost_table *table, const uint32_t *tasks, uint32_t count, mts_cost_set *out);

/* A measured set. */
typedef struct mts_cost_sample {
    mts_cost_set set;
    double ms;
} mts_cost_sample;

/* Constants of a device, milliseconds a unit; none is negative. */
typedef struct mts_cost_model {
    double constant[MTS_COST_TERMS];
    double error; /* root mean square of the relative errors of the samples */
} mts_cost_model;

/* Samples of no time, of a clock too coarse for them, do not count. */
void mts_cost_fit(const mts_cost_sample *samples, uint32_t count, mts_cost_model *model);
double mts_cost_predict(const mts_cost_model *model, const mts_cost_set *set);

#endif
