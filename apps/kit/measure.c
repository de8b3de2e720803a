/*
 * measure.c: repeats a run and keeps order statistics.
 */
#include "measure.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "precision.h"

double cli_now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void cli_sleep_until(double ms)
{
    const double seconds = ms / 1e3;
    const struct timespec at = {.tv_sec = (time_t)seconds,
                                .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

double cli_cpu_ms(void)
{
    struct rusage used = {0};
    (void)getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nearest rank. */
static double percentile(const double *sorted, uint32_t count, double part)
{
    const double rank = part * (double)(count - 1);
    return sorted[(uint32_t)(rank + 0.5)];
}

cli_latency cli_latency_of(double *times, uint32_t runs)
{
    qsort(times, runs, sizeof *times, compare);
    return (cli_latency){percentile(times, runs, 0.5), percentile(times, runs, 0.05),
                         percentile(times, runs, 0.95), runs};
}

static mts_status run_once(mts_session *session, const mts_frame *frame)
{
    mts_ticket ticket = 0;
    const mts_status status = mts_session_submit(session, frame, &ticket);
    return status == MTS_STATUS_OK ? mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE) : status;
}

mts_status cli_measure(mts_session *session, const mts_frame *frame, uint32_t runs, cli_latency *out)
{
    mts_status status = MTS_STATUS_OK;
    double *times = calloc(runs, sizeof *times);
    if (!times) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    for (uint32_t i = 0; i < CLI_WARM_UPS && status == MTS_STATUS_OK; i++) {
        status = run_once(session, frame);
    }
    for (uint32_t i = 0; i < runs && status == MTS_STATUS_OK; i++) {
        const double start = cli_now_ms();
        status = run_once(session, frame);
        times[i] = cli_now_ms() - start;
    }
    if (status == MTS_STATUS_OK) {
        *out = cli_latency_of(times, runs);
    }
    free(times);
    return status;
}

void cli_measure_json(cli_json *json, const cli_latency *latency, const mts_session_stats *stats)
{
    if (latency) {
        cli_json_object(json, "latency_ms");
        cli_json_number(json, "median", latency->median);
        cli_json_number(json, "p5", latency->p5);
        cli_json_number(json, "p95", latency->p95);
        cli_json_integer(json, "runs", latency->runs);
        cli_json_end(json, '}');
    }
    cli_json_string(json, "precision", cli_precision_name(stats->precision));
    cli_json_object(json, "bytes");
    cli_json_integer(json, "weights", stats->weight_bytes);
    cli_json_integer(json, "activations", stats->activation_bytes);
    cli_json_integer(json, "workspace", stats->workspace_bytes);
    cli_json_integer(json, "peak", stats->peak_bytes);
    cli_json_end(json, '}');
    cli_json_integer(json, "launches", stats->launches);
    cli_json_integer(json, "groups", stats->groups);
    cli_json_integer(json, "kernels", stats->kernels);
    cli_json_number(json, "planning_ms", stats->planning_ms);
    cli_json_integer(json, "mul_adds", stats->mul_adds);
}

const char *cli_bytes_text(uint64_t bytes, char *text, size_t size)
{
    if (bytes < 10000) {
        (void)snprintf(text, size, "%llu B", (unsigned long long)bytes);
    } else if (bytes < 10000000) {
        (void)snprintf(text, size, "%.1f kB", (double)bytes / 1e3);
    } else if (bytes < 10000000000) {
        (void)snprintf(text, size, "%.1f MB", (double)bytes / 1e6);
    } else {
        (void)snprintf(text, size, "%.1f GB", (double)bytes / 1e9);
    }
    return text;
}
