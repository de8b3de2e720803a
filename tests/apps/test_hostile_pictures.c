/*
 * Pictures of strangers: whatever their bytes are, the program goes on, and takes no more memory than the
 * declared size asks for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit/decoders.h"

#include <stb/stb_image_write.h>

#define WIDTH 40
#define HEIGHT 30

typedef struct bytes {
    unsigned char *at;
    size_t size, capacity;
} bytes;

static unsigned char pixels[HEIGHT * WIDTH * 3];
static char reason[CLI_REASON];
static uint32_t state_of_random = 7;

static uint32_t random_number(void)
{
    state_of_random = state_of_random * 1664525u + 1013904223u;
    return state_of_random >> 8;
}

static void add(bytes *b, const void *data, size_t size)
{
    if (b->size + size > b->capacity) {
        b->capacity = 2 * (b->size + size);
        b->at = realloc(b->at, b->capacity);
        assert_non_null(b->at);
    }
    memcpy(b->at + b->size, data, size);
    b->size += size;
}

static void add_number(bytes *b, uint32_t number, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        add(b, &(unsigned char){(unsigned char)(i < 4 ? number >> 8 * i : 0)}, 1);
    }
}

static void stb_add(void *context, void *data, int size)
{
    add(context, data, (size_t)size);
}

static int make_pixels(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (unsigned char)(i % 3 == 0 ? 5 * (i / 3 % WIDTH) : i % 3 == 1 ? 7 * (i / 3 / WIDTH) : 90);
    }
    return 0;
}

static bytes good_png(void)
{
    bytes file = {0};
    assert_true(stbi_write_png_to_func(stb_add, &file, WIDTH, HEIGHT, 3, pixels, WIDTH * 3));
    return file;
}

static bytes good_jpeg(void)
{
    bytes file = {0};
    assert_true(stbi_write_jpg_to_func(stb_add, &file, WIDTH, HEIGHT, 3, pixels, 95));
    return file;
}

static bytes good_bmp(void)
{
    bytes file = {0};
    assert_true(stbi_write_bmp_to_func(stb_add, &file, WIDTH, HEIGHT, 3, pixels));
    return file;
}

/* A Huffman table whose counts sum up to more than 256, which stb_image writes beyond its arrays. */
static void add_table(bytes *b, int kind, const unsigned char counts[16], const unsigned char *values,
                      uint32_t count)
{
    add(b, "\xff\xc4", 2);
    add_number(b, 19 + count, 2);
    add_number(b, (uint32_t)kind, 1);
    add(b, counts, 16);
    add(b, values, count);
}

static bytes evil_jpeg(void)
{
    static const unsigned char one[16] = {[8] = 1};
    static const unsigned char many[16] = {[8] = 200, 200, 200, 100};
    unsigned char values[700], quantise[65] = {0};
    bytes b = {0};
    memset(values, 1, sizeof values);
    memset(values + 516, 0xff, 72);
    for (int i = 0; i < 17; i++) {
        memcpy(values + 588 + 4 * i, "\0\0\0\x20", 4);
    }
    memset(quantise + 1, 16, 64);
    add(&b, "\xff\xd8\xff\xdb\0\x43", 6);
    add(&b, quantise, 65);
    add(&b, "\xff\xc0\0\x11\x08\0\x08\0\x08\3\1\x11\0\2\x11\0\3\x11\0", 19);
    add_table(&b, 0x10, one, values, 1);
    add_table(&b, 0x00, many, values, 700);
    add(&b, "\xff\xda\0\x0c\3\1\0\2\0\3\0\0\x3f\0", 14);
    for (int i = 0; i < 64; i++) {
        add(&b, "\xfe", 1);
    }
    add(&b, "\xff\xd9", 2);
    return b;
}

