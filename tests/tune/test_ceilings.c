/*
 * The ceilings of a device are measured, or refused where there are no kernels for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tune/ceilings.h"
#include "support/device_fixture.h"

static void a_device_with_kernels_has_ceilings_that_a_machine_can_have(void **state)
{
    (void)state;
    const mts_backend *backend = device_fixture_backend("opencl");
    if (!backend || backend->count() == 0) {
        skip();
    }
    device_fixture fixture;
    mts_error error = {0};
    mts_probe probe = {0};
    device_fixture_init(&fixture, NULL);
    device_fixture_open(&fixture, backend, 0);
    assert_int_equal(mts_probe_run(fixture.device, &probe, &error), MTS_STATUS_OK);
    assert_true(probe.flops > 1e9 && probe.flops < 1e15);
    assert_true(probe.copy > 1e8 && probe.copy < 1e14);
    device_fixture_close(&fixture);
}

static void plain_c_has_no_kernel_for_it_and_says_so(void **state)
{
    (void)state;
    const mts_backend *backend = device_fixture_backend("reference");
    if (!backend) {
        skip();
    }
    device_fixture fixture;
    mts_error error = {0};
    mts_probe probe = {1.0, 1.0};
    device_fixture_init(&fixture, NULL);
    device_fixture_open(&fixture, backend, 0);
    assert_int_equal(mts_probe_run(fixture.device, &probe, &error), MTS_STATUS_UNSUPPORTED);
    assert_true(probe.flops == 0.0 && probe.copy == 0.0);
    assert_true(error.text[0] != '\0');
    device_fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_with_kernels_has_ceilings_that_a_machine_can_have),
        cmocka_unit_test(plain_c_has_no_kernel_for_it_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
