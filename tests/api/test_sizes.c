/*
 * Structs of an older header, which end earlier, are served; larger ones and odd sizes are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/api_fixture.h"

/* A struct that a call fills, as the caller has it. */
typedef union any {
    size_t size;
    unsigned char bytes[1024];
    mts_device_desc device;
    mts_cache_stats cache;
    mts_task_desc task;
    mts_port_desc port;
    mts_session_stats session;
    mts_flow flow;
    mts_task_stats task_stats;
    mts_launch_profile launch;
} any;

typedef struct world {
    api_fixture fixture;
    mts_bundle *bundle;
    mts_session *session;
    mts_task_desc task;
    uint8_t pixels[3 * 32 * 32];
} world;

static world w;

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof w);
    w.task.size = sizeof w.task;
    api_open(&w.fixture, "reference");
    assert_int_equal(mts_bundle_open(w.fixture.runtime, api_bundle_path(), &w.bundle), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_task(w.bundle, 0, &w.task), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, NULL, &w.session), MTS_STATUS_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    mts_session_destroy(&w.session);
    mts_bundle_destroy(&w.bundle);
    api_close(&w.fixture);
    return 0;
}

static mts_status runtime_device(void *out)
{
    return mts_runtime_device(w.fixture.runtime, out);
}

static mts_status device_describe(void *out)
{
    return mts_device_describe(0, out);
}

static mts_status runtime_cache(void *out)
{
    return mts_runtime_cache(w.fixture.runtime, out);
}

static mts_status bundle_task(void *out)
{
    return mts_bundle_task(w.bundle, 0, out);
}

static mts_status bundle_output(void *out)
{
    return mts_bundle_output(w.bundle, w.task.name, 0, out);
}

static mts_status session_stats(void *out)
{
    return mts_session_stats_get(w.session, out);
}

static mts_status session_flow(void *out)
{
    return mts_session_flow(w.session, out);
}

static mts_status task_stats(void *out)
{
    return mts_session_task_stats(w.session, w.task.name, out);
}

static const struct {
    mts_status (*call)(void *out);
    size_t known;
} results[] = {
    {runtime_device, sizeof(mts_device_desc)}, {device_describe, sizeof(mts_device_desc)},
    {runtime_cache, sizeof(mts_cache_stats)},  {bundle_task, sizeof(mts_task_desc)},
    {bundle_output, sizeof(mts_port_desc)},    {session_stats, sizeof(mts_session_stats)},
    {session_flow, sizeof(mts_flow)},          {task_stats, sizeof(mts_task_stats)},
};

static void results_of_an_older_header_are_filled_to_their_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        any whole;
        memset(&whole, 0x5a, sizeof whole);
        whole.size = results[i].known;
        assert_int_equal(results[i].call(&whole), MTS_STATUS_OK);
        for (size_t size = sizeof size; size <= results[i].known; size += sizeof size) {
            any cut;
            memset(&cut, 0x5a, sizeof cut);
            cut.size = size;
            assert_int_equal(results[i].call(&cut), MTS_STATUS_OK);
            assert_true(cut.size == size);
            assert_memory_equal(cut.bytes + sizeof size, whole.bytes + sizeof size, size - sizeof size);
            for (size_t byte = size; byte < sizeof cut; byte++) {
                assert_int_equal(cut.bytes[byte], 0x5a);
            }
        }
    }
}

static void results_of_an_unknown_size_are_refused_and_not_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        const size_t known = results[i].known;
        const size_t wrong[] = {0,       1, sizeof(size_t) - 1, known - 1, known + 1, known + sizeof known,
                                SIZE_MAX};
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            any out;
            any before;
            memset(&out, 0x5a, sizeof out);
            out.size = wrong[k];
            before = out;
            assert_int_equal(results[i].call(&out), MTS_STATUS_INVALID_ARGUMENT);
            assert_memory_equal(&out, &before, sizeof out);
        }
        assert_int_equal(results[i].call(NULL), MTS_STATUS_INVALID_ARGUMENT);
    }
}

/* A caller's struct may be shorter or longer than the one that the library was built with. */
static void defaults_fill_the_caller_s_struct_and_no_byte_behind_it(void **state)
{
    (void)state;
    const size_t whole = sizeof(mts_session_options);
    const size_t sizes[] = {sizeof(size_t), 2 * sizeof(size_t), whole - sizeof(size_t), whole, whole + 24};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        mts_session_options known;
        unsigned char bytes[sizeof(mts_session_options) + 64];
        memset(bytes, 0x5a, sizeof bytes);
        mts_session_options_default(&known);
        mts_session_options_default_sized((mts_session_options *)(void *)bytes, sizes[i]);
        known.size = sizes[i];
        const size_t common = sizes[i] < whole ? sizes[i] : whole;
        assert_memory_equal(bytes, &known, common);
        for (size_t at = common; at < sizeof bytes; at++) {
            assert_int_equal(bytes[at], at < sizes[i] ? 0 : 0x5a);
        }
    }
    unsigned char short_of_a_size[sizeof(size_t)] = {0};
    mts_runtime_options_default_sized((mts_runtime_options *)(void *)short_of_a_size, 4);
    assert_int_equal(short_of_a_size[0], 0);
    mts_runtime_options_default_sized(NULL, sizeof(mts_runtime_options));
}

