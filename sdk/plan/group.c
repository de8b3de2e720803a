/*
 * group.c: the three branches of Algorithm 1 over one kind of partial plan.
 */
#include "plan/group.h"

#include <stdlib.h>

#include "base/size.h"

/* A plan of a part of the tasks: its last group, and the partial plan before it. */
typedef struct partial {
    double latency;
    uint64_t weights, arena;
    uint32_t state, index; /* partial plan before the last group: states[state].plans[index] */
    uint32_t last;         /* last group: its size (uniform) or its set of tasks */
} partial;

/* Partial plans of one state, none at least as bad as another in everything. */
typedef struct front {
    partial *plans;
    size_t count, capacity;
} front;

typedef struct grouper {
    const mts_group_request *request;
    mts_group_result *out;
    front *states;
    uint32_t state_count;
    bool weights; /* groups have weights of their own: plans trade memory for latency */
    bool least;   /* looks for the plan of least memory, whatever its latency and the budget */
    mts_error *error;
} grouper;

static uint64_t peak_of(const grouper *g, const partial *plan)
{
    return g->request->fixed_bytes + plan->weights + plan->arena;
}

/* More groups only add to a partial plan's peak. */
static bool is_over(const grouper *g, const partial *plan)
{
    return !g->least && !mts_memory_budget_fits(g->request->budget, peak_of(g, plan));
}

/* Where groups have no weights, an arena either fits or does not: the fastest of those
   that fit is kept. */
static bool as_good(const grouper *g, const partial *a, const partial *b)
{
    const bool memory = g->least || (mts_memory_budget_is_limited(g->request->budget) && g->weights);
    return (g->least || a->latency <= b->latency) &&
           (!memory || (a->weights <= b->weights && a->arena <= b->arena));
}

static mts_status no_memory(const grouper *g)
{
    return mts_fail(g->error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory to group %u tasks",
                    g->request->task_count);
}

static mts_status keep(grouper *g, uint32_t state, const partial *plan)
{
    front *f = &g->states[state];
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (as_good(g, &f->plans[i], plan)) {
            return MTS_STATUS_OK;
        }
    }
    for (size_t i = 0; i < f->count; i++) {
        if (!as_good(g, plan, &f->plans[i])) {
            f->plans[kept++] = f->plans[i];
        }
    }
    f->count = kept;
    if (!mts_alloc_grow(g->request->allocator, (void **)&f->plans, &f->capacity, kept + 1,
                        sizeof *f->plans)) {
        return no_memory(g);
    }
    f->plans[f->count++] = *plan;
    return MTS_STATUS_OK;
}

/* Every partial plan of `from`, followed by a group of this cost, is a partial plan of
   `to`. */
static mts_status extend(grouper *g, uint32_t from, uint32_t to, uint32_t last, const mts_group_cost *cost)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < g->states[from].count; i++) {
        const partial *before = &g->states[from].plans[i];
        const partial plan = {.latency = before->latency + cost->latency,
                              .weights = before->weights + cost->weights,
                              .arena = before->arena > cost->arena ? before->arena : cost->arena,
                              .state = from,
                              .index = i,
                              .last = last};
        status = is_over(g, &plan) ? MTS_STATUS_OK : keep(g, to, &plan);
    }
    return status;
}

static mts_status open_states(grouper *g, uint32_t count)
{
    g->states = mts_alloc_zero(g->request->allocator, count, sizeof *g->states);
    if (!g->states) {
        return no_memory(g);
    }
    const partial nothing = {0};
    return keep(g, 0, &nothing);
}

static void close_states(grouper *g)
{
    for (uint32_t i = 0; g->states && i < g->state_count; i++) {
        mts_alloc_free(g->request->allocator, g->states[i].plans);
    }
    mts_alloc_free(g->request->allocator, g->states);
    g->states = NULL;
}

/* The first `which` tasks, or the tasks whose bits are set in it. */
static uint32_t list_set(const grouper *g, uint32_t which, uint32_t *tasks)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < g->request->task_count; t++) {
        if (g->request->uniform ? t < which : (which >> t & 1) != 0) {
            tasks[count++] = t;
        }
    }
    return count;
}

/* Costs by size, or by set. */
static mts_status price_all(grouper *g, mts_group_cost *costs, uint32_t *tasks)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t which = 1; status == MTS_STATUS_OK && which < g->state_count; which++) {
        const uint32_t count = list_set(g, which, tasks);
        status = g->request->cost(g->request->context, tasks, count, &costs[which], g->error);
        g->weights = g->weights || costs[which].weights > 0;
    }
    return status;
}

