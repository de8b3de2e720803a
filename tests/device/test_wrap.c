/*
 * The decorators find, fail and tell what they claim, around the null device.
 */
#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "platform/null/null.h"
#include "platform/wrap/check.h"
#include "tests/support/fault.h"
#include "tests/support/trace.h"
#include "support/device_fixture.h"

#define KERNEL_NAME "copy_any__f32_planar"

static device_fixture world;

static int open_null(void **state)
{
    (void)state;
    mts_null_limits limits;
    mts_null_limits_default(&limits);
    device_fixture_init(&world, NULL);
    return mts_null_open(&limits, &world.options, &world.device, NULL) == MTS_STATUS_OK ? 0 : -1;
}

static int open_checked(void **state)
{
    return open_null(state) == 0 && mts_wrap_check(&world.device, &world.device, NULL) == MTS_STATUS_OK ? 0
                                                                                                        : -1;
}

static int close_device(void **state)
{
    (void)state;
    device_fixture_close(&world);
    return 0;
}

static mts_buffer *make_buffer(size_t size)
{
    mts_buffer *buffer = NULL;
    assert_int_equal(mts_buffer_create(world.device, size, &buffer, NULL), MTS_STATUS_OK);
    return buffer;
}

static mts_launch make_launch(void)
{
    const mts_kernel_desc desc = {.name = KERNEL_NAME, .defines = ""};
    mts_launch launch = {
        .act = make_buffer(64), .pool = make_buffer(64), .params = make_buffer(64), .label = "one"};
    assert_int_equal(mts_kernel_create(world.device, &desc, &launch.kernel, NULL), MTS_STATUS_OK);
    device_fixture_grid(&launch, 4);
    return launch;
}

static void destroy_launch(mts_launch *launch)
{
    mts_kernel_destroy(&launch->kernel);
    mts_buffer_destroy(&launch->act);
    mts_buffer_destroy(&launch->pool);
    mts_buffer_destroy(&launch->params);
}

static void fill(mts_buffer *buffer)
{
    assert_int_equal(mts_buffer_fill(buffer, 0, buffer->size, 0, NULL), MTS_STATUS_OK);
}

static uint32_t findings(void)
{
    return mts_wrap_check_count(world.device);
}

