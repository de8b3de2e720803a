/*
 * latency.c: percentiles of a ring of durations.
 */
#include "engine/latency.h"

#include <string.h>

#define HOUR_US 3600000000u

void mts_latency_add(mts_latencies *latencies, uint64_t nanoseconds)
{
    const uint64_t us = (nanoseconds + 500) / 1000;
    latencies->last[latencies->count % MTS_LATENCIES_KEPT] = us < HOUR_US ? (uint32_t)us : HOUR_US;
    latencies->count++;
}

static void sort(uint32_t *values, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const uint32_t value = values[i];
        uint32_t at = i;
        for (; at > 0 && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
}

double mts_latency_percentile(const mts_latencies *latencies, uint32_t percent)
{
    uint32_t sorted[MTS_LATENCIES_KEPT];
    const uint32_t count =
        latencies->count < MTS_LATENCIES_KEPT ? (uint32_t)latencies->count : MTS_LATENCIES_KEPT;
    if (count == 0) {
        return 0.0;
    }
    memcpy(sorted, latencies->last, count * sizeof *sorted);
    sort(sorted, count);
    const uint32_t rank = (count * percent + 99) / 100; /* from 1 */
    return (double)sorted[rank > 0 ? rank - 1 : 0] / 1000.0;
}
