/*
 * region.c: see region.h.
 */
#include "frame/region.h"

#include <float.h>
#include <math.h>
#include <string.h>

void mts_region_point(const mts_region *region, double s, double t, double place[2])
{
    const double across = region->mirror ? 1.0 - s : s;
    double a = across;
    double b = t;
    switch (region->rotation) { /* undoes quarter turns to the right */
    case MTS_ROTATION_0:
        break;
    case MTS_ROTATION_90:
        a = t;
        b = 1.0 - across;
        break;
    case MTS_ROTATION_180:
        a = 1.0 - across;
        b = 1.0 - t;
        break;
    case MTS_ROTATION_270:
        a = 1.0 - t;
        b = across;
        break;
    }
    const double x = (a - 0.5) * (double)region->sides[0];
    const double y = (b - 0.5) * (double)region->sides[1];
    const double c = cos((double)region->angle);
    const double d = sin((double)region->angle);
    place[0] = (double)region->middle[0] + x * c - y * d;
    place[1] = (double)region->middle[1] + x * d + y * c;
}

/* Shrinks one side, so that the sides relate as the input's; the middle stays. */
static void crop(mts_region *region, uint32_t frame_width, uint32_t frame_height, uint32_t input_width,
                 uint32_t input_height)
{
    const bool quarter = mts_region_is_quarter(region);
    const double across = quarter ? input_height : input_width;
    const double down = quarter ? input_width : input_height;
    if (region->sides[0] > 0.0f) {
        const double scale = fmin((double)region->sides[0] / across, (double)region->sides[1] / down);
        /* a side of 0 would stand for the whole frame */
        region->sides[0] = (float)fmax(scale * across, FLT_MIN);
        region->sides[1] = (float)fmax(scale * down, FLT_MIN);
        return;
    }
    const bool whole = region->width == 0;
    const uint32_t width = whole ? frame_width : region->width;
    const uint32_t height = whole ? frame_height : region->height;
    const double scale = fmin(width / across, height / down);
    const uint32_t cut_width = (uint32_t)fmin(fmax(floor(scale * across + 0.5), 1.0), width);
    const uint32_t cut_height = (uint32_t)fmin(fmax(floor(scale * down + 0.5), 1.0), height);
    region->x = (whole ? 0 : region->x) + (width - cut_width) / 2;
    region->y = (whole ? 0 : region->y) + (height - cut_height) / 2;
    region->width = cut_width;
    region->height = cut_height;
}

/* The pixels from `begin` to `begin + length`, parts of a side of `size` pixels; at least
   one. */
static void crop_side(double begin, double length, uint32_t size, uint32_t *first, uint32_t *count)
{
    const uint32_t end = (uint32_t)fmin(fmax(floor((begin + length) * size + 0.5), 1.0), size);
    *first = (uint32_t)fmin(fmax(floor(begin * size + 0.5), 0.0), end - 1.0);
    *count = end - *first;
}

mts_region mts_region_take_defaults(const mts_region *region, const mts_region_defaults *defaults,
                                    uint32_t frame_width, uint32_t frame_height)
{
    mts_region shown = *region;
    const float *part = defaults->crop;
    if (shown.width == 0 && shown.sides[0] <= 0.0f && part[2] > 0.0f) {
        crop_side((double)part[0], (double)part[2], frame_width, &shown.x, &shown.width);
        crop_side((double)part[1], (double)part[3], frame_height, &shown.y, &shown.height);
    }
    if (shown.fit == MTS_FIT_TASK && defaults->fit != MTS_FIT_TASK) {
        shown.fit = defaults->fit;
        memcpy(shown.fill, defaults->fill, sizeof shown.fill);
    }
    if (shown.filter == MTS_FILTER_TASK) {
        shown.filter = defaults->filter;
    }
    return shown;
}

mts_region mts_region_resolve(const mts_region *region, const mts_region_defaults *defaults,
                              uint32_t frame_width, uint32_t frame_height, uint32_t input_width,
                              uint32_t input_height)
{
    static const mts_region_defaults none = {0};
    mts_region shown =
        mts_region_take_defaults(region, defaults ? defaults : &none, frame_width, frame_height);
    shown.filter = shown.filter == MTS_FILTER_AREA ? MTS_FILTER_AREA : MTS_FILTER_BILINEAR;
    if (shown.fit == MTS_FIT_CROP) {
        crop(&shown, frame_width, frame_height, input_width, input_height);
    }
    if (shown.fit == MTS_FIT_TASK || shown.fit == MTS_FIT_CROP) {
        shown.fit = MTS_FIT_STRETCH;
    }
    return shown;
}

mts_region_part mts_region_part_of(mts_fit fit, double wide, double high, uint32_t input_width,
                                   uint32_t input_height)
{
    mts_region_part part = {.rows = input_height, .columns = input_width};
    if (fit != MTS_FIT_LETTERBOX && fit != MTS_FIT_LETTERBOX_CORNER) {
        return part;
    }
    const double scale = fmin(input_height / high, input_width / wide);
    part.rows = (uint32_t)fmin(fmax(floor(high * scale + 0.5), 1.0), input_height);
    part.columns = (uint32_t)fmin(fmax(floor(wide * scale + 0.5), 1.0), input_width);
    if (fit == MTS_FIT_LETTERBOX) {
        part.top = (input_height - part.rows) / 2;
        part.left = (input_width - part.columns) / 2;
    }
    return part;
}
