/*
 * device.c: the "cpu" backend: one device, the processor that the program runs on,
 * without a driver.
 *
 * Kernels were compiled ahead of time for a few instruction sets (sets.h), buffers are
 * host memory (platform/host), and submitting a command list runs it. Not responsible for
 * running launches (list.c) nor for checking a caller's arguments (device.c of
 * sdk/device).
 *
 * Thread-safety: a device and its objects belong to one thread at a time.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "platform/cpu/cpu.h"
#include "platform/os/thread.h"

#define REACH ((uint64_t)UINT32_MAX * sizeof(float)) /* what the offsets of parameters can address */
#define LOCAL_BYTES (1u << 20)
#define ROW_LANES 16u /* floats of a vector for which conv_tile puts rows into lanes */

extern const mts_backend mts_backend_cpu;

static void destroy(mts_device *device)
{
    mts_cpu_pool_destroy(((mts_cpu_device *)device)->pool);
    mts_alloc_free(device->allocator, ((mts_cpu_device *)device)->scratch_block);
    mts_alloc_free(device->allocator, device);
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
    .kernel_create = mts_cpu_kernel_create,
    .kernel_destroy = mts_cpu_kernel_destroy,
    .command_list_create = mts_cpu_list_create,
    .command_list_destroy = mts_cpu_list_destroy,
    .command_list_update = mts_cpu_list_update,
    .command_list_submit = mts_cpu_list_submit,
    .wait = mts_host_queue_wait,
    .event_record = mts_host_queue_record,
    .event_query = mts_host_queue_query,
    .command_list_profile = mts_cpu_list_profile,
    .command_list_trace = mts_cpu_list_trace,
};

/* ---- the backend ---- */

static uint32_t backend_count(void)
{
    return mts_cpu_set_best() ? 1 : 0;
}

/* What the processor calls itself, and the instruction sets of the kernels: "AMD EPYC (v4,
   vnni)". */
static void name_of(const mts_cpu_set *set, char *out, size_t size)
{
    const mts_cpu_set *bytes = mts_cpu_set_bytes(set);
    const char *text = "processor";
    size_t length = strlen(text);
#if defined(__x86_64__)
    unsigned words[13] = {0};
    for (unsigned i = 0; i < 3; i++) {
        if (!__get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                         &words[4 * i + 3])) {
            break;
        }
    }
    text = words[0] ? (const char *)words : "x86-64";
    length = strlen(text);
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
#elif defined(__aarch64__)
    text = "arm64";
    length = strlen(text);
#endif
    (void)snprintf(out, size, "%.*s (%s%s%s)", (int)length, text, set->name, bytes ? ", " : "",
                   bytes ? bytes->name : "");
}

static uint64_t memory_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : REACH;
    const uint64_t reach = REACH < SIZE_MAX ? REACH : SIZE_MAX;
    return bytes < reach ? bytes : reach;
}

static mts_status backend_describe(uint32_t index, mts_device_info *info, mts_error *error)
{
    const mts_cpu_set *set = mts_cpu_set_best();
    const uint32_t processors = mts_os_processors();
    if (index != 0 || !set) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND,
                        set ? "the cpu backend has one device, not %u"
                            : "the cpu backend was not compiled for this processor (device %u)",
                        (unsigned)index + 1);
    }
    *info = (mts_device_info){
        .backend = "cpu",
        .unified_memory = true,
        .ready_kernels = true,
        .overlaps = true,
        .imports = MTS_MEMORY_BIT(MTS_MEMORY_HOST),
        .compute_units = processors < MTS_THREADS_MOST ? processors : MTS_THREADS_MOST,
        .vector_floats = set->vector,
        .work_group_size = 4096,
        .local_bytes = LOCAL_BYTES,
        .byte_products = mts_cpu_set_bytes(set) != NULL,
        .row_lanes = set->vector == ROW_LANES,
        .memory_bytes = memory_bytes(),
        .buffer_bytes = memory_bytes(),
    };
    name_of(set, info->name, sizeof info->name);
    (void)snprintf(info->driver, sizeof info->driver, "1 %s", set->name);
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
    if (options->threads > 0) {
        info.compute_units = options->threads < MTS_THREADS_MOST ? options->threads : MTS_THREADS_MOST;
    }
    info.overlaps = info.compute_units > 1;
    mts_cpu_device *device = mts_alloc_zero(options->allocator, 1, sizeof *device);
    mts_cpu_pool *pool = mts_cpu_pool_make(options->allocator, info.compute_units, &mts_cpu_list_calls);
    if (!device || !pool) {
        mts_cpu_pool_destroy(pool);
        mts_alloc_free(options->allocator, device);
        return mts_fail_memory(error);
    }
    device->pool = pool;
    device->base.ops = &ops;
    device->base.allocator = options->allocator;
    device->base.log = options->log;
    device->base.info = info;
    device->set = mts_cpu_set_best();
    *out = &device->base;
    return MTS_STATUS_OK;
}

const mts_backend mts_backend_cpu = {
    .name = "cpu",
    .count = backend_count,
    .describe = backend_describe,
    .open = backend_open,
};
