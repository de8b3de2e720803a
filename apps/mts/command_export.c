/*
 * command_export.c: mts export: tasks of a bundle as ONNX.
 */
#include <stdio.h>
#include <string.h>

#include "kit/args.h"
#include "command.h"
#include "kit/files.h"
#include "kit/json.h"
#include "mts/mtsc.h"

typedef struct arguments {
    const char *task, *output, *stitched, *frames;
} arguments;

static int arguments_check(const arguments *args)
{
    if (args->stitched && (args->task || args->output)) {
        return cli_usage_error("export", "--stitched FILE writes all tasks; --task and --output write one");
    }
    if (!args->stitched && (!args->task || !args->output)) {
        return cli_usage_error("export", "give %s, or --stitched FILE for all tasks",
                               args->task ? "-o FILE" : "--task NAME");
    }
    if (args->frames && !args->stitched) {
        return cli_usage_error("export", "--frames goes with --stitched");
    }
    if (args->frames && strcmp(args->frames, "separate") != 0 && strcmp(args->frames, "common") != 0) {
        return cli_usage_error("export", "--frames is separate or common, not '%s'", args->frames);
    }
    return -1;
}

static int report(const arguments *args, const char *bundle, bool as_json)
{
    const char *file = args->stitched ? args->stitched : args->output;
    if (!as_json) {
        printf("wrote %s: %s%s of %s\n", file, args->task ? "task " : "all tasks",
               args->task ? args->task : "", bundle);
        return CLI_EXIT_OK;
    }
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("export", "no memory");
    }
    cli_json_object(&json, NULL);
    if (args->task) {
        cli_json_string(&json, "task", args->task);
    } else {
        cli_json_raw(&json, "task", "null");
    }
    cli_json_string(&json, "output", file);
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("export", "no memory");
}

int cli_command_export(int argc, char **argv)
{
    arguments args = {0};
    const cli_option options[] = {
        {"task", 't', CLI_KIND_TEXT, &args.task, "NAME", "the task to write", 0, 0},
        {"output", 'o', CLI_KIND_TEXT, &args.output, "FILE", "the ONNX file", 0, 0},
        {"stitched", 's', CLI_KIND_TEXT, &args.stitched, "FILE",
         "write all tasks as one ONNX file that stores shared weights once; names begin with TASK/", 0, 0},
        {"frames", 'f', CLI_KIND_TEXT, &args.frames, "HOW",
         "with --stitched; separate: inputs per task (default); common: equal inputs are one", 0, 0},
    };
    const cli_usage usage = {
        .name = "export",
        .positionals = "BUNDLE",
        .summary = "Writes a task of a bundle, or all of them, as plain ONNX (opset 13), so that any other\n"
                   "runtime can run exactly the same weights.",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    char error[CLI_ERROR] = "";
    mtsc_options compiler;
    int status = cli_parse(&usage, argc, argv, &common);
    status = status < 0 ? arguments_check(&args) : status;
    if (status >= 0) {
        return status;
    }
    mtsc_options_default(&compiler);
    compiler.error_text = error;
    compiler.error_size = sizeof error;
    const bool separate = !args.frames || strcmp(args.frames, "separate") == 0;
    const mts_status done =
        args.stitched ? mtsc_export_stitched(common.positionals[0], args.stitched, separate, &compiler)
                      : mtsc_export(common.positionals[0], args.task, args.output, &compiler);
    return done == MTS_STATUS_OK ? report(&args, common.positionals[0], common.json)
                                 : cli_failure("export", "%s", error);
}
