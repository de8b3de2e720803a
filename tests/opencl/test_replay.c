/*
 * Recordings of both extensions: the bits of launches one by one whatever is changed, missing or fails, and recorded
 * only where the caller, the table of quirks or a measurement says so.
 *
 * A library of our own in front of the machine's has both extensions on top of plain launches (fake/record.c). Skipped
 * where it or an OpenCL device is missing. PoCL's own recordings: tests/device/test_replay.c.
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

#define LAUNCHES 20
#define FLOATS 64
#define KHR "cl_khr_command_buffer"
#define MUTABLE "cl_khr_command_buffer cl_khr_command_buffer_mutable_dispatch"
#define QCOM "cl_qcom_recordable_queues"
#define NEW_ENOUGH CL_VERSION_OF(0, 9, 3)
#define SLOW_NS 20000u

static fake_opencl *fake;
static device_fixture world;
static mts_cl_device *device;
static mts_kernel *kernel;
static mts_buffer *act, *pool, *table;
static mts_command_list *list;
static mts_launch launches[LAUNCHES];

/* Not commutative, so that order shows, and exact in integers. */
static const mts_kernel_source advance = {
    .name = "advance",
    .source =
        "kernel void advance(global float *act, global const float *pool, global const uint *table, uint "
        "first)\n"
        "{ size_t i = get_global_id(0); act[i] = act[i] * (first % 2 ? 0.5f : pool[0]) + table[first]; }\n"};

/* The machine's load has no say in what is measured. */
static uint64_t fake_clock(void)
{
    return fake->clock_ns;
}

