/*
 * clock.h: a nap that a signal ends. The clock itself is the kit's (cli_now_ms).
 */
#ifndef MTS_CAMERA_CLOCK_H
#define MTS_CAMERA_CLOCK_H

#include <time.h>

#include "kit/measure.h"

static inline void clock_nap(double ms)
{
    if (ms > 0) {
        const time_t seconds = (time_t)(ms / 1e3);
        const struct timespec span = {.tv_sec = seconds,
                                      .tv_nsec = (long)((ms - (double)seconds * 1e3) * 1e6)};
        (void)nanosleep(&span, NULL);
    }
}

#endif
