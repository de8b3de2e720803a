/*
 * helpers.c: see helpers.h.
 *
 * A comparison is a run with helpers that wakes them, some with helpers, some without.
 * The medians decide. Comparisons that say the same as the one before come at twice the
 * distance, up to a bound, so that they cost little: of 256 runs 7 are a comparison's.
 */
#include "platform/cpu/helpers.h"

#include <stddef.h>

enum {
    SAMPLES = MTS_CPU_HELPERS_SAMPLES,
    ALONE_FROM = 1 + SAMPLES, /* run of a comparison */
    RUNS = ALONE_FROM + SAMPLES,
    APART_LEAST = 256,
    APART_MOST = 4096,
    HOPELESS = 2 /* times as long without helpers as with them: one run is enough */
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
    h->apart = !same ? APART_LEAST : h->apart < APART_MOST ? 2 * h->apart : APART_MOST;
    h->alone = alone;
    h->left = h->apart;
    h->run = 0;
}

bool mts_cpu_helpers_stay(const mts_cpu_helpers *h)
{
    return h->left > 0 ? h->alone : h->run >= ALONE_FROM;
}

void mts_cpu_helpers_note(mts_cpu_helpers *h, uint64_t ns)
{
    if (h->left > 0) {
        h->left--;
        if (h->alone && ns > 2 * (uint64_t)MTS_CPU_SHORT_NS) { /* it was short */
            decide(h, false);
        }
        return;
    }
    const uint32_t run = h->run++;
    if (run >= ALONE_FROM) {
        h->alone_ns[run - ALONE_FROM] = ns;
        if (run == ALONE_FROM && ns > HOPELESS * median(h->together_ns)) {
            decide(h, false);
        } else if (h->run == RUNS) {
            decide(h, median(h->alone_ns) < median(h->together_ns));
        }
    } else if (run > 0) {
        h->together_ns[run - 1] = ns;
        if (h->run == ALONE_FROM && median(h->together_ns) > MTS_CPU_SHORT_NS) {
            decide(h, false);
        }
    }
}
