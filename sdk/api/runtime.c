/*
 * runtime.c: the runtime handle: the caller's allocator and log, and the device that is
 * open.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "tune/ceilings.h"
#include "platform/os/descriptor.h"
#include "platform/os/os.h"
#include "platform/wrap/check.h"

static void *caller_alloc(void *context, size_t size)
{
    const mts_runtime *runtime = context;
    return runtime->alloc(runtime->context, size);
}

static void caller_free(void *context, void *memory)
{
    const mts_runtime *runtime = context;
    if (memory) {
        runtime->free(runtime->context, memory);
    }
}

static void caller_log(void *context, mts_log_severity level, const char *text)
{
    const mts_sink *sink = context;
    sink->write(sink->context, level, text);
}

#ifdef MTS_SMALL

static mts_status devices_check(const mts_runtime_options *options, mts_error *error)
{
    return options->device_count > 0
               ? mts_fail(error, MTS_STATUS_UNSUPPORTED, "runtime options: devices (MTS_SMALL)")
               : MTS_STATUS_OK;
}

#else

static mts_status devices_check(const mts_runtime_options *options, mts_error *error)
{
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    if ((options->devices != NULL) != (options->device_count != 0)) {
        return mts_fail(error, bad, "runtime options: devices is %s, but device_count is %" PRIu32,
                        options->devices ? "given" : "NULL", options->device_count);
    }
    if (options->device_count > MTS_DEVICES_MOST) {
        return mts_fail(error, bad, "runtime options: device_count is %" PRIu32 "; at most %d",
                        options->device_count, MTS_DEVICES_MOST);
    }
    if (options->devices && options->device) {
        return mts_fail(error, bad, "runtime options: give device or devices, not both");
    }
    if (options->device_count > 1 && (options->cuda_context || options->cuda_stream)) {
        return mts_fail(error, bad, "runtime options: a cuda_context is for one device, not %" PRIu32,
                        options->device_count);
    }
    for (uint32_t i = 0; i < options->device_count; i++) {
        if (mts_api_device_is_chosen(options->devices[i])) {
            return mts_fail(error, bad,
                            "runtime options: devices[%" PRIu32 "] is %s: it has to name a device", i,
                            options->devices[i] ? "'auto'" : "NULL");
        }
    }
    return MTS_STATUS_OK;
}

#endif

static mts_status options_check(const mts_runtime_options *options, mts_error *error)
{
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    if ((!options->alloc) != (!options->free)) {
        return mts_fail(error, bad, "runtime options: %s is NULL; give both alloc and free, or neither",
                        options->alloc ? "free" : "alloc");
    }
    if ((uint32_t)options->replay > MTS_USE_ON) {
        return mts_fail(error, bad, "runtime options: replay is an mts_use, not %d", (int)options->replay);
    }
    if ((uint32_t)options->gemm > MTS_USE_ON) {
        return mts_fail(error, bad, "runtime options: gemm is an mts_use, not %d", (int)options->gemm);
    }
    if ((uint32_t)options->queue > MTS_QUEUE_FAST) {
        return mts_fail(error, bad, "runtime options: queue is an mts_queue_mode, not %d",
                        (int)options->queue);
    }
    const mts_status status = mts_check_flag("runtime options", "check", options->check, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (options->threads > MTS_THREADS_MOST) {
        return mts_fail(error, bad, "runtime options: threads is %u; at most %u, or 0 for one each processor",
                        (unsigned)options->threads, MTS_THREADS_MOST);
    }
    if (options->cuda_stream && !options->cuda_context) {
        return mts_fail(error, bad, "runtime options: cuda_stream requires cuda_context");
    }
    if (options->error_size > 0 && !options->error_text) {
        return mts_fail(error, bad, "runtime options: error_size is %zu, but error_text is NULL",
                        options->error_size);
    }
    return devices_check(options, error);
}

static mts_runtime *runtime_make(const mts_runtime_options *options)
{
    mts_allocator caller = *mts_allocator_default();
    if (options->alloc) {
        caller.context = options->context;
        caller.alloc = options->alloc;
        caller.free = options->free;
    }
    mts_runtime *runtime = mts_alloc_zero(&caller, 1, sizeof *runtime);
    if (!runtime) {
        return NULL;
    }
    runtime->context = caller.context;
    runtime->alloc = caller.alloc;
    runtime->free = caller.free;
    runtime->allocator = (mts_allocator){runtime, caller_alloc, caller_free};
    runtime->sink = (mts_sink){options->error_text, options->error_size, options->context, options->log};
    runtime->log = (mts_log){&runtime->sink, options->log ? caller_log : NULL};
    return runtime;
}

/* Puts a device behind what checks every command. The smallest library, which apps ship, has
   no such checks: they are a developer's. */
