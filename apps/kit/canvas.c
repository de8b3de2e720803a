/*
 * canvas.c: a small software canvas. Everything is made of clipped rectangles.
 */
#include "canvas.h"

#include <math.h>
#include <stddef.h>

#include "font.h"

#define FARTHEST 0x1p40 /* sums of a few of these are far from the end of int64_t */

bool cli_pixel_at(double place, int64_t *pixel)
{
    if (!isfinite(place)) {
        return false;
    }
    *pixel = (int64_t)floor(fmax(-FARTHEST, fmin(place, FARTHEST)));
    return true;
}

static uint8_t mix(uint8_t below, uint8_t above, uint32_t alpha)
{
    return (uint8_t)((below * (255u - alpha) + above * alpha + 127u) / 255u);
}

void cli_draw_rectangle(cli_image *image, const cli_box *box, cli_color color)
{
    const int64_t left = box->x < 0 ? 0 : box->x;
    const int64_t top = box->y < 0 ? 0 : box->y;
    const int64_t right = box->x + box->width > image->width ? image->width : box->x + box->width;
    const int64_t bottom = box->y + box->height > image->height ? image->height : box->y + box->height;
    for (int64_t row = top; row < bottom && left < right; row++) {
        unsigned char *pixel = image->pixels + ((size_t)row * image->width + (size_t)left) * 3;
        for (int64_t column = left; column < right; column++, pixel += 3) {
            pixel[0] = mix(pixel[0], color.r, color.alpha);
            pixel[1] = mix(pixel[1], color.g, color.alpha);
            pixel[2] = mix(pixel[2], color.b, color.alpha);
        }
    }
}

void cli_draw_outline(cli_image *image, const cli_box *box, int64_t thick, cli_color color)
{
    if (box->width <= 2 * thick || box->height <= 2 * thick) {
        cli_draw_rectangle(image, box, color);
        return;
    }
    const int64_t inner = box->height - 2 * thick;
    const cli_box sides[4] = {
        {box->x, box->y, box->width, thick},
        {box->x, box->y + box->height - thick, box->width, thick},
        {box->x, box->y + thick, thick, inner},
        {box->x + box->width - thick, box->y + thick, thick, inner},
    };
    for (size_t i = 0; i < 4; i++) {
        cli_draw_rectangle(image, &sides[i], color);
    }
}

void cli_draw_dot(cli_image *image, int64_t x, int64_t y, int64_t radius, cli_color color)
{
    int64_t reach = radius;
    if (y + radius < 0 || y - radius >= image->height) {
        return;
    }
    for (int64_t away = 0; away <= radius; away++) { /* rows from the middle outwards, ever shorter */
        while (reach > 0 && reach * reach + away * away > radius * radius + radius) {
            reach--;
        }
        cli_draw_rectangle(image, &(cli_box){x - reach, y + away, 2 * reach + 1, 1}, color);
        if (away > 0) {
            cli_draw_rectangle(image, &(cli_box){x - reach, y - away, 2 * reach + 1, 1}, color);
        }
    }
}

/* The next letter of a text in UTF-8; bytes that go on with a character are passed
   over. */
static const char *letter_next(const char *text)
{
    text++;
    while (((unsigned char)*text & 0xc0u) == 0x80u) {
        text++;
    }
    return text;
}

int64_t cli_text_width(const char *text, int64_t scale)
{
    int64_t letters = 0;
    for (const char *at = text; *at; at = letter_next(at)) {
        letters++;
    }
    return letters > 0 ? (letters * CLI_FONT_ADVANCE - 1) * scale : 0;
}

static void letter_draw(cli_image *image, int64_t x, int64_t y, int64_t scale, char letter, cli_color color)
{
    const uint8_t *rows = cli_font_glyph(letter);
    for (int64_t row = 0; row < CLI_FONT_HEIGHT; row++) {
        for (int64_t column = 0; column < CLI_FONT_WIDTH; column++) {
            if (rows[row] >> (CLI_FONT_WIDTH - 1 - column) & 1) {
                const cli_box dot = {x + column * scale, y + row * scale, scale, scale};
                cli_draw_rectangle(image, &dot, color);
            }
        }
    }
}

void cli_draw_text(cli_image *image, int64_t x, int64_t y, int64_t scale, const char *text, cli_color color)
{
    for (const char *at = text; *at && x < image->width; at = letter_next(at)) {
        letter_draw(image, x, y, scale, *at, color);
        x += CLI_FONT_ADVANCE * scale;
    }
}

int64_t cli_label_height(int64_t scale)
{
    return (CLI_FONT_HEIGHT + 3) * scale;
}

void cli_draw_label(cli_image *image, int64_t x, int64_t y, int64_t scale, const char *text, cli_color color,
                    cli_color bar)
{
    const cli_box box = {x, y, cli_text_width(text, scale) + 4 * scale, cli_label_height(scale)};
    cli_draw_rectangle(image, &box, bar);
    cli_draw_text(image, x + 2 * scale, y + 2 * scale, scale, text, color);
}
