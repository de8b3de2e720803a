/*
 * grouping.c: groups by measured latency: lets plan/group.c find the plans that the model of a class
 * (grouping_model.c) likes best, and runs those against each other before one wins.
 *
 * Tasks that can be stitched and have one priority are a class; classes are planned one after another. What a
 * plan takes is never modelled: every plan that may win is weighed, together with what the other classes
 * have.
 */
#include "tune/grouping.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "platform/os/os.h"

enum { CANDIDATES = 24, RACERS = 7, RETRIES = 4, PASSES = 2, COSTS_A_REPORT = 1024 };

#define HOPELESS 1.4 /* predicted latency relative to the best prediction: not worth a race */

/* All classes together: then what is decided so far is kept. Slow devices and first builds of kernels need
   most of it, others some seconds. */
#define GROUPING_NS UINT64_C(60000000000)

/* Groups of a class that may win. */
typedef struct candidate {
    mts_considered_plan plan;
    uint32_t *groups; /* per task of the class */
    bool raced, fits;
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
               ? mts_planning_report_progress(c->of.p, c->of.p->fraction, "searching for groups")
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

/* In a class of one structure only the sizes of groups matter: largest first, each of neighbouring tasks. */
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

/* Adds a plan of the class unless it is there; weighs it, with smaller slices where it is over the budget. */
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
    mts_status code = mts_planning_weigh(p, all, &added->plan.slice_bytes, &added->plan.peak);
    added->fits = mts_memory_budget_fits(p->options.memory_budget, added->plan.peak);
    if (!added->fits) {
        added->plan.verdict = MTS_VERDICT_OVER_BUDGET;
    }
    if (mts_sample_is_recoverable(code)) {
        added->fits = false;
        added->plan.verdict = MTS_VERDICT_FAILED;
        code = MTS_STATUS_OK;
    }
    c->candidate_count++;
    return code;
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
    mts_status code = groups ? MTS_STATUS_OK : mts_planning_memory(p);
    c->penalty = penalty;
    for (int attempt = 0; code == MTS_STATUS_OK && attempt < RETRIES && mts_class_in_time(&c->of);
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
        code = mts_group_plan(&request, &result, p->error);
        if (code == MTS_STATUS_LIMIT) { /* by the model; the smallest plan was weighed before */
            code = MTS_STATUS_OK;
            break;
        }
        MTS_TRY(code, add_named(c, groups, result.group_count));
        if (code != MTS_STATUS_OK || c->candidate_count == before || c->candidates[before].fits) {
            break;
        }
        const uint64_t excess = c->candidates[before].plan.peak - p->options.memory_budget.bytes;
        budget.bytes = budget.bytes > excess ? budget.bytes - excess : 1;
    }
    c->penalty = 0.0;
    return code;
}

static mts_status add_candidates(class_plan *c)
{
    static const double shares[] = {0.0, 0.02, -0.02, 0.06, -0.06, 0.2, -0.2};
    const uint32_t first = 0;
    mts_group_cost alone;
    mts_status code = MTS_STATUS_OK;
    mts_class_cost(&c->of, &first, 1, &alone);
    for (size_t i = 0; code == MTS_STATUS_OK && i < sizeof shares / sizeof shares[0]; i++) {
        code = add_planned(c, shares[i] * alone.latency);
    }
    MTS_TRY(code, add_dealt(c, 1));
    code = code != MTS_STATUS_OK || c->of.count < 4 ? code : add_dealt(c, 2);
    code = code != MTS_STATUS_OK || c->of.count < 8 ? code : add_dealt(c, 4);
    return code != MTS_STATUS_OK ? code : add_dealt(c, c->of.count);
}

/* ---- the race ---- */

typedef struct race {
    class_plan *c;
    mts_engine *champion, *challenger;
    candidate *leader;
    uint32_t raced;
} race;

static mts_status enter(race *r, candidate *x)
{
    class_plan *c = r->c;
    mts_planning *p = c->of.p;
    const mts_sample_request request = {.positions = c->of.tasks,
                                        .count = c->of.count,
                                        .group_of = x->groups,
                                        .slice_bytes = x->plan.slice_bytes,
                                        .choices = p->decision.choices};
    x->raced = true;
    mts_status code = mts_sample_create(p, &request, &r->challenger);
    if (code == MTS_STATUS_OK && !r->leader) {
        code = mts_sample_time(p, r->challenger, &x->plan.measured_ms);
    } else if (code == MTS_STATUS_OK) {
        double leader_ms = 0.0;
        code = mts_sample_compare(p, r->champion, r->challenger, &leader_ms, &x->plan.measured_ms);
        x->plan.relative =
            leader_ms > 0.0 && x->plan.measured_ms > 0.0 ? x->plan.measured_ms / leader_ms : 1.0;
    }
    if (mts_sample_is_recoverable(code)) {
        x->plan.verdict = MTS_VERDICT_FAILED;
        x->plan.measured_ms = 0.0;
        x->fits = false;
        mts_engine_destroy(&r->challenger);
        return MTS_STATUS_OK;
    }
    x->plan.verdict = MTS_VERDICT_SLOWER;
    r->raced++;
    return code;
}

