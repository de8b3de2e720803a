/*
 * draw.c: the panel of answers, on the canvas.
 */
#include "draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canvas.h"
#include "font.h"

#define LINE_HEIGHT (CLI_FONT_HEIGHT + 5)
#define MARGIN 6
#define BAR_WIDTH 48
#define PERCENT_WIDTH (5 * CLI_FONT_ADVANCE) /* of "100 %" */
#define BACKGROUND 0x18
#define GAP 8
#define READABLE 640u /* the shorter side is enlarged to about this */

/* The picture enlarged by a factor, on a dark canvas that may be wider and higher. */
static bool recanvas(cli_image *image, uint32_t factor, int64_t more_width, int64_t least_height)
{
    const size_t shown = (size_t)image->width * factor;
    const size_t rows = (size_t)image->height * factor;
    const size_t width = shown + (size_t)more_width;
    const size_t height = rows < (size_t)least_height ? (size_t)least_height : rows;
    unsigned char *pixels = malloc(width * height * 3);
    if (!pixels) {
        return false;
    }
    memset(pixels, BACKGROUND, width * height * 3);
    for (size_t y = 0; y < rows; y++) {
        const unsigned char *row = image->pixels + (y / factor) * image->width * 3;
        for (size_t x = 0; x < shown; x++) {
            memcpy(pixels + (y * width + x) * 3, row + (x / factor) * 3, 3);
        }
    }
    free(image->pixels);
    *image = (cli_image){pixels, (uint32_t)width, (uint32_t)height};
    return true;
}

typedef struct panel {
    int64_t scale, width, height;
    int64_t name_width, text_width;
} panel;

/* The largest text whose panel takes at most two thirds of the picture's width and its height. */
static panel panel_fit(uint32_t width, uint32_t height, const cli_line *lines, size_t count)
{
    panel fit = {.scale = 1};
    for (size_t i = 0; i < count; i++) {
        const int64_t name = cli_text_width(lines[i].name, 1);
        const int64_t text = cli_text_width(lines[i].text, 1);
        fit.name_width = name > fit.name_width ? name : fit.name_width;
        fit.text_width = text > fit.text_width ? text : fit.text_width;
    }
    fit.width = fit.name_width + fit.text_width + BAR_WIDTH + PERCENT_WIDTH + 3 * GAP + 2 * MARGIN;
    fit.height = (int64_t)count * LINE_HEIGHT + 2 * MARGIN;
    while (fit.scale < 8 && fit.width * (fit.scale + 1) <= width * 2 / 3 &&
           fit.height * (fit.scale + 1) <= height) {
        fit.scale++;
    }
    fit.width *= fit.scale;
    fit.height *= fit.scale;
    return fit;
}

static void panel_draw(cli_image *image, int64_t left, const panel *fit, const cli_line *lines, size_t count)
{
    static const cli_color name = {170, 190, 215, 255};
    static const cli_color answer = {255, 255, 255, 255};
    static const cli_color trough = {255, 255, 255, 45};
    static const cli_color bar = {96, 200, 120, 255};
    const int64_t scale = fit->scale;
    for (size_t i = 0; i < count; i++) {
        const int64_t y = (MARGIN + (int64_t)i * LINE_HEIGHT) * scale;
        int64_t x = left + MARGIN * scale;
        cli_draw_text(image, x, y + 2 * scale, scale, lines[i].name, name);
        x += (fit->name_width + GAP) * scale;
        cli_draw_text(image, x, y + 2 * scale, scale, lines[i].text, answer);
        x += (fit->text_width + GAP) * scale;
        if (lines[i].score >= 0.0) {
            char percent[16];
            const double score = lines[i].score > 1.0 ? 1.0 : lines[i].score;
            (void)snprintf(percent, sizeof percent, "%.0f %%", 100.0 * score);
            cli_box box = {x, y + 3 * scale, BAR_WIDTH * scale, 6 * scale};
            cli_draw_rectangle(image, &box, trough);
            box.width = (int64_t)(score * (double)(BAR_WIDTH * scale));
            cli_draw_rectangle(image, &box, bar);
            cli_draw_text(image, x + (BAR_WIDTH + GAP) * scale, y + 2 * scale, scale, percent, name);
        }
    }
}

bool cli_draw_answers(cli_image *image, const uint32_t crop[4], const cli_line *lines, size_t count,
                      char *error)
{
    static const cli_color frame = {96, 200, 120, 255};
    const uint32_t shorter = image->width < image->height ? image->width : image->height;
    const uint32_t factor = shorter * 2 <= READABLE ? READABLE / shorter : 1;
    const int64_t left = (int64_t)image->width * factor;
    const panel fit = panel_fit(image->width * factor, image->height * factor, lines, count);
    if (!recanvas(image, factor, fit.width, fit.height)) {
        (void)snprintf(error, CLI_ERROR, "no memory to draw beside the picture");
        return false;
    }
    const int64_t thick = shorter * factor / 240 + 1;
    const cli_box seen = {(int64_t)crop[0] * factor, (int64_t)crop[1] * factor, (int64_t)crop[2] * factor,
                          (int64_t)crop[3] * factor};
    cli_draw_outline(image, &seen, thick, frame);
    panel_draw(image, left, &fit, lines, count);
    return true;
}
