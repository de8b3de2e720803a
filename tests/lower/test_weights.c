/*
 * test_weights.c: the weight pool finds what is the same again, and only that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "lower/weights.h"

static mts_value weight_of(mts_block_ref *ref, int64_t out, int64_t kernel)
{
    return (mts_value){.kind = MTS_VALUE_CONST,
                       .dtype = MTS_TYPE_INT8,
                       .shape = {.rank = 4, .dims = {out, 4, kernel, kernel}},
                       .block_count = 1,
                       .blocks = ref};
}

/* A block is its bytes: two layers may have it with kernels of different sizes. */
static void bytes_of_another_kernel_size_are_packed_anew(void **state)
{
    static int8_t data[128];
    (void)state;
    for (int i = 0; i < 128; i++) {
        data[i] = (int8_t)(i % 11 - 5);
    }
    mts_block_ref small = {.block = 3, .out_count = 32, .in_count = 4, .data = data};
    mts_block_ref large = {.block = 3, .out_count = 8, .in_count = 4, .data = data};
    const mts_value pointwise = weight_of(&small, 32, 1), window = weight_of(&large, 8, 2);
    const mts_weights_part part = {.rows = 8, .count = 4};
    mts_weights pool;
    mts_weights_init(&pool, MTS_PRECISION_FLOAT32, mts_allocator_default());
    const uint32_t first = mts_weights_words(&pool, &pointwise, 0, &part, 0);
    const size_t count = pool.count;
    const uint32_t second = mts_weights_words(&pool, &window, 0, &part, 0);
    assert_int_not_equal(second, first);
    assert_true(pool.count >= count + 8 + 8 * 4); /* sums of 8 rows, and 4 words of each */
    assert_int_equal(mts_weights_words(&pool, &pointwise, 0, &part, 0), first);
    assert_int_equal(mts_weights_words(&pool, &window, 0, &part, 0), second);
    assert_false(pool.failed);
    mts_weights_release(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_another_kernel_size_are_packed_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
