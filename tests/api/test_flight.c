/*
 * test_flight.c: several frames of a session under way: their order, their outputs, what happens when there
 * are too many, and when they end. Most of it on a device that computes only when it is told to
 * (support/gate_device.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "support/api_fixture.h"
#include "support/gate_device.h"

#define PIXELS ((size_t)3 * 32 * 32)
#define VALUES 16
#define FRAMES 12
#define CALLS_MOST 64

static const char *const names[] = {"pet", "object"};

typedef struct world {
    api_fixture fixture;
    mts_bundle *bundle;
    mts_session *session;
    uint8_t pixels[FRAMES][PIXELS];
    float expected[FRAMES][2][VALUES]; /* of the frames, one by one */

    /* what `done` was called with */
    mts_ticket tickets[CALLS_MOST];
    mts_status statuses[CALLS_MOST];
    float outputs[CALLS_MOST][VALUES];
    uint32_t calls;
    bool inside; /* `done` tries what it must not */
} world;

static mts_frame frame_of(const world *w, uint32_t index)
{
    return api_frame(w->pixels[index]);
}

static void values_get(const world *w, const char *task, float values[VALUES])
{
    mts_tensor tensor;
    assert_int_equal(mts_session_output(w->session, task, 0, &tensor), MTS_STATUS_OK);
    assert_true(tensor.bytes <= VALUES * sizeof *values);
    memset(values, 0, VALUES * sizeof *values);
    memcpy(values, tensor.data, tensor.bytes);
}

static void check_values(const world *w, uint32_t frame)
{
    for (uint32_t t = 0; t < 2; t++) {
        float now[VALUES];
        values_get(w, names[t], now);
        assert_memory_equal(now, w->expected[frame][t], sizeof now);
    }
}

static mts_session_options options_of(uint32_t places, mts_when_full when_full)
{
    mts_session_options options;
    mts_session_options_default(&options);
    options.tasks = names;
    options.task_count = 2;
    options.frames_in_flight = places;
    options.when_full = when_full;
    return options;
}

static void session_make(world *w, const mts_session_options *options)
{
    if (mts_session_create(w->fixture.runtime, w->bundle, options, &w->session) != MTS_STATUS_OK) {
        fail_msg("cannot make a session: %s", w->fixture.error);
    }
}

