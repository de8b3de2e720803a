/*
 * draw.c: a small software canvas: rectangles, and text as the rectangles of stb_easy_font.
 */
#include "draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stb.h"

#define LINE_HEIGHT 13 /* of the font, in its own pixels */
#define MARGIN 6
#define BAR_WIDTH 48
#define PERCENT_WIDTH 34 /* of "100 %" */
#define BACKGROUND 0x18
#define GAP 8
#define TEXT_MOST 96
#define READABLE 640u /* the shorter side is enlarged to about this */

typedef struct color {
    uint32_t r, g, b, alpha; /* alpha 0..255 */
} color;

/* One corner of a quad as stb_easy_font writes it. */
typedef struct corner {
    float x, y, z;
    unsigned char color[4];
} corner;

static void rectangle(cli_image *image, int64_t x, int64_t y, int64_t width, int64_t height, color fill)
{
    const int64_t left = x < 0 ? 0 : x;
    const int64_t top = y < 0 ? 0 : y;
    const int64_t right = x + width > image->width ? image->width : x + width;
    const int64_t bottom = y + height > image->height ? image->height : y + height;
    for (int64_t row = top; row < bottom; row++) {
        unsigned char *pixel = image->pixels + ((size_t)row * image->width + (size_t)left) * 3;
        for (int64_t column = left; column < right; column++, pixel += 3) {
            pixel[0] = (unsigned char)((pixel[0] * (255 - fill.alpha) + fill.r * fill.alpha) / 255);
            pixel[1] = (unsigned char)((pixel[1] * (255 - fill.alpha) + fill.g * fill.alpha) / 255);
            pixel[2] = (unsigned char)((pixel[2] * (255 - fill.alpha) + fill.b * fill.alpha) / 255);
        }
    }
}

/* A frame of `thick` pixels inside the rectangle. */
static void outline(cli_image *image, int64_t x, int64_t y, int64_t width, int64_t height, int64_t thick,
                    color fill)
{
    rectangle(image, x, y, width, thick, fill);
    rectangle(image, x, y + height - thick, width, thick, fill);
    rectangle(image, x, y + thick, thick, height - 2 * thick, fill);
    rectangle(image, x + width - thick, y + thick, thick, height - 2 * thick, fill);
}

/* The font has only printable ASCII. */
static void printable(const char *text, char *out)
{
    size_t length = 0;
    for (; text[length] && length + 1 < TEXT_MOST; length++) {
        out[length] = (text[length] < 0x20 || text[length] > 0x7e) ? '?' : text[length];
    }
    out[length] = '\0';
}

static int64_t text_width(const char *text)
{
    char plain[TEXT_MOST];
    printable(text, plain);
    return cli_stb_text_width(plain);
}

static void text_draw(cli_image *image, int64_t x, int64_t y, int64_t scale, const char *text, color fill)
{
    static const size_t quad_corners = 4;
    corner corners[TEXT_MOST * 24];
    char plain[TEXT_MOST];
    printable(text, plain);
    const int quads = cli_stb_text(plain, corners, (int)sizeof corners);
    for (int q = 0; q < quads; q++) {
        const corner *from = &corners[(size_t)q * quad_corners];
        const corner *to = from + 2; /* the opposite corner */
        rectangle(image, x + (int64_t)from->x * scale, y + (int64_t)from->y * scale,
                  (int64_t)(to->x - from->x) * scale, (int64_t)(to->y - from->y) * scale, fill);
    }
}

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
        const int64_t name = text_width(lines[i].name);
        const int64_t text = text_width(lines[i].text);
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
    static const color name = {170, 190, 215, 255};
    static const color answer = {255, 255, 255, 255};
    static const color trough = {255, 255, 255, 45};
    static const color bar = {96, 200, 120, 255};
    const int64_t scale = fit->scale;
    for (size_t i = 0; i < count; i++) {
        const int64_t y = (MARGIN + (int64_t)i * LINE_HEIGHT) * scale;
        int64_t x = left + MARGIN * scale;
        text_draw(image, x, y + 2 * scale, scale, lines[i].name, name);
        x += (fit->name_width + GAP) * scale;
        text_draw(image, x, y + 2 * scale, scale, lines[i].text, answer);
        x += (fit->text_width + GAP) * scale;
        if (lines[i].score >= 0.0) {
            char percent[16];
            const double score = lines[i].score > 1.0 ? 1.0 : lines[i].score;
            (void)snprintf(percent, sizeof percent, "%.0f %%", 100.0 * score);
            rectangle(image, x, y + 3 * scale, BAR_WIDTH * scale, 6 * scale, trough);
            rectangle(image, x, y + 3 * scale, (int64_t)(score * (double)(BAR_WIDTH * scale)), 6 * scale,
                      bar);
            text_draw(image, x + (BAR_WIDTH + GAP) * scale, y + 2 * scale, scale, percent, name);
        }
    }
}

bool cli_draw_answers(cli_image *image, const uint32_t crop[4], const cli_line *lines, size_t count,
                      char *error)
{
    static const color frame = {96, 200, 120, 255};
    const uint32_t shorter = image->width < image->height ? image->width : image->height;
    const uint32_t factor = shorter * 2 <= READABLE ? READABLE / shorter : 1;
    const int64_t left = (int64_t)image->width * factor;
    const panel fit = panel_fit(image->width * factor, image->height * factor, lines, count);
    if (!recanvas(image, factor, fit.width, fit.height)) {
        (void)snprintf(error, CLI_ERROR, "no memory to draw beside the picture");
        return false;
    }
    const int64_t thick = shorter * factor / 240 + 1;
    outline(image, (int64_t)crop[0] * factor, (int64_t)crop[1] * factor, (int64_t)crop[2] * factor,
            (int64_t)crop[3] * factor, thick, frame);
    panel_draw(image, left, &fit, lines, count);
    return true;
}
