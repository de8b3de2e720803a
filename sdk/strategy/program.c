/*
 * program.c: splits groups as the strategy needs and makes its graphs. Not responsible
 * for which tasks are grouped (grouping.c) nor for what a graph looks like (sdk/stitch).
 */
#include "strategy/program.h"

#include <stdio.h>

typedef struct programmer {
    const mts_graph *const *graphs;
    uint32_t count;
    mts_strategy strategy;
    mts_arena *arena;
    mts_program *out;
    mts_error *error;
} programmer;

/* Some tasks of one group. */
typedef struct part {
    uint32_t *tasks;
    uint32_t count;
} part;

typedef bool (*same_fn)(const mts_graph *a, const mts_graph *b);

static mts_status short_of_memory(const programmer *p)
{
    return mts_fail_memory(p->error);
}

static bool same_batch(const mts_graph *a, const mts_graph *b)
{
    const mts_shape none = {0};
    const mts_shape *x = a->input_count > 0 ? &a->inputs[0].shape : &none;
    const mts_shape *y = b->input_count > 0 ? &b->inputs[0].shape : &none;
    return (x->rank == 0) == (y->rank == 0) && (x->rank == 0 || x->dims[0] == y->dims[0]);
}

/* Moves the first task and those that are like it from `rest` into *out. */
static mts_status split(const programmer *p, part *rest, same_fn same, part *out)
{
    const mts_graph *first = p->graphs[rest->tasks[0]];
    uint32_t left = 0;
    *out = (part){.tasks = mts_arena_zero(p->arena, rest->count, sizeof *out->tasks)};
    if (!out->tasks) {
        return short_of_memory(p);
    }
    for (uint32_t i = 0; i < rest->count; i++) {
        if (i == 0 || same(first, p->graphs[rest->tasks[i]])) {
            out->tasks[out->count++] = rest->tasks[i];
        } else {
            rest->tasks[left++] = rest->tasks[i];
        }
    }
    rest->count = left;
    return MTS_STATUS_OK;
}

static uint32_t add_graph(programmer *p, const mts_graph *graph, uint32_t lead)
{
    mts_program *out = p->out;
    out->graphs[out->graph_count] = graph;
    out->group_of[out->graph_count] = out->group_count;
    out->lead[out->graph_count] = lead;
    return out->graph_count++;
}

static mts_program_port *ports_of(const programmer *p, uint32_t graph, uint32_t count)
{
    mts_program_port *ports = mts_arena_zero(p->arena, count, sizeof *ports);
    for (uint32_t i = 0; ports && i < count; i++) {
        ports[i] = (mts_program_port){.graph = graph, .port = i};
    }
    return ports;
}

/*
 * A task whose ports are those of `graph`: its own, or a padded one. Where weights are
 * private, blocks that were cut for sharing would only cost time.
 */
static mts_status add_task(programmer *p, uint32_t task, const mts_graph *graph)
{
    if (p->strategy != MTS_STRATEGY_COMPACT) {
        const mts_status status = mts_dense_own(graph, p->arena, &graph, p->error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
    }
    const uint32_t index = add_graph(p, graph, task);
    p->out->task_group[task] = p->out->group_count;
    p->out->task_graph[task] = index;
    p->out->inputs[task] = ports_of(p, index, graph->input_count);
    p->out->outputs[task] = ports_of(p, index, graph->output_count);
    return p->out->inputs[task] && p->out->outputs[task] ? MTS_STATUS_OK : short_of_memory(p);
}

/* One group of tasks that keep their graphs. */
static mts_status add_plain(programmer *p, const part *tasks)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < tasks->count; i++) {
        status = add_task(p, tasks->tasks[i], p->graphs[tasks->tasks[i]]);
    }
    p->out->group_count++;
    return status;
}

static const mts_graph **graphs_of(const programmer *p, const part *tasks)
{
    const mts_graph **graphs = mts_arena_zero(p->arena, tasks->count, sizeof *graphs);
    for (uint32_t i = 0; graphs && i < tasks->count; i++) {
        graphs[i] = p->graphs[tasks->tasks[i]];
    }
    return graphs;
}

static mts_status add_padded(programmer *p, const part *tasks)
{
    const mts_graph **graphs = graphs_of(p, tasks);
    const mts_graph **padded = mts_arena_zero(p->arena, tasks->count, sizeof *padded);
    if (!graphs || !padded) {
        return short_of_memory(p);
    }
    mts_status status = mts_dense_widen(graphs, tasks->count, p->arena, padded, p->error);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < tasks->count; i++) {
        status = add_task(p, tasks->tasks[i], padded[i]);
    }
    return status;
}

/* netfuse: a group per batch; within it, tasks with the same nodes get equal widths. */
static mts_status add_netfuse(programmer *p, part *rest)
{
    mts_status status = MTS_STATUS_OK;
    while (status == MTS_STATUS_OK && rest->count > 0) {
        part group;
        part like;
        status = split(p, rest, same_batch, &group);
        while (status == MTS_STATUS_OK && group.count > 0) {
            status = split(p, &group, mts_dense_alike, &like);
            MTS_TRY(status, add_padded(p, &like));
        }
        p->out->group_count++;
    }
    return status;
}

