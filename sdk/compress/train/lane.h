/*
 * lane.h: a part of the batch on its way through one task: teacher, student, loss and
 * gradients.
 */
#ifndef MTS_COMPRESS_TRAIN_LANE_H
#define MTS_COMPRESS_TRAIN_LANE_H

#include "compress/data/data.h"
#include "compress/train/answers.h"
#include "compress/train/batch.h"
#include "compress/train/parameters.h"

/* What all lanes of a task have in common; written by mts_lane_measure alone. */
typedef struct mts_lane_task {
    uint32_t task;
    const mts_net *teacher, *student; /* of mts_answers_graph's */
    uint32_t answer_count;
    mts_answer *answers;    /* [outputs], with sums */
    const uint32_t *labels; /* [image] of the data, or NULL */
    float label_part;
} mts_lane_task;

typedef struct mts_lane {
    const mts_lane_task *of;
    uint32_t first, end; /* its images of the batch */
    uint32_t chunk;      /* images that go through at once */
    mts_net_run *teacher, *student;
    float *aims;      /* [chunk][classes]: the teacher's scores of one output with labels; or NULL */
    float *gradients; /* of all arrays of the task (mts_parameter_array.offset), after mts_lane_step */
    double loss;      /* of the lane's images, over all images of the batch */
} mts_lane;

/* Makes the runs; `of`, the images and the chunk are set. Release in any case. */
mts_status mts_lane_init(mts_lane *lane, size_t elements, const mts_allocator *allocator, mts_error *error);
void mts_lane_release(mts_lane *lane, const mts_allocator *allocator);
/* One step. Lanes of different tasks or images may run at the same time. */
mts_status mts_lane_step(mts_lane *lane, mts_data *data, const mts_batch *batch,
                         const mts_parameters *parameters, mts_error *error);
/* Measures the answers' variance and the units of the task's arrays on `count` images as
   they are. */
mts_status mts_lane_measure(mts_lane *lane, mts_parameters *parameters, mts_data *data,
                            const uint32_t *indices, uint32_t count, mts_error *error);

#endif
