/*
 * test_weights.c: the weight pool finds what is the same again, and only that, and packs it.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/half.h"
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

/* A weight of random numbers; its data is the caller's. */
static mts_value numbers_of(mts_block_ref *ref, mts_type type, int64_t out, int64_t in, int64_t kernel,
                            void *data)
{
    uint32_t random = 7;
    *ref = (mts_block_ref){
        .block = MTS_NONE, .out_count = (uint32_t)out, .in_count = (uint32_t)in, .data = data};
    for (int64_t i = 0; i < out * in * kernel * kernel; i++) {
        random = random * 1664525u + 1013904223u;
        const float number = (float)(random >> 8) * 0x1p-23f - 1.0f;
        if (type == MTS_TYPE_FLOAT16) {
            ((uint16_t *)data)[i] = mts_half_from_float(number);
        } else {
            ((float *)data)[i] = number;
        }
    }
    return (mts_value){.kind = MTS_VALUE_CONST,
                       .dtype = type,
                       .shape = {.rank = 4, .dims = {out, in, kernel, kernel}},
                       .block_count = 1,
                       .blocks = ref};
}

static float number_at(const mts_value *value, size_t index)
{
    const void *data = value->blocks[0].data;
    return value->dtype == MTS_TYPE_FLOAT16 ? mts_half_to_float(((const uint16_t *)data)[index])
                                            : ((const float *)data)[index];
}

/* Rows and lanes of one weight: counts that are no multiples of what is packed at once; memory that holds anything. */
static void check_rows_and_lanes(mts_type type, uint32_t out, uint32_t in, uint32_t kernel)
{
    static float data[40 * 70 * 9], packed[40 * 70 * 9 * 2];
    const uint32_t cells = in * kernel * kernel, rows = out - 1, lanes = 16;
    mts_block_ref ref;
    const mts_value weight = numbers_of(&ref, type, out, in, kernel, data);
    mts_weights pool;
    mts_weights_init(&pool, MTS_PRECISION_FLOAT32, mts_allocator_default());
    const uint32_t by_rows = mts_weights_rows(&pool, &weight, 0, 1, rows, MTS_NONE);
    const uint32_t by_lanes =
        kernel == 1 ? mts_weights_lanes(&pool, &weight, 0, 1, rows, lanes, MTS_NONE) : 0;
    assert_true(pool.count <= sizeof packed / sizeof *packed);
    memset(packed, 0xff, sizeof packed);
    assert_true(mts_weights_pack(&pool, &(mts_weights_cut){.parts = 1}, packed));
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cells; c++) {
            const float number = number_at(&weight, (r + 1) * cells + c);
            assert_true(packed[by_rows + c * rows + r] == number);
            assert_true(kernel > 1 ||
                        packed[by_lanes + (r / lanes * cells + c) * lanes + r % lanes] == number);
        }
    }
    for (size_t i = (size_t)cells * rows; i % 16 != 0; i++) { /* up to the next entry */
        assert_true(packed[by_rows + i] == 0.0f);
    }
    for (size_t r = rows; kernel == 1 && r % lanes != 0; r++) { /* rows that there are not */
        assert_true(packed[by_lanes + r / lanes * cells * lanes + r % lanes] == 0.0f);
    }
    mts_weights_release(&pool);
}

static void rows_and_lanes_of_any_count_are_packed(void **state)
{
    static const uint32_t counts[] = {2, 3, 16, 17, 18, 33, 40};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        check_rows_and_lanes(MTS_TYPE_FLOAT32, counts[i], 1, 1);
        check_rows_and_lanes(MTS_TYPE_FLOAT32, counts[i], 63, 1);
        check_rows_and_lanes(MTS_TYPE_FLOAT16, counts[i], 65, 1);
        check_rows_and_lanes(MTS_TYPE_FLOAT16, counts[i], 7, 3);
        check_rows_and_lanes(MTS_TYPE_FLOAT32, counts[i], 70, 3);
    }
}

/* Of a weight that is 0 but for its middle the four inner positions are a quarter of it, two with the other sign. */
static void winograd_is_packed_by_position_channel_and_row(void **state)
{
    enum { OUT = 19, IN = 11, ROW = 1, COUNT_ROWS = 17, CHANNEL = 1, COUNT = 9 };
    static float data[OUT * IN * 9], packed[16 * COUNT * COUNT_ROWS + 16];
    mts_block_ref ref;
    const mts_value weight = numbers_of(&ref, MTS_TYPE_FLOAT32, OUT, IN, 3, data);
    mts_weights pool;
    (void)state;
    for (int i = 0; i < OUT * IN * 9; i++) {
        data[i] = i % 9 == 4 ? (float)(i / 9) : 0.0f;
    }
    mts_weights_init(&pool, MTS_PRECISION_FLOAT32, mts_allocator_default());
    const uint32_t at = mts_weights_winograd(&pool, &weight, 0, ROW, COUNT_ROWS, CHANNEL, COUNT, MTS_NONE);
    assert_int_equal(at, 0);
    assert_true(pool.count <= sizeof packed / sizeof *packed);
    assert_true(mts_weights_pack(&pool, &(mts_weights_cut){.parts = 1}, packed));
    for (size_t p = 0; p < 16; p++) {
        const float part = p == 5 || p == 10 ? 0.25f : p == 6 || p == 9 ? -0.25f : 0.0f;
        for (size_t c = 0; c < COUNT; c++) {
            for (size_t r = 0; r < COUNT_ROWS; r++) {
                const float middle = (float)((r + ROW) * IN + c + CHANNEL);
                assert_true(packed[(p * COUNT + c) * COUNT_ROWS + r] == part * middle);
            }
        }
    }
    mts_weights_release(&pool);
}

