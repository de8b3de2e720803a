/*
 * processes.c: T tasks in one process, in a process for each, and in between, in turns.
 *
 *     bench_processes BUNDLE DEVICE ROUNDS WAY ...      (WAY: PROCESSESxTASKS:STRATEGY:THREADS[:PRECISION])
 *
 * "1x8:netfuse:2" is one process that runs 8 tasks by strategy netfuse with two threads; "8x1:sequential:1" is 8
 * processes of one task each, and "2x4:sequential:1" 2 of 4 tasks one after another. These are what NETFUSE (Jeong
 * 2020) merges, and its baselines of a process for each model and of hybrids. A round is one frame of all tasks of a
 * way: from the moment that all of its processes are told to go until the last one has answered. Ways take turns, and
 * processes whose turn it is not wait in a read. Process p of a way has the tasks p * TASKS and so on of the bundle, in
 * its order, with inputs of their own, of noise. Prints one JSON object with a row for each way: times of the rounds in
 * milliseconds, the time of mts_session_create (the merging, of which the longest process counts), and bytes: those of
 * the sessions' accounting, and those that the processes have of their own (RssAnon), each summed up.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mts/mts.h"

enum {
    WAYS_MOST = 16,
    PROCESSES_MOST = 64,
    TASKS_MOST = 64,
    ROUNDS_MOST = 1000,
    WARM_ROUNDS = 2,
    TOKENS = 1000
};

static const char *const strategies[] = {"sequential", "compact", "netfuse", "dense"};
static const char *const precisions[] = {"float32", "float16-storage", "float16"};

typedef struct way {
    uint32_t processes, tasks, threads;
    mts_strategy strategy;
    mts_precision precision;
    const char *text;
    int go[PROCESSES_MOST], done[PROCESSES_MOST]; /* pipes to the processes and from them */
    pid_t process[PROCESSES_MOST];
} way;

/* What a process says when its session stands. */
typedef struct answer {
    double create_ms;
    uint64_t weight_bytes, peak_bytes, own_bytes, mul_adds;
    uint32_t launches;
} answer;

static double now_ms(void)
{
    struct timespec at = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec * 1e-6;
}

static bool name_among(const char *const *names, uint32_t count, const char *text, uint32_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], text) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool read_way(const char *text, way *out)
{
    char strategy[24] = "", precision[24] = "float32";
    uint32_t s = 0, p = 0;
    *out = (way){.text = text};
    const int fields = sscanf(text, "%ux%u:%23[a-z]:%u:%23[a-z0-9-]", &out->processes, &out->tasks, strategy,
                              &out->threads, precision);
    const bool read = fields >= 4 && name_among(strategies, 4, strategy, &s) &&
                      name_among(precisions, 3, precision, &p) && out->processes >= 1 &&
                      out->processes <= PROCESSES_MOST && out->tasks >= 1 && out->tasks <= TASKS_MOST &&
                      out->processes * out->tasks <= TASKS_MOST;
    out->strategy = (mts_strategy)s;
    out->precision = (mts_precision)p;
    return read;
}

/* ---- in a process of a way ---- */

static char error_text[512];

static int give_up(const char *what)
{
    (void)fprintf(stderr, "bench_processes: %s: %s\n", what, error_text);
    return 1;
}

/* Bytes of the process that no other one shares, by the system. */
static uint64_t own_bytes(void)
{
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "RssAnon: %llu", &kilobytes) != 1) {
    }
    if (file) {
        (void)fclose(file);
    }
    return (uint64_t)kilobytes * 1024;
}

/* Noise from -1 to 1, or numbers of tokens. */
static bool fill(void *data, mts_type type, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        switch (type) {
        case MTS_TYPE_FLOAT32:
            ((float *)data)[i] = (float)(seed >> 8) / (float)(1u << 23) - 1.0f;
            break;
        case MTS_TYPE_INT32:
            ((int32_t *)data)[i] = (int32_t)(seed >> 8) % TOKENS;
            break;
        case MTS_TYPE_INT64:
            ((int64_t *)data)[i] = (int64_t)(seed >> 8) % TOKENS;
            break;
        default:
            return false;
        }
    }
    return true;
}

