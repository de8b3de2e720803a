/*
 * command_inspect.c: mts inspect: what a bundle holds, or how a device would run it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mts/profile.h"

#include "kit/args.h"
#include "command.h"
#include "kit/files.h"
#include "kit/open.h"
#include "schedule_plot.h"

/* Rates that launches are predicted with where the device cannot be measured: only
   proportions count then. */
#define GUESSED_GFLOPS 100.0
#define GUESSED_GBPS 20.0

/* On several devices the plan is that of frames that follow each other. */
#define IN_FLIGHT 4u

typedef struct arguments {
    cli_open_options open;
    const char *grouping, *frames, *svg;
    bool dot, plan;
    double budget;
} arguments;

static int print_report(const mts_bundle *bundle, mts_report report, const char *error)
{
    size_t needed = 0;
    mts_status status = mts_bundle_inspect(bundle, report, NULL, 0, &needed);
    if (status != MTS_STATUS_LIMIT) {
        return cli_failure("inspect", "%s", error);
    }
    char *text = malloc(needed);
    if (!text) {
        return cli_failure("inspect", "no memory for the report (%zu bytes)", needed);
    }
    status = mts_bundle_inspect(bundle, report, text, needed, NULL);
    if (status == MTS_STATUS_OK) {
        (void)fputs(text, stdout);
    }
    free(text);
    return status == MTS_STATUS_OK ? CLI_EXIT_OK : cli_failure("inspect", "%s", error);
}

/* Prints the report of the bundle; nothing runs, so that no driver is needed. */
static int inspect(const arguments *args, const char *path)
{
    char error[CLI_ERROR] = "";
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_runtime_options options;
    int result = CLI_EXIT_OK;
    mts_runtime_options_default(&options);
    options.device = "reference";
    options.error_text = error;
    options.error_size = sizeof error;
    mts_status status = mts_runtime_create(&options, &runtime);
    if (status == MTS_STATUS_NOT_FOUND) {
        options.device = NULL;
        status = mts_runtime_create(&options, &runtime);
    }
    if (status == MTS_STATUS_OK) {
        status = mts_bundle_open(runtime, path, &bundle);
    }
    if (status == MTS_STATUS_OK) {
        result = print_report(bundle,
                              args->dot         ? MTS_REPORT_DOT
                              : args->open.json ? MTS_REPORT_JSON
                                                : MTS_REPORT_TEXT,
                              error);
    } else {
        result = cli_failure("inspect", "%s", error);
    }
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    return result;
}

static int explain(cli_open *app, bool json)
{
    const mts_report report = json ? MTS_REPORT_JSON : MTS_REPORT_TEXT;
    size_t needed = 0;
    (void)mts_session_explain(app->session, report, NULL, 0, &needed);
    char *text = malloc(needed + 1);
    if (!text) {
        return cli_failure("inspect", "no memory");
    }
    const mts_status status = mts_session_explain(app->session, report, text, needed + 1, NULL);
    if (status == MTS_STATUS_OK) {
        printf("%s%s", text, json ? "\n" : "");
    }
    free(text);
    return status == MTS_STATUS_OK ? CLI_EXIT_OK : cli_failure("inspect", "%s", app->error);
}

/* When launches would run, by a model with the rates of the device. */
static int draw(cli_open *app, const arguments *args, mts_strategy strategy, const char *path)
{
    mts_session_stats stats = {.size = sizeof stats};
    mts_ceilings rates = {.size = sizeof rates};
    mts_device_desc device = {.size = sizeof device};
    mts_status status = mts_runtime_measure(app->runtime, &rates);
    const bool measured = status == MTS_STATUS_OK && rates.gflops > 0.0 && rates.copy_gbps > 0.0;
    if (!measured) {
        rates = (mts_ceilings){.size = sizeof rates, .gflops = GUESSED_GFLOPS, .copy_gbps = GUESSED_GBPS};
    }
    status = status == MTS_STATUS_UNSUPPORTED ? MTS_STATUS_OK : status;
    status = status == MTS_STATUS_OK ? mts_runtime_device(app->runtime, &device) : status;
    status = status == MTS_STATUS_OK ? mts_session_stats_get(app->session, &stats) : status;
    mts_launch_profile *launches = calloc((size_t)stats.launches + 1, sizeof *launches);
    if (!launches) {
        return cli_failure("inspect", "no memory for %u launches", stats.launches);
    }
    launches->size = sizeof *launches;
    char how[128];
    (void)snprintf(how, sizeof how, "predicted with %.0f GFLOP/s and %.1f GB/s, %s", rates.gflops,
                   rates.copy_gbps, measured ? "measured now" : "which are guessed");
    cli_schedule schedule = {.command = "inspect",
                             .bundle = path,
                             .strategy = cli_strategy_name(strategy),
                             .how = how,
                             .device = &device,
                             .launches = launches};
    status = status == MTS_STATUS_OK
                 ? mts_session_predict(app->session, &rates, launches, stats.launches + 1, &schedule.count)
                 : status;
    const int result = status == MTS_STATUS_OK ? cli_schedule_plot(app, &schedule, args->svg)
                                               : cli_failure("inspect", "%s", app->error);
    free(launches);
    return result == CLI_EXIT_OK ? -1 : result;
}

