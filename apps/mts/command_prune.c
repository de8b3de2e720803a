/*
 * command_prune.c: mts prune: removes channels of the tasks of a bundle.
 */
#include <stdio.h>
#include <string.h>

#include "calibration.h"
#include "command.h"
#include "compiler_options.h"
#include "kit/files.h"
#include "kit/json.h"
#include "kit/measure.h"
#include "kit/progress.h"
#include "summary.h"

static const char *const criteria[] = {"l1", "apoz", "avg", "hybrid", NULL};
static const char *const targets[] = {"layer", "global", "flops", "bytes", NULL};

typedef struct arguments {
    const char *output, *data, *tasks, *criterion, *target;
    double ratio;
    uint32_t round, limit;
    bool plain, together;
} arguments;

/* Position of a name in a list, -1: it is not there. */
static int name_find(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static int arguments_take(const arguments *args, mtsz_prune_options *prune)
{
    const int criterion = args->criterion ? name_find(criteria, args->criterion) : 0;
    const int target = args->target ? name_find(targets, args->target) : 0;
    if (!args->output) {
        return cli_usage_error("prune", "give the bundle to write: -o FILE");
    }
    if (criterion < 0) {
        return cli_usage_error("prune", "--criterion is l1, apoz, avg or hybrid, not '%s'", args->criterion);
    }
    if (target < 0) {
        return cli_usage_error("prune", "--target is layer, global, flops or bytes, not '%s'", args->target);
    }
    prune->criterion = (mtsz_criterion)criterion;
    prune->target = (mtsz_target)target;
    prune->ratio = args->ratio;
    prune->round = args->round;
    prune->refit = args->plain ? 0 : 1;
    prune->together = args->together ? 1 : 0;
    if (!args->data && (prune->refit || prune->criterion != MTSZ_CRITERION_L1)) {
        return cli_usage_error("prune", "give --calib DATA (only --criterion l1 with --no-refit needs none)");
    }
    return -1;
}

static double lost(uint64_t all, uint64_t kept)
{
    return all > 0 ? 100.0 - 100.0 * (double)kept / (double)all : 0.0;
}

static int report_print(const arguments *args, const mtsz_prune_report *report)
{
    char before[32];
    char after[32];
    char stored[32];
    printf("wrote %s: %u tasks, weights %s\n", args->output, report->summary.tasks,
           cli_bytes_text(report->summary.weights_bytes, stored, sizeof stored));
    printf("%-16s%14s%14s%10s\n", "", "before", "after", "less");
    printf("%-16s%14llu%14llu%8.1f %%\n", "channels", (unsigned long long)report->channels,
           (unsigned long long)report->channels_kept, lost(report->channels, report->channels_kept));
    printf("%-16s%12.1f M%12.1f M%8.1f %%\n", "multiply-adds", (double)report->mul_adds / 1e6,
           (double)report->mul_adds_kept / 1e6, lost(report->mul_adds, report->mul_adds_kept));
    printf("%-16s%14s%14s%8.1f %%\n", "weights", cli_bytes_text(report->weights_bytes, before, sizeof before),
           cli_bytes_text(report->weights_bytes_kept, after, sizeof after),
           lost(report->weights_bytes, report->weights_bytes_kept));
    return CLI_EXIT_OK;
}

static int report_json(const arguments *args, const mtsz_prune_report *report)
{
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("prune", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_string(&json, "output", args->output);
    cli_json_integer(&json, "channels", report->channels);
    cli_json_integer(&json, "channels_kept", report->channels_kept);
    cli_json_integer(&json, "mul_adds", report->mul_adds);
    cli_json_integer(&json, "mul_adds_kept", report->mul_adds_kept);
    cli_json_integer(&json, "pruned_bytes", report->weights_bytes);
    cli_json_integer(&json, "pruned_bytes_kept", report->weights_bytes_kept);
    cli_json_summary(&json, &report->summary);
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("prune", "no memory");
}

static int prune_run(const arguments *args, const char *bundle, const mtsz_prune_options *prune,
                     const cli_calibration *calibration, bool json)
{
    char error[CLI_ERROR] = "";
    cli_progress progress;
    mtsc_options options;
    mtsz_prune_report report = {.size = sizeof report};
    cli_compiler_options(&options, &progress, error);
    const mts_status status =
        mtsz_prune(bundle, args->data ? &calibration->data : NULL, prune, args->output, &options, &report);
    cli_progress_end(&progress);
    if (status != MTS_STATUS_OK) {
        return cli_calibration_failure(calibration, "prune", error);
    }
    return json ? report_json(args, &report) : report_print(args, &report);
}

static int prune_open(const arguments *args, const char *bundle, mtsz_prune_options *prune, bool json)
{
    cli_calibration calibration;
    int status = cli_calibration_open(&calibration, "prune", bundle, args->tasks, args->data, args->limit);
    if (status < 0) {
        prune->tasks = calibration.app.tasks.items;
        prune->task_count = (uint32_t)calibration.app.tasks.count;
        status = prune_run(args, bundle, prune, &calibration, json);
    }
    cli_calibration_close(&calibration);
    return status;
}

int cli_command_prune(int argc, char **argv)
{
    mtsz_prune_options prune;
    mtsz_prune_options_default(&prune);
    arguments args = {.ratio = prune.ratio, .round = prune.round};
    const cli_option options[] = {
        {"ratio", 'r', CLI_KIND_NUMBER, &args.ratio, "R", "part that goes (default 0.5)", 0.0, 0.99},
        {"target", 0, CLI_KIND_TEXT, &args.target, "T",
         "what it is a part of: layer (default: channels of every layer), global, flops, bytes", 0, 0},
        {"criterion", 0, CLI_KIND_TEXT, &args.criterion, "C",
         "which channels matter: l1 (default), apoz, avg, hybrid", 0, 0},
        {"calib", 'd', CLI_KIND_TEXT, &args.data, "DATA",
         "images, unlabelled: CIFAR records, a folder of pictures, .npy", 0, 0},
        {"no-refit", 0, CLI_KIND_FLAG, &args.plain, NULL, "leave the weights that stay as they are", 0, 0},
        {"round", 0, CLI_KIND_COUNT, &args.round, "N", "channels kept are a multiple of N (default 1)", 1,
         1024},
        {"together", 0, CLI_KIND_FLAG, &args.together, NULL,
         "tasks of a family lose the same channels and go on sharing", 0, 0},
        {"tasks", 0, CLI_KIND_TEXT, &args.tasks, "A,B", "only these tasks (default: all)", 0, 0},
        {"limit", 0, CLI_KIND_COUNT, &args.limit, "N", "only the first N images", 1, 1e9},
        {"output", 'o', CLI_KIND_TEXT, &args.output, "FILE", "the bundle to write", 0, 0},
    };
    const cli_usage usage = {
        .name = "prune",
        .positionals = "BUNDLE",
        .summary = "Removes channels of a bundle's tasks, with all their weights, and fits what reads them.",
        .details =
            "Example: mts prune app.mtsb --ratio 0.5 --criterion hybrid --calib images/ -o small.mtsb\n"
            "then:    mts eval small.mtsb --data labelled.bin",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    int status = cli_parse(&usage, argc, argv, &common);
    status = status < 0 ? arguments_take(&args, &prune) : status;
    return status < 0 ? prune_open(&args, common.positionals[0], &prune, common.json) : status;
}
