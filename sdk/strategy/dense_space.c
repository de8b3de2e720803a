/*
 * dense_space.c: stitched channels of every entry of the channel map.
 *
 * One pass over the entries gives each class of entries its channels, where a class first
 * appears: a convolution merges rows of its tasks, a concatenation and a flattening
 * derive theirs from their inputs. A later convolution of the class (a residual, a
 * depthwise filter) may contradict what was merged: then those channels stay unmerged and
 * the pass is made again. With every channel unmerged it always fits, so this ends.
 */
#include "strategy/dense_work.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"

/* A row of a weight block, and the stitched channel that other tasks may merge theirs
   into. */
typedef struct candidate {
    uint32_t block, row, place;
} candidate;

/* The rows of a node that could be merged. */
typedef struct candidates {
    candidate *items;
    mts_map map;
} candidates;

/* The group has its channels already: a channel that contradicts an earlier task is set
   unmerged. */
static mts_status check_rows(mts_dense_space *s, const mts_dense_site *c)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 1; t < c->tasks; t++) {
        const uint32_t channels = mts_channel_map_channels(s->map, t, c->out);
        for (uint32_t i = 0; status == MTS_STATUS_OK && i < channels; i++) {
            if (mts_dense_contradiction(c, t, c->row_of[t][i], c->to->pos[t][i]) != MTS_NONE) {
                status = mts_dense_separate(s, c->node, c->out, t, i);
            }
        }
    }
    return status;
}

static bool same_row(const void *items, uint32_t index, const void *wanted)
{
    const candidate *a = (const candidate *)items + index;
    const candidate *b = wanted;
    return a->block == b->block && a->row == b->row;
}

static uint64_t hash_row(const candidate *row)
{
    const uint32_t words[2] = {row->block, row->row};
    return mts_hash(words, sizeof words, 0);
}

static bool candidates_open(mts_dense_space *s, const mts_dense_site *c, candidates *table)
{
    size_t rows = 0;
    for (uint32_t t = 0; t < c->tasks; t++) {
        for (uint32_t b = 0; b < c->weights[t]->block_count; b++) {
            rows += c->weights[t]->blocks[b].out_count;
        }
    }
    mts_map_init_arena(&table->map, s->pass);
    table->items = mts_arena_zero(s->pass, rows, sizeof *table->items);
    return table->items && mts_map_reserve(&table->map, rows);
}

static bool covers(const mts_block_ref *ref, uint32_t row)
{
    return ref->block != MTS_NONE && row - ref->out_first < ref->out_count;
}

/* The stitched channel that a row may join, or MTS_NONE. */
static uint32_t find_partner(const mts_dense_site *c, const candidates *table, uint32_t t, uint32_t row)
{
    for (uint32_t b = 0; b < c->weights[t]->block_count; b++) {
        const mts_block_ref *ref = &c->weights[t]->blocks[b];
        if (!covers(ref, row)) {
            continue;
        }
        const candidate wanted = {.block = ref->block, .row = row - ref->out_first};
        const uint32_t known = mts_map_find(&table->map, hash_row(&wanted), same_row, table->items, &wanted);
        if (known == MTS_MAP_NONE) {
            continue;
        }
        const uint32_t place = table->items[known].place;
        if (c->to->at[(size_t)place * c->tasks + t] == MTS_NONE &&
            mts_dense_contradiction(c, t, row, place) == MTS_NONE) {
            return place;
        }
    }
    return MTS_NONE;
}

static void offer(const mts_dense_site *c, candidates *table, uint32_t t, uint32_t row, uint32_t place)
{
    for (uint32_t b = 0; b < c->weights[t]->block_count; b++) {
        const mts_block_ref *ref = &c->weights[t]->blocks[b];
        if (!covers(ref, row)) {
            continue;
        }
        const candidate fresh = {.block = ref->block, .row = row - ref->out_first, .place = place};
        const uint64_t hash = hash_row(&fresh);
        if (mts_map_find(&table->map, hash, same_row, table->items, &fresh) == MTS_MAP_NONE) {
            const uint32_t index = (uint32_t)table->map.count;
            table->items[index] = fresh;
            (void)mts_map_add(&table->map, hash, index); /* reserved */
        }
    }
}

