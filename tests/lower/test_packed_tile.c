/*
 * test_packed_tile.c: how much a work-item of conv_packed computes, by device and size of a launch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "device/kernel.h"
#include "lower/packed_tile.h"
#include "plan/wave_steps.h"

#define LARGE 1000000u

static mts_device_info gpu(const char *name)
{
    mts_device_info info = {.is_gpu = true, .vector_floats = 4, .compute_units = 4, .work_group_size = 256};
    (void)snprintf(info.name, sizeof info.name, "%s", name);
    return info;
}

static mts_packed_tile choose(const char *name, mts_precision precision, uint64_t outputs)
{
    const mts_device_info info = gpu(name);
    const mts_packed_work work = {false, outputs, 576};
    return mts_packed_tile_choose(&info, precision, &work, 1);
}

static void large_launches_take_the_largest_tile_that_the_registers_hold(void **state)
{
    (void)state;
    assert_int_equal(choose("QUALCOMM Adreno(TM)", MTS_PRECISION_FLOAT32, LARGE).rows, 8);
    assert_int_equal(choose("Samsung Xclipse 940", MTS_PRECISION_FLOAT32, LARGE).rows, 8);
    assert_int_equal(choose("Somebody's GPU", MTS_PRECISION_FLOAT32, LARGE).rows, 8);
    for (int precision = 0; precision < MTS_PRECISION_COUNT; precision++) { /* 64 registers */
        const mts_packed_tile mali = choose("Mali-G78", (mts_precision)precision, LARGE);
        assert_int_equal(mali.rows, 4);
        assert_int_equal(mali.pixels, 4);
        assert_true(mts_packed_registers(&mali, (mts_precision)precision) <= 64);
    }
}

/* Adreno: 3 waves of 64 for each of 4 units are 768 work-items, of which a tile takes 8, 4, 2 or 1 packs. */
static void small_launches_take_smaller_tiles_so_that_units_have_waves_enough(void **state)
{
    static const struct {
        uint64_t outputs;
        uint32_t rows, pixels;
    } cases[] = {{8 * 768, 8, 4}, {8 * 768 - 1, 4, 4}, {4 * 768, 4, 4}, {4 * 768 - 1, 4, 2},
                 {2 * 768, 4, 2}, {2 * 768 - 1, 4, 1}, {1, 4, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const mts_packed_tile tile = choose("QUALCOMM Adreno(TM)", MTS_PRECISION_FLOAT32, cases[i].outputs);
        assert_int_equal(tile.rows, cases[i].rows);
        assert_int_equal(tile.pixels, cases[i].pixels);
    }
    assert_int_equal(choose("Somebody's GPU", MTS_PRECISION_FLOAT32, 1).rows, 8); /* nothing is known */
}

/* In float32 the joined program has as many registers as the other one. */
static void depthwise_convolutions_join_others_where_registers_allow(void **state)
{
    const mts_device_info mali = gpu("Mali-G78");
    const mts_device_info adreno = gpu("QUALCOMM Adreno(TM)");
    (void)state;
    assert_true(mts_packed_joins(&mali, MTS_PRECISION_FLOAT32));
    assert_false(mts_packed_joins(&mali, MTS_PRECISION_FLOAT16));
    assert_true(mts_packed_joins(&adreno, MTS_PRECISION_FLOAT16));
}

static void groups_of_one_size_are_built_where_that_is_no_loss(void **state)
{
    mts_device_info small = gpu("Mali-G78");
    (void)state;
    assert_false(choose("QUALCOMM Adreno(TM)", MTS_PRECISION_FLOAT32, LARGE).exact);
    assert_false(choose("Somebody's GPU", MTS_PRECISION_FLOAT32, LARGE).exact);
    assert_true(choose("Mali-G78", MTS_PRECISION_FLOAT32, LARGE).exact);
    small.work_group_size = 32;
    const mts_packed_work work = {true, LARGE, 9};
    const mts_packed_tile tile = mts_packed_tile_choose(&small, MTS_PRECISION_FLOAT32, &work, 1);
    assert_int_equal(tile.local, 32);
    assert_int_equal(tile.rows, 4);
}

/* A driver that prefers groups of a multiple of 128: 3 waves of that a unit, groups of 128. */
static void the_multiple_that_a_driver_prefers_stands_for_the_wave_of_its_row(void **state)
{
    mts_device_info info = gpu("QUALCOMM Adreno(TM)");
    const mts_packed_work work = {false, 8 * 768, 576};
    (void)state;
    assert_int_equal(mts_device_wave(&info), 64);
    assert_int_equal(mts_wave_tile(&info), 64 * 3 * MTS_CHANNEL_PACK);
    assert_int_equal(mts_packed_tile_choose(&info, MTS_PRECISION_FLOAT32, &work, 1).local, 64);
    info.group_multiple = 128;
    const mts_packed_tile tile = mts_packed_tile_choose(&info, MTS_PRECISION_FLOAT32, &work, 1);
    assert_int_equal(mts_device_wave(&info), 128);
    assert_int_equal(mts_wave_tile(&info), 128 * 3 * MTS_CHANNEL_PACK);
    assert_int_equal(tile.local, 128);
    assert_int_equal(tile.rows, 4); /* 768 work-items of 8 rows are half of the waves that are wanted */
    info.work_group_size = 96;
    assert_int_equal(mts_packed_tile_choose(&info, MTS_PRECISION_FLOAT32, &work, 1).local, 64);
}

/* Of two steps, in either order; both get the same. */
static mts_packed_tile choose_both(mts_packed_work a, mts_packed_work b)
{
    const mts_device_info info = gpu("QUALCOMM Adreno(TM)");
    const mts_packed_work works[2][2] = {{a, b}, {b, a}};
    mts_packed_tile tiles[2];
    for (int i = 0; i < 2; i++) {
        tiles[i] = mts_packed_tile_choose(&info, MTS_PRECISION_FLOAT32, works[i], 2);
    }
    assert_int_equal(tiles[0].rows, tiles[1].rows);
    assert_int_equal(tiles[0].pixels, tiles[1].pixels);
    return tiles[0];
}

/* Alone these take 8 x 4 and 4 x 1. Sums of 46,080 products by one work-item would end long
   after all others with 8 x 4. */
static void steps_of_a_wave_take_one_tile(void **state)
{
    const mts_packed_work large = {false, 64 * 768, 4608};
    (void)state;
    assert_int_equal(choose_both(large, (mts_packed_work){false, 100, 4608}).rows, 8);
    assert_int_equal(choose_both(large, (mts_packed_work){true, 64 * 768, 9}).rows, 8);
    const mts_packed_tile tile = choose_both(large, (mts_packed_work){false, 100, 46080});
    assert_int_equal(tile.rows, 4);
    assert_int_equal(tile.pixels, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_launches_take_the_largest_tile_that_the_registers_hold),
        cmocka_unit_test(small_launches_take_smaller_tiles_so_that_units_have_waves_enough),
        cmocka_unit_test(steps_of_a_wave_take_one_tile),
        cmocka_unit_test(the_multiple_that_a_driver_prefers_stands_for_the_wave_of_its_row),
        cmocka_unit_test(depthwise_convolutions_join_others_where_registers_allow),
        cmocka_unit_test(groups_of_one_size_are_built_where_that_is_no_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
