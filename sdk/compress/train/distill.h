/*
 * distill.h: trains the weights of several tasks together until they answer as the
 * original models do, on images without labels (Hinton, Vinyals, Dean 2015).
 *
 * Loss of a task: the mean over its graph outputs of the mean squared difference from the
 * teacher's output, divided by the variance of the teacher's output over the data (so
 * every task counts the same, whatever its outputs mean), taken before a final SOFTMAX or
 * sigmoid where there is one; for outputs of rank 2 plus the Kullback-Leibler divergence
 * of the soft answers. Adam (Kingma, Ba 2015) with a rate that falls along a cosine.
 * Images are mirrored and moved at random (data/data.h); the teacher answers the same
 * image.
 */
#ifndef MTS_COMPRESS_TRAIN_DISTILL_H
#define MTS_COMPRESS_TRAIN_DISTILL_H

#include "compress/data/data.h"
#include "compress/net/net.h"
#include "compress/train/tie.h"

typedef struct mts_distill_options {
    double seconds;  /* training ends when they are over, or the epochs are; > 0 */
    uint32_t epochs; /* most rounds over the data */
    uint32_t batch;  /* images a step */
    float rate;      /* of Adam at its highest, relative to the size of what it changes; students that are
                        close to their teachers from the start take less of it */
    uint32_t shift;  /* most pixels that images move, 0: none */
    bool mirror;
    uint64_t seed;
    bool soft; /* vectors of classes are compared by their divergence alone: for teachers whose scores mean
                  nothing but their probabilities. false (default) */
    /* [image] the class that an image is of, by every task's outputs of classes; NULL (default): not
       known. They count `label_part` of what is aimed at, and the teacher's answers the rest. */
    const uint32_t *labels;
    float label_part;
    const char *const *names;     /* [task] of errors, or NULL: their graphs' */
    const bool *frozen;           /* [task] whose parameters keep their values, or NULL */
    const uint32_t *frozen_nodes; /* [task] nodes in front whose parameters keep their values, or NULL */
    /* Non-zero cancels. `loss`: mean of the tasks' since the last call; `left`:
       seconds. */
    int (*progress)(void *context, float fraction, double loss, double left);
    void *context;
} mts_distill_options;

typedef struct mts_distill_report {
    uint32_t steps;
    double seconds, loss_first,
        loss_last; /* means of the tasks' over the first and last tenth of the steps */
} mts_distill_report;

void mts_distill_options_default(mts_distill_options *options);
/*
 * Trains students[count] in place against teachers[count] (same graphs' outputs). Tied
 * cells are equal in bits afterwards, in all tasks of a tie, as they have to be before
 * (INVALID_ARGUMENT). A failure, a loss that is no number (INVALID_ARGUMENT, with the
 * task) and a cancellation leave the students as they were. Where the epochs end well
 * before the time, equal arguments give equal bits, on any number of processors.
 */
mts_status mts_distill(mts_net *const *students, const mts_net *const *teachers, uint32_t count,
                       const mts_tie *ties, uint32_t tie_count, mts_data *data,
                       const mts_distill_options *options, const mts_allocator *allocator,
                       mts_distill_report *report, mts_error *error);

#endif
