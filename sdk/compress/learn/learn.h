/*
 * learn.h: a new task while it is trained on the network of another one, internal to learn/.
 *
 * Steps: labels and what is held out (labels.c), which nodes are frozen (plan.c), what
 * these compute of all images (features.c), candidates that train on that (heads.c: linear
 * classifiers as one product; tails.c: the last layers of the network), epoch after epoch
 * (course.c, checkpoint.c), and the best one as a task (result.c).
 */
#ifndef MTS_COMPRESS_LEARN_LEARN_H
#define MTS_COMPRESS_LEARN_LEARN_H

#include "compiler/models/models.h"
#include "compress/data/data.h"
#include "compress/learn/course.h"
#include "compress/learn/plan.h"
#include "compress/split/head.h"

/* Images with their classes, some of them changed: what training and choosing see. */
typedef struct mts_rows {
    uint32_t trained, count;  /* rows in front, which training sees; with the held-out ones behind them */
    uint32_t *images;         /* [count] */
    mts_data_change *changes; /* [count] */
    uint32_t *labels;         /* [count] */
} mts_rows;

typedef struct mts_learn {
    const mts_allocator *allocator;
    const mtsc_options *options;
    const mtsz_train_options *wanted;
    mts_models models;
    mts_arena arena; /* of everything below */
    uint32_t base;   /* in models */
    mts_head head;   /* of the base */
    mts_data *data;  /* of the base */
    mts_rows rows;
    uint32_t images, held_out;        /* of the data */
    mtsz_train_candidate *candidates; /* [wanted->candidate_count] */
    mts_learn_plan plan;
    float *features; /* [rows.count][plan.elements], on the allocator */
    double frozen_seconds, train_seconds;
    uint32_t best; /* candidate */
} mts_learn;

const mts_task *mts_learn_base(const mts_learn *learn);

/* ---- base.c ---- */
/* Fills base and head. NOT_FOUND; UNSUPPORTED: no task of the bundle can be the base. */
mts_status mts_learn_base_find(mts_learn *learn, const mtsz_data *data, mts_error *error);

/* ---- labels.c ---- */
/* Checks the options' labels and classes; INVALID_ARGUMENT. */
mts_status mts_labels_check(const mtsz_train_options *wanted, uint32_t images, mts_error *error);
/* Holds a part of each class out and makes the rows. OUT_OF_MEMORY. */
mts_status mts_rows_make(const mtsz_train_options *wanted, bool changes, mts_arena *arena, mts_rows *rows,
                         mts_error *error);

/* ---- features.c ---- */
/*
 * Runs nodes [0, end) of a net of a graph on all rows and writes values[count], one after
 * another, into out[rows][elements]. IO: an image cannot be had; CANCELLED.
 */
mts_status mts_features_run(const mts_learn *learn, const mts_net *net, uint32_t end, const uint32_t *values,
                            uint32_t count, float *out, mts_error *error);

/* ---- result.c ---- */
/* Writes the bundle with the new task, whose trained numbers are in `whole`, a net of the
   plan's graph. */
mts_status mts_learn_write(mts_learn *learn, const mts_net *whole, const char *path,
                           mtsz_train_report *report, mts_error *error);

#endif
