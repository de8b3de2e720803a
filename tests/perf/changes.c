/*
 * changes.c: what a change of a session does to a stream of frames: add, update and remove while frames come
 * at a camera's rate.
 *
 *     bench_changes BUNDLE [DEVICE [FRAMES [HZ [IN_FLIGHT [RESERVE]]]]]
 *
 * The last task of the bundle is added to a session of the others, the first one gets other weights, and the
 * second one is removed, each a quarter of the frames after the one before. Prints for each part of the stream how long the calls of a frame took (submit,
 * and the wait for the oldest frame), and at most how late a frame was: the stall. Without HZ frames follow
 * each other at once. Says nothing about outputs: tests/api/test_changes.c does.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mts/mts.h"
#include "platform/os/os.h"
#include "support/subset.h"

enum { SIDE = 224, FRAMES = 1000, FRAMES_MOST = 100000, PARTS = 4 };

static char error_text[512];
static uint8_t pixels[3 * SIDE * SIDE];
static double took[FRAMES_MOST];

typedef struct bench {
    mts_runtime *runtime;
    mts_bundle *base, *extra, *update, *whole;
    mts_session *session;
    mts_ticket first, last;
    uint32_t in_flight;
    uint64_t reserve;
} bench;

static bool failed(mts_status status, const char *what)
{
    if (status != MTS_STATUS_OK) {
        (void)fprintf(stderr, "%s: %s: %s\n", what, mts_status_name(status), error_text);
    }
    return status != MTS_STATUS_OK;
}

static double now_ms(void)
{
    struct timespec at = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec * 1e-6;
}

static void sleep_until(double ms)
{
    const double left = ms - now_ms();
    if (left > 0.0) {
        const struct timespec rest = {.tv_sec = (time_t)(left / 1e3),
                                      .tv_nsec = (long)((left - 1e3 * (double)(long)(left / 1e3)) * 1e6)};
        (void)nanosleep(&rest, NULL);
    }
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* A frame, and the wait for the oldest one where as many are in flight as may be. */
static bool run_frame(bench *b)
{
    mts_frame frame;
    mts_frame_default(&frame);
    frame.data = pixels;
    frame.width = frame.height = SIDE;
    frame.format = MTS_PIXEL_FORMAT_RGB;
    if (failed(mts_session_submit(b->session, &frame, &b->last), "submit")) {
        return false;
    }
    while (b->last + 1 - b->first >= b->in_flight) {
        if (failed(mts_session_wait(b->session, b->first++, MTS_TIMEOUT_INFINITE), "wait")) {
            return false;
        }
    }
    return true;
}

static mts_session_stats stats_of(const mts_session *session)
{
    mts_session_stats stats = {.size = sizeof stats};
    (void)mts_session_stats_get(session, &stats);
    return stats;
}

/* Milliseconds: median and largest of the frames of a part. */
static void print_part(const char *name, double *times, uint32_t count, const bench *b)
{
    double most = 0.0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        at = times[i] > most ? i : at;
        most = times[i] > most ? times[i] : most;
    }
    qsort(times, count, sizeof *times, compare);
    const mts_session_stats stats = stats_of(b->session);
    const double median = times[count / 2];
    printf("%-8s %6u frames  median %7.3f ms  p99 %7.3f ms  most %7.3f ms (frame %u)  stall %7.3f ms\n", name,
           count, median, times[count * 99 / 100], most, at, most - median);
    printf("         weights %llu  activations %llu  workspace %llu  peak %llu bytes, %u launches\n",
           (unsigned long long)stats.weight_bytes, (unsigned long long)stats.activation_bytes,
           (unsigned long long)stats.workspace_bytes, (unsigned long long)stats.peak_bytes, stats.launches);
}

static bool begin_change(bench *b, int part, const char *task)
{
    const double start = now_ms();
    const mts_status status = part == 1   ? mts_session_add(b->session, b->extra)
                              : part == 2 ? mts_session_update(b->session, b->update)
                              : part == 3 ? mts_session_remove(b->session, task)
                                          : MTS_STATUS_OK;
    if (part > 0) {
        printf("         the call that begins the change took %.3f ms\n", now_ms() - start);
    }
    return !failed(status, "change");
}

static bool run_stream(bench *b, uint32_t frames, double period, const char *task)
{
    static const char *const names[PARTS] = {"before", "add", "update", "remove"};
    for (int part = 0; part < PARTS; part++) {
        double due = now_ms();
        if (!begin_change(b, part, task)) {
            return false;
        }
        for (uint32_t i = 0; i < frames / PARTS; i++) {
            sleep_until(due);
            const double start = period > 0.0 ? due : now_ms();
            if (!run_frame(b)) {
                return false;
            }
            took[i] = now_ms() - start; /* what is late holds up what follows */
            due += period;
        }
        if (failed(mts_session_settle(b->session, MTS_TIMEOUT_INFINITE), "settle")) {
            return false;
        }
        print_part(names[part], took, frames / PARTS, b);
    }
    return true;
}

