/*
 * Assignments against all permutations, and clusters with and without a limit on their size.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compress/solve/assign.h"
#include "compress/solve/cluster.h"
#include "support/fault_allocator.h"

#define N_MOST 7u

static uint32_t noise_state;

static double noise(void)
{
    noise_state = noise_state * 1664525u + 1013904223u;
    return (double)(noise_state >> 8) / 8388608.0 - 1.0;
}

static double cost_of(const double *cost, uint32_t n, const uint32_t *place)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += cost[i * n + place[i]];
    }
    return sum;
}

static void check_permutation(const uint32_t *place, uint32_t n)
{
    bool *seen = calloc(n + 1, sizeof *seen);
    assert_non_null(seen);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(place[i] < n);
        assert_false(seen[place[i]]);
        seen[place[i]] = true;
    }
    free(seen);
}

/* Least cost over all permutations that begin with place[0..depth). */
static double brute_force(const double *cost, uint32_t n, uint32_t *place, uint32_t depth)
{
    double best = DBL_MAX;
    if (depth == n) {
        return cost_of(cost, n, place);
    }
    for (uint32_t j = 0; j < n; j++) {
        bool taken = false;
        for (uint32_t i = 0; i < depth; i++) {
            taken = taken || place[i] == j;
        }
        if (!taken) {
            place[depth] = j;
            best = fmin(best, brute_force(cost, n, place, depth + 1));
        }
    }
    return best;
}

static void optimal_assignments_cost_as_little_as_the_best_permutation(void **state)
{
    (void)state;
    for (uint32_t n = 0; n <= N_MOST; n++) {
        for (uint32_t round = 0; round < 40; round++) {
            double cost[N_MOST * N_MOST];
            uint32_t place[N_MOST + 1];
            uint32_t tried[N_MOST + 1];
            noise_state = 100 * n + round;
            for (size_t i = 0; i < (size_t)n * n; i++) {
                /* few different numbers in every other round: many ties */
                cost[i] = round % 2 ? 100 * noise() : floor(3 * noise());
            }
            assert_true(mts_assign_optimal(cost, n, mts_allocator_default(), place));
            check_permutation(place, n);
            assert_true(fabs(cost_of(cost, n, place) - brute_force(cost, n, tried, 0)) < 1e-9);
        }
    }
}

static void a_planted_assignment_of_many_things_is_found(void **state)
{
    const uint32_t n = 300;
    double *cost = malloc((size_t)n * n * sizeof *cost);
    uint32_t *place = malloc(n * sizeof *place);
    double *thing = malloc(n * sizeof *thing);
    double *other = malloc(n * sizeof *other);
    (void)state;
    assert_true(cost && place && thing && other);
    noise_state = 4;
    for (size_t i = 0; i < n; i++) {
        thing[i] = 50 * noise();
        other[i] = 50 * noise();
    }
    /* With prices for things and places added, only the planted pairs cost no more than those. */
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            const bool planted = j == (i * 77 + 13) % n;
            cost[i * n + j] = thing[i] + other[j] + (planted ? 0 : 0.01 + fabs(noise()));
        }
    }
    assert_true(mts_assign_optimal(cost, n, mts_allocator_default(), place));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(place[i], (i * 77 + 13) % n);
    }
    free(cost);
    free(place);
    free(thing);
    free(other);
}

static void greedy_takes_the_smallest_difference_first_and_the_lowest_of_equals(void **state)
{
    const double cost[] = {5, 1, 1, 1, 0, 9, 1, 1, 1};
    const double equal[9] = {0};
    uint32_t place[3];
    (void)state;
    assert_true(mts_assign_greedy(cost, 3, mts_allocator_default(), place));
    assert_int_equal(place[1], 1); /* 0 */
    assert_int_equal(place[0], 2); /* 1, before thing 2 */
    assert_int_equal(place[2], 0);
    assert_true(mts_assign_greedy(equal, 3, mts_allocator_default(), place));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(place[i], i);
    }
}

