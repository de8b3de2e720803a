/*
 * grouping.c: groups by measured latency: makes engines of some sets of tasks, times them, and lets
 * plan/group.c decide.
 *
 * A family whose members have one structure is measured at a few sizes, the others are interpolated.
 * Otherwise a set's latency is modelled as the sum of its tasks' own latencies times a factor for its size,
 * both measured. The plan itself is made once to see that its real peak keeps the budget; other plans are not
 * measured against it.
 */
#include <math.h>
#include <string.h>

#include "exec/engine_internal.h"
#include "plan/group.h"
#include "platform/os/os.h"

enum { WARM_RUNS = 2, TIMED_RUNS = 7, RETRIES = 4 };

typedef struct prober {
    mts_engine *engine;
    const mts_graph *const *graphs;
    mts_engine *previous; /* kept until the next exists, so that the device keeps its programs */
    mts_arena scratch;
    mts_error *error;
} prober;

/* One family while it is planned. Indices are positions in `tasks`, tasks are positions in the engine. */
typedef struct family {
    prober *p;
    uint32_t *tasks;
    uint32_t count;
    bool uniform;
    double *alone;   /* [count] latency of each task by itself, not uniform only */
    double *latency; /* [count + 1] by size: milliseconds (uniform) or factor on the sum */
    uint64_t *arena; /* [count + 1] bytes by size */
    /* likewise, where groups share no weights: bytes (uniform) or factor on the sum of the tasks' own */
    double *alone_weights, *weights;
} family;

static mts_code short_of_memory(const prober *p)
{
    return mts_fail(p->error, MTS_CODE_OUT_OF_MEMORY, "not enough memory to plan groups");
}

/* Inputs that are neither zero nor denormal: what a layer costs must not depend on them. */
static mts_code fill_inputs(prober *p, mts_engine *engine)
{
    uint32_t seed = 1;
    mts_code code = MTS_CODE_OK;
    for (uint32_t s = 0; code == MTS_CODE_OK && s < engine->slot_count; s++) {
        engine_slot *slot = &engine->slots[s];
        if (slot->lent &&
            slot->floats == NULL) { /* memory of its own, as a caller has: it is part of the time */
            slot->floats = mts_arena_zero(&engine->arena, slot->count, sizeof *slot->floats);
        }
        float *data = slot->lent ? slot->floats : engine->conversion;
        if (data == NULL) {
            return short_of_memory(p);
        }
        for (size_t i = 0; i < slot->count; i++) {
            seed = seed * 1664525u + 1013904223u;
            data[i] = (float)(seed >> 8) / 8388608.0f - 1.0f + 0.0001f;
        }
        code = mts_engine_set_slot(engine, slot, data, p->error);
    }
    return code;
}

static mts_code time_engine(prober *p, mts_engine *engine, double *latency)
{
    mts_code code = fill_inputs(p, engine);
    *latency = 0.0;
    for (int run = 0; code == MTS_CODE_OK && run < WARM_RUNS + TIMED_RUNS; run++) {
        const uint64_t start = mts_os_clock_ns();
        code = mts_engine_submit(engine, p->error);
        code = code != MTS_CODE_OK ? code : mts_engine_wait(engine, p->error);
        const double time = (double)(mts_os_clock_ns() - start) * 1e-6;
        if (run >= WARM_RUNS && (run == WARM_RUNS || time < *latency)) {
            *latency = time;
        }
    }
    return code;
}

