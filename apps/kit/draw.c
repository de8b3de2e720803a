/*
 * draw.c: the panel of answers, on the picture.
 */
#include "draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "font.h"
#include "stroke.h"

#define LINE_HEIGHT (CLI_FONT_HEIGHT + 5)
#define MARGIN 6
#define BAR_WIDTH 48
#define PERCENT_WIDTH (5 * CLI_FONT_ADVANCE) /* of "100 %" */
#define GAP 8
#define PIXELS_MOST ((uint64_t)64 << 20) /* of an enlarged picture */

/* Pixels become squares of `factor` x `factor`. */
static bool enlarge(cli_image *image, size_t factor)
{
    const size_t width = image->width * factor;
    const size_t height = image->height * factor;
    unsigned char *pixels = malloc(width * height * 3);
    if (!pixels) {
        return false;
    }
    for (size_t y = 0; y < height; y++) {
        const unsigned char *row = image->pixels + (y / factor) * image->width * 3;
        for (size_t x = 0; x < width; x++) {
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

/* What the lines need with letters of the smallest size. */
static panel panel_measure(const cli_line *lines, size_t count)
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
    return fit;
}

/* Times that a picture has to be enlarged so that the panel fits on it. A very long and
   narrow one is enlarged less, and the panel is cut off. */
static size_t factor_find(const cli_image *image, const panel *fit)
{
    const int64_t across = (fit->width + image->width - 1) / image->width;
    const int64_t down = (fit->height + image->height - 1) / image->height;
    const uint64_t pixels = (uint64_t)image->width * image->height;
    uint64_t factor = (uint64_t)(across > down ? across : down);
    while (factor > 1 && pixels * factor * factor > PIXELS_MOST) {
        factor--;
    }
    return (size_t)factor;
}

/* Letters as large as the picture's size wants them, if the panel then fits. */
static void panel_scale(panel *fit, const cli_image *image)
{
    int64_t scale = cli_letter_scale(image);
    while (scale > 1 && (fit->width * scale > image->width || fit->height * scale > image->height)) {
        scale--;
    }
    fit->scale = scale;
    fit->width *= scale;
    fit->height *= scale;
}

/* In the lower left corner. */
static void panel_draw(cli_image *image, const panel *fit, const cli_line *lines, size_t count)
{
    static const cli_color shade = {0, 0, 0, 170};
    static const cli_color name = {170, 190, 215, 255};
    static const cli_color answer = {255, 255, 255, 255};
    static const cli_color trough = {255, 255, 255, 45};
    static const cli_color bar = {96, 200, 120, 255};
    const int64_t scale = fit->scale;
    const int64_t above = (int64_t)image->height - fit->height;
    cli_draw_rectangle(image, &(cli_box){0, above, fit->width, fit->height}, shade);
    for (size_t i = 0; i < count; i++) {
        const int64_t y = above + (MARGIN + (int64_t)i * LINE_HEIGHT) * scale;
        int64_t x = MARGIN * scale;
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
    panel fit = panel_measure(lines, count);
    const size_t factor = count > 0 ? factor_find(image, &fit) : 1;
    const bool whole = crop[2] == image->width && crop[3] == image->height;
    if (factor > 1 && !enlarge(image, factor)) {
        (void)snprintf(error, CLI_ERROR, "no memory to draw onto the picture");
        return false;
    }
    if (!whole) {
        const int64_t times = (int64_t)factor;
        const cli_box seen = {crop[0] * times, crop[1] * times, crop[2] * times, crop[3] * times};
        cli_draw_outline(image, &seen, (int64_t)(cli_stroke_width(image) + 0.5), frame);
    }
    if (count > 0) {
        panel_scale(&fit, image);
        panel_draw(image, &fit, lines, count);
    }
    return true;
}
