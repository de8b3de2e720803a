/*
 * grouping.c: groups by measured latency: calibrates a model with a few sets of tasks, lets plan/group.c find
 * the plans that it likes best, and runs those against each other before one wins.
 *
 * Tasks that can be stitched and have one priority are a class; classes are planned one after another. A
 * class whose tasks have one structure is measured at a few sizes, the others are interpolated. Otherwise a
 * set's latency is that of plan/cost.c, corrected by its tasks' own measured latencies. What a plan takes is
 * never modelled: every plan that may win is weighed, together with what the other classes have.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exec/planning.h"
#include "plan/cost.h"
#include "plan/group.h"

enum { CANDIDATES = 24, RACERS = 7, ALONE_MOST = 16, RETRIES = 4, PASSES = 2 };

#define HOPELESS 1.4 /* predicted latency relative to the best prediction: not worth a race */

/* Groups of a class that may win. */
typedef struct candidate {
    mts_finding finding;
    uint32_t *groups; /* per task of the class */
    bool raced, fits;
} candidate;

/* One class while it is planned. Indices are positions in `tasks`, tasks are positions in the session. */
typedef struct class_plan {
    mts_planning *p;
    uint32_t number, count;
    uint32_t *tasks;
    bool uniform;
    double *latency;                   /* [count + 1] by size, uniform only: milliseconds */
    uint64_t *arena;                   /* [count + 1] likewise: bytes */
    double *weights;                   /* [count + 1] likewise: bytes, where groups share none */
    double *alone, *alone_weights;     /* [count] of each task by itself, otherwise */
    double *alone_arena, *alone_model; /* [count] bytes; what the model says */
    const mts_cost_table *table;
    mts_cost_model model;
    mts_cost_sample *samples;
    uint32_t sample_count;
    double penalty; /* milliseconds for each group, to find plans of fewer or more groups */
    candidate candidates[CANDIDATES];
    uint32_t candidate_count;
} class_plan;

/* Shared blocks lie in one pool for all groups, so a grouping changes the arena only. */
static bool shares_weights(const mts_planning *p)
{
    return p->options.strategy == MTS_STRATEGY_KIND_COMPACT;
}

static bool same_structure(const mts_graph *a, const mts_graph *b)
{
    if (a->node_count != b->node_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->node_count; i++) {
        if (!mts_node_alike(a, &a->nodes[i], b, &b->nodes[i]) ||
            !mts_shape_equal(&a->values[a->nodes[i].output].shape, &b->values[b->nodes[i].output].shape)) {
            return false;
        }
    }
    return true;
}

/* ---- calibration ---- */

/* 1, 2, 3, 4, 6, 8, 12, 16, 24, ... and the class's size */
static uint32_t next_size(uint32_t size, uint32_t count)
{
    uint32_t next = size < 4 ? size + 1 : (size & (size - 1)) == 0 ? size / 2 * 3 : size / 3 * 4;
    return size < count && next > count ? count : next;
}

/* Runs some tasks of the class as one group; they are given by their index in it. */
static mts_code run_set(class_plan *c, const uint32_t *indices, uint32_t count, mts_trial *trial)
{
    mts_planning *p = c->p;
    mts_engine_stats stats = {0};
    uint32_t *positions = mts_arena_zero(&p->arena, count, sizeof *positions);
    if (positions == NULL) {
        return mts_planning_memory(p);
    }
    for (uint32_t i = 0; i < count; i++) {
        positions[i] = c->tasks[indices[i]];
    }
    *trial = (mts_trial){.of_class = c->number, .tasks = count};
    const mts_trial_request request = {.positions = positions,
                                       .count = count,
                                       .slice_bytes = p->decision.slice_bytes,
                                       .choices = p->decision.choices};
    const mts_code code = mts_trial_run(p, &request, &stats, &trial->latency);
    trial->arena = stats.activation_bytes;
    trial->weights = stats.weight_bytes + stats.workspace_bytes;
    return code;
}

