/*
 * ending.h: the end of a subnet: its classes and "none of these", fitted to the whole
 * network's probabilities.
 *
 * "None" is many different things. It gets one score for each other group of classes, and
 * its probability is their sum: one fully connected layer cannot separate "like a cat or
 * like a ship" from the rest, several scores can.
 */
#ifndef MTS_COMPRESS_SPLIT_ENDING_H
#define MTS_COMPRESS_SPLIT_ENDING_H

#include "compress/split/split.h"

typedef struct mts_ending {
    uint32_t group, classes; /* of the subnet; its classes */
    uint32_t scores;         /* classes + one for each other group */
    uint32_t *score_of;      /* [class of the whole network] */
    float *sums;             /* [classes + 1][scores]: 1 where a score counts as an answer */
    float *selects;          /* [scores][classes of the whole network]: 1 where a class counts as a score */
    float *floors;           /* [scores]: least probability that a teacher gives */
} mts_ending;

/* Lives in the split's arena; false if memory is short. */
bool mts_ending_init(const mts_split *split, uint32_t group, mts_arena *arena, mts_ending *out);
/*
 * Fits weight[scores][features], bias[scores] to features[images][features], so that
 * their softmax is what the whole network answers. Errors as mts_logistic_fit.
 */
mts_status mts_ending_fit(const mts_split *split, const mts_ending *ending, const float *features,
                          uint32_t count, float *weight, float *bias, mts_error *error);
/* The subnet `body` up to its features, with these weights: [1,classes + 1]
   probabilities. */
mts_status mts_ending_build(const mts_ending *ending, const mts_graph *body, uint32_t value,
                            uint32_t features, const float *weight, const float *bias, mts_arena *arena,
                            mts_graph **out, mts_error *error);

#endif
