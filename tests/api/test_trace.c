/*
 * test_trace.c: mts_session_trace: what threads of device `cpu` computed in a run, what it refuses, and devices
 * without threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mts/profile.h"

#include "api/api.h"
#include "support/api_fixture.h"
#include "support/fault.h"

#define PARTS 4u /* of a launch and thread, at most */

typedef struct world {
    api_world api;
    uint32_t launches, threads;
} world;

static world w;

static void open_with(const char *device, uint32_t check, mts_fault_plan *plan)
{
    mts_session_options options;
    mts_session_stats stats = {.size = sizeof stats};
    mts_device_desc desc = {.size = sizeof desc};
    memset(&w, 0, sizeof w);
    mts_runtime_options watched = api_options(&w.api.fixture, device);
    watched.check = check;
    assert_int_equal(mts_runtime_create(&watched, &w.api.fixture.runtime), MTS_STATUS_OK);
    mts_device **inner = &w.api.fixture.runtime->device;
    assert_true(!plan || mts_wrap_fault(inner, plan, inner, NULL) == MTS_STATUS_OK);
    mts_session_options_default(&options);
    assert_int_equal(mts_bundle_open(w.api.fixture.runtime, api_bundle_path(), &w.api.bundle), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(w.api.fixture.runtime, w.api.bundle, &options, &w.api.session),
                     MTS_STATUS_OK);
    assert_int_equal(mts_session_stats_get(w.api.session, &stats), MTS_STATUS_OK);
    assert_int_equal(mts_runtime_device(w.api.fixture.runtime, &desc), MTS_STATUS_OK);
    w.launches = stats.launches;
    w.threads = desc.compute_units;
}

static int open_cpu(void **state)
{
    (void)state;
    open_with("cpu", 0, NULL);
    return 0;
}

static int open_checked(void **state)
{
    (void)state;
    open_with("cpu", 1, NULL);
    return 0;
}

static mts_fault_plan plan;

static int open_faulty(void **state)
{
    (void)state;
    plan = (mts_fault_plan){0};
    open_with("cpu", 0, &plan);
    return 0;
}

static int open_reference(void **state)
{
    (void)state;
    open_with("reference", 0, NULL);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    api_world_close(&w.api);
    return 0;
}

static int by_thread(const void *left, const void *right)
{
    const mts_chunk_profile *a = left, *b = right;
    const int order = (a->thread > b->thread) - (a->thread < b->thread);
    return order != 0 ? order : (a->start_ms > b->start_ms) - (a->start_ms < b->start_ms);
}

static void every_launch_is_computed_by_threads_that_do_one_part_at_a_time(void **state)
{
    const uint32_t capacity = w.launches * w.threads * PARTS;
    mts_chunk_profile *chunks = calloc(capacity, sizeof *chunks);
    uint32_t *parts = calloc(w.launches, sizeof *parts);
    uint32_t count = 0;
    (void)state;
    assert_non_null(chunks);
    assert_non_null(parts);
    chunks->size = sizeof *chunks;
    assert_int_equal(mts_session_trace(w.api.session, chunks, capacity, &count), MTS_STATUS_OK);
    assert_in_range(count, w.launches, capacity);
    qsort(chunks, count, sizeof *chunks, by_thread);
    for (uint32_t i = 0; i < count; i++) {
        assert_in_range(chunks[i].thread, 0, w.threads - 1);
        assert_in_range(chunks[i].launch, 0, w.launches - 1);
        assert_true(chunks[i].size == sizeof *chunks && chunks[i].duration_ms >= 0.0 &&
                    chunks[i].start_ms >= 0.0);
        assert_true(i == 0 || chunks[i].thread != chunks[i - 1].thread ||
                    chunks[i].start_ms >= chunks[i - 1].start_ms + chunks[i - 1].duration_ms - 1e-6);
        parts[chunks[i].launch]++;
    }
    for (uint32_t i = 0; i < w.launches; i++) {
        assert_in_range(parts[i], 1, w.threads * PARTS);
    }
    free(parts);
    free(chunks);
}

