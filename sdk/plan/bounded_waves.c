/*
 * bounded_waves.c: the beam search. Not responsible for where storages lie.
 */
#include "plan/bounded_waves.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum {
    WIDTH = 32,     /* states that a wave keeps */
    REFUSALS = 256, /* states of a wave that cannot end; then it keeps those that it has */
    ORDERS = 4,     /* in which nodes of a program are taken into a wave */
    PREFIXES = 4    /* waves of so few nodes are tried beside the largest that fits */
};

/* States are ranked by the sum over what has run of a power of the waves that had to follow:
   low powers count nodes, high ones the longest chains. */
static const uint32_t powers[] = {1, 2, 4};

/* What has run. */
typedef struct state {
    uint32_t *waits; /* per node: predecessors that have not run; MTS_NONE: it has */
    uint32_t *left;  /* per storage: nodes that touch it and have not run */
    uint64_t alive, time, hash;
    double rank;
    uint32_t step; /* the last one */
} state;

/* A state's next wave: picks[first .. first + count). */
typedef struct candidate {
    uint32_t parent, first, count;
    uint64_t alive, time, hash;
    double rank;
} candidate;

/* A wave of a state that was kept: nodes[first .. first + count), behind wave `before`. */
typedef struct taken {
    uint32_t before, first, count;
} taken;

typedef struct beam {
    const mts_wave_request *request;
    const mts_wave_memory *memory;
    mts_wave_fits fits;
    void *context;
    uint32_t count, program_count;
    uint32_t *program, *height, *origin; /* per node */
    uint32_t *touches;                   /* per storage: nodes that touch it */
    double *value;                       /* per node, of the power */
    state kept[2][WIDTH];
    uint32_t kept_count;
    uint64_t refused[REFUSALS]; /* hashes */
    uint32_t refusals;
    candidate *candidates;
    size_t candidate_count, candidate_room, pick_count, pick_room;
    uint32_t *picks;
    taken *steps;
    size_t step_count, step_room, node_count, node_room;
    uint32_t *nodes;
    /* Of one wave that is made. */
    uint32_t *ready, *stamp, *less, now;
    state trial;
    bool *begun; /* per node that is an origin */
    mts_wave_schedule offered;
    mts_arena *arena;
} beam;

/* ---- what stays ---- */

/* Dense numbers in order of appearance; a node without a program has its own. */
static void number_programs(beam *b, uint32_t *known)
{
    for (uint32_t i = 0; i < b->count; i++) {
        const uint32_t wanted = b->request->nodes[i].program;
        uint32_t at = 0;
        while (at < b->program_count && (known[at] != wanted || wanted == MTS_NONE)) {
            at++;
        }
        b->program_count += at == b->program_count ? 1 : 0;
        known[at] = wanted;
        b->program[i] = at;
    }
}

/* Heights; and of each node the first one that it comes behind: of a network the first. */
static void find_heights(beam *b)
{
    const mts_dependencies *after = b->request->after;
    for (uint32_t i = b->count; i-- > 0;) {
        b->height[i] = 1;
        b->origin[i] = i;
        for (uint32_t k = after->next_first[i]; k < after->next_first[i + 1]; k++) {
            const uint32_t above = b->height[after->next[k]] + 1;
            b->height[i] = above > b->height[i] ? above : b->height[i];
        }
    }
    for (uint32_t i = 0; i < b->count; i++) {
        for (uint32_t k = after->next_first[i]; k < after->next_first[i + 1]; k++) {
            uint32_t *next = &b->origin[after->next[k]];
            *next = b->origin[i] < *next ? b->origin[i] : *next;
        }
    }
}

static void find_values(beam *b, uint32_t power)
{
    for (uint32_t i = 0; i < b->count; i++) {
        b->value[i] = 1.0;
        for (uint32_t k = 0; k < power; k++) {
            b->value[i] *= b->height[i];
        }
    }
}

