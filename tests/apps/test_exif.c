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

static void append(file *to, const void *data, size_t size)
{
    assert_true(to->size + size <= MOST);
    memcpy(to->bytes + to->size, data, size);
    to->size += size;
}

static void stb_append(void *context, void *data, int size)
{
    append(context, data, (size_t)size);
}

typedef enum container { JPEG, PNG, WEBP, CONTAINERS } container;

/* A TIFF file with one directory of two entries. */
static size_t tiff_make(bool little, uint32_t orientation, unsigned char *out)
{
    static const unsigned char big[] = {'M', 'M', 0, 42, 0, 0, 0,    8, 0, 2, 1, 0, 0, 3, 0, 0, 0,
                                        1,   0,   9, 0,  0, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0};
    static const unsigned char small[] = {'I', 'I', 42, 0, 8, 0,    0, 0, 2, 0, 0, 1, 3, 0, 1, 0, 0,
                                          0,   9,   0,  0, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0};
    memcpy(out, little ? small : big, sizeof big);
    out[little ? 30 : 31] = (unsigned char)orientation;
    return sizeof big;
}

static unsigned char pixels[HEIGHT][WIDTH][3];

/* The upper left quarter is red, the upper right one green and the rest blue. */
static int make_pixels(void **state)
{
    (void)state;
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            memset(pixels[y][x], 0, 3);
            pixels[y][x][y >= HEIGHT / 2 ? 2 : x < WIDTH / 2 ? 0 : 1] = 255;
        }
    }
    return 0;
}

static void append_number(file *to, uint32_t number, bool little)
{
    for (int i = 0; i < 4; i++) {
        append(to, &(unsigned char){(unsigned char)(number >> 8 * (little ? i : 3 - i))}, 1);
    }
}

/* The checksum of a PNG's chunk, bit by bit. */
static uint32_t crc_of(const unsigned char *data, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < 8 * size; i++) {
        const uint32_t bit = (crc ^ (uint32_t)data[i / 8] >> i % 8) & 1u;
        crc = crc >> 1 ^ (bit ? 0xedb88320u : 0u);
    }
    return ~crc;
}

/* Photos with a TIFF file as their Exif data: its offset in the file is returned through *at. */
static file jpeg_make(const unsigned char *tiff, size_t size, size_t *at)
{
    file jpeg = {.size = 0};
    file all = {.size = 0};
    assert_int_not_equal(stbi_write_jpg_to_func(stb_append, &jpeg, WIDTH, HEIGHT, 3, pixels, 95), 0);
    append(&all, jpeg.bytes, 2);
    append(&all, (unsigned char[]){0xff, 0xe1, 0, (unsigned char)(size + 8), 'E', 'x', 'i', 'f', 0, 0}, 10);
    *at = all.size;
    append(&all, tiff, size);
    append(&all, jpeg.bytes + 2, jpeg.size - 2);
    return all;
}

static file png_make(const unsigned char *tiff, size_t size, size_t *at)
{
    const size_t head = 8 + 25; /* signature and IHDR */
    file png = {.size = 0};
    file all = {.size = 0};
    assert_int_not_equal(stbi_write_png_to_func(stb_append, &png, WIDTH, HEIGHT, 3, pixels, WIDTH * 3), 0);
    append(&all, png.bytes, head);
    append_number(&all, (uint32_t)size, false);
    append(&all, (unsigned char[]){'e', 'X', 'I', 'f'}, 4);
    *at = all.size;
    append(&all, tiff, size);
    append_number(&all, crc_of(all.bytes + *at - 4, size + 4), false);
    append(&all, png.bytes + head, png.size - head);
    return all;
}

