/*
 * test_control.c: the calls that say which tasks of a session run: what they refuse, and tickets of outputs.
 * That what runs has its bits is shown by tests/engine/test_control.c.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/api_fixture.h"

#define PIXELS ((size_t)3 * 32 * 32)
#define VALUES 16

typedef struct world {
    api_fixture fixture;
    mts_bundle *bundle;
    mts_session *session;
    uint8_t pixels[PIXELS];
} world;

static const char *const names[] = {"pet", "object"};

static void world_open(world *w, const uint32_t *priorities)
{
    mts_session_options options;
    memset(w, 0, sizeof *w);
    api_open(&w->fixture, "reference");
    mts_session_options_default(&options);
    options.tasks = names;
    options.task_count = 2;
    options.priorities = priorities;
    assert_int_equal(mts_bundle_open(w->fixture.runtime, api_bundle_path(), &w->bundle), MTS_STATUS_OK);
    if (mts_session_create(w->fixture.runtime, w->bundle, &options, &w->session) != MTS_STATUS_OK) {
        fail_msg("cannot make a session: %s", w->fixture.error);
    }
}

static void world_close(world *w)
{
    mts_session_destroy(&w->session);
    mts_bundle_destroy(&w->bundle);
    api_close(&w->fixture);
}

static mts_ticket begin(world *w, uint32_t seed)
{
    mts_ticket ticket = 0;
    api_pixels(w->pixels, seed);
    const mts_frame frame = api_frame(w->pixels);
    assert_int_equal(mts_session_submit(w->session, &frame, &ticket), MTS_STATUS_OK);
    return ticket;
}

static mts_ticket run(world *w, uint32_t seed)
{
    const mts_ticket ticket = begin(w, seed);
    assert_int_equal(mts_session_wait(w->session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    return ticket;
}

static void values_get(const world *w, const char *task, float values[VALUES])
{
    mts_tensor tensor;
    assert_int_equal(mts_session_output(w->session, task, 0, &tensor), MTS_STATUS_OK);
    assert_true(tensor.bytes <= VALUES * sizeof *values);
    memset(values, 0, VALUES * sizeof *values);
    memcpy(values, tensor.data, tensor.bytes);
}

static mts_ticket ticket_of(const world *w, const char *task)
{
    mts_ticket ticket = 0;
    assert_int_equal(mts_session_output_ticket(w->session, task, &ticket), MTS_STATUS_OK);
    return ticket;
}

static void a_disabled_task_keeps_the_outputs_and_the_ticket_of_its_last_run(void **state)
{
    world w;
    float first[2][VALUES];
    float second[2][VALUES];
    float now[VALUES];
    (void)state;
    world_open(&w, NULL);
    const mts_ticket one = run(&w, 1);
    values_get(&w, "pet", first[0]);
    const mts_ticket two = run(&w, 2);
    values_get(&w, "pet", second[0]);
    values_get(&w, "object", second[1]);
    assert_int_equal(ticket_of(&w, "pet"), two);
    assert_int_equal(mts_session_enable(w.session, "object", 0), MTS_STATUS_OK);
    const mts_ticket three = run(&w, 1);
    assert_true(one < two && two < three);
    values_get(&w, "pet", now);
    assert_memory_equal(now, first[0], sizeof now);
    values_get(&w, "object", now);
    assert_memory_equal(now, second[1], sizeof now);
    assert_int_equal(ticket_of(&w, "pet"), three);
    assert_int_equal(ticket_of(&w, "object"), two);
    assert_int_equal(mts_session_enable(w.session, "object", 1), MTS_STATUS_OK);
    const mts_ticket four = run(&w, 2);
    assert_int_equal(ticket_of(&w, "object"), four);
    values_get(&w, "pet", now);
    assert_memory_equal(now, second[0], sizeof now);
    world_close(&w);
}

static void a_steady_alternation_allocates_nothing(void **state)
{
    world w;
    (void)state;
    world_open(&w, NULL);
    assert_int_equal(mts_session_rate(w.session, "object", 2), MTS_STATUS_OK);
    for (uint32_t i = 0; i < 4; i++) {
        (void)run(&w, i);
    }
    const size_t calls = w.fixture.calls;
    for (uint32_t i = 0; i < 10; i++) {
        const mts_ticket ticket = run(&w, i);
        assert_int_equal(ticket_of(&w, "object"), i % 2 == 0 ? ticket : ticket - 1);
    }
    assert_int_equal(w.fixture.calls, calls);
    world_close(&w);
}

static void outputs_of_a_task_that_never_ran_are_not_found(void **state)
{
    world w;
    mts_tensor tensor;
    mts_ticket ticket = 0;
    (void)state;
    world_open(&w, NULL);
    assert_int_equal(mts_session_output_ticket(w.session, "pet", &ticket), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_enable(w.session, "pet", 0), MTS_STATUS_OK);
    const mts_ticket under_way = begin(&w, 1);
    assert_int_equal(mts_session_output_ticket(w.session, "object", &ticket), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_wait(w.session, under_way, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(mts_session_output(w.session, "pet", 0, &tensor), MTS_STATUS_NOT_FOUND);
    assert_non_null(strstr(w.fixture.error, "pet"));
    assert_int_equal(mts_session_output_ticket(w.session, "pet", &ticket), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_output(w.session, "object", 0, &tensor), MTS_STATUS_OK);
    world_close(&w);
}

static void a_cancelled_run_has_the_outputs_of_the_groups_that_ran(void **state)
{
    static const uint32_t priorities[] = {1, 2}; /* object first */
    world w;
    mts_tensor tensor;
    (void)state;
    world_open(&w, priorities);
    assert_int_equal(mts_session_deadline(w.session, UINT32_MAX), MTS_STATUS_OK);
    const mts_ticket first = run(&w, 1);
    assert_int_equal(mts_session_cancel(w.session, first), MTS_STATUS_INVALID_ARGUMENT); /* it is over */
    const mts_ticket second = begin(&w, 2);
    assert_int_equal(mts_session_cancel(w.session, first), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_cancel(w.session, second), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, second, 10000), MTS_STATUS_CANCELLED);
    assert_int_equal(ticket_of(&w, "object"), second);
    assert_int_equal(ticket_of(&w, "pet"), first);
    assert_int_equal(mts_session_output(w.session, "pet", 0, &tensor), MTS_STATUS_OK);
    assert_int_equal(run(&w, 1), second + 1);
    assert_int_equal(ticket_of(&w, "pet"), second + 1);
    (void)begin(&w, 3);
    world_close(&w); /* with a group that has not begun */
}

