/*
 * annotate.c: the answers of mts run, drawn onto the picture: masks first, then boxes and
 * landmarks, then a panel with a line for each other task.
 */
#include <stdlib.h>

#include "command.h"
#include "kit/draw.h"
#include "kit/findings.h"
#include "run.h"

enum { TEXT = 64 };

/* A colour that differs from the next ones. */
static cli_color color_of(uint32_t index)
{
    static const cli_color colors[] = {{255, 196, 0, 255},   {80, 200, 255, 255}, {120, 255, 120, 255},
                                       {255, 120, 200, 255}, {255, 140, 60, 255}, {180, 150, 255, 255}};
    return colors[index % (sizeof colors / sizeof colors[0])];
}

static void boxes_draw(const mts_task_desc *task, const cli_decoded *found, uint32_t index, cli_image *image)
{
    for (uint32_t i = found->box_count; i-- > 0;) { /* the best one above the others */
        char number[32];
        char words[TEXT];
        const mts_kit_detection *box = &found->boxes[i];
        (void)snprintf(words, sizeof words, "%.40s %.0f %%",
                       cli_decoded_label(task, found, box->label, number, sizeof number),
                       100.0 * (double)box->score);
        cli_draw_detection(image, box, words, color_of(index + box->label));
    }
}

static void points_draw(const cli_decoded *found, uint32_t index, cli_image *image)
{
    static const cli_color dot = {255, 255, 255, 230};
    const uint16_t *paths = cli_skeleton_find(found->point_count);
    const double width = cli_stroke_width(image);
    const bool dense = found->point_count > 100;
    if (dense) {
        cli_draw_landmarks(image, found->points, found->point_count, width * 0.8, color_of(index + 1));
    }
    if (paths) {
        cli_draw_skeleton(image, found->points, paths, dense ? width : 2.0 * width,
                          dense ? dot : color_of(index + 1));
    }
    if (!dense) {
        cli_draw_landmarks(image, found->points, found->point_count, 2.0 * width, dot);
    }
}

/* A line for each task that is not drawn at its place; false: an output cannot be had. */
static bool lines_find(cli_open *app, const cli_result *result, cli_line *lines, char (*texts)[TEXT],
                       size_t *count)
{
    *count = 0;
    for (uint32_t i = 0; i < cli_task_count(app); i++) {
        const mts_task_desc task = cli_task(app, i);
        mts_tensor output;
        if (result->decoded[i].kind > CLI_DECODE_CLASSES) {
            continue;
        }
        if (mts_session_output(app->session, task.name, 0, &output) != MTS_STATUS_OK) {
            return false;
        }
        cli_line *line = &lines[*count];
        line->name = task.name;
        line->text = cli_answer_text(&task, &output, texts[*count], TEXT, &line->score);
        (*count)++;
    }
    return true;
}

int cli_run_annotate(cli_open *app, cli_result *result, const char *path)
{
    uint32_t crop[4];
    const uint32_t count = cli_task_count(app);
    cli_image *image = &result->picture.image;
    cli_line *lines = calloc((size_t)count + 1, sizeof *lines);
    char(*texts)[TEXT] = calloc((size_t)count + 1, sizeof *texts);
    size_t line_count = 0;
    cli_picture_part(&result->picture, crop);
    int status = lines && texts ? -1 : cli_failure("run", "no memory");
    for (uint32_t i = 0; i < count; i++) {
        if (result->decoded[i].alpha) {
            cli_draw_mask(image, result->decoded[i].alpha);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const mts_task_desc task = cli_task(app, i);
        boxes_draw(&task, &result->decoded[i], i, image);
        points_draw(&result->decoded[i], i, image);
    }
    if (status < 0 && (!lines_find(app, result, lines, texts, &line_count) ||
                       !cli_draw_answers(image, crop, lines, line_count, app->error) ||
                       !cli_image_write_png(path, image, app->error))) {
        status = cli_failure("run", "%s", app->error);
    }
    free(lines);
    free(texts);
    return status;
}
