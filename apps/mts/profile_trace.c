/*
 * profile_trace.c: a profile as trace events: one complete event per launch, so that gaps can be seen.
 */
#include "command.h"
#include "profile.h"

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

static void launch_event(cli_json *json, const mts_launch_profile *l, uint32_t index)
{
    cli_json_object(json, NULL);
    cli_json_string(json, "ph", "X");
    cli_json_string(json, "name", l->label);
    cli_json_string(json, "cat", l->kind);
    cli_json_integer(json, "pid", 1);
    cli_json_integer(json, "tid", 1);
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

static void trace_json(cli_json *json, const cli_profile *profile)
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
    name_event(json, "thread_name", 1, profile->strategy);
    for (uint32_t i = 0; i < profile->count; i++) {
        launch_event(json, &profile->launches[i], i);
    }
    cli_json_end(json, ']');
    cli_json_end(json, '}');
}

int cli_profile_trace(const cli_profile *profile, const char *path)
{
    cli_json json;
    char error[CLI_ERROR] = "";
    if (!cli_json_begin(&json)) {
        return cli_failure("profile", "no memory");
    }
    trace_json(&json, profile);
    const bool written = cli_json_write(&json, path, error);
    cli_json_release(&json);
    return written ? -1 : cli_failure("profile", "%s", error);
}