/* All pairs, sorted by nothing: the smallest that is left, again and again. */
static void greedy_plain(const double *cost, uint32_t n, uint32_t *place)
{
    bool rows[64] = {false};
    bool columns[64] = {false};
    for (uint32_t k = 0; k < n; k++) {
        uint32_t row = n;
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t j = 0; j < n; j++) {
                if (!rows[i] && !columns[j] && (row == n || cost[i * n + j] < cost[row * n + place[row]])) {
                    row = i;
                    place[i] = j;
                }
            }
        }
        rows[row] = true;
        columns[place[row]] = true;
    }
}

static void greedy_equals_a_plain_search_of_all_pairs(void **state)
{
    double cost[30 * 30];
    uint32_t place[30];
    uint32_t want[30] = {0};
    (void)state;
    for (uint32_t n = 0; n <= 30; n += 5) {
        noise_state = n;
        for (size_t i = 0; i < (size_t)n * n; i++) {
            cost[i] = floor(20 * noise());
        }
        assert_true(mts_assign_greedy(cost, n, mts_allocator_default(), place));
        greedy_plain(cost, n, want);
        assert_memory_equal(place, want, n * sizeof *place);
    }
}

static void costs_that_are_no_numbers_still_end_in_a_permutation(void **state)
{
    double cost[36];
    uint32_t place[6];
    (void)state;
    for (uint32_t round = 0; round < 20; round++) {
        noise_state = round;
        for (size_t i = 0; i < 36; i++) {
            cost[i] = noise() < 0 ? (double)NAN : noise() < 0 ? (double)INFINITY : noise();
        }
        assert_true(mts_assign_optimal(cost, 6, mts_allocator_default(), place));
        check_permutation(place, 6);
        assert_true(mts_assign_greedy(cost, 6, mts_allocator_default(), place));
        check_permutation(place, 6);
    }
}

static double spread_of(const double *points, uint32_t count, uint32_t size, uint32_t k,
                        const uint32_t *cluster)
{
    double sum = 0;
    for (uint32_t c = 0; c < k; c++) {
        for (uint32_t i = 0; i < size; i++) {
            double mean = 0;
            double squares = 0;
            double members = 0;
            for (uint32_t p = 0; p < count; p++) {
                if (cluster[p] == c) {
                    mean += points[p * size + i];
                    squares += points[p * size + i] * points[p * size + i];
                    members++;
                }
            }
            assert_true(members > 0);
            sum += squares - mean * mean / members;
        }
    }
    return sum;
}

/* Least spread over all ways to put points into clusters of at most `most`. */
static double best_spread(const double *points, uint32_t count, uint32_t size, uint32_t k, uint32_t most,
                          uint32_t *cluster, uint32_t depth)
{
    double best = DBL_MAX;
    if (depth == count) {
        for (uint32_t c = 0; c < k; c++) {
            uint32_t members = 0;
            for (uint32_t p = 0; p < count; p++) {
                members += cluster[p] == c;
            }
            if (members == 0 || members > most) {
                return best;
            }
        }
        return spread_of(points, count, size, k, cluster);
    }
    for (uint32_t c = 0; c < k; c++) {
        cluster[depth] = c;
        best = fmin(best, best_spread(points, count, size, k, most, cluster, depth + 1));
    }
    return best;
}

static void small_sets_are_clustered_as_well_as_can_be(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 10; round++) {
        for (uint32_t most = 3; most <= 8; most += 5) {
            double points[16];
            uint32_t cluster[8];
            uint32_t tried[8];
            noise_state = round;
            for (int i = 0; i < 16; i++) {
                points[i] = noise();
            }
            assert_true(mts_cluster(points, 8, 2, 3, most, round, mts_allocator_default(), cluster));
            const double got = spread_of(points, 8, 2, 3, cluster);
            const double want = best_spread(points, 8, 2, 3, most, tried, 0);
            assert_true(got >= want - 1e-9 && got <= want * 1.05);
        }
    }
}

