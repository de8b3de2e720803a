/*
 * The cache directory as a caller sees it: a second start plans at once and builds nothing from source.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support/api_fixture.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/mts-api-cache-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[96];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

typedef struct start {
    mts_cache_stats cache;
    mts_session_stats session;
    char plan[16384];
    char log[4096];
} start;

/* A runtime on the device, a session with two tasks, its groups measured and its kernels tuned for a moment.
 */
static void start_with(const char *device, const mts_runtime_options *how, start *out)
{
    static const char *const tasks[2] = {"pet", "wheels"};
    api_fixture fixture;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_session_options options;
    memset(&fixture, 0, sizeof fixture);
    mts_runtime_options runtime = api_options(&fixture, device);
    runtime.cache_dir = folder;
    runtime.replay = how->replay;
    runtime.check = how->check;
    assert_int_equal(mts_runtime_create(&runtime, &fixture.runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open(fixture.runtime, api_bundle_path(), &bundle), MTS_STATUS_OK);
    mts_session_options_default(&options);
    options.tasks = tasks;
    options.task_count = 2;
    options.grouping = MTS_GROUPING_MEASURED;
    options.tuning_ms = strcmp(device, "null") == 0 ? 60000 : 0; /* to the end, where it takes no time */
    if (mts_session_create(fixture.runtime, bundle, &options, &session) != MTS_STATUS_OK) {
        fail_msg("%s", fixture.error);
    }
    out->cache.size = sizeof out->cache;
    out->session.size = sizeof out->session;
    assert_int_equal(mts_runtime_cache(fixture.runtime, &out->cache), MTS_STATUS_OK);
    assert_int_equal(mts_session_stats_get(session, &out->session), MTS_STATUS_OK);
    assert_int_equal(mts_session_explain(session, MTS_REPORT_JSON, out->plan, sizeof out->plan, NULL),
                     MTS_STATUS_OK);
    (void)snprintf(out->log, sizeof out->log, "%s", fixture.log);
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    api_close(&fixture);
}

static void start_up(const char *device, start *out)
{
    mts_runtime_options usual;
    mts_runtime_options_default(&usual);
    start_with(device, &usual, out);
}

static void a_second_start_plans_at_once_and_builds_nothing(void **state)
{
    start first, second;
    (void)state;
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        mts_device_desc desc = {.size = sizeof desc};
        assert_int_equal(mts_device_describe(i, &desc), MTS_STATUS_OK);
        const bool builds = strncmp(desc.id, "opencl", 6) == 0 || strncmp(desc.id, "cuda", 4) == 0;
        start_up(desc.id, &first);
        assert_int_equal(first.cache.plans.misses, 1);
        assert_int_equal(first.cache.plans.written, 1);
        assert_true(first.session.predicted_ms > 0.0);
        assert_true((first.cache.programs_built > 0) == builds);
        start_up(desc.id, &second);
        assert_int_equal(second.cache.plans.hits, 1);
        assert_int_equal(second.cache.plans.misses + second.cache.plans.rejected + second.cache.plans.written,
                         0);
        assert_int_equal(second.cache.tunings.written, 0); /* the plan has them */
        assert_int_equal(second.cache.programs_built, 0);
        assert_int_equal(second.cache.programs.misses, 0);
        assert_true((second.cache.programs.hits > 0) == builds);
        assert_true(second.session.planning_ms < 100.0);
        assert_non_null(strstr(first.plan, "\"cached\": false"));
        assert_non_null(strstr(second.plan, "\"cached\": true"));
        assert_true(second.session.predicted_ms == first.session.predicted_ms);
        assert_int_equal(second.session.groups, first.session.groups);
    }
    api_bundle_remove();
}

/* Latencies are those of a way of submitting; a checked device is slower. */
static void a_device_opened_in_another_way_is_measured_anew(void **state)
{
    start last;
    (void)state;
    mts_runtime_options runtimes[4];
    for (int i = 0; i < 4; i++) {
        mts_runtime_options_default(&runtimes[i]);
    }
    runtimes[1].replay = MTS_USE_ON;
    runtimes[2].replay = MTS_USE_OFF;
    runtimes[3].check = 1;
    for (int i = 0; i < 8; i++) {
        start_with("reference", &runtimes[i % 4], &last);
        assert_int_equal(last.cache.plans.written, i < 4);
        assert_int_equal(last.cache.plans.hits, i >= 4);
    }
    api_bundle_remove();
}

/* Kernel binaries are code: nothing that another user may have written is run. */
static void a_folder_that_others_may_write_is_no_cache_and_the_log_says_so(void **state)
{
    start last;
    (void)state;
    assert_int_equal(chmod(folder, 0777), 0);
    start_up("reference", &last);
    assert_int_equal(last.cache.plans.misses + last.cache.plans.written + last.cache.plans.failed, 0);
    assert_non_null(strstr(last.log, "there is no cache: "));
    assert_non_null(strstr(last.log, "chmod go-w"));
    assert_int_equal(chmod(folder, 0755), 0);
    start_up("reference", &last);
    assert_int_equal(last.cache.plans.written, 1);
    assert_null(strstr(last.log, "there is no cache"));
    api_bundle_remove();
}

static void counting_needs_a_runtime_and_a_place_of_the_right_size(void **state)
{
    api_fixture fixture;
    mts_cache_stats stats = {.size = sizeof stats};
    (void)state;
    memset(&fixture, 0, sizeof fixture);
    api_open(&fixture, "reference");
    assert_int_equal(mts_runtime_cache(NULL, &stats), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_runtime_cache(fixture.runtime, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_runtime_cache(fixture.runtime, &stats), MTS_STATUS_OK);
    assert_int_equal(stats.plans.hits + stats.plans.misses + stats.programs_built + stats.variants_skipped,
                     0);
    stats.size--;
    assert_int_equal(mts_runtime_cache(fixture.runtime, &stats), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(fixture.error, "mts_cache_stats"));
    api_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_second_start_plans_at_once_and_builds_nothing, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_device_opened_in_another_way_is_measured_anew, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_folder_that_others_may_write_is_no_cache_and_the_log_says_so,
                                        make_folder, remove_folder),
        cmocka_unit_test(counting_needs_a_runtime_and_a_place_of_the_right_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
