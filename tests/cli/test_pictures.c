/*
 * End-to-end tests of how mts run takes a picture: raw frames of cameras, turned, mirrored, cropped, fitted,
 * filtered.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/program.h"

#define WIDTH 48
#define HEIGHT 36
#define VALUES 64

typedef struct values {
    size_t count;
    double items[VALUES];
} values;

static unsigned char pixels[HEIGHT][WIDTH][3];

/* Nothing in it is symmetric. */
static void picture_make(void)
{
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            pixels[y][x][0] = (unsigned char)(5 * x);
            pixels[y][x][1] = (unsigned char)(7 * y);
            pixels[y][x][2] = (unsigned char)(x * y % 251);
        }
    }
}

static void photo_write(const char *path)
{
    unsigned char file[32 + sizeof pixels];
    const int head = snprintf((char *)file, 32, "P6\n%d %d\n255\n", WIDTH, HEIGHT);
    memcpy(file + head, pixels, sizeof pixels);
    write_file(path, file, (size_t)head + sizeof pixels);
}

/* All numbers that all tasks say about a picture. */
static values answers(const char *arguments)
{
    char line[256];
    values v = {0};
    (void)snprintf(line, sizeof line, "run small.mtsb --device reference --json %s", arguments);
    json_t *root = expect_json(line);
    const json_t *tasks = json_object_get(root, "tasks");
    for (size_t t = 0; t < json_array_size(tasks); t++) {
        const json_t *output = json_array_get(json_object_get(json_array_get(tasks, t), "outputs"), 0);
        const json_t *items = json_object_get(output, "values");
        for (size_t i = 0; i < json_array_size(items); i++) {
            assert_true(v.count < VALUES);
            v.items[v.count++] = json_number_value(json_array_get(items, i));
        }
    }
    assert_true(v.count > 0);
    json_decref(root);
    return v;
}

static double largest_difference(const values *a, const values *b)
{
    double largest = 0;
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        largest = fmax(largest, fabs(a->items[i] - b->items[i]));
    }
    return largest;
}

static void assert_same(const char *a, const char *b)
{
    const values first = answers(a);
    const values second = answers(b);
    if (largest_difference(&first, &second) > 1e-4) {
        fail_msg("%s and %s differ by %g", a, b, largest_difference(&first, &second));
    }
}

static void assert_different(const char *a, const char *b)
{
    const values first = answers(a);
    const values second = answers(b);
    if (largest_difference(&first, &second) < 1e-3) {
        fail_msg("%s and %s say the same", a, b);
    }
}

static int begin(void **state)
{
    if (folder_make(state) != 0) {
        return -1;
    }
    compile_demo();
    picture_make();
    photo_write("p.ppm");
    return 0;
}

static void raw_pixels_say_what_the_same_photo_says(void **state)
{
    (void)state;
    unsigned char bgra[HEIGHT][WIDTH][4];
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            for (int c = 0; c < 3; c++) {
                bgra[y][x][c] = pixels[y][x][2 - c];
            }
            bgra[y][x][3] = 77;
        }
    }
    write_file("p.rgb", pixels, sizeof pixels);
    write_file("p.bgra", bgra, sizeof bgra);
    assert_same("--image p.ppm", "--image p.rgb --pixels rgb:48x36");
    assert_same("--image p.ppm", "--image p.bgra --pixels bgra:48x36");
    assert_different("--image p.ppm", "--image p.rgb --pixels bgr:48x36");
}

