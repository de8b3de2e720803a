/*
 * Lists that the OpenCL driver records: the same bits as launches one by one, whatever part of the extension
 * is missing or fails.
 *
 * The device keeps the extension's functions in a table, so a test replaces one. Tests that need the
 * extension are skipped where no driver has it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "platform/opencl/opencl.h"
#include "support/device_fixture.h"

#define LAUNCHES 3
#define FLOATS 64

static device_fixture world;
static mts_cl_device *opencl;
static mts_kernel *kernel;
static mts_buffer *act, *pool, *table;
static mts_command_list *list;

/* Not commutative, so that order shows: x -> 2 x + record. */
static const mts_kernel_source advance = {
    .name = "advance",
    .source = "kernel void advance(global float *act, global const float *pool, global "
              "const uint *table, uint first)\n"
              "{ size_t i = get_global_id(0); act[i] = act[i] * pool[0] + "
              "table[first] + i; }\n"};

static void make_objects(void)
{
    static const uint32_t records[LAUNCHES] = {1, 20, 300};
    const float two = 2.0f;
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_cl_kernel_create_from(world.device, &advance, "", &kernel, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    kernel->device = world.device;
    assert_int_equal(mts_buffer_create(world.device, FLOATS * sizeof(float), &act, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_create(world.device, sizeof two, &pool, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_create(world.device, sizeof records, &table, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(pool, 0, &two, sizeof two, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(table, 0, records, sizeof records, NULL), MTS_STATUS_OK);
}

static int open_as(mts_use replay)
{
    opencl = NULL;
    kernel = NULL;
    list = NULL;
    device_fixture_init(&world, NULL);
    world.options.replay = replay;
    if (mts_backend_opencl.count() != 0) {
        device_fixture_open(&world, &mts_backend_opencl, 0);
        opencl = (mts_cl_device *)world.device;
        make_objects();
    }
    return 0;
}

static int open_on(void **state)
{
    (void)state;
    return open_as(MTS_USE_ON);
}

static int open_off(void **state)
{
    (void)state;
    return open_as(MTS_USE_OFF);
}

static int close_device(void **state)
{
    (void)state;
    mts_command_list_destroy(&list);
    mts_buffer_destroy(&act);
    mts_buffer_destroy(&pool);
    mts_buffer_destroy(&table);
    mts_kernel_destroy(&kernel);
    device_fixture_close(&world);
    return 0;
}

static void need_extension(void)
{
    if (!opencl || !opencl->replay.khr.create) {
        (void)printf("skipped: no OpenCL device here records lists\n");
        skip();
    }
}

/* Launch i takes record firsts[i]. */
static void fill_launches(mts_launch launches[LAUNCHES], const uint32_t firsts[LAUNCHES])
{
    memset(launches, 0, LAUNCHES * sizeof *launches);
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        launches[i] =
            (mts_launch){.kernel = kernel, .act = act, .pool = pool, .params = table, .first = firsts[i]};
        launches[i].global[0] = FLOATS;
        launches[i].local[0] = 1;
        for (int k = 1; k < 3; k++) {
            launches[i].global[k] = launches[i].local[k] = 1;
        }
    }
}

static void make_list(uint32_t count)
{
    static const uint32_t firsts[LAUNCHES] = {0, 1, 2};
    mts_launch launches[LAUNCHES];
    fill_launches(launches, firsts);
    assert_int_equal(mts_command_list_create(world.device, launches, count, &list, NULL), MTS_STATUS_OK);
}

static mts_cl_recording recording(void)
{
    const mts_cl_recorded *recorded = &((mts_cl_command_list *)list)->recorded;
    return recorded->parts ? recorded->parts[0] : NULL;
}

static void start(void)
{
    assert_int_equal(mts_buffer_fill(act, 0, FLOATS * sizeof(float), 0, NULL), MTS_STATUS_OK);
}

/* After `runs` submissions of the whole list since start(). */
static void assert_result(int runs)
{
    static const float records[LAUNCHES] = {1.0f, 20.0f, 300.0f};
    float values[FLOATS];
    assert_int_equal(mts_buffer_read(act, 0, values, sizeof values, NULL), MTS_STATUS_OK);
    for (int i = 0; i < FLOATS; i++) {
        float expected = 0.0f;
        for (int k = 0; k < runs * LAUNCHES; k++) {
            expected = expected * 2.0f + records[k % LAUNCHES] + (float)i;
        }
        assert_memory_equal(&values[i], &expected, sizeof expected);
    }
}

static uint32_t enqueued, released;
static mts_cl_khr real;

static cl_int count_enqueue(cl_uint queues, cl_command_queue *queue, mts_cl_recording r, cl_uint waits,
                            const cl_event *wait_list, cl_event *event)
{
    enqueued++;
    return real.enqueue(queues, queue, r, waits, wait_list, event);
}

static cl_int count_release(mts_cl_recording r)
{
    released++;
    return real.release(r);
}

static void count_calls(void)
{
    real = opencl->replay.khr;
    enqueued = released = 0;
    opencl->replay.khr.enqueue = count_enqueue;
    opencl->replay.khr.release = count_release;
}

static void a_recorded_list_gives_the_bits_of_its_launches(void **state)
{
    (void)state;
    need_extension();
    count_calls();
    make_list(LAUNCHES);
    assert_non_null(recording());
    start();
    for (int run = 1; run <= 4; run++) {
        assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
        assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
        assert_result(run);
    }
    assert_int_equal(enqueued, 4);
    mts_command_list_destroy(&list);
    assert_int_equal(released, 1);
}

static void an_updated_list_is_recorded_with_its_new_launches(void **state)
{
    static const uint32_t firsts[LAUNCHES] = {0, 0, 1}; /* records 1, 1, 20 */
    float values[FLOATS];
    mts_launch launches[LAUNCHES];
    (void)state;
    need_extension();
    count_calls();
    make_list(LAUNCHES);
    start();
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    fill_launches(launches, firsts);
    assert_int_equal(mts_command_list_update(list, launches, LAUNCHES, NULL), MTS_STATUS_OK);
    assert_int_equal(released, 1);
    start();
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(enqueued, 2);
    assert_int_equal(mts_buffer_read(act, 0, values, sizeof values, NULL), MTS_STATUS_OK);
    for (int i = 0; i < FLOATS; i++) {
        assert_true(values[i] == (float)(26 + 7 * i));
    }
    assert_int_equal(mts_command_list_update(list, launches, LAUNCHES, NULL), MTS_STATUS_OK);
    assert_int_equal(released, 1);    /* nothing changed */
    ((mts_cl_buffer *)act)->serial++; /* another buffer, which the driver gave the same handle */
    assert_int_equal(mts_command_list_update(list, launches, LAUNCHES, NULL), MTS_STATUS_OK);
    /* Recorded again, or changed where it is: a list that was changed once is recorded for that. */
    assert_int_equal(released, opencl->replay.changed_way == MTS_CL_REPLAY_MUTABLE ? 1 : 2);
    start();
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read(act, 0, values, sizeof values, NULL), MTS_STATUS_OK);
    for (int i = 0; i < FLOATS; i++) {
        assert_true(values[i] == (float)(26 + 7 * i));
    }
}

static void a_recording_that_may_still_run_is_not_enqueued_again_where_the_device_cannot(void **state)
{
    (void)state;
    need_extension();
    opencl->replay.khr.simultaneous = false;
    count_calls();
    make_list(LAUNCHES);
    start();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    }
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(enqueued, 1);
    assert_result(3);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(enqueued, 2);
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    assert_result(4);
}

static void a_recording_behind_which_an_event_was_seen_passed_is_enqueued_again(void **state)
{
    bool passed = false;
    (void)state;
    need_extension();
    opencl->replay.khr.simultaneous = false;
    count_calls();
    make_list(LAUNCHES);
    start();
    assert_int_equal(mts_device_event_record(world.device, 0, NULL), MTS_STATUS_OK); /* before it */
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_device_event_record(world.device, 1, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_device_event_wait(world.device, 0, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(enqueued, 1); /* launch by launch */
    while (!passed) {
        assert_int_equal(mts_device_event_passed(world.device, 1, &passed, NULL), MTS_STATUS_OK);
    }
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(enqueued, 2);
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    assert_result(3);
}

static void a_recording_is_enqueued_many_times_without_a_wait_where_the_device_can(void **state)
{
    (void)state;
    need_extension();
    if (!opencl->replay.khr.simultaneous) {
        (void)printf("skipped: no OpenCL device here runs a recording that is enqueued twice\n");
        skip();
    }
    count_calls();
    make_list(LAUNCHES);
    start();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    }
    assert_int_equal(enqueued, 3);
    assert_result(3);
}

static void replaying_allocates_nothing_of_ours(void **state)
{
    (void)state;
    need_extension();
    make_list(LAUNCHES);
    const uint32_t calls = world.allocator.calls;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
        assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    }
    assert_int_equal(world.allocator.calls, calls);
}

static void a_recorded_list_can_be_profiled(void **state)
{
    mts_launch_time times[LAUNCHES];
    (void)state;
    need_extension();
    make_list(LAUNCHES);
    start();
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_profile(list, times, LAUNCHES, NULL), MTS_STATUS_OK);
    assert_true(times[0].end <= times[1].start && times[1].end <= times[2].start);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
    assert_result(3);
}

static void a_single_launch_is_not_recorded(void **state)
{
    (void)state;
    need_extension();
    make_list(1);
    assert_null(recording());
}

static void nothing_is_recorded_where_it_is_switched_off(void **state)
{
    (void)state;
    if (!opencl) {
        skip();
    }
    assert_null(opencl->replay.khr.create);
    make_list(LAUNCHES);
    assert_null(recording());
    start();
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_result(1);
}

/* ---- drivers that fail ---- */

static mts_cl_recording fail_create(cl_uint queues, const cl_command_queue *queue, const cl_ulong *properties,
                                    cl_int *result)
{
    (void)queues;
    (void)queue;
    (void)properties;
    *result = CL_OUT_OF_HOST_MEMORY;
    return (mts_cl_recording)&enqueued; /* rubbish, which must not be released */
}

static uint32_t launches_left;
static cl_int fail_launch(mts_cl_recording r, cl_command_queue queue, const cl_ulong *properties, cl_kernel k,
                          cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local,
                          cl_uint waits, const cl_uint *wait_list, cl_uint *sync_point,
                          cl_mutable_command *handle)
{
    return launches_left-- == 0 ? CL_OUT_OF_RESOURCES
                                : real.launch(r, queue, properties, k, dimensions, offset, global, local,
                                              waits, wait_list, sync_point, handle);
}

static cl_int fail_finalize(mts_cl_recording r)
{
    (void)r;
    return CL_OUT_OF_RESOURCES;
}

static cl_int fail_enqueue(cl_uint queues, cl_command_queue *queue, mts_cl_recording r, cl_uint waits,
                           const cl_event *wait_list, cl_event *event)
{
    (void)queues;
    (void)queue;
    (void)r;
    (void)waits;
    (void)wait_list;
    (void)event;
    enqueued++;
    return CL_OUT_OF_RESOURCES;
}

/* The list was or becomes a plain one, says so once, and works. */
static void assert_plain(const char *said)
{
    start();
    for (int run = 1; run <= 3; run++) {
        assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
        assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
        assert_result(run);
    }
    assert_null(recording());
    assert_true(device_fixture_logged(&world, said));
    assert_false(world.device->lost);
}

static void a_list_that_cannot_be_created_is_a_plain_one(void **state)
{
    (void)state;
    need_extension();
    count_calls();
    opencl->replay.khr.create = fail_create;
    make_list(LAUNCHES);
    assert_plain("clCreateCommandBufferKHR failed with CL_OUT_OF_HOST_MEMORY");
    assert_int_equal(released, 0);
    assert_int_equal(enqueued, 0);
}

static void a_list_that_cannot_be_recorded_is_a_plain_one(void **state)
{
    (void)state;
    need_extension();
    for (uint32_t left = 0; left < LAUNCHES; left++) {
        count_calls();
        launches_left = left;
        opencl->replay.khr.launch = fail_launch;
        make_list(LAUNCHES);
        assert_plain("clCommandNDRangeKernelKHR failed with CL_OUT_OF_RESOURCES");
        assert_int_equal(released, 1);
        mts_command_list_destroy(&list);
        assert_int_equal(released, 1);
        opencl->replay.khr = real;
    }
}

static void a_list_that_cannot_be_finished_is_a_plain_one(void **state)
{
    (void)state;
    need_extension();
    count_calls();
    opencl->replay.khr.finalize = fail_finalize;
    make_list(LAUNCHES);
    assert_plain("clFinalizeCommandBufferKHR failed with CL_OUT_OF_RESOURCES");
    assert_int_equal(released, 1);
}

static void a_list_that_cannot_be_replayed_is_a_plain_one_from_then_on(void **state)
{
    (void)state;
    need_extension();
    count_calls();
    opencl->replay.khr.enqueue = fail_enqueue;
    make_list(LAUNCHES);
    assert_non_null(recording());
    assert_plain("clEnqueueCommandBufferKHR failed with CL_OUT_OF_RESOURCES");
    assert_int_equal(enqueued, 1); /* it was tried once */
    assert_int_equal(released, 1);
}

/* ---- drivers that lack something ---- */

static cl_platform_id platform_of(const mts_cl_library *cl)
{
    cl_platform_id platform = NULL;
    assert_int_equal(cl->clGetDeviceInfo(opencl->id, 0x1031, sizeof platform, &platform, NULL), CL_SUCCESS);
    return platform;
}

static const char *missing_name;
static void *(*true_address)(cl_platform_id, const char *);
static void *some_addresses(cl_platform_id platform, const char *name)
{
    return strcmp(name, missing_name) == 0 ? NULL : true_address(platform, name);
}

static void assert_not_found(const mts_cl_library *cl)
{
    static const mts_cl_replay none;
    mts_cl_replay found;
    memset(&found, 0xff, sizeof found);
    assert_false(mts_cl_replay_find(cl, platform_of(&opencl->cl), opencl->id, &found));
    assert_memory_equal(&found, &none, sizeof none);
}

static void a_driver_without_one_of_the_functions_records_nothing(void **state)
{
    static const char *const names[] = {"clCreateCommandBufferKHR", "clCommandNDRangeKernelKHR",
                                        "clFinalizeCommandBufferKHR", "clEnqueueCommandBufferKHR",
                                        "clReleaseCommandBufferKHR"};
    (void)state;
    need_extension();
    mts_cl_library cl = opencl->cl;
    true_address = cl.clGetExtensionFunctionAddressForPlatform;
    cl.clGetExtensionFunctionAddressForPlatform = some_addresses;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        missing_name = names[i];
        assert_not_found(&cl);
    }
    missing_name = "";
    mts_cl_replay found;
    assert_true(mts_cl_replay_find(&cl, platform_of(&cl), opencl->id, &found));
    cl.clGetExtensionFunctionAddressForPlatform = NULL;
    assert_not_found(&cl);
}

