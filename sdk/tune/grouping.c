/*
 * grouping.c: groups by measured latency. plan/group.c finds the plans that the model of
 * a class (class_model.c) predicts to be fastest; A/B benchmarks select one of them.
 *
 * Tasks that can be stitched and have one priority are a class; classes are planned one
 * after another. The model's estimate of memory only orders candidates: whether one fits
 * is told by a dry run, together with what the other classes have.
 */
#include "tune/grouping.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "platform/os/os.h"
#include "tune/class_model.h"
#include "tune/memory.h"
#include "tune/slicing.h"

enum { CANDIDATES = 24, RUNS_MOST = 7, RETRIES = 4, PASSES = 2, COSTS_A_REPORT = 1024 };

/* Predicted latency relative to the best prediction: such a candidate is not worth a
   benchmark. */
#define HOPELESS 1.4

/* Time for all classes together; then the decision so far is kept. Slow devices and first
 * builds of kernels need most of it, others some seconds. */
#define GROUPING_NS UINT64_C(60000000000)

/* Groups of a class that may be selected. */
typedef struct candidate {
    mts_considered_plan plan;
    uint32_t *groups; /* per task of the class */
    bool ran, fits;
} candidate;

/* One class while it is planned. */
typedef struct class_plan {
    task_class of;
    double penalty;  /* milliseconds for each group, to find plans of fewer or more groups */
    uint32_t priced; /* sets that plan/group.c has asked for */
    candidate candidates[CANDIDATES];
    uint32_t candidate_count;
} class_plan;

/* ---- candidates ---- */

static mts_status class_cost(void *context, const uint32_t *indices, uint32_t count, mts_group_cost *cost,
                             mts_error *error)
{
    (void)error; /* the planning's */
    class_plan *c = context;
    mts_class_cost(&c->of, indices, count, cost);
    cost->latency = fmax(cost->latency + c->penalty, 0.0);
    return c->priced++ % COSTS_A_REPORT == 0
               ? mts_planning_progress(c->of.p, c->of.p->fraction, "searching for groups")
               : MTS_STATUS_OK;
}

/* The session's groups with this class's as given, the others as decided so far. */
static const uint32_t *assemble(const class_plan *c, const uint32_t *groups)
{
    mts_planning *p = c->of.p;
    uint32_t *all = mts_arena_zero(&p->arena, p->task_count, sizeof *all);
    uint32_t first = 0;
    for (uint32_t number = 0; all && number < p->class_count; number++) {
        uint32_t next = first;
        uint32_t index = 0;
        uint32_t lowest = UINT32_MAX; /* of the class's groups in the decision */
        for (uint32_t t = 0; t < p->task_count; t++) {
            if (p->class_of[t] == number && p->group_of[t] < lowest) {
                lowest = p->group_of[t];
            }
        }
        for (uint32_t t = 0; t < p->task_count; t++) {
            if (p->class_of[t] == number) {
                all[t] = first + (number == c->of.number ? groups[index++] : p->group_of[t] - lowest);
                next = all[t] >= next ? all[t] + 1 : next;
            }
        }
        first = next;
    }
    return all;
}

/* In a class of one structure only the sizes of groups matter: largest first, each of
   neighbouring tasks. */
static uint32_t *with_sizes_in_order(class_plan *c, const uint32_t *groups)
{
    mts_planning *p = c->of.p;
    uint32_t *sizes = mts_arena_zero(&p->arena, c->of.count, sizeof *sizes);
    uint32_t *ordered = mts_arena_zero(&p->arena, c->of.count, sizeof *ordered);
    if (!sizes || !ordered) {
        return NULL;
    }
    memcpy(ordered, groups, c->of.count * sizeof *ordered);
    for (uint32_t i = 0; i < c->of.count; i++) {
        sizes[groups[i]]++;
    }
    for (uint32_t i = 0, group = 0; c->of.uniform && i < c->of.count; group++) {
        uint32_t largest = 0;
        for (uint32_t g = 1; g < c->of.count; g++) {
            largest = sizes[g] > sizes[largest] ? g : largest;
        }
        for (; sizes[largest] > 0; sizes[largest]--) {
            ordered[i++] = group;
        }
    }
    return ordered;
}

/* Adds a plan of the class unless it is there. Its memory is that of smaller slices where
   it is over the budget. */