static void options_of_an_older_header_keep_the_defaults_of_what_they_lack(void **state)
{
    api_fixture other;
    mts_runtime_options runtime_options = api_options(&other, "reference");
    mts_session_options options;
    mts_runtime *runtime = NULL;
    mts_session *session = NULL;
    (void)state;
    runtime_options.size = offsetof(mts_runtime_options, cache_dir);
    assert_int_equal(mts_runtime_create(&runtime_options, &runtime), MTS_STATUS_OK);
    mts_runtime_destroy(&runtime);
    mts_session_options_default(&options);
    options.frames_in_flight = 99; /* is not looked at */
    options.size = offsetof(mts_session_options, memory_budget);
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session), MTS_STATUS_OK);
    mts_session_destroy(&session);
    options.size = sizeof options;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                     MTS_STATUS_INVALID_ARGUMENT);
    const size_t wrong[] = {0, 1, sizeof options - 1, sizeof options + sizeof(size_t), SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        mts_session_options_default(&options);
        options.size = wrong[i];
        assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &session),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(w.fixture.error, "mts_session_options"));
        runtime_options.size =
            wrong[i] == sizeof options + sizeof(size_t) ? sizeof runtime_options + sizeof(size_t) : wrong[i];
        assert_int_equal(mts_runtime_create(&runtime_options, &runtime), MTS_STATUS_INVALID_ARGUMENT);
        assert_null(runtime);
    }
}

static void a_frame_of_an_older_header_is_host_memory(void **state)
{
    mts_ticket ticket = 0;
    (void)state;
    api_pixels(w.pixels, 1);
    mts_frame frame = api_frame(w.pixels);
    frame.size = offsetof(mts_frame, buffer) / sizeof(size_t) * sizeof(size_t);
    assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    frame.size = sizeof frame + sizeof(size_t);
    assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_INVALID_ARGUMENT);
}

/* What an older header has no fields for, a newer one may have in reserved words. */
static void a_frame_that_ends_inside_its_region_shows_all_of_itself(void **state)
{
    const size_t word = sizeof(size_t);
    const size_t end = offsetof(mts_frame, region) + offsetof(mts_region, middle);
    mts_ticket ticket = 0;
    (void)state;
    api_pixels(w.pixels, 1);
    mts_frame frame = api_frame(w.pixels);
    memset((unsigned char *)&frame + offsetof(mts_frame, region) + sizeof frame.region, 0xff,
           sizeof frame - offsetof(mts_frame, region) - sizeof frame.region);
    frame.region.sides[0] = -1.0f; /* are not looked at */
    frame.region.reserved[0] = 7;
    frame.size = end / word * word;
    assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
}

static void reserved_words_of_a_region_are_zeros(void **state)
{
    mts_ticket ticket = 0;
    mts_region region = {.reserved = {0, 0, 0, 0, 1}};
    (void)state;
    api_pixels(w.pixels, 1);
    mts_frame frame = api_frame(w.pixels);
    for (size_t i = 0; i < sizeof region.reserved / sizeof region.reserved[0]; i++) {
        memset(frame.region.reserved, 0, sizeof frame.region.reserved);
        frame.region.reserved[i] = 1;
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(w.fixture.error, "reserved"));
    }
    assert_int_equal(mts_session_regions(w.session, NULL, &region, 1), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(w.fixture.error, "reserved[4]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(results_of_an_older_header_are_filled_to_their_end, setup, teardown),
        cmocka_unit_test_setup_teardown(results_of_an_unknown_size_are_refused_and_not_written, setup,
                                        teardown),
        cmocka_unit_test(defaults_fill_the_caller_s_struct_and_no_byte_behind_it),
        cmocka_unit_test_setup_teardown(options_of_an_older_header_keep_the_defaults_of_what_they_lack, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_frame_of_an_older_header_is_host_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(a_frame_that_ends_inside_its_region_shows_all_of_itself, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(reserved_words_of_a_region_are_zeros, setup, teardown),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    api_bundle_remove();
    return failed;
}
