/*
 * measure.c: a session with a setting: its outputs, and how long its runs take.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "phone.h"

#define RUNS_MOST 20000u
#define RUNS_LEAST 5u

const phone_setting phone_settings[] = {
    {.name = "base", .precision = MTS_PRECISION_AUTO},
    {.name = "float32"},
    {.name = "float16-storage", .precision = MTS_PRECISION_FLOAT16_STORAGE},
    {.name = "float16", .precision = MTS_PRECISION_FLOAT16},
    {.name = "planes", .precision = MTS_PRECISION_AUTO, .packed_channels = MTS_USE_OFF},
    {.name = "packed", .packed_channels = MTS_USE_ON, .weight_images = MTS_USE_OFF},
    {.name = "packed-images", .packed_channels = MTS_USE_ON, .weight_images = MTS_USE_ON},
    {.name = "packed-float16", .precision = MTS_PRECISION_FLOAT16, .packed_channels = MTS_USE_ON},
    {.name = "replay", .precision = MTS_PRECISION_AUTO, .replay = MTS_USE_ON},
    {.name = "no-replay", .precision = MTS_PRECISION_AUTO, .replay = MTS_USE_OFF},
    {.name = "smooth", .precision = MTS_PRECISION_AUTO, .queue = MTS_QUEUE_SMOOTH},
    {.name = "fast", .precision = MTS_PRECISION_AUTO, .queue = MTS_QUEUE_FAST},
};
const size_t phone_setting_count = sizeof phone_settings / sizeof phone_settings[0];

typedef struct world {
    mts_runtime *runtime;
    mts_bundle *bundle;
    mts_session *session;
    phone_result *result;
    uint32_t random;
} world;

static bool good(world *w, mts_status status)
{
    if (status != MTS_STATUS_OK && w->result->error[0] == '\0') {
        (void)snprintf(w->result->error, sizeof w->result->error, "%s", mts_status_name(status));
    }
    return status == MTS_STATUS_OK;
}

/* From 0 to below 1, the same row of them every time. */
static float next_number(world *w)
{
    w->random = w->random * 1664525u + 1013904223u;
    return (float)(w->random >> 8) / 16777216.0f;
}

/* Numbers of an input as its type has them; other types than these stay zeros. */
static void fill(world *w, mts_tensor *tensor, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const float number = next_number(w);
        if (tensor->type == MTS_TYPE_FLOAT32) {
            ((float *)tensor->data)[i] = number;
        } else if (tensor->type == MTS_TYPE_UINT8) {
            ((uint8_t *)tensor->data)[i] = (uint8_t)(number * 255.0f);
        } else if (tensor->type == MTS_TYPE_INT8) {
            ((int8_t *)tensor->data)[i] = (int8_t)(number * 127.0f);
        }
    }
}

static size_t type_bytes(mts_type type)
{
    return type == MTS_TYPE_FLOAT64 || type == MTS_TYPE_INT64                              ? 8
           : type == MTS_TYPE_FLOAT32 || type == MTS_TYPE_INT32                            ? 4
           : type == MTS_TYPE_FLOAT16 || type == MTS_TYPE_INT16 || type == MTS_TYPE_UINT16 ? 2
                                                                                           : 1;
}

static bool set_input(world *w, const char *task, uint32_t index)
{
    mts_port_desc port = {.size = sizeof port};
    if (!good(w, mts_bundle_input(w->bundle, task, index, &port))) {
        return false;
    }
    mts_tensor tensor = {.type = port.type, .rank = port.rank};
    size_t count = 1;
    for (uint32_t d = 0; d < port.rank; d++) {
        tensor.dims[d] = port.dims[d];
        count *= (size_t)port.dims[d];
    }
    tensor.bytes = count * type_bytes(port.type);
    tensor.data = calloc(count, type_bytes(port.type));
    if (!tensor.data) {
        return good(w, MTS_STATUS_OUT_OF_MEMORY);
    }
    fill(w, &tensor, count);
    const bool set = good(w, mts_session_input(w->session, task, index, &tensor));
    free(tensor.data);
    return set;
}

static bool set_inputs(world *w)
{
    mts_task_desc task = {.size = sizeof task};
    for (uint32_t t = 0; t < mts_bundle_task_count(w->bundle); t++) {
        if (!good(w, mts_bundle_task(w->bundle, t, &task))) {
            return false;
        }
        w->random = t + 1;
        for (uint32_t i = 0; i < task.input_count; i++) {
            if (!set_input(w, task.name, i)) {
                return false;
            }
        }
    }
    return true;
}