static mts_status check_commands(mts_device **device, mts_error *error)
{
#ifdef MTS_SMALL
    (void)device;
    return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                    "runtime options: check is 1, which a library built with MTS_SMALL has not");
#else
    return mts_wrap_check(device, device, error);
#endif
}

/* Opens the device that `id` names, or number `rank`; with `check`, behind what checks
   every command. */
static mts_status device_open(const mts_runtime *runtime, const char *id, uint32_t rank, mts_device **out,
                              mts_device_desc *desc, mts_error *error)
{
    mts_status status = mts_api_device_open(id, rank, &runtime->device_options, out, desc, error);
    if (status == MTS_STATUS_OK && runtime->check) {
        status = check_commands(out, error);
        if (status != MTS_STATUS_OK) {
            mts_device_destroy(out);
        }
    }
    return status;
}

mts_status mts_api_runtime_open_next(mts_runtime *runtime, uint32_t *rank, mts_device **out,
                                     mts_device_desc *desc, mts_error *error)
{
    mts_status status = MTS_STATUS_NOT_FOUND;
    if (!runtime->chosen || runtime->device_options.external_context) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "the caller named the device");
    }
    const uint32_t count = mts_api_device_count();
    /* NOT_FOUND may also be that of a device which lacks a library: those behind it are
       tried all the same. */
    while (status != MTS_STATUS_OK && ++*rank < count) {
        status = device_open(runtime, NULL, *rank, out, desc, error);
        if (status != MTS_STATUS_OK) {
            mts_log_write(&runtime->log, MTS_LOG_WARNING, "a device cannot be opened: %s", error->text);
        }
    }
    return status == MTS_STATUS_OK
               ? status
               : mts_fail(error, MTS_STATUS_NOT_FOUND, "no other device of this machine can be opened");
}

/* The first device that opens, where the caller names none. */
static mts_status first_device_open(mts_runtime *runtime, const mts_runtime_options *options,
                                    mts_error *error)
{
    runtime->device_options = (mts_device_options){
        .allocator = &runtime->allocator,
        .log = &runtime->log,
        .cache_dir = runtime->cache_dir,
        .programs = &runtime->programs,
        .replay = options->replay,
        .flush_launches = options->flush_launches,
        .gemm = options->gemm,
        .external_context = options->cuda_context,
        .external_queue = options->cuda_stream,
        .threads = options->threads,
        .queue = options->queue,
    };
    runtime->cache =
        (mts_cache){.directory = runtime->cache_dir, .allocator = &runtime->allocator, .log = &runtime->log};
    (void)snprintf(runtime->cache.setting, sizeof runtime->cache.setting, "replay %u gemm %u check %u",
                   (unsigned)options->replay, (unsigned)options->gemm, options->check);
    const char *id = options->device;
#ifndef MTS_SMALL
    id = options->devices ? options->devices[0] : id;
#endif
    runtime->chosen = mts_api_device_is_chosen(id);
    runtime->check = options->check != 0;
    const mts_status status = device_open(runtime, id, 0, &runtime->device, &runtime->desc, error);
    mts_error other = {0};
    if (status == MTS_STATUS_OK || !runtime->chosen ||
        mts_api_runtime_open_next(runtime, &runtime->rank, &runtime->device, &runtime->desc, &other) !=
            MTS_STATUS_OK) {
        return status;
    }
    mts_log_write(&runtime->log, MTS_LOG_WARNING, "a device cannot be opened: %s; taken instead: %s",
                  error->text, runtime->desc.name);
    return MTS_STATUS_OK;
}

#ifndef MTS_SMALL
/* Opens those behind the first. */
static mts_status more_devices_open(mts_runtime *runtime, const mts_runtime_options *options,
                                    mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    runtime->device_options.programs = NULL; /* mts_runtime_cache tells of the first one */
    for (uint32_t i = 1; status == MTS_STATUS_OK && i < options->device_count; i++) {
        status = device_open(runtime, options->devices[i], 0, &runtime->more[i - 1],
                             &runtime->more_desc[i - 1], error);
        runtime->more_count += status == MTS_STATUS_OK ? 1 : 0;
    }
    return status;
}
#endif

