/*
 * record.c: lines of JSON into a file.
 */
#include "record.h"

#include <errno.h>
#include <string.h>

#include "kit/frames.h"

bool record_open(record *out, const char *path, char *error)
{
    *out = (record){.path = path, .file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w")};
    if (!out->file) {
        (void)source_fail(error, CAMERA_FAILURE, "cannot write '%s': %s", path, strerror(errno));
    }
    return out->file;
}

/* Ends the line and writes it. */
static bool line_write(record *out, cli_json *json, char *error)
{
    cli_json_end(json, '}');
    (void)fputc('\n', json->out);
    const bool whole = fflush(json->out) == 0 && !ferror(json->out);
    const bool written =
        whole && fwrite(json->text, 1, json->size, out->file) == json->size && fflush(out->file) == 0;
    cli_json_release(json);
    if (!written) {
        (void)source_fail(error, CAMERA_FAILURE, "cannot write '%s': %s", out->path,
                          whole ? strerror(errno) : "no memory");
    }
    return written;
}

static bool line_begin(cli_json *json, char *error)
{
    if (!cli_json_begin(json)) {
        (void)source_fail(error, CAMERA_FAILURE, "no memory");
        return false;
    }
    cli_json_object(json, NULL);
    return true;
}

void record_frame_json(const feed_frame *frame, double latency_ms, const results *all, const faces *people,
                       cli_json *json)
{
    cli_json_integer(json, "frame", frame->source.number);
    cli_json_number(json, "time_ms", frame->source.time_ms);
    cli_json_number(json, "latency_ms", latency_ms);
    results_json(all, json);
    faces_json(people, frame, json);
}

bool record_frame(record *out, const feed_frame *frame, double latency_ms, const results *all,
                  const faces *people, char *error)
{
    cli_json json;
    if (!out->file) {
        return true;
    }
    if (!line_begin(&json, error)) {
        return false;
    }
    record_frame_json(frame, latency_ms, all, people, &json);
    return line_write(out, &json, error);
}

bool record_dropped(record *out, const feed_frame *frame, char *error)
{
    cli_json json;
    if (!out->file) {
        return true;
    }
    if (!line_begin(&json, error)) {
        return false;
    }
    cli_json_integer(&json, "frame", frame->source.number);
    cli_json_number(&json, "time_ms", frame->source.time_ms);
    cli_json_raw(&json, "dropped", "true");
    return line_write(out, &json, error);
}

static void source_json(cli_json *json, const table_facts *facts)
{
    const source_info *from = facts->source;
    cli_json_object(json, "source");
    cli_json_string(json, "uri", facts->uri);
    cli_json_integer(json, "width", from->width);
    cli_json_integer(json, "height", from->height);
    cli_json_string(json, "format", cli_format_name(from->format));
    if (from->format >= MTS_PIXEL_FORMAT_NV12) {
        cli_json_string(json, "yuv", cli_yuv_name(from->yuv));
    }
    cli_json_number(json, "fps", from->fps);
    cli_json_end(json, '}');
}

static void tasks_json(cli_json *json, const results *all)
{
    cli_json_array(json, "tasks");
    for (uint32_t i = 0; i < all->count; i++) {
        const task_result *result = &all->tasks[i];
        cli_json_object(json, NULL);
        cli_json_string(json, "name", result->task.name);
        cli_json_integer(json, "runs", result->runs);
        cli_json_number(json, "p50_ms", result->p50_ms);
        cli_json_number(json, "p95_ms", result->p95_ms);
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
}

bool record_summary(record *out, const table_facts *facts, const char *reason, int status, char *error)
{
    cli_json json;
    double p50 = 0, p95 = 0;
    if (!out->file) {
        return true;
    }
    if (!line_begin(&json, error)) {
        return false;
    }
    tally_latency(facts->count, &p50, &p95);
    cli_json_object(&json, "summary");
    source_json(&json, facts);
    if (facts->device) {
        cli_json_string(&json, "device", facts->device);
    }
    cli_json_integer(&json, "frames", facts->count->came);
    cli_json_integer(&json, "answered", facts->count->answered);
    cli_json_integer(&json, "dropped", facts->count->dropped);
    cli_json_number(&json, "fps", tally_rate_overall(facts->count));
    cli_json_number(&json, "p50_ms", p50);
    cli_json_number(&json, "p95_ms", p95);
    tasks_json(&json, facts->results);
    cli_json_integer(&json, "status", (uint64_t)status);
    if (reason) {
        cli_json_string(&json, "reason", reason);
    }
    cli_json_end(&json, '}');
    return line_write(out, &json, error);
}

bool record_close(record *out, char *error)
{
    FILE *file = out->file;
    out->file = NULL;
    if (!file || file == stdout || fclose(file) == 0) {
        return true;
    }
    (void)source_fail(error, CAMERA_FAILURE, "cannot write '%s': %s", out->path, strerror(errno));
    return false;
}
