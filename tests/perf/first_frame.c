/*
 * first_frame.c: how long a fresh process takes from its start to the first outputs, beside reading the bundle alone.
 *
 *     bench_first_frame BUNDLE [DEVICE [STARTS [MOST_MS]]]
 *
 * Starts itself again STARTS times. Each process reads the file into memory, or opens a runtime, the bundle and a session
 * and waits for one run on inputs of zeros; processes of both kinds take turns. Prints the least and the median of each
 * part, and the same of the processor time of all threads, which other programs disturb less. With MOST_MS the exit
 * status is 1 where the least time of a first frame is more than that above the least time of reading. The file lies in
 * the system's cache; each process counts from before it was started.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mts/mts.h"

/* PART_READING: of a process that only reads. */
typedef enum part {
    PART_PROCESS,
    PART_RUNTIME,
    PART_BUNDLE,
    PART_SESSION,
    PART_RUN,
    PART_WHOLE,
    PART_READING,
    PARTS
} part;

enum { STARTS = 21, STARTS_MOST = 999 };

static const char *const names[PARTS] = {"process start",      "mts_runtime_create", "mts_bundle_open",
                                         "mts_session_create", "first run",          "first frame, whole",
                                         "reading the file"};

/* Milliseconds by the clock, and of the processor. */
typedef struct instant {
    double wall, processor;
} instant;

