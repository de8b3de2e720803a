/*
 * Every call of the driver and the compiler fails once, at every place of a device's life: what was made is
 * released, the thread's context is what it was, and the error names the call and its code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/cuda_fixture.h"

#define CALLS_MOST 2000u

typedef struct life_kind {
    const char *name;
    mts_use replay;
    int nvrtc; /* version: an old compiler makes PTX only, which the driver links */
} life_kind;

static const life_kind kinds[] = {
    {"graphs", MTS_USE_ON, 12020}, {"plain launches", MTS_USE_OFF, 12020}, {"PTX", MTS_USE_ON, 10020}};

/* A run whose input is sent and whose output is fetched, and no call waits before it has finished. */
static mts_status fly(cuda_world *w, float *host, mts_error *error)
{
    bool passed = false;
    host[0] = 5.0f;
    mts_status status = mts_buffer_write_async(w->act, 4, host, sizeof *host, error);
    status = status ? status : mts_command_list_submit(w->list, error);
    status = status ? status : mts_buffer_read_async(w->act, 4, host + 1, sizeof *host, error);
    status = status ? status : mts_device_event_record(w->base.device, 2, error);
    while (status == MTS_STATUS_OK && !passed) {
        status = mts_device_event_passed(w->base.device, 2, &passed, error);
    }
    if (status == MTS_STATUS_OK) {
        assert_true(host[1] == ((5.0f * 2.0f + 2.0f) * 2.0f + 8.0f) * 2.0f + 301.0f);
    }
    status = status ? status : mts_device_event_record(w->base.device, 2, error);
    return status ? status : mts_device_event_wait(w->base.device, 2, error);
}

