/*
 * command_export.c: mts export.
 */
#include <stdio.h>

#include "kit/args.h"
#include "command.h"
#include "kit/files.h"
#include "kit/json.h"
#include "mts/mtsc.h"

int cli_command_export(int argc, char **argv)
{
    const char *task = NULL;
    const char *output = NULL;
    const cli_option options[] = {
        {"task", 't', CLI_KIND_TEXT, &task, "NAME", "the task to write", 0, 0},
        {"output", 'o', CLI_KIND_TEXT, &output, "FILE", "the ONNX file", 0, 0},
    };
    const cli_usage usage = {
        .name = "export",
        .positionals = "BUNDLE",
        .summary = "Writes a task of a bundle as plain ONNX (opset 13), so that any other runtime can run "
                   "exactly the\n"
                   "same weights.",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    char error[CLI_ERROR] = "";
    mtsc_options compiler;
    const int status = cli_parse(&usage, argc, argv, &common);
    if (status >= 0) {
        return status;
    }
    if (!task || !output) {
        return cli_usage_error("export", "give %s", task ? "-o FILE" : "--task NAME");
    }
    mtsc_options_default(&compiler);
    compiler.error_text = error;
    compiler.error_size = sizeof error;
    if (mtsc_export(common.positionals[0], task, output, &compiler) != MTS_STATUS_OK) {
        return cli_failure("export", "%s", error);
    }
    if (!common.json) {
        printf("wrote %s: task %s of %s\n", output, task, common.positionals[0]);
        return CLI_EXIT_OK;
    }
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("export", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_string(&json, "task", task);
    cli_json_string(&json, "output", output);
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("export", "no memory");
}
