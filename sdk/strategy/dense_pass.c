/*
 * dense_pass.c: what a pass over the entries (dense_work.h) is made of: groups of channels,
 * channels that may not be merged, rows of convolutions.
 */
#include "strategy/dense_work.h"

#include <string.h>

mts_status mts_dense_short(const mts_dense_space *s)
{
    return mts_fail_memory(s->error);
}

mts_status mts_dense_refuse(const mts_dense_space *s, uint32_t node, const char *reason)
{
    const mts_graph *graph = s->map->graphs[0];
    return mts_fail(s->error, MTS_STATUS_UNSUPPORTED, "task %s, layer %s: %s", graph->name,
                    mts_node_title(graph, &graph->nodes[node]), reason);
}

uint32_t mts_dense_channel(const mts_node *node, uint32_t row)
{
    return node->scatter ? node->scatter[row] : row;
}

mts_dense_group *mts_dense_group_of(const mts_dense_space *s, uint32_t entry)
{
    return &s->groups[mts_channel_map_root(s->map, entry)];
}

/* Gives a group its arrays, all channels without a place. */
bool mts_dense_group_open(mts_dense_space *s, mts_dense_group *g, uint32_t entry, uint32_t capacity)
{
    const uint32_t tasks = s->map->task_count;
    g->set = true;
    g->origin = entry;
    g->total = 0;
    g->capacity = capacity;
    g->pos = mts_arena_zero(s->pass, tasks, sizeof *g->pos);
    g->at = mts_arena_zero(s->pass, (size_t)capacity * tasks, sizeof *g->at);
    bool ok = g->pos && g->at;
    for (uint32_t t = 0; ok && t < tasks; t++) {
        const uint32_t channels = mts_channel_map_channels(s->map, t, entry);
        g->pos[t] = mts_arena_zero(s->pass, channels, sizeof **g->pos);
        ok = g->pos[t];
        if (ok) {
            memset(g->pos[t], 0xff, channels * sizeof **g->pos);
        }
    }
    if (ok) {
        memset(g->at, 0xff, (size_t)capacity * tasks * sizeof *g->at);
    }
    return ok;
}

bool mts_dense_group_reserve(mts_dense_space *s, mts_dense_group *g)
{
    const uint32_t tasks = s->map->task_count;
    if (g->total < g->capacity) {
        return true;
    }
    const size_t now = (size_t)g->capacity * tasks;
    uint32_t *at = mts_arena_zero(s->pass, now * 2, sizeof *at);
    if (!at) {
        return false;
    }
    memcpy(at, g->at, now * sizeof *at);
    memset(at + now, 0xff, now * sizeof *at);
    g->at = at;
    g->capacity *= 2;
    return true;
}

void mts_dense_group_put(const mts_dense_space *s, mts_dense_group *g, uint32_t task, uint32_t channel,
                         uint32_t place)
{
    g->pos[task][channel] = place;
    g->at[(size_t)place * s->map->task_count + task] = channel;
}

/* ---- channels that may not be merged ---- */

bool mts_dense_is_unmerged(const mts_dense_space *s, uint32_t entry, uint32_t task, uint32_t channel)
{
    uint8_t **unmerged = s->unmerged[mts_channel_map_root(s->map, entry)];
    return unmerged && unmerged[task][channel] != 0;
}

static mts_status set_unmerged(mts_dense_space *s, uint32_t entry, uint32_t task, uint32_t channel)
{
    const uint32_t root = mts_channel_map_root(s->map, entry);
    const uint32_t tasks = s->map->task_count;
    if (!s->unmerged[root]) {
        uint8_t **unmerged = mts_arena_zero(s->keep, tasks, sizeof *unmerged);
        for (uint32_t t = 0; unmerged && t < tasks; t++) {
            unmerged[t] = mts_arena_zero(s->keep, mts_channel_map_channels(s->map, t, root), 1);
            if (!unmerged[t]) {
                return mts_dense_short(s);
            }
        }
        s->unmerged[root] = unmerged;
    }
    if (!s->unmerged[root]) {
        return mts_dense_short(s);
    }
#ifdef MTS_SMALL
    s->again = true;
#else
    s->again = s->again || s->unmerged[root][task][channel] == 0;
#endif
    s->unmerged[root][task][channel] = 1;
    return MTS_STATUS_OK;
}

/* The input whose channels a node's are: of attention those of v. */
static uint32_t source_of(const mts_channel_map *map, uint32_t node)
{
#ifdef MTS_SMALL
    (void)map;
    (void)node;
    return 0;
#else
    return map->graphs[0]->nodes[node].op == MTS_OP_ATTENTION ? 2 : 0;
#endif
}

/* Sets a task's channel unmerged where its place comes from: behind concatenations and
   flattenings. */
