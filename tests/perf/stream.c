/*
 * stream.c: a camera's stream through a session with frames in flight: what is dropped, what is allocated,
 * how memory grows, and what the library costs the thread that calls it.
 *
 *     bench_stream BUNDLE [DEVICE [FRAMES [FPS [PLACES]]]]
 *
 * Frames are 640x480 NV12 images of noise over a gradient, a few different ones by turns. First the rate
 * that can be sustained is measured (frames as fast as they are taken), then FRAMES come at FPS (0: 0.7 of
 * that rate), and the oldest is dropped where there are too many. After a tenth of them nothing may be
 * allocated and the resident memory may not grow by more than pages that were never touched before
 * (GROWTH_MOST_KIB). Exit status 1: it did, or an order or a sum was wrong, or the device is "null" and a
 * frame costs OVERHEAD_US; drops are only told, since they depend on the machine's other work.
 *
 * CPU time is that of the calling thread inside the library's calls. It has the driver's part of enqueuing in
 * it; on the device "null", which computes nothing, it is the library's own.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mts/mts.h"

enum {
    WIDTH = 640,
    HEIGHT = 480,
    IMAGES = 4,
    FRAMES = 10000,
    WARM_UPS = 100,
    PLACES = 3,
    PAUSE_NS = 500000,
    GROWTH_MOST_KIB = 128,
    OVERHEAD_US = 100
};

typedef struct stream {
    mts_runtime *runtime;
    mts_bundle *bundle;
    mts_session *session;
    unsigned char *images[IMAGES];
    size_t allocations;
    mts_ticket last; /* that `done` was called with */
    uint64_t done, dropped, failed;
    bool disordered;
    double cpu_ns;
    char error[512];
} stream;

