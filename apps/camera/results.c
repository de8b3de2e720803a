/*
 * results.c: outputs to words.
 */
#include "results.h"

#include <stdio.h>
#include <stdlib.h>

#include "kit/answers.h"

#define VALUES_SHOWN 3u
#define VALUES_JSON_MOST 16u

/* "1x4420x2" */
static void shape_text(const mts_tensor *tensor, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < tensor->rank && length < size; i++) {
        const int added =
            snprintf(text + length, size - length, "%s%lld", i ? "x" : "", (long long)tensor->dims[i]);
        length += added > 0 ? (size_t)added : 0;
    }
}

/* The first values, or, of many, the shape. */
static void values_text(const mts_tensor *output, char *text, size_t size)
{
    const size_t count = mts_kit_count(output);
    if (count > VALUES_SHOWN) {
        shape_text(output, text, size);
        return;
    }
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && length < size; i++) {
        const int added =
            snprintf(text + length, size - length, "%s%.4g", i ? " " : "", mts_kit_value(output, i));
        length += added > 0 ? (size_t)added : 0;
    }
}

bool results_make(results *all, cli_open *app)
{
    *all = (results){.app = app, .count = cli_task_count(app)};
    all->tasks = calloc((size_t)all->count + 1, sizeof *all->tasks);
    all->lines = calloc((size_t)all->count + 1, sizeof *all->lines);
    for (uint32_t i = 0; all->tasks && i < all->count; i++) {
        all->tasks[i].task = cli_task(app, i);
        all->tasks[i].score = -1.0;
        (void)snprintf(all->tasks[i].text, sizeof all->tasks[i].text, "-");
    }
    return all->tasks && all->lines;
}

void results_read(results *all, mts_ticket ticket)
{
    for (uint32_t i = 0; i < all->count; i++) {
        task_result *result = &all->tasks[i];
        mts_tensor output;
        cli_answer answer;
        mts_ticket of = 0;
        result->ran = mts_session_output_ticket(all->app->session, result->task.name, &of) == MTS_STATUS_OK &&
                      of == ticket;
        if (mts_session_output(all->app->session, result->task.name, 0, &output) != MTS_STATUS_OK) {
            continue; /* it has not run yet */
        }
        result->known = true;
        cli_answer_find(&result->task, &output, 1, &answer);
        result->score = -1.0;
        if (answer.classifies && answer.top_count > 0) {
            result->score = answer.top[0].score;
            (void)snprintf(result->text, sizeof result->text, "%s", result->task.labels[answer.top[0].index]);
        } else {
            values_text(&output, result->text, sizeof result->text);
        }
    }
}

void results_measure(results *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        task_result *result = &all->tasks[i];
        mts_task_stats stats = {.size = sizeof stats};
        if (mts_session_task_stats(all->app->session, result->task.name, &stats) == MTS_STATUS_OK) {
            result->runs = stats.runs;
            result->p50_ms = stats.p50_ms;
            result->p95_ms = stats.p95_ms;
        }
    }
}

static void output_json(const mts_tensor *output, cli_json *json)
{
    const size_t count = mts_kit_count(output);
    cli_json_object(json, NULL);
    cli_json_array(json, "shape");
    for (uint32_t i = 0; i < output->rank; i++) {
        cli_json_integer(json, NULL, (uint64_t)output->dims[i]);
    }
    cli_json_end(json, ']');
    if (count <= VALUES_JSON_MOST) {
        cli_json_array(json, "values");
        for (size_t i = 0; i < count; i++) {
            cli_json_number(json, NULL, mts_kit_value(output, i));
        }
        cli_json_end(json, ']');
    }
    cli_json_end(json, '}');
}

void results_json(const results *all, cli_json *json)
{
    cli_json_array(json, "tasks");
    for (uint32_t i = 0; i < all->count; i++) {
        const task_result *result = &all->tasks[i];
        cli_json_object(json, NULL);
        cli_json_string(json, "name", result->task.name);
        cli_json_raw(json, "ran", result->ran ? "true" : "false");
        if (result->score >= 0) {
            cli_json_string(json, "label", result->text);
            cli_json_number(json, "score", result->score);
        }
        cli_json_array(json, "outputs");
        for (uint32_t o = 0; result->known && o < result->task.output_count; o++) {
            mts_tensor output;
            if (mts_session_output(all->app->session, result->task.name, o, &output) == MTS_STATUS_OK) {
                output_json(&output, json);
            }
        }
        cli_json_end(json, ']');
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
}

void results_release(results *all)
{
    free(all->tasks);
    free(all->lines);
    *all = (results){0};
}