/* Latency and arena of some tasks in the given groups (NULL: one group). */
static mts_code try_tasks(prober *p, const uint32_t *tasks, uint32_t count, const uint32_t *groups,
                          engine_trial *trial)
{
    const mts_engine *engine = p->engine;
    mts_engine_options options = engine->options;
    uint32_t *indices = mts_arena_zero(&p->scratch, count, sizeof *indices);
    uint32_t *one_group = mts_arena_zero(&p->scratch, count, sizeof *one_group);
    if (indices == NULL || one_group == NULL) {
        return short_of_memory(p);
    }
    for (uint32_t i = 0; i < count; i++) {
        indices[i] = engine->tasks[tasks[i]].task;
    }
    options.tasks = indices;
    options.task_count = count;
    options.progress = NULL;
    options.memory_budget = 0;
    mts_engine *made = NULL;
    const mts_decision decision = {.group_of = groups != NULL ? groups : one_group};
    mts_code code = mts_engine_create_decided(engine->device, engine->archive, &options, &decision,
                                              p->previous, &made, p->error);
    if (code == MTS_CODE_OK) {
        mts_engine_destroy(&p->previous);
        p->previous = made;
        *trial = (engine_trial){.tasks = count,
                                .arena = made->stats.activation_bytes,
                                .weights = made->stats.weight_bytes + made->stats.workspace_bytes};
        code = time_engine(p, made, &trial->latency);
    }
    if (code == MTS_CODE_OK && engine->options.progress != NULL &&
        engine->options.progress(engine->options.context, 0.02f, "measuring groups") != 0) {
        code = mts_fail(p->error, MTS_CODE_CANCELLED, "cancelled while measuring groups");
    }
    return code;
}

static mts_code remember(prober *p, const engine_trial *trial)
{
    mts_engine *e = p->engine;
    engine_trial *more = mts_arena_zero(&e->arena, (size_t)e->trial_count + 1, sizeof *more);
    if (more == NULL) {
        return short_of_memory(p);
    }
    if (e->trial_count > 0) {
        memcpy(more, e->trials, e->trial_count * sizeof *more);
    }
    more[e->trial_count++] = *trial;
    e->trials = more;
    return MTS_CODE_OK;
}

/* 1, 2, 3, 4, 6, 8, 12, 16, 24, ... and the family's size */
static uint32_t next_size(uint32_t size, uint32_t count)
{
    uint32_t next = size < 4 ? size + 1 : (size & (size - 1)) == 0 ? size / 2 * 3 : size / 3 * 4;
    return size < count && next > count ? count : next;
}

/* Sum over the first `size` tasks. */
static double sum_first(const double *alone, uint32_t size)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < size; i++) {
        sum += alone[i];
    }
    return sum;
}

static void interpolate(family *f, uint32_t from, uint32_t to)
{
    for (uint32_t n = from + 1; n < to; n++) {
        const double at = (double)(n - from) / (double)(to - from);
        f->latency[n] = f->latency[from] + at * (f->latency[to] - f->latency[from]);
        f->weights[n] = f->weights[from] + at * (f->weights[to] - f->weights[from]);
        f->arena[n] = f->arena[from] + (uint64_t)(at * (double)(f->arena[to] - f->arena[from]));
    }
}

/* Groups of more than `size` tasks do not fit the device. */
static void give_up_beyond(family *f, uint32_t size)
{
    for (uint32_t n = size + 1; n <= f->count; n++) {
        f->latency[n] = INFINITY;
        f->weights[n] = f->weights[size];
        f->arena[n] = f->arena[size];
    }
    if (f->p->error != NULL) {
        *f->p->error = (mts_error){0};
    }
}

/* Measures the first 1, 2, 3, ... tasks together. */
static mts_code measure_sizes(family *f)
{
    mts_code code = MTS_CODE_OK;
    uint32_t before = 0;
    for (uint32_t size = 1; code == MTS_CODE_OK && size <= f->count; size = next_size(size, f->count)) {
        engine_trial trial = {0};
        code = try_tasks(f->p, f->tasks, size, NULL, &trial);
        if (code == MTS_CODE_LIMIT && size > 1) {
            give_up_beyond(f, before);
            return MTS_CODE_OK;
        }
        code = code != MTS_CODE_OK ? code : remember(f->p, &trial);
        if (code == MTS_CODE_OK) {
            const double latency = f->uniform ? 1.0 : sum_first(f->alone, size);
            const double weights = f->uniform ? 1.0 : sum_first(f->alone_weights, size);
            f->latency[size] = trial.latency / latency;
            f->weights[size] = (double)trial.weights / weights;
            f->arena[size] = trial.arena;
            interpolate(f, before, size);
            before = size;
        }
    }
    return code;
}

