/*
 * clock.c: the monotonic clock, sleeping, and whether a descriptor is a terminal.
 */
#include "platform/os/os.h"

#include <time.h>
#include <unistd.h>

uint64_t mts_os_clock_ns(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void mts_os_sleep_ns(uint64_t nanoseconds)
{
    const struct timespec span = {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)};
    (void)nanosleep(&span, NULL); /* a signal ends it early: the caller tests its condition again */
}
