/*
 * command_zip.c: mts zip: makes the tasks of a bundle share weights.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibration.h"
#include "command.h"
#include "compiler_options.h"
#include "kit/files.h"
#include "kit/json.h"
#include "kit/measure.h"
#include "kit/progress.h"
#include "summary.h"
#include "zip_plot.h"

typedef struct arguments {
    const char *output, *data, *tasks, *base, *layers, *form, *assignment, *forms, *plot;
    double share, max_change, retrain; /* share: below 0 if it is not given */
    double low_rank, max_loss, bytes;  /* 0: not given */
    uint32_t round, limit, seed, max_rank;
} arguments;

/* Names of a list option, and the copy of the text that they lie in. */
typedef struct names {
    char *copy;
    cli_list list;
} names;

/* What the layer callback prints, or keeps for JSON. */
typedef struct layers {
    cli_json *json; /* NULL: print */
    bool low_rank, limited;
    bool headed; /* the table has its first line */
    cli_progress progress;
    cli_zip_trials trials;
} layers;

static bool limited(const arguments *args)
{
    return args->max_loss > 0.0 || args->bytes > 0.0;
}

static bool names_take(const char *text, names *out)
{
    if (!text) {
        return true;
    }
    out->copy = malloc(strlen(text) + 1);
    return out->copy && cli_list_split(strcpy(out->copy, text), ',', &out->list);
}

static void names_release(names *taken)
{
    cli_list_release(&taken->list);
    free(taken->copy);
}

static int choices_take(const arguments *args, mtsz_zip_options *options)
{
    if (args->form && strcmp(args->form, "filters") != 0 && strcmp(args->form, "uxyz") != 0) {
        return cli_usage_error("zip", "--form is filters or uxyz, not '%s'", args->form);
    }
    if (args->assignment && strcmp(args->assignment, "optimal") != 0 &&
        strcmp(args->assignment, "greedy") != 0) {
        return cli_usage_error("zip", "--assign is optimal or greedy, not '%s'", args->assignment);
    }
    if (args->forms && strcmp(args->forms, "filters") != 0 && strcmp(args->forms, "low-rank") != 0) {
        return cli_usage_error("zip", "--forms is filters or low-rank, not '%s'", args->forms);
    }
    options->forms = !args->forms                          ? 0
                     : strcmp(args->forms, "filters") == 0 ? 1u << MTSZ_FORM_FILTERS
                                                           : 1u << MTSZ_FORM_LOW_RANK;
    options->form = args->form && strcmp(args->form, "uxyz") == 0 ? MTSZ_FORM_UXYZ : MTSZ_FORM_FILTERS;
    options->assignment = args->assignment && strcmp(args->assignment, "greedy") == 0
                              ? MTSZ_ASSIGNMENT_GREEDY
                              : MTSZ_ASSIGNMENT_OPTIMAL;
    return -1;
}

static const char *form_name(mtsz_form form)
{
    return form == MTSZ_FORM_FILTERS ? "filters" : form == MTSZ_FORM_LOW_RANK ? "low rank" : "none";
}

/* A row of the table of what a search has traded. */
static void traded_print(const mtsz_zip_layer *layer)
{
    char bytes[32];
    char ratio[32] = "-";
    if (layer->form == MTSZ_FORM_FILTERS) {
        (void)snprintf(ratio, sizeof ratio, "%.2f", (double)layer->shared / layer->channels);
    } else if (layer->form == MTSZ_FORM_LOW_RANK) {
        (void)snprintf(ratio, sizeof ratio, "rank %u", layer->rank);
    }
    printf("%-32.32s %-8s %8s %10s %8.4f %6.2f %%  %s\n", layer->name, form_name(layer->form), ratio,
           cli_bytes_text(layer->bytes_saved, bytes, sizeof bytes), layer->loss, layer->change,
           layer->tasks && *layer->tasks ? layer->tasks : "-");
    (void)fflush(stdout);
}