/* A section is packed alone, and a weight that float16 does not hold is found in it. */
static void sections_are_packed_one_by_one(void **state)
{
    static float a[4 * 4], b[4 * 4];
    uint16_t packed[64];
    mts_block_ref refs[2];
    const mts_value first = numbers_of(&refs[0], MTS_TYPE_FLOAT32, 4, 4, 1, a);
    const mts_value second = numbers_of(&refs[1], MTS_TYPE_FLOAT32, 4, 4, 1, b);
    mts_weights pool;
    (void)state;
    b[5] = 70000.0f;
    a[4] = 1e30f; /* masks, as XLNet and exporters write them */
    a[5] = -FLT_MAX;
    a[6] = -INFINITY;
    mts_weights_init(&pool, MTS_PRECISION_FLOAT16_STORAGE, mts_allocator_default());
    pool.section_most = 16;
    (void)mts_weights_dense(&pool, &first, MTS_NONE);
    const mts_weights_mark mark = mts_weights_mark_get(&pool);
    (void)mts_weights_dense(&pool, &second, MTS_NONE);
    assert_false(mts_weights_fits(&pool));
    mts_weights_restart(&pool, &mark);
    assert_int_equal(mts_weights_dense(&pool, &second, MTS_NONE), 0);
    assert_int_equal(mts_weights_section(&pool), 1);
    assert_true(mts_weights_pack(&pool, &(mts_weights_cut){.parts = 1}, packed));
    assert_false(pool.too_large);
    assert_int_equal(packed[3], mts_half_from_float(a[3]));
    assert_int_equal(packed[4], mts_half_from_float(65504.0f));
    assert_int_equal(packed[5], mts_half_from_float(-65504.0f));
    assert_int_equal(packed[6], mts_half_from_float(-INFINITY));
    assert_true(mts_weights_pack(&pool, &(mts_weights_cut){.section = 1, .parts = 1}, packed));
    assert_int_equal(packed[3], mts_half_from_float(b[3]));
    assert_true(pool.too_large);
    assert_true(pool.too_large_value == 70000.0f);
    assert_true(mts_weights_holds(&pool, pool.too_large_at, &second));
    mts_weights_release(&pool);
}

/* Threads pack parts side by side: each entry is in one of them, whatever their sizes. */
static void parts_of_a_section_are_the_section(void **state)
{
    enum { VALUES = 7, MOST = 6 };
    static float data[VALUES][20 * 20], whole[VALUES * 32 * 20], parts[VALUES * 32 * 20];
    mts_block_ref refs[VALUES];
    mts_value values[VALUES];
    mts_weights pool;
    (void)state;
    mts_weights_init(&pool, MTS_PRECISION_FLOAT32, mts_allocator_default());
    for (uint32_t i = 0; i < VALUES; i++) {
        values[i] = numbers_of(&refs[i], MTS_TYPE_FLOAT32, i == 3 ? 20 : 1 + i, 20, 1, data[i]);
        (void)mts_weights_rows(&pool, &values[i], 0, 0, i == 3 ? 20 : 1 + i, MTS_NONE);
    }
    assert_true(pool.count <= sizeof whole / sizeof *whole);
    assert_true(mts_weights_pack(&pool, &(mts_weights_cut){.parts = 1}, whole));
    for (uint32_t count = 1; count <= MOST; count++) {
        memset(parts, 0xff, sizeof parts);
        for (uint32_t part = count; part-- > 0;) {
            const mts_weights_cut cut = {.part = part, .parts = count};
            assert_true(mts_weights_pack(&pool, &cut, parts));
        }
        assert_memory_equal(whole, parts, pool.count * sizeof *parts);
    }
    mts_weights_release(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_another_kernel_size_are_packed_anew),
        cmocka_unit_test(rows_and_lanes_of_any_count_are_packed),
        cmocka_unit_test(winograd_is_packed_by_position_channel_and_row),
        cmocka_unit_test(sections_are_packed_one_by_one),
        cmocka_unit_test(parts_of_a_section_are_the_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
