/*
 * data.h: calibration images, as the inputs of tasks want them.
 *
 * Fetches images from the caller (mtsz_data), once per preprocessing that tasks want, and
 * keeps the inputs that they become. Checks what it is given: a tensor that holds NaN or
 * infinity, a frame that is none, a failing callback, tasks that cannot be fed are
 * refused with the task, the input and the image. Never sees labels.
 */
#ifndef MTS_COMPRESS_DATA_DATA_H
#define MTS_COMPRESS_DATA_DATA_H

#include "bundle/archive.h"
#include "compress/net/net.h"
#include "mts/mtsz.h"

typedef struct mts_data mts_data;

/* A change of images that keeps what they show; image i of a batch gets its own. */
typedef struct mts_data_change {
    bool mirror;         /* left and right */
    int32_t right, down; /* pixels that the image moves; what comes in at the border is its edge repeated */
} mts_data_change;

/*
 * Data for tasks[count], which outlive it, as does `source`. INVALID_ARGUMENT: no images,
 * or a task that the source cannot feed (more inputs than one, or no image, without a
 * `tensor` callback). Images whose inputs do not fit into `memory` bytes are fetched anew
 * each time.
 */
mts_status mts_data_create(const mtsz_data *source, const mts_task *tasks, uint32_t count, uint64_t memory,
                           const mts_allocator *allocator, mts_data **out, mts_error *error);
void mts_data_destroy(mts_data **data);
uint32_t mts_data_count(const mts_data *data);
/*
 * Writes input `input` of a task for images indices[count] (all < mts_data_count),
 * preprocessed, in the layout of net/net.h, into out[count * elements]. changes[count] or
 * NULL; ignored for tensors. Any number of threads may call this at once (the caller's
 * callbacks are called by one at a time).
 */
mts_status mts_data_fill(mts_data *data, uint32_t task, uint32_t input, const uint32_t *indices,
                         uint32_t count, const mts_data_change *changes, float *out, mts_error *error);
/* Puts images into all inputs of a run of the task's graph, or of one with the same
   inputs. */
mts_status mts_data_feed(mts_data *data, uint32_t task, mts_net_run *run, const uint32_t *indices,
                         uint32_t count, const mts_data_change *changes, mts_error *error);
/* Whether changes have an effect on a task: its only input is an image. */
bool mts_data_changes(const mts_data *data, uint32_t task);

#endif
