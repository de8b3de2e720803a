/*
 * command_bench.c: mts bench: latency and memory of strategies on growing numbers of
 * tasks.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_load.h"
#include "bench_rated.h"
#include "command.h"

typedef struct arguments {
    cli_open_options open;
    const char *strategies, *precisions, *tasks, *frames, *inputs, *plot, *output;
    const char *scenario, *schedules;
    const char *arrivals, *rate, *load, *trace;
    uint32_t requests, in_flight;
    double speed, seconds;
    uint32_t rounds;
    bool samples, no_probe, replay, no_replay;
    double budget;
    uint32_t warm_ups, runs;
} arguments;

/* Cuts `ending` off the end of a name, if something else stands before it. */
static bool ending_cut(char *name, const char *ending)
{
    const size_t length = strlen(name);
    const size_t tail = strlen(ending);
    const bool found = length > tail && strcmp(name + length - tail, ending) == 0;
    if (found) {
        name[length - tail] = '\0';
    }
    return found;
}

/* A strategy's name; "+groups", then "+budget", "+persistent", "+packs" or "+planes", and
   "+images" may follow. */
static int contestant_take(const char *name, cli_contestant *out)
{
    char list[128];
    (void)snprintf(out->name, sizeof out->name, "%s", name);
    if (strlen(name) < sizeof out->name) {
        out->images = ending_cut(out->name, "+images") ? MTS_USE_ON : MTS_USE_AUTO;
        out->packs = ending_cut(out->name, "+packs")    ? MTS_USE_ON
                     : ending_cut(out->name, "+planes") ? MTS_USE_OFF
                                                        : MTS_USE_AUTO;
        out->persistent = ending_cut(out->name, "+persistent");
        out->budget = ending_cut(out->name, "+budget");
        out->grouping = ending_cut(out->name, "+groups") ? MTS_GROUPING_MEASURED : MTS_GROUPING_FAMILY;
    }
    if (!cli_strategy_find(out->name, &out->strategy)) {
        return cli_usage_error("bench",
                               "no strategy '%s'; there are: %s; +groups, then +budget, "
                               "+persistent, +packs or +planes, and +images may follow",
                               name, cli_strategy_list(list, sizeof list));
    }
    (void)snprintf(out->name, sizeof out->name, "%s", name);
    return -1;
}

/* Names separated by commas; *copy is what they point into, for the caller to free. */
static int names_take(const char *option, const char *text, size_t most, cli_list *names, char **copy)
{
    const size_t size = strlen(text) + 1;
    *copy = malloc(size);
    if (!*copy) {
        return cli_failure("bench", "no memory");
    }
    memcpy(*copy, text, size);
    return cli_list_split(*copy, ',', names) && names->count <= most
               ? -1
               : cli_usage_error("bench", "--%s takes names separated by commas, at most %zu; not '%s'",
                                 option, most, text);
}

/* The same strategy in every precision. */
static int precisions_apply(const cli_contestant *strategy, const cli_list *precisions, cli_bench *bench)
{
    for (size_t i = 0; i < precisions->count; i++) {
        if (bench->contestant_count == CLI_BENCH_CONTESTANTS) {
            return cli_usage_error("bench", "strategies times precisions are %d at most",
                                   CLI_BENCH_CONTESTANTS);
        }
        cli_contestant *added = &bench->contestants[bench->contestant_count++];
        *added = *strategy;
        if (!cli_precision_find(precisions->items[i], &added->precision)) {
            return cli_usage_error("bench", "no precision '%s'; there are: %s", precisions->items[i],
                                   cli_precision_list());
        }
        const bool half = added->precision != MTS_PRECISION_FLOAT32;
        (void)snprintf(added->label, sizeof added->label, "%s%s%s", strategy->name, half ? " " : "",
                       half ? cli_precision_name(added->precision) : "");
        bench->halves = bench->halves || half;
    }
    return -1;
}

