/*
 * test_region.c: the fit of a region, alone and as sessions apply it: a task's own fit where the caller says
 * nothing, the caller's otherwise.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frame/region.h"
#include "support/api_fixture.h"
#include "support/frame_bundle.h"

enum { SIDE = 8, WIDTH = 32, HEIGHT = 16 };

static void expect_region(const mts_region *region, uint32_t x, uint32_t y, uint32_t width, uint32_t height)
{
    const mts_region shown = mts_region_resolve(region, NULL, 640, 480, 100, 50);
    assert_int_equal(shown.fit, MTS_FIT_STRETCH);
    assert_int_equal(shown.x, x);
    assert_int_equal(shown.y, y);
    assert_int_equal(shown.width, width);
    assert_int_equal(shown.height, height);
}

static void a_crop_is_the_largest_middle_of_the_inputs_shape(void **state)
{
    (void)state;
    expect_region(&(mts_region){.fit = MTS_FIT_CROP}, 0, 80, 640, 320);
    expect_region(&(mts_region){.fit = MTS_FIT_CROP, .rotation = MTS_ROTATION_90}, 200, 0, 240, 480);
    expect_region(&(mts_region){.fit = MTS_FIT_CROP, .x = 10, .y = 20, .width = 300, .height = 50}, 110, 20,
                  100, 50);
    expect_region(&(mts_region){.fit = MTS_FIT_CROP, .x = 639, .y = 0, .width = 1, .height = 480}, 639, 239,
                  1, 1);
    const mts_region turned = {.fit = MTS_FIT_CROP, .middle = {9, 9}, .sides = {50, 50}, .angle = 1};
    const mts_region shown = mts_region_resolve(&turned, NULL, 640, 480, 100, 50);
    assert_true(shown.sides[0] == 50 && shown.sides[1] == 25 && shown.middle[0] == 9);
}

static void bars_lie_around_or_beside_the_region(void **state)
{
    (void)state;
    mts_region_part part = mts_region_part_of(MTS_FIT_LETTERBOX, 640, 480, 100, 50);
    assert_int_equal(part.columns, 67);
    assert_int_equal(part.left, 16);
    part = mts_region_part_of(MTS_FIT_LETTERBOX_CORNER, 640, 480, 100, 50);
    assert_int_equal(part.columns, 67);
    assert_int_equal(part.rows, 50);
    assert_int_equal(part.left + part.top, 0);
    part = mts_region_part_of(MTS_FIT_STRETCH, 640, 480, 100, 50);
    assert_int_equal(part.columns, 100);
}

/* The upper left corner as it is seen upright, and the point a quarter of the width right of it. */
static void points_of_a_region_turn_with_it(void **state)
{
    static const float corners[4][2] = {{6, 18}, {6, 22}, {14, 22}, {14, 18}};
    static const float ways[4][2] = {{2, 0}, {0, -1}, {-2, 0}, {0, 1}};
    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        for (uint32_t mirror = 0; mirror < 2; mirror++) {
            const mts_region region = {
                .middle = {10, 20}, .sides = {8, 4}, .rotation = (mts_rotation)(90 * turn), .mirror = mirror};
            double corner[2];
            double next[2];
            mts_region_point(&region, mirror, 0, corner);
            mts_region_point(&region, mirror != 0 ? 0.75 : 0.25, 0, next);
            for (int k = 0; k < 2; k++) {
                assert_true(fabs(corner[k] - (double)corners[turn][k]) < 1e-9);
                assert_true(fabs(next[k] - corner[k] - (double)ways[turn][k]) < 1e-9);
            }
            assert_int_equal(mts_region_is_quarter(&region), turn % 2);
        }
    }
}

static void what_a_region_says_goes_before_what_its_task_says(void **state)
{
    const mts_region_defaults task = {.fit = MTS_FIT_LETTERBOX, .filter = MTS_FILTER_AREA, .fill = {1, 2, 3}};
    mts_region region = {.fill = {9, 9, 9}};
    (void)state;
    mts_region shown = mts_region_resolve(&region, &task, 64, 48, 8, 8);
    assert_int_equal(shown.fit, MTS_FIT_LETTERBOX);
    assert_int_equal(shown.filter, MTS_FILTER_AREA);
    assert_int_equal(shown.fill[1], 2);
    region.fit = MTS_FIT_STRETCH;
    region.filter = MTS_FILTER_BILINEAR;
    shown = mts_region_resolve(&region, &task, 64, 48, 8, 8);
    assert_int_equal(shown.fit, MTS_FIT_STRETCH);
    assert_int_equal(shown.filter, MTS_FILTER_BILINEAR);
    assert_int_equal(shown.fill[1], 9);
    region.fit = MTS_FIT_TASK; /* a task without a fit of its own does not replace the colour either */
    shown = mts_region_resolve(&region, &(mts_region_defaults){0}, 64, 48, 8, 8);
    assert_int_equal(shown.fill[1], 9);
}