static void interpolate(class_plan *c, uint32_t from, uint32_t to)
{
    for (uint32_t n = from + 1; n < to; n++) {
        const double at = (double)(n - from) / (double)(to - from);
        c->latency[n] = c->latency[from] + at * (c->latency[to] - c->latency[from]);
        c->weights[n] = c->weights[from] + at * (c->weights[to] - c->weights[from]);
        c->arena[n] = c->arena[from] + (uint64_t)(at * (double)(c->arena[to] - c->arena[from]));
    }
}

/* Groups of more than `size` tasks do not fit the device. */
static void give_up_beyond(class_plan *c, uint32_t size)
{
    for (uint32_t n = size + 1; n <= c->count; n++) {
        c->latency[n] = INFINITY;
        c->weights[n] = c->weights[size];
        c->arena[n] = c->arena[size];
    }
}

/* Measures the first 1, 2, 3, ... tasks together; the largest first, whose kernels serve the others. */
static mts_code measure_sizes(class_plan *c)
{
    mts_planning *p = c->p;
    uint32_t *indices = mts_arena_zero(&p->arena, c->count, sizeof *indices);
    mts_code code = indices != NULL ? MTS_CODE_OK : mts_planning_memory(p);
    mts_trial whole = {0};
    for (uint32_t i = 0; code == MTS_CODE_OK && i < c->count; i++) {
        indices[i] = i;
    }
    code = code != MTS_CODE_OK ? code : run_set(c, indices, c->count, &whole);
    code = c->count > 1 && mts_trial_is_mishap(code) ? MTS_CODE_OK : code;
    uint32_t before = 0;
    for (uint32_t size = 1; code == MTS_CODE_OK && size <= c->count; size = next_size(size, c->count)) {
        mts_trial trial = whole;
        if (size < c->count || whole.latency <= 0.0) {
            code = run_set(c, indices, size, &trial);
        }
        if (mts_trial_is_mishap(code) && size > 1) {
            give_up_beyond(c, before);
            return MTS_CODE_OK;
        }
        if (code == MTS_CODE_OK) {
            c->latency[size] = trial.modelled = trial.latency;
            c->weights[size] = (double)trial.weights;
            c->arena[size] = trial.arena;
            interpolate(c, before, size);
            before = size;
            code = mts_planning_trial(p, &trial);
        }
    }
    return code;
}

static bool same_preprocess(const mts_preprocess *a, const mts_preprocess *b)
{
    return a->color == b->color && a->interleaved == b->interleaved &&
           memcmp(a->mean, b->mean, sizeof a->mean) == 0 && memcmp(a->std, b->std, sizeof a->std) == 0;
}

/* Which inputs hold equal data, for the model only: ports.c decides when the session is made. */
static uint32_t **find_slots(class_plan *c)
{
    mts_planning *p = c->p;
    uint32_t **slots = mts_arena_zero(&p->arena, c->count, sizeof *slots);
    uint32_t fresh = 0;
    for (uint32_t t = 0; slots != NULL && t < c->count; t++) {
        const mts_graph *graph = p->graphs[c->tasks[t]];
        const mts_preprocess *how = &p->archive->tasks[p->tasks[c->tasks[t]]].preprocess;
        slots[t] = mts_arena_zero(&p->arena, graph->input_count, sizeof **slots);
        for (uint32_t i = 0; slots[t] != NULL && i < graph->input_count; i++) {
            slots[t][i] = fresh++;
            for (uint32_t k = 0; !p->options.separate_inputs && k < t; k++) {
                const mts_graph *other = p->graphs[c->tasks[k]];
                if (i < other->input_count &&
                    mts_shape_equal(&graph->inputs[i].shape, &other->inputs[i].shape) &&
                    same_preprocess(how, &p->archive->tasks[p->tasks[c->tasks[k]]].preprocess)) {
                    slots[t][i] = slots[k][i];
                    break;
                }
            }
        }
        if (slots[t] == NULL) {
            return NULL;
        }
    }
    return slots;
}