static uint32_t crc_of(const unsigned char *data, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++) {
            crc = crc >> 1 ^ (crc & 1u ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

static void add_chunk(bytes *b, const char *kind, const unsigned char *data, uint32_t size)
{
    add_number(b, size, 4);
    add(b, kind, 4);
    add(b, data, size);
    add_number(b, crc_of(b->at + b->size - size - 4, size + 4), 4);
}

/* A PNG of these sides whose pixels inflate to `inflated` zero bytes: by DEFLATE's fixed codes, 258 at once. */
static bytes bomb(uint32_t width, uint32_t height, size_t inflated)
{
    bytes data = {0}, b = {0};
    unsigned char head[13] = {[8] = 8, 2};
    uint64_t held = 0;
    uint32_t bits = 0;
    add(&data, "\x78\x01", 2);
    held = 3u | 0x0cu << 3; /* last block, fixed codes; a literal 0: 00110000, first bit first */
    bits = 11;
    for (size_t done = 1; done < inflated; done += 258) { /* length 258: 11000101; distance 1: 00000 */
        held |= (uint64_t)0xa3u << bits;
        bits += 13;
        while (bits >= 8) {
            add(&data, &(unsigned char){(unsigned char)held}, 1);
            held >>= 8;
            bits -= 8;
        }
    }
    add_number(&data, 0, 8); /* the end code's zeros; no checksum */
    for (int i = 0; i < 4; i++) {
        head[i] = (unsigned char)(width >> (24 - 8 * i));
        head[4 + i] = (unsigned char)(height >> (24 - 8 * i));
    }
    add(&b, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(&b, "IHDR", head, 13);
    add_chunk(&b, "IDAT", data.at, (uint32_t)data.size);
    add_chunk(&b, "IEND", head, 0);
    free(data.at);
    return b;
}

static uint32_t adler_of(const unsigned char *data, size_t size)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < size; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

/* A PNG of 16-bit RGBA whose rows were not deflated: each is a stored block of its own, as after a full flush,
   which takes the most room that writers need. */
static bytes stored_png(uint32_t width, uint32_t height)
{
    const uint32_t row = 1 + 8 * width;
    bytes rows = {0}, data = {0}, b = {0};
    const unsigned char head[13] = {0, 0, 0, (unsigned char)width, 0, 0, 0, (unsigned char)height, 16, 6};
    add(&data, "\x78\x01", 2);
    for (uint32_t y = 0; y < height; y++) {
        const unsigned char block[] = {y + 1 == height, (unsigned char)row, (unsigned char)(row >> 8),
                                       (unsigned char)~row, (unsigned char)(~row >> 8)};
        const size_t begin = rows.size;
        add(&rows, "", 1); /* no filter */
        for (uint32_t i = 1; i < row; i++) {
            add(&rows, &(unsigned char){(unsigned char)random_number()}, 1);
        }
        add(&data, block, sizeof block);
        add(&data, rows.at + begin, row);
    }
    add_number(&data, adler_of(rows.at, rows.size), 4);
    add(&b, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(&b, "IHDR", head, 13);
    add_chunk(&b, "IDAT", data.at, (uint32_t)data.size);
    add_chunk(&b, "IEND", head, 0);
    free(rows.at);
    free(data.at);
    return b;
}

/* As a program reads it: the decoder is chosen by how the file begins. */
static bool read_as_file(const bytes *file, cli_image *image, char *error)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/mts-hostile-%ld", (long)getpid());
    assert_true(cli_file_write(path, file->at, file->size, error));
    const bool read = cli_image_read(path, image, error);
    (void)remove(path);
    assert_true(read == (image->pixels != NULL));
    return read;
}

static void a_jpeg_that_breaks_its_decoder_is_refused_and_the_program_goes_on(void **state)
{
    char error[CLI_ERROR];
    cli_image image;
    (void)state;
    bytes evil = evil_jpeg();
    assert_false(cli_stb_decode_apart(evil.at, evil.size, &image, reason));
    assert_null(image.pixels);
    assert_non_null(strstr(reason, "is a damaged picture"));
    assert_false(read_as_file(&evil, &image, error));
    assert_non_null(strstr(error, "is a damaged picture"));
    free(evil.at);
}

/* Kilobytes, of the largest moment so far. */
static long peak_of(int whose)
{
    struct rusage usage;
    assert_int_equal(getrusage(whose, &usage), 0);
    return usage.ru_maxrss;
}

/*
 * Whether a process can be kept from taking memory. User-mode emulators accept such a limit and ignore it;
 * sanitizers take more memory than any limit.
 */
static bool memory_is_limited(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    const size_t much = (size_t)8 << 30;
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setrlimit(RLIMIT_AS, &(struct rlimit){much / 2, much / 2});
        void *at = malloc(much); /* never touched */
        _exit(at ? 0 : 1);
    }
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status) == 1;
#endif
}

static void a_small_png_that_inflates_to_much_takes_the_memory_of_its_size(void **state)
{
    char error[CLI_ERROR];
    cli_image image;
    (void)state;
    const bool limited = memory_is_limited();
    bytes file = bomb(8, 8, (size_t)(limited ? 400 : 16) << 20);
    assert_true(file.size < (size_t)4 << 20);
    bytes large = bomb(400, 400, (size_t)16 << 20); /* its packed bytes are fewer than its rows may take */
    const long before = peak_of(RUSAGE_SELF);
#ifdef MTS_KIT_PNG
    assert_false(read_as_file(&file, &image, error)); /* all of it would be inflated */
    assert_non_null(strstr(error, "it has more bytes than its rows can take"));
    assert_false(read_as_file(&large, &image, error));
    assert_non_null(strstr(error, "it has more bytes than its rows can take"));
    assert_true(peak_of(RUSAGE_SELF) - before < 32 << 10);
#else
    (void)read_as_file(&file, &image, error); /* either is right: its first rows are good */
    cli_image_release(&image);
#endif
    if (limited) {
        assert_false(cli_stb_decode_apart(file.at, file.size, &image, reason));
        assert_true(peak_of(RUSAGE_CHILDREN) < before + (192 << 10));
    } else {
        print_message("RLIMIT_AS does not hold here: not checked in the decoder's process\n");
    }
    free(large.at);
    free(file.at);
}

/* The limit of a PNG's packed size refuses no picture that is whole. */
static void pictures_that_do_not_deflate_are_taken(void **state)
{
    static const uint32_t sides[][2] = {{1, 1}, {1, 255}, {255, 1}, {200, 200}};
    char error[CLI_ERROR];
    (void)state;
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        cli_image image;
        bytes file = stored_png(sides[i][0], sides[i][1]);
        if (!read_as_file(&file, &image, error)) {
            fail_msg("%ux%u: %s", sides[i][0], sides[i][1], error);
        }
        assert_int_equal(image.width, sides[i][0]);
        assert_int_equal(image.height, sides[i][1]);
        cli_image_release(&image);
        free(file.at);
    }
}

