/*
 * The session handle: its options, and what it says of itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "support/api_fixture.h"

static int cancel(void *context, float fraction, const char *what)
{
    uint32_t *calls = context;
    (void)what;
    assert_true(fraction >= 0.0f && fraction <= 1.0f);
    return ++*calls == 2;
}

static void progress_can_cancel_the_making_of_a_session(void **state)
{
    api_world w;
    uint32_t calls = 0;
    mts_session *session = NULL;
    (void)state;
    mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    options.progress = cancel;
    options.context = &calls;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_CANCELLED);
    assert_int_equal(calls, 2);
    assert_null(session);
    api_world_close(&w);
}

static void session_options_that_make_no_sense_are_refused(void **state)
{
    static const char *const unknown[] = {"pet", "weather"};
    static const char *const twice[] = {"pet", "pet"};
    static const char *const missing[] = {NULL};
    api_world w;
    mts_session *session = NULL;
    (void)state;
    mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    options.tasks = unknown;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_NOT_FOUND);
    assert_non_null(strstr(w.fixture.error, "weather"));
    options.tasks = twice;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    options.tasks = missing;
    options.task_count = 1;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    options.task_count = 0;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    options = api_two_tasks();
    options.strategy = (mts_strategy)17;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    for (int wrong = -1; wrong <= 4; wrong += 5) {
        options = api_two_tasks();
        options.precision = (mts_precision)wrong;
        assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(w.fixture.error, "precision"));
    }
    options = api_two_tasks();
    options.size += 8;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_create(w.fixture.runtime, NULL, NULL, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_null(session);
    api_world_close(&w);
}

static mts_session_stats stats_in(mts_precision precision)
{
    api_world w;
    mts_session_stats stats = {.size = sizeof stats};
    mts_session_options options = api_two_tasks();
    options.precision = precision;
    api_world_open(&w, "reference", &options);
    assert_int_equal(mts_session_stats_get(w.session, &stats), MTS_STATUS_OK);
    api_world_close(&w);
    return stats;
}

static void statistics_tell_the_precision_that_is_used_and_its_bytes(void **state)
{
    (void)state;
    const mts_session_stats full = stats_in(MTS_PRECISION_FLOAT32);
    const mts_session_stats storage = stats_in(MTS_PRECISION_FLOAT16_STORAGE);
    const mts_session_stats half = stats_in(MTS_PRECISION_FLOAT16); /* plain C stands in for all devices */
    assert_int_equal(full.precision, MTS_PRECISION_FLOAT32);
    assert_int_equal(storage.precision, MTS_PRECISION_FLOAT16_STORAGE);
    assert_int_equal(half.precision, MTS_PRECISION_FLOAT16);
    assert_int_equal(2 * storage.weight_bytes, full.weight_bytes);
    assert_int_equal(half.peak_bytes, storage.peak_bytes);
}

/* Plain C stands in for the GPU of a phone, or for a fast one that nothing is known of. */
static mts_session_stats stats_on(const char *name, bool half, mts_precision precision)
{
    api_world w;
    mts_session_stats stats = {.size = sizeof stats};
    mts_session_options options = api_two_tasks();
    assert_int_equal(options.precision, MTS_PRECISION_AUTO);
    options.precision = precision;
    api_world_open(&w, "reference", NULL);
    mts_session_destroy(&w.session);
    mts_device_info *info = &w.fixture.runtime->device->info;
    info->is_gpu = true;
    info->half_products = half;
    (void)snprintf(info->name, sizeof info->name, "%s", name);
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &w.session), MTS_STATUS_OK);
    assert_int_equal(mts_session_stats_get(w.session, &stats), MTS_STATUS_OK);
    api_world_close(&w);
    return stats;
}

static void sessions_multiply_in_float16_where_a_phones_gpu_is_fast_at_it(void **state)
{
    (void)state;
    assert_int_equal(stats_in(MTS_PRECISION_AUTO).precision, MTS_PRECISION_FLOAT32);
    assert_int_equal(stats_on("Mali-G78", true, MTS_PRECISION_AUTO).precision, MTS_PRECISION_FLOAT16);
    assert_int_equal(stats_on("Mali-G78", false, MTS_PRECISION_AUTO).precision, MTS_PRECISION_FLOAT32);
    assert_int_equal(stats_on("Mali-G78", true, MTS_PRECISION_FLOAT32).precision, MTS_PRECISION_FLOAT32);
    assert_int_equal(stats_on("Somebody's GPU", true, MTS_PRECISION_AUTO).precision, MTS_PRECISION_FLOAT32);
}

static void statistics_and_explanation_tell_how_the_session_runs(void **state)
{
    api_world w;
    mts_session_stats stats = {.size = sizeof stats};
    mts_session_stats wrong = {.size = 1};
    char text[32];
    size_t needed = 0;
    (void)state;
    const mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    assert_int_equal(mts_session_stats_get(w.session, &stats), MTS_STATUS_OK);
    assert_true(stats.weight_bytes > 1400000 && stats.weight_bytes < 1600000);
    assert_true(stats.launches > 20 && stats.kernels > 0 && stats.groups > 0);
    assert_true(stats.peak_bytes >= stats.weight_bytes + stats.activation_bytes);
    assert_true(stats.mul_adds > 10000000);
    assert_int_equal(mts_session_stats_get(w.session, &wrong), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_explain(w.session, MTS_REPORT_TEXT, text, sizeof text, &needed),
                     MTS_STATUS_LIMIT);
    assert_true(needed > sizeof text);
    assert_int_equal(mts_session_explain(w.session, MTS_REPORT_DOT, text, sizeof text, &needed),
                     MTS_STATUS_UNSUPPORTED);
    api_world_close(&w);
}

static void failing_allocations_fail_the_session_cleanly(void **state)
{
    api_world w;
    uint32_t failures = 0;
    (void)state;
    const mts_session_options options = api_two_tasks();
    api_world_open(&w, "reference", &options);
    const size_t alive = w.fixture.alive;
    for (size_t step = 1; step < 1000000; step += 1 + step / 8) {
        mts_session *session = NULL;
        w.fixture.fail_from = w.fixture.calls + step;
        const mts_status status = mts_session_create(w.fixture.runtime, w.bundle, &options, &session);
        w.fixture.fail_from = 0;
        if (status == MTS_STATUS_OK) {
            mts_session_destroy(&session);
            assert_int_equal(w.fixture.alive, alive);
            break;
        }
        failures++;
        assert_int_equal(status, MTS_STATUS_OUT_OF_MEMORY);
        assert_null(session);
        assert_int_equal(w.fixture.alive, alive);
    }
    assert_true(failures > 10);
    api_world_close(&w);
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
        cmocka_unit_test(progress_can_cancel_the_making_of_a_session),
        cmocka_unit_test(session_options_that_make_no_sense_are_refused),
        cmocka_unit_test(statistics_tell_the_precision_that_is_used_and_its_bytes),
        cmocka_unit_test(sessions_multiply_in_float16_where_a_phones_gpu_is_fast_at_it),
        cmocka_unit_test(statistics_and_explanation_tell_how_the_session_runs),
        cmocka_unit_test(failing_allocations_fail_the_session_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, remove_bundle);
}
