/*
 * pixels.c: see pixels.h.
 */
#include "platform/reference/pixels.h"

#include <math.h>
#include <stdbool.h>

/* Reason why an image cannot be written, or NULL. */
static const char *check_image(const mts_reference_pixels *to, const mts_frame_params *r)
{
    if (r->channels < 1 || r->channels > 4 || r->height == 0 || r->width == 0) {
        return "the image is none";
    }
    const uint64_t last = r->out + (uint64_t)(r->channels - 1) * r->step[0] +
                          (uint64_t)(r->height - 1) * r->step[1] + (uint64_t)(r->width - 1) * r->step[2];
    if (last >= to->elements) {
        return "the image leaves the arena";
    }
    if ((uint64_t)r->top + r->rows > r->height || (uint64_t)r->left + r->columns > r->width) {
        return "the part that shows the region leaves the image";
    }
    return NULL;
}

/* Reason why a region cannot be read, or NULL. */
static const char *check_region(const mts_reference_pixels *to, const mts_frame_params *r)
{
    if (r->w == 0 || r->h == 0 || r->shift[0] > 1 || r->shift[1] > 1) {
        return "the region is none";
    }
    const uint64_t x = (uint64_t)r->x + r->w - 1;
    const uint64_t y = (uint64_t)r->y + (r->packed ? 2 * (uint64_t)r->rows : r->h) - 1;
    if (r->turned_by &&
        (r->packed || r->turned || r->flip_x || r->flip_y || r->box[0] == 0 || r->box[1] == 0)) {
        return "a rectangle at any angle is turned otherwise too";
    }
    if (r->packed && (r->turned || r->flip_y || r->box[0] || r->h / 2 < r->rows || r->rows == 0)) {
        return "rows are packed that cannot be";
    }
    for (int k = 0; k < 3; k++) {
        const uint64_t row = k == 0 ? y : y >> r->shift[0];
        const uint64_t column = k == 0 ? x * r->pixel[0] : (x >> r->shift[1]) * r->pixel[1];
        if (r->plane[k] + row * r->stride[k] + column >= to->frame_bytes) {
            return "the region leaves the frame's buffer";
        }
    }
    return NULL;
}

static double clamp(double x)
{
    return x < 0.0 ? 0.0 : x > 255.0 ? 255.0 : x;
}

/* Red, green, blue and luma of pixel (p, q) of the region as it is seen upright. */
static void pixel_colours(const mts_reference_pixels *to, const mts_frame_params *r, uint32_t p, uint32_t q,
                          double colours[4])
{
    const unsigned char *frame = to->frame;
    const uint32_t across = r->turned ? p : q;
    const uint32_t down = r->turned ? q : p;
    const uint64_t x = r->x + (r->flip_x ? r->w - 1 - across : across);
    const uint64_t y = r->y + (r->flip_y ? r->h - 1 - down : down);
    double v[3];
    for (int k = 0; k < 3; k++) {
        const uint64_t row = k == 0 ? y : y >> r->shift[0];
        const uint64_t column = k == 0 ? x * r->pixel[0] : (x >> r->shift[1]) * r->pixel[1];
        v[k] = frame[r->plane[k] + row * r->stride[k] + column];
    }
    if (r->yuv) {
        const double luma = (double)r->gain * v[0] + (double)r->bias;
        const double u = v[1] - 128.0;
        const double w = v[2] - 128.0;
        v[0] = clamp(luma + (double)r->rv * w);
        v[1] = clamp(luma - (double)r->gu * u - (double)r->gv * w);
        v[2] = clamp(luma + (double)r->bu * u);
    }
    for (int k = 0; k < 3; k++) {
        colours[k] = v[k];
    }
    colours[3] = 0.299 * v[0] + 0.587 * v[1] + 0.114 * v[2];
}

/* Pixels of a direction that image pixel `at` is made of. Weights are found by
   frame_weight. */
typedef struct span {
    bool box;
    double start, end; /* what is covered (box), or the point itself */
    uint32_t first, last;
} span;

static span find_span(const mts_frame_params *r, int direction, uint32_t at, uint32_t size)
{
    const double ratio = (double)r->ratio[direction];
    span s = {.box = r->box[direction] != 0};
    if (r->packed && direction == 0) {
        const uint64_t m = (2 * (uint64_t)at + 1) * r->h - r->rows;
        s.first = 2 * at;
        s.last = s.first + 1;
        s.start = s.end = s.first + (double)(m % (2 * (uint64_t)r->rows)) / (2.0 * r->rows);
    } else if (s.box) {
        s.start = at * ratio;
        s.end = fmin((at + 1.0) * ratio, size);
        s.first = s.start < size ? (uint32_t)s.start : size - 1;
        s.last = (uint32_t)fmax(ceil(s.end) - 1.0, s.first);
    } else {
        s.start = s.end = fmin(fmax((at + 0.5) * ratio - 0.5, 0.0), size - 1.0);
        s.first = (uint32_t)s.start;
        s.last = s.first + 1 < size ? s.first + 1 : s.first;
    }
    return s;
}

