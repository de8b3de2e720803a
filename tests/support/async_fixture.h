/*
 * async_fixture.h: a device with a queue to fill: activations of two rows, a list that doubles one into the
 * other, one that halves it back, and one that keeps the device busy; calls that fail the test if they fail.
 */
#ifndef MTS_TESTS_SUPPORT_ASYNC_FIXTURE_H
#define MTS_TESTS_SUPPORT_ASYNC_FIXTURE_H

#include "support/device_fixture.h"

#define ASYNC_COUNT 64u /* floats of a row */
#define ASYNC_FLOATS (2u * ASYNC_COUNT)

typedef struct async_world {
    device_fixture base;
    mts_buffer *act, *two, *half, *table;
    mts_kernel *kernel;
    mts_command_list *up, *down; /* row 1 = 2 x row 0; row 0 = row 1 / 2 */
    mts_command_list *burden;    /* `up`, many times */
} async_world;

extern async_world async;

/* Runs `run` for every device of every backend of this build, with its name; returns what failed in all. */
int async_every_device(int (*run)(const char *group));
/* Set-up and tear-down of a test on the device whose turn it is. */
int async_open(void **state);
int async_close(void **state);

/* False: the null backend, whose kernels do nothing. */
bool async_computes(void);
float *async_host(size_t floats); /* the device's host memory, filled with rubbish */
void async_host_free(float **memory);
/* `at` and `count` are floats of the activations. */
void async_send(uint32_t at, const float *data, uint32_t count);
void async_fetch(uint32_t at, float *data, uint32_t count);
void async_submit(mts_command_list *list);
void async_event(uint32_t index);
bool async_has_passed(uint32_t index);
void async_wait_event(uint32_t index);
void async_poll_event(uint32_t index); /* asks again and again; never waits */

#endif
