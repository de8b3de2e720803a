/*
 * ceilings.c: runs two kernels of the manifest for their speed alone: independent chains
 * of multiply-adds in registers, and a copy that is larger than caches are. The fastest
 * run counts: other programs can only make a ceiling look lower.
 */
#include "tune/ceilings.h"

#include <stdio.h>
#include <string.h>

#include "device/kernel.h"
#include "lower/launch_shape.h"
#include "platform/os/os.h"

#define RUNS 7
#define FLOPS_SECONDS 0.02 /* of one run: long against the cost of a submission */
#define COPY_BYTES ((uint64_t)64 << 20)
#define COPY_PLANE 16384u /* floats that one work-item of a CPU copies */
#define GROUP_GPU 64u
#define ITEMS_GPU 2048u /* per compute unit */
#define ITEMS_CPU 16u

typedef struct prober {
    mts_device *device;
    mts_buffer *act, *pool, *params;
    mts_error *error;
} prober;

static mts_status buffer_make(prober *p, size_t size, const void *data, mts_buffer **out)
{
    mts_buffer_destroy(out);
    const mts_status status = mts_buffer_create(p->device, size, out, p->error);
    return status == MTS_STATUS_OK && data ? mts_buffer_write(*out, 0, data, size, p->error) : status;
}

/* Seconds of the fastest of `runs` runs after one that is not counted. */
static mts_status fastest(prober *p, const mts_launch *launch, int runs, double *seconds)
{
    mts_command_list *list = NULL;
    *seconds = 0.0;
    mts_status status = mts_command_list_create(p->device, launch, 1, &list, p->error);
    for (int i = -1; i < runs && status == MTS_STATUS_OK; i++) {
        const uint64_t start = mts_os_clock_ns();
        status = mts_command_list_submit(list, p->error);
        MTS_TRY(status, mts_device_wait(p->device, p->error));
        const double time = (double)(mts_os_clock_ns() - start) * 1e-9;
        *seconds = i >= 0 && (i == 0 || time < *seconds) ? time : *seconds;
    }
    mts_command_list_destroy(&list);
    return status;
}

static uint32_t group_of(const prober *p, const mts_kernel *kernel)
{
    uint32_t group = p->device->info.is_gpu ? GROUP_GPU : 1;
    while (group > 1 && group > kernel->work_group_size) {
        group /= 2;
    }
    return group;
}

static mts_launch launch_of(const prober *p, mts_kernel *kernel, uint32_t first, uint32_t x, uint32_t y)
{
    return (mts_launch){.kernel = kernel,
                        .act = p->act,
                        .pool = p->pool,
                        .params = p->params,
                        .first = first,
                        .global = {x, y, 1},
                        .local = {group_of(p, kernel), 1, 1},
                        .label = "probe"};
}

/* Operations a second of a kernel with `chains` chains. */
static mts_status chains_run(prober *p, uint32_t chains, double *rate)
{
    const mts_device_info *info = &p->device->info;
    const uint32_t items = info->compute_units * (info->is_gpu ? ITEMS_GPU : ITEMS_CPU);
    const double round = 2.0 * mts_launch_vector(info) * chains * items; /* operations */
    char defines[64];
    uint32_t rounds = 1000;
    double seconds = 0.0;
    mts_kernel *kernel = NULL;
    (void)snprintf(defines, sizeof defines, "%s -DCHAINS=%u", mts_launch_defines(info, MTS_PRECISION_FLOAT32),
                   chains);
    const mts_kernel_desc desc = {.name = "fma_peak__f32", .defines = defines};
    mts_status status = mts_kernel_create(p->device, &desc, &kernel, p->error);
    for (int pass = 0; pass < 2 && status == MTS_STATUS_OK; pass++) {
        const double wanted = seconds > 0.0 ? FLOPS_SECONDS / seconds * rounds : rounds;
        rounds = wanted < 1000.0 ? 1000u : wanted > 1e8 ? 100000000u : (uint32_t)wanted;
        status = mts_buffer_write(p->params, 0, &rounds, sizeof rounds, p->error);
        if (status == MTS_STATUS_OK) {
            const mts_launch launch = launch_of(p, kernel, 0, items, 1);
            status = fastest(p, &launch, pass == 0 ? 1 : RUNS, &seconds);
        }
    }
    mts_kernel_destroy(&kernel);
    *rate = seconds > 0.0 ? round * rounds / seconds : 0.0;
    return status;
}

