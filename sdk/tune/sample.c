/*
 * sample.c: engines that are built to be measured: footprints, times, A/B benchmarks.
 *
 * The fastest run counts: other programs can only make a run slower. What is compared
 * runs in turns, so that what disturbs the machine disturbs both.
 */
#include "tune/sample.h"

#include <string.h>

#include "engine/profile.h"
#include "platform/os/os.h"

enum { WARM_RUNS = 2, TIMED_RUNS = 7, ROUNDS_LEAST = 4, ROUNDS_MOST = 40 };

#define COMPARE_NS UINT64_C(250000000) /* of an A/B benchmark, unless ROUNDS_LEAST take longer */
#define LONG_NS UINT64_C(700000000)    /* a slow device is measured by fewer runs than take this long */
#define FAR_SLOWER 1.2                 /* no more rounds are needed */

bool mts_sample_is_recoverable(mts_status status)
{
    /* NOT_FOUND: a program that was not built ahead of time, where there is no
       compiler. */
    return status == MTS_STATUS_LIMIT || status == MTS_STATUS_DEVICE || status == MTS_STATUS_UNSUPPORTED ||
           status == MTS_STATUS_NOT_FOUND;
}

/* Where the device's memory ran out, a candidate did not fit; where the host's did,
   planning ends. */
static mts_status device_memory_is_a_limit(mts_planning *p, mts_status status)
{
    if (status != MTS_STATUS_OUT_OF_MEMORY || !p->device->full) {
        return status;
    }
    p->error->code = MTS_STATUS_LIMIT;
    return MTS_STATUS_LIMIT;
}

typedef struct prepared {
    mts_engine_options options;
    mts_decision decision;
} prepared;

static mts_status prepare(mts_planning *p, const mts_sample_request *request, prepared *out)
{
    const uint32_t count = request->positions ? request->count : p->task_count;
    uint32_t *tasks = mts_arena_zero(&p->arena, count, sizeof *tasks);
    uint32_t *one_group = mts_arena_zero(&p->arena, count, sizeof *one_group);
    if (!tasks || !one_group) {
        return mts_planning_memory(p);
    }
    for (uint32_t i = 0; i < count; i++) {
        tasks[i] = p->tasks[request->positions ? request->positions[i] : i];
    }
    *out = (prepared){.options = p->options};
    out->options.tasks = tasks;
    out->options.task_count = count;
    out->options.strategy = request->one_by_one ? MTS_STRATEGY_SEQUENTIAL : p->options.strategy;
    out->options.progress = NULL;
    out->options.persistent = false;
    out->options.in_order =
        request->in_order || p->options.in_order || mts_memory_budget_is_limited(p->options.memory_budget);
    out->options.memory_budget = (mts_memory_budget){0};
    out->decision.group_of = request->group_of ? request->group_of : one_group;
    out->decision.slice_bytes = request->slice_bytes;
    out->decision.configs = request->configs ? request->configs : &p->defaults;
    return MTS_STATUS_OK;
}

mts_status mts_sample_footprint(mts_planning *p, const mts_sample_request *request, mts_session_stats *stats)
{
    prepared with;
    mts_status status = prepare(p, request, &with);
    MTS_TRY(status, mts_planning_progress(p, p->fraction, "estimating a plan's memory"));
    MTS_TRY(status,
            mts_engine_footprint(p->device, p->archive, &with.options, &with.decision, stats, p->error));
    return status;
}

mts_status mts_sample_least(mts_planning *p, const mts_sample_request *request, uint64_t *bytes)
{
    prepared with;
    mts_status status = prepare(p, request, &with);
    MTS_TRY(status, mts_engine_least(p->device, p->archive, &with.options, &with.decision, bytes, p->error));
    return status;
}

mts_status mts_sample_draft(mts_planning *p, const mts_sample_request *request, mts_engine_draft **out,
                            mts_session_stats *stats)
{
    prepared with;
    *out = NULL;
    mts_status status = prepare(p, request, &with);
    MTS_TRY(status, mts_planning_progress(p, p->fraction, "estimating a plan's memory"));
    MTS_TRY(status, mts_engine_draft_create(p->device, p->archive, &with.options, &with.decision, out, stats,
                                            p->error));
    return status;
}

/* A layer's time must not depend on its data. The values stay until planning is over:
 * zero-copy inputs are read in every run. */
static mts_status fill_inputs(mts_planning *p, mts_engine *engine)
{
    const size_t most = mts_engine_largest_input(engine);
    if (most > p->input_count) {
        uint32_t seed = 1;
        float *inputs = mts_arena_zero(&p->arena, most, sizeof *inputs);
        if (!inputs) {
            return mts_planning_memory(p);
        }
        for (size_t i = 0; i < most; i++) {
            seed = seed * 1664525u + 1013904223u;
            inputs[i] = (float)(seed >> 8) / 8388608.0f - 1.0f + 0.0001f;
        }
        p->inputs = inputs;
        p->input_count = most;
    }
    return mts_engine_fill_inputs(engine, p->inputs, p->error);
}

