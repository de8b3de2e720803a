/*
 * Sessions on a device that fails: every call of the device fails once, with every code, and the API says so,
 * loses nothing, and goes on where the device does.
 *
 * The runtime is the public one; its device is wrapped from the inside, in the fault decorator and around
 * that in the checking one, which notices objects that a failure leaves behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/api.h"
#include "mts/mtsc.h"
#include "platform/wrap/check.h"
#include "tests/support/fault.h"
#include "support/api_fixture.h"

#define PIXELS ((size_t)3 * 32 * 32)
#define OUTPUTS 16
#define TIME_ENOUGH 60000u

typedef struct world {
    api_fixture fixture;
    mts_fault_plan plan;
    mts_bundle *bundle;
    mts_session *session;
    uint8_t pixels[PIXELS];
} world;

static char bundle_path[64];
static float expected[OUTPUTS]; /* by a device that does not fail */

/* Two small networks with a common input. */
static int make_bundle(void **state)
{
    static const double prune[] = {0.97, 0.96};
    (void)state;
    mtsc_synth_options options;
    mtsc_synth_options_default(&options);
    options.tasks = 2;
    options.prune = prune;
    options.prune_count = 2;
    options.input = 32;
    options.classes = OUTPUTS / 2;
    (void)snprintf(bundle_path, sizeof bundle_path, "fault-test-%ld.mtsb", (long)getpid());
    return mtsc_synth(&options, bundle_path, NULL, NULL) == MTS_STATUS_OK ? 0 : -1;
}

static int remove_bundle(void **state)
{
    (void)state;
    return unlink(bundle_path);
}

static void world_open(world *w)
{
    mts_error error = {0};
    memset(w, 0, sizeof *w);
    api_open(&w->fixture, "reference");
    mts_device **device = &w->fixture.runtime->device;
    assert_int_equal(mts_wrap_fault(device, &w->plan, device, &error), MTS_STATUS_OK);
    assert_int_equal(mts_wrap_check(device, device, &error), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open(w->fixture.runtime, bundle_path, &w->bundle), MTS_STATUS_OK);
    api_pixels(w->pixels, 7);
}

/* Whatever has failed: everything can be destroyed, no memory and no object of the device is left. */
static void world_close(world *w)
{
    mts_session_destroy(&w->session);
    assert_null(w->session);
    mts_bundle_destroy(&w->bundle);
    assert_null(w->bundle);
    api_close(&w->fixture);
    if (strstr(w->fixture.log, "check: ")) {
        fail_msg("%s", w->fixture.log);
    }
}

static void fail_next(world *w, mts_wrap_kind kind, uint32_t nth, mts_status status)
{
    w->plan = (mts_fault_plan){.kind = kind, .nth = nth, .code = status};
}

static mts_status create(world *w)
{
    return mts_session_create(w->fixture.runtime, w->bundle, NULL, &w->session);
}

static mts_status submit(world *w, mts_ticket *ticket)
{
    const mts_frame frame = api_frame(w->pixels);
    return mts_session_submit(w->session, &frame, ticket);
}

static mts_status run(world *w, uint32_t limit)
{
    mts_ticket ticket = 0;
    const mts_status status = submit(w, &ticket);
    return status == MTS_STATUS_OK ? mts_session_wait(w->session, ticket, limit) : status;
}

static mts_status outputs_get(world *w, float *values)
{
    static const char *const names[] = {"t0", "t1"};
    mts_status status = MTS_STATUS_OK;
    for (size_t i = 0; i < 2 && status == MTS_STATUS_OK; i++) {
        mts_tensor tensor;
        status = mts_session_output(w->session, names[i], 0, &tensor);
        if (status == MTS_STATUS_OK) {
            assert_int_equal(tensor.bytes, OUTPUTS / 2 * sizeof(float));
            memcpy(values + i * (OUTPUTS / 2), tensor.data, tensor.bytes);
        }
    }
    return status;
}

static void assert_outputs(world *w)
{
    float values[OUTPUTS];
    assert_int_equal(outputs_get(w, values), MTS_STATUS_OK);
    assert_memory_equal(values, expected, sizeof values);
}

static void assert_said(const world *w, const char *text)
{
    if (!strstr(w->fixture.error, text)) {
        fail_msg("'%s' is not in: %s", text, w->fixture.error);
    }
}

