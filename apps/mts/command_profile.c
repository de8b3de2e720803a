/*
 * command_profile.c: mts profile: where the time of a run goes, launch by launch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mts/profile.h"

#include "command.h"
#include "inputs.h"
#include "profile_report.h"
#include "schedule_plot.h"

typedef struct arguments {
    cli_open_options open;
    const char *grouping, *frames, *trace, *svg;
    bool no_probe;
    double budget;
    uint32_t runs;
} arguments;

static int arguments_check(arguments *args, mts_strategy *strategy, bool *common)
{
    const int named = cli_open_check("profile", &args->open, strategy);
    if (named >= 0) {
        return named;
    }
    if (args->grouping && strcmp(args->grouping, "family") != 0 && strcmp(args->grouping, "measured") != 0) {
        return cli_usage_error("profile", "--grouping is family or measured, not '%s'", args->grouping);
    }
    if (args->frames && strcmp(args->frames, "separate") != 0 && strcmp(args->frames, "common") != 0) {
        return cli_usage_error("profile", "--frames is separate or common, not '%s'", args->frames);
    }
    *common = args->frames && strcmp(args->frames, "common") == 0;
    args->open.separate_inputs = !*common;
    args->open.zero_copy_inputs = true;
    args->open.grouping = args->grouping && strcmp(args->grouping, "measured") == 0 ? MTS_GROUPING_MEASURED
                                                                                    : MTS_GROUPING_FAMILY;
    args->open.memory_budget = (uint64_t)args->budget;
    return -1;
}

static int compare_kinds(const void *left, const void *right)
{
    const cli_profile_kind *a = left;
    const cli_profile_kind *b = right;
    return (a->ms < b->ms) - (a->ms > b->ms);
}

static void totals_find(cli_profile *profile)
{
    for (uint32_t i = 0; i < profile->count; i++) {
        const mts_launch_profile *l = &profile->launches[i];
        uint32_t k = 0;
        while (k < profile->kind_count && strcmp(profile->kinds[k].name, l->kind) != 0) {
            k++;
        }
        profile->kind_count += k == profile->kind_count ? 1 : 0;
        profile->kinds[k].name = l->kind;
        profile->kinds[k].launches++;
        profile->kinds[k].mul_adds += l->mul_adds;
        profile->kinds[k].bytes += l->bytes;
        profile->kinds[k].ms += l->duration_ms;
        profile->busy_ms += l->duration_ms;
        profile->span_ms = l->start_ms + l->duration_ms;
    }
    qsort(profile->kinds, profile->kind_count, sizeof *profile->kinds, compare_kinds);
}

/* Ordinary runs first: they show what a run takes without a profile. */
static int measure(cli_open *app, const arguments *args, const cli_inputs *inputs, cli_profile *profile)
{
    profile->stats.size = sizeof profile->stats;
    mts_status status = mts_session_stats_get(app->session, &profile->stats);
    const uint32_t count = status == MTS_STATUS_OK ? profile->stats.launches : 0;
    profile->launches = calloc(count + 1, sizeof *profile->launches);
    profile->kinds = calloc(count + 1, sizeof *profile->kinds);
    if (!profile->launches || !profile->kinds) {
        return cli_failure("profile", "no memory");
    }
    status = status == MTS_STATUS_OK ? cli_inputs_set(inputs, app->session) : status;
    status =
        status == MTS_STATUS_OK ? cli_measure(app->session, NULL, args->runs, &profile->latency) : status;
    if (status == MTS_STATUS_OK) {
        profile->launches->size = sizeof *profile->launches;
        status = mts_session_profile(app->session, args->runs, profile->launches, count, &profile->count);
    }
    if (status != MTS_STATUS_OK) {
        return cli_failure("profile", "%s", app->error);
    }
    totals_find(profile);
    return -1;
}

/* Random inputs in this program's memory, as mts bench has them; they outlive the
 * session, which reads them. */
typedef struct filling {
    const char **names;
    cli_inputs inputs;
} filling;

static int filling_make(filling *fill, const cli_open *app, bool common)
{
    const uint32_t tasks = cli_task_count(app);
    fill->names = calloc((size_t)tasks + 1, sizeof *fill->names);
    for (uint32_t t = 0; fill->names && t < tasks; t++) {
        fill->names[t] = cli_task(app, t).name;
    }
    return fill->names && cli_inputs_make(&fill->inputs, app->bundle, fill->names, tasks, common)
               ? -1
               : cli_failure("profile", "no memory for the inputs");
}

