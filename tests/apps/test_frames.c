/*
 * Frames of the kit: their names, their size in memory, and every format as RGB.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kit/frames.h"

static void a_format_and_a_size_are_read_and_nothing_else(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "nv12",
                                      "nv12:",
                                      "nv12:640",
                                      "nv12:640x",
                                      "nv12:x480",
                                      "nv12:0x480",
                                      "nv12:640x0",
                                      "nv13:640x480",
                                      ":640x480",
                                      "NV12:4x4",
                                      "nv12:640x480x",
                                      "nv12:1.5x2",
                                      "rgb:16385x1",
                                      "rgb:-1x4",
                                      "rgb:4x4 ",
                                      "averyverylongnameofaformat:4x4"};
    mts_frame frame;
    assert_true(cli_frame_parse("uyvy:641x480", &frame));
    assert_int_equal(frame.size, sizeof frame);
    assert_int_equal(frame.format, MTS_PIXEL_FORMAT_UYVY);
    assert_int_equal(frame.width, 641);
    assert_int_equal(frame.height, 480);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (cli_frame_parse(bad[i], &frame)) {
            fail_msg("'%s' was read", bad[i]);
        }
    }
    for (int f = MTS_PIXEL_FORMAT_RGB; f <= MTS_PIXEL_FORMAT_UYVY; f++) {
        mts_pixel_format format = MTS_PIXEL_FORMAT_RGB;
        assert_true(cli_format_find(cli_format_name((mts_pixel_format)f), &format));
        assert_int_equal(format, f);
    }
}

static void odd_sizes_take_the_bytes_of_rounded_up_colour(void **state)
{
    (void)state;
    static const size_t bytes[] = {
        31 * 21 * 3,           31 * 21 * 3,           31 * 21 * 4,           31 * 21 * 4, 31 * 21,
        31 * 21 + 2 * 16 * 11, 31 * 21 + 2 * 16 * 11, 31 * 21 + 2 * 16 * 11, 64 * 21,     64 * 21};
    for (int f = MTS_PIXEL_FORMAT_RGB; f <= MTS_PIXEL_FORMAT_UYVY; f++) {
        const mts_frame frame = {.width = 31, .height = 21, .format = (mts_pixel_format)f};
        assert_int_equal(cli_frame_bytes(&frame), bytes[f]);
    }
}

static void assert_near(const unsigned char *got, int r, int g, int b)
{
    const int want[3] = {r, g, b};
    for (int i = 0; i < 3; i++) {
        assert_in_range(got[i] + 2, want[i], want[i] + 4);
    }
}

/* Pixel 2, 1 of a frame of 3 x 3 is red, the rest black, in each format of colours that are not shared. */
static void every_format_of_whole_pixels_shows_its_colour(void **state)
{
    (void)state;
    static const struct {
        mts_pixel_format format;
        uint32_t bytes, red;
    } cases[] = {{MTS_PIXEL_FORMAT_RGB, 3, 0},
                 {MTS_PIXEL_FORMAT_BGR, 3, 2},
                 {MTS_PIXEL_FORMAT_RGBA, 4, 0},
                 {MTS_PIXEL_FORMAT_BGRA, 4, 2}};
    char error[CLI_ERROR];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned char memory[3 * 16] = {0};
        cli_image image = {0};
        memory[16 + 2 * cases[i].bytes + cases[i].red] = 255;
        const mts_frame frame = {
            .data = memory, .width = 3, .height = 3, .stride = 16, .format = cases[i].format};
        assert_true(cli_frame_to_image(&frame, &image, error));
        assert_near(image.pixels + 3 * (3 + 2), 255, 0, 0);
        assert_near(image.pixels + 3 * (3 + 1), 0, 0, 0);
        cli_image_release(&image);
    }
}

/* Red in BT.601, limited: Y 81, U 90, V 240. */
static void every_format_of_shared_colour_shows_it(void **state)
{
    (void)state;
    static const unsigned char nv12[] = {16,  16,  16,  16,  16,  16,  16, 16, 81,
                                         128, 128, 128, 128, 128, 128, 90, 240};
    static const unsigned char i420[] = {16,  16,  16,  16, 16,  16,  16,  16, 81,
                                         128, 128, 128, 90, 128, 128, 128, 240};
    static const unsigned char yuyv[] = {16, 128, 16, 128, 16, 128, 0,  128, 16, 128, 16, 128,
                                         16, 128, 0,  128, 16, 128, 16, 128, 81, 90,  0,  240};
    unsigned char nv21[sizeof nv12];
    unsigned char uyvy[sizeof yuyv];
    memcpy(nv21, nv12, sizeof nv12);
    nv21[15] = 240;
    nv21[16] = 90;
    for (size_t i = 0; i < sizeof yuyv; i++) {
        uyvy[i] = yuyv[i ^ 1];
    }
    const struct {
        mts_pixel_format format;
        const unsigned char *data;
    } cases[] = {{MTS_PIXEL_FORMAT_NV12, nv12},
                 {MTS_PIXEL_FORMAT_NV21, nv21},
                 {MTS_PIXEL_FORMAT_I420, i420},
                 {MTS_PIXEL_FORMAT_YUYV, yuyv},
                 {MTS_PIXEL_FORMAT_UYVY, uyvy}};
    char error[CLI_ERROR];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cli_image image = {0};
        const mts_frame frame = {.data = cases[i].data, .width = 3, .height = 3, .format = cases[i].format};
        assert_true(cli_frame_to_image(&frame, &image, error));
        assert_near(image.pixels + 3 * 8, 255, 0, 0);
        assert_near(image.pixels, 0, 0, 0);
        cli_image_release(&image);
    }
}

static void a_frame_is_shown_turned_and_mirrored(void **state)
{
    (void)state;
    static const unsigned char grey[] = {1, 2, 3, 4, 5, 6}; /* 3 x 2 */
    static const unsigned char turned[8][6] = {{1, 2, 3, 4, 5, 6}, {4, 1, 5, 2, 6, 3}, {6, 5, 4, 3, 2, 1},
                                               {3, 6, 2, 5, 1, 4}, {3, 2, 1, 6, 5, 4}, {1, 4, 2, 5, 3, 6},
                                               {4, 5, 6, 1, 2, 3}, {6, 3, 5, 2, 4, 1}};
    char error[CLI_ERROR];
    cli_image image = {0};
    for (int i = 0; i < 8; i++) {
        mts_frame frame = {.data = grey, .width = 3, .height = 2, .format = MTS_PIXEL_FORMAT_GREY};
        frame.region.rotation = (mts_rotation)(i % 4 * 90);
        frame.region.mirror = i / 4 ? 1 : 0;
        assert_true(cli_frame_to_image(&frame, &image, error));
        assert_int_equal(image.width, i % 2 ? 2 : 3);
        for (size_t p = 0; p < 6; p++) {
            assert_int_equal(image.pixels[3 * p], turned[i][p]);
        }
    }
    cli_image_release(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_format_and_a_size_are_read_and_nothing_else),
        cmocka_unit_test(odd_sizes_take_the_bytes_of_rounded_up_colour),
        cmocka_unit_test(every_format_of_whole_pixels_shows_its_colour),
        cmocka_unit_test(every_format_of_shared_colour_shows_it),
        cmocka_unit_test(a_frame_is_shown_turned_and_mirrored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
