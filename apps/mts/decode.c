/*
 * decode.c: which decoder of libmtskit reads which outputs of a task. Every shape is
 * compared with what the decoder reads before a number is read.
 */
#include "decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOXES_MOST 65536

static const char *const names[] = {
    [CLI_DECODE_NONE] = "none", [CLI_DECODE_CLASSES] = "classes",     [CLI_DECODE_FACE] = "face",
    [CLI_DECODE_PALM] = "palm", [CLI_DECODE_POSE] = "pose",           [CLI_DECODE_ULTRAFACE] = "ultraface",
    [CLI_DECODE_YOLO] = "yolo", [CLI_DECODE_LANDMARKS] = "landmarks", [CLI_DECODE_MASK] = "mask"};

#define KINDS (sizeof names / sizeof names[0])

/* "landmarks:5" */
static bool kind_parse(const char *text, cli_decoded *out)
{
    const char *colon = strchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    out->kind = CLI_DECODE_NONE;
    for (size_t k = 1; k < KINDS; k++) {
        if (strlen(names[k]) == length && memcmp(names[k], text, length) == 0) {
            out->kind = (cli_decode_kind)k;
        }
    }
    out->stride = 0;
    if (colon) {
        out->stride = colon[1] >= '2' && colon[1] <= '5' && colon[2] == '\0' ? (uint32_t)(colon[1] - '0') : 0;
        return out->kind == CLI_DECODE_LANDMARKS && out->stride > 0;
    }
    return out->kind != CLI_DECODE_NONE;
}

int cli_decode_plan(const cli_open *app, const cli_decode_options *options, cli_decoded **out)
{
    const uint32_t count = cli_task_count(app);
    *out = calloc((size_t)count + 1, sizeof **out);
    if (!*out) {
        return cli_failure("run", "no memory");
    }
    for (size_t i = 0; i < options->kinds.count; i++) {
        const char *text = options->kinds.items[i];
        const char *equals = strchr(text, '=');
        const size_t length = equals ? (size_t)(equals - text) : 0;
        cli_decoded wanted = {0};
        bool any = false;
        if (!kind_parse(equals ? equals + 1 : text, &wanted)) {
            return cli_usage_error(
                "run",
                "--decode takes [TASK=]KIND, where KIND is classes, face, palm, pose, ultraface, "
                "yolo, landmarks, landmarks:2 to landmarks:5 or mask, not '%s'",
                text);
        }
        for (uint32_t t = 0; t < count; t++) {
            const mts_task_desc task = cli_task(app, t);
            if (!equals || (strlen(task.name) == length && memcmp(task.name, text, length) == 0)) {
                (*out)[t] = wanted;
                any = true;
            }
        }
        if (!any) {
            return cli_failure("run", "--decode %s: no such task", text);
        }
    }
    return -1;
}

void cli_decoded_release(cli_decoded **all, uint32_t count)
{
    for (uint32_t i = 0; *all && i < count; i++) {
        free((*all)[i].boxes);
        free((*all)[i].points);
        free((*all)[i].alpha);
    }
    free(*all);
    *all = NULL;
}

/* A task's outputs and what its input shows. */
typedef struct source {
    cli_open *app;
    mts_task_desc task;
    uint32_t width, height; /* of the input */
    mts_kit_map map;
    const mts_frame *frame;
    double least_score;
} source;

static int mismatch(const source *s, cli_decode_kind kind, const char *needed)
{
    return cli_failure("run", "--decode %s: task '%s' %s", names[kind], s->task.name, needed);
}

/* The first float output with this many numbers. */
static const float *output_find(const source *s, uint64_t count)
{
    for (uint32_t o = 0; o < s->task.output_count; o++) {
        mts_tensor tensor;
        if (mts_session_output(s->app->session, s->task.name, o, &tensor) == MTS_STATUS_OK &&
            tensor.type == MTS_TYPE_FLOAT32 && mts_kit_count(&tensor) == count) {
            return tensor.data;
        }
    }
    return NULL;
}

