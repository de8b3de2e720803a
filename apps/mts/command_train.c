/*
 * command_train.c: mts train.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/args.h"
#include "calibration.h"
#include "classes.h"
#include "command.h"
#include "compiler_options.h"
#include "kit/files.h"
#include "kit/json.h"
#include "kit/measure.h"
#include "mts/mtsz.h"
#include "kit/progress.h"
#include "summary.h"

typedef struct arguments {
    const char *task, *base, *data, *classes, *method, *checkpoint, *output;
    double rate, decay, held_out;
    uint32_t limit, blocks, rank, candidates, epochs, patience, batch, forms, seed;
} arguments;

/* What the candidates were, told at the end of training. */
typedef struct results {
    mtsz_train_result *items;
    uint32_t count;
} results;

static bool method_find(const char *name, mtsz_train_method *out)
{
    static const char *const names[] = {"head", "low-rank", "last-blocks", "all"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (mtsz_train_method)i;
            return true;
        }
    }
    return false;
}

static int arguments_take(const arguments *args, mtsz_train_options *out)
{
    mtsz_train_options_default(out);
    if (!args->output) {
        return cli_usage_error("train", "give the bundle to write: -o FILE");
    }
    if (!args->task) {
        return cli_usage_error("train", "give the name of the new task: --task NAME");
    }
    if (!args->data) {
        return cli_usage_error("train", "give the labelled pictures: --data DATA");
    }
    if (args->method && !method_find(args->method, &out->method)) {
        return cli_usage_error("train", "--method is head, low-rank, last-blocks or all, not '%s'",
                               args->method);
    }
    out->task = args->task;
    out->base = args->base;
    out->blocks = args->blocks;
    out->rank = args->rank;
    out->candidate_count = args->candidates;
    out->rate = args->rate;
    out->decay = args->decay;
    out->epochs = args->epochs;
    out->patience = args->patience;
    out->batch = args->batch;
    out->held_out = args->held_out;
    out->forms = args->forms;
    out->seed = args->seed;
    out->checkpoint = args->checkpoint;
    return -1;
}

static void result_take(void *context, const mtsz_train_result *result)
{
    results *all = context;
    if (all->items) {
        all->items[all->count++] = *result;
    }
}

static void report_text(const arguments *args, const mtsz_train_report *report, const results *all)
{
    char added[32];
    printf("candidate     rate    decay       seed  epochs  best  held out     loss\n");
    for (uint32_t i = 0; i < all->count; i++) {
        const mtsz_train_result *r = &all->items[i];
        printf("%c%8u %8.4f %8.4f %10llu  %6u  %4u  %6.2f %%  %7.4f\n", r->number == report->best ? '*' : ' ',
               r->number, r->rate, r->decay, (unsigned long long)r->seed, r->epochs, r->best, r->accuracy,
               r->loss);
    }
    printf("wrote %s: '%s' is right for %.2f %% of %u images that were held out of %u; it adds %s "
           "(%.2f %% of its base) and has %u of %u nodes in common with it\n",
           args->output, args->task, report->accuracy, report->held_out, report->images + report->held_out,
           cli_bytes_text(report->bytes_added, added, sizeof added),
           100.0 * (double)report->bytes_added / (double)(report->bytes_base ? report->bytes_base : 1),
           report->nodes_common, report->nodes);
    printf("frozen part %.1f s, training %.1f s%s\n", report->frozen_seconds, report->train_seconds,
           report->resumed ? " (resumed)" : "");
}