/* Of several frames the first one is meant. */
static void frames_of_cameras_in_three_layouts_say_the_same(void **state)
{
    (void)state;
    enum { Y = WIDTH * HEIGHT, C = Y / 4 };
    unsigned char nv12[2][Y + 2 * C] = {{0}};
    unsigned char i420[Y + 2 * C];
    unsigned char uyvy[HEIGHT][WIDTH / 2][4];
    for (size_t i = 0; i < Y; i++) {
        nv12[0][i] = i420[i] = (unsigned char)(16 + i * 3 % 220);
    }
    for (size_t i = 0; i < C;
         i++) { /* columns of two pixels have one colour, so that 4:2:2 can say it, too */
        i420[Y + i] = nv12[0][Y + 2 * i] = (unsigned char)(60 + i % (WIDTH / 2) * 5);
        i420[Y + C + i] = nv12[0][Y + 2 * i + 1] = (unsigned char)(200 - i % (WIDTH / 2) * 4);
    }
    for (size_t y = 0; y < HEIGHT; y++) {
        for (size_t x = 0; x < WIDTH / 2; x++) {
            const unsigned char four[4] = {i420[Y + x], i420[y * WIDTH + 2 * x], i420[Y + C + x],
                                           i420[y * WIDTH + 2 * x + 1]};
            memcpy(uyvy[y][x], four, 4);
        }
    }
    write_file("p.nv12", nv12, sizeof nv12);
    write_file("p.i420", i420, sizeof i420);
    write_file("p.uyvy", uyvy, sizeof uyvy);
    assert_same("--image p.nv12 --pixels nv12:48x36", "--image p.i420 --pixels i420:48x36");
    assert_same("--image p.nv12 --pixels nv12:48x36", "--image p.uyvy --pixels uyvy:48x36 --yuv bt601");
    assert_different("--image p.i420 --pixels i420:48x36",
                     "--image p.i420 --pixels i420:48x36 --yuv bt709-full");
}

static void a_picture_that_lies_askew_is_put_upright(void **state)
{
    (void)state;
    static unsigned char turned[WIDTH][HEIGHT][3];
    static unsigned char mirrored[HEIGHT][WIDTH][3];
    static unsigned char over[HEIGHT][WIDTH][3];
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            memcpy(turned[WIDTH - 1 - x][y], pixels[y][x], 3); /* a quarter turn against the clock */
            memcpy(mirrored[y][WIDTH - 1 - x], pixels[y][x], 3);
            memcpy(over[HEIGHT - 1 - y][WIDTH - 1 - x], pixels[y][x], 3);
        }
    }
    write_file("turned.rgb", turned, sizeof turned);
    write_file("mirrored.rgb", mirrored, sizeof mirrored);
    write_file("over.rgb", over, sizeof over);
    assert_same("--image p.ppm", "--image turned.rgb --pixels rgb:36x48 --rotate 90");
    assert_same("--image p.ppm", "--image mirrored.rgb --pixels rgb:48x36 --mirror");
    assert_same("--image p.ppm", "--image over.rgb --pixels rgb:48x36 --rotate 180");
    assert_different("--image p.ppm", "--image turned.rgb --pixels rgb:36x48 --rotate 270");
}

static void crop_fit_and_filter_change_what_is_seen(void **state)
{
    (void)state;
    assert_same("--image p.ppm --fit crop", "--image p.ppm --crop 6,0,36,36");
    assert_same("--image p.ppm --fit crop", "--image p.ppm --crop 6,0,36,36 --fit letterbox"); /* a square */
    assert_same("--image p.ppm", "--image p.ppm --fit stretch --filter bilinear --rotate 0");
    assert_different("--image p.ppm", "--image p.ppm --fit letterbox");
    assert_different("--image p.ppm", "--image p.ppm --filter area");
    assert_different("--image p.ppm", "--image p.ppm --crop 0,0,20,36");
}

static void raw_pixels_can_be_annotated(void **state)
{
    (void)state;
    write_file("p.rgb", pixels, sizeof pixels);
    result r =
        expect(0, "run small.mtsb --device reference --image p.rgb --pixels rgb:48x36 --rotate 90 --crop "
                  "2,4,20,30 --annotate out.png");
    result_release(&r);
    r = expect(0, "run small.mtsb --device reference --image out.png");
    result_release(&r);
}

