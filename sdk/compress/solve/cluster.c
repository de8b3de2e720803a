/*
 * cluster.c: k-means; a limit on the points of a cluster is kept by an assignment of
 * points to places.
 */
#include "compress/solve/cluster.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "compress/solve/assign.h"

#define STARTS 16u
#define ROUNDS_MOST 100u
#define PLACES_OPTIMAL                                                                                       \
    128u /* up to here the assignment is optimal, beyond it follows the greatest regret                      \
          */
#define NONE UINT32_MAX

typedef struct means {
    const double *points;
    size_t count, size, k, most; /* most >= 1 */
    const mts_allocator *allocator;
    uint64_t random;
    double *centres;   /* [k][size] */
    double *distances; /* [count][k], squared */
    double *costs;     /* [places][places], or NULL */
    double *regrets;   /* [count] */
    uint32_t *sizes;   /* [k] */
    uint32_t *places;  /* [k * most] of optimal assignments; else [count], an order of points */
    uint32_t *cluster; /* [count] of this start */
    uint32_t *last;    /* [count] of the round before */
} means;

/* SplitMix64 (Steele, Lea, Flood 2014), as a number in [0, 1). */
static double random_next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double distance(const means *m, size_t point, size_t centre)
{
    double sum = 0;
    for (size_t i = 0; i < m->size; i++) {
        const double d = m->points[point * m->size + i] - m->centres[centre * m->size + i];
        sum += d * d;
    }
    return sum;
}

static void measure(means *m, size_t centre)
{
    for (size_t p = 0; p < m->count; p++) {
        m->distances[p * m->k + centre] = distance(m, p, centre);
    }
}

/* k-means++: each further centre is a point, drawn by its squared distance from the
   centres so far. */
static void seed(means *m)
{
    for (size_t c = 0; c < m->k; c++) {
        double total = 0;
        for (size_t p = 0; p < m->count; p++) {
            double least = c == 0 ? 1 : DBL_MAX;
            for (size_t b = 0; b < c; b++) {
                const double d = m->distances[p * m->k + b];
                least = d < least ? d : least;
            }
            m->regrets[p] = least;
            total += least;
        }
        double left = random_next(&m->random) * total;
        size_t chosen = 0;
        while (chosen + 1 < m->count && left >= m->regrets[chosen]) {
            left -= m->regrets[chosen++];
        }
        memcpy(m->centres + c * m->size, m->points + chosen * m->size, m->size * sizeof *m->centres);
        measure(m, c);
    }
}

static void assign_nearest(means *m)
{
    for (size_t p = 0; p < m->count; p++) {
        const double *d = m->distances + p * m->k;
        uint32_t best = 0;
        for (uint32_t c = 1; c < m->k; c++) {
            best = d[c] < d[best] ? c : best;
        }
        m->cluster[p] = best;
    }
}

/* Every cluster is `most` places; things beyond the points stand for places that stay
   free. */
static bool assign_optimal(means *m)
{
    const size_t n = m->k * m->most;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            m->costs[i * n + j] = i < m->count ? m->distances[i * m->k + j / m->most] : 0;
        }
    }
    if (!mts_assign_optimal(m->costs, (uint32_t)n, m->allocator, m->places)) {
        return false;
    }
    for (size_t p = 0; p < m->count; p++) {
        m->cluster[p] = (uint32_t)(m->places[p] / m->most);
    }
    return true;
}

/* A point with what it loses if it does not get its nearest cluster. */
typedef struct wish {
    double regret;
    uint32_t point, cluster;
} wish;

static int wish_compare(const void *a, const void *b)
{
    const wish *x = a, *y = b;
    return mts_order(MTS_COMPARE(y->regret, x->regret), MTS_COMPARE(x->point, y->point));
}

static wish wish_make(const means *m, size_t point)
{
    const double *d = m->distances + point * m->k;
    double second = DBL_MAX;
    wish w = {.point = (uint32_t)point, .cluster = NONE};
    for (uint32_t c = 0; c < m->k; c++) {
        if (m->sizes[c] >= m->most) {
            continue;
        }
        if (w.cluster == NONE || d[c] < d[w.cluster]) {
            second = w.cluster == NONE ? second : d[w.cluster];
            w.cluster = c;
        } else {
            second = d[c] < second ? d[c] : second;
        }
    }
    w.regret = w.cluster == NONE ? 0 : second - d[w.cluster];
    return w;
}

/* Those with the greatest regret choose first; when a cluster is full the others think
   again. */
static bool assign_regret(means *m)
{
    wish *wishes = mts_alloc_zero(m->allocator, m->count, sizeof *wishes);
    size_t left = m->count;
    if (!wishes) {
        return false;
    }
    memset(m->sizes, 0, m->k * sizeof *m->sizes);
    for (size_t p = 0; p < m->count; p++) {
        m->places[p] = (uint32_t)p;
    }
    while (left > 0) {
        size_t done = 0;
        bool full = false;
        for (size_t i = 0; i < left; i++) {
            wishes[i] = wish_make(m, m->places[i]);
        }
        qsort(wishes, left, sizeof *wishes, wish_compare);
        for (; done < left && !full; done++) {
            const wish *w = &wishes[done];
            m->cluster[w->point] = w->cluster;
            full = ++m->sizes[w->cluster] >= m->most;
        }
        for (size_t i = done; i < left; i++) {
            m->places[i - done] = wishes[i].point;
        }
        left -= done;
    }
    mts_alloc_free(m->allocator, wishes);
    return true;
}

