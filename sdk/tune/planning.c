/*
 * planning.c: classes of tasks, what was found, and the memory budget: everything of a decision that is not
 * about groups (grouping.c) or kernels (kernels.c).
 */
#include "tune/planning.h"

#include <stdio.h>
#include <string.h>

/* Slices are halved this often before the smallest are tried: one task at a time. */
enum { SLICE_STEPS = 7, SLICE_MOST = SLICE_STEPS + 2 };

#define SLICE_SMALLEST UINT64_C(1)
#define SLICE_FIRST (UINT64_C(8) << 20) /* where the device has no default */

mts_status mts_planning_memory(const mts_planning *p)
{
    return mts_fail_memory(p->error);
}

mts_status mts_planning_report_progress(mts_planning *p, float fraction, const char *what)
{
    const mts_engine_options *o = &p->options;
    p->reported = fraction > p->reported ? fraction : p->reported;
    if (o->progress && o->progress(o->context, p->reported, what) != 0) {
        return mts_fail(p->error, MTS_STATUS_CANCELLED, "cancelled while planning the session (%s)", what);
    }
    return MTS_STATUS_OK;
}

mts_status mts_planning_add_plan(mts_planning *p, const mts_considered_plan *plan)
{
    if (!mts_alloc_grow(p->allocator, (void **)&p->report.plans, &p->plan_capacity,
                        (size_t)p->report.plan_count + 1, sizeof *plan)) {
        return mts_planning_memory(p);
    }
    p->report.plans[p->report.plan_count++] = *plan;
    return MTS_STATUS_OK;
}

mts_status mts_planning_add_sample(mts_planning *p, const mts_planning_sample *sample)
{
    if (!mts_alloc_grow(p->allocator, (void **)&p->report.samples, &p->sample_capacity,
                        (size_t)p->report.sample_count + 1, sizeof *sample)) {
        return mts_planning_memory(p);
    }
    p->report.samples[p->report.sample_count++] = *sample;
    return MTS_STATUS_OK;
}

/* ---- classes ---- */

/* The class that comes next: highest priority, then first task. MTS_NONE: all tasks have one. */
static uint32_t next_leader(const mts_planning *p)
{
    uint32_t leader = MTS_NONE;
    for (uint32_t t = 0; t < p->task_count; t++) {
        if (p->class_of[t] == MTS_NONE && (leader == MTS_NONE || p->priorities[t] > p->priorities[leader])) {
            leader = t;
        }
    }
    return leader;
}

mts_status mts_planning_classes(mts_planning *p)
{
    uint32_t families = 0;
    uint32_t *family_of = mts_arena_zero(&p->arena, p->task_count, sizeof *family_of);
    mts_status code = family_of ? MTS_STATUS_OK : mts_planning_memory(p);
    MTS_TRY(code, mts_graph_families(p->graphs, p->task_count, p->allocator, family_of, &families, p->error));
    if (code != MTS_STATUS_OK) {
        return code;
    }
    const bool alone = p->options.strategy == MTS_STRATEGY_SEQUENTIAL;
    for (uint32_t t = 0; t < p->task_count; t++) {
        p->class_of[t] = MTS_NONE;
    }
    p->class_count = 0;
    for (uint32_t leader = next_leader(p); leader != MTS_NONE; leader = next_leader(p), p->class_count++) {
        for (uint32_t t = leader; t < p->task_count; t++) {
            if (p->class_of[t] == MTS_NONE && family_of[t] == family_of[leader] &&
                p->priorities[t] == p->priorities[leader] && (t == leader || !alone)) {
                p->class_of[t] = p->group_of[t] = p->class_count;
            }
        }
    }
    return MTS_STATUS_OK;
}

/* ---- memory ---- */

/* Sizes of slices worth trying, largest first; returns how many. Only stitched layers have slices. */
static int slice_sizes(const mts_planning *p, uint64_t sizes[SLICE_MOST])
{
    const uint64_t usual = mts_kernel_config_slice_bytes(&p->device->info);
    int count = 0;
    sizes[count++] = p->decision.slice_bytes;
    for (uint64_t size = (usual > 0 ? usual : SLICE_FIRST) / 2;
         p->options.strategy == MTS_STRATEGY_COMPACT && count <= SLICE_STEPS; size /= 2) {
        sizes[count++] = size;
    }
    if (p->options.strategy == MTS_STRATEGY_COMPACT) {
        sizes[count++] = SLICE_SMALLEST;
    }
    return count;
}

