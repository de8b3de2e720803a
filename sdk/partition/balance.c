/*
 * balance.c: longest processing time first, then moves and exchanges; with few items
 * branch and bound from there.
 */
#include "partition/balance.h"

#include <math.h>
#include <string.h>

/* Shares and items that a search looks at: a second or less. Memory that no deal keeps would let it try
   all of devices ^ items. */
#define WORK_MOST ((uint64_t)1 << 27)

typedef struct deal {
    const mts_balance *b;
    uint32_t *order; /* items, the longest first */
    uint32_t *now;   /* [item] */
    uint32_t *uses;  /* [device][share]: items there that have it */
    double *alone;   /* [device][item] milliseconds; INFINITY: it cannot run there */
    double *load;    /* [device] */
    uint64_t *held;  /* [device] */
    uint32_t *best;  /* [item] */
    double best_ms;  /* INFINITY: no deal yet */
    uint64_t work;
} deal;

/* What one more item costs a device: the shares that it does not have yet. */
static double added_ms(const deal *d, uint32_t device, uint32_t item, uint64_t *bytes)
{
    const mts_balance *b = d->b;
    double ms = 0.0;
    *bytes = 0;
    for (uint32_t i = b->first[item]; i < b->first[item + 1]; i++) {
        const size_t share = b->list[i];
        if (d->uses[device * (size_t)b->shares + share] == 0) {
            ms += b->ms[device * (size_t)b->shares + share];
            *bytes += b->memory[share];
        }
    }
    return ms;
}

/* INFINITY: the device cannot run it, or has no memory for it. */
static double fits_ms(const deal *d, uint32_t device, uint32_t item)
{
    const uint64_t budget = d->b->budget[device];
    uint64_t bytes = 0;
    if (!isfinite(d->alone[(size_t)device * d->b->items + item])) {
        return INFINITY;
    }
    const double ms = added_ms(d, device, item, &bytes);
    return budget == 0 || d->held[device] + bytes <= budget ? ms : INFINITY;
}

static bool fits(const deal *d, uint32_t device, uint32_t item)
{
    return isfinite(fits_ms(d, device, item));
}

static void give(deal *d, uint32_t device, uint32_t item)
{
    const mts_balance *b = d->b;
    for (uint32_t i = b->first[item]; i < b->first[item + 1]; i++) {
        const size_t share = b->list[i];
        if (d->uses[device * (size_t)b->shares + share]++ == 0) {
            d->load[device] += b->ms[device * (size_t)b->shares + share];
            d->held[device] += b->memory[share];
        }
    }
    d->now[item] = device;
    d->work += b->first[item + 1] - b->first[item] + b->items;
}

static void take(deal *d, uint32_t item)
{
    const mts_balance *b = d->b;
    const uint32_t device = d->now[item];
    for (uint32_t i = b->first[item]; i < b->first[item + 1]; i++) {
        const size_t share = b->list[i];
        if (--d->uses[device * (size_t)b->shares + share] == 0) {
            d->load[device] -= b->ms[device * (size_t)b->shares + share];
            d->held[device] -= b->memory[share];
        }
    }
}

/* A device without items does not run. */
static double busiest(const deal *d)
{
    double most = 0.0;
    for (uint32_t i = 0; i < d->b->items; i++) {
        const uint32_t device = d->now[i];
        most = fmax(most, d->load[device] + d->b->run_ms[device]);
    }
    return most;
}

static void keep(deal *d)
{
    d->best_ms = busiest(d);
    memcpy(d->best, d->now, d->b->items * sizeof *d->best);
}

static double longest(const deal *d, uint32_t item)
{
    double most = 0.0;
    for (uint32_t device = 0; device < d->b->devices; device++) {
        const double ms = d->alone[(size_t)device * d->b->items + item];
        most = isfinite(ms) ? fmax(most, ms) : most;
    }
    return most;
}

static void sort_items(deal *d)
{
    for (uint32_t i = 0; i < d->b->items; i++) {
        uint32_t at = i;
        for (; at > 0 && longest(d, d->order[at - 1]) < longest(d, i); at--) {
            d->order[at] = d->order[at - 1];
        }
        d->order[at] = i;
    }
}

static bool deal_longest_first(deal *d)
{
    for (uint32_t i = 0; i < d->b->items; i++) {
        const uint32_t item = d->order[i];
        uint32_t best = UINT32_MAX;
        double ends = INFINITY;
        for (uint32_t device = 0; device < d->b->devices; device++) {
            const double end = d->load[device] + d->b->run_ms[device] + fits_ms(d, device, item);
            if (end < ends) {
                best = device;
                ends = end;
            }
        }
        if (best == UINT32_MAX) {
            return false;
        }
        give(d, best, item);
    }
    return true;
}