static mts_status add_candidate(class_plan *c, const char *what, const uint32_t *given, uint32_t group_count)
{
    mts_planning *p = c->of.p;
    const uint32_t *groups = with_sizes_in_order(c, given);
    if (!groups) {
        return mts_planning_memory(p);
    }
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        if (memcmp(c->candidates[i].groups, groups, c->of.count * sizeof *groups) == 0) {
            return MTS_STATUS_OK;
        }
    }
    if (c->candidate_count == CANDIDATES || !mts_class_in_time(&c->of)) {
        return MTS_STATUS_OK;
    }
    candidate *added = &c->candidates[c->candidate_count];
    *added = (candidate){.groups = mts_arena_zero(&p->arena, c->of.count, sizeof *groups)};
    const uint32_t *all = assemble(c, groups);
    if (!added->groups || !all) {
        return mts_planning_memory(p);
    }
    memcpy(added->groups, groups, c->of.count * sizeof *groups);
    added->plan = (mts_considered_plan){.of_class = c->of.number,
                                        .groups = group_count,
                                        .verdict = MTS_VERDICT_PREDICTED,
                                        .predicted_ms = mts_class_predict(&c->of, groups, group_count)};
    (void)snprintf(added->plan.what, sizeof added->plan.what, "%s", what);
    mts_status status = mts_memory_peak(p, all, &added->plan.slice_bytes, &added->plan.peak);
    added->fits = mts_memory_budget_fits(p->options.memory_budget, added->plan.peak);
    if (!added->fits) {
        added->plan.verdict = MTS_VERDICT_OVER_BUDGET;
    }
    if (mts_sample_is_recoverable(status)) {
        added->fits = false;
        added->plan.verdict = MTS_VERDICT_FAILED;
        status = MTS_STATUS_OK;
    }
    c->candidate_count++;
    return status;
}

static mts_status add_named(class_plan *c, const uint32_t *groups, uint32_t group_count)
{
    char what[MTS_CONSIDERED_TEXT] = "one group";
    if (group_count == c->of.count) {
        (void)snprintf(what, sizeof what, "each task alone");
    } else if (group_count > 1) {
        (void)snprintf(what, sizeof what, "%u groups", group_count);
    }
    return add_candidate(c, what, groups, group_count);
}

/* Deals the tasks to `count` groups, in turns that balance what was sorted by size. */
static mts_status add_dealt(class_plan *c, uint32_t count)
{
    uint32_t *groups = mts_arena_zero(&c->of.p->arena, c->of.count, sizeof *groups);
    if (!groups) {
        return mts_planning_memory(c->of.p);
    }
    for (uint32_t i = 0; i < c->of.count; i++) {
        groups[i] = c->of.uniform ? (uint32_t)((uint64_t)i * count / c->of.count) : i % count;
    }
    return add_named(c, groups, count);
}

/* The best plan of the model, with a penalty for each group. */
static mts_status add_planned(class_plan *c, double penalty)
{
    mts_planning *p = c->of.p;
    uint32_t *groups = mts_arena_zero(&p->arena, c->of.count, sizeof *groups);
    mts_memory_budget budget = p->options.memory_budget;
    mts_status status = groups ? MTS_STATUS_OK : mts_planning_memory(p);
    c->penalty = penalty;
    for (int attempt = 0; status == MTS_STATUS_OK && attempt < RETRIES && mts_class_in_time(&c->of);
         attempt++) {
        const uint32_t before = c->candidate_count;
        mts_group_result result = {.group_of = groups};
        const mts_group_request request = {.task_count = c->of.count,
                                           .uniform = c->of.uniform,
                                           .fixed_bytes = p->fixed_bytes + mts_class_fixed_bytes(&c->of),
                                           .budget = budget,
                                           .cost = class_cost,
                                           .context = c,
                                           .allocator = p->allocator};
        status = mts_group_plan(&request, &result, p->error);
        if (status == MTS_STATUS_LIMIT) { /* by the model; the plan of least memory was found before */
            status = MTS_STATUS_OK;
            break;
        }
        MTS_TRY(status, add_named(c, groups, result.group_count));
        if (status != MTS_STATUS_OK || c->candidate_count == before || c->candidates[before].fits) {
            break;
        }
        const uint64_t excess = c->candidates[before].plan.peak - p->options.memory_budget.bytes;
        budget.bytes = budget.bytes > excess ? budget.bytes - excess : 1;
    }
    c->penalty = 0.0;
    return status;
}

