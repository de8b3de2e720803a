/*
 * class_model.c: the latency and memory of sets of a class's tasks: measured for a few
 * sets, predicted for the others. Not responsible for which groups are wanted
 * (grouping.c).
 *
 * A class whose tasks have one structure is measured at a few sizes; the others are
 * interpolated. Otherwise a set's latency is that of plan/cost.c, corrected by its tasks'
 * own measured latencies.
 */
#include "tune/class_model.h"

#include <math.h>
#include <string.h>

#include "platform/os/os.h"
#include "tune/sample.h"

enum { ALONE_MOST = 16, CALIBRATIONS = ALONE_MOST + 8 };

bool mts_class_in_time(const task_class *c)
{
    return mts_os_clock_ns() < c->until;
}

/* Shared blocks lie in one pool for all groups, so a grouping changes the arena only. */
static bool shares_weights(const mts_planning *p)
{
    return p->options.strategy == MTS_STRATEGY_COMPACT;
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

/* 1, 2, 3, 4, 6, 8, 12, 16, 24, ... and the class's size */
static uint32_t next_size(uint32_t size, uint32_t count)
{
    uint32_t next = size < 4 ? size + 1 : (size & (size - 1)) == 0 ? size / 2 * 3 : size / 3 * 4;
    return size < count && next > count ? count : next;
}

/* Runs some tasks of the class as one group; they are given by their index in it. */
static mts_status run_set(task_class *c, const uint32_t *indices, uint32_t count, mts_planning_sample *sample)
{
    mts_planning *p = c->p;
    mts_session_stats stats = {0};
    uint32_t *positions = mts_arena_zero(&p->arena, count, sizeof *positions);
    if (!positions) {
        return mts_planning_memory(p);
    }
    for (uint32_t i = 0; i < count; i++) {
        positions[i] = c->tasks[indices[i]];
    }
    *sample = (mts_planning_sample){.of_class = c->number, .tasks = count};
    const mts_sample_request request = {.positions = positions,
                                        .count = count,
                                        .slice_bytes = p->decision.slice_bytes,
                                        .configs = p->decision.configs};
    const mts_status status = mts_sample_run(p, &request, &stats, &sample->latency);
    sample->arena = stats.activation_bytes;
    sample->weights = stats.weight_bytes + stats.workspace_bytes;
    return status;
}

static void interpolate(task_class *c, uint32_t from, uint32_t to)
{
    for (uint32_t n = from + 1; n < to; n++) {
        const double at = (double)(n - from) / (double)(to - from);
        c->latency[n] = c->latency[from] + at * (c->latency[to] - c->latency[from]);
        c->weights[n] = c->weights[from] + at * (c->weights[to] - c->weights[from]);
        c->arena[n] = c->arena[from] + (uint64_t)(at * (double)(c->arena[to] - c->arena[from]));
    }
}

/* Groups of more than `size` tasks do not fit the device. */
static void exclude_beyond(task_class *c, uint32_t size)
{
    for (uint32_t n = size + 1; n <= c->count; n++) {
        c->latency[n] = INFINITY;
        c->weights[n] = c->weights[size];
        c->arena[n] = c->arena[size];
    }
}

/* Measures the first 1, 2, 3, ... tasks together; the largest first, whose kernels the
   others share. */
static mts_status measure_sizes(task_class *c)
{
    mts_planning *p = c->p;
    uint32_t *indices = mts_arena_zero(&p->arena, c->count, sizeof *indices);
    mts_status status = indices ? MTS_STATUS_OK : mts_planning_memory(p);
    mts_planning_sample whole = {0};
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < c->count; i++) {
        indices[i] = i;
    }
    MTS_TRY(status, run_set(c, indices, c->count, &whole));
    status = c->count > 1 && mts_sample_is_recoverable(status) ? MTS_STATUS_OK : status;
    uint32_t before = 0;
    for (uint32_t size = 1; status == MTS_STATUS_OK && size <= c->count; size = next_size(size, c->count)) {
        mts_planning_sample sample = whole;
        size = before > 0 && !mts_class_in_time(c) ? c->count : size;
        if (size < c->count || whole.latency <= 0.0) {
            status = run_set(c, indices, size, &sample);
        }
        if (mts_sample_is_recoverable(status) && size > 1) {
            exclude_beyond(c, before);
            return MTS_STATUS_OK;
        }
        if (status == MTS_STATUS_OK) {
            c->latency[size] = sample.modelled = sample.latency;
            c->weights[size] = (double)sample.weights;
            c->arena[size] = sample.arena;
            interpolate(c, before, size);
            before = size;
            status = mts_planning_add_sample(p, &sample);
        }
    }
    return status;
}

