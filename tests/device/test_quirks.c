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

#include "support/opencl_fixture.h"

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
    /* fetching memory beforehand is asked for where the driver is known to have the instruction */
    assert_non_null(strstr(mts_cl_quirks_find("Portable Computing Language|x|y|3.1")->options, "-DFETCH=1"));
    assert_non_null(strstr(mts_cl_quirks_find("Intel(R) OpenCL|x|a CPU|2026")->options, "-DFETCH=1"));
    assert_null(strstr(mts_cl_quirks_find("rusticl|Mesa|llvmpipe|22.3")->options, "FETCH"));
    assert_null(strstr(mts_cl_quirks_find("Somebody|Else|1|2")->options, "FETCH"));
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
    opencl_fixture_need();
    mts_kernel *kernel = opencl_fixture_kernel("");
    mts_buffer *buffer = opencl_fixture_buffer();
    mts_launch launches[10];
    mts_command_list *list = NULL;
    opencl_fixture_cl->replay.khr.create = NULL; /* a recorded list is one call */
    memset(launches, 0, sizeof launches);
    for (int i = 0; i < 10; i++) {
        launches[i].kernel = kernel;
        launches[i].act = launches[i].pool = launches[i].params = buffer;
        for (int k = 0; k < 3; k++) {
            launches[i].global[k] = launches[i].local[k] = 1;
        }
    }
    assert_int_equal(mts_command_list_create(opencl_fixture_world.device, launches, 10, &list, NULL),
                     MTS_STATUS_OK);
    true_flush = opencl_fixture_cl->cl.clFlush;
    opencl_fixture_cl->cl.clFlush = count_flush;
    flushes = 0;
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(flushes, 1);
    opencl_fixture_cl->flush_every = 4;
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(flushes, 1 + 3);
    opencl_fixture_cl->flush_every = 3;
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(flushes, 1 + 3 + 4);
    mts_command_list_destroy(&list);
    mts_buffer_destroy(&buffer);
    mts_cl_kernel_destroy(opencl_fixture_world.device, kernel);
}

static void the_callers_flush_interval_comes_before_the_drivers(void **state)
{
    (void)state;
    opencl_fixture_need();
    assert_int_equal(opencl_fixture_cl->flush_every, opencl_fixture_cl->quirks->flush_every);
    mts_device_destroy(&opencl_fixture_world.device);
    opencl_fixture_world.options.flush_launches = 7;
    device_fixture_open(&opencl_fixture_world, &mts_backend_opencl, 0);
    opencl_fixture_cl = (mts_cl_device *)opencl_fixture_world.device;
    assert_int_equal(opencl_fixture_cl->flush_every, 7);
}

