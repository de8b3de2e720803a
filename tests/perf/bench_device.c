/*
 * bench_device.c: the benchmark's device, on the device module: the path that production takes.
 *
 * Responsible for opening the first device of a backend that builds the kernels, building, timing and the environment they
 * need. Not responsible for records.
 */
#include "bench_device.h"

#include "bench_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/half.h"
#include "device/device.h"

/* Short launches are timed several in a row, as a session's list runs them: a wait costs more than they do.
 */
#define BATCH_SECONDS 1e-3
enum { BATCH_MOST = 256 };

struct bench_device {
    mts_device *device;
    mts_buffer *act, *pool, *table;
    uint32_t vector;
    bool half;
};

static bool failed(const char *what, const mts_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->text);
    return false;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bench_device *bench_device_open(const char *backend, uint32_t vector)
{
    mts_error error = {0};
    /* PoCL's workers often wake up on one core, which doubles times at random; they stay apart when pinned */
    setenv("POCL_AFFINITY", "1", 0);
    bench_device *d = calloc(1, sizeof *d);
    if (d) {
        d->device = bench_backend_open(backend, &error);
    }
    if (d && d->device) {
        d->vector = vector != 0 ? vector : d->device->info.is_gpu ? 1 : d->device->info.vector_floats;
        return d;
    }
    free(d);
    fprintf(stderr, "no device of backend %s: %s\n", backend, error.text);
    return NULL;
}

void bench_device_close(bench_device **device)
{
    bench_device *d = *device;
    *device = NULL;
    if (d) {
        mts_buffer_destroy(&d->act);
        mts_buffer_destroy(&d->pool);
        mts_buffer_destroy(&d->table);
        mts_device_destroy(&d->device);
        free(d);
    }
}

const char *bench_device_name(const bench_device *device)
{
    return device->device->info.name;
}

uint32_t bench_device_units(const bench_device *device)
{
    return device->device->info.compute_units;
}

uint32_t bench_device_vector(const bench_device *device)
{
    return device->vector;
}

void bench_device_half(bench_device *device, bool half)
{
    device->half = half;
}

static bool store(bench_device *d, mts_buffer **buffer, const void *data, size_t size)
{
    mts_error error = {0};
    mts_buffer_destroy(buffer);
    if (mts_buffer_create(d->device, size > 0 ? size : 4, buffer, &error) != MTS_STATUS_OK ||
        (size > 0 && mts_buffer_write(*buffer, 0, data, size, &error) != MTS_STATUS_OK)) {
        return failed("buffer", &error);
    }
    return true;
}

/* Elements, in the precision that is asked for. */
static bool store_elements(bench_device *d, mts_buffer **buffer, const float *values, size_t count)
{
    if (!d->half) {
        return store(d, buffer, values, count * sizeof *values);
    }
    uint16_t *elements = malloc((count > 0 ? count : 1) * sizeof *elements);
    if (!elements) {
        return false;
    }
    mts_half_array_from_float(values, elements, count);
    const bool ok = store(d, buffer, elements, count * sizeof *elements);
    free(elements);
    return ok;
}

bool bench_device_load(bench_device *d, const float *act, size_t act_count, const float *pool,
                       size_t pool_count, const uint32_t *table, size_t table_count)
{
    return store_elements(d, &d->act, act, act_count) && store_elements(d, &d->pool, pool, pool_count) &&
           store(d, &d->table, table, table_count * sizeof *table);
}

bool bench_device_read(bench_device *d, float *act, size_t act_count)
{
    mts_error error = {0};
    uint16_t *elements = (uint16_t *)act;
    const size_t size = act_count * (d->half ? sizeof *elements : sizeof *act);
    if (mts_buffer_read(d->act, 0, act, size, &error) != MTS_STATUS_OK) {
        return failed("read", &error);
    }
    for (size_t i = act_count; d->half && i > 0; i--) { /* in place, from the end on */
        uint16_t element = 0;
        memcpy(&element, elements + i - 1, sizeof element);
        act[i - 1] = mts_half_to_float(element);
    }
    return true;
}

/* Seconds of a launch in a list of `batch`; negative after a failure. */
static double run(bench_device *d, const mts_launch *launch, int batch, int warm, int count, double *seconds)
{
    mts_launch copies[BATCH_MOST];
    mts_command_list *list = NULL;
    mts_error error = {0};
    double last = -1.0;
    for (int i = 0; i < batch; i++) {
        copies[i] = *launch;
    }
    bool ok = mts_command_list_create(d->device, copies, (size_t)batch, &list, &error) == MTS_STATUS_OK;
    for (int i = -warm; ok && i < count; i++) {
        const double start = now();
        ok = mts_command_list_submit(list, &error) == MTS_STATUS_OK &&
             mts_device_wait(d->device, &error) == MTS_STATUS_OK;
        last = (now() - start) / batch;
        if (i >= 0) {
            seconds[i] = last;
        }
    }
    mts_command_list_destroy(&list);
    return ok || failed("launch", &error) ? last : -1.0;
}

bool bench_device_time(bench_device *d, const bench_launch *b, int warm, int count, double *seconds)
{
    char defines[2048];
    mts_error error = {0};
    const mts_kernel_desc desc = {.name = b->kernel, .defines = defines};
    mts_launch launch = {
        .act = d->act, .pool = d->pool, .params = d->table, .first = b->first, .label = b->kernel};
    snprintf(defines, sizeof defines, "-DVEC=%u %s%s", d->vector, b->defines, d->half ? " -DHALF=1" : "");
    if (mts_kernel_create(d->device, &desc, &launch.kernel, &error) != MTS_STATUS_OK) {
        return failed(b->kernel, &error);
    }
    memcpy(launch.global, b->global, sizeof launch.global);
    memcpy(launch.local, b->local, sizeof launch.local);
    double last = run(d, &launch, 1, warm, 1, seconds);
    if (last >= 0.0 && count > 1) {
        const int batch = last < BATCH_SECONDS ? (int)(BATCH_SECONDS / last) + 1 : 1;
        last = run(d, &launch, batch < BATCH_MOST ? batch : BATCH_MOST, 1, count, seconds);
    }
    mts_kernel_destroy(&launch.kernel);
    qsort(seconds, (size_t)count, sizeof *seconds, compare);
    return last >= 0.0;
}
