/*
 * helpers.c: see helpers.h.
 *
 * A comparison is a run with helpers that wakes them, some with helpers, some without.
 * The medians decide. The first comparisons of a list follow each other soon, as one may
 * meet threads that have just begun; those that say the same as the one before come at
 * twice the distance, up to a bound, so that they cost little: of 256 runs 7 are a
 * comparison's. The bound is lower where helpers stay away, as nothing else shows that
 * they would help again; where they help, runs that take longer than those of the
 * comparison ask for another one.
 */
#include "platform/cpu/helpers.h"

#include <stddef.h>

enum {
    SAMPLES = MTS_CPU_HELPERS_SAMPLES,
    ALONE_FROM = 1 + SAMPLES, /* run of a comparison */
    RUNS = ALONE_FROM + SAMPLES,
    APART_LEAST = 16,
    APART_ALONE = 256,
    APART_MOST = 4096,
    CLEAR = 4,     /* longer without helpers by one part of so many: one run is enough */
    SLOW_RUNS = 4, /* in a row, each longer by as much: another comparison, but not */
    SLOW_FROM = 32 /* within so many runs of the last one */
};

static uint64_t median(const uint64_t x[SAMPLES])
{
    const uint64_t low = x[0] < x[1] ? x[0] : x[1], high = x[0] < x[1] ? x[1] : x[0];
    return x[2] < low ? low : x[2] > high ? high : x[2];
}

/* Ends a comparison. */
static void decide(mts_cpu_helpers *h, bool alone)
{
    const bool same = h->apart > 0 && alone == h->alone;
    const uint32_t most = alone ? APART_ALONE : APART_MOST;
    h->apart = !same ? APART_LEAST : 2 * h->apart < most ? 2 * h->apart : most;
    h->alone = alone;
    h->left = h->apart;
    h->run = 0;
    h->slow = 0;
}

/* Whether a run on one thread may take too long, by what it takes with helpers. */
static bool is_long(uint64_t together_ns, uint32_t threads)
{
    return together_ns > MTS_CPU_ALONE_MOST_NS / (threads > 0 ? threads : 1);
}

static bool is_longer(uint64_t ns, uint64_t than)
{
    return ns > than + than / CLEAR;
}

/* A run between comparisons. */
static void watch(mts_cpu_helpers *h, uint64_t ns)
{
    const uint64_t before = median(h->together_ns);
    h->left--;
    if (h->alone) {
        if (ns > 2 * (uint64_t)MTS_CPU_ALONE_MOST_NS) { /* it was short */
            decide(h, false);
        }
        return;
    }
    const bool is_slow = is_longer(ns, before) && h->apart - h->left > SLOW_FROM;
    h->slow = is_slow ? h->slow + 1 : 0;
    if (h->slow == SLOW_RUNS) {
        h->slow = 0;
        h->left = 0;
    }
}

bool mts_cpu_helpers_stay(const mts_cpu_helpers *h)
{
    return h->left > 0 ? h->alone : h->run >= ALONE_FROM;
}

void mts_cpu_helpers_note(mts_cpu_helpers *h, uint64_t ns, uint32_t threads)
{
    if (h->left > 0) {
        watch(h, ns);
        return;
    }
    const uint32_t run = h->run++;
    if (run >= ALONE_FROM) {
        h->alone_ns[run - ALONE_FROM] = ns;
        if (run == ALONE_FROM && is_longer(ns, median(h->together_ns))) {
            decide(h, false);
        } else if (h->run == RUNS) {
            decide(h, median(h->alone_ns) < median(h->together_ns));
        }
    } else if (run > 0) {
        h->together_ns[run - 1] = ns;
        if (h->run == ALONE_FROM && is_long(median(h->together_ns), threads)) {
            decide(h, false);
        }
    }
}
