/*
 * landmarks.c: points of networks, refined by their heat maps, and in the frame.
 */
#include <math.h>
#include <stdbool.h>

#include "mts/kit.h"

/* Points with a cooler square than this stay where they are. */
#define LEAST_HEAT 0.5

float mts_kit_sigmoid(float x)
{
    return (float)(1.0 / (1.0 + exp(-(double)x)));
}

void mts_kit_landmarks_map(const mts_kit_map *map, const float *values, uint32_t count, uint32_t stride,
                           uint32_t input_width, uint32_t input_height, mts_kit_landmark *landmarks)
{
    /* Parts of the input's width, as a length in the frame. */
    const double width = hypot(map->m[0], map->m[3]);
    for (uint32_t i = 0; i < count; i++) {
        const float *v = values + (size_t)i * stride;
        float place[2] = {v[0] / (float)input_width, v[1] / (float)input_height};
        mts_kit_point_map(map, place);
        landmarks[i] = (mts_kit_landmark){
            .x = place[0],
            .y = place[1],
            .z = stride >= 3 ? (float)((double)v[2] / input_width * width) : 0.0f,
            .visibility = stride >= 4 ? mts_kit_sigmoid(v[3]) : 1.0f,
            .presence = stride >= 5 ? mts_kit_sigmoid(v[4]) : 1.0f,
        };
    }
}

/* Cells [begin, end) of a direction with `size` cells that are near to the middle one. */
typedef struct cells {
    uint32_t begin, end;
} cells;

static bool find_cells(float place, uint32_t input, uint32_t size, uint32_t side, cells *out)
{
    const double at = (double)place / input * size;
    if (!(at >= 0.0 && at < size)) {
        return false;
    }
    const uint32_t middle = (uint32_t)at;
    const uint32_t reach = side / 2;
    out->begin = middle > reach ? middle - reach : 0;
    out->end = reach < size - middle - 1 ? middle + reach + 1 : size;
    return true;
}

void mts_kit_landmarks_refine(const float *heat, uint32_t heat_width, uint32_t heat_height, uint32_t side,
                              uint32_t input_width, uint32_t input_height, float *values, uint32_t count,
                              uint32_t stride)
{
    for (uint32_t i = 0; i < count; i++) {
        float *v = values + (size_t)i * stride;
        double sum = 0;
        double x = 0;
        double y = 0;
        double most = 0;
        cells columns;
        cells rows;
        if (!find_cells(v[0], input_width, heat_width, side, &columns) ||
            !find_cells(v[1], input_height, heat_height, side, &rows)) {
            continue;
        }
        for (uint32_t r = rows.begin; r < rows.end; r++) {
            for (uint32_t c = columns.begin; c < columns.end; c++) {
                const size_t cell = (size_t)r * heat_width + c;
                const double warmth = (double)mts_kit_sigmoid(heat[cell * count + i]);
                sum += warmth;
                x += warmth * c;
                y += warmth * r;
                most = warmth > most ? warmth : most;
            }
        }
        if (most >= LEAST_HEAT && sum > 0) {
            v[0] = (float)(x / sum / heat_width * input_width);
            v[1] = (float)(y / sum / heat_height * input_height);
        }
    }
}
