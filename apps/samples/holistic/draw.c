/*
 * draw.c: what was found, drawn onto the photo: the mask as a tint of the background, skeletons, meshes and
 * boxes. Which landmarks are joined is that of MediaPipe's drawing.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "holistic.h"
#include "kit/stroke.h"

#define PATH_END UINT16_MAX
#define LIST_END (UINT16_MAX - 1)
#define LEAST_SEEN 0.5f /* visibility of a joint that is drawn */

/* Paths from landmark to landmark. */
static const uint16_t face_paths[] = {
    10,  109,      67,  103, 54,  21,       162, 127,      234, 93,  132, 58,      172, 136,      150, 149,
    176, 148,      152, 377, 400, 378,      379, 365,      397, 288, 361, 323,     454, 356,      389, 251,
    284, 332,      297, 338, 10,  PATH_END, /* oval */
    0,   37,       39,  40,  185, 61,       146, 91,       181, 84,  17,  314,     405, 321,      375, 291,
    409, 270,      269, 267, 0,   PATH_END, /* lips */
    13,  82,       81,  80,  191, 78,       95,  88,       178, 87,  14,  317,     402, 318,      324, 308,
    415, 310,      311, 312, 13,  PATH_END, 249, 263,      466, 388, 387, 386,     385, 384,      398, 362,
    382, 381,      380, 374, 373, 390,      249, PATH_END, /* eyes */
    7,   33,       246, 161, 160, 159,      158, 157,      173, 133, 155, 154,     153, 145,      144, 163,
    7,   PATH_END, 276, 283, 282, 295,      285, PATH_END, 300, 293, 334, 296,     336, PATH_END, /* brows */
    46,  53,       52,  65,  55,  PATH_END, 70,  63,       105, 66,  107, LIST_END};
static const uint16_t hand_paths[] = {4,  3,  2,  1,        0,        5,  6,  7,  8,       PATH_END, 0,
                                      17, 13, 9,  5,        PATH_END, 9,  10, 11, 12,      PATH_END, 13,
                                      14, 15, 16, PATH_END, 17,       18, 19, 20, LIST_END};
static const uint16_t pose_paths[] = {
    7,  3,  2,        1,  0,  4,  5,  6,        8,  PATH_END, 9,  10, PATH_END, 21, 15,      13, 11,
    12, 14, 16,       18, 20, 16, 22, PATH_END, 11, 23,       24, 12, PATH_END, 23, 25,      27, 29,
    31, 27, PATH_END, 24, 26, 28, 30, 32,       28, PATH_END, 15, 17, 19,       15, LIST_END};

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

static void paths_draw(cli_image *image, const mts_kit_landmark *points, const uint16_t *paths, double width,
                       cli_color color)
{
    for (; paths[0] != LIST_END && paths[1] != LIST_END; paths++) {
        const bool ends = paths[0] == PATH_END || paths[1] == PATH_END;
        if (!ends && points[paths[0]].visibility >= LEAST_SEEN && points[paths[1]].visibility >= LEAST_SEEN) {
            cli_draw_line(image, place(&points[paths[0]]), place(&points[paths[1]]), width, color);
        }
    }
}

static void points_draw(cli_image *image, const mts_kit_landmark *points, uint32_t count, double radius,
                        cli_color color)
{
    for (uint32_t i = 0; i < count; i++) {
        if (points[i].visibility >= LEAST_SEEN) {
            cli_draw_disc(image, place(&points[i]), radius, color);
        }
    }
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
    for (size_t i = 0; i < (size_t)image->width * image->height; i++) {
        static const double tint[3] = {0.30, 0.42, 0.62};
        for (size_t c = 0; c < 3; c++) {
            const double kept = tint[c] + (1.0 - tint[c]) * alpha[i] / 255.0;
            image->pixels[3 * i + c] = (unsigned char)(image->pixels[3 * i + c] * kept + 0.5);
        }
    }
    free(alpha);
    return true;
}

static void face_draw(const holistic_face *face, cli_image *image)
{
    const double across = (double)face->box.right - (double)face->box.left;
    const double thin = fmax(1.0, across / 160.0);
    const int64_t thick = (int64_t)(cli_stroke_width(image) + 0.5);
    const int64_t scale = cli_letter_scale(image);
    char text[32];
    cli_box box;
    if (cli_pixel_at((double)face->box.left, &box.x) && cli_pixel_at((double)face->box.top, &box.y) &&
        cli_pixel_at(across, &box.width) &&
        cli_pixel_at((double)face->box.bottom - (double)face->box.top, &box.height)) {
        static const cli_color ink = {0, 0, 0, 255};
        (void)snprintf(text, sizeof text, "face %.0f %%", 100.0 * (double)face->box.score);
        cli_draw_outline(image, &box, thick, box_color);
        cli_draw_label(image, box.x, box.y - cli_label_height(scale), scale, text, ink, box_color);
    }
    if (!face->meshed) {
        return;
    }
    points_draw(image, face->mesh, MESH_POINTS, thin * 0.7, mesh_color);
    paths_draw(image, face->mesh, face_paths, thin, contour_color);
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
    paths_draw(image, p, hand_paths, width, hand_colors[hand->right > 0.5f ? 1 : 0]);
    points_draw(image, p, HAND_POINTS, width, contour_color);
}

/* Without the face's points where a mesh is drawn. */
static void pose_draw(const holistic_result *result, cli_image *image)
{
    const mts_kit_landmark *p = result->pose;
    const double width = 2.0 * cli_stroke_width(image);
    const uint32_t first = result->face_count > 0 && result->faces[0].meshed ? 11 : 0;
    paths_draw(image, p, first ? pose_paths + 13 : pose_paths, width, bone_color);
    points_draw(image, p + first, POSE_POINTS - first, width, joint_color);
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
