/*
 * bench_rated.c: mts bench --scenario, from the scenario file to results: compiles its
 * networks into a bundle that is removed again, makes a session for each strategy,
 * compares outputs with those of the strategy sequential, and gives every strategy and
 * schedule its turns.
 */
#include "bench_rated.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench_bundle.h"
#include "command.h"
#include "kit/files.h"

#define FRAMES_MOST 10000000u
#define LEAD_IN_MS 1000.0

static bool names_make(cli_rated *rated, uint32_t count)
{
    uint32_t task = 0;
    rated->names = calloc(count, sizeof *rated->names);
    for (size_t n = 0; rated->names && n < rated->scenario.count; n++) {
        const cli_scenario_network *network = &rated->scenario.networks[n];
        for (uint32_t i = 0; i < network->times; i++) {
            char name[CLI_SCENARIO_TASK];
            cli_scenario_task(network, i, name);
            rated->names[task] = strdup(name);
            if (!rated->names[task++]) {
                return false;
            }
        }
    }
    return rated->names;
}

/* A task for each network, and for each time that it runs on an arrival. */
static int tasks_make(cli_rated *rated)
{
    uint32_t count = 0;
    uint32_t task = 0;
    for (size_t n = 0; n < rated->scenario.count; n++) {
        count += rated->scenario.networks[n].times;
    }
    rated->run.tasks = count;
    rated->tasks = calloc(count, sizeof *rated->tasks);
    rated->network_of = calloc(count, sizeof *rated->network_of);
    rated->chosen = calloc(count, sizeof *rated->chosen);
    rated->costs = calloc((size_t)count * CLI_BENCH_CONTESTANTS, sizeof *rated->costs);
    if (!rated->tasks || !rated->network_of || !rated->chosen || !rated->costs || !names_make(rated, count)) {
        return cli_failure("bench", "no memory");
    }
    for (size_t n = 0; n < rated->scenario.count; n++) {
        const cli_scenario_network *network = &rated->scenario.networks[n];
        for (uint32_t i = 0; i < network->times; i++) {
            rated->network_of[task] = (uint32_t)n;
            rated->tasks[task] = (cli_rated_task){.interval_ms = cli_rated_interval(rated, network),
                                                  .deadline_ms = cli_rated_deadline_of(rated, network),
                                                  .importance = network->importance};
            task++;
        }
    }
    rated->run.names = (const char **)rated->names;
    return -1;
}

/* Arrays for the frames of all turns. */
static int results_make(cli_rated *rated)
{
    const double turn = rated->seconds * 1e3 / rated->rounds;
    double all = 0.0;
    for (uint32_t t = 0; t < rated->run.tasks; t++) {
        all += (double)cli_rated_frames(rated->tasks[t].interval_ms, turn) * rated->rounds;
    }
    if (all > FRAMES_MOST) {
        return cli_failure("bench",
                           "%g seconds at speed %g have %.0f frames, more than the limit of %u: measure a "
                           "shorter time",
                           rated->seconds, rated->speed, all, FRAMES_MOST);
    }
    for (size_t c = 0; c < rated->bench->contestant_count; c++) {
        for (size_t s = 0; s < rated->schedule_count; s++) {
            cli_rated_result *result = &rated->results[rated->result_count++];
            *result = (cli_rated_result){.contestant = c, .schedule = rated->schedules[s]};
            result->stats.size = sizeof result->stats;
            result->networks = calloc(rated->scenario.count, sizeof *result->networks);
            bool made = result->networks && cli_frames_reserve(&result->all, (size_t)all);
            for (size_t n = 0; made && n < rated->scenario.count; n++) {
                const cli_scenario_network *network = &rated->scenario.networks[n];
                const uint64_t frames = cli_rated_frames(cli_rated_interval(rated, network), turn);
                made =
                    cli_frames_reserve(&result->networks[n], (size_t)frames * rated->rounds * network->times);
            }
            if (!made) {
                return cli_failure("bench", "no memory for %.0f frames", all);
            }
        }
    }
    return -1;
}

static int bundle_open(cli_open *app, const cli_open_options *open, const char *bundle, cli_rated *rated)
{
    char path[PATH_MAX] = "";
    rated->bench->bundle = bundle ? bundle : rated->path;
    int status = -1;
    if (!bundle) {
        status = cli_bench_bundle_make(&rated->scenario, rated->path, path, sizeof path);
    }
    status = status < 0 ? cli_open_bundle(app, "bench", open, bundle ? bundle : path) : status;
    if (path[0]) {
        (void)unlink(path);
    }
    for (uint32_t t = 0; t < rated->run.tasks && status < 0; t++) {
        mts_port_desc port = {.size = sizeof port};
        if (mts_bundle_input(app->bundle, rated->names[t], 0, &port) != MTS_STATUS_OK) {
            status = cli_failure("bench", "%s: network %s: %s", rated->path,
                                 rated->scenario.networks[rated->network_of[t]].name, app->error);
        }
    }
    return status;
}

/* Numbers of a file for the first input of a task. */
static int input_read(cli_rated *rated, uint32_t task, const char *path)
{
    char error[CLI_ERROR] = "";
    mts_tensor given = {0};
    mts_tensor *input = &rated->run.inputs.tensors[task][0];
    if (!cli_npy_read(path, &given, error)) {
        return cli_failure("bench", "%s", error);
    }
    bool same = given.type == input->type && given.rank == input->rank && given.bytes == input->bytes;
    for (uint32_t d = 0; same && d < given.rank; d++) {
        same = given.dims[d] == input->dims[d];
    }
    if (!same) {
        free(given.data);
        return cli_failure("bench", "%s has another type or shape than the first input of task %s", path,
                           rated->names[task]);
    }
    free(input->data);
    input->data = given.data;
    return -1;
}

