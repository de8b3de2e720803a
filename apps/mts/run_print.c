/*
 * run_print.c: the answers of mts run as a table and as JSON. Drawn they are by
 * annotate.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "combine.h"
#include "command.h"
#include "run.h"

#define VALUES_SHOWN 4u
#define VALUES_JSON_MOST 4096u

/* "1x1000" */
static const char *shape_text(const mts_tensor *tensor, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < tensor->rank && length < size; i++) {
        const int added =
            snprintf(text + length, size - length, "%s%lld", i ? "x" : "", (long long)tensor->dims[i]);
        length += added > 0 ? (size_t)added : 0;
    }
    return tensor->rank ? text : "scalar";
}

static const char *values_text(const mts_tensor *output, char *text, size_t size)
{
    const size_t count = mts_kit_count(output);
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && i < VALUES_SHOWN && length < size; i++) {
        const int added =
            snprintf(text + length, size - length, "%s%.4g", i ? " " : "", mts_kit_value(output, i));
        length += added > 0 ? (size_t)added : 0;
    }
    if (count > VALUES_SHOWN && length < size) {
        char shape[64];
        (void)snprintf(text + length, size - length, " ... (%s)", shape_text(output, shape, sizeof shape));
    }
    return text;
}

const char *cli_answer_text(const mts_task_desc *task, const mts_tensor *output, char *text, size_t size,
                            double *score)
{
    cli_answer answer;
    cli_answer_find(task, output, 1, &answer);
    *score = -1.0;
    if (!answer.classifies || answer.top_count == 0) {
        return values_text(output, text, size);
    }
    *score = answer.top[0].score;
    (void)snprintf(text, size, "%s", task->labels[answer.top[0].index]);
    return text;
}

/* A task's outputs as lines of the table. */
static int task_print(cli_open *app, const mts_task_desc *task, uint32_t top)
{
    char text[160];
    for (uint32_t o = 0; o < task->output_count; o++) {
        mts_tensor output;
        cli_answer answer;
        if (mts_session_output(app->session, task->name, o, &output) != MTS_STATUS_OK) {
            return cli_failure("run", "%s", app->error);
        }
        cli_answer_find(task, &output, top, &answer);
        const char *name = o == 0 ? task->name : "";
        if (o > 0 || !answer.classifies) {
            printf("%-20s %s\n", name, values_text(&output, text, sizeof text));
            continue;
        }
        printf("%-20s", name);
        for (size_t i = 0; i < answer.top_count; i++) {
            printf("%s %s %.1f %%", i ? "," : "", task->labels[answer.top[i].index],
                   100.0 * answer.top[i].score);
        }
        printf("\n");
    }
    return -1;
}

/* The tasks of the session, and which of them answer together. */
typedef struct together {
    uint32_t count;
    mts_task_desc *tasks;
    mts_tensor *outputs; /* [count], of the set in hand */
    cli_sets sets;
} together;

static bool together_find(const cli_open *app, together *out)
{
    *out = (together){.count = cli_task_count(app)};
    out->tasks = calloc((size_t)out->count + 1, sizeof *out->tasks);
    out->outputs = calloc((size_t)out->count + 1, sizeof *out->outputs);
    for (uint32_t i = 0; out->tasks && i < out->count; i++) {
        out->tasks[i] = cli_task(app, i);
    }
    return out->tasks && out->outputs && cli_sets_find(out->tasks, out->count, &out->sets);
}

static void together_release(together *all)
{
    free(all->tasks);
    free(all->outputs);
    cli_sets_release(&all->sets);
}

/* Up to `top` common answers of a set; false: an output cannot be had. */
static bool together_votes(const cli_open *app, together *all, const cli_set *set, uint32_t top,
                           cli_vote *votes, size_t *count)
{
    for (uint32_t m = 0; m < set->count; m++) {
        const char *name = all->tasks[set->members[m]].name;
        if (mts_session_output(app->session, name, 0, &all->outputs[m]) != MTS_STATUS_OK) {
            return false;
        }
    }
    *count = cli_set_votes(set, all->tasks, all->outputs, top, votes);
    return true;
}

static int sets_print(const cli_open *app, together *all, uint32_t top)
{
    cli_vote votes[CLI_TOP_MOST];
    for (uint32_t s = 0; s < all->sets.count; s++) {
        const cli_set *set = &all->sets.items[s];
        size_t count = 0;
        if (!together_votes(app, all, set, top, votes, &count)) {
            return cli_failure("run", "%s", app->error);
        }
        printf("%-20s", set->name);
        for (size_t i = 0; i < count; i++) {
            printf("%s %s %.1f %%", i ? "," : "",
                   all->tasks[set->members[votes[i].member]].labels[votes[i].label], 100.0 * votes[i].score);
        }
        printf("   (of %u subnets)\n", set->count);
    }
    return -1;
}