/* Of a node, the same in each search: sums of them tell sets of nodes apart. */
static uint64_t node_hash(uint32_t node)
{
    uint64_t x = (node + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static mts_status open_state(beam *b, state *s)
{
    s->waits = mts_arena_zero(b->arena, b->count, sizeof *s->waits);
    s->left = mts_arena_zero(b->arena, b->memory->storage_count, sizeof *s->left);
    return s->waits && s->left ? MTS_STATUS_OK : MTS_STATUS_OUT_OF_MEMORY;
}

static mts_status open(beam *b)
{
    const size_t count = b->count;
    const size_t storages = b->memory->storage_count;
    b->program = mts_arena_zero(b->arena, count, sizeof *b->program);
    b->height = mts_arena_zero(b->arena, count, sizeof *b->height);
    b->origin = mts_arena_zero(b->arena, count, sizeof *b->origin);
    b->value = mts_arena_zero(b->arena, count, sizeof *b->value);
    b->ready = mts_arena_zero(b->arena, count, sizeof *b->ready);
    b->begun = mts_arena_zero(b->arena, count, sizeof *b->begun);
    b->touches = mts_arena_zero(b->arena, storages, sizeof *b->touches);
    b->stamp = mts_arena_zero(b->arena, storages, sizeof *b->stamp);
    b->less = mts_arena_zero(b->arena, storages, sizeof *b->less);
    b->offered.order = mts_arena_zero(b->arena, count, sizeof *b->offered.order);
    b->offered.wave = mts_arena_zero(b->arena, count, sizeof *b->offered.wave);
    uint32_t *known = mts_arena_zero(b->arena, count, sizeof *known);
    bool ok = b->offered.order && b->offered.wave && b->program && b->height && b->origin && b->value &&
              b->ready && b->begun && b->touches && b->stamp && b->less && known &&
              open_state(b, &b->trial) == MTS_STATUS_OK;
    for (uint32_t i = 0; ok && i < WIDTH; i++) {
        ok = open_state(b, &b->kept[0][i]) == MTS_STATUS_OK && open_state(b, &b->kept[1][i]) == MTS_STATUS_OK;
    }
    if (!ok) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    number_programs(b, known);
    find_heights(b);
    for (uint32_t k = 0; k < b->memory->first[count]; k++) {
        b->touches[b->memory->touched[k]]++;
    }
    return MTS_STATUS_OK;
}

/* ---- a state and its nodes ---- */

static void copy_state(const beam *b, state *to, const state *from)
{
    uint32_t *waits = to->waits, *left = to->left;
    memcpy(waits, from->waits, b->count * sizeof *waits);
    memcpy(left, from->left, b->memory->storage_count * sizeof *left);
    *to = *from;
    to->waits = waits;
    to->left = left;
}

/* Storages that a node begins add to what lives. */
static void begin_node(const beam *b, state *s, uint32_t node)
{
    const mts_wave_memory *m = b->memory;
    for (uint32_t k = m->first[node]; k < m->first[node + 1]; k++) {
        const uint32_t storage = m->touched[k];
        s->alive += s->left[storage] == b->touches[storage] ? m->sizes[storage] : 0;
        s->left[storage]--;
    }
}

/* A node that begin_node was called for: what nothing else touches is free. */
static void end_node(const beam *b, state *s, uint32_t node)
{
    const mts_wave_memory *m = b->memory;
    const mts_dependencies *after = b->request->after;
    for (uint32_t k = m->first[node]; k < m->first[node + 1]; k++) {
        const uint32_t storage = m->touched[k];
        if (s->left[storage] == 0) {
            s->alive -= m->sizes[storage];
            s->left[storage] = MTS_NONE;
        }
    }
    for (uint32_t k = after->next_first[node]; k < after->next_first[node + 1]; k++) {
        s->waits[after->next[k]]--;
    }
    s->waits[node] = MTS_NONE;
}

/* Runs nodes one by one in their order, if `all` is false those of networks that have begun
   only. False: they do not fit. */
static bool run_rest(beam *b, state *s, bool all)
{
    bool fits = true;
    for (uint32_t i = 0; fits && i < b->count; i++) {
        if (s->waits[i] == 0 && (all || b->begun[b->origin[i]])) {
            begin_node(b, s, i);
            fits = s->alive <= b->memory->most;
            end_node(b, s, i);
        }
    }
    return fits;
}

/* Whether what is left fits node by node: networks that have begun first, or all in their
   order. */
static bool is_safe(beam *b, const state *from)
{
    memset(b->begun, 0, b->count * sizeof *b->begun);
    for (uint32_t i = 0; i < b->count; i++) {
        b->begun[b->origin[i]] = b->begun[b->origin[i]] || from->waits[i] == MTS_NONE;
    }
    copy_state(b, &b->trial, from);
    if (run_rest(b, &b->trial, false) && run_rest(b, &b->trial, true)) {
        return true;
    }
    copy_state(b, &b->trial, from);
    return run_rest(b, &b->trial, true);
}

/* ---- waves that a state may have next ---- */

/* What would live with a node besides, if its storages were in the wave of number
   b->now. */
static uint64_t growth(const beam *b, const state *s, uint32_t node)
{
    const mts_wave_memory *m = b->memory;
    uint64_t more = 0;
    for (uint32_t k = m->first[node]; k < m->first[node + 1]; k++) {
        const uint32_t storage = m->touched[k];
        const bool fresh = s->left[storage] == b->touches[storage] && b->stamp[storage] != b->now;
        more += fresh ? m->sizes[storage] : 0;
    }
    return more;
}

/* Takes a node into the wave; returns what is free behind it because of that. */
static uint64_t take(beam *b, const state *s, uint32_t node)
{
    const mts_wave_memory *m = b->memory;
    uint64_t freed = 0;
    for (uint32_t k = m->first[node]; k < m->first[node + 1]; k++) {
        const uint32_t storage = m->touched[k];
        b->less[storage] = b->stamp[storage] == b->now ? b->less[storage] + 1 : 1;
        b->stamp[storage] = b->now;
        freed += s->left[storage] == b->less[storage] ? m->sizes[storage] : 0;
    }
    return freed;
}

static mts_status add_candidate(beam *b, const candidate *c)
{
    void *array = b->candidates;
    if (!mts_arena_grow(b->arena, &array, &b->candidate_room, b->candidate_count + 1,
                        sizeof *b->candidates)) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    b->candidates = array;
    b->candidates[b->candidate_count++] = *c;
    return MTS_STATUS_OK;
}

/* The wave of ready nodes in their order, as far as they fit, and its short prefixes. */
static mts_status add_waves(beam *b, uint32_t parent, const state *s, const uint32_t *ready, uint32_t count)
{
    const mts_wave_device *device = &b->request->device;
    const uint32_t units = device->units > 0 ? device->units : 1;
    uint64_t held = s->alive, freed = 0, work = 0, tile = 0;
    candidate c = {.parent = parent,
                   .first = (uint32_t)b->pick_count,
                   .rank = s->rank,
                   .hash = s->hash,
                   .time = s->time};
    bool added = true;
    mts_status status = MTS_STATUS_OK;
    void *array = b->picks;
    if (!mts_arena_grow(b->arena, &array, &b->pick_room, b->pick_count + count, sizeof *b->picks)) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    b->picks = array;
    b->now++;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        const mts_wave_node *node = &b->request->nodes[ready[i]];
        const uint64_t more = growth(b, s, ready[i]);
        if (held + more > b->memory->most) {
            continue;
        }
        held += more;
        freed += take(b, s, ready[i]);
        work += node->cost;
        tile = node->tile > tile ? node->tile : tile;
        b->picks[b->pick_count++] = ready[i];
        c.count++;
        c.rank += b->value[ready[i]];
        c.hash += node_hash(ready[i]);
        c.alive = held - freed;
        const uint64_t shared = (work + units - 1) / units;
        c.time = s->time + device->launch + (shared > tile ? shared : tile);
        added = c.count <= PREFIXES;
        status = added ? add_candidate(b, &c) : MTS_STATUS_OK;
    }
    return status == MTS_STATUS_OK && !added ? add_candidate(b, &c) : status;
}

typedef struct keyed {
    uint64_t key;
    uint32_t node;
} keyed;

static int by_key(const void *left, const void *right)
{
    const keyed *a = left, *b = right;
    return mts_order(MTS_COMPARE(a->key, b->key), MTS_COMPARE(a->node, b->node));
}

/* In the order of the steps; the longest chains first; what has least left first; what
   takes least memory first. */
static void sort_ready(beam *b, const state *s, int order, keyed *ready, uint32_t count)
{
    b->now++;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t node = ready[i].node;
        ready[i].key = order == 0   ? 0
                       : order == 1 ? UINT32_MAX - b->height[node]
                       : order == 2 ? b->height[node]
                                    : growth(b, s, node);
    }
    qsort(ready, count, sizeof *ready, by_key);
}

