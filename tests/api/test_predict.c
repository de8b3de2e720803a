/*
 * mts_session_predict: which launches it tells of, that they are in an order that a device could run, and what it
 * refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "api/api.h"
#include "device/dependencies.h"
#include "engine/state.h"
#include "mts/profile.h"
#include "support/api_fixture.h"

#define LAUNCHES 256u

typedef struct world {
    api_world api;
    mts_launch_profile launches[LAUNCHES];
    uint32_t count;
} world;

static world w;

static int open_on(const char *device)
{
    memset(&w, 0, sizeof w);
    api_world_open(&w.api, device, NULL);
    w.launches[0].size = sizeof w.launches[0];
    return 0;
}

static int open_null(void **state)
{
    (void)state;
    return open_on("null");
}

static int close_all(void **state)
{
    (void)state;
    api_world_close(&w.api);
    return 0;
}

static mts_status predict(double gflops, double gbps, uint32_t capacity)
{
    const mts_ceilings ceilings = {.size = sizeof ceilings, .gflops = gflops, .copy_gbps = gbps};
    return mts_session_predict(w.api.session, &ceilings, w.launches, capacity, &w.count);
}

static double end_of(void)
{
    double end = 0.0;
    for (uint32_t i = 0; i < w.count; i++) {
        end = fmax(end, w.launches[i].start_ms + w.launches[i].duration_ms);
    }
    return end;
}

static void launches_of_a_device_without_overlap_follow_one_another(void **state)
{
    (void)state;
    mts_session_stats stats = {.size = sizeof stats};
    uint64_t mul_adds = 0;
    double clock = 0.0;
    assert_int_equal(mts_session_stats_get(w.api.session, &stats), MTS_STATUS_OK);
    assert_int_equal(predict(100.0, 20.0, LAUNCHES), MTS_STATUS_OK);
    assert_int_equal(w.count, stats.launches);
    for (uint32_t i = 0; i < w.count; i++) {
        const mts_launch_profile *l = &w.launches[i];
        assert_true(l->kind[0] != '\0' && l->tiles > 0 && l->tasks > 0);
        assert_true(l->start_ms > clock && l->duration_ms > 0.0);
        clock = l->start_ms + l->duration_ms;
        mul_adds += l->mul_adds;
    }
    assert_true(mul_adds == stats.mul_adds);
    /* ten times the rates: less time, but launches still have to begin */
    assert_int_equal(predict(1000.0, 200.0, LAUNCHES), MTS_STATUS_OK);
    assert_true(end_of() < clock && end_of() > clock / 10.0);
}

/* At 100 GFLOP/s: a launch that runs occupies a unit at least, is no faster than all units are, and ends before those
   begin that wait for it. */
static void assert_units_and_order(uint32_t units)
{
    mts_error error = {0};
    mts_dependencies after;
    const mts_engine *engine = mts_pipeline_part(w.api.session->pipeline, 0);
    assert_int_equal(w.count, engine->launches.count);
    assert_int_equal(
        mts_dependencies_find(engine->launches.items, w.count, mts_allocator_default(), &after, &error),
        MTS_STATUS_OK);
    for (uint32_t i = 0; i < w.count; i++) {
        const mts_launch_profile *l = &w.launches[i];
        uint32_t running = 0;
        assert_true(l->start_ms > 0.0 && l->duration_ms >= 2e-6 * (double)l->mul_adds / 100.0);
        for (uint32_t k = 0; k < w.count; k++) {
            running += w.launches[k].start_ms <= l->start_ms &&
                       l->start_ms < w.launches[k].start_ms + w.launches[k].duration_ms;
        }
        assert_in_range(running, 1, units);
        for (uint32_t k = after.next_first[i]; k < after.next_first[i + 1]; k++) {
            assert_true(w.launches[after.next[k]].start_ms > l->start_ms + l->duration_ms - 1e-9);
        }
    }
    mts_dependencies_release(&after, mts_allocator_default());
}

/* Tasks that share nothing but the frame overlap, and the whole is no shorter than its work on all units. */
static void launches_of_a_device_with_overlap_keep_its_units_and_their_order(void **state)
{
    (void)state;
    mts_device_desc device = {.size = sizeof device};
    mts_runtime_options options;
    memset(&w, 0, sizeof w);
    mts_runtime_options_default(&options);
    options.device = "cpu";
    options.threads = 3;
    if (mts_runtime_create(&options, &w.api.fixture.runtime) == MTS_STATUS_NOT_FOUND) {
        skip();
    }
    assert_int_equal(mts_bundle_open(w.api.fixture.runtime, api_bundle_path(), &w.api.bundle), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(w.api.fixture.runtime, w.api.bundle, NULL, &w.api.session),
                     MTS_STATUS_OK);
    assert_int_equal(mts_runtime_device(w.api.fixture.runtime, &device), MTS_STATUS_OK);
    assert_int_equal(device.compute_units, 3);
    w.launches[0].size = sizeof w.launches[0];
    assert_int_equal(predict(100.0, 20.0, LAUNCHES), MTS_STATUS_OK);
    double bound = 0.0;
    for (uint32_t i = 0; i < w.count; i++) {
        bound += 2e-6 * (double)w.launches[i].mul_adds / 100.0;
    }
    assert_units_and_order(device.compute_units);
    assert_true(end_of() > bound && end_of() < 1000.0);
    /* launches take long to begin: all of their chunks wait for that */
    mts_pipeline_part(w.api.session->pipeline, 0)->device->info.launch_ns = 1000000;
    assert_int_equal(predict(100.0, 20.0, LAUNCHES), MTS_STATUS_OK);
    assert_units_and_order(device.compute_units);
    assert_true(w.launches[0].start_ms >= 1.0);
    mts_session_destroy(&w.api.session);
    mts_bundle_destroy(&w.api.bundle);
    mts_runtime_destroy(&w.api.fixture.runtime);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    mts_ceilings ceilings = {.size = sizeof ceilings, .gflops = 1.0, .copy_gbps = 1.0};
    const double bad[][2] = {
        {0.0, 1.0}, {1.0, 0.0}, {-1.0, 1.0}, {(double)NAN, 1.0}, {1.0, (double)INFINITY}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(predict(bad[i][0], bad[i][1], LAUNCHES), MTS_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(w.api.fixture.error, "GFLOP/s"));
    }
    assert_int_equal(predict(1.0, 1.0, 3), MTS_STATUS_LIMIT);
    assert_int_equal(mts_session_predict(NULL, &ceilings, w.launches, LAUNCHES, &w.count),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_predict(w.api.session, NULL, w.launches, LAUNCHES, &w.count),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_predict(w.api.session, &ceilings, NULL, LAUNCHES, &w.count),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_predict(w.api.session, &ceilings, w.launches, LAUNCHES, NULL),
                     MTS_STATUS_INVALID_ARGUMENT);
    ceilings.size = 4096;
    assert_int_equal(mts_session_predict(w.api.session, &ceilings, w.launches, LAUNCHES, &w.count),
                     MTS_STATUS_INVALID_ARGUMENT);
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
        cmocka_unit_test_setup_teardown(launches_of_a_device_without_overlap_follow_one_another, open_null,
                                        close_all),
        cmocka_unit_test(launches_of_a_device_with_overlap_keep_its_units_and_their_order),
        cmocka_unit_test_setup_teardown(wrong_arguments_are_refused, open_null, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, remove_bundle);
}