static mts_status live_in_flight(cuda_world *w, mts_error *error)
{
    void *host = NULL;
    mts_status status = mts_host_create(w->base.device, 64, &host, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    status = fly(w, host, error);
    if (status != MTS_STATUS_OK) {
        (void)mts_device_wait(w->base.device, NULL);
    }
    mts_host_destroy(w->base.device, &host);
    return status;
}

/* Everything that a device does, until something fails. */
static mts_status live(cuda_world *w, mts_error *error)
{
    mts_launch_time times[CUDA_LAUNCHES];
    float value = 0.0f;
    mts_status status = cuda_world_make(w, error);
    status = status ? status : cuda_world_set(w, error);
    status = status ? status : mts_command_list_submit(w->list, error);
    status = status ? status : mts_device_wait(w->base.device, error);
    status = status ? status : mts_buffer_read(w->act, 4, &value, sizeof value, error);
    if (status == MTS_STATUS_OK) {
        assert_true(value == cuda_world_value(1, 1, 20, 300));
        w->launches[1].first = 3;
    }
    status = status ? status : mts_buffer_fill(w->act, 0, 1024, 0, error);
    status = status ? status : mts_command_list_update(w->list, w->launches, CUDA_LAUNCHES, error);
    status = status ? status : mts_command_list_submit(w->list, error);
    status = status ? status : mts_buffer_read(w->act, 0, &value, sizeof value, error);
    if (status == MTS_STATUS_OK) {
        assert_true(value == cuda_world_value(0, 1, 7, 300));
    }
    status = status ? status : mts_command_list_profile(w->list, times, CUDA_LAUNCHES, error);
    status = status ? status : cuda_world_set(w, error);
    return status ? status : live_in_flight(w, error);
}

/* The name without the version of its interface. */
static void plain_name(char out[64], const char *call)
{
    (void)snprintf(out, 64, "%s", call);
    const size_t length = strlen(out);
    if (length > 3 && strcmp(out + length - 3, "_v2") == 0) {
        out[length - 3] = '\0';
    }
}

static bool starts_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* Calls whose failure need not fail anything: there is another way, or nothing can be done about it. */
static bool may_pass(const char *name)
{
    return strstr(name, "Destroy") || strstr(name, "Free") || strstr(name, "Unload") ||
           strstr(name, "Release") || starts_with(name, "cuGraph") || starts_with(name, "cuCtxP") ||
           starts_with(name, "nvrtcGetProgramLog") || starts_with(name, "cuDriverGetVersion") ||
           starts_with(name, "cuDeviceGetAttribute");
}

static bool is_in_context(const char *name)
{
    return starts_with(name, "cuMem") || starts_with(name, "cuStream") || starts_with(name, "cuEvent") ||
           starts_with(name, "cuLaunch") || starts_with(name, "cuModule") || starts_with(name, "cuLink") ||
           starts_with(name, "cuFunc");
}

static void expect_error(const char *call, int result, mts_status status, const mts_error *error)
{
    char name[64];
    char number[16];
    if (strcmp(call, "cuDeviceGetAttribute") == 0 && strstr(error->text, "the driver does not report")) {
        return;
    }
    plain_name(name, call);
    (void)snprintf(number, sizeof number, "(%d)", result);
    /* a device that is lost whose result was not needed is found out by a later one */
    const bool is_later = may_pass(call) && status == MTS_STATUS_DEVICE_LOST;
    if ((!is_later && !strstr(error->text, name)) || !strstr(error->text, number)) {
        fail_msg("%s failed with %d, and the error says: %s", call, result, error->text);
    }
    if (is_in_context(call)) {
        const mts_status expected = result == CUDA_ERROR_OUT_OF_MEMORY   ? MTS_STATUS_OUT_OF_MEMORY
                                    : result == CUDA_ERROR_LAUNCH_FAILED ? MTS_STATUS_DEVICE_LOST
                                                                         : MTS_STATUS_DEVICE;
        if (status != expected) {
            fail_msg("%s failed with %d: %s instead of %s", call, result, mts_status_text(status),
                     mts_status_text(expected));
        }
    }
}

/* What a thread that cannot enter the context has to leave there goes with the context. */
static void expect_released(uint32_t at, int result)
{
    char text[512];
    const fake_cuda_counts counts = fake_cuda_count();
    const bool entered = strcmp(fake_cuda_call(at), "cuCtxPushCurrent_v2") != 0;
    if (!fake_cuda_clean(text, sizeof text) &&
        (entered || counts.misuses + counts.damages > 0 || counts.contexts)) {
        fail_msg("call %u (%s) failed with %d: left behind: %s", at, fake_cuda_call(at), result, text);
    }
    if (fake_cuda_depth() != 0) {
        fail_msg("call %u (%s) failed with %d: the stack of contexts is not what it was", at,
                 fake_cuda_call(at), result);
    }
}

/* False: the life has fewer calls. */
static bool fail_at(const life_kind *kind, uint32_t at, int result)
{
    static cuda_world w;
    mts_error error = {MTS_STATUS_OK, ""};
    cuda_world_init(&w, NULL);
    w.base.options.replay = kind->replay;
    fake_cuda_device()->nvrtc = kind->nvrtc;
    fake_cuda_fail(at, result);
    const mts_status status = live(&w, &error);
    const bool in_life = fake_cuda_failed(); /* else it fails while all is destroyed, if at all */
    if (status == MTS_STATUS_OK && in_life && !may_pass(fake_cuda_call(at))) {
        fail_msg("%s: call %u (%s) failed with %d, and no call reported it", kind->name, at,
                 fake_cuda_call(at), result);
    }
    if (status != MTS_STATUS_OK) {
        assert_true(in_life);
        expect_error(fake_cuda_call(at), result, status, &error);
    }
    cuda_world_close(&w);
    if (fake_cuda_failed()) {
        expect_released(at, result);
    }
    return fake_cuda_failed();
}

static void fail_everywhere(int result)
{
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        uint32_t at = 1;
        while (fail_at(&kinds[k], at, result)) {
            at++;
            assert_true(at < CALLS_MOST);
        }
        print_message("%s: %u calls\n", kinds[k].name, at - 1);
        assert_true(at > 40);
        cuda_expect_clean();
    }
}

static void each_call_that_is_refused_leaves_nothing_behind(void **state)
{
    (void)state;
    fail_everywhere(CUDA_ERROR_INVALID_VALUE);
}

static void each_call_that_finds_no_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    fail_everywhere(CUDA_ERROR_OUT_OF_MEMORY);
}

static void each_call_that_loses_the_device_leaves_nothing_behind(void **state)
{
    (void)state;
    fail_everywhere(CUDA_ERROR_LAUNCH_FAILED);
}

static void each_allocation_that_fails_leaves_nothing_behind(void **state)
{
    static cuda_world w;
    bool failed = true;
    (void)state;
    for (uint32_t nth = 1; failed; nth++) {
        mts_error error = {MTS_STATUS_OK, ""};
        cuda_world_init(&w, NULL);
        w.base.allocator.nth = nth;
        const mts_status status = live(&w, &error);
        failed = w.base.allocator.failed > 0;
        assert_true(status == MTS_STATUS_OK || status == MTS_STATUS_OUT_OF_MEMORY);
        assert_true(status == MTS_STATUS_OUT_OF_MEMORY || !failed || nth > 1);
        cuda_world_close(&w);
        cuda_expect_clean();
        assert_true(nth < CALLS_MOST);
    }
}

/* A launch that crashes is reported by the next wait; then all calls say so until the device is opened again.
 */
