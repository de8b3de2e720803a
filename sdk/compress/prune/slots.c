/*
 * slots.c: which groups of which tasks are decided on together (choose.h): each by
 * itself, or, along the rows of aligned families, those that correspond.
 */
#include <string.h>

#include "compress/prune/choose.h"
#include "compress/prune/prune.h"
#include "graph/align.h"

/* Tasks that share one target. */
typedef struct set {
    mts_prune_task **tasks;
    uint32_t count;
    const mtsz_prune_options *options;
    mts_arena *arena;
    uint32_t *first;  /* [task]: number of its first group */
    uint32_t *parent; /* [group of all tasks]: union-find */
    uint32_t groups;
} set;

static uint32_t find(const set *s, uint32_t group)
{
    while (s->parent[group] != group) {
        s->parent[group] = s->parent[s->parent[group]];
        group = s->parent[group];
    }
    return group;
}

static bool number_groups(set *s)
{
    s->first = mts_arena_zero(s->arena, (size_t)s->count + 1, sizeof(*s->first));
    for (uint32_t t = 0; s->first && t < s->count; t++) {
        s->first[t] = s->groups;
        s->groups += s->tasks[t]->channels.group_count;
    }
    s->parent = mts_arena_zero(s->arena, s->groups, sizeof(*s->parent));
    for (uint32_t g = 0; s->parent && g < s->groups; g++) {
        s->parent[g] = g;
    }
    return s->first && s->parent;
}

/* The removable group that a node makes, or NONE. */
static uint32_t group_of(const mts_prune_task *task, uint32_t node)
{
    const mts_graph *graph = task->task->graph;
    if (node == MTS_NONE || graph->nodes[node].op != MTS_OP_CONV) {
        return MTS_NONE;
    }
    const uint32_t g = task->channels.group_of[graph->nodes[node].output];
    return g != MTS_NONE && task->removable[g] ? g : MTS_NONE;
}

/* Ties the groups of a row to that of the first task of as many channels. */
static void tie_row(set *s, const uint32_t *nodes)
{
    for (uint32_t a = 0; a < s->count; a++) {
        const uint32_t x = group_of(s->tasks[a], nodes[a]);
        for (uint32_t b = a + 1; x != MTS_NONE && b < s->count; b++) {
            const uint32_t y = group_of(s->tasks[b], nodes[b]);
            if (y != MTS_NONE &&
                s->tasks[a]->channels.groups[x].channels == s->tasks[b]->channels.groups[y].channels) {
                s->parent[find(s, s->first[b] + y)] = find(s, s->first[a] + x);
            }
        }
    }
}

static mts_status tie_groups(set *s, mts_error *error)
{
    const mts_graph **graphs = mts_arena_zero(s->arena, s->count, sizeof(*graphs));
    mts_alignment rows = {0};
    if (!graphs) {
        return mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < s->count; t++) {
        graphs[t] = s->tasks[t]->task->graph;
    }
    const mts_status status = mts_graph_align(graphs, s->count, s->arena, &rows, error);
    for (uint32_t r = 0; r < rows.row_count && status == MTS_STATUS_OK; r++) {
        tie_row(s, rows.nodes + (size_t)r * s->count);
    }
    return status;
}

/* Adds what a group's task says of its channels. */
static void add_member(const set *s, uint32_t task, uint32_t group, mts_choose_slot *slot, double *importance,
                       mts_choose_member *members)
{
    for (uint32_t c = 0; c < slot->channels; c++) {
        importance[c] += s->tasks[task]->importance[group][c];
    }
    members[slot->member_count++] = (mts_choose_member){.task = task, .group = group};
}

static bool fill_slot(const set *s, uint32_t root, mts_choose_slot *slot)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < s->count; t++) {
        for (uint32_t g = 0; g < s->tasks[t]->channels.group_count; g++) {
            if (find(s, s->first[t] + g) == root) {
                slot->channels = s->tasks[t]->channels.groups[g].channels;
                count++;
            }
        }
    }
    double *importance = mts_arena_zero(s->arena, slot->channels, sizeof(*importance));
    mts_choose_member *members = mts_arena_zero(s->arena, count, sizeof(*members));
    if (!importance || !members) {
        return false;
    }
    for (uint32_t t = 0; t < s->count; t++) {
        for (uint32_t g = 0; g < s->tasks[t]->channels.group_count; g++) {
            if (find(s, s->first[t] + g) == root) {
                add_member(s, t, g, slot, importance, members);
            }
        }
    }
    for (uint32_t c = 0; c < slot->channels; c++) {
        importance[c] /= count;
    }
    slot->importance = importance;
    slot->members = members;
    return true;
}

static mts_choose_slot *make_slots(const set *s, uint32_t *count)
{
    mts_choose_slot *slots = mts_arena_zero(s->arena, s->groups, sizeof(*slots));
    bool done = slots;
    for (uint32_t t = 0; done && t < s->count; t++) {
        for (uint32_t g = 0; done && g < s->tasks[t]->channels.group_count; g++) {
            const uint32_t number = s->first[t] + g;
            if (s->tasks[t]->removable[g] && find(s, number) == number) {
                done = fill_slot(s, number, &slots[(*count)++]);
            }
        }
    }
    return done ? slots : NULL;
}

static mts_status choose_set(set *s, mts_error *error)
{
    mts_choose_problem problem = {.task_count = s->count,
                                  .target = s->options->target,
                                  .ratio = s->options->ratio,
                                  .round = s->options->round};
    mts_cost *costs = mts_arena_zero(s->arena, s->count, sizeof(*costs));
    bool ***keep = NULL;
    if (!costs || !number_groups(s)) {
        return mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < s->count; t++) {
        costs[t] = s->tasks[t]->cost;
    }
    mts_status status = s->count > 1 ? tie_groups(s, error) : MTS_STATUS_OK;
    if (status == MTS_STATUS_OK) {
        problem.costs = costs;
        problem.slots = make_slots(s, &problem.slot_count);
        status = problem.slots ? mts_choose(&problem, s->arena, &keep, error) : mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < s->count && status == MTS_STATUS_OK; t++) {
        s->tasks[t]->keep = keep[t];
    }
    return status == MTS_STATUS_OK ? status
                                   : mts_fail_prefix(error, status, "task '%s'", s->tasks[0]->task->name);
}

mts_status mts_prune_choose(mts_prune_task *tasks, uint32_t count, const mtsz_prune_options *options,
                            mts_arena *arena, mts_error *error)
{
    const mts_graph **graphs = mts_arena_zero(arena, count, sizeof(*graphs));
    uint32_t *family = mts_arena_zero(arena, count, sizeof(*family));
    mts_prune_task **members = mts_arena_zero(arena, count, sizeof(mts_prune_task *));
    uint32_t families = count;
    if (!graphs || !family || !members) {
        return mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < count; t++) {
        graphs[t] = tasks[t].task->graph;
        family[t] = t;
    }
    mts_status status = options->together
                            ? mts_graph_families(graphs, count, arena->allocator, family, &families, error)
                            : MTS_STATUS_OK;
    for (uint32_t f = 0; f < families && status == MTS_STATUS_OK; f++) {
        set s = {.tasks = members, .options = options, .arena = arena};
        for (uint32_t t = 0; t < count; t++) {
            if (family[t] == f) {
                members[s.count++] = &tasks[t];
            }
        }
        status = choose_set(&s, error);
    }
    return status;
}