static mts_code make_table(class_plan *c)
{
    mts_planning *p = c->p;
    const mts_graph **graphs = mts_arena_zero(&p->arena, c->count, sizeof *graphs);
    uint32_t *one_group = mts_arena_zero(&p->arena, c->count, sizeof *one_group);
    uint32_t **slots = find_slots(c);
    const uint32_t **constant_slots = mts_arena_zero(&p->arena, c->count, sizeof *constant_slots);
    if (graphs == NULL || one_group == NULL || slots == NULL || constant_slots == NULL) {
        return mts_planning_memory(p);
    }
    for (uint32_t i = 0; i < c->count; i++) {
        graphs[i] = p->graphs[c->tasks[i]];
        constant_slots[i] = slots[i];
    }
    const mts_stitch_request request = {.graphs = graphs,
                                        .graph_count = c->count,
                                        .group_of = one_group,
                                        .group_count = 1,
                                        .slot_of = constant_slots,
                                        .share = shares_weights(p)};
    mts_stitched *stitched = NULL;
    const mts_code code = mts_stitch(&request, &p->arena, &stitched, p->error);
    return code != MTS_CODE_OK
               ? code
               : mts_cost_table_make(stitched, p->options.strategy, &p->arena, &c->table, p->error);
}

static void fit(class_plan *c)
{
    mts_cost_fit(c->samples, c->sample_count, &c->model);
    for (uint32_t i = 0; i < c->count; i++) {
        mts_cost_set set;
        mts_cost_of(c->table, &i, 1, &set);
        c->alone_model[i] = mts_cost_predict(&c->model, &set);
    }
}

/* Tasks that were not run alone count as the model says. */
static double predict_set(const class_plan *c, const uint32_t *indices, uint32_t count)
{
    if (c->uniform) {
        return c->latency[count];
    }
    mts_cost_set set;
    double measured = 0.0;
    double modelled = 0.0;
    mts_cost_of(c->table, indices, count, &set);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t t = indices[i];
        measured += c->alone[t] > 0.0 ? c->alone[t] : c->alone_model[t];
        modelled += c->alone_model[t];
    }
    const double predicted = mts_cost_predict(&c->model, &set);
    return modelled > 0.0 ? predicted * measured / modelled : predicted;
}

static mts_code sample_set(class_plan *c, const uint32_t *indices, uint32_t count, bool must)
{
    mts_trial trial = {0};
    mts_code code = run_set(c, indices, count, &trial);
    if (code != MTS_CODE_OK) {
        return !must && mts_trial_is_mishap(code) ? MTS_CODE_OK : code;
    }
    mts_cost_sample *sample = &c->samples[c->sample_count++];
    sample->ms = trial.latency;
    mts_cost_of(c->table, indices, count, &sample->set);
    if (count == 1) {
        c->alone[indices[0]] = trial.latency;
        c->alone_weights[indices[0]] = (double)trial.weights;
        c->alone_arena[indices[0]] = (double)trial.arena;
    }
    return mts_planning_trial(c->p, &trial);
}

/* Every `step`-th task from `first` on. */
static mts_code sample_some(class_plan *c, uint32_t first, uint32_t step, uint32_t most)
{
    uint32_t *indices = mts_arena_zero(&c->p->arena, c->count, sizeof *indices);
    uint32_t count = 0;
    if (indices == NULL) {
        return mts_planning_memory(c->p);
    }
    for (uint32_t i = first; i < c->count && count < most; i += step) {
        indices[count++] = i;
    }
    return count > 1 ? sample_set(c, indices, count, false) : MTS_CODE_OK;
}