/* Which inputs hold equal data, as the engine's ports decide. */
static uint32_t **find_slots(task_class *c)
{
    mts_planning *p = c->p;
    uint32_t **slots = mts_arena_zero(&p->arena, c->count, sizeof *slots);
    uint32_t fresh = 0;
    for (uint32_t t = 0; slots && t < c->count; t++) {
        const uint32_t task = p->tasks[c->tasks[t]];
        const uint32_t inputs = p->graphs[c->tasks[t]]->input_count;
        slots[t] = mts_arena_zero(&p->arena, inputs, sizeof **slots);
        for (uint32_t i = 0; slots[t] && i < inputs; i++) {
            slots[t][i] = fresh++;
            for (uint32_t k = 0; !p->options.separate_inputs && k < t; k++) {
                if (mts_archive_same_input(p->archive, task, p->tasks[c->tasks[k]], i)) {
                    slots[t][i] = slots[k][i];
                    break;
                }
            }
        }
        if (!slots[t]) {
            return NULL;
        }
    }
    return slots;
}

static mts_status make_table(task_class *c)
{
    mts_planning *p = c->p;
    const mts_graph **graphs = mts_arena_zero(&p->arena, c->count, sizeof *graphs);
    uint32_t *one_group = mts_arena_zero(&p->arena, c->count, sizeof *one_group);
    uint32_t **slots = find_slots(c);
    const uint32_t **constant_slots = mts_arena_zero(&p->arena, c->count, sizeof *constant_slots);
    if (!graphs || !one_group || !slots || !constant_slots) {
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
    mts_status status = mts_stitch(&request, &p->arena, &stitched, p->error);
    if (status == MTS_STATUS_OK && c->count <= MTS_GROUP_EXACT_MOST) {
        c->sets = mts_arena_zero(&p->arena, (size_t)1 << c->count, sizeof *c->sets);
        if (!c->sets) {
            return mts_planning_memory(p);
        }
    }
    MTS_TRY(status, mts_cost_table_make(stitched, p->options.strategy, &p->arena, &c->table, p->error));
    return status;
}

/* Terms of a set; looked up where there are few sets. */
static mts_cost_set terms_of(const task_class *c, const uint32_t *indices, uint32_t count)
{
    mts_cost_set set;
    uint32_t which = 0;
    if (!c->sets) {
        mts_cost_of(c->table, indices, count, &set);
        return set;
    }
    for (uint32_t i = 0; i < count; i++) {
        which |= 1u << indices[i];
    }
    if (c->sets[which].term[MTS_COST_LAUNCHES] <= 0.0) {
        mts_cost_of(c->table, indices, count, &c->sets[which]);
    }
    return c->sets[which];
}

void mts_class_fit(task_class *c)
{
    mts_cost_fit(c->samples, c->sample_count, &c->model);
    for (uint32_t i = 0; i < c->count; i++) {
        const mts_cost_set set = terms_of(c, &i, 1);
        c->alone_model[i] = mts_cost_predict(&c->model, &set);
    }
}

static mts_status sample_set(task_class *c, const uint32_t *indices, uint32_t count, bool must)
{
    mts_planning_sample measured = {0};
    if (c->sample_count > 0 && !mts_class_in_time(c)) {
        return MTS_STATUS_OK;
    }
    mts_status status = run_set(c, indices, count, &measured);
    if (status != MTS_STATUS_OK) {
        return !must && mts_sample_is_recoverable(status) ? MTS_STATUS_OK : status;
    }
    mts_cost_sample *sample = &c->samples[c->sample_count++];
    sample->ms = measured.latency;
    sample->set = terms_of(c, indices, count);
    if (count == 1) {
        c->alone[indices[0]] = measured.latency;
        c->alone_weights[indices[0]] = (double)measured.weights;
        c->alone_arena[indices[0]] = (double)measured.arena;
    }
    return mts_planning_add_sample(c->p, &measured);
}

/* Every `step`-th task from `first` on. */
static mts_status sample_some(task_class *c, uint32_t first, uint32_t step, uint32_t most)
{
    uint32_t *indices = mts_arena_zero(&c->p->arena, c->count, sizeof *indices);
    uint32_t count = 0;
    if (!indices) {
        return mts_planning_memory(c->p);
    }
    for (uint32_t i = first; i < c->count && count < most; i += step) {
        indices[count++] = i;
    }
    return count > 1 ? sample_set(c, indices, count, false) : MTS_STATUS_OK;
}

/* All tasks together first, whose kernels the others share; then each alone, pairs,
   halves. */
static mts_status sample_sets(task_class *c)
{
    const uint32_t n = c->count;
    const uint32_t step = (n + ALONE_MOST - 1) / ALONE_MOST;
    /* Sets for classes of so many tasks: first task, step, tasks at most. */
    const uint32_t sets[][4] = {{3, 0, 1, 2}, {3, n - 2, 1, 2}, {5, 0, 2, n},
                                {5, 1, 2, n}, {6, 0, 1, n / 2}, {6, n / 2, 1, n}};
    mts_status status = make_table(c);
    MTS_TRY(status, sample_some(c, 0, 1, n));
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < n; i += step) {
        status = sample_set(c, &i, 1, true);
    }
    for (size_t i = 0; status == MTS_STATUS_OK && i < sizeof sets / sizeof sets[0]; i++) {
        if (n >= sets[i][0]) {
            status = sample_some(c, sets[i][1], sets[i][2], sets[i][3]);
        }
    }
    if (status == MTS_STATUS_OK) {
        mts_class_fit(c);
    }
    return status;
}