/* The same pixels as libwebp writes them without loss. */
static file webp_make(const unsigned char *tiff, size_t size, size_t *at)
{
    unsigned char head[] = {'W', 'E', 'B', 'P', 'V', 'P',       '8', 'X', 10,         0, 0,
                            0,   8,   0,   0,   0,   WIDTH - 1, 0,   0,   HEIGHT - 1, 0, 0};
    unsigned char coded[] = {'V',  'P',  '8',  'L',  0x18, 0x00, 0x00, 0x00, 0x2f, 0x1f, 0xc0,
                             0x03, 0x00, 0x10, 0x12, 0x10, 0xfe, 0x9f, 0x16, 0x45, 0x75, 0xfe,
                             0xe7, 0xbf, 0xff, 0x13, 0x40, 0x59, 0xf2, 0x1f, 0xdc, 0x0f};
    file all = {.size = 0};
    append(&all, (unsigned char[]){'R', 'I', 'F', 'F'}, 4);
    append_number(&all, (uint32_t)(sizeof head + sizeof coded + 8 + size + size % 2), true);
    append(&all, head, sizeof head);
    append(&all, coded, sizeof coded);
    append(&all, (unsigned char[]){'E', 'X', 'I', 'F'}, 4);
    append_number(&all, (uint32_t)size, true);
    *at = all.size;
    append(&all, tiff, size);
    append(&all, (unsigned char[]){0}, size % 2);
    return all;
}

static file photo_of(container kind, const unsigned char *tiff, size_t size, size_t *at)
{
    return kind == JPEG  ? jpeg_make(tiff, size, at)
           : kind == PNG ? png_make(tiff, size, at)
                         : webp_make(tiff, size, at);
}

static file photo_make(container kind, bool little, uint32_t orientation, size_t *at)
{
    unsigned char tiff[64];
    return photo_of(kind, tiff, tiff_make(little, orientation, tiff), at);
}

/* Colour of the corner: 0 red, 1 green, 2 blue. */
static int corner(const cli_image *image, bool right, bool lower)
{
    const size_t x = right ? image->width - 3 : 2;
    const size_t y = lower ? image->height - 3 : 2;
    const unsigned char *p = image->pixels + 3 * (y * image->width + x);
    return p[0] > 128 ? 0 : p[1] > 128 ? 1 : 2;
}

static void check_upright(const cli_image *image, uint32_t o)
{
    /* Colours of the corners: upper left, upper right, lower left, lower right. */
    static const int expected[9][4] = {{0},          {0, 1, 2, 2}, {1, 0, 2, 2}, {2, 2, 1, 0}, {2, 2, 0, 1},
                                       {0, 2, 1, 2}, {2, 0, 2, 1}, {2, 1, 2, 0}, {1, 2, 0, 2}};
    assert_int_equal(image->width, o < 5 ? WIDTH : HEIGHT);
    assert_int_equal(image->height, o < 5 ? HEIGHT : WIDTH);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(corner(image, k % 2, k / 2), expected[o][k]);
    }
}

static void photos_are_turned_upright(void **state)
{
    char path[64];
    char error[CLI_ERROR];
    size_t at = 0;
    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/mts-exif-%ld", (long)getpid());
    for (uint32_t n = 0; n < 8 * CONTAINERS; n++) {
        const uint32_t o = 1 + n % 8;
        const container kind = (container)(n / 8);
        const file photo = photo_make(kind, o % 2, o, &at);
        cli_image image;
        assert_int_equal(cli_exif_orientation(photo.bytes, photo.size), o);
#ifndef MTS_KIT_WEBP
        if (kind == WEBP) {
            continue; /* nothing decodes it */
        }
#endif
        assert_true(cli_file_write(path, photo.bytes, photo.size, error));
        if (!cli_image_read(path, &image, error)) {
            fail_msg("%s", error);
        }
        check_upright(&image, o);
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
    (void)state;
    for (container kind = JPEG; kind < CONTAINERS; kind++) {
        size_t at = 0;
        const file photo = photo_make(kind, true, 6, &at);
        const size_t end = at + 34 + (kind == PNG ? 4 : 0); /* the chunk's */
        for (size_t size = 0; size < end; size++) {
            if (orientation_of(photo.bytes, size) != 1) {
                fail_msg("%zu bytes of %zu, container %d", size, end, kind);
            }
        }
        assert_int_equal(orientation_of(photo.bytes, end), 6);
    }
}

/* A byte of the file, counted from its Exif data, as another value. */
typedef struct change {
    int place;
    unsigned char value;
} change;

static void check_changes(container kind, const change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        file photo = photo_make(kind, true, 6, &at);
        photo.bytes[(int)at + changes[i].place] = changes[i].value;
        if (orientation_of(photo.bytes, photo.size) != 1) {
            fail_msg("container %d, byte %d as %u", kind, changes[i].place, changes[i].value);
        }
    }
}