/* A GPU without a row of its own gets Adreno's number. */
static void a_smooth_queue_of_a_gpu_is_flushed_every_few_launches(void **state)
{
    (void)state;
    opencl_fixture_need();
    const bool gpu = opencl_fixture_cl->base.info.is_gpu;
    mts_device_destroy(&opencl_fixture_world.device);
    opencl_fixture_world.options.queue = MTS_QUEUE_SMOOTH;
    device_fixture_open(&opencl_fixture_world, &mts_backend_opencl, 0);
    opencl_fixture_cl = (mts_cl_device *)opencl_fixture_world.device;
    assert_int_equal(opencl_fixture_cl->flush_every, gpu ? 4 : 0);
    mts_device_destroy(&opencl_fixture_world.device);
    opencl_fixture_world.options.flush_launches = 3;
    device_fixture_open(&opencl_fixture_world, &mts_backend_opencl, 0);
    opencl_fixture_cl = (mts_cl_device *)opencl_fixture_world.device;
    assert_int_equal(opencl_fixture_cl->flush_every, 3);
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
    opencl_fixture_need();
    mts_kernel *kernel = NULL;
    true_build = opencl_fixture_cl->cl.clBuildProgram;
    opencl_fixture_cl->cl.clBuildProgram = build_with_denormals;
    refuses_all = true;
    assert_int_equal(
        mts_cl_kernel_create_from(opencl_fixture_world.device, &opencl_fixture_increment, "", &kernel, NULL),
        MTS_STATUS_DEVICE);
    assert_false(opencl_fixture_cl->keeps_denormals);
    refuses_all = false;
    kernel = opencl_fixture_kernel("");
    assert_true(opencl_fixture_cl->keeps_denormals);
    assert_true(device_fixture_logged(&opencl_fixture_world, "refuses -cl-denorms-are-zero"));
    mts_cl_kernel_destroy(opencl_fixture_world.device, kernel);
    kernel = opencl_fixture_kernel("");
    assert_null(opencl_fixture_cl->programs->next); /* found again, with the options that it was built with */
    mts_cl_kernel_destroy(opencl_fixture_world.device, kernel);
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
    opencl_fixture_need();
    mts_cl_quirks quirks = *opencl_fixture_cl->quirks;
    true_wait = opencl_fixture_cl->cl.clWaitForEvents;
    opencl_fixture_cl->cl.clWaitForEvents = count_waits;
    waits = 0;
    quirks.finish_by_marker = false;
    opencl_fixture_cl->quirks = &quirks;
    assert_int_equal(mts_device_wait(opencl_fixture_world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(waits, 0);
    quirks.finish_by_marker = true;
    assert_int_equal(mts_device_wait(opencl_fixture_world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(waits, 1);
    opencl_fixture_cl->cl.clFinish = fail_resources;
    assert_int_equal(mts_device_wait(opencl_fixture_world.device, NULL), MTS_STATUS_DEVICE_LOST);
    opencl_fixture_cl->quirks = mts_cl_quirks_find("");
}

/* Such a driver would show runs what lay in the memory when the buffer was made. */
static void memory_that_a_driver_would_copy_once_is_not_imported(void **state)
{
    _Alignas(128) static float data[64];
    mts_memory memory = {.kind = MTS_MEMORY_HOST, .host = data, .size = sizeof data / 2};
    mts_error error = {MTS_STATUS_OK, ""};
    mts_buffer *buffer = NULL;
    (void)state;
    opencl_fixture_need();
    assert_int_equal(mts_cl_quirks_find("Intel(R) OpenCL|Intel(R) Corporation|a CPU|2026")->host_alignment,
                     128);
    mts_cl_quirks quirks = *opencl_fixture_cl->quirks;
    quirks.host_alignment = 128;
    opencl_fixture_cl->quirks = &quirks;
    const uint32_t usual = opencl_fixture_cl->base.info.imports;
    opencl_fixture_cl->base.info.imports |= MTS_MEMORY_BIT(MTS_MEMORY_HOST);
    assert_int_equal(mts_buffer_import(opencl_fixture_world.device, &memory, &buffer, &error), MTS_STATUS_OK);
    mts_buffer_destroy(&buffer);
    memory.host = data + 1;
    assert_int_equal(mts_buffer_import(opencl_fixture_world.device, &memory, &buffer, &error),
                     MTS_STATUS_UNSUPPORTED);
    assert_null(buffer);
    opencl_fixture_cl->base.info.imports = usual;
    opencl_fixture_cl->quirks = mts_cl_quirks_find("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quirks_are_chosen_by_the_drivers_names),
        OPENCL_TEST(a_driver_with_that_quirk_is_flushed_every_few_launches),
        OPENCL_TEST(the_callers_flush_interval_comes_before_the_drivers),
        OPENCL_TEST(a_smooth_queue_of_a_gpu_is_flushed_every_few_launches),
        OPENCL_TEST(a_driver_that_keeps_denormals_builds_without_the_option),
        OPENCL_TEST(a_driver_whose_finish_returns_early_is_waited_for_by_a_marker),
        OPENCL_TEST(memory_that_a_driver_would_copy_once_is_not_imported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
