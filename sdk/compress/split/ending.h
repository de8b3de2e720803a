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
/* An end of a subnet with so many features. */
typedef struct mts_ending_layer {
    uint32_t features;
    float *weight; /* [scores][features] */
    float *bias;   /* [scores] */
} mts_ending_layer;

/*
 * Fits a layer to features[images][features], so that their softmax is what the whole network
 * answers, and the labels where there are some; `held_out`: to all images but those of
 * mts_split_holds_out. Errors as mts_logistic_fit.
 */
mts_status mts_ending_fit(const mts_split *split, const mts_ending *ending, const float *features,
                          bool held_out, const mts_ending_layer *layer, mts_error *error);
/* Mean cross-entropy of the images that were held out from what they should be answered with. */
mts_status mts_ending_loss(const mts_split *split, const mts_ending *ending, const float *features,
                           const mts_ending_layer *layer, double *loss, mts_error *error);
/* The subnet `body` up to its features, with these weights: [1,classes + 1]
   probabilities. */
mts_status mts_ending_build(const mts_ending *ending, const mts_graph *body, uint32_t value,
                            const mts_ending_layer *layer, mts_arena *arena, mts_graph **out,
                            mts_error *error);

#endif
