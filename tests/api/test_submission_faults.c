/*
 * test_submission_faults.c: frames in flight when something goes wrong: devices that fail, frames that are
 * refused, callers who do what they must not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "tests/support/fault.h"
#include "support/submission_world.h"
#include "support/gate_device.h"

static mts_fault_plan plan;

/* A world whose device also fails on request. */
static void open_failing(submission_world *w, const mts_session_options *options)
{
    mts_error error = {0};
    const mts_session_options first = submission_options(1, MTS_WHEN_FULL_BUSY);
    submission_open(w, NULL, &first);
    mts_session_destroy(&w->session);
    mts_device **device = &w->fixture.runtime->device;
    plan = (mts_fault_plan){.nth = 0};
    assert_int_equal(mts_wrap_fault(device, &plan, device, &error), MTS_STATUS_OK);
    submission_session(w, options);
}

static void fail_next(mts_wrap_kind kind, uint32_t nth)
{
    plan = (mts_fault_plan){.kind = kind, .nth = nth, .code = MTS_STATUS_DEVICE};
}

static mts_ticket ticket_of(const submission_world *w, const char *task)
{
    mts_ticket ticket = 0;
    assert_int_equal(mts_session_output_ticket(w->session, task, &ticket), MTS_STATUS_OK);
    return ticket;
}

