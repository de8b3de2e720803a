/*
 * device.c: the "reference" backend: one device that is the calling thread.
 *
 * Buffers are host memory (platform/host), a kernel is a C function found by name, and
 * submitting a command list runs it. Options of a kernel's build are ignored but for HALF
 * (half.c): the functions take everything from the parameters. Not responsible for the
 * functions (the other files here) nor for checking a caller's arguments (device.c of
 * sdk/device).
 *
 * Thread-safety: a device and its objects belong to one thread at a time.
 */
#include <string.h>

#include "platform/host/host.h"
#include "platform/os/os.h"
#include "platform/reference/reference.h"

#define REACH ((uint64_t)UINT32_MAX * sizeof(float)) /* what the offsets of parameters can address */

extern const mts_backend mts_backend_reference;

typedef struct reference_kernel {
    mts_kernel base;
    const char *name;
    mts_reference_function *run;
    bool half; /* act and pool hold float16 */
} reference_kernel;

typedef struct reference_list {
    mts_command_list base;
    mts_launch *launches;
    mts_reference_half half; /* for launches of such kernels */
} reference_list;

static const struct {
    const char *name;
    mts_reference_function *run;
} kernels[] = {
#define ENTRY(name) {#name, mts_reference_##name},
#define ENTRY_tiles ENTRY
#define ENTRY_lanes ENTRY
#define ENTRY_dest ENTRY
#define ENTRY_channels ENTRY
#define ENTRY_pixels ENTRY
#define ENTRY_sets ENTRY
#define ENTRY_mixed ENTRY
#define ENTRY_probe(name)
#define ENTRY_persist(name)
#define KERNEL(folder, name, params, walk, made_for) ENTRY_##walk(name)
#include "kernels/manifest.def"
#undef KERNEL
};

static mts_status no_memory(size_t size, mts_error *error)
{
    return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no host memory for %zu bytes", size);
}

static void destroy(mts_device *device)
{
    mts_alloc_free(device->allocator, device);
}

static mts_status kernel_create(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                                mts_error *error)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (strcmp(kernels[i].name, desc->name) == 0) {
            reference_kernel *kernel = mts_alloc_zero(device->allocator, 1, sizeof *kernel);
            if (!kernel) {
                return no_memory(sizeof *kernel, error);
            }
            kernel->base.work_group_size = device->info.work_group_size;
            kernel->name = kernels[i].name;
            kernel->run = kernels[i].run;
            kernel->half = mts_reference_half_asked(desc->defines);
            *out = &kernel->base;
            return MTS_STATUS_OK;
        }
    }
    return mts_fail(error, MTS_STATUS_UNSUPPORTED, "the reference backend has no kernel '%s'", desc->name);
}

static void kernel_destroy(mts_device *device, mts_kernel *kernel)
{
    mts_alloc_free(device->allocator, kernel);
}

static void command_list_destroy(mts_device *device, mts_command_list *list)
{
    mts_reference_half_free(&((reference_list *)list)->half, device->allocator);
    mts_alloc_free(device->allocator, ((reference_list *)list)->launches);
    mts_alloc_free(device->allocator, list);
}

/* Takes over launches, and sees to it that running them needs no memory. */
static mts_status list_fill(mts_device *device, reference_list *list, const mts_launch *launches,
                            size_t count, mts_error *error)
{
    uint64_t act = 0;
    uint64_t pool = 0;
    for (size_t i = 0; i < count; i++) {
        const reference_kernel *kernel = (const reference_kernel *)launches[i].kernel;
        list->launches[i] = launches[i];
        if (launches[i].gemm.m == 0 && kernel->half) {
            const uint64_t act_size = launches[i].act->size / sizeof(uint16_t);
            const uint64_t pool_size = launches[i].pool->size / sizeof(uint16_t);
            act = act_size > act ? act_size : act;
            pool = pool_size > pool ? pool_size : pool;
        }
    }
    if (!mts_reference_half_reserve(&list->half, device->allocator, act, pool)) {
        return mts_fail_memory(error);
    }
    return MTS_STATUS_OK;
}

static mts_status command_list_create(mts_device *device, const mts_launch *launches, size_t count,
                                      mts_command_list **out, mts_error *error)
{
    reference_list *list = mts_alloc_zero(device->allocator, 1, sizeof *list);
    if (!list) {
        return no_memory(sizeof *list, error);
    }
    list->launches = mts_alloc_zero(device->allocator, count, sizeof *launches);
    if (!list->launches) {
        mts_alloc_free(device->allocator, list);
        return no_memory(count * sizeof *launches, error);
    }
    const mts_status status = list_fill(device, list, launches, count, error);
    if (status != MTS_STATUS_OK) {
        command_list_destroy(device, &list->base);
        return status;
    }
    *out = &list->base;
    return MTS_STATUS_OK;
}

static mts_status command_list_update(mts_device *device, mts_command_list *list, const mts_launch *launches,
                                      size_t count, mts_error *error)
{
    return list_fill(device, (reference_list *)list, launches, count, error);
}

/* The front has checked that all of it lies in the buffers. */
static void run_gemm(const mts_gemm *g, float *act, const float *pool)
{
    for (size_t batch = 0; batch < g->batch; batch++) {
        const float *a = (g->a_pool ? pool : act) + g->a + batch * g->a_stride;
        const float *b = (g->b_pool ? pool : act) + g->b + batch * g->b_stride;
        float *c = act + g->c + batch * g->c_stride;
        for (size_t i = 0; i < g->m; i++) {
            for (size_t j = 0; j < g->n; j++) {
                double sum = 0.0;
                for (size_t x = 0; x < g->k; x++) {
                    sum += (double)a[i * g->a_ld + x] *
                           (double)(g->b_transposed ? b[j * g->b_ld + x] : b[x * g->b_ld + j]);
                }
                c[i * g->c_ld + j] = (float)sum;
            }
        }
    }
}

