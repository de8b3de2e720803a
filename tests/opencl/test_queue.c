/*
 * Queues of mobile GPUs: hints about priority and clocks go to drivers that say to take them, and to no others.
 *
 * No driver of a processor takes any, so a library of our own stands in front of it (fake/fake.h). Skipped where that
 * library or an OpenCL device is missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "opencl/fake/fake.h"
#include "platform/opencl/opencl.h"
#include "support/device_fixture.h"

#define QCOM "cl_qcom_perf_hint cl_qcom_priority_hint"
#define KHR "cl_khr_priority_hints cl_khr_throttle_hints"

static fake_opencl *fake;
static device_fixture world;

static mts_cl_device *open_with(const char *extensions, mts_queue_mode mode)
{
    fake->extensions = extensions;
    world.options.queue = mode;
    device_fixture_open(&world, &mts_backend_opencl, 0);
    return (mts_cl_device *)world.device;
}

static int set_up(void **state)
{
    (void)state;
    *fake = (fake_opencl){.asked = fake->asked};
    device_fixture_init(&world, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    device_fixture_close(&world);
    return 0;
}

static void each_mode_gives_the_hints_of_both_vendors(void **state)
{
    static const struct {
        mts_queue_mode mode;
        intptr_t perf, priority;
        uint64_t queue_priority, throttle;
    } cases[] = {
        {MTS_QUEUE_DEFAULT, 0, 0, 0, 0},
        {MTS_QUEUE_BACKGROUND, CL_PERF_HINT_LOW_QCOM, CL_PRIORITY_HINT_LOW_QCOM, CL_QUEUE_PRIORITY_LOW_KHR,
         CL_QUEUE_THROTTLE_LOW_KHR},
        {MTS_QUEUE_SMOOTH, CL_PERF_HINT_HIGH_QCOM, CL_PRIORITY_HINT_LOW_QCOM, CL_QUEUE_PRIORITY_LOW_KHR,
         CL_QUEUE_THROTTLE_HIGH_KHR},
        {MTS_QUEUE_FAST, CL_PERF_HINT_HIGH_QCOM, CL_PRIORITY_HINT_HIGH_QCOM, CL_QUEUE_PRIORITY_HIGH_KHR,
         CL_QUEUE_THROTTLE_HIGH_KHR},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)open_with(QCOM " " KHR, cases[i].mode);
        assert_int_equal(fake->perf, cases[i].perf);
        assert_int_equal(fake->priority, cases[i].priority);
        assert_int_equal(fake->queue_priority, cases[i].queue_priority);
        assert_int_equal(fake->throttle, cases[i].throttle);
        mts_device_destroy(&world.device);
    }
}

/* The fake refuses a hint whose extension it does not say. */
static void a_hint_is_given_only_where_its_extension_is(void **state)
{
    static const char *const words[] = {"cl_qcom_perf_hint", "cl_qcom_priority_hint", "cl_khr_priority_hints",
                                        "cl_khr_throttle_hints", "cl_khr_fp64"};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        *fake = (fake_opencl){.asked = fake->asked};
        (void)open_with(words[i], MTS_QUEUE_FAST);
        assert_int_equal(fake->perf != 0, i == 0);
        assert_int_equal(fake->priority != 0, i == 1);
        assert_int_equal(fake->queue_priority != 0, i == 2);
        assert_int_equal(fake->throttle != 0, i == 3);
        assert_false(device_fixture_logged(&world, "takes no hints"));
        mts_device_destroy(&world.device);
    }
}

static void a_driver_that_refuses_its_hints_gets_a_queue_without(void **state)
{
    static const char *const words[] = {QCOM, KHR};
    static const char *const said[] = {"clCreateContext takes no hints",
                                       "clCreateCommandQueueWithProperties takes no hints"};
    (void)state;
    fake->refuses_hints = true;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const mts_cl_device *device = open_with(words[i], MTS_QUEUE_SMOOTH);
        assert_non_null(device->queue);
        assert_int_equal(device->queue_hints[0], 0);
        assert_true(device_fixture_logged(&world, said[i]));
        assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
        mts_device_destroy(&world.device);
    }
}

static void a_library_that_makes_no_queues_with_properties_gets_no_hints_of_queues(void **state)
{
    (void)state;
    fake->missing = "clCreateCommandQueueWithProperties";
    const mts_cl_device *device = open_with(QCOM " " KHR, MTS_QUEUE_FAST);
    assert_int_equal(device->queue_hints[0], 0);
    assert_int_equal(fake->perf, CL_PERF_HINT_HIGH_QCOM);
    assert_false(device_fixture_logged(&world, "takes no hints"));
}

static void a_queue_for_profiles_has_the_hints_too(void **state)
{
    (void)state;
    cl_command_queue queue = NULL;
    mts_cl_device *device = open_with(KHR, MTS_QUEUE_FAST);
    fake->queue_priority = 0;
    assert_int_equal(mts_cl_queue_create(device, CL_QUEUE_PROFILING_ENABLE, &queue, NULL), MTS_STATUS_OK);
    assert_int_equal(fake->queue_priority, CL_QUEUE_PRIORITY_HIGH_KHR);
    (void)device->cl.clReleaseCommandQueue(queue);
}

/* The library with the loader's name is ours, and finds a device behind it. */
static const char *find_fake(void)
{
    mts_os_library *library = mts_os_library_open("libOpenCL.so.1", NULL, 0);
    void *const symbol = library ? mts_os_library_symbol(library, "fake_opencl_state") : NULL;
    fake_opencl_state_fn state = NULL;
    if (!symbol) {
        return "the library in front of OpenCL's is not there";
    }
    memcpy(&state, &symbol, sizeof symbol);
    fake = state();
    return mts_backend_opencl.count() == 0 ? "there is no OpenCL device" : NULL;
}

#define QUEUE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        QUEUE_TEST(each_mode_gives_the_hints_of_both_vendors),
        QUEUE_TEST(a_hint_is_given_only_where_its_extension_is),
        QUEUE_TEST(a_driver_that_refuses_its_hints_gets_a_queue_without),
        QUEUE_TEST(a_library_that_makes_no_queues_with_properties_gets_no_hints_of_queues),
        QUEUE_TEST(a_queue_for_profiles_has_the_hints_too),
    };
    const char *missing = find_fake();
    if (missing) {
        (void)printf("skipped: %s\n", missing);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
