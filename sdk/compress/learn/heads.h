/*
 * heads.h: linear classifiers that train together on the same features: their scores are
 * one matrix product.
 */
#ifndef MTS_COMPRESS_LEARN_HEADS_H
#define MTS_COMPRESS_LEARN_HEADS_H

#include "compress/learn/course.h"

typedef struct mts_heads mts_heads;

/* What they train on; all of it outlives them. */
typedef struct mts_heads_data {
    const float *features;   /* [rows][count] */
    const uint32_t *labels;  /* [rows] */
    uint32_t trained, rows;  /* rows in front are trained with */
    uint32_t count, classes; /* features of a row */
} mts_heads_data;

/* Features are scaled to mean 0 and variance 1 over the trained rows, in a copy. NULL if
   memory is short. */
mts_heads *mts_heads_create(const mts_heads_data *data, const mtsz_train_candidate *candidates,
                            uint32_t count, const mts_allocator *allocator);
void mts_heads_destroy(mts_heads **heads);
mts_learner mts_heads_learner(mts_heads *heads);
/* A candidate's best classifier, for features as they were given: weight[classes][count],
   bias[classes]. */
void mts_heads_best(const mts_heads *heads, uint32_t candidate, float *weight, float *bias);

#endif