static double clock_ns(clockid_t which)
{
    struct timespec at = {0};
    (void)clock_gettime(which, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

/* Resident memory in KiB; 0 where the system does not tell. */
static long resident(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%*d %ld", &pages) != 1) {
            pages = 0;
        }
        (void)fclose(file);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void *count_alloc(void *context, size_t size)
{
    ((stream *)context)->allocations++;
    return malloc(size);
}

static void plain_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static void on_done(void *context, mts_ticket ticket, mts_status status)
{
    stream *s = context;
    if (status == MTS_STATUS_CANCELLED) {
        s->dropped++;
        return;
    }
    s->disordered = s->disordered || ticket <= s->last;
    s->last = ticket;
    s->done += status == MTS_STATUS_OK ? 1 : 0;
    s->failed += status == MTS_STATUS_OK ? 0 : 1;
}

static bool make_images(stream *s)
{
    uint32_t random = 12345;
    for (uint32_t p = 0; p < IMAGES; p++) {
        const size_t size = (size_t)WIDTH * HEIGHT * 3 / 2;
        s->images[p] = malloc(size);
        if (!s->images[p]) {
            return false;
        }
        for (size_t i = 0; i < size; i++) {
            random = random * 1664525u + 1013904223u;
            s->images[p][i] = (unsigned char)(16 + (i + p * 17) % WIDTH * 160 / WIDTH + (random >> 27));
        }
    }
    return true;
}

static mts_status submit(stream *s, uint64_t index)
{
    mts_frame frame;
    mts_ticket ticket = 0;
    mts_frame_default(&frame);
    frame.data = s->images[index % IMAGES];
    frame.width = WIDTH;
    frame.height = HEIGHT;
    frame.format = MTS_PIXEL_FORMAT_NV12;
    const double start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const mts_status status = mts_session_submit(s->session, &frame, &ticket);
    s->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    return status;
}

static void poll(stream *s)
{
    mts_ticket ticket = 0;
    const double start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    (void)mts_session_poll(s->session, &ticket);
    s->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

static mts_status session_make(stream *s, mts_when_full when_full, uint32_t places)
{
    mts_session_options options;
    mts_session_options_default(&options);
    options.frames_in_flight = places;
    options.when_full = when_full;
    options.done = on_done;
    options.context = s;
    mts_session_destroy(&s->session);
    s->last = 0;
    s->done = s->dropped = s->failed = 0;
    return mts_session_create(s->runtime, s->bundle, &options, &s->session);
}

/* Frames a second when each is submitted as soon as there is room. */
static mts_status sustainable(stream *s, double *rate)
{
    enum { ROUNDS = 300 };
    double start = 0.0;
    mts_status status = session_make(s, MTS_WHEN_FULL_BLOCK, PLACES);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < WARM_UPS + ROUNDS; i++) {
        start = i == WARM_UPS ? clock_ns(CLOCK_MONOTONIC) : start;
        status = submit(s, i);
    }
    *rate = ROUNDS / (clock_ns(CLOCK_MONOTONIC) - start) * 1e9;
    return status;
}

/* Until a time of the clock, or until everything has finished. */
static void poll_until(stream *s, double until)
{
    const struct timespec pause = {0, PAUSE_NS};
    mts_flow flow = {.size = sizeof flow};
    do {
        poll(s);
        (void)mts_session_flow(s->session, &flow);
        if (until > 0.0 || flow.in_flight > 0) {
            (void)nanosleep(&pause, NULL);
        }
    } while (until > 0.0 ? clock_ns(CLOCK_MONOTONIC) < until : flow.in_flight > 0);
}

static bool print_tasks(const stream *s)
{
    bool fine = true;
    for (uint32_t i = 0; i < mts_bundle_task_count(s->bundle); i++) {
        mts_task_desc task = {.size = sizeof task};
        mts_task_stats stats = {.size = sizeof stats};
        fine = fine && mts_bundle_task(s->bundle, i, &task) == MTS_STATUS_OK &&
               mts_session_task_stats(s->session, task.name, &stats) == MTS_STATUS_OK &&
               stats.runs == s->done;
        if (fine) {
            printf("%-16s %8llu runs  p50 %7.3f ms  p95 %7.3f ms\n", task.name,
                   (unsigned long long)stats.runs, stats.p50_ms, stats.p95_ms);
        }
    }
    return fine;
}

static int play(stream *s, const char *device, uint64_t frames, double fps, uint32_t places)
{
    size_t allocations = 0;
    long memory = 0;
    double start = clock_ns(CLOCK_MONOTONIC);
    if (session_make(s, MTS_WHEN_FULL_DROP_OLDEST, places) != MTS_STATUS_OK) {
        return 1;
    }
    for (uint64_t i = 0; i < frames; i++) {
        if (i == frames / 10) { /* warm */
            allocations = s->allocations;
            memory = resident();
            s->cpu_ns = 0.0;
        }
        if (submit(s, i) != MTS_STATUS_OK) {
            return 1;
        }
        poll_until(s, start + (double)(i + 1) / fps * 1e9);
    }
    poll_until(s, 0.0);
    const long growth = resident() - memory;
    const size_t more = s->allocations - allocations;
    mts_flow flow = {.size = sizeof flow};
    (void)mts_session_flow(s->session, &flow);
    const bool summed = flow.submitted == frames && flow.completed == s->done && flow.dropped == s->dropped &&
                        flow.failed == 0 && flow.in_flight == 0 && s->done + s->dropped == frames;
    printf("%llu frames at %.1f a second: %llu taken, %llu dropped\n", (unsigned long long)frames, fps,
           (unsigned long long)s->done, (unsigned long long)s->dropped);
    const bool told = print_tasks(s);
    printf("after the first tenth: %zu allocations, resident memory %+ld KiB of %ld\n", more, growth, memory);

    const double overhead = s->cpu_ns / 1e3 / ((double)frames - (double)(frames / 10));
    printf("CPU time of the calling thread: %.1f us a frame\n", overhead);

    const bool dear = strcmp(device, "null") == 0 && overhead >= OVERHEAD_US;
    return summed && told && !s->disordered && more == 0 && growth <= GROWTH_MOST_KIB && !dear ? 0 : 1;
}

int main(int argc, char **argv)
{
    static stream s;
    double rate = 0.0;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: bench_stream BUNDLE [DEVICE [FRAMES [FPS [PLACES]]]]\n");
        return 2;
    }
    const uint64_t frames = argc > 3 ? strtoull(argv[3], NULL, 10) : FRAMES;
    double fps = argc > 4 ? strtod(argv[4], NULL) : 0.0;
    const uint32_t places = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : PLACES;
    mts_runtime_options options;
    mts_runtime_options_default(&options);
    options.device = argc > 2 ? argv[2] : NULL;
    options.error_text = s.error;
    options.error_size = sizeof s.error;
    options.context = &s;
    options.alloc = count_alloc;
    options.free = plain_free;
    int result = 1;
    mts_status status = make_images(&s) ? MTS_STATUS_OK : MTS_STATUS_OUT_OF_MEMORY;
    status = status == MTS_STATUS_OK ? mts_runtime_create(&options, &s.runtime) : status;
    status = status == MTS_STATUS_OK ? mts_bundle_open(s.runtime, argv[1], &s.bundle) : status;
    status = status == MTS_STATUS_OK ? sustainable(&s, &rate) : status;
    if (status == MTS_STATUS_OK) {
        printf("as fast as they are taken: %.1f frames a second\n", rate);
        fps = fps > 0.0 ? fps : 0.7 * rate;
        result = play(&s, argc > 2 ? argv[2] : "", frames, fps, places);
    }
    if (result != 0) {
        (void)fprintf(stderr, "bench_stream: failed (%s) %s\n", mts_status_name(status), s.error);
    }
    mts_session_destroy(&s.session);
    mts_bundle_destroy(&s.bundle);
    mts_runtime_destroy(&s.runtime);
    for (uint32_t p = 0; p < IMAGES; p++) {
        free(s.images[p]);
    }
    return status == MTS_STATUS_NOT_FOUND ? 77 : result;
}
