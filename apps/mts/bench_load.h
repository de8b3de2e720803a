/*
 * bench_load.h: mts bench --arrivals: requests of all tasks arrive by the clock, whether or
 * not those before them have ended; how long they take at each rate, between the file that
 * reads the arguments (command_bench.c), the one that runs (bench_load.c) and the one that
 * prints (bench_load_print.c).
 */
#ifndef MTS_APPS_BENCH_LOAD_H
#define MTS_APPS_BENCH_LOAD_H

#include "bench_run.h"
#include "open_loop.h"

#define CLI_LOAD_RATES 16
#define CLI_LOAD_SLOTS 16u

/* A contestant at one rate. */
typedef struct cli_load_result {
    double offered; /* requests a second */
    double cpu_ms;  /* of the processor, all threads together, a request */
    cli_loop_summary summary;
} cli_load_result;

typedef struct cli_load {
    cli_arrival_kind kind;
    const char *trace;            /* a path; NULL where arrivals are made */
    double rates[CLI_LOAD_RATES]; /* requests a second, or parts of what the first contestant can do */
    size_t rate_count;
    bool parts;
    size_t requests;
    uint32_t slots;    /* requests that a session holds at a time */
    cli_arrivals read; /* those of the trace */
    cli_request *log;

    cli_bench_run run;
    double saturation[CLI_BENCH_CONTESTANTS]; /* requests a second that a session can do */
    mts_session_stats stats[CLI_BENCH_CONTESTANTS];
    cli_load_result results[CLI_BENCH_CONTESTANTS][CLI_LOAD_RATES];
} cli_load;

/* Measures and prints the tasks of a bundle that is open. Returns an exit status. */
int cli_load_bench(cli_open *app, cli_bench *bench, bool json, const char *output, cli_load *load);
void cli_load_release(cli_load *load);

void cli_load_print_text(const cli_load *load);
/* Prints to standard output, writes a file (path may be NULL), or both. Returns an exit status. */
int cli_load_print_json(const cli_load *load, bool print, const char *path);

#endif
