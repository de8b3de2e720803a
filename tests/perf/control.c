/*
 * control.c: what a frame takes when all but one task are disabled, next to a session of that task alone.
 *
 *     perf_control BUNDLE [DEVICE [STRATEGY [RUNS]]]
 *
 * Both run by turns on the same frame of noise, so that what disturbs the machine disturbs both alike.
 * Prints a line per task, then the median ratio; of all tasks together for comparison. Says nothing about
 * outputs: tests/engine/test_control.c does.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mts/mts.h"

enum { WARM_UPS = 5, RUNS = 40, RUNS_MOST = 1000, TASKS_MOST = 64 };

static char error_text[512];

static int give_up(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", what, error_text);
    return 1;
}

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

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

/* Milliseconds of one run; negative: it failed. */
static double run(mts_session *session)
{
    mts_ticket ticket = 0;
    const double start = now_ms();
    const bool ran = mts_session_submit(session, NULL, &ticket) == MTS_STATUS_OK &&
                     mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE) == MTS_STATUS_OK;
    return ran ? now_ms() - start : -1.0;
}

/* Medians of two sessions by turns; `b` may be NULL. */
static bool race(mts_session *a, mts_session *b, uint32_t runs, double *of_a, double *of_b)
{
    static double times[2][RUNS_MOST];
    for (uint32_t r = 0; r < WARM_UPS + runs; r++) {
        const double first = run(a);
        const double second = b ? run(b) : 0.0;
        if (first < 0.0 || second < 0.0) {
            return false;
        }
        if (r >= WARM_UPS) {
            times[0][r - WARM_UPS] = first;
            times[1][r - WARM_UPS] = second;
        }
    }
    *of_a = median(times[0], runs);
    *of_b = median(times[1], runs);
    return true;
}

/* The inputs of all that follows. */
static mts_status show_noise(mts_session *session)
{
    enum { SIDE = 64 };
    static unsigned char pixels[SIDE * SIDE * 3];
    uint32_t random = 99;
    mts_ticket ticket = 0;
    mts_frame frame;
    for (size_t i = 0; i < sizeof pixels; i++) {
        random = random * 1664525u + 1013904223u;
        pixels[i] = (unsigned char)(random >> 24);
    }
    mts_frame_default(&frame);
    frame.data = pixels;
    frame.width = frame.height = SIDE;
    const mts_status status = mts_session_submit(session, &frame, &ticket);
    return status == MTS_STATUS_OK ? mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE) : status;
}

static mts_status session_make(mts_runtime *runtime, mts_bundle *bundle, mts_strategy strategy,
                               const char *task, mts_session **out)
{
    mts_session_options options;
    mts_session_options_default(&options);
    options.strategy = strategy;
    options.tasks = task ? &task : NULL;
    options.task_count = task ? 1 : 0;

    mts_status status = mts_session_create(runtime, bundle, &options, out);
    return status == MTS_STATUS_OK ? show_noise(*out) : status;
}

/* Enables one task and nothing else. */
static bool select_task(mts_session *session, const mts_bundle *bundle, uint32_t task)
{
    bool set = true;
    for (uint32_t t = 0; t < mts_bundle_task_count(bundle); t++) {
        mts_task_desc desc = {.size = sizeof desc};
        (void)mts_bundle_task(bundle, t, &desc);
        set = set && mts_session_enable(session, desc.name, t == task ? 1 : 0) == MTS_STATUS_OK;
    }
    return set;
}

static int measure(mts_runtime *runtime, mts_bundle *bundle, mts_strategy strategy, uint32_t runs)
{
    const uint32_t count = mts_bundle_task_count(bundle);
    double ratios[TASKS_MOST];
    double all_ms = 0.0;
    double none = 0.0;
    mts_session *all = NULL;
    int status = session_make(runtime, bundle, strategy, NULL, &all) == MTS_STATUS_OK &&
                         race(all, NULL, runs, &all_ms, &none)
                     ? 0
                     : give_up("all tasks");
    for (uint32_t t = 0; status == 0 && t < count && t < TASKS_MOST; t++) {
        mts_task_desc desc = {.size = sizeof desc};
        mts_session *alone = NULL;
        double one_ms = 0.0;
        double alone_ms = 0.0;
        (void)mts_bundle_task(bundle, t, &desc);
        if (session_make(runtime, bundle, strategy, desc.name, &alone) != MTS_STATUS_OK ||
            !select_task(all, bundle, t) || !race(all, alone, runs, &one_ms, &alone_ms)) {
            status = give_up(desc.name);
        } else {
            ratios[t] = one_ms / alone_ms;
            (void)printf("%-12s others disabled %8.3f ms, alone %8.3f ms, ratio %.3f\n", desc.name, one_ms,
                         alone_ms, ratios[t]);
        }
        mts_session_destroy(&alone);
    }
    if (status == 0) {
        (void)printf("all %u tasks %.3f ms; median ratio %.3f, largest", count, all_ms,
                     median(ratios, count < TASKS_MOST ? count : TASKS_MOST));
        (void)printf(" %.3f\n", ratios[(count < TASKS_MOST ? count : TASKS_MOST) - 1]);
    }
    mts_session_destroy(&all);
    return status;
}

static mts_strategy strategy_of(const char *name)
{
    static const char *const names[] = {"sequential", "compact", "netfuse", "dense"};
    for (int s = MTS_STRATEGY_SEQUENTIAL; s <= MTS_STRATEGY_DENSE; s++) {
        if (strcmp(names[s], name) == 0) {
            return (mts_strategy)s;
        }
    }
    return MTS_STRATEGY_COMPACT;
}

int main(int argc, char **argv)
{
    mts_runtime_options options;
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: %s BUNDLE [DEVICE [STRATEGY [RUNS]]]\n", argv[0]);
        return 2;
    }
    mts_runtime_options_default(&options);
    options.device = argc > 2 ? argv[2] : NULL;
    options.error_text = error_text;
    options.error_size = sizeof error_text;
    unsigned long runs = argc > 4 ? strtoul(argv[4], NULL, 10) : RUNS;
    runs = runs < 1 ? 1 : runs > RUNS_MOST ? RUNS_MOST : runs;
    int status = mts_runtime_create(&options, &runtime) == MTS_STATUS_OK &&
                         mts_bundle_open(runtime, argv[1], &bundle) == MTS_STATUS_OK
                     ? 0
                     : give_up(argv[1]);
    if (status == 0) {
        status = measure(runtime, bundle, strategy_of(argc > 3 ? argv[3] : "compact"), (uint32_t)runs);
    }
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    return status;
}
