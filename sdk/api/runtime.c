/*
 * runtime.c: the runtime handle: the caller's allocator and log, and the device that is open.
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "tune/ceilings.h"
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
    const mts_api_sink *sink = context;
    sink->write(sink->context, (mts_log_severity)level, text);
}

/* What is wrong with the options, or NULL. */
static const char *options_defect(const mts_runtime_options *options)
{
    if (options->size != sizeof *options) {
        return "runtime options: `size` is not that of this library; use mts_runtime_options_default";
    }
    if ((!options->alloc) != (!options->free)) {
        return "runtime options: give both alloc and free, or neither";
    }
    if ((uint32_t)options->replay > MTS_USE_ON) {
        return "runtime options: no such replay";
    }
    if ((uint32_t)options->gemm > MTS_USE_ON) {
        return "runtime options: no such gemm";
    }
    if (options->check > 1) {
        return "runtime options: check is 0 or 1";
    }
    if (options->cuda_stream && !options->cuda_context) {
        return "runtime options: cuda_stream without cuda_context";
    }
    if (options->error_size > 0 && !options->error_text) {
        return "runtime options: error_size without error_text";
    }
    return NULL;
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
    runtime->sink = (mts_api_sink){options->error_text, options->error_size, options->context, options->log};
    runtime->log = (mts_log){&runtime->sink, options->log ? caller_log : NULL};
    return runtime;
}

static mts_status device_open(mts_runtime *runtime, const mts_runtime_options *options, mts_error *error)
{
    const mts_device_options device_options = {
        .allocator = &runtime->allocator,
        .log = &runtime->log,
        .cache_dir = runtime->cache_dir,
        .programs = &runtime->programs,
        .threads = options->threads,

        .replay = (mts_use)options->replay,
        .flush_launches = options->flush_launches,

        .gemm = (mts_use)options->gemm,
        .foreign_context = options->cuda_context,
        .foreign_queue = options->cuda_stream,
    };
    runtime->cache =
        (mts_cache){.directory = runtime->cache_dir, .allocator = &runtime->allocator, .log = &runtime->log};
    (void)snprintf(runtime->cache.setting, sizeof runtime->cache.setting,
                   "replay %u gemm %u check %u threads %u", (unsigned)options->replay,
                   (unsigned)options->gemm, options->check, options->threads);
    mts_status code =
        mts_api_device_open(options->device, &device_options, &runtime->device, &runtime->desc, error);
    if (code == MTS_STATUS_OK && options->check) {
        mts_device *inner = runtime->device;
        code = mts_wrap_check(&inner, &runtime->device, error);
        if (code != MTS_STATUS_OK) {
            runtime->device = inner; /* still ours to destroy */
        }
    }
    return code;
}

void mts_runtime_options_default(mts_runtime_options *options)
{
    if (options) {
        memset(options, 0, sizeof *options);
        options->size = sizeof *options;
    }
}

mts_status mts_runtime_create(const mts_runtime_options *options, mts_runtime **out)
{
    mts_runtime_options defaults;
    mts_error error = {0};
    mts_status code = MTS_STATUS_OK;
    if (!out) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    *out = NULL;
    mts_runtime_options_default(&defaults);
    options = options ? options : &defaults;
    if (options->size != sizeof *options) {
        return MTS_STATUS_INVALID_ARGUMENT; /* the sink cannot be trusted either */
    }
    const mts_api_sink sink = {options->error_text, options->error_size, options->context, options->log};
    const char *defect = options_defect(options);
    if (defect) {
        return mts_api_report(&sink, mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "%s", defect), &error);
    }
    mts_runtime *runtime = runtime_make(options);
    if (!runtime) {
        code = mts_fail_memory(&error);
        return mts_api_report(&sink, code, &error);
    }
    if (options->cache_dir) {
        runtime->cache_dir = mts_alloc_string(&runtime->allocator, options->cache_dir);
        if (!runtime->cache_dir) {
            code = mts_fail_memory(&error);
        }
    }
    MTS_TRY(code, device_open(runtime, options, &error));
    if (code != MTS_STATUS_OK) {
        mts_runtime_destroy(&runtime);
        return mts_api_report(&sink, code, &error);
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
    mts_alloc_free(&dead->allocator, dead->cache_dir);
    /* not through the allocator, which lives in the memory that goes */
    dead->free(dead->context, dead);
}

mts_status mts_runtime_device(const mts_runtime *runtime, mts_device_desc *out)
{
    mts_error error = {0};
    if (!runtime) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    if (!out) {
        (void)mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "mts_runtime_device: out is NULL");
        return mts_api_report(&runtime->sink, error.code, &error);
    }
    *out = runtime->desc;
    return MTS_STATUS_OK;
}

static mts_cache_use use_of(const mts_cache_counts *counts)
{
    return (mts_cache_use){.hits = counts->hits,
                           .misses = counts->misses,
                           .rejected = counts->rejected,
                           .written = counts->written,
                           .failed = counts->failed};
}

mts_status mts_runtime_cache(const mts_runtime *runtime, mts_cache_stats *stats)
{
    mts_error error = {0};
    if (!runtime) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    if (!stats || stats->size != sizeof *stats) {
        (void)mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "mts_runtime_cache: %s",
                       stats ? "`size` is not sizeof(mts_cache_stats)" : "stats is NULL");
        return mts_api_report(&runtime->sink, error.code, &error);
    }
    const mts_program_counts *programs = &runtime->programs;
    *stats = (mts_cache_stats){
        .size = sizeof *stats,
        .programs = {.hits = programs->hits,
                     .misses = programs->misses,
                     .rejected = programs->rejected,
                     .written = programs->stored,
                     .failed = programs->failed},
        .plans = use_of(&runtime->cache.counts[MTS_CACHE_PLANS]),
        .tunings = use_of(&runtime->cache.counts[MTS_CACHE_TUNINGS]),
        .programs_built = programs->built,
        .variants_skipped = runtime->cache.skipped,
    };
    return MTS_STATUS_OK;
}

mts_status mts_runtime_measure(mts_runtime *runtime, mts_ceilings *out)
{
    mts_error error = {0};
    mts_probe probe = {0};
    if (!runtime) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    if (!out || out->size != sizeof *out) {
        (void)mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "mts_runtime_measure: %s",
                       out ? "`size` is not sizeof(mts_ceilings)" : "out is NULL");
        return mts_api_report(&runtime->sink, error.code, &error);
    }

    const mts_status code = mts_probe_run(runtime->device, &probe, &error);
    if (code == MTS_STATUS_OK) {
        out->gflops = probe.flops * 1e-9;
        out->copy_gbps = probe.copy * 1e-9;
    }
    return mts_api_report(&runtime->sink, code, &error);
}
