/*
 * balance.c: longest processing time first, then moves and exchanges; with few items
 * branch and bound from there.
 */
#include "partition/balance.h"

#include <math.h>
#include <string.h>

typedef struct deal {
    const mts_balance *b;
    uint32_t *order; /* items, the longest first */
    uint32_t *now;   /* [item] */
    double *load;    /* [device] */
    uint64_t *held;  /* [device] */
    uint32_t *best;  /* [item] */
    double best_ms;  /* INFINITY: no deal yet */
} deal;

static double time_of(const mts_balance *b, uint32_t device, uint32_t item)
{
    return b->ms[(size_t)device * b->items + item];
}

static bool fits(const deal *d, uint32_t device, uint32_t item)
{
    const uint64_t budget = d->b->budget[device];
    return isfinite(time_of(d->b, device, item)) &&
           (budget == 0 || d->held[device] + d->b->memory[item] <= budget);
}

static void give(deal *d, uint32_t device, uint32_t item)
{
    d->load[device] += time_of(d->b, device, item);
    d->held[device] += d->b->memory[item];
    d->now[item] = device;
}

static void take(deal *d, uint32_t item)
{
    const uint32_t device = d->now[item];
    d->load[device] -= time_of(d->b, device, item);
    d->held[device] -= d->b->memory[item];
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

static double longest(const mts_balance *b, uint32_t item)
{
    double most = 0.0;
    for (uint32_t d = 0; d < b->devices; d++) {
        const double ms = time_of(b, d, item);
        most = isfinite(ms) ? fmax(most, ms) : most;
    }
    return most;
}

static void sort_items(deal *d)
{
    for (uint32_t i = 0; i < d->b->items; i++) {
        uint32_t at = i;
        for (; at > 0 && longest(d->b, d->order[at - 1]) < longest(d->b, i); at--) {
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
            const double end = d->load[device] + d->b->run_ms[device] + time_of(d->b, device, item);
            if (fits(d, device, item) && end < ends) {
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
    for (uint32_t round = 0; better && round < 64; round++) {
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
    for (uint32_t device = 0; device < d->b->devices; device++) {
        const double with = d->load[device] + d->b->run_ms[device] + time_of(d->b, device, item);
        if (fits(d, device, item) && with < d->best_ms) {
            give(d, device, item);
            try_all(d, at + 1);
            take(d, item);
        }
    }
}

mts_status mts_balance_find(const mts_balance *balance, const mts_allocator *allocator, uint32_t *device_of,
                            double *busiest_ms, mts_error *error)
{
    mts_arena arena;
    mts_arena_init(&arena, allocator);
    deal d = {.b = balance, .best = device_of, .best_ms = INFINITY};
    d.order = mts_arena_zero(&arena, balance->items, sizeof *d.order);
    d.now = mts_arena_zero(&arena, balance->items, sizeof *d.now);
    d.load = mts_arena_zero(&arena, balance->devices, sizeof *d.load);
    d.held = mts_arena_zero(&arena, balance->devices, sizeof *d.held);
    mts_status status = d.order && d.now && d.load && d.held ? MTS_STATUS_OK : mts_fail_memory(error);
    if (status == MTS_STATUS_OK) {
        sort_items(&d);
        if (deal_longest_first(&d)) {
            improve(&d);
            keep(&d);
        }
        if (balance->items <= MTS_BALANCE_EXACT) {
            memset(d.load, 0, balance->devices * sizeof *d.load);
            memset(d.held, 0, balance->devices * sizeof *d.held);
            try_all(&d, 0);
        }
        *busiest_ms = d.best_ms;
        status =
            isfinite(d.best_ms)
                ? status
                : mts_fail(error, MTS_STATUS_LIMIT,
                           "the %u tasks cannot be dealt out to %u devices: their memory is too small, or "
                           "a task runs on none of them",
                           balance->items, balance->devices);
    }
    mts_arena_release(&arena);
    return status;
}