static int together_print(const cli_open *app, uint32_t top)
{
    together all;
    const int status =
        together_find(app, &all) ? sets_print(app, &all, top) : cli_failure("run", "no memory");
    together_release(&all);
    return status;
}

/* Only where something was measured, or read from a cache instead. */
static void planning_print(const cli_result *result)
{
    for (uint32_t r = 0; r < result->run_count; r++) {
        const mts_session_stats *stats = &result->runs[r].stats;
        if (result->tuned || stats->predicted_ms > 0.0) {
            printf("%s was planned in %.1f ms\n", cli_strategy_name(result->runs[r].strategy),
                   stats->planning_ms);
        }
    }
}

/* The ratio of two medians, or that they differ by less than each run's own spread. */
static const char *speed_text(const cli_latency *before, const cli_latency *after, char *text, size_t size)
{
    const bool noise = (after->median >= before->p5 && after->median <= before->p95) ||
                       (before->median >= after->p5 && before->median <= after->p95);
    if (noise) {
        return "as fast within the noise";
    }
    (void)snprintf(text, size, "%.2f times as fast", before->median / after->median);
    return text;
}

static void runs_print(const cli_result *result)
{
    char weights[32];
    char activations[32];
    char peak[32];
    printf("\n%-12s %10s %8s %8s %11s %12s %11s %9s %10s\n", "strategy", "median", "p5", "p95", "weights",
           "activations", "peak", "launches", "mul-adds");
    for (uint32_t r = 0; r < result->run_count; r++) {
        const cli_run *run = &result->runs[r];
        printf("%-12s %7.2f ms %8.2f %8.2f %11s %12s %11s %9u %8.1f M\n", cli_strategy_name(run->strategy),
               run->latency.median, run->latency.p5, run->latency.p95,
               cli_bytes_text(run->stats.weight_bytes, weights, sizeof weights),
               cli_bytes_text(run->stats.activation_bytes, activations, sizeof activations),
               cli_bytes_text(run->stats.peak_bytes, peak, sizeof peak), run->stats.launches,
               (double)run->stats.mul_adds / 1e6);
    }
    if (result->run_count == 2 && result->runs[1].latency.median > 0.0 &&
        result->runs[0].stats.peak_bytes > 0) {
        char speed[64];
        printf("%s is %s, with %.2f times the weights and %.2f times the memory; outputs differ by at most "
               "%.1e\n",
               cli_strategy_name(result->runs[1].strategy),
               speed_text(&result->runs[0].latency, &result->runs[1].latency, speed, sizeof speed),
               (double)result->runs[1].stats.weight_bytes / (double)result->runs[0].stats.weight_bytes,
               (double)result->runs[1].stats.peak_bytes / (double)result->runs[0].stats.peak_bytes,
               result->difference);
    }
}

int cli_run_print_text(cli_open *app, const cli_result *result)
{
    const mts_precision precision = result->runs[result->run_count - 1].stats.precision;
    printf("%s on %s%s%s\n", result->device.id, result->device.name,
           precision != MTS_PRECISION_FLOAT32 ? ", in " : "",
           precision != MTS_PRECISION_FLOAT32 ? cli_precision_name(precision) : "");
    planning_print(result);
    printf("%-20s %s\n", "task", "answer");
    for (uint32_t i = 0; i < cli_task_count(app); i++) {
        const mts_task_desc task = cli_task(app, i);
        if (result->decoded[i].kind > CLI_DECODE_CLASSES) {
            cli_decoded_print(&task, &result->decoded[i]);
            continue;
        }
        const int status = task_print(app, &task, result->top);
        if (status >= 0) {
            return status;
        }
    }
    const int status = together_print(app, result->top);
    if (status >= 0) {
        return status;
    }
    if (result->runs[result->run_count - 1].measured) {
        runs_print(result);
    }
    return CLI_EXIT_OK;
}

static void output_json(cli_json *json, const char *name, const mts_tensor *output)
{
    const size_t count = mts_kit_count(output);
    cli_json_object(json, NULL);
    cli_json_string(json, "name", name);
    cli_json_string(json, "type", cli_type_name(output->type));
    cli_json_array(json, "shape");
    for (uint32_t d = 0; d < output->rank; d++) {
        cli_json_integer(json, NULL, (uint64_t)output->dims[d]);
    }
    cli_json_end(json, ']');
    /* large outputs are for --save, not for text */
    cli_json_array(json, "values");
    for (size_t i = 0; i < count && count <= VALUES_JSON_MOST; i++) {
        cli_json_number(json, NULL, mts_kit_value(output, i));
    }
    cli_json_end(json, ']');
    cli_json_end(json, '}');
}

