/*
 * bench_score.h: what became of the frames of a rated workload: kept, late, dropped,
 * percentiles of their latency, and XRBench's score. Pure arithmetic.
 *
 * The score is that of XRBench (Kwon et al., "XRBench: An Extended Reality (XR) Machine
 * Learning Benchmark Suite for the Metaverse", MLSys 2023) as the authors' program
 * computes it, without its energy term: a frame that ran scores 1 / (1 + e^(15 x)), x
 * being how many milliseconds after its deadline it ended; a dropped one scores 0. A
 * network scores the mean of its frames times the share of frames that were not dropped.
 * The whole is 100 times the mean over networks.
 */
#ifndef MTS_APPS_BENCH_SCORE_H
#define MTS_APPS_BENCH_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Frames of one network, or of all. */
typedef struct cli_frames {
    uint64_t due, dropped;
    /* Frames that ran and ended after their deadline. */
    uint64_t late;
    /* Sum of the scores of all frames. */
    double realtime;
    /* Milliseconds from arrival to end of the frames that ran, in any order; on the
       heap. */
    double *latencies;
    size_t count, capacity;
} cli_frames;

/* Of nearest ranks; 0 where no frame ran. */
typedef struct cli_tail {
    double p50, p99, p999, most;
} cli_tail;

/*
 * Score of a frame that ended so many milliseconds after its deadline (negative: before).
 */
double cli_score_frame(double after_ms);
/* False: no memory. */
bool cli_frames_reserve(cli_frames *frames, size_t capacity);
/* A frame that ran; the array has space for it. */
void cli_frames_ran(cli_frames *frames, double latency_ms, double deadline_ms);
void cli_frames_dropped(cli_frames *frames);
/* Part of the frames that were not dropped, 0..1; 1 if none was due. */
double cli_frames_quality(const cli_frames *frames);
/* Mean score of the frames that were due, 0..1; 1 if none was. */
double cli_frames_realtime(const cli_frames *frames);
/* 100 times the mean over networks of the two multiplied; 0 without networks. */
double cli_frames_score(const cli_frames *networks, size_t count);
/* Sorts the latencies. */
cli_tail cli_frames_tail(cli_frames *frames);
void cli_frames_release(cli_frames *frames);

#endif
