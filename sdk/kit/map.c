/*
 * map.c: where the pixels of an input lie in the frame. Not responsible for points that
 * need more than an affine map (landmarks.c).
 */
#include <stddef.h>
#include <string.h>

#include "frame/region.h"
#include "mts/kit.h"

void mts_kit_region_of_task(const mts_region *region, const mts_task_desc *task, uint32_t frame_width,
                            uint32_t frame_height, mts_region *shown)
{
    mts_region_defaults defaults = {.fit = task->fit, .filter = task->filter};
    memcpy(defaults.fill, task->fill, sizeof defaults.fill);
    /* a caller that was built with an older header has no crop */
    if (task->size >= offsetof(mts_task_desc, crop) + sizeof task->crop) {
        memcpy(defaults.crop, task->crop, sizeof defaults.crop);
    }
    *shown = mts_region_take_defaults(region, &defaults, frame_width, frame_height);
}

void mts_kit_map_of_region(const mts_region *region, uint32_t frame_width, uint32_t frame_height,
                           uint32_t input_width, uint32_t input_height, mts_kit_map *map)
{
    mts_region box = mts_region_resolve(region, NULL, frame_width, frame_height, input_width, input_height);
    if (box.sides[0] <= 0.0f) {
        const int whole = box.width == 0;
        box.sides[0] = (float)(whole ? frame_width : box.width);
        box.sides[1] = (float)(whole ? frame_height : box.height);
        box.middle[0] = (whole ? 0.0f : (float)box.x) + box.sides[0] / 2;
        box.middle[1] = (whole ? 0.0f : (float)box.y) + box.sides[1] / 2;
        box.angle = 0.0f;
    }
    const bool turned = mts_region_is_quarter(&box);
    const mts_region_part part =
        mts_region_part_of(box.fit, (double)box.sides[turned ? 1 : 0], (double)box.sides[turned ? 0 : 1],
                           input_width, input_height);
    double corner[3][2]; /* of the input: upper left, upper right, lower left */
    for (int i = 0; i < 3; i++) {
        const double u = i == 1 ? input_width : 0;
        const double v = i == 2 ? input_height : 0;
        mts_region_point(&box, (u - part.left) / part.columns, (v - part.top) / part.rows, corner[i]);
    }
    for (int k = 0; k < 2; k++) {
        map->m[3 * k] = corner[1][k] - corner[0][k];
        map->m[3 * k + 1] = corner[2][k] - corner[0][k];
        map->m[3 * k + 2] = corner[0][k];
    }
}

void mts_kit_point_map(const mts_kit_map *map, float point[2])
{
    const double *m = map->m;
    const double x = (double)point[0];
    const double y = (double)point[1];
    point[0] = (float)(m[0] * x + m[1] * y + m[2]);
    point[1] = (float)(m[3] * x + m[4] * y + m[5]);
}

static void box_map(const mts_kit_map *map, mts_kit_detection *d)
{
    float corners[4][2] = {
        {d->left, d->top}, {d->right, d->top}, {d->right, d->bottom}, {d->left, d->bottom}};
    for (int i = 0; i < 4; i++) {
        mts_kit_point_map(map, corners[i]);
        const float x = corners[i][0];
        const float y = corners[i][1];
        d->left = i == 0 || x < d->left ? x : d->left;
        d->right = i == 0 || x > d->right ? x : d->right;
        d->top = i == 0 || y < d->top ? y : d->top;
        d->bottom = i == 0 || y > d->bottom ? y : d->bottom;
    }
}

void mts_kit_detections_map(const mts_kit_map *map, mts_kit_detection *detections, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        box_map(map, &detections[i]);
        for (uint32_t p = 0; p < detections[i].point_count && p < MTS_KIT_POINTS_MAX; p++) {
            mts_kit_point_map(map, detections[i].points[p]);
        }
    }
}
