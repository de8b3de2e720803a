/*
 * schedule.h: how long training goes on, and at which rate.
 *
 * The rate rises over the first steps and falls along a cosine to nothing at the end. The
 * end is the last of a given number of steps, or the last one that fits into the time, as
 * steps have taken so far. Where the time is no limit, rates depend on the number of the
 * step alone.
 */
#ifndef MTS_COMPRESS_TRAIN_SCHEDULE_H
#define MTS_COMPRESS_TRAIN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mts_schedule {
    uint64_t start; /* mts_os_clock_ns() */
    double seconds;
    uint64_t most; /* steps */
    float peak;
    uint64_t step;       /* the next one */
    uint64_t begun;      /* when the step in hand began */
    double step_seconds; /* of a step, a running mean; 0: not known yet */
    double fraction;     /* of the training that is over, before the step in hand */
    float rate;          /* for the step in hand */
} mts_schedule;

void mts_schedule_init(mts_schedule *schedule, uint64_t start, double seconds, uint64_t most, float peak);
/* Begins a step. False: training is over (never before the first step). */
bool mts_schedule_next(mts_schedule *schedule);
/* Takes a part of the rate from the step in hand on. */
void mts_schedule_lower(mts_schedule *schedule, float part);
/* Seconds that are left to the end. */
double mts_schedule_left(const mts_schedule *schedule);

#endif
