/*
 * The canvas of the overlay: what is drawn, and that nothing outside of the picture is touched.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kit/canvas.h"
#include "kit/font.h"

#define WIDTH 40
#define HEIGHT 20
#define GUARD 64 /* bytes before and behind the picture that are not written */

static const cli_color white = {255, 255, 255, 255};

typedef struct canvas {
    unsigned char memory[GUARD + WIDTH * HEIGHT * 3 + GUARD];
    cli_image image;
} canvas;

static void canvas_clear(canvas *c)
{
    memset(c->memory, 0, sizeof c->memory);
    memset(c->memory, 0xa5, GUARD);
    memset(c->memory + sizeof c->memory - GUARD, 0xa5, GUARD);
    c->image = (cli_image){c->memory + GUARD, WIDTH, HEIGHT};
}

static const unsigned char *pixel(const canvas *c, int x, int y)
{
    return c->image.pixels + 3 * (y * WIDTH + x);
}

static int lit(const canvas *c)
{
    int count = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        count += c->image.pixels[3 * i] != 0;
    }
    return count;
}

static void assert_guards(const canvas *c)
{
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(c->memory[i], 0xa5);
        assert_int_equal(c->memory[sizeof c->memory - 1 - i], 0xa5);
    }
}

static void a_rectangle_covers_its_pixels_and_a_transparent_one_mixes(void **state)
{
    canvas c;
    (void)state;
    canvas_clear(&c);
    cli_draw_rectangle(&c.image, &(cli_box){3, 4, 5, 6}, white);
    assert_int_equal(lit(&c), 30);
    assert_int_equal(pixel(&c, 3, 4)[0], 255);
    assert_int_equal(pixel(&c, 7, 9)[2], 255);
    cli_draw_rectangle(&c.image, &(cli_box){3, 4, 1, 1}, (cli_color){0, 100, 200, 51});
    assert_int_equal(pixel(&c, 3, 4)[0], 204);
    assert_int_equal(pixel(&c, 3, 4)[1], 224);
    assert_int_equal(pixel(&c, 3, 4)[2], 244);
    cli_draw_rectangle(&c.image, &(cli_box){0, 0, WIDTH, HEIGHT}, (cli_color){9, 9, 9, 0});
    assert_int_equal(lit(&c), 30);
}

static void an_outline_is_hollow_unless_its_sides_meet(void **state)
{
    canvas c;
    (void)state;
    canvas_clear(&c);
    cli_draw_outline(&c.image, &(cli_box){2, 2, 10, 8}, 2, white);
    assert_int_equal(lit(&c), 10 * 8 - 6 * 4);
    assert_int_equal(pixel(&c, 4, 4)[0], 0);
    assert_int_equal(pixel(&c, 11, 9)[0], 255);
    canvas_clear(&c);
    cli_draw_outline(&c.image, &(cli_box){2, 2, 4, 8}, 2, white);
    assert_int_equal(lit(&c), 32);
    canvas_clear(&c); /* each pixel once, so that a transparent one is even */
    cli_draw_outline(&c.image, &(cli_box){2, 2, 10, 8}, 1, (cli_color){255, 255, 255, 100});
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        assert_true(c.image.pixels[3 * i] == 0 || c.image.pixels[3 * i] == 100);
    }
}

static void a_dot_is_round(void **state)
{
    canvas c;
    (void)state;
    canvas_clear(&c);
    cli_draw_dot(&c.image, 10, 10, 0, white);
    assert_int_equal(lit(&c), 1);
    canvas_clear(&c);
    cli_draw_dot(&c.image, 10, 10, 1, white);
    assert_int_equal(lit(&c), 9);
    canvas_clear(&c);
    cli_draw_dot(&c.image, 20, 9, 6, white);
    assert_in_range(lit(&c), 113, 145); /* pi 6.5^2 is 133 */
    assert_int_equal(pixel(&c, 26, 9)[0], 255);
    assert_int_equal(pixel(&c, 26, 15)[0], 0);
}

