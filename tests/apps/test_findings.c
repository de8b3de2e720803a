/*
 * test_findings.c: boxes, landmarks, lines and panels stay on the picture, wherever a network has computed them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kit/draw.h"
#include "kit/findings.h"

static const cli_color white = {255, 255, 255, 255};

/* A black picture in memory of exactly its size, so that sanitizers see every byte too far. */
static cli_image black(uint32_t width, uint32_t height)
{
    return (cli_image){calloc((size_t)width * height, 3), width, height};
}

static uint32_t level(const cli_image *image, uint32_t x, uint32_t y)
{
    return image->pixels[3 * (y * image->width + x)];
}

static void a_line_covers_what_lies_under_it(void **state)
{
    cli_image image = black(20, 10);
    (void)state;
    cli_draw_line(&image, (cli_place){2, 5}, (cli_place){18, 5}, 2, white);
    assert_int_equal(level(&image, 10, 4), 255); /* rows 4 and 5 */
    assert_int_equal(level(&image, 10, 5), 255);
    assert_int_equal(level(&image, 10, 6), 0);
    cli_draw_line(&image, (cli_place){2, 8.5}, (cli_place){18, 8.5}, 2, white);
    assert_int_equal(level(&image, 10, 8), 255); /* all of row 8, half of its neighbours */
    assert_in_range(level(&image, 10, 7), 126, 129);
    assert_in_range(level(&image, 10, 9), 126, 129);
    cli_image_release(&image);
    image = black(21, 21);
    cli_draw_ring(&image, (cli_place){10.5, 10.5}, 6, 2, white);
    assert_int_equal(level(&image, 10, 10), 0);
    assert_int_equal(level(&image, 16, 10), 255);
    assert_int_equal(level(&image, 10, 4), 255);
    cli_image_release(&image);
}

static void odd_places_draw_nothing_and_hurt_nothing(void **state)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e5, -1e5, 0};
    const size_t count = sizeof odd / sizeof odd[0];
    cli_image image = black(7, 5);
    (void)state;
    for (size_t i = 0; i < count * count * count; i++) {
        const cli_place from = {odd[i % count], odd[i / count % count]};
        const cli_place to = {odd[i / count / count], 3};
        cli_draw_line(&image, from, to, 1, (cli_color){0, 0, 0, 255});
        cli_draw_disc(&image, from, odd[i / count / count], (cli_color){0, 0, 0, 255});
        const mts_kit_detection box = {.left = (float)from.x,
                                       .top = (float)from.y,
                                       .right = (float)to.x,
                                       .bottom = 3,
                                       .point_count = UINT32_MAX,
                                       .points = {{(float)from.x, (float)to.x}}};
        cli_draw_detection(&image, &box, "", (cli_color){0, 0, 0, 255});
    }
    for (uint32_t y = 0; y < 5; y++) {
        for (uint32_t x = 0; x < 7; x++) {
            assert_int_equal(level(&image, x, y), 0);
        }
    }
    cli_image_release(&image);
}

static void skeletons_join_landmarks_that_there_are(void **state)
{
    static const uint32_t counts[4] = {468, 21, 33, 39};
    cli_image image = black(64, 64);
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        /* of exactly that many */
        mts_kit_landmark *points = calloc(counts[i], sizeof *points);
        assert_non_null(points);
        for (uint32_t p = 0; p < counts[i]; p++) {
            points[p] = (mts_kit_landmark){
                .x = (float)(p % 64), .y = (float)(p * 7 % 64), .visibility = p % 3 ? 1 : 0};
        }
        cli_draw_skeleton(&image, points, cli_skeleton_find(counts[i]), 1, white);
        cli_draw_landmarks(&image, points, counts[i], 1, white);
        free(points);
    }
    assert_null(cli_skeleton_find(5));
    cli_image_release(&image);
}

static void a_panel_fits_onto_every_picture(void **state)
{
    static const uint32_t sides[][2] = {{1, 1}, {3, 300}, {1, 16384}, {640, 480}, {2000, 1500}};
    const cli_line lines[3] = {{"object", "a rather long answer", 0.5}, {"pet", "cat", 2}, {"x", "", -1}};
    char error[CLI_ERROR];
    (void)state;
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        const uint32_t crop[4] = {0, 0, 1, 1};
        cli_image image = black(sides[i][0], sides[i][1]);
        assert_true(cli_draw_answers(&image, crop, lines, 3, error));
        assert_int_equal(image.width % sides[i][0], 0);
        assert_int_equal(image.width / sides[i][0], image.height / sides[i][1]);
        assert_true(i < 3 || image.width == sides[i][0]);
        assert_true((uint64_t)image.width * image.height <= (uint64_t)64 << 20);
        assert_true(cli_draw_answers(&image, crop, NULL, 0, error));
        cli_image_release(&image);
    }
}

static void a_mask_tints_what_is_outside(void **state)
{
    static const uint8_t alpha[2] = {255, 0};
    cli_image image = black(2, 1);
    (void)state;
    memset(image.pixels, 200, 6);
    cli_draw_mask(&image, alpha);
    assert_int_equal(level(&image, 0, 0), 200);
    assert_int_equal(level(&image, 1, 0), 60);
    cli_image_release(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_covers_what_lies_under_it),
        cmocka_unit_test(odd_places_draw_nothing_and_hurt_nothing),
        cmocka_unit_test(skeletons_join_landmarks_that_there_are),
        cmocka_unit_test(a_panel_fits_onto_every_picture),
        cmocka_unit_test(a_mask_tints_what_is_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