/* The session has fewer parts, so that memory is taken for those. */
static void more_room_than_there_is_memory_for_is_taken(void **state)
{
    mts_chunk_profile *chunks = calloc((size_t)w.launches * w.threads * PARTS, sizeof *chunks);
    uint32_t count = 0;
    (void)state;
    assert_non_null(chunks);
    chunks->size = sizeof *chunks;
    assert_int_equal(mts_session_trace(w.api.session, chunks, UINT32_MAX, &count), MTS_STATUS_OK);
    assert_in_range(count, w.launches, w.launches * w.threads * PARTS);
    free(chunks);
}

static void a_device_that_fails_says_so_and_works_on(void **state)
{
    mts_chunk_profile *chunks = calloc((size_t)w.launches * w.threads * PARTS, sizeof *chunks);
    const uint32_t capacity = w.launches * w.threads * PARTS;
    uint32_t count = 0;
    (void)state;
    assert_non_null(chunks);
    chunks->size = sizeof *chunks;
    for (uint32_t nth = 1; nth <= 2; nth++) { /* the run that is not told of, and the one that is */
        plan = (mts_fault_plan){.kind = MTS_WRAP_KIND_LIST_TRACE, .nth = nth, .code = MTS_STATUS_DEVICE};
        assert_int_equal(mts_session_trace(w.api.session, chunks, capacity, &count), MTS_STATUS_DEVICE);
        assert_int_equal(plan.failed, 1);
        assert_int_equal(mts_session_trace(w.api.session, chunks, capacity, &count), MTS_STATUS_OK);
    }
    plan = (mts_fault_plan){.kind = MTS_WRAP_KIND_LIST_TRACE, .nth = 1, .code = MTS_STATUS_DEVICE_LOST};
    assert_int_equal(mts_session_trace(w.api.session, chunks, capacity, &count), MTS_STATUS_DEVICE_LOST);
    free(chunks);
}

static void too_little_room_and_wrong_arguments_are_refused(void **state)
{
    mts_chunk_profile chunk[2] = {{.size = sizeof chunk[0]}, {.size = 77}};
    uint32_t count = 0;
    (void)state;
    assert_int_equal(mts_session_trace(w.api.session, chunk, 1, &count), MTS_STATUS_LIMIT);
    assert_true(count >= w.launches);
    assert_non_null(strstr(w.api.fixture.error, "capacity is 1"));
    assert_int_equal(chunk[1].size, 77);
    assert_int_equal(mts_session_trace(NULL, chunk, 1, &count), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_trace(w.api.session, NULL, 1, &count), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_trace(w.api.session, chunk, 0, &count), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_trace(w.api.session, chunk, 1, NULL), MTS_STATUS_INVALID_ARGUMENT);
    chunk[0].size = 0;
    assert_int_equal(mts_session_trace(w.api.session, chunk, 1, &count), MTS_STATUS_INVALID_ARGUMENT);
}

static void a_device_without_threads_has_none_to_tell_of(void **state)
{
    mts_chunk_profile chunk = {.size = sizeof chunk};
    uint32_t count = 7;
    (void)state;
    assert_int_equal(mts_session_trace(w.api.session, &chunk, 1, &count), MTS_STATUS_UNSUPPORTED);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_launch_is_computed_by_threads_that_do_one_part_at_a_time,
                                        open_cpu, close_all),
        cmocka_unit_test_setup_teardown(every_launch_is_computed_by_threads_that_do_one_part_at_a_time,
                                        open_checked, close_all),
        cmocka_unit_test_setup_teardown(more_room_than_there_is_memory_for_is_taken, open_cpu, close_all),
        cmocka_unit_test_setup_teardown(a_device_that_fails_says_so_and_works_on, open_faulty, close_all),
        cmocka_unit_test_setup_teardown(too_little_room_and_wrong_arguments_are_refused, open_cpu, close_all),
        cmocka_unit_test_setup_teardown(a_device_without_threads_has_none_to_tell_of, open_reference,
                                        close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