/* The ten numbers of a classifier may pass for five landmarks: what is tested is the way from options to JSON. */
static void outputs_are_decoded_and_drawn_at_the_size_of_the_picture(void **state)
{
    (void)state;
    result r =
        expect(0, "run small.mtsb --device reference --image p.ppm --tasks object,pet --decode "
                  "object=landmarks:2 --decode pet=classes --crop 8,0,32,32 --json --annotate points.png");
    json_t *root = json_loads(r.out, 0, NULL);
    result_release(&r);
    const json_t *task = json_array_get(json_object_get(root, "tasks"), 0);
    const json_t *decoded = json_object_get(task, "decoded");
    assert_string_equal(json_string_value(json_object_get(decoded, "kind")), "landmarks");
    assert_int_equal(json_array_size(json_object_get(decoded, "landmarks")), 5);
    const json_t *given = json_object_get(json_array_get(json_object_get(task, "outputs"), 0),
                                          "values"); /* pixels of the input */
    const json_t *first = json_array_get(json_object_get(decoded, "landmarks"), 0);
    assert_float_equal(json_number_value(json_array_get(first, 0)),
                       json_number_value(json_array_get(given, 0)) + 8, 1e-3);
    assert_float_equal(json_number_value(json_array_get(first, 1)),
                       json_number_value(json_array_get(given, 1)), 1e-3);
    assert_null(json_object_get(json_array_get(json_object_get(root, "tasks"), 1), "decoded"));
    json_decref(root);
    r = expect(
        0, "run small.mtsb --device reference --image p.ppm --tasks object --decode landmarks:2 --annotate "
           "same.png");
    assert_non_null(strstr(r.out, "5 landmarks"));
    result_release(&r);
    r = expect(0, "run small.mtsb --device reference --image same.png --tasks object --json");
    root = json_loads(r.out, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "image"), "width")), 48);
    json_decref(root);
    result_release(&r);
}

static void a_mistake_is_named(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *arguments, *said;
    } cases[] = {
        {2, "--mirror", "give a picture"},
        {2, "--raw pet=x.npy --mirror", "need --image"},
        {2, "--image p.ppm --rotate 45", "--rotate is 0, 90, 180 or 270, not 45"},
        {2, "--image p.ppm --rotate 360", "out of range"},
        {2, "--image p.ppm --filter cubic", "bilinear or area, not 'cubic'"},
        {2, "--image p.ppm --fit tight", "letterbox-corner or crop, not 'tight'"},
        {2, "--image p.ppm --yuv bt601", "--yuv needs --pixels"},
        {2, "--image p.ppm --pixels nv13:4x4", "not 'nv13:4x4'"},
        {2, "--image p.ppm --pixels nv12:4x4 --yuv bt2020", "not 'bt2020'"},
        {1, "--image p.ppm --pixels nv12:4x4", "no whole frames of 24"},
        {1, "--image none.nv12 --pixels nv12:4x4", "none.nv12"},
        {1, "--image p.ppm --crop 0,0,49,4", "not inside"},
        {2, "--image p.ppm --decode boxes", "not 'boxes'"},
        {2, "--image p.ppm --decode landmarks:6", "not 'landmarks:6'"},
        {2, "--image p.ppm --decode mask:2", "not 'mask:2'"},
        {2, "--raw pet=x.npy --decode yolo", "--decode needs --image"},
        {1, "--image p.ppm --decode cat=yolo", "no such task"},
        {1, "--image p.ppm --decode object=face", "has no input of 128 x 128"},
        {1, "--image p.ppm --decode object=yolo", "no known head"},
        {1, "--image p.ppm --decode object=ultraface", "N x 2 scores"},
        {1, "--image p.ppm --decode object=mask", "1 x H x W x 1"},
        {1, "--image p.ppm --decode object=landmarks:3", "no multiple"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "run small.mtsb --device reference %s", cases[i].arguments);
        result r = expect(cases[i].status, line);
        assert_string_equal(r.out, "");
        if (!strstr(r.err, cases[i].said)) {
            fail_msg("mts %s: '%s' is not in: %s", line, cases[i].said, r.err);
        }
        result_release(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_pixels_say_what_the_same_photo_says),
        cmocka_unit_test(frames_of_cameras_in_three_layouts_say_the_same),
        cmocka_unit_test(a_picture_that_lies_askew_is_put_upright),
        cmocka_unit_test(crop_fit_and_filter_change_what_is_seen),
        cmocka_unit_test(raw_pixels_can_be_annotated),
        cmocka_unit_test(outputs_are_decoded_and_drawn_at_the_size_of_the_picture),
        cmocka_unit_test(a_mistake_is_named),
    };
    return cmocka_run_group_tests(tests, begin, folder_remove);
}