static double clock_ms(clockid_t clock)
{
    struct timespec at = {0};
    (void)clock_gettime(clock, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec * 1e-6;
}

static instant now(void)
{
    return (instant){.wall = clock_ms(CLOCK_MONOTONIC), .processor = clock_ms(CLOCK_PROCESS_CPUTIME_ID)};
}

static instant since(instant start)
{
    const instant at = now();
    return (instant){.wall = at.wall - start.wall, .processor = at.processor - start.processor};
}

/* ---- in the started process ---- */

static int read_only(const char *path, instant times[PARTS], instant start)
{
    FILE *file = fopen(path, "rb");
    long size = 0;
    char *data = NULL;
    int done = file && setvbuf(file, NULL, _IONBF, 0) == 0 && fseek(file, 0, SEEK_END) == 0;
    done = done && (size = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0;
    done = done && (data = malloc((size_t)size)) && fread(data, 1, (size_t)size, file) == (size_t)size;
    times[PART_READING] = since(start);
    free(data);
    if (file) {
        (void)fclose(file);
    }
    return done ? 0 : 1;
}

static int first_frame(const char *path, const char *device, instant times[PARTS], instant start)
{
    static char error[512];
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_ticket ticket = 0;
    mts_runtime_options options;
    mts_runtime_options_default(&options);
    options.device = device;
    options.error_text = error;
    options.error_size = sizeof error;
    times[PART_PROCESS] = since(start);
    instant at = now();
    mts_status status = mts_runtime_create(&options, &runtime);
    times[PART_RUNTIME] = since(at);
    at = now();
    status = status == MTS_STATUS_OK ? mts_bundle_open(runtime, path, &bundle) : status;
    times[PART_BUNDLE] = since(at);
    at = now();
    status = status == MTS_STATUS_OK ? mts_session_create(runtime, bundle, NULL, &session) : status;
    times[PART_SESSION] = since(at);
    at = now();
    status = status == MTS_STATUS_OK ? mts_session_submit(session, NULL, &ticket) : status;
    status = status == MTS_STATUS_OK ? mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE) : status;
    times[PART_RUN] = since(at);
    times[PART_WHOLE] = since(start);
    if (status != MTS_STATUS_OK) {
        (void)fprintf(stderr, "bench_first_frame: %s %s\n", mts_status_name(status), error);
    }
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    return status == MTS_STATUS_OK ? 0 : status == MTS_STATUS_NOT_FOUND ? 77 : 1;
}

/* bench_first_frame BUNDLE DEVICE --child frame|read START DESCRIPTOR */
static int run_child(char **argv)
{
    instant times[PARTS] = {{0}};
    const instant start = {.wall = strtod(argv[5], NULL)};
    const int result = strcmp(argv[4], "read") == 0 ? read_only(argv[1], times, start)
                                                    : first_frame(argv[1], argv[2], times, start);
    return result == 0 && write((int)strtol(argv[6], NULL, 10), times, sizeof times) != (ssize_t)sizeof times
               ? 1
               : result;
}

/* ---- in the process that starts the others ---- */

/* Returns the exit status of the process. */
static int start_child(char *bundle, char *device, char *kind, instant times[PARTS])
{
    int ends[2];
    char start[32], descriptor[16];
    if (pipe(ends) != 0) {
        return 1;
    }
    (void)snprintf(descriptor, sizeof descriptor, "%d", ends[1]);
    (void)snprintf(start, sizeof start, "%.6f", now().wall);
    char *arguments[] = {"bench_first_frame", bundle, device, "--child", kind, start, descriptor, NULL};
    const size_t bytes = PARTS * sizeof *times;
    const pid_t child = fork();
    if (child == 0) {
        (void)execv("/proc/self/exe", arguments);
        _exit(1);
    }
    (void)close(ends[1]);
    int state = 1;
    const int got = child > 0 && read(ends[0], times, bytes) == (ssize_t)bytes;
    (void)close(ends[0]);
    if (child < 0 || waitpid(child, &state, 0) != child || !WIFEXITED(state)) {
        return 1;
    }
    return WEXITSTATUS(state) != 0 ? WEXITSTATUS(state) : got ? 0 : 1;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Returns the least time by the clock. */
static double print_row(const char *name, const instant *times, uint32_t count)
{
    static double wall[STARTS_MOST], processor[STARTS_MOST];
    for (uint32_t i = 0; i < count; i++) {
        wall[i] = times[i].wall;
        processor[i] = times[i].processor;
    }
    qsort(wall, count, sizeof *wall, compare);
    qsort(processor, count, sizeof *processor, compare);
    printf("%-20s %10.2f %10.2f %10.2f %10.2f\n", name, wall[0], wall[count / 2], processor[0],
           processor[count / 2]);
    return wall[0];
}

int main(int argc, char **argv)
{
    static instant all[PARTS][STARTS_MOST];
    if (argc == 7 && strcmp(argv[3], "--child") == 0) {
        return run_child(argv);
    }
    if (argc < 2) {
        (void)fprintf(stderr, "usage: bench_first_frame BUNDLE [DEVICE [STARTS [MOST_MS]]]\n");
        return 2;
    }
    char *device = argc > 2 ? argv[2] : "auto";
    const unsigned long asked = argc > 3 ? strtoul(argv[3], NULL, 10) : STARTS;
    const uint32_t starts = asked >= 1 && asked <= STARTS_MOST ? (uint32_t)asked : STARTS;
    for (uint32_t i = 0; i < starts; i++) {
        instant reading[PARTS], frame[PARTS];
        int status = start_child(argv[1], device, "read", reading);
        status = status == 0 ? start_child(argv[1], device, "frame", frame) : status;
        if (status != 0) {
            return status;
        }
        for (int p = 0; p < PARTS; p++) {
            all[p][i] = p == PART_READING ? reading[p] : frame[p];
        }
    }
    printf("%u starts, ms   %15s %10s %10s %10s\n", starts, "least", "median", "processor", "median");
    double least[PARTS];
    for (int p = 0; p < PARTS; p++) {
        least[p] = print_row(names[p], all[p], starts);
    }
    const double above = least[PART_WHOLE] - least[PART_READING];
    printf("%-20s %10.2f\n", "above reading", above);
    if (argc > 4 && above > strtod(argv[4], NULL)) {
        (void)fprintf(stderr,
                      "bench_first_frame: the first frame takes %.1f ms more than reading, the limit is %s\n",
                      above, argv[4]);
        return 1;
    }
    return 0;
}