/* Moves one item to another device where that makes the deal better. */
static bool move_one(deal *d, uint32_t item)
{
    const uint32_t home = d->now[item];
    const double before = busiest(d);
    for (uint32_t device = 0; device < d->b->devices; device++) {
        take(d, item);
        const bool possible = device != home && fits(d, device, item);
        give(d, possible ? device : home, item);
        if (possible && busiest(d) < before * (1.0 - 1e-12)) {
            return true;
        }
        if (possible) {
            take(d, item);
            give(d, home, item);
        }
    }
    return false;
}

static bool exchange(deal *d, uint32_t a, uint32_t b)
{
    const uint32_t home[2] = {d->now[a], d->now[b]};
    const double before = busiest(d);
    if (home[0] == home[1]) {
        return false;
    }
    take(d, a);
    take(d, b);
    bool better = fits(d, home[1], a) && fits(d, home[0], b);
    if (better) {
        give(d, home[1], a);
        give(d, home[0], b);
        better = busiest(d) < before * (1.0 - 1e-12);
        if (!better) {
            take(d, a);
            take(d, b);
        }
    }
    if (!better) {
        give(d, home[0], a);
        give(d, home[1], b);
    }
    return better;
}

static void improve(deal *d)
{
    bool better = true;
    for (uint32_t round = 0; better && round < 64 && d->work < WORK_MOST / 2; round++) {
        better = false;
        for (uint32_t i = 0; i < d->b->items; i++) {
            better = move_one(d, i) || better;
            for (uint32_t j = 0; j < i; j++) {
                better = exchange(d, i, j) || better;
            }
        }
    }
}

/* All deals of the items from `at` on that may be better than the best one. */
static void try_all(deal *d, uint32_t at)
{
    if (at == d->b->items) {
        if (busiest(d) < d->best_ms) {
            keep(d);
        }
        return;
    }
    const uint32_t item = d->order[at];
    for (uint32_t device = 0; device < d->b->devices && d->work < WORK_MOST; device++) {
        const double with = d->load[device] + d->b->run_ms[device] + fits_ms(d, device, item);
        if (with < d->best_ms) {
            give(d, device, item);
            try_all(d, at + 1);
            take(d, item);
        }
    }
}

static mts_status prepare(deal *d, mts_arena *arena, mts_error *error)
{
    const mts_balance *b = d->b;
    d->order = mts_arena_zero(arena, b->items, sizeof *d->order);
    d->now = mts_arena_zero(arena, b->items, sizeof *d->now);
    d->uses = mts_arena_zero(arena, (size_t)b->devices * b->shares, sizeof *d->uses);
    d->alone = mts_arena_zero(arena, (size_t)b->devices * b->items, sizeof *d->alone);
    d->load = mts_arena_zero(arena, b->devices, sizeof *d->load);
    d->held = mts_arena_zero(arena, b->devices, sizeof *d->held);
    if (!d->order || !d->now || !d->uses || !d->alone || !d->load || !d->held) {
        return mts_fail_memory(error);
    }
    for (uint32_t device = 0; device < b->devices; device++) {
        for (uint32_t item = 0; item < b->items; item++) {
            uint64_t bytes = 0;
            d->alone[(size_t)device * b->items + item] = added_ms(d, device, item, &bytes);
        }
    }
    return MTS_STATUS_OK;
}

static void search(deal *d)
{
    sort_items(d);
    if (deal_longest_first(d)) {
        improve(d);
        keep(d);
    }
    if (d->b->items <= MTS_BALANCE_EXACT) {
        memset(d->uses, 0, (size_t)d->b->devices * d->b->shares * sizeof *d->uses);
        memset(d->load, 0, d->b->devices * sizeof *d->load);
        memset(d->held, 0, d->b->devices * sizeof *d->held);
        try_all(d, 0);
    }
}

mts_status mts_balance_find(const mts_balance *balance, const mts_allocator *allocator, uint32_t *device_of,
                            double *busiest_ms, mts_error *error)
{
    mts_arena arena;
    mts_arena_init(&arena, allocator);
    deal d = {.b = balance, .best = device_of, .best_ms = INFINITY};
    mts_status status = prepare(&d, &arena, error);
    if (status == MTS_STATUS_OK) {
        search(&d);
        *busiest_ms = d.best_ms;
    }
    if (status == MTS_STATUS_OK && !isfinite(d.best_ms)) {
        status = mts_fail(error, MTS_STATUS_LIMIT,
                          "the %u tasks cannot be dealt out to %u devices: their memory is too small, or a "
                          "task runs on none of them",
                          balance->items, balance->devices);
    }
    mts_arena_release(&arena);
    return status;
}

uint64_t mts_balance_memory(const mts_balance *balance, const uint32_t *device_of, uint32_t device)
{
    uint64_t bytes = 0;
    for (uint32_t share = 0; share < balance->shares; share++) {
        bool has = false;
        for (uint32_t item = 0; !has && item < balance->items; item++) {
            for (uint32_t i = balance->first[item]; i < balance->first[item + 1]; i++) {
                has = has || (device_of[item] == device && balance->list[i] == share);
            }
        }
        bytes += has ? balance->memory[share] : 0;
    }
    return bytes;
}
