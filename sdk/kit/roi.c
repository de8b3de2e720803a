/*
 * roi.c: from what was found to the rectangle that the next network sees.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kit/sized.h"
#include "mts/kit.h"

#define PI 3.14159265358979323846
/* What mts_region takes. */
#define SIDE_MOST 65536.0f
#define CENTRE_MOST 1048576.0f

/* A step of MediaPipe's graphs, and which landmarks it reads (none: a detection). */
typedef struct step {
    mts_kit_roi_rule rule;
    uint32_t landmark_count, landmarks[11];
} step;

/* The graphs of MediaPipe 0.10.21: DetectionsToRects-, AlignmentPointsRects- and
   RectTransformationCalculator. */
/* What the left and the right side have in common. */
#define IRIS                                                                                                 \
    {                                                                                                        \
        .from = 0, .to = 1, .square = 1, .scale_x = 2.3f, .scale_y = 2.3f                                    \
    }
#define RECROP                                                                                               \
    {                                                                                                        \
        .from = 0, .to = 1, .target = (float)(PI / 2), .circle = 2, .square = 1, .shift_y = -0.1f,           \
        .scale_x = 2.7f, .scale_y = 2.7f                                                                     \
    }

static const step steps[] = {
    [MTS_KIT_ROI_FACE] = {{.from = 0, .to = 1, .square = 1, .scale_x = 1.5f, .scale_y = 1.5f}, 0, {0}},
    [MTS_KIT_ROI_HAND] = {{.from = 0,
                           .to = 2,
                           .target = (float)(PI / 2),
                           .square = 1,
                           .shift_y = -0.5f,
                           .scale_x = 2.6f,
                           .scale_y = 2.6f},
                          0,
                          {0}},
    [MTS_KIT_ROI_POSE] = {{.from = 0,
                           .to = 1,
                           .target = (float)(PI / 2),
                           .circle = 1,
                           .square = 1,
                           .scale_x = 1.25f,
                           .scale_y = 1.25f},
                          0,
                          {0}},
    [MTS_KIT_ROI_LEFT_IRIS] = {IRIS, 2, {362, 263}},
    [MTS_KIT_ROI_RIGHT_IRIS] = {IRIS, 2, {33, 133}},
    [MTS_KIT_ROI_LEFT_RECROP] = {RECROP, 3, {15, 17, 19}},
    [MTS_KIT_ROI_RIGHT_RECROP] = {RECROP, 3, {16, 18, 20}},
    [MTS_KIT_ROI_RECROPPED_HAND] = {{.from = 0,
                                     .to = 1,
                                     .target = (float)(-PI / 2),
                                     .circle = 1,
                                     .square = 1,
                                     .shift_y = -0.1f,
                                     .scale_x = 1.0f,
                                     .scale_y = 1.0f},
                                    0,
                                    {0}},
    [MTS_KIT_ROI_POSE_FACE] = {{.from = 5, .to = 2, .square = 1, .scale_x = 3.0f, .scale_y = 3.0f},
                               11,
                               {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
};

mts_status mts_kit_roi_default_sized(mts_kit_roi_kind kind, mts_kit_roi_rule *rule, size_t size)
{
    if ((size_t)kind >= sizeof steps / sizeof steps[0]) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    mts_kit_roi_rule defaults = steps[kind].rule;
    defaults.size = sizeof defaults;
    mts_kit_sized_default(rule, size, &defaults);
    return MTS_STATUS_OK;
}

/* A box and the two points that a rule names. */
typedef struct outline {
    double left, top, right, bottom;
    double from[2], to[2];
} outline;

/* The same direction, from -pi to pi. */
static double half_turn(double turn)
{
    return turn - 2 * PI * floor((turn + PI) / (2 * PI));
}

static mts_status make(const mts_kit_roi_rule *rule, const outline *o, mts_kit_roi *roi)
{
    const double dx = o->to[0] - o->from[0];
    const double dy = o->to[1] - o->from[1];
    const double turn = rule->from != rule->to ? half_turn((double)rule->target - atan2(-dy, dx)) : 0;
    double x = (o->left + o->right) / 2;
    double y = (o->top + o->bottom) / 2;
    double width = o->right - o->left;
    double height = o->bottom - o->top;
    if (rule->circle) {
        x = rule->circle == 1 ? o->from[0] : o->to[0];
        y = rule->circle == 1 ? o->from[1] : o->to[1];
        width = height = 2 * hypot(dx, dy);
    }
    const double right = width * (double)rule->shift_x;
    const double down = height * (double)rule->shift_y;
    x += right * cos(turn) - down * sin(turn);
    y += right * sin(turn) + down * cos(turn);
    if (rule->square) {
        width = height = fmax(width, height);
    }
    const mts_kit_roi made = {.x = (float)x,
                              .y = (float)y,
                              .width = (float)(width * (double)rule->scale_x),
                              .height = (float)(height * (double)rule->scale_y),
                              .angle = (float)turn};
    if (!isfinite(made.x) || !isfinite(made.y) || !isfinite(made.angle) || !isfinite(made.width) ||
        !isfinite(made.height) || !(made.width > 0.0f) || !(made.height > 0.0f) || made.width > SIDE_MOST ||
        made.height > SIDE_MOST || fabsf(made.x) > CENTRE_MOST || fabsf(made.y) > CENTRE_MOST) {
        return MTS_STATUS_UNSUPPORTED;
    }
    *roi = made;
    return MTS_STATUS_OK;
}

/* A rule of the caller's as one of this library's. */
static bool read_rule(const mts_kit_roi_rule *given, uint32_t points, mts_kit_roi_rule *rule)
{
    *rule = (mts_kit_roi_rule){.size = sizeof *rule, .scale_x = 1.0f, .scale_y = 1.0f};
    return mts_kit_sized_read(rule, sizeof *rule, given) && rule->circle <= 2 &&
           ((rule->from == rule->to && !rule->circle) || (rule->from < points && rule->to < points));
}

mts_status mts_kit_roi_of_detection(const mts_kit_roi_rule *given, const mts_kit_detection *d,
                                    mts_kit_roi *roi)
{
    const uint32_t points = d->point_count < MTS_KIT_POINTS_MAX ? d->point_count : MTS_KIT_POINTS_MAX;
    mts_kit_roi_rule own;
    const mts_kit_roi_rule *rule = &own;
    if (!read_rule(given, points, &own)) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    outline o = {(double)d->left, (double)d->top, (double)d->right, (double)d->bottom, {0}, {0}};
    for (int k = 0; k < 2 && (rule->from != rule->to || rule->circle); k++) {
        o.from[k] = (double)d->points[rule->from][k];
        o.to[k] = (double)d->points[rule->to][k];
    }
    return make(rule, &o, roi);
}

mts_status mts_kit_roi_of_landmarks(const mts_kit_roi_rule *given, const mts_kit_landmark *landmarks,
                                    uint32_t count, mts_kit_roi *roi)
{
    mts_kit_roi_rule own;
    const mts_kit_roi_rule *rule = &own;
    if (count == 0 || !read_rule(given, count, &own)) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    outline o = {INFINITY, INFINITY, -INFINITY, -INFINITY, {0}, {0}};
    for (uint32_t i = 0; i < count; i++) {
        o.left = fmin(o.left, (double)landmarks[i].x);
        o.top = fmin(o.top, (double)landmarks[i].y);
        o.right = fmax(o.right, (double)landmarks[i].x);
        o.bottom = fmax(o.bottom, (double)landmarks[i].y);
    }
    if (rule->from < count && rule->to < count) {
        o.from[0] = (double)landmarks[rule->from].x;
        o.from[1] = (double)landmarks[rule->from].y;
        o.to[0] = (double)landmarks[rule->to].x;
        o.to[1] = (double)landmarks[rule->to].y;
    }
    return make(rule, &o, roi);
}

/* Where the middle finger begins, from the little finger and the index (MediaPipe's
   HandDetectionsFromPoseToRectsCalculator). */
static mts_kit_landmark finger_middle(const mts_kit_landmark *little, const mts_kit_landmark *index)
{
    return (mts_kit_landmark){.x = (2 * index->x + little->x) / 3, .y = (2 * index->y + little->y) / 3};
}

mts_status mts_kit_roi_of_step(mts_kit_roi_kind kind, const mts_kit_landmark *landmarks, uint32_t count,
                               mts_kit_roi *roi)
{
    mts_kit_roi_rule rule;
    mts_kit_landmark read[11];
    const mts_status status = mts_kit_roi_default(kind, &rule);
    if (status != MTS_STATUS_OK || steps[kind].landmark_count == 0) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    for (uint32_t i = 0; i < steps[kind].landmark_count; i++) {
        if (steps[kind].landmarks[i] >= count) {
            return MTS_STATUS_INVALID_ARGUMENT;
        }
        read[i] = landmarks[steps[kind].landmarks[i]];
    }
    if (rule.circle == 2) {
        read[1] = finger_middle(&read[1], &read[2]);
        return mts_kit_roi_of_landmarks(&rule, read, 2, roi);
    }
    return mts_kit_roi_of_landmarks(&rule, read, steps[kind].landmark_count, roi);
}

void mts_kit_roi_of_frame(uint32_t frame_width, uint32_t frame_height, uint32_t input_width,
                          uint32_t input_height, mts_kit_roi *roi)
{
    const double scale = fmax((double)frame_width / input_width, (double)frame_height / input_height);
    *roi = (mts_kit_roi){.x = (float)(frame_width / 2.0),
                         .y = (float)(frame_height / 2.0),
                         .width = (float)(input_width * scale),
                         .height = (float)(input_height * scale)};
}

void mts_kit_region_of_roi(const mts_kit_roi *roi, mts_outside outside, mts_region *region)
{
    *region = (mts_region){.middle = {roi->x, roi->y},
                           .sides = {roi->width, roi->height},
                           .fit = MTS_FIT_STRETCH,
                           .angle = roi->angle,
                           .outside = outside};
}
