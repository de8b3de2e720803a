/*
 * The runtime handle and the list of devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "platform/os/os.h"
#include "support/api_fixture.h"

static void the_reference_device_opens_by_its_name(void **state)
{
    api_fixture fixture;
    mts_device_desc desc = {.size = sizeof desc};
    (void)state;
    api_open(&fixture, "reference");
    assert_int_equal(mts_runtime_device(fixture.runtime, &desc), MTS_STATUS_OK);
    assert_string_equal(desc.id, "reference");
    assert_int_equal(desc.is_gpu, 0);
    assert_true(desc.memory_bytes > 0);
    api_close(&fixture);
}

static void every_device_of_the_list_opens_by_its_id(void **state)
{
    (void)state;
    assert_true(mts_device_count() >= 1);
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        api_fixture fixture;
        mts_device_desc listed = {.size = sizeof listed};
        mts_device_desc opened = {.size = sizeof opened};
        assert_int_equal(mts_device_describe(i, &listed), MTS_STATUS_OK);
        assert_string_not_equal(listed.id, "null");
        api_open(&fixture, listed.id);
        assert_int_equal(mts_runtime_device(fixture.runtime, &opened), MTS_STATUS_OK);
        assert_string_equal(opened.id, listed.id);
        assert_string_equal(opened.name, listed.name);
        api_close(&fixture);
    }
}

static void a_device_beyond_the_list_is_not_found(void **state)
{
    mts_device_desc desc = {.size = sizeof desc};
    (void)state;
    assert_int_equal(mts_device_describe(mts_device_count(), &desc), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_device_describe(0, NULL), MTS_STATUS_INVALID_ARGUMENT);
}

static bool process_has(const char *library)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        found = strstr(line, library);
    }
    if (maps) {
        (void)fclose(maps);
    }
    return found;
}

/* The first test of all: no other has loaded a driver. */
static void auto_loads_no_opencl_driver_where_the_system_shows_no_gpu(void **state)
{
    api_fixture fixture;
    mts_device_desc chosen = {.size = sizeof chosen};
    (void)state;
    if (process_has("libOpenCL")) {
        skip(); /* this build is linked with it */
    }
    api_open(&fixture, "auto");
    assert_int_equal(mts_runtime_device(fixture.runtime, &chosen), MTS_STATUS_OK);
    assert_true(strcmp(chosen.id, "cpu") != 0 || mts_os_shows_gpu("/dev") || !process_has("libOpenCL"));
    api_close(&fixture);
}

static void auto_never_picks_the_backend_that_computes_nothing(void **state)
{
    api_fixture fixture;
    mts_device_desc desc = {.size = sizeof desc};
    (void)state;
    api_open(&fixture, "auto");
    assert_int_equal(mts_runtime_device(fixture.runtime, &desc), MTS_STATUS_OK);
    assert_string_not_equal(desc.id, "null");
    api_close(&fixture);
    api_open(&fixture, "null");
    api_close(&fixture);
}

/* GPUs, the processor without a driver, OpenCL's processors, plain C. */
static void auto_takes_the_first_device_of_the_list_and_gpus_stand_before_the_processor(void **state)
{
    api_fixture fixture;
    mts_device_desc first = {.size = sizeof first}, chosen = {.size = sizeof chosen};
    int part = 0;
    (void)state;
    assert_int_equal(mts_device_describe(0, &first), MTS_STATUS_OK);
    api_open(&fixture, "auto");
    assert_int_equal(mts_runtime_device(fixture.runtime, &chosen), MTS_STATUS_OK);
    assert_string_equal(chosen.id, first.id);
    api_close(&fixture);
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        mts_device_desc desc = {.size = sizeof desc};
        assert_int_equal(mts_device_describe(i, &desc), MTS_STATUS_OK);
        const int kind = desc.is_gpu                         ? 0
                         : strcmp(desc.id, "cpu") == 0       ? 1
                         : strcmp(desc.id, "reference") == 0 ? 3
                                                             : 2;
        assert_true(kind >= part);
        part = kind;
    }
}