static int report_json(const arguments *args, const mtsz_train_report *report, const results *all)
{
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("train", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_string(&json, "output", args->output);
    cli_json_string(&json, "task", args->task);
    cli_json_integer(&json, "best", report->best);
    cli_json_number(&json, "accuracy", report->accuracy);
    cli_json_number(&json, "loss", report->loss);
    cli_json_integer(&json, "images", report->images);
    cli_json_integer(&json, "held_out", report->held_out);
    cli_json_integer(&json, "nodes_common", report->nodes_common);
    cli_json_integer(&json, "nodes_task", report->nodes); /* "nodes" is the bundle's */
    cli_json_integer(&json, "bytes_added", report->bytes_added);
    cli_json_integer(&json, "bytes_base", report->bytes_base);
    cli_json_number(&json, "frozen_seconds", report->frozen_seconds);
    cli_json_number(&json, "train_seconds", report->train_seconds);
    cli_json_integer(&json, "resumed", report->resumed);
    cli_json_array(&json, "candidates");
    for (uint32_t i = 0; i < all->count; i++) {
        const mtsz_train_result *r = &all->items[i];
        cli_json_object(&json, NULL);
        cli_json_number(&json, "rate", r->rate);
        cli_json_number(&json, "decay", r->decay);
        cli_json_integer(&json, "seed", r->seed);
        cli_json_number(&json, "accuracy", r->accuracy);
        cli_json_number(&json, "loss", r->loss);
        cli_json_integer(&json, "epochs", r->epochs);
        cli_json_integer(&json, "best", r->best);
        cli_json_end(&json, '}');
    }
    cli_json_end(&json, ']');
    cli_json_summary(&json, &report->summary);
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("train", "no memory");
}

/* Which base was found, and warnings; a failure is printed in the end. */
static void tell(void *context, mts_log_severity severity, const char *text)
{
    (void)context;
    if (severity == MTS_LOG_WARNING || severity == MTS_LOG_INFO) {
        (void)fprintf(stderr, "mts %s%s\n", severity == MTS_LOG_WARNING ? "train: warning: " : "", text);
    }
}

static int call_library(const arguments *args, const char *bundle, mtsz_train_options *wanted,
                        const cli_calibration *calibration, bool json)
{
    char error[CLI_ERROR] = "";
    cli_progress progress;
    mtsc_options options;
    results all = {.items = calloc(args->candidates, sizeof *all.items)};
    mtsz_train_report report = {.size = sizeof report, .summary = {.size = sizeof report.summary}};
    cli_compiler_options(&options, &progress, error);
    options.log = tell;
    wanted->context = &all;
    wanted->result = result_take;
    const mts_status done = mtsz_train(bundle, &calibration->data, wanted, args->output, &options, &report);
    cli_progress_end(&progress);
    int status = CLI_EXIT_OK;
    if (done != MTS_STATUS_OK) {
        status = cli_calibration_failure(calibration, "train", error);
    } else if (json) {
        status = report_json(args, &report, &all);
    } else {
        report_text(args, &report, &all);
    }
    free(all.items);
    return status;
}

/* Opens the bundle, to know what the base takes, and the labelled pictures. */
static int open_data(cli_calibration *calibration, const arguments *args, const char *bundle)
{
    const int status = cli_calibration_open(calibration, "train", bundle, args->base, NULL, 0);
    if (status >= 0) {
        return status;
    }
    char *error = calibration->app.error;
    calibration->dataset = cli_dataset_open_classes(args->data, args->limit, error);
    if (!calibration->dataset ||
        (args->base &&
         !cli_dataset_fit(calibration->dataset, calibration->app.bundle, &args->base, 1, error))) {
        return cli_failure("train", "%s", error);
    }
    calibration->data = cli_dataset_data(calibration->dataset);
    return -1;
}

static int train(const arguments *args, const char *bundle, mtsz_train_options *wanted, bool json)
{
    cli_calibration calibration;
    cli_classes classes = {0};
    char error[CLI_ERROR] = "";
    int status = open_data(&calibration, args, bundle);
    if (status < 0 && !cli_classes_make(calibration.dataset, args->classes, &classes, error)) {
        status = cli_failure("train", "%s", error);
    }
    if (status < 0) {
        wanted->labels = classes.labels;
        wanted->label_count = classes.label_count;
        wanted->class_names = (const char *const *)classes.names;
        wanted->class_count = classes.count;
        wanted->class_map = classes.map;
        wanted->class_map_count = classes.map_count;
        status = call_library(args, bundle, wanted, &calibration, json);
    }
    cli_classes_release(&classes);
    cli_calibration_close(&calibration);
    return status;
}

int cli_command_train(int argc, char **argv)
{
    mtsz_train_options wanted;
    mtsz_train_options_default(&wanted);
    arguments args = {.decay = -1,
                      .held_out = wanted.held_out,
                      .blocks = wanted.blocks,
                      .rank = wanted.rank,
                      .candidates = wanted.candidate_count,
                      .patience = wanted.patience,
                      .batch = wanted.batch,
                      .forms = wanted.forms,
                      .seed = 1};
    const cli_option options[] = {
        {"task", 't', CLI_KIND_TEXT, &args.task, "NAME", "name of the new task", 0, 0},
        {"base", 0, CLI_KIND_TEXT, &args.base, "NAME",
         "the task whose network it grows from (default: the most telling one)", 0, 0},
        {"data", 'd', CLI_KIND_TEXT, &args.data, "DATA",
         "labelled pictures: CIFAR records, or a folder with a folder for each class", 0, 0},
        {"classes", 'c', CLI_KIND_TEXT, &args.classes, "LIST",
         "the task's classes of those of the data: \"no fur=*;fur=cat,dog\" (default: as they are)", 0, 0},
        {"limit", 0, CLI_KIND_COUNT, &args.limit, "N", "only N images", 1, 1e9},
        {"method", 'm', CLI_KIND_TEXT, &args.method, "NAME",
         "what is trained: head (default), low-rank, last-blocks or all", 0, 0},
        {"blocks", 0, CLI_KIND_COUNT, &args.blocks, "N",
         "blocks at the end that low-rank and last-blocks train (default 1)", 1, 1000},
        {"rank", 0, CLI_KIND_COUNT, &args.rank, "N", "rank of low-rank (default 2)", 1, 64},
        {"candidates", 'k', CLI_KIND_COUNT, &args.candidates, "K",
         "trainings with other rates, decays and seeds at once; the best one counts (default 8)", 1, 256},
        {"rate", 0, CLI_KIND_NUMBER, &args.rate, "R", "learning rate, of the middle candidate", 0.0, 1.0},
        {"decay", 0, CLI_KIND_NUMBER, &args.decay, "R", "weight decay, of the middle candidate", 0.0, 10.0},
        {"epochs", 'e', CLI_KIND_COUNT, &args.epochs, "N", "most rounds over the images", 1, 10000},
        {"patience", 0, CLI_KIND_COUNT, &args.patience, "N",
         "epochs without getting better, after which a candidate stops; 0: never (default 10)", 0, 10000},
        {"batch", 'b', CLI_KIND_COUNT, &args.batch, "N", "images a step (default 64)", 1, 4096},
        {"held-out", 0, CLI_KIND_NUMBER, &args.held_out, "R", "part that is held out (default 0.2)", 0.001,
         0.9},
        {"forms", 0, CLI_KIND_COUNT, &args.forms, "N",
         "forms of an image: itself, mirrored, moved (default 2)", 1, 16},
        {"seed", 0, CLI_KIND_COUNT, &args.seed, "N", "other numbers train otherwise (default 1)", 0,
         4294967295.0},
        {"checkpoint", 0, CLI_KIND_TEXT, &args.checkpoint, "FILE",
         "keeps the training so far; if it is there, training goes on", 0, 0},
        {"output", 'o', CLI_KIND_TEXT, &args.output, "FILE", "the bundle to write", 0, 0},
    };
    const cli_usage usage = {
        .name = "train",
        .positionals = "BUNDLE",
        .summary = "Trains a new task from labelled pictures on the frozen network of a task.",
        .details = "Example: mts train app.mtsb --task fur --data photos --classes \"no=*;yes=cat,dog\" -o "
                   "app2.mtsb",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    int status = cli_parse(&usage, argc, argv, &common);
    status = status < 0 ? arguments_take(&args, &wanted) : status;
    return status < 0 ? train(&args, common.positionals[0], &wanted, common.json) : status;
}