static mts_code measure_alone(family *f)
{
    mts_code code = MTS_CODE_OK;
    for (uint32_t i = 0; code == MTS_CODE_OK && i < f->count; i++) {
        engine_trial trial = {0};
        code = try_tasks(f->p, &f->tasks[i], 1, NULL, &trial);
        f->alone[i] = trial.latency;
        f->alone_weights[i] = (double)trial.weights;
    }
    return code;
}

/* Shared blocks lie in one pool for all groups, so a grouping changes the arena only. */
static bool shares_weights(const prober *p)
{
    return p->engine->options.strategy == MTS_STRATEGY_KIND_COMPACT;
}

static mts_code family_cost(void *context, const uint32_t *tasks, uint32_t count, mts_group_cost *cost,
                            mts_error *error)
{
    (void)error;
    const family *f = context;
    double latency = f->latency[count];
    double weights = f->weights[count];
    if (!f->uniform) {
        double alone = 0.0;
        double alone_weights = 0.0;
        for (uint32_t i = 0; i < count; i++) {
            alone += f->alone[tasks[i]];
            alone_weights += f->alone_weights[tasks[i]];
        }
        latency *= alone;
        weights *= alone_weights;
    }
    *cost = (mts_group_cost){.latency = latency, .arena = f->arena[count]};
    cost->weights = shares_weights(f->p) ? 0 : (uint64_t)weights;
    return MTS_CODE_OK;
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

static mts_code open_family(family *f, prober *p, const uint32_t *family_of, uint32_t number)
{
    const uint32_t total = p->engine->task_count;
    *f = (family){.p = p, .uniform = true};
    f->tasks = mts_arena_zero(&p->scratch, total, sizeof *f->tasks);
    f->alone = mts_arena_zero(&p->scratch, total, sizeof *f->alone);
    f->alone_weights = mts_arena_zero(&p->scratch, total, sizeof *f->alone_weights);
    f->latency = mts_arena_zero(&p->scratch, (size_t)total + 1, sizeof *f->latency);
    f->weights = mts_arena_zero(&p->scratch, (size_t)total + 1, sizeof *f->weights);
    f->arena = mts_arena_zero(&p->scratch, (size_t)total + 1, sizeof *f->arena);
    if (f->tasks == NULL || f->alone == NULL || f->alone_weights == NULL || f->latency == NULL ||
        f->weights == NULL || f->arena == NULL) {
        return short_of_memory(p);
    }
    for (uint32_t t = 0; t < total; t++) {
        if (family_of[t] == number) {
            f->tasks[f->count++] = t;
            f->uniform = f->uniform && same_structure(p->graphs[f->tasks[0]], p->graphs[t]);
        }
    }
    return MTS_CODE_OK;
}

/*
 * Bytes that no grouping of family `number` changes: weights and tables of all tasks where groups share them,
 * else those of the tasks of other families.
 */
static mts_code fixed_bytes(prober *p, const uint32_t *family_of, uint32_t number, uint64_t *bytes)
{
    const uint32_t total = p->engine->task_count;
    uint32_t *tasks = mts_arena_zero(&p->scratch, total, sizeof *tasks);
    uint32_t *each = mts_arena_zero(&p->scratch, total, sizeof *each);
    uint32_t count = 0;
    *bytes = 0;
    if (tasks == NULL || each == NULL) {
        return short_of_memory(p);
    }
    for (uint32_t t = 0; t < total; t++) {
        if (shares_weights(p) || family_of[t] != number) {
            each[count] = count;
            tasks[count++] = t;
        }
    }
    engine_trial trial = {0};
    const mts_code code = count == 0 ? MTS_CODE_OK : try_tasks(p, tasks, count, each, &trial);
    *bytes = trial.weights;
    return code;
}

static mts_code plan_family(family *f, uint64_t fixed, uint64_t budget, uint32_t *groups,
                            mts_group_result *result)
{
    *result = (mts_group_result){.group_of = groups};
    const mts_group_request request = {.task_count = f->count,
                                       .uniform = f->uniform,
                                       .fixed_bytes = fixed,
                                       .budget = budget,
                                       .cost = family_cost,
                                       .context = f,
                                       .allocator = f->p->engine->allocator};
    return mts_group_plan(&request, result, f->p->error);
}

/*
 * Plans a family; the model of the arena is an interpolation, so the plan is made and its real peak checked:
 * what it exceeds the budget by is taken off the budget of the next attempt.
 */
static mts_code settle_family(family *f, uint64_t fixed, uint32_t *groups, mts_group_result *result)
{
    const uint64_t budget = f->p->engine->options.memory_budget;
    uint64_t tightened = budget;
    mts_code code = MTS_CODE_OK;
    for (int attempt = 0; attempt < RETRIES; attempt++) {
        engine_trial trial = {0};
        code = plan_family(f, fixed, tightened, groups, result);
        code = code != MTS_CODE_OK ? code : try_tasks(f->p, f->tasks, f->count, groups, &trial);
        if (code != MTS_CODE_OK) {
            return code;
        }
        const uint64_t peak = f->p->previous->stats.peak_bytes;
        if (budget == 0 || peak <= budget) {
            return MTS_CODE_OK;
        }
        tightened = tightened > peak - budget ? tightened - (peak - budget) : 1;
    }
    return mts_fail(
        f->p->error, MTS_CODE_LIMIT,
        "no plan keeps the memory budget of %llu bytes; the smallest that can be met is about %llu",
        (unsigned long long)budget, (unsigned long long)result->smallest_peak);
}

static mts_code group_family(prober *p, const uint32_t *family_of, uint32_t number, uint64_t fixed,
                             uint32_t *group_of, uint32_t *group_count)
{
    family f;
    mts_code code = open_family(&f, p, family_of, number);
    uint32_t *groups = mts_arena_zero(&p->scratch, p->engine->task_count, sizeof *groups);
    if (code == MTS_CODE_OK && groups == NULL) {
        code = short_of_memory(p);
    }
    mts_group_result result = {.group_count = 1};
    if (code == MTS_CODE_OK && (f.count > 1 || p->engine->options.memory_budget != 0)) {
        code = f.uniform ? MTS_CODE_OK : measure_alone(&f);
        code = code != MTS_CODE_OK ? code : measure_sizes(&f);
        code = code != MTS_CODE_OK ? code : settle_family(&f, fixed, groups, &result);
    }
    if (code != MTS_CODE_OK) {
        return code;
    }
    for (uint32_t i = 0; i < f.count; i++) {
        group_of[f.tasks[i]] = *group_count + groups[i];
    }
    *group_count += result.group_count;
    p->engine->stats.predicted_ms += result.latency;
    return MTS_CODE_OK;
}

mts_code mts_engine_group(mts_engine *engine, const mts_graph *const *graphs, uint32_t *group_of,
                          uint32_t *group_count, mts_error *error)
{
    prober p = {.engine = engine, .graphs = graphs, .error = error};
    mts_arena_init(&p.scratch, engine->allocator);
    uint32_t families = 0;
    uint64_t fixed = 0;
    uint32_t *family_of = mts_arena_zero(&p.scratch, engine->task_count, sizeof *family_of);
    mts_code code = family_of == NULL ? short_of_memory(&p) : MTS_CODE_OK;
    if (code == MTS_CODE_OK) {
        code = mts_graph_families(graphs, engine->task_count, engine->allocator, family_of, &families, error);
    }
    *group_count = 0;
    for (uint32_t i = 0; code == MTS_CODE_OK && i < families; i++) {
        const bool known = i > 0 && shares_weights(&p);
        code = known ? MTS_CODE_OK : fixed_bytes(&p, family_of, i, &fixed);
        code = code != MTS_CODE_OK ? code : group_family(&p, family_of, i, fixed, group_of, group_count);
    }
    mts_engine_destroy(&p.previous);
    mts_arena_release(&p.scratch);
    return code;
}
