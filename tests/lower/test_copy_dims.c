/*
 * test_copy_dims.c: copies in fewer dimensions copy the same numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lower/copy_dims.h"

#define COUNT 720 /* 1 x 2 x 3 x 4 x 5 x 6 */

static mts_dest_params dense(const uint32_t dims[MTS_PARAM_RANK])
{
    mts_dest_params dest = {.row = dims[5], .pitch = dims[4] * dims[5]};
    memcpy(dest.dims, dims, sizeof dest.dims);
    return dest;
}

/* Source offsets of all numbers, in the order of the result; returns how many. */
static uint32_t list_offsets(const mts_copy_params *r, int64_t *offsets)
{
    uint32_t count = 1;
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        count *= r->dest.dims[i];
    }
    assert_in_range(count, 1, COUNT);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t rest = n;
        offsets[n] = r->src.base;
        for (int i = MTS_PARAM_RANK; i-- > 0;) {
            offsets[n] += (int64_t)(rest % r->dest.dims[i]) * r->step[i];
            rest /= r->dest.dims[i];
        }
    }
    return count;
}

/* A copy of a tensor of `dims`, whose dimensions come in the order `perm`; `flip` goes backwards. */
static mts_copy_params turned(const uint32_t dims[MTS_PARAM_RANK], const int perm[MTS_PARAM_RANK], int flip)
{
    uint32_t stride[MTS_PARAM_RANK];
    uint32_t to[MTS_PARAM_RANK];
    mts_encode_strides(dims, stride);
    mts_copy_params copy = {0};
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        to[i] = dims[perm[i]];
        copy.step[i] = (int32_t)stride[perm[i]];
        if (i == flip) {
            copy.src.base = (to[i] - 1) * stride[perm[i]];
            copy.step[i] = -copy.step[i];
        }
    }
    copy.dest = dense(to);
    return copy;
}

static void joined_copies_read_the_same_numbers_in_the_same_order(void **state)
{
    (void)state;
    static const uint32_t shapes[][MTS_PARAM_RANK] = {
        {1, 2, 3, 4, 5, 6}, {2, 1, 3, 1, 1, 7}, {1, 1, 1, 40, 1, 1}, {1, 1, 1, 1, 1, 1}, {3, 1, 5, 1, 6, 1}};
    static const int perms[][MTS_PARAM_RANK] = {
        {0, 1, 2, 3, 4, 5}, {0, 1, 2, 4, 5, 3}, {0, 2, 1, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {2, 3, 0, 1, 4, 5}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (size_t p = 0; p < sizeof perms / sizeof perms[0]; p++) {
            for (int flip = -1; flip < MTS_PARAM_RANK; flip++) {
                int64_t before[COUNT];
                int64_t after[COUNT];
                mts_copy_params copy = turned(shapes[s], perms[p], flip);
                const uint32_t count = list_offsets(&copy, before);
                mts_copy_join_dims(&copy);
                assert_true(mts_dest_is_dense(&copy.dest));
                assert_int_equal(list_offsets(&copy, after), count);
                assert_memory_equal(before, after, count * sizeof *before);
            }
        }
    }
}

static void dimensions_that_follow_each_other_are_one(void **state)
{
    (void)state;
    static const int same[MTS_PARAM_RANK] = {0, 1, 2, 3, 4, 5};
    static const int last[MTS_PARAM_RANK] = {0, 1, 2, 4, 5, 3};
    const uint32_t pixels[MTS_PARAM_RANK] = {1, 1, 1, 40, 1, 1};
    const uint32_t image[MTS_PARAM_RANK] = {1, 1, 1, 3, 8, 9};
    mts_copy_params copy = turned(pixels, same, -1);
    mts_copy_join_dims(&copy);
    assert_int_equal(copy.dest.dims[5], 40);
    assert_int_equal(copy.dest.pitch, 40);
    copy = turned(image, last, -1); /* channels last: rows of 3 */
    mts_copy_join_dims(&copy);
    assert_int_equal(copy.dest.dims[3], 1);
    assert_int_equal(copy.dest.dims[4], 72);
    assert_int_equal(copy.dest.dims[5], 3);
    assert_int_equal(copy.step[4], 1);
    assert_int_equal(copy.step[5], 72);
}

static void results_with_zeros_between_rows_stay_as_they_are(void **state)
{
    (void)state;
    static const int same[MTS_PARAM_RANK] = {0, 1, 2, 3, 4, 5};
    const uint32_t image[MTS_PARAM_RANK] = {1, 1, 1, 3, 8, 9};
    mts_copy_params copy = turned(image, same, -1);
    copy.dest.row = 12;
    copy.dest.pitch = 96;
    const mts_copy_params before = copy;
    mts_copy_join_dims(&copy);
    assert_memory_equal(&copy, &before, sizeof copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined_copies_read_the_same_numbers_in_the_same_order),
        cmocka_unit_test(dimensions_that_follow_each_other_are_one),
        cmocka_unit_test(results_with_zeros_between_rows_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
