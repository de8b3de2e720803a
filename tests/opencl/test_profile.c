/*
 * The layer that makes a driver's device pose as a small GPU (profile/profile.c) does so, and refuses what that GPU
 * would. Other programs run behind it too, to take the library's GPU paths: tests.cmake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lower/launch_shape.h"
#include "plan/device_defaults.h"
#include "support/opencl_fixture.h"
#include "support/second_device.h"

static void the_device_is_a_gpu_of_the_limits(void **state)
{
    (void)state;
    const mts_device_info *info = &opencl_fixture_world.device->info;
    assert_true(info->is_gpu);
    assert_non_null(strstr(info->name, getenv("MTS_TEST_ROW") ? "" : "GPU profile of"));
    assert_int_equal(info->image_texels > 0, strstr(getenv("MTS_PROFILE"), "texels=") != NULL);
    assert_int_equal(info->work_group_size, 32);
    assert_int_equal(info->local_bytes, 8192);
    assert_int_equal(info->buffer_bytes, 268435456);
    assert_false(info->half_products);
    assert_int_equal(info->byte_products, second_device_has_dot());
}

/* MTS_TEST_ROW: the title of the row that the device of the profile's name should have. */
static void the_name_picks_the_row_of_the_defaults(void **state)
{
    const mts_device_info *info = &opencl_fixture_world.device->info;
    const char *expected = getenv("MTS_TEST_ROW") ? getenv("MTS_TEST_ROW") : "unknown";
    const bool is_known = strcmp(expected, "unknown") != 0;
    (void)state;
    assert_string_equal(mts_device_defaults_find(info)->title, expected);
    assert_int_equal(mts_device_defaults_find(info)->packed, is_known);
    assert_int_equal(mts_device_defaults_find(info)->images, strstr(expected, "adreno") != NULL);
}

static void what_exceeds_a_limit_is_refused_by_the_layer_too(void **state)
{
    (void)state;
    static const mts_kernel_source nothing = {
        .name = "nothing",
        .source =
            "kernel void nothing(global float *act, global const float *pool, global const uint *table, "
            "uint first) { act[get_global_id(0)] = 1.0f; }"};
    const size_t fits[3] = {64, 1, 1};
    const size_t whole[3] = {32, 1, 1};
    const size_t over[3] = {64, 1, 1};
    mts_kernel *kernel = NULL;
    mts_buffer *buffer = NULL;
    cl_int result = CL_SUCCESS;
    assert_null(opencl_fixture_cl->cl.clCreateBuffer(opencl_fixture_cl->context, CL_MEM_READ_WRITE, 268435457,
                                                     NULL, &result));
    assert_int_equal(result, -61); /* CL_INVALID_BUFFER_SIZE */
    assert_int_equal(mts_cl_kernel_create_from(opencl_fixture_world.device, &nothing, "", &kernel, NULL),
                     MTS_STATUS_OK);
    assert_int_equal(kernel->work_group_size, 32);
    assert_int_equal(mts_buffer_create(opencl_fixture_world.device, 256, &buffer, NULL), MTS_STATUS_OK);
    const mts_launch launch = {.kernel = kernel,
                               .act = buffer,
                               .pool = buffer,
                               .params = buffer,
                               .global = {64, 1, 1},
                               .local = {32, 1, 1}};
    mts_command_list *list = NULL;
    kernel->device = opencl_fixture_world.device;
    assert_int_equal(mts_command_list_create(opencl_fixture_world.device, &launch, 1, &list, NULL),
                     MTS_STATUS_OK);
    cl_kernel handle = ((mts_cl_command_list *)list)->launches[0].handle;
    assert_int_equal(opencl_fixture_cl->cl.clEnqueueNDRangeKernel(opencl_fixture_cl->queue, handle, 3, NULL,
                                                                  fits, whole, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_int_equal(opencl_fixture_cl->cl.clEnqueueNDRangeKernel(opencl_fixture_cl->queue, handle, 3, NULL,
                                                                  fits, over, 0, NULL, NULL),
                     -54); /* CL_INVALID_WORK_GROUP_SIZE */
    assert_int_equal(mts_device_wait(opencl_fixture_world.device, NULL), MTS_STATUS_OK);
    mts_command_list_destroy(&list);
    mts_buffer_destroy(&buffer);
    mts_cl_kernel_destroy(opencl_fixture_world.device, kernel);
}

/* The layer fails a program of codes without the products that the device has, and with "broken=1" one with them. */
static void programs_of_codes_multiply_bytes_where_the_driver_builds_that(void **state)
{
    const char *profile = getenv("MTS_PROFILE");
    const bool broken = profile && strstr(profile, "broken=");
    const mts_kernel_desc desc = {
        .name = "pool_bytes__i32_words",
        .defines = mts_launch_defines(&opencl_fixture_world.device->info, MTS_PRECISION_FLOAT32)};
    (void)state;
    for (int i = 0; i < 2; i++) {
        mts_kernel *kernel = NULL;
        assert_int_equal(opencl_fixture_cl->dot != NULL, second_device_has_dot() && !(broken && i == 1));
        assert_int_equal(mts_cl_kernel_create(opencl_fixture_world.device, &desc, &kernel, NULL),
                         MTS_STATUS_OK);
        mts_cl_kernel_destroy(opencl_fixture_world.device, kernel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPENCL_TEST(the_device_is_a_gpu_of_the_limits),
        OPENCL_TEST(the_name_picks_the_row_of_the_defaults),
        OPENCL_TEST(programs_of_codes_multiply_bytes_where_the_driver_builds_that),
        OPENCL_TEST(what_exceeds_a_limit_is_refused_by_the_layer_too),
    };
    if (!getenv("OPENCL_LAYERS") || mts_backend_opencl.count() == 0) {
        print_message("skipped: no OpenCL device, or no loader that takes layers\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