/* All tasks together first, whose kernels serve the others; then each alone, pairs, halves. */
static mts_code calibrate(class_plan *c)
{
    const uint32_t n = c->count;
    mts_code code = make_table(c);
    code = code != MTS_CODE_OK ? code : sample_some(c, 0, 1, n);
    const uint32_t step = (n + ALONE_MOST - 1) / ALONE_MOST;
    for (uint32_t i = 0; code == MTS_CODE_OK && i < n; i += step) {
        code = sample_set(c, &i, 1, true);
    }
    code = code != MTS_CODE_OK || n < 3 ? code : sample_some(c, 0, 1, 2);
    code = code != MTS_CODE_OK || n < 3 ? code : sample_some(c, n - 2, 1, 2);
    code = code != MTS_CODE_OK || n < 5 ? code : sample_some(c, 0, 2, n);
    code = code != MTS_CODE_OK || n < 5 ? code : sample_some(c, 1, 2, n);
    code = code != MTS_CODE_OK || n < 6 ? code : sample_some(c, 0, 1, n / 2);
    code = code != MTS_CODE_OK || n < 6 ? code : sample_some(c, n / 2, 1, n);
    if (code == MTS_CODE_OK) {
        fit(c);
    }
    return code;
}

/* ---- candidates ---- */

static mts_code class_cost(void *context, const uint32_t *tasks, uint32_t count, mts_group_cost *cost,
                           mts_error *error)
{
    (void)error;
    const class_plan *c = context;
    double weights = c->weights[count];
    double arena = (double)c->arena[count];
    if (!c->uniform) {
        weights = arena = 0.0;
        for (uint32_t i = 0; i < count; i++) {
            weights += c->alone_weights[tasks[i]];
            arena += c->alone_arena[tasks[i]];
        }
    }
    *cost = (mts_group_cost){.latency = predict_set(c, tasks, count) + c->penalty, .arena = (uint64_t)arena};
    cost->latency = cost->latency > 0.0 ? cost->latency : 0.0;
    cost->weights = shares_weights(c->p) ? 0 : (uint64_t)weights;
    return MTS_CODE_OK;
}

static double predict_plan(const class_plan *c, const uint32_t *groups, uint32_t group_count)
{
    uint32_t indices[1024];
    double ms = 0.0;
    for (uint32_t g = 0; g < group_count; g++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < c->count; i++) {
            if (groups[i] == g && count < sizeof indices / sizeof indices[0]) {
                indices[count++] = i;
            }
        }
        ms += count > 0 ? predict_set(c, indices, count) : 0.0;
    }
    return ms;
}

/* The session's groups with this class's as given, the others as decided so far. */
static const uint32_t *assemble(const class_plan *c, const uint32_t *groups)
{
    mts_planning *p = c->p;
    uint32_t *all = mts_arena_zero(&p->arena, p->task_count, sizeof *all);
    uint32_t first = 0;
    for (uint32_t number = 0; all != NULL && number < p->class_count; number++) {
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
                all[t] = first + (number == c->number ? groups[index++] : p->group_of[t] - lowest);
                next = all[t] >= next ? all[t] + 1 : next;
            }
        }
        first = next;
    }
    return all;
}

/* Adds a plan of the class unless it is there; weighs it, with smaller slices where it is over the budget. */
static mts_code add_candidate(class_plan *c, const char *what, const uint32_t *groups, uint32_t group_count)
{
    mts_planning *p = c->p;
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        if (memcmp(c->candidates[i].groups, groups, c->count * sizeof *groups) == 0) {
            return MTS_CODE_OK;
        }
    }
    if (c->candidate_count == CANDIDATES) {
        return MTS_CODE_OK;
    }
    candidate *added = &c->candidates[c->candidate_count];
    *added = (candidate){.groups = mts_arena_zero(&p->arena, c->count, sizeof *groups)};
    const uint32_t *all = assemble(c, groups);
    if (added->groups == NULL || all == NULL) {
        return mts_planning_memory(p);
    }
    memcpy(added->groups, groups, c->count * sizeof *groups);
    added->finding = (mts_finding){.of_class = c->number,
                                   .groups = group_count,
                                   .verdict = MTS_VERDICT_PREDICTED,
                                   .predicted_ms = predict_plan(c, groups, group_count)};
    (void)snprintf(added->finding.what, sizeof added->finding.what, "%s", what);
    mts_code code = mts_planning_weigh(p, all, &added->finding.slice_bytes, &added->finding.peak);
    added->fits = p->options.memory_budget == 0 || added->finding.peak <= p->options.memory_budget;
    if (!added->fits) {
        added->finding.verdict = MTS_VERDICT_OVER_BUDGET;
    }
    if (mts_trial_is_mishap(code)) {
        added->fits = false;
        added->finding.verdict = MTS_VERDICT_FAILED;
        code = MTS_CODE_OK;
    }
    c->candidate_count++;
    return code;
}