static int contestants_take(const arguments *args, cli_bench *bench)
{
    cli_list names = {0};
    cli_list precisions = {0};
    char *copies[2] = {NULL, NULL};
    int status = names_take("strategies", args->strategies ? args->strategies : "sequential,compact",
                            CLI_BENCH_STRATEGIES, &names, &copies[0]);
    if (status < 0) {
        status = names_take("precisions", args->precisions ? args->precisions : "float32",
                            CLI_BENCH_CONTESTANTS, &precisions, &copies[1]);
    }
    for (size_t i = 0; i < names.count && status < 0; i++) {
        cli_contestant strategy = {.place = i};
        status = contestant_take(names.items[i], &strategy);
        status = status < 0 ? precisions_apply(&strategy, &precisions, bench) : status;
    }
    cli_list_release(&names);
    cli_list_release(&precisions);
    free(copies[0]);
    free(copies[1]);
    return status;
}

static int tasks_take(const arguments *args, cli_bench *bench)
{
    double numbers[CLI_BENCH_STEPS];
    if (!args->tasks) {
        return -1; /* all of the bundle, once that is open */
    }
    bench->step_count = cli_numbers(args->tasks, ',', numbers, CLI_BENCH_STEPS);
    for (size_t i = 0; i < bench->step_count; i++) {
        if (numbers[i] < 1.0 || numbers[i] > 1e6 || numbers[i] != (double)(uint32_t)numbers[i]) {
            return cli_usage_error("bench", "--tasks %s: numbers of tasks are whole and from 1", args->tasks);
        }
        bench->steps[i] = (uint32_t)numbers[i];
    }
    return bench->step_count > 0
               ? -1
               : cli_usage_error("bench", "--tasks takes a number, or several: 4,8,16,32; not '%s'",
                                 args->tasks);
}

/* It is a mistake if no contestant keeps the budget, or if one does and none is given. */
static int budget_check(const cli_bench *bench)
{
    bool kept = false;
    for (size_t i = 0; i < bench->contestant_count; i++) {
        kept = kept || bench->contestants[i].budget;
    }
    return kept == (bench->budget > 0) ? -1
           : kept                      ? cli_usage_error("bench", "a strategy with +budget needs --budget")
                  : cli_usage_error("bench", "--budget needs a strategy with +budget, e.g. compact+budget");
}

/* What --arrivals does not understand, and what it needs. */
static int arrivals_check(const arguments *args, const char *bundle)
{
    if (!args->arrivals) {
        return args->rate || args->load || args->trace || args->requests > 0 || args->in_flight > 0
                   ? cli_usage_error("bench",
                                     "--rate, --load, --trace, --requests and --in-flight need --arrivals")
                   : -1;
    }
    if (args->scenario || args->tasks || args->plot || args->samples || args->runs > 0) {
        return cli_usage_error("bench", "--scenario, --tasks, --runs, --samples and --plot do not go with "
                                        "--arrivals");
    }
    if (args->rate && args->load) {
        return cli_usage_error("bench", "give --rate or --load, not both");
    }
    const bool trace = strcmp(args->arrivals, cli_arrival_names[CLI_ARRIVALS_TRACE]) == 0;
    if (trace != (args->trace != NULL) || (trace && args->requests > 0)) {
        return cli_usage_error("bench", "--arrivals trace needs --trace FILE and takes no --requests; the "
                                        "others take no --trace");
    }
    if (args->in_flight > 1 && (!args->inputs || strcmp(args->inputs, "zero-copy") == 0)) {
        return cli_usage_error("bench",
                               "--in-flight %u needs --inputs copied or uploaded: zero-copy inputs "
                               "are read by one run at a time",
                               args->in_flight);
    }
    return bundle ? -1 : cli_usage_error("bench", "--arrivals needs a BUNDLE");
}