static mts_status weigh(mts_planning *p, const uint32_t *group_of, uint64_t slice_bytes,
                        const mts_kernel_configs *choices, mts_engine_stats *stats)
{
    const mts_sample_request request = {.group_of = group_of, .slice_bytes = slice_bytes, .choices = choices};
    return mts_sample_footprint(p, &request, stats);
}

mts_status mts_planning_weigh(mts_planning *p, const uint32_t *group_of, uint64_t *slice_bytes,
                              uint64_t *peak)
{
    uint64_t sizes[SLICE_MOST];
    const int count = slice_sizes(p, sizes);
    mts_status code = MTS_STATUS_OK;
    for (int i = 0; code == MTS_STATUS_OK && i < count; i++) {
        mts_engine_stats stats = {0};
        code = weigh(p, group_of, sizes[i], p->decision.choices, &stats);
        *slice_bytes = sizes[i];
        *peak = stats.peak_bytes;
        if (mts_memory_budget_fits(p->options.memory_budget, stats.peak_bytes)) {
            break;
        }
    }
    return code;
}

static mts_status over_budget(const mts_planning *p, uint64_t smallest)
{
    return mts_fail(p->error, MTS_STATUS_LIMIT,
                    "no plan keeps the memory budget of %llu bytes; the smallest that can be met is %llu",
                    (unsigned long long)p->options.memory_budget.bytes, (unsigned long long)smallest);
}

/* What is weighed in any case, so that a budget of the smallest of them can be met, whatever is measured. */
typedef struct smallest {
    uint64_t peak, slice_bytes;
    const uint32_t *group_of;
} smallest;

static mts_status consider(mts_planning *p, const uint32_t *group_of, uint64_t slice_bytes, smallest *least)
{
    mts_engine_stats stats = {0};
    const mts_status code = weigh(p, group_of, slice_bytes, NULL, &stats);
    if (code != MTS_STATUS_OK) {
        return mts_sample_is_recoverable(code) && least->group_of ? MTS_STATUS_OK : code;
    }
    if (!least->group_of || stats.peak_bytes < least->peak) {
        *least = (smallest){.peak = stats.peak_bytes, .slice_bytes = slice_bytes, .group_of = group_of};
        p->fixed_bytes =
            p->options.strategy == MTS_STRATEGY_COMPACT ? stats.weight_bytes + stats.workspace_bytes : 0;
    }
    return MTS_STATUS_OK;
}

/* Every task in a group of its own, in the order of the classes. */
static uint32_t *each_alone(mts_planning *p)
{
    uint32_t *group_of = mts_arena_zero(&p->arena, p->task_count, sizeof *group_of);
    uint32_t next = 0;
    for (uint32_t number = 0; group_of && number < p->class_count; number++) {
        for (uint32_t t = 0; t < p->task_count; t++) {
            if (p->class_of[t] == number) {
                group_of[t] = next++;
            }
        }
    }
    return group_of;
}

mts_status mts_planning_least(mts_planning *p)
{
    smallest least = {0};
    if (!mts_memory_budget_is_limited(p->options.memory_budget) || p->least_groups) {
        return MTS_STATUS_OK;
    }
    uint32_t *whole = mts_arena_zero(&p->arena, p->task_count, sizeof *whole);
    const uint32_t *alone = each_alone(p);
    if (!whole || !alone) {
        return mts_planning_memory(p);
    }
    memcpy(whole, p->class_of, p->task_count * sizeof *whole);
    mts_status code = consider(p, alone, p->decision.slice_bytes, &least);
    MTS_TRY(code, consider(p, alone, SLICE_SMALLEST, &least));
    MTS_TRY(code, consider(p, whole, p->decision.slice_bytes, &least));
    MTS_TRY(code, consider(p, whole, SLICE_SMALLEST, &least));
    if (code != MTS_STATUS_OK) {
        return code;
    }
    if (!mts_memory_budget_fits(p->options.memory_budget, least.peak)) {
        return over_budget(p, least.peak);
    }
    p->least_groups = least.group_of;
    p->least_slice_bytes = least.slice_bytes;
    return MTS_STATUS_OK;
}

