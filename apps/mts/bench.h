/*
 * bench.h: what mts bench finds out, between the file that reads the arguments
 * (command_bench.c), the one that runs (bench_run.c) and those that print (bench_print.c,
 * bench_plot.c).
 */
#ifndef MTS_APPS_BENCH_H
#define MTS_APPS_BENCH_H

#include "kit/measure.h"
#include "kit/open.h"

#define CLI_BENCH_STRATEGIES 8
#define CLI_BENCH_CONTESTANTS 12
#define CLI_BENCH_STEPS 64

/* What is measured: a strategy in a precision, and whether it chooses groups. */
typedef struct cli_contestant {
    char name[32];  /* "compact", "compact+groups+budget" */
    char label[48]; /* the name, and the precision if it is not float32 */
    size_t place;   /* of the name among those of the bench */
    mts_precision precision;
    mts_strategy strategy;
    mts_grouping grouping;
    bool budget; /* keeps that of the bench */
    bool persistent;
    mts_use packs, images;
} cli_contestant;

/* A task and the task group that runs it. */
typedef struct cli_bench_task {
    const char *name; /* the bundle's */
    uint32_t group;
} cli_bench_task;

/* One contestant on the first `tasks` tasks of the bundle. */
typedef struct cli_bench_result {
    uint32_t tasks;
    const cli_contestant *contestant;
    cli_latency latency;
    double *samples; /* milliseconds, as they came; on the heap */
    double *submits; /* the part of each that handing the run over took; on the heap */
    double submit;   /* median of them */
    double cpu;      /* milliseconds of the processor, all threads together; mean of the measured runs */
    double
        device; /* of all launches of a run together, on the device's clock; negative: it does not measure */
    mts_session_stats stats;
    cli_bench_task *groups; /* of each task; on the heap */
    double difference; /* of the outputs from those of the first result in float32, relative to an output's
                          largest value; of a float16 one, error_most */
    double error_most, error_mean; /* of the outputs of a float16 one from those of float32, likewise */
} cli_bench_result;

/* Where inputs are when the clock starts. */
typedef enum cli_bench_inputs {
    CLI_BENCH_INPUTS_ZERO_COPY = 0, /* in the program's arrays, which the session reads */
    CLI_BENCH_INPUTS_COPIED = 1,    /* in device memory */
    CLI_BENCH_INPUTS_UPLOADED = 2,  /* in the program's arrays, handed over in every run */
    CLI_BENCH_INPUTS_COUNT = 3
} cli_bench_inputs;

extern const char *const cli_bench_inputs_names[CLI_BENCH_INPUTS_COUNT];

typedef struct cli_bench {
    const char *bundle;
    mts_device_desc device;
    bool has_ceilings;
    mts_ceilings ceilings;
    bool common; /* all tasks see the same frame */
    cli_bench_inputs inputs;
    bool samples; /* print them */
    mts_use replay;
    uint32_t in_flight; /* slots of a session; 0: one */
    uint32_t warm_ups, runs;
    double load_before, load_after;                    /* of the machine, negative: unknown */
    uint64_t budget;                                   /* bytes that those with +budget may take */
    uint32_t tuning_ms;                                /* for measuring kernels, 0: none */
    const char *priorities;                            /* "a=2,b=1" or NULL */
    const char *placement;                             /* of --placement, or NULL */
    cli_contestant contestants[CLI_BENCH_CONTESTANTS]; /* of one strategy together, as given */
    size_t contestant_count;
    bool halves;                     /* some are in float16 */
    uint32_t steps[CLI_BENCH_STEPS]; /* numbers of tasks */
    size_t step_count;
    cli_bench_result results[CLI_BENCH_CONTESTANTS * CLI_BENCH_STEPS];
    size_t result_count;
} cli_bench;

/*
 * Runs all contestants on the first `tasks` tasks and appends their results: outputs are
 * compared, then the contestants take turns run by run. Returns -1 to go on, else the
 * exit status.
 */
int cli_bench_step(cli_open *app, cli_bench *bench, uint32_t tasks);
void cli_bench_release(cli_bench *bench);
/* Mean number of running programs during the last minute; negative if the system does not
   say. */
double cli_bench_load(void);

void cli_bench_print_text(const cli_bench *bench);
/* The member "load" of a JSON report. */
void cli_bench_load_json(cli_json *json, const cli_bench *bench);
/* The end of a JSON report: prints it, writes it to a file (path may be NULL), or both,
   and frees it. */
int cli_bench_json_end(cli_json *json, bool print, const char *path);
/* Prints to standard output, writes a file (path may be NULL), or both. Returns an exit
   status. */
int cli_bench_print_json(const cli_bench *bench, bool print, const char *path);
/* Bars of latency and bytes as SVG. Returns an exit status. */
int cli_bench_plot(const cli_bench *bench, const char *path);
/* Nothing if it was not measured. */
double cli_bench_gflops(const cli_bench_result *result);

#endif
