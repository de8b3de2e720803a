/*
 * binary16 conversion: every one of the 65536 values, and every rounding boundary between them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "base/half.h"

#define INFINITY_BITS 0x7c00u

/* By the definition of the format, with arithmetic that is exact in double. */
static double value_of(uint32_t half)
{
    const double sign = half & 0x8000u ? -1.0 : 1.0;
    const int exponent = (int)(half >> 10 & 0x1fu);
    const int mantissa = (int)(half & 0x3ffu);
    return sign * (exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24));
}

static void every_finite_value_has_its_exact_float_and_comes_back(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 0x10000u; half++) {
        if ((half & INFINITY_BITS) == INFINITY_BITS) {
            continue;
        }
        const float value = mts_half_to_float((uint16_t)half);
        assert_true((double)value == value_of(half));
        assert_int_equal(signbit(value) != 0, half >> 15);
        assert_int_equal(mts_half_from_float(value), half);
    }
}

static void every_nan_stays_a_nan_and_infinities_stay_infinite(void **state)
{
    (void)state;
    for (uint32_t half = INFINITY_BITS; half < 0x8000u; half++) {
        for (uint32_t sign = 0; sign <= 0x8000u; sign += 0x8000u) {
            const float value = mts_half_to_float((uint16_t)(half | sign));
            const uint16_t back = mts_half_from_float(value);
            assert_int_equal(back & 0x8000u, sign);
            if (half == INFINITY_BITS) {
                assert_true(isinf(value));
                assert_int_equal(back & 0x7fffu, INFINITY_BITS);
            } else {
                assert_true(isnan(value));
                assert_true((back & 0x7fffu) > INFINITY_BITS);
            }
        }
    }
    const uint32_t small_payload = 0x7f800001u; /* would become infinity if its low bits were cut */
    float nan = 0.0f;
    memcpy(&nan, &small_payload, sizeof nan);
    assert_true((mts_half_from_float(nan) & 0x7fffu) > INFINITY_BITS);
}

static void halfway_rounds_to_even_and_its_neighbours_to_the_nearer(void **state)
{
    (void)state;
    for (uint32_t low = 0; low < INFINITY_BITS; low++) {
        const uint32_t high = low + 1; /* 65536 in place of infinity */
        const double top = high == INFINITY_BITS ? 65536.0 : value_of(high);
        const float middle = (float)((value_of(low) + top) / 2); /* exact: one bit more than a half */
        const uint32_t even = low & 1u ? high : low;
        assert_int_equal(mts_half_from_float(middle), even);
        assert_int_equal(mts_half_from_float(nextafterf(middle, 0.0f)), low);
        assert_int_equal(mts_half_from_float(nextafterf(middle, INFINITY)), high);
        assert_int_equal(mts_half_from_float(-middle), even | 0x8000u);
    }
}

static void values_beyond_the_range_become_infinity_or_zero(void **state)
{
    (void)state;
    assert_int_equal(mts_half_from_float(3.0e38f), INFINITY_BITS);
    assert_int_equal(mts_half_from_float(-65520.0f), 0x8000u | INFINITY_BITS);
    assert_int_equal(mts_half_from_float(65519.0f), 0x7bffu);
    assert_int_equal(mts_half_from_float(1.0e-30f), 0);
    assert_int_equal(mts_half_from_float(-1.0e-45f), 0x8000u);
}

static void arrays_convert_element_by_element(void **state)
{
    (void)state;
    const float in[3] = {1.0f, -2.0f, 65504.0f};
    uint16_t half[3] = {0};
    float out[3] = {0};
    mts_half_array_from_float(in, half, 3);
    assert_int_equal(half[0], 0x3c00u);
    assert_int_equal(half[1], 0xc000u);
    assert_int_equal(half[2], 0x7bffu);
    mts_half_array_to_float(half, out, 3);
    assert_memory_equal(in, out, sizeof in);
    mts_half_array_to_float(NULL, NULL, 0);
}

/* Whatever the width of the processor's vectors: ends that fill none, and every bit. */
static void arrays_are_the_bits_of_single_values(void **state)
{
    enum { ALL = 1 << 16 };
    static uint16_t half[ALL];
    static float out[ALL];
    (void)state;
    for (uint32_t i = 0; i < ALL; i++) {
        half[i] = (uint16_t)i;
    }
    for (size_t first = 0; first < 20; first++) {
        const size_t count = ALL - 3 * first;
        mts_half_array_to_float(half + first, out, count);
        for (size_t i = 0; i < count; i++) {
            const float one = mts_half_to_float(half[first + i]);
            assert_memory_equal(&out[i], &one, sizeof one);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_finite_value_has_its_exact_float_and_comes_back),
        cmocka_unit_test(every_nan_stays_a_nan_and_infinities_stay_infinite),
        cmocka_unit_test(halfway_rounds_to_even_and_its_neighbours_to_the_nearer),
        cmocka_unit_test(values_beyond_the_range_become_infinity_or_zero),
        cmocka_unit_test(arrays_convert_element_by_element),
        cmocka_unit_test(arrays_are_the_bits_of_single_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