/* The challenger has run: it takes the lead, or leaves. */
static void settle(race *r, candidate *x)
{
    class_plan *c = r->c;
    if (!r->challenger) {
        return;
    }
    if (!r->leader || mts_sample_is_better(x->plan.relative, x->plan.peak, r->leader->plan.peak)) {
        for (uint32_t i = 0; r->leader && i < c->candidate_count; i++) {
            c->candidates[i].plan.relative /= x->plan.relative;
        }
        mts_engine_destroy(&c->of.p->previous);
        c->of.p->previous = r->champion;
        r->champion = r->challenger;
        r->leader = x;
        x->plan.relative = 1.0;
    } else {
        mts_engine_destroy(&c->of.p->previous);
        c->of.p->previous = r->challenger;
    }
    r->challenger = NULL;
}

/* The candidate that has not run and is expected to be fastest; NULL: none is worth it. */
static candidate *next_racer(class_plan *c, const race *r)
{
    candidate *best = NULL;
    double least = INFINITY;
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        candidate *x = &c->candidates[i];
        least = x->fits && x->plan.predicted_ms < least ? x->plan.predicted_ms : least;
        if (x->fits && !x->raced && (!best || x->plan.predicted_ms < best->plan.predicted_ms)) {
            best = x;
        }
    }
    return best && r->leader && best->plan.predicted_ms > HOPELESS * least ? NULL : best;
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

static mts_status race_candidates(class_plan *c, race *r, uint32_t most)
{
    mts_status code = MTS_STATUS_OK;
    for (candidate *x = next_racer(c, r); x && r->raced < most && mts_class_in_time(&c->of);
         x = next_racer(c, r)) {
        code = enter(r, x);
        if (code != MTS_STATUS_OK) {
            return code;
        }
        settle(r, x);
    }
    return code;
}

/* What the first races taught the model may bring up better plans. */
static mts_status race_all(class_plan *c, race *r)
{
    mts_status code = add_candidates(c);
    MTS_TRY(code, race_candidates(c, r, RACERS));
    for (int pass = 1; code == MTS_STATUS_OK && pass < PASSES && !c->of.uniform && c->of.count > 2; pass++) {
        learn(c);
        code = add_planned(c, 0.0);
        MTS_TRY(code, race_candidates(c, r, RACERS + 2 * (uint32_t)pass));
    }
    return code;
}

static mts_status keep_winner(class_plan *c, race *r)
{
    mts_planning *p = c->of.p;
    mts_status code = MTS_STATUS_OK;
    for (uint32_t i = 0; code == MTS_STATUS_OK && i < c->candidate_count; i++) {
        candidate *x = &c->candidates[i];
        x->plan.verdict = x == r->leader ? (uint32_t)MTS_VERDICT_CHOSEN : x->plan.verdict;
        code = mts_planning_add_plan(p, &x->plan);
    }
    if (code != MTS_STATUS_OK || !r->leader) {
        return code; /* none fits: what was decided before stays, which keeps the budget */
    }
    const uint32_t *all = assemble(c, r->leader->groups);
    if (!all) {
        return mts_planning_memory(p);
    }
    memcpy(p->group_of, all, p->task_count * sizeof *all);
    p->decision.slice_bytes = r->leader->plan.slice_bytes;
    p->report.model_error = fmax(p->report.model_error, c->of.model.error);
    return MTS_STATUS_OK;
}

/* ---- classes ---- */

/* What the tasks of the class take as one group, which is how they are: milliseconds. */
static mts_status measure_one_group(class_plan *c, double *ms)
{
    const uint32_t *groups = mts_arena_zero(&c->of.p->arena, c->of.count, sizeof *groups);
    if (!groups) {
        return mts_planning_memory(c->of.p);
    }
    const mts_status code = mts_class_calibrate(&c->of);
    *ms = code == MTS_STATUS_OK ? mts_class_predict(&c->of, groups, 1) : 0.0;
    return mts_sample_is_recoverable(code) ? MTS_STATUS_OK : code;
}

/* `predicted`: milliseconds of what was decided; 0: unknown. */
static mts_status group_class(mts_planning *p, uint32_t number, uint64_t until, double *predicted)
{
    class_plan c = {.penalty = 0.0};
    race r = {.c = &c};
    mts_status code = mts_class_open(&c.of, p, number, CANDIDATES);
    c.of.until = until;
    p->fraction = 0.1f + 0.7f * (float)number / (float)p->class_count;
    if (code != MTS_STATUS_OK) {
        return code;
    }
    if (c.of.count == 1 && p->class_count > 1 && !mts_memory_budget_is_limited(p->options.memory_budget)) {
        return measure_one_group(&c, predicted);
    }
    code = mts_class_calibrate(&c.of);
    if (mts_sample_is_recoverable(code)) {
        return MTS_STATUS_OK; /* not even single tasks run: the session itself will say what is wrong */
    }
    MTS_TRY(code, race_all(&c, &r));
    MTS_TRY(code, keep_winner(&c, &r));
    *predicted = r.leader != NULL ? r.leader->plan.predicted_ms : 0.0;
    mts_engine_destroy(&r.challenger);
    if (r.champion) {
        mts_engine_destroy(&p->previous);
        p->previous = r.champion;
    }
    return code;
}

