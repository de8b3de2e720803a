/*
 * assign.c: the Hungarian method by shortest augmenting paths, and the greedy choice.
 */
#include "compress/solve/assign.h"

#include <float.h>

#include "base/size.h"

#define NOBODY UINT32_MAX

/* Dual variables and the matching so far; every array has n elements. */
typedef struct matching {
    const double *cost;
    uint32_t n;
    double *thing_price, *place_price; /* cost[i][j] >= their sum, and equal where i has j */
    double *distance;                  /* of a place from the thing that a path begins with */
    uint32_t *owner;                   /* thing that has a place, or NOBODY */
    uint32_t *place;                   /* place that a thing has, or NOBODY */
    uint32_t *before;                  /* thing before a place on its shortest path */
    uint32_t *order;                   /* places: those that were reached first, then the others */
} matching;

/* Prices that hold for every pair, and places for things that get a cheapest one at
   once. */
static void begin(matching *m)
{
    const size_t n = m->n;
    for (size_t i = 0; i < n; i++) {
        m->owner[i] = NOBODY;
        m->place[i] = NOBODY;
        m->place_price[i] = m->cost[i];
    }
    for (size_t i = 1; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            const double cost = m->cost[i * n + j];
            m->place_price[j] = cost < m->place_price[j] ? cost : m->place_price[j];
        }
    }
    for (size_t i = 0; i < n; i++) {
        size_t best = 0;
        double least = DBL_MAX;
        for (size_t j = 0; j < n; j++) {
            const double left = m->cost[i * n + j] - m->place_price[j];
            const bool better = left < least;
            least = better ? left : least;
            best = better ? j : best;
        }
        m->thing_price[i] = least;
        if (m->owner[best] == NOBODY) {
            m->owner[best] = (uint32_t)i;
            m->place[i] = (uint32_t)best;
        }
    }
}

/* Shortens the distances of places that are left by going on from `thing`, which is `far`
   away. */
static void reach(matching *m, uint32_t thing, double far, uint32_t reached)
{
    const double *cost = m->cost + (size_t)thing * m->n;
    for (uint32_t k = reached; k < m->n; k++) {
        const uint32_t j = m->order[k];
        const double distance = far + (cost[j] - m->thing_price[thing] - m->place_price[j]);
        if (distance < m->distance[j]) {
            m->distance[j] = distance;
            m->before[j] = thing;
        }
    }
}

/* Finds a place for `thing` by moving others along the cheapest path (Dijkstra). */
static void augment(matching *m, uint32_t thing)
{
    uint32_t reached = 0;
    uint32_t from = thing;
    uint32_t at = NOBODY;
    double far = 0;
    for (uint32_t j = 0; j < m->n; j++) {
        m->distance[j] = DBL_MAX;
        m->before[j] = thing;
        m->order[j] = j;
    }
    while (from != NOBODY) {
        uint32_t best = reached;
        reach(m, from, far, reached);
        for (uint32_t k = reached + 1; k < m->n; k++) {
            best = m->distance[m->order[k]] < m->distance[m->order[best]] ? k : best;
        }
        at = m->order[best];
        m->order[best] = m->order[reached];
        m->order[reached++] = at;
        far = m->distance[at];
        from = m->owner[at];
    }
    m->thing_price[thing] += far;
    for (uint32_t k = 0; k + 1 < reached; k++) {
        const uint32_t j = m->order[k];
        m->place_price[j] += m->distance[j] - far;
        m->thing_price[m->owner[j]] += far - m->distance[j];
    }
    while (at != NOBODY) {
        const uint32_t owner = m->before[at];
        const uint32_t next = m->place[owner];
        m->owner[at] = owner;
        m->place[owner] = at;
        at = owner == thing ? NOBODY : next;
    }
}

bool mts_assign_optimal(const double *cost, uint32_t n, const mts_allocator *allocator, uint32_t *place)
{
    matching m = {.cost = cost, .n = n, .place = place};
    size_t count = 0;
    if (!mts_size_mul(n, 3, &count)) {
        return false;
    }
    double *prices = mts_alloc_zero(allocator, count, sizeof *prices);
    uint32_t *links = mts_alloc_zero(allocator, count, sizeof *links);
    if (prices && links && n > 0) {
        m.thing_price = prices;
        m.place_price = prices + n;
        m.distance = prices + 2 * (size_t)n;
        m.owner = links;
        m.before = links + n;
        m.order = links + 2 * (size_t)n;
        begin(&m);
        for (uint32_t i = 0; i < n; i++) {
            if (place[i] == NOBODY) {
                augment(&m, i);
            }
        }
    }
    const bool made = prices && links;
    mts_alloc_free(allocator, prices);
    mts_alloc_free(allocator, links);
    return made;
}

/* The cheapest place that is left; there is one. */
static uint32_t cheapest(const double *cost, const bool *taken, uint32_t n)
{
    uint32_t best = NOBODY;
    for (uint32_t j = 0; j < n; j++) {
        if (!taken[j] && (best == NOBODY || cost[j] < cost[best])) {
            best = j;
        }
    }
    return best;
}

bool mts_assign_greedy(const double *cost, uint32_t n, const mts_allocator *allocator, uint32_t *place)
{
    bool *placed = mts_alloc_zero(allocator, n, sizeof *placed);
    bool *taken = mts_alloc_zero(allocator, n, sizeof *taken);
    const bool made = placed && taken;
    for (uint32_t i = 0; made && i < n; i++) {
        place[i] = cheapest(cost + (size_t)i * n, taken, n); /* of a thing that is left: its best so far */
    }
    for (uint32_t round = 0; made && round < n; round++) {
        uint32_t next = NOBODY;
        for (uint32_t i = 0; i < n; i++) {
            if (!placed[i] &&
                (next == NOBODY || cost[(size_t)i * n + place[i]] < cost[(size_t)next * n + place[next]])) {
                next = i;
            }
        }
        placed[next] = true;
        taken[place[next]] = true;
        for (uint32_t i = 0; i < n && round + 1 < n; i++) {
            if (!placed[i] && place[i] == place[next]) {
                place[i] = cheapest(cost + (size_t)i * n, taken, n);
            }
        }
    }
    mts_alloc_free(allocator, placed);
    mts_alloc_free(allocator, taken);
    return made;
}
