/*
 * pipeline.h: the loop: take a frame, hand it over, collect what has finished, show it.
 */
#ifndef MTS_CAMERA_PIPELINE_H
#define MTS_CAMERA_PIPELINE_H

#include <signal.h>

#include "faces.h"
#include "feed.h"
#include "record.h"
#include "results.h"
#include "table.h"
#include "tally.h"
#include "window.h"

typedef struct pipeline_options {
    const char *uri, *device;
    mts_rotation rotation;
    bool mirror;
    bool headless; /* no table while it runs */
    bool window;
    const char *sink; /* of the window; NULL: any */
    const char *png;  /* folder; NULL: none */
    uint32_t png_every;
    uint64_t frames; /* 0: all */
    double seconds;  /* 0: for ever */
    uint32_t timeout_ms;
    const volatile sig_atomic_t *stop;
} pipeline_options;

typedef struct pipeline {
    const pipeline_options *options;
    source *source;  /* open */
    feed feed;       /* made, its session set; `taken` is the pipeline's */
    faces faces;     /* with a cascade, or zero */
    results results; /* made */
    record record;   /* open, or zero */
    tally count;
    table screen;
    window *window;
    cli_image picture;
    camera_status broken; /* what went wrong in the middle of something */
    char reason[CLI_ERROR];
} pipeline;

/* Until the frames end, something fails, or a signal stops it. The exit status; `reason`
 * is the sentence of a failure. */
camera_status pipeline_run(pipeline *p);
/* Prints and records the summary; frees what the loop made. A failure to write replaces
   `status`. */
camera_status pipeline_end(pipeline *p, camera_status status);

#endif
