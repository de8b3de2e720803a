/*
 * frames.c: what taking a camera's frame in costs, next to the inference that it is for.
 *
 *     bench_frames BUNDLE [DEVICE [ROUNDS [WIDTH HEIGHT]]]
 *
 * Runs with an NV12 frame, copied and zero-copy, and runs on inputs that stay, by turns, each waited for. Prints
 * medians and what the frame adds, as a part of the run without one. Frames are noise over a gradient.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mts/mts.h"

enum { WAYS = 3, ROUNDS = 200, ROUNDS_MOST = 5000, WARM_UPS = 10 };

static const char *const ways[WAYS] = {"no frame", "copied", "zero copy"};

static double now_ms(void)
{
    struct timespec at = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec * 1e-6;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

static unsigned char *make_frame(uint32_t width, uint32_t height)
{
    const size_t size = (size_t)width * height + (size_t)2 * ((width + 1) / 2) * ((height + 1) / 2);
    unsigned char *pixels = aligned_alloc(64, (size + 63) / 64 * 64);
    uint32_t random = 4242;
    for (size_t i = 0; pixels && i < size; i++) {
        random = random * 1664525u + 1013904223u;
        pixels[i] = (unsigned char)(16 + i % width * 160 / width + (random >> 27));
    }
    return pixels;
}

static mts_status run(mts_session *session, const mts_frame *frame, double *ms)
{
    mts_ticket ticket = 0;
    const double start = now_ms();
    mts_status status = mts_session_submit(session, frame, &ticket);
    status = status == MTS_STATUS_OK ? mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE) : status;
    *ms = now_ms() - start;
    return status;
}

static mts_status race(mts_session *session, mts_frame frame, uint32_t rounds)
{
    static double times[WAYS][ROUNDS_MOST];
    mts_status status = MTS_STATUS_OK;
    for (uint32_t r = 0; status == MTS_STATUS_OK && r < WARM_UPS + rounds; r++) {
        for (uint32_t w = WAYS;
             status == MTS_STATUS_OK && w-- > 0;) { /* a frame first: inputs are no zeros */
            frame.zero_copy = w == 2;
            status = run(session, w > 0 ? &frame : NULL, &times[w][r < WARM_UPS ? 0 : r - WARM_UPS]);
        }
    }
    for (uint32_t w = 0; status == MTS_STATUS_OK && w < WAYS; w++) {
        qsort(times[w], rounds, sizeof(double), compare);
        const double alone = times[0][rounds / 2];
        const double median = times[w][rounds / 2];
        printf("%-12s %8.3f ms  (p5 %.3f, p95 %.3f)  %+.2f %%\n", ways[w], median, times[w][rounds / 20],
               times[w][rounds - 1 - rounds / 20], 100.0 * (median / alone - 1.0));
    }
    return status;
}

int main(int argc, char **argv)
{
    static char error[512];
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: bench_frames BUNDLE [DEVICE [ROUNDS [WIDTH HEIGHT]]]\n");
        return 2;
    }
    const unsigned long asked = argc > 3 ? strtoul(argv[3], NULL, 10) : ROUNDS;
    const uint32_t rounds = asked >= 20 && asked <= ROUNDS_MOST ? (uint32_t)asked : ROUNDS;
    mts_frame frame;
    mts_frame_default(&frame);
    frame.width = argc > 5 ? (uint32_t)strtoul(argv[4], NULL, 10) : 1280;
    frame.height = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 720;
    frame.format = MTS_PIXEL_FORMAT_NV12;
    unsigned char *pixels = make_frame(frame.width, frame.height);
    frame.data = pixels;
    mts_runtime_options options;
    mts_runtime_options_default(&options);
    options.device = argc > 2 ? argv[2] : NULL;
    options.error_text = error;
    options.error_size = sizeof error;
    mts_status status = pixels ? mts_runtime_create(&options, &runtime) : MTS_STATUS_OUT_OF_MEMORY;
    status = status == MTS_STATUS_OK ? mts_bundle_open(runtime, argv[1], &bundle) : status;
    status = status == MTS_STATUS_OK ? mts_session_create(runtime, bundle, NULL, &session) : status;
    status = status == MTS_STATUS_OK ? race(session, frame, rounds) : status;
    if (status != MTS_STATUS_OK) {
        (void)fprintf(stderr, "bench_frames: %s %s\n", mts_status_name(status), error);
    }
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    free(pixels);
    return status == MTS_STATUS_OK ? 0 : 1;
}
