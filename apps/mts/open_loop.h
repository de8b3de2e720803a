/*
 * open_loop.h: requests that arrive whether or not those before them have ended, on a
 * device that takes them in order and holds a few at a time: when each was submitted and
 * when it ended. The clock and the device are the caller's, so that a test can give both.
 */
#ifndef MTS_APPS_OPEN_LOOP_H
#define MTS_APPS_OPEN_LOOP_H

#include "arrivals.h"

/* Milliseconds since the turn began. */
typedef struct cli_request {
    double arrived, submitted, ended;
} cli_request;

/* What a turn does with the device and the clock. */
typedef struct cli_loop_world {
    void *context;
    /* Never goes back. */
    double (*now)(void *context);
    void (*sleep_until)(void *context, double ms);
    /* Hands a request over, without waiting for it. 1: done, 0: the device takes no further one
       until the oldest has ended, negative: it failed, and the turn ends. */
    int (*submit)(void *context);
    /* Waits for the oldest request, but not longer than `until` (INFINITY: as long as it
       takes). 1: it has ended, 0: it has not, negative: it failed. */
    int (*wait)(void *context, double until);
} cli_loop_world;

typedef struct cli_loop_summary {
    /* From arrival to end, of nearest ranks. */
    double mean_ms, p50_ms, p90_ms, p99_ms, p999_ms, most_ms;
    /* Requests that have arrived and not ended, as an arrival finds them. */
    double queue_mean;
    size_t queue_most;
    /* Ended requests a second, from the first arrival to the last end. */
    double throughput;
} cli_loop_summary;

/*
 * One turn: all arrivals, at most `slots` of them with the device at a time; the others wait
 * without limit. requests[arrivals->count] is filled. False: the device failed.
 */
bool cli_loop_run(const cli_arrivals *arrivals, uint32_t slots, const cli_loop_world *world,
                  cli_request *requests);
/* False: no memory. */
bool cli_loop_summarise(const cli_request *requests, size_t count, cli_loop_summary *out);

#endif