static void check_clusters(const uint32_t *cluster, uint32_t count, uint32_t k, uint32_t most)
{
    uint32_t members[64] = {0};
    uint32_t next = 0;
    for (uint32_t p = 0; p < count; p++) {
        assert_true(cluster[p] < k);
        members[cluster[p]]++;
        assert_true(cluster[p] <= next); /* numbered by their first point */
        next += cluster[p] == next;
    }
    for (uint32_t c = 0; c < k; c++) {
        assert_true(members[c] > 0 && members[c] <= most);
    }
}

static void clusters_keep_their_limit_and_none_is_empty(void **state)
{
    static const uint32_t cases[][4] = {
        /* points, clusters, most, different points */
        {1, 1, 1, 1},   {10, 2, 5, 10},    {10, 5, 2, 10},    {10, 10, 1, 10}, {10, 3, 4, 2},
        {40, 4, 40, 1}, {200, 7, 29, 200}, {200, 7, 40, 200}, {200, 7, 29, 3}, {200, 50, 4, 200},
    };
    double points[600];
    uint32_t cluster[200];
    uint32_t again[200];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t *c = cases[i];
        noise_state = (uint32_t)i;
        for (uint32_t p = 0; p < 3 * c[0]; p++) {
            points[p] = p < 3 * c[3] ? noise() : points[p - 3 * c[3]];
        }
        assert_true(mts_cluster(points, c[0], 3, c[1], c[2], 7, mts_allocator_default(), cluster));
        check_clusters(cluster, c[0], c[1], c[2]);
        assert_true(mts_cluster(points, c[0], 3, c[1], c[2], 7, mts_allocator_default(), again));
        assert_memory_equal(cluster, again, c[0] * sizeof *cluster);
    }
}

static void clouds_that_lie_apart_are_told_apart(void **state)
{
    double points[300];
    uint32_t cluster[150];
    (void)state;
    for (uint32_t most = 0; most <= 50; most += 50) {
        noise_state = 1;
        for (uint32_t p = 0; p < 150; p++) {
            points[2 * p] = 10.0 * (p % 3) + noise();
            points[2 * p + 1] = noise();
        }
        assert_true(mts_cluster(points, 150, 2, 3, most, 1, mts_allocator_default(), cluster));
        for (uint32_t p = 0; p < 150; p++) {
            assert_int_equal(cluster[p], p % 3);
        }
    }
}

static void short_memory_is_told(void **state)
{
    const double points[] = {1, 2, 3, 4, 5, 6};
    const double cost[] = {1, 2, 3, 1};
    uint32_t out[200];
    double many[200];
    (void)state;
    for (int i = 0; i < 200; i++) {
        many[i] = noise();
    }
    for (int kind = 0; kind < 4; kind++) {
        bool made = false;
        size_t at = 1;
        for (; !made; at++) {
            mts_fault_allocator fault;
            mts_fault_allocator_init(&fault, at);
            made = kind == 0   ? mts_assign_optimal(cost, 2, &fault.allocator, out)
                   : kind == 1 ? mts_assign_greedy(cost, 2, &fault.allocator, out)
                   : kind == 2 ? mts_cluster(points, 6, 1, 2, 3, 1, &fault.allocator, out)
                               : mts_cluster(many, 200, 1, 3, 70, 1, &fault.allocator, out);
            assert_int_equal(fault.alive, 0);
            assert_true(at < 100000);
        }
        assert_true(at > 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimal_assignments_cost_as_little_as_the_best_permutation),
        cmocka_unit_test(a_planted_assignment_of_many_things_is_found),
        cmocka_unit_test(greedy_takes_the_smallest_difference_first_and_the_lowest_of_equals),
        cmocka_unit_test(greedy_equals_a_plain_search_of_all_pairs),
        cmocka_unit_test(costs_that_are_no_numbers_still_end_in_a_permutation),
        cmocka_unit_test(small_sets_are_clustered_as_well_as_can_be),
        cmocka_unit_test(clusters_keep_their_limit_and_none_is_empty),
        cmocka_unit_test(clouds_that_lie_apart_are_told_apart),
        cmocka_unit_test(short_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