mts_status mts_dense_separate(mts_dense_space *s, uint32_t node, uint32_t entry, uint32_t task,
                              uint32_t channel)
{
    const mts_channel_map *map = s->map;
    for (;;) {
        const uint32_t origin = mts_dense_group_of(s, entry)->origin;
        if (origin < map->input_count) {
            return mts_dense_refuse(
                s, node, "its filters differ between tasks where the channels are those of the input");
        }
        const uint32_t from = origin - map->input_count;
        if (map->traits[from].pass == MTS_CHANNELS_MIXED) {
            return set_unmerged(s, origin, task, channel);
        }
#ifndef MTS_SMALL
        if (s->apart[origin]) {
            return mts_dense_refuse(s, node, "its filters differ between tasks where channels coincide");
        }
#endif
        entry = mts_channel_map_input(map, task, from, source_of(map, from));
        if (mts_propagation_grouped(&map->traits[from])) { /* a channel that its convolution group reads */
            const uint64_t read = mts_channel_map_channels(map, task, entry);
            channel = (uint32_t)(channel * read / mts_channel_map_channels(map, task, origin));
            continue;
        }
        if (map->traits[from].pass == MTS_CHANNELS_REPEATED) {
            channel /= map->traits[from].factor;
            continue;
        }
        for (uint32_t i = 0; channel >= mts_channel_map_channels(map, task, entry);) {
            channel -= mts_channel_map_channels(map, task, entry);
            entry = mts_channel_map_input(map, task, from, ++i);
        }
    }
}

/* ---- rows of a convolution ---- */

static const mts_block_ref *block_at(const mts_value *weight, uint32_t row, uint32_t column)
{
    for (uint32_t i = 0; i + 1 < weight->block_count; i++) {
        const mts_block_ref *ref = &weight->blocks[i];
        if (row - ref->out_first < ref->out_count && column - ref->in_first < ref->in_count) {
            return ref;
        }
    }
    return &weight->blocks[weight->block_count - 1];
}

static const void *cell_at(const mts_value *weight, uint32_t row, uint32_t column, uint32_t inner)
{
    const mts_block_ref *ref = block_at(weight, row, column);
    const size_t cell = (size_t)(row - ref->out_first) * ref->in_count + (column - ref->in_first);
    return (const char *)ref->data + cell * inner * mts_type_size(weight->dtype);
}

/* Whether two tasks' filters, laid over each other in the stitched channels, differ
   somewhere. */
static bool contradict(const mts_dense_site *c, uint32_t t, uint32_t row, uint32_t u, uint32_t other)
{
    const mts_value *a = c->weights[t];
    const mts_value *b = c->weights[u];
    const size_t bytes = c->inner * mts_type_size(a->dtype);
    const uint32_t columns = (uint32_t)a->shape.dims[1];
    if (a->dtype != b->dtype) {
        return true;
    }
    for (uint32_t i = 0; i < columns; i++) {
        uint32_t k = i;
        if (c->from) {
            k = c->from->at[(size_t)c->from->pos[t][i] * c->tasks + u];
        }
        if (k == MTS_NONE) {
            continue;
        }
        const void *x = cell_at(a, row, i, c->inner);
        const void *y = cell_at(b, other, k, c->inner);
        if (x != y && memcmp(x, y, bytes) != 0) {
            return true;
        }
    }
    return false;
}

/* First task before t whose channel at `place` contradicts row `row` of task t; MTS_NONE
   if all agree. */
uint32_t mts_dense_contradiction(const mts_dense_site *c, uint32_t t, uint32_t row, uint32_t place)
{
    for (uint32_t u = 0; u < t; u++) {
        const uint32_t channel = c->to->at[(size_t)place * c->tasks + u];
        if (channel != MTS_NONE && contradict(c, t, row, u, c->row_of[u][channel])) {
            return u;
        }
    }
    return MTS_NONE;
}

mts_status mts_dense_site_open(mts_dense_space *s, mts_dense_site *c, uint32_t node, bool keeps)
{
    const mts_channel_map *map = s->map;
    const uint32_t out = map->input_count + node;
    *c = (mts_dense_site){
        .node = node, .out = out, .tasks = map->task_count, .to = mts_dense_group_of(s, out)};
    c->from = keeps ? NULL : mts_dense_group_of(s, mts_channel_map_input(map, 0, node, 0));
    c->weights = mts_arena_zero(s->pass, c->tasks, sizeof *c->weights);
    c->row_of = mts_arena_zero(s->pass, c->tasks, sizeof *c->row_of);
    if (!c->weights || !c->row_of) {
        return mts_dense_short(s);
    }
    for (uint32_t t = 0; t < c->tasks; t++) {
        const mts_node *n = &map->graphs[t]->nodes[node];
        uint32_t rows = 0;
        uint32_t columns = 0;
        c->weights[t] = mts_channel_map_constant(map, t, node, 1);
        mts_value_matrix(c->weights[t], &rows, &columns, &c->inner);
        c->row_of[t] = mts_arena_zero(s->pass, rows, sizeof **c->row_of);
        if (!c->row_of[t]) {
            return mts_dense_short(s);
        }
        for (uint32_t r = 0; r < rows; r++) {
            c->row_of[t][mts_dense_channel(n, r)] = r;
        }
    }
    return MTS_STATUS_OK;
}
