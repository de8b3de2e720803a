/*
 * test_fence.c: fences over the few marks of a device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/fence.h"
#include "support/device_fixture.h"
#include "support/gate_device.h"

static void world_open(device_fixture *w)
{
    device_fixture_init(w, NULL);
    device_fixture_open(w, device_fixture_backend("reference"), 0);
    gate_install(w->device);
}

static bool passed(device_fixture *w, uint64_t fence)
{
    mts_error error = {0};
    bool answer = false;
    assert_int_equal(mts_fence_passed(w->device, fence, &answer, &error), MTS_CODE_OK);
    return answer;
}

static uint64_t set(device_fixture *w)
{
    mts_error error = {0};
    uint64_t fence = 0;
    assert_int_equal(mts_fence_set(w->device, &fence, &error), MTS_CODE_OK);
    return fence;
}

static void fences_pass_in_order_and_stay_passed(void **state)
{
    device_fixture w;
    mts_error error = {0};
    (void)state;
    world_open(&w);
    const uint64_t a = set(&w);
    const uint64_t b = set(&w);
    const uint64_t c = set(&w);
    assert_true(a < b && b < c);
    assert_false(passed(&w, a));
    gate_pass(2);
    assert_true(passed(&w, b));
    assert_true(passed(&w, a));
    assert_false(passed(&w, c));
    assert_int_equal(mts_fence_wait(w.device, c, &error), MTS_CODE_OK);
    assert_true(passed(&w, c));
    for (uint32_t i = 0; i < 5 * MTS_DEVICE_MARKS; i++) {
        (void)set(&w);
        gate_pass(1);
    }
    assert_true(passed(&w, a)); /* whose mark stands for another one since long */
    device_fixture_close(&w);
}

static void more_fences_than_marks_wait_for_the_oldest(void **state)
{
    device_fixture w;
    (void)state;
    world_open(&w);
    const uint64_t first = set(&w);
    for (uint32_t i = 1; i < MTS_DEVICE_MARKS; i++) {
        (void)set(&w);
    }
    assert_false(passed(&w, first));
    assert_int_equal(gate_marks(), MTS_DEVICE_MARKS);
    const uint64_t last = set(&w);
    assert_int_equal(gate_marks(), MTS_DEVICE_MARKS);
    assert_true(passed(&w, first));
    assert_false(passed(&w, first + 1));
    assert_false(passed(&w, last));
    device_fixture_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fences_pass_in_order_and_stay_passed),
        cmocka_unit_test(more_fences_than_marks_wait_for_the_oldest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
