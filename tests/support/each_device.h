/*
 * each_device.h: runs tests on every device of every backend of this build, each with objects of its own. A
 * backend without a device is passed over with a message.
 */
#ifndef MTS_TESTS_SUPPORT_EACH_DEVICE_H
#define MTS_TESTS_SUPPORT_EACH_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/device_fixture.h"

#define COUNT 64u /* floats of a row */
#define SCALE_KERNEL "scale_any__f32_planar"

struct CMUnitTest;

/* The device at hand, and objects of most tests: y = 2 x over a row of activations. */
extern struct each_device {
    const mts_backend *backend;
    uint32_t index;
    device_fixture fixture;
    mts_buffer *act, *pool, *table;
    mts_kernel *kernel;
    mts_launch launch; /* act[0..COUNT) doubled in place */
} each_device;

/* Setup and teardown of a test. */
int each_device_open(void **state);
int each_device_close(void **state);
#define DEVICE_TEST(name) cmocka_unit_test_setup_teardown(name, each_device_open, each_device_close)

/* Whether the device computes; the null backend takes part in everything but results of kernels. */
bool each_device_computes(void);
mts_buffer *each_device_buffer(size_t size);
/* Three records: row 0 onto itself, row 0 to row 1, row 1 to row 2; each doubles. */
void each_device_objects_make(void);
/* Fails unless a row of activations is 0, 1, 2, ... times `factor`. */
void each_device_row_check(uint32_t row, float factor);
mts_command_list *each_device_list(const mts_launch *launches, size_t count);
/* Runs the tests on each device; how many failed. */
int each_device_tests_run(const struct CMUnitTest *tests, size_t count);

#endif
