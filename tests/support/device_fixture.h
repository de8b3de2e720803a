/*
 * device_fixture.h: devices for tests, with an allocator that counts and a log that is kept, and launch
 * records that are simple enough to write by hand.
 */
#ifndef MTS_TESTS_SUPPORT_DEVICE_FIXTURE_H
#define MTS_TESTS_SUPPORT_DEVICE_FIXTURE_H

#include "device/device.h"
#include "device/kernel.h"
#include "tests/support/fault.h"

#define DEVICE_LOG_MOST 65536

typedef struct device_fixture {
    mts_wrap_allocator allocator;
    mts_log log;
    char text[DEVICE_LOG_MOST]; /* all lines so far */
    size_t length;
    mts_device_options options;
    mts_device *device;
} device_fixture;

/* Prepares allocator, log and options; opens nothing. cache_dir may be NULL. */
void device_fixture_init(device_fixture *fixture, const char *cache_dir);
/* Fails the test if the device cannot be opened. */
void device_fixture_open(device_fixture *fixture, const mts_backend *backend, uint32_t index);
/* Destroys the device and fails the test if memory is left. */
void device_fixture_close(device_fixture *fixture);
bool device_fixture_logged(const device_fixture *fixture, const char *text);

/* The backend of that name in this build's registry, or NULL. */
const mts_backend *device_fixture_backend(const char *name);

/* A row of `count` floats without borders at `base`. */
mts_dest_params device_fixture_dest(uint32_t base, uint32_t count);
mts_view_params device_fixture_view(uint32_t base);
/* Grid of a kernel with a mts_dest_params over such a row, one work-item per group. */
void device_fixture_grid(mts_launch *launch, uint32_t count);

#endif
