/*
 * bench_compare.c: whether the strategies of mts bench give the same outputs, and what
 * float16 makes of them.
 *
 * Results in float32 are held against the first of them and must agree. One in float16 is
 * held against float32 of the same strategy, on a session of its own where the bench has
 * none; what differs is a result, not a failure.
 */
#include <math.h>

#include "kit/answers.h"
#include "bench_run.h"
#include "command.h"

#define TOLERANCE 1e-4

/* Of all outputs that were compared. */
typedef struct comparison {
    double most;   /* largest difference, relative to its output's largest value */
    double sum;    /* of all such differences */
    double count;  /* of them */
    double latest; /* largest of the last output */
} comparison;

/* Infinity where there is no number to compare. */
static void tensor_compare(const mts_tensor *a, const mts_tensor *b, comparison *all)
{
    const size_t count = mts_kit_count(b);
    double most = 0.0;
    double sum = 0.0;
    double largest = 0.0;
    bool finite = mts_kit_count(a) == count;
    for (size_t i = 0; i < count && finite; i++) {
        const double x = mts_kit_value(a, i);
        const double y = mts_kit_value(b, i);
        finite = isfinite(x) && isfinite(y);
        most = fmax(most, fabs(x - y));
        sum += fabs(x - y);
        largest = fmax(largest, fabs(y));
    }
    const double scale = most == 0.0 ? 0.0 : largest > 0.0 ? 1.0 / largest : INFINITY;
    all->latest = finite ? most * scale : INFINITY;
    all->most = fmax(all->most, all->latest);
    all->sum += finite ? sum * scale : INFINITY;
    all->count += (double)count;
}

/* All outputs of a session against another's. With `limit` >= 0 the first that differs by
 * more is a failure.
 */
static int sessions_compare(const cli_bench_run *run, mts_session *want, mts_session *got, double limit,
                            const char *what, const char *than, comparison *all)
{
    *all = (comparison){0};
    for (uint32_t t = 0; t < run->tasks; t++) {
        mts_port_desc port = {.size = sizeof port};
        for (uint32_t o = 0; mts_bundle_output(run->app->bundle, run->names[t], o, &port) == MTS_STATUS_OK;
             o++) {
            mts_tensor a;
            mts_tensor b;
            if (mts_session_output(got, run->names[t], o, &a) != MTS_STATUS_OK ||
                mts_session_output(want, run->names[t], o, &b) != MTS_STATUS_OK) {
                return cli_failure("bench", "%s", run->app->error);
            }
            tensor_compare(&a, &b, all);
            if (limit >= 0.0 && !(all->latest <= limit)) {
                return cli_failure(
                    "bench", "%u tasks: output %s of task %s is not the same: %s differs by %.3g from %s",
                    run->tasks, port.name, run->names[t], what, all->latest, than);
            }
        }
    }
    return -1;
}

/* The contestant in float32 of the same name; contestant_count if there is none. */
static size_t base_find(const cli_bench *bench, const cli_contestant *of)
{
    size_t i = 0;
    while (i < bench->contestant_count && (bench->contestants[i].precision != MTS_PRECISION_FLOAT32 ||
                                           bench->contestants[i].place != of->place)) {
        i++;
    }
    return i;
}

static int half_compare(cli_bench_run *run, size_t index)
{
    cli_contestant like = run->bench->contestants[index];
    const size_t base = base_find(run->bench, &like);
    mts_session *own = NULL;
    comparison all;
    int status = -1;
    if (base == run->bench->contestant_count) {
        like.precision = MTS_PRECISION_FLOAT32;
        like.grouping = MTS_GROUPING_FAMILY; /* its outputs count, and it may need more than the budget */
        like.budget = false;
        status = cli_bench_session(run, &like, &own);
    }
    if (status < 0) {
        status =
            sessions_compare(run, own ? own : run->sessions[base], run->sessions[index], -1.0, "", "", &all);
    }
    if (status < 0) {
        cli_bench_result *result = &run->results[index];
        result->difference = result->error_most = all.most;
        result->error_mean = all.count > 0.0 ? all.sum / all.count : 0.0;
    }
    mts_session_destroy(&own);
    return status;
}

int cli_bench_same(const cli_bench_run *run, mts_session *want, mts_session *got, bool half, const char *what,
                   const char *than, double *difference)
{
    comparison all;
    const int status = sessions_compare(run, want, got, half ? -1.0 : TOLERANCE, what, than, &all);
    *difference = status < 0 ? all.most : 0.0;
    return status;
}

int cli_bench_compare(cli_bench_run *run, size_t index)
{
    const cli_contestant *contestant = &run->bench->contestants[index];
    size_t first = 0;
    comparison all;
    if (contestant->precision != MTS_PRECISION_FLOAT32) {
        return half_compare(run, index);
    }
    while (run->bench->contestants[first].precision != MTS_PRECISION_FLOAT32) {
        first++;
    }
    const int status = sessions_compare(run, run->sessions[first], run->sessions[index], TOLERANCE,
                                        contestant->label, run->bench->contestants[first].label, &all);
    run->results[index].difference = status < 0 ? all.most : 0.0;
    return status;
}
