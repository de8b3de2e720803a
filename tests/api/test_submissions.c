/*
 * test_submissions.c: several frames of a session under way: their order, their outputs, what happens when there
 * are too many, and when they end. Most of it on a device that computes only when it is told to
 * (support/gate_device.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/submission_world.h"
#include "support/gate_device.h"

static void two_runs_are_on_the_device_and_the_others_wait_for_them(void **state)
{
    submission_world w;
    mts_ticket ticket = 0;
    (void)state;
    const mts_session_options options = submission_options(4, MTS_WHEN_FULL_BUSY);
    submission_open(&w, NULL, &options);
    assert_int_equal(mts_session_poll(w.session, &ticket), MTS_STATUS_NOT_FOUND);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(submission_submit(&w, i), i + 1);
        assert_int_equal(gate_marks(), i < 2 ? i + 1 : 2);
    }
    const mts_frame frame = submission_frame(&w, 4);
    assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_BUSY);
    assert_non_null(strstr(w.fixture.error, "4 runs"));
    assert_int_equal(mts_session_submit(w.session, NULL, &ticket), MTS_STATUS_BUSY);
    assert_int_equal(mts_session_poll(w.session, &ticket), MTS_STATUS_BUSY);
    assert_int_equal(submission_flow(&w).in_flight, 4);
    for (uint32_t i = 0; i < 4; i++) {
        gate_pass(1);
        assert_int_equal(mts_session_poll(w.session, &ticket), MTS_STATUS_OK);
        assert_int_equal(ticket, i + 1);
        assert_int_equal(gate_marks(), i < 2 ? 2 : 3 - i); /* the next one went there */
        submission_check(&w, i);
        assert_int_equal(mts_session_poll(w.session, &ticket),
                         i < 3 ? MTS_STATUS_BUSY : MTS_STATUS_NOT_FOUND);
        submission_check(&w, i); /* until another one is taken */
    }
    const mts_flow flow = submission_flow(&w);
    assert_int_equal(flow.completed, 4);
    assert_int_equal(flow.in_flight, 0);
    submission_close(&w);
}