static mts_status add_candidates(class_plan *c)
{
    static const double shares[] = {0.0, 0.02, -0.02, 0.06, -0.06, 0.2, -0.2};
    const uint32_t first = 0;
    mts_group_cost alone;
    mts_status status = MTS_STATUS_OK;
    mts_class_cost(&c->of, &first, 1, &alone);
    for (size_t i = 0; status == MTS_STATUS_OK && i < sizeof shares / sizeof shares[0]; i++) {
        status = add_planned(c, shares[i] * alone.latency);
    }
    MTS_TRY(status, add_dealt(c, 1));
    if (c->of.count >= 4) {
        MTS_TRY(status, add_dealt(c, 2));
    }
    if (c->of.count >= 8) {
        MTS_TRY(status, add_dealt(c, 4));
    }
    MTS_TRY(status, add_dealt(c, c->of.count));
    return status;
}

/* ---- A/B benchmarks ---- */

/* The best candidate so far, its engine, and that of the candidate that is compared with
   it. */
typedef struct benchmark {
    class_plan *c;
    mts_engine *best_engine, *engine;
    candidate *best;
    uint32_t ran;
} benchmark;

static mts_status run_candidate(benchmark *b, candidate *x)
{
    class_plan *c = b->c;
    mts_planning *p = c->of.p;
    const mts_sample_request request = {.positions = c->of.tasks,
                                        .count = c->of.count,
                                        .group_of = x->groups,
                                        .slice_bytes = x->plan.slice_bytes,
                                        .configs = p->decision.configs};
    x->ran = true;
    mts_status status = mts_sample_create(p, &request, &b->engine);
    if (status == MTS_STATUS_OK && !b->best) {
        status = mts_sample_time(p, b->engine, &x->plan.measured_ms);
    } else if (status == MTS_STATUS_OK) {
        double best_ms = 0.0;
        status = mts_sample_compare(p, b->best_engine, b->engine, &best_ms, &x->plan.measured_ms);
        x->plan.relative = best_ms > 0.0 && x->plan.measured_ms > 0.0 ? x->plan.measured_ms / best_ms : 1.0;
    }
    if (mts_sample_is_recoverable(status)) {
        x->plan.verdict = MTS_VERDICT_FAILED;
        x->plan.measured_ms = 0.0;
        x->fits = false;
        mts_engine_destroy(&b->engine);
        return MTS_STATUS_OK;
    }
    x->plan.verdict = MTS_VERDICT_SLOWER;
    b->ran++;
    return status;
}

/* The better of the candidate that ran and the best so far stays; the other one's kernels
   may serve the next. */
static void keep_better(benchmark *b, candidate *x)
{
    class_plan *c = b->c;
    if (!b->engine) {
        return;
    }
    mts_engine_destroy(&c->of.p->previous);
    if (!b->best || mts_sample_is_better(x->plan.relative, x->plan.peak, b->best->plan.peak)) {
        for (uint32_t i = 0; b->best && i < c->candidate_count; i++) {
            c->candidates[i].plan.relative /= x->plan.relative;
        }
        c->of.p->previous = b->best_engine;
        b->best_engine = b->engine;
        b->best = x;
        x->plan.relative = 1.0;
    } else {
        c->of.p->previous = b->engine;
    }
    b->engine = NULL;
}

/* The candidate that has not run and has the best prediction; NULL: none is worth a
   benchmark. */
static candidate *next_candidate(class_plan *c, const benchmark *b)
{
    candidate *next = NULL;
    double least = INFINITY;
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        candidate *x = &c->candidates[i];
        least = x->fits && x->plan.predicted_ms < least ? x->plan.predicted_ms : least;
        if (x->fits && !x->ran && (!next || x->plan.predicted_ms < next->plan.predicted_ms)) {
            next = x;
        }
    }
    return next && b->best && next->plan.predicted_ms > HOPELESS * least ? NULL : next;
}