static void traded_json(cli_json *json, const mtsz_zip_layer *layer)
{
    cli_json_string(json, "form", form_name(layer->form));
    cli_json_integer(json, "rank", layer->rank);
    cli_json_string(json, "tasks", layer->tasks ? layer->tasks : "");
    cli_json_integer(json, "bytes_saved", layer->bytes_saved);
    cli_json_number(json, "loss", layer->loss);
}

static void trial_take(void *context, const mtsz_zip_trial *trial)
{
    layers *told = context;
    cli_zip_trials_add(&told->trials, trial);
}

static void layer_print(void *context, const mtsz_zip_layer *layer)
{
    layers *told = context;
    if (told->json) {
        cli_json_object(told->json, NULL);
        cli_json_string(told->json, "layer", layer->name);
        cli_json_integer(told->json, "channels", layer->channels);
        cli_json_integer(told->json, "shared", layer->shared);
        cli_json_number(told->json, "change", layer->change);
        cli_json_string(told->json, "task", layer->task);
        cli_json_integer(told->json, "rolled_back", layer->rolled_back ? 1 : 0);
        if (told->low_rank) {
            cli_json_integer(told->json, "rank", layer->rank);
            cli_json_number(told->json, "deviation", layer->deviation);
        }
        if (told->limited) {
            traded_json(told->json, layer);
        }
        cli_json_end(told->json, '}');
        return;
    }
    cli_progress_end(&told->progress);
    if (told->limited) {
        if (!told->headed) {
            printf("%-32s %-8s %8s %10s %8s %8s  %s\n", "layer", "form", "ratio", "saves", "points",
                   "changed", "tasks");
        }
        told->headed = true;
        traded_print(layer);
        return;
    }
    if (told->low_rank) {
        printf("%-40.40s rank %3u leaves %.2e (%s)%s\n", layer->name, layer->rank, layer->deviation,
               layer->task, layer->rolled_back ? ", stays private" : "");
        (void)fflush(stdout);
        return;
    }
    printf("%-40.40s %4u of %4u channels shared %6.2f %% changed (%s)%s\n", layer->name, layer->shared,
           layer->channels, layer->change, layer->task, layer->rolled_back ? ", rolled back" : "");
    (void)fflush(stdout);
}

static void low_rank_print(const arguments *args, const mtsz_zip_report *report)
{
    char stored[32];
    char unshared[32];
    printf(
        "wrote %s: %u of %u layers have one weight and differences of rank %u or less; relative error %.2e "
        "at most\n",
        args->output, report->zipped, report->layers, report->rank, report->deviation);
    printf("weights %s (%s unshared)", cli_bytes_text(report->summary.weights_bytes, stored, sizeof stored),
           cli_bytes_text(report->summary.weights_bytes_unshared, unshared, sizeof unshared));
    if (report->change >= 0.0) {
        printf("; changed answers: %.2g %% in the mean, %.2g %% of the worst task", report->change,
               report->change_worst);
    }
    printf("\nzipping took %.1f s\n", report->zip_seconds);
}

static void limited_print(const arguments *args, const mtsz_zip_report *report)
{
    char stored[32];
    char before[32];
    const double part = (double)report->summary.weights_bytes / (double)report->bytes_before;
    printf("wrote %s: %u of %u layers share; expected loss %.3f points in the mean, %.3f of the worst task; "
           "changed answers: %.2f %% in the mean, %.2f %% of the worst task\n",
           args->output, report->zipped, report->layers, report->loss, report->loss_worst, report->change,
           report->change_worst);
    printf("weights %s, %.4f of %s without sharing",
           cli_bytes_text(report->summary.weights_bytes, stored, sizeof stored), part,
           cli_bytes_text(report->bytes_before, before, sizeof before));
    if (!args->tasks) { /* of a bundle whose tasks are all zipped */
        printf("; each task beside the first adds %.2f %% of one",
               100.0 * (part * report->tasks - 1.0) / (report->tasks - 1));
    }
    printf("\nzipping took %.1f s, %u plans\n", report->zip_seconds, report->trials);
}