static void memory_of_a_frame_that_waits_is_the_callers_again_at_once(void **state)
{
    submission_world w;
    uint8_t memory[PIXELS];
    (void)state;
    const mts_session_options options = submission_options(FRAMES, MTS_WHEN_FULL_BUSY);
    submission_open(&w, NULL, &options);
    for (uint32_t i = 0; i < FRAMES; i++) {
        mts_ticket ticket = 0;
        memcpy(memory, w.pixels[i], sizeof memory);
        const mts_frame frame = api_frame(memory);
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
        memset(memory, 0xa5, sizeof memory);
    }
    for (uint32_t i = 0; i < FRAMES; i++) {
        assert_int_equal(mts_session_wait(w.session, i + 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        submission_check(&w, i);
    }
    submission_close(&w);
}

static void lent_frames_are_read_where_they_lie_and_given_back_when_done(void **state)
{
    submission_world w;
    (void)state;
    mts_session_options options = submission_options(4, MTS_WHEN_FULL_BLOCK);
    options.done = submission_done;
    options.context = &w;
    submission_open(&w, NULL, &options);
    for (uint32_t i = 0; i < FRAMES; i++) {
        mts_ticket ticket = 0;
        mts_frame frame = submission_frame(&w, i);
        frame.zero_copy = 1;
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
        for (uint32_t k = 0; k < w.calls; k++) { /* the caller may overwrite it now */
            memset(w.pixels[k], 0xa5, PIXELS);
        }
    }
    assert_int_equal(mts_session_wait(w.session, FRAMES, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(w.calls, FRAMES);
    for (uint32_t i = 0; i < FRAMES; i++) {
        submission_check_call(&w, i, i + 1, MTS_STATUS_OK);
        assert_memory_equal(w.outputs[i], w.expected[i][1], sizeof w.outputs[i]);
    }
    submission_close(&w);
}

static void who_blocks_waits_for_the_oldest_and_is_told_of_it(void **state)
{
    submission_world w;
    (void)state;
    mts_session_options options = submission_options(3, MTS_WHEN_FULL_BLOCK);
    options.done = submission_done;
    options.context = &w;
    submission_open(&w, NULL, &options);
    w.inside = true;
    for (uint32_t i = 0; i < 3; i++) {
        (void)submission_submit(&w, i);
    }
    assert_int_equal(w.calls, 0);
    assert_int_equal(submission_submit(&w, 3), 4);
    assert_true(w.calls >= 1);
    submission_check_call(&w, 0, 1, MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, 4, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(w.calls, 4);
    assert_int_equal(submission_flow(&w).dropped, 0);
    submission_close(&w);
    assert_int_equal(w.calls, 4);
}

static void the_oldest_frame_that_is_not_on_the_device_is_dropped(void **state)
{
    submission_world w;
    (void)state;
    mts_session_options options = submission_options(3, MTS_WHEN_FULL_DROP_OLDEST);
    options.done = submission_done;
    options.context = &w;
    submission_open(&w, NULL, &options);
    w.inside = true;
    for (uint32_t i = 0; i < 6; i++) { /* 1 and 2 are on the device, 6 waits in the end */
        assert_int_equal(submission_submit(&w, i), i + 1);
        assert_int_equal(gate_marks(), i < 2 ? i + 1 : 2);
    }
    assert_int_equal(w.calls, 3);
    for (uint32_t i = 0; i < 3; i++) {
        submission_check_call(&w, i, i + 3, MTS_STATUS_CANCELLED);
    }
    assert_int_equal(mts_session_wait(w.session, 4, MTS_TIMEOUT_INFINITE), MTS_STATUS_CANCELLED);
    assert_non_null(strstr(w.fixture.error, "dropped"));
    assert_int_equal(mts_session_wait(w.session, 6, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    submission_check(&w, 5);
    submission_check_call(&w, 3, 1, MTS_STATUS_OK);
    submission_check_call(&w, 4, 2, MTS_STATUS_OK);
    submission_check_call(&w, 5, 6, MTS_STATUS_OK);
    const mts_flow flow = submission_flow(&w);
    assert_int_equal(flow.dropped, 3);
    assert_int_equal(flow.completed, 3);
    submission_close(&w);
}

static void what_nobody_took_in_time_is_dropped_before_what_waits(void **state)
{
    submission_world w;
    mts_ticket ticket = 0;
    (void)state;
    const mts_session_options options = submission_options(3, MTS_WHEN_FULL_DROP_OLDEST);
    submission_open(&w, NULL, &options);
    for (uint32_t i = 0; i < 3; i++) {
        (void)submission_submit(&w, i);
    }
    gate_pass(1);
    (void)submission_submit(&w, 3); /* 1 has finished; it goes */
    assert_int_equal(mts_session_wait(w.session, 1, 0), MTS_STATUS_CANCELLED);
    gate_pass(2);
    assert_int_equal(mts_session_poll(w.session, &ticket), MTS_STATUS_OK);
    assert_int_equal(ticket, 2);
    submission_check(&w, 1);
    assert_int_equal(mts_session_wait(w.session, 4, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    submission_check(&w, 3);
    assert_int_equal(submission_flow(&w).dropped, 1);
    submission_close(&w);
}

static void a_wait_takes_what_came_before_and_times_out_alone(void **state)
{
    submission_world w;
    (void)state;
    const mts_session_options options = submission_options(4, MTS_WHEN_FULL_BUSY);
    submission_open(&w, NULL, &options);
    for (uint32_t i = 0; i < 4; i++) {
        (void)submission_submit(&w, i);
    }
    assert_int_equal(mts_session_wait(w.session, 3, 2), MTS_STATUS_TIMEOUT);
    assert_int_equal(mts_session_wait(w.session, 5, 0), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(submission_flow(&w).in_flight, 4);
    gate_pass(1);
    assert_int_equal(mts_session_wait(w.session, 3, 0), MTS_STATUS_TIMEOUT); /* 1 is taken on the way */
    submission_check(&w, 0);
    assert_int_equal(mts_session_wait(w.session, 3, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    submission_check(&w, 2);
    assert_int_equal(mts_session_wait(w.session, 3, 0), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, 2, 0), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(submission_flow(&w).completed, 3);
    submission_close(&w);
}

static void a_session_that_goes_ends_its_runs_and_tells(void **state)
{
    submission_world w;
    (void)state;
    mts_session_options options = submission_options(5, MTS_WHEN_FULL_DROP_OLDEST);
    options.done = submission_done;
    options.context = &w;
    submission_open(&w, NULL, &options);
    for (uint32_t i = 0; i < 5; i++) {
        mts_ticket ticket = 0;
        mts_frame frame = submission_frame(&w, i);
        frame.zero_copy = i % 2;
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
    }
    gate_pass(1); /* finished, and not polled */
    submission_close(&w);
    assert_int_equal(w.calls, 5);
    for (uint32_t i = 0; i < 5; i++) {
        submission_check_call(&w, i, i + 1, MTS_STATUS_CANCELLED);
    }
}

static void a_frame_that_waits_can_be_withdrawn(void **state)
{
    submission_world w;
    (void)state;
    mts_session_options options = submission_options(4, MTS_WHEN_FULL_BUSY);
    options.done = submission_done;
    options.context = &w;
    submission_open(&w, NULL, &options);
    for (uint32_t i = 0; i < 4; i++) {
        (void)submission_submit(&w, i);
    }
    assert_int_equal(mts_session_cancel(w.session, 3), MTS_STATUS_OK);
    submission_check_call(&w, 0, 3, MTS_STATUS_CANCELLED);
    assert_int_equal(mts_session_cancel(w.session, 3), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(submission_submit(&w, 4), 5);
    assert_int_equal(mts_session_wait(w.session, 5, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    submission_check(&w, 4);
    assert_int_equal(w.calls, 5);
    submission_close(&w);
}

static void inputs_belong_to_the_next_submission(void **state)
{
    submission_world w;
    mts_ticket ticket = 0;
    static const char *const pet[] = {"pet"};
    (void)state;
    mts_session_options options = submission_options(3, MTS_WHEN_FULL_BUSY);
    options.tasks = pet;
    options.task_count = 1;
    submission_open(&w, NULL, &options);
    const mts_frame frames[3] = {submission_frame(&w, 0), submission_frame(&w, 1), submission_frame(&w, 2)};
    assert_int_equal(mts_session_input_frame(w.session, "pet", &frames[0]), MTS_STATUS_OK);
    assert_int_equal(mts_session_submit(w.session, NULL, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_input_frame(w.session, "pet", &frames[1]), MTS_STATUS_OK);
    assert_int_equal(mts_session_submit(w.session, NULL, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_submit(w.session, &frames[2], &ticket), MTS_STATUS_OK); /* it waits */
    assert_int_equal(mts_session_input_frame(w.session, "pet", &frames[1]), MTS_STATUS_BUSY);
    for (uint32_t i = 0; i < 3; i++) {
        float now[VALUES];
        assert_int_equal(mts_session_wait(w.session, i + 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        submission_values(&w, "pet", now);
        assert_memory_equal(now, w.expected[i][0], sizeof now);
    }
    submission_close(&w);
}

static void rates_count_frames_that_reach_the_device_and_others_keep_their_outputs(void **state)
{
    submission_world w;
    mts_ticket ticket = 0;
    float now[VALUES];
    (void)state;
    const mts_session_options options = submission_options(4, MTS_WHEN_FULL_BUSY);
    submission_open(&w, NULL, &options);
    assert_int_equal(mts_session_rate(w.session, "object", 2), MTS_STATUS_OK);
    for (uint32_t i = 0; i < 2; i++) { /* lists of both sets are made, which waits for the device */
        assert_int_equal(mts_session_wait(w.session, submission_submit(&w, i), MTS_TIMEOUT_INFINITE),
                         MTS_STATUS_OK);
    }
    for (uint32_t i = 2; i < 6; i++) {
        (void)submission_submit(&w, i);
    }
    assert_int_equal(mts_session_cancel(w.session, 5), MTS_STATUS_OK); /* runs of it are 1, 3 and 6 */
    for (uint32_t i = 2; i < 6; i++) {
        if (i == 4) {
            continue;
        }
        assert_int_equal(mts_session_wait(w.session, i + 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        submission_values(&w, "pet", now);
        assert_memory_equal(now, w.expected[i][0], sizeof now);
        submission_values(&w, "object", now);
        assert_memory_equal(now, w.expected[i < 5 ? 2 : 5][1], sizeof now);
        assert_int_equal(mts_session_output_ticket(w.session, "object", &ticket), MTS_STATUS_OK);
        assert_int_equal(ticket, i < 5 ? 3 : 6);
    }
    mts_task_stats stats = {.size = sizeof stats};
    assert_int_equal(mts_session_task_stats(w.session, "object", &stats), MTS_STATUS_OK);
    assert_int_equal(stats.runs, 3);
    assert_true(stats.p50_ms > 0.0 && stats.p95_ms >= stats.p50_ms);
    assert_int_equal(mts_session_task_stats(w.session, "pet", &stats), MTS_STATUS_OK);
    assert_int_equal(stats.runs, 5);
    submission_close(&w);
}

static void groups_of_a_run_with_a_deadline_go_before_the_next_run(void **state)
{
    static const uint32_t priorities[] = {1, 0};
    submission_world w;
    (void)state;
    mts_session_options options = submission_options(4, MTS_WHEN_FULL_BUSY);
    options.priorities = priorities;
    submission_open(&w, NULL, &options);
    assert_int_equal(mts_session_deadline(w.session, 3600000), MTS_STATUS_OK);
    const uint32_t before = gate_lists();
    (void)submission_submit(&w, 0);
    (void)submission_submit(&w, 1);
    assert_int_equal(gate_lists() - before, 2); /* the frame's, and that of the first group */
    mts_ticket ticket = 0;
    gate_pass(1);
    assert_int_equal(mts_session_poll(w.session, &ticket), MTS_STATUS_BUSY);
    assert_int_equal(gate_lists() - before, 5); /* the second group, and the next run behind it */
    assert_int_equal(mts_session_wait(w.session, 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    submission_check(&w, 0);
    assert_int_equal(mts_session_cancel(w.session, 2), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, 2, MTS_TIMEOUT_INFINITE), MTS_STATUS_CANCELLED);
    float now[VALUES];
    submission_values(&w, "pet", now);
    assert_memory_equal(now, w.expected[1][0], sizeof now);
    submission_values(&w, "object", now);
    assert_memory_equal(now, w.expected[0][1], sizeof now); /* left out */
    submission_close(&w);
}

static void frames_keep_the_regions_that_they_were_submitted_with(void **state)
{
    submission_world w;
    static const char *const pet[] = {"pet"};
    const mts_region whole = {.width = 32, .height = 32};
    const mts_region corner = {.width = 8, .height = 8};
    float now[VALUES];
    (void)state;
    mts_session_options options = submission_options(4, MTS_WHEN_FULL_BUSY);
    options.tasks = pet;
    options.task_count = 1;
    submission_open(&w, NULL, &options);
    for (uint32_t i = 0; i < 4; i++) {
        (void)submission_submit(&w, i);
        assert_int_equal(mts_session_regions(w.session, NULL, i % 2 ? &whole : &corner, 1), MTS_STATUS_OK);
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(mts_session_wait(w.session, i + 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        submission_values(&w, "pet", now);
        assert_int_equal(memcmp(now, w.expected[i][0], sizeof now) == 0, i % 2 == 0);
    }
    submission_close(&w);
}

static void steady_streams_allocate_nothing(void **state)
{
    static const mts_when_full ways[] = {MTS_WHEN_FULL_BUSY, MTS_WHEN_FULL_BLOCK, MTS_WHEN_FULL_DROP_OLDEST};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        submission_world w;
        mts_session_options options = submission_options(4, ways[i]);
        options.context = &w;
        options.done = submission_done;
        submission_open(&w, NULL, &options);
        size_t calls = 0;
        for (uint32_t n = 0; n < 60; n++) {
            mts_ticket ticket = 0;
            mts_frame frame = submission_frame(&w, n % FRAMES);
            frame.region.x = n % 5; /* what is copied differs */
            frame.region.width = frame.region.height = 32 - n % 7;
            frame.region.x = n % 7 ? n % 5 : 0;
            frame.region.width = 32 - frame.region.x;
            w.calls = 0;
            calls = n == 10 ? w.fixture.calls : calls;
            const mts_status status = mts_session_submit(w.session, &frame, &ticket);
            assert_true(status == MTS_STATUS_OK || status == MTS_STATUS_BUSY);
            gate_pass(n % 3);
        }
        assert_int_equal(w.fixture.calls, calls);
        (void)submission_flow(&w);
        submission_close(&w);
    }
}

static void any_device_gives_each_frame_its_own_answers(void **state)
{
    (void)state;
    for (uint32_t d = 0; d < mts_device_count(); d++) {
        mts_device_desc device = {.size = sizeof device};
        submission_world w;
        mts_ticket ticket = 0;
        uint32_t submitted = 0;
        uint32_t taken = 0;
        assert_int_equal(mts_device_describe(d, &device), MTS_STATUS_OK);
        const mts_session_options options = submission_options(5, MTS_WHEN_FULL_BUSY);
        submission_open(&w, device.id, &options);
        while (taken < 5 * FRAMES) {
            const mts_frame frame = submission_frame(&w, submitted % FRAMES);
            mts_status status =
                submitted < 5 * FRAMES ? mts_session_submit(w.session, &frame, &ticket) : MTS_STATUS_BUSY;
            submitted += status == MTS_STATUS_OK ? 1 : 0;
            if (status == MTS_STATUS_OK && submitted % 7 != 0) {
                continue;
            }
            status = submitted % 2 ? mts_session_poll(w.session, &ticket)
                                   : mts_session_wait(w.session, ticket = taken + 1, 1);
            if (status != MTS_STATUS_OK) {
                assert_true(status == MTS_STATUS_BUSY || status == MTS_STATUS_TIMEOUT);
                continue;
            }
            assert_int_equal(ticket, taken + 1);
            submission_check(&w, taken % FRAMES);
            taken++;
        }
        submission_close(&w);
    }
}

static void options_that_contradict_each_other_are_refused(void **state)
{
    submission_world w;
    (void)state;
    const mts_session_options good = submission_options(2, MTS_WHEN_FULL_BUSY);
    submission_open(&w, NULL, &good);
    mts_session_destroy(&w.session);
    mts_session_options bad[6];
    for (size_t i = 0; i < 6; i++) {
        bad[i] = good;
    }
    bad[0].frames_in_flight = 0;
    bad[1].frames_in_flight = 17;
    bad[2].when_full = (mts_when_full)3;
    bad[3].when_full = MTS_WHEN_FULL_BLOCK; /* without `done` */
    bad[4].when_full = MTS_WHEN_FULL_DROP_OLDEST;
    bad[4].frames_in_flight = 1;
    bad[5].zero_copy_inputs = 1;
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &bad[i], &w.session),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_null(w.session);
    }
    submission_session(&w, &good);
    mts_flow flow = {0};
    mts_task_stats stats = {0};
    mts_ticket ticket = 0;
    assert_int_equal(mts_session_flow(w.session, &flow), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_flow(w.session, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_flow(NULL, &flow), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_task_stats(w.session, "pet", &stats), MTS_STATUS_INVALID_ARGUMENT);
    stats.size = sizeof stats;
    assert_int_equal(mts_session_task_stats(w.session, "nobody", &stats), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_poll(w.session, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_poll(NULL, &ticket), MTS_STATUS_INVALID_ARGUMENT);
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
        cmocka_unit_test(two_runs_are_on_the_device_and_the_others_wait_for_them),
        cmocka_unit_test(memory_of_a_frame_that_waits_is_the_callers_again_at_once),
        cmocka_unit_test(lent_frames_are_read_where_they_lie_and_given_back_when_done),
        cmocka_unit_test(who_blocks_waits_for_the_oldest_and_is_told_of_it),
        cmocka_unit_test(the_oldest_frame_that_is_not_on_the_device_is_dropped),
        cmocka_unit_test(what_nobody_took_in_time_is_dropped_before_what_waits),
        cmocka_unit_test(a_wait_takes_what_came_before_and_times_out_alone),
        cmocka_unit_test(a_session_that_goes_ends_its_runs_and_tells),
        cmocka_unit_test(a_frame_that_waits_can_be_withdrawn),
        cmocka_unit_test(inputs_belong_to_the_next_submission),
        cmocka_unit_test(rates_count_frames_that_reach_the_device_and_others_keep_their_outputs),
        cmocka_unit_test(groups_of_a_run_with_a_deadline_go_before_the_next_run),
        cmocka_unit_test(frames_keep_the_regions_that_they_were_submitted_with),
        cmocka_unit_test(steady_streams_allocate_nothing),
        cmocka_unit_test(any_device_gives_each_frame_its_own_answers),
        cmocka_unit_test(options_that_contradict_each_other_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