static void learn(class_plan *c)
{
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        const candidate *x = &c->candidates[i];
        if (x->plan.measured_ms > 0.0) {
            mts_class_learn(&c->of, x->groups, x->plan.groups, x->plan.measured_ms);
        }
    }
    mts_class_fit(&c->of);
}

static mts_status run_candidates(class_plan *c, benchmark *b, uint32_t most)
{
    mts_status status = MTS_STATUS_OK;
    for (candidate *x = next_candidate(c, b); x && b->ran < most && mts_class_in_time(&c->of);
         x = next_candidate(c, b)) {
        status = run_candidate(b, x);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        keep_better(b, x);
    }
    return status;
}

/* The first benchmarks improve the model, which may find better plans then. */
static mts_status run_all(class_plan *c, benchmark *b)
{
    mts_status status = add_candidates(c);
    MTS_TRY(status, run_candidates(c, b, RUNS_MOST));
    for (uint32_t pass = 1; status == MTS_STATUS_OK && pass < PASSES && !c->of.uniform && c->of.count > 2;
         pass++) {
        learn(c);
        status = add_planned(c, 0.0);
        MTS_TRY(status, run_candidates(c, b, RUNS_MOST + 2 * pass));
    }
    return status;
}

static mts_status keep_best(class_plan *c, const benchmark *b)
{
    mts_planning *p = c->of.p;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < c->candidate_count; i++) {
        candidate *x = &c->candidates[i];
        x->plan.verdict = x == b->best ? (uint32_t)MTS_VERDICT_CHOSEN : x->plan.verdict;
        status = mts_planning_add_plan(p, &x->plan);
    }
    if (status != MTS_STATUS_OK || !b->best) {
        return status; /* none fits: the decision before stays, which keeps the budget */
    }
    const uint32_t *all = assemble(c, b->best->groups);
    if (!all) {
        return mts_planning_memory(p);
    }
    memcpy(p->group_of, all, p->task_count * sizeof *all);
    p->decision.slice_bytes = b->best->plan.slice_bytes;
    p->report.model_error = fmax(p->report.model_error, c->of.model.error);
    return MTS_STATUS_OK;
}

/* ---- classes ---- */

/* Milliseconds of the class as one group. */
static mts_status measure_one_group(class_plan *c, double *ms)
{
    const uint32_t *groups = mts_arena_zero(&c->of.p->arena, c->of.count, sizeof *groups);
    if (!groups) {
        return mts_planning_memory(c->of.p);
    }
    const mts_status status = mts_class_calibrate(&c->of);
    *ms = status == MTS_STATUS_OK ? mts_class_predict(&c->of, groups, 1) : 0.0;
    return mts_sample_is_recoverable(status) ? MTS_STATUS_OK : status;
}

/* `predicted`: milliseconds of what was decided; 0: unknown. */
static mts_status group_class(mts_planning *p, uint32_t number, uint64_t until, double *predicted)
{
    class_plan c = {.penalty = 0.0};
    benchmark b = {.c = &c};
    mts_status status = mts_class_open(&c.of, p, number, CANDIDATES);
    c.of.until = until;
    p->fraction = 0.1f + 0.7f * (float)number / (float)p->class_count;
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (c.of.count == 1 && p->class_count > 1 && !mts_memory_budget_is_limited(p->options.memory_budget)) {
        return measure_one_group(&c, predicted);
    }
    status = mts_class_calibrate(&c.of);
    if (mts_sample_is_recoverable(status)) {
        return MTS_STATUS_OK; /* not even single tasks run: creating the session will fail with the cause */
    }
    MTS_TRY(status, run_all(&c, &b));
    MTS_TRY(status, keep_best(&c, &b));
    *predicted = b.best ? b.best->plan.predicted_ms : 0.0;
    mts_engine_destroy(&b.engine);
    if (b.best_engine) {
        mts_engine_destroy(&p->previous);
        p->previous = b.best_engine;
    }
    return status;
}

/* ---- the final comparison ---- */

/* The session that is created without measuring, and the decision. */
typedef struct final {
    mts_sample_request usual, decided;
    mts_session_stats usual_stats, decided_stats;
    double usual_ms, decided_ms;
} final;