static mts_status create_filled(mts_planning *p, const prepared *with, const mts_engine *like,
                                mts_engine **out)
{
    mts_engine_build build = {.like = like};
    p->device->full = false;
    mts_status status =
        mts_engine_create(p->device, p->archive, &with->options, &with->decision, &build, out, p->error);
    MTS_TRY(status, fill_inputs(p, *out));
    return device_memory_is_a_limit(p, status);
}

mts_status mts_sample_create(mts_planning *p, const mts_sample_request *request, mts_engine **out)
{
    prepared with;
    *out = NULL;
    mts_status status = prepare(p, request, &with);
    MTS_TRY(status, create_filled(p, &with, request->own_kernels ? NULL : p->previous, out));
    if (status == MTS_STATUS_LIMIT && p->device->full && p->previous) {
        mts_engine_destroy(out);
        mts_engine_destroy(&p->previous); /* its kernels are not worth its memory */
        status = create_filled(p, &with, NULL, out);
    }
    MTS_TRY(status, mts_planning_progress(p, p->fraction, "measuring"));
    if (status != MTS_STATUS_OK) {
        mts_engine_destroy(out);
    }
    return status;
}

/* One run; the first rounds do not count, then *best is the fastest so far. */
static mts_status run_round(mts_planning *p, mts_engine *engine, int round, double *best)
{
    p->device->full = false;
    const uint64_t start = mts_os_clock_ns();
    mts_status status = mts_engine_submit(engine, p->error);
    MTS_TRY(status, mts_engine_wait(engine, p->error));
    const double ms = (double)(mts_os_clock_ns() - start) * 1e-6;
    if (round == WARM_RUNS || (round > WARM_RUNS && ms < *best)) {
        *best = ms;
    }
    return device_memory_is_a_limit(p, status);
}

mts_status mts_sample_create_in_order(mts_planning *p, const mts_kernel_configs *configs, mts_engine **out)
{
    const mts_sample_request request = {.group_of = p->group_of,
                                        .slice_bytes = p->decision.slice_bytes,
                                        .configs = configs,
                                        .own_kernels = true,
                                        .in_order = true};
    return mts_sample_create(p, &request, out);
}

uint32_t mts_sample_launches(const mts_engine *engine)
{
    mts_engine_view view;
    mts_engine_view_get(engine, &view);
    return view.launch_count;
}

mts_status mts_sample_time(mts_planning *p, mts_engine *engine, double *ms)
{
    const uint64_t start = mts_os_clock_ns();
    mts_status status = MTS_STATUS_OK;
    for (int round = 0; status == MTS_STATUS_OK && round < WARM_RUNS + TIMED_RUNS; round++) {
        status = run_round(p, engine, round, ms);
        if (round >= WARM_RUNS && mts_os_clock_ns() - start > LONG_NS) {
            break;
        }
    }
    return status;
}

mts_status mts_sample_run(mts_planning *p, const mts_sample_request *request, mts_session_stats *stats,
                          double *ms)
{
    mts_engine *created = NULL;
    mts_status status = mts_sample_create(p, request, &created);
    if (status == MTS_STATUS_OK) {
        mts_engine_destroy(&p->previous);
        p->previous = created;
        mts_engine_stats_get(created, stats);
        status = mts_sample_time(p, created, ms);
    }
    return status;
}

mts_status mts_sample_compare(mts_planning *p, mts_engine *a, mts_engine *b, double *ms_a, double *ms_b)
{
    const uint64_t start = mts_os_clock_ns();
    mts_status status = MTS_STATUS_OK;
    for (int round = 0; status == MTS_STATUS_OK && round < WARM_RUNS + ROUNDS_MOST; round++) {
        status = run_round(p, a, round, ms_a);
        MTS_TRY(status, run_round(p, b, round, ms_b));
        const uint64_t passed = mts_os_clock_ns() - start;
        const bool enough = round >= WARM_RUNS + ROUNDS_LEAST || (round >= WARM_RUNS && passed > LONG_NS);
        if (enough && (*ms_a > *ms_b * FAR_SLOWER || *ms_b > *ms_a * FAR_SLOWER || passed > COMPARE_NS)) {
            break;
        }
    }
    MTS_TRY(status, mts_planning_progress(p, p->fraction, "measuring"));
    return status;
}

bool mts_sample_is_better(double relative, uint64_t peak, uint64_t leader_peak)
{
    return relative < (peak < leader_peak ? 1.0 / MTS_SAMPLE_TIE : MTS_SAMPLE_TIE);
}