/* State n: the first n tasks are grouped. F_n = min over j of F_(n-j) + L_j. */
static mts_status plan_uniform(grouper *g, const mts_group_cost *costs)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t n = 1; status == MTS_STATUS_OK && n <= g->request->task_count; n++) {
        for (uint32_t j = 1; status == MTS_STATUS_OK && j <= n; j++) {
            status = extend(g, n - j, n, j, &costs[j]);
        }
    }
    return status;
}

/* State S: the tasks of S are grouped. The group that holds the lowest task of S is split
   off. */
static mts_status plan_subsets(grouper *g, const mts_group_cost *costs)
{
    const uint32_t all = (1u << g->request->task_count) - 1;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t set = 1; status == MTS_STATUS_OK && set <= all; set++) {
        const uint32_t lowest = set & (~set + 1);
        const uint32_t others = set ^ lowest;
        for (uint32_t with = others; status == MTS_STATUS_OK; with = (with - 1) & others) {
            status = extend(g, others ^ with, set, with | lowest, &costs[with | lowest]);
            if (with == 0) {
                break;
            }
        }
    }
    return status;
}

static mts_status too_small(const grouper *g)
{
    return mts_fail(g->error, MTS_STATUS_LIMIT,
                    "no plan keeps the memory budget of %llu bytes; the smallest that can be met is %llu",
                    (unsigned long long)g->request->budget.bytes, (unsigned long long)g->out->smallest_peak);
}

/* The fastest complete plan, all of which keep the budget; NULL if there is none. */
static const partial *choose(const grouper *g)
{
    const front *complete = &g->states[g->state_count - 1];
    const partial *best = NULL;
    for (size_t i = 0; i < complete->count; i++) {
        const partial *plan = &complete->plans[i];
        const uint64_t peak = peak_of(g, plan);
        g->out->smallest_peak = i == 0 || peak < g->out->smallest_peak ? peak : g->out->smallest_peak;
        if (!best || plan->latency < best->latency) {
            best = plan;
        }
    }
    return best;
}

static void number_groups(const mts_group_request *request, mts_group_result *out, const uint32_t *raw)
{
    out->group_count = 0;
    for (uint32_t t = 0; t < request->task_count; t++) {
        uint32_t same = 0;
        while (raw[same] != raw[t]) {
            same++;
        }
        out->group_of[t] = same < t ? out->group_of[same] : out->group_count++;
    }
}

static mts_status trace_back(grouper *g, const partial *plan)
{
    uint32_t *raw = mts_alloc_zero(g->request->allocator, g->request->task_count, sizeof *raw);
    if (!raw) {
        return no_memory(g);
    }
    g->out->latency = plan->latency;
    g->out->peak = peak_of(g, plan);
    uint32_t group = 0;
    for (; plan->last != 0; plan = &g->states[plan->state].plans[plan->index], group++) {
        for (uint32_t t = 0; t < g->request->task_count; t++) {
            const bool in = g->request->uniform ? t >= plan->state && t < plan->state + plan->last
                                                : (plan->last >> t & 1) != 0;
            raw[t] = in ? group : raw[t];
        }
    }
    number_groups(g->request, g->out, raw);
    mts_alloc_free(g->request->allocator, raw);
    return MTS_STATUS_OK;
}

static mts_status search(grouper *g, const mts_group_cost *costs)
{
    const mts_status status = open_states(g, g->state_count);
    return status != MTS_STATUS_OK ? status
           : g->request->uniform   ? plan_uniform(g, costs)
                                   : plan_subsets(g, costs);
}

static mts_status find_least(grouper *g, const mts_group_cost *costs)
{
    close_states(g);
    g->least = true;
    const mts_status status = search(g, costs);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    (void)choose(g);
    return too_small(g);
}

static mts_status plan_exact(grouper *g)
{
    const mts_group_request *request = g->request;
    g->state_count = request->uniform ? request->task_count + 1 : 1u << request->task_count;
    mts_group_cost *costs = mts_alloc_zero(request->allocator, g->state_count, sizeof *costs);
    uint32_t *tasks = mts_alloc_zero(request->allocator, request->task_count, sizeof *tasks);
    mts_status status = costs && tasks ? price_all(g, costs, tasks) : no_memory(g);
    MTS_TRY(status, search(g, costs));
    if (status == MTS_STATUS_OK) {
        const partial *best = choose(g);
        status = best ? trace_back(g, best) : find_least(g, costs);
    }
    close_states(g);
    mts_alloc_free(request->allocator, costs);
    mts_alloc_free(request->allocator, tasks);
    return status;
}

