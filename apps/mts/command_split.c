/*
 * command_split.c: mts split.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/args.h"
#include "calibration.h"
#include "command.h"
#include "compiler_options.h"
#include "kit/files.h"
#include "kit/json.h"
#include "kit/measure.h"
#include "mts/mtsz.h"
#include "kit/progress.h"
#include "summary.h"

typedef struct arguments {
    const char *task, *criterion, *data, *output;
    double ratio, trunk, retrain;
    uint32_t groups, limit, seed;
    bool keep, labels, search, random;
} arguments;

static bool criterion_find(const char *name, mtsz_criterion *out)
{
    static const char *const names[] = {"l1", "apoz", "avg", "hybrid"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (mtsz_criterion)i;
            return true;
        }
    }
    return false;
}

static int arguments_take(const arguments *args, mtsz_split_options *out)
{
    mtsz_split_options_default(out);
    if (!args->output) {
        return cli_usage_error("split", "give the bundle to write: -o FILE");
    }
    if (!args->task) {
        return cli_usage_error("split", "give the classifier to split: --task NAME");
    }
    if (!args->data) {
        return cli_usage_error("split", "give the pictures to calibrate with: --calib DATA");
    }
    if (args->criterion && !criterion_find(args->criterion, &out->criterion)) {
        return cli_usage_error("split", "--criterion is l1, apoz, avg or hybrid, not '%s'", args->criterion);
    }
    out->task = args->task;
    out->groups = args->groups;
    out->ratio = args->ratio;
    out->trunk = args->trunk;
    out->retrain_seconds = args->retrain;
    out->seed = args->seed;
    out->keep = args->keep ? 1 : 0;
    out->search = args->search ? 1 : 0;
    out->grouping = args->random ? MTSZ_GROUPING_RANDOM : MTSZ_GROUPING_FEATURES;
    return -1;
}

static int report_print(const arguments *args, const mtsz_split_report *report, bool as_json)
{
    cli_json json;
    if (!as_json) {
        char stored[32];
        printf("wrote %s: '%s' as %u subnets, %.1f M multiply-adds (whole: %.1f M), weights %s\n",
               args->output, args->task, args->groups, (double)report->mul_adds_groups / 1e6,
               (double)report->mul_adds / 1e6,
               cli_bytes_text(report->summary.weights_bytes, stored, sizeof stored));
        printf("their common answer is another one for %.2f %% of the images\n", report->change);
        return CLI_EXIT_OK;
    }
    if (!cli_json_begin(&json)) {
        return cli_failure("split", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_string(&json, "output", args->output);
    cli_json_string(&json, "task", args->task);
    cli_json_integer(&json, "groups", args->groups);
    cli_json_integer(&json, "mul_adds", report->mul_adds);
    cli_json_integer(&json, "mul_adds_groups", report->mul_adds_groups);
    cli_json_number(&json, "change", report->change);
    cli_json_summary(&json, &report->summary);
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("split", "no memory");
}

static void warn(void *context, mts_log_severity severity, const char *text)
{
    (void)context;
    if (severity == MTS_LOG_WARNING) { /* a failure is printed in the end */
        (void)fprintf(stderr, "mts split: warning: %s\n", text);
    } else if (severity == MTS_LOG_INFO) {
        (void)fprintf(stderr, "mts split: %s\n", text);
    }
}

/* The task's class of each image: its class in the data, by the task's map where it has one. */
static bool labels_make(const cli_calibration *calibration, uint32_t **out, char *error)
{
    const cli_dataset *dataset = calibration->dataset;
    const uint32_t count = cli_dataset_count(dataset);
    const mts_task_desc task = cli_task(&calibration->app, 0);
    if (!cli_dataset_labelled(dataset)) {
        (void)snprintf(error, CLI_ERROR, "--labels: the pictures of --calib have no labels");
        return false;
    }
    *out = calloc(count > 0 ? count : 1, sizeof **out);
    for (uint32_t i = 0; *out && i < count; i++) {
        const uint32_t label = cli_dataset_label(dataset, i);
        if (task.class_count > 0 && label >= task.class_count) {
            (void)snprintf(error, CLI_ERROR,
                           "--labels: picture %u has label %u, but task '%s' maps %u classes", i, label, task.name,
                           task.class_count);
            return false;
        }
        (*out)[i] = task.class_count > 0 ? task.class_map[label] : label;
    }
    if (!*out) {
        (void)snprintf(error, CLI_ERROR, "no memory");
    }
    return *out != NULL;
}

