/*
 * test_plan_cache_memory.c: lack of memory is no defect of a cached file, and stores no half of one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/state.h"
#include "tests/support/fault.h"
#include "support/plan_cache_world.h"

static plan_cache_world world;

static int begin(void **state)
{
    (void)state;
    plan_cache_begin(&world);
    return 0;
}

static int end(void **state)
{
    (void)state;
    plan_cache_end(&world);
    return 0;
}

/* A session whose nth allocation fails; how many failed. Other failures than lack of memory fail the test. */
static uint32_t make_starved(const mts_engine_options *options, uint32_t nth, mts_status *code)
{
    const mts_allocator *usual_allocator = world.device->allocator;
    mts_wrap_allocator fault;
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_planning_report_release(&world.report);
    mts_wrap_allocator_init(&fault, usual_allocator, nth);
    world.device->allocator = &fault.base;
    world.cache.allocator = &fault.base;
    *code = mts_planned_engine_create(world.device, world.synth.archive, options, &world.how, &engine,
                                      &world.report, &error);
    mts_engine_destroy(&engine);
    mts_planning_report_release(&world.report);
    world.device->allocator = usual_allocator;
    world.cache.allocator = usual_allocator;
    if (*code != MTS_STATUS_OK && *code != MTS_STATUS_OUT_OF_MEMORY) {
        fail_msg("allocation %u: %s", nth, error.text);
    }
    assert_int_equal(fault.alive, 0);
    return fault.failed;
}

/* A file is as good as it was: lack of memory is no defect of it, and does not replace it by half of one. */
static void lack_of_memory_rejects_no_plan(void **state)
{
    uint32_t nth = 0;
    uint32_t planned_anew = 0;
    mts_status status = MTS_STATUS_OK;
    (void)state;
    const mts_engine_options options = plan_cache_options(&world);
    plan_cache_make_once(&world, &options);
    do {
        const uint32_t misses = world.plans->misses;
        if (make_starved(&options, ++nth, &status) == 0) {
            break;
        }
        planned_anew += status == MTS_STATUS_OK && world.plans->misses > misses;
        assert_int_equal(world.plans->rejected, 0);
    } while (nth < 100000);
    assert_int_equal(status, MTS_STATUS_OK);
    assert_true(nth > 20);
    assert_true(planned_anew > 0);
    const uint32_t hits = world.plans->hits;
    plan_cache_make_once(&world, &options);
    assert_int_equal(world.plans->hits, hits + 1);
}

static void lack_of_memory_stores_no_half_a_plan(void **state)
{
    char path[512];
    (void)state;
    const mts_engine_options options = plan_cache_options(&world);
    const mts_allocator *usual_allocator = world.cache.allocator;
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, usual_allocator, 1); /* there is no file to read: that of storing */
    world.cache.allocator = &fault.base;
    plan_cache_make_once(&world, &options);
    world.cache.allocator = usual_allocator;
    assert_int_equal(fault.failed, 1);
    assert_int_equal(world.plans->failed, 1);
    assert_int_equal(world.plans->written, 0);
    plan_cache_make_once(&world, &options);
    assert_int_equal(world.plans->written, 1);
    plan_cache_find(&world, ".plan", path);
}

static void lack_of_memory_rejects_no_tuning(void **state)
{
    char path[512];
    mts_status status = MTS_STATUS_OK;
    (void)state;
    const mts_cache_use *tunings = &world.cache.counts[MTS_CACHE_TUNINGS];
    mts_engine_options options = plan_cache_options(&world);
    world.how.grouping = MTS_GROUPING_FAMILY;
    world.how.tuning_ms = 20000;
    plan_cache_make_once(&world, &options);
    for (uint32_t nth = 1; nth <= 60; nth++) { /* what is read before anything is tuned */
        plan_cache_find(&world, ".plan", path);
        assert_int_equal(unlink(path), 0);
        (void)make_starved(&options, nth, &status);
        assert_int_equal(tunings->rejected, 0);
        plan_cache_make_once(&world, &options); /* so that there is a plan */
    }
    assert_true(tunings->hits > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lack_of_memory_rejects_no_plan, begin, end),
        cmocka_unit_test_setup_teardown(lack_of_memory_stores_no_half_a_plan, begin, end),
        cmocka_unit_test_setup_teardown(lack_of_memory_rejects_no_tuning, begin, end),
    };
    plan_cache_open(&world);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    plan_cache_close(&world);
    return failed;
}