/* What only one of the ways of measuring understands. */
static int ways_check(const arguments *args, const char *bundle)
{
    const int arrivals = arrivals_check(args, bundle);
    if (arrivals >= 0) {
        return arrivals;
    }
    if (args->scenario && (args->tasks || args->frames || args->plot || args->samples || args->runs > 0)) {
        return cli_usage_error("bench",
                               "--tasks, --frames, --runs, --samples and --plot do not go with --scenario");
    }
    if (!args->scenario &&
        (args->schedules || args->speed > 0.0 || args->seconds > 0.0 || args->rounds > 0)) {
        return cli_usage_error("bench", "--schedules, --speed, --seconds and --rounds need --scenario");
    }
    return args->scenario || bundle ? -1 : cli_usage_error("bench", "give a BUNDLE or --scenario FILE");
}

static int schedules_take(const arguments *args, cli_rated *rated)
{
    cli_list names = {0};
    char *copy = NULL;
    int status =
        names_take("schedules", args->schedules ? args->schedules : "fit", CLI_SCHEDULE_COUNT, &names, &copy);
    for (size_t i = 0; i < names.count && status < 0; i++) {
        int found = 0;
        while (found < CLI_SCHEDULE_COUNT && strcmp(cli_schedule_names[found], names.items[i]) != 0) {
            found++;
        }
        if (found == CLI_SCHEDULE_COUNT) {
            status = cli_usage_error("bench", "no schedule '%s'; there are: fit, together and alone",
                                     names.items[i]);
        } else {
            rated->schedules[rated->schedule_count++] = (cli_schedule)found;
        }
    }
    cli_list_release(&names);
    free(copy);
    return status;
}

/* A rated workload. */
static int rated_run(cli_open *app, const arguments *args, const char *bundle, cli_bench *bench)
{
    cli_rated *rated = calloc(1, sizeof *rated);
    if (!rated) {
        return cli_failure("bench", "no memory");
    }
    rated->bench = bench;
    rated->path = args->scenario;
    rated->speed = args->speed > 0.0 ? args->speed : 1.0;
    rated->seconds = args->seconds > 0.0 ? args->seconds : 10.0;
    rated->rounds = args->rounds > 0 ? args->rounds : 1;
    int status = schedules_take(args, rated);
    status = status < 0 ? cli_rated_bench(app, &args->open, bundle, args->output, rated) : status;
    cli_rated_release(rated);
    free(rated);
    return status;
}

/* Numbers of requests a second, or parts of what the first strategy can do. */
static int rates_take(const arguments *args, cli_load *load)
{
    const char *text = args->rate ? args->rate : args->load;
    const double most = args->rate ? 1e6 : 10.0;
    load->parts = !args->rate;
    if (!text) {
        if (args->trace) {
            load->parts = false;
            return -1; /* the trace has a rate of its own */
        }
        text = "0.5,0.7,0.8,0.9,0.95";
    }
    load->rate_count = cli_numbers(text, ',', load->rates, CLI_LOAD_RATES);
    bool good = load->rate_count > 0;
    for (size_t i = 0; i < load->rate_count; i++) {
        good = good && load->rates[i] >= 1e-3 && load->rates[i] <= most;
    }
    return good ? -1
                : cli_usage_error("bench", "--%s takes up to %d numbers from 0.001 to %g, not '%s'",
                                  args->rate ? "rate" : "load", CLI_LOAD_RATES, most, text);
}

/* Requests that arrive by the clock. */
static int load_run(cli_open *app, const arguments *args, const char *bundle, cli_bench *bench)
{
    cli_load *load = calloc(1, sizeof *load);
    if (!load) {
        return cli_failure("bench", "no memory");
    }
    int kind = 0;
    while (kind < CLI_ARRIVALS_COUNT && strcmp(cli_arrival_names[kind], args->arrivals) != 0) {
        kind++;
    }
    int status =
        kind < CLI_ARRIVALS_COUNT
            ? -1
            : cli_usage_error("bench", "--arrivals is poisson, uniform or trace, not '%s'", args->arrivals);
    status = status < 0 ? rates_take(args, load) : status;
    load->kind = (cli_arrival_kind)kind;
    load->trace = args->trace;
    load->requests = args->requests > 0 ? args->requests : 1000;
    load->slots = args->in_flight > 0 ? args->in_flight : 1;
    bench->in_flight = load->slots;
    bench->bundle = bundle;
    status = status < 0 ? cli_open_bundle(app, "bench", &args->open, bundle) : status;
    bench->device.size = sizeof bench->device;
    if (status < 0) {
        (void)mts_runtime_device(app->runtime, &bench->device);
        status = cli_load_bench(app, bench, args->open.json, args->output, load);
    }
    cli_load_release(load);
    free(load);
    return status;
}

