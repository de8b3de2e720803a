/*
 * run.h: what mts run finds out, between the file that runs (command_run.c) and those
 * that print (run_print.c) and draw (annotate.c).
 */
#ifndef MTS_APPS_RUN_H
#define MTS_APPS_RUN_H

#include "raw_inputs.h"
#include "kit/answers.h"
#include "kit/measure.h"
#include "kit/open.h"
#include "decode.h"
#include "picture.h"

#define CLI_RUNS_MOST 2

/* One strategy's run. */
typedef struct cli_run {
    mts_strategy strategy;
    bool measured;
    cli_latency latency;
    mts_session_stats stats;
} cli_run;

typedef struct cli_result {
    const char *bundle, *image_path;
    mts_device_desc device;
    cli_picture picture;
    cli_raw_inputs raws; /* tasks have inputs of their own if there are any */
    uint32_t top;        /* answers per task */
    bool tuned;          /* kernels were measured */
    uint32_t run_count;
    cli_decoded *decoded;        /* [tasks of the session] */
    cli_run runs[CLI_RUNS_MOST]; /* the session is that of the last one */
    double difference; /* largest |a - b| / max(1, |b|) between two runs' outputs; negative: one run */
} cli_result;

/* "cat 93.1 %" or the first values; `score` receives the probability, or -1. */
const char *cli_answer_text(const mts_task_desc *task, const mts_tensor *output, char *text, size_t size,
                            double *score);
int cli_run_print_text(cli_open *app, const cli_result *result);
int cli_run_print_json(cli_open *app, const cli_result *result);
/* Draws the answers onto the picture, which is replaced, and writes it. */
int cli_run_annotate(cli_open *app, cli_result *result, const char *path);

#endif
