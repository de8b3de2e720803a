/*
 * draw.c: what was found, drawn onto the photo: the mask as a tint of the background,
 * skeletons, meshes and boxes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "holistic.h"
#include "kit/findings.h"

static const cli_color box_color = {255, 196, 0, 255};
static const cli_color mesh_color = {120, 230, 255, 150};
static const cli_color contour_color = {255, 255, 255, 235};
static const cli_color iris_color = {255, 64, 160, 255};
static const cli_color bone_color = {64, 255, 128, 235};
static const cli_color joint_color = {255, 80, 40, 255};
static const cli_color hand_colors[2] = {{80, 170, 255, 255}, {255, 130, 210, 255}}; /* left, right */

static cli_place place(const mts_kit_landmark *point)
{
    return (cli_place){(double)point->x, (double)point->y};
}

/* The background becomes darker and bluer; persons stay as they are. */
static bool mask_draw(const holistic_result *result, cli_image *image)
{
    const mts_region whole = {0};
    mts_kit_map map;
    uint8_t *alpha = malloc((size_t)image->width * image->height);
    mts_kit_map_of_region(&whole, image->width, image->height, MASK_SIDE, MASK_SIDE, &map);
    if (!alpha || mts_kit_mask_resize(&map, result->mask, MASK_SIDE, MASK_SIDE, 1, MTS_KIT_MASK_PROBABILITY,
                                      -1.0f, image->width, image->height, alpha) != MTS_STATUS_OK) {
        free(alpha);
        return false;
    }
    cli_draw_mask(image, alpha);
    free(alpha);
    return true;
}

static void face_draw(const holistic_face *face, cli_image *image)
{
    const double across = (double)face->box.right - (double)face->box.left;
    const double thin = fmax(1.0, across / 160.0);
    char text[32];
    (void)snprintf(text, sizeof text, "face %.0f %%", 100.0 * (double)face->box.score);
    mts_kit_detection box = face->box;
    box.point_count = 0; /* the mesh shows them */
    cli_draw_detection(image, &box, text, box_color);
    if (!face->meshed) {
        return;
    }
    cli_draw_landmarks(image, face->mesh, MESH_POINTS, thin * 0.7, mesh_color);
    cli_draw_skeleton(image, face->mesh, cli_skeleton_find(MESH_POINTS), thin, contour_color);
    for (size_t i = 0; i < 2; i++) {
        const cli_place middle = place(&face->irises[i][0]);
        double radius = 0;
        for (size_t k = 1; k < IRIS_POINTS; k++) {
            const cli_place edge = place(&face->irises[i][k]);
            radius += hypot(edge.x - middle.x, edge.y - middle.y) / (IRIS_POINTS - 1);
        }
        cli_draw_ring(image, middle, radius, thin, iris_color);
    }
}

static void hand_draw(const holistic_hand *hand, cli_image *image)
{
    const mts_kit_landmark *p = hand->points;
    const double length = hypot((double)p[9].x - (double)p[0].x, (double)p[9].y - (double)p[0].y);
    const double width = fmax(1.0, length / 24.0);
    cli_draw_skeleton(image, p, cli_skeleton_find(HAND_POINTS), width,
                      hand_colors[hand->right > 0.5f ? 1 : 0]);
    cli_draw_landmarks(image, p, HAND_POINTS, width, contour_color);
}

/* Without the face's points where a mesh is drawn. */
static void pose_draw(const holistic_result *result, cli_image *image)
{
    const mts_kit_landmark *p = result->pose;
    const double width = 2.0 * cli_stroke_width(image);
    const uint32_t first = result->face_count > 0 && result->faces[0].meshed ? 11 : 0;
    cli_draw_skeleton(image, p, first ? cli_skeleton_body() : cli_skeleton_find(POSE_POINTS), width,
                      bone_color);
    cli_draw_landmarks(image, p + first, POSE_POINTS - first, width, joint_color);
}

bool holistic_draw(const holistic_result *result, cli_image *image, char *error)
{
    if (!mask_draw(result, image)) {
        (void)snprintf(error, CLI_ERROR, "no memory to draw the mask");
        return false;
    }
    if (result->posed) {
        pose_draw(result, image);
    }
    for (uint32_t i = 0; i < result->hand_count; i++) {
        hand_draw(&result->hands[i], image);
    }
    for (uint32_t i = 0; i < result->face_count; i++) {
        face_draw(&result->faces[i], image);
    }
    return true;
}