static int inputs_make(cli_open *app, cli_rated *rated)
{
    if (!cli_inputs_make(&rated->run.inputs, app->bundle, rated->run.names, rated->run.tasks, false)) {
        return cli_failure("bench", "no memory for the inputs");
    }
    int status = -1;
    for (uint32_t t = 0; t < rated->run.tasks && status < 0; t++) {
        const char *path = rated->scenario.networks[rated->network_of[t]].input;
        status = path ? input_read(rated, t, path) : -1;
    }
    return status;
}

static int session_make(cli_rated *rated, size_t contestant)
{
    const int status = cli_bench_session(&rated->run, &rated->bench->contestants[contestant],
                                         &rated->run.sessions[contestant]);
    return status < 0 ? cli_rated_prepare(rated, contestant) : status;
}

/* Outputs of all sessions beside those of the strategy sequential: after the turns,
 * because it takes memory of its own. */
static int sessions_compare(cli_rated *rated)
{
    const cli_contestant like = {
        .name = "sequential", .label = "sequential", .strategy = MTS_STRATEGY_SEQUENTIAL};
    mts_session *sequential = NULL;
    int status = cli_bench_session(&rated->run, &like, &sequential);
    for (size_t c = 0; c < rated->bench->contestant_count && status < 0; c++) {
        const cli_contestant *contestant = &rated->bench->contestants[c];
        const bool half = contestant->precision != MTS_PRECISION_FLOAT32;
        double difference = 0.0;
        status = cli_bench_same(&rated->run, sequential, rated->run.sessions[c], half, contestant->label,
                                like.label, &difference);
        for (size_t i = 0; i < rated->result_count; i++) {
            cli_rated_result *result = &rated->results[i];
            result->difference = result->contestant == c ? difference : result->difference;
        }
    }
    mts_session_destroy(&sequential);
    return status;
}

static int turns_run(cli_rated *rated)
{
    const double turn = rated->seconds * 1e3 / rated->rounds;
    int status = -1;
    for (size_t i = 0; i < rated->result_count && status < 0; i++) {
        status = cli_rated_run_turn(rated, &rated->results[i], turn < LEAD_IN_MS ? turn : LEAD_IN_MS, false);
    }
    for (uint32_t r = 0; r < rated->rounds && status < 0; r++) {
        for (size_t i = 0; i < rated->result_count && status < 0; i++) {
            status = cli_rated_run_turn(rated, &rated->results[i], turn, true);
        }
    }
    return status;
}

/* After the turns: what sessions and process have taken. */
static int memory_find(cli_rated *rated)
{
    struct rusage used = {0};
    rated->resident = getrusage(RUSAGE_SELF, &used) == 0 ? (uint64_t)used.ru_maxrss * 1024u : 0;
    for (size_t i = 0; i < rated->result_count; i++) {
        cli_rated_result *result = &rated->results[i];
        if (mts_session_stats_get(rated->run.sessions[result->contestant], &result->stats) != MTS_STATUS_OK) {
            return cli_failure("bench", "%s", rated->run.app->error);
        }
    }
    return -1;
}

int cli_rated_bench(cli_open *app, const cli_open_options *open, const char *bundle, const char *output,
                    cli_rated *rated)
{
    char error[CLI_ERROR] = "";
    cli_bench *bench = rated->bench;
    rated->run.app = app;
    rated->run.bench = bench;
    int status =
        cli_scenario_read(rated->path, &rated->scenario, error) ? -1 : cli_failure("bench", "%s", error);
    status = status < 0 ? tasks_make(rated) : status;
    status = status < 0 ? results_make(rated) : status;
    status = status < 0 ? bundle_open(app, open, bundle, rated) : status;
    status = status < 0 ? inputs_make(app, rated) : status;
    for (size_t i = 0; i < bench->contestant_count && status < 0; i++) {
        status = session_make(rated, i);
    }
    bench->load_before = cli_bench_load();
    status = status < 0 ? turns_run(rated) : status;
    bench->load_after = cli_bench_load();
    status = status < 0 ? memory_find(rated) : status;
    status = status < 0 ? sessions_compare(rated) : status;
    if (status >= 0) {
        return status;
    }
    bench->device.size = sizeof bench->device;
    (void)mts_runtime_device(app->runtime, &bench->device);
    status = open->json || output ? cli_rated_print_json(rated, open->json, output) : CLI_EXIT_OK;
    if (status == CLI_EXIT_OK && !open->json) {
        cli_rated_print_text(rated);
    }
    return status;
}

void cli_rated_release(cli_rated *rated)
{
    for (size_t i = 0; i < CLI_BENCH_CONTESTANTS; i++) {
        mts_session_destroy(&rated->run.sessions[i]);
    }
    for (size_t i = 0; i < rated->result_count; i++) {
        for (size_t n = 0; rated->results[i].networks && n < rated->scenario.count; n++) {
            cli_frames_release(&rated->results[i].networks[n]);
        }
        free(rated->results[i].networks);
        cli_frames_release(&rated->results[i].all);
    }
    for (uint32_t t = 0; rated->names && t < rated->run.tasks; t++) {
        free(rated->names[t]);
    }
    cli_inputs_release(&rated->run.inputs);
    free(rated->names);
    free(rated->tasks);
    free(rated->network_of);
    free(rated->chosen);
    free(rated->costs);
    cli_scenario_release(&rated->scenario);
}