static int arguments_take(arguments *args, const char *bundle, cli_bench *bench)
{
    bool known = !args->inputs;
    const int ways = ways_check(args, bundle);
    if (ways >= 0) {
        return ways;
    }
    if (args->frames && strcmp(args->frames, "separate") != 0 && strcmp(args->frames, "common") != 0) {
        return cli_usage_error("bench", "--frames is separate or common, not '%s'", args->frames);
    }
    if (args->replay && args->no_replay) {
        return cli_usage_error("bench", "give --replay or --no-replay, not both");
    }
    args->open.replay = args->replay ? MTS_USE_ON : args->no_replay ? MTS_USE_OFF : MTS_USE_AUTO;
    bench->replay = args->open.replay;
    bench->common = args->frames && strcmp(args->frames, "common") == 0;
    for (int i = 0; args->inputs && i < CLI_BENCH_INPUTS_COUNT; i++) {
        known = known || strcmp(args->inputs, cli_bench_inputs_names[i]) == 0;
        bench->inputs =
            strcmp(args->inputs, cli_bench_inputs_names[i]) == 0 ? (cli_bench_inputs)i : bench->inputs;
    }
    if (!known) {
        return cli_usage_error("bench", "--inputs is zero-copy, copied or uploaded, not '%s'", args->inputs);
    }
    bench->budget = (uint64_t)args->budget;
    bench->tuning_ms = args->open.tuning_ms;
    bench->priorities = args->open.priorities;
    mts_placement placement;
    if (!cli_placement_find(args->open.placement, &placement) ||
        (args->open.placement && !args->open.devices)) {
        return cli_usage_error("bench", "--placement is auto, stages or groups, with --devices");
    }
    bench->placement = args->open.placement;
    bench->samples = args->samples;
    bench->warm_ups = args->warm_ups;
    bench->runs = args->runs > 0 ? args->runs : 50;
    int status = contestants_take(args, bench);
    status = status < 0 ? budget_check(bench) : status;
    return status < 0 ? tasks_take(args, bench) : status;
}

static int steps_check(const cli_open *app, cli_bench *bench)
{
    const uint32_t count = mts_bundle_task_count(app->bundle);
    if (bench->step_count == 0) {
        bench->steps[bench->step_count++] = count;
    }
    for (size_t i = 0; i < bench->step_count; i++) {
        if (bench->steps[i] > count) {
            return cli_failure("bench", "--tasks %u: %s has %u tasks", bench->steps[i], bench->bundle, count);
        }
    }
    return -1;
}

/* The larger of what was found before and now: a busy machine can only look slower than
   it is. */
static int ceilings_find(cli_open *app, cli_bench *bench)
{
    mts_ceilings now = {.size = sizeof now};
    const mts_status status = mts_runtime_measure(app->runtime, &now);
    if (status == MTS_STATUS_OK) {
        bench->has_ceilings = true;
        bench->ceilings.gflops = fmax(bench->ceilings.gflops, now.gflops);
        bench->ceilings.copy_gbps = fmax(bench->ceilings.copy_gbps, now.copy_gbps);
    }
    return status == MTS_STATUS_OK || status == MTS_STATUS_UNSUPPORTED
               ? -1
               : cli_failure("bench", "%s", app->error);
}

