/*
 * submission_world.c: sessions with frames in flight, for tests.
 */
#include "support/submission_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "support/gate_device.h"

const char *const submission_names[2] = {"pet", "object"};

mts_frame submission_frame(const submission_world *w, uint32_t index)
{
    return api_frame(w->pixels[index]);
}

void submission_values(const submission_world *w, const char *task, float values[VALUES])
{
    mts_tensor tensor;
    assert_int_equal(mts_session_output(w->session, task, 0, &tensor), MTS_STATUS_OK);
    assert_true(tensor.bytes <= VALUES * sizeof *values);
    memset(values, 0, VALUES * sizeof *values);
    memcpy(values, tensor.data, tensor.bytes);
}

void submission_check(const submission_world *w, uint32_t frame)
{
    for (uint32_t t = 0; t < 2; t++) {
        float now[VALUES];
        submission_values(w, submission_names[t], now);
        assert_memory_equal(now, w->expected[frame][t], sizeof now);
    }
}

mts_session_options submission_options(uint32_t slots, mts_when_full when_full)
{
    mts_session_options options;
    mts_session_options_default(&options);
    options.tasks = submission_names;
    options.task_count = 2;
    options.frames_in_flight = slots;
    options.when_full = when_full;
    return options;
}

void submission_session(submission_world *w, const mts_session_options *options)
{
    if (mts_session_create(w->fixture.runtime, w->bundle, options, &w->session) != MTS_STATUS_OK) {
        fail_msg("cannot make a session: %s", w->fixture.error);
    }
}

/* The frames one by one, in a session that waits for each; once in a row for a device, whose bits are its
 * own. */
static void expect(submission_world *w, const char *device)
{
    static float kept[FRAMES][2][VALUES];
    static char kept_device[32];
    const mts_session_options options = submission_options(1, MTS_WHEN_FULL_BUSY);
    for (uint32_t i = 0; i < FRAMES; i++) {
        api_pixels(w->pixels[i], i + 1);
    }
    if (strcmp(kept_device, device) != 0) {
        submission_session(w, &options);
        for (uint32_t i = 0; i < FRAMES; i++) {
            assert_int_equal(mts_session_wait(w->session, submission_submit(w, i), MTS_TIMEOUT_INFINITE),
                             MTS_STATUS_OK);
            for (uint32_t t = 0; t < 2; t++) {
                submission_values(w, submission_names[t], kept[i][t]);
            }
        }
        mts_session_destroy(&w->session);
        (void)snprintf(kept_device, sizeof kept_device, "%s", device);
    }
    memcpy(w->expected, kept, sizeof kept);
}

void submission_open(submission_world *w, const char *device, const mts_session_options *options)
{
    memset(w, 0, sizeof *w);
    api_open(&w->fixture, device ? device : "reference");
    assert_int_equal(mts_bundle_open(w->fixture.runtime, api_bundle_path(), &w->bundle), MTS_STATUS_OK);
    expect(w, device ? device : "reference");
    if (!device) {
        gate_install(w->fixture.runtime->device);
    }
    submission_session(w, options);
}

void submission_close(submission_world *w)
{
    mts_session_destroy(&w->session);
    mts_bundle_destroy(&w->bundle);
    api_close(&w->fixture);
}

mts_ticket submission_submit(submission_world *w, uint32_t index)
{
    mts_ticket ticket = 0;
    const mts_frame frame = submission_frame(w, index % FRAMES);
    assert_int_equal(mts_session_submit(w->session, &frame, &ticket), MTS_STATUS_OK);
    return ticket;
}

mts_flow submission_flow(const submission_world *w)
{
    mts_flow flow = {.size = sizeof flow};
    assert_int_equal(mts_session_flow(w->session, &flow), MTS_STATUS_OK);
    assert_true(flow.submitted == flow.completed + flow.dropped + flow.failed + flow.in_flight);
    return flow;
}

void submission_done(void *context, mts_ticket ticket, mts_status status)
{
    submission_world *w = context;
    assert_true(w->calls < CALLS_MOST);
    w->tickets[w->calls] = ticket;
    w->statuses[w->calls] = status;
    if (status == MTS_STATUS_OK) {
        submission_values(w, "object", w->outputs[w->calls]);
    }
    w->calls++;
    if (w->inside) {
        mts_ticket none = 0;
        mts_session *session = w->session;
        const mts_frame frame = submission_frame(w, 0);
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

void submission_check_call(const submission_world *w, uint32_t call, mts_ticket ticket, mts_status status)
{
    assert_true(call < w->calls);
    assert_int_equal(w->tickets[call], ticket);
    assert_int_equal(w->statuses[call], status);
}