static double span_weight(const span *s, uint32_t i)
{
    if (s->first == s->last) {
        return 1.0;
    }
    return s->box ? (fmin(s->end, i + 1.0) - fmax(s->start, i)) / (s->end - s->start)
                  : 1.0 - fabs(s->start - i);
}

static void mix(const mts_reference_pixels *to, const mts_frame_params *r, const span *rows,
                const span *columns, double sum[4])
{
    for (int k = 0; k < 4; k++) {
        sum[k] = 0.0;
    }
    for (uint32_t p = rows->first; p <= rows->last; p++) {
        for (uint32_t q = columns->first; q <= columns->last; q++) {
            double colours[4];
            pixel_colours(to, r, p, q, colours);
            for (int k = 0; k < 4; k++) {
                sum[k] += span_weight(rows, p) * span_weight(columns, q) * colours[k];
            }
        }
    }
}

/* Red, green, blue and luma of a pixel that the region may reach beyond. */
static void near_colours(const mts_reference_pixels *to, const mts_frame_params *r, double x, double y,
                         double colours[4])
{
    const double column = fmin(fmax(x, r->x), r->x + r->w - 1.0);
    const double row = fmin(fmax(y, r->y), r->y + r->h - 1.0);
    if (r->edge || (column == x && row == y)) {
        pixel_colours(to, r, (uint32_t)row - r->y, (uint32_t)column - r->x, colours);
        return;
    }
    for (int k = 0; k < 3; k++) {
        colours[k] = (double)r->fill[k];
    }
    colours[3] = 0.299 * colours[0] + 0.587 * colours[1] + 0.114 * colours[2];
}

/* The mean of the points of pixel (i, j) of the part that shows a rectangle at any
   angle. */
static void mix_turned(const mts_reference_pixels *to, const mts_frame_params *r, uint32_t i, uint32_t j,
                       double sum[4])
{
    const uint32_t points = r->box[0] * r->box[1];
    for (uint32_t p = 0; p < points; p++) {
        const double u = j + (p % r->box[1] + 0.5) / r->box[1];
        const double v = i + (p / r->box[1] + 0.5) / r->box[0];
        const double x = (double)r->m[0] * u + (double)r->m[1] * v + (double)r->m[2] - 0.5;
        const double y = (double)r->m[3] * u + (double)r->m[4] * v + (double)r->m[5] - 0.5;
        for (int corner = 0; corner < 4; corner++) {
            const double across = corner & 1 ? x - floor(x) : 1.0 - (x - floor(x));
            const double down = corner & 2 ? y - floor(y) : 1.0 - (y - floor(y));
            double colours[4];
            near_colours(to, r, floor(x) + (corner & 1), floor(y) + (corner >> 1), colours);
            for (int k = 0; k < 4; k++) {
                sum[k] += across * down * colours[k] / points;
            }
        }
    }
}

/* A value as the port holds it: an integer of its type where least < most. */
static double code(const mts_frame_params *r, double value)
{
    const double least = (double)r->least, most = (double)r->most;
    return !(least < most) ? value : value > least ? (value < most ? rint(value) : most) : least;
}

static void write_pixel(const mts_reference_pixels *to, const mts_frame_params *r, uint32_t i, uint32_t j)
{
    const bool bar = i < r->top || i - r->top >= r->rows || j < r->left || j - r->left >= r->columns;
    double sum[4] = {0};
    if (!bar && r->turned_by) {
        mix_turned(to, r, i - r->top, j - r->left, sum);
    } else if (!bar) {
        const span rows = find_span(r, 0, i - r->top, r->turned ? r->w : r->h);
        const span columns = find_span(r, 1, j - r->left, r->turned ? r->h : r->w);
        mix(to, r, &rows, &columns, sum);
    }
    float *pixel = to->image + r->out + (uint64_t)i * r->step[1] + (uint64_t)j * r->step[2];
    for (uint32_t c = 0; c < r->channels; c++) {
        const double value = (sum[r->order[c] & 3] - (double)r->mean[c]) * (double)r->scale[c];
        pixel[(uint64_t)c * r->step[0]] = bar ? r->bar[c] : (float)code(r, value);
    }
}

const char *mts_reference_pixels_write(const mts_reference_pixels *to, const mts_frame_params *r)
{
    if (r->idle) {
        return NULL;
    }
    const char *reason = check_image(to, r);
    reason = reason ? reason : check_region(to, r);
    for (uint32_t i = 0; !reason && i < r->height; i++) {
        for (uint32_t j = 0; j < r->width; j++) {
            write_pixel(to, r, i, j);
        }
    }
    return reason;
}