/* A device whose buffers hold 16 bytes at most takes no session. */
static void a_chosen_device_that_cannot_take_the_session_makes_way_for_the_next(void **state)
{
    api_world w = {0};
    mts_device_desc first = {.size = sizeof first};
    mts_device_desc second = {.size = sizeof second};
    mts_session_options options = api_two_tasks();
    mts_session *another = NULL;
    (void)state;
    if (mts_device_count() < 2) {
        print_message("skipped: there is one device only\n");
        skip();
    }
    api_open(&w.fixture, "auto");
    mts_runtime *runtime = w.fixture.runtime;
    assert_int_equal(mts_runtime_device(runtime, &first), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open(runtime, api_bundle_path(), &w.bundle), MTS_STATUS_OK);
    runtime->device->info.buffer_bytes = 16;
    assert_int_equal(mts_session_create(runtime, w.bundle, &options, &w.session), MTS_STATUS_OK);
    assert_int_equal(mts_runtime_device(runtime, &second), MTS_STATUS_OK);
    assert_string_not_equal(first.id, second.id);
    assert_non_null(strstr(w.fixture.log, "cannot be built on"));
    assert_non_null(strstr(w.fixture.log, second.id));
    runtime->device->info.buffer_bytes = 16; /* this device has a session, so that it stays */
    assert_int_equal(mts_session_create(runtime, w.bundle, &options, &another), MTS_STATUS_LIMIT);
    assert_null(another);
    api_world_close(&w);
}

static void a_named_device_that_cannot_take_the_session_is_an_error(void **state)
{
    api_world w = {0};
    mts_device_desc desc = {.size = sizeof desc};
    mts_session_options options = api_two_tasks();
    (void)state;
    assert_int_equal(mts_device_describe(0, &desc), MTS_STATUS_OK);
    api_open(&w.fixture, desc.id);
    assert_int_equal(mts_bundle_open(w.fixture.runtime, api_bundle_path(), &w.bundle), MTS_STATUS_OK);
    w.fixture.runtime->device->info.buffer_bytes = 16;
    assert_int_equal(mts_session_create(w.fixture.runtime, w.bundle, &options, &w.session), MTS_STATUS_LIMIT);
    assert_null(w.session);
    assert_non_null(strstr(w.fixture.error, "16"));
    api_world_close(&w);
}

static void an_unknown_device_is_not_found_and_the_sentence_names_it(void **state)
{
    static const char *const ids[] = {"nonsense", "opencl:x", "opencl:", "opencl:4096", "reference:7",
                                      "",         ":",        "cuda:x",  "cuda:sm_",    "cuda:sm_6x"};
    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        api_fixture fixture;
        const mts_runtime_options options = api_options(&fixture, ids[i]);
        mts_runtime *runtime = (mts_runtime *)&fixture;
        assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_NOT_FOUND);
        assert_null(runtime);
        assert_non_null(strstr(fixture.error, ids[i]));
        assert_non_null(strstr(fixture.log, ids[i]));
        assert_int_equal(fixture.alive, 0);
    }
}

static void a_device_that_is_not_here_opens_by_its_compute_capability(void **state)
{
    api_fixture fixture;
    mts_device_desc desc = {.size = sizeof desc};
    (void)state;
    api_open(&fixture, "cuda:sm_62");
    assert_int_equal(mts_runtime_device(fixture.runtime, &desc), MTS_STATUS_OK);
    assert_string_equal(desc.id, "cuda:sm_62");
    assert_string_equal(desc.name, "NVIDIA sm_62");
    assert_int_equal(desc.is_gpu, 1);
    assert_int_equal(desc.compute_units, 2);
    api_close(&fixture);
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        assert_int_equal(mts_device_describe(i, &desc), MTS_STATUS_OK);
        assert_null(strstr(desc.id, "sm_"));
    }
}

static void a_context_of_cuda_is_refused_where_the_device_is_another_ones(void **state)
{
    static const char *const ids[] = {"reference", "null", "cuda:sm_62"};
    int somewhere = 0;
    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        api_fixture fixture;
        mts_runtime *runtime = NULL;
        mts_runtime_options options = api_options(&fixture, ids[i]);
        options.cuda_context = &somewhere;
        assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_UNSUPPORTED);
        assert_null(runtime);
        assert_non_null(strstr(fixture.error, ids[i]));
        options.cuda_context = NULL;
        options.cuda_stream = &somewhere;
        assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(fixture.error, "cuda_stream"));
        assert_int_equal(fixture.alive, 0);
    }
}