/* The frames one by one, in a session that waits for each. */
static void expect(world *w)
{
    const mts_session_options options = options_of(1, MTS_WHEN_FULL_BUSY);
    session_make(w, &options);
    for (uint32_t i = 0; i < FRAMES; i++) {
        mts_ticket ticket = 0;
        api_pixels(w->pixels[i], i + 1);
        const mts_frame frame = frame_of(w, i);
        assert_int_equal(mts_session_submit(w->session, &frame, &ticket), MTS_STATUS_OK);
        assert_int_equal(mts_session_wait(w->session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        for (uint32_t t = 0; t < 2; t++) {
            values_get(w, names[t], w->expected[i][t]);
        }
    }
    mts_session_destroy(&w->session);
}

static void world_open(world *w, const char *device, const mts_session_options *options)
{
    memset(w, 0, sizeof *w);
    api_open(&w->fixture, device ? device : "reference");
    assert_int_equal(mts_bundle_open(w->fixture.runtime, api_bundle_path(), &w->bundle), MTS_STATUS_OK);
    expect(w);
    if (!device) {
        gate_install(w->fixture.runtime->device);
    }
    session_make(w, options);
}

static void world_close(world *w)
{
    mts_session_destroy(&w->session);
    mts_bundle_destroy(&w->bundle);
    api_close(&w->fixture);
}

static mts_ticket submit(world *w, uint32_t index)
{
    mts_ticket ticket = 0;
    const mts_frame frame = frame_of(w, index % FRAMES);
    assert_int_equal(mts_session_submit(w->session, &frame, &ticket), MTS_STATUS_OK);
    return ticket;
}

static mts_flow flow_of(const world *w)
{
    mts_flow flow = {.size = sizeof flow};
    assert_int_equal(mts_session_flow(w->session, &flow), MTS_STATUS_OK);
    assert_true(flow.submitted == flow.taken + flow.dropped + flow.failed + flow.under_way);
    return flow;
}

static void on_done(void *context, mts_ticket ticket, mts_status status)
{
    world *w = context;
    assert_true(w->calls < CALLS_MOST);
    w->tickets[w->calls] = ticket;
    w->statuses[w->calls] = status;
    if (status == MTS_STATUS_OK) {
        values_get(w, "object", w->outputs[w->calls]);
    }
    w->calls++;
    if (w->inside) {
        mts_ticket none = 0;
        mts_session *session = w->session;
        const mts_frame frame = frame_of(w, 0);
        assert_int_equal(mts_session_submit(w->session, &frame, &none), MTS_STATUS_BUSY);
        assert_int_equal(mts_session_wait(w->session, ticket, 0), MTS_STATUS_BUSY);
        assert_int_equal(mts_session_poll(w->session, &none), MTS_STATUS_BUSY);
        assert_int_equal(mts_session_cancel(w->session, ticket), MTS_STATUS_BUSY);
        assert_int_equal(mts_session_input_frame(w->session, "pet", &frame), MTS_STATUS_BUSY);
        mts_session_destroy(&session);
        assert_ptr_equal(session, w->session);
        assert_int_equal(mts_session_enable(w->session, "pet", 1), MTS_STATUS_OK);
    }
}

static void check_call(const world *w, uint32_t call, mts_ticket ticket, mts_status status)
{
    assert_true(call < w->calls);
    assert_int_equal(w->tickets[call], ticket);
    assert_int_equal(w->statuses[call], status);
}

static void two_runs_are_on_the_device_and_the_others_wait_for_them(void **state)
{
    world w;
    mts_ticket ticket = 0;
    (void)state;
    const mts_session_options options = options_of(4, MTS_WHEN_FULL_BUSY);
    world_open(&w, NULL, &options);
    assert_int_equal(mts_session_poll(w.session, &ticket), MTS_STATUS_NOT_FOUND);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(submit(&w, i), i + 1);
        assert_int_equal(gate_marks(), i < 2 ? i + 1 : 2);
    }
    const mts_frame frame = frame_of(&w, 4);
    assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_BUSY);
    assert_non_null(strstr(w.fixture.error, "4 runs"));
    assert_int_equal(mts_session_submit(w.session, NULL, &ticket), MTS_STATUS_BUSY);
    assert_int_equal(mts_session_poll(w.session, &ticket), MTS_STATUS_BUSY);
    assert_int_equal(flow_of(&w).under_way, 4);
    for (uint32_t i = 0; i < 4; i++) {
        gate_pass(1);
        assert_int_equal(mts_session_poll(w.session, &ticket), MTS_STATUS_OK);
        assert_int_equal(ticket, i + 1);
        assert_int_equal(gate_marks(), i < 2 ? 2 : 3 - i); /* the next one went there */
        check_values(&w, i);
        assert_int_equal(mts_session_poll(w.session, &ticket),
                         i < 3 ? MTS_STATUS_BUSY : MTS_STATUS_NOT_FOUND);
        check_values(&w, i); /* until another one is taken */
    }
    const mts_flow flow = flow_of(&w);
    assert_int_equal(flow.taken, 4);
    assert_int_equal(flow.under_way, 0);
    world_close(&w);
}