static mts_code add_named(class_plan *c, const uint32_t *groups, uint32_t group_count)
{
    char what[MTS_FINDING_TEXT] = "one group";
    if (group_count == c->count) {
        (void)snprintf(what, sizeof what, "each task alone");
    } else if (group_count > 1) {
        (void)snprintf(what, sizeof what, "%u groups", group_count);
    }
    return add_candidate(c, what, groups, group_count);
}

/* Deals the tasks to `count` groups, in turns that balance what was sorted by size. */
static mts_code add_dealt(class_plan *c, uint32_t count)
{
    uint32_t *groups = mts_arena_zero(&c->p->arena, c->count, sizeof *groups);
    if (groups == NULL) {
        return mts_planning_memory(c->p);
    }
    for (uint32_t i = 0; i < c->count; i++) {
        groups[i] = c->uniform ? (uint32_t)((uint64_t)i * count / c->count) : i % count;
    }
    return add_named(c, groups, count);
}

/* The best plan of the model, with a penalty for each group. */
static mts_code add_planned(class_plan *c, double penalty)
{
    mts_planning *p = c->p;
    uint32_t *groups = mts_arena_zero(&p->arena, c->count, sizeof *groups);
    uint64_t budget = p->options.memory_budget;
    mts_code code = groups != NULL ? MTS_CODE_OK : mts_planning_memory(p);
    c->penalty = penalty;
    for (int attempt = 0; code == MTS_CODE_OK && attempt < RETRIES; attempt++) {
        const uint32_t before = c->candidate_count;
        mts_group_result result = {.group_of = groups};
        mts_error reason = {0};
        const mts_group_request request = {.task_count = c->count,
                                           .uniform = c->uniform,
                                           .fixed_bytes = p->fixed_bytes,
                                           .budget = budget,
                                           .cost = class_cost,
                                           .context = c,
                                           .allocator = p->allocator};
        code = mts_group_plan(&request, &result, &reason);
        if (code == MTS_CODE_LIMIT) { /* by the model; the smallest plan was weighed before */
            code = MTS_CODE_OK;
            break;
        }
        code = code != MTS_CODE_OK ? mts_planning_memory(p) : add_named(c, groups, result.group_count);
        if (code != MTS_CODE_OK || c->candidate_count == before || c->candidates[before].fits) {
            break;
        }
        const uint64_t excess = c->candidates[before].finding.peak - p->options.memory_budget;
        budget = budget > excess ? budget - excess : 1;
    }
    c->penalty = 0.0;
    return code;
}

static mts_code add_candidates(class_plan *c)
{
    static const double shares[] = {0.0, 0.02, -0.02, 0.06, -0.06, 0.2, -0.2};
    uint32_t indices[1] = {0};
    const double alone = predict_set(c, indices, 1);
    mts_code code = MTS_CODE_OK;
    for (size_t i = 0; code == MTS_CODE_OK && i < sizeof shares / sizeof shares[0]; i++) {
        code = add_planned(c, shares[i] * alone);
    }
    code = code != MTS_CODE_OK ? code : add_dealt(c, 1);
    code = code != MTS_CODE_OK || c->count < 4 ? code : add_dealt(c, 2);
    code = code != MTS_CODE_OK || c->count < 8 ? code : add_dealt(c, 4);
    return code != MTS_CODE_OK ? code : add_dealt(c, c->count);
}

/* ---- the race ---- */

typedef struct race {
    class_plan *c;
    mts_engine *champion, *challenger;
    candidate *leader;
    uint32_t raced;
} race;

