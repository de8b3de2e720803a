/*
 * profile_trace.c: a profile as trace events: one complete event per launch, so that gaps
 * can be seen. Each task group is a thread of the trace, and a counter shows how full
 * launches make the device.
 */

#include "command.h"
#include "profile_report.h"
#include "schedule_plot.h"

/* Names a process or a thread; thread 0 for the process itself. */
static void name_event(cli_json *json, const char *what, uint32_t thread, const char *name)
{
    cli_json_object(json, NULL);
    cli_json_string(json, "ph", "M");
    cli_json_string(json, "name", what);
    cli_json_integer(json, "pid", 1);
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
    name_event(json, "thread_name", 1, "several groups");
    for (uint32_t g = 0; g < groups; g++) {
        cli_schedule_group_name(app, g, text, sizeof text);
        name_event(json, "thread_name", g + 2, text);
    }
}

/* Percent of the units that have a tile, from a moment on. */
static void occupancy_event(cli_json *json, double ms, double percent)
{
    cli_json_object(json, NULL);
    cli_json_string(json, "ph", "C");
    cli_json_string(json, "name", "occupancy");
    cli_json_integer(json, "pid", 1);
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
    cli_json_integer(json, "pid", 1);
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

static void trace_json(cli_json *json, const cli_profile *profile, const cli_open *app)
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
    name_event(json, "process_name", 0, profile->device.name);
    thread_names(json, profile, app);
    for (uint32_t i = 0; i < profile->count; i++) {
        const mts_launch_profile *l = &profile->launches[i];
        launch_event(json, l, i);
        occupancy_event(json, l->start_ms, 100.0 * cli_schedule_occupancy(l, profile->device.compute_units));
        occupancy_event(json, l->start_ms + l->duration_ms, 0.0);
    }
    cli_json_end(json, ']');
    cli_json_end(json, '}');
}

int cli_profile_trace(const cli_profile *profile, const cli_open *app, const char *path)
{
    cli_json json;
    char error[CLI_ERROR] = "";
    if (!cli_json_begin(&json)) {
        return cli_failure("profile", "no memory");
    }
    trace_json(&json, profile, app);
    const bool written = cli_json_write(&json, path, error);
    cli_json_release(&json);
    return written ? -1 : cli_failure("profile", "%s", error);
}
