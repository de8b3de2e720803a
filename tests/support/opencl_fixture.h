/*
 * opencl_fixture.h: the first device of the OpenCL backend for tests of the backend itself, which reach into its
 * structs, and a kernel that adds one.
 */
#ifndef MTS_TESTS_SUPPORT_OPENCL_FIXTURE_H
#define MTS_TESTS_SUPPORT_OPENCL_FIXTURE_H

#include "platform/opencl/opencl.h"
#include "support/device_fixture.h"

/* The open device and the same as the backend has it; opencl_fixture_cl is NULL where there is no device. */
extern device_fixture opencl_fixture_world;
extern mts_cl_device *opencl_fixture_cl;

/* act[i] += pool[0] * table[first], at the work-item's number i. */
extern const mts_kernel_source opencl_fixture_increment;

/* Set-up and tear-down of a test. */
int opencl_fixture_open(void **state);
int opencl_fixture_close(void **state);
/* Skips the test where there is no device. */
void opencl_fixture_need(void);

/* Both fail the test where they cannot be made; the caller destroys them. The buffer has 256 bytes of zeros. */
mts_kernel *opencl_fixture_kernel(const char *defines);
mts_buffer *opencl_fixture_buffer(void);

#define OPENCL_TEST(name) cmocka_unit_test_setup_teardown(name, opencl_fixture_open, opencl_fixture_close)

#endif
