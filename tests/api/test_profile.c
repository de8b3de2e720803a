/*
 * mts_session_profile: what it tells of a run, what it refuses, and what a failing device leaves behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "mts/profile.h"
#include "tests/support/fault.h"
#include "support/api_fixture.h"

#define LAUNCHES 256u
#define OUTPUTS 64

typedef struct world {
    api_world api;
    mts_launch_profile launches[LAUNCHES];
    uint32_t count;
} world;

static world w;

/* tasks: 1, or 0 for all. */
static void session_make(uint32_t tasks)
{
    mts_session_options options;
    mts_task_desc task = {.size = sizeof task};
    mts_session_options_default(&options);
    assert_int_equal(mts_bundle_open(w.api.fixture.runtime, api_bundle_path(), &w.api.bundle), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_task(w.api.bundle, 0, &task), MTS_STATUS_OK);
    options.tasks = tasks == 1 ? &task.name : NULL;
    options.task_count = tasks;
    if (mts_session_create(w.api.fixture.runtime, w.api.bundle, &options, &w.api.session) != MTS_STATUS_OK) {
        fail_msg("cannot make a session: %s", w.api.fixture.error);
    }
}

static void open_on(const char *device, uint32_t tasks)
{
    memset(&w, 0, sizeof w);
    api_open(&w.api.fixture, device);
    session_make(tasks);
    api_pixels(w.api.pixels, 7);
}

static int close_all(void **state)
{
    (void)state;
    api_world_close(&w.api);
    return 0;
}

static int open_reference(void **state)
{
    (void)state;
    open_on("reference", 0);
    return 0;
}

static int open_small(void **state)
{
    (void)state;
    open_on("reference", 1);
    return 0;
}

static int open_null(void **state)
{
    (void)state;
    open_on("null", 0);
    return 0;
}

static mts_status profile(uint32_t runs)
{
    w.launches[0].size = sizeof w.launches[0];
    return mts_session_profile(w.api.session, runs, w.launches, LAUNCHES, &w.count);
}

static mts_session_stats stats_of(void)
{
    mts_session_stats stats = {.size = sizeof stats};
    assert_int_equal(mts_session_stats_get(w.api.session, &stats), MTS_STATUS_OK);
    return stats;
}