static mts_status merge_rows(mts_dense_space *s, mts_dense_site *c)
{
    candidates table;
    if (!mts_dense_group_open(s, c->to, c->out, mts_channel_map_channels(s->map, 0, c->out) + 1) ||
        !candidates_open(s, c, &table)) {
        return mts_dense_short(s);
    }
    for (uint32_t t = 0; t < c->tasks; t++) {
        const uint32_t channels = mts_channel_map_channels(s->map, t, c->out);
        for (uint32_t i = 0; i < channels; i++) {
            const uint32_t row = c->row_of[t][i];
            const bool unmerged = mts_dense_is_unmerged(s, c->out, t, i);
            uint32_t place = unmerged ? MTS_NONE : find_partner(c, &table, t, row);
            if (place == MTS_NONE) {
                place = c->to->total;
                if (!mts_dense_group_reserve(s, c->to)) {
                    return mts_dense_short(s);
                }
                c->to->total++;
            }
            mts_dense_group_put(s, c->to, t, i, place);
            if (!unmerged) {
                offer(c, &table, t, row, place);
            }
        }
    }
    return MTS_STATUS_OK;
}

static mts_status place_conv(mts_dense_space *s, uint32_t node, bool depthwise)
{
    mts_dense_site c;
    mts_status status = mts_dense_site_open(s, &c, node, depthwise);
    MTS_TRY(status, c.to->set ? check_rows(s, &c) : merge_rows(s, &c));
    return status;
}

/* ---- channels that follow from others ---- */

static mts_status place_input(mts_dense_space *s, uint32_t entry)
{
    mts_dense_group *g = mts_dense_group_of(s, entry);
    const uint32_t channels = mts_channel_map_channels(s->map, 0, entry);
    if (g->set) {
        return MTS_STATUS_OK; /* of an earlier input, in the same order */
    }
    if (!mts_dense_group_open(s, g, entry, channels)) {
        return mts_dense_short(s);
    }
    g->total = channels;
    for (uint32_t t = 0; t < s->map->task_count; t++) {
        for (uint32_t c = 0; c < channels; c++) {
            mts_dense_group_put(s, g, t, c, c);
        }
    }
    return MTS_STATUS_OK;
}

/* Place of channel `channel` of a concatenation's or flattening's output. */
static uint32_t derived_place(const mts_dense_space *s, uint32_t node, uint32_t task, uint32_t channel)
{
    const mts_channel_map *map = s->map;
    const mts_propagation *traits = &map->traits[node];
    uint32_t entry = mts_channel_map_input(map, task, node, 0);
    if (traits->pass == MTS_CHANNELS_REPEATED) {
        return mts_dense_group_of(s, entry)->pos[task][channel / traits->factor] * traits->factor +
               channel % traits->factor;
    }
    uint32_t before = 0;
    for (uint32_t i = 0; channel >= mts_channel_map_channels(map, task, entry);) {
        channel -= mts_channel_map_channels(map, task, entry);
        before += mts_dense_group_of(s, entry)->total;
        entry = mts_channel_map_input(map, task, node, ++i);
    }
    return before + mts_dense_group_of(s, entry)->pos[task][channel];
}

static uint32_t derived_total(const mts_dense_space *s, uint32_t node)
{
    const mts_channel_map *map = s->map;
    uint32_t total = 0;
    if (map->traits[node].pass == MTS_CHANNELS_REPEATED) {
        return mts_dense_group_of(s, mts_channel_map_input(map, 0, node, 0))->total *
               map->traits[node].factor;
    }
    for (uint32_t i = 0; i < map->graphs[0]->nodes[node].input_count; i++) {
        total += mts_dense_group_of(s, mts_channel_map_input(map, 0, node, i))->total;
    }
    return total;
}

static mts_status place_derived(mts_dense_space *s, uint32_t node)
{
    const uint32_t entry = s->map->input_count + node;
    const uint32_t total = derived_total(s, node);
    mts_dense_group *g = mts_dense_group_of(s, entry);
    const bool given = g->set;
    if (!given && !mts_dense_group_open(s, g, entry, total)) {
        return mts_dense_short(s);
    }
    bool same = !given || g->total == total;
    g->total = total;
    for (uint32_t t = 0; t < s->map->task_count; t++) {
        const uint32_t channels = mts_channel_map_channels(s->map, t, entry);
        for (uint32_t c = 0; same && c < channels; c++) {
            const uint32_t place = derived_place(s, node, t, c);
            same = !given || g->pos[t][c] == place;
            if (!given) {
                mts_dense_group_put(s, g, t, c, place);
            }
        }
    }
    return same ? MTS_STATUS_OK
                : mts_dense_refuse(s, node,
                                   "its result is added to one whose channels are stitched in another order");
}