static bool set_input(mts_session *session, const mts_bundle *bundle, const char *task, uint32_t index,
                      uint32_t seed)
{
    mts_port_desc port = {.size = sizeof port};
    if (mts_bundle_input(bundle, task, index, &port) != MTS_STATUS_OK) {
        return false;
    }
    size_t count = 1;
    mts_tensor tensor = {.type = port.type, .rank = port.rank};
    for (uint32_t i = 0; i < port.rank; i++) {
        tensor.dims[i] = port.dims[i];
        count *= (size_t)port.dims[i];
    }
    void *data = malloc(count * sizeof(int64_t));
    tensor.data = data;
    tensor.bytes = count * (port.type == MTS_TYPE_INT64 ? sizeof(int64_t) : sizeof(float));
    const bool set = data && fill(data, port.type, count, seed) &&
                     mts_session_input(session, task, index, &tensor) == MTS_STATUS_OK;
    free(data);
    return set;
}

static bool set_inputs(mts_session *session, const mts_bundle *bundle, const char *const *names,
                       uint32_t count)
{
    bool set = true;
    for (uint32_t t = 0; set && t < count; t++) {
        mts_task_desc task = {.size = sizeof task};
        for (uint32_t k = 0; k < mts_bundle_task_count(bundle); k++) {
            (void)mts_bundle_task(bundle, k, &task);
            if (strcmp(task.name, names[t]) == 0) {
                break;
            }
        }
        for (uint32_t i = 0; set && i < task.input_count; i++) {
            set = set_input(session, bundle, names[t], i, 17 * t + i + 1);
        }
    }
    return set;
}

static bool run_frame(mts_session *session)
{
    mts_ticket ticket = 0;
    return mts_session_submit(session, NULL, &ticket) == MTS_STATUS_OK &&
           mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE) == MTS_STATUS_OK;
}

/* Answers once the session has run, and then runs a frame for each byte, until the pipe ends. */
static int serve(mts_session *session, double create_ms, int go, int done)
{
    char byte = 0;
    mts_session_stats stats = {.size = sizeof stats};
    if (!run_frame(session) || mts_session_stats_get(session, &stats) != MTS_STATUS_OK) {
        return give_up("a frame");
    }
    const answer a = {create_ms,   stats.weight_bytes, stats.peak_bytes,
                      own_bytes(), stats.mul_adds,     stats.launches};
    bool served = write(done, &a, sizeof a) == (ssize_t)sizeof a;
    while (served && read(go, &byte, 1) == 1) {
        served = run_frame(session) && write(done, &byte, 1) == 1;
    }
    return served ? 0 : give_up("a round");
}

static int work(const way *w, uint32_t process, const char *path, const char *device, int go, int done)
{
    mts_runtime_options ropts;
    mts_session_options sopts;
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    const char *names[TASKS_MOST];
    mts_runtime_options_default(&ropts);
    ropts.device = device;
    ropts.threads = w->threads;
    ropts.error_text = error_text;
    ropts.error_size = sizeof error_text;
    int status = mts_runtime_create(&ropts, &runtime) == MTS_STATUS_OK &&
                         mts_bundle_open(runtime, path, &bundle) == MTS_STATUS_OK
                     ? 0
                     : give_up(path);
    for (uint32_t i = 0; status == 0 && i < w->tasks; i++) {
        mts_task_desc task = {.size = sizeof task};
        status = mts_bundle_task(bundle, process * w->tasks + i, &task) == MTS_STATUS_OK
                     ? 0
                     : give_up("the bundle has too few tasks");
        names[i] = task.name;
    }
    mts_session_options_default(&sopts);
    sopts.strategy = w->strategy;
    sopts.precision = w->precision;
    sopts.tasks = names;
    sopts.task_count = w->tasks;
    sopts.separate_inputs = 1;
    const double start = now_ms();
    if (status == 0 && mts_session_create(runtime, bundle, &sopts, &session) != MTS_STATUS_OK) {
        status = give_up(w->text);
    }
    const double create_ms = now_ms() - start;
    if (status == 0 && !set_inputs(session, bundle, names, w->tasks)) {
        status = give_up("an input, of float32 or integers");
    }
    status = status == 0 ? serve(session, create_ms, go, done) : status;
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    return status;
}

/* ---- in the process that measures ---- */

/* Pipes of ways that stand already end with this process, so that a child closes its copies of them. */
static void close_others(const way *ways, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t p = 0; p < ways[i].processes && ways[i].go[p] > 0; p++) {
            (void)close(ways[i].go[p]);
            (void)close(ways[i].done[p]);
        }
    }
}

