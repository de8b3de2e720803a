/*
 * test_exif.c: photos of a camera that was held otherwise are seen upright, and odd files change nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <stb/stb_image_write.h>

#include "kit/exif.h"

#define WIDTH 32
#define HEIGHT 16
#define MOST 8192

typedef struct file {
    unsigned char bytes[MOST];
    size_t size;
} file;

static void append(void *context, void *data, int size)
{
    file *to = context;
    assert_true(to->size + (size_t)size <= MOST);
    memcpy(to->bytes + to->size, data, (size_t)size);
    to->size += (size_t)size;
}

/* Exif data with one directory of two entries. */
static size_t exif_make(bool little, uint32_t orientation, unsigned char *out)
{
    static const unsigned char big[] = {0xff, 0xe1, 0, 42,   'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0,
                                        0,    0,    8, 0,    2,   1,   0,   0,   3, 0, 0,   0,   1, 0,  9,
                                        0,    0,    1, 0x12, 0,   3,   0,   0,   0, 1, 0,   0,   0, 0};
    static const unsigned char small[] = {0xff, 0xe1, 0,    42, 'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8,
                                          0,    0,    0,    2,  0,   0,   1,   3,   0, 1, 0,   0,   0,  9, 0,
                                          0,    0,    0x12, 1,  3,   0,   1,   0,   0, 0, 0,   0,   0,  0};
    memcpy(out, little ? small : big, sizeof big);
    out[little ? 40 : 41] = (unsigned char)orientation;
    return sizeof big;
}

/* A photo whose upper left quarter is red, the upper right one green and the rest blue, with Exif data. */
static file photo_make(bool little, uint32_t orientation)
{
    static unsigned char pixels[HEIGHT][WIDTH][3];
    unsigned char exif[64];
    file jpeg = {.size = 0};
    file all = {.size = 0};
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            memset(pixels[y][x], 0, 3);
            pixels[y][x][y >= HEIGHT / 2 ? 2 : x < WIDTH / 2 ? 0 : 1] = 255;
        }
    }
    assert_int_not_equal(stbi_write_jpg_to_func(append, &jpeg, WIDTH, HEIGHT, 3, pixels, 95), 0);
    append(&all, jpeg.bytes, 2);
    append(&all, exif, (int)exif_make(little, orientation, exif));
    append(&all, jpeg.bytes + 2, (int)jpeg.size - 2);
    return all;
}

/* Colour of the corner: 0 red, 1 green, 2 blue. */
static int corner(const cli_image *image, bool right, bool lower)
{
    const size_t x = right ? image->width - 3 : 2;
    const size_t y = lower ? image->height - 3 : 2;
    const unsigned char *p = image->pixels + 3 * (y * image->width + x);
    return p[0] > 128 ? 0 : p[1] > 128 ? 1 : 2;
}

static void photos_are_turned_upright(void **state)
{
    /* Colours of the corners: upper left, upper right, lower left, lower right. */
    static const int expected[9][4] = {{0},          {0, 1, 2, 2}, {1, 0, 2, 2}, {2, 2, 1, 0}, {2, 2, 0, 1},
                                       {0, 2, 1, 2}, {2, 0, 2, 1}, {2, 1, 2, 0}, {1, 2, 0, 2}};
    char path[64];
    char error[CLI_ERROR];
    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/mts-exif-%ld.jpg", (long)getpid());
    for (uint32_t o = 1; o <= 8; o++) {
        const file photo = photo_make(o % 2, o);
        cli_image image;
        assert_int_equal(cli_exif_orientation(photo.bytes, photo.size), o);
        assert_true(cli_file_write(path, photo.bytes, photo.size, error));
        assert_true(cli_image_read(path, &image, error));
        assert_int_equal(image.width, o < 5 ? WIDTH : HEIGHT);
        assert_int_equal(image.height, o < 5 ? HEIGHT : WIDTH);
        for (int k = 0; k < 4; k++) {
            assert_int_equal(corner(&image, k % 2, k / 2), expected[o][k]);
        }
        cli_image_release(&image);
    }
    (void)remove(path);
}

/* In memory of exactly that size, so that sanitizers see every byte too far. */
static uint32_t orientation_of(const unsigned char *bytes, size_t size)
{
    unsigned char *copy = malloc(size + !size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    const uint32_t orientation = cli_exif_orientation(copy, size);
    free(copy);
    return orientation;
}

static void what_is_cut_off_is_upright(void **state)
{
    const file photo = photo_make(true, 6);
    (void)state;
    for (size_t size = 0; size < 46; size++) {
        assert_int_equal(orientation_of(photo.bytes, size), 1);
    }
    assert_int_equal(orientation_of(photo.bytes, 60), 6);
}

static void nonsense_is_upright(void **state)
{
    static const struct {
        size_t place;
        unsigned char value;
    } changes[] = {{0, 0},   {4, 0xff},  {5, 1},     {6, 'X'},  {12, 'X'},  {13, 'M'},
                   {14, 41}, {16, 0xff}, {19, 0xff}, {17, 200}, {34, 0x13}, {36, 4},
                   {42, 9},  {42, 0},    {43, 1},    {20, 1},   {20, 0},    {3, 0xe2}};
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        file photo = photo_make(true, 6);
        photo.bytes[changes[i].place] = changes[i].value;
        if (orientation_of(photo.bytes, photo.size) != 1) {
            fail_msg("byte %zu as %u", changes[i].place, changes[i].value);
        }
    }
    assert_true(cli_image_upright(&(cli_image){0}, 0));
    assert_true(cli_image_upright(&(cli_image){0}, 9));
}

static void random_bytes_are_read_within_bounds(void **state)
{
    (void)state;
    srand(7);
    const file photos[2] = {photo_make(false, 6), photo_make(true, 6)};
    for (int n = 0; n < 20000; n++) {
        file photo = photos[n % 2];
        for (int k = 0; k < 1 + n % 4; k++) {
            photo.bytes[2 + rand() % 44] = (unsigned char)rand();
        }
        const uint32_t orientation = orientation_of(photo.bytes, 20 + (size_t)rand() % 60);
        assert_in_range(orientation, 1, 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(photos_are_turned_upright),
        cmocka_unit_test(what_is_cut_off_is_upright),
        cmocka_unit_test(nonsense_is_upright),
        cmocka_unit_test(random_bytes_are_read_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
