/*
 * Asynchronous copies, and events that say when they have finished, asked of every device of every
 * backend of this build.
 *
 * The emulated GPU does nothing before a call waits, and one step whenever an event is asked for, so that a
 * copy that is looked at too early is found out. The null backend takes part in everything but results of
 * kernels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/async_fixture.h"

static void fill_row(float *row, float first)
{
    for (uint32_t i = 0; i < ASYNC_COUNT; i++) {
        row[i] = first + (float)i;
    }
}

static void assert_row(const float *row, float first, float factor)
{
    for (uint32_t i = 0; i < ASYNC_COUNT; i++) {
        assert_true(row[i] == (first + (float)i) * factor);
    }
}

static void a_fetched_value_is_there_after_its_event_and_later_launches_do_not_change_it(void **state)
{
    (void)state;
    float *in = async_host(ASYNC_COUNT);
    float *out = async_host(ASYNC_COUNT);
    fill_row(in, 3.0f);
    async_send(0, in, ASYNC_COUNT);
    async_submit(async.up);
    async_fetch(async_computes() ? ASYNC_COUNT : 0, out, ASYNC_COUNT);
    async_event(0);
    assert_int_equal(mts_buffer_fill(async.act, 0, ASYNC_FLOATS * sizeof(float), 0, NULL), MTS_STATUS_OK);
    async_submit(async.up);
    async_wait_event(0);
    assert_row(out, 3.0f, async_computes() ? 2.0f : 1.0f);
    assert_int_equal(mts_device_wait(async.base.device, NULL), MTS_STATUS_OK);
    assert_row(out, 3.0f, async_computes() ? 2.0f : 1.0f);
    async_host_free(&in);
    async_host_free(&out);
}

/* Runs of one list, each with its own input and output; `ask` is how the host learns of the end. */
static void run_in_flight(float *in, float *out, void (*ask)(uint32_t index))
{
    const uint32_t runs = MTS_DEVICE_EVENTS;
    for (uint32_t i = 0; i < runs; i++) {
        fill_row(in + i * ASYNC_COUNT, (float)(100 * i + 1));
        async_send(0, in + i * ASYNC_COUNT, ASYNC_COUNT);
        async_submit(async.up);
        async_fetch(async_computes() ? ASYNC_COUNT : 0, out + i * ASYNC_COUNT, ASYNC_COUNT);
        async_event(i);
    }
    for (uint32_t i = 0; i < runs; i++) {
        ask(i);
        assert_row(out + i * ASYNC_COUNT, (float)(100 * i + 1), async_computes() ? 2.0f : 1.0f);
        fill_row(in + i * ASYNC_COUNT, -1.0f); /* may be used again */
    }
}

static void runs_of_one_list_in_flight_give_their_own_results(void **state)
{
    (void)state;
    float *in = async_host(MTS_DEVICE_EVENTS * ASYNC_COUNT);
    float *out = async_host(MTS_DEVICE_EVENTS * ASYNC_COUNT);
    run_in_flight(in, out, async_wait_event);
    run_in_flight(in, out, async_poll_event);
    async_host_free(&in);
    async_host_free(&out);
}

static void any_memory_of_the_host_can_be_sent_and_fetched(void **state)
{
    static float in[MTS_DEVICE_EVENTS * ASYNC_COUNT], out[MTS_DEVICE_EVENTS * ASYNC_COUNT];
    (void)state;
    run_in_flight(in, out, async_wait_event);
    run_in_flight(in, out, async_poll_event);
}

static void an_event_that_was_never_set_has_passed(void **state)
{
    (void)state;
    async_submit(async.up);
    for (uint32_t i = 0; i < MTS_DEVICE_EVENTS; i++) {
        assert_true(async_has_passed(i));
        async_wait_event(i);
    }
    async_event(3);
    assert_true(async_has_passed(2));
    assert_true(async_has_passed(4));
}

static void an_event_that_is_set_again_stands_behind_what_came_since(void **state)
{
    (void)state;
    float *out = async_host(ASYNC_COUNT);
    float *in = async_host(ASYNC_COUNT);
    fill_row(in, 7.0f);
    for (int round = 0; round < 3; round++) {
        memset(out, 0, ASYNC_COUNT * sizeof *out);
        async_event(5);
        async_send(0, in, ASYNC_COUNT);
        async_submit(async.up);
        async_submit(async.down);
        async_fetch(0, out, ASYNC_COUNT);
        async_event(5);
        async_poll_event(5);
        assert_row(out, 7.0f, 1.0f);
    }
    async_host_free(&in);
    async_host_free(&out);
}

