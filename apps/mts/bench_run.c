/*
 * bench_run.c: sessions side by side on the same random inputs: compared first
 * (bench_compare.c), then timed in turns.
 *
 * Inputs lie in arrays of this program when the clock starts, as those of any other
 * runtime do (bench.h has the other ways); outputs are in host memory when it stops.
 */
#include "bench_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mts/profile.h"

#include "command.h"

#define PROFILE_RUNS 5u

/* The task group of each task; NULL if memory is short. */
static cli_bench_task *groups_find(const cli_bench_run *s, const mts_session *session)
{
    cli_bench_task *tasks = calloc(s->tasks, sizeof *tasks);
    for (uint32_t t = 0; tasks && t < s->tasks; t++) {
        mts_task_stats stats = {.size = sizeof stats};
        (void)mts_session_task_stats(session, s->names[t], &stats);
        tasks[t] = (cli_bench_task){.name = s->names[t], .group = stats.group};
    }
    return tasks;
}

static int session_make(cli_bench_run *s, size_t index)
{
    const cli_contestant *contestant = &s->bench->contestants[index];
    cli_bench_result *result = &s->results[index];
    *result = (cli_bench_result){.tasks = s->tasks, .contestant = contestant};
    result->stats.size = sizeof result->stats;
    const int status = cli_bench_session(s, contestant, &s->sessions[index]);
    if (status >= 0) {
        return status;
    }
    if (mts_session_stats_get(s->sessions[index], &result->stats) != MTS_STATUS_OK) {
        return cli_failure("bench", "%s", s->app->error);
    }
    result->samples = calloc(s->bench->runs, sizeof *result->samples);
    result->submits = calloc(s->bench->runs, sizeof *result->submits);
    result->groups = groups_find(s, s->sessions[index]);
    return result->samples && result->submits && result->groups ? -1 : cli_failure("bench", "no memory");
}

/* A/B/A/B: what disturbs the machine disturbs all strategies alike. */
static int sessions_time(cli_bench_run *s)
{
    const cli_bench *bench = s->bench;
    for (uint32_t r = 0; r < bench->warm_ups + bench->runs; r++) {
        for (size_t i = 0; i < bench->contestant_count; i++) {
            double submit = 0.0;
            const double cpu = cli_cpu_ms();
            const double start = cli_now_ms();
            if (cli_bench_once(s, s->sessions[i], &submit) != MTS_STATUS_OK) {
                return cli_failure("bench", "%s", s->app->error);
            }
            if (r >= bench->warm_ups) {
                s->results[i].samples[r - bench->warm_ups] = cli_now_ms() - start;
                s->results[i].submits[r - bench->warm_ups] = submit;
                s->results[i].cpu += (cli_cpu_ms() - cpu) / bench->runs;
            }
        }
    }
    return -1;
}

static int latencies_find(cli_bench_run *s)
{
    const uint32_t runs = s->bench->runs;
    double *sorted = calloc(runs, sizeof *sorted);
    if (!sorted) {
        return cli_failure("bench", "no memory");
    }
    for (size_t i = 0; i < s->bench->contestant_count; i++) {
        memcpy(sorted, s->results[i].samples, runs * sizeof *sorted);
        s->results[i].latency = cli_latency_of(sorted, runs);
        memcpy(sorted, s->results[i].submits, runs * sizeof *sorted);
        s->results[i].submit = cli_latency_of(sorted, runs).median;
    }
    free(sorted);
    return -1;
}

/* The launches of one run together, on the device's clock; UNSUPPORTED: it does not
   measure. */
static mts_status launches_time(const cli_bench_run *s, size_t index, mts_launch_profile *launches,
                                double *ms)
{
    uint32_t count = s->results[index].stats.launches;
    launches->size = sizeof *launches;
    const mts_status status = mts_session_profile(s->sessions[index], 1, launches, count, &count);
    *ms = 0.0;
    for (uint32_t k = 0; k < count && status == MTS_STATUS_OK; k++) {
        *ms += launches[k].duration_ms;
    }
    return status;
}

/* Median of such sums: a run takes that, the gaps between launches, and the caller's
   part. */
static int devices_time(cli_bench_run *s)
{
    double sums[CLI_BENCH_CONTESTANTS][PROFILE_RUNS];
    uint32_t most = 0;
    mts_status status = MTS_STATUS_OK;
    for (size_t i = 0; i < s->bench->contestant_count; i++) {
        most = s->results[i].stats.launches > most ? s->results[i].stats.launches : most;
    }
    mts_launch_profile *launches = calloc((size_t)most + 1, sizeof *launches);
    if (!launches) {
        return cli_failure("bench", "no memory");
    }
    for (uint32_t r = 0; r < PROFILE_RUNS && status == MTS_STATUS_OK; r++) {
        for (size_t i = 0; i < s->bench->contestant_count && status == MTS_STATUS_OK; i++) {
            status = launches_time(s, i, launches, &sums[i][r]);
        }
    }
    free(launches);
    for (size_t i = 0; i < s->bench->contestant_count; i++) {
        s->results[i].device = status == MTS_STATUS_OK ? cli_latency_of(sums[i], PROFILE_RUNS).median : -1.0;
    }
    return status == MTS_STATUS_OK || status == MTS_STATUS_UNSUPPORTED
               ? -1
               : cli_failure("bench", "%s", s->app->error);
}

static void step_release(cli_bench_run *s)
{
    for (size_t i = 0; i < CLI_BENCH_CONTESTANTS; i++) {
        mts_session_destroy(&s->sessions[i]);
    }
    cli_inputs_release(&s->inputs);
    free(s->names);
}

int cli_bench_step(cli_open *app, cli_bench *bench, uint32_t tasks)
{
    cli_bench_run s = {
        .app = app, .bench = bench, .tasks = tasks, .results = &bench->results[bench->result_count]};
    s.names = calloc(tasks, sizeof *s.names);
    bool made = s.names;
    for (uint32_t t = 0; made && t < tasks; t++) {
        mts_task_desc task = {.size = sizeof task};
        (void)mts_bundle_task(app->bundle, t, &task);
        s.names[t] = task.name;
    }
    made = made && cli_inputs_make(&s.inputs, app->bundle, s.names, tasks, bench->common);
    int status = made ? -1 : cli_failure("bench", "no memory for the inputs");
    for (size_t i = 0; i < bench->contestant_count && status < 0; i++) {
        status = session_make(&s, i);
        bench->result_count++;
    }
    for (size_t i = 0; i < bench->contestant_count && status < 0; i++) {
        status = cli_bench_compare(&s, i);
    }
    status = status < 0 ? sessions_time(&s) : status;
    status = status < 0 ? latencies_find(&s) : status;
    status = status < 0 ? devices_time(&s) : status;
    step_release(&s);
    return status;
}

void cli_bench_release(cli_bench *bench)
{
    for (size_t i = 0; i < bench->result_count; i++) {
        free(bench->results[i].samples);
        free(bench->results[i].submits);
        free(bench->results[i].groups);
    }
    bench->result_count = 0;
}

double cli_bench_gflops(const cli_bench_result *result)
{
    return result->latency.median > 0.0 ? 2e-6 * (double)result->stats.mul_adds / result->latency.median
                                        : 0.0;
}

double cli_bench_load(void)
{
    double load = -1.0;
    FILE *file = fopen("/proc/loadavg", "r");
    if (file) {
        if (fscanf(file, "%lf", &load) != 1) {
            load = -1.0;
        }
        (void)fclose(file);
    }
    return load;
}
