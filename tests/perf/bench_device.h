/*
 * bench_device.h: what the kernel benchmark needs of a device: build a kernel, launch it, time it.
 *
 * Responsible for hiding how the device is reached. Not responsible for what is launched.
 */
#ifndef MTS_BENCH_DEVICE_H
#define MTS_BENCH_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_device bench_device;

typedef struct bench_launch {
    const char *kernel;  /* a row of kernels/manifest.def */
    const char *defines; /* e.g. "-DTAPS=9" */
    uint32_t first;
    uint32_t global[3], local[3];
} bench_launch;

/* backend: opencl or cpu. vector: floats of a vector, 0: what the device prefers. NULL if there is none; says why on
 * stderr. */
bench_device *bench_device_open(const char *backend, uint32_t vector);
void bench_device_close(bench_device **device);
const char *bench_device_name(const bench_device *device);
uint32_t bench_device_units(const bench_device *device);
uint32_t bench_device_vector(const bench_device *device);

/* How what is loaded next is stored and what is timed next is built: true for float16 (-DHALF=1). */
void bench_device_half(bench_device *device, bool half);
/* Copies the three arrays to the device (replaces the former ones). */
bool bench_device_load(bench_device *device, const float *act, size_t act_count, const float *pool,
                       size_t pool_count, const uint32_t *table, size_t table_count);
bool bench_device_read(bench_device *device, float *act, size_t act_count);
/* Runs warm + count times, stores count wall times of a launch in seconds, sorted; failures go to stderr. */
bool bench_device_time(bench_device *device, const bench_launch *launch, int warm, int count,
                       double *seconds);

#endif