typedef struct ranked {
    double latency;
    uint32_t task;
} ranked;

static int compare_ranked(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    return mts_order(MTS_COMPARE(b->latency, a->latency), MTS_COMPARE(a->task, b->task));
}

typedef struct greedy {
    grouper *g;
    ranked *order;
    uint32_t *raw, *best, *tasks;
    double best_latency;
    uint64_t best_peak;
    bool found;
} greedy;

/* Cost of the partition in raw[] with `groups` groups. */
static mts_status price(greedy *s, uint32_t groups, partial *total)
{
    const mts_group_request *request = s->g->request;
    *total = (partial){0};
    for (uint32_t group = 0; group < groups; group++) {
        uint32_t count = 0;
        for (uint32_t t = 0; t < request->task_count; t++) {
            if (s->raw[t] == group) {
                s->tasks[count++] = t;
            }
        }
        mts_group_cost cost;
        const mts_status status = request->cost(request->context, s->tasks, count, &cost, s->g->error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        total->latency += cost.latency;
        total->weights += cost.weights;
        total->arena = cost.arena > total->arena ? cost.arena : total->arena;
    }
    return MTS_STATUS_OK;
}

/* Deals the tasks, slowest first, to `groups` groups: 0 .. G-1, G-1 .. 0, ... */
static mts_status try_groups(greedy *s, uint32_t groups)
{
    const mts_group_request *request = s->g->request;
    for (uint32_t i = 0; i < request->task_count; i++) {
        const uint32_t at = i % (2 * groups);
        s->raw[s->order[i].task] = at < groups ? at : 2 * groups - 1 - at;
    }
    partial total;
    const mts_status status = price(s, groups, &total);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_group_result *out = s->g->out;
    const uint64_t peak = peak_of(s->g, &total);
    out->smallest_peak = groups == 1 || peak < out->smallest_peak ? peak : out->smallest_peak;
    const bool fits = mts_memory_budget_fits(request->budget, peak);
    if (fits && (!s->found || total.latency < s->best_latency)) {
        s->found = true;
        s->best_latency = total.latency;
        s->best_peak = peak;
        for (uint32_t t = 0; t < request->task_count; t++) {
            s->best[t] = s->raw[t];
        }
    }
    return MTS_STATUS_OK;
}

static mts_status rank_tasks(greedy *s)
{
    const mts_group_request *request = s->g->request;
    for (uint32_t t = 0; t < request->task_count; t++) {
        mts_group_cost cost;
        const mts_status status = request->cost(request->context, &t, 1, &cost, s->g->error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        s->order[t] = (ranked){.latency = cost.latency, .task = t};
    }
    qsort(s->order, request->task_count, sizeof *s->order, compare_ranked);
    return MTS_STATUS_OK;
}

static mts_status plan_greedy(grouper *g)
{
    const mts_group_request *request = g->request;
    const mts_allocator *allocator = request->allocator;
    greedy s = {.g = g};
    s.order = mts_alloc_zero(allocator, request->task_count, sizeof *s.order);
    s.raw = mts_alloc_zero(allocator, request->task_count, sizeof *s.raw);
    s.best = mts_alloc_zero(allocator, request->task_count, sizeof *s.best);
    s.tasks = mts_alloc_zero(allocator, request->task_count, sizeof *s.tasks);
    mts_status status = MTS_STATUS_OK;
    if (!s.order || !s.raw || !s.best || !s.tasks) {
        status = no_memory(g);
    }
    MTS_TRY(status, rank_tasks(&s));
    for (uint32_t groups = 1; status == MTS_STATUS_OK && groups <= request->task_count; groups++) {
        status = try_groups(&s, groups);
    }
    if (status == MTS_STATUS_OK && !s.found) {
        status = too_small(g);
    }
    if (status == MTS_STATUS_OK) {
        g->out->latency = s.best_latency;
        g->out->peak = s.best_peak;
        number_groups(request, g->out, s.best);
    }
    mts_alloc_free(allocator, s.order);
    mts_alloc_free(allocator, s.raw);
    mts_alloc_free(allocator, s.best);
    mts_alloc_free(allocator, s.tasks);
    return status;
}

mts_status mts_group_plan(const mts_group_request *request, mts_group_result *result, mts_error *error)
{
    grouper g = {.request = request, .out = result, .error = error};
    if (request->task_count == 0) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "there are no tasks to group");
    }
    if (request->uniform || request->task_count <= MTS_GROUP_EXACT_MOST) {
        return plan_exact(&g);
    }
    return plan_greedy(&g);
}
