/*
 * Checked arithmetic on sizes: right results below the limit, refusal above it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/size.h"

static void sums_and_products_up_to_the_limit_are_exact(void **state)
{
    (void)state;
    size_t out = 0;
    assert_true(mts_size_add(SIZE_MAX - 1, 1, &out));
    assert_true(out == SIZE_MAX);
    assert_true(mts_size_mul(SIZE_MAX, 1, &out));
    assert_true(out == SIZE_MAX);
    assert_true(mts_size_mul(0, SIZE_MAX, &out));
    assert_true(out == 0);
    int64_t wide = 0;
    assert_true(mts_i64_mul(INT64_MAX / 2, 2, &wide));
    assert_true(wide == INT64_MAX - 1);
}

static void an_overflow_is_refused_and_leaves_the_result_alone(void **state)
{
    (void)state;
    size_t out = 7;
    assert_false(mts_size_add(SIZE_MAX, 1, &out));
    assert_false(mts_size_mul(SIZE_MAX / 2 + 1, 2, &out));
    assert_false(mts_size_align(SIZE_MAX - 3, 16, &out));
    assert_true(out == 7);
    int64_t wide = 7;
    assert_false(mts_i64_mul(INT64_MAX / 2 + 1, 2, &wide));
    assert_false(mts_i64_mul(-1, 2, &wide));
    assert_false(mts_i64_mul(0, -2, &wide));
    assert_true(wide == 7);
    uint32_t narrow = 7;
    assert_false(mts_size_to_u32((size_t)UINT32_MAX + 1, &narrow));
    assert_true(narrow == 7);
    assert_true(mts_size_to_u32(UINT32_MAX, &narrow));
    assert_true(narrow == UINT32_MAX);
}

static void alignment_rounds_up_to_the_next_multiple(void **state)
{
    (void)state;
    size_t out = 0;
    for (size_t a = 0; a < 100; a++) {
        assert_true(mts_size_align(a, 16, &out));
        assert_true(out % 16 == 0 && out >= a && out < a + 16);
    }
}

static void quotients_round_up_and_the_larger_one_wins(void **state)
{
    (void)state;
    const uint32_t numbers[] = {3, 1, 4};
    assert_int_equal(mts_u32_ceil_div(9, 4), 3);
    assert_int_equal(mts_u32_ceil_div(8, 4), 2);
    assert_int_equal(mts_u64_ceil_div((uint64_t)1 << 40, 3), 366503875926);
    assert_int_equal(mts_u32_max(2, 3), 3);
    assert_int_equal(mts_u32_max(3, 2), 3);
    assert_true(mts_u64_max(UINT64_MAX, 2) == UINT64_MAX);
    assert_true(mts_u64_max(2, UINT64_MAX) == UINT64_MAX);
    assert_true(mts_u32_find(numbers, 3, 4));
    assert_false(mts_u32_find(numbers, 2, 4));
    assert_int_equal(MTS_COMPARE(1, 2), -1);
    assert_int_equal(MTS_COMPARE(2, 1), 1);
    assert_int_equal(mts_order(MTS_COMPARE(2, 2), 5), 5);
    assert_int_equal(mts_order(-1, 5), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products_up_to_the_limit_are_exact),
        cmocka_unit_test(an_overflow_is_refused_and_leaves_the_result_alone),
        cmocka_unit_test(alignment_rounds_up_to_the_next_multiple),
        cmocka_unit_test(quotients_round_up_and_the_larger_one_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