static void marks_pass_in_the_order_in_which_they_were_set(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MTS_DEVICE_EVENTS; i++) {
        async_submit(async.up);
        async_event(MTS_DEVICE_EVENTS - 1 - i);
    }
    async_wait_event(2);
    for (uint32_t i = 2; i < MTS_DEVICE_EVENTS; i++) {
        assert_true(async_has_passed(i));
    }
    async_poll_event(0);
    assert_true(async_has_passed(1));
}

static void a_wait_for_everything_passes_every_event(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MTS_DEVICE_EVENTS; i++) {
        async_submit(async.up);
        async_event(i);
    }
    assert_int_equal(mts_device_wait(async.base.device, NULL), MTS_STATUS_OK);
    for (uint32_t i = 0; i < MTS_DEVICE_EVENTS; i++) {
        assert_true(async_has_passed(i));
    }
}

static void an_event_passes_without_a_wait_and_not_before_the_work_is_done(void **state)
{
    (void)state;
    float *in = async_host(ASYNC_COUNT);
    float *out = async_host(ASYNC_COUNT);
    fill_row(in, 9.0f);
    for (int round = 0; round < 3; round++) {
        memset(out, 0, ASYNC_COUNT * sizeof *out);
        for (int i = 0; i < 8; i++) {
            async_submit(async.burden);
        }
        async_send(0, in, ASYNC_COUNT);
        async_submit(async.up);
        async_fetch(async_computes() ? ASYNC_COUNT : 0, out, ASYNC_COUNT);
        async_event(4);
        async_poll_event(4);
        assert_row(out, 9.0f, async_computes() ? 2.0f : 1.0f);
    }
    async_host_free(&in);
    async_host_free(&out);
}

/* Else the queue would write to memory that its owner has freed because the device is lost. */
static void nothing_is_on_its_way_any_more_when_a_lost_device_is_told_of(void **state)
{
    (void)state;
    const size_t bytes = ASYNC_COUNT * sizeof(float);
    float *in[2], *out[2];
    for (int run = 0; run < 2; run++) {
        in[run] = test_malloc(bytes);
        out[run] = test_malloc(bytes);
        fill_row(in[run], 5.0f + (float)run);
        memset(out[run], 0, bytes);
        for (int i = 0; i < 8; i++) {
            async_submit(async.burden);
        }
        async_send(0, in[run], ASYNC_COUNT);
        async_submit(async.up);
        async_fetch(async_computes() ? ASYNC_COUNT : 0, out[run], ASYNC_COUNT);
        async_event((uint32_t)run);
    }
    async.base.device->lost = true; /* as a backend does when a call tells it so */
    assert_int_equal(mts_device_wait(async.base.device, NULL), MTS_STATUS_DEVICE_LOST);
    for (int run = 0; run < 2; run++) {
        assert_row(out[run], 5.0f + (float)run, async_computes() ? 2.0f : 1.0f);
        test_free(in[run]);
        test_free(out[run]);
    }
}

static void written_data_may_be_reused_at_once_also_while_the_queue_is_busy(void **state)
{
    (void)state;
    float row[ASYNC_COUNT];
    float *out = async_host(ASYNC_COUNT);
    for (int i = 0; i < 8; i++) {
        async_submit(async.burden);
    }
    fill_row(row, 11.0f);
    assert_int_equal(mts_buffer_write(async.act, 0, row, sizeof row, NULL), MTS_STATUS_OK);
    fill_row(row, -5.0f);
    async_submit(async.up);
    async_submit(async.down);
    async_fetch(0, out, ASYNC_COUNT);
    async_event(0);
    async_wait_event(0);
    assert_row(out, 11.0f, 1.0f);
    async_host_free(&out);
}