static bool start_process(way *ways, uint32_t at, uint32_t process, const char *path, const char *device)
{
    way *w = &ways[at];
    int go[2], done[2];
    if (pipe(go) != 0 || pipe(done) != 0) {
        return false;
    }
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        (void)close(go[1]);
        (void)close(done[0]);
        close_others(ways, at + 1);
        _exit(work(w, process, path, device, go[0], done[1]));
    }
    (void)close(go[0]);
    (void)close(done[1]);
    w->go[process] = go[1];
    w->done[process] = done[0];
    w->process[process] = child;
    return child > 0;
}

/* Starts a way's processes one after another, so that merging is timed alone. */
static bool start_way(way *ways, uint32_t at, const char *path, const char *device, answer *sum)
{
    *sum = (answer){.create_ms = 0.0};
    for (uint32_t p = 0; p < ways[at].processes; p++) {
        answer a;
        if (!start_process(ways, at, p, path, device) ||
            read(ways[at].done[p], &a, sizeof a) != (ssize_t)sizeof a) {
            return false;
        }
        sum->create_ms = a.create_ms > sum->create_ms ? a.create_ms : sum->create_ms;
        sum->weight_bytes += a.weight_bytes;
        sum->peak_bytes += a.peak_bytes;
        sum->own_bytes += a.own_bytes;
        sum->mul_adds += a.mul_adds;
        sum->launches += a.launches;
    }
    return true;
}

/* Milliseconds of a round; negative: a process ended. */
static double round_of(const way *w)
{
    char byte = 1;
    bool good = true;
    const double start = now_ms();
    for (uint32_t p = 0; p < w->processes; p++) {
        good = good && write(w->go[p], &byte, 1) == 1;
    }
    for (uint32_t p = 0; good && p < w->processes; p++) {
        good = read(w->done[p], &byte, 1) == 1;
    }
    return good ? now_ms() - start : -1.0;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void show(const way *w, const answer *sum, double *times, uint32_t rounds, bool last)
{
    qsort(times, rounds, sizeof *times, compare);
    printf("{\"way\": \"%s\", \"median_ms\": %.3f, \"least_ms\": %.3f, \"most_ms\": %.3f, "
           "\"create_ms\": %.1f, \"launches\": %u, \"mul_adds\": %llu, \"weight_bytes\": %llu, "
           "\"peak_bytes\": %llu, \"own_bytes\": %llu}%s\n",
           w->text, times[rounds / 2], times[0], times[rounds - 1], sum->create_ms, sum->launches,
           (unsigned long long)sum->mul_adds, (unsigned long long)sum->weight_bytes,
           (unsigned long long)sum->peak_bytes, (unsigned long long)sum->own_bytes, last ? "" : ",");
}

static int measure(way *ways, uint32_t count, uint32_t rounds, const char *path, const char *device)
{
    static double times[WAYS_MOST][ROUNDS_MOST];
    answer sums[WAYS_MOST];
    bool good = true;
    for (uint32_t w = 0; good && w < count; w++) {
        good = start_way(ways, w, path, device, &sums[w]);
    }
    for (uint32_t r = 0; good && r < WARM_ROUNDS + rounds; r++) {
        for (uint32_t i = 0; good && i < count; i++) {
            const uint32_t w = (r + i) % count;
            const double ms = round_of(&ways[w]);
            good = ms >= 0.0;
            if (r >= WARM_ROUNDS) {
                times[w][r - WARM_ROUNDS] = ms;
            }
        }
    }
    printf(good ? "{\"rows\": [\n" : "");
    for (uint32_t w = 0; good && w < count; w++) {
        show(&ways[w], &sums[w], times[w], rounds, w + 1 == count);
    }
    printf(good ? "]}\n" : "");
    close_others(ways, count);
    while (wait(NULL) > 0) {
    }
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    static way ways[WAYS_MOST];
    const unsigned long rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    uint32_t count = 0;
    for (int i = 4; i < argc && count < WAYS_MOST; i++) {
        if (!read_way(argv[i], &ways[count++])) {
            (void)fprintf(stderr, "bench_processes: '%s' is not PROCESSESxTASKS:STRATEGY:THREADS\n", argv[i]);
            return 2;
        }
    }
    if (count == 0 || rounds == 0 || rounds > ROUNDS_MOST) {
        (void)fprintf(stderr, "usage: bench_processes BUNDLE DEVICE ROUNDS WAY ...\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN); /* a process that ended is an error of write */
    return measure(ways, count, (uint32_t)rounds, argv[1], argv[2]);
}