static void a_crash_is_told_by_the_wait_and_stays_until_the_device_is_opened_again(void **state)
{
    static cuda_world w;
    mts_error error = {MTS_STATUS_OK, ""};
    mts_buffer *buffer = NULL;
    (void)state;
    cuda_world_open(&w, NULL);
    assert_int_equal(mts_command_list_submit(w.list, &error), MTS_STATUS_OK);
    fake_cuda_fail_named("cuStreamSynchronize", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(mts_device_wait(w.base.device, &error), MTS_STATUS_DEVICE_LOST);
    assert_non_null(strstr(error.text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_int_equal(mts_command_list_submit(w.list, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_buffer_create(w.base.device, 4, &buffer, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_device_wait(w.base.device, &error), MTS_STATUS_DEVICE_LOST);
    cuda_world_close(&w);
    cuda_expect_clean();
    cuda_world_open(&w, NULL);
    assert_int_equal(cuda_world_set(&w, &error), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(w.list, &error), MTS_STATUS_OK);
    cuda_world_expect(&w, 1, 20, 300);
    cuda_world_close(&w);
    cuda_expect_clean();
}

/* Its owners would free the memory, and the driver would go on writing there. */
static void copies_that_are_on_their_way_when_the_device_is_lost_are_through_when_that_is_told(void **state)
{
    static cuda_world w;
    mts_error error = {MTS_STATUS_OK, ""};
    float host[2] = {5.0f, 0.0f};
    (void)state;
    cuda_world_open(&w, NULL);
    assert_int_equal(mts_buffer_write_async(w.act, 4, host, sizeof *host, &error), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read_async(w.act, 4, host + 1, sizeof *host, &error), MTS_STATUS_OK);
    fake_cuda_fail_named("cuEventRecord", 1, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    const uint32_t before = fake_cuda_called("cuStreamSynchronize");
    assert_int_equal(mts_device_event_record(w.base.device, 0, &error), MTS_STATUS_DEVICE_LOST);
    assert_non_null(strstr(error.text, "cuEventRecord"));
    assert_int_equal(fake_cuda_called("cuStreamSynchronize"), before + 1);
    assert_true(host[1] == 5.0f);
    assert_int_equal(mts_device_wait(w.base.device, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(fake_cuda_called("cuStreamSynchronize"), before + 1);
    cuda_world_close(&w);
    cuda_expect_clean();
}

static void a_graph_that_finds_the_device_lost_launches_nothing_into_it(void **state)
{
    static cuda_world w;
    mts_error error = {MTS_STATUS_OK, ""};
    (void)state;
    cuda_world_open(&w, NULL);
    fake_cuda_fail_named("cuGraphLaunch", 1, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(mts_command_list_submit(w.list, &error), MTS_STATUS_DEVICE_LOST);
    assert_non_null(strstr(error.text, "cuGraphLaunch"));
    assert_int_equal(fake_cuda_called("cuLaunchKernel"), 0);
    assert_false(device_fixture_logged(&w.base, "one by one"));
    cuda_world_close(&w);
    cuda_expect_clean();
}

static void a_full_device_is_out_of_memory_and_goes_on_with_less(void **state)
{
    static cuda_world w;
    mts_error error = {MTS_STATUS_OK, ""};
    mts_buffer *large = NULL, *small = NULL;
    (void)state;
    cuda_world_open(&w, NULL);
    fake_cuda_device()->memory = 4u << 20;
    assert_int_equal(mts_buffer_create(w.base.device, 3u << 20, &large, &error), MTS_STATUS_OUT_OF_MEMORY);
    assert_null(large);
    assert_true(w.base.device->full);
    assert_false(w.base.device->lost);
    assert_non_null(strstr(error.text, "cuMemAlloc"));
    assert_int_equal(mts_buffer_create(w.base.device, 1u << 20, &small, &error), MTS_STATUS_OK);
    mts_buffer_destroy(&small);
    assert_int_equal(cuda_world_set(&w, &error), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(w.list, &error), MTS_STATUS_OK);
    cuda_world_expect(&w, 1, 20, 300);
    cuda_world_close(&w);
    cuda_expect_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_that_is_refused_leaves_nothing_behind),
        cmocka_unit_test(each_call_that_finds_no_memory_leaves_nothing_behind),
        cmocka_unit_test(each_call_that_loses_the_device_leaves_nothing_behind),
        cmocka_unit_test(each_allocation_that_fails_leaves_nothing_behind),
        cmocka_unit_test(a_crash_is_told_by_the_wait_and_stays_until_the_device_is_opened_again),
        cmocka_unit_test(copies_that_are_on_their_way_when_the_device_is_lost_are_through_when_that_is_told),
        cmocka_unit_test(a_graph_that_finds_the_device_lost_launches_nothing_into_it),
        cmocka_unit_test(a_full_device_is_out_of_memory_and_goes_on_with_less),
    };
    const int skipped = cuda_machine_check();
    return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