static void open_device(const char *extensions, mts_use replay)
{
    static const uint32_t words[2 * LAUNCHES] = {1, 20, 300, 4, 50, 600, 7, 80, 900, 10};
    const float two = 2.0f;
    mts_error error = {MTS_STATUS_OK, ""};
    fake->extensions = extensions;
    world.options.replay = replay;
    device_fixture_open(&world, &mts_backend_opencl, 0);
    device = (mts_cl_device *)world.device;
    device->clock = fake_clock;
    if (mts_cl_kernel_create_from(world.device, &advance, "", &kernel, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    kernel->device = world.device;
    assert_int_equal(mts_buffer_create(world.device, FLOATS * sizeof(float), &act, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_create(world.device, sizeof two, &pool, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_create(world.device, sizeof words, &table, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(pool, 0, &two, sizeof two, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(table, 0, words, sizeof words, NULL), MTS_STATUS_OK);
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        launches[i] = (mts_launch){.kernel = kernel,
                                   .act = act,
                                   .pool = pool,
                                   .params = table,
                                   .first = i,
                                   .global = {FLOATS, 1, 1},
                                   .local = {1, 1, 1},
                                   .label = "advance"};
    }
}

static int set_up(void **state)
{
    (void)state;
    *fake = (fake_opencl){.asked = fake->asked,
                          .platform = "A phone's",
                          .mutable_version = NEW_ENOUGH,
                          .record_most = 128,
                          .simultaneous = true};
    device_fixture_init(&world, NULL);
    return 0;
}

static void close_device(void)
{
    mts_command_list_destroy(&list);
    mts_kernel_destroy(&kernel);
    mts_buffer_destroy(&act);
    mts_buffer_destroy(&pool);
    mts_buffer_destroy(&table);
    mts_device_destroy(&world.device);
    assert_int_equal(fake->records_alive, 0);
    assert_int_equal(fake->misuses, 0);
}

static int tear_down(void **state)
{
    (void)state;
    close_device();
    device_fixture_close(&world);
    return 0;
}

static void make_list(uint32_t count)
{
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_command_list_create(world.device, launches, count, &list, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static bool is_recorded(void)
{
    return ((mts_cl_command_list *)list)->recorded.parts;
}

static void submit(void)
{
    assert_int_equal(mts_buffer_fill(act, 0, FLOATS * sizeof(float), 0, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
}

/* What one run of `launches` gives from zeros. */
static void assert_result(void)
{
    static const float words[2 * LAUNCHES] = {1, 20, 300, 4, 50, 600, 7, 80, 900, 10};
    float values[FLOATS];
    assert_int_equal(mts_buffer_read(act, 0, values, sizeof values, NULL), MTS_STATUS_OK);
    for (uint32_t i = 0; i < FLOATS; i++) {
        float expected = 0.0f;
        for (uint32_t k = 0; k < LAUNCHES; k++) {
            const uint32_t first = launches[k].first;
            expected =
                i < launches[k].global[0] ? expected * (first % 2 ? 0.5f : 2.0f) + words[first] : expected;
        }
        assert_memory_equal(&values[i], &expected, sizeof expected);
    }
}

static void run(void)
{
    submit();
    assert_result();
}

static void update(void)
{
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_command_list_update(list, launches, LAUNCHES, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static const char *const extensions[] = {KHR, MUTABLE, QCOM};
enum { EXTENSIONS = sizeof extensions / sizeof extensions[0] };

static void each_extension_records_a_list_once_and_gives_its_bits(void **state)
{
    (void)state;
    for (size_t e = 0; e < EXTENSIONS; e++) {
        fake->records = fake->replays = 0;
        open_device(extensions[e], MTS_USE_ON);
        make_list(LAUNCHES);
        for (int i = 0; i < 4; i++) {
            run();
        }
        assert_int_equal(fake->records, 1);
        assert_int_equal(fake->replays, 4);
        close_device();
    }
}

/* Two arguments and a size change, back and forth: what an earlier frame had may not come again. */
static void change_and_run(uint32_t turn)
{
    launches[3].first = turn % 2 ? 6 : 8;
    launches[17].first = 4 + turn;
    launches[12].global[0] = turn % 3 ? FLOATS : FLOATS / 2;
    update();
    run();
    run();
}

static void a_list_whose_launches_change_gives_the_bits_of_its_new_ones(void **state)
{
    (void)state;
    for (size_t e = 0; e < EXTENSIONS; e++) {
        fake->records = fake->replays = fake->changes = 0;
        open_device(extensions[e], MTS_USE_ON);
        make_list(LAUNCHES);
        run();
        for (uint32_t turn = 0; turn < 5; turn++) {
            change_and_run(turn);
        }
        assert_int_equal(fake->replays, 11);
        /* recorded anew each time; once, as one that can be changed; never */
        assert_int_equal(fake->records, e == 0 ? 6 : e == 1 ? 2 : 1);
        assert_true(e == 0 ? fake->changes == 0 : fake->changes > 0);
        update();
        assert_int_equal(fake->records, e == 0 ? 6 : e == 1 ? 2 : 1); /* nothing changed */
        close_device();
    }
}

static void mutable_dispatch_of_an_older_version_is_not_used(void **state)
{
    (void)state;
    fake->mutable_version = CL_VERSION_OF(0, 9, 2);
    open_device(MUTABLE, MTS_USE_ON);
    assert_null(device->replay.khr.update);
    make_list(LAUNCHES);
    change_and_run(1);
    assert_int_equal(fake->records, 2);
    assert_int_equal(fake->changes, 0);
}

/* The fake counts a recording that is enqueued before it has run, where that is not allowed. */
static void a_recording_that_may_still_run_is_not_enqueued_again(void **state)
{
    (void)state;
    fake->simultaneous = false;
    for (size_t e = 0; e < EXTENSIONS; e++) {
        open_device(extensions[e], MTS_USE_ON);
        make_list(LAUNCHES);
        for (int i = 0; i < 5; i++) {
            fake->replays = 0;
            submit();
            submit();
            submit();
            assert_result();
            assert_int_equal(fake->replays, 1);
        }
        close_device();
    }
}

static uint32_t flushes;
static cl_int (*true_flush)(cl_command_queue);
static cl_int count_flush(cl_command_queue queue)
{
    flushes++;
    return true_flush(queue);
}

static void a_queue_that_is_flushed_every_few_launches_gets_parts(void **state)
{
    (void)state;
    world.options.flush_launches = 8;
    for (size_t e = 0; e < EXTENSIONS; e++) {
        fake->records = fake->replays = 0;
        open_device(extensions[e], MTS_USE_ON);
        make_list(LAUNCHES);
        assert_int_equal(fake->records, 3);
        true_flush = device->cl.clFlush;
        device->cl.clFlush = count_flush;
        flushes = 0;
        submit();
        assert_int_equal(flushes, 3);
        assert_result();
        assert_int_equal(fake->replays, 3);
        for (uint32_t turn = 0; turn < 3; turn++) {
            change_and_run(turn);
        }
        close_device();
    }
}

static void a_list_longer_than_a_recording_may_be_gets_parts(void **state)
{
    (void)state;
    fake->record_most = 7;
    open_device(QCOM, MTS_USE_ON);
    make_list(LAUNCHES);
    assert_int_equal(fake->records, 3);
    for (uint32_t turn = 0; turn < 3; turn++) {
        change_and_run(turn);
    }
    assert_int_equal(fake->records, 3);
}

static void a_recorded_list_can_be_profiled_between_runs(void **state)
{
    mts_launch_time times[LAUNCHES];
    (void)state;
    for (size_t e = 0; e < EXTENSIONS; e++) {
        open_device(extensions[e], MTS_USE_ON);
        make_list(LAUNCHES);
        run();
        change_and_run(1);
        assert_int_equal(mts_buffer_fill(act, 0, FLOATS * sizeof(float), 0, NULL), MTS_STATUS_OK);
        assert_int_equal(mts_command_list_profile(list, times, LAUNCHES, NULL), MTS_STATUS_OK);
        assert_result();
        for (int i = 1; i < LAUNCHES; i++) {
            assert_true(times[i - 1].end <= times[i].start);
        }
        run();
        close_device();
    }
}

/* ---- what fails or is missing ---- */

static void whatever_call_fails_the_list_runs_launch_by_launch(void **state)
{
    static const struct {
        const char *extensions, *call;
        bool at_once; /* nothing is recorded at all */
    } cases[] = {
        {KHR, "clCreateCommandBufferKHR", true},   {KHR, "clCommandNDRangeKernelKHR", true},
        {KHR, "clFinalizeCommandBufferKHR", true}, {KHR, "clEnqueueCommandBufferKHR", false},
        {QCOM, "clCreateCommandQueue", true},      {QCOM, "clNewRecordingQCOM", true},
        {QCOM, "clEnqueueNDRangeKernel", true},    {QCOM, "clEndRecordingQCOM", true},
        {QCOM, "clEnqueueRecordingQCOM", false},
    };
    (void)state;
    world.options.flush_launches = 8; /* three parts, of which each may be the first that fails */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (uint32_t from = 0; from < 3; from++) {
            const bool once = strcmp(cases[i].call, "clCreateCommandQueue") == 0;
            fake->fails = cases[i].call;
            fake->fails_from = once ? 0 : from;
            open_device(cases[i].extensions, MTS_USE_ON);
            make_list(LAUNCHES);
            assert_int_equal(is_recorded(), !cases[i].at_once);
            for (int k = 0; k < 3; k++) {
                run();
            }
            assert_false(is_recorded());
            assert_true(device_fixture_logged(&world, cases[i].call));
            assert_false(world.device->lost);
            fake->fails = NULL;
            change_and_run(2); /* and it stays so */
            assert_false(is_recorded());
            close_device();
        }
    }
}

static void a_change_that_fails_is_recorded_again(void **state)
{
    (void)state;
    open_device(MUTABLE, MTS_USE_ON);
    make_list(LAUNCHES);
    change_and_run(0);
    fake->fails = "clUpdateMutableCommandsKHR";
    fake->fails_from = 1; /* the second launch of an update */
    for (uint32_t turn = 1; turn < 4; turn++) {
        change_and_run(turn);
    }
    assert_true(is_recorded());
    assert_int_equal(fake->records, 5);
    assert_true(device_fixture_logged(&world, "clUpdateMutableCommandsKHR failed"));
}

static void an_extension_without_one_of_its_functions_is_not_used(void **state)
{
    static const struct {
        const char *extensions, *function;
    } cases[] = {
        {KHR, "clCreateCommandBufferKHR"},   {KHR, "clCommandNDRangeKernelKHR"},
        {KHR, "clFinalizeCommandBufferKHR"}, {KHR, "clEnqueueCommandBufferKHR"},
        {KHR, "clReleaseCommandBufferKHR"},  {QCOM, "clNewRecordingQCOM"},
        {QCOM, "clEndRecordingQCOM"},        {QCOM, "clReleaseRecordingQCOM"},
        {QCOM, "clEnqueueRecordingQCOM"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fake->missing = cases[i].function;
        open_device(cases[i].extensions, MTS_USE_ON);
        assert_null(device->replay.khr.create);
        assert_null(device->replay.qcom.create);
        make_list(LAUNCHES);
        run();
        assert_false(is_recorded());
        close_device();
    }
    fake->missing = "clUpdateMutableCommandsKHR";
    open_device(MUTABLE, MTS_USE_ON);
    assert_non_null(device->replay.khr.create);
    make_list(LAUNCHES);
    change_and_run(1);
    assert_int_equal(fake->records, 2);
}

static void a_device_whose_recordings_hold_no_two_launches_records_nothing(void **state)
{
    (void)state;
    fake->record_most = 1;
    open_device(QCOM, MTS_USE_ON);
    assert_null(device->replay.qcom.create);
}

/* ---- whether it pays ---- */

static void calibrate(void)
{
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_command_list_calibrate(list, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static void a_list_is_recorded_where_a_measurement_says_that_it_pays(void **state)
{
    (void)state;
    for (size_t e = 0; e < EXTENSIONS; e++) {
        for (int pays = 0; pays < 2; pays++) {
            fake->plain_ns = pays ? SLOW_NS : 0;
            fake->record_ns = pays ? 0 : SLOW_NS;
            open_device(extensions[e], MTS_USE_AUTO);
            make_list(LAUNCHES);
            assert_false(is_recorded()); /* it is not known yet */
            calibrate();
            assert_int_equal(is_recorded(), pays);
            assert_false(device->replay.asked);
            assert_true(device_fixture_logged(&world, pays ? "command lists are recorded"
                                                           : "command lists are submitted launch by launch"));
            run();
            change_and_run(1);
            assert_int_equal(is_recorded(), pays);
            mts_command_list_destroy(&list);
            make_list(LAUNCHES); /* the next list is recorded, or not, at once */
            assert_int_equal(is_recorded(), pays);
            const uint32_t records = fake->records;
            calibrate();
            assert_int_equal(fake->records, records);
            run();
            close_device();
        }
    }
}

static void the_faster_of_two_extensions_is_taken(void **state)
{
    (void)state;
    fake->plain_ns = SLOW_NS;
    fake->fails = "clEnqueueCommandBufferKHR";
    open_device(MUTABLE " " QCOM, MTS_USE_AUTO);
    make_list(LAUNCHES);
    calibrate();
    assert_int_equal(device->replay.way, MTS_CL_REPLAY_QCOM);
    assert_int_equal(device->replay.changed_way, MTS_CL_REPLAY_QCOM);
    run();
    change_and_run(1);
}

static void what_cannot_be_measured_well_is_left_to_a_later_list(void **state)
{
    (void)state;
    fake->plain_ns = SLOW_NS;
    open_device(QCOM, MTS_USE_AUTO);
    make_list(3);
    calibrate();
    assert_true(device->replay.asked);
    mts_command_list_destroy(&list);
    fake->plain_ns = 3000000; /* launches of 3 ms do not wait for the processor */
    make_list(LAUNCHES);
    calibrate();
    assert_true(device->replay.asked);
    assert_int_equal(fake->records, 0);
    run();
}

static void where_the_table_of_quirks_knows_it_nothing_is_measured(void **state)
{
    (void)state;
    fake->plain_ns = SLOW_NS;
    fake->platform = "Portable Computing Language";
    open_device(MUTABLE " " QCOM, MTS_USE_AUTO);
    make_list(LAUNCHES);
    calibrate();
    assert_false(is_recorded());
    assert_int_equal(fake->records, 0);
    close_device();
    open_device(MUTABLE " " QCOM, MTS_USE_OFF);
    make_list(LAUNCHES);
    calibrate();
    assert_int_equal(fake->records, 0);
    run();
}

static void a_launch_that_fails_during_the_measurement_fails_it_and_leaves_nothing(void **state)
{
    mts_error error = {MTS_STATUS_OK, ""};
    (void)state;
    open_device(QCOM, MTS_USE_AUTO);
    make_list(LAUNCHES);
    fake->fail_launch = CL_OUT_OF_RESOURCES;
    assert_int_equal(mts_command_list_calibrate(list, &error), MTS_STATUS_DEVICE);
    assert_non_null(strstr(error.text, "launch 'advance'"));
    assert_true(device->replay.asked);
    calibrate();
    run();
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

#define REPLAY_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPLAY_TEST(each_extension_records_a_list_once_and_gives_its_bits),
        REPLAY_TEST(a_list_whose_launches_change_gives_the_bits_of_its_new_ones),
        REPLAY_TEST(mutable_dispatch_of_an_older_version_is_not_used),
        REPLAY_TEST(a_recording_that_may_still_run_is_not_enqueued_again),
        REPLAY_TEST(a_queue_that_is_flushed_every_few_launches_gets_parts),
        REPLAY_TEST(a_list_longer_than_a_recording_may_be_gets_parts),
        REPLAY_TEST(a_recorded_list_can_be_profiled_between_runs),
        REPLAY_TEST(whatever_call_fails_the_list_runs_launch_by_launch),
        REPLAY_TEST(a_change_that_fails_is_recorded_again),
        REPLAY_TEST(an_extension_without_one_of_its_functions_is_not_used),
        REPLAY_TEST(a_device_whose_recordings_hold_no_two_launches_records_nothing),
        REPLAY_TEST(a_list_is_recorded_where_a_measurement_says_that_it_pays),
        REPLAY_TEST(the_faster_of_two_extensions_is_taken),
        REPLAY_TEST(what_cannot_be_measured_well_is_left_to_a_later_list),
        REPLAY_TEST(where_the_table_of_quirks_knows_it_nothing_is_measured),
        REPLAY_TEST(a_launch_that_fails_during_the_measurement_fails_it_and_leaves_nothing),
    };
    const char *missing = find_fake();
    if (missing) {
        (void)printf("skipped: %s\n", missing);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