static void memory_of_a_frame_that_waits_is_the_callers_again_at_once(void **state)
{
    world w;
    uint8_t memory[PIXELS];
    (void)state;
    const mts_session_options options = options_of(FRAMES, MTS_WHEN_FULL_BUSY);
    world_open(&w, NULL, &options);
    for (uint32_t i = 0; i < FRAMES; i++) {
        mts_ticket ticket = 0;
        memcpy(memory, w.pixels[i], sizeof memory);
        const mts_frame frame = api_frame(memory);
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
        memset(memory, 0xa5, sizeof memory);
    }
    for (uint32_t i = 0; i < FRAMES; i++) {
        assert_int_equal(mts_session_wait(w.session, i + 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        check_values(&w, i);
    }
    world_close(&w);
}

static void lent_frames_are_read_where_they_lie_and_given_back_when_done(void **state)
{
    world w;
    (void)state;
    mts_session_options options = options_of(4, MTS_WHEN_FULL_BLOCK);
    options.done = on_done;
    options.context = &w;
    world_open(&w, NULL, &options);
    for (uint32_t i = 0; i < FRAMES; i++) {
        mts_ticket ticket = 0;
        mts_frame frame = frame_of(&w, i);
        frame.borrow = 1;
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
        for (uint32_t k = 0; k < w.calls; k++) { /* whoever was told may overwrite it */
            memset(w.pixels[k], 0xa5, PIXELS);
        }
    }
    assert_int_equal(mts_session_wait(w.session, FRAMES, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(w.calls, FRAMES);
    for (uint32_t i = 0; i < FRAMES; i++) {
        check_call(&w, i, i + 1, MTS_STATUS_OK);
        assert_memory_equal(w.outputs[i], w.expected[i][1], sizeof w.outputs[i]);
    }
    world_close(&w);
}

static void who_blocks_waits_for_the_oldest_and_is_told_of_it(void **state)
{
    world w;
    (void)state;
    mts_session_options options = options_of(3, MTS_WHEN_FULL_BLOCK);
    options.done = on_done;
    options.context = &w;
    world_open(&w, NULL, &options);
    w.inside = true;
    for (uint32_t i = 0; i < 3; i++) {
        (void)submit(&w, i);
    }
    assert_int_equal(w.calls, 0);
    assert_int_equal(submit(&w, 3), 4);
    assert_true(w.calls >= 1);
    check_call(&w, 0, 1, MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, 4, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(w.calls, 4);
    assert_int_equal(flow_of(&w).dropped, 0);
    world_close(&w);
    assert_int_equal(w.calls, 4);
}

static void the_oldest_frame_that_is_not_on_the_device_is_dropped(void **state)
{
    world w;
    (void)state;
    mts_session_options options = options_of(3, MTS_WHEN_FULL_DROP_OLDEST);
    options.done = on_done;
    options.context = &w;
    world_open(&w, NULL, &options);
    w.inside = true;
    for (uint32_t i = 0; i < 6; i++) { /* 1 and 2 are on the device, 6 waits in the end */
        assert_int_equal(submit(&w, i), i + 1);
        assert_int_equal(gate_marks(), i < 2 ? i + 1 : 2);
    }
    assert_int_equal(w.calls, 3);
    for (uint32_t i = 0; i < 3; i++) {
        check_call(&w, i, i + 3, MTS_STATUS_CANCELLED);
    }
    assert_int_equal(mts_session_wait(w.session, 4, MTS_TIMEOUT_INFINITE), MTS_STATUS_CANCELLED);
    assert_non_null(strstr(w.fixture.error, "dropped"));
    assert_int_equal(mts_session_wait(w.session, 6, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    check_values(&w, 5);
    check_call(&w, 3, 1, MTS_STATUS_OK);
    check_call(&w, 4, 2, MTS_STATUS_OK);
    check_call(&w, 5, 6, MTS_STATUS_OK);
    const mts_flow flow = flow_of(&w);
    assert_int_equal(flow.dropped, 3);
    assert_int_equal(flow.taken, 3);
    world_close(&w);
}

static void what_nobody_took_in_time_is_dropped_before_what_waits(void **state)
{
    world w;
    mts_ticket ticket = 0;
    (void)state;
    const mts_session_options options = options_of(3, MTS_WHEN_FULL_DROP_OLDEST);
    world_open(&w, NULL, &options);
    for (uint32_t i = 0; i < 3; i++) {
        (void)submit(&w, i);
    }
    gate_pass(1);
    (void)submit(&w, 3); /* 1 has finished; it goes */
    assert_int_equal(mts_session_wait(w.session, 1, 0), MTS_STATUS_CANCELLED);
    gate_pass(2);
    assert_int_equal(mts_session_poll(w.session, &ticket), MTS_STATUS_OK);
    assert_int_equal(ticket, 2);
    check_values(&w, 1);
    assert_int_equal(mts_session_wait(w.session, 4, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    check_values(&w, 3);
    assert_int_equal(flow_of(&w).dropped, 1);
    world_close(&w);
}

static void a_wait_takes_what_came_before_and_times_out_alone(void **state)
{
    world w;
    (void)state;
    const mts_session_options options = options_of(4, MTS_WHEN_FULL_BUSY);
    world_open(&w, NULL, &options);
    for (uint32_t i = 0; i < 4; i++) {
        (void)submit(&w, i);
    }
    assert_int_equal(mts_session_wait(w.session, 3, 2), MTS_STATUS_TIMEOUT);
    assert_int_equal(mts_session_wait(w.session, 5, 0), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(flow_of(&w).under_way, 4);
    gate_pass(1);
    assert_int_equal(mts_session_wait(w.session, 3, 0), MTS_STATUS_TIMEOUT); /* 1 is taken on the way */
    check_values(&w, 0);
    assert_int_equal(mts_session_wait(w.session, 3, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    check_values(&w, 2);
    assert_int_equal(mts_session_wait(w.session, 3, 0), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, 2, 0), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(flow_of(&w).taken, 3);
    world_close(&w);
}

static void a_session_that_goes_ends_its_runs_and_tells(void **state)
{
    world w;
    (void)state;
    mts_session_options options = options_of(5, MTS_WHEN_FULL_DROP_OLDEST);
    options.done = on_done;
    options.context = &w;
    world_open(&w, NULL, &options);
    for (uint32_t i = 0; i < 5; i++) {
        mts_ticket ticket = 0;
        mts_frame frame = frame_of(&w, i);
        frame.borrow = i % 2;
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
    }
    gate_pass(1); /* finished, and nobody has looked */
    world_close(&w);
    assert_int_equal(w.calls, 5);
    for (uint32_t i = 0; i < 5; i++) {
        check_call(&w, i, i + 1, MTS_STATUS_CANCELLED);
    }
}

static void a_frame_that_waits_can_be_withdrawn(void **state)
{
    world w;
    (void)state;
    mts_session_options options = options_of(4, MTS_WHEN_FULL_BUSY);
    options.done = on_done;
    options.context = &w;
    world_open(&w, NULL, &options);
    for (uint32_t i = 0; i < 4; i++) {
        (void)submit(&w, i);
    }
    assert_int_equal(mts_session_cancel(w.session, 3), MTS_STATUS_OK);
    check_call(&w, 0, 3, MTS_STATUS_CANCELLED);
    assert_int_equal(mts_session_cancel(w.session, 3), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(submit(&w, 4), 5);
    assert_int_equal(mts_session_wait(w.session, 5, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    check_values(&w, 4);
    assert_int_equal(w.calls, 5);
    world_close(&w);
}

static void inputs_belong_to_the_next_submission(void **state)
{
    world w;
    mts_ticket ticket = 0;
    static const char *const pet[] = {"pet"};
    (void)state;
    mts_session_options options = options_of(3, MTS_WHEN_FULL_BUSY);
    options.tasks = pet;
    options.task_count = 1;
    world_open(&w, NULL, &options);
    const mts_frame frames[3] = {frame_of(&w, 0), frame_of(&w, 1), frame_of(&w, 2)};
    assert_int_equal(mts_session_input_frame(w.session, "pet", &frames[0]), MTS_STATUS_OK);
    assert_int_equal(mts_session_submit(w.session, NULL, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_input_frame(w.session, "pet", &frames[1]), MTS_STATUS_OK);
    assert_int_equal(mts_session_submit(w.session, NULL, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_submit(w.session, &frames[2], &ticket), MTS_STATUS_OK); /* it waits */
    assert_int_equal(mts_session_input_frame(w.session, "pet", &frames[1]), MTS_STATUS_BUSY);
    for (uint32_t i = 0; i < 3; i++) {
        float now[VALUES];
        assert_int_equal(mts_session_wait(w.session, i + 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        values_get(&w, "pet", now);
        assert_memory_equal(now, w.expected[i][0], sizeof now);
    }
    world_close(&w);
}

static void rates_count_frames_that_reach_the_device_and_others_keep_their_outputs(void **state)
{
    world w;
    mts_ticket ticket = 0;
    float now[VALUES];
    (void)state;
    const mts_session_options options = options_of(4, MTS_WHEN_FULL_BUSY);
    world_open(&w, NULL, &options);
    assert_int_equal(mts_session_rate(w.session, "object", 2), MTS_STATUS_OK);
    for (uint32_t i = 0; i < 2; i++) { /* lists of both sets are made, which waits for the device */
        assert_int_equal(mts_session_wait(w.session, submit(&w, i), MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    }
    for (uint32_t i = 2; i < 6; i++) {
        (void)submit(&w, i);
    }
    assert_int_equal(mts_session_cancel(w.session, 5), MTS_STATUS_OK); /* runs of it are 1, 3 and 6 */
    for (uint32_t i = 2; i < 6; i++) {
        if (i == 4) {
            continue;
        }
        assert_int_equal(mts_session_wait(w.session, i + 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        values_get(&w, "pet", now);
        assert_memory_equal(now, w.expected[i][0], sizeof now);
        values_get(&w, "object", now);
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
    world_close(&w);
}

static void groups_of_a_run_with_a_deadline_go_before_the_next_run(void **state)
{
    static const uint32_t priorities[] = {1, 0};
    world w;
    (void)state;
    mts_session_options options = options_of(4, MTS_WHEN_FULL_BUSY);
    options.priorities = priorities;
    world_open(&w, NULL, &options);
    assert_int_equal(mts_session_deadline(w.session, 3600000), MTS_STATUS_OK);
    const uint32_t before = gate_lists();
    (void)submit(&w, 0);
    (void)submit(&w, 1);
    assert_int_equal(gate_lists() - before, 2); /* the picture's, and that of the first group */
    mts_ticket ticket = 0;
    gate_pass(1);
    assert_int_equal(mts_session_poll(w.session, &ticket), MTS_STATUS_BUSY);
    assert_int_equal(gate_lists() - before, 5); /* the second group, and the next run behind it */
    assert_int_equal(mts_session_wait(w.session, 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    check_values(&w, 0);
    assert_int_equal(mts_session_cancel(w.session, 2), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, 2, MTS_TIMEOUT_INFINITE), MTS_STATUS_CANCELLED);
    float now[VALUES];
    values_get(&w, "pet", now);
    assert_memory_equal(now, w.expected[1][0], sizeof now);
    values_get(&w, "object", now);
    assert_memory_equal(now, w.expected[0][1], sizeof now); /* left out */
    world_close(&w);
}

static void frames_keep_the_regions_that_they_were_submitted_with(void **state)
{
    world w;
    static const char *const pet[] = {"pet"};
    const mts_region whole = {.width = 32, .height = 32};
    const mts_region corner = {.width = 8, .height = 8};
    float now[VALUES];
    (void)state;
    mts_session_options options = options_of(4, MTS_WHEN_FULL_BUSY);
    options.tasks = pet;
    options.task_count = 1;
    world_open(&w, NULL, &options);
    for (uint32_t i = 0; i < 4; i++) {
        (void)submit(&w, i);
        assert_int_equal(mts_session_regions(w.session, NULL, i % 2 ? &whole : &corner, 1), MTS_STATUS_OK);
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(mts_session_wait(w.session, i + 1, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        values_get(&w, "pet", now);
        assert_int_equal(memcmp(now, w.expected[i][0], sizeof now) == 0, i % 2 == 0);
    }
    world_close(&w);
}

static void steady_streams_allocate_nothing(void **state)
{
    static const mts_when_full ways[] = {MTS_WHEN_FULL_BUSY, MTS_WHEN_FULL_BLOCK, MTS_WHEN_FULL_DROP_OLDEST};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        world w;
        mts_session_options options = options_of(4, ways[i]);
        options.context = &w;
        options.done = on_done;
        world_open(&w, NULL, &options);
        size_t calls = 0;
        for (uint32_t n = 0; n < 60; n++) {
            mts_ticket ticket = 0;
            mts_frame frame = frame_of(&w, n % FRAMES);
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
        (void)flow_of(&w);
        world_close(&w);
    }
}

static void any_device_gives_each_frame_its_own_answers(void **state)
{
    (void)state;
    for (uint32_t d = 0; d < mts_device_count(); d++) {
        mts_device_desc device;
        world w;
        mts_ticket ticket = 0;
        uint32_t submitted = 0;
        uint32_t taken = 0;
        assert_int_equal(mts_device_describe(d, &device), MTS_STATUS_OK);
        const mts_session_options options = options_of(5, MTS_WHEN_FULL_BUSY);
        world_open(&w, device.id, &options);
        while (taken < 5 * FRAMES) {
            const mts_frame frame = frame_of(&w, submitted % FRAMES);
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
            check_values(&w, taken % FRAMES);
            taken++;
        }
        world_close(&w);
    }
}

static void options_that_contradict_each_other_are_refused(void **state)
{
    world w;
    (void)state;
    const mts_session_options good = options_of(2, MTS_WHEN_FULL_BUSY);
    world_open(&w, NULL, &good);
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
    bad[5].borrow_inputs = 1;
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &bad[i], &w.session),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_null(w.session);
    }
    session_make(&w, &good);
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
    world_close(&w);
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
