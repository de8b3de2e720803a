/*
 * command_run.c: mts run: a picture or raw tensors in, every task's answers out, with
 * times if asked for.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "kit/finite.h"
#include "run.h"

#define COMPARE_RUNS 50u

typedef struct arguments {
    cli_open_options open;
    cli_picture_options picture;
    cli_decode_options decode;
    const char *annotate, *save;
    cli_list raw;
    uint32_t top, repeat;
    bool compare, explain;
} arguments;

static int arguments_check(const arguments *args, mts_strategy *strategy, mts_frame *frame)
{
    const int named = cli_open_check("run", &args->open, strategy);
    if (named >= 0) {
        return named;
    }
    if (args->compare && args->open.strategy) {
        return cli_usage_error("run", "--compare runs both strategies: leave --strategy out");
    }
    if (!args->picture.path && args->raw.count == 0) {
        return cli_usage_error("run", "give a picture, --image FILE, or inputs, --raw TASK:INPUT=FILE.npy");
    }
    if (!args->picture.path && args->annotate) {
        return cli_usage_error("run", "--annotate needs --image");
    }
    if (!args->picture.path && args->decode.kinds.count > 0) {
        return cli_usage_error("run", "--decode needs --image");
    }
    if (args->explain && args->open.json) {
        return cli_usage_error("run", "--explain is text: leave --json out");
    }
    return cli_picture_check(&args->picture, frame);
}

/* Every input must come from somewhere: zeros would look like answers. */
static int inputs_check(const cli_open *app, const arguments *args, const cli_raw_inputs *raws)
{
    for (uint32_t i = 0; i < cli_task_count(app); i++) {
        const mts_task_desc task = cli_task(app, i);
        for (uint32_t k = 0; k < task.input_count; k++) {
            const bool picture = k == 0 && task.takes_frames && args->picture.path;
            mts_port_desc port = {.size = sizeof port};
            if (picture || cli_raw_inputs_give(raws, task.name, k)) {
                continue;
            }
            (void)mts_bundle_input(app->bundle, task.name, k, &port);
            return cli_failure("run",
                               "task '%s': input '%s' has no value%s; give --raw %s:%u=FILE.npy, or choose "
                               "other tasks with --tasks",
                               task.name, port.name,
                               k == 0 && args->picture.path
                                   ? " and takes no picture (it has no color, or is not one image)"
                                   : "",
                               task.name, k);
        }
    }
    return -1;
}

/* All outputs one after another; NULL if memory is short. */
static double *outputs_copy(cli_open *app, size_t *count)
{
    double *values = NULL;
    *count = 0;
    for (uint32_t i = 0; i < cli_task_count(app); i++) {
        const mts_task_desc task = cli_task(app, i);
        for (uint32_t o = 0; o < task.output_count; o++) {
            mts_tensor output;
            if (mts_session_output(app->session, task.name, o, &output) != MTS_STATUS_OK) {
                free(values);
                return NULL;
            }
            const size_t added = mts_kit_count(&output);
            double *grown = realloc(values, (*count + added + 1) * sizeof *values);
            if (!grown) {
                free(values);
                return NULL;
            }
            values = grown;
            for (size_t v = 0; v < added; v++) {
                values[(*count)++] = mts_kit_value(&output, v);
            }
        }
    }
    return values;
}

static double largest_difference(const double *a, const double *b, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        const double scale = fabs(b[i]) > 1.0 ? fabs(b[i]) : 1.0;
        const double difference = fabs(a[i] - b[i]) / scale;
        largest = difference > largest || isnan(difference) ? difference : largest;
    }
    return largest;
}

/*
 * Gives every task its inputs. Where a --raw was given, tasks have inputs of their own: a
 * file for one of them would otherwise replace what all of them see. The picture then
 * goes to each of the others.
 */
static int inputs_set(cli_open *app, const cli_raw_inputs *raws, const mts_frame *picture)
{
    int status = cli_raw_inputs_set(app, raws);
    for (uint32_t i = 0; picture && i < cli_task_count(app) && status < 0; i++) {
        const mts_task_desc task = cli_task(app, i);
        if (!cli_raw_inputs_give(raws, task.name, 0) &&
            mts_session_input_frame(app->session, task.name, picture) != MTS_STATUS_OK) {
            status = cli_failure("run", "%s", app->error);
        }
    }
    return status;
}

