/*
 * stroke.c: what is drawn by the distance of each pixel to a line: a pixel is covered by
 * as much as the line is nearer than its half width.
 */
#include "stroke.h"

#include <math.h>

/* Rectangles further out than this are cut off before they become pixels. */
#define FARTHEST 1e6

typedef struct stroke {
    cli_place from, to;
    double inner,
        outer; /* distances between which pixels are covered; inner is negative for all up to outer */
    cli_color color;
} stroke;

static bool near_by(cli_place p)
{
    return fabs(p.x) < FARTHEST && fabs(p.y) < FARTHEST; /* false for NaN */
}

/* Of a pixel's middle to the line. */
static double distance(const stroke *s, double x, double y)
{
    const double dx = s->to.x - s->from.x;
    const double dy = s->to.y - s->from.y;
    const double length = dx * dx + dy * dy;
    const double along = length > 0 ? ((x - s->from.x) * dx + (y - s->from.y) * dy) / length : 0;
    const double at = fmin(fmax(along, 0.0), 1.0);
    return hypot(x - s->from.x - at * dx, y - s->from.y - at * dy);
}

static uint32_t clamp(double place, uint32_t most)
{
    return place <= 0.0 ? 0 : place >= most ? most : (uint32_t)place;
}

static void pixel_mix(unsigned char *pixel, cli_color color, double covered)
{
    const unsigned char above[3] = {color.r, color.g, color.b};
    const double alpha = color.alpha / 255.0 * covered;
    for (int c = 0; c < 3; c++) {
        pixel[c] = (unsigned char)(pixel[c] * (1.0 - alpha) + above[c] * alpha + 0.5);
    }
}

static void stroke_draw(cli_image *image, const stroke *s)
{
    if (!near_by(s->from) || !near_by(s->to) || !(s->outer < FARTHEST)) {
        return;
    }
    const double reach = s->outer + 1.0;
    const uint32_t left = clamp(fmin(s->from.x, s->to.x) - reach, image->width);
    const uint32_t right = clamp(fmax(s->from.x, s->to.x) + reach + 1.0, image->width);
    const uint32_t top = clamp(fmin(s->from.y, s->to.y) - reach, image->height);
    const uint32_t bottom = clamp(fmax(s->from.y, s->to.y) + reach + 1.0, image->height);
    for (uint32_t y = top; y < bottom; y++) {
        unsigned char *row = image->pixels + (size_t)3 * image->width * y;
        for (uint32_t x = left; x < right; x++) {
            const double far = distance(s, x + 0.5, y + 0.5);
            const double covered = fmin(s->outer - far, far - s->inner) + 0.5;
            if (covered > 0.0) {
                pixel_mix(row + (size_t)3 * x, s->color, fmin(covered, 1.0));
            }
        }
    }
}

void cli_draw_line(cli_image *image, cli_place from, cli_place to, double width, cli_color color)
{
    stroke_draw(image, &(stroke){from, to, -FARTHEST, width / 2, color});
}

void cli_draw_disc(cli_image *image, cli_place middle, double radius, cli_color color)
{
    stroke_draw(image, &(stroke){middle, middle, -FARTHEST, radius, color});
}

void cli_draw_ring(cli_image *image, cli_place middle, double radius, double width, cli_color color)
{
    stroke_draw(image, &(stroke){middle, middle, radius - width / 2, radius + width / 2, color});
}

static uint32_t shorter_side(const cli_image *image)
{
    return image->width < image->height ? image->width : image->height;
}

double cli_stroke_width(const cli_image *image)
{
    return fmax(1.0, shorter_side(image) / 400.0);
}

int64_t cli_letter_scale(const cli_image *image)
{
    return shorter_side(image) / 600 + 1;
}
