/*
 * shares.c: values and weight blocks by the set of tasks that need them. Equal sets are one
 * share, so that a family of many tasks has few of them.
 */
#include "partition/shares.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"

typedef struct sharing {
    const mts_units *units;
    uint32_t words;   /* of a set of tasks */
    uint32_t *values; /* [number][word]: the tasks that compute it */
    uint32_t *blocks; /* [block][word]: the tasks that read it */
    /* The sets that differ, one after another, of value_count + block_count at most. */
    uint32_t *sets;
    uint32_t set_count;
    mts_map map;
    uint32_t *share_of_value, *share_of_block; /* MTS_NONE: nothing needs it */
} sharing;

typedef struct set_key {
    const uint32_t *set;
    uint32_t words;
} set_key;

static bool same_set(const void *entries, uint32_t index, const void *key)
{
    const set_key *wanted = key;
    const uint32_t *sets = entries;
    return memcmp(sets + (size_t)index * wanted->words, wanted->set, wanted->words * sizeof *sets) == 0;
}

static mts_status prepare(sharing *s, mts_arena *arena, mts_error *error)
{
    const size_t values = s->units->value_count;
    const size_t blocks = s->units->archive->block_count;
    s->words = (s->units->task_count + 31) / 32;
    s->values = mts_arena_zero(arena, values * s->words, sizeof *s->values);
    s->blocks = mts_arena_zero(arena, blocks * s->words, sizeof *s->blocks);
    s->sets = mts_arena_zero(arena, (values + blocks) * s->words, sizeof *s->sets);
    s->share_of_value = mts_arena_zero(arena, values, sizeof *s->share_of_value);
    s->share_of_block = mts_arena_zero(arena, blocks, sizeof *s->share_of_block);
    mts_map_init_arena(&s->map, arena);
    return s->values && s->blocks && s->sets && s->share_of_value && s->share_of_block &&
                   mts_map_reserve(&s->map, values + blocks)
               ? MTS_STATUS_OK
               : mts_fail_memory(error);
}

static void mark_node(sharing *s, uint32_t task, const mts_node *node)
{
    const mts_graph *graph = mts_units_graph(s->units, task);
    const uint32_t bit = 1u << task % 32;
    s->values[(size_t)s->units->number_of[task][node->output] * s->words + task / 32] |= bit;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const mts_value *value = node->inputs[i] != MTS_NONE ? &graph->values[node->inputs[i]] : NULL;
        for (uint32_t b = 0; value && value->kind == MTS_VALUE_CONST && b < value->block_count; b++) {
            const uint32_t block = value->blocks[b].block;
            if (block < s->units->archive->block_count) {
                s->blocks[(size_t)block * s->words + task / 32] |= bit;
            }
        }
    }
}

/* The share of a set of tasks. */
static uint32_t share_of(sharing *s, const uint32_t *set)
{
    const set_key key = {set, s->words};
    const uint64_t hash = mts_hash(set, s->words * sizeof *set, 0);
    const uint32_t found = mts_map_find(&s->map, hash, same_set, s->sets, &key);
    if (found != MTS_MAP_NONE) {
        return found;
    }
    memcpy(s->sets + (size_t)s->set_count * s->words, set, s->words * sizeof *set);
    (void)mts_map_add(&s->map, hash, s->set_count); /* there is room */
    return s->set_count++;
}

static void find_shares(sharing *s, const uint32_t *none)
{
    for (uint32_t t = 0; t < s->units->task_count; t++) {
        const mts_graph *graph = mts_units_graph(s->units, t);
        for (uint32_t n = 0; n < graph->node_count; n++) {
            mark_node(s, t, &graph->nodes[n]);
        }
    }
    for (uint32_t v = 0; v < s->units->value_count; v++) {
        const uint32_t *set = s->values + (size_t)v * s->words;
        const bool used = memcmp(set, none, s->words * sizeof *set) != 0;
        s->share_of_value[v] = used ? share_of(s, set) : MTS_NONE;
    }
    for (uint32_t b = 0; b < s->units->archive->block_count; b++) {
        const uint32_t *set = s->blocks + (size_t)b * s->words;
        const bool used = memcmp(set, none, s->words * sizeof *set) != 0;
        s->share_of_block[b] = used ? share_of(s, set) : MTS_NONE;
    }
}

static void add_costs(const sharing *s, const mts_device_costs *costs, uint32_t device_count, double *ms,
                      uint64_t *memory)
{
    const mts_units *u = s->units;
    for (uint32_t unit = 0; unit < u->count; unit++) {
        const uint32_t made = u->makes.first[unit + 1] - u->makes.first[unit];
        for (uint32_t i = u->makes.first[unit]; i < u->makes.first[unit + 1]; i++) {
            const uint32_t share = s->share_of_value[u->makes.items[i]];
            for (uint32_t d = 0; d < device_count; d++) {
                ms[(size_t)d * s->set_count + share] += costs[d].unit_ms[unit] / made;
            }
        }
    }
    for (uint32_t b = 0; b < u->archive->block_count; b++) {
        if (s->share_of_block[b] != MTS_NONE) {
            memory[s->share_of_block[b]] += mts_units_block_bytes(u, b);
        }
    }
}

/* Each item's shares. */
static mts_status list_items(const sharing *s, mts_arena *arena, mts_balance *out, mts_error *error)
{
    uint32_t *first = mts_arena_zero(arena, (size_t)out->items + 1, sizeof *first);
    uint32_t *list = mts_arena_zero(arena, (size_t)out->items * s->set_count, sizeof *list);
    if (!first || !list) {
        return mts_fail_memory(error);
    }
    uint32_t used = 0;
    for (uint32_t t = 0; t < out->items; t++) {
        for (uint32_t share = 0; share < s->set_count; share++) {
            if ((s->sets[(size_t)share * s->words + t / 32] >> t % 32 & 1u) != 0) {
                list[used++] = share;
            }
        }
        first[t + 1] = used;
    }
    out->first = first;
    out->list = list;
    return MTS_STATUS_OK;
}

mts_status mts_shares_make(const mts_units *units, const mts_device_costs *costs, uint32_t device_count,
                           mts_arena *arena, mts_balance *out, mts_error *error)
{
    sharing s = {.units = units};
    mts_status status = prepare(&s, arena, error);
    const uint32_t *none = status == MTS_STATUS_OK ? mts_arena_zero(arena, s.words, sizeof *none) : NULL;
    if (!none) {
        return mts_fail_memory(error);
    }
    find_shares(&s, none);
    double *ms = mts_arena_zero(arena, (size_t)device_count * s.set_count, sizeof *ms);
    uint64_t *memory = mts_arena_zero(arena, s.set_count, sizeof *memory);
    if (!ms || !memory) {
        return mts_fail_memory(error);
    }
    add_costs(&s, costs, device_count, ms, memory);
    out->items = units->task_count;
    out->devices = device_count;
    out->shares = s.set_count;
    out->ms = ms;
    out->memory = memory;
    return list_items(&s, arena, out, error);
}
