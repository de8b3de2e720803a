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

#include "platform/opencl/opencl.h"
#include "support/device_fixture.h"

static device_fixture world;
static mts_cl_device *opencl;

static int open_device(void **state)
{
    (void)state;
    device_fixture_init(&world, NULL);
    device_fixture_open(&world, &mts_backend_opencl, 0);
    opencl = (mts_cl_device *)world.device;
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    device_fixture_close(&world);
    return 0;
}

static void the_device_is_a_gpu_of_the_limits(void **state)
{
    (void)state;
    const mts_device_info *info = &world.device->info;
    assert_true(info->is_gpu);
    assert_non_null(strstr(info->name, "GPU profile of"));
    assert_int_equal(info->work_group_size, 32);
    assert_int_equal(info->local_bytes, 8192);
    assert_int_equal(info->buffer_bytes, 268435456);
    assert_false(info->half_products);
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
    assert_null(opencl->cl.clCreateBuffer(opencl->context, CL_MEM_READ_WRITE, 268435457, NULL, &result));
    assert_int_equal(result, -61); /* CL_INVALID_BUFFER_SIZE */
    assert_int_equal(mts_cl_kernel_create_from(world.device, &nothing, "", &kernel, NULL), MTS_STATUS_OK);
    assert_int_equal(kernel->work_group_size, 32);
    assert_int_equal(mts_buffer_create(world.device, 256, &buffer, NULL), MTS_STATUS_OK);
    const mts_launch launch = {.kernel = kernel,
                               .act = buffer,
                               .pool = buffer,
                               .params = buffer,
                               .global = {64, 1, 1},
                               .local = {32, 1, 1}};
    mts_command_list *list = NULL;
    kernel->device = world.device;
    assert_int_equal(mts_command_list_create(world.device, &launch, 1, &list, NULL), MTS_STATUS_OK);
    cl_kernel handle = ((mts_cl_command_list *)list)->launches[0].handle;
    assert_int_equal(
        opencl->cl.clEnqueueNDRangeKernel(opencl->queue, handle, 3, NULL, fits, whole, 0, NULL, NULL),
        CL_SUCCESS);
    assert_int_equal(
        opencl->cl.clEnqueueNDRangeKernel(opencl->queue, handle, 3, NULL, fits, over, 0, NULL, NULL),
        -54); /* CL_INVALID_WORK_GROUP_SIZE */
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    mts_command_list_destroy(&list);
    mts_buffer_destroy(&buffer);
    mts_cl_kernel_destroy(world.device, kernel);
}

#define DEVICE_TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(the_device_is_a_gpu_of_the_limits),
        DEVICE_TEST(what_exceeds_a_limit_is_refused_by_the_layer_too),
    };
    if (!getenv("OPENCL_LAYERS") || mts_backend_opencl.count() == 0) {
        print_message("skipped: no OpenCL device, or no loader that takes layers\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