static int split(const arguments *args, const char *bundle, mtsz_split_options *wanted, bool json)
{
    uint32_t *labels = NULL;
    char error[CLI_ERROR] = "";
    cli_calibration calibration;
    cli_progress progress;
    mtsc_options options;
    mtsz_split_report report = {.size = sizeof report, .summary = {.size = sizeof report.summary}};
    int status = cli_calibration_open(&calibration, "split", bundle, args->task, args->data, args->limit);
    if (status < 0 && args->labels && !labels_make(&calibration, &labels, error)) {
        status = cli_failure("split", "%s", error);
    }
    if (status < 0) {
        wanted->labels = labels;
        wanted->label_count = labels ? cli_dataset_count(calibration.dataset) : 0;
        cli_compiler_options(&options, &progress, error);
        options.log = warn;
        const mts_status done =
            mtsz_split(bundle, &calibration.data, wanted, args->output, &options, &report);
        cli_progress_end(&progress);
        status = done == MTS_STATUS_OK ? report_print(args, &report, json)
                                       : cli_calibration_failure(&calibration, "split", error);
    }
    free(labels);
    cli_calibration_close(&calibration);
    return status;
}

int cli_command_split(int argc, char **argv)
{
    arguments args = {.ratio = 0.5, .groups = 2, .seed = 1};
    mtsz_split_options wanted;
    const cli_option options[] = {
        {"task", 't', CLI_KIND_TEXT, &args.task, "NAME", "the classifier", 0, 0},
        {"groups", 'g', CLI_KIND_COUNT, &args.groups, "K", "subnets, a group of classes each (default 2)", 2,
         4096},
        {"ratio", 'r', CLI_KIND_NUMBER, &args.ratio, "R",
         "part of the multiply-adds behind the trunk that each loses (default 0.5)", 0.0, 0.99},
        {"trunk", 0, CLI_KIND_NUMBER, &args.trunk, "R",
         "layers in front with this part of the multiply-adds stay common (default 0)", 0.0, 0.99},
        {"criterion", 0, CLI_KIND_TEXT, &args.criterion, "NAME", "l1, apoz, avg or hybrid (default)", 0, 0},
        {"calib", 'd', CLI_KIND_TEXT, &args.data, "DATA", "pictures: CIFAR records, a folder, or .npy", 0, 0},
        {"labels", 0, CLI_KIND_FLAG, &args.labels, "",
         "their labels count as much as the whole network's answers", 0, 0},
        {"search", 0, CLI_KIND_FLAG, &args.search, "", "search the threshold of hybrid for each group", 0, 0},
        {"random", 0, CLI_KIND_FLAG, &args.random, "", "groups of any classes, by the seed, to compare with",
         0, 0},
        {"limit", 0, CLI_KIND_COUNT, &args.limit, "N", "only the first N images", 1, 1e9},
        {"retrain", 0, CLI_KIND_NUMBER, &args.retrain, "SECONDS",
         "train each subnet for this long to answer as the whole network (default 0)", 0.0, 1e6},
        {"keep", 0, CLI_KIND_FLAG, &args.keep, "", "the task itself stays in the bundle", 0, 0},
        {"seed", 0, CLI_KIND_COUNT, &args.seed, "N", "other numbers group and train otherwise (default 1)", 0,
         4294967295.0},
        {"output", 'o', CLI_KIND_TEXT, &args.output, "FILE", "the bundle to write", 0, 0},
    };
    const cli_usage usage = {
        .name = "split",
        .positionals = "BUNDLE",
        .summary = "Splits a classifier into small networks that know a group of its classes each.",
        .details = "Example: mts split app.mtsb --task object --groups 5 --ratio 0.8 --calib photos -o "
                   "split.mtsb",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    int status = cli_parse(&usage, argc, argv, &common);
    status = status < 0 ? arguments_take(&args, &wanted) : status;
    return status < 0 ? split(&args, common.positionals[0], &wanted, common.json) : status;
}