/* Makes a session with the strategy, runs it once, measures it if asked to. */
static int strategy_run(cli_open *app, const arguments *args, cli_result *result, cli_run *run,
                        uint32_t repeat)
{
    mts_ticket ticket = 0;
    const mts_frame *picture = result->picture.frame.data ? &result->picture.frame : NULL;
    const bool separate = result->raws.count > 0;
    const mts_frame *frame = separate ? NULL : picture;
    cli_open_options open = args->open;
    open.separate_inputs = separate;
    int status = cli_open_session(app, "run", &open, run->strategy);
    status = status < 0 && separate ? inputs_set(app, &result->raws, picture) : status;
    if (status >= 0) {
        return status;
    }
    if (mts_session_submit(app->session, frame, &ticket) != MTS_STATUS_OK ||
        mts_session_wait(app->session, ticket, MTS_TIMEOUT_INFINITE) != MTS_STATUS_OK) {
        return cli_failure("run", "%s", app->error);
    }
    if (repeat > 0) {
        run->measured = true;
        if (cli_measure(app->session, frame, repeat, &run->latency) != MTS_STATUS_OK) {
            return cli_failure("run", "%s", app->error);
        }
    }
    run->stats.size = sizeof run->stats;
    if (mts_session_stats_get(app->session, &run->stats) != MTS_STATUS_OK) {
        return cli_failure("run", "%s", app->error);
    }
    cli_warn_not_finite(app, "run", run->stats.precision);
    return -1;
}

static int strategies_run(cli_open *app, const arguments *args, mts_strategy strategy, cli_result *result)
{
    double *before = NULL;
    size_t before_count = 0;
    int status = -1;
    result->run_count = args->compare ? 2 : 1;
    result->runs[0].strategy = args->compare ? MTS_STRATEGY_SEQUENTIAL : strategy;
    result->runs[1].strategy = MTS_STRATEGY_COMPACT;
    result->difference = -1.0;
    const uint32_t repeat = args->repeat ? args->repeat : args->compare ? COMPARE_RUNS : 0;
    for (uint32_t r = 0; r < result->run_count && status < 0; r++) {
        status = strategy_run(app, args, result, &result->runs[r], repeat);
        if (status >= 0 || !args->compare) {
            break;
        }
        size_t count = 0;
        double *values = outputs_copy(app, &count);
        if (!values) {
            status = cli_failure("run", "no memory to compare the outputs");
        } else if (before && count == before_count) {
            result->difference = largest_difference(before, values, count);
        }
        free(before);
        before = values;
        before_count = count;
    }
    free(before);
    return status;
}

static int explain(cli_open *app)
{
    size_t needed = 0;
    (void)mts_session_explain(app->session, MTS_REPORT_TEXT, NULL, 0, &needed);
    char *text = malloc(needed + 1);
    if (!text) {
        return cli_failure("run", "no memory");
    }
    const mts_status status = mts_session_explain(app->session, MTS_REPORT_TEXT, text, needed + 1, NULL);
    if (status == MTS_STATUS_OK) {
        printf("\n%s", text);
    }
    free(text);
    return status == MTS_STATUS_OK ? CLI_EXIT_OK : cli_failure("run", "%s", app->error);
}

/* DIR/<task>.<output>.npy for every output. */
static int outputs_save(cli_open *app, const char *folder)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return cli_failure("run", "cannot make the directory '%s': %s", folder, strerror(errno));
    }
    for (uint32_t i = 0; i < cli_task_count(app); i++) {
        const mts_task_desc task = cli_task(app, i);
        for (uint32_t o = 0; o < task.output_count; o++) {
            char path[PATH_MAX];
            mts_tensor output;
            if (snprintf(path, sizeof path, "%s/%s.%u.npy", folder, task.name, o) >= (int)sizeof path) {
                return cli_failure("run", "--save %s: the name is too long", folder);
            }
            if (mts_session_output(app->session, task.name, o, &output) != MTS_STATUS_OK ||
                !cli_npy_write(path, &output, app->error)) {
                return cli_failure("run", "%s", app->error);
            }
        }
    }
    return -1;
}