static void frames_in_flight_allocate_nothing_of_ours(void **state)
{
    (void)state;
    float *in = async_host(MTS_DEVICE_EVENTS * ASYNC_COUNT);
    float *out = async_host(MTS_DEVICE_EVENTS * ASYNC_COUNT);
    const uint32_t calls = async.base.allocator.calls;
    run_in_flight(in, out, async_wait_event);
    run_in_flight(in, out, async_poll_event);
    assert_int_equal(async.base.allocator.calls, calls);
    async_host_free(&in);
    async_host_free(&out);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    float data[4] = {0.0f};
    bool passed = true;
    void *memory = data;
    mts_error error = {MTS_STATUS_OK, ""};
    const size_t size = async.act->size;
    mts_device *device = async.base.device;
    assert_int_equal(mts_buffer_write_async(NULL, 0, data, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_write_async(async.act, 0, NULL, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_write_async(async.act, size - 3, data, 4, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_write_async(async.act, SIZE_MAX, data, 4, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_write_async(async.act, size, NULL, 0, &error), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read_async(NULL, 0, data, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_read_async(async.act, 0, NULL, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_read_async(async.act, size - 3, data, 4, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_read_async(async.act, size, NULL, 0, &error), MTS_STATUS_OK);
    assert_int_equal(mts_device_event_record(NULL, 0, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_device_event_record(device, MTS_DEVICE_EVENTS, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "no event 8"));
    assert_int_equal(mts_device_event_passed(device, UINT32_MAX, &passed, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_false(passed);
    assert_int_equal(mts_device_event_passed(device, 0, NULL, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_device_event_wait(device, MTS_DEVICE_EVENTS, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_host_create(device, 0, &memory, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_null(memory);
    assert_int_equal(mts_host_create(device, 4, NULL, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_host_create(NULL, 4, &memory, &error), MTS_STATUS_INVALID_ARGUMENT);
    mts_host_destroy(device, NULL);
    mts_host_destroy(device, &memory);
    mts_host_destroy(NULL, &memory);
}

static void host_memory_that_is_not_there_is_out_of_memory(void **state)
{
    (void)state;
    void *memory = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    assert_int_equal(mts_host_create(async.base.device, SIZE_MAX - 8, &memory, &error),
                     MTS_STATUS_OUT_OF_MEMORY);
    assert_null(memory);
    assert_true(error.text[0]);
    if (async.base.device->ops->host_create) {
        return; /* not the allocator's */
    }
    async.base.allocator.calls = 0;
    async.base.allocator.nth = 1;
    assert_int_equal(mts_host_create(async.base.device, 100, &memory, &error), MTS_STATUS_OUT_OF_MEMORY);
    async.base.allocator.nth = 0;
    assert_null(memory);
}

static void a_lost_device_sends_fetches_and_marks_nothing(void **state)
{
    (void)state;
    float data[4] = {0.0f};
    bool passed = true;
    void *memory = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    float *host = async_host(4);
    async_event(0);
    async.base.device->lost = true;
    assert_int_equal(mts_buffer_write_async(async.act, 0, data, 4, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_buffer_read_async(async.act, 0, data, 4, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_device_event_record(async.base.device, 0, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_device_event_passed(async.base.device, 0, &passed, &error), MTS_STATUS_DEVICE_LOST);
    assert_false(passed);
    assert_int_equal(mts_device_event_wait(async.base.device, 0, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_host_create(async.base.device, 4, &memory, &error), MTS_STATUS_DEVICE_LOST);
    async_host_free(&host); /* still works */
}

#define DEVICE_TEST(name) cmocka_unit_test_setup_teardown(name, async_open, async_close)

static int run_device(const char *group)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(a_fetched_value_is_there_after_its_event_and_later_launches_do_not_change_it),
        DEVICE_TEST(runs_of_one_list_in_flight_give_their_own_results),
        DEVICE_TEST(any_memory_of_the_host_can_be_sent_and_fetched),
        DEVICE_TEST(an_event_that_was_never_set_has_passed),
        DEVICE_TEST(an_event_that_is_set_again_stands_behind_what_came_since),
        DEVICE_TEST(marks_pass_in_the_order_in_which_they_were_set),
        DEVICE_TEST(a_wait_for_everything_passes_every_event),
        DEVICE_TEST(an_event_passes_without_a_wait_and_not_before_the_work_is_done),
        DEVICE_TEST(nothing_is_on_its_way_any_more_when_a_lost_device_is_told_of),
        DEVICE_TEST(written_data_may_be_reused_at_once_also_while_the_queue_is_busy),
        DEVICE_TEST(frames_in_flight_allocate_nothing_of_ours),
        DEVICE_TEST(wrong_arguments_are_refused),
        DEVICE_TEST(host_memory_that_is_not_there_is_out_of_memory),
        DEVICE_TEST(a_lost_device_sends_fetches_and_marks_nothing),
    };
    return cmocka_run_group_tests_name(group, tests, NULL, NULL);
}

int main(void)
{
    return async_every_device(run_device);
}