/* Sides of the image that input 0 takes. */
static bool input_size(source *s)
{
    mts_port_desc port = {.size = sizeof port};
    if (!s->task.takes_frames || mts_bundle_input(s->app->bundle, s->task.name, 0, &port) != MTS_STATUS_OK ||
        port.rank != 4) {
        return false;
    }
    const bool planar = port.dims[1] <= 4 && port.dims[3] > 4;
    s->height = (uint32_t)port.dims[planar ? 2 : 1];
    s->width = (uint32_t)port.dims[planar ? 3 : 2];
    return true;
}

static bool boxes_make(cli_decoded *out, uint64_t most)
{
    out->boxes = most <= BOXES_MOST ? calloc((size_t)most + 1, sizeof *out->boxes) : NULL;
    return out->boxes;
}

static int ssd_run(const source *s, cli_decoded *out)
{
    mts_kit_ssd ssd;
    (void)mts_kit_ssd_default((mts_kit_ssd_kind)(out->kind - CLI_DECODE_FACE), &ssd);
    ssd.least_score = s->least_score >= 0 ? (float)s->least_score : ssd.least_score;
    const uint32_t count = mts_kit_anchors(&ssd, NULL, 0);
    const float *boxes = output_find(s, (uint64_t)count * (4 + 2 * ssd.points));
    const float *scores = output_find(s, count);
    if (!boxes || !scores || ssd.width != s->width || ssd.height != s->height) {
        char needed[128];
        (void)snprintf(needed, sizeof needed,
                       "has no input of %u x %u with outputs of %u x %u and %u x 1 numbers", ssd.width,
                       ssd.height, count, 4 + 2 * ssd.points, count);
        return mismatch(s, out->kind, needed);
    }
    float *anchors = malloc(2 * sizeof *anchors * count);
    if (!anchors || !boxes_make(out, count)) {
        free(anchors);
        return cli_failure("run", "no memory");
    }
    (void)mts_kit_anchors(&ssd, anchors, count);
    out->box_count =
        mts_kit_nms(&ssd.nms, out->boxes, mts_kit_ssd_decode(&ssd, anchors, boxes, scores, out->boxes));
    free(anchors);
    return -1;
}

static int ultraface_run(const source *s, cli_decoded *out)
{
    const mts_kit_nms_options nms = {.size = sizeof nms, .overlap = 0.4f};
    const float least = s->least_score >= 0 ? (float)s->least_score : 0.7f;
    mts_tensor first;
    const bool there = mts_session_output(s->app->session, s->task.name, 0, &first) == MTS_STATUS_OK;
    const size_t numbers = there ? mts_kit_count(&first) : 0;
    const uint64_t count = numbers / (there && first.rank > 0 && first.dims[first.rank - 1] == 4 ? 4 : 2);
    const float *boxes = output_find(s, count * 4);
    const float *scores = output_find(s, count * 2);
    if (!boxes || !scores || count == 0 || count > BOXES_MOST) {
        return mismatch(s, out->kind, "has no outputs of N x 2 scores and N x 4 boxes");
    }
    if (!boxes_make(out, count)) {
        return cli_failure("run", "no memory");
    }
    out->box_count = mts_kit_nms(
        &nms, out->boxes, mts_kit_corners_decode(scores, boxes, (uint32_t)count, 2, least, out->boxes));
    return -1;
}

static int yolo_run(const source *s, cli_decoded *out)
{
    mts_kit_yolo yolo;
    mts_tensor output;
    if (mts_session_output(s->app->session, s->task.name, 0, &output) != MTS_STATUS_OK ||
        output.type != MTS_TYPE_FLOAT32 ||
        mts_kit_yolo_guess(&output, s->width, s->height, &yolo) != MTS_STATUS_OK) {
        return mismatch(s, out->kind, "has a first output of a shape that no known head has (docs/KIT.md)");
    }
    yolo.least_score = s->least_score >= 0 ? (float)s->least_score : yolo.least_score;
    if (!boxes_make(out, yolo.rows)) {
        return cli_failure("run", "no memory for %u candidates", yolo.rows);
    }
    out->box_count = mts_kit_yolo_decode(&yolo, output.data, out->boxes);
    out->box_count =
        yolo.kind == MTS_KIT_YOLO_END_TO_END ? out->box_count : mts_kit_nms(NULL, out->boxes, out->box_count);
    return -1;
}

