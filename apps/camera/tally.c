/*
 * tally.c: counts and rings of times; nothing here grows.
 */
#include "tally.h"

#include <stdlib.h>
#include <string.h>

#include "kit/measure.h"

void tally_came(tally *count)
{
    count->came++;
}

void tally_dropped(tally *count)
{
    count->dropped++;
}

double tally_answered(tally *count, double arrived_ms)
{
    const double now_ms = cli_now_ms();
    count->latencies[count->answered % TALLY_LAST] = now_ms - arrived_ms;
    count->times[count->answered % TALLY_RATE] = now_ms;
    count->first_ms = count->answered++ ? count->first_ms : now_ms;
    count->ended_ms = now_ms;
    return now_ms - arrived_ms;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

void tally_latency(const tally *count, double *p50_ms, double *p95_ms)
{
    double sorted[TALLY_LAST];
    const size_t known = count->answered < TALLY_LAST ? (size_t)count->answered : TALLY_LAST;
    *p50_ms = 0;
    *p95_ms = 0;
    if (known > 0) {
        memcpy(sorted, count->latencies, known * sizeof sorted[0]);
        qsort(sorted, known, sizeof sorted[0], compare);
        *p50_ms = sorted[(known - 1) / 2];
        *p95_ms = sorted[(known * 95 + 99) / 100 - 1];
    }
}

double tally_rate(const tally *count)
{
    const uint64_t known = count->answered < TALLY_RATE ? count->answered : TALLY_RATE;
    if (known < 2) {
        return 0;
    }
    const double first_ms = count->times[(count->answered - known) % TALLY_RATE];
    const double span_ms = count->ended_ms - first_ms;
    return span_ms > 0 ? (double)(known - 1) * 1e3 / span_ms : 0;
}

double tally_rate_overall(const tally *count)
{
    const double span_ms = count->ended_ms - count->first_ms;
    return count->answered > 1 && span_ms > 0 ? (double)(count->answered - 1) * 1e3 / span_ms : 0;
}
