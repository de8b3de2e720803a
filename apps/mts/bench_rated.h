/*
 * bench_rated.h: a rated workload in mts bench --scenario: what is measured and what was
 * found, between the file that makes bundle and sessions (bench_rated.c), the one that
 * runs frames as they arrive (bench_rated_run.c) and the one that prints
 * (bench_rated_print.c).
 */
#ifndef MTS_APPS_BENCH_RATED_H
#define MTS_APPS_BENCH_RATED_H

#include "bench_run.h"
#include "bench_scenario.h"
#include "bench_schedule.h"
#include "bench_score.h"

#define CLI_RATED_RESULTS (CLI_BENCH_CONTESTANTS * CLI_SCHEDULE_COUNT)

/* A strategy under a schedule; all turns together. */
typedef struct cli_rated_result {
    /* Index among the bench's contestants. */
    size_t contestant;
    cli_schedule schedule;
    /* Of each network; on the heap. */
    cli_frames *networks;
    cli_frames all;
    uint64_t submissions;
    /* Milliseconds of turns, of submissions that ran, and of the processor, all threads
       together. */
    double wall_ms, busy_ms, cpu_ms;
    /* Of the outputs after the last turn from those of the strategy sequential. */
    double difference;
    mts_session_stats stats;
} cli_rated_result;

typedef struct cli_rated {
    const char *path;
    /* A factor of every rate. */
    double speed;
    double seconds;
    uint32_t rounds;
    cli_schedule schedules[CLI_SCHEDULE_COUNT];
    size_t schedule_count;

    cli_bench *bench;
    cli_scenario scenario;
    cli_bench_run run;
    /* Of the tasks of `run`, in their order; on the heap. */
    cli_rated_task *tasks;
    uint32_t *network_of;
    char **names;
    bool *chosen;
    /* [contestant][task]: milliseconds of a run of the task alone; on the heap. */
    double *costs;
    cli_rated_result results[CLI_RATED_RESULTS];
    size_t result_count;
    /* The largest resident size of the process so far, in bytes; 0: unknown. */
    uint64_t resident;
} cli_rated;

/*
 * Reads the scenario, measures and prints. `bundle` may be NULL. Returns an exit status.
 */
int cli_rated_bench(cli_open *app, const cli_open_options *open, const char *bundle, const char *output,
                    cli_rated *rated);
void cli_rated_release(cli_rated *rated);

/* The next two return -1 to go on, else the exit status. */
/* Warms a contestant's session up and measures what each of its tasks takes alone. */
int cli_rated_prepare(cli_rated *rated, size_t contestant);
/* One turn of `ms` milliseconds; its frames are counted if `counts`. */
int cli_rated_run_turn(cli_rated *rated, cli_rated_result *result, double ms, bool counts);

/* Deadline and interval of a network at the speed of the bench, in milliseconds. */
double cli_rated_interval(const cli_rated *rated, const cli_scenario_network *network);
double cli_rated_deadline_of(const cli_rated *rated, const cli_scenario_network *network);

void cli_rated_print_text(cli_rated *rated);
/*
 * Prints to standard output, writes a file (path may be NULL), or both. Returns an exit
 * status.
 */
int cli_rated_print_json(cli_rated *rated, bool print, const char *path);

#endif
