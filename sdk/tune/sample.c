/*
 * sample.c: engines that are made to be measured: weighing, timing, racing two of them.
 *
 * The fastest run counts: other programs can only make a run slower. What is compared runs in turns, so that
 * what disturbs the machine disturbs both.
 */
#include <string.h>

#include "tune/planning.h"
#include "platform/os/os.h"

enum { WARM_RUNS = 2, TIMED_RUNS = 7, RACE_LEAST = 4, RACE_MOST = 40 };

#define RACE_NS UINT64_C(250000000) /* time for a race, unless RACE_LEAST rounds take longer */
#define LONG_NS UINT64_C(700000000) /* a slow device is measured by fewer runs than that */
#define RACE_LOST 1.2               /* slower by this factor: no more rounds are needed */

bool mts_sample_is_recoverable(mts_status code)
{
    return code == MTS_STATUS_LIMIT || code == MTS_STATUS_DEVICE || code == MTS_STATUS_UNSUPPORTED ||
           code == MTS_STATUS_NOT_FOUND; /* a program that was not made ahead of time, and no compiler */
}

/* Where the device's memory ran out, a candidate did not fit; where the host's did, planning is over. */
static mts_status tell_memory(mts_planning *p, mts_status code)
{
    if (code != MTS_STATUS_OUT_OF_MEMORY || !p->device->full) {
        return code;
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
    out->options.progress = NULL;
    out->options.memory_budget = (mts_memory_budget){0};
    out->decision.group_of = request->group_of ? request->group_of : one_group;
    out->decision.slice_bytes = request->slice_bytes;
    out->decision.choices = request->choices ? request->choices : &p->defaults;
    return MTS_STATUS_OK;
}

mts_status mts_sample_footprint(mts_planning *p, const mts_sample_request *request, mts_engine_stats *stats)
{
    prepared with;
    mts_status code = prepare(p, request, &with);
    MTS_TRY(code, mts_planning_report_progress(p, p->fraction, "weighing a plan"));
    return code != MTS_STATUS_OK
               ? code
               : mts_engine_footprint(p->device, p->archive, &with.options, &with.decision, stats, p->error);
}

/* Values for the largest input, neither zero nor denormal: a layer's time must not depend on its data. They
 * stay until planning is over: zero-copy inputs are read in every run. */
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

static mts_status make_filled(mts_planning *p, const prepared *with, mts_engine_build *build,
                              mts_engine **out)
{
    p->device->full = false;
    const mts_status code =
        mts_engine_create(p->device, p->archive, &with->options, &with->decision, build, out, p->error);
    return tell_memory(p, code != MTS_STATUS_OK ? code : fill_inputs(p, *out));
}

mts_status mts_sample_create(mts_planning *p, const mts_sample_request *request, mts_engine **out)
{
    prepared with;
    *out = NULL;
    mts_status code = prepare(p, request, &with);
    if (code == MTS_STATUS_OK) {
        mts_engine_build build = {.like = request->own_kernels ? NULL : p->previous};
        code = make_filled(p, &with, &build, out);
    }
    if (code == MTS_STATUS_LIMIT && p->device->full && p->previous) {
        mts_engine_build none = {.like = NULL};
        mts_engine_destroy(out);
        mts_engine_destroy(&p->previous); /* its kernels are not worth its memory */
        code = make_filled(p, &with, &none, out);
    }
    MTS_TRY(code, mts_planning_report_progress(p, p->fraction, "measuring"));
    if (code != MTS_STATUS_OK) {
        mts_engine_destroy(out);
    }
    return code;
}

static mts_status run(mts_planning *p, mts_engine *engine, double *ms)
{
    p->device->full = false;
    const uint64_t start = mts_os_clock_ns();
    mts_status code = mts_engine_submit(engine, p->error);
    MTS_TRY(code, mts_engine_wait(engine, p->error));
    *ms = (double)(mts_os_clock_ns() - start) * 1e-6;
    return tell_memory(p, code);
}

/* Two passes: the better of a fastest run so far and this one; the first runs do not count. */
static mts_status run_again(mts_planning *p, mts_engine *engine, int round, double *best)
{
    double ms = 0.0;
    const mts_status code = run(p, engine, &ms);
    if (round == WARM_RUNS || (round > WARM_RUNS && ms < *best)) {
        *best = ms;
    }
    return code;
}

mts_status mts_sample_time(mts_planning *p, mts_engine *engine, double *ms)
{
    const uint64_t start = mts_os_clock_ns();
    mts_status code = MTS_STATUS_OK;
    for (int round = 0; code == MTS_STATUS_OK && round < WARM_RUNS + TIMED_RUNS; round++) {
        code = run_again(p, engine, round, ms);
        if (round >= WARM_RUNS && mts_os_clock_ns() - start > LONG_NS) {
            break;
        }
    }
    return code;
}

bool mts_sample_is_better(double relative, uint64_t peak, uint64_t leader_peak)
{
    return relative < (peak < leader_peak ? 1.0 / MTS_SAMPLE_TIE : MTS_SAMPLE_TIE);
}

mts_status mts_sample_compare(mts_planning *p, mts_engine *a, mts_engine *b, double *ms_a, double *ms_b)
{
    const uint64_t start = mts_os_clock_ns();
    mts_status code = MTS_STATUS_OK;
    for (int round = 0; code == MTS_STATUS_OK && round < WARM_RUNS + RACE_MOST; round++) {
        code = run_again(p, a, round, ms_a);
        MTS_TRY(code, run_again(p, b, round, ms_b));
        const uint64_t passed = mts_os_clock_ns() - start;
        const bool enough = round >= WARM_RUNS + RACE_LEAST || (round >= WARM_RUNS && passed > LONG_NS);
        if (enough && (*ms_a > *ms_b * RACE_LOST || *ms_b > *ms_a * RACE_LOST || passed > RACE_NS)) {
            break;
        }
    }
    return code != MTS_STATUS_OK ? code : mts_planning_report_progress(p, p->fraction, "measuring");
}

mts_status mts_sample_run(mts_planning *p, const mts_sample_request *request, mts_engine_stats *stats,
                          double *ms)
{
    mts_engine *made = NULL;
    mts_status code = mts_sample_create(p, request, &made);
    if (code == MTS_STATUS_OK) {
        mts_engine_destroy(&p->previous);
        p->previous = made;
        mts_engine_stats_get(made, stats);
        code = mts_sample_time(p, made, ms);
    }
    return code;
}