static void options_that_contradict_themselves_are_refused(void **state)
{
    api_fixture fixture;
    mts_runtime *runtime = NULL;
    (void)state;
    mts_runtime_options options = api_options(&fixture, "reference");
    options.size--;
    assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_INVALID_ARGUMENT);
    options = api_options(&fixture, "reference");
    options.free = NULL;
    assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(fixture.error, "alloc"));
    options = api_options(&fixture, "reference");
    options.check = 2;
    assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_INVALID_ARGUMENT);
    options = api_options(&fixture, "reference");
    options.replay = (mts_use)3;
    assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(fixture.error, "replay"));
    options = api_options(&fixture, "reference");
    options.queue = (mts_queue_mode)4;
    assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(fixture.error, "queue"));
    options = api_options(&fixture, "reference");
    options.threads = MTS_THREADS_MOST + 1;
    assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(fixture.error, "threads is 257"));
    options = api_options(&fixture, "reference");
    options.error_text = NULL;
    assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_runtime_create(&options, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_null(runtime);
}

static void the_sentence_is_cut_to_the_callers_buffer(void **state)
{
    api_fixture fixture;
    mts_runtime *runtime = NULL;
    (void)state;
    mts_runtime_options options = api_options(&fixture, "nonsense");
    memset(fixture.error, 'x', sizeof fixture.error);
    options.error_size = 5;
    assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_NOT_FOUND);
    assert_int_equal(strlen(fixture.error), 4);
    assert_int_equal(fixture.error[5], 'x');
}

static void every_failing_allocation_fails_the_runtime_cleanly(void **state)
{
    uint32_t failures = 0;
    (void)state;
    for (size_t call = 1; call < 1000; call++) {
        api_fixture fixture;
        mts_runtime *runtime = NULL;
        const mts_runtime_options options = api_options(&fixture, "reference");
        fixture.fail_from = call;
        const mts_status status = mts_runtime_create(&options, &runtime);
        if (status == MTS_STATUS_OK) {
            fixture.fail_from = 0;
            mts_runtime_destroy(&runtime);
            assert_int_equal(fixture.alive, 0);
            break;
        }
        failures++;
        assert_int_equal(status, MTS_STATUS_OUT_OF_MEMORY);
        assert_null(runtime);
        assert_int_equal(fixture.alive, 0);
    }
    assert_in_range(failures, 1, 998);
}

static void destroying_nothing_is_fine(void **state)
{
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    (void)state;
    mts_runtime_destroy(NULL);
    mts_runtime_destroy(&runtime);
    mts_bundle_destroy(NULL);
    mts_bundle_destroy(&bundle);
    mts_session_destroy(NULL);
    mts_session_destroy(&session);
    mts_runtime_options_default(NULL);
    mts_session_options_default(NULL);
}

static void every_status_has_a_name_and_the_version_is_that_of_the_header(void **state)
{
    (void)state;
    for (int status = MTS_STATUS_OK; status <= MTS_STATUS_INTERNAL; status++) {
        assert_non_null(mts_status_name((mts_status)status));
        assert_true(strlen(mts_status_name((mts_status)status)) > 1);
    }
    assert_string_equal(mts_status_name(MTS_STATUS_OK), "ok");
    assert_non_null(mts_status_name((mts_status)4711));
    assert_string_equal(mts_version(), "0.1.0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_loads_no_opencl_driver_where_the_system_shows_no_gpu),
        cmocka_unit_test(the_reference_device_opens_by_its_name),
        cmocka_unit_test(every_device_of_the_list_opens_by_its_id),
        cmocka_unit_test(a_device_beyond_the_list_is_not_found),
        cmocka_unit_test(auto_never_picks_the_backend_that_computes_nothing),
        cmocka_unit_test(auto_takes_the_first_device_of_the_list_and_gpus_stand_before_the_processor),
        cmocka_unit_test(a_chosen_device_that_cannot_take_the_session_makes_way_for_the_next),
        cmocka_unit_test(a_named_device_that_cannot_take_the_session_is_an_error),
        cmocka_unit_test(an_unknown_device_is_not_found_and_the_sentence_names_it),
        cmocka_unit_test(a_device_that_is_not_here_opens_by_its_compute_capability),
        cmocka_unit_test(a_context_of_cuda_is_refused_where_the_device_is_another_ones),
        cmocka_unit_test(options_that_contradict_themselves_are_refused),
        cmocka_unit_test(the_sentence_is_cut_to_the_callers_buffer),
        cmocka_unit_test(every_failing_allocation_fails_the_runtime_cleanly),
        cmocka_unit_test(destroying_nothing_is_fine),
        cmocka_unit_test(every_status_has_a_name_and_the_version_is_that_of_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
