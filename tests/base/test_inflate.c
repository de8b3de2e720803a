/*
 * Deflate streams: blocks of each kind unpack, and damage of any kind ends without a read or write outside.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inflate.h"

/* Made by zlib: `words` as one stored block and with fixed codes, `lines` with codes of its own. */
static const char words[] = "to be or not to be, to be or not";
static const unsigned char stored[] = {0x01, 0x20, 0x00, 0xdf, 0xff, 0x74, 0x6f, 0x20, 0x62, 0x65,
                                       0x20, 0x6f, 0x72, 0x20, 0x6e, 0x6f, 0x74, 0x20, 0x74, 0x6f,
                                       0x20, 0x62, 0x65, 0x2c, 0x20, 0x74, 0x6f, 0x20, 0x62, 0x65,
                                       0x20, 0x6f, 0x72, 0x20, 0x6e, 0x6f, 0x74};
static const unsigned char fixed[] = {0x2b, 0xc9, 0x57, 0x48, 0x4a, 0x55, 0xc8, 0x2f, 0x52, 0xc8, 0xcb,
                                      0x2f, 0x51, 0x28, 0x01, 0x71, 0x74, 0x20, 0x14, 0x54, 0x0c, 0x00};
static const unsigned char dynamic[] = {
    0x55, 0xd2, 0x3d, 0x0e, 0xc2, 0x30, 0x0c, 0x86, 0xe1, 0x9d, 0x53, 0x64, 0x86, 0xc5, 0x76, 0xfe,
    0x1a, 0x21, 0x4e, 0x82, 0x18, 0x5a, 0x68, 0x27, 0x24, 0x16, 0x24, 0xe0, 0xf6, 0x40, 0x6c, 0xc5,
    0xf6, 0xd4, 0xe1, 0x69, 0xa5, 0x57, 0xfe, 0xba, 0xdd, 0x1f, 0xf3, 0x33, 0x7c, 0x20, 0x9c, 0xc2,
    0xfb, 0x0c, 0x97, 0xb0, 0x0f, 0xaf, 0xff, 0xe3, 0x10, 0xe0, 0x0d, 0x70, 0xdc, 0x6d, 0xcc, 0xd8,
    0xb9, 0x32, 0x23, 0x33, 0xe5, 0xc1, 0xd4, 0x19, 0x99, 0x89, 0x39, 0xcd, 0x83, 0x63, 0xe7, 0x89,
    0x39, 0x32, 0x97, 0x6d, 0x70, 0xea, 0x4c, 0xcc, 0x89, 0xb9, 0xa5, 0xc1, 0xb9, 0x73, 0x73, 0x69,
    0x4b, 0x1b, 0x5c, 0x3a, 0x47, 0x97, 0x76, 0x5b, 0x07, 0x57, 0x4e, 0x03, 0xd7, 0x06, 0x71, 0xf8,
    0xd4, 0x3d, 0xb9, 0x36, 0x9a, 0x06, 0x37, 0xfe, 0x1c, 0x5d, 0x5c, 0xba, 0xe9, 0x61, 0xf8, 0x70,
    0xd9, 0xd5, 0x55, 0x52, 0xe7, 0xcb, 0x21, 0xb9, 0xbe, 0x56, 0xf5, 0x05, 0xbe, 0x5d, 0x71, 0x7d,
    0xcb, 0x55, 0x3d, 0xda, 0x65, 0x24, 0x70, 0x45, 0xf5, 0x64, 0xa7, 0x91, 0x40, 0x28, 0xea, 0xd9,
    0x6e, 0x23, 0x81, 0xb4, 0xa8, 0x17, 0x3b, 0x8e, 0xf4, 0x65, 0xb3, 0x7c, 0xb5, 0xeb, 0x48, 0x5f,
    0xd5, 0xe9, 0x71, 0xb2, 0xf3, 0x48, 0x5f, 0xd3, 0xed, 0xb1, 0xd9, 0x7d, 0xa4, 0x6f, 0xd1, 0xf1,
    0x09, 0xdc, 0x40, 0x12, 0xb8, 0xea, 0xfc, 0x84, 0x76, 0x21, 0x09, 0x04, 0xdd, 0x9f, 0xc8, 0x4d,
    0x24, 0x85, 0xa4, 0x7f, 0x00, 0x45, 0x3b, 0x91, 0x14, 0xe6, 0xdf, 0x1f, 0xf0, 0x05};

/* What `dynamic` holds. */
static size_t write_lines(char *out)
{
    size_t length = 0;
    for (uint32_t i = 0; i < 24; i++) {
        length += (size_t)sprintf(out + length, "float y%u = x[%u] * w[%u] + 0x%02x;\n", i, i * 7 % 13, i % 5,
                                  i * 37 % 256);
    }
    return length;
}

/* From a block of exactly that size, so that a read beyond it is noticed. */
static bool unpack(const unsigned char *packed, size_t packed_size, unsigned char *out, size_t size)
{
    unsigned char *exact = malloc(packed_size + 1);
    assert_non_null(exact);
    memcpy(exact + 1, packed, packed_size);
    const bool done = mts_inflate(exact + 1, packed_size, out, size);
    free(exact);
    return done;
}

