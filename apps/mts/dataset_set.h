/*
 * dataset_set.h: what dataset_open.c reads and dataset.c gives to tasks.
 */
#ifndef MTS_APPS_DATASET_SET_H
#define MTS_APPS_DATASET_SET_H

#include "dataset.h"
#include "kit/image.h"

#define SIDE CLI_DATASET_SIDE
#define PLANE (SIDE * SIDE)
#define RECORD_PIXELS (3u * PLANE)
#define DATASET_SHAPE_TEXT 160

typedef enum kind { KIND_RECORDS, KIND_FOLDER, KIND_ARRAY } kind;

struct cli_dataset {
    kind kind;
    char *path;
    uint32_t count;
    unsigned char *records; /* RECORDS */
    uint32_t record_labels; /* bytes of labels in front of a record's pixels; the last one counts */
    char **names;           /* FOLDER: [count], paths of the pictures */
    char **classes;         /* FOLDER of class folders: [class_count], their names */
    uint32_t class_count;
    uint32_t *labels;         /* FOLDER of class folders: [count] */
    mts_tensor array;         /* ARRAY */
    cli_image picture;        /* what the callback gave last */
    const mts_bundle *bundle; /* for the shapes of inputs, see cli_dataset_fit */
    char reason[CLI_ERROR];
};

/* Writes a sentence of CLI_ERROR bytes. */
void cli_dataset_fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "1x3x32x32". Returns `text`. */
const char *cli_dataset_shape_text(const int64_t *dims, uint32_t rank, char text[DATASET_SHAPE_TEXT]);

#endif
