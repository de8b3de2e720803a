/*
 * second_device.h: which device is compared with the reference.
 *
 * Tests say "opencl" for it. With the environment variable MTS_TEST_DEVICE=cuda (any backend's name) the same
 * tests compare that one.
 */
#ifndef MTS_TESTS_SUPPORT_SECOND_DEVICE_H
#define MTS_TESTS_SUPPORT_SECOND_DEVICE_H

#include <stdbool.h>

/* The backend to open where a test says `name`. */
const char *second_device_backend(const char *name);
/* Likewise of ids: "opencl:0" may become "cuda:0". */
const char *second_device_id(const char *id);
/* The folder, where programs of the backend (as it is opened) should be kept in it; else NULL. PoCL keeps
 * programs itself. For a folder it compiles each kernel twice: for any size of work-groups, and for that of a
 * launch. */
const char *second_device_cache(const char *backend, const char *folder);
/* Whether MTS_PROFILE gives the devices of OpenCL products of bytes (tests/opencl/profile): "dot=N". */
bool second_device_has_dot(void);

#endif