static void blocks_of_each_kind_unpack(void **state)
{
    (void)state;
    unsigned char out[2048];
    assert_true(unpack(stored, sizeof stored, out, sizeof words - 1));
    assert_memory_equal(out, words, sizeof words - 1);
    assert_true(unpack(fixed, sizeof fixed, out, sizeof words - 1));
    assert_memory_equal(out, words, sizeof words - 1);
    char lines[2048];
    const size_t length = write_lines(lines);
    assert_true(unpack(dynamic, sizeof dynamic, out, length));
    assert_memory_equal(out, lines, length);
}

static void the_beginning_of_a_stream_can_be_had_alone(void **state)
{
    (void)state;
    char lines[2048];
    const size_t length = write_lines(lines);
    for (size_t size = 0; size < length; size += 7) {
        unsigned char *out = malloc(size + 1);
        assert_non_null(out);
        assert_true(unpack(dynamic, sizeof dynamic, out, size));
        assert_memory_equal(out, lines, size);
        free(out);
    }
    unsigned char begin[8];
    assert_true(unpack(stored, sizeof stored, begin, sizeof begin));
    assert_memory_equal(begin, words, sizeof begin);
    assert_true(unpack(fixed, sizeof fixed, begin, sizeof begin));
    assert_memory_equal(begin, words, sizeof begin);
}

static void a_stream_that_ends_early_or_holds_less_is_refused(void **state)
{
    (void)state;
    unsigned char out[2048];
    char lines[2048];
    const size_t length = write_lines(lines);
    for (size_t size = 0; size + 1 < sizeof dynamic; size++) {
        assert_false(unpack(dynamic, size, out, length));
    }
    for (size_t size = 0; size + 1 < sizeof stored; size++) {
        assert_false(unpack(stored, size, out, sizeof words - 1));
    }
    assert_false(unpack(dynamic, sizeof dynamic, out, length + 1));
    assert_false(unpack(fixed, sizeof fixed, out, sizeof words));
}

/* Bits of a stream in the order in which they are read. */
static size_t pack(const char *bits, unsigned char *out)
{
    size_t count = 0;
    for (; *bits; bits++) {
        if (*bits == ' ') {
            continue;
        }
        out[count / 8] = (unsigned char)(count % 8 ? out[count / 8] : 0);
        out[count / 8] |= (unsigned char)((*bits == '1') << count % 8);
        count++;
    }
    return (count + 7) / 8;
}

static void numbers_of_codes_beyond_the_last_are_refused(void **state)
{
    static const char *const streams[] = {
        "1 10 11000110 000000 00000 00000000",         /* fixed codes: length symbol 286 */
        "1 10 0000001 11110 00000000000000 00000000",  /* length 3, distance symbol 30 */
        "1 01 00000 01111 0000 000000000000 00000000", /* 31 codes for distances */
        "1 01 11110 00000 0000 000000000000 00000000"  /* 288 codes for literals */
    };
    unsigned char packed[16];
    unsigned char out[8];
    (void)state;
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        assert_false(unpack(packed, pack(streams[i], packed), out, sizeof out));
    }
    /* a literal before it: the stream itself is whole */
    const size_t size = pack("1 10 10010001 0000001 00000 0000000", packed);
    assert_true(unpack(packed, size, out, 4));
    assert_memory_equal(out, "aaaa", 4);
}

static void codes_and_distances_that_cannot_be_are_refused(void **state)
{
    (void)state;
    unsigned char out[64];
    static const unsigned char reserved[] = {0x07}, complement[] = {0x01, 0x01, 0x00, 0x01, 0x00, 0x61},
                               far[] = {0x63, 0x00, 0x11, 0x00, 0x00},
                               crowded[] = {0x05, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    assert_false(unpack(reserved, sizeof reserved, out, 1));
    assert_false(unpack(complement, sizeof complement, out, 1));
    assert_false(unpack(far, sizeof far, out, sizeof out));
    assert_false(unpack(crowded, sizeof crowded, out, 1));
}

/* Most of these give other bytes; none reads or writes outside (sanitizers see that). */
static void damaged_streams_end(void **state)
{
    (void)state;
    unsigned char damaged[sizeof dynamic];
    unsigned char *out = malloc(900);
    assert_non_null(out);
    for (size_t bit = 0; bit < 8 * sizeof dynamic; bit++) {
        for (uint32_t pattern = 1; pattern < 256; pattern = pattern * 3 + 2) {
            memcpy(damaged, dynamic, sizeof dynamic);
            damaged[bit / 8] ^= (unsigned char)(pattern << bit % 8);
            (void)unpack(damaged, sizeof damaged, out, 900);
        }
    }
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_each_kind_unpack),
        cmocka_unit_test(the_beginning_of_a_stream_can_be_had_alone),
        cmocka_unit_test(a_stream_that_ends_early_or_holds_less_is_refused),
        cmocka_unit_test(numbers_of_codes_beyond_the_last_are_refused),
        cmocka_unit_test(codes_and_distances_that_cannot_be_are_refused),
        cmocka_unit_test(damaged_streams_end),
    };
    return cmocka_run_group_tests_name("base/inflate", tests, NULL, NULL);
}
