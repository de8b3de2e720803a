/*
 * open_loop.c: a turn of requests by the clock, and what it comes to (open_loop.h).
 */
#include "open_loop.h"

#include <math.h>
#include <stdlib.h>

/* A turn up to now: requests [0, ended) have ended, [ended, submitted) are with the device,
   [submitted, arrived) wait. */
typedef struct turn {
    const cli_arrivals *arrivals;
    const cli_loop_world *world;
    cli_request *requests;
    uint32_t slots;
    size_t arrived, submitted, ended;
} turn;

static double next_arrival(const turn *t)
{
    return t->arrived < t->arrivals->count ? t->arrivals->times_ms[t->arrived] : INFINITY;
}

/* Until the oldest request has ended, but not longer than `until`. */
static bool wait_oldest(turn *t, double until)
{
    const int done = t->world->wait(t->world->context, until);
    if (done > 0) {
        t->requests[t->ended++].ended = t->world->now(t->world->context);
    }
    return done >= 0;
}

/* Submits, waits for the device or sleeps: whichever is next. */
static bool step(turn *t, double now)
{
    void *context = t->world->context;
    const bool slot_free = t->submitted - t->ended < t->slots;
    if (t->submitted < t->arrived && slot_free) {
        const int taken = t->world->submit(context);
        if (taken > 0) {
            t->requests[t->submitted++].submitted = now;
            return true;
        }
        return taken == 0 && t->submitted > t->ended && wait_oldest(t, INFINITY);
    }
    if (t->ended == t->submitted) {
        t->world->sleep_until(context, next_arrival(t));
        return true;
    }
    /* an arrival changes nothing while no slot is free */
    return wait_oldest(t, slot_free ? next_arrival(t) : INFINITY);
}

bool cli_loop_run(const cli_arrivals *arrivals, uint32_t slots, const cli_loop_world *world,
                  cli_request *requests)
{
    turn t = {.arrivals = arrivals, .world = world, .requests = requests, .slots = slots};
    while (t.ended < arrivals->count) {
        const double now = world->now(world->context);
        while (next_arrival(&t) <= now) {
            requests[t.arrived].arrived = arrivals->times_ms[t.arrived];
            t.arrived++;
        }
        if (!step(&t, now)) {
            return false;
        }
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What arrivals find: they end in the order in which they arrive. */
static void queue_find(const cli_request *requests, size_t count, cli_loop_summary *out)
{
    size_t ended = 0;
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        while (ended < i && requests[ended].ended <= requests[i].arrived) {
            ended++;
        }
        sum += (double)(i - ended);
        out->queue_most = i - ended > out->queue_most ? i - ended : out->queue_most;
    }
    out->queue_mean = sum / (double)count;
}

static double rank(const double *sorted, size_t count, double part)
{
    return sorted[(size_t)(part * (double)(count - 1) + 0.5)];
}

bool cli_loop_summarise(const cli_request *requests, size_t count, cli_loop_summary *out)
{
    double *latencies = calloc(count + 1, sizeof *latencies);
    *out = (cli_loop_summary){0};
    if (!latencies || count == 0) {
        free(latencies);
        return latencies;
    }
    for (size_t i = 0; i < count; i++) {
        latencies[i] = requests[i].ended - requests[i].arrived;
        out->mean_ms += latencies[i] / (double)count;
    }
    qsort(latencies, count, sizeof *latencies, compare);
    out->p50_ms = rank(latencies, count, 0.5);
    out->p90_ms = rank(latencies, count, 0.9);
    out->p99_ms = rank(latencies, count, 0.99);
    out->p999_ms = rank(latencies, count, 0.999);
    out->most_ms = latencies[count - 1];
    free(latencies);
    queue_find(requests, count, out);
    const double ms = requests[count - 1].ended - requests[0].arrived;
    out->throughput = ms > 0.0 ? 1e3 * (double)count / ms : 0.0;
    return true;
}
