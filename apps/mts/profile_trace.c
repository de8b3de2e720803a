/*
 * profile_trace.c: a profile as trace events: one complete event per launch, so that gaps
 * can be seen. Each task group is a thread of the trace, and a counter shows how full
 * launches make the device. On device `cpu` a second process of the trace has a row for
 * each thread: the parts of launches that it computed in one more run, and its waits.
 */

#include <stdio.h>
#include <stdlib.h>

#include "mts/profile.h"

#include "command.h"
#include "profile_report.h"
#include "schedule_plot.h"

enum { LAUNCHES = 1, THREADS = 2 }; /* processes of the trace */
#define WAIT_MS 1e-3                /* what is shorter is taking the next part */

/* Names a process or a thread; thread 0 for the process itself. */
static void name_event(cli_json *json, uint32_t process, const char *what, uint32_t thread, const char *name)
{
    cli_json_object(json, NULL);
    cli_json_string(json, "ph", "M");
    cli_json_string(json, "name", what);
    cli_json_integer(json, "pid", process);
    cli_json_integer(json, "tid", thread);
    cli_json_object(json, "args");
    cli_json_string(json, "name", name);
    cli_json_end(json, '}');
    cli_json_end(json, '}');
}

/* Thread 1: launches that work for several groups. */
static uint32_t thread_of(const mts_launch_profile *l)
{
    return l->group == UINT32_MAX ? 1 : l->group + 2;
}

static void thread_names(cli_json *json, const cli_profile *profile, const cli_open *app)
{
    char text[160];
    uint32_t groups = 0;
    for (uint32_t i = 0; i < profile->count; i++) {
        const uint32_t group = profile->launches[i].group;
        groups = group != UINT32_MAX && group + 1 > groups ? group + 1 : groups;
    }
    name_event(json, LAUNCHES, "thread_name", 1, "several groups");
    for (uint32_t g = 0; g < groups; g++) {
        cli_schedule_group_name(app, g, text, sizeof text);
        name_event(json, LAUNCHES, "thread_name", g + 2, text);
    }
}

/* Percent of the units that have a tile, from a moment on. */
static void occupancy_event(cli_json *json, double ms, double percent)
{
    cli_json_object(json, NULL);
    cli_json_string(json, "ph", "C");
    cli_json_string(json, "name", "occupancy");
    cli_json_integer(json, "pid", LAUNCHES);
    cli_json_integer(json, "tid", 0);
    cli_json_number(json, "ts", ms * 1e3);
    cli_json_object(json, "args");
    cli_json_number(json, "percent", percent);
    cli_json_end(json, '}');
    cli_json_end(json, '}');
}

static void launch_event(cli_json *json, const mts_launch_profile *l, uint32_t index)
{
    cli_json_object(json, NULL);
    cli_json_string(json, "ph", "X");
    cli_json_string(json, "name", l->label);
    cli_json_string(json, "cat", l->kind);
    cli_json_integer(json, "pid", LAUNCHES);
    cli_json_integer(json, "tid", thread_of(l));
    cli_json_number(json, "ts", l->start_ms * 1e3); /* microseconds */
    cli_json_number(json, "dur", l->duration_ms * 1e3);
    cli_json_object(json, "args");
    cli_json_integer(json, "launch", index);
    cli_json_string(json, "kernel", l->kernel);
    if (l->group != UINT32_MAX) {
        cli_json_integer(json, "group", l->group);
    }
    cli_json_integer(json, "computations", l->computations);
    cli_json_integer(json, "tasks", l->tasks);
    cli_json_integer(json, "tiles", l->tiles);
    cli_json_integer(json, "mul_adds", l->mul_adds);
    cli_json_integer(json, "bytes", l->bytes);
    cli_json_number(json, "gflops", cli_profile_gflops(l->mul_adds, l->duration_ms));
    cli_json_number(json, "gbps", cli_profile_gbps(l->bytes, l->duration_ms));
    cli_json_end(json, '}');
    cli_json_end(json, '}');
}

/* ---- threads ---- */

typedef struct thread_parts {
    mts_chunk_profile *chunks; /* on the heap */
    uint32_t count;
} thread_parts;

static int by_thread(const void *left, const void *right)
{
    const mts_chunk_profile *a = left, *b = right;
    const int order = (a->thread > b->thread) - (a->thread < b->thread);
    return order != 0 ? order : (a->start_ms > b->start_ms) - (a->start_ms < b->start_ms);
}