/* Numbers of a landmark, where they are not given. */
static uint32_t stride_find(const mts_tensor *output)
{
    const int64_t last = output->rank > 1 ? output->dims[output->rank - 1] : 0;
    const size_t count = mts_kit_count(output);
    return last >= 2 && last <= 5 ? (uint32_t)last : count % 3 == 0 ? 3 : 2;
}

static int landmarks_run(const source *s, cli_decoded *out)
{
    mts_tensor output;
    if (mts_session_output(s->app->session, s->task.name, 0, &output) != MTS_STATUS_OK ||
        output.type != MTS_TYPE_FLOAT32) {
        return mismatch(s, out->kind, "has no first output of float32");
    }
    const uint32_t stride = out->stride ? out->stride : stride_find(&output);
    const size_t count = mts_kit_count(&output) / stride;
    const float *values = output.data;
    if (count == 0 || count > BOXES_MOST || mts_kit_count(&output) % stride != 0) {
        return mismatch(s, out->kind, "has a first output whose size is no multiple of a landmark's numbers");
    }
    bool parts = true; /* of the input, not pixels */
    for (size_t i = 0; i < count; i++) {
        parts = parts && values[i * stride] > -1.0f && values[i * stride] < 2.0f &&
                values[i * stride + 1] > -1.0f && values[i * stride + 1] < 2.0f;
    }
    out->points = calloc(count, sizeof *out->points);
    if (!out->points) {
        return cli_failure("run", "no memory");
    }
    out->point_count = (uint32_t)count;
    mts_kit_landmarks_map(&s->map, values, out->point_count, stride, parts ? 1 : s->width,
                          parts ? 1 : s->height, out->points);
    return -1;
}

static int mask_run(const source *s, cli_decoded *out)
{
    mts_tensor output;
    const bool there = mts_session_output(s->app->session, s->task.name, 0, &output) == MTS_STATUS_OK;
    const bool inner = there && output.rank == 4 && output.dims[3] == 1;
    const bool planar = there && output.rank == 4 && output.dims[1] == 1;
    if ((!inner && !planar) || output.dims[0] != 1 || output.type != MTS_TYPE_FLOAT32) {
        return mismatch(s, out->kind, "has no first output of 1 x H x W x 1 or 1 x 1 x H x W in float32");
    }
    const uint32_t height = (uint32_t)output.dims[inner ? 1 : 2];
    const uint32_t width = (uint32_t)output.dims[inner ? 2 : 3];
    const float *values = output.data;
    mts_kit_mask_kind kind = MTS_KIT_MASK_PROBABILITY;
    for (size_t i = 0; i < (size_t)width * height; i++) {
        kind = values[i] < -0.01f || values[i] > 1.01f ? MTS_KIT_MASK_LOGIT : kind;
    }
    const size_t pixels = (size_t)s->frame->width * s->frame->height;
    out->alpha = malloc(pixels + 1);
    if (!out->alpha || mts_kit_mask_resize(&s->map, values, width, height, 1, kind, -1.0f, s->frame->width,
                                           s->frame->height, out->alpha) != MTS_STATUS_OK) {
        return cli_failure("run", "no memory for a mask");
    }
    double sum = 0;
    for (size_t i = 0; i < pixels; i++) {
        sum += out->alpha[i];
    }
    out->share = sum / 255.0 / (double)pixels;
    return -1;
}

static int task_run(const source *s, cli_decoded *out)
{
    switch (out->kind) {
    case CLI_DECODE_FACE:
    case CLI_DECODE_PALM:
    case CLI_DECODE_POSE:
        return ssd_run(s, out);
    case CLI_DECODE_ULTRAFACE:
        return ultraface_run(s, out);
    case CLI_DECODE_YOLO:
        return yolo_run(s, out);
    case CLI_DECODE_LANDMARKS:
        return landmarks_run(s, out);
    case CLI_DECODE_MASK:
        return mask_run(s, out);
    case CLI_DECODE_CLASSES:
        return s->task.label_count > 0 ? -1
                                       : mismatch(s, out->kind, "has no labels: give them in the task list");
    case CLI_DECODE_NONE:
        break;
    }
    return -1;
}