/* Gives every empty cluster the point that is farthest from its own centre. */
static void fill_empty(means *m)
{
    memset(m->sizes, 0, m->k * sizeof *m->sizes);
    for (size_t p = 0; p < m->count; p++) {
        m->sizes[m->cluster[p]]++;
    }
    for (uint32_t c = 0; c < m->k; c++) {
        size_t worst = m->count;
        if (m->sizes[c] > 0) {
            continue;
        }
        for (size_t p = 0; p < m->count; p++) {
            const double d = m->distances[p * m->k + m->cluster[p]];
            if (m->sizes[m->cluster[p]] > 1 &&
                (worst == m->count || d > m->distances[worst * m->k + m->cluster[worst]])) {
                worst = p;
            }
        }
        if (worst < m->count) {
            m->sizes[m->cluster[worst]]--;
            m->cluster[worst] = c;
            m->sizes[c] = 1;
        }
    }
}

static void move_centres(means *m)
{
    memset(m->centres, 0, m->k * m->size * sizeof *m->centres);
    for (size_t p = 0; p < m->count; p++) {
        const size_t c = m->cluster[p];
        for (size_t i = 0; i < m->size; i++) {
            m->centres[c * m->size + i] += m->points[p * m->size + i] / m->sizes[c];
        }
    }
    for (size_t c = 0; c < m->k; c++) {
        measure(m, c);
    }
}

static double total(const means *m)
{
    double sum = 0;
    for (size_t p = 0; p < m->count; p++) {
        sum += m->distances[p * m->k + m->cluster[p]];
    }
    return sum;
}

/* One start; keeps the best rounds of all starts in `cluster`. */
static bool start_run(means *m, double *best, uint32_t *cluster)
{
    bool changed = true;
    bool made = true;
    seed(m);
    for (uint32_t round = 0; round < ROUNDS_MOST && changed && made; round++) {
        if (m->most >= m->count) {
            assign_nearest(m);
        } else {
            made = m->costs ? assign_optimal(m) : assign_regret(m);
        }
        if (!made) {
            break;
        }
        fill_empty(m);
        move_centres(m);
        changed = round == 0 || memcmp(m->last, m->cluster, m->count * sizeof *m->last) != 0;
        memcpy(m->last, m->cluster, m->count * sizeof *m->last);
        /* Sums that differ by rounding alone are equal, so that equal groups win by their
           first start. */
        if (*best < 0 || total(m) < *best * (1 - 1e-12)) {
            *best = total(m);
            memcpy(cluster, m->cluster, m->count * sizeof *cluster);
        }
    }
    return made;
}

static void number(uint32_t *cluster, size_t count, uint32_t *names, size_t k)
{
    uint32_t used = 0;
    for (size_t c = 0; c < k; c++) {
        names[c] = NONE;
    }
    for (size_t p = 0; p < count; p++) {
        if (names[cluster[p]] == NONE) {
            names[cluster[p]] = used++;
        }
        cluster[p] = names[cluster[p]];
    }
}

static void *take(const means *m, size_t a, size_t b, size_t size)
{
    size_t count = 0;
    return mts_size_mul(a, b, &count) ? mts_alloc_zero(m->allocator, count, size) : NULL;
}

static bool arrays_make(means *m)
{
    const bool capped = m->most < m->count;
    const bool optimal = capped && m->most <= PLACES_OPTIMAL && m->k <= PLACES_OPTIMAL / m->most;
    const size_t places = optimal ? m->k * m->most : m->count;
    m->centres = take(m, m->k, m->size, sizeof *m->centres);
    m->distances = take(m, m->count, m->k, sizeof *m->distances);
    m->costs = optimal ? take(m, places, places, sizeof *m->costs) : NULL;
    m->regrets = take(m, m->count, 1, sizeof *m->regrets);
    m->sizes = take(m, m->k, 1, sizeof *m->sizes);
    m->places = take(m, places, 1, sizeof *m->places);
    m->cluster = take(m, m->count, 1, sizeof *m->cluster);
    m->last = take(m, m->count, 1, sizeof *m->last);
    return m->centres && m->distances && (m->costs || !optimal) && m->regrets && m->sizes && m->places &&
           m->cluster && m->last;
}

bool mts_cluster(const double *points, uint32_t count, uint32_t size, uint32_t k, uint32_t most,
                 uint64_t random, const mts_allocator *allocator, uint32_t *cluster)
{
    means m = {.points = points,
               .count = count,
               .size = size,
               .k = k,
               .most = most == 0 || most > count ? count : most,
               .allocator = allocator,
               .random = random};
    double best = -1; /* none yet */
    if (count == 0 || k == 0) {
        return true;
    }
    m.most = m.most < (m.count + k - 1) / k ? (m.count + k - 1) / k : m.most;
    bool made = arrays_make(&m);
    for (uint32_t s = 0; s < STARTS && made; s++) {
        made = start_run(&m, &best, cluster);
    }
    if (made) {
        number(cluster, count, m.sizes, k);
    }
    void *const arrays[] = {m.centres, m.distances, m.costs, m.regrets, m.sizes, m.places, m.cluster, m.last};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        mts_alloc_free(allocator, arrays[i]);
    }
    return made;
}
