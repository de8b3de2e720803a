/*
 * print.c: the faces of a frame as a table, as JSON, and drawn.
 */
#include <stdio.h>

#include "faces.h"
#include "kit/face_show.h"

void faces_print_head(void)
{
    printf("%5s  %4s  %-23s %7s  %-14s %-14s %-23s %s\n", "frame", "face", "box (x, y, w, h)", "score",
           "gender", "mask", "yaw, pitch, roll", "points (eyes, nose, mouth)");
}

static void face_print(const cli_cascade *cascade, const frame_result *result, uint32_t index)
{
    const cli_face *face = &result->faces[index];
    char gender[64];
    char mask[64];
    char box[64];
    const double width = result->width;
    const double height = result->height;
    (void)snprintf(box, sizeof box, "%.0f, %.0f, %.0f, %.0f", (double)face->box.left * width,
                   (double)face->box.top * height, ((double)face->box.right - (double)face->box.left) * width,
                   ((double)face->box.bottom - (double)face->box.top) * height);
    printf("%5u  %4u  %-23s %5.1f %%  %-14s %-14s ", result->number, index, box,
           100.0 * (double)face->box.score,
           cli_face_class_text(cascade, CLI_FACE_GENDER, face->gender, gender, sizeof gender),
           cli_face_class_text(cascade, CLI_FACE_MASK, face->mask, mask, sizeof mask));
    if (cli_cascade_has(cascade, CLI_FACE_POSE)) {
        printf("%+5.1f, %+5.1f, %+5.1f   ", (double)face->pose[0], (double)face->pose[1],
               (double)face->pose[2]);
    } else {
        printf("%-22s", "-");
    }
    for (size_t i = 0; i < CLI_FACE_POINTS && cli_cascade_has(cascade, CLI_FACE_LANDMARKS); i++) {
        printf(" %.0f,%.0f", (double)face->points[i][0] * width, (double)face->points[i][1] * height);
    }
    printf("\n");
}

void faces_print(const cli_cascade *cascade, const frame_result *result)
{
    for (uint32_t i = 0; i < result->count; i++) {
        face_print(cascade, result, i);
    }
    printf("%5u  %u face%s in %.2f ms: detector %.2f ms, tasks %.2f ms (%u batch%s of %u)\n", result->number,
           result->count, result->count == 1 ? "" : "s", result->times.detector_ms + result->times.tasks_ms,
           result->times.detector_ms, result->times.tasks_ms, result->times.batches,
           result->times.batches == 1 ? "" : "es", cli_cascade_batch(cascade));
}

void faces_json(const cli_cascade *cascade, const frame_result *result, cli_json *json)
{
    cli_json_object(json, NULL);
    cli_json_integer(json, "frame", result->number);
    cli_json_integer(json, "width", result->width);
    cli_json_integer(json, "height", result->height);
    cli_json_number(json, "detector_ms", result->times.detector_ms);
    cli_json_number(json, "tasks_ms", result->times.tasks_ms);
    cli_json_integer(json, "batches", result->times.batches);
    cli_json_array(json, "faces");
    for (uint32_t i = 0; i < result->count; i++) {
        cli_face_json(cascade, &result->faces[i], result->width, result->height, json);
    }
    cli_json_end(json, ']');
    cli_json_end(json, '}');
}

void faces_print_repeated(const repeated *times)
{
    const struct {
        const char *name;
        const cli_latency *latency;
    } rows[] = {{"detector", &times->detector}, {"face tasks", &times->tasks}, {"cascade", &times->all}};
    printf("\n%-12s %10s %8s %8s   of %u runs\n", "", "median", "p5", "p95", times->all.runs);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        printf("%-12s %7.2f ms %8.2f %8.2f\n", rows[i].name, rows[i].latency->median, rows[i].latency->p5,
               rows[i].latency->p95);
    }
}

void faces_json_repeated(const repeated *times, cli_json *json)
{
    const struct {
        const char *name;
        const cli_latency *latency;
    } rows[] = {{"detector", &times->detector}, {"tasks", &times->tasks}, {"cascade", &times->all}};
    cli_json_object(json, "latency_ms");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cli_json_object(json, rows[i].name);
        cli_json_number(json, "median", rows[i].latency->median);
        cli_json_number(json, "p5", rows[i].latency->p5);
        cli_json_number(json, "p95", rows[i].latency->p95);
        cli_json_integer(json, "runs", rows[i].latency->runs);
        cli_json_end(json, '}');
    }
    cli_json_end(json, '}');
}

void faces_draw(const cli_cascade *cascade, const frame_result *result, cli_image *image)
{
    for (uint32_t i = 0; i < result->count; i++) {
        cli_face_draw(cascade, &result->faces[i], image);
    }
}
