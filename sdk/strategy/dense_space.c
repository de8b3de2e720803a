/*
 * dense_space.c: stitched channels of every entry of the channel map.
 *
 * One pass over the entries gives each class of entries its channels, where a class first
 * appears: a convolution merges rows of its tasks, a concatenation and a flattening
 * derive theirs from their inputs. A later convolution of the class (a residual, a
 * depthwise filter) may contradict what was merged: then those channels stay unmerged and
 * the pass is made again. With every channel unmerged it always fits, so this ends.
 */
#include "strategy/dense_space.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"

typedef struct group {
    bool set;
    uint32_t origin; /* entry that set it */
    uint32_t total, capacity;
    uint32_t **pos; /* [task][channel] */
    uint32_t *at;   /* [stitched channel][task]: channel, or MTS_NONE */
} group;

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

typedef struct space {
    const mts_channel_map *map;
    mts_arena *pass; /* emptied after each pass */
    mts_arena *keep;
    group *groups;       /* per entry, used at roots */
    uint8_t ***unmerged; /* [root entry][task][channel]; NULL: all may be merged */
    bool again;
    mts_error *error;
} space;

/* A convolution of one pass: operands of every task. */
typedef struct site {
    uint32_t node, out, tasks;
    group *from, *to; /* from NULL: depthwise */
    const mts_value **weights;
    uint32_t **row_of; /* [task][output channel] */
    uint32_t inner;
} site;

static mts_status short_of_memory(const space *s)
{
    return mts_fail(s->error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory to stitch %u tasks",
                    s->map->task_count);
}

static mts_status refuse(const space *s, uint32_t node, const char *reason)
{
    const mts_graph *graph = s->map->graphs[0];
    return mts_fail(s->error, MTS_STATUS_UNSUPPORTED, "task %s, layer %s: %s", graph->name,
                    mts_node_title(graph, &graph->nodes[node]), reason);
}

uint32_t mts_dense_channel(const mts_node *node, uint32_t row)
{
    return node->scatter ? node->scatter[row] : row;
}

static group *group_of(const space *s, uint32_t entry)
{
    return &s->groups[mts_channel_map_root(s->map, entry)];
}

/* Gives a group its arrays, all channels without a place. */
static bool group_open(space *s, group *g, uint32_t entry, uint32_t capacity)
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

static bool group_reserve(space *s, group *g)
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

static void group_put(const space *s, group *g, uint32_t task, uint32_t channel, uint32_t place)
{
    g->pos[task][channel] = place;
    g->at[(size_t)place * s->map->task_count + task] = channel;
}

/* ---- channels that may not be merged ---- */

static bool is_unmerged(const space *s, uint32_t entry, uint32_t task, uint32_t channel)
{
    uint8_t **unmerged = s->unmerged[mts_channel_map_root(s->map, entry)];
    return unmerged && unmerged[task][channel] != 0;
}

static mts_status set_unmerged(space *s, uint32_t entry, uint32_t task, uint32_t channel)
{
    const uint32_t root = mts_channel_map_root(s->map, entry);
    const uint32_t tasks = s->map->task_count;
    if (!s->unmerged[root]) {
        uint8_t **unmerged = mts_arena_zero(s->keep, tasks, sizeof *unmerged);
        for (uint32_t t = 0; unmerged && t < tasks; t++) {
            unmerged[t] = mts_arena_zero(s->keep, mts_channel_map_channels(s->map, t, root), 1);
            if (!unmerged[t]) {
                return short_of_memory(s);
            }
        }
        s->unmerged[root] = unmerged;
    }
    if (!s->unmerged[root]) {
        return short_of_memory(s);
    }
    s->unmerged[root][task][channel] = 1;
    s->again = true;
    return MTS_STATUS_OK;
}

/* Sets a task's channel unmerged where its place comes from: behind concatenations and
   flattenings. */
