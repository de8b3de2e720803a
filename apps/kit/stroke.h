/*
 * stroke.h: lines and discs with smooth edges, at places between pixels.
 */
#ifndef MTS_KIT_STROKE_H
#define MTS_KIT_STROKE_H

#include "canvas.h"

/* A place on the picture; the middle of its first pixel is 0.5, 0.5. */
typedef struct cli_place {
    double x, y;
} cli_place;

/* A line `width` pixels wide with round ends. Nothing is drawn of places that are no
   finite numbers. */
void cli_draw_line(cli_image *image, cli_place from, cli_place to, double width, cli_color color);
void cli_draw_disc(cli_image *image, cli_place middle, double radius, cli_color color);
/* A circle line. */
void cli_draw_ring(cli_image *image, cli_place middle, double radius, double width, cli_color color);
/* Widths that are seen at the picture's size: of a thin line, and of the pixels of
   letters. */
double cli_stroke_width(const cli_image *image);
int64_t cli_letter_scale(const cli_image *image);

#endif