int cli_decode_run(cli_open *app, const cli_decode_options *options, const mts_frame *frame, cli_decoded *all)
{
    int status = -1;
    for (uint32_t i = 0; i < cli_task_count(app) && status < 0; i++) {
        source s = {
            .app = app, .task = cli_task(app, i), .frame = frame, .least_score = options->least_score};
        if (all[i].kind == CLI_DECODE_NONE) {
            continue;
        }
        if (!input_size(&s)) {
            return mismatch(&s, all[i].kind, "takes no picture");
        }
        mts_region region;
        mts_kit_region_of_task(&frame->region, &s.task, frame->width, frame->height, &region);
        mts_kit_map_of_region(&region, frame->width, frame->height, s.width, s.height, &s.map);
        status = task_run(&s, &all[i]);
        mts_kit_detections_map(&s.map, all[i].boxes, all[i].box_count);
    }
    return status;
}

/* ---- as words ---- */

const char *cli_decoded_label(const mts_task_desc *task, const cli_decoded *found, uint32_t label,
                              char *number, size_t size)
{
    if (label < task->label_count) {
        return task->labels[label];
    }
    if (found->kind != CLI_DECODE_YOLO) {
        return found->kind == CLI_DECODE_ULTRAFACE ? "face" : names[found->kind];
    }
    (void)snprintf(number, size, "class %u", label);
    return number;
}

void cli_decoded_print(const mts_task_desc *task, const cli_decoded *found)
{
    char number[32];
    if (found->boxes) {
        printf("%-20s %u found\n", task->name, found->box_count);
    }
    for (uint32_t i = 0; i < found->box_count; i++) {
        const mts_kit_detection *b = &found->boxes[i];
        printf("  %5.1f %%  %-16s %.0f x %.0f at %.0f, %.0f\n", 100.0 * (double)b->score,
               cli_decoded_label(task, found, b->label, number, sizeof number), (double)(b->right - b->left),
               (double)(b->bottom - b->top), (double)b->left, (double)b->top);
    }
    if (found->points) {
        printf("%-20s %u landmarks, the first at %.1f, %.1f\n", task->name, found->point_count,
               (double)found->points[0].x, (double)found->points[0].y);
    }
    if (found->alpha) {
        printf("%-20s %.1f %% of the picture\n", task->name, 100.0 * found->share);
    }
}

static void boxes_json(const mts_task_desc *task, const cli_decoded *found, cli_json *json)
{
    char number[32];
    cli_json_array(json, "boxes"); /* left, top, right, bottom in pixels */
    for (uint32_t i = 0; i < found->box_count; i++) {
        const mts_kit_detection *b = &found->boxes[i];
        const float edges[4] = {b->left, b->top, b->right, b->bottom};
        cli_json_object(json, NULL);
        cli_json_string(json, "label", cli_decoded_label(task, found, b->label, number, sizeof number));
        cli_json_integer(json, "class", b->label);
        cli_json_number(json, "score", (double)b->score);
        cli_json_array(json, "box");
        for (size_t k = 0; k < 4; k++) {
            cli_json_number(json, NULL, (double)edges[k]);
        }
        cli_json_end(json, ']');
        cli_json_array(json, "points");
        for (uint32_t p = 0; p < b->point_count; p++) {
            cli_json_array(json, NULL);
            cli_json_number(json, NULL, (double)b->points[p][0]);
            cli_json_number(json, NULL, (double)b->points[p][1]);
            cli_json_end(json, ']');
        }
        cli_json_end(json, ']');
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
}

void cli_decoded_json(const mts_task_desc *task, const cli_decoded *found, cli_json *json)
{
    cli_json_object(json, "decoded");
    cli_json_string(json, "kind", names[found->kind]);
    if (found->boxes) {
        boxes_json(task, found, json);
    }
    if (found->points) {
        cli_json_array(json, "landmarks"); /* x, y, z in pixels, visibility */
        for (uint32_t i = 0; i < found->point_count; i++) {
            const mts_kit_landmark *p = &found->points[i];
            const float values[4] = {p->x, p->y, p->z, p->visibility};
            cli_json_array(json, NULL);
            for (size_t k = 0; k < 4; k++) {
                cli_json_number(json, NULL, (double)values[k]);
            }
            cli_json_end(json, ']');
        }
        cli_json_end(json, ']');
    }
    if (found->alpha) {
        cli_json_number(json, "share", found->share);
    }
    cli_json_end(json, '}');
}