/* The slices stay: what is measured next is measured with those that are usual. */
mts_status mts_planning_smallest(mts_planning *p)
{
    mts_engine_stats stats = {0};
    mts_status code = mts_planning_least(p);
    if (code != MTS_STATUS_OK || !mts_memory_budget_is_limited(p->options.memory_budget)) {
        return code;
    }
    memcpy(p->group_of, p->least_groups, p->task_count * sizeof *p->group_of);
    code = weigh(p, p->group_of, p->least_slice_bytes, p->decision.choices, &stats);
    if (code == MTS_STATUS_OK && !mts_memory_budget_fits(p->options.memory_budget, stats.peak_bytes)) {
        p->decision.choices = NULL; /* smaller tiles need larger tables */
    }
    return code;
}

/* The largest slices that keep the budget. *least: smallest peak that was weighed, if none does. */
static mts_status fit_slices(mts_planning *p, const mts_kernel_configs *choices, bool *fits, uint64_t *least)
{
    uint64_t sizes[SLICE_MOST];
    const int count = slice_sizes(p, sizes);
    *fits = false;
    *least = UINT64_MAX;
    for (int i = 0; i < count; i++) {
        mts_engine_stats stats = {0};
        const mts_status code = weigh(p, p->group_of, sizes[i], choices, &stats);
        if (code != MTS_STATUS_OK) {
            return code;
        }
        *least = stats.peak_bytes < *least ? stats.peak_bytes : *least;
        if (mts_memory_budget_fits(p->options.memory_budget, stats.peak_bytes)) {
            p->decision.slice_bytes = sizes[i];
            p->decision.choices = choices;
            *fits = true;
            return MTS_STATUS_OK;
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_planning_fit(mts_planning *p)
{
    bool fits = !mts_memory_budget_is_limited(p->options.memory_budget);
    uint64_t least = 0;
    mts_status code = MTS_STATUS_OK;
    if (!fits && p->decision.choices) {
        code = fit_slices(p, p->decision.choices, &fits, &least);
    }
    if (code == MTS_STATUS_OK && !fits) {
        code = fit_slices(p, NULL, &fits, &least);
    }
    if (code != MTS_STATUS_OK || fits) {
        return code;
    }
    if (!p->least_groups) {
        return over_budget(p, least);
    }
    memcpy(p->group_of, p->least_groups, p->task_count * sizeof *p->group_of);
    p->decision.slice_bytes = p->least_slice_bytes;
    p->decision.choices = NULL;
    return MTS_STATUS_OK;
}

/* ---- slices ---- */

/* A size of slices while it is raced. */
typedef struct entry {
    mts_considered_plan plan;
    mts_engine_stats stats;
} entry;

static void name_slices(const mts_planning *p, entry *e)
{
    const uint64_t bytes = e->plan.slice_bytes;
    e->plan.groups = e->stats.groups;
    e->plan.peak = e->stats.peak_bytes;
    e->plan.of_class = MTS_CONSIDERED_SESSION;
    e->plan.verdict = mts_memory_budget_fits(p->options.memory_budget, e->stats.peak_bytes)
                          ? MTS_VERDICT_PREDICTED
                          : MTS_VERDICT_OVER_BUDGET;
    if (bytes == 0) {
        (void)snprintf(e->plan.what, sizeof e->plan.what, "whole layers");
    } else {
        (void)snprintf(e->plan.what, sizeof e->plan.what, "slices of %.2f MiB", (double)bytes / 1048576.0);
    }
}

static mts_status make_entry(mts_planning *p, const entry *e, mts_engine **out)
{
    const mts_sample_request request = {
        .group_of = p->group_of, .slice_bytes = e->plan.slice_bytes, .choices = p->decision.choices};
    return mts_sample_create(p, &request, out);
}

/* Runs `x` against the leader; takes its place if it is faster, or as fast and smaller. */
static mts_status challenge(mts_planning *p, entry *entries, int count, int x, int *leader,
                            mts_engine **champion)
{
    mts_engine *challenger = NULL;
    double leader_ms = 0.0;
    mts_considered_plan *f = &entries[x].plan;
    mts_status code = make_entry(p, &entries[x], &challenger);
    MTS_TRY(code, mts_sample_compare(p, *champion, challenger, &leader_ms, &f->measured_ms));
    if (code == MTS_STATUS_OK) {
        f->verdict = MTS_VERDICT_SLOWER;
        f->relative = leader_ms > 0.0 ? f->measured_ms / leader_ms : 1.0;
        if (mts_sample_is_better(f->relative, f->peak, entries[*leader].plan.peak)) {
            const double ratio = f->relative;
            for (int i = 0; i < count; i++) {
                entries[i].plan.relative /= ratio;
            }
            mts_engine *old = *champion;
            *champion = challenger;
            challenger = old;
            *leader = x;
        }
        entries[*leader].plan.measured_ms =
            *leader == x ? f->measured_ms : leader_ms; /* as it was beside the last challenger */
    } else if (mts_sample_is_recoverable(code)) {
        f->verdict = MTS_VERDICT_FAILED;
        code = MTS_STATUS_OK;
    }
    mts_engine_destroy(&challenger);
    return code;
}

static bool same_launches(const entry *entries, int count, const entry *x)
{
    for (int i = 0; i < count; i++) {
        if (entries[i].stats.launches == x->stats.launches &&
            entries[i].stats.peak_bytes == x->stats.peak_bytes) {
            return true;
        }
    }
    return false;
}

static mts_status collect(mts_planning *p, entry entries[SLICE_MOST], int *count)
{
    const uint64_t usual = mts_kernel_config_slice_bytes(&p->device->info);
    const uint64_t base = usual > 0 ? usual : SLICE_FIRST;
    const uint64_t sizes[] = {p->decision.slice_bytes, usual, 0, base / 2, base / 4, base * 2};
    *count = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        entry e = {.plan = {.slice_bytes = sizes[i]}};
        const mts_status code = weigh(p, p->group_of, sizes[i], p->decision.choices, &e.stats);
        if (code != MTS_STATUS_OK && !mts_sample_is_recoverable(code)) {
            return code;
        }
        if (code == MTS_STATUS_OK && *count < SLICE_MOST && !same_launches(entries, *count, &e)) {
            name_slices(p, &e);
            entries[(*count)++] = e;
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_planning_slice(mts_planning *p)
{
    entry entries[SLICE_MOST];
    int count = 0;
    int leader = 0;
    mts_engine *champion = NULL;
    if (p->options.strategy != MTS_STRATEGY_COMPACT) {
        return MTS_STATUS_OK;
    }
    p->fraction = 0.85f;
    mts_status code = mts_planning_fit(p); /* what is raced first keeps the budget */
    MTS_TRY(code, collect(p, entries, &count));
    if (code != MTS_STATUS_OK || count < 2) {
        return code;
    }
    code = make_entry(p, &entries[0], &champion);
    entries[0].plan.relative = 1.0;
    for (int i = 1; code == MTS_STATUS_OK && i < count; i++) {
        if (entries[i].plan.verdict != MTS_VERDICT_OVER_BUDGET) {
            code = challenge(p, entries, count, i, &leader, &champion);
        }
    }
    mts_engine_destroy(&champion);
    if (mts_sample_is_recoverable(code)) {
        return MTS_STATUS_OK; /* the device has no room for two: what was decided stays */
    }
    entries[0].plan.verdict = MTS_VERDICT_SLOWER;
    entries[leader].plan.verdict = MTS_VERDICT_CHOSEN;
    entries[leader].plan.relative = 1.0;
    p->decision.slice_bytes = entries[leader].plan.slice_bytes;
    for (int i = 0; code == MTS_STATUS_OK && i < count; i++) {
        code = mts_planning_add_plan(p, &entries[i].plan);
    }
    return code;
}
