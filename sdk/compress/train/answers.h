/*
 * answers.h: what a task answers, as training compares it: the loss by its outputs.
 */
#ifndef MTS_COMPRESS_TRAIN_ANSWERS_H
#define MTS_COMPRESS_TRAIN_ANSWERS_H

#include "graph/graph.h"

/* One output of a task. */
typedef struct mts_answer {
    uint32_t elements, classes; /* of an image; of a vector of classes, or 0 */
    bool computed;              /* by a node; others are not compared */
    double variance;            /* of the teacher's over the data, mean of the elements; > 0 */
    double *sums;               /* [elements], for mts_answer_add; or NULL */
    double squares;
} mts_answer;

/*
 * A clone whose outputs are those before a final softmax or sigmoid (a sigmoid that is
 * part of a node is taken off it). Nodes keep their numbers; activations at the end that
 * no node reads any more are dropped. NULL if memory is short.
 */
mts_graph *mts_answers_graph(const mts_graph *graph, mts_arena *arena);
/* What output `index` of such a graph is; its variance is 1, there are no sums. */
mts_answer mts_answer_of(const mts_graph *graph, uint32_t index);
/* Adds images' values to the sums and the sum of all squares. */
void mts_answer_add(mts_answer *answer, const float *values, uint32_t images);
/* Sets the variance from the sums of `images` images (where these are all the same: to
   their mean square). */
void mts_answer_measure(mts_answer *answer, uint32_t images);
/* Scores whose softmax is that of `scores`, in parts of 1 - `part`, and the label's. */
void mts_answer_with_label(const float *scores, uint32_t classes, uint32_t label, float part, float *out);
/*
 * Loss of `images` images and its gradient by the student's values, both divided by
 * `batch` x `outputs` (images of the whole batch, outputs of the task).
 */
double mts_answer_loss(const mts_answer *answer, const float *teacher, const float *student, uint32_t images,
                       uint32_t batch, uint32_t outputs, float *gradient);

#endif