static const char *extensions;  /* NULL: the question fails */
static cl_bitfield queue_needs; /* UINT64_MAX: the question fails */
static cl_int answer(cl_device_id id, cl_uint what, size_t size, void *value, size_t *needed)
{
    (void)id;
    if (what == CL_DEVICE_EXTENSIONS && extensions) {
        if (value) {
            assert_true(size >= strlen(extensions) + 1);
            memcpy(value, extensions, strlen(extensions) + 1);
        }
        if (needed) {
            *needed = strlen(extensions) + 1;
        }
        return CL_SUCCESS;
    }
    if (what == CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES && queue_needs != UINT64_MAX) {
        memcpy(value, &queue_needs, sizeof queue_needs);
        return CL_SUCCESS;
    }
    return CL_OUT_OF_HOST_MEMORY;
}

static void only_the_extension_itself_on_an_in_order_queue_counts(void **state)
{
    static const char *const others[] = {"",
                                         " ",
                                         "cl_khr_fp64",
                                         "cl_khr_command_buffer_mutable_dispatch cl_khr_fp64",
                                         "xcl_khr_command_buffer",
                                         "cl_khr_command_buffe"};
    static const char *const same[] = {"cl_khr_command_buffer", "cl_khr_fp64 cl_khr_command_buffer",
                                       "cl_khr_command_buffer_mutable_dispatch cl_khr_command_buffer "};
    mts_cl_replay found;
    (void)state;
    need_extension();
    mts_cl_library cl = opencl->cl;
    cl.clGetDeviceInfo = answer;
    queue_needs = 0;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        extensions = others[i];
        assert_not_found(&cl);
    }
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        extensions = same[i];
        assert_true(mts_cl_replay_find(&cl, platform_of(&opencl->cl), opencl->id, &found));
    }
    queue_needs = 1; /* out of order */
    assert_not_found(&cl);
    queue_needs = UINT64_MAX;
    assert_not_found(&cl);
    queue_needs = 0;
    extensions = NULL;
    assert_not_found(&cl);
}

