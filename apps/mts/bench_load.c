/*
 * bench_load.c: sessions under requests that arrive by the clock (bench_load.h). First what
 * a session can do, with all requests there at once; then each rate, contestants in turns,
 * all of them with the same arrivals.
 */
#include "bench_load.h"

#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "kit/files.h"

#define TRACE_MOST ((size_t)64 << 20)
#define SEED 1u

/* Requests on a session. */
typedef struct target {
    cli_load *load;
    mts_session *session;
    mts_ticket tickets[CLI_LOAD_SLOTS];
    uint64_t submitted, ended;
    double began; /* of cli_now_ms */
} target;

static double target_now(void *context)
{
    return cli_now_ms() - ((const target *)context)->began;
}

static void target_sleep_until(void *context, double ms)
{
    cli_sleep_until(((const target *)context)->began + ms);
}

static int target_submit(void *context)
{
    target *t = context;
    const cli_bench_run *run = &t->load->run;
    mts_status status = run->bench->inputs == CLI_BENCH_INPUTS_UPLOADED
                            ? cli_inputs_set(&run->inputs, t->session)
                            : MTS_STATUS_OK;
    if (status == MTS_STATUS_OK) {
        status = mts_session_submit(t->session, NULL, &t->tickets[t->submitted % CLI_LOAD_SLOTS]);
    }
    t->submitted += status == MTS_STATUS_OK ? 1 : 0;
    return status == MTS_STATUS_OK ? 1 : status == MTS_STATUS_BUSY ? 0 : -1;
}

static int target_wait(void *context, double until)
{
    target *t = context;
    const double left = until - target_now(t);
    const uint32_t timeout = left > 1e9 ? MTS_TIMEOUT_INFINITE : left < 1.0 ? 0 : (uint32_t)left;
    const mts_status status = mts_session_wait(t->session, t->tickets[t->ended % CLI_LOAD_SLOTS], timeout);
    t->ended += status == MTS_STATUS_OK ? 1 : 0;
    return status == MTS_STATUS_OK ? 1 : status == MTS_STATUS_TIMEOUT ? 0 : -1;
}

/* All arrivals on a contestant's session. */
static int turn_run(cli_load *load, size_t contestant, const cli_arrivals *arrivals, cli_load_result *result)
{
    target t = {.load = load, .session = load->run.sessions[contestant], .began = cli_now_ms()};
    const cli_loop_world world = {.context = &t,
                                  .now = target_now,
                                  .sleep_until = target_sleep_until,
                                  .submit = target_submit,
                                  .wait = target_wait};
    const double cpu = cli_cpu_ms();
    if (!cli_loop_run(arrivals, load->slots, &world, load->log)) {
        return cli_failure("bench", "%s", load->run.app->error);
    }
    result->cpu_ms = (cli_cpu_ms() - cpu) / (double)arrivals->count;
    return cli_loop_summarise(load->log, arrivals->count, &result->summary)
               ? -1
               : cli_failure("bench", "no memory");
}

static int saturations_find(cli_load *load)
{
    cli_load_result result;
    cli_arrivals at_once = {.times_ms = calloc(load->requests, sizeof *at_once.times_ms),
                            .count = load->requests};
    int status = at_once.times_ms ? -1 : cli_failure("bench", "no memory");
    for (size_t c = 0; c < load->run.bench->contestant_count && status < 0; c++) {
        status = turn_run(load, c, &at_once, &result);
        load->saturation[c] = result.summary.throughput;
    }
    free(at_once.times_ms);
    return status;
}

static int rate_run(cli_load *load, size_t index)
{
    cli_arrivals arrivals = {0};
    const double rate = load->parts ? load->rates[index] * load->saturation[0] : load->rates[index];
    const bool made = load->trace ? cli_arrivals_scale(&load->read, rate, &arrivals)
                                  : cli_arrivals_make(load->kind, rate, load->requests, SEED, &arrivals);
    int status = made ? -1 : cli_failure("bench", "no memory for %zu arrivals", load->requests);
    for (size_t c = 0; c < load->run.bench->contestant_count && status < 0; c++) {
        load->results[c][index].offered = rate;
        status = turn_run(load, c, &arrivals, &load->results[c][index]);
    }
    cli_arrivals_release(&arrivals);
    return status;
}

