/*
 * faces.c: faces of an UltraFace detector, and rectangles that stay inside of a frame.
 */
#include "faces.h"

#include <math.h>
#include <stdbool.h>

#include "frames.h"

cli_face_rule cli_face_rule_default(void)
{
    return (cli_face_rule){.least_score = 0.7f, .overlap = 0.4f};
}

static double area(const cli_face_box *box)
{
    return ((double)box->right - (double)box->left) * ((double)box->bottom - (double)box->top);
}

uint32_t cli_faces_decode(const cli_face_rule *rule, const float *scores, const float *boxes, uint32_t count,
                          cli_face_box *faces)
{
    const mts_kit_nms_options nms = {.size = sizeof nms, .overlap = rule->overlap};
    const uint32_t found = mts_kit_corners_decode(scores, boxes, count, 2, rule->least_score, faces);
    return mts_kit_nms(&nms, faces, found);
}

void cli_faces_sort(cli_face_box *faces, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) { /* few, and nothing is allocated */
        const cli_face_box face = faces[i];
        uint32_t place = i;
        while (place > 0 && area(&faces[place - 1]) < area(&face)) {
            faces[place] = faces[place - 1];
            place--;
        }
        faces[place] = face;
    }
}

/* Where a stretch of `length` pixels around `middle` begins, so that it lies in
   0..whole. */
static uint32_t stretch_begin(double middle, uint32_t length, uint32_t whole)
{
    const double most = (double)whole - (double)length;
    const double begin = floor(middle - (double)length / 2 + 0.5);
    return (uint32_t)fmax(0.0, fmin(most, begin));
}

cli_face_crop cli_face_crop_of(const mts_frame *frame, const cli_face_box *box, double factor)
{
    uint32_t width = 0;
    uint32_t height = 0;
    cli_frame_shown(frame, &width, &height);
    const double across = ((double)box->right - (double)box->left) * width;
    const double down = ((double)box->bottom - (double)box->top) * height;
    const double side = fmax(1.0, floor(factor * fmax(across, down) + 0.5));
    const cli_face_crop size = {.width = (uint32_t)fmin(side, width), .height = (uint32_t)fmin(side, height)};
    return (cli_face_crop){
        .x = stretch_begin(((double)box->left + (double)box->right) / 2 * width, size.width, width),
        .y = stretch_begin(((double)box->top + (double)box->bottom) / 2 * height, size.height, height),
        .width = size.width,
        .height = size.height,
    };
}

mts_region cli_face_region(const mts_frame *frame, const cli_face_crop *crop)
{
    mts_region region = frame->region;
    uint32_t width = 0;
    uint32_t height = 0;
    cli_frame_shown(frame, &width, &height);
    const uint32_t x = region.mirror ? width - crop->x - crop->width : crop->x;
    const bool turned = region.rotation == MTS_ROTATION_90 || region.rotation == MTS_ROTATION_270;
    switch (region.rotation) {
    case MTS_ROTATION_0:
        region.x += x;
        region.y += crop->y;
        break;
    case MTS_ROTATION_90:
        region.x += crop->y;
        region.y += width - x - crop->width;
        break;
    case MTS_ROTATION_180:
        region.x += width - x - crop->width;
        region.y += height - crop->y - crop->height;
        break;
    case MTS_ROTATION_270:
        region.x += height - crop->y - crop->height;
        region.y += x;
        break;
    }
    region.width = turned ? crop->height : crop->width;
    region.height = turned ? crop->width : crop->height;
    region.fit = MTS_FIT_STRETCH;
    return region;
}
