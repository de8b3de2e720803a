/*
 * profile.c: repeats a run with the device's clock on and keeps medians.
 */
#include "engine/profile.h"

#include <stdlib.h>

#include "base/size.h"
#include "engine/predict.h"
#include "engine/state.h"

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return MTS_COMPARE(a, b);
}

static double median(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 != 0 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2.0;
}

static double milliseconds(uint64_t from, uint64_t to)
{
    return to >= from ? (double)(to - from) * 1e-6 : -(double)(from - to) * 1e-6;
}

/* times: [runs][launches]; column: space for `runs` values. Medians do not add overlap
 * that the runs did not have. */
static void summarise(const mts_engine *engine, uint32_t runs, const mts_launch_time *times, double *column,
                      mts_launch_profile *out)
{
    const size_t count = engine->launches.count;
    double clock = 0.0;
    for (size_t i = 0; i < count; i++) {
        out[i] = mts_engine_launch_describe(engine, (uint32_t)i);
        for (uint32_t r = 0; r < runs; r++) {
            const mts_launch_time *run = times + r * count;
            column[r] = milliseconds(i == 0 ? 0 : run[i - 1].end, run[i].start);
        }
        out[i].start_ms = clock + median(column, runs);
        for (uint32_t r = 0; r < runs; r++) {
            const mts_launch_time *run = times + r * count;
            column[r] = milliseconds(run[i].start, run[i].end);
        }
        out[i].duration_ms = median(column, runs);
        clock = out[i].start_ms + out[i].duration_ms;
    }
}

static mts_status prepare(mts_engine *engine, mts_error *error)
{
    if (engine->submissions.used > 0) {
        return mts_fail(error, MTS_STATUS_BUSY, "%u runs are in flight: wait for them before profiling",
                        engine->submissions.used);
    }
    return engine->launches.count > 0 ? mts_launches_prepare(&engine->launches, &engine->inputs.slots, error)
                                      : MTS_STATUS_OK;
}

mts_status mts_engine_trace(mts_engine *engine, mts_chunk_time *chunks, size_t capacity, size_t *count,
                            mts_error *error)
{
    mts_status status = prepare(engine, error);
    *count = 0;
    for (int run = 0; engine->launches.count > 0 && run < 2; run++) {
        MTS_TRY(status, mts_command_list_trace(engine->launches.list, chunks, capacity, count, error));
    }
    return status;
}

mts_status mts_engine_profile(mts_engine *engine, uint32_t runs, mts_launch_profile *out, mts_error *error)
{
    const size_t count = engine->launches.count;
    const mts_status ready = prepare(engine, error);
    if (ready != MTS_STATUS_OK || count == 0) {
        return ready; /* without launches every output is a constant or an input */
    }
    size_t all = 0;
    if (!mts_size_mul(count, runs, &all)) {
        return mts_fail_memory(error);
    }
    mts_launch_time *times = mts_alloc_zero(engine->allocator, all, sizeof *times);
    double *column = mts_alloc_zero(engine->allocator, runs, sizeof *column);
    mts_status status = times && column ? MTS_STATUS_OK
                                        : mts_fail(error, MTS_STATUS_OUT_OF_MEMORY,
                                                   "not enough memory for the times of %u runs", runs);
    if (status == MTS_STATUS_OK) {
        status =
            mts_command_list_profile(engine->launches.list, times, count, error); /* this one is not kept */
    }
    for (uint32_t r = 0; r < runs && status == MTS_STATUS_OK; r++) {
        status = mts_command_list_profile(engine->launches.list, times + r * count, count, error);
    }
    if (status == MTS_STATUS_OK) {
        summarise(engine, runs, times, column, out);
    }
    mts_alloc_free(engine->allocator, times);
    mts_alloc_free(engine->allocator, column);
    return status;
}
