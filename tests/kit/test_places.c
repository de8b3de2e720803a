/*
 * test_places.c: from inputs to the frame: maps of regions, landmarks, and the rectangle of the next network.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mts/kit.h"

#define PI 3.14159265358979

static void expect_place(const mts_region *region, float u, float v, float x, float y)
{
    mts_kit_map map;
    float point[2] = {u, v};
    mts_kit_map_of_region(region, 640, 480, 100, 50, &map);
    mts_kit_point_map(&map, point);
    assert_float_equal(point[0], x, 1e-3f);
    assert_float_equal(point[1], y, 1e-3f);
}

static void a_region_of_a_task_is_what_its_task_list_says(void **state)
{
    mts_task_desc task = {
        .size = sizeof task, .fit = MTS_FIT_LETTERBOX, .fill = {1, 2, 3}, .crop = {0.5f, 0, 0.5f, 1}};
    mts_region region;
    (void)state;
    mts_kit_region_of_task(&(mts_region){.rotation = MTS_ROTATION_90}, &task, 640, 480, &region);
    assert_true(region.x == 320 && region.width == 320 && region.height == 480);
    assert_true(region.fit == MTS_FIT_LETTERBOX && region.fill[2] == 3 && region.rotation == MTS_ROTATION_90);
    region = (mts_region){.fit = MTS_FIT_STRETCH};
    task.size = offsetof(mts_task_desc, crop); /* of a caller that does not know the crop */
    mts_kit_region_of_task(&region, &task, 640, 480, &region);
    assert_true(region.width == 0 && region.fit == MTS_FIT_STRETCH);
}

static void parts_of_an_input_are_pixels_of_the_frame(void **state)
{
    (void)state;
    expect_place(&(mts_region){0}, 0.5f, 0.25f, 320, 120);
    expect_place(&(mts_region){.x = 40, .y = 20, .width = 200, .height = 100}, 1, 0.5f, 240, 70);
    expect_place(&(mts_region){.mirror = 1}, 0.25f, 0, 480, 0);
    /* a quarter turn to the right: the upper left corner of the input is the lower left one of the frame */
    expect_place(&(mts_region){.rotation = MTS_ROTATION_90}, 0, 0, 0, 480);
    expect_place(&(mts_region){.rotation = MTS_ROTATION_90, .mirror = 1}, 0, 0, 0, 0);
    expect_place(&(mts_region){.rotation = MTS_ROTATION_180}, 0.25f, 0, 480, 480);
    expect_place(&(mts_region){.rotation = MTS_ROTATION_270}, 0, 0, 640, 0);
    /* 640 x 480 in 100 x 50: 67 columns, 16 bars on the left and 17 on the right */
    expect_place(&(mts_region){.fit = MTS_FIT_LETTERBOX}, 0.16f, 0, 0, 0);
    expect_place(&(mts_region){.fit = MTS_FIT_LETTERBOX}, 0.83f, 1, 640, 480);
    const mts_region turned = {.middle = {100, 60}, .sides = {40, 20}, .angle = (float)(PI / 2)};
    expect_place(&turned, 0.5f, 0.5f, 100, 60);
    expect_place(&turned, 1, 0.5f, 100, 80); /* clockwise: its right side points downwards */
    expect_place(&turned, 0, 0, 110, 40);
}

static void a_turned_box_becomes_the_upright_one_around_it(void **state)
{
    const mts_region region = {.middle = {100, 100}, .sides = {100, 100}, .angle = (float)(PI / 4)};
    mts_kit_detection found = {
        .left = 0.25f, .top = 0.25f, .right = 0.75f, .bottom = 0.75f, .point_count = 1};
    mts_kit_map map;
    (void)state;
    mts_kit_map_of_region(&region, 640, 480, 64, 64, &map);
    mts_kit_detections_map(&map, &found, 1);
    const float reach = (float)(25 * sqrt(2.0));
    assert_float_equal(found.left, 100 - reach, 1e-3f);
    assert_float_equal(found.bottom, 100 + reach, 1e-3f);
    assert_float_equal(found.points[0][0], 100, 1e-3f); /* the upper left corner points upwards */
    assert_float_equal(found.points[0][1], 100 - 2 * reach, 1e-3f);
    found.point_count = UINT32_MAX;
    mts_kit_detections_map(&map, &found, 1); /* stays inside of the array */
}

static void landmarks_are_scaled_with_the_region(void **state)
{
    static const float values[2][5] = {{64, 32, -16, 0, 100}, {NAN, 0, 0, -100, 0}};
    const mts_region region = {.middle = {100, 100}, .sides = {200, 100}};
    mts_kit_landmark points[2];
    mts_kit_map map;
    (void)state;
    mts_kit_map_of_region(&region, 640, 480, 64, 64, &map);
    mts_kit_landmarks_map(&map, values[0], 2, 5, 64, 64, points);
    assert_float_equal(points[0].x, 200, 1e-3f);
    assert_float_equal(points[0].y, 100, 1e-3f);
    assert_float_equal(points[0].z, -50, 1e-3f);
    assert_float_equal(points[0].visibility, 0.5f, 1e-6f);
    assert_float_equal(points[0].presence, 1, 1e-6f);
    assert_true(isnan(points[1].x));
    assert_float_equal(points[1].visibility, 0, 1e-6f);
    mts_kit_landmarks_map(&map, values[0], 1, 2, 64, 64, points);
    assert_float_equal(points[0].z, 0, 0);
    assert_float_equal(points[0].visibility, 1, 0);
}

