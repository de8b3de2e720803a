/*
 * Faces as words, JSON and drawings, also where networks computed nonsense. The cascade is posed by two
 * functions of this file: no model is needed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kit/face_show.h"

#define WIDTH 40
#define HEIGHT 30

static const char *labels[2] = {"a", "b"};
static bool without_words; /* boxes and points only */
static unsigned char pixels[WIDTH * HEIGHT * 3];
static cli_image image = {pixels, WIDTH, HEIGHT};

bool cli_cascade_has(const cli_cascade *cascade, cli_face_task task)
{
    (void)cascade;
    return task == CLI_FACE_LANDMARKS || !without_words;
}

const char *cli_cascade_label(const cli_cascade *cascade, cli_face_task task, uint32_t index)
{
    (void)cascade;
    (void)task;
    return labels[index];
}

static cli_face good_face(void)
{
    return (cli_face){.box = {.left = 0.25f, .top = 0.2f, .right = 0.75f, .bottom = 0.8f, .score = 0.9f},
                      .gender = {0.25f, 0.75f},
                      .mask = {1.0f, 0.0f},
                      .points = {{0.5f, 0.5f}, {0.5f, 0.5f}, {0.5f, 0.5f}, {0.5f, 0.5f}, {0.5f, 0.5f}}};
}

static int lit_after(const cli_face *face)
{
    int lit = 0;
    memset(pixels, 0, sizeof pixels);
    cli_face_draw(NULL, face, &image);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        lit += pixels[3 * i] != 0 || pixels[3 * i + 1] != 0;
    }
    return lit;
}

static void a_box_and_points_are_drawn_where_they_are(void **state)
{
    const cli_face face = good_face();
    (void)state;
    without_words = true;
    assert_in_range(lit_after(&face), 20, WIDTH * HEIGHT / 2);
    assert_int_equal(pixels[3 * (6 * WIDTH + 10) + 1], 220);
    assert_int_equal(pixels[3 * (15 * WIDTH + 20)], 255);
    without_words = false;
}

/* A build with -fsanitize=float-cast-overflow sees a cast that has no value. */
static void boxes_and_points_that_no_picture_has_harm_nothing(void **state)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e20f, -1e20f, 0.5f};
    const size_t count = sizeof odd / sizeof odd[0];
    (void)state;
    for (size_t i = 0; i < count * count; i++) {
        cli_face face = good_face();
        face.box.left = odd[i % count];
        face.box.bottom = odd[i / count];
        face.points[1][0] = face.pose[1] = face.gender[1] = odd[i % count];
        face.points[1][1] = face.pose[2] = face.mask[0] = odd[i / count];
        (void)lit_after(&face);
    }
    cli_face face = good_face();
    without_words = true;
    face.box.left = NAN;
    assert_in_range(lit_after(&face), 1, 40); /* the points are there all the same */
    for (size_t i = 0; i < CLI_FACE_POINTS; i++) {
        face.points[i][0] = i % 2 ? NAN : 1e38f;
    }
    assert_int_equal(lit_after(&face), 0);
    without_words = false;
}

static void labels_are_values_so_that_two_alike_or_odd_ones_stay_apart(void **state)
{
    const cli_face face = good_face();
    cli_json json;
    (void)state;
    labels[0] = labels[1] = "label";
    assert_true(cli_json_begin(&json));
    cli_json_array(&json, NULL);
    cli_face_json(NULL, &face, WIDTH, HEIGHT, &json);
    cli_json_end(&json, ']');
    assert_int_equal(fflush(json.out), 0);
    char text[4096] = "";
    size_t length = 0;
    for (size_t i = 0; i < json.size && length + 1 < sizeof text; i++) { /* without its white space */
        if (json.text[i] != ' ' && json.text[i] != '\n') {
            text[length++] = json.text[i];
        }
    }
    cli_json_release(&json);
    labels[0] = "a";
    labels[1] = "b";
    if (!strstr(text,
                "\"gender\":[{\"label\":\"label\",\"score\":0.75},{\"label\":\"label\",\"score\":0.25}]")) {
        fail_msg("%s", text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_and_points_are_drawn_where_they_are),
        cmocka_unit_test(boxes_and_points_that_no_picture_has_harm_nothing),
        cmocka_unit_test(labels_are_values_so_that_two_alike_or_odd_ones_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
