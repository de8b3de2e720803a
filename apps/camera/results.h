/*
 * results.h: what the tasks of a session say about the frame that was taken last.
 */
#ifndef MTS_CAMERA_RESULTS_H
#define MTS_CAMERA_RESULTS_H

#include "kit/draw.h"
#include "kit/json.h"
#include "kit/open.h"

typedef struct task_result {
    mts_task_desc task;
    bool known;    /* it has run at least once */
    bool ran;      /* in the run that was taken last */
    char text[64]; /* label, or the first values */
    double score;  /* 0..1, negative: no classifier */
    uint64_t runs;
    double p50_ms, p95_ms;
} task_result;

typedef struct results {
    cli_open *app;
    task_result *tasks;
    cli_line *lines; /* to draw them */
    uint32_t count;
} results;

bool results_make(results *all, cli_open *app);
/* Of the run that was taken last, whose ticket this is. */
void results_read(results *all, mts_ticket ticket);
/* Runs and latencies; not while the session calls back. */
void results_measure(results *all);
/* "tasks": [...] with labels, scores, and the outputs' shapes and values where they are
   few. */
void results_json(const results *all, cli_json *json);
void results_release(results *all);

#endif
