/*
 * dataset.h: the images of --data, to calibrate with and, where they have labels, to
 * measure accuracy on.
 *
 * DATA is one of: a file of CIFAR-10 binary records: a label byte, then the planes R, G,
 *   B of 32x32 pixels; of CIFAR-100: the same behind a byte more, of the coarse label, which
 *   is left out (a file that could be either is CIFAR-10's); a folder of pictures, sorted by
 *   name; what is no picture is left out, what is damaged is named; a NumPy array (.npy), one
 *   image after another: float32 holds inputs that are ready for their tasks; uint8 [N,H,W,3]
 *   or [N,3,H,W] holds pictures for tasks that take frames, and numbers for others.
 *
 * Pictures are frames of any size: each task's crop, fit and filter make inputs of them
 * as in a session. An array that is not in a task's own order of dimensions, [C,H,W] or
 * [H,W,C], is turned.
 */
#ifndef MTS_APPS_DATASET_H
#define MTS_APPS_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/files.h"
#include "mts/mtsz.h"

#define CLI_DATASET_SIDE 32u /* of labelled pictures */

typedef struct cli_dataset cli_dataset;

/* The first `limit` images (0: all). NULL with a sentence in `error`. */
cli_dataset *cli_dataset_open(const char *path, uint32_t limit, char *error);
/*
 * Pictures with classes, to train with: records, whose classes are their labels, or a folder
 * that has a folder of pictures for each class, named after it and sorted by name. Of these,
 * `limit` are taken evenly.
 */
cli_dataset *cli_dataset_open_classes(const char *path, uint32_t limit, char *error);
/* Classes of such a set: labels are below it. */
uint32_t cli_dataset_class_count(const cli_dataset *dataset);
/* The name of a class: of its folder, or its number, which is written into `text`. */
const char *cli_dataset_class(const cli_dataset *dataset, uint32_t number, char *text, size_t size);
/* NULL is fine. */
void cli_dataset_close(cli_dataset *dataset);
/*
 * Looks whether tasks of a bundle (all if `tasks` is NULL) can be fed, and names the one
 * that cannot. Needed before the data is used; the bundle outlives the data set.
 */
bool cli_dataset_fit(cli_dataset *dataset, const mts_bundle *bundle, const char *const *tasks, uint32_t count,
                     char *error);
/* What mtsz_zip and the others take; belongs to the data set, which outlives it. */
mtsz_data cli_dataset_data(cli_dataset *dataset);
uint32_t cli_dataset_count(const cli_dataset *dataset);
/* Whether images have labels, and the label of one (0 where they have none). */
bool cli_dataset_labelled(const cli_dataset *dataset);
uint32_t cli_dataset_label(const cli_dataset *dataset, uint32_t index);
/* A labelled picture as it lies in the file; CLI_DATASET_SIDE pixels wide and high, R G
   B. */
void cli_dataset_pixels(const cli_dataset *dataset, uint32_t index, unsigned char *rgb);
/* Why a callback of the data failed last, to be shown behind the library's own sentence;
   "" if none did. */
const char *cli_dataset_reason(const cli_dataset *dataset);

#endif