/* Tasks that were not run alone count as the model says. */
static double predict_set(const task_class *c, const uint32_t *indices, uint32_t count)
{
    if (c->uniform) {
        return c->latency[count];
    }
    double measured = 0.0;
    double modelled = 0.0;
    const mts_cost_set set = terms_of(c, indices, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t t = indices[i];
        measured += c->alone[t] > 0.0 ? c->alone[t] : c->alone_model[t];
        modelled += c->alone_model[t];
    }
    const double predicted = mts_cost_predict(&c->model, &set);
    return modelled > 0.0 ? predicted * measured / modelled : predicted;
}

/* The indices of one group of a plan, in c->members; returns how many. */
static uint32_t find_group(const task_class *c, const uint32_t *groups, uint32_t group)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        if (groups[i] == group) {
            c->members[count++] = i;
        }
    }
    return count;
}

mts_status mts_class_open(task_class *c, mts_planning *p, uint32_t number, uint32_t samples)
{
    const size_t total = p->task_count;
    *c = (task_class){.p = p, .number = number, .uniform = true};
    c->tasks = mts_arena_zero(&p->arena, total, sizeof *c->tasks);
    c->members = mts_arena_zero(&p->arena, total, sizeof *c->members);
    c->alone = mts_arena_zero(&p->arena, total, sizeof *c->alone);
    c->alone_weights = mts_arena_zero(&p->arena, total, sizeof *c->alone_weights);
    c->alone_arena = mts_arena_zero(&p->arena, total, sizeof *c->alone_arena);
    c->alone_model = mts_arena_zero(&p->arena, total, sizeof *c->alone_model);
    c->latency = mts_arena_zero(&p->arena, total + 1, sizeof *c->latency);
    c->weights = mts_arena_zero(&p->arena, total + 1, sizeof *c->weights);
    c->arena = mts_arena_zero(&p->arena, total + 1, sizeof *c->arena);
    c->sample_most = CALIBRATIONS + samples;
    c->samples = mts_arena_zero(&p->arena, c->sample_most, sizeof *c->samples);
    if (!c->tasks || !c->members || !c->alone || !c->alone_weights || !c->alone_arena || !c->alone_model ||
        !c->latency || !c->weights || !c->arena || !c->samples) {
        return mts_planning_memory(p);
    }
    for (uint32_t t = 0; t < p->task_count; t++) {
        if (p->class_of[t] == number) {
            c->tasks[c->count++] = t;
            c->uniform = c->uniform && same_structure(p->graphs[c->tasks[0]], p->graphs[t]);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_class_calibrate(task_class *c)
{
    return c->uniform ? measure_sizes(c) : sample_sets(c);
}

double mts_class_predict(const task_class *c, const uint32_t *groups, uint32_t group_count)
{
    double ms = 0.0;
    for (uint32_t g = 0; g < group_count; g++) {
        const uint32_t count = find_group(c, groups, g);
        ms += count > 0 ? predict_set(c, c->members, count) : 0.0;
    }
    return ms;
}

void mts_class_cost(const task_class *c, const uint32_t *indices, uint32_t count, mts_group_cost *cost)
{
    double arena = (double)c->arena[count];
    for (uint32_t i = 0; !c->uniform && i < count; i++) {
        arena += c->alone_arena[indices[i]];
    }
    *cost = (mts_group_cost){.latency = predict_set(c, indices, count), .arena = (uint64_t)arena};
    if (c->uniform && !shares_weights(c->p)) {
        cost->weights = (uint64_t)c->weights[count];
    }
}

uint64_t mts_class_fixed_bytes(const task_class *c)
{
    double bytes = 0.0;
    for (uint32_t i = 0; !shares_weights(c->p) && i < c->count; i++) {
        bytes += c->alone_weights[i]; /* 0 where the class is uniform */
    }
    return (uint64_t)bytes;
}

void mts_class_learn(task_class *c, const uint32_t *groups, uint32_t group_count, double ms)
{
    if (c->uniform || c->sample_count == c->sample_most) {
        return;
    }
    mts_cost_sample *sample = &c->samples[c->sample_count++];
    *sample = (mts_cost_sample){.ms = ms};
    for (uint32_t g = 0; g < group_count; g++) {
        const uint32_t count = find_group(c, groups, g);
        const mts_cost_set set = terms_of(c, c->members, count);
        for (int k = 0; k < MTS_COST_TERMS; k++) {
            sample->set.term[k] += set.term[k];
        }
    }
}