static void declared_sizes_are_checked_before_anything_is_decoded(void **state)
{
    char error[CLI_ERROR];
    cli_image image;
    (void)state;
    bytes files[3] = {bomb(20000, 20000, 100), bomb(16000, 16000, 100), good_jpeg()};
    for (size_t i = 0; i + 4 < files[2].size; i++) {
        if (files[2].at[i] == 0xff && files[2].at[i + 1] == 0xc0) {
            memcpy(files[2].at + i + 5, "\xff\xdc\xff\xdc", 4); /* 65500 x 65500 */
        }
    }
    for (int i = 0; i < 3; i++) {
        assert_false(read_as_file(&files[i], &image, error));
        assert_non_null(strstr(error, "is too large"));
        assert_false(cli_stb_decode_apart(files[i].at, files[i].size, &image, reason));
        assert_non_null(strstr(reason, "is too large"));
        free(files[i].at);
    }
}

static void every_decoder_sees_the_same_picture(void **state)
{
    cli_image apart, image;
    char error[CLI_ERROR];
    bytes files[3] = {good_png(), good_bmp(), good_jpeg()};
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(read_as_file(&files[i], &image, error));
        assert_true(cli_stb_decode_apart(files[i].at, files[i].size, &apart, reason));
        assert_int_equal(image.width, WIDTH);
        assert_int_equal(image.height, HEIGHT);
        assert_int_equal(apart.width, WIDTH);
        for (size_t p = 0; p < sizeof pixels; p++) {
            const int most =
                i < 2 ? 0 : 24; /* JPEG loses something, and decoders smooth colours differently */
            assert_in_range(image.pixels[p] - pixels[p] + 64, 64 - most, 64 + most);
            assert_in_range(image.pixels[p] - apart.pixels[p] + 64, 64 - most, 64 + most);
        }
        cli_image_release(&image);
        cli_image_release(&apart);
        free(files[i].at);
    }
}

static void pictures_that_are_cut_off_are_refused(void **state)
{
    char error[CLI_ERROR];
    cli_image image;
    (void)state;
    bytes files[3] = {good_png(), good_bmp(), good_jpeg()};
    for (int i = 0; i < 3; i++) {
        for (int part = 0; part < 8; part++) {
            bytes cut = files[i];
            cut.size = cut.size * (size_t)part / 8;
            if (i == 0 || part < 1) { /* stb_image shows what there is of the others */
                assert_false(read_as_file(&cut, &image, error));
            } else if (read_as_file(&cut, &image, error)) {
                cli_image_release(&image);
            }
        }
        free(files[i].at);
    }
}

static void no_flipped_byte_breaks_the_program(void **state)
{
    char error[CLI_ERROR];
    cli_image image;
    (void)state;
    bytes files[4] = {good_png(), good_jpeg(), evil_jpeg(), good_bmp()};
    for (int round = 0; round < 600; round++) {
        bytes *file = &files[round % 4];
        const size_t at = random_number() % file->size;
        const unsigned char old = file->at[at];
        file->at[at] = (unsigned char)random_number();
        if (read_as_file(file, &image, error)) {
            cli_image_release(&image);
        }
        if (round % 8 == 0 && cli_stb_decode_apart(file->at, file->size, &image, reason)) {
            cli_image_release(&image);
        }
        file->at[at] = old;
    }
    for (int i = 0; i < 4; i++) {
        free(files[i].at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_png_that_inflates_to_much_takes_the_memory_of_its_size),
        cmocka_unit_test(a_jpeg_that_breaks_its_decoder_is_refused_and_the_program_goes_on),
        cmocka_unit_test(pictures_that_do_not_deflate_are_taken),
        cmocka_unit_test(declared_sizes_are_checked_before_anything_is_decoded),
        cmocka_unit_test(every_decoder_sees_the_same_picture),
        cmocka_unit_test(pictures_that_are_cut_off_are_refused),
        cmocka_unit_test(no_flipped_byte_breaks_the_program),
    };
    return cmocka_run_group_tests(tests, make_pixels, NULL);
}