static void a_tasks_crop_is_the_part_where_the_region_names_none(void **state)
{
    const mts_region_defaults task = {.crop = {0.25f, 0.5f, 0.5f, 0.5f}};
    const mts_region_defaults sliver = {.fit = MTS_FIT_CROP, .crop = {0.9999f, 0.9999f, 0.0001f, 0.0001f}};
    (void)state;
    mts_region shown = mts_region_resolve(&(mts_region){0}, &task, 641, 480, 8, 8);
    assert_int_equal(shown.x, 160);
    assert_int_equal(shown.width, 481 - 160);
    assert_int_equal(shown.y, 240);
    assert_int_equal(shown.height, 240);
    shown = mts_region_resolve(&(mts_region){.x = 1, .width = 5, .height = 6}, &task, 640, 480, 8, 8);
    assert_true(shown.x == 1 && shown.y == 0 && shown.width == 5 && shown.height == 6);
    shown = mts_region_resolve(&(mts_region){.middle = {9, 9}, .sides = {4, 4}}, &task, 640, 480, 8, 8);
    assert_int_equal(shown.width, 0);
    shown = mts_region_resolve(&(mts_region){0}, &sliver, 3, 1, 8, 8); /* one pixel is the least */
    assert_true(shown.x == 2 && shown.y == 0 && shown.width == 1 && shown.height == 1);
}

/* The frame: 200 in its middle half, 100 to the left of it, 50 to the right. */
static uint8_t pixels[HEIGHT * WIDTH];

static void run(mts_session *session, const mts_region *region)
{
    mts_frame frame;
    mts_ticket ticket = 0;
    mts_frame_default(&frame);
    frame.data = pixels;
    frame.width = WIDTH;
    frame.height = HEIGHT;
    frame.format = MTS_PIXEL_FORMAT_GREY;
    frame.region = *region;
    assert_int_equal(mts_session_submit(session, &frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
}

/* Value of a pixel of a task's input. */
static float seen(mts_session *session, const char *task, int row, int column)
{
    mts_tensor output;
    assert_int_equal(mts_session_output(session, task, 0, &output), MTS_STATUS_OK);
    return ((const float *)output.data)[row * SIDE + column];
}

static void expect_seen(mts_session *session, const char *task, int row, int column, float value)
{
    assert_float_equal(seen(session, task, row, column), value, 1e-4f);
}

static void each_task_of_a_session_fits_the_frame_in_its_own_way(void **state)
{
    const frame_task plain = {
        .color = MTS_COLOR_GREY, .batch = 1, .height = SIDE, .width = SIDE, .deviation = 1.0f};
    frame_task tasks[5] = {plain, plain, plain, plain, plain};
    api_fixture fixture;
    mts_bundle_bytes bytes;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_task_desc task = {.size = sizeof task};
    (void)state;
    tasks[1].fit = MTS_FIT_LETTERBOX;
    tasks[1].fill = 7;
    tasks[2].fit = MTS_FIT_LETTERBOX_CORNER;
    tasks[3].fit = MTS_FIT_CROP;
    tasks[4].crop[0] = 0.75f;
    tasks[4].crop[2] = 0.25f;
    tasks[4].crop[3] = 1.0f;
    for (int i = 0; i < HEIGHT * WIDTH; i++) {
        const int column = i % WIDTH;
        pixels[i] = (uint8_t)(column < WIDTH / 4 ? 100 : column < WIDTH * 3 / 4 ? 200 : 50);
    }
    frame_bundle_make(tasks, 5, &bytes);
    api_open(&fixture, "reference");
    if (mts_bundle_open_memory(fixture.runtime, bytes.data, bytes.size, &bundle) != MTS_STATUS_OK) {
        fail_msg("%s", fixture.error);
    }
    assert_int_equal(mts_session_create(fixture.runtime, bundle, NULL, &session), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_task(bundle, 1, &task), MTS_STATUS_OK);
    assert_int_equal(task.fit, MTS_FIT_LETTERBOX);
    assert_int_equal(task.fill[0], 7);
    task.size = sizeof task;
    assert_int_equal(mts_bundle_task(bundle, 4, &task), MTS_STATUS_OK);
    assert_true(task.crop[0] == 0.75f && task.crop[3] == 1.0f);

    run(session, &(mts_region){0});
    expect_seen(session, "a", 0, 0, 100);
    expect_seen(session, "a", 7, 7, 50);
    expect_seen(session, "b", 0, 4, 7); /* four of eight rows show the frame, in the middle */
    expect_seen(session, "b", 3, 0, 100);
    expect_seen(session, "c", 0, 0, 100);
    expect_seen(session, "c", 5, 4, 0);
    for (int column = 0; column < SIDE; column++) {
        expect_seen(session, "d", 0, column, 200);
        expect_seen(session, "e", 0, column, 50);
    }

    run(session, &(mts_region){.fit = MTS_FIT_LETTERBOX, .fill = {30, 30, 30}});
    for (const char *name = "a\0b\0c\0d\0"; *name; name += 2) {
        expect_seen(session, name, 0, 0, 30);
        expect_seen(session, name, 4, 4, 200);
    }
    run(session, &(mts_region){.width = WIDTH / 4, .height = HEIGHT});
    expect_seen(session, "e", 3, 3, 100);
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    api_close(&fixture);
    mts_bundle_bytes_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crop_is_the_largest_middle_of_the_inputs_shape),
        cmocka_unit_test(bars_lie_around_or_beside_the_region),
        cmocka_unit_test(points_of_a_region_turn_with_it),
        cmocka_unit_test(what_a_region_says_goes_before_what_its_task_says),
        cmocka_unit_test(a_tasks_crop_is_the_part_where_the_region_names_none),
        cmocka_unit_test(each_task_of_a_session_fits_the_frame_in_its_own_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
