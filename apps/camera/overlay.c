/*
 * overlay.c: the panel of answers. It is as large as the picture allows: small pictures
 * show fewer lines.
 */
#include "overlay.h"

#include <stdio.h>
#include <string.h>

#include "kit/canvas.h"

#define LINE_HEIGHT 11 /* of a letter's pixels */
#define MARGIN 4
#define BAR_WIDTH 40

static const cli_color panel = {0, 0, 0, 150};
static const cli_color words = {255, 255, 255, 255};
static const cli_color faint = {180, 190, 200, 255};
static const cli_color bar = {90, 200, 120, 255};
static const cli_color groove = {255, 255, 255, 60};

static int64_t widest_of(const cli_line *lines, uint32_t count, bool names, int64_t scale)
{
    int64_t widest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t width = cli_text_width(names ? lines[i].name : lines[i].text, scale);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void line_draw(cli_image *picture, const cli_line *line, const int64_t x[3], int64_t y, int64_t scale)
{
    cli_draw_text(picture, x[0], y, scale, line->name, faint);
    cli_draw_text(picture, x[1], y, scale, line->text, words);
    if (line->score >= 0) {
        const double score = line->score > 1 ? 1 : line->score;
        const cli_box whole = {x[2], y, BAR_WIDTH * scale, 7 * scale};
        const cli_box part = {x[2], y, (int64_t)(score * (double)(BAR_WIDTH * scale) + 0.5), 7 * scale};
        cli_draw_rectangle(picture, &whole, groove);
        cli_draw_rectangle(picture, &part, bar);
    }
}

void overlay_lines(cli_image *picture, const cli_line *lines, uint32_t count)
{
    if (count == 0) {
        return;
    }
    const int64_t scale = picture->width >= 1600 ? 3 : picture->width >= 480 ? 2 : 1;
    const int64_t gap = MARGIN * scale;
    const int64_t names = widest_of(lines, count, true, scale);
    const int64_t answers = widest_of(lines, count, false, scale);
    const int64_t x[3] = {2 * gap, 3 * gap + names, 4 * gap + names + answers};
    const int64_t height = (int64_t)picture->height / (LINE_HEIGHT * scale) - 1;
    const int64_t shown = (int64_t)count < height ? (int64_t)count : height;
    const cli_box box = {gap, gap, x[2] + BAR_WIDTH * scale, shown * LINE_HEIGHT * scale + gap};
    cli_draw_rectangle(picture, &box, panel);
    for (int64_t i = 0; i < shown; i++) {
        line_draw(picture, &lines[i], x, 2 * gap + i * LINE_HEIGHT * scale, scale);
    }
}

void overlay_tasks(cli_image *picture, const results *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const task_result *result = &all->tasks[i];
        all->lines[i] = (cli_line){result->task.name, result->text, result->score};
    }
    overlay_lines(picture, all->lines, all->count);
}