static int ceilings_find(cli_open *app, cli_profile *profile)
{
    profile->ceilings.size = sizeof profile->ceilings;
    const mts_status status = mts_runtime_measure(app->runtime, &profile->ceilings);
    profile->has_ceilings = status == MTS_STATUS_OK;
    return status == MTS_STATUS_OK || status == MTS_STATUS_UNSUPPORTED
               ? -1
               : cli_failure("profile", "%s", app->error);
}

static int draw(const cli_open *app, const cli_profile *profile, const char *path)
{
    char how[64];
    (void)snprintf(how, sizeof how, "measured, medians of %u runs", profile->runs);
    const cli_schedule schedule = {.command = "profile",
                                   .bundle = profile->bundle,
                                   .strategy = profile->strategy,
                                   .how = how,
                                   .device = &profile->device,
                                   .launches = profile->launches,
                                   .count = profile->count};
    const int status = cli_schedule_plot(app, &schedule, path);
    return status == CLI_EXIT_OK ? -1 : status;
}

static int run(cli_open *app, const arguments *args, mts_strategy strategy, filling *fill,
               cli_profile *profile)
{
    int status = cli_open_bundle(app, "profile", &args->open, profile->bundle);
    status = status < 0 ? cli_open_session(app, "profile", &args->open, strategy) : status;
    if (status >= 0) {
        return status;
    }
    profile->device.size = sizeof profile->device;
    (void)mts_runtime_device(app->runtime, &profile->device);
    status = args->no_probe ? -1 : ceilings_find(app, profile);
    status = status < 0 ? filling_make(fill, app, profile->common) : status;
    status = status < 0 ? measure(app, args, &fill->inputs, profile) : status;
    status = status < 0 && args->trace ? cli_profile_trace(profile, app, args->trace) : status;
    status = status < 0 && args->svg ? draw(app, profile, args->svg) : status;
    if (status >= 0) {
        return status;
    }
    if (args->open.json) {
        return cli_profile_print_json(profile);
    }
    cli_profile_print_text(profile);
    return CLI_EXIT_OK;
}

int cli_command_profile(int argc, char **argv)
{
    arguments args = {.runs = 20};
    const cli_option options[] = {
        {"grouping", 0, CLI_KIND_TEXT, &args.grouping, "HOW",
         "family: all tasks that fit together (default); measured: groups are chosen by measuring", 0, 0},
        {"budget", 'b', CLI_KIND_BYTES, &args.budget, "BYTES",
         "device memory that the session may take, inputs are zero-copy", 1, 1e15},
        {"frames", 'f', CLI_KIND_TEXT, &args.frames, "HOW",
         "separate: a frame per task (default); common: one for all", 0, 0},
        {"runs", 'n', CLI_KIND_COUNT, &args.runs, "N", "runs whose median is taken (default 20)", 1, 10000},
        {"trace", 't', CLI_KIND_TEXT, &args.trace, "FILE.json",
         "write trace events: open them in ui.perfetto.dev or chrome://tracing", 0, 0},
        {"svg", 0, CLI_KIND_TEXT, &args.svg, "FILE.svg",
         "draw when each launch ran, for which tasks, and how full it made the device", 0, 0},
        {"no-probe", 0, CLI_KIND_FLAG, &args.no_probe, "", "do not measure the device's peak and bandwidth",
         0, 0},
        CLI_OPEN_OPTIONS(args.open),
    };
    const cli_usage usage = {
        .name = "profile",
        .positionals = "BUNDLE",
        .summary =
            "Prints the device time of every launch of a run, and of each kind of launch: share, GFLOP/s,\n"
            "share of the peak, GB/s of the bytes that have to be moved at least.",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    cli_open app = {0};
    cli_profile profile = {0};
    filling fill = {0};
    mts_strategy strategy = MTS_STRATEGY_COMPACT;
    int status = cli_parse(&usage, argc, argv, &common);
    args.open.json = common.json;
    status = status < 0 ? arguments_check(&args, &strategy, &profile.common) : status;
    profile.bundle = common.positionals[0];
    profile.strategy = cli_strategy_name(strategy);
    profile.runs = args.runs;
    status = status < 0 ? run(&app, &args, strategy, &fill, &profile) : status;
    free(profile.kinds);
    free(profile.launches);
    cli_close(&app);
    cli_inputs_release(&fill.inputs);
    free(fill.names);
    return status;
}
