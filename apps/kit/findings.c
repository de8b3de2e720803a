/*
 * findings.c: boxes, landmarks and masks on a photo. Which landmarks are joined is that
 * of MediaPipe's drawing.
 */
#include "findings.h"

#include <stddef.h>

#define PATH_END UINT16_MAX
#define LIST_END (UINT16_MAX - 1)
#define LEAST_SEEN 0.5f
#define BODY_BEGIN 13 /* in pose_paths, behind the face */

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

const uint16_t *cli_skeleton_find(uint32_t count)
{
    return count == 468                 ? face_paths
           : count == 21                ? hand_paths
           : count == 33 || count == 39 ? pose_paths
                                        : NULL;
}

const uint16_t *cli_skeleton_body(void)
{
    return pose_paths + BODY_BEGIN;
}

static cli_place place(const mts_kit_landmark *point)
{
    return (cli_place){(double)point->x, (double)point->y};
}

void cli_draw_skeleton(cli_image *image, const mts_kit_landmark *points, const uint16_t *paths, double width,
                       cli_color color)
{
    for (; paths[0] != LIST_END && paths[1] != LIST_END; paths++) {
        const bool ends = paths[0] == PATH_END || paths[1] == PATH_END;
        if (!ends && points[paths[0]].visibility >= LEAST_SEEN && points[paths[1]].visibility >= LEAST_SEEN) {
            cli_draw_line(image, place(&points[paths[0]]), place(&points[paths[1]]), width, color);
        }
    }
}

void cli_draw_landmarks(cli_image *image, const mts_kit_landmark *points, uint32_t count, double radius,
                        cli_color color)
{
    for (uint32_t i = 0; i < count; i++) {
        if (points[i].visibility >= LEAST_SEEN) {
            cli_draw_disc(image, place(&points[i]), radius, color);
        }
    }
}

void cli_draw_detection(cli_image *image, const mts_kit_detection *found, const char *words, cli_color color)
{
    static const cli_color ink = {0, 0, 0, 255};
    const int64_t thick = (int64_t)(cli_stroke_width(image) + 0.5);
    const int64_t scale = cli_letter_scale(image);
    cli_box box;
    if (!cli_pixel_at((double)found->left, &box.x) || !cli_pixel_at((double)found->top, &box.y) ||
        !cli_pixel_at((double)found->right - (double)found->left, &box.width) ||
        !cli_pixel_at((double)found->bottom - (double)found->top, &box.height)) {
        return; /* a network has computed no place */
    }
    cli_draw_outline(image, &box, thick, color);
    for (uint32_t p = 0; p < found->point_count && p < MTS_KIT_POINTS_MAX; p++) {
        cli_draw_disc(image, (cli_place){(double)found->points[p][0], (double)found->points[p][1]},
                      2.0 * cli_stroke_width(image), color);
    }
    const int64_t above = box.y - cli_label_height(scale);
    cli_draw_label(image, box.x < 0 ? 0 : box.x, above < 0 ? (box.y < 0 ? 0 : box.y) : above, scale, words,
                   ink, color);
}

void cli_draw_mask(cli_image *image, const uint8_t *alpha)
{
    static const double tint[3] = {0.30, 0.42, 0.62};
    for (size_t i = 0; i < (size_t)image->width * image->height; i++) {
        for (size_t c = 0; c < 3; c++) {
            const double kept = tint[c] + (1.0 - tint[c]) * alpha[i] / 255.0;
            image->pixels[3 * i + c] = (unsigned char)(image->pixels[3 * i + c] * kept + 0.5);
        }
    }
}