static mts_status place_node(mts_dense_space *s, uint32_t node)
{
    const mts_propagation *traits = &s->map->traits[node];
#ifndef MTS_SMALL
    if (mts_dense_goes_apart(s, node)) {
        return mts_dense_place_apart(s, node);
    }
#endif
    switch (traits->pass) {
    case MTS_CHANNELS_MIXED:
        return place_conv(s, node, false);
    case MTS_CHANNELS_KEPT:
        return s->map->graphs[0]->nodes[node].op == MTS_OP_CONV ? place_conv(s, node, true) : MTS_STATUS_OK;
    case MTS_CHANNELS_JOINED:
    case MTS_CHANNELS_REPEATED:
        return place_derived(s, node);
#ifndef MTS_SMALL
    case MTS_CHANNELS_GROUPED:
        return mts_dense_place_grouped(s, node);
    default:
        return mts_dense_place_sets(s, node);
#else
    default:
        return mts_dense_refuse(s, node, traits->reason);
#endif
    }
}

static mts_status run_pass(mts_dense_space *s)
{
    const mts_channel_map *map = s->map;
    mts_status status = MTS_STATUS_OK;
    s->again = false;
    s->groups = mts_arena_zero(s->pass, map->entry_count, sizeof *s->groups);
#ifndef MTS_SMALL
    memset(s->apart, 0, map->entry_count * sizeof *s->apart);
#endif
    if (!s->groups) {
        return mts_dense_short(s);
    }
    for (uint32_t w = 0; status == MTS_STATUS_OK && w < map->entry_count; w++) {
        status = w < map->input_count ? place_input(s, w) : place_node(s, w - map->input_count);
    }
    return status;
}

/* Copies what the last pass found out of its arena. */
static mts_status keep_places(mts_dense_space *s, mts_dense_place *places)
{
    const mts_channel_map *map = s->map;
    for (uint32_t w = 0; w < map->entry_count; w++) {
        const mts_dense_group *g = mts_dense_group_of(s, w);
        if (mts_channel_map_root(map, w) != w) {
            places[w] = places[mts_channel_map_root(map, w)];
            continue;
        }
        places[w].total = g->total;
        places[w].pos = mts_arena_zero(s->keep, map->task_count, sizeof *places[w].pos);
        for (uint32_t t = 0; places[w].pos && t < map->task_count; t++) {
            const uint32_t channels = mts_channel_map_channels(map, t, w);
            places[w].pos[t] = mts_arena_zero(s->keep, channels, sizeof **places[w].pos);
            if (!places[w].pos[t]) {
                return mts_dense_short(s);
            }
            memcpy(places[w].pos[t], g->pos[t], channels * sizeof **g->pos);
        }
        if (!places[w].pos) {
            return mts_dense_short(s);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_dense_places(const mts_channel_map *map, mts_arena *arena, mts_dense_place **places,
                            bool **apart, mts_error *error)
{
    mts_dense_space s = {.map = map, .keep = arena, .error = error};
    *places = mts_arena_zero(arena, map->entry_count, sizeof **places);
    s.unmerged = mts_arena_zero(arena, map->entry_count, sizeof *s.unmerged);
#ifdef MTS_SMALL
    *apart = NULL;
    if (!*places || !s.unmerged) {
#else
    *apart = s.apart = mts_arena_zero(arena, map->entry_count, sizeof *s.apart);
    if (!*places || !s.unmerged || !s.apart) {
#endif
        return mts_dense_short(&s);
    }
    mts_status status = MTS_STATUS_OK;
    bool more = true;
    while (more) {
        mts_arena pass;
        mts_arena_init(&pass, arena->allocator);
        s.pass = &pass;
        status = run_pass(&s);
        more = status == MTS_STATUS_OK && s.again;
        if (status == MTS_STATUS_OK && !more) {
            status = keep_places(&s, *places);
        }
        mts_arena_release(&pass);
    }
    return status;
}