static int task_json(cli_open *app, cli_json *json, const mts_task_desc *task, const cli_decoded *decoded,
                     uint32_t top)
{
    cli_answer answer = {0};
    cli_json_object(json, NULL);
    cli_json_string(json, "name", task->name);
    cli_json_array(json, "outputs");
    for (uint32_t o = 0; o < task->output_count; o++) {
        mts_tensor output;
        mts_port_desc port = {.size = sizeof port};
        if (mts_session_output(app->session, task->name, o, &output) != MTS_STATUS_OK ||
            mts_bundle_output(app->bundle, task->name, o, &port) != MTS_STATUS_OK) {
            return cli_failure("run", "%s", app->error);
        }
        output_json(json, port.name, &output);
        if (o == 0) {
            cli_answer_find(task, &output, top, &answer);
        }
    }
    cli_json_end(json, ']');
    cli_json_array(json, "top");
    for (size_t i = 0; i < answer.top_count && answer.classifies; i++) {
        cli_json_object(json, NULL);
        cli_json_integer(json, "index", answer.top[i].index);
        cli_json_string(json, "label", task->labels[answer.top[i].index]);
        cli_json_number(json, "score", answer.top[i].score);
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
    if (decoded->kind > CLI_DECODE_CLASSES) {
        cli_decoded_json(task, decoded, json);
    }
    cli_json_end(json, '}');
    return -1;
}

static int sets_json(const cli_open *app, cli_json *json, together *all, uint32_t top)
{
    cli_vote votes[CLI_TOP_MOST];
    for (uint32_t s = 0; s < all->sets.count; s++) {
        const cli_set *set = &all->sets.items[s];
        size_t count = 0;
        if (!together_votes(app, all, set, top, votes, &count)) {
            return cli_failure("run", "%s", app->error);
        }
        cli_json_object(json, NULL);
        cli_json_string(json, "name", set->name);
        cli_json_integer(json, "subnets", set->count);
        cli_json_array(json, "top");
        for (size_t i = 0; i < count; i++) {
            const mts_task_desc *task = &all->tasks[set->members[votes[i].member]];
            cli_json_object(json, NULL);
            cli_json_string(json, "task", task->name);
            cli_json_integer(json, "index", votes[i].label);
            cli_json_string(json, "label", task->labels[votes[i].label]);
            cli_json_number(json, "score", votes[i].score);
            cli_json_end(json, '}');
        }
        cli_json_end(json, ']');
        cli_json_end(json, '}');
    }
    return -1;
}

/* Only where there are such tasks. */
static int together_json(const cli_open *app, cli_json *json, uint32_t top)
{
    together all;
    int status = together_find(app, &all) ? -1 : cli_failure("run", "no memory");
    if (status < 0 && all.sets.count > 0) {
        cli_json_array(json, "combined");
        status = sets_json(app, json, &all, top);
        cli_json_end(json, ']');
    }
    together_release(&all);
    return status;
}

static int result_json(cli_open *app, cli_json *json, const cli_result *result)
{
    cli_json_object(json, NULL);
    cli_json_string(json, "bundle", result->bundle);
    cli_json_object(json, "device");
    cli_json_string(json, "id", result->device.id);
    cli_json_string(json, "name", result->device.name);
    cli_json_string(json, "driver", result->device.driver);
    cli_json_end(json, '}');
    if (result->image_path) {
        uint32_t crop[4];
        cli_picture_part(&result->picture, crop);
        cli_json_object(json, "image");
        cli_json_string(json, "file", result->image_path);
        cli_json_integer(json, "width", result->picture.image.width);
        cli_json_integer(json, "height", result->picture.image.height);
        cli_json_array(json, "crop");
        for (size_t i = 0; i < 4; i++) {
            cli_json_integer(json, NULL, crop[i]);
        }
        cli_json_end(json, ']');
        cli_json_end(json, '}');
    }
    cli_json_array(json, "tasks");
    for (uint32_t i = 0; i < cli_task_count(app); i++) {
        const mts_task_desc task = cli_task(app, i);
        const int status = task_json(app, json, &task, &result->decoded[i], result->top);
        if (status >= 0) {
            return status;
        }
    }
    cli_json_end(json, ']');
    const int combined = together_json(app, json, result->top);
    if (combined >= 0) {
        return combined;
    }
    cli_json_array(json, "strategies");
    for (uint32_t r = 0; r < result->run_count; r++) {
        cli_json_object(json, NULL);
        cli_json_string(json, "strategy", cli_strategy_name(result->runs[r].strategy));
        cli_measure_json(json, result->runs[r].measured ? &result->runs[r].latency : NULL,
                         &result->runs[r].stats);
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
    if (result->difference >= 0.0) {
        cli_json_number(json, "difference", result->difference);
    }
    cli_json_end(json, '}');
    return -1;
}

int cli_run_print_json(cli_open *app, const cli_result *result)
{
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("run", "no memory");
    }
    const int status = result_json(app, &json, result);
    if (status >= 0) {
        cli_json_release(&json);
        return status;
    }
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("run", "no memory");
}
