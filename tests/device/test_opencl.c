/*
 * The OpenCL backend by itself: what it makes of missing libraries, failing drivers and kernels that do not
 * build.
 *
 * A device keeps the driver's functions in a table, so a test replaces one by a function that fails. Tests
 * that need a device are skipped where there is none.
 */
#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/opencl_fixture.h"

static void a_missing_library_is_not_found_and_leaves_the_table_empty(void **state)
{
    (void)state;
    static const char *const none[] = {"libmts-no-such-driver.so", "/nowhere/libOpenCL.so", NULL};
    static const char *const wrong[] = {"libm.so.6", NULL};
    mts_cl_library library;
    mts_error error;
    memset(&library, 0xff, sizeof library);
    assert_int_equal(mts_cl_library_open_any(&library, none, &error), MTS_STATUS_NOT_FOUND);
    assert_null(library.handle);
    assert_null(library.clGetPlatformIDs);
    assert_int_equal(mts_cl_library_open_any(&library, wrong, &error), MTS_STATUS_NOT_FOUND);
    assert_null(library.clFinish);
    mts_cl_library_close(&library);
}

static void results_have_their_names(void **state)
{
    (void)state;
    assert_string_equal(mts_cl_error_name(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES");
    assert_string_equal(mts_cl_error_name(-11), "CL_BUILD_PROGRAM_FAILURE");
    assert_string_equal(mts_cl_error_name(-30), "CL_INVALID_VALUE");
    assert_string_equal(mts_cl_error_name(CL_INVALID_COMMAND_QUEUE), "CL_INVALID_COMMAND_QUEUE");
    assert_string_equal(mts_cl_error_name(-54), "CL_INVALID_WORK_GROUP_SIZE");
    assert_string_equal(mts_cl_error_name(-64), "CL_INVALID_PROPERTY");
    assert_string_equal(mts_cl_error_name(-65), "an unknown code");
    assert_string_equal(mts_cl_error_name(INT32_MIN), "an unknown code");
    assert_string_equal(mts_cl_error_name(7), "an unknown code");
}

static void the_same_result_means_different_things_at_different_stages(void **state)
{
    (void)state;
    static const struct {
        cl_int result;
        mts_cl_stage stage;
        mts_status status;
    } cases[] = {
        {CL_OUT_OF_RESOURCES, MTS_CL_STAGE_CREATE, MTS_STATUS_OUT_OF_MEMORY},
        {CL_OUT_OF_RESOURCES, MTS_CL_STAGE_ENQUEUE, MTS_STATUS_DEVICE},
        {CL_OUT_OF_RESOURCES, MTS_CL_STAGE_WAIT, MTS_STATUS_DEVICE_LOST},
        {CL_MEM_OBJECT_ALLOCATION_FAILURE, MTS_CL_STAGE_ENQUEUE, MTS_STATUS_OUT_OF_MEMORY},
        {CL_INVALID_COMMAND_QUEUE, MTS_CL_STAGE_CREATE, MTS_STATUS_DEVICE_LOST},
        {CL_INVALID_CONTEXT, MTS_CL_STAGE_ENQUEUE, MTS_STATUS_DEVICE_LOST},
        {-9999, MTS_CL_STAGE_ENQUEUE, MTS_STATUS_DEVICE_LOST},
        {-54, MTS_CL_STAGE_ENQUEUE, MTS_STATUS_DEVICE},
        {CL_SUCCESS, MTS_CL_STAGE_WAIT, MTS_STATUS_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mts_cl_device device;
        mts_error error = {MTS_STATUS_OK, ""};
        memset(&device, 0, sizeof device);
        assert_int_equal(mts_cl_check(&device, cases[i].result, cases[i].stage, "clCall", &error),
                         cases[i].status);
        assert_int_equal(device.base.lost, cases[i].status == MTS_STATUS_DEVICE_LOST);
        assert_true(cases[i].status == MTS_STATUS_OK || strstr(error.text, "clCall"));
    }
}

static void a_kernel_that_does_not_build_is_told_with_its_name_and_the_drivers_log(void **state)
{
    (void)state;
    opencl_fixture_need();
    static const mts_kernel_source broken = {
        .name = "broken", .source = "kernel void broken(global float *act) { act[0] = undeclared_thing; }"};
    mts_kernel *kernel = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    assert_int_equal(mts_cl_kernel_create_from(opencl_fixture_world.device, &broken, "", &kernel, &error),
                     MTS_STATUS_DEVICE);
    assert_null(kernel);
    assert_non_null(strstr(error.text, "kernel 'broken'"));
    assert_non_null(strstr(error.text, "CL_BUILD_PROGRAM_FAILURE"));
    assert_non_null(strstr(error.text, "undeclared_thing"));
    assert_true(device_fixture_logged(&opencl_fixture_world, "undeclared_thing"));
    assert_false(opencl_fixture_world.device->lost);
}

static void a_program_without_its_kernel_is_an_error(void **state)
{
    (void)state;
    opencl_fixture_need();
    static const mts_kernel_source misnamed = {
        .name = "misnamed", .source = "kernel void other(global float *act) { act[0] = 1.0f; }"};
    mts_kernel *kernel = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    assert_int_equal(mts_cl_kernel_create_from(opencl_fixture_world.device, &misnamed, "", &kernel, &error),
                     MTS_STATUS_DEVICE);
    assert_null(kernel);
    assert_non_null(strstr(error.text, "misnamed"));
}

static void kernels_of_equal_name_and_options_share_a_program(void **state)
{
    (void)state;
    opencl_fixture_need();
    mts_kernel *a = opencl_fixture_kernel("-DX=1");
    mts_kernel *b = opencl_fixture_kernel("-DX=1");
    mts_kernel *c = opencl_fixture_kernel("-DX=2");
    assert_ptr_equal(((mts_cl_kernel *)a)->program, ((mts_cl_kernel *)b)->program);
    assert_ptr_not_equal(((mts_cl_kernel *)a)->program, ((mts_cl_kernel *)c)->program);
    mts_cl_kernel_destroy(opencl_fixture_world.device, a);
    mts_cl_kernel_destroy(opencl_fixture_world.device, b);
    mts_cl_kernel_destroy(opencl_fixture_world.device, c);
    mts_kernel *again = opencl_fixture_kernel("-DX=1"); /* a destroyed kernel's program is kept */
    assert_null(opencl_fixture_cl->programs->next->next);
    mts_cl_kernel_destroy(opencl_fixture_world.device, again);
}

static cl_int fail_resources(cl_command_queue queue)
{
    (void)queue;
    return CL_OUT_OF_RESOURCES;
}

static void a_crashed_command_loses_the_device_for_good(void **state)
{
    (void)state;
    opencl_fixture_need();
    mts_error error = {MTS_STATUS_OK, ""};
    mts_buffer *buffer = NULL;
    cl_int (*const finish)(cl_command_queue) = opencl_fixture_cl->cl.clFinish;
    opencl_fixture_cl->cl.clFinish = fail_resources;
    assert_int_equal(mts_device_wait(opencl_fixture_world.device, &error), MTS_STATUS_DEVICE_LOST);
    assert_non_null(strstr(error.text, "CL_OUT_OF_RESOURCES"));
    opencl_fixture_cl->cl.clFinish = finish;
    assert_int_equal(mts_device_wait(opencl_fixture_world.device, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_buffer_create(opencl_fixture_world.device, 4, &buffer, &error),
                     MTS_STATUS_DEVICE_LOST);
}

static cl_mem refuse_buffer(cl_context context, cl_bitfield flags, size_t size, void *host, cl_int *result)
{
    (void)context;
    (void)flags;
    (void)size;
    (void)host;
    *result = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
}

static void a_full_device_is_out_of_memory_and_not_lost(void **state)
{
    (void)state;
    opencl_fixture_need();
    mts_buffer *buffer = NULL;
    opencl_fixture_cl->cl.clCreateBuffer = refuse_buffer;
    assert_int_equal(mts_buffer_create(opencl_fixture_world.device, 4, &buffer, NULL),
                     MTS_STATUS_OUT_OF_MEMORY);
    assert_null(buffer);
    assert_int_equal(mts_device_wait(opencl_fixture_world.device, NULL), MTS_STATUS_OK);
}

/* ---- events ---- */

static mts_cl_library true_cl;
static uint32_t events_made, events_released, finishes, event_waits;
static cl_int event_status, wait_result;

static cl_int count_marker(cl_command_queue queue, cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    events_made++;
    return true_cl.clEnqueueMarkerWithWaitList(queue, waits, wait_list, event);
}

static cl_int count_release(cl_event event)
{
    events_released++;
    return true_cl.clReleaseEvent(event);
}

static cl_int count_finish(cl_command_queue queue)
{
    finishes++;
    return true_cl.clFinish(queue);
}

static cl_int count_wait(cl_uint count, const cl_event *events)
{
    event_waits++;
    return wait_result ? wait_result : true_cl.clWaitForEvents(count, events);
}

static cl_int answer_status(cl_event event, cl_uint what, size_t size, void *value, size_t *size_out)
{
    (void)event;
    (void)size_out;
    assert_int_equal(what, CL_EVENT_COMMAND_EXECUTION_STATUS);
    assert_int_equal(size, sizeof event_status);
    memcpy(value, &event_status, sizeof event_status);
    return CL_SUCCESS;
}

static void need_marks(void)
{
    opencl_fixture_need();
    true_cl = opencl_fixture_cl->cl;
    events_made = events_released = finishes = event_waits = 0;
    event_status = wait_result = CL_SUCCESS;
    opencl_fixture_cl->cl.clEnqueueMarkerWithWaitList = count_marker;
    opencl_fixture_cl->cl.clReleaseEvent = count_release;
    opencl_fixture_cl->cl.clFinish = count_finish;
    opencl_fixture_cl->cl.clWaitForEvents = count_wait;
}

static void events_of_marks_are_released_when_passed_replaced_or_destroyed(void **state)
{
    (void)state;
    bool passed = false;
    need_marks();
    for (uint32_t i = 0; i < MTS_DEVICE_EVENTS; i++) {
        assert_int_equal(mts_device_event_record(opencl_fixture_world.device, i, NULL), MTS_STATUS_OK);
    }
    assert_int_equal(events_made, MTS_DEVICE_EVENTS);
    assert_int_equal(events_released, 0);
    assert_int_equal(mts_device_event_wait(opencl_fixture_world.device, 0, NULL), MTS_STATUS_OK);
    assert_int_equal(events_released, 1);
    while (!passed) {
        assert_int_equal(mts_device_event_passed(opencl_fixture_world.device, 1, &passed, NULL),
                         MTS_STATUS_OK);
    }
    assert_int_equal(events_released, 2);
    assert_int_equal(event_waits, 2); /* also behind the answer "complete" */
    assert_int_equal(mts_device_event_record(opencl_fixture_world.device, 2, NULL), MTS_STATUS_OK);
    assert_int_equal(events_released, 3);
    assert_int_equal(finishes, 0);
    mts_device_destroy(&opencl_fixture_world.device);
    assert_int_equal(events_released, events_made);
}

static void a_driver_without_markers_is_waited_for(void **state)
{
    (void)state;
    need_marks();
    if (opencl_fixture_cl->quirks->finish_by_marker) {
        skip(); /* its clFinish does not wait, and nothing else is left */
    }
    bool passed = false;
    uint32_t sent = 77;
    uint32_t fetched = 0;
    mts_buffer *buffer = opencl_fixture_buffer();
    opencl_fixture_cl->cl.clEnqueueMarkerWithWaitList = NULL;
    assert_int_equal(mts_buffer_write_async(buffer, 0, &sent, sizeof sent, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read_async(buffer, 0, &fetched, sizeof fetched, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_device_event_record(opencl_fixture_world.device, 0, NULL), MTS_STATUS_OK);
    assert_int_equal(finishes, 0);
    assert_int_equal(mts_device_event_passed(opencl_fixture_world.device, 0, &passed, NULL), MTS_STATUS_OK);
    assert_true(passed);
    assert_int_equal(fetched, 77);
    assert_int_equal(finishes, 1);
    assert_int_equal(mts_device_event_wait(opencl_fixture_world.device, 0, NULL),
                     MTS_STATUS_OK); /* known by now */
    assert_int_equal(finishes, 1);
    mts_buffer_destroy(&buffer);
}

static void a_failed_command_is_seen_at_the_event_behind_it(void **state)
{
    static const struct {
        cl_int status;
        mts_status code;
    } cases[] = {
        {CL_MEM_OBJECT_ALLOCATION_FAILURE, MTS_STATUS_OUT_OF_MEMORY},
        {-59, MTS_STATUS_DEVICE},
        {CL_OUT_OF_RESOURCES, MTS_STATUS_DEVICE_LOST},
    };
    (void)state;
    need_marks();
    opencl_fixture_cl->cl.clGetEventInfo = answer_status;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool passed = true;
        mts_error error = {MTS_STATUS_OK, ""};
        event_status = cases[i].status;
        assert_int_equal(mts_device_event_record(opencl_fixture_world.device, 0, NULL), MTS_STATUS_OK);
        for (int k = 0; k < 2; k++) { /* asking again says the same */
            assert_int_equal(mts_device_event_passed(opencl_fixture_world.device, 0, &passed, &error),
                             cases[i].code);
            assert_false(passed);
        }
        assert_true(opencl_fixture_world.device->lost || strstr(error.text, mts_cl_error_name(event_status)));
    }
    assert_true(opencl_fixture_world.device->lost);
}

static void a_wait_for_an_event_behind_a_crash_loses_the_device(void **state)
{
    (void)state;
    mts_error error = {MTS_STATUS_OK, ""};
    need_marks();
    wait_result = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    assert_int_equal(mts_device_event_record(opencl_fixture_world.device, 0, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_device_event_wait(opencl_fixture_world.device, 0, &error), MTS_STATUS_DEVICE_LOST);
    assert_non_null(strstr(error.text, "clWaitForEvents"));
    mts_device_destroy(&opencl_fixture_world.device);
    assert_int_equal(events_released, events_made);
}

static cl_int refuse_marker(cl_command_queue queue, cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    (void)queue;
    (void)waits;
    (void)wait_list;
    *event = (cl_event)&events_made; /* rubbish, which must not be released */
    return CL_OUT_OF_HOST_MEMORY;
}

static void an_event_that_cannot_be_set_stands_behind_nothing(void **state)
{
    (void)state;
    bool passed = false;
    need_marks();
    assert_int_equal(mts_device_event_record(opencl_fixture_world.device, 0, NULL), MTS_STATUS_OK);
    opencl_fixture_cl->cl.clEnqueueMarkerWithWaitList = refuse_marker;
    assert_int_equal(mts_device_event_record(opencl_fixture_world.device, 0, NULL), MTS_STATUS_OUT_OF_MEMORY);
    assert_int_equal(events_released, 1);
    assert_int_equal(mts_device_event_passed(opencl_fixture_world.device, 0, &passed, NULL), MTS_STATUS_OK);
    assert_true(passed);
}

static cl_bool last_blocking;

static cl_int watch_write(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t size,
                          const void *data, cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    last_blocking = blocking;
    return true_cl.clEnqueueWriteBuffer(queue, memory, blocking, offset, size, data, waits, wait_list, event);
}

static cl_int watch_read(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t size,
                         void *data, cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    last_blocking = blocking;
    return true_cl.clEnqueueReadBuffer(queue, memory, blocking, offset, size, data, waits, wait_list, event);
}

static void only_writes_and_reads_block(void **state)
{
    (void)state;
    uint32_t word = 1;
    need_marks();
    mts_buffer *buffer = opencl_fixture_buffer();
    opencl_fixture_cl->cl.clEnqueueWriteBuffer = watch_write;
    opencl_fixture_cl->cl.clEnqueueReadBuffer = watch_read;
    assert_int_equal(mts_buffer_write(buffer, 0, &word, 4, NULL), MTS_STATUS_OK);
    assert_int_equal(last_blocking, CL_TRUE);
    assert_int_equal(mts_buffer_write_async(buffer, 0, &word, 4, NULL), MTS_STATUS_OK);
    assert_int_equal(last_blocking, CL_FALSE);
    assert_int_equal(mts_buffer_read(buffer, 0, &word, 4, NULL), MTS_STATUS_OK);
    assert_int_equal(last_blocking, CL_TRUE);
    assert_int_equal(mts_buffer_read_async(buffer, 0, &word, 4, NULL), MTS_STATUS_OK);
    assert_int_equal(last_blocking, CL_FALSE);
    assert_int_equal(mts_device_wait(opencl_fixture_world.device, NULL), MTS_STATUS_OK);
    mts_buffer_destroy(&buffer);
}

static uint32_t kernels_left; /* clCreateKernel succeeds that many times */
static cl_kernel (*true_create)(cl_program, const char *, cl_int *);
static cl_kernel create_some(cl_program program, const char *name, cl_int *result)
{
    if (kernels_left == 0) {
        *result = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    kernels_left--;
    return true_create(program, name, result);
}

static void a_list_that_fails_half_way_is_taken_back(void **state)
{
    (void)state;
    opencl_fixture_need();
    mts_error error;
    mts_kernel *kernel = opencl_fixture_kernel("");
    mts_buffer *buffer = opencl_fixture_buffer();
    mts_launch launches[3];
    mts_command_list *list = NULL;
    memset(launches, 0, sizeof launches);
    for (int i = 0; i < 3; i++) {
        launches[i].kernel = kernel;
        launches[i].act = launches[i].pool = launches[i].params = buffer;
        for (int k = 0; k < 3; k++) {
            launches[i].global[k] = launches[i].local[k] = 1;
        }
    }
    true_create = opencl_fixture_cl->cl.clCreateKernel;
    opencl_fixture_cl->cl.clCreateKernel = create_some;
    const uint32_t alive = opencl_fixture_world.allocator.alive;
    for (kernels_left = 0; kernels_left < 3;) {
        const uint32_t next = kernels_left + 1;
        assert_int_equal(mts_command_list_create(opencl_fixture_world.device, launches, 3, &list, &error),
                         MTS_STATUS_OUT_OF_MEMORY);
        assert_null(list);
        assert_int_equal(opencl_fixture_world.allocator.alive, alive);
        kernels_left = next;
    }
    assert_int_equal(mts_command_list_create(opencl_fixture_world.device, launches, 3, &list, &error),
                     MTS_STATUS_OK);
    mts_command_list_destroy(&list);
    mts_buffer_destroy(&buffer);
    mts_cl_kernel_destroy(opencl_fixture_world.device, kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_library_is_not_found_and_leaves_the_table_empty),
        cmocka_unit_test(results_have_their_names),
        cmocka_unit_test(the_same_result_means_different_things_at_different_stages),
        OPENCL_TEST(a_kernel_that_does_not_build_is_told_with_its_name_and_the_drivers_log),
        OPENCL_TEST(a_program_without_its_kernel_is_an_error),
        OPENCL_TEST(kernels_of_equal_name_and_options_share_a_program),
        OPENCL_TEST(a_crashed_command_loses_the_device_for_good),
        OPENCL_TEST(a_full_device_is_out_of_memory_and_not_lost),
        OPENCL_TEST(events_of_marks_are_released_when_passed_replaced_or_destroyed),
        OPENCL_TEST(a_driver_without_markers_is_waited_for),
        OPENCL_TEST(a_failed_command_is_seen_at_the_event_behind_it),
        OPENCL_TEST(a_wait_for_an_event_behind_a_crash_loses_the_device),
        OPENCL_TEST(an_event_that_cannot_be_set_stands_behind_nothing),
        OPENCL_TEST(only_writes_and_reads_block),
        OPENCL_TEST(a_list_that_fails_half_way_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
