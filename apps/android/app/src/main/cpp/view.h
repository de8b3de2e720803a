/*
 * view.h: what the screen shows. The engine's thread writes, the Activity's thread reads
 * when it draws; neither waits for the other for longer than a copy takes, and no Java is
 * called from the engine.
 *
 * Thread-safety: every function may be called from any thread.
 */
#ifndef MTS_ANDROID_VIEW_H
#define MTS_ANDROID_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "results.h"

typedef struct view view;

/* NULL: no memory. */
view *view_create(void);
void view_destroy(view **self);
/* A sentence about the engine or the camera: "preparing 40 %". Copied, and cut to 255
   bytes. */
void view_tell(view *self, const char *sentence);
/* The same with what went wrong: view_tell_progress leaves it there for VIEW_FAILURE_MS,
   so that it can be read. */
#define VIEW_FAILURE_MS 3000
void view_tell_failure(view *self, const char *sentence);
void view_tell_progress(view *self, const char *sentence);
/* Answers of the newest run. */
void view_show(view *self, const results *newest);
/* The answers and, below them, the sentence; terminated, cut to `size` between two
   characters. */
void view_text(view *self, char *out, size_t size);
/* Returns the number of boxes written, RESULTS_BOXES at most. */
uint32_t view_boxes(view *self, results_box out[RESULTS_BOXES]);

#endif
