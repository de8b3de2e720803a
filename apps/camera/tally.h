/*
 * tally.h: how many frames came, were answered, were dropped, how fast and how late.
 */
#ifndef MTS_CAMERA_TALLY_H
#define MTS_CAMERA_TALLY_H

#include <stdint.h>

#define TALLY_LAST 256u /* answers that quantiles are of */
#define TALLY_RATE 64u  /* answers that the rate is of */

typedef struct tally {
    uint64_t came, answered, dropped;
    double first_ms; /* of the first answer */
    double ended_ms; /* of the last one */
    double latencies[TALLY_LAST];
    double times[TALLY_RATE];
} tally;

void tally_came(tally *count);
void tally_dropped(tally *count);
/* A frame that came at `arrived_ms` is answered now; returns its latency. */
double tally_answered(tally *count, double arrived_ms);
/* Of the last answers; 0: none. */
void tally_latency(const tally *count, double *p50_ms, double *p95_ms);
/* Answers a second: lately, and since the first one; 0 while there are not two. */
double tally_rate(const tally *count);
double tally_rate_overall(const tally *count);

#endif