static mts_status add_dense(programmer *p, const part *tasks, const mts_dense *dense)
{
    const uint32_t index = add_graph(p, dense->graph, tasks->tasks[0]);
    for (uint32_t i = 0; i < tasks->count; i++) {
        const uint32_t task = tasks->tasks[i];
        const mts_graph *graph = p->graphs[task];
        mts_program_port *inputs = ports_of(p, index, graph->input_count);
        mts_program_port *outputs = ports_of(p, index, graph->output_count);
        if (!inputs || !outputs) {
            return short_of_memory(p);
        }
        for (uint32_t k = 0; k < graph->input_count; k++) {
            inputs[k].port = dense->inputs[i][k].port;
            inputs[k].first = dense->inputs[i][k].first;
        }
        for (uint32_t k = 0; k < graph->output_count; k++) {
            outputs[k].port = dense->outputs[i][k].port;
            outputs[k].first = dense->outputs[i][k].first;
        }
        p->out->inputs[task] = inputs;
        p->out->outputs[task] = outputs;
        p->out->task_group[task] = p->out->group_count;
        p->out->task_graph[task] = index;
        p->out->copied[task] = true;
    }
    p->out->group_count++;
    return MTS_STATUS_OK;
}

static mts_status add_each(programmer *p, const part *tasks)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < tasks->count; i++) {
        const part one = {.tasks = &tasks->tasks[i], .count = 1};
        status = add_plain(p, &one);
    }
    return status;
}

/* mts: one dense graph for tasks with the same nodes; what cannot be stitched so runs
   alone. */
static mts_status add_mts(programmer *p, part *rest)
{
    mts_status status = MTS_STATUS_OK;
    while (status == MTS_STATUS_OK && rest->count > 0) {
        part like;
        status = split(p, rest, mts_dense_alike, &like);
        if (status != MTS_STATUS_OK || like.count == 1) {
            MTS_TRY(status, add_plain(p, &like));
            continue;
        }
        const mts_graph **graphs = graphs_of(p, &like);
        mts_dense dense;
        mts_error reason = {0};
        if (!graphs) {
            return short_of_memory(p);
        }
        status = mts_dense_stitch(graphs, like.count, p->arena, &dense, &reason);
        if (status == MTS_STATUS_OK) {
            status = add_dense(p, &like, &dense);
        } else if (status == MTS_STATUS_UNSUPPORTED) {
            (void)snprintf(p->out->note, sizeof p->out->note, "%.*s", (int)sizeof p->out->note - 1,
                           reason.text);
            status = add_each(p, &like);
        } else {
            status = mts_fail(p->error, status, "%s", reason.text);
        }
    }
    return status;
}

static mts_status add_group(programmer *p, part *tasks)
{
    return p->strategy == MTS_STRATEGY_NETFUSE ? add_netfuse(p, tasks)
           : p->strategy == MTS_STRATEGY_DENSE ? add_mts(p, tasks)
                                               : add_plain(p, tasks);
}

static bool allocate(const programmer *p)
{
    mts_program *out = p->out;
    out->graphs = mts_arena_zero(p->arena, p->count, sizeof *out->graphs);
    out->group_of = mts_arena_zero(p->arena, p->count, sizeof *out->group_of);
    out->lead = mts_arena_zero(p->arena, p->count, sizeof *out->lead);
    out->task_group = mts_arena_zero(p->arena, p->count, sizeof *out->task_group);
    out->task_graph = mts_arena_zero(p->arena, p->count, sizeof *out->task_graph);
    out->copied = mts_arena_zero(p->arena, p->count, sizeof *out->copied);
    out->inputs = mts_arena_zero(p->arena, p->count, sizeof *out->inputs);
    out->outputs = mts_arena_zero(p->arena, p->count, sizeof *out->outputs);
    return out->graphs && out->group_of && out->lead && out->task_group && out->task_graph && out->copied &&
           out->inputs && out->outputs;
}

mts_status mts_program_make(const mts_graph *const *graphs, uint32_t count, const uint32_t *group_of,
                            mts_strategy strategy, mts_arena *arena, mts_program *out, mts_error *error)
{
    programmer p = {
        .graphs = graphs, .count = count, .strategy = strategy, .arena = arena, .out = out, .error = error};
    *out = (mts_program){0};
    uint32_t groups = 0;
    for (uint32_t i = 0; i < count; i++) {
        groups = group_of[i] >= groups ? group_of[i] + 1 : groups;
    }
    part tasks = {.tasks = mts_arena_zero(arena, count, sizeof *tasks.tasks)};
    if (!tasks.tasks || !allocate(&p)) {
        return short_of_memory(&p);
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t g = 0; status == MTS_STATUS_OK && g < groups; g++) {
        tasks.count = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (group_of[i] == g) {
                tasks.tasks[tasks.count++] = i;
            }
        }
        status = tasks.count > 0 ? add_group(&p, &tasks) : MTS_STATUS_OK;
    }
    return status;
}
