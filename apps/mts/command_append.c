/*
 * command_append.c: mts append: the tasks of two bundles as one bundle or as a patch.
 */
#include <inttypes.h>
#include <stdio.h>

#include "kit/args.h"
#include "command.h"
#include "kit/files.h"
#include "kit/json.h"
#include "mts/mtsc.h"

static int report_json(const mtsc_append_report *report, const char *output, bool patch)
{
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("append", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_string(&json, "output", output);
    cli_json_raw(&json, "patch", patch ? "true" : "false");
    cli_json_integer(&json, "tasks", report->tasks);
    cli_json_integer(&json, "tasks_added", report->tasks_added);
    cli_json_integer(&json, "blocks_added", report->blocks_added);
    cli_json_integer(&json, "weights_added", report->weights_added);
    cli_json_integer(&json, "base_bytes", report->base_bytes);
    cli_json_integer(&json, "result_bytes", report->result_bytes);
    cli_json_integer(&json, "written_bytes", report->written_bytes);
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("append", "no memory");
}

static void report_text(const mtsc_append_report *report, const char *output, const char *bundle, bool patch)
{
    printf("wrote %s: %s%" PRIu64 " bytes, %.2f %% of %s\n", output, patch ? "a patch of " : "",
           report->written_bytes, 100.0 * (double)report->written_bytes / (double)report->base_bytes, bundle);
    printf("%s %u tasks, %u of them new; %u new blocks of weights, %" PRIu64 " bytes\n",
           patch ? "applied, it gives" : "it has", report->tasks, report->tasks_added, report->blocks_added,
           report->weights_added);
}

int cli_command_append(int argc, char **argv)
{
    const char *output = NULL;
    bool patch = false;
    const cli_option options[] = {
        {"output", 'o', CLI_KIND_TEXT, &output, "FILE", "the bundle or the patch to write", 0, 0},
        {"patch", 'p', CLI_KIND_FLAG, &patch, "",
         "write a patch: only what BUNDLE has not, and the hash of BUNDLE", 0, 0},
    };
    const cli_usage usage = {
        .name = "append",
        .positionals = "BUNDLE EXTRA",
        .summary =
            "Writes a bundle with the tasks of BUNDLE and of EXTRA; equal blocks of weights are stored\n"
            "once. EXTRA is a bundle, or a patch that was made for BUNDLE.",
        .positional_count = 2,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    char error[CLI_ERROR] = "";
    mtsc_options compiler;
    mtsc_append_report report = {.size = sizeof report};
    int status = cli_parse(&usage, argc, argv, &common);
    if (status < 0 && !output) {
        status = cli_usage_error("append", "give -o FILE");
    }
    if (status >= 0) {
        return status;
    }
    mtsc_options_default(&compiler);
    compiler.error_text = error;
    compiler.error_size = sizeof error;
    if (mtsc_append(common.positionals[0], common.positionals[1], output, patch ? 1 : 0, &compiler,
                    &report) != MTS_STATUS_OK) {
        return cli_failure("append", "%s", error);
    }
    if (common.json) {
        return report_json(&report, output, patch);
    }
    report_text(&report, output, common.positionals[0], patch);
    return CLI_EXIT_OK;
}