static void wrong_arguments_are_refused(void **state)
{
    world w;
    mts_ticket ticket = 0;
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    (void)state;
    world_open(&w, NULL);
    assert_int_equal(mts_session_enable(NULL, "pet", 1), bad);
    assert_int_equal(mts_session_enable(w.session, NULL, 1), bad);
    assert_int_equal(mts_session_enable(w.session, "pet", 2), bad);
    assert_int_equal(mts_session_enable(w.session, "nobody", 1), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_rate(NULL, "pet", 1), bad);
    assert_int_equal(mts_session_rate(w.session, NULL, 1), bad);
    assert_int_equal(mts_session_rate(w.session, "pet", 0), bad);
    assert_int_equal(mts_session_rate(w.session, "nobody", 1), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_rate_hz(NULL, "pet", 1.0), bad);
    assert_int_equal(mts_session_rate_hz(w.session, NULL, 1.0), bad);
    assert_int_equal(mts_session_rate_hz(w.session, "pet", -0.5), bad);
    assert_int_equal(mts_session_rate_hz(w.session, "pet", (double)NAN), bad);
    assert_int_equal(mts_session_rate_hz(w.session, "pet", (double)INFINITY), bad);
    assert_int_equal(mts_session_rate_hz(w.session, "pet", 1e300), MTS_STATUS_OK);
    assert_int_equal(mts_session_rate_hz(w.session, "pet", 1e-300), MTS_STATUS_OK);
    assert_int_equal(mts_session_rate_hz(w.session, "nobody", 1.0), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_output_ticket(NULL, "pet", &ticket), bad);
    assert_int_equal(mts_session_output_ticket(w.session, "pet", NULL), bad);
    assert_int_equal(mts_session_output_ticket(w.session, NULL, &ticket), bad);
    assert_int_equal(mts_session_output_ticket(w.session, "nobody", &ticket), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_deadline(NULL, 1), bad);
    assert_int_equal(mts_session_cancel(NULL, 1), bad);
    assert_int_equal(mts_session_cancel(w.session, 0), bad);
    assert_int_equal(mts_session_cancel(w.session, 1), bad);
    assert_int_equal(run(&w, 1), 1); /* nothing of that has stopped a run */
    assert_int_equal(ticket_of(&w, "pet"), 1);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disabled_task_keeps_the_outputs_and_the_ticket_of_its_last_run),
        cmocka_unit_test(a_steady_alternation_allocates_nothing),
        cmocka_unit_test(outputs_of_a_task_that_never_ran_are_not_found),
        cmocka_unit_test(a_cancelled_run_has_the_outputs_of_the_groups_that_ran),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    api_bundle_remove();
    return failed;
}