static mts_status expand(beam *b, uint32_t parent, const state *s, keyed *ready)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t program = 0; status == MTS_STATUS_OK && program < b->program_count; program++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < b->count; i++) {
            if (s->waits[i] == 0 && b->program[i] == program) {
                ready[count++].node = i;
            }
        }
        for (int order = 0; status == MTS_STATUS_OK && count > 0 && order < (count > 1 ? ORDERS : 1);
             order++) {
            sort_ready(b, s, order, ready, count);
            for (uint32_t i = 0; i < count; i++) {
                b->ready[i] = ready[i].node;
            }
            status = add_waves(b, parent, s, b->ready, count);
        }
    }
    return status;
}

/* ---- the states that are kept ---- */

/* The furthest first, then what holds least. */
static int by_rank(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    const int rank = MTS_COMPARE(b->rank, a->rank);
    const int order =
        mts_order(rank, mts_order(MTS_COMPARE(a->time, b->time), MTS_COMPARE(a->alive, b->alive)));
    return mts_order(order, mts_order(MTS_COMPARE(a->parent, b->parent), MTS_COMPARE(a->first, b->first)));
}

/* Whether the same nodes were reached before in this wave, and kept or refused. */
static bool is_known(const beam *b, const state *kept, uint32_t count, uint64_t hash)
{
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        found = found || kept[i].hash == hash;
    }
    for (uint32_t i = 0; i < b->refusals; i++) {
        found = found || b->refused[i] == hash;
    }
    return found;
}

