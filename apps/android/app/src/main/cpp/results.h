/*
 * results.h: what tasks answered about one frame, in words and boxes, from the tensors of
 * a session. No call of Android.
 */
#ifndef MTS_ANDROID_RESULTS_H
#define MTS_ANDROID_RESULTS_H

#include <stdint.h>

#include "mts/mts.h"

#define RESULTS_TEXT 2048
#define RESULTS_BOXES 32

/* Parts of the upright picture: 0 left or top, 1 right or bottom. */
typedef struct results_box {
    float left, top, right, bottom;
    float score;
} results_box;

typedef struct results {
    char text[RESULTS_TEXT]; /* a line for each task */
    uint32_t box_count;
    results_box boxes[RESULTS_BOXES];
} results;

/*
 * Adds what a task says by its outputs, `count` of them. One with two, scores [1, n, 2 or
 * more] and boxes [1, n, 4] (left, top, right, bottom as parts of its input, as UltraFace
 * has them), adds boxes, one for each thing; any other one its largest class. A task
 * without an output of float32 is named only.
 */
void results_add(results *out, const mts_task_desc *task, const mts_tensor *outputs, uint32_t count);
/* Of every task of a session, as its last run left it. */
void results_read(mts_session *session, const mts_bundle *bundle, results *out);

#endif