static mts_status measure_flops(prober *p, double *out)
{
    static const float factors[16] = {0.9f, 0.1f}; /* a chain converges to 1: never denormal */
    const mts_device_info *info = &p->device->info;
    const size_t items = (size_t)info->compute_units * (info->is_gpu ? ITEMS_GPU : ITEMS_CPU);
    mts_status status = buffer_make(p, items * mts_launch_vector(info) * sizeof(float), NULL, &p->act);
    MTS_TRY(status, buffer_make(p, sizeof factors, factors, &p->pool));
    for (uint32_t chains = 8; chains <= 24 && status == MTS_STATUS_OK; chains += 8) {
        double rate = 0.0;
        status = chains_run(p, chains, &rate);
        *out = rate > *out ? rate : *out;
    }
    return status;
}

/* Half of the buffer onto the other half. */
static mts_copy_params copy_record(uint32_t planes)
{
    const mts_u32 floats = planes * COPY_PLANE;
    return (mts_copy_params){
        .dest = {.base = floats,
                 .dims = {1, 1, 1, planes, 1, COPY_PLANE},
                 .row = COPY_PLANE,
                 .pitch = COPY_PLANE},
        .src = {.base = 0, .stride = {floats, floats, floats, COPY_PLANE, COPY_PLANE, 1}},
        .step = {0, 0, 0, (mts_i32)COPY_PLANE, (mts_i32)COPY_PLANE, 1}};
}

static mts_status measure_copy(prober *p, double *out)
{
    const mts_device_info *info = &p->device->info;
    const float one = 1.0f;
    uint32_t word = 0;
    uint64_t bytes = COPY_BYTES;
    double seconds = 0.0;
    while (2 * bytes > info->memory_bytes / 4 || (info->buffer_bytes > 0 && 2 * bytes > info->buffer_bytes)) {
        if (bytes <= COPY_PLANE * sizeof(float)) {
            break;
        }
        bytes /= 2;
    }
    const mts_copy_params params = copy_record((uint32_t)(bytes / (COPY_PLANE * sizeof(float))));
    const mts_kernel_desc desc = {.name = "copy_any__f32_planar",
                                  .defines = mts_launch_defines(info, MTS_PRECISION_FLOAT32)};
    mts_kernel *kernel = NULL;
    mts_status status = mts_kernel_create(p->device, &desc, &kernel, p->error);
    MTS_TRY(status, buffer_make(p, (size_t)(2 * bytes), NULL, &p->act));
    if (status == MTS_STATUS_OK) {
        memcpy(&word, &one, sizeof word);
        status = mts_buffer_fill(p->act, 0, (size_t)(2 * bytes), word, p->error);
    }
    MTS_TRY(status, mts_buffer_write(p->params, 0, &params, sizeof params, p->error));
    if (status == MTS_STATUS_OK) {
        const uint32_t width = info->is_gpu ? COPY_PLANE : 1;
        const mts_launch launch = launch_of(p, kernel, 0, width, params.dest.dims[3] + 1);
        status = fastest(p, &launch, RUNS, &seconds);
    }
    mts_kernel_destroy(&kernel);
    *out = seconds > 0.0 ? 2.0 * (double)bytes / seconds : 0.0;
    return status;
}

mts_status mts_probe_run(mts_device *device, mts_probe *out, mts_error *error)
{
    prober p = {.device = device, .error = error};
    *out = (mts_probe){0};
    mts_status status = buffer_make(&p, sizeof(mts_copy_params), NULL, &p.params);
    MTS_TRY(status, measure_flops(&p, &out->flops));
    MTS_TRY(status, measure_copy(&p, &out->copy));
    mts_buffer_destroy(&p.act);
    mts_buffer_destroy(&p.pool);
    mts_buffer_destroy(&p.params);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "measuring the device");
}
