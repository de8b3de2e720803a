/*
 * command_eval.c: mts eval: accuracy per task on a file of CIFAR-10 binary records (one label byte, then the
 * planes R, G, B of 32x32 pixels).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "command.h"
#include "json.h"
#include "open.h"

#define SIDE 32u
#define PLANE (SIDE * SIDE)
#define RECORD (1u + 3u * PLANE)
#define DATA_MOST ((size_t)1 << 30)

typedef struct score {
    mts_task_desc task;
    uint32_t right;
} score;

static int scores_begin(cli_open *app, score *scores, uint32_t *count)
{
    *count = 0;
    for (uint32_t i = 0; i < cli_task_count(app); i++) {
        const mts_task_desc task = cli_task(app, i);
        if (task.class_count == 0 || !task.takes_frames) {
            if (app->tasks.count > 0) {
                return cli_failure("eval",
                                   "task '%s' has no %s in the bundle: compile it from a task list with one",
                                   task.name, task.takes_frames ? "class_map" : "color");
            }
            continue;
        }
        scores[(*count)++].task = task;
    }
    return *count
               ? -1
               : cli_failure("eval",
                             "no task of the bundle has a class_map: compile it from a task list with one");
}

/* One record: frame in, right answers counted. Returns -1 to go on. */
static int record_run(cli_open *app, const unsigned char *record, size_t number, score *scores,
                      uint32_t count)
{
    unsigned char pixels[3 * PLANE];
    mts_ticket ticket = 0;
    for (size_t i = 0; i < PLANE; i++) {
        pixels[3 * i] = record[1 + i];
        pixels[3 * i + 1] = record[1 + PLANE + i];
        pixels[3 * i + 2] = record[1 + 2 * (size_t)PLANE + i];
    }
    const mts_frame frame = {
        .size = sizeof frame, .data = pixels, .width = SIDE, .height = SIDE, .format = MTS_PIXEL_FORMAT_RGB};
    if (mts_session_submit(app->session, &frame, &ticket) != MTS_STATUS_OK ||
        mts_session_wait(app->session, ticket, MTS_TIMEOUT_INFINITE) != MTS_STATUS_OK) {
        return cli_failure("eval", "%s", app->error);
    }
    for (uint32_t t = 0; t < count; t++) {
        mts_tensor output;
        if (record[0] >= scores[t].task.class_count) {
            return cli_failure("eval", "record %zu: class %u, but the class_map of task '%s' has %u entries",
                               number, record[0], scores[t].task.name, scores[t].task.class_count);
        }
        if (mts_session_output(app->session, scores[t].task.name, 0, &output) != MTS_STATUS_OK) {
            return cli_failure("eval", "%s", app->error);
        }
        scores[t].right += cli_value_largest(&output) == scores[t].task.class_map[record[0]] ? 1 : 0;
    }
    return -1;
}

static int scores_print(const score *scores, uint32_t count, size_t images, bool as_json)
{
    cli_json json;
    if (!as_json) {
        printf("%-20s %9s   (%zu images)\n", "task", "accuracy", images);
        for (uint32_t t = 0; t < count; t++) {
            printf("%-20s %7.2f %%\n", scores[t].task.name, 100.0 * scores[t].right / (double)images);
        }
        return CLI_EXIT_OK;
    }
    if (!cli_json_begin(&json)) {
        return cli_failure("eval", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_array(&json, "tasks");
    for (uint32_t t = 0; t < count; t++) {
        cli_json_object(&json, NULL);
        cli_json_string(&json, "name", scores[t].task.name);
        cli_json_number(&json, "accuracy", 100.0 * scores[t].right / (double)images);
        cli_json_integer(&json, "images", images);
        cli_json_end(&json, '}');
    }
    cli_json_end(&json, ']');
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("eval", "no memory");
}

static int data_run(cli_open *app, const char *path, uint32_t limit, bool json, score *scores)
{
    size_t size = 0;
    uint32_t count = 0;
    cli_progress progress;
    int status = scores_begin(app, scores, &count);
    if (status >= 0) {
        return status;
    }
    unsigned char *data = cli_file_read(path, DATA_MOST, &size, app->error);
    if (!data) {
        return cli_failure("eval", "%s", app->error);
    }
    size_t images = size / RECORD;
    if (images == 0 || size % RECORD != 0) {
        free(data);
        return cli_failure("eval", "'%s' has %zu bytes: not a whole number of CIFAR-10 records of %u bytes",
                           path, size, RECORD);
    }
    images = limit && limit < images ? limit : images;
    cli_progress_begin(&progress, json);
    for (size_t i = 0; i < images && status < 0; i++) {
        status = record_run(app, data + i * RECORD, i, scores, count);
        (void)cli_progress_step(&progress, (float)i / (float)images, "images");
    }
    cli_progress_end(&progress);
    free(data);
    return status < 0 ? scores_print(scores, count, images, json) : status;
}

int cli_command_eval(int argc, char **argv)
{
    cli_open app = {0};
    cli_open_options open = {0};
    const char *data = NULL;
    uint32_t limit = 0;
    const cli_option options[] = {
        {"data", 'd', CLI_KIND_TEXT, &data, "FILE", "CIFAR-10 binary records", 0, 0},
        {"limit", 0, CLI_KIND_COUNT, &limit, "N", "only the first N images", 1, 1e9},
        CLI_OPEN_OPTIONS(open),
    };
    const cli_usage usage = {
        .name = "eval",
        .positionals = "BUNDLE",
        .summary = "Measures the accuracy of each task that has a class_map, all tasks stitched.",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    mts_strategy strategy;
    int status = cli_parse(&usage, argc, argv, &common);
    if (status >= 0) {
        return status;
    }
    if (!data) {
        return cli_usage_error("eval", "give the labelled pictures: --data FILE");
    }
    if (!cli_strategy_find(open.strategy, &strategy)) {
        char list[128];
        return cli_usage_error("eval", "no strategy '%s'; there are: %s", open.strategy,
                               cli_strategy_list(list, sizeof list));
    }
    open.json = common.json;
    status = cli_open_bundle(&app, "eval", &open, common.positionals[0]);
    status = status < 0 ? cli_open_session(&app, "eval", &open, strategy) : status;
    if (status < 0) {
        score *scores = calloc(cli_task_count(&app), sizeof *scores);
        status = scores ? data_run(&app, data, limit, common.json, scores) : cli_failure("eval", "no memory");
        free(scores);
    }
    cli_close(&app);
    return status;
}
