/*
 * command_inspect.c: mts inspect.
 */
#include <stdio.h>
#include <stdlib.h>

#include "args.h"
#include "command.h"
#include "files.h"
#include "mts/mts.h"

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

int cli_command_inspect(int argc, char **argv)
{
    bool dot = false;
    const cli_option options[] = {
        {"dot", 0, CLI_KIND_FLAG, &dot, "", "print a Graphviz graph: 'mts inspect x.mtsb --dot | dot -Tsvg'",
         0, 0},
    };
    const cli_usage usage = {
        .name = "inspect",
        .positionals = "BUNDLE",
        .summary =
            "Prints what a bundle holds: tasks, families, weight bytes with and without sharing, and what\n"
            "each layer shares.",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    char error[CLI_ERROR] = "";
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    int result = cli_parse(&usage, argc, argv, &common);
    if (result >= 0) {
        return result;
    }
    if (dot && common.json) {
        return cli_usage_error("inspect", "give --json or --dot, not both");
    }
    mts_runtime_options runtime_options;
    mts_runtime_options_default(&runtime_options);
    runtime_options.device = "reference"; /* nothing runs: no driver is needed */
    runtime_options.error_text = error;
    runtime_options.error_size = sizeof error;
    mts_status status = mts_runtime_create(&runtime_options, &runtime);
    if (status == MTS_STATUS_NOT_FOUND) {
        runtime_options.device = NULL;
        status = mts_runtime_create(&runtime_options, &runtime);
    }
    if (status == MTS_STATUS_OK) {
        status = mts_bundle_open(runtime, common.positionals[0], &bundle);
    }
    if (status == MTS_STATUS_OK) {
        result = print_report(bundle,
                              dot           ? MTS_REPORT_DOT
                              : common.json ? MTS_REPORT_JSON
                                            : MTS_REPORT_TEXT,
                              error);
    } else {
        result = cli_failure("inspect", "%s", error);
    }
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    return result;
}