static void nonsense_is_upright(void **state)
{
    /* In the TIFF file, and in what is around it: its length is wrong, its kind another one. */
    static const change tiff[] = {{0, 'X'}, {1, 'M'}, {2, 41}, {4, 0xff}, {7, 0xff}, {5, 200}, {22, 0x13},
                                  {24, 4},  {30, 9},  {30, 0}, {31, 1},   {8, 1},    {8, 0}};
    static const change jpeg[] = {{-10, 0}, {-12, 0}, {-6, 0xff}, {-5, 1}, {-4, 'X'}, {-9, 0xe2}};
    static const change png[] = {{-41, 'X'}, {-8, 0x7f}, {-8, 0xff}, {-5, 33},
                                 {-5, 35},   {-4, 'E'},  {34, 0},    {30, 3}};
    static const change webp[] = {{-4, 0xff}, {-1, 0xff}, {-1, 0x7f}, {-4, 36},
                                  {-8, 'X'},  {-62, 'X'}, {-70, 'X'}};
    (void)state;
    check_changes(JPEG, jpeg, sizeof jpeg / sizeof jpeg[0]);
    check_changes(PNG, png, sizeof png / sizeof png[0]);
    check_changes(WEBP, webp, sizeof webp / sizeof webp[0]);
    check_changes(JPEG, tiff, sizeof tiff / sizeof tiff[0]); /* PNG's checksum would refuse it first */
    check_changes(WEBP, tiff, sizeof tiff / sizeof tiff[0]);
    assert_true(cli_image_upright(&(cli_image){0}, 0));
    assert_true(cli_image_upright(&(cli_image){0}, 9));
}

/* Some programs begin the chunk of a WebP as JPEG's segment begins; a PNG's may be no TIFF file at all. */
static void what_writers_put_before_the_data_is_known(void **state)
{
    unsigned char data[64] = "Exif\0";
    size_t at = 0;
    (void)state;
    const size_t size = 6 + tiff_make(false, 8, data + 6);
    file photo = webp_make(data, size, &at);
    assert_int_equal(orientation_of(photo.bytes, photo.size), 8);
    photo = webp_make(data, 6, &at);
    assert_int_equal(orientation_of(photo.bytes, photo.size), 1);
    photo = png_make(data, 3, &at);
    assert_int_equal(orientation_of(photo.bytes, photo.size), 1);
    photo = png_make(data, 0, &at);
    assert_int_equal(orientation_of(photo.bytes, photo.size), 1);
}

static void random_bytes_are_read_within_bounds(void **state)
{
    size_t at[CONTAINERS];
    (void)state;
    srand(7);
    const file photos[CONTAINERS] = {photo_make(JPEG, false, 6, &at[0]), photo_make(PNG, true, 6, &at[1]),
                                     photo_make(WEBP, true, 6, &at[2])};
    for (int n = 0; n < 30000; n++) {
        const int kind = n % CONTAINERS;
        file photo = photos[kind];
        for (int k = 0; k < 1 + n % 4; k++) {
            photo.bytes[8 + (size_t)rand() % (at[kind] + 32)] = (unsigned char)rand();
        }
        const size_t size = at[kind] + (size_t)rand() % 48;
        assert_in_range(orientation_of(photo.bytes, size), 1, 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(photos_are_turned_upright),
        cmocka_unit_test(what_is_cut_off_is_upright),
        cmocka_unit_test(nonsense_is_upright),
        cmocka_unit_test(what_writers_put_before_the_data_is_known),
        cmocka_unit_test(random_bytes_are_read_within_bounds),
    };
    return cmocka_run_group_tests(tests, make_pixels, NULL);
}
