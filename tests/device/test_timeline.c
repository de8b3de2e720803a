/*
 * test_timeline.c: values of the timeline over the few events of a device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/timeline.h"
#include "support/device_fixture.h"
#include "support/gate_device.h"

/* A gate, and before it what fails as the plan says. */
static mts_fault_plan plan;

static void world_open(device_fixture *w)
{
    device_fixture_init(w, NULL);
    device_fixture_open(w, device_fixture_backend("reference"), 0);
    gate_install(w->device);
    plan = (mts_fault_plan){.kind = MTS_WRAP_KIND_EVENT_QUERY, .code = MTS_STATUS_DEVICE};
    assert_int_equal(mts_wrap_fault(&w->device, &plan, &w->device, NULL), MTS_STATUS_OK);
}

/* Of the next questions for a mark: the nth fails. */
static void fail_question(uint32_t nth, bool onwards)
{
    plan.calls = plan.failed = 0;
    plan.nth = nth;
    plan.onwards = onwards;
}

static bool passed(device_fixture *w, uint64_t fence)
{
    mts_error error = {0};
    bool answer = false;
    assert_int_equal(mts_timeline_reached(w->device, fence, &answer, &error), MTS_STATUS_OK);
    return answer;
}

static uint64_t set(device_fixture *w)
{
    mts_error error = {0};
    uint64_t fence = 0;
    assert_int_equal(mts_timeline_signal(w->device, &fence, &error), MTS_STATUS_OK);
    return fence;
}

static void fences_pass_in_order_and_stay_passed(void **state)
{
    device_fixture w;
    mts_error error = {0};
    (void)state;
    world_open(&w);
    const uint64_t a = set(&w);
    const uint64_t b = set(&w);
    const uint64_t c = set(&w);
    assert_true(a < b && b < c);
    assert_false(passed(&w, a));
    gate_pass(2);
    assert_true(passed(&w, b));
    assert_true(passed(&w, a));
    assert_false(passed(&w, c));
    assert_int_equal(mts_timeline_wait(w.device, c, &error), MTS_STATUS_OK);
    assert_true(passed(&w, c));
    for (uint32_t i = 0; i < 5 * MTS_DEVICE_EVENTS; i++) {
        (void)set(&w);
        gate_pass(1);
    }
    assert_true(passed(&w, a)); /* whose mark stands for another one since long */
    device_fixture_close(&w);
}

static void more_fences_than_marks_wait_for_the_oldest(void **state)
{
    device_fixture w;
    (void)state;
    world_open(&w);
    const uint64_t first = set(&w);
    for (uint32_t i = 1; i < MTS_DEVICE_EVENTS; i++) {
        (void)set(&w);
    }
    assert_false(passed(&w, first));
    assert_int_equal(gate_marks(), MTS_DEVICE_EVENTS);
    const uint64_t last = set(&w);
    assert_int_equal(gate_marks(), MTS_DEVICE_EVENTS);
    assert_true(passed(&w, first));
    assert_false(passed(&w, first + 1));
    assert_false(passed(&w, last));
    device_fixture_close(&w);
}

static void expect_failed(device_fixture *w, uint64_t fence, const char *sentence)
{
    for (int i = 0; i < 2; i++) {
        bool answer = true;
        mts_error error = {MTS_STATUS_OK, ""};
        assert_int_equal(mts_timeline_reached(w->device, fence, &answer, &error), MTS_STATUS_DEVICE);
        assert_false(answer);
        assert_int_equal(error.code, MTS_STATUS_DEVICE);
        assert_non_null(strstr(error.text, sentence));
        assert_int_equal(mts_timeline_wait(w->device, fence, &error), MTS_STATUS_DEVICE);
    }
}

static void two_users_of_one_device_are_told_of_their_own_fences_only(void **state)
{
    device_fixture w;
    mts_error error = {0};
    uint64_t of_a[3], of_b[3];
    (void)state;
    world_open(&w);
    for (int i = 0; i < 3; i++) {
        of_a[i] = set(&w);
        of_b[i] = set(&w);
    }
    gate_pass(3);
    assert_true(passed(&w, of_a[1]));
    assert_false(passed(&w, of_b[1]));
    assert_true(passed(&w, of_b[0]));
    assert_false(passed(&w, of_b[2]));
    assert_int_equal(mts_timeline_wait(w.device, of_a[2], &error), MTS_STATUS_OK);
    assert_int_equal(gate_marks(), 1); /* the other's newest is not waited for */
    assert_true(passed(&w, of_b[1]));
    assert_false(passed(&w, of_b[2]));
    gate_pass(1);
    assert_true(passed(&w, of_b[2]));
    device_fixture_close(&w);
}

