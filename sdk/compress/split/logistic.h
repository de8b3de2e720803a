/*
 * logistic.h: multinomial logistic regression towards soft targets: a fully connected
 * layer whose softmax comes as near to given probabilities as it can.
 */
#ifndef MTS_COMPRESS_SPLIT_LOGISTIC_H
#define MTS_COMPRESS_SPLIT_LOGISTIC_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"

/* rows[count][inputs], their targets[count][outputs] (each sums to 1) and weights[count]
   >= 0. */
typedef struct mts_logistic {
    uint32_t count, inputs, outputs;
    const float *rows, *targets;
    const float *weights; /* NULL: all 1 */
    double ridge;         /* of the squared weights, inputs scaled to a variance of 1 */
    uint32_t steps;       /* at most */
} mts_logistic;

/*
 * weight[outputs][inputs] and bias[outputs] of the least weighted mean cross-entropy;
 * starts from zero, so equal arguments give equal answers. OUT_OF_MEMORY;
 * INVALID_ARGUMENT: weights that sum to nothing, numbers that are not finite.
 */
mts_status mts_logistic_fit(const mts_logistic *problem, float *weight, float *bias,
                            const mts_allocator *allocator, mts_error *error);

#endif
