/*
 * engine.h: buffers into sessions and out again with their results. What the element does,
 * without what makes it an element.
 */
#ifndef MTS_GST_ENGINE_H
#define MTS_GST_ENGINE_H

#include <gst/gst.h>
#include <gst/video/video.h>
#include <stdbool.h>
#include <stdint.h>

#include "camera/feed.h"

/* What happens to a buffer that comes while all slots are in use. */
typedef enum engine_policy {
    ENGINE_BLOCK, /* waits: every buffer goes on with its own results */
    ENGINE_DROP,  /* the oldest one that has not begun goes nowhere */
    ENGINE_PASS   /* buffers never wait, and carry the newest results that there are */
} engine_policy;

typedef struct engine_options {
    const char *bundle, *detector, *faces; /* paths or NULL */
    const char *tasks, *rates, *device, *precision;
    uint32_t in_flight, threads;
    engine_policy policy;
    bool tensors; /* outputs of tasks without labels go on as numbers */
    void (*log)(void *context, mts_log_severity severity, const char *text);
    void *log_context;
} engine_options;

typedef struct engine_counts {
    guint64 came, answered, dropped;
    guint64 imported; /* of those that came: dma-bufs that the device read where they are */
    guint64 passed;   /* that no network saw, with ENGINE_PASS */
} engine_counts;

typedef struct engine engine;

/* NULL with a sentence of CLI_ERROR bytes. Where a mistake of the options is the reason,
   *mistake is set. */
engine *engine_open(const engine_options *options, bool *mistake, char *error);
/* Drops what is under way. NULL is fine. */
void engine_close(engine **e);
/* "TASK=N,TASK=Nhz", from the next buffer on; tasks that it does not name, and all of them with
   NULL or "", run with every frame. False with a sentence, and nothing has changed. */
bool engine_rates_set(engine *e, const char *rates, char *error);
/* Takes the reference. False with a sentence: the buffer is lost. */
bool engine_push(engine *e, GstBuffer *buffer, const GstVideoInfo *info, char *error);
/* A buffer that may go on, in order; NULL: none yet. */
GstBuffer *engine_take(engine *e);
/* Waits until nothing is under way. */
bool engine_drain(engine *e, char *error);
/* Waits, and forgets all buffers and results. */
void engine_flush(engine *e);
engine_counts engine_counted(const engine *e);
/* How long a buffer is held at most; `period`: of frames, or 0, unknown. */
GstClockTime engine_latency(const engine *e, GstClockTime period);
/* Buffers that are out at the same time. */
uint32_t engine_held(const engine *e);

#endif
