/*
 * mask.c: masks of networks at the size of the frame.
 */
#include <math.h>
#include <stdbool.h>

#include "mts/kit.h"

/* Pixels of the frame to pixels of the mask. */
static bool invert(const mts_kit_map *map, uint32_t width, uint32_t height, double out[6])
{
    const double *m = map->m;
    const double det = m[0] * m[4] - m[1] * m[3];
    if (!isfinite(det) || fabs(det) < 1e-12) {
        return false;
    }
    out[0] = m[4] / det * width;
    out[1] = -m[1] / det * width;
    out[2] = (m[1] * m[5] - m[4] * m[2]) / det * width;
    out[3] = -m[3] / det * height;
    out[4] = m[0] / det * height;
    out[5] = (m[3] * m[2] - m[0] * m[5]) / det * height;
    return isfinite(out[2]) && isfinite(out[5]);
}

typedef struct mask_view {
    const float *values;
    uint32_t width, height, step;
} mask_view;

static float at(const mask_view *mask, uint32_t x, uint32_t y)
{
    return mask->values[((size_t)y * mask->width + x) * mask->step];
}

/* Bilinear between the middles of pixels. */
static float sample(const mask_view *mask, double x, double y)
{
    const double right = fmin(fmax(x - 0.5, 0.0), mask->width - 1.0);
    const double down = fmin(fmax(y - 0.5, 0.0), mask->height - 1.0);
    const uint32_t x0 = (uint32_t)right;
    const uint32_t y0 = (uint32_t)down;
    const uint32_t x1 = x0 + 1 < mask->width ? x0 + 1 : x0;
    const uint32_t y1 = y0 + 1 < mask->height ? y0 + 1 : y0;
    const float s = (float)(right - x0);
    const float t = (float)(down - y0);
    const float upper = at(mask, x0, y0) * (1.0f - s) + at(mask, x1, y0) * s;
    const float lower = at(mask, x0, y1) * (1.0f - s) + at(mask, x1, y1) * s;
    return upper * (1.0f - t) + lower * t;
}

static uint8_t level(float value, mts_kit_mask_kind kind, float threshold)
{
    const float probability = kind == MTS_KIT_MASK_LOGIT ? mts_kit_sigmoid(value) : value;
    if (threshold >= 0.0f) {
        return probability > threshold ? 255 : 0;
    }
    const float scaled = probability * 255.0f + 0.5f;
    return scaled >= 255.0f ? 255 : scaled > 0.0f ? (uint8_t)scaled : 0;
}

mts_status mts_kit_mask_resize(const mts_kit_map *map, const float *mask, uint32_t width, uint32_t height,
                               uint32_t step, mts_kit_mask_kind kind, float threshold, uint32_t frame_width,
                               uint32_t frame_height, uint8_t *alpha)
{
    const mask_view view = {.values = mask, .width = width, .height = height, .step = step};
    double m[6];
    if (width == 0 || height == 0 || step == 0 || frame_width == 0 || frame_height == 0 ||
        !invert(map, width, height, m)) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    for (uint32_t row = 0; row < frame_height; row++) {
        for (uint32_t column = 0; column < frame_width; column++) {
            const double x = m[0] * (column + 0.5) + m[1] * (row + 0.5) + m[2];
            const double y = m[3] * (column + 0.5) + m[4] * (row + 0.5) + m[5];
            const bool shown = x >= 0 && y >= 0 && x < width && y < height;
            *alpha++ = shown ? level(sample(&view, x, y), kind, threshold) : 0;
        }
    }
    return MTS_STATUS_OK;
}
