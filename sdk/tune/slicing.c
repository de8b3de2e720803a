/*
 * slicing.c: sizes of slices against each other in A/B benchmarks, each with the groups
 * that were decided.
 */
#include "tune/slicing.h"

#include <stdio.h>

#include "tune/memory.h"

enum { CANDIDATES_MOST = 6 };

typedef struct candidate {
    mts_considered_plan plan;
    mts_session_stats stats;
} candidate;

/* The candidates, and the engine of the best so far. */
typedef struct benchmark {
    mts_planning *p;
    candidate candidates[CANDIDATES_MOST];
    uint32_t count, best;
    mts_engine *best_engine;
} benchmark;

static void describe(const mts_planning *p, candidate *c)
{
    const uint64_t bytes = c->plan.slice_bytes;
    c->plan.groups = c->stats.groups;
    c->plan.peak = c->stats.peak_bytes;
    c->plan.of_class = MTS_CONSIDERED_SESSION;
    c->plan.verdict = mts_memory_budget_fits(p->options.memory_budget, c->stats.peak_bytes)
                          ? MTS_VERDICT_PREDICTED
                          : MTS_VERDICT_OVER_BUDGET;
    if (bytes == 0) {
        (void)snprintf(c->plan.what, sizeof c->plan.what, "whole layers");
    } else {
        (void)snprintf(c->plan.what, sizeof c->plan.what, "slices of %.2f MiB", (double)bytes / 1048576.0);
    }
}

/* A size that gives the same launches as another is no candidate. */
static bool is_new(const benchmark *b, const candidate *c)
{
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->candidates[i].stats.launches == c->stats.launches &&
            b->candidates[i].stats.peak_bytes == c->stats.peak_bytes) {
            return false;
        }
    }
    return true;
}

static mts_status collect(benchmark *b)
{
    mts_planning *p = b->p;
    const uint64_t usual = p->usual_slice_bytes;
    const uint64_t base = usual > 0 ? usual : MTS_SLICE_FIRST;
    const uint64_t sizes[CANDIDATES_MOST] = {p->decision.slice_bytes, usual, 0, base / 2, base / 4, base * 2};
    for (int i = 0; i < CANDIDATES_MOST; i++) {
        candidate c = {.plan = {.slice_bytes = sizes[i]}};
        const mts_status status =
            mts_memory_footprint(p, p->group_of, sizes[i], p->decision.configs, &c.stats);
        if (status != MTS_STATUS_OK && !mts_sample_is_recoverable(status)) {
            return status;
        }
        if (status == MTS_STATUS_OK && is_new(b, &c)) {
            describe(p, &c);
            b->candidates[b->count++] = c;
        }
    }
    return MTS_STATUS_OK;
}

static mts_status create(const benchmark *b, const candidate *c, mts_engine **out)
{
    mts_planning *p = b->p;
    const mts_sample_request request = {
        .group_of = p->group_of, .slice_bytes = c->plan.slice_bytes, .configs = p->decision.configs};
    return mts_sample_create(p, &request, out);
}

/* Runs candidate `x` against the best so far. */
static mts_status compare(benchmark *b, uint32_t x)
{
    mts_engine *engine = NULL;
    double best_ms = 0.0;
    mts_considered_plan *plan = &b->candidates[x].plan;
    mts_status status = create(b, &b->candidates[x], &engine);
    MTS_TRY(status, mts_sample_compare(b->p, b->best_engine, engine, &best_ms, &plan->measured_ms));
    if (status == MTS_STATUS_OK) {
        plan->verdict = MTS_VERDICT_SLOWER;
        plan->relative = best_ms > 0.0 ? plan->measured_ms / best_ms : 1.0;
        if (mts_sample_is_better(plan->relative, plan->peak, b->candidates[b->best].plan.peak)) {
            const double ratio = plan->relative;
            for (uint32_t i = 0; i < b->count; i++) {
                b->candidates[i].plan.relative /= ratio;
            }
            mts_engine *old = b->best_engine;
            b->best_engine = engine;
            engine = old;
            b->best = x;
        } else { /* as it was beside the last candidate */
            b->candidates[b->best].plan.measured_ms = best_ms;
        }
    } else if (mts_sample_is_recoverable(status)) {
        plan->verdict = MTS_VERDICT_FAILED;
        status = MTS_STATUS_OK;
    }
    mts_engine_destroy(&engine);
    return status;
}

mts_status mts_slicing_measure(mts_planning *p)
{
    benchmark b = {.p = p};
    if (p->options.strategy != MTS_STRATEGY_COMPACT) {
        return MTS_STATUS_OK;
    }
    p->fraction = 0.85f;
    mts_status status = mts_memory_fit(p); /* the first candidate, which is the decision, keeps the budget */
    MTS_TRY(status, collect(&b));
    if (status != MTS_STATUS_OK || b.count < 2) {
        return status;
    }
    status = create(&b, &b.candidates[0], &b.best_engine);
    b.candidates[0].plan.relative = 1.0;
    for (uint32_t i = 1; status == MTS_STATUS_OK && i < b.count; i++) {
        if (b.candidates[i].plan.verdict != MTS_VERDICT_OVER_BUDGET) {
            status = compare(&b, i);
        }
    }
    mts_engine_destroy(&b.best_engine);
    if (mts_sample_is_recoverable(status)) {
        return MTS_STATUS_OK; /* the device does not fit two engines: the decision stays */
    }
    b.candidates[0].plan.verdict = MTS_VERDICT_SLOWER;
    b.candidates[b.best].plan.verdict = MTS_VERDICT_CHOSEN;
    b.candidates[b.best].plan.relative = 1.0;
    p->decision.slice_bytes = b.candidates[b.best].plan.slice_bytes;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < b.count; i++) {
        status = mts_planning_add_plan(p, &b.candidates[i].plan);
    }
    return status;
}