static mts_status separate(space *s, uint32_t node, uint32_t entry, uint32_t task, uint32_t channel)
{
    const mts_channel_map *map = s->map;
    for (;;) {
        const uint32_t origin = group_of(s, entry)->origin;
        if (origin < map->input_count) {
            return refuse(s, node,
                          "its filters differ between tasks where the channels are those of the input");
        }
        const uint32_t from = origin - map->input_count;
        if (map->traits[from].pass == MTS_CHANNELS_MIXED) {
            return set_unmerged(s, origin, task, channel);
        }
        entry = mts_channel_map_input(map, task, from, 0);
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
static bool contradict(const site *c, uint32_t t, uint32_t row, uint32_t u, uint32_t other)
{
    const mts_value *a = c->weights[t];
    const mts_value *b = c->weights[u];
    const size_t bytes = c->inner * mts_type_size(a->dtype);
    const uint32_t columns = c->from ? (uint32_t)a->shape.dims[1] : 1;
    if (a->dtype != b->dtype) {
        return true;
    }
    for (uint32_t i = 0; i < columns; i++) {
        uint32_t k = 0;
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
static uint32_t find_contradiction(const site *c, uint32_t t, uint32_t row, uint32_t place)
{
    for (uint32_t u = 0; u < t; u++) {
        const uint32_t channel = c->to->at[(size_t)place * c->tasks + u];
        if (channel != MTS_NONE && contradict(c, t, row, u, c->row_of[u][channel])) {
            return u;
        }
    }
    return MTS_NONE;
}

static mts_status site_open(space *s, site *c, uint32_t node, bool depthwise)
{
    const mts_channel_map *map = s->map;
    const uint32_t out = map->input_count + node;
    *c = (site){.node = node, .out = out, .tasks = map->task_count, .to = group_of(s, out)};
    c->from = depthwise ? NULL : group_of(s, mts_channel_map_input(map, 0, node, 0));
    c->weights = mts_arena_zero(s->pass, c->tasks, sizeof *c->weights);
    c->row_of = mts_arena_zero(s->pass, c->tasks, sizeof *c->row_of);
    if (!c->weights || !c->row_of) {
        return short_of_memory(s);
    }
    for (uint32_t t = 0; t < c->tasks; t++) {
        const mts_node *n = &map->graphs[t]->nodes[node];
        uint32_t rows = 0;
        uint32_t columns = 0;
        c->weights[t] = mts_channel_map_constant(map, t, node, 1);
        mts_value_matrix(c->weights[t], &rows, &columns, &c->inner);
        c->row_of[t] = mts_arena_zero(s->pass, rows, sizeof **c->row_of);
        if (!c->row_of[t]) {
            return short_of_memory(s);
        }
        for (uint32_t r = 0; r < rows; r++) {
            c->row_of[t][mts_dense_channel(n, r)] = r;
        }
    }
    return MTS_STATUS_OK;
}

/* The group has its channels already: a channel that contradicts an earlier task is set
   unmerged. */
static mts_status check_rows(space *s, const site *c)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 1; t < c->tasks; t++) {
        const uint32_t channels = mts_channel_map_channels(s->map, t, c->out);
        for (uint32_t i = 0; status == MTS_STATUS_OK && i < channels; i++) {
            if (find_contradiction(c, t, c->row_of[t][i], c->to->pos[t][i]) != MTS_NONE) {
                status = separate(s, c->node, c->out, t, i);
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

static bool candidates_open(space *s, const site *c, candidates *table)
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
static uint32_t find_partner(const site *c, const candidates *table, uint32_t t, uint32_t row)
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
            find_contradiction(c, t, row, place) == MTS_NONE) {
            return place;
        }
    }
    return MTS_NONE;
}

static void offer(const site *c, candidates *table, uint32_t t, uint32_t row, uint32_t place)
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

static mts_status merge_rows(space *s, site *c)
{
    candidates table;
    if (!group_open(s, c->to, c->out, mts_channel_map_channels(s->map, 0, c->out) + 1) ||
        !candidates_open(s, c, &table)) {
        return short_of_memory(s);
    }
    for (uint32_t t = 0; t < c->tasks; t++) {
        const uint32_t channels = mts_channel_map_channels(s->map, t, c->out);
        for (uint32_t i = 0; i < channels; i++) {
            const uint32_t row = c->row_of[t][i];
            const bool unmerged = is_unmerged(s, c->out, t, i);
            uint32_t place = unmerged ? MTS_NONE : find_partner(c, &table, t, row);
            if (place == MTS_NONE) {
                place = c->to->total;
                if (!group_reserve(s, c->to)) {
                    return short_of_memory(s);
                }
                c->to->total++;
            }
            group_put(s, c->to, t, i, place);
            if (!unmerged) {
                offer(c, &table, t, row, place);
            }
        }
    }
    return MTS_STATUS_OK;
}

static mts_status place_conv(space *s, uint32_t node, bool depthwise)
{
    site c;
    mts_status status = site_open(s, &c, node, depthwise);
    MTS_TRY(status, c.to->set ? check_rows(s, &c) : merge_rows(s, &c));
    return status;
}

/* ---- channels that follow from others ---- */

static mts_status place_input(space *s, uint32_t entry)
{
    group *g = group_of(s, entry);
    const uint32_t channels = mts_channel_map_channels(s->map, 0, entry);
    if (g->set) {
        return MTS_STATUS_OK; /* of an earlier input, in the same order */
    }
    if (!group_open(s, g, entry, channels)) {
        return short_of_memory(s);
    }
    g->total = channels;
    for (uint32_t t = 0; t < s->map->task_count; t++) {
        for (uint32_t c = 0; c < channels; c++) {
            group_put(s, g, t, c, c);
        }
    }
    return MTS_STATUS_OK;
}

/* Place of channel `channel` of a concatenation's or flattening's output. */
static uint32_t derived_place(const space *s, uint32_t node, uint32_t task, uint32_t channel)
{
    const mts_channel_map *map = s->map;
    const mts_propagation *traits = &map->traits[node];
    uint32_t entry = mts_channel_map_input(map, task, node, 0);
    if (traits->pass == MTS_CHANNELS_REPEATED) {
        return group_of(s, entry)->pos[task][channel / traits->factor] * traits->factor +
               channel % traits->factor;
    }
    uint32_t before = 0;
    for (uint32_t i = 0; channel >= mts_channel_map_channels(map, task, entry);) {
        channel -= mts_channel_map_channels(map, task, entry);
        before += group_of(s, entry)->total;
        entry = mts_channel_map_input(map, task, node, ++i);
    }
    return before + group_of(s, entry)->pos[task][channel];
}

static uint32_t derived_total(const space *s, uint32_t node)
{
    const mts_channel_map *map = s->map;
    uint32_t total = 0;
    if (map->traits[node].pass == MTS_CHANNELS_REPEATED) {
        return group_of(s, mts_channel_map_input(map, 0, node, 0))->total * map->traits[node].factor;
    }
    for (uint32_t i = 0; i < map->graphs[0]->nodes[node].input_count; i++) {
        total += group_of(s, mts_channel_map_input(map, 0, node, i))->total;
    }
    return total;
}

static mts_status place_derived(space *s, uint32_t node)
{
    const uint32_t entry = s->map->input_count + node;
    const uint32_t total = derived_total(s, node);
    group *g = group_of(s, entry);
    const bool given = g->set;
    if (!given && !group_open(s, g, entry, total)) {
        return short_of_memory(s);
    }
    bool same = !given || g->total == total;
    g->total = total;
    for (uint32_t t = 0; t < s->map->task_count; t++) {
        const uint32_t channels = mts_channel_map_channels(s->map, t, entry);
        for (uint32_t c = 0; same && c < channels; c++) {
            const uint32_t place = derived_place(s, node, t, c);
            same = !given || g->pos[t][c] == place;
            if (!given) {
                group_put(s, g, t, c, place);
            }
        }
    }
    return same ? MTS_STATUS_OK
                : refuse(s, node, "its result is added to one whose channels are stitched in another order");
}

static mts_status place_node(space *s, uint32_t node)
{
    const mts_propagation *traits = &s->map->traits[node];
    switch (traits->pass) {
    case MTS_CHANNELS_MIXED:
        return place_conv(s, node, false);
    case MTS_CHANNELS_KEPT:
        return s->map->graphs[0]->nodes[node].op == MTS_OP_CONV ? place_conv(s, node, true) : MTS_STATUS_OK;
    case MTS_CHANNELS_JOINED:
    case MTS_CHANNELS_REPEATED:
        return place_derived(s, node);
    default:
        return refuse(s, node, traits->reason);
    }
}

static mts_status run_pass(space *s)
{
    const mts_channel_map *map = s->map;
    mts_status status = MTS_STATUS_OK;
    s->again = false;
    s->groups = mts_arena_zero(s->pass, map->entry_count, sizeof *s->groups);
    if (!s->groups) {
        return short_of_memory(s);
    }
    for (uint32_t w = 0; status == MTS_STATUS_OK && w < map->entry_count; w++) {
        status = w < map->input_count ? place_input(s, w) : place_node(s, w - map->input_count);
    }
    return status;
}

/* Copies what the last pass found out of its arena. */
static mts_status keep_places(space *s, mts_dense_place *places)
{
    const mts_channel_map *map = s->map;
    for (uint32_t w = 0; w < map->entry_count; w++) {
        const group *g = group_of(s, w);
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
                return short_of_memory(s);
            }
            memcpy(places[w].pos[t], g->pos[t], channels * sizeof **g->pos);
        }
        if (!places[w].pos) {
            return short_of_memory(s);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_dense_places(const mts_channel_map *map, mts_arena *arena, mts_dense_place **places,
                            mts_error *error)
{
    space s = {.map = map, .keep = arena, .error = error};
    *places = mts_arena_zero(arena, map->entry_count, sizeof **places);
    s.unmerged = mts_arena_zero(arena, map->entry_count, sizeof *s.unmerged);
    if (!*places || !s.unmerged) {
        return short_of_memory(&s);
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