static void everything_is_cut_off_at_the_border(void **state)
{
    static const int64_t far[] = {-100000, -7, -1, 0, 19, 39, 40, 41, 100000};
    canvas c;
    (void)state;
    canvas_clear(&c);
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        for (size_t j = 0; j < sizeof far / sizeof far[0]; j++) {
            const cli_box box = {far[i], far[j], 30, 30};
            cli_draw_rectangle(&c.image, &box, white);
            cli_draw_rectangle(&c.image, &(cli_box){far[i], far[j], far[j], far[i]}, white);
            cli_draw_outline(&c.image, &box, 3, white);
            cli_draw_dot(&c.image, far[i], far[j], 9, white);
            cli_draw_text(&c.image, far[i], far[j], 3, "Word", white);
            cli_draw_label(&c.image, far[i], far[j], 2, "Word", white, (cli_color){0, 0, 0, 128});
        }
    }
    assert_guards(&c);
    canvas_clear(&c);
    cli_draw_rectangle(&c.image, &(cli_box){-5, -5, 7, 8}, white);
    assert_int_equal(lit(&c), 2 * 3);
    canvas_clear(&c);
    cli_draw_rectangle(&c.image, &(cli_box){0, 0, -3, 5}, white);
    cli_draw_rectangle(&c.image, &(cli_box){INT64_C(1) << 40, 0, 5, 5}, white);
    assert_int_equal(lit(&c), 0);
}

static void a_place_that_is_far_away_is_cut_and_one_that_is_no_number_is_none(void **state)
{
    const int64_t most = INT64_C(1) << 40;
    int64_t pixel = 7;
    (void)state;
    assert_false(cli_pixel_at(NAN, &pixel));
    assert_false(cli_pixel_at(INFINITY, &pixel));
    assert_false(cli_pixel_at(-INFINITY, &pixel));
    assert_int_equal(pixel, 7);
    assert_true(cli_pixel_at(1e300, &pixel));
    assert_true(pixel == most);
    assert_true(cli_pixel_at(-1e38, &pixel));
    assert_true(pixel == -most);
    assert_true(cli_pixel_at(-0.25, &pixel));
    assert_true(pixel == -1);
    assert_true(cli_pixel_at(2.75, &pixel));
    assert_true(pixel == 2);
}

static void text_has_the_letters_of_the_font_and_the_width_that_was_told(void **state)
{
    canvas c;
    int right = -1;
    (void)state;
    canvas_clear(&c);
    cli_draw_text(&c.image, 1, 2, 1, "HiH", white);
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            right = pixel(&c, x, y)[0] && x > right ? x : right;
        }
    }
    assert_int_equal(right, cli_text_width("HiH", 1));
    for (int row = 0; row < CLI_FONT_HEIGHT; row++) {
        for (int x = 0; x < CLI_FONT_WIDTH; x++) {
            const bool drawn = cli_font_glyph('i')[row] >> (CLI_FONT_WIDTH - 1 - x) & 1;
            assert_int_equal(pixel(&c, 1 + CLI_FONT_ADVANCE + x, 2 + row)[0], drawn ? 255 : 0);
        }
    }
    assert_int_equal(cli_text_width("", 3), 0);
    assert_int_equal(cli_text_width("ab", 2), 22);
}

static void what_is_no_ascii_is_one_question_mark_a_character(void **state)
{
    canvas a;
    canvas b;
    (void)state;
    canvas_clear(&a);
    canvas_clear(&b);
    cli_draw_text(&a.image, 0, 0, 1, "a\xc3\xa9\n\xe2\x82\xac", white);
    cli_draw_text(&b.image, 0, 0, 1, "a???", white);
    assert_memory_equal(a.memory, b.memory, sizeof a.memory);
    assert_int_equal(cli_text_width("\xe2\x82\xac", 1), CLI_FONT_WIDTH);
}

static void every_letter_of_the_font_is_drawn_and_no_two_are_alike(void **state)
{
    (void)state;
    for (int a = '!'; a <= '~'; a++) {
        for (int b = ' '; b < a; b++) {
            assert_memory_not_equal(cli_font_glyph((char)a), cli_font_glyph((char)b), CLI_FONT_HEIGHT);
        }
        for (int row = 0; row < CLI_FONT_HEIGHT; row++) {
            assert_in_range(cli_font_glyph((char)a)[row], 0, 31);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rectangle_covers_its_pixels_and_a_transparent_one_mixes),
        cmocka_unit_test(an_outline_is_hollow_unless_its_sides_meet),
        cmocka_unit_test(a_dot_is_round),
        cmocka_unit_test(everything_is_cut_off_at_the_border),
        cmocka_unit_test(a_place_that_is_far_away_is_cut_and_one_that_is_no_number_is_none),
        cmocka_unit_test(text_has_the_letters_of_the_font_and_the_width_that_was_told),
        cmocka_unit_test(what_is_no_ascii_is_one_question_mark_a_character),
        cmocka_unit_test(every_letter_of_the_font_is_drawn_and_no_two_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
