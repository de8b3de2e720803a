/*
 * test_latency.c: percentiles of the last durations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/latency.h"

#define MS 1000000u

static void add(mts_latencies *l, uint32_t first, uint32_t last)
{
    for (uint32_t ms = first; ms <= last; ms++) {
        mts_latency_add(l, (uint64_t)ms * MS);
    }
}

static void check(const mts_latencies *l, uint32_t percent, double ms)
{
    const double got = mts_latency_percentile(l, percent);
    assert_true(got > ms - 1e-9 && got < ms + 1e-9);
}

static void nothing_has_no_percentiles_and_one_is_all_of_them(void **state)
{
    mts_latencies l = {0};
    (void)state;
    check(&l, 50, 0.0);
    mts_latency_add(&l, 1234567);
    check(&l, 1, 1.235);
    check(&l, 50, 1.235);
    check(&l, 100, 1.235);
}

static void percentiles_are_the_nearest_rank_in_any_order(void **state)
{
    mts_latencies l = {0};
    (void)state;
    add(&l, 51, 100);
    add(&l, 1, 50);
    check(&l, 50, 50.0);
    check(&l, 95, 95.0);
    check(&l, 99, 99.0);
    check(&l, 100, 100.0);
}

static void only_the_last_ones_count(void **state)
{
    mts_latencies l = {0};
    (void)state;
    add(&l, 1, 1000);
    assert_int_equal(l.count, 1000);
    check(&l, 1, 1000.0 - MTS_LATENCIES_KEPT + 1 + 1); /* rank 2 of 128 */
    check(&l, 100, 1000.0);
}

static void what_takes_longer_than_an_hour_is_an_hour(void **state)
{
    mts_latencies l = {0};
    (void)state;
    mts_latency_add(&l, UINT64_MAX / 2);
    check(&l, 50, 3600000.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_no_percentiles_and_one_is_all_of_them),
        cmocka_unit_test(percentiles_are_the_nearest_rank_in_any_order),
        cmocka_unit_test(only_the_last_ones_count),
        cmocka_unit_test(what_takes_longer_than_an_hour_is_an_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