static void one_user_may_set_many_fences_while_another_asks_for_none(void **state)
{
    device_fixture w;
    (void)state;
    world_open(&w);
    const uint64_t quiet = set(&w);
    fail_question(1, false);
    for (uint32_t i = 0; i < 5 * MTS_DEVICE_EVENTS; i++) {
        const uint64_t fence = set(&w);
        gate_pass(2);
        assert_true(passed(&w, fence));
    }
    expect_failed(&w, quiet, "event_query fails on purpose (call 1)");
    device_fixture_close(&w);
}

static void a_failed_fence_is_told_to_its_owner_also_after_a_later_one_has_passed(void **state)
{
    device_fixture w;
    mts_error error = {0};
    (void)state;
    world_open(&w);
    const uint64_t before = set(&w);
    const uint64_t a = set(&w);
    const uint64_t b = set(&w);
    fail_question(2, false);
    assert_int_equal(mts_timeline_wait(w.device, b, &error), MTS_STATUS_OK);
    assert_true(passed(&w, b));
    expect_failed(&w, a, "call 2");
    assert_true(passed(&w, before));
    assert_int_equal(plan.failed, 1);
    device_fixture_close(&w);
}

static void setting_a_fence_does_not_fail_with_what_another_fence_failed_with(void **state)
{
    device_fixture w;
    uint64_t timeline_last[MTS_DEVICE_EVENTS + 1];
    (void)state;
    world_open(&w);
    for (uint32_t i = 0; i <= MTS_DEVICE_EVENTS; i++) {
        timeline_last[i] = set(&w);
        gate_pass(1);
        fail_question(1, true);
    }
    for (uint32_t i = 0; i <= MTS_DEVICE_EVENTS; i++) {
        expect_failed(&w, timeline_last[i], "event_query fails on purpose");
    }
    fail_question(0, false);
    const uint64_t after = set(&w);
    gate_pass(gate_marks());
    assert_true(passed(&w, after));
    for (uint32_t i = 0; i <= MTS_DEVICE_EVENTS; i++) {
        expect_failed(&w, timeline_last[i], "event_query fails on purpose");
    }
    device_fixture_close(&w);
}

/* More failures between good timeline_last than are kept apart: a failed one never becomes a good one. */
static void failures_without_end_are_told_and_new_fences_still_pass(void **state)
{
    enum { FENCES = 64 };
    device_fixture w;
    uint64_t timeline_last[FENCES];
    (void)state;
    world_open(&w);
    for (uint32_t i = 0; i < FENCES; i++) {
        bool answer = false;
        timeline_last[i] = set(&w);
        gate_pass(1);
        fail_question(i % 2 == 0 ? 1 : 0, false);
        (void)mts_timeline_reached(w.device, timeline_last[i], &answer, NULL);
        assert_int_equal(answer, i % 2 != 0);
    }
    for (uint32_t i = 0; i < FENCES; i += 2) {
        expect_failed(&w, timeline_last[i], "event_query fails on purpose");
    }
    assert_true(passed(&w, timeline_last[FENCES - 1]));
    assert_true(passed(&w, timeline_last[FENCES - 3]));
    device_fixture_close(&w);
}

static void a_loss_behind_a_decorator_ends_what_is_under_way(void **state)
{
    device_fixture w;
    mts_error error = {0};
    mts_buffer *buffer = NULL;
    uint64_t fence = 0;
    uint32_t word = 7, out = 0;
    (void)state;
    world_open(&w);
    assert_int_equal(mts_buffer_create(w.device, sizeof word, &buffer, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write_async(buffer, 0, &word, sizeof word, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read_async(buffer, 0, &out, sizeof out, NULL), MTS_STATUS_OK);
    (void)set(&w);
    plan = (mts_fault_plan){.kind = MTS_WRAP_KIND_EVENT_RECORD, .nth = 1, .code = MTS_STATUS_DEVICE_LOST};
    assert_int_equal(mts_timeline_signal(w.device, &fence, &error), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(out, word);
    assert_int_equal(gate_marks(), 0);
    mts_buffer_destroy(&buffer);
    device_fixture_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fences_pass_in_order_and_stay_passed),
        cmocka_unit_test(more_fences_than_marks_wait_for_the_oldest),
        cmocka_unit_test(two_users_of_one_device_are_told_of_their_own_fences_only),
        cmocka_unit_test(one_user_may_set_many_fences_while_another_asks_for_none),
        cmocka_unit_test(a_failed_fence_is_told_to_its_owner_also_after_a_later_one_has_passed),
        cmocka_unit_test(setting_a_fence_does_not_fail_with_what_another_fence_failed_with),
        cmocka_unit_test(failures_without_end_are_told_and_new_fences_still_pass),
        cmocka_unit_test(a_loss_behind_a_decorator_ends_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