static void warm_cells_pull_a_point(void **state)
{
    static float heat[8 * 8 * 2];
    float values[2][3] = {{32, 32, 1}, {60, 4, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof heat / sizeof heat[0]; i++) {
        heat[i] = -100;
    }
    heat[(5 * 8 + 3) * 2] = 100; /* row 5, column 3, of the first point */
    mts_kit_landmarks_refine(heat, 8, 8, 7, 64, 64, values[0], 2, 3);
    assert_float_equal(values[0][0], 3 * 8, 1e-4f);
    assert_float_equal(values[0][1], 5 * 8, 1e-4f);
    assert_float_equal(values[1][0], 60, 0); /* nothing is warm there */
    values[0][0] = NAN;
    values[1][0] = 1e30f;
    mts_kit_landmarks_refine(heat, 8, 8, UINT32_MAX, 64, 64, values[0], 2, 3);
    assert_float_equal(values[1][0], 1e30f, 0);
}

/* A palm that points to the right: the hand's rectangle is turned by a quarter and lies on its right. */
static void a_rectangle_follows_what_was_found(void **state)
{
    const mts_kit_detection palm = {.left = 100,
                                    .top = 100,
                                    .right = 140,
                                    .bottom = 120,
                                    .point_count = 7,
                                    .points = {{100, 110}, {0}, {140, 110}}};
    mts_kit_roi_rule rule;
    mts_kit_roi roi;
    (void)state;
    assert_int_equal(mts_kit_roi_default(MTS_KIT_ROI_HAND, &rule), MTS_STATUS_OK);
    assert_int_equal(mts_kit_roi_of_detection(&rule, &palm, &roi), MTS_STATUS_OK);
    assert_float_equal(roi.angle, PI / 2, 1e-5f);
    assert_float_equal(roi.x, 130, 1e-3f); /* half of its height, which is 20 */
    assert_float_equal(roi.y, 110, 1e-3f);
    assert_float_equal(roi.width, 104, 1e-3f);
    assert_float_equal(roi.height, 104, 1e-3f);
    mts_region region;
    mts_kit_region_of_roi(&roi, MTS_OUTSIDE_EDGE, &region);
    assert_float_equal(region.sides[0], 104, 1e-3f);
    assert_int_equal(region.outside, MTS_OUTSIDE_EDGE);
    mts_kit_roi_of_frame(600, 471, 128, 128, &roi);
    assert_float_equal(roi.width, 600, 0);
    assert_float_equal(roi.height, 600, 0);
    assert_float_equal(roi.y, 235.5f, 0);
}

static void circles_reach_from_point_to_point(void **state)
{
    mts_kit_landmark pose[33] = {0};
    mts_kit_roi roi;
    (void)state;
    pose[15] = (mts_kit_landmark){.x = 100, .y = 200}; /* wrist */
    pose[17] = (mts_kit_landmark){.x = 100, .y = 170}; /* little finger */
    pose[19] = (mts_kit_landmark){.x = 100, .y = 140}; /* index */
    assert_int_equal(mts_kit_roi_of_step(MTS_KIT_ROI_LEFT_RECROP, pose, 33, &roi), MTS_STATUS_OK);
    assert_float_equal(roi.angle, 0, 1e-5f); /* upright */
    assert_float_equal(roi.width, 2 * 50 * 2.7f, 1e-3f);
    assert_float_equal(roi.y, 150 - 0.1f * 100, 1e-3f);
    assert_int_equal(mts_kit_roi_of_step(MTS_KIT_ROI_LEFT_RECROP, pose, 19, &roi),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_kit_roi_of_step(MTS_KIT_ROI_FACE, pose, 33, &roi), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_kit_roi_of_step(MTS_KIT_ROI_RIGHT_RECROP, pose, 33, &roi), MTS_STATUS_UNSUPPORTED);
    pose[15].x = NAN;
    assert_int_equal(mts_kit_roi_of_step(MTS_KIT_ROI_LEFT_RECROP, pose, 33, &roi), MTS_STATUS_UNSUPPORTED);
}

static void rules_name_points_that_there_are(void **state)
{
    const mts_kit_detection few = {.right = 1, .bottom = 1, .point_count = 1};
    mts_kit_roi_rule rule;
    mts_kit_roi roi;
    (void)state;
    assert_int_equal(mts_kit_roi_default((mts_kit_roi_kind)99, &rule), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_kit_roi_default(MTS_KIT_ROI_FACE, &rule), MTS_STATUS_OK);
    assert_int_equal(mts_kit_roi_of_detection(&rule, &few, &roi), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_kit_roi_of_landmarks(&rule, NULL, 0, &roi), MTS_STATUS_INVALID_ARGUMENT);
    rule.from = rule.to = UINT32_MAX; /* not turned */
    assert_int_equal(mts_kit_roi_of_detection(&rule, &few, &roi), MTS_STATUS_OK);
    assert_float_equal(roi.angle, 0, 0);
    rule.size = 1;
    assert_int_equal(mts_kit_roi_of_detection(&rule, &few, &roi), MTS_STATUS_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_of_a_task_is_what_its_task_list_says),
        cmocka_unit_test(parts_of_an_input_are_pixels_of_the_frame),
        cmocka_unit_test(a_turned_box_becomes_the_upright_one_around_it),
        cmocka_unit_test(landmarks_are_scaled_with_the_region),
        cmocka_unit_test(warm_cells_pull_a_point),
        cmocka_unit_test(a_rectangle_follows_what_was_found),
        cmocka_unit_test(circles_reach_from_point_to_point),
        cmocka_unit_test(rules_name_points_that_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