/* None on a device without threads. Returns -1 to go on, else an exit status. */
static int find_parts(const cli_profile *profile, const cli_open *app, thread_parts *out)
{
    enum { PARTS = 4 }; /* of a launch and thread, at most */
    const uint64_t capacity = (uint64_t)profile->count * profile->device.compute_units * PARTS + 1;
    out->chunks = capacity <= UINT32_MAX ? calloc((size_t)capacity, sizeof *out->chunks) : NULL;
    if (!out->chunks) {
        return cli_failure("profile", "no memory for %llu parts of launches", (unsigned long long)capacity);
    }
    out->chunks->size = sizeof *out->chunks;
    const mts_status status = mts_session_trace(app->session, out->chunks, (uint32_t)capacity, &out->count);
    if (status == MTS_STATUS_UNSUPPORTED) {
        out->count = 0;
        return -1;
    }
    if (status != MTS_STATUS_OK) {
        return cli_failure("profile", "%s", app->error);
    }
    qsort(out->chunks, out->count, sizeof *out->chunks, by_thread);
    return -1;
}

static void span_event(cli_json *json, const char *name, const char *kind, uint32_t thread, double from,
                       double to)
{
    cli_json_object(json, NULL);
    cli_json_string(json, "ph", "X");
    cli_json_string(json, "name", name);
    cli_json_string(json, "cat", kind);
    cli_json_integer(json, "pid", THREADS);
    cli_json_integer(json, "tid", thread + 1);
    cli_json_number(json, "ts", from * 1e3);
    cli_json_number(json, "dur", (to - from) * 1e3);
}

/* A thread waits from the run's start, and until its end. */
static void thread_events(cli_json *json, const cli_profile *profile, const thread_parts *parts)
{
    char name[32];
    double end = 0.0;
    for (uint32_t i = 0; i < parts->count; i++) {
        const double own = parts->chunks[i].start_ms + parts->chunks[i].duration_ms;
        end = own > end ? own : end;
    }
    for (uint32_t i = 0; i < parts->count; i++) {
        const mts_chunk_profile *c = &parts->chunks[i];
        const mts_launch_profile *l = &profile->launches[c->launch];
        const bool first = i == 0 || c[-1].thread != c->thread;
        const bool last = i + 1 == parts->count || c[1].thread != c->thread;
        const double before = first ? 0.0 : c[-1].start_ms + c[-1].duration_ms;
        const double after = c->start_ms + c->duration_ms;
        if (first) {
            (void)snprintf(name, sizeof name, "thread %u", c->thread);
            name_event(json, THREADS, "thread_name", c->thread + 1, name);
        }
        if (c->start_ms - before >= WAIT_MS) {
            span_event(json, "wait", "wait", c->thread, before, c->start_ms);
            cli_json_end(json, '}');
        }
        span_event(json, l->label, l->kind, c->thread, c->start_ms, after);
        cli_json_object(json, "args");
        cli_json_integer(json, "launch", c->launch);
        cli_json_end(json, '}');
        cli_json_end(json, '}');
        if (last && end - after >= WAIT_MS) {
            span_event(json, "wait", "wait", c->thread, after, end);
            cli_json_end(json, '}');
        }
    }
}

static void trace_json(cli_json *json, const cli_profile *profile, const cli_open *app,
                       const thread_parts *parts)
{
    cli_json_object(json, NULL);
    cli_json_string(json, "displayTimeUnit", "ms");
    cli_json_object(json, "otherData");
    cli_json_string(json, "bundle", profile->bundle);
    cli_json_string(json, "device", profile->device.name);
    cli_json_string(json, "driver", profile->device.driver);
    cli_json_string(json, "strategy", profile->strategy);
    cli_json_string(json, "version", mts_version());
    cli_json_end(json, '}');
    cli_json_array(json, "traceEvents");
    name_event(json, LAUNCHES, "process_name", 0, profile->device.name);
    thread_names(json, profile, app);
    for (uint32_t i = 0; i < profile->count; i++) {
        const mts_launch_profile *l = &profile->launches[i];
        launch_event(json, l, i);
        occupancy_event(json, l->start_ms, 100.0 * cli_schedule_occupancy(l, profile->device.compute_units));
        occupancy_event(json, l->start_ms + l->duration_ms, 0.0);
    }
    if (parts->count > 0) {
        name_event(json, THREADS, "process_name", 0, "threads, one run");
    }
    thread_events(json, profile, parts);
    cli_json_end(json, ']');
    cli_json_end(json, '}');
}

int cli_profile_trace(const cli_profile *profile, const cli_open *app, const char *path)
{
    cli_json json;
    char error[CLI_ERROR] = "";
    thread_parts parts = {0};
    const int status = find_parts(profile, app, &parts);
    if (status >= 0 || !cli_json_begin(&json)) {
        free(parts.chunks);
        return status >= 0 ? status : cli_failure("profile", "no memory");
    }
    trace_json(&json, profile, app, &parts);
    const bool written = cli_json_write(&json, path, error);
    cli_json_release(&json);
    free(parts.chunks);
    return written ? -1 : cli_failure("profile", "%s", error);
}
