/*
 * times.c: the content of a file of measured times, and its key. The reader trusts no number.
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include "pipeline/times.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "tune/plan_cache.h"

/* Of a file: changes with what lies in it, and with what is measured. */
#define TIMES_FORMAT 1u
/* A day: no layer and no copy takes longer. */
#define MOST_MS 86400000.0
/* Values behind those of the units: a copy to the device and from it, each and for each byte. */
#define COPY_VALUES 4u

static size_t count_values(const mts_units *units)
{
    return (size_t)units->count + COPY_VALUES;
}

static void make_key(const mts_units *units, const mts_device *device, const mts_pipeline_options *options,
                     mts_text *key)
{
    const mts_engine_options *o = &options->engine;
    mts_text_init(key, device->allocator);
    mts_text_add(key, "times %u\n", TIMES_FORMAT);
    mts_plan_cache_device_key(&device->info, o->precision, options->how.cache, key);
    mts_text_add(key, "bundle %016llx\nstrategy %d separate %d budget %llu packed %d images %d\ntasks",
                 (unsigned long long)units->archive->hash, (int)o->strategy, o->separate_inputs,
                 (unsigned long long)o->memory_budget.bytes, (int)o->packed_channels, (int)o->weight_images);
    for (uint32_t t = 0; t < units->task_count; t++) {
        mts_text_add(key, " %u", units->tasks[t]);
    }
    mts_text_add(key, "\n");
}

static bool is_time(double value)
{
    return isfinite(value) && value >= 0.0 && value <= MOST_MS;
}

/* The values of a file; false: it has others than these units have. */
static bool read_values(const mts_units *units, const mts_os_cache_file *file, double *unit_ms,
                        mts_device_costs *costs)
{
    double copies[COPY_VALUES] = {0.0};
    bool good = file->size == count_values(units) * sizeof(double);
    if (good) {
        memcpy(unit_ms, file->body, units->count * sizeof *unit_ms);
        memcpy(copies, file->body + units->count * sizeof *unit_ms, sizeof copies);
    }
    for (uint32_t i = 0; good && i < units->count; i++) {
        good = is_time(unit_ms[i]);
    }
    for (uint32_t i = 0; good && i < COPY_VALUES; i++) {
        good = is_time(copies[i]);
    }
    if (good) {
        costs->to = (mts_copy_cost){copies[0], copies[1]};
        costs->from = (mts_copy_cost){copies[2], copies[3]};
    }
    return good;
}

bool mts_times_load(const mts_units *units, const mts_device *device, const mts_pipeline_options *options,
                    double *unit_ms, mts_device_costs *costs)
{
    mts_cache *cache = options->how.cache;
    mts_os_cache_file file;
    mts_text key;
    if (!cache) {
        return false;
    }
    make_key(units, device, options, &key);
    const bool found = !key.failed && mts_cache_load(cache, MTS_CACHE_PLANS, mts_text_get(&key), &file);
    mts_text_release(&key);
    if (!found) {
        return false;
    }
    const bool good = read_values(units, &file, unit_ms, costs);
    mts_cache_release(cache, &file);
    if (!good) {
        mts_cache_undo(cache, MTS_CACHE_PLANS, MTS_STATUS_MALFORMED, "holds times of other layers");
    }
    return good;
}

void mts_times_store(const mts_units *units, const mts_device *device, const mts_pipeline_options *options,
                     const mts_device_costs *costs)
{
    mts_cache *cache = options->how.cache;
    mts_text key;
    bool complete = cache != NULL;
    for (uint32_t i = 0; complete && i < units->count; i++) {
        complete = isfinite(costs->unit_ms[i]);
    }
    if (!complete) { /* a lack of memory may pass */
        return;
    }
    double *values = mts_alloc_zero(device->allocator, count_values(units), sizeof *values);
    make_key(units, device, options, &key);
    if (values) {
        memcpy(values, costs->unit_ms, units->count * sizeof *values);
        const double copies[COPY_VALUES] = {costs->to.ms, costs->to.ms_per_byte, costs->from.ms,
                                            costs->from.ms_per_byte};
        memcpy(values + units->count, copies, sizeof copies);
    }
    mts_cache_store(cache, MTS_CACHE_PLANS, values && !key.failed ? mts_text_get(&key) : NULL, values,
                    count_values(units) * sizeof *values);
    mts_text_release(&key);
    mts_alloc_free(device->allocator, values);
}

#endif