/* Makes a session and prints how it came about. */
static int inspect_plan(const arguments *args, mts_strategy strategy, const char *path)
{
    cli_open app = {0};
    int status = cli_open_bundle(&app, "inspect", &args->open, path);
    status = status < 0 ? cli_open_session(&app, "inspect", &args->open, strategy) : status;
    status = status < 0 && args->svg ? draw(&app, args, strategy, path) : status;
    status = status < 0 ? explain(&app, args->open.json) : status;
    cli_close(&app);
    return status;
}

static int arguments_check(arguments *args, mts_strategy *strategy)
{
    const bool planning = args->grouping || args->frames || args->svg || args->budget > 0.0 ||
                          args->open.device || args->open.devices || args->open.strategy ||
                          args->open.precision || args->open.tasks || args->open.tuning_ms > 0 ||
                          args->open.priorities;
    if (args->dot + args->open.json + args->plan > 1 && !(args->plan && args->open.json && !args->dot)) {
        return cli_usage_error("inspect", args->plan
                                              ? "a plan has no Graphviz graph: give --plan or --dot, not both"
                                              : "give --json or --dot, not both");
    }
    if (planning && !args->plan) {
        return cli_usage_error("inspect", "how a device would run the bundle is shown by --plan only");
    }
    const int named = cli_open_check("inspect", &args->open, strategy);
    if (named >= 0) {
        return named;
    }
    if (args->grouping && strcmp(args->grouping, "family") != 0 && strcmp(args->grouping, "measured") != 0) {
        return cli_usage_error("inspect", "--grouping is family or measured, not '%s'", args->grouping);
    }
    if (args->frames && strcmp(args->frames, "separate") != 0 && strcmp(args->frames, "common") != 0) {
        return cli_usage_error("inspect", "--frames is separate or common, not '%s'", args->frames);
    }
    args->open.grouping = args->grouping && strcmp(args->grouping, "measured") == 0 ? MTS_GROUPING_MEASURED
                                                                                    : MTS_GROUPING_FAMILY;
    args->open.separate_inputs = !args->frames || strcmp(args->frames, "separate") == 0;
    args->open.memory_budget = (uint64_t)args->budget;
    args->open.frames_in_flight = args->open.devices ? IN_FLIGHT : 0;
    return -1;
}

int cli_command_inspect(int argc, char **argv)
{
    arguments args = {.dot = false};
    const cli_option options[] = {
        {"dot", 0, CLI_KIND_FLAG, &args.dot, "",
         "print a Graphviz graph: 'mts inspect x.mtsb --dot | dot -Tsvg'", 0, 0},
        {"plan", 'p', CLI_KIND_FLAG, &args.plan, "",
         "make a session and print how it runs: groups, slices, latency, memory, what was considered and why "
         "it lost",
         0, 0},
        {"grouping", 'g', CLI_KIND_TEXT, &args.grouping, "HOW",
         "with --plan; family: all tasks that fit together (default); measured: groups are chosen by "
         "measuring",
         0, 0},
        {"budget", 'b', CLI_KIND_BYTES, &args.budget, "BYTES",
         "with --plan; device memory that the session may take, its inputs included", 1, 1e15},
        {"frames", 'f', CLI_KIND_TEXT, &args.frames, "HOW",
         "with --plan; separate: a frame per task (default); common: one for all", 0, 0},
        {"svg", 0, CLI_KIND_TEXT, &args.svg, "FILE.svg",
         "with --plan; draw when each launch is predicted to run, for which tasks, and how full it makes the "
         "device",
         0, 0},
        CLI_OPEN_OPTIONS(args.open),
    };
    const cli_usage usage = {
        .name = "inspect",
        .positionals = "BUNDLE",
        .summary =
            "Prints what a bundle holds: tasks, families, weight bytes with and without sharing, and what\n"
            "each layer shares. With --plan: how a device runs it.",
        .details = "Example: mts inspect app.mtsb --plan --grouping measured --budget 20000000 --tune 5000",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    mts_strategy strategy = MTS_STRATEGY_COMPACT;
    int status = cli_parse(&usage, argc, argv, &common);
    args.open.json = common.json;
    status = status < 0 ? arguments_check(&args, &strategy) : status;
    if (status >= 0) {
        return status;
    }
    return args.plan ? inspect_plan(&args, strategy, common.positionals[0])
                     : inspect(&args, common.positionals[0]);
}