/* The arrivals of the trace; without rates, the one that it has. */
static int trace_read(cli_load *load)
{
    char error[CLI_ERROR] = "";
    char reason[CLI_ARRIVALS_ERROR] = "";
    size_t size = 0;
    if (!load->trace) {
        return -1;
    }
    unsigned char *text = cli_file_read(load->trace, TRACE_MOST, &size, error);
    if (!text) {
        return cli_failure("bench", "%s", error);
    }
    const bool good = cli_arrivals_read((const char *)text, size, &load->read, reason);
    free(text);
    if (!good || cli_arrivals_rate(&load->read) <= 0.0) {
        return cli_failure("bench", "'%s': %s", load->trace,
                           good ? "arrivals at two times at least are needed" : reason);
    }
    load->requests = load->read.count;
    if (load->rate_count == 0) {
        load->rates[load->rate_count++] = cli_arrivals_rate(&load->read);
    }
    return -1;
}

static int sessions_make(cli_open *app, cli_load *load)
{
    cli_bench_run *run = &load->run;
    run->tasks = mts_bundle_task_count(app->bundle);
    run->names = calloc(run->tasks, sizeof *run->names);
    for (uint32_t t = 0; run->names && t < run->tasks; t++) {
        mts_task_desc task = {.size = sizeof task};
        (void)mts_bundle_task(app->bundle, t, &task);
        run->names[t] = task.name;
    }
    if (!run->names ||
        !cli_inputs_make(&run->inputs, app->bundle, run->names, run->tasks, run->bench->common)) {
        return cli_failure("bench", "no memory for the inputs");
    }
    int status = -1;
    for (size_t c = 0; c < run->bench->contestant_count && status < 0; c++) {
        double submit = 0.0;
        status = cli_bench_session(run, &run->bench->contestants[c], &run->sessions[c]);
        for (uint32_t r = 0; r < run->bench->warm_ups && status < 0; r++) {
            status = cli_bench_once(run, run->sessions[c], &submit) == MTS_STATUS_OK
                         ? -1
                         : cli_failure("bench", "%s", app->error);
        }
    }
    return status;
}

/* Sessions of all contestants have run: they have to agree before their times count. */
static int sessions_check(cli_load *load)
{
    const cli_bench *bench = load->run.bench;
    int status = -1;
    for (size_t c = 0; c < bench->contestant_count && status < 0; c++) {
        const bool half = bench->contestants[c].precision != bench->contestants[0].precision;
        double difference = 0.0;
        status = cli_bench_same(&load->run, load->run.sessions[0], load->run.sessions[c], half,
                                bench->contestants[c].label, bench->contestants[0].label, &difference);
        load->stats[c].size = sizeof load->stats[c];
        if (status < 0 && mts_session_stats_get(load->run.sessions[c], &load->stats[c]) != MTS_STATUS_OK) {
            status = cli_failure("bench", "%s", load->run.app->error);
        }
    }
    return status;
}

int cli_load_bench(cli_open *app, cli_bench *bench, bool json, const char *output, cli_load *load)
{
    load->run.app = app;
    load->run.bench = bench;
    int status = trace_read(load);
    load->log = status < 0 ? calloc(load->requests, sizeof *load->log) : NULL;
    if (status < 0 && !load->log) {
        status = cli_failure("bench", "no memory for %zu requests", load->requests);
    }
    status = status < 0 ? sessions_make(app, load) : status;
    status = status < 0 ? sessions_check(load) : status;
    bench->load_before = cli_bench_load();
    status = status < 0 ? saturations_find(load) : status;
    for (size_t i = 0; i < load->rate_count && status < 0; i++) {
        status = rate_run(load, i);
    }
    bench->load_after = cli_bench_load();
    if (status >= 0) {
        return status;
    }
    status = json || output ? cli_load_print_json(load, json, output) : CLI_EXIT_OK;
    if (status == CLI_EXIT_OK && !json) {
        cli_load_print_text(load);
    }
    return status;
}

void cli_load_release(cli_load *load)
{
    for (size_t c = 0; c < CLI_BENCH_CONTESTANTS; c++) {
        mts_session_destroy(&load->run.sessions[c]);
    }
    cli_inputs_release(&load->run.inputs);
    cli_arrivals_release(&load->read);
    free(load->run.names);
    free(load->log);
}
