/*
 * face_show.c: a face as words, as JSON, and drawn.
 */
#include "face_show.h"

#include <stdio.h>
#include <string.h>

#include "canvas.h"

static const char *const pose_names[3] = {"yaw", "pitch", "roll"};

/* The class that is more likely. */
static uint32_t likely(const float values[2])
{
    return values[1] > values[0] ? 1 : 0;
}

const char *cli_face_class_text(const cli_cascade *cascade, cli_face_task task, const float values[2],
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

/* The likely class first. Labels are no keys: a list may have two alike. */
static void class_json(const cli_cascade *cascade, cli_face_task task, const char *name,
                       const float values[2], cli_json *json)
{
    const uint32_t best = likely(values);
    if (!cli_cascade_has(cascade, task)) {
        return;
    }
    cli_json_array(json, name);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t index = i == 0 ? best : 1 - best;
        cli_json_object(json, NULL);
        cli_json_string(json, "label", cli_cascade_label(cascade, task, index));
        cli_json_number(json, "score", (double)values[index]);
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
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

void cli_face_json(const cli_cascade *cascade, const cli_face *face, uint32_t width, uint32_t height,
                   cli_json *json)
{
    const double edges[4] = {(double)face->box.left * width, (double)face->box.top * height,
                             (double)face->box.right * width, (double)face->box.bottom * height};
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
            cli_json_number(json, NULL, (double)face->points[i][0] * width);
            cli_json_number(json, NULL, (double)face->points[i][1] * height);
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

/* False: a network has computed no place. */
static bool box_pixels(const float from[4], double width, double height, cli_box *box)
{
    const double left = (double)from[0] * width, top = (double)from[1] * height;
    return cli_pixel_at(left, &box->x) && cli_pixel_at(top, &box->y) &&
           cli_pixel_at((double)from[2] * width - left, &box->width) &&
           cli_pixel_at((double)from[3] * height - top, &box->height);
}

void cli_face_mark_of(const cli_cascade *cascade, const cli_face *face, cli_face_mark *mark)
{
    const float *const values[2] = {face->gender, face->mask};
    *mark = (cli_face_mark){.box = {face->box.left, face->box.top, face->box.right, face->box.bottom},
                            .score = face->box.score};
    if (cli_cascade_has(cascade, CLI_FACE_LANDMARKS)) {
        mark->point_count = CLI_FACE_POINTS;
        memcpy(mark->points, face->points, sizeof mark->points);
    }
    for (cli_face_task task = CLI_FACE_GENDER; task <= CLI_FACE_MASK; task++) {
        if (cli_cascade_has(cascade, task)) {
            char *line = mark->lines[mark->line_count++];
            (void)cli_face_class_text(cascade, task, values[task], line, CLI_FACE_LINE);
        }
    }
    if (cli_cascade_has(cascade, CLI_FACE_POSE)) {
        (void)snprintf(mark->lines[mark->line_count++], CLI_FACE_LINE, "%+.0f %+.0f %+.0f",
                       (double)face->pose[0], (double)face->pose[1], (double)face->pose[2]);
    }
}

static void points_draw(const cli_face_mark *mark, int64_t radius, cli_image *image)
{
    static const cli_color dot = {255, 210, 60, 255};
    for (size_t i = 0; i < mark->point_count; i++) {
        int64_t x = 0, y = 0;
        if (cli_pixel_at((double)mark->points[i][0] * image->width, &x) &&
            cli_pixel_at((double)mark->points[i][1] * image->height, &y)) {
            cli_draw_dot(image, x, y, radius, dot);
        }
    }
}

void cli_face_mark_draw(const cli_face_mark *mark, cli_image *image)
{
    static const cli_color line = {96, 220, 120, 255};
    static const cli_color words = {255, 255, 255, 255};
    static const cli_color bar = {0, 0, 0, 160};
    const int64_t scale = (image->width < image->height ? image->width : image->height) / 500 + 1;
    cli_box box;
    points_draw(mark, scale + 1, image);
    if (box_pixels(mark->box, image->width, image->height, &box)) {
        int64_t y = box.y + box.height + scale;
        cli_draw_outline(image, &box, scale + 1, line);
        for (uint32_t i = 0; i < mark->line_count; i++, y += cli_label_height(scale)) {
            cli_draw_label(image, box.x, y, scale, mark->lines[i], words, bar);
        }
    }
}

void cli_face_draw(const cli_cascade *cascade, const cli_face *face, cli_image *image)
{
    cli_face_mark mark;
    cli_face_mark_of(cascade, face, &mark);
    cli_face_mark_draw(&mark, image);
}
