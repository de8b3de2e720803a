/*
 * tails.h: copies of the last layers of a network that train side by side on what the frozen
 * layers gave.
 */
#ifndef MTS_COMPRESS_LEARN_TAILS_H
#define MTS_COMPRESS_LEARN_TAILS_H

#include "compress/learn/course.h"
#include "compress/learn/plan.h"
#include "compress/net/net.h"

typedef struct mts_tails mts_tails;

/* What they train on; all of it outlives them. */
typedef struct mts_tails_data {
    const mts_learn_plan *plan;
    const float *features;  /* [rows][plan->elements] */
    const uint32_t *labels; /* [rows] */
    uint32_t trained, rows; /* rows in front are trained with */
    uint32_t classes, batch;
    /* Of the last layer at the start, as net/net.h has them: [classes][features], [classes]. */
    const float *weight, *bias;
} mts_tails_data;

/* UNSUPPORTED: gradients cannot pass an operator; LIMIT: candidates take too much memory;
   OUT_OF_MEMORY. */
mts_status mts_tails_create(const mts_tails_data *data, const mtsz_train_candidate *candidates,
                            uint32_t count, const mts_allocator *allocator, mts_tails **out,
                            mts_error *error);
void mts_tails_destroy(mts_tails **tails);
mts_learner mts_tails_learner(mts_tails *tails);
/* Puts a candidate's best numbers into a net of plan->whole. */
void mts_tails_best(const mts_tails *tails, uint32_t candidate, mts_net *whole);

/* What the last layer of the plan's tail reads of all rows, at the start:
   out[rows][plan->features]. */
mts_status mts_tail_features(const mts_learn_plan *plan, const float *features, uint32_t rows, float *out,
                             const mts_allocator *allocator, mts_error *error);

#endif
