/*
 * test_quirks.c: what is done about particular OpenCL drivers: the rows of quirks.c, and what follows from them. The
 * driver at hand poses as others.
 */
#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "platform/opencl/opencl.h"
#include "support/device_fixture.h"

static device_fixture world;
static mts_cl_device *opencl;

static const mts_kernel_source increment = {.name = "increment",
                                            .source =
                                                "kernel void increment(global float *act, global const float "
                                                "*pool, global const uint *table, uint first)\n"
                                                "{ act[get_global_id(0)] += pool[0] * table[first]; }\n"};

static int open_device(void **state)
{
    (void)state;
    opencl = NULL;
    device_fixture_init(&world, NULL);
    if (mts_backend_opencl.count() != 0) {
        device_fixture_open(&world, &mts_backend_opencl, 0);
        opencl = (mts_cl_device *)world.device;
    }
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    device_fixture_close(&world);
    return 0;
}

static void need_device(void)
{
    if (!opencl) {
        (void)printf("skipped: there is no OpenCL device\n");
        skip();
    }
}

static mts_kernel *make_kernel(const char *defines)
{
    mts_kernel *kernel = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_cl_kernel_create_from(world.device, &increment, defines, &kernel, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return kernel;
}

static mts_buffer *make_buffer(void)
{
    mts_buffer *buffer = NULL;
    assert_int_equal(mts_buffer_create(world.device, 256, &buffer, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_fill(buffer, 0, 256, 0, NULL), MTS_STATUS_OK);
    return buffer;
}

static void quirks_are_chosen_by_the_drivers_names(void **state)
{
    (void)state;
    assert_int_equal(
        mts_cl_quirks_find("QUALCOMM Snapdragon(TM)|QUALCOMM|QUALCOMM Adreno(TM)|x")->flush_every, 4);
    assert_int_equal(mts_cl_quirks_find("ARM Platform|ARM|Mali-G78|3.0")->work_group_most, 128);
    assert_int_equal(mts_cl_quirks_find("")->work_group_most, 0);
    assert_int_equal(mts_cl_quirks_find("Somebody|Else|1|2")->flush_every, 0);
    assert_false(mts_cl_quirks_find("Somebody|Else|1|2")->no_replay);
    assert_true(mts_cl_quirks_find("Portable Computing Language|GenuineIntel|pthread-x|3.1")->no_replay);
    assert_true(mts_cl_quirks_find("Intel(R) OpenCL|Intel(R) Corporation|a CPU|2026")->host_buffers);
    assert_false(mts_cl_quirks_find("Intel(R) OpenCL Graphics|Intel(R) Corporation|a GPU|24")->host_buffers);
    assert_true(mts_cl_quirks_find("rusticl|Mesa|llvmpipe|22.3")->finish_by_marker);
}

static uint32_t flushes;
static cl_int (*true_flush)(cl_command_queue);
static cl_int count_flush(cl_command_queue queue)
{
    flushes++;
    return true_flush(queue);
}

static void a_driver_with_that_quirk_is_flushed_every_few_launches(void **state)
{
    (void)state;
    need_device();
    mts_kernel *kernel = make_kernel("");
    mts_buffer *buffer = make_buffer();
    mts_launch launches[10];
    mts_command_list *list = NULL;
    opencl->replay.create = NULL; /* a recorded list is one call */
    memset(launches, 0, sizeof launches);
    for (int i = 0; i < 10; i++) {
        launches[i].kernel = kernel;
        launches[i].act = launches[i].pool = launches[i].params = buffer;
        for (int k = 0; k < 3; k++) {
            launches[i].global[k] = launches[i].local[k] = 1;
        }
    }
    assert_int_equal(mts_command_list_create(world.device, launches, 10, &list, NULL), MTS_STATUS_OK);
    true_flush = opencl->cl.clFlush;
    opencl->cl.clFlush = count_flush;
    flushes = 0;
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(flushes, 1);
    opencl->flush_every = 4;
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(flushes, 1 + 3);
    opencl->flush_every = 3;
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(flushes, 1 + 3 + 4);
    mts_command_list_destroy(&list);
    mts_buffer_destroy(&buffer);
    mts_cl_kernel_destroy(world.device, kernel);
}

static void the_callers_flush_interval_comes_before_the_drivers(void **state)
{
    (void)state;
    need_device();
    assert_int_equal(opencl->flush_every, opencl->quirks->flush_every);
    mts_device_destroy(&world.device);
    world.options.flush_launches = 7;
    device_fixture_open(&world, &mts_backend_opencl, 0);
    opencl = (mts_cl_device *)world.device;
    assert_int_equal(opencl->flush_every, 7);
    assert_null(opencl->replay.create); /* what is flushed on its way is not one call */
}

static cl_int (*true_build)(cl_program, cl_uint, const cl_device_id *, const char *,
                            void (*)(cl_program, void *), void *);
static bool refuses_all;

static cl_int build_with_denormals(cl_program program, cl_uint count, const cl_device_id *devices,
                                   const char *options, void (*notify)(cl_program, void *), void *context)
{
    return refuses_all || strstr(options, "-cl-denorms-are-zero")
               ? -43 /* CL_INVALID_BUILD_OPTIONS */
               : true_build(program, count, devices, options, notify, context);
}

static void a_driver_that_keeps_denormals_builds_without_the_option(void **state)
{
    (void)state;
    need_device();
    mts_kernel *kernel = NULL;
    true_build = opencl->cl.clBuildProgram;
    opencl->cl.clBuildProgram = build_with_denormals;
    refuses_all = true;
    assert_int_equal(mts_cl_kernel_create_from(world.device, &increment, "", &kernel, NULL),
                     MTS_STATUS_DEVICE);
    assert_false(opencl->keeps_denormals);
    refuses_all = false;
    kernel = make_kernel("");
    assert_true(opencl->keeps_denormals);
    assert_true(device_fixture_logged(&world, "refuses -cl-denorms-are-zero"));
    mts_cl_kernel_destroy(world.device, kernel);
    kernel = make_kernel("");
    assert_null(opencl->programs->next); /* found again, with the options that it was built with */
    mts_cl_kernel_destroy(world.device, kernel);
}

static cl_int fail_resources(cl_command_queue queue)
{
    (void)queue;
    return CL_OUT_OF_RESOURCES;
}

static uint32_t waits;
static cl_int (*true_wait)(cl_uint, const cl_event *);

static cl_int count_waits(cl_uint count, const cl_event *events)
{
    waits++;
    return true_wait(count, events);
}

static void a_driver_whose_finish_returns_early_is_waited_for_by_a_marker(void **state)
{
    (void)state;
    need_device();
    mts_cl_quirks quirks = *opencl->quirks;
    true_wait = opencl->cl.clWaitForEvents;
    opencl->cl.clWaitForEvents = count_waits;
    waits = 0;
    quirks.finish_by_marker = false;
    opencl->quirks = &quirks;
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(waits, 0);
    quirks.finish_by_marker = true;
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(waits, 1);
    opencl->cl.clFinish = fail_resources;
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_DEVICE_LOST);
    opencl->quirks = mts_cl_quirks_find("");
}

#define DEVICE_TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quirks_are_chosen_by_the_drivers_names),
        DEVICE_TEST(a_driver_with_that_quirk_is_flushed_every_few_launches),
        DEVICE_TEST(the_callers_flush_interval_comes_before_the_drivers),
        DEVICE_TEST(a_driver_that_keeps_denormals_builds_without_the_option),
        DEVICE_TEST(a_driver_whose_finish_returns_early_is_waited_for_by_a_marker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