static bool check_flow(bench *b)
{
    mts_flow flow = {.size = sizeof flow};
    while (b->first <= b->last) {
        if (failed(mts_session_wait(b->session, b->first++, MTS_TIMEOUT_INFINITE), "wait")) {
            return false;
        }
    }
    (void)mts_session_flow(b->session, &flow);
    printf("submitted %llu, completed %llu, dropped %llu, failed %llu\n", (unsigned long long)flow.submitted,
           (unsigned long long)flow.completed, (unsigned long long)flow.dropped,
           (unsigned long long)flow.failed);
    return flow.completed == flow.submitted && flow.dropped + flow.failed == 0;
}

static void print_memory(bench *b)
{
    mts_session *whole = NULL;
    mts_session *base = NULL;
    if (failed(mts_session_create(b->runtime, b->whole, NULL, &whole), "create") ||
        failed(mts_session_create(b->runtime, b->base, NULL, &base), "create")) {
        return;
    }
    const mts_session_stats all = stats_of(whole);
    const mts_session_stats first = stats_of(base);
    printf("created with all tasks: weights %llu  activations %llu  workspace %llu  peak %llu bytes\n",
           (unsigned long long)all.weight_bytes, (unsigned long long)all.activation_bytes,
           (unsigned long long)all.workspace_bytes, (unsigned long long)all.peak_bytes);
    printf("activations of the base, which exist beside the next ones for a moment: %llu bytes\n",
           (unsigned long long)first.activation_bytes);
    mts_session_destroy(&base);
    mts_session_destroy(&whole);
}

/* The bundles, beside the whole one, and their paths. */
static char paths[3][512];
static char second[256];

static bool write_bundles(const char *path)
{
    uint32_t tasks[1024];
    mts_os_map map = {0};
    mts_archive *archive = NULL;
    mts_error error = {0};
    mts_status status = mts_os_map_file(path, &map, &error);
    if (status == MTS_STATUS_OK) {
        status = mts_archive_read(map.data, map.size, path, NULL, mts_allocator_default(), &archive, &error);
    }
    if (status != MTS_STATUS_OK || archive->task_count < 3) {
        (void)fprintf(stderr, "%s\n", status != MTS_STATUS_OK ? error.text : "it needs at least three tasks");
        return false;
    }
    for (uint32_t i = 0; i < archive->task_count; i++) {
        tasks[i] = i;
    }
    for (int i = 0; i < 3; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s.%d", path, i);
    }
    (void)snprintf(second, sizeof second, "%s", archive->tasks[1].name);
    test_subset_write(archive, tasks, archive->task_count - 1, 1.0f, paths[0]);
    test_subset_write(archive, tasks + archive->task_count - 1, 1, 1.0f, paths[1]);
    test_subset_write(archive, tasks, 1, 1.125f, paths[2]);
    mts_archive_destroy(&archive);
    mts_os_unmap(&map);
    return true;
}

static bool open_bench(bench *b, const char *whole, const char *device)
{
    mts_runtime_options options;
    mts_session_options how;
    mts_runtime_options_default(&options);
    options.device = device;
    options.error_text = error_text;
    options.error_size = sizeof error_text;
    mts_session_options_default(&how);
    how.frames_in_flight = b->in_flight;
    how.weights_reserve = b->reserve;
    return !failed(mts_runtime_create(&options, &b->runtime), "runtime") &&
           !failed(mts_bundle_open(b->runtime, paths[0], &b->base), paths[0]) &&
           !failed(mts_bundle_open(b->runtime, paths[1], &b->extra), paths[1]) &&
           !failed(mts_bundle_open(b->runtime, paths[2], &b->update), paths[2]) &&
           !failed(mts_bundle_open(b->runtime, whole, &b->whole), whole) &&
           !failed(mts_session_create(b->runtime, b->base, &how, &b->session), "create");
}

int main(int argc, char **argv)
{
    const char *device = argc > 2 ? argv[2] : "cpu";
    const uint32_t frames = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : FRAMES;
    const double hz = argc > 4 ? strtod(argv[4], NULL) : 0.0;
    bench b = {.first = 1,
               .in_flight = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 1,
               .reserve = argc > 6 ? strtoul(argv[6], NULL, 10) : 0};
    if (argc < 2 || frames < PARTS || frames > FRAMES_MOST || b.in_flight == 0) {
        (void)fprintf(stderr, "usage: bench_changes BUNDLE [DEVICE [FRAMES [HZ [IN_FLIGHT [RESERVE]]]]]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (uint8_t)(i * 2654435761u >> 13);
    }
    bool done = write_bundles(argv[1]) && open_bench(&b, argv[1], device);
    for (int i = 0; done && i < 5; i++) {
        done = run_frame(&b); /* the first frames make what frames need */
    }
    done = done && run_stream(&b, frames, hz > 0.0 ? 1e3 / hz : 0.0, second);
    done = done && check_flow(&b);
    if (b.whole) {
        print_memory(&b);
    }
    mts_session_destroy(&b.session);
    mts_bundle_destroy(&b.base);
    mts_bundle_destroy(&b.extra);
    mts_bundle_destroy(&b.update);
    mts_bundle_destroy(&b.whole);
    mts_runtime_destroy(&b.runtime);
    for (int i = 0; i < 3; i++) {
        (void)remove(paths[i]);
    }
    return done ? 0 : 1;
}
