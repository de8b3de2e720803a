/*
 * bench_device.c: the benchmark's device on plain OpenCL.
 *
 * Responsible for reading kernel sources from the tree, building and timing them. Not responsible for records.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_device.h"

/* Short launches are timed several in a row, as a session's list runs them: a wait costs more than they do. */
#define BATCH_SECONDS 1e-3

struct bench_device {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_mem act, pool, table;
    char name[128];
    uint32_t units, vector;
};

static char *file_text(const char *path) {
    char *text = NULL;
    FILE *f = fopen(path, "rb");
    if (f && fseek(f, 0, SEEK_END) == 0) {
        const long size = ftell(f);
        rewind(f);
        text = size >= 0 ? calloc((size_t)size + 2, 1) : NULL;
        if (text && fread(text, 1, (size_t)size, f) != (size_t)size) text[0] = 0;
    }
    if (f) fclose(f);
    for (char *at = text; at && (at = strstr(at, "#include \"")); at += 2) at[0] = at[1] = '/';
    return text;
}

static cl_kernel build(bench_device *d, const char *kernel, const char *defines) {
    const char *root = getenv("MTS_ROOT") ? getenv("MTS_ROOT") : ".";
    const char *parts[4] = {"kernels/prelude.h", "sdk/graph/kinds.h", "sdk/device/record.h", NULL};
    char own[256], path[512], options[2048];
    char *texts[4] = {NULL};
    cl_int code = CL_SUCCESS;
    cl_kernel result = NULL;
    snprintf(own, sizeof own, "kernels/%s.cl", kernel);
    parts[3] = own;
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", root, parts[i]);
        texts[i] = file_text(path);
        if (!texts[i]) fprintf(stderr, "cannot read %s\n", path);
    }
    snprintf(options, sizeof options, "-cl-std=CL1.2 -cl-denorms-are-zero -DVEC=%u %s", d->vector, defines);
    if (texts[0] && texts[1] && texts[2] && texts[3]) {
        cl_program program = clCreateProgramWithSource(d->context, 4, (const char **)texts, NULL, &code);
        if (program && clBuildProgram(program, 1, &d->id, options, NULL, NULL) == CL_SUCCESS) {
            result = clCreateKernel(program, strrchr(kernel, '/') + 1, &code);
        } else if (program) {
            static char log[65536];
            clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
            fprintf(stderr, "%s: %s\n", kernel, log);
        }
        if (program) clReleaseProgram(program);
    }
    for (int i = 0; i < 4; i++) free(texts[i]);
    return result;
}

static bool store(bench_device *d, cl_mem *buffer, const void *data, size_t bytes) {
    cl_int code = CL_SUCCESS;
    if (*buffer) clReleaseMemObject(*buffer);
    *buffer = clCreateBuffer(d->context, CL_MEM_READ_WRITE, bytes ? bytes : 4, NULL, &code);
    return *buffer && (!bytes || clEnqueueWriteBuffer(d->queue, *buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL) == 0);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bench_device *bench_device_open(void) {
    bench_device *d = calloc(1, sizeof *d);
    cl_platform_id platform;
    cl_uint vector = 0;
    if (!d || clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &d->id, NULL)) {
        fprintf(stderr, "no OpenCL device\n");
        free(d);
        return NULL;
    }
    d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, NULL);
    d->queue = d->context ? clCreateCommandQueue(d->context, d->id, 0, NULL) : NULL;
    clGetDeviceInfo(d->id, CL_DEVICE_NAME, sizeof d->name, d->name, NULL);
    clGetDeviceInfo(d->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof d->units, &d->units, NULL);
    clGetDeviceInfo(d->id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof vector, &vector, NULL);
    d->vector = vector == 16 || vector == 8 || vector == 4 ? vector : 1;
    if (!d->queue) bench_device_close(&d);
    return d;
}

void bench_device_close(bench_device **device) {
    bench_device *d = *device;
    *device = NULL;
    if (!d) return;
    if (d->act) clReleaseMemObject(d->act);
    if (d->pool) clReleaseMemObject(d->pool);
    if (d->table) clReleaseMemObject(d->table);
    if (d->queue) clReleaseCommandQueue(d->queue);
    if (d->context) clReleaseContext(d->context);
    free(d);
}

const char *bench_device_name(const bench_device *device) { return device->name; }
uint32_t bench_device_units(const bench_device *device) { return device->units; }
uint32_t bench_device_vector(const bench_device *device) { return device->vector; }

bool bench_device_load(bench_device *d, const float *act, size_t act_count, const float *pool, size_t pool_count,
                       const uint32_t *table, size_t table_count) {
    return store(d, &d->act, act, act_count * 4) && store(d, &d->pool, pool, pool_count * 4) &&
           store(d, &d->table, table, table_count * 4);
}

bool bench_device_read(bench_device *d, float *act, size_t act_count) {
    return clEnqueueReadBuffer(d->queue, d->act, CL_TRUE, 0, act_count * 4, act, 0, NULL, NULL) == 0;
}

bool bench_device_time(bench_device *d, const bench_launch *launch, int warm, int count, double *seconds) {
    const size_t global[3] = {launch->global[0], launch->global[1], launch->global[2]};
    const size_t local[3] = {launch->local[0], launch->local[1], launch->local[2]};
    cl_kernel kernel = build(d, launch->kernel, launch->defines);
    bool ok = kernel && !clSetKernelArg(kernel, 0, sizeof(cl_mem), &d->act) &&
              !clSetKernelArg(kernel, 1, sizeof(cl_mem), &d->pool) &&
              !clSetKernelArg(kernel, 2, sizeof(cl_mem), &d->table) &&
              !clSetKernelArg(kernel, 3, sizeof(cl_uint), &launch->first);
    int batch = 1;
    for (int i = -warm; ok && i < count; i++) {
        const double start = now();
        for (int j = 0; ok && j < batch; j++)
            ok = !clEnqueueNDRangeKernel(d->queue, kernel, 3, NULL, global, local, 0, NULL, NULL);
        ok = ok && !clFinish(d->queue);
        const double each = (now() - start) / batch;
        if (i >= 0) seconds[i] = each;
        if (i == -1 && each < BATCH_SECONDS) batch = (int)(BATCH_SECONDS / each) + 1;
    }
    if (kernel) clReleaseKernel(kernel);
    if (ok) qsort(seconds, (size_t)count, sizeof *seconds, compare);
    return ok;
}