static mts_status run_launch(const mts_launch *launch, mts_reference_half *half, mts_error *error)
{
    const mts_host_buffer *act = (const mts_host_buffer *)launch->act;
    const mts_host_buffer *pool = (const mts_host_buffer *)launch->pool;
    const mts_host_buffer *params = (const mts_host_buffer *)launch->params;
    const reference_kernel *kernel = (const reference_kernel *)launch->kernel;
    const size_t element = kernel && kernel->half ? sizeof(uint16_t) : sizeof(float);
    const mts_reference_call call = {
        .act = (float *)(void *)act->bytes,
        .pool = (const float *)(const void *)pool->bytes,
        .params = (const uint32_t *)(const void *)params->bytes,
        .act_size = act->base.size / element,
        .pool_size = pool->base.size / element,
        .params_size = params->base.size / sizeof(uint32_t),
        .pool_bytes = pool->base.size,
        .sources = launch->sources,
        .first = launch->first,
        .groups = launch->local[0] > 0 ? launch->global[0] / launch->local[0] : 0,
        .members = launch->global[2],
    };
    if (launch->gemm.m > 0) {
        run_gemm(&launch->gemm, call.act, call.pool);
        return MTS_STATUS_OK;
    }
    const char *reason =
        kernel->half ? mts_reference_half_run(half, &call, kernel->name, kernel->run) : kernel->run(&call);
    if (reason) {
        return mts_fail(error, MTS_STATUS_DEVICE, "launch '%s' of %s: %s",
                        launch->label ? launch->label : "unnamed", kernel->name, reason);
    }
    return MTS_STATUS_OK;
}

static mts_status command_list_submit(mts_device *device, mts_command_list *list, mts_error *error)
{
    reference_list *r = (reference_list *)list;
    mts_status status = MTS_STATUS_OK;
    (void)device;
    r->half.made_of = NULL; /* buffers have been written since */
    for (size_t i = 0; i < list->count && status == MTS_STATUS_OK; i++) {
        status = run_launch(&r->launches[i], &r->half, error);
    }
    return status;
}

static mts_status command_list_profile(mts_device *device, mts_command_list *list, mts_launch_time *times,
                                       size_t count, mts_error *error)
{
    reference_list *r = (reference_list *)list;
    mts_status status = MTS_STATUS_OK;
    const uint64_t zero = mts_os_clock_ns();
    (void)device;
    r->half.made_of = NULL;
    for (size_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        times[i].start = mts_os_clock_ns() - zero;
        status = run_launch(&r->launches[i], &r->half, error);
        times[i].end = mts_os_clock_ns() - zero;
    }
    return status;
}

static const mts_device_ops ops = {
    .abi = MTS_DEVICE_ABI,
    .destroy = destroy,
    .buffer_create = mts_host_buffer_create,
    .buffer_destroy = mts_host_buffer_destroy,
    .buffer_write = mts_host_buffer_write,
    .buffer_read = mts_host_buffer_read,
    .buffer_read_async = mts_host_buffer_read,
    .buffer_fill = mts_host_buffer_fill,
    .kernel_create = kernel_create,
    .kernel_destroy = kernel_destroy,
    .command_list_create = command_list_create,
    .command_list_destroy = command_list_destroy,
    .command_list_update = command_list_update,
    .command_list_submit = command_list_submit,
    .wait = mts_host_queue_wait,
    .event_record = mts_host_queue_record,
    .event_query = mts_host_queue_query,
    .command_list_profile = command_list_profile,
};

/* ---- the backend ---- */

static uint32_t backend_count(void)
{
    return 1;
}

static mts_status backend_describe(uint32_t index, mts_device_info *info, mts_error *error)
{
    if (index != 0) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "the reference backend has one device, not %u",
                        (unsigned)index + 1);
    }
    *info = (mts_device_info){
        .backend = "reference",
        .name = "plain C",
        .driver = "1",
        .unified_memory = true,
        .ready_kernels = true,
        .packed_lanes = MTS_CHANNEL_PACK,
        .gemm = true,
        .imports = MTS_MEMORY_BIT(MTS_MEMORY_HOST),
        .half_products = true, /* HALF=2 is computed as 1 is */
        .compute_units = 1,
        .vector_floats = 16,
        .work_group_size = 4096,
        .local_bytes = 1 << 19,
        .memory_bytes = REACH < SIZE_MAX ? REACH : SIZE_MAX,
        .buffer_bytes = REACH < SIZE_MAX ? REACH : SIZE_MAX,
    };
    return MTS_STATUS_OK;
}

static mts_status backend_open(uint32_t index, const mts_device_options *options, mts_device **out,
                               mts_error *error)
{
    mts_device_info info;
    *out = NULL;
    const mts_status status = backend_describe(index, &info, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_device *device = mts_alloc_zero(options->allocator, 1, sizeof *device);
    if (!device) {
        return no_memory(sizeof *device, error);
    }
    device->ops = &ops;
    device->allocator = options->allocator;
    device->log = options->log;
    device->info = info;
    *out = device;
    return MTS_STATUS_OK;
}

const mts_backend mts_backend_reference = {
    .name = "reference",
    .count = backend_count,
    .describe = backend_describe,
    .open = backend_open,
};
