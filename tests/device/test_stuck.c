/*
 * A device that cannot be waited for: it is lost, and host memory that its queue may still use lives as long
 * as it does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/device_fixture.h"
#include "support/fault_allocator.h"

static mts_fault_allocator memory;
static mts_device *device;
static mts_device_ops stuck;
static const mts_device_ops *works;
static uint32_t waits, failing; /* waits so far; how many of them fail */

static mts_status failing_wait(mts_device *base, mts_error *error)
{
    return waits++ < failing ? mts_fail(error, MTS_STATUS_DEVICE, "this wait fails")
                             : works->wait(base, error);
}

static mts_status failing_query(mts_device *base, uint32_t index, bool wait, bool *passed, mts_error *error)
{
    (void)base;
    (void)index;
    (void)wait;
    *passed = false;
    return mts_fail(error, MTS_STATUS_DEVICE, "this event fails");
}

static int open_stuck(void **state)
{
    (void)state;
    mts_fault_allocator_init(&memory, 0);
    const mts_device_options options = {.allocator = &memory.allocator};
    assert_int_equal(device_fixture_backend("reference")->open(0, &options, &device, NULL), MTS_STATUS_OK);
    works = device->ops;
    stuck = *works;
    stuck.wait = failing_wait;
    stuck.host_create = NULL; /* the front's own memory */
    stuck.host_destroy = NULL;
    device->ops = &stuck;
    waits = 0;
    failing = UINT32_MAX;
    return 0;
}

static int close_stuck(void **state)
{
    (void)state;
    mts_device_destroy(&device);
    assert_int_equal(memory.alive, 0);
    return 0;
}

static void *host_memory(void)
{
    void *made = NULL;
    assert_int_equal(mts_host_create(device, 1000, &made, NULL), MTS_STATUS_OK);
    assert_int_equal((uintptr_t)made % 64, 0);
    memset(made, 1, 1000);
    return made;
}

/* The memory of both is freed with the device: see close_stuck. */
static void assert_parked(void *first, void *second)
{
    const size_t alive = memory.alive;
    unsigned char *seen = first;
    mts_host_destroy(device, &first);
    mts_host_destroy(device, &second);
    assert_null(first);
    assert_int_equal(memory.alive, alive);
    assert_int_equal(seen[999], 1); /* a sanitizer sees freed memory */
}

static void a_device_whose_waits_fail_for_ever_is_lost_and_keeps_host_memory(void **state)
{
    (void)state;
    void *first = host_memory(), *second = host_memory();
    assert_int_equal(mts_device_wait(device, NULL), MTS_STATUS_DEVICE_LOST);
    assert_int_equal(mts_device_wait(device, NULL), MTS_STATUS_DEVICE_LOST);
    assert_parked(first, second);
}

static void a_wait_that_fails_once_is_a_failure_and_the_device_stays(void **state)
{
    (void)state;
    failing = 1;
    void *memory_of_queue = host_memory();
    assert_int_equal(mts_device_wait(device, NULL), MTS_STATUS_DEVICE);
    assert_int_equal(waits, 2); /* the second one tells that nothing is on the device */
    assert_int_equal(mts_device_wait(device, NULL), MTS_STATUS_OK);
    const size_t alive = memory.alive;
    mts_host_destroy(device, &memory_of_queue);
    assert_int_equal(memory.alive, alive - 1);
}

static void a_failing_event_ends_with_a_device_that_is_idle_or_lost(void **state)
{
    bool passed = true;
    (void)state;
    stuck.event_query = failing_query;
    failing = 0;
    assert_int_equal(mts_device_event_passed(device, 0, &passed, NULL), MTS_STATUS_DEVICE);
    assert_false(passed);
    assert_int_equal(waits, 1);
    waits = 0;
    failing = UINT32_MAX;
    void *first = host_memory(), *second = host_memory();
    assert_int_equal(mts_device_event_wait(device, 0, NULL), MTS_STATUS_DEVICE_LOST);
    assert_parked(first, second);
}

#define STUCK_TEST(name) cmocka_unit_test_setup_teardown(name, open_stuck, close_stuck)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STUCK_TEST(a_device_whose_waits_fail_for_ever_is_lost_and_keeps_host_memory),
        STUCK_TEST(a_wait_that_fails_once_is_a_failure_and_the_device_stays),
        STUCK_TEST(a_failing_event_ends_with_a_device_that_is_idle_or_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