static size_t run(float *values)
{
    const mts_frame frame = api_frame(w.api.pixels);
    mts_ticket ticket = 0;
    mts_task_desc task = {.size = sizeof task};
    mts_tensor tensor;
    assert_int_equal(mts_session_submit(w.api.session, &frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.api.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_task(w.api.bundle, 0, &task), MTS_STATUS_OK);
    assert_int_equal(mts_session_output(w.api.session, task.name, 0, &tensor), MTS_STATUS_OK);
    assert_true(tensor.bytes <= OUTPUTS * sizeof *values);
    memcpy(values, tensor.data, tensor.bytes);
    return tensor.bytes;
}

static void every_launch_is_named_counted_and_timed(void **state)
{
    (void)state;
    const mts_session_stats stats = stats_of();
    uint64_t mul_adds = 0;
    double clock = 0.0;
    assert_int_equal(profile(3), MTS_STATUS_OK);
    assert_int_equal(w.count, stats.launches);
    assert_true(w.count > 10);
    for (uint32_t i = 0; i < w.count; i++) {
        const mts_launch_profile *l = &w.launches[i];
        mul_adds += l->mul_adds;
        assert_true(l->kind[0] != '\0');
        assert_int_equal(strncmp(l->kind, l->label, strlen(l->kind)), 0);
        assert_non_null(strstr(l->kernel, "__f32"));
        assert_true(l->computations > 0 && l->tasks > 0);
        assert_true(l->mul_adds == 0 || l->bytes > 0);
        assert_true(l->group == UINT32_MAX || l->group < stats.groups);
        assert_true(l->start_ms >= clock && l->duration_ms >= 0.0);
        clock = l->start_ms + l->duration_ms;
        assert_true(clock < 60000.0);
    }
    assert_true(mul_adds == stats.mul_adds);
}

static void the_bytes_of_a_convolution_are_its_input_weights_and_output(void **state)
{
    (void)state;
    const mts_launch_profile *first = w.launches;
    assert_int_equal(profile(1), MTS_STATUS_OK);
    while (first < w.launches + w.count && strcmp(first->kind, "conv 3x3") != 0) {
        first++;
    }
    /* the demo's first layer: a common frame of 3 x 32 x 32, weights of each task, 32 x 32 pixels a channel
     */
    assert_true(first < w.launches + w.count);
    assert_int_equal(first->mul_adds % (32 * 32 * 27), 0);
    const uint64_t channels = first->mul_adds / (32 * 32 * 27); /* of all tasks */
    assert_int_equal(first->computations, mts_bundle_task_count(w.api.bundle));
    assert_int_equal(first->bytes, 4 * (3 * 32 * 32 + channels * (32 * 32 + 27 + 2))); /* 2: scale, bias */
}

static void the_timeline_is_that_of_the_device(void **state)
{
    (void)state;
    assert_int_equal(profile(4), MTS_STATUS_OK);
    for (uint32_t i = 0; i < w.count; i++) { /* every launch of the null device takes a microsecond */
        assert_true(w.launches[i].duration_ms > 0.000999 && w.launches[i].duration_ms < 0.001001);
        assert_true(w.launches[i].start_ms > 0.001 * i - 1e-6 && w.launches[i].start_ms < 0.001 * i + 1e-6);
    }
}

static void a_run_that_is_not_waited_for_is_busy(void **state)
{
    mts_ticket ticket = 0;
    (void)state;
    assert_int_equal(mts_session_submit(w.api.session, NULL, &ticket), MTS_STATUS_OK);
    assert_int_equal(profile(1), MTS_STATUS_BUSY);
    assert_int_equal(mts_session_wait(w.api.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(profile(1), MTS_STATUS_OK);
}

static void elements_of_an_older_header_lie_as_far_apart_as_they_say(void **state)
{
    enum { SIZE = offsetof(mts_launch_profile, kernel) };
    (void)state;
    const uint32_t launches = stats_of().launches;
    assert_int_equal(profile(1), MTS_STATUS_OK);
    mts_launch_profile first = w.launches[1];
    memset(w.launches, 0x5a, sizeof w.launches);
    w.launches[0].size = SIZE;
    assert_int_equal(mts_session_profile(w.api.session, 1, w.launches, launches, &w.count), MTS_STATUS_OK);
    const unsigned char *bytes = (const unsigned char *)w.launches;
    first.size = SIZE;
    assert_memory_equal(bytes + SIZE, &first, SIZE);
    assert_int_equal(bytes[launches * SIZE], 0x5a);
    w.launches[0].size = sizeof w.launches[0] + sizeof(size_t);
    assert_int_equal(mts_session_profile(w.api.session, 1, w.launches, launches, &w.count),
                     MTS_STATUS_INVALID_ARGUMENT);
}

static void wrong_arguments_are_refused_before_anything_runs(void **state)
{
    float before[OUTPUTS];
    mts_tensor tensor;
    mts_task_desc task = {.size = sizeof task};
    (void)state;
    (void)run(before);
    assert_int_equal(mts_session_profile(NULL, 1, w.launches, LAUNCHES, &w.count),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_profile(w.api.session, 1, NULL, 1, &w.count), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_profile(w.api.session, 1, w.launches, LAUNCHES, NULL),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(profile(0), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(profile(10001), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(profile(UINT32_MAX), MTS_STATUS_INVALID_ARGUMENT);
    w.count = 0;
    assert_int_equal(mts_session_profile(w.api.session, 1, NULL, 0, &w.count), MTS_STATUS_LIMIT);
    assert_int_equal(w.count, stats_of().launches);
    assert_int_equal(mts_session_profile(w.api.session, 1, w.launches, w.count - 1, &w.count),
                     MTS_STATUS_LIMIT);
    assert_int_equal(mts_bundle_task(w.api.bundle, 0, &task), MTS_STATUS_OK);
    assert_int_equal(mts_session_output(w.api.session, task.name, 0, &tensor), MTS_STATUS_OK);
    assert_memory_equal(tensor.data, before, tensor.bytes);
}

static void outputs_stay_those_of_the_last_run(void **state)
{
    float before[OUTPUTS];
    float after[OUTPUTS];
    mts_tensor tensor;
    mts_task_desc task = {.size = sizeof task};
    (void)state;
    const size_t bytes = run(before);
    assert_int_equal(profile(2), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_task(w.api.bundle, 0, &task), MTS_STATUS_OK);
    assert_int_equal(mts_session_output(w.api.session, task.name, 0, &tensor), MTS_STATUS_OK);
    assert_memory_equal(tensor.data, before, tensor.bytes);
    assert_int_equal(run(after), bytes);
    assert_memory_equal(before, after, bytes);
}

static void a_device_that_fails_to_measure_says_so_and_works_on(void **state)
{
    static const mts_status codes[] = {MTS_STATUS_DEVICE, MTS_STATUS_OUT_OF_MEMORY, MTS_STATUS_UNSUPPORTED};
    mts_fault_plan plan = {0};
    float values[OUTPUTS];
    (void)state;
    mts_session_destroy(&w.api.session);
    mts_bundle_destroy(&w.api.bundle);
    mts_device **device = &w.api.fixture.runtime->device;
    assert_int_equal(mts_wrap_fault(device, &plan, device, NULL), MTS_STATUS_OK);
    session_make(1);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        for (uint32_t nth = 1; nth <= 3; nth++) { /* the run that does not count, the first, the second */
            plan = (mts_fault_plan){.kind = MTS_WRAP_KIND_LIST_PROFILE, .nth = nth, .code = codes[i]};
            assert_int_equal((int)profile(2), (int)codes[i]);
            assert_int_equal(plan.failed, 1);
            assert_int_equal(profile(2), MTS_STATUS_OK);
            (void)run(values);
        }
    }
    plan = (mts_fault_plan){.kind = MTS_WRAP_KIND_LIST_PROFILE, .nth = 2, .code = MTS_STATUS_DEVICE_LOST};
    assert_int_equal(profile(2), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(profile(2), MTS_STATUS_DEVICE_LOST);
}

static void a_device_that_cannot_measure_is_unsupported(void **state)
{
    (void)state;
    mts_device *device = w.api.fixture.runtime->device;
    const mts_device_ops *own = device->ops;
    mts_device_ops without = *own;
    without.command_list_profile = NULL;
    device->ops = &without;
    assert_int_equal(profile(1), MTS_STATUS_UNSUPPORTED);
    device->ops = own;
    assert_int_equal(profile(1), MTS_STATUS_OK);
}

static void every_failed_allocation_is_out_of_memory(void **state)
{
    (void)state;
    for (uint32_t nth = 1;; nth++) {
        w.api.fixture.calls = 0;
        w.api.fixture.fail_from = nth;
        const mts_status status = profile(2);
        w.api.fixture.fail_from = 0;
        if (status == MTS_STATUS_OK) {
            assert_true(nth > 2);
            return;
        }
        assert_int_equal(status, MTS_STATUS_OUT_OF_MEMORY);
        assert_true(nth < 20);
    }
}

static void a_driver_profiles_the_same_launches(void **state)
{
    float before[OUTPUTS];
    float after[OUTPUTS];
    (void)state;
    memset(&w, 0, sizeof w);
    const mts_runtime_options options = api_options(&w.api.fixture, "opencl:0");
    if (mts_runtime_create(&options, &w.api.fixture.runtime) != MTS_STATUS_OK) {
        api_close(&w.api.fixture);
        skip();
    }
    session_make(0);
    api_pixels(w.api.pixels, 7);
    const size_t bytes = run(before);
    every_launch_is_named_counted_and_timed(state);
    assert_true(w.launches[w.count - 1].start_ms > 0.0);
    assert_int_equal(run(after), bytes);
    assert_memory_equal(before, after, bytes);
    (void)close_all(state);
}

static int remove_bundle(void **state)
{
    (void)state;
    api_bundle_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_launch_is_named_counted_and_timed, open_reference, close_all),
        cmocka_unit_test_setup_teardown(the_bytes_of_a_convolution_are_its_input_weights_and_output,
                                        open_null, close_all),
        cmocka_unit_test_setup_teardown(the_timeline_is_that_of_the_device, open_null, close_all),
        cmocka_unit_test_setup_teardown(a_run_that_is_not_waited_for_is_busy, open_small, close_all),
        cmocka_unit_test_setup_teardown(wrong_arguments_are_refused_before_anything_runs, open_small,
                                        close_all),
        cmocka_unit_test_setup_teardown(elements_of_an_older_header_lie_as_far_apart_as_they_say, open_small,
                                        close_all),
        cmocka_unit_test_setup_teardown(outputs_stay_those_of_the_last_run, open_small, close_all),
        cmocka_unit_test_setup_teardown(a_device_that_fails_to_measure_says_so_and_works_on, open_small,
                                        close_all),
        cmocka_unit_test_setup_teardown(a_device_that_cannot_measure_is_unsupported, open_null, close_all),
        cmocka_unit_test_setup_teardown(every_failed_allocation_is_out_of_memory, open_null, close_all),
        cmocka_unit_test(a_driver_profiles_the_same_launches),
    };
    return cmocka_run_group_tests(tests, NULL, remove_bundle);
}