void mts_runtime_options_default_sized(mts_runtime_options *options, size_t size)
{
    const mts_runtime_options defaults = {.size = sizeof(mts_runtime_options)};
    mts_sized_default(options, size, &defaults);
}

/* Copies the path of the cache, unless others may have written to what lies there. */
static mts_status cache_take(mts_runtime *runtime, const char *directory, mts_error *error)
{
    int folder;
    const mts_status status = mts_os_private_open(directory, &folder, error);
    if (status == MTS_STATUS_MALFORMED) {
        mts_log_write(&runtime->log, MTS_LOG_WARNING, "there is no cache: %s", error->text);
        return MTS_STATUS_OK;
    }
    if (status == MTS_STATUS_OK) {
        mts_os_descriptor_close(folder);
    }
    runtime->cache_dir = mts_alloc_string(&runtime->allocator, directory);
    return runtime->cache_dir ? MTS_STATUS_OK : mts_fail_memory(error);
}

mts_status mts_runtime_create(const mts_runtime_options *options, mts_runtime **out)
{
    mts_runtime_options known;
    mts_error error = {0};
    if (!out) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    *out = NULL;
    mts_runtime_options_default(&known);
    if (options && mts_sized_read(&known, sizeof known, options, "mts_runtime_options", NULL)) {
        return MTS_STATUS_INVALID_ARGUMENT; /* the buffer of the sentence cannot be trusted either */
    }
    const mts_sink sink = {known.error_text, known.error_size, known.context, known.log};
    mts_status status = options_check(&known, &error);
    mts_runtime *runtime = status == MTS_STATUS_OK ? runtime_make(&known) : NULL;
    if (status == MTS_STATUS_OK && !runtime) {
        status = mts_fail_memory(&error);
    }
    if (status == MTS_STATUS_OK && known.cache_dir) {
        status = cache_take(runtime, known.cache_dir, &error);
    }
    MTS_TRY(status, first_device_open(runtime, &known, &error));
#ifndef MTS_SMALL
    MTS_TRY(status, more_devices_open(runtime, &known, &error));
#endif
    if (status != MTS_STATUS_OK) {
        mts_runtime_destroy(&runtime);
        return mts_sink_report(&sink, status, &error);
    }
    *out = runtime;
    return MTS_STATUS_OK;
}

void mts_runtime_destroy(mts_runtime **runtime)
{
    if (!runtime || !*runtime) {
        return;
    }
    mts_runtime *dead = *runtime;
    *runtime = NULL;

    mts_device_destroy(&dead->device);
#ifndef MTS_SMALL
    for (uint32_t i = 0; i < dead->more_count; i++) {
        mts_device_destroy(&dead->more[i]);
    }
#endif
    mts_alloc_free(&dead->allocator, dead->cache_dir);
    /* not through the allocator, which lives in the memory that goes */
    dead->free(dead->context, dead);
}

mts_status mts_runtime_device(const mts_runtime *runtime, mts_device_desc *out)
{
    return runtime ? mts_api_answer(runtime, out, &runtime->desc, sizeof *out, "mts_device_desc")
                   : MTS_STATUS_INVALID_ARGUMENT;
}

mts_status mts_runtime_cache(const mts_runtime *runtime, mts_cache_stats *stats)
{
    if (!runtime) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    const mts_cache_stats known = {
        .programs = runtime->programs.cache,
        .plans = runtime->cache.counts[MTS_CACHE_PLANS],
        .tunings = runtime->cache.counts[MTS_CACHE_TUNINGS],
        .programs_built = runtime->programs.built,
        .variants_skipped = runtime->cache.skipped,
    };
    return mts_api_answer(runtime, stats, &known, sizeof known, "mts_cache_stats");
}

mts_status mts_runtime_measure(mts_runtime *runtime, mts_ceilings *out)
{
    mts_error error = {0};
    mts_probe probe = {0};
    if (!runtime) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    mts_status status = mts_sized_check(out, sizeof *out, "mts_ceilings", &error);
    MTS_TRY(status, mts_probe_run(runtime->device, &probe, &error));
    if (status == MTS_STATUS_OK) {
        const mts_ceilings known = {.gflops = probe.flops * 1e-9, .copy_gbps = probe.copy * 1e-9};
        mts_sized_write(out, &known);
    }
    return mts_sink_report(&runtime->sink, status, &error);
}
