/*
 * latency.h: how long the last runs took, and what half or nearly all of them took at
 * most. Pure.
 */
#ifndef MTS_ENGINE_LATENCY_H
#define MTS_ENGINE_LATENCY_H

#include <stdint.h>

#define MTS_LATENCIES_KEPT 128

/* All zero: nothing happened yet. */
typedef struct mts_latencies {
    uint64_t count;                    /* of all, also of those that are not kept any more */
    uint32_t last[MTS_LATENCIES_KEPT]; /* microseconds, a ring */
} mts_latencies;

/* Longer than an hour is an hour. */
void mts_latency_add(mts_latencies *latencies, uint64_t nanoseconds);
/* Milliseconds that `percent` of those kept took at most (nearest rank); 0: there are
   none. */
double mts_latency_percentile(const mts_latencies *latencies, uint32_t percent);

#endif
