/*
 * cuda_fixture.h: what tests of the CUDA backend on the fake driver share.
 *
 * A small device program and the objects to run it, checks that nothing is left behind, and scenarios: tests
 * that need other libraries than the usual ones run in a process of their own.
 */
#ifndef MTS_TESTS_CUDA_FIXTURE_H
#define MTS_TESTS_CUDA_FIXTURE_H

#include "cuda/fake/fake.h"
#include "platform/cuda/cuda.h"
#include "support/device_fixture.h"

#define CUDA_COUNT 600000u /* floats of `act`: more than one piece of pinned memory */
#define CUDA_LAUNCHES 3u

/* Not commutative, so that order shows: x -> 2 x + record + i. */
extern const mts_kernel_source cuda_advance;

typedef struct cuda_world {
    device_fixture base;
    mts_kernel *kernel;
    mts_buffer *act, *pool, *table;
    mts_command_list *list;
    mts_launch launches[CUDA_LAUNCHES];
} cuda_world;

/* 77: the machine cannot compile programs for the fake device. Else 0. For the start of main. */
int cuda_machine_check(void);

/* Prepares allocator, log and options; the fake forgets what was. */
void cuda_world_init(cuda_world *w, const char *cache_dir);
/* Opens device 0, makes all objects: the list advances act[0..255] by the records 1, 20 and 300. On failure
   what was made is left for cuda_world_close. */
mts_status cuda_world_make(cuda_world *w, mts_error *error);
/* The same, and fails the test if it fails. */
void cuda_world_open(cuda_world *w, const char *cache_dir);
mts_status cuda_world_set(const cuda_world *w, mts_error *error); /* act[i] = i */
/* act[i] after the list ran once on i, with records a, b, c. */
float cuda_world_value(uint32_t i, float a, float b, float c);
/* Reads and compares act[0..255]. */
void cuda_world_expect(const cuda_world *w, float a, float b, float c);
/* Destroys everything and fails the test if memory, driver objects or pushed contexts are left. */
void cuda_world_close(cuda_world *w);
void cuda_expect_clean(void);

/* Runs this program again with `scenario` as its argument, the libraries of `folders` (of the fake's folder,
   separated by ':', before the usual ones if `usual`) and an environment variable ("NAME=value" or NULL);
   fails the test unless it exits with 0. */
void cuda_scenario(const char *scenario, const char *folders, bool usual, const char *variable);

#endif
