/*
 * bench_run.h: the sessions of one number of tasks, between the files that make them
 * (bench_session.c), compare their outputs (bench_compare.c) and time them (bench_run.c).
 */
#ifndef MTS_APPS_BENCH_RUN_H
#define MTS_APPS_BENCH_RUN_H

#include "bench.h"
#include "inputs.h"

typedef struct cli_bench_run {
    cli_open *app;
    cli_bench *bench;
    uint32_t tasks;
    const char **names;
    cli_inputs inputs;
    mts_session *sessions[CLI_BENCH_CONTESTANTS];
    cli_bench_result *results; /* of the contestants */
} cli_bench_run;

/* One run, to its end. *submit receives the milliseconds that the submission took. */
mts_status cli_bench_once(const cli_bench_run *run, mts_session *session, double *submit);
/* The next three return -1 to go on, else the exit status. */
/* A session with its inputs set, after one run. */
int cli_bench_session(cli_bench_run *run, const cli_contestant *contestant, mts_session **out);
/* Fills the differences of a contestant's result; all sessions have run. A failure if
 * float32 is not the same. */
int cli_bench_compare(cli_bench_run *run, size_t index);
/* All outputs of a session beside another's, which both have run. A failure if they
 * differ and `half` is not set. */
int cli_bench_same(const cli_bench_run *run, mts_session *want, mts_session *got, bool half, const char *what,
                   const char *than, double *difference);

#endif