/* Everything that needs the device fails for the same reason, as often as it is asked. */
static void assert_lost(world *w)
{
    mts_session *other = NULL;
    mts_ticket ticket = 0;
    for (uint32_t round = 0; round < 2; round++) {
        assert_int_equal(mts_session_create(w->fixture.runtime, w->bundle, NULL, &other),
                         MTS_STATUS_DEVICE_LOST);
        assert_null(other);
        assert_said(w, "lost");
        if (w->session) {
            float zeros[PIXELS] = {0};
            const mts_tensor tensor = {.data = zeros,
                                       .bytes = sizeof zeros,
                                       .type = MTS_TYPE_FLOAT32,
                                       .rank = 4,
                                       .dims = {1, 3, 32, 32}};
            assert_int_equal(submit(w, &ticket), MTS_STATUS_DEVICE_LOST);
            assert_int_equal(mts_session_submit(w->session, NULL, &ticket), MTS_STATUS_DEVICE_LOST);
            assert_int_equal(mts_session_input(w->session, "t0", 0, &tensor), MTS_STATUS_DEVICE_LOST);
            assert_int_equal(ticket, 0);
        }
    }
}

static void the_device_that_does_not_fail_gives_the_expected_outputs(void **state)
{
    world w;
    (void)state;
    world_open(&w);
    assert_int_equal(create(&w), MTS_STATUS_OK);
    assert_int_equal(run(&w, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(outputs_get(&w, expected), MTS_STATUS_OK);
    assert_true(expected[0] < expected[1] || expected[0] > expected[1]); /* no zeros all over */
    assert_int_equal(run(&w, TIME_ENOUGH), MTS_STATUS_OK);
    assert_outputs(&w);
    world_close(&w);
}

/* Makes a session and runs it; returns the first failure. */
static mts_status scenario(world *w)
{
    mts_status status = w->session ? MTS_STATUS_OK : create(w);
    assert_true((status == MTS_STATUS_OK) == (w->session != NULL));
    if (status == MTS_STATUS_OK) {
        status = run(w, MTS_TIMEOUT_INFINITE);
    }
    return status;
}

static void whichever_call_fails_once_the_same_again_succeeds(void **state)
{
    static const mts_status codes[] = {MTS_STATUS_DEVICE, MTS_STATUS_OUT_OF_MEMORY};
    uint32_t survived = 0;
    (void)state;
    for (size_t c = 0; c < sizeof codes / sizeof codes[0]; c++) {
        bool failed = true;
        for (uint32_t nth = 1; failed; nth++) {
            world w;
            world_open(&w);
            fail_next(&w, MTS_WRAP_KIND_COUNT, nth, codes[c]);
            const mts_status status = scenario(&w);
            failed = w.plan.failed > 0;
            if (failed && codes[c] == MTS_STATUS_DEVICE && status == MTS_STATUS_OK) {
                survived++; /* a kernel: the session was made with others */
            } else {
                assert_int_equal(status, failed ? (mts_status)codes[c] : MTS_STATUS_OK);
            }
            if (status != MTS_STATUS_OK) {
                assert_said(&w, "on purpose");
                assert_int_equal(scenario(&w), MTS_STATUS_OK);
            } else if (!failed) {
                assert_true(nth > 20); /* so many calls there were */
            }
            assert_outputs(&w);
            world_close(&w);
        }
    }
    assert_true(survived > 0);
}

static void whichever_call_loses_the_device_it_stays_lost_and_all_can_be_destroyed(void **state)
{
    bool failed = true;
    (void)state;
    for (uint32_t nth = 1; failed; nth++) {
        world w;
        world_open(&w);
        fail_next(&w, MTS_WRAP_KIND_COUNT, nth, MTS_STATUS_DEVICE_LOST);
        const mts_status status = scenario(&w);
        failed = w.plan.failed > 0;
        assert_int_equal(status, failed ? MTS_STATUS_DEVICE_LOST : MTS_STATUS_OK);
        if (failed) {
            assert_lost(&w);
            assert_int_equal(w.plan.failed, 1); /* the rest is stickiness, not the plan */
        }
        world_close(&w);
    }
}

static void a_submission_that_fails_leaves_the_last_outputs_and_the_ticket(void **state)
{
    /* The frame's parameters and pixels, its launch and the run's, the outputs, the event. */
    static const struct {
        mts_wrap_kind kind;
        uint32_t nth;
    } calls[] = {{MTS_WRAP_KIND_BUFFER_WRITE_ASYNC, 1}, {MTS_WRAP_KIND_BUFFER_WRITE, 1},
                 {MTS_WRAP_KIND_LIST_SUBMIT, 1},        {MTS_WRAP_KIND_LIST_SUBMIT, 2},
                 {MTS_WRAP_KIND_BUFFER_FETCH, 1},       {MTS_WRAP_KIND_EVENT_RECORD, 1}};
    (void)state;
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
        world w;
        mts_ticket first = 0;
        mts_ticket second = 0;
        world_open(&w);
        assert_int_equal(create(&w), MTS_STATUS_OK);
        assert_int_equal(submit(&w, &first), MTS_STATUS_OK);
        assert_int_equal(mts_session_wait(w.session, first, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        mts_frame turned = api_frame(w.pixels); /* other records: they are written, and the pixels are */
        turned.region.mirror = 1;
        fail_next(&w, calls[k].kind, calls[k].nth, MTS_STATUS_DEVICE);
        assert_int_equal(mts_session_submit(w.session, &turned, &second), MTS_STATUS_DEVICE);
        assert_int_equal(w.plan.failed, 1);
        assert_int_equal(second, 0);
        assert_outputs(&w);
        assert_int_equal(mts_session_wait(w.session, first, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        assert_int_equal(submit(&w, &second), MTS_STATUS_OK);
        assert_int_equal(mts_session_wait(w.session, second, TIME_ENOUGH), MTS_STATUS_OK);
        assert_outputs(&w);
        world_close(&w);
    }
}

static void a_wait_that_fails_ends_the_run_without_outputs_and_the_next_run_has_them(void **state)
{
    static const uint32_t limits[] = {MTS_TIMEOUT_INFINITE, TIME_ENOUGH};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        world w;
        float values[OUTPUTS];
        mts_ticket ticket = 0;
        world_open(&w);
        assert_int_equal(create(&w), MTS_STATUS_OK);
        assert_int_equal(run(&w, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        assert_int_equal(submit(&w, &ticket), MTS_STATUS_OK);
        fail_next(&w, MTS_WRAP_KIND_EVENT_QUERY, 1, MTS_STATUS_DEVICE);
        assert_int_equal(mts_session_wait(w.session, ticket, limits[i]), MTS_STATUS_DEVICE);
        assert_said(&w, "on purpose");
        assert_int_equal(w.plan.failed, 1);
        assert_int_equal(outputs_get(&w, values), MTS_STATUS_NOT_FOUND);

        assert_int_equal(mts_session_wait(w.session, ticket, limits[i]), MTS_STATUS_DEVICE);
        assert_said(&w, "has failed");
        assert_int_equal(run(&w, limits[i]), MTS_STATUS_OK);
        assert_outputs(&w);
        world_close(&w);
    }
}

static void a_device_lost_while_waiting_is_lost_for_all_sessions_but_fetched_outputs_stay(void **state)
{
    static const uint32_t limits[] = {MTS_TIMEOUT_INFINITE, TIME_ENOUGH};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        world w;
        mts_session *other = NULL;
        mts_ticket ticket = 0;
        mts_ticket pending = 0;
        float values[OUTPUTS];
        world_open(&w);
        assert_int_equal(create(&w), MTS_STATUS_OK);
        assert_int_equal(run(&w, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, NULL, &other), MTS_STATUS_OK);
        assert_int_equal(mts_session_submit(other, NULL, &pending), MTS_STATUS_OK);
        mts_session *first = w.session;
        w.session = other;
        fail_next(&w, MTS_WRAP_KIND_EVENT_QUERY, 1, MTS_STATUS_DEVICE_LOST);
        assert_int_equal(mts_session_wait(other, pending, limits[i]), MTS_STATUS_DEVICE_LOST);
        assert_int_equal(outputs_get(&w, values), MTS_STATUS_INVALID_ARGUMENT);
        assert_lost(&w);
        w.session = first;
        assert_outputs(&w);
        assert_lost(&w);
        assert_int_equal(submit(&w, &ticket), MTS_STATUS_DEVICE_LOST);
        mts_session_destroy(&other);
        world_close(&w);
    }
}

static void a_device_lost_with_a_run_under_way_can_be_destroyed_without_waiting(void **state)
{
    world w;
    mts_ticket ticket = 0;
    (void)state;
    world_open(&w);
    assert_int_equal(create(&w), MTS_STATUS_OK);
    assert_int_equal(submit(&w, &ticket), MTS_STATUS_OK);
    mts_session *running = w.session;
    fail_next(&w, MTS_WRAP_KIND_BUFFER_CREATE, 1, MTS_STATUS_DEVICE_LOST);
    w.session = NULL;
    assert_int_equal(create(&w), MTS_STATUS_DEVICE_LOST);
    assert_null(w.session);
    w.session = running;
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_that_does_not_fail_gives_the_expected_outputs), /* the others compare */
        cmocka_unit_test(whichever_call_fails_once_the_same_again_succeeds),
        cmocka_unit_test(whichever_call_loses_the_device_it_stays_lost_and_all_can_be_destroyed),
        cmocka_unit_test(a_submission_that_fails_leaves_the_last_outputs_and_the_ticket),
        cmocka_unit_test(a_wait_that_fails_ends_the_run_without_outputs_and_the_next_run_has_them),
        cmocka_unit_test(a_device_lost_while_waiting_is_lost_for_all_sessions_but_fetched_outputs_stay),
        cmocka_unit_test(a_device_lost_with_a_run_under_way_can_be_destroyed_without_waiting),
    };
    return cmocka_run_group_tests(tests, make_bundle, remove_bundle);
}