static void report_print(const arguments *args, const mtsz_zip_report *report)
{
    char stored[32];
    char unshared[32];
    if (args->low_rank > 0.0) {
        low_rank_print(args, report);
        return;
    }
    if (limited(args)) {
        limited_print(args, report);
        return;
    }
    printf("wrote %s: %u of %u layers share filters (%u rolled back), %.1f %% of a task's weights\n",
           args->output, report->zipped, report->layers, report->rolled_back, 100.0 * report->shared_weights);
    printf("weights %s (%s unshared); changed answers: %.2f %% in the mean, %.2f %% of the worst task\n",
           cli_bytes_text(report->summary.weights_bytes, stored, sizeof stored),
           cli_bytes_text(report->summary.weights_bytes_unshared, unshared, sizeof unshared), report->change,
           report->change_worst);
    printf("zipping took %.1f s", report->zip_seconds);
    if (args->retrain > 0.0) {
        printf(", re-training %.1f s (loss %.4f -> %.4f)%s", report->retrain_seconds, report->loss_first,
               report->loss_last, report->retrained ? "" : ", which was no better and is not kept");
    }
    printf("\n");
}

static void report_json(cli_json *json, const arguments *args, const mtsz_zip_report *report)
{
    cli_json_string(json, "output", args->output);
    cli_json_integer(json, "zipped", report->zipped);
    cli_json_integer(json, "rolled_back", report->rolled_back);
    cli_json_number(json, "shared_weights", report->shared_weights);
    if (report->change >= 0.0) {
        cli_json_number(json, "change", report->change);
        cli_json_number(json, "change_worst", report->change_worst);
    }
    cli_json_number(json, "zip_seconds", report->zip_seconds);
    if (limited(args)) {
        cli_json_number(json, "loss", report->loss);
        cli_json_number(json, "loss_worst", report->loss_worst);
        cli_json_integer(json, "bytes_before", report->bytes_before);
        cli_json_integer(json, "trials", report->trials);
        cli_json_integer(json, "rank", report->rank);
    }
    if (args->low_rank > 0.0) {
        cli_json_integer(json, "rank", report->rank);
        cli_json_number(json, "deviation", report->deviation);
        cli_json_summary(json, &report->summary);
        return;
    }
    cli_json_number(json, "retrain_seconds", report->retrain_seconds);
    cli_json_integer(json, "retrained", report->retrained ? 1 : 0);
    cli_json_number(json, "loss_first", report->loss_first);
    cli_json_number(json, "loss_last", report->loss_last);
    cli_json_summary(json, &report->summary);
}