static bool keep_output(world *w, const mts_tensor *tensor)
{
    phone_result *r = w->result;
    const size_t added = tensor->type == MTS_TYPE_FLOAT32 ? tensor->bytes / sizeof(float) : 0;
    float *outputs = realloc(r->outputs, (r->count + added + 1) * sizeof *outputs);
    r->outputs = outputs ? outputs : r->outputs;
    size_t *sizes = realloc(r->sizes, (r->output_count + 1) * sizeof *sizes);
    r->sizes = sizes ? sizes : r->sizes;
    if (!outputs || !sizes) {
        return good(w, MTS_STATUS_OUT_OF_MEMORY);
    }
    memcpy(outputs + r->count, tensor->data, added * sizeof *outputs);
    r->count += added;
    sizes[r->output_count++] = added;
    return true;
}

static bool keep_outputs(world *w)
{
    mts_task_desc task = {.size = sizeof task};
    for (uint32_t t = 0; t < mts_bundle_task_count(w->bundle); t++) {
        if (!good(w, mts_bundle_task(w->bundle, t, &task))) {
            return false;
        }
        for (uint32_t o = 0; o < task.output_count; o++) {
            mts_tensor tensor;
            if (!good(w, mts_session_output(w->session, task.name, o, &tensor)) || !keep_output(w, &tensor)) {
                return false;
            }
        }
    }
    return true;
}

static bool open_session(world *w, const phone_way *way)
{
    const phone_setting *setting = way->setting;
    phone_result *r = w->result;
    mts_device_desc device = {.size = sizeof device};
    mts_runtime_options runtime;
    mts_session_options options;
    mts_runtime_options_default(&runtime);
    runtime.device = way->device;
    runtime.cache_dir = way->cache;
    runtime.replay = setting->replay;
    runtime.queue = setting->queue;
    runtime.error_text = r->error;
    runtime.error_size = sizeof r->error;
    mts_session_options_default(&options);
    options.precision = setting->precision;
    options.packed_channels = setting->packed_channels;
    options.weight_images = setting->weight_images;
    options.separate_inputs = 1;
    if (!good(w, mts_runtime_create(&runtime, &w->runtime))) {
        return false;
    }
    (void)mts_runtime_device(w->runtime, &device);
    (void)snprintf(r->device, sizeof r->device, "%s", device.name);
    (void)snprintf(r->driver, sizeof r->driver, "%s", device.driver);
    if (!good(w, mts_bundle_open(w->runtime, way->bundle, &w->bundle))) {
        return false;
    }
    const double start = cli_now_ms();
    const bool made = good(w, mts_session_create(w->runtime, w->bundle, &options, &w->session));
    r->create_ms = cli_now_ms() - start;
    return made;
}

/* One run, and then as many as fit into the time, from the length of that one. */
static bool measure_runs(world *w, double seconds)
{
    mts_ticket ticket = 0;
    phone_result *r = w->result;
    const double start = cli_now_ms();
    if (!good(w, mts_session_submit(w->session, NULL, &ticket)) ||
        !good(w, mts_session_wait(w->session, ticket, MTS_TIMEOUT_INFINITE))) {
        return false;
    }
    r->first_ms = cli_now_ms() - start;
    r->stats.size = sizeof r->stats;
    if (!keep_outputs(w) || !good(w, mts_session_stats_get(w->session, &r->stats))) {
        return false;
    }
    const double fit = seconds * 1000.0 / fmax(r->first_ms, 0.01);
    const uint32_t runs = fit < RUNS_LEAST ? RUNS_LEAST : fit > RUNS_MOST ? RUNS_MOST : (uint32_t)fit;
    return seconds <= 0.0 || good(w, cli_measure(w->session, NULL, runs, &r->latency));
}

void phone_measure(const phone_way *way, phone_result *result)
{
    world w = {.result = result};
    *result = (phone_result){.count = 0};
    if (open_session(&w, way) && set_inputs(&w) && measure_runs(&w, way->seconds)) {
        result->error[0] = '\0';
    }
    mts_session_destroy(&w.session);
    mts_bundle_destroy(&w.bundle);
    mts_runtime_destroy(&w.runtime);
}

void phone_result_release(phone_result *result)
{
    free(result->outputs);
    free(result->sizes);
    *result = (phone_result){.count = 0};
}

double phone_difference(const phone_result *result, const phone_result *expected)
{
    double worst = 0.0;
    size_t at = 0;
    for (size_t o = 0; o < expected->output_count && expected->count == result->count; o++) {
        double largest = 0.0;
        double difference = 0.0;
        for (size_t i = at; i < at + expected->sizes[o]; i++) {
            const double apart = fabs((double)expected->outputs[i] - (double)result->outputs[i]);
            largest = fmax(largest, fabs((double)expected->outputs[i]));
            difference = isnan(apart) ? INFINITY : fmax(difference, apart);
        }
        worst = fmax(worst, difference / fmax(largest, 1e-30));
        at += expected->sizes[o];
    }
    return expected->count == result->count ? worst : INFINITY;
}