static int run(cli_open *app, const arguments *args, const char *path, cli_bench *bench)
{
    bench->bundle = path;
    bench->load_before = cli_bench_load();
    int status = cli_open_bundle(app, "bench", &args->open, path);
    status = status < 0 ? steps_check(app, bench) : status;
    if (status >= 0) {
        return status;
    }
    bench->device.size = sizeof bench->device;
    (void)mts_runtime_device(app->runtime, &bench->device);
    status = args->no_probe ? -1 : ceilings_find(app, bench);
    for (size_t i = 0; i < bench->step_count && status < 0; i++) {
        status = cli_bench_step(app, bench, bench->steps[i]);
    }
    status = status < 0 && bench->has_ceilings ? ceilings_find(app, bench) : status;
    if (status >= 0) {
        return status;
    }
    bench->load_after = cli_bench_load();
    if (args->plot) {
        status = cli_bench_plot(bench, args->plot);
    }
    if (status <= CLI_EXIT_OK && (args->open.json || args->output)) {
        status = cli_bench_print_json(bench, args->open.json, args->output);
    }
    if (status <= CLI_EXIT_OK && !args->open.json) {
        cli_bench_print_text(bench);
        status = CLI_EXIT_OK;
    }
    return status;
}

static int bench_command(const cli_usage *usage, int argc, char **argv, arguments *args)
{
    cli_common common = {0};
    cli_open app = {0};
    cli_bench *bench = calloc(1, sizeof *bench);
    int status = bench ? cli_parse(usage, argc, argv, &common) : cli_failure("bench", "no memory");
    const char *bundle = common.positionals[0];
    args->open.json = common.json;
    status = status < 0 ? arguments_take(args, bundle, bench) : status;
    if (status < 0) {
        status = args->arrivals   ? load_run(&app, args, bundle, bench)
                 : args->scenario ? rated_run(&app, args, bundle, bench)
                                  : run(&app, args, bundle, bench);
    }
    cli_close(&app);
    if (bench) {
        cli_bench_release(bench);
    }
    free(bench);
    return status;
}

static const char summary[] =
    "Measures strategies against each other on random inputs: latency, memory, share of the device's\n"
    "peak. Outputs are compared before anything is timed; the strategies take turns. Outputs in float16 are\n"
    "compared with float32 of the same strategy: the largest and the mean difference, relative to the\n"
    "largest value of an output.";

static const char details[] =
    "With --scenario frames of each network arrive at its rate, on one session. Printed are frames kept and\n"
    "dropped, deadlines missed, latencies, processor time, memory and XRBench's score. Without a BUNDLE\n"
    "the scenario's models are compiled first.\n\n"
    "With --arrivals requests of all tasks arrive whether or not those before them have ended. Printed are\n"
    "what a session can do at most, and at each rate latencies from arrival to answer and the queue.";

