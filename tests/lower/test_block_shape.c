/*
 * test_block_shape.c: the shape of blocks where nothing was measured: every NVIDIA GPU has room for it, matrix
 * units can multiply it where there are any, rows fit the channels of a group, and every candidate is one
 * that some GPU takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lower/encode_block.h"

#define SHARED_BYTES 49152u

/* A GPU as the driver describes it. */
static mts_device_info gpu(uint32_t arch, uint32_t units)
{
    return (mts_device_info){.is_gpu = true,
                             .arch = arch,
                             .compute_units = units,
                             .vector_floats = 4,
                             .work_group_size = 1024,
                             .local_bytes = SHARED_BYTES,
                             .half_products = arch != 61,
                             .matrix_units = arch >= 70};
}

static mts_layer_facts layer(const mts_attrs_conv *conv, uint32_t channels, uint32_t side, uint32_t members)
{
    return (mts_layer_facts){.members = members,
                             .op = MTS_OP_CONV,
                             .conv = conv,
                             .in_channels = channels,
                             .out_channels = channels,
                             .height = side,
                             .width = side};
}

static void the_default_shape_fits_every_gpu_and_layer(void **state)
{
    static const uint32_t archs[] = {50, 53, 62, 72, 75, 87, 90};
    static const uint32_t units[] = {1, 2, 16, 132};
    static const uint32_t channels[] = {1, 10, 16, 23, 32, 51, 64, 512, 1000};
    static const uint32_t sides[] = {1, 2, 4, 7, 14, 28, 56, 112};
    const mts_attrs_conv conv = {.kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1};
    (void)state;
    for (size_t i = 0; i < 7u * 4u * 9u * 8u; i++) {
        const mts_device_info info = gpu(archs[i % 7], units[i / 7 % 4]);
        const mts_layer_facts facts =
            layer(&conv, channels[i / 28 % 9], sides[i / 252], 1 + (uint32_t)(i % 32));
        mts_kernel_config shape = mts_block_shape(&info, &facts);
        assert_true(mts_block_fits(&info, &shape));
        assert_true(mts_block_prefers(&info, &facts, &shape));
        if (info.matrix_units) {
            assert_true(mts_block_takes_matrices(&info, &shape));
        }
    }
}

static void small_images_of_several_tasks_share_a_block_on_a_small_gpu(void **state)
{
    const mts_attrs_conv conv = {.kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1};
    const mts_device_info orin = gpu(87, 16);
    const mts_device_info tx2 = gpu(62, 2);
    const mts_layer_facts small = layer(&conv, 51, 2, 8);
    const mts_layer_facts large = layer(&conv, 51, 56, 8);
    (void)state;
    assert_int_equal(mts_block_shape(&orin, &small).parts, 2); /* more are too narrow for its matrix units */
    assert_int_equal(mts_block_shape(&tx2, &small).parts, 4);
    assert_int_equal(mts_block_shape(&orin, &large).parts, 1);
}

static void a_convolution_of_many_small_groups_is_left_to_tiles(void **state)
{
    const mts_device_info orin = gpu(87, 16);
    mts_attrs_conv conv = {.kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .group = 32};
    const mts_layer_facts facts = layer(&conv, 128, 28, 1);
    mts_kernel_config shape;
    (void)state;
    assert_false(mts_block_prefers(&orin, &facts, &shape)); /* 4 channels of each group */
    conv.group = 4;
    assert_true(mts_block_prefers(&orin, &facts, &shape));
    assert_int_equal(mts_block_shape(&orin, &facts).rows, 32);
}

static void a_kernel_of_many_positions_and_other_gpus_are_left_to_tiles(void **state)
{
    const mts_device_info orin = gpu(87, 16);
    const mts_device_info other = gpu(0, 16);
    const mts_attrs_conv wide = {.kernel = {11, 11}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1};
    const mts_attrs_conv usual = {.kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1};
    const mts_layer_facts many = layer(&wide, 64, 28, 1);
    const mts_layer_facts few = layer(&usual, 64, 28, 1);
    mts_kernel_config shape;
    (void)state;
    assert_false(mts_block_prefers(&orin, &many, &shape));
    assert_false(mts_block_prefers(&other, &few, &shape));
    assert_true(mts_block_prefers(&orin, &few, &shape));
}

static void every_candidate_is_for_a_gpu_with_48_kib_and_none_for_a_cpu(void **state)
{
    const mts_device_info orin = gpu(87, 16);
    const mts_device_info cpu = {.compute_units = 2, .vector_floats = 16, .work_group_size = 4096};
    mts_kernel_config shape;
    uint32_t count = 0;
    (void)state;
    while (mts_block_candidate(&orin, count, &shape)) {
        assert_true(mts_block_fits(&orin, &shape));
        assert_true(count > 2 || mts_block_takes_matrices(&orin, &shape)); /* the defaults' */
        count++;
    }
    assert_int_equal(count, 10);
    assert_false(mts_block_candidate(&cpu, 0, &shape));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_shape_fits_every_gpu_and_layer),
        cmocka_unit_test(small_images_of_several_tasks_share_a_block_on_a_small_gpu),
        cmocka_unit_test(a_convolution_of_many_small_groups_is_left_to_tiles),
        cmocka_unit_test(a_kernel_of_many_positions_and_other_gpus_are_left_to_tiles),
        cmocka_unit_test(every_candidate_is_for_a_gpu_with_48_kib_and_none_for_a_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
