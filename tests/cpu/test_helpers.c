/*
 * test_helpers.c: lists run without helpers where that is faster, follow when it changes, and lists that would take long
 * on one thread always have helpers; comparisons are few.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "platform/cpu/helpers.h"

#define US 1000u
#define THREADS 2u

/* Runs of a list; returns how many had no helpers. */
static uint32_t runs(mts_cpu_helpers *h, uint32_t count, uint64_t together, uint64_t alone)
{
    uint32_t stayed = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool stays = mts_cpu_helpers_stay(h);
        stayed += stays ? 1 : 0;
        mts_cpu_helpers_note(h, stays ? alone : together, THREADS);
    }
    return stayed;
}

static void the_first_run_has_helpers(void **state)
{
    (void)state;
    const mts_cpu_helpers h = {0};
    assert_false(mts_cpu_helpers_stay(&h));
}

static void a_short_list_stays_alone_where_helpers_slow_it_down(void **state)
{
    (void)state;
    mts_cpu_helpers h = {0};
    (void)runs(&h, 7, 50 * US, 30 * US);
    assert_true(runs(&h, 10000, 50 * US, 30 * US) > 9800);
}

static void a_short_list_has_helpers_where_they_help(void **state)
{
    (void)state;
    mts_cpu_helpers h = {0};
    assert_true(runs(&h, 10000, 30 * US, 50 * US) < 100);
}

static void a_list_follows_when_helpers_become_slow_and_fast_again(void **state)
{
    (void)state;
    mts_cpu_helpers h = {0};
    (void)runs(&h, 20000, 30 * US, 50 * US);
    (void)runs(&h, 4200, 80 * US, 50 * US);
    assert_true(runs(&h, 200, 80 * US, 50 * US) > 190);
    (void)runs(&h, 4200, 30 * US, 50 * US);
    assert_true(runs(&h, 200, 30 * US, 50 * US) < 10);
}

static void a_list_that_takes_long_always_has_helpers(void **state)
{
    (void)state;
    mts_cpu_helpers h = {0};
    assert_int_equal(runs(&h, 20000, MTS_CPU_ALONE_MOST_NS / THREADS + 1, 1), 0);
}

/* More threads: the same run with helpers stands for a longer one without. */
static void how_long_a_list_is_counts_all_threads(void **state)
{
    (void)state;
    mts_cpu_helpers h = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        assert_false(mts_cpu_helpers_stay(&h));
        mts_cpu_helpers_note(&h, MTS_CPU_ALONE_MOST_NS / 8 + 1, 8);
    }
}

/* Sixteen threads: a run without them takes sixteen times as long. */
static void a_comparison_ends_when_it_is_hopeless(void **state)
{
    (void)state;
    mts_cpu_helpers h = {0};
    assert_int_equal(runs(&h, 7, 300 * US, 4800 * US), 1);
}

/* A run that waited for the processor is no reason. */
static void one_slow_run_changes_nothing(void **state)
{
    (void)state;
    for (uint32_t slow = 0; slow < 7; slow++) {
        mts_cpu_helpers h = {0};
        for (uint32_t i = 0; i < 7; i++) {
            const bool stays = mts_cpu_helpers_stay(&h);
            mts_cpu_helpers_note(&h,
                                 i == slow ? (stays ? 55 * US : 9000 * US)
                                 : stays   ? 30 * US
                                           : 50 * US,
                                 THREADS);
        }
        assert_true(mts_cpu_helpers_stay(&h));
    }
}

/* The set of active tasks may grow under a list. */
static void a_list_that_is_no_longer_short_gets_helpers_back(void **state)
{
    (void)state;
    mts_cpu_helpers h = {0};
    (void)runs(&h, 10000, 50 * US, 30 * US);
    (void)runs(&h, 40, 2 * MTS_CPU_ALONE_MOST_NS, 3 * MTS_CPU_ALONE_MOST_NS);
    assert_int_equal(runs(&h, 1000, 2 * MTS_CPU_ALONE_MOST_NS, 3 * MTS_CPU_ALONE_MOST_NS), 0);
}

/* Threads that have just begun are slow: what the first comparison says is asked again soon. */
static void a_first_comparison_that_was_wrong_is_mended_soon(void **state)
{
    (void)state;
    mts_cpu_helpers h = {0};
    (void)runs(&h, 7, 80 * US, 50 * US);
    assert_true(mts_cpu_helpers_stay(&h));
    (void)runs(&h, 16 + 7, 30 * US, 50 * US);
    assert_int_equal(runs(&h, 16, 30 * US, 50 * US), 0);
}

/* Processors of a virtual machine that come to lie apart: some hundred runs must not pass before that counts. */
static void runs_that_become_slow_are_compared_at_once(void **state)
{
    (void)state;
    mts_cpu_helpers h = {0};
    (void)runs(&h, 20000, 1100 * US, 1800 * US);
    assert_false(mts_cpu_helpers_stay(&h));
    (void)runs(&h, 4 + 7, 3300 * US, 1800 * US);
    assert_true(mts_cpu_helpers_stay(&h));
    assert_int_equal(runs(&h, 16, 3300 * US, 1800 * US), 16);
}

/* A machine that is now fast, now slow, for reasons that helpers have no part in. */
static void comparisons_stay_few_where_times_vary(void **state)
{
    (void)state;
    mts_cpu_helpers h = {0};
    uint32_t stayed = 0;
    for (uint32_t i = 0; i < 500; i++) {
        stayed += runs(&h, 10, 1000 * US, 1900 * US) + runs(&h, 10, 1500 * US, 2850 * US);
    }
    assert_true(stayed < 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_run_has_helpers),
        cmocka_unit_test(a_short_list_stays_alone_where_helpers_slow_it_down),
        cmocka_unit_test(a_short_list_has_helpers_where_they_help),
        cmocka_unit_test(a_list_follows_when_helpers_become_slow_and_fast_again),
        cmocka_unit_test(a_list_that_takes_long_always_has_helpers),
        cmocka_unit_test(a_comparison_ends_when_it_is_hopeless),
        cmocka_unit_test(one_slow_run_changes_nothing),
        cmocka_unit_test(a_list_that_is_no_longer_short_gets_helpers_back),
        cmocka_unit_test(how_long_a_list_is_counts_all_threads),
        cmocka_unit_test(a_first_comparison_that_was_wrong_is_mended_soon),
        cmocka_unit_test(runs_that_become_slow_are_compared_at_once),
        cmocka_unit_test(comparisons_stay_few_where_times_vary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
