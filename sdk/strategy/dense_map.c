/*
 * dense_map.c: whether graphs run side by side node by node, and the traits of their
 * nodes.
 */
#include "strategy/dense_map.h"

#include "strategy/dense.h"

static const mts_value *operand(const mts_graph *graph, const mts_node *node, uint32_t input)
{
    return input < node->input_count && node->inputs[input] != MTS_NONE ? &graph->values[node->inputs[input]]
                                                                        : NULL;
}

mts_propagation mts_propagation_of(const mts_graph *graph, const mts_node *node)
{
    mts_propagation rule = mts_node_propagation(graph, node);
    if (node->op != MTS_OP_BINARY && graph->values[node->inputs[0]].kind == MTS_VALUE_CONST && !rule.reason) {
        rule.reason = "an operator on a constant";
    }
    return rule.reason ? (mts_propagation){.pass = MTS_CHANNELS_FIXED, .reason = rule.reason} : rule;
}

/* Where a value stands: input number, inputs + node number, or MTS_NONE for a
   constant. */
static uint32_t place_of(const mts_graph *graph, uint32_t value)
{
    const mts_value *v = &graph->values[value];
    if (v->kind == MTS_VALUE_NODE) {
        return graph->input_count + v->producer;
    }
    for (uint32_t i = 0; i < graph->input_count; i++) {
        if (graph->inputs[i].value == value) {
            return i;
        }
    }
    return MTS_NONE;
}

static bool same_but_width(const mts_shape *a, const mts_shape *b)
{
    if (a->rank != b->rank) {
        return false;
    }
    for (uint32_t i = 2; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i]) {
            return false;
        }
    }
    return true;
}

static bool same_wiring(const mts_graph *a, const mts_node *x, const mts_graph *b, const mts_node *y)
{
    const uint32_t most = x->input_count > y->input_count ? x->input_count : y->input_count;
    for (uint32_t i = 0; i < most; i++) {
        const uint32_t p =
            i < x->input_count && x->inputs[i] != MTS_NONE ? place_of(a, x->inputs[i]) : MTS_NONE;
        const uint32_t q =
            i < y->input_count && y->inputs[i] != MTS_NONE ? place_of(b, y->inputs[i]) : MTS_NONE;
        if (p != q) {
            return false;
        }
    }
    return same_but_width(&a->values[x->output].shape, &b->values[y->output].shape);
}

bool mts_dense_alike(const mts_graph *a, const mts_graph *b)
{
    if (a->node_count != b->node_count || a->input_count != b->input_count ||
        a->output_count != b->output_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->input_count; i++) {
        const mts_shape *x = &a->inputs[i].shape;
        const mts_shape *y = &b->inputs[i].shape;
        if (!same_but_width(x, y) || a->inputs[i].dtype != b->inputs[i].dtype ||
            (x->rank > 1 && x->dims[1] != y->dims[1])) {
            return false;
        }
    }
    for (uint32_t n = 0; n < a->node_count; n++) {
        const mts_node *x = &a->nodes[n];
        const mts_node *y = &b->nodes[n];
        if (!mts_node_alike(a, x, b, y) || !same_wiring(a, x, b, y)) {
            return false;
        }
        const mts_propagation p = mts_propagation_of(a, x);
        const mts_propagation q = mts_propagation_of(b, y);
        if (p.pass != q.pass || p.factor != q.factor) {
            return false;
        }
    }
    return true;
}

uint32_t mts_channel_map_root(const mts_channel_map *map, uint32_t entry)
{
    while (map->parent[entry] != entry) {
        map->parent[entry] = map->parent[map->parent[entry]];
        entry = map->parent[entry];
    }
    return entry;
}

static void tie(mts_channel_map *map, uint32_t a, uint32_t b)
{
    if (a != MTS_NONE && b != MTS_NONE) {
        const uint32_t x = mts_channel_map_root(map, a);
        const uint32_t y = mts_channel_map_root(map, b);
        map->parent[x > y ? x : y] = x > y ? y : x; /* the earliest entry stands for all */
    }
}

uint32_t mts_channel_map_input(const mts_channel_map *map, uint32_t task, uint32_t node, uint32_t input)
{
    const mts_node *n = &map->graphs[task]->nodes[node];
    return input < n->input_count && n->inputs[input] != MTS_NONE ? map->entry_of[task][n->inputs[input]]
                                                                  : MTS_NONE;
}

const mts_value *mts_channel_map_constant(const mts_channel_map *map, uint32_t task, uint32_t node,
                                          uint32_t input)
{
    const mts_graph *graph = map->graphs[task];
    const mts_value *v = operand(graph, &graph->nodes[node], input);
    return v && v->kind == MTS_VALUE_CONST ? v : NULL;
}

const mts_shape *mts_channel_map_shape(const mts_channel_map *map, uint32_t task, uint32_t entry)
{
    const mts_graph *graph = map->graphs[task];
    const uint32_t value =
        entry < map->input_count ? graph->inputs[entry].value : graph->nodes[entry - map->input_count].output;
    return &graph->values[value].shape;
}

uint32_t mts_channel_map_channels(const mts_channel_map *map, uint32_t task, uint32_t entry)
{
    const mts_shape *shape = mts_channel_map_shape(map, task, entry);
    return shape->rank > 1 ? (uint32_t)shape->dims[1] : 1;
}

static void tie_node(mts_channel_map *map, uint32_t n)
{
    const mts_node *node = &map->graphs[0]->nodes[n];
    const uint32_t out = map->input_count + n;
    if (map->traits[n].pass == MTS_CHANNELS_KEPT) {
        for (uint32_t i = 0; i < node->input_count; i++) {
            tie(map, out, mts_channel_map_input(map, 0, n, i));
        }
    } else if (map->traits[n].pass == MTS_CHANNELS_MIXED || mts_propagation_grouped(&map->traits[n])) {
        tie(map, out, mts_channel_map_input(map, 0, n, 4));
    }
}

mts_status mts_channel_map_create(mts_channel_map *map, const mts_graph *const *graphs, uint32_t count,
                                  mts_arena *arena, mts_error *error)
{
    const mts_graph *first = graphs[0];
    *map = (mts_channel_map){.graphs = graphs, .task_count = count, .input_count = first->input_count};
    map->entry_count = first->input_count + first->node_count;
    map->entry_of = mts_arena_zero(arena, count, sizeof *map->entry_of);
    map->parent = mts_arena_zero(arena, map->entry_count, sizeof *map->parent);
    map->traits = mts_arena_zero(arena, first->node_count, sizeof *map->traits);
    bool ok = map->entry_of && map->parent && map->traits;
    for (uint32_t t = 0; ok && t < count; t++) {
        map->entry_of[t] = mts_arena_zero(arena, graphs[t]->value_count, sizeof **map->entry_of);
        ok = map->entry_of[t];
        for (uint32_t v = 0; ok && v < graphs[t]->value_count; v++) {
            map->entry_of[t][v] = place_of(graphs[t], v);
        }
    }
    if (!ok) {
        return mts_fail_memory(error);
    }
    for (uint32_t w = 0; w < map->entry_count; w++) {
        map->parent[w] = w;
    }
    for (uint32_t n = 0; n < first->node_count; n++) {
        map->traits[n] = mts_propagation_of(first, &first->nodes[n]);
        tie_node(map, n);
    }
    return MTS_STATUS_OK;
}
