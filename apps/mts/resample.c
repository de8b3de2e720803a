/*
 * resample.c: a triangle filter along rows, then along columns. Its half width is one pixel, of the larger of
 * the two pictures.
 */
#include "resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels [first, first + count) of the old picture make one of the new. */
typedef struct tap {
    uint32_t first, count;
    float *weights; /* [count], their sum is 1 */
} tap;

static void tap_make(tap *t, uint32_t at, uint32_t from, uint32_t to)
{
    const double scale = (double)from / to;
    const double reach = scale > 1 ? scale : 1;
    const double centre = (at + 0.5) * scale;
    const double low = floor(centre - reach + 0.5);
    const double high = floor(centre + reach + 0.5);
    double sum = 0;
    t->first = low > 0 ? (uint32_t)low : 0;
    t->count = (high < from ? (uint32_t)high : from) - t->first;
    for (uint32_t i = 0; i < t->count; i++) {
        const double far = fabs(t->first + i + 0.5 - centre) / reach;
        t->weights[i] = far < 1 ? (float)(1 - far) : 0.0f;
        sum += (double)t->weights[i];
    }
    for (uint32_t i = 0; i < t->count; i++) {
        t->weights[i] = (float)((double)t->weights[i] / sum);
    }
}

/* One tap for each of `to` pixels, in one allocation; NULL: no memory. */
static tap *taps_make(uint32_t from, uint32_t to)
{
    const size_t most = 2 * (size_t)(from > to ? from / to + 1 : 1) + 2;
    tap *taps = malloc(to * (sizeof *taps + most * sizeof(float)));
    for (uint32_t i = 0; taps && i < to; i++) {
        taps[i].weights = (float *)(void *)(taps + to) + i * most;
        tap_make(&taps[i], i, from, to);
    }
    return taps;
}

/* Row `y` of the old picture, shrunk or stretched. */
static void row_resample(const cli_image *image, uint32_t y, const tap *taps, uint32_t width, float *out)
{
    const unsigned char *row = image->pixels + 3 * (size_t)y * image->width;
    for (uint32_t x = 0; x < width; x++) {
        const unsigned char *from = row + 3 * (size_t)taps[x].first;
        float sums[3] = {0, 0, 0};
        for (uint32_t i = 0; i < taps[x].count; i++) {
            for (int c = 0; c < 3; c++) {
                sums[c] += taps[x].weights[i] * (float)from[3 * i + (uint32_t)c];
            }
        }
        memcpy(out + 3 * (size_t)x, sums, sizeof sums);
    }
}

static void columns_resample(const float *rows, const tap *taps, uint32_t width, uint32_t height,
                             unsigned char *rgb)
{
    const size_t line = 3 * (size_t)width;
    for (uint32_t y = 0; y < height; y++) {
        for (size_t x = 0; x < line; x++) {
            float sum = 0.5f;
            for (uint32_t i = 0; i < taps[y].count; i++) {
                sum += taps[y].weights[i] * rows[(taps[y].first + i) * line + x];
            }
            rgb[y * line + x] = sum < 255.0f ? (unsigned char)sum : 255;
        }
    }
}

bool cli_resample(const cli_image *image, uint32_t width, uint32_t height, unsigned char *rgb)
{
    if (width == 0 || height == 0 || image->width == 0 || image->height == 0) {
        return false;
    }
    if (width == image->width && height == image->height) {
        memcpy(rgb, image->pixels, 3 * (size_t)width * height);
        return true;
    }
    tap *across = taps_make(image->width, width);
    tap *down = taps_make(image->height, height);
    float *rows = malloc(3 * (size_t)width * image->height * sizeof *rows);
    const bool made = across && down && rows;
    for (uint32_t y = 0; made && y < image->height; y++) {
        row_resample(image, y, across, width, rows + 3 * (size_t)y * width);
    }
    if (made) {
        columns_resample(rows, down, width, height, rgb);
    }
    free(across);
    free(down);
    free(rows);
    return made;
}
