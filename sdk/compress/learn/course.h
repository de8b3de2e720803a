/*
 * course.h: candidates that train together, epoch after epoch: the order of the images, the
 * rates, which epoch of a candidate is its best, when it stops, and going on from a file.
 *
 * What a candidate learns does not depend on the others: one that trains alone gets the
 * same bits.
 */
#ifndef MTS_COMPRESS_LEARN_COURSE_H
#define MTS_COMPRESS_LEARN_COURSE_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/status.h"
#include "mts/mtsz.h"

/* A step of training, the same for all candidates. */
typedef struct mts_learn_step {
    const uint32_t *rows; /* [count] */
    uint32_t count;
    uint64_t number; /* from 1 */
    double part;     /* of a candidate's highest rate */
} mts_learn_step;

/* How a candidate does on what is held out. */
typedef struct mts_standing {
    uint32_t right;
    double loss; /* mean cross-entropy */
} mts_standing;

/* Candidates as a way of training has them. */
typedef struct mts_learner {
    void *self;
    size_t floats; /* of a candidate's state: its numbers, and what Adam keeps of them */
    /* Several steps of all candidates that have not stopped. `after` is called by the calling
       thread between them; another status than OK ends the epoch. */
    mts_status (*train)(void *self, const mts_learn_step *steps, uint32_t count, const bool *stopped,
                        mts_status (*after)(void *context, uint32_t step, mts_error *error), void *context,
                        mts_error *error);
    /* standings[candidate] of those that have not stopped; a right of 0 and a loss that is no
       number where training went wrong. */
    mts_status (*measure)(void *self, const bool *stopped, mts_standing *standings, mts_error *error);
    /* Keeps a candidate's numbers as its best. */
    void (*keep)(void *self, uint32_t candidate);
    /* A candidate's state, best numbers included: [floats]. */
    void (*save)(void *self, uint32_t candidate, float *state);
    void (*load)(void *self, uint32_t candidate, const float *state);
} mts_learner;

/* What has become of a candidate so far. */
typedef struct mts_course {
    mts_standing best;
    uint32_t best_epoch, epochs;
    bool stopped;
    bool usable; /* its best numbers are finite */
} mts_course;

typedef struct mts_courses {
    const mts_allocator *allocator;
    const mtsc_options *options; /* whose progress is called */
    const char *what;            /* is trained, for progress */
    float from, to;              /* of the progress */
    uint32_t candidates, rows, held_out, batch, epochs, patience;
    uint64_t seed;
    const char *checkpoint; /* or NULL */
    uint64_t identity;      /* of the training, for the checkpoint */
    uint32_t resumed;       /* written: the epoch of the checkpoint; 0: there was none */
    mts_course *courses;    /* [candidates], zero */
} mts_courses;

/*
 * Trains until the epochs are over or all candidates have stopped. INVALID_ARGUMENT: the
 * checkpoint is of another training; MALFORMED: it is none; IO; CANCELLED: the state is in
 * the checkpoint; and what the learner returns.
 */
mts_status mts_courses_run(mts_courses *courses, const mts_learner *learner, mts_error *error);
/* The best candidate; INVALID_ARGUMENT: none is usable. */
mts_status mts_courses_best(const mts_courses *courses, uint32_t *best, mts_error *error);

/* ---- checkpoint.c ---- */
/* Writes the state after `epoch` epochs. */
mts_status mts_checkpoint_write(const mts_courses *courses, const mts_learner *learner, uint32_t epoch,
                                mts_error *error);
/* Reads it, if the file exists; *epoch stays 0 if it does not. */
mts_status mts_checkpoint_read(mts_courses *courses, const mts_learner *learner, uint32_t *epoch,
                               mts_error *error);

#endif