/* ---- the last word ---- */

/* Both decisions as engines, run in turns; twice, because a wrong last word costs every frame. */
static mts_status race_usual(mts_planning *p, const mts_sample_request *usual, double *usual_ms,
                             double *decided_ms)
{
    const mts_sample_request decided = {
        .group_of = p->group_of, .slice_bytes = p->decision.slice_bytes, .choices = p->decision.choices};
    mts_engine *a = NULL;
    mts_engine *b = NULL;
    mts_status code = mts_sample_create(p, usual, &a);
    MTS_TRY(code, mts_sample_create(p, &decided, &b));
    for (int i = 0; code == MTS_STATUS_OK && i < 2; i++) {
        double ms[2] = {0.0, 0.0};
        code = mts_sample_compare(p, a, b, &ms[0], &ms[1]);
        *usual_ms = i == 0 || ms[0] < *usual_ms ? ms[0] : *usual_ms;
        *decided_ms = i == 0 || ms[1] < *decided_ms ? ms[1] : *decided_ms;
    }
    mts_engine_destroy(&a);
    mts_engine_destroy(&b);
    return code;
}

/* The decision goes back to what would have been without measuring; nothing that won is better. It takes what
   it just took. */
static void take_usual(mts_planning *p, uint64_t slice_bytes, double usual_ms, double relative)
{
    for (uint32_t i = 0; i < p->report.plan_count; i++) {
        mts_considered_plan *f = &p->report.plans[i];
        if (f->verdict == MTS_VERDICT_CHOSEN) {
            f->verdict = MTS_VERDICT_SLOWER;
            f->relative = relative;
        }
    }
    memcpy(p->group_of, p->class_of, p->task_count * sizeof *p->group_of);
    p->decision.slice_bytes = slice_bytes;
    p->report.predicted_ms = usual_ms;
}

/*
 * What won many races on a disturbed machine may have won by chance: it has to beat the session that is made
 * without measuring, where that keeps the budget.
 */
static mts_status judge(mts_planning *p)
{
    const uint64_t slice_bytes = mts_kernel_config_slice_bytes(&p->device->info);
    const mts_sample_request usual = {
        .group_of = p->class_of, .slice_bytes = slice_bytes, .choices = p->decision.choices};
    const mts_sample_request decided = {
        .group_of = p->group_of, .slice_bytes = p->decision.slice_bytes, .choices = p->decision.choices};
    mts_engine_stats stats[2] = {{0}, {0}};
    double usual_ms = 0.0;
    double decided_ms = 0.0;
    if (p->decision.slice_bytes == slice_bytes &&
        memcmp(p->group_of, p->class_of, p->task_count * sizeof *p->group_of) == 0) {
        return MTS_STATUS_OK;
    }
    mts_status code = mts_sample_footprint(p, &usual, &stats[0]);
    MTS_TRY(code, mts_sample_footprint(p, &decided, &stats[1]));
    if (code == MTS_STATUS_OK && !mts_memory_budget_fits(p->options.memory_budget, stats[0].peak_bytes)) {
        return MTS_STATUS_OK;
    }
    MTS_TRY(code, race_usual(p, &usual, &usual_ms, &decided_ms));
    if (code != MTS_STATUS_OK || usual_ms <= 0.0 || decided_ms <= 0.0) {
        return mts_sample_is_recoverable(code) ? MTS_STATUS_OK : code;
    }
    const bool wins = mts_sample_is_better(decided_ms / usual_ms, stats[1].peak_bytes, stats[0].peak_bytes);
    const mts_considered_plan plan = {.what = "as without measuring",
                                      .of_class = MTS_CONSIDERED_SESSION,
                                      .groups = stats[0].groups,
                                      .verdict = wins ? MTS_VERDICT_SLOWER : MTS_VERDICT_CHOSEN,
                                      .slice_bytes = slice_bytes,
                                      .peak = stats[0].peak_bytes,
                                      .measured_ms = usual_ms,
                                      .relative = wins ? usual_ms / decided_ms : 1.0};
    if (!wins) {
        take_usual(p, slice_bytes, usual_ms, decided_ms / usual_ms);
    }
    return mts_planning_add_plan(p, &plan);
}

mts_status mts_planning_group(mts_planning *p)
{
    const uint64_t until = mts_os_clock_ns() + GROUPING_NS;
    bool known = true;
    double sum = 0.0;
    mts_status code = mts_planning_smallest(p);
    for (uint32_t number = 0; code == MTS_STATUS_OK && number < p->class_count; number++) {
        double ms = 0.0;
        code = group_class(p, number, until, &ms);
        known = known && ms > 0.0;
        sum += ms;
    }
    p->report.predicted_ms = known ? sum : 0.0;
    MTS_TRY(code, mts_planning_slice(p));
    return code != MTS_STATUS_OK ? code : judge(p);
}