static mts_code enter(race *r, candidate *x)
{
    class_plan *c = r->c;
    mts_planning *p = c->p;
    const mts_trial_request request = {.positions = c->tasks,
                                       .count = c->count,
                                       .group_of = x->groups,
                                       .slice_bytes = x->finding.slice_bytes,
                                       .choices = p->decision.choices};
    x->raced = true;
    mts_code code = mts_trial_make(p, &request, &r->challenger);
    if (code == MTS_CODE_OK && r->leader == NULL) {
        code = mts_trial_time(p, r->challenger, &x->finding.measured_ms);
    } else if (code == MTS_CODE_OK) {
        double leader_ms = 0.0;
        code = mts_trial_race(p, r->champion, r->challenger, &leader_ms, &x->finding.measured_ms);
        x->finding.relative = leader_ms > 0.0 ? x->finding.measured_ms / leader_ms : 0.0;
    }
    if (mts_trial_is_mishap(code)) {
        x->finding.verdict = MTS_VERDICT_FAILED;
        x->finding.measured_ms = 0.0;
        x->fits = false;
        mts_engine_destroy(&r->challenger);
        return MTS_CODE_OK;
    }
    x->finding.verdict = MTS_VERDICT_SLOWER;
    r->raced++;
    return code;
}

/* The challenger has run: it takes the lead, or leaves. */
static void settle(race *r, candidate *x)
{
    class_plan *c = r->c;
    if (r->challenger == NULL) {
        return;
    }
    if (r->leader == NULL || mts_trial_wins(x->finding.relative, x->finding.peak, r->leader->finding.peak)) {
        for (uint32_t i = 0; r->leader != NULL && i < c->candidate_count; i++) {
            c->candidates[i].finding.relative /= x->finding.relative;
        }
        mts_engine_destroy(&c->p->previous);
        c->p->previous = r->champion;
        r->champion = r->challenger;
        r->leader = x;
        x->finding.relative = 1.0;
    } else {
        mts_engine_destroy(&c->p->previous);
        c->p->previous = r->challenger;
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
        least = x->fits && x->finding.predicted_ms < least ? x->finding.predicted_ms : least;
        if (x->fits && !x->raced && (best == NULL || x->finding.predicted_ms < best->finding.predicted_ms)) {
            best = x;
        }
    }
    return best != NULL && r->leader != NULL && best->finding.predicted_ms > HOPELESS * least ? NULL : best;
}

/* A plan that ran is a sample too: the sum of its groups. */
static void learn(class_plan *c)
{
    uint32_t indices[1024];
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        const candidate *x = &c->candidates[i];
        if (x->finding.measured_ms <= 0.0 || c->sample_count >= c->count + 2u * CANDIDATES) {
            continue;
        }
        mts_cost_sample *sample = &c->samples[c->sample_count++];
        *sample = (mts_cost_sample){.ms = x->finding.measured_ms};
        for (uint32_t g = 0; g < x->finding.groups; g++) {
            mts_cost_set set;
            uint32_t count = 0;
            for (uint32_t t = 0; t < c->count; t++) {
                if (x->groups[t] == g && count < sizeof indices / sizeof indices[0]) {
                    indices[count++] = t;
                }
            }
            mts_cost_of(c->table, indices, count, &set);
            for (int k = 0; k < MTS_COST_TERMS; k++) {
                sample->set.term[k] += set.term[k];
            }
        }
    }
    fit(c);
}

static mts_code race_candidates(class_plan *c, race *r, uint32_t most)
{
    mts_code code = MTS_CODE_OK;
    for (candidate *x = next_racer(c, r); x != NULL && r->raced < most; x = next_racer(c, r)) {
        code = enter(r, x);
        if (code != MTS_CODE_OK) {
            return code;
        }
        settle(r, x);
    }
    return code;
}

/* What the first races taught the model may bring up better plans. */
static mts_code race_all(class_plan *c, race *r)
{
    mts_code code = add_candidates(c);
    code = code != MTS_CODE_OK ? code : race_candidates(c, r, RACERS);
    for (int pass = 1; code == MTS_CODE_OK && pass < PASSES && !c->uniform && c->count > 2; pass++) {
        learn(c);
        code = add_planned(c, 0.0);
        code = code != MTS_CODE_OK ? code : race_candidates(c, r, RACERS + 2 * (uint32_t)pass);
    }
    return code;
}