/* The state behind a candidate's wave. */
static void run_wave(const beam *b, const candidate *c, const state *from, state *to)
{
    copy_state(b, to, from);
    for (uint32_t i = 0; i < c->count; i++) {
        begin_node(b, to, b->picks[c->first + i]);
    }
    for (uint32_t i = 0; i < c->count; i++) {
        end_node(b, to, b->picks[c->first + i]);
    }
    to->time = c->time;
    to->hash = c->hash;
    to->rank = c->rank;
}

static mts_status keep_step(beam *b, const candidate *c, const state *from, state *to)
{
    void *steps = b->steps, *nodes = b->nodes;
    if (!mts_arena_grow(b->arena, &steps, &b->step_room, b->step_count + 1, sizeof *b->steps) ||
        !mts_arena_grow(b->arena, &nodes, &b->node_room, b->node_count + c->count, sizeof *b->nodes)) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    b->steps = steps;
    b->nodes = nodes;
    memcpy(b->nodes + b->node_count, b->picks + c->first, c->count * sizeof *b->nodes);
    b->steps[b->step_count] = (taken){from->step, (uint32_t)b->node_count, c->count};
    b->node_count += c->count;
    to->step = (uint32_t)b->step_count++;
    return MTS_STATUS_OK;
}

/* From the states of side `from` to those of the other one. */
static mts_status advance(beam *b, int from, keyed *ready)
{
    state *kept = b->kept[1 - from];
    uint32_t count = 0;
    mts_status status = MTS_STATUS_OK;
    b->candidate_count = b->pick_count = 0;
    b->refusals = 0;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < b->kept_count; i++) {
        status = expand(b, i, &b->kept[from][i], ready);
    }
    if (status == MTS_STATUS_OK && b->candidate_count > 0) {
        qsort(b->candidates, b->candidate_count, sizeof *b->candidates, by_rank);
    }
    for (size_t i = 0;
         status == MTS_STATUS_OK && i < b->candidate_count && count < WIDTH && b->refusals < REFUSALS; i++) {
        const candidate *c = &b->candidates[i];
        if (is_known(b, kept, count, c->hash)) {
            continue;
        }
        run_wave(b, c, &b->kept[from][c->parent], &kept[count]);
        if (is_safe(b, &kept[count])) {
            status = keep_step(b, c, &b->kept[from][c->parent], &kept[count]);
            count++;
        } else {
            b->refused[b->refusals++] = c->hash;
        }
    }
    b->kept_count = count;
    return status;
}