/* An A/B benchmark, twice, because a wrong result costs every frame. */
static mts_status compare_final(mts_planning *p, final *f)
{
    mts_engine *usual = NULL;
    mts_engine *decided = NULL;
    mts_status status = mts_sample_create(p, &f->usual, &usual);
    MTS_TRY(status, mts_sample_create(p, &f->decided, &decided));
    for (int i = 0; status == MTS_STATUS_OK && i < 2; i++) {
        double ms[2] = {0.0, 0.0};
        status = mts_sample_compare(p, usual, decided, &ms[0], &ms[1]);
        f->usual_ms = i == 0 || ms[0] < f->usual_ms ? ms[0] : f->usual_ms;
        f->decided_ms = i == 0 || ms[1] < f->decided_ms ? ms[1] : f->decided_ms;
    }
    mts_engine_destroy(&usual);
    mts_engine_destroy(&decided);
    return status;
}

/* Replaces the decision by what would be without measuring. Its predicted latency is the
   measured one. */
static void use_usual(mts_planning *p, const final *f)
{
    for (uint32_t i = 0; i < p->report.plan_count; i++) {
        mts_considered_plan *plan = &p->report.plans[i];
        if (plan->verdict == MTS_VERDICT_CHOSEN) {
            plan->verdict = MTS_VERDICT_SLOWER;
            plan->relative = f->decided_ms / f->usual_ms;
        }
    }
    memcpy(p->group_of, p->class_of, p->task_count * sizeof *p->group_of);
    p->decision.slice_bytes = f->usual.slice_bytes;
    p->report.predicted_ms = f->usual_ms;
}

/*
 * A plan that was selected on a disturbed machine may be there by chance: it has to be
 * better than the session that is created without measuring, where that keeps the budget.
 */
static mts_status final_comparison(mts_planning *p)
{
    final f = {.usual = {.group_of = p->class_of,
                         .slice_bytes = p->usual_slice_bytes,
                         .configs = p->decision.configs},
               .decided = {.group_of = p->group_of,
                           .slice_bytes = p->decision.slice_bytes,
                           .configs = p->decision.configs}};
    if (p->decision.slice_bytes == f.usual.slice_bytes &&
        memcmp(p->group_of, p->class_of, p->task_count * sizeof *p->group_of) == 0) {
        return MTS_STATUS_OK;
    }
    mts_status status = mts_sample_footprint(p, &f.usual, &f.usual_stats);
    MTS_TRY(status, mts_sample_footprint(p, &f.decided, &f.decided_stats));
    if (status == MTS_STATUS_OK &&
        !mts_memory_budget_fits(p->options.memory_budget, f.usual_stats.peak_bytes)) {
        return MTS_STATUS_OK;
    }
    MTS_TRY(status, compare_final(p, &f));
    if (status != MTS_STATUS_OK || f.usual_ms <= 0.0 || f.decided_ms <= 0.0) {
        return mts_sample_is_recoverable(status) ? MTS_STATUS_OK : status;
    }
    const bool better =
        mts_sample_is_better(f.decided_ms / f.usual_ms, f.decided_stats.peak_bytes, f.usual_stats.peak_bytes);
    const mts_considered_plan plan = {.what = "as without measuring",
                                      .of_class = MTS_CONSIDERED_SESSION,
                                      .groups = f.usual_stats.groups,
                                      .verdict = better ? MTS_VERDICT_SLOWER : MTS_VERDICT_CHOSEN,
                                      .slice_bytes = f.usual.slice_bytes,
                                      .peak = f.usual_stats.peak_bytes,
                                      .measured_ms = f.usual_ms,
                                      .relative = better ? f.usual_ms / f.decided_ms : 1.0};
    if (!better) {
        use_usual(p, &f);
    }
    return mts_planning_add_plan(p, &plan);
}

mts_status mts_grouping_measure(mts_planning *p)
{
    const uint64_t until = mts_os_clock_ns() + GROUPING_NS;
    bool known = true;
    double sum = 0.0;
    mts_status status = mts_memory_use_least(p);
    for (uint32_t number = 0; status == MTS_STATUS_OK && number < p->class_count; number++) {
        double ms = 0.0;
        status = group_class(p, number, until, &ms);
        known = known && ms > 0.0;
        sum += ms;
    }
    p->report.predicted_ms = known ? sum : 0.0;
    MTS_TRY(status, mts_slicing_measure(p));
    MTS_TRY(status, final_comparison(p));
    return status;
}