static mts_code keep_winner(class_plan *c, race *r)
{
    mts_planning *p = c->p;
    mts_code code = MTS_CODE_OK;
    for (uint32_t i = 0; code == MTS_CODE_OK && i < c->candidate_count; i++) {
        candidate *x = &c->candidates[i];
        x->finding.verdict = x == r->leader ? (uint32_t)MTS_VERDICT_CHOSEN : x->finding.verdict;
        code = mts_planning_finding(p, &x->finding);
    }
    if (code != MTS_CODE_OK || r->leader == NULL) {
        return code; /* none fits: what was decided before stays, which keeps the budget */
    }
    const uint32_t *all = assemble(c, r->leader->groups);
    if (all == NULL) {
        return mts_planning_memory(p);
    }
    memcpy(p->group_of, all, p->task_count * sizeof *all);
    p->decision.slice_bytes = r->leader->finding.slice_bytes;
    p->findings.predicted_ms += r->leader->finding.predicted_ms;
    p->findings.model_error = fmax(p->findings.model_error, c->model.error);
    return MTS_CODE_OK;
}

/* ---- classes ---- */

static mts_code open_class(class_plan *c, mts_planning *p, uint32_t number)
{
    const size_t total = p->task_count;
    memset(c, 0, sizeof *c);
    c->p = p;
    c->number = number;
    c->uniform = true;
    c->tasks = mts_arena_zero(&p->arena, total, sizeof *c->tasks);
    c->alone = mts_arena_zero(&p->arena, total, sizeof *c->alone);
    c->alone_weights = mts_arena_zero(&p->arena, total, sizeof *c->alone_weights);
    c->alone_arena = mts_arena_zero(&p->arena, total, sizeof *c->alone_arena);
    c->alone_model = mts_arena_zero(&p->arena, total, sizeof *c->alone_model);
    c->latency = mts_arena_zero(&p->arena, total + 1, sizeof *c->latency);
    c->weights = mts_arena_zero(&p->arena, total + 1, sizeof *c->weights);
    c->arena = mts_arena_zero(&p->arena, total + 1, sizeof *c->arena);
    c->samples = mts_arena_zero(&p->arena, total + 2 * CANDIDATES + 8, sizeof *c->samples);
    if (c->tasks == NULL || c->alone == NULL || c->alone_weights == NULL || c->alone_arena == NULL ||
        c->alone_model == NULL || c->latency == NULL || c->weights == NULL || c->arena == NULL ||
        c->samples == NULL) {
        return mts_planning_memory(p);
    }
    for (uint32_t t = 0; t < p->task_count; t++) {
        if (p->class_of[t] == number) {
            c->tasks[c->count++] = t;
            c->uniform = c->uniform && same_structure(p->graphs[c->tasks[0]], p->graphs[t]);
        }
    }
    return MTS_CODE_OK;
}

static mts_code group_class(mts_planning *p, uint32_t number)
{
    class_plan c;
    mts_code code = open_class(&c, p, number);
    if (code != MTS_CODE_OK || (c.count == 1 && p->class_count > 1 && p->options.memory_budget == 0)) {
        return code;
    }
    race r = {.c = &c};
    p->fraction = 0.1f + 0.7f * (float)number / (float)p->class_count;
    code = c.uniform ? measure_sizes(&c) : calibrate(&c);
    code = code != MTS_CODE_OK ? code : race_all(&c, &r);
    code = code != MTS_CODE_OK ? code : keep_winner(&c, &r);
    mts_engine_destroy(&r.challenger);
    if (r.champion != NULL) {
        mts_engine_destroy(&p->previous);
        p->previous = r.champion;
    }
    return code;
}

mts_code mts_planning_group(mts_planning *p)
{
    mts_code code = mts_planning_smallest(p);
    for (uint32_t number = 0; code == MTS_CODE_OK && number < p->class_count; number++) {
        code = group_class(p, number);
    }
    return code != MTS_CODE_OK ? code : mts_planning_slice(p);
}
