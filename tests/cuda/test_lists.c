/*
 * Lists on the CUDA backend: as a graph one call, one by one as many as launches, the same bits either way;
 * updated in place; everything in one stream.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/cuda_fixture.h"

static cuda_world w;

static void open_as(mts_use replay)
{
    mts_error error = {MTS_STATUS_OK, ""};
    cuda_world_init(&w, NULL);
    w.base.options.replay = replay;
    if (cuda_world_make(&w, &error) != MTS_STATUS_OK || cuda_world_set(&w, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static int close_world(void **state)
{
    (void)state;
    assert_int_equal(fake_cuda_called("cuStreamCreate"), 1);
    cuda_world_close(&w);
    cuda_expect_clean();
    return 0;
}

static void submit(void)
{
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_command_list_submit(w.list, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static void update(void)
{
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_command_list_update(w.list, w.launches, CUDA_LAUNCHES, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static void a_recorded_list_is_one_call_between_push_and_pop(void **state)
{
    (void)state;
    open_as(MTS_USE_AUTO);
    for (int i = 0; i < 3; i++) {
        const uint32_t before = fake_cuda_calls();
        const uint32_t allocations = w.base.allocator.calls;
        submit();
        assert_int_equal(fake_cuda_calls(), before + 3);
        assert_string_equal(fake_cuda_call(before + 1), "cuCtxPushCurrent_v2");
        assert_string_equal(fake_cuda_call(before + 2), "cuGraphLaunch");
        assert_string_equal(fake_cuda_call(before + 3), "cuCtxPopCurrent_v2");
        assert_int_equal(w.base.allocator.calls, allocations);
    }
    assert_int_equal(fake_cuda_called("cuGraphAddKernelNode"), CUDA_LAUNCHES);
    assert_int_equal(fake_cuda_called("cuGraphInstantiate") + fake_cuda_called("cuGraphInstantiateWithFlags"),
                     1);
    assert_int_equal(fake_cuda_called("cuLaunchKernel"), 0);
}

static void a_list_that_is_not_recorded_is_as_many_calls_as_launches(void **state)
{
    (void)state;
    open_as(MTS_USE_OFF);
    const uint32_t before = fake_cuda_calls();
    submit();
    assert_int_equal(fake_cuda_calls(), before + 2 + CUDA_LAUNCHES);
    assert_int_equal(fake_cuda_called("cuLaunchKernel"), CUDA_LAUNCHES);
    assert_int_equal(fake_cuda_count().graphs + fake_cuda_count().execs, 0);
    cuda_world_expect(&w, 1, 20, 300);
}

/* The fake runs nodes that do not depend on each other in the opposite order. */
static void a_recorded_list_keeps_its_order(void **state)
{
    (void)state;
    open_as(MTS_USE_ON);
    submit();
    cuda_world_expect(&w, 1, 20, 300);
}

static void an_update_sets_the_launches_that_changed_and_makes_nothing(void **state)
{
    (void)state;
    open_as(MTS_USE_ON);
    submit();
    cuda_world_expect(&w, 1, 20, 300);
    w.launches[1].first = 3;
    const uint32_t allocations = w.base.allocator.calls;
    update();
    assert_int_equal(fake_cuda_called("cuGraphExecKernelNodeSetParams"), 1);
    update(); /* nothing is different */
    assert_int_equal(fake_cuda_called("cuGraphExecKernelNodeSetParams"), 1);
    assert_int_equal(fake_cuda_called("cuGraphInstantiate") + fake_cuda_called("cuGraphInstantiateWithFlags"),
                     1);
    assert_int_equal(fake_cuda_called("cuGraphCreate"), 1);
    assert_int_equal(w.base.allocator.calls, allocations);
    assert_int_equal(cuda_world_set(&w, NULL), MTS_STATUS_OK);
    submit();
    cuda_world_expect(&w, 1, 7, 300);
    assert_int_equal(fake_cuda_called("cuLaunchKernel"), 0);
}