#define REPLAY_TEST(name) cmocka_unit_test_setup_teardown(name, open_on, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPLAY_TEST(a_recorded_list_gives_the_bits_of_its_launches),
        REPLAY_TEST(an_updated_list_is_recorded_with_its_new_launches),
        REPLAY_TEST(a_recording_that_may_still_run_is_not_enqueued_again_where_the_device_cannot),
        REPLAY_TEST(a_recording_behind_which_an_event_was_seen_passed_is_enqueued_again),
        REPLAY_TEST(a_recording_is_enqueued_many_times_without_a_wait_where_the_device_can),
        REPLAY_TEST(replaying_allocates_nothing_of_ours),
        REPLAY_TEST(a_recorded_list_can_be_profiled),
        REPLAY_TEST(a_single_launch_is_not_recorded),
        cmocka_unit_test_setup_teardown(nothing_is_recorded_where_it_is_switched_off, open_off, close_device),
        REPLAY_TEST(a_list_that_cannot_be_created_is_a_plain_one),
        REPLAY_TEST(a_list_that_cannot_be_recorded_is_a_plain_one),
        REPLAY_TEST(a_list_that_cannot_be_finished_is_a_plain_one),
        REPLAY_TEST(a_list_that_cannot_be_replayed_is_a_plain_one_from_then_on),
        REPLAY_TEST(a_driver_without_one_of_the_functions_records_nothing),
        REPLAY_TEST(only_the_extension_itself_on_an_in_order_queue_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