static void proper_use_has_no_findings(void **state)
{
    (void)state;
    uint32_t words[16];
    mts_launch launch = make_launch();
    mts_command_list *list = NULL;
    fill(launch.pool);
    fill(launch.params);
    assert_int_equal(mts_command_list_create(world.device, &launch, 1, &list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read(launch.act, 0, words, sizeof words, NULL),
                     MTS_STATUS_OK); /* a kernel wrote it */
    mts_command_list_destroy(&list);
    destroy_launch(&launch);
    assert_int_equal(findings(), 0);
    mts_device_destroy(&world.device);
    assert_string_equal(world.text, "");
}

static void objects_that_outlive_the_device_are_found_and_freed(void **state)
{
    (void)state;
    mts_launch launch = make_launch();
    mts_command_list *list = NULL;
    assert_int_equal(mts_command_list_create(world.device, &launch, 1, &list, NULL), MTS_STATUS_OK);
    mts_device_destroy(&world.device);
    assert_true(device_fixture_logged(&world, "check: buffer #1 is alive"));
    assert_true(device_fixture_logged(&world, "check: kernel #4 " KERNEL_NAME " is alive"));
    assert_true(device_fixture_logged(&world, "check: command list #5 is alive"));
    assert_int_equal(world.allocator.alive, 0);
}

static void use_of_a_destroyed_buffer_is_found_and_refused(void **state)
{
    (void)state;
    uint32_t word = 0;
    mts_buffer *buffer = make_buffer(64);
    mts_buffer *stale = buffer;
    mts_buffer_destroy(&buffer);
    assert_int_equal(mts_buffer_write(stale, 0, &word, 4, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_read(stale, 0, &word, 4, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_fill(stale, 0, 4, 0, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(findings(), 3);
    assert_true(device_fixture_logged(&world, "buffer_write uses buffer #1, which was destroyed"));
}

static void destroying_twice_is_found_and_harmless(void **state)
{
    (void)state;
    mts_buffer *buffer = make_buffer(64);
    mts_buffer *stale = buffer;
    mts_buffer_destroy(&buffer);
    mts_buffer_destroy(&stale);
    assert_int_equal(findings(), 1);
    assert_true(device_fixture_logged(&world, "buffer #1 is destroyed twice"));
}

static void a_list_over_a_destroyed_object_is_found_and_refused(void **state)
{
    (void)state;
    mts_launch launch = make_launch();
    mts_command_list *list = NULL;
    mts_command_list *other = NULL;
    fill(launch.pool);
    fill(launch.params);
    assert_int_equal(mts_command_list_create(world.device, &launch, 1, &list, NULL), MTS_STATUS_OK);
    const mts_launch copy = launch;
    mts_buffer_destroy(&launch.pool);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_command_list_create(world.device, &copy, 1, &other, NULL),
                     MTS_STATUS_INVALID_ARGUMENT);
    mts_command_list *stale = list;
    mts_command_list_destroy(&list);
    assert_int_equal(mts_command_list_submit(stale, NULL), MTS_STATUS_INVALID_ARGUMENT);
    destroy_launch(&launch);
    assert_int_equal(findings(), 3);
}

static void reading_what_nothing_wrote_is_found(void **state)
{
    (void)state;
    uint32_t words[4];
    mts_buffer *buffer = make_buffer(64);
    assert_int_equal(mts_buffer_write(buffer, 4, words, 8, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read(buffer, 4, words, 8, NULL), MTS_STATUS_OK);
    assert_int_equal(findings(), 0);
    assert_int_equal(mts_buffer_read(buffer, 4, words, 12, NULL), MTS_STATUS_OK);
    assert_int_equal(findings(), 1);
    assert_true(
        device_fixture_logged(&world, "12 bytes at 4 of buffer #1 are read; nothing wrote those at 12"));
    assert_int_equal(mts_buffer_read(buffer, 63, words, 1, NULL), MTS_STATUS_OK);
    assert_int_equal(findings(), 2);
    mts_buffer_destroy(&buffer);
}

static void fetching_what_nothing_wrote_is_found(void **state)
{
    (void)state;
    uint32_t words[4] = {0};
    mts_buffer *buffer = make_buffer(64);
    assert_int_equal(mts_buffer_write_async(buffer, 0, words, 8, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read_async(buffer, 0, words, 8, NULL), MTS_STATUS_OK);
    assert_int_equal(findings(), 0);
    assert_int_equal(mts_buffer_read_async(buffer, 0, words, 12, NULL), MTS_STATUS_OK);
    assert_int_equal(findings(), 1);
    mts_buffer *stale = buffer;
    mts_buffer_destroy(&buffer);
    assert_int_equal(mts_buffer_write_async(stale, 0, words, 4, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_read_async(stale, 0, words, 4, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(findings(), 3);
}

/* Sends from and fetches to memory of the device's own, then does `after` and destroys it. */
static void use_host(void (*after)(void))
{
    void *host = NULL;
    mts_buffer *buffer = make_buffer(64);
    fill(buffer);
    assert_int_equal(mts_host_create(world.device, 64, &host, NULL), MTS_STATUS_OK);
    memset(host, 0, 64);
    assert_int_equal(mts_device_event_record(world.device, 1, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write_async(buffer, 0, host, 8, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read_async(buffer, 0, (char *)host + 56, 8, NULL), MTS_STATUS_OK);
    if (after) {
        after();
    }
    mts_host_destroy(world.device, &host);
    mts_buffer_destroy(&buffer);
}

static void pass_early_event(void)
{
    assert_int_equal(mts_device_event_wait(world.device, 1, NULL), MTS_STATUS_OK);
}

static void pass_late_event(void)
{
    bool passed = false;
    assert_int_equal(mts_device_event_record(world.device, 2, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_device_event_passed(world.device, 2, &passed, NULL), MTS_STATUS_OK);
    assert_true(passed);
}

static void wait_for_all(void)
{
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_OK);
}

static void host_memory_that_goes_before_its_copies_are_through_is_found(void **state)
{
    (void)state;
    use_host(pass_late_event);
    use_host(wait_for_all);
    assert_int_equal(findings(), 0);
    use_host(NULL);
    assert_int_equal(findings(), 1);
    use_host(pass_early_event);
    assert_int_equal(findings(), 2);
    assert_true(device_fixture_logged(&world, "host memory #6 is destroyed, and a copy from or to it"));
}

static void host_memory_that_outlives_the_device_is_found_and_freed(void **state)
{
    (void)state;
    void *host = NULL;
    assert_int_equal(mts_host_create(world.device, 64, &host, NULL), MTS_STATUS_OK);
    mts_device_destroy(&world.device);
    assert_true(device_fixture_logged(&world, "check: host memory #1 is alive"));
    assert_int_equal(world.allocator.alive, 0);
}

static void launching_on_tables_and_pools_nothing_wrote_is_found(void **state)
{
    (void)state;
    mts_launch launch = make_launch();
    mts_command_list *list = NULL;
    assert_int_equal(mts_buffer_fill(launch.params, 0, 8, 0, NULL), MTS_STATUS_OK);
    launch.first = 2;
    assert_int_equal(mts_command_list_create(world.device, &launch, 1, &list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(findings(), 2);
    assert_true(device_fixture_logged(&world, "launch 'one' reads parameter word 2"));
    assert_true(device_fixture_logged(&world, "as its pool"));
    mts_command_list_destroy(&list);
    destroy_launch(&launch);
}

/* A run in flight. */
static mts_status fly(mts_buffer *buffer, mts_command_list *list)
{
    bool passed = true;
    void *host = NULL;
    mts_status status = mts_host_create(world.device, 16, &host, NULL);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    memset(host, 1, 16);
    status = mts_buffer_write_async(buffer, 0, host, 8, NULL);
    status = status ? status : mts_command_list_submit(list, NULL);
    status = status ? status : mts_buffer_read_async(buffer, 4, (char *)host + 8, 8, NULL);
    status = status ? status : mts_device_event_record(world.device, 7, NULL);
    status = status ? status : mts_device_event_passed(world.device, 7, &passed, NULL);
    status = status ? status : mts_device_event_wait(world.device, 7, NULL);
    assert_true(passed || status != MTS_STATUS_OK);
    if (status != MTS_STATUS_OK) {
        (void)mts_device_wait(world.device, NULL);
    }
    mts_host_destroy(world.device, &host);
    return status;
}

/* Everything once; the first failure's code. */
static mts_status scenario(void)
{
    const mts_kernel_desc desc = {.name = KERNEL_NAME, .defines = ""};
    uint32_t word = 7;
    mts_launch_time time = {0, 0};
    mts_buffer *buffer = NULL;
    mts_launch launch = {.label = "one"};
    mts_command_list *list = NULL;
    mts_status status = mts_buffer_create(world.device, 64, &buffer, NULL);
    status = status ? status : mts_buffer_write(buffer, 0, &word, 4, NULL);
    status = status ? status : mts_buffer_fill(buffer, 0, 64, 0, NULL);
    status = status ? status : mts_kernel_create(world.device, &desc, &launch.kernel, NULL);
    launch.act = launch.pool = launch.params = buffer;
    device_fixture_grid(&launch, 4);
    status = status ? status : mts_command_list_create(world.device, &launch, 1, &list, NULL);
    status = status ? status : mts_command_list_update(list, &launch, 1, NULL);
    status = status ? status : mts_command_list_submit(list, NULL);
    status = status ? status : fly(buffer, list);
    status = status ? status : mts_command_list_profile(list, &time, 1, NULL);
    status = status ? status : mts_buffer_read(buffer, 0, &word, 4, NULL);
    status = status ? status : mts_device_wait(world.device, NULL);
    mts_command_list_destroy(&list);
    mts_kernel_destroy(&launch.kernel);
    mts_buffer_destroy(&buffer);
    return status;
}

static void the_nth_call_fails_with_the_chosen_code(void **state)
{
    (void)state;
    mts_fault_plan plan = {.kind = MTS_WRAP_KIND_COUNT, .code = MTS_STATUS_DEVICE};
    assert_int_equal(mts_wrap_fault(&world.device, &plan, &world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(scenario(), MTS_STATUS_OK);
    assert_int_equal(plan.calls, 17);
    for (uint32_t nth = 1; nth <= 17; nth++) {
        plan.calls = plan.failed = 0;
        plan.nth = nth;
        const uint32_t alive = world.allocator.alive;
        assert_int_equal(scenario(), MTS_STATUS_DEVICE);
        assert_int_equal(plan.failed, 1);
        assert_in_range(plan.calls, nth, nth + 2); /* what fails in flight is waited for, by the front too */
        assert_int_equal(world.allocator.alive, alive);
    }
}

static void only_calls_of_the_chosen_kind_count(void **state)
{
    (void)state;
    mts_fault_plan plan = {.kind = MTS_WRAP_KIND_BUFFER_READ, .nth = 2, .code = MTS_STATUS_OUT_OF_MEMORY};
    assert_int_equal(mts_wrap_fault(&world.device, &plan, &world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(scenario(), MTS_STATUS_OK);
    assert_int_equal(scenario(), MTS_STATUS_OUT_OF_MEMORY);
    assert_int_equal(scenario(), MTS_STATUS_OK);
    plan.onwards = true;
    assert_int_equal(scenario(), MTS_STATUS_OUT_OF_MEMORY);
    assert_int_equal(plan.calls, 4);
    assert_int_equal(plan.failed, 2);
}

static void a_loss_on_purpose_is_sticky(void **state)
{
    (void)state;
    mts_fault_plan plan = {.kind = MTS_WRAP_KIND_LIST_SUBMIT, .nth = 1, .code = MTS_STATUS_DEVICE_LOST};
    assert_int_equal(mts_wrap_fault(&world.device, &plan, &world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(scenario(), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(scenario(), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(plan.calls, 1);
}

static void decorating_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (uint32_t nth = 1;; nth++) {
        mts_device *outer = NULL;
        world.allocator.calls = world.allocator.failed = 0;
        world.allocator.nth = nth;
        mts_status status = mts_wrap_check(&world.device, &outer, NULL);
        if (status == MTS_STATUS_OK) {
            world.device = outer;
            status = scenario();
        }
        world.allocator.nth = 0;
        assert_non_null(world.device);
        if (world.allocator.failed == 0) {
            assert_int_equal(status, MTS_STATUS_OK);
            return;
        }
        assert_true(status == MTS_STATUS_OUT_OF_MEMORY ||
                    status == MTS_STATUS_OK); /* OK: the check lost its bitmap only */
        device_fixture_close(&world);
        assert_int_equal(open_null(state), 0);
    }
}

typedef struct trace_log {
    char text[4096];
    uint32_t events;
} trace_log;

static void keep_event(void *context, const mts_trace_event *event)
{
    trace_log *log = context;
    char line[256];
    assert_true(strlen(mts_trace_text(event, line, sizeof line)) < sizeof line);
    char *time = strstr(line, ", ");
    assert_non_null(time);
    *time = '\0'; /* what is left does not vary */
    assert_true(strlen(log->text) + strlen(line) + 2 < sizeof log->text);
    (void)strcat(strcat(log->text, line), "\n");
    log->events++;
    assert_true(event->start_ns != 0);
}

static void every_call_is_told_in_order_with_its_result(void **state)
{
    (void)state;
    trace_log log = {.text = ""};
    const mts_trace_sink sink = {&log, keep_event};
    assert_int_equal(mts_wrap_trace(&world.device, &sink, &world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(scenario(), MTS_STATUS_OK);
    mts_buffer *buffer = NULL;
    assert_int_equal(mts_buffer_create(world.device, (size_t)1 << 30, &buffer, NULL), MTS_STATUS_OK);
    mts_buffer *more = NULL;
    assert_int_equal(mts_buffer_create(world.device, 8, &more, NULL), MTS_STATUS_OUT_OF_MEMORY);
    mts_buffer_destroy(&buffer);
    mts_device_destroy(&world.device);
    assert_string_equal(log.text, "buffer_create #1 64 bytes at 0: ok\n"
                                  "buffer_write #1 4 bytes at 0: ok\n"
                                  "buffer_fill #1 64 bytes at 0: ok\n"
                                  "kernel_create #2 " KERNEL_NAME ": ok\n"
                                  "command_list_create #3 1 launches: ok\n"
                                  "command_list_update #3 1 launches: ok\n"
                                  "command_list_submit #3 1 launches: ok\n"
                                  "host_create #4 16 bytes at 0: ok\n"
                                  "buffer_send #1 8 bytes at 0: ok\n"
                                  "command_list_submit #3 1 launches: ok\n"
                                  "buffer_read_async #1 8 bytes at 4: ok\n"
                                  "event_record 7: ok\n"
                                  "event_query 7: ok\n"
                                  "event_query 7: ok\n"
                                  "host_destroy #4: ok\n"
                                  "command_list_profile #3 1 launches: ok\n"
                                  "buffer_read #1 4 bytes at 0: ok\n"
                                  "wait: ok\n"
                                  "command_list_destroy #3: ok\n"
                                  "kernel_destroy #2 " KERNEL_NAME ": ok\n"
                                  "buffer_destroy #1: ok\n"
                                  "buffer_create #5 1073741824 bytes at 0: ok\n"
                                  "buffer_create 8 bytes at 0: out of memory\n"
                                  "buffer_destroy #5: ok\n"
                                  "device_destroy: ok\n");
}

static void limits_of_the_null_device_hold(void **state)
{
    (void)state;
    mts_null_limits limits;
    mts_error error;
    mts_buffer *a = NULL;
    mts_buffer *b = NULL;
    device_fixture_close(&world);
    mts_null_limits_default(&limits);
    limits.info.memory_bytes = 1000;
    limits.info.buffer_bytes = 600;
    assert_int_equal(mts_null_open(&limits, &world.options, &world.device, &error), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_create(world.device, 601, &a, &error), MTS_STATUS_LIMIT);
    assert_int_equal(mts_buffer_create(world.device, 600, &a, &error), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_create(world.device, 401, &b, &error), MTS_STATUS_OUT_OF_MEMORY);
    assert_int_equal(mts_buffer_create(world.device, 400, &b, &error), MTS_STATUS_OK);
    mts_buffer_destroy(&a);
    assert_int_equal(mts_buffer_create(world.device, 600, &a, &error), MTS_STATUS_OK);
    mts_buffer_destroy(&a);
    mts_buffer_destroy(&b);
}

static void decorators_stack_and_see_the_loss_of_the_inner_device(void **state)
{
    (void)state;
    mts_fault_plan plan = {.kind = MTS_WRAP_KIND_WAIT, .nth = 1, .code = MTS_STATUS_DEVICE_LOST};
    assert_int_equal(mts_wrap_fault(&world.device, &plan, &world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_wrap_check(&world.device, &world.device, NULL), MTS_STATUS_OK);
    assert_int_equal(scenario(), MTS_STATUS_DEVICE_LOST);
    assert_true(world.device->lost);
    assert_int_equal(scenario(), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(findings(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(proper_use_has_no_findings, open_checked, close_device),
        cmocka_unit_test_setup_teardown(objects_that_outlive_the_device_are_found_and_freed, open_checked,
                                        close_device),
        cmocka_unit_test_setup_teardown(use_of_a_destroyed_buffer_is_found_and_refused, open_checked,
                                        close_device),
        cmocka_unit_test_setup_teardown(destroying_twice_is_found_and_harmless, open_checked, close_device),
        cmocka_unit_test_setup_teardown(a_list_over_a_destroyed_object_is_found_and_refused, open_checked,
                                        close_device),
        cmocka_unit_test_setup_teardown(reading_what_nothing_wrote_is_found, open_checked, close_device),
        cmocka_unit_test_setup_teardown(fetching_what_nothing_wrote_is_found, open_checked, close_device),
        cmocka_unit_test_setup_teardown(host_memory_that_goes_before_its_copies_are_through_is_found,
                                        open_checked, close_device),
        cmocka_unit_test_setup_teardown(host_memory_that_outlives_the_device_is_found_and_freed, open_checked,
                                        close_device),
        cmocka_unit_test_setup_teardown(launching_on_tables_and_pools_nothing_wrote_is_found, open_checked,
                                        close_device),
        cmocka_unit_test_setup_teardown(the_nth_call_fails_with_the_chosen_code, open_null, close_device),
        cmocka_unit_test_setup_teardown(only_calls_of_the_chosen_kind_count, open_null, close_device),
        cmocka_unit_test_setup_teardown(a_loss_on_purpose_is_sticky, open_null, close_device),
        cmocka_unit_test_setup_teardown(decorating_survives_every_failed_allocation, open_null, close_device),
        cmocka_unit_test_setup_teardown(every_call_is_told_in_order_with_its_result, open_null, close_device),
        cmocka_unit_test_setup_teardown(limits_of_the_null_device_hold, open_null, close_device),
        cmocka_unit_test_setup_teardown(decorators_stack_and_see_the_loss_of_the_inner_device, open_null,
                                        close_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
