/*
 * loss.h: cross-entropy of scores and classes.
 */
#ifndef MTS_COMPRESS_LEARN_LOSS_H
#define MTS_COMPRESS_LEARN_LOSS_H

#include <math.h>
#include <stdint.h>

/* Logarithm of the sum of the exponentials. */
static inline double mts_log_sum(const float *scores, uint32_t count)
{
    float most = scores[0];
    double sum = 0;
    for (uint32_t i = 1; i < count; i++) {
        most = scores[i] > most ? scores[i] : most;
    }
    for (uint32_t i = 0; i < count; i++) {
        sum += exp((double)scores[i] - (double)most);
    }
    return (double)most + log(sum);
}

/* The loss of a row; its gradient, times `weight`, replaces `gradient`, which may be the
   scores' own place. */
static inline double mts_cross_entropy(const float *scores, uint32_t count, uint32_t label, double weight,
                                       float *gradient)
{
    const double all = mts_log_sum(scores, count);
    const double loss = all - (double)scores[label];
    for (uint32_t i = 0; i < count; i++) {
        const double p = exp((double)scores[i] - all);
        gradient[i] = (float)(weight * (p - (i == label ? 1.0 : 0.0)));
    }
    return loss;
}

/* Whether the label's score is the largest, and the first of equal ones; false where a score
   is no number. */
static inline int mts_is_right(const float *scores, uint32_t count, uint32_t label)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i != label && !(i < label ? scores[label] > scores[i] : scores[label] >= scores[i])) {
            return 0;
        }
    }
    return scores[label] == scores[label];
}

#endif
