/*
 * canvas.h: rectangles, dots and words on an RGB picture. Everything is cut off at the
 * picture's border; nothing fails, and nothing is allocated.
 */
#ifndef MTS_KIT_CANVAS_H
#define MTS_KIT_CANVAS_H

#include <stdbool.h>

#include "image.h"

typedef struct cli_color {
    uint8_t r, g, b, alpha; /* alpha 255: covers what is there */
} cli_color;

typedef struct cli_box {
    int64_t x, y, width, height; /* pixels; nothing is drawn of one that is empty. |value| up to 2^40 */
} cli_box;

/* A computed place as a pixel, rounded down and at most 2^40 away. False, and *pixel is
   as it was: it is no finite number. */
bool cli_pixel_at(double place, int64_t *pixel);
void cli_draw_rectangle(cli_image *image, const cli_box *box, cli_color color);
/* A frame of `thick` pixels inside the box; filled if that is half of a side or more. */
void cli_draw_outline(cli_image *image, const cli_box *box, int64_t thick, cli_color color);
/* A disc around the middle of a pixel; radius 0 is that pixel. At most 65536. */
void cli_draw_dot(cli_image *image, int64_t x, int64_t y, int64_t radius, cli_color color);
/* One line of text; x, y is its upper left corner, a letter's pixel is scale x scale
   pixels. What is not printable ASCII is shown as '?', a character of several bytes as
   one. */
void cli_draw_text(cli_image *image, int64_t x, int64_t y, int64_t scale, const char *text, cli_color color);
/* Pixels that a text takes, without the gap behind the last letter. Its height is 8 *
   scale. */
int64_t cli_text_width(const char *text, int64_t scale);
/* A text on a bar that is a little larger than the text; x, y is the bar's upper left
   corner. */
void cli_draw_label(cli_image *image, int64_t x, int64_t y, int64_t scale, const char *text, cli_color color,
                    cli_color bar);
/* Of the bar of cli_draw_label. */
int64_t cli_label_height(int64_t scale);

#endif