static void restart(beam *b)
{
    state *s = &b->kept[0][0];
    memcpy(s->waits, b->request->after->waits, b->count * sizeof *s->waits);
    memcpy(s->left, b->touches, b->memory->storage_count * sizeof *s->left);
    s->alive = s->time = s->hash = 0;
    s->rank = 0.0;
    s->step = MTS_NONE;
    b->kept_count = 1;
    b->step_count = b->node_count = 0;
}

static void write_schedule(const beam *b, const state *last, uint32_t waves, mts_wave_schedule *out)
{
    uint32_t end = b->count, wave = waves;
    for (uint32_t step = last->step; step != MTS_NONE; step = b->steps[step].before) {
        const taken *t = &b->steps[step];
        wave--;
        end -= t->count;
        for (uint32_t i = 0; i < t->count; i++) {
            out->order[end + i] = b->nodes[t->first + i];
            out->wave[b->nodes[t->first + i]] = wave;
        }
    }
    out->count = b->count;
    out->waves = waves;
    out->time = last->time;
}

static bool is_complete(const beam *b, const state *s)
{
    uint32_t ran = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        ran += s->waits[i] == MTS_NONE ? 1 : 0;
    }
    return ran == b->count;
}

/* Offers the states of a side that are complete; true: one was taken. */
static bool offer(beam *b, int side, uint32_t waves, mts_wave_schedule *out)
{
    bool found = false;
    for (uint32_t i = 0; i < b->kept_count; i++) {
        const state *s = &b->kept[side][i];
        if (!is_complete(b, s) || (out->waves > 0 && s->time >= out->time)) {
            continue;
        }
        write_schedule(b, s, waves, &b->offered);
        if (!b->fits || b->fits(b->context, &b->offered)) {
            write_schedule(b, s, waves, out);
            found = true;
        }
    }
    return found;
}

/* One search; the schedule is kept where it takes less time than the one in *out. */
static mts_status search(beam *b, keyed *ready, mts_wave_schedule *out)
{
    mts_status status = MTS_STATUS_OK;
    bool found = false;
    restart(b);
    b->kept_count = is_safe(b, &b->kept[0][0]) ? 1 : 0;
    for (uint32_t wave = 0; status == MTS_STATUS_OK && !found && b->kept_count > 0; wave++) {
        status = advance(b, wave % 2, ready);
        found = status == MTS_STATUS_OK && offer(b, 1 - wave % 2, wave + 1, out);
    }
    return status;
}

mts_status mts_bounded_waves_find(const mts_wave_request *request, const mts_wave_memory *memory,
                                  mts_wave_fits fits, void *context, mts_arena *arena, mts_wave_schedule *out,
                                  mts_error *error)
{
    beam b = {.request = request,
              .memory = memory,
              .fits = fits,
              .context = context,
              .count = request->after->count,
              .arena = arena};
    *out = (mts_wave_schedule){.count = b.count};
    out->order = mts_arena_zero(arena, b.count, sizeof *out->order);
    out->wave = mts_arena_zero(arena, b.count, sizeof *out->wave);
    keyed *ready = mts_arena_zero(arena, b.count, sizeof *ready);
    mts_status status = out->order && out->wave && ready ? open(&b) : MTS_STATUS_OUT_OF_MEMORY;
    for (size_t i = 0; status == MTS_STATUS_OK && b.count > 0 && b.count <= MTS_BOUNDED_WAVES_NODES &&
                       i < sizeof powers / sizeof powers[0];
         i++) {
        find_values(&b, powers[i]);
        status = search(&b, ready, out);
    }
    return status == MTS_STATUS_OK ? status : mts_fail_memory(error);
}
