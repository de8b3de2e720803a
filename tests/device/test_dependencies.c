/*
 * test_dependencies.c: what waits for what, of random lists beside all pairs of their launches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/dependencies.h"
#include "support/fault.h"

enum { LAUNCHES = 24, ACCESSES = 4, BYTES = 40 };

typedef struct drawn {
    size_t count;
    mts_launch launches[LAUNCHES];
    mts_access accesses[LAUNCHES][ACCESSES];
} drawn;

static uint32_t state_of_draws;

static uint32_t draw(uint32_t below)
{
    state_of_draws = state_of_draws * 1664525u + 1013904223u;
    return (state_of_draws >> 8) % below;
}

/* Some lists have launches of a second buffer, or launches of which nothing is said. */
static void draw_list(drawn *d)
{
    static mts_buffer buffers[2];
    const uint32_t strange = draw(3) == 0 ? 5 : UINT32_MAX;
    d->count = 1 + draw(LAUNCHES);
    for (size_t i = 0; i < d->count; i++) {
        const bool unknown = strange != UINT32_MAX && draw(strange) == 0;
        d->launches[i] = (mts_launch){.act = &buffers[unknown && i > 0 && draw(2) == 0 ? 1 : 0],
                                      .accesses = d->accesses[i],
                                      .access_count = draw(ACCESSES + 1)};
        for (uint32_t a = 0; a < d->launches[i].access_count; a++) {
            const size_t begin = draw(BYTES);
            d->accesses[i][a] = (mts_access){begin, begin + draw(8), draw(3) == 0};
        }
        if (unknown && draw(2) == 0) {
            d->launches[i].accesses = NULL;
            d->launches[i].access_count = 0;
        }
    }
}

static bool is_unknown(const drawn *d, size_t i)
{
    return !d->launches[i].accesses || d->launches[i].act != d->launches[0].act;
}

static bool conflict(const drawn *d, size_t i, size_t k)
{
    if (is_unknown(d, i) || is_unknown(d, k)) {
        return true;
    }
    for (uint32_t a = 0; a < d->launches[i].access_count; a++) {
        for (uint32_t b = 0; b < d->launches[k].access_count; b++) {
            const mts_access *x = &d->accesses[i][a], *y = &d->accesses[k][b];
            if ((x->writes || y->writes) && x->begin < y->end && y->begin < x->end && x->begin < x->end &&
                y->begin < y->end) {
                return true;
            }
        }
    }
    return false;
}

static void check(const drawn *d, const mts_dependencies *found)
{
    static bool after[LAUNCHES][LAUNCHES]; /* [i][k]: k runs after i, directly or not */
    uint32_t waits[LAUNCHES] = {0};
    memset(after, 0, sizeof after);
    assert_int_equal(found->count, d->count);
    for (size_t i = d->count; i-- > 0;) {
        for (uint32_t e = found->next_first[i]; e < found->next_first[i + 1]; e++) {
            const uint32_t k = found->next[e];
            assert_true(k > i && k < d->count);
            assert_true(conflict(d, i, k)); /* no launch waits for nothing */
            waits[k]++;
            after[i][k] = true;
            for (size_t j = k + 1; j < d->count; j++) {
                after[i][j] = after[i][j] || after[k][j];
            }
        }
        for (size_t k = i + 1; k < d->count; k++) {
            assert_true(after[i][k] || !conflict(d, i, k));
        }
    }
    for (size_t i = 0; i < d->count; i++) {
        assert_int_equal(found->waits[i], waits[i]);
    }
}

static void launches_wait_for_those_that_touch_the_same_and_for_no_others(void **state)
{
    (void)state;
    static drawn d;
    for (uint32_t seed = 0; seed < 20000; seed++) {
        mts_dependencies found;
        mts_error error = {0};
        state_of_draws = seed;
        draw_list(&d);
        assert_int_equal(mts_dependencies_find(d.launches, d.count, mts_allocator_default(), &found, &error),
                         MTS_STATUS_OK);
        check(&d, &found);
        mts_dependencies_release(&found, mts_allocator_default());
    }
}

static void memory_that_runs_out_leaves_nothing(void **state)
{
    (void)state;
    static drawn d;
    for (uint32_t nth = 1; nth < 30; nth++) {
        mts_wrap_allocator allocator;
        mts_dependencies found;
        mts_error error = {0};
        mts_wrap_allocator_init(&allocator, mts_allocator_default(), nth);
        state_of_draws = 11;
        draw_list(&d);
        const mts_status status = mts_dependencies_find(d.launches, d.count, &allocator.base, &found, &error);
        assert_int_equal(status, allocator.failed > 0 ? MTS_STATUS_OUT_OF_MEMORY : MTS_STATUS_OK);
        mts_dependencies_release(&found, &allocator.base);
        assert_int_equal(allocator.alive, 0);
    }
}

static void an_empty_list_has_none(void **state)
{
    (void)state;
    mts_dependencies found;
    assert_int_equal(mts_dependencies_find(NULL, 0, mts_allocator_default(), &found, NULL), MTS_STATUS_OK);
    assert_int_equal(found.count, 0);
    mts_dependencies_release(&found, mts_allocator_default());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_wait_for_those_that_touch_the_same_and_for_no_others),
        cmocka_unit_test(memory_that_runs_out_leaves_nothing),
        cmocka_unit_test(an_empty_list_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
