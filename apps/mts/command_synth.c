/*
 * command_synth.c: mts synth.
 */
#include <stdio.h>
#include <string.h>

#include "kit/args.h"
#include "command.h"
#include "compiler_options.h"
#include "kit/files.h"
#include "kit/json.h"
#include "kit/measure.h"
#include "mts/mtsc.h"
#include "kit/progress.h"
#include "summary.h"

#define LIST_MOST 1024
#define ARCHITECTURES                                                                                        \
    "resnet18, resnet50, resnext50, vgg16, bert-small, bert-base, xlnet-base, vit-tiny or mobilevit"

typedef struct arguments {
    const char *arch, *prune, *batch, *output;
    double share;
    uint32_t tasks, input, classes, seed;
} arguments;

/* The arguments as the library wants them, with the lists they point to. */
typedef struct request {
    mtsc_synth_options options;
    double prune[LIST_MOST];
    uint32_t batch[LIST_MOST];
} request;

static bool arch_find(const char *name, mtsc_arch *out)
{
    static const char *const names[] = {"resnet18", "resnet50",  "vgg16",      "bert-small", "bert-base",
                                        "vit-tiny", "resnext50", "xlnet-base", "mobilevit"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (mtsc_arch)i;
            return true;
        }
    }
    return false;
}

static int prune_take(const arguments *args, request *out)
{
    if (!args->prune) {
        return -1;
    }
    const size_t count = cli_numbers(args->prune, ',', out->prune, LIST_MOST);
    for (size_t i = 0; i < count; i++) {
        if (out->prune[i] < 0.0 || out->prune[i] > 0.999) {
            return cli_usage_error("synth", "--prune %s: ratios are from 0 to 0.999", args->prune);
        }
    }
    if (count == 0) {
        return cli_usage_error("synth", "--prune takes a ratio, or several: 0.9,0.85; not '%s'", args->prune);
    }
    out->options.prune = out->prune;
    out->options.prune_count = (uint32_t)count;
    return -1;
}

static int batch_take(const arguments *args, request *out)
{
    double numbers[LIST_MOST];
    if (!args->batch) {
        return -1;
    }
    const size_t count = cli_numbers(args->batch, ',', numbers, LIST_MOST);
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] < 1.0 || numbers[i] > 256.0 || numbers[i] != (double)(uint32_t)numbers[i]) {
            return cli_usage_error("synth", "--batch %s: batches are whole numbers from 1 to 256",
                                   args->batch);
        }
        out->batch[i] = (uint32_t)numbers[i];
    }
    if (count == 0) {
        return cli_usage_error("synth", "--batch takes a number, or several: 1,2,3; not '%s'", args->batch);
    }
    out->options.batch = out->batch;
    out->options.batch_count = (uint32_t)count;
    return -1;
}

static int arguments_take(const arguments *args, request *out)
{
    mtsc_synth_options_default(&out->options);
    if (!args->output) {
        return cli_usage_error("synth", "give the bundle to write: -o FILE");
    }
    if (!args->arch || !arch_find(args->arch, &out->options.arch)) {
        return cli_usage_error("synth", "give --arch " ARCHITECTURES "%s%s", args->arch ? ", not " : "",
                               args->arch ? args->arch : "");
    }
    out->options.tasks = args->tasks;
    out->options.share = args->share;
    out->options.input = args->input;
    out->options.classes = args->classes;
    out->options.seed = args->seed;
    const int status = prune_take(args, out);
    return status < 0 ? batch_take(args, out) : status;
}

static int summary_print(const arguments *args, const mtsc_summary *summary, bool as_json)
{
    cli_json json;
    if (!as_json) {
        char stored[32];
        char unshared[32];
        printf("wrote %s: %u tasks of %s, weights %s (%s unshared)\n", args->output, summary->tasks,
               args->arch, cli_bytes_text(summary->weights_bytes, stored, sizeof stored),
               cli_bytes_text(summary->weights_bytes_unshared, unshared, sizeof unshared));
        return CLI_EXIT_OK;
    }
    if (!cli_json_begin(&json)) {
        return cli_failure("synth", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_string(&json, "output", args->output);
    cli_json_string(&json, "arch", args->arch);
    cli_json_summary(&json, summary);
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("synth", "no memory");
}

static int synth(const arguments *args, const request *wanted, bool json)
{
    char error[CLI_ERROR] = "";
    cli_progress progress;
    mtsc_options options;
    mtsc_summary summary = {.size = sizeof summary};
    cli_compiler_options(&options, &progress, error);
    const mts_status status = mtsc_synth(&wanted->options, args->output, &options, &summary);
    cli_progress_end(&progress);
    return status == MTS_STATUS_OK ? summary_print(args, &summary, json) : cli_failure("synth", "%s", error);
}

int cli_command_synth(int argc, char **argv)
{
    arguments args = {.share = 0.9, .tasks = 8, .input = 224, .classes = 10, .seed = 1};
    request wanted = {0};
    const cli_option options[] = {
        {"arch", 'a', CLI_KIND_TEXT, &args.arch, "NAME", ARCHITECTURES, 0, 0},
        {"tasks", 't', CLI_KIND_COUNT, &args.tasks, "N", "number of tasks, t0, t1, ... (default 8)", 1, 1024},
        {"prune", 'p', CLI_KIND_TEXT, &args.prune, "R[,R...]",
         "part of the channels that is pruned (default 0); tasks take several in turn", 0, 0},
        {"share", 's', CLI_KIND_NUMBER, &args.share, "R",
         "part of a layer's channels that is common to all tasks (default 0.9)", 0.0, 1.0},
        {"input", 0, CLI_KIND_COUNT, &args.input, "N", "rows and columns of the picture (default 224)", 32,
         4096},
        {"batch", 0, CLI_KIND_TEXT, &args.batch, "N[,N...]",
         "pictures a run (default 1); tasks take several in turn", 0, 0},
        {"classes", 0, CLI_KIND_COUNT, &args.classes, "N", "outputs of a task (default 10)", 1, 1e6},
        {"seed", 0, CLI_KIND_COUNT, &args.seed, "N", "other numbers give other weights (default 1)", 0,
         4294967295.0},
        {"output", 'o', CLI_KIND_TEXT, &args.output, "FILE", "the bundle to write", 0, 0},
    };
    const cli_usage usage = {
        .name = "synth",
        .positionals = "",
        .summary =
            "Writes a bundle of networks with random weights and the given ratios of pruning and sharing.",
        .details = "Example: mts synth --arch resnet18 --tasks 32 --prune 0.9 --share 0.9 -o x.mtsb",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    int status = cli_parse(&usage, argc, argv, &common);
    status = status < 0 ? arguments_take(&args, &wanted) : status;
    return status < 0 ? synth(&args, &wanted, common.json) : status;
}