int cli_command_bench(int argc, char **argv)
{
    arguments args = {.warm_ups = CLI_WARM_UPS};
    const cli_option options[] = {
        {"strategies", 's', CLI_KIND_TEXT, &args.strategies, "S,S",
         "what to compare, the first one is the baseline (default: sequential,compact); with +groups after "
         "it, groups are chosen by measuring; with +budget, it keeps --budget",
         0, 0},
        {"precisions", 0, CLI_KIND_TEXT, &args.precisions, "P,P",
         "each strategy in each of float32 (default), float16-storage, float16; errors against float32 are "
         "printed",
         0, 0},
        {"budget", 'b', CLI_KIND_BYTES, &args.budget, "BYTES",
         "device memory that those with +budget may take; 20M and 20MiB are possible too", 1, 1e15},
        {"tasks", 't', CLI_KIND_TEXT, &args.tasks, "N,N", "the first N tasks, for each N (default: all)", 0,
         0},
        {"frames", 'f', CLI_KIND_TEXT, &args.frames, "HOW",
         "separate: a frame per task (default); common: one for all", 0, 0},
        {"inputs", 0, CLI_KIND_TEXT, &args.inputs, "HOW",
         "zero-copy: read where the program has them (default); copied: into device memory before; uploaded: "
         "copied in every run",
         0, 0},
        {"warmup", 0, CLI_KIND_COUNT, &args.warm_ups, "N", "runs that are not counted (default 10)", 0, 1e6},
        {"runs", 'n', CLI_KIND_COUNT, &args.runs, "N", "runs that are measured (default 50)", 1, 1e6},
        {"scenario", 0, CLI_KIND_TEXT, &args.scenario, "FILE",
         "a rated workload: frames arrive by the clock (docs/SCENARIOS.md)", 0, 0},
        {"seconds", 0, CLI_KIND_NUMBER, &args.seconds, "S",
         "of it for each strategy and schedule (default 10)", 0.01, 3600},
        {"speed", 0, CLI_KIND_NUMBER, &args.speed, "F", "a factor of its rates (default 1)", 0.001, 1000},
        {"rounds", 0, CLI_KIND_COUNT, &args.rounds, "N", "turns that make up the seconds (default 1)", 1,
         1000},
        {"schedules", 0, CLI_KIND_TEXT, &args.schedules, "S,S",
         "fit (default): due frames run together as far as their deadlines allow; together: all of them; "
         "alone: one by one",
         0, 0},
        {"arrivals", 0, CLI_KIND_TEXT, &args.arrivals, "KIND",
         "requests arrive by the clock: poisson, uniform, or trace (docs/SCENARIOS.md)", 0, 0},
        {"rate", 0, CLI_KIND_TEXT, &args.rate, "R,R", "requests a second, of all tasks each", 0, 0},
        {"load", 0, CLI_KIND_TEXT, &args.load, "P,P",
         "or parts of what the first strategy can do (default: 0.5,0.7,0.8,0.9,0.95)", 0, 0},
        {"trace", 0, CLI_KIND_TEXT, &args.trace, "FILE", "times of arrivals in ms, one a line", 0, 0},
        {"requests", 0, CLI_KIND_COUNT, &args.requests, "N", "for each rate and strategy (default 1000)", 1,
         CLI_ARRIVALS_MOST},
        {"in-flight", 0, CLI_KIND_COUNT, &args.in_flight, "N",
         "requests that a session holds at a time (default 1)", 1, CLI_LOAD_SLOTS},
        {"device", 0, CLI_KIND_TEXT, &args.open.device, "N|ID", "device, see 'mts devices' (default: auto)",
         0, 0},
        CLI_OPEN_DEVICES(args.open),
        {"threads", 0, CLI_KIND_COUNT, &args.open.threads, "N",
         "threads of device cpu (default: one each processor)", 1, MTS_THREADS_MOST},
        {"tune", 0, CLI_KIND_COUNT, &args.open.tuning_ms, "MS",
         "measure kernels for this long, for every strategy (default: do not)", 1, 1e9},
        {"priority", 0, CLI_KIND_TEXT, &args.open.priorities, "A=2,B=1",
         "tasks with higher numbers run first (default: 0)", 0, 0},
        CLI_OPEN_QUEUE(args.open),
        {"no-cache", 0, CLI_KIND_FLAG, &args.open.no_cache, "", "build kernels anew, keep none on disk", 0,
         0},
        {"no-probe", 0, CLI_KIND_FLAG, &args.no_probe, "", "do not measure the device's peak and bandwidth",
         0, 0},
        {"gemm", 0, CLI_KIND_FLAG, &args.open.gemm, "", "let --tune try CLBlast for dense products", 0, 0},
        {"replay", 0, CLI_KIND_FLAG, &args.replay, "",
         "submit recorded lists where the driver can (default: where that is faster)", 0, 0},
        {"no-replay", 0, CLI_KIND_FLAG, &args.no_replay, "", "submit launch by launch", 0, 0},
        {"samples", 0, CLI_KIND_FLAG, &args.samples, "", "put every single time into the JSON", 0, 0},
        {"plot", 'p', CLI_KIND_TEXT, &args.plot, "FILE.svg", "draw latency and memory", 0, 0},
        {"output", 'o', CLI_KIND_TEXT, &args.output, "FILE.json", "write the JSON to a file", 0, 0},
    };
    const cli_usage usage = {
        .name = "bench",
        .positionals = "[BUNDLE]",
        .summary = summary,
        .details = details,
        .positional_more = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    return bench_command(&usage, argc, argv, &args);
}
