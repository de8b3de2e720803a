/*
 * The hash is XXH3 64 bits: the known answers of its own test suite.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

#define PRIME32 2654435761u
#define PRIME64 11400714785074694797u

static void known_answers_hold(void **state)
{
    (void)state;
    unsigned char data[8];
    uint64_t generator = PRIME32;
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(generator >> 56);
        generator *= PRIME64;
    }
    assert_true(mts_hash(data, 0, 0) == 0x2D06800538D394C2u);
    assert_true(mts_hash(data, 0, PRIME64) == 0xA8A6B918B2F0364Au);
    assert_true(mts_hash(data, 1, 0) == 0xC44BDFF4074EECDBu);
    assert_true(mts_hash(data, 1, PRIME64) == 0x032BE332DD766EF8u);
    assert_true(mts_hash(data, 6, 0) == 0x27B56A84CD2D7325u);
}

static void every_bit_of_the_data_matters(void **state)
{
    (void)state;
    unsigned char data[64] = {0};
    const uint64_t before = mts_hash(data, sizeof data, 0);
    for (size_t bit = 0; bit < sizeof data * 8; bit++) {
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_true(mts_hash(data, sizeof data, 0) != before);
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_true(mts_hash(data, sizeof data, 0) == before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers_hold),
        cmocka_unit_test(every_bit_of_the_data_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
