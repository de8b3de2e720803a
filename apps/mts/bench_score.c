/*
 * bench_score.c: frames that were kept, late or dropped, as numbers (bench_score.h).
 */
#include "bench_score.h"

#include <math.h>
#include <stdlib.h>

/* XRBench's k: a frame that ends 0.2 ms late scores 0.05. */
#define STEEPNESS 15.0

double cli_score_frame(double after_ms)
{
    return 1.0 / (1.0 + exp(STEEPNESS * after_ms));
}

bool cli_frames_reserve(cli_frames *frames, size_t capacity)
{
    frames->latencies = calloc(capacity + 1, sizeof *frames->latencies);
    frames->capacity = frames->latencies ? capacity : 0;
    return frames->latencies;
}

void cli_frames_ran(cli_frames *frames, double latency_ms, double deadline_ms)
{
    frames->due++;
    frames->late += latency_ms > deadline_ms ? 1 : 0;
    frames->realtime += cli_score_frame(latency_ms - deadline_ms);
    if (frames->count < frames->capacity) {
        frames->latencies[frames->count++] = latency_ms;
    }
}

void cli_frames_dropped(cli_frames *frames)
{
    frames->due++;
    frames->dropped++;
}

double cli_frames_quality(const cli_frames *frames)
{
    return frames->due > 0 ? 1.0 - (double)frames->dropped / (double)frames->due : 1.0;
}

double cli_frames_realtime(const cli_frames *frames)
{
    return frames->due > 0 ? frames->realtime / (double)frames->due : 1.0;
}

double cli_frames_score(const cli_frames *networks, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += cli_frames_realtime(&networks[i]) * cli_frames_quality(&networks[i]);
    }
    return count > 0 ? 100.0 * sum / (double)count : 0.0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double rank(const cli_frames *frames, double part)
{
    return frames->latencies[(size_t)(part * (double)(frames->count - 1) + 0.5)];
}

cli_tail cli_frames_tail(cli_frames *frames)
{
    if (frames->count == 0) {
        return (cli_tail){0};
    }
    qsort(frames->latencies, frames->count, sizeof *frames->latencies, compare);
    return (cli_tail){.p50 = rank(frames, 0.5),
                      .p99 = rank(frames, 0.99),
                      .p999 = rank(frames, 0.999),
                      .most = rank(frames, 1.0)};
}

void cli_frames_release(cli_frames *frames)
{
    free(frames->latencies);
    *frames = (cli_frames){0};
}