static void trials_json(cli_json *json, const cli_zip_trials *trials)
{
    if (trials->count == 0) {
        return;
    }
    cli_json_array(json, "plans");
    for (size_t i = 0; i < trials->count; i++) {
        cli_json_object(json, NULL);
        cli_json_number(json, "bytes", trials->items[i].bytes);
        cli_json_number(json, "loss", trials->items[i].loss);
        cli_json_integer(json, "predicted", trials->items[i].predicted ? 1 : 0);
        cli_json_integer(json, "within", trials->items[i].within ? 1 : 0);
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
}

/* Runs with the layers going into `json`, or to standard output. */
static int zip_run(const arguments *args, const char *bundle, mtsz_zip_options *zip,
                   const cli_calibration *calibration, cli_json *json)
{
    char error[CLI_ERROR] = "";
    mtsc_options options;
    mtsz_zip_report report = {.size = sizeof report};
    layers told = {.json = json, .low_rank = args->low_rank > 0.0, .limited = limited(args)};
    cli_compiler_options(&options, &told.progress, error);
    zip->context = &told;
    zip->layer = layer_print;
    zip->trial = trial_take;
    const mts_status status = mtsz_zip(bundle, &calibration->data, zip, args->output, &options, &report);
    cli_progress_end(&told.progress);
    int code = CLI_EXIT_OK;
    if (status != MTS_STATUS_OK) {
        code = cli_calibration_failure(calibration, "zip", error);
    } else if (json) {
        cli_json_end(json, ']');
        trials_json(json, &told.trials);
        report_json(json, args, &report);
    } else {
        report_print(args, &report);
    }
    if (code == CLI_EXIT_OK && args->plot) {
        code = cli_zip_plot(&told.trials, args->max_loss, args->bytes, args->plot);
    }
    cli_zip_trials_release(&told.trials);
    return code;
}

static int zip_print(const arguments *args, const char *bundle, mtsz_zip_options *zip,
                     const cli_calibration *calibration, bool as_json)
{
    cli_json json;
    if (!as_json) {
        return zip_run(args, bundle, zip, calibration, NULL);
    }
    if (!cli_json_begin(&json)) {
        return cli_failure("zip", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_array(&json, "layers");
    const int status = zip_run(args, bundle, zip, calibration, &json);
    if (status != CLI_EXIT_OK) {
        cli_json_release(&json);
        return status;
    }
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("zip", "no memory");
}

static int zip_data(const arguments *args, const char *bundle, mtsz_zip_options *zip, bool json)
{
    cli_calibration calibration;
    int status = cli_calibration_open(&calibration, "zip", bundle, args->tasks, args->data, args->limit);
    if (status < 0) {
        zip->tasks = calibration.app.tasks.items;
        zip->task_count = (uint32_t)calibration.app.tasks.count;
        status = zip_print(args, bundle, zip, &calibration, json);
    }
    cli_calibration_close(&calibration);
    return status;
}

/* What is missing, or does not go together. */
static int arguments_check(const arguments *args)
{
    if (!args->output) {
        return cli_usage_error("zip", "give the bundle to write: -o FILE");
    }
    if (limited(args)) {
        const char *other = args->share >= 0.0         ? "--share"
                            : args->form               ? "--form"
                            : args->retrain > 0.0      ? "--retrain"
                            : args->low_rank > 0.0     ? "--low-rank"
                            : args->max_change < 100.0 ? "--max-change"
                                                       : NULL;
        if (args->max_loss > 0.0 && args->bytes > 0.0) {
            return cli_usage_error("zip", "--max-loss and --bytes are two limits: give one");
        }
        if (other) {
            return cli_usage_error("zip", "%s does not go with --max-loss or --bytes", other);
        }
    } else if (args->plot || args->forms) {
        return cli_usage_error("zip", "%s goes with --max-loss or --bytes",
                               args->plot ? "--plot" : "--forms");
    }
    if (args->low_rank <= 0.0) {
        return args->max_rank ? cli_usage_error("zip", "--max-rank goes with --low-rank")
               : !args->data  ? cli_usage_error("zip", "give --calib DATA")
                              : -1;
    }
    const char *other = args->share >= 0.0 ? "--share"
                        : args->form       ? "--form"
                        : args->assignment ? "--assign"
                        : args->round      ? "--round"
                        : args->retrain    ? "--retrain"
                                           : NULL;
    return other ? cli_usage_error("zip", "%s does not go with --low-rank", other) : -1;
}

static int zip_command(const cli_usage *usage, int argc, char **argv, const arguments *args,
                       mtsz_zip_options *zip)
{
    cli_common common = {0};
    names base = {0};
    names prefixes = {0};
    int status = cli_parse(usage, argc, argv, &common);
    status = status < 0 ? arguments_check(args) : status;
    status = status < 0 ? choices_take(args, zip) : status;
    if (status < 0 && !(names_take(args->base, &base) && names_take(args->layers, &prefixes))) {
        status = cli_usage_error("zip", "--base and --layers take names: A,B");
    }
    if (status < 0) {
        zip->base = base.list.items;
        zip->base_count = (uint32_t)base.list.count;
        zip->layers = prefixes.list.items;
        zip->layer_count = (uint32_t)prefixes.list.count;
        zip->share = args->share >= 0.0 ? args->share : zip->share;
        zip->round = args->round ? args->round : zip->round;
        zip->low_rank = args->low_rank;
        zip->max_rank = args->max_rank;
        zip->max_change = args->max_change;
        zip->retrain_seconds = args->retrain;
        zip->seed = args->seed;
        zip->max_loss = args->max_loss;
        zip->bytes = args->bytes;
        status = zip_data(args, common.positionals[0], zip, common.json);
    }
    names_release(&base);
    names_release(&prefixes);
    return status;
}

int cli_command_zip(int argc, char **argv)
{
    mtsz_zip_options zip;
    mtsz_zip_options_default(&zip);
    arguments args = {.share = -1.0, .max_change = zip.max_change, .seed = 1};
    const cli_option options[] = {
        {"calib", 'd', CLI_KIND_TEXT, &args.data, "DATA",
         "images, unlabelled: CIFAR records, a folder of pictures, .npy", 0, 0},
        {"share", 's', CLI_KIND_NUMBER, &args.share, "R",
         "part of each layer's channels to share (default 0.9)", 0.0, 1.0},
        {"form", 0, CLI_KIND_TEXT, &args.form, "F", "filters (default) or uxyz", 0, 0},
        {"assign", 0, CLI_KIND_TEXT, &args.assignment, "A",
         "how channels are matched: optimal (default) or greedy", 0, 0},
        {"round", 0, CLI_KIND_COUNT, &args.round, "N", "shared channels are a multiple of N (default 4)", 1,
         1024},
        {"tasks", 0, CLI_KIND_TEXT, &args.tasks, "A,B", "only these tasks (default: all)", 0, 0},
        {"base", 0, CLI_KIND_TEXT, &args.base, "A,B",
         "these keep every bit, the others take over their filters", 0, 0},
        {"layers", 0, CLI_KIND_TEXT, &args.layers, "P,Q", "only layers whose names begin so (default: all)",
         0, 0},
        {"max-change", 0, CLI_KIND_NUMBER, &args.max_change, "PERCENT",
         "a layer that changes more of a task's answers is rolled back (default 100)", 0.0, 100.0},
        {"retrain", 0, CLI_KIND_NUMBER, &args.retrain, "SECONDS",
         "then train to answer as before, without labels (default 0)", 0.0, 1e6},
        {"low-rank", 0, CLI_KIND_NUMBER, &args.low_rank, "TOL",
         "instead: weights that differ by merged adapters become one weight and small ones; largest relative "
         "error, e.g. 1e-5",
         1e-12, 0.999},
        {"max-rank", 0, CLI_KIND_COUNT, &args.max_rank, "N",
         "with --low-rank: largest rank of a difference (default: half of the weight's numbers)", 1, 65536},
        {"max-loss", 0, CLI_KIND_NUMBER, &args.max_loss, "POINTS",
         "instead of a ratio: as small as possible while the tasks lose no more points of accuracy "
         "(expected, "
         "mean)",
         1e-6, 100.0},
        {"bytes", 0, CLI_KIND_NUMBER, &args.bytes, "PART",
         "the same with a limit of bytes: a part of what the tasks take without sharing", 1e-6, 1.0},
        {"forms", 0, CLI_KIND_TEXT, &args.forms, "F",
         "with a limit: only filters or only low-rank (default: what is best for each layer)", 0, 0},
        {"plot", 0, CLI_KIND_TEXT, &args.plot, "FILE", "with a limit: bytes against loss, SVG", 0, 0},
        {"limit", 0, CLI_KIND_COUNT, &args.limit, "N", "only the first N images", 1, 1e9},
        {"seed", 0, CLI_KIND_COUNT, &args.seed, "N", "of re-training (default 1)", 0, 4294967295.0},
        {"output", 'o', CLI_KIND_TEXT, &args.output, "FILE", "the bundle to write", 0, 0},
    };
    const cli_usage usage = {
        .name = "zip",
        .positionals = "BUNDLE",
        .summary = "Makes the tasks of a bundle share weights, so that each shared one is stored once.",
        .details =
            "Example: mts zip app.mtsb --share 0.9 --calib images/ -o zipped.mtsb\n"
            "then:    mts eval app.mtsb zipped.mtsb --data labelled.bin\n"
            "limit:   mts zip app.mtsb --max-loss 0.5 --calib images/ --plot trade.svg -o zipped.mtsb\n"
            "LoRA:    mts zip app.mtsb --low-rank 1e-5 -o zipped.mtsb",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    return zip_command(&usage, argc, argv, &args, &zip);
}