static void an_update_may_change_grids_and_buffers(void **state)
{
    mts_buffer *other = NULL;
    float value = 0.0f;
    (void)state;
    open_as(MTS_USE_ON);
    assert_int_equal(mts_buffer_create(w.base.device, 4096, &other, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_fill(other, 0, 4096, 0, NULL), MTS_STATUS_OK);
    w.launches[2].act = other;
    w.launches[2].global[0] = 1;
    w.launches[2].local[0] = 1;
    update();
    submit();
    assert_int_equal(mts_buffer_read(other, 0, &value, sizeof value, NULL), MTS_STATUS_OK);
    assert_true(value == 300.0f);
    assert_int_equal(mts_buffer_read(other, 4, &value, sizeof value, NULL), MTS_STATUS_OK);
    assert_true(value == 0.0f);
    assert_int_equal(mts_buffer_read(w.act, 0, &value, sizeof value, NULL), MTS_STATUS_OK);
    assert_true(value == 22.0f);
    mts_buffer_destroy(&other);
}

static void an_update_that_the_driver_refuses_leaves_a_list_that_works(void **state)
{
    (void)state;
    open_as(MTS_USE_ON);
    w.launches[0].first = 3;
    fake_cuda_fail_named("cuGraphExecKernelNodeSetParams", 1, CUDA_ERROR_NOT_SUPPORTED);
    update();
    assert_true(fake_cuda_failed());
    submit();
    assert_int_equal(fake_cuda_called("cuLaunchKernel"), CUDA_LAUNCHES);
    cuda_world_expect(&w, 7, 20, 300);
}

/* Twelve writes while the stream stands still: none may be lost by the next one taking its place too early.
 */
static void data_that_was_written_may_be_reused_at_once(void **state)
{
    static float all[12 * 1024];
    (void)state;
    open_as(MTS_USE_ON);
    for (uint32_t i = 0; i < 12; i++) {
        float piece[1024];
        for (uint32_t k = 0; k < 1024; k++) {
            piece[k] = (float)(i * 1024 + k);
        }
        assert_int_equal(mts_buffer_write(w.act, i * sizeof piece, piece, sizeof piece, NULL), MTS_STATUS_OK);
    }
    assert_int_equal(mts_buffer_read(w.act, 0, all, sizeof all, NULL), MTS_STATUS_OK);
    for (uint32_t i = 0; i < 12 * 1024; i++) {
        assert_true(all[i] == (float)i);
    }
}

static void a_profile_tells_ascending_times_and_computes_the_same(void **state)
{
    mts_launch_time times[CUDA_LAUNCHES];
    mts_error error = {MTS_STATUS_OK, ""};
    (void)state;
    open_as(MTS_USE_ON);
    if (mts_command_list_profile(w.list, times, CUDA_LAUNCHES, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (uint32_t i = 0; i < CUDA_LAUNCHES; i++) {
        assert_true(times[i].start <= times[i].end);
        assert_true(i == 0 || times[i].start >= times[i - 1].end);
    }
    cuda_world_expect(&w, 1, 20, 300);
    assert_int_equal(fake_cuda_count().events, MTS_CU_STAGES + MTS_DEVICE_EVENTS);
}

static void pinned_memory_is_copied_from_and_to_without_a_detour(void **state)
{
    void *memory = NULL;
    bool passed = true;
    (void)state;
    open_as(MTS_USE_ON);
    assert_int_equal(mts_device_wait(w.base.device, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_host_create(w.base.device, 2 * sizeof(float), &memory, NULL), MTS_STATUS_OK);
    float *host = memory;
    host[0] = 1.0f;
    host[1] = -1.0f;
    const uint32_t waits = fake_cuda_called("cuStreamSynchronize") + fake_cuda_called("cuEventSynchronize");
    assert_int_equal(mts_buffer_write_async(w.act, 0, host, sizeof *host, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read_async(w.act, 0, host + 1, sizeof *host, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_device_event_record(w.base.device, 1, NULL), MTS_STATUS_OK);
    host[0] = 2.0f; /* against the rules: what was sent has not been looked at yet */
    assert_int_equal(mts_device_event_passed(w.base.device, 1, &passed, NULL), MTS_STATUS_OK);
    assert_false(passed); /* asking takes one step of three */
    assert_true(host[1] == -1.0f);
    assert_int_equal(mts_device_event_passed(w.base.device, 1, &passed, NULL), MTS_STATUS_OK);
    assert_false(passed);
    assert_int_equal(mts_device_event_passed(w.base.device, 1, &passed, NULL), MTS_STATUS_OK);
    assert_true(passed);
    assert_true(host[1] == 2.0f);
    assert_int_equal(fake_cuda_called("cuStreamSynchronize") + fake_cuda_called("cuEventSynchronize"), waits);
    assert_int_equal(fake_cuda_count().host_blocks, MTS_CU_STAGES + 1);
    mts_host_destroy(w.base.device, &memory);
    assert_int_equal(fake_cuda_count().host_blocks, MTS_CU_STAGES);
}

static void a_launch_over_cudas_limits_is_told_with_its_label(void **state)
{
    mts_command_list *list = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    (void)state;
    open_as(MTS_USE_ON);
    w.launches[0].global[1] = 70000;
    w.launches[0].label = "a wide one";
    assert_int_equal(mts_command_list_create(w.base.device, w.launches, CUDA_LAUNCHES, &list, &error),
                     MTS_STATUS_LIMIT);
    assert_null(list);
    assert_non_null(strstr(error.text, "a wide one"));
}

static void memory_of_the_caller_is_read_in_place_on_a_board(void **state)
{
    static float factor[4] = {3.0f, 0.0f, 0.0f, 0.0f};
    const mts_memory memory = {.kind = MTS_MEMORY_HOST, .host = factor, .size = sizeof factor};
    mts_error error = {MTS_STATUS_OK, ""};
    mts_buffer *imported = NULL;
    float value = 0.0f;
    (void)state;
    cuda_world_init(&w, NULL);
    fake_cuda_device()->integrated = true;
    if (cuda_world_make(&w, &error) != MTS_STATUS_OK || cuda_world_set(&w, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(w.base.device->info.imports, MTS_MEMORY_BIT(MTS_MEMORY_HOST));
    assert_int_equal(mts_buffer_import(w.base.device, &memory, &imported, &error), MTS_STATUS_OK);
    assert_int_equal(fake_cuda_count().registered, 1);
    for (uint32_t i = 0; i < CUDA_LAUNCHES; i++) {
        w.launches[i].pool = imported;
    }
    update();
    submit();
    assert_int_equal(mts_buffer_read(w.act, 4, &value, sizeof value, &error), MTS_STATUS_OK);
    assert_true(value == ((1.0f * 3 + 1 + 1) * 3 + 20 + 1) * 3 + 300 + 1);
    mts_buffer_destroy(&imported);
    assert_int_equal(fake_cuda_count().registered, 0);
}

static uint32_t waits(void)
{
    return fake_cuda_called("cuStreamSynchronize");
}

/* The next frame must not wait for the device because the memory of the one before it is given back. */
static void memory_of_the_caller_is_waited_for_only_while_something_may_read_it(void **state)
{
    static float factors[2][1024] __attribute__((aligned(4096))); /* pages of their own */
    mts_buffer *imported[2] = {NULL, NULL};
    mts_error error = {MTS_STATUS_OK, ""};
    (void)state;
    cuda_world_init(&w, NULL);
    fake_cuda_device()->integrated = true;
    if (cuda_world_make(&w, &error) != MTS_STATUS_OK || cuda_world_set(&w, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (uint32_t i = 0; i < 2; i++) {
        const mts_memory memory = {.kind = MTS_MEMORY_HOST, .host = factors[i], .size = sizeof factors[i]};
        factors[i][0] = 2.0f;
        assert_int_equal(mts_buffer_import(w.base.device, &memory, &imported[i], &error), MTS_STATUS_OK);
    }
    for (uint32_t run = 0; run < 2; run++) {
        for (uint32_t i = 0; i < CUDA_LAUNCHES; i++) {
            w.launches[i].pool = imported[run];
        }
        update();
        submit();
        assert_int_equal(mts_device_event_record(w.base.device, run, &error), MTS_STATUS_OK);
    }
    const uint32_t before = waits();
    assert_int_equal(mts_device_event_wait(w.base.device, 0, &error), MTS_STATUS_OK);
    mts_buffer_destroy(&imported[0]);
    assert_int_equal(waits(), before);
    mts_buffer_destroy(&imported[1]); /* the second run may read it */
    assert_int_equal(waits(), before + 1);
    assert_int_equal(fake_cuda_count().registered, 0);
    for (uint32_t i = 0; i < CUDA_LAUNCHES; i++) {
        w.launches[i].pool = w.pool;
    }
    update();
    assert_int_equal(cuda_world_set(&w, &error), MTS_STATUS_OK);
    submit();
    cuda_world_expect(&w, 1, 20, 300);
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_recorded_list_is_one_call_between_push_and_pop),
        WORLD_TEST(a_list_that_is_not_recorded_is_as_many_calls_as_launches),
        WORLD_TEST(a_recorded_list_keeps_its_order),
        WORLD_TEST(an_update_sets_the_launches_that_changed_and_makes_nothing),
        WORLD_TEST(an_update_may_change_grids_and_buffers),
        WORLD_TEST(an_update_that_the_driver_refuses_leaves_a_list_that_works),
        WORLD_TEST(data_that_was_written_may_be_reused_at_once),
        WORLD_TEST(a_profile_tells_ascending_times_and_computes_the_same),
        WORLD_TEST(pinned_memory_is_copied_from_and_to_without_a_detour),
        WORLD_TEST(a_launch_over_cudas_limits_is_told_with_its_label),
        WORLD_TEST(memory_of_the_caller_is_read_in_place_on_a_board),
        WORLD_TEST(memory_of_the_caller_is_waited_for_only_while_something_may_read_it),
    };
    const int skipped = cuda_machine_check();
    return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
