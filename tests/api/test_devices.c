/*
 * A session on several devices through the public API: its frames give what one device gives, frames are dropped as
 * the policy says, reports name the devices, and contradictory options are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/api_fixture.h"

#define FRAMES 6
#define VALUES 16

static const char *const two[] = {"reference", "reference"};
static const char *const names[] = {"pet", "object"};

typedef struct world {
    api_fixture fixture;
    mts_bundle *bundle;
    mts_session *session;
    uint8_t pixels[FRAMES][API_PIXELS];
} world;

static void open_world(world *w, bool several, const mts_session_options *options)
{
    memset(w, 0, sizeof *w);
    mts_runtime_options runtime = api_options(&w->fixture, "reference");
    if (several) {
        runtime.device = NULL;
        runtime.devices = two;
        runtime.device_count = 2;
    }
    assert_int_equal(mts_runtime_create(&runtime, &w->fixture.runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open(w->fixture.runtime, api_bundle_path(), &w->bundle), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(w->fixture.runtime, w->bundle, options, &w->session), MTS_STATUS_OK);
    for (uint32_t f = 0; f < FRAMES; f++) {
        api_pixels(w->pixels[f], f + 1);
    }
}

static void close_world(world *w)
{
    mts_session_destroy(&w->session);
    mts_bundle_destroy(&w->bundle);
    api_close(&w->fixture);
}

static mts_session_options options_of(uint32_t slots, mts_when_full when_full, mts_placement placement)
{
    mts_session_options options;
    mts_session_options_default(&options);
    options.tasks = names;
    options.task_count = 2;
    options.frames_in_flight = slots;
    options.when_full = when_full;
    options.placement = placement;
    return options;
}

static void read(const world *w, float values[2][VALUES])
{
    memset(values, 0, 2 * sizeof *values);
    for (int t = 0; t < 2; t++) {
        mts_tensor tensor;
        assert_int_equal(mts_session_output(w->session, names[t], 0, &tensor), MTS_STATUS_OK);
        memcpy(values[t], tensor.data, tensor.bytes < sizeof values[t] ? tensor.bytes : sizeof values[t]);
    }
}

static void frames_give_what_one_device_gives(void **state)
{
    (void)state;
    float want[FRAMES][2][VALUES];
    float got[2][VALUES];
    world w;
    mts_ticket tickets[FRAMES];
    mts_session_options options = options_of(1, MTS_WHEN_FULL_BUSY, MTS_PLACEMENT_AUTO);
    open_world(&w, false, &options);
    for (int f = 0; f < FRAMES; f++) {
        const mts_frame frame = api_frame(w.pixels[f]);
        assert_int_equal(mts_session_submit(w.session, &frame, &tickets[f]), MTS_STATUS_OK);
        assert_int_equal(mts_session_wait(w.session, tickets[f], MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        read(&w, want[f]);
    }
    close_world(&w);
    for (int placement = MTS_PLACEMENT_STAGES; placement <= MTS_PLACEMENT_GROUPS; placement++) {
        options = options_of(FRAMES, MTS_WHEN_FULL_BUSY, (mts_placement)placement);
        options.on_device_lost = MTS_ON_DEVICE_LOST_REPLAN;
        open_world(&w, true, &options);
        for (int f = 0; f < FRAMES; f++) {
            const mts_frame frame = api_frame(w.pixels[f]);
            assert_int_equal(mts_session_submit(w.session, &frame, &tickets[f]), MTS_STATUS_OK);
        }
        for (int f = 0; f < FRAMES; f++) {
            assert_int_equal(mts_session_wait(w.session, tickets[f], 10000), MTS_STATUS_OK);
            read(&w, got);
            assert_memory_equal(got, want[f], sizeof got);
        }
        char *text = malloc(1 << 20);
        assert_non_null(text);
        assert_int_equal(mts_session_explain(w.session, MTS_REPORT_TEXT, text, 1 << 20, NULL), MTS_STATUS_OK);
        assert_non_null(strstr(text, "placed on 2 of 2 device(s)"));
        assert_int_equal(mts_session_explain(w.session, MTS_REPORT_JSON, text, 1 << 20, NULL), MTS_STATUS_OK);
        free(text);
        mts_task_stats stats = {.size = sizeof stats};
        assert_int_equal(mts_session_task_stats(w.session, "pet", &stats), MTS_STATUS_OK);
        assert_int_equal(stats.runs, FRAMES);
        close_world(&w);
    }
}

static void the_oldest_frame_is_dropped(void **state)
{
    (void)state;
    world w;
    mts_ticket ticket = 0;
    mts_flow flow = {.size = sizeof flow};
    const mts_session_options options = options_of(3, MTS_WHEN_FULL_DROP_OLDEST, MTS_PLACEMENT_STAGES);
    open_world(&w, true, &options);
    for (int f = 0; f < FRAMES; f++) {
        const mts_frame frame = api_frame(w.pixels[f]);
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
        assert_int_equal(ticket, f + 1);
    }
    assert_int_equal(mts_session_flow(w.session, &flow), MTS_STATUS_OK);
    assert_int_equal(flow.in_flight, 3);
    assert_int_equal(flow.dropped, FRAMES - 3);
    assert_int_equal(mts_session_wait(w.session, ticket, 10000), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, 1, 0), MTS_STATUS_CANCELLED);
    close_world(&w);
}

static void refuse(const char *device, const char *const *devices, uint32_t count, mts_status want)
{
    api_fixture fixture = {.calls = 0};
    mts_runtime_options options = api_options(&fixture, device);
    options.devices = devices;
    options.device_count = count;
    assert_int_equal(mts_runtime_create(&options, &fixture.runtime), want);
    assert_null(fixture.runtime);
    assert_int_equal(fixture.alive, 0);
}

static void contradictions_are_refused(void **state)
{
    (void)state;
    static const char *const unnamed[] = {"reference", NULL};
    static const char *const automatic[] = {"reference", "auto"};
    static const char *const unknown[] = {"reference", "nowhere:1"};
    static const char *const parts[] = {"reference", "opencl:0/2of2"};
    refuse("reference", two, 2, MTS_STATUS_INVALID_ARGUMENT);
    refuse(NULL, two, 0, MTS_STATUS_INVALID_ARGUMENT);
    refuse(NULL, NULL, 2, MTS_STATUS_INVALID_ARGUMENT);
    refuse(NULL, two, MTS_DEVICES_MOST + 1, MTS_STATUS_INVALID_ARGUMENT);
    refuse(NULL, unnamed, 2, MTS_STATUS_INVALID_ARGUMENT);
    refuse(NULL, automatic, 2, MTS_STATUS_INVALID_ARGUMENT);
    refuse(NULL, unknown, 2, MTS_STATUS_NOT_FOUND);
    refuse(NULL, parts, 2, MTS_STATUS_NOT_FOUND);
}

static int remove_bundle(void **state)
{
    (void)state;
    api_bundle_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_give_what_one_device_gives),
        cmocka_unit_test(the_oldest_frame_is_dropped),
        cmocka_unit_test(contradictions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, remove_bundle);
}
