#include "support/opencl_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

device_fixture opencl_fixture_world;
mts_cl_device *opencl_fixture_cl;

const mts_kernel_source opencl_fixture_increment = {
    .name = "increment",
    .source = "kernel void increment(global float *act, global const float "
              "*pool, global const uint *table, uint first)\n"
              "{ act[get_global_id(0)] += pool[0] * table[first]; }\n"};

int opencl_fixture_open(void **state)
{
    (void)state;
    opencl_fixture_cl = NULL;
    device_fixture_init(&opencl_fixture_world, NULL);
    if (mts_backend_opencl.count() != 0) {
        device_fixture_open(&opencl_fixture_world, &mts_backend_opencl, 0);
        opencl_fixture_cl = (mts_cl_device *)opencl_fixture_world.device;
    }
    return 0;
}

int opencl_fixture_close(void **state)
{
    (void)state;
    device_fixture_close(&opencl_fixture_world);
    return 0;
}

void opencl_fixture_need(void)
{
    if (!opencl_fixture_cl) {
        (void)printf("skipped: there is no OpenCL device\n");
        skip();
    }
}

mts_kernel *opencl_fixture_kernel(const char *defines)
{
    mts_kernel *kernel = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_cl_kernel_create_from(opencl_fixture_world.device, &opencl_fixture_increment, defines, &kernel,
                                  &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return kernel;
}

mts_buffer *opencl_fixture_buffer(void)
{
    mts_buffer *buffer = NULL;
    assert_int_equal(mts_buffer_create(opencl_fixture_world.device, 256, &buffer, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_fill(buffer, 0, 256, 0, NULL), MTS_STATUS_OK);
    return buffer;
}
