/*
 * test_sets.c: the instruction set that is chosen is one that the processor has, and the device says whether it
 * multiplies bytes. Where an emulator names the processor, MTS_TEST_BYTE_PRODUCTS says what it has: 1 or 0.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "platform/cpu/sets.h"
#include "support/device_fixture.h"

static void the_best_set_is_one_that_the_processor_has(void **state)
{
    (void)state;
    const mts_cpu_set *best = mts_cpu_set_best();
    assert_non_null(best);
    assert_true(best->supported());
    assert_ptr_equal(mts_cpu_set_of(best->vector), best);
}

static void the_device_multiplies_bytes_where_the_processor_does(void **state)
{
    (void)state;
    const char *expected = getenv("MTS_TEST_BYTE_PRODUCTS");
    const mts_backend *backend = device_fixture_backend("cpu");
    mts_device_info info;
    mts_error error = {MTS_STATUS_OK, ""};
    assert_non_null(backend);
    assert_int_equal(backend->describe(0, &info, &error), MTS_STATUS_OK);
    print_message("%s: %s bytes\n", info.name, info.byte_products ? "multiplies" : "does not multiply");
    assert_int_equal(info.byte_products, mts_cpu_set_bytes(mts_cpu_set_best()) != NULL);
    if (expected) {
        assert_int_equal(info.byte_products, strcmp(expected, "1") == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_set_is_one_that_the_processor_has),
        cmocka_unit_test(the_device_multiplies_bytes_where_the_processor_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
