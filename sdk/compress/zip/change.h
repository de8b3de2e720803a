/*
 * change.h: how much of what a task answers has changed, without labels.
 *
 * The answer of a classifier (an output 0 of [1,C] or [1,C,1,1,...] with two numbers or
 * more) is the largest number; its change is the part of the images with another one. Any
 * other output 0 changes by the root mean square difference over the standard deviation
 * of the original output.
 */
#ifndef MTS_COMPRESS_ZIP_CHANGE_H
#define MTS_COMPRESS_ZIP_CHANGE_H

#include "compress/data/data.h"

/* What the numbers of an output 0 are. */
typedef enum mts_change_form {
    MTS_CHANGE_NUMBERS, /* no classes, or not looked at */
    MTS_CHANGE_SCORES,  /* of classes; softmax makes probabilities of them */
    MTS_CHANGE_PROBABILITIES
} mts_change_form;

/* Sums of one task; zeros to begin with, and `form` if mts_change_loss is wanted. */
typedef struct mts_change {
    mts_change_form form;
    double divergence; /* sum over the images, in nats: of the answers now from the originals */
    uint32_t images, other;
    double difference, sum, square;
    uint64_t numbers;
} mts_change;

/* Adds output 0 of some images: [images][size] of the original, and as it is now. */
void mts_change_add(mts_change *sums, const float *original, const float *now, size_t size, uint32_t images);
/* What a task's output 0 is, by its graph and by the original answers to some images. */
mts_change_form mts_change_form_of(const mts_graph *graph, const float *answers, size_t size,
                                   uint32_t images);
/*
 * The points of accuracy that a task is expected to lose, without labels: 50 times the mean
 * divergence (Kullback, Leibler) of its answers from the original ones (docs/ZIP.md, "A
 * limit"). Of NUMBERS: the percentage of their variance that is lost.
 */
double mts_change_loss(const mts_change *sums);
/* The change in percent, of a task with this graph. */
double mts_change_of(const mts_change *sums, const mts_graph *graph);
/* Whether a change is larger. Numbers that are none are worse than any: no limit lets them
   pass. */
bool mts_change_worse(double change, double than);

/*
 * Runs a task's graph and another one with the same inputs and outputs side by side on all
 * images of the data and gives the change in percent. UNSUPPORTED: an operator that cannot
 * be run here, or output 0 is not computed.
 */
mts_status mts_change_between(const mts_graph *original, const mts_graph *now, mts_data *data, uint32_t task,
                              const mts_allocator *allocator, double *percent, mts_error *error);

#endif