static void a_frame_that_is_refused_drops_no_other(void **state)
{
    submission_world w;
    mts_ticket ticket = 0;
    (void)state;
    mts_session_options options = submission_options(3, MTS_WHEN_FULL_DROP_OLDEST);
    options.done = submission_done;
    options.context = &w;
    submission_open(&w, NULL, &options);
    for (uint32_t i = 0; i < 3; i++) {
        (void)submission_submit(&w, i);
    }
    mts_frame bad = submission_frame(&w, 3);
    bad.memory = MTS_MEMORY_DMABUF;
    bad.fd = -1;
    assert_int_equal(mts_session_submit(w.session, &bad, &ticket), MTS_STATUS_INVALID_ARGUMENT);
    bad = submission_frame(&w, 3);
    bad.region.width = bad.region.height = 33;
    assert_int_equal(mts_session_submit(w.session, &bad, &ticket), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(w.calls, 0);
    assert_int_equal(submission_flow(&w).dropped, 0);
    assert_int_equal(mts_session_wait(w.session, 3, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    submission_check(&w, 2);
    submission_close(&w);
}

static void inputs_as_they_are_block_and_drop_as_frames_do(void **state)
{
    submission_world w;
    mts_ticket ticket = 0;
    (void)state;
    mts_session_options options = submission_options(2, MTS_WHEN_FULL_BLOCK);
    options.done = submission_done;
    options.context = &w;
    submission_open(&w, NULL, &options);
    (void)submission_submit(&w, 0);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(mts_session_submit(w.session, NULL, &ticket), MTS_STATUS_OK);
    }
    assert_int_equal(ticket, 7);
    assert_int_equal(mts_session_wait(w.session, 7, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    submission_check(&w, 0);
    submission_close(&w);
    assert_int_equal(w.calls, 7);

    options = submission_options(3, MTS_WHEN_FULL_DROP_OLDEST);
    submission_open(&w, NULL, &options);
    (void)submission_submit(&w, 1);
    assert_int_equal(mts_session_submit(w.session, NULL, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_submit(w.session, NULL, &ticket),
                     MTS_STATUS_BUSY); /* two are on the device */
    assert_non_null(strstr(w.fixture.error, "cannot wait"));
    gate_pass(2);
    assert_int_equal(mts_session_submit(w.session, NULL, &ticket), MTS_STATUS_OK);
    gate_pass(1);
    assert_int_equal(mts_session_submit(w.session, NULL, &ticket),
                     MTS_STATUS_OK); /* 1, which was not consumed, is dropped */
    assert_int_equal(submission_flow(&w).dropped, 1);
    assert_int_equal(mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    submission_check(&w, 1);
    submission_close(&w);
}

static void what_an_input_borrowed_goes_with_the_run_that_it_is_of(void **state)
{
    static const char *const pet[] = {"pet"};
    submission_world w;
    mts_ticket ticket = 0;
    float now[VALUES];
    (void)state;
    mts_session_options options = submission_options(3, MTS_WHEN_FULL_BUSY);
    options.tasks = pet;
    options.task_count = 1;
    submission_open(&w, NULL, &options);
    (void)submission_submit(&w, 0);
    mts_frame zero_copy = submission_frame(&w, 1);
    zero_copy.zero_copy = 1;
    assert_int_equal(mts_session_input_frame(w.session, "pet", &zero_copy), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    mts_frame bad = submission_frame(&w, 2);
    bad.memory = MTS_MEMORY_DMABUF;
    bad.fd = -1;
    assert_int_equal(mts_session_input_frame(w.session, "pet", &zero_copy),
                     MTS_STATUS_OK); /* its launch is queued */
    assert_int_equal(mts_session_submit(w.session, &bad, &ticket), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_submit(w.session, NULL, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    submission_values(&w, "pet", now);
    assert_memory_equal(now, w.expected[1][0], sizeof now);
    memset(w.pixels[1], 0xa5, PIXELS); /* ours again */
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(mts_session_submit(w.session, NULL, &ticket),
                         i < 2 ? MTS_STATUS_OK : MTS_STATUS_BUSY);
    }
    submission_close(&w);
}

static void a_lent_input_of_a_frame_that_is_withdrawn_is_not_let_go_before_it_was_read(void **state)
{
    static const char *const pet[] = {"pet"};
    submission_world w;
    mts_ticket ticket = 0;
    (void)state;
    mts_session_options options = submission_options(4, MTS_WHEN_FULL_BUSY);
    options.tasks = pet;
    options.task_count = 1;
    submission_open(&w, NULL, &options);
    (void)submission_submit(&w, 0);
    (void)submission_submit(&w, 1);
    mts_frame zero_copy = submission_frame(&w, 2);
    zero_copy.zero_copy = 1;
    assert_int_equal(mts_session_input_frame(w.session, "pet", &zero_copy), MTS_STATUS_OK);
    const mts_frame frame = submission_frame(&w, 3);
    assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
    const mts_status status = mts_session_cancel(w.session, ticket);
    assert_int_equal(status, MTS_STATUS_OK); /* the gate fails where a list loses its buffer */
    submission_close(&w);
}

static void a_failure_is_said_before_it_is_told_and_ends_one_run_only(void **state)
{
    submission_world w;
    mts_ticket ticket = 0;
    (void)state;
    mts_session_options options = submission_options(4, MTS_WHEN_FULL_BUSY);
    options.done = submission_done;
    options.context = &w;
    open_failing(&w, &options);
    for (uint32_t i = 0; i < 4; i++) {
        (void)submission_submit(&w, i);
    }
    gate_pass(1);
    w.fixture.error[0] = '\0';
    fail_next(MTS_WRAP_KIND_LIST_SUBMIT, 1); /* of the third, when it is its turn */
    assert_int_equal(mts_session_poll(w.session, &ticket), MTS_STATUS_OK);
    assert_int_equal(plan.failed, 1);
    assert_int_equal(mts_session_wait(w.session, 3, MTS_TIMEOUT_INFINITE), MTS_STATUS_DEVICE);
    assert_non_null(strstr(w.fixture.error, "on purpose"));
    submission_check_call(&w, 2, 3, MTS_STATUS_DEVICE);
    assert_int_equal(mts_session_output_ticket(w.session, "pet", &ticket), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_wait(w.session, 4, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    submission_check(&w, 3);
    const mts_flow flow = submission_flow(&w);
    assert_int_equal(flow.failed, 1);
    assert_int_equal(flow.completed, 3);
    submission_close(&w);
}

static void a_run_that_fails_takes_no_outputs_of_tasks_that_were_not_in_it(void **state)
{
    submission_world w;
    mts_ticket ticket = 0;
    (void)state;
    const mts_session_options options = submission_options(3, MTS_WHEN_FULL_BUSY);
    open_failing(&w, &options);
    assert_int_equal(mts_session_wait(w.session, submission_submit(&w, 0), MTS_TIMEOUT_INFINITE),
                     MTS_STATUS_OK);
    assert_int_equal(mts_session_enable(w.session, "object", 0), MTS_STATUS_OK);
    for (uint32_t i = 1; i < 4; i++) {
        assert_int_equal(mts_session_wait(w.session, submission_submit(&w, i), MTS_TIMEOUT_INFINITE),
                         MTS_STATUS_OK);
    }
    for (uint32_t i = 4; i < 7; i++) {
        (void)submission_submit(&w, i);
    }
    gate_pass(1);
    fail_next(MTS_WRAP_KIND_BUFFER_WRITE_ASYNC, 1);
    assert_int_equal(mts_session_poll(w.session, &ticket), MTS_STATUS_OK);
    assert_int_equal(plan.failed, 1);
    assert_int_equal(mts_session_wait(w.session, 7, MTS_TIMEOUT_INFINITE), MTS_STATUS_DEVICE);
    assert_int_equal(ticket_of(&w, "object"), 1);
    assert_int_equal(mts_session_output_ticket(w.session, "pet", &ticket), MTS_STATUS_NOT_FOUND);
    submission_close(&w);
}

static void a_submission_that_fails_does_not_count_in_a_rate(void **state)
{
    submission_world w;
    mts_ticket ticket = 0;
    (void)state;
    const mts_session_options options = submission_options(2, MTS_WHEN_FULL_BUSY);
    open_failing(&w, &options);
    assert_int_equal(mts_session_rate(w.session, "object", 5), MTS_STATUS_OK);
    const mts_frame frame = submission_frame(&w, 1);
    fail_next(MTS_WRAP_KIND_EVENT_RECORD, 1);
    assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_DEVICE);
    assert_int_equal(mts_session_wait(w.session, submission_submit(&w, 2), MTS_TIMEOUT_INFINITE),
                     MTS_STATUS_OK);
    submission_check(&w, 2);
    submission_close(&w);
}

/* Every call of the device fails once, with runs under way. */
static void whatever_fails_each_ticket_ends_once_and_the_next_frames_are_right(void **state)
{
    submission_world w;
    bool failed = true;
    uint32_t failures = 0;
    (void)state;
    mts_session_options options = submission_options(4, MTS_WHEN_FULL_DROP_OLDEST);
    options.done = submission_done;
    options.context = &w;
    open_failing(&w, &options);
    for (uint32_t nth = 1; failed; nth++) {
        mts_session_destroy(&w.session);
        submission_session(&w, &options);
        assert_int_equal(mts_session_wait(w.session, submission_submit(&w, 0), MTS_TIMEOUT_INFINITE),
                         MTS_STATUS_OK);
        uint32_t accepted = 0;
        w.calls = 0;
        fail_next(MTS_WRAP_KIND_COUNT, nth);
        for (uint32_t i = 0; i < 6; i++) {
            mts_ticket ticket = 0;
            const mts_frame frame = submission_frame(&w, i);
            accepted += mts_session_submit(w.session, &frame, &ticket) == MTS_STATUS_OK ? 1 : 0;
            gate_pass(i % 2);
            (void)mts_session_poll(w.session, &ticket);
        }
        failed = plan.failed > 0;
        failures += failed ? 1 : 0;
        plan.nth = 0;
        assert_int_equal(mts_session_wait(w.session, submission_submit(&w, 8), MTS_TIMEOUT_INFINITE),
                         MTS_STATUS_OK);
        submission_check(&w, 8);
        assert_int_equal(w.calls, accepted + 1);
        assert_int_equal(submission_flow(&w).in_flight, 0);
    }
    assert_true(failures > 20);
    submission_close(&w);
}

static void numbers_add_up_when_a_session_goes_and_a_cancelled_run_stays_one(void **state)
{
    submission_world w;
    static const uint32_t priorities[] = {1, 0};
    (void)state;
    mts_session_options options = submission_options(3, MTS_WHEN_FULL_BUSY);
    options.priorities = priorities;
    submission_open(&w, NULL, &options);
    assert_int_equal(mts_session_deadline(w.session, 3600000), MTS_STATUS_OK);
    (void)submission_submit(&w, 0);
    assert_int_equal(mts_session_cancel(w.session, 1), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_CANCELLED);
    assert_int_equal(mts_session_wait(w.session, 1, 0), MTS_STATUS_CANCELLED);
    assert_int_equal(submission_flow(&w).completed, 1);
    submission_close(&w);
}

static void outputs_stay_when_nothing_runs(void **state)
{
    submission_world w;
    float before[VALUES], after[VALUES];
    (void)state;
    const mts_session_options options = submission_options(3, MTS_WHEN_FULL_BUSY);
    submission_open(&w, NULL, &options);
    assert_int_equal(mts_session_wait(w.session, submission_submit(&w, 0), MTS_TIMEOUT_INFINITE),
                     MTS_STATUS_OK);
    submission_values(&w, "pet", before);
    assert_int_equal(mts_session_enable(w.session, "pet", 0), MTS_STATUS_OK);
    assert_int_equal(mts_session_enable(w.session, "object", 0), MTS_STATUS_OK);
    for (uint32_t i = 1; i < 3; i++) {
        (void)submission_submit(&w, i);
    }
    assert_int_equal(mts_session_wait(w.session, 3, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    submission_values(&w, "pet", after);
    assert_memory_equal(before, after, sizeof after);
    assert_int_equal(ticket_of(&w, "pet"), 1);
    submission_close(&w);
}

static void two_sessions_of_a_runtime_keep_their_runs_apart(void **state)
{
    submission_world w;
    (void)state;
    const mts_session_options options = submission_options(3, MTS_WHEN_FULL_BUSY);
    submission_open(&w, NULL, &options);
    mts_session *sessions[2] = {w.session, NULL};
    submission_session(&w, &options);
    sessions[1] = w.session;
    for (uint32_t i = 0; i < 6; i++) {
        w.session = sessions[i % 2];
        (void)submission_submit(&w, i);
        if (i < 4) { /* no call waits for the other one's runs */
            assert_int_equal(gate_marks(), i + 1);
        }
    }
    for (uint32_t i = 0; i < 6; i++) {
        w.session = sessions[i % 2];
        assert_int_equal(mts_session_wait(w.session, i / 2 + 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        submission_check(&w, i);
    }
    mts_session_destroy(&sessions[1]);
    w.session = sessions[0];
    submission_close(&w);
}

static int teardown(void **state)
{
    (void)state;
    api_bundle_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_that_is_refused_drops_no_other),
        cmocka_unit_test(inputs_as_they_are_block_and_drop_as_frames_do),
        cmocka_unit_test(what_an_input_borrowed_goes_with_the_run_that_it_is_of),
        cmocka_unit_test(a_lent_input_of_a_frame_that_is_withdrawn_is_not_let_go_before_it_was_read),
        cmocka_unit_test(a_failure_is_said_before_it_is_told_and_ends_one_run_only),
        cmocka_unit_test(a_run_that_fails_takes_no_outputs_of_tasks_that_were_not_in_it),
        cmocka_unit_test(a_submission_that_fails_does_not_count_in_a_rate),
        cmocka_unit_test(whatever_fails_each_ticket_ends_once_and_the_next_frames_are_right),
        cmocka_unit_test(numbers_add_up_when_a_session_goes_and_a_cancelled_run_stays_one),
        cmocka_unit_test(outputs_stay_when_nothing_runs),
        cmocka_unit_test(two_sessions_of_a_runtime_keep_their_runs_apart),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