static int run(cli_open *app, const arguments *args, mts_strategy strategy, const char *bundle,
               cli_result *result)
{
    int status = cli_open_bundle(app, "run", &args->open, bundle);
    status = status < 0 ? cli_raw_inputs_find(app, &args->raw, &result->raws) : status;
    status = status < 0 ? inputs_check(app, args, &result->raws) : status;
    status = status < 0 ? cli_decode_plan(app, &args->decode, &result->decoded) : status;
    if (status >= 0) {
        return status;
    }
    result->bundle = bundle;
    result->image_path = args->picture.path;
    result->top = args->top;
    result->tuned = args->open.tuning_ms > 0;
    status = args->picture.path ? cli_picture_read(&args->picture, &result->picture) : -1;
    result->device.size = sizeof result->device;
    (void)mts_runtime_device(app->runtime, &result->device);
    status = status < 0 ? strategies_run(app, args, strategy, result) : status;
    status =
        status < 0 ? cli_decode_run(app, &args->decode, &result->picture.frame, result->decoded) : status;
    status = status < 0 && args->save ? outputs_save(app, args->save) : status;
    if (status >= 0) {
        return status;
    }
    const uint32_t width =
        result->picture.image.width; /* drawing may enlarge the picture; the report is about the file */
    const uint32_t height = result->picture.image.height;
    if (args->annotate) {
        status = cli_run_annotate(app, result, args->annotate);
        result->picture.image.width = width;
        result->picture.image.height = height;
    }
    if (status >= 0) {
        return status;
    }
    status = args->open.json ? cli_run_print_json(app, result) : cli_run_print_text(app, result);
    return status == CLI_EXIT_OK && args->explain ? explain(app) : status;
}

int cli_command_run(int argc, char **argv)
{
    arguments args = {.top = 3, .decode.least_score = -1};
    const cli_option options[] = {
        CLI_PICTURE_OPTIONS(args.picture),
        {"raw", 0, CLI_KIND_LIST, &args.raw, "TASK[:INPUT]=FILE.npy",
         "an input that is no picture; may be repeated", 0, 0},
        {"top", 0, CLI_KIND_COUNT, &args.top, "N", "labels shown per task (default 3)", 1, CLI_TOP_MOST},
        CLI_DECODE_OPTIONS(args.decode),
        {"annotate", 0, CLI_KIND_TEXT, &args.annotate, "FILE.png", "draw the answers onto the picture", 0, 0},
        {"save", 0, CLI_KIND_TEXT, &args.save, "DIR", "write every output as DIR/TASK.N.npy", 0, 0},
        {"repeat", 0, CLI_KIND_COUNT, &args.repeat, "N", "measure the latency over N runs, after 10 warm-ups",
         1, 1e6},
        {"compare", 0, CLI_KIND_FLAG, &args.compare, "",
         "run sequential beside compact: latency, memory, outputs", 0, 0},
        {"explain", 0, CLI_KIND_FLAG, &args.explain, "", "print how the session runs", 0, 0},
        CLI_OPEN_OPTIONS(args.open),
    };
    const cli_usage usage = {
        .name = "run",
        .positionals = "BUNDLE",
        .summary = "Runs a bundle's tasks on one picture and prints each task's answers.",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    cli_open app = {0};
    cli_result result = {0};
    mts_strategy strategy = MTS_STRATEGY_COMPACT;
    int status = cli_parse(&usage, argc, argv, &common);
    args.open.json = common.json;
    status = status < 0 ? arguments_check(&args, &strategy, &result.picture.frame) : status;
    status = status < 0 ? run(&app, &args, strategy, common.positionals[0], &result) : status;
    if (app.bundle) {
        cli_decoded_release(&result.decoded, cli_task_count(&app));
    }
    cli_close(&app);
    cli_list_release(&args.decode.kinds);
    cli_picture_release(&result.picture);
    cli_raw_inputs_release(&result.raws);
    cli_list_release(&args.raw);
    return status;
}
