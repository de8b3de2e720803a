/*
 * print.c: the faces of a frame as a table, as JSON, and drawn.
 */
#include <math.h>
#include <stdio.h>

#include "faces.h"
#include "kit/canvas.h"

static const char *const pose_names[3] = {"yaw", "pitch", "roll"};

/* The class that is more likely. */
static uint32_t likely(const float values[2])
{
    return values[1] > values[0] ? 1 : 0;
}

/* "male 93.9 %", or "-" if the bundle does not have the task. */
static const char *class_text(const cli_cascade *cascade, cli_face_task task, const float values[2],
                              char *text, size_t size)
{
    const uint32_t best = likely(values);
    if (!cli_cascade_has(cascade, task)) {
        return "-";
    }
    (void)snprintf(text, size, "%s %.1f %%", cli_cascade_label(cascade, task, best),
                   100.0 * (double)values[best]);
    return text;
}

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
           class_text(cascade, CLI_FACE_GENDER, face->gender, gender, sizeof gender),
           class_text(cascade, CLI_FACE_MASK, face->mask, mask, sizeof mask));
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

static void class_json(const cli_cascade *cascade, cli_face_task task, const char *name,
                       const float values[2], cli_json *json)
{
    if (!cli_cascade_has(cascade, task)) {
        return;
    }
    cli_json_object(json, name);
    cli_json_string(json, "label", cli_cascade_label(cascade, task, likely(values)));
    for (uint32_t i = 0; i < 2; i++) {
        cli_json_number(json, cli_cascade_label(cascade, task, i), (double)values[i]);
    }
    cli_json_end(json, '}');
}

static void crop_json(const cli_face_crop *crop, const char *name, cli_json *json)
{
    const uint32_t numbers[4] = {crop->x, crop->y, crop->width, crop->height};
    cli_json_array(json, name);
    for (size_t i = 0; i < 4; i++) {
        cli_json_integer(json, NULL, numbers[i]);
    }
    cli_json_end(json, ']');
}

static void face_json(const cli_cascade *cascade, const frame_result *result, const cli_face *face,
                      cli_json *json)
{
    const double edges[4] = {(double)face->box.left * result->width, (double)face->box.top * result->height,
                             (double)face->box.right * result->width,
                             (double)face->box.bottom * result->height};
    cli_json_object(json, NULL);
    cli_json_array(json, "box"); /* left, top, right, bottom in pixels */
    for (size_t i = 0; i < 4; i++) {
        cli_json_number(json, NULL, edges[i]);
    }
    cli_json_end(json, ']');
    cli_json_number(json, "score", (double)face->box.score);
    class_json(cascade, CLI_FACE_GENDER, "gender", face->gender, json);
    class_json(cascade, CLI_FACE_MASK, "mask", face->mask, json);
    if (cli_cascade_has(cascade, CLI_FACE_POSE)) {
        cli_json_object(json, "pose");
        for (size_t i = 0; i < 3; i++) {
            cli_json_number(json, pose_names[i], (double)face->pose[i]);
        }
        cli_json_end(json, '}');
    }
    if (cli_cascade_has(cascade, CLI_FACE_LANDMARKS)) {
        cli_json_array(json, "points"); /* x, y in pixels */
        for (size_t i = 0; i < CLI_FACE_POINTS; i++) {
            cli_json_array(json, NULL);
            cli_json_number(json, NULL, (double)face->points[i][0] * result->width);
            cli_json_number(json, NULL, (double)face->points[i][1] * result->height);
            cli_json_end(json, ']');
        }
        cli_json_end(json, ']');
    }
    cli_json_object(json, "crops"); /* x, y, width, height that each task saw */
    crop_json(&face->crops[CLI_FACE_GENDER], "face", json);
    crop_json(&face->crops[CLI_FACE_POSE], "pose", json);
    crop_json(&face->crops[CLI_FACE_LANDMARKS], "landmarks", json);
    cli_json_end(json, '}');
    cli_json_end(json, '}');
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
        face_json(cascade, result, &result->faces[i], json);
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

static void face_draw(const cli_cascade *cascade, const cli_face *face, int64_t scale, cli_image *image)
{
    static const cli_color line = {96, 220, 120, 255};
    static const cli_color dot = {255, 210, 60, 255};
    static const cli_color words = {255, 255, 255, 255};
    static const cli_color bar = {0, 0, 0, 160};
    const double width = image->width;
    const double height = image->height;
    const cli_box box = {(int64_t)floor((double)face->box.left * width),
                         (int64_t)floor((double)face->box.top * height),
                         (int64_t)(((double)face->box.right - (double)face->box.left) * width),
                         (int64_t)(((double)face->box.bottom - (double)face->box.top) * height)};
    char text[96];
    int64_t y = box.y + box.height + scale;
    cli_draw_outline(image, &box, scale + 1, line);
    for (size_t i = 0; i < CLI_FACE_POINTS && cli_cascade_has(cascade, CLI_FACE_LANDMARKS); i++) {
        cli_draw_dot(image, (int64_t)floor((double)face->points[i][0] * width),
                     (int64_t)floor((double)face->points[i][1] * height), scale + 1, dot);
    }
    if (cli_cascade_has(cascade, CLI_FACE_GENDER)) {
        cli_draw_label(image, box.x, y, scale,
                       class_text(cascade, CLI_FACE_GENDER, face->gender, text, sizeof text), words, bar);
        y += cli_label_height(scale);
    }
    if (cli_cascade_has(cascade, CLI_FACE_MASK)) {
        cli_draw_label(image, box.x, y, scale,
                       class_text(cascade, CLI_FACE_MASK, face->mask, text, sizeof text), words, bar);
        y += cli_label_height(scale);
    }
    if (cli_cascade_has(cascade, CLI_FACE_POSE)) {
        (void)snprintf(text, sizeof text, "%+.0f %+.0f %+.0f", (double)face->pose[0], (double)face->pose[1],
                       (double)face->pose[2]);
        cli_draw_label(image, box.x, y, scale, text, words, bar);
    }
}

void faces_draw(const cli_cascade *cascade, const frame_result *result, cli_image *image)
{
    const int64_t scale = (image->width < image->height ? image->width : image->height) / 500 + 1;
    for (uint32_t i = 0; i < result->count; i++) {
        face_draw(cascade, &result->faces[i], scale, image);
    }
}
