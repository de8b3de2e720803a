/*
 * outputs.c: outputs from the arena to the caller: enqueued behind a run, kept in its flight, and made the
 * engine's own when somebody takes the run. Not responsible for when that is (submission.c).
 */
#include <string.h>

#include "base/half.h"
#include "engine/engine_internal.h"

/* Out-of-range values of integer types become the nearest end, NaN becomes 0. */
static double clamp(float value, double low, double high)
{
    const double x = (double)value;
    return x > low ? (x < high ? x : high) : (x <= low ? low : 0.0);
}

static void from_floats(mts_type dtype, const float *from, void *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        switch (dtype) {
        case MTS_TYPE_FLOAT16:
            ((uint16_t *)to)[i] = mts_half_from_float(from[i]);
            break;
        case MTS_TYPE_FLOAT64:
            ((double *)to)[i] = (double)from[i];
            break;
        case MTS_TYPE_INT32:
            ((int32_t *)to)[i] = (int32_t)clamp(from[i], -2147483648.0, 2147483647.0);
            break;
        case MTS_TYPE_INT64:
            ((int64_t *)to)[i] = (int64_t)clamp(from[i], -9.2e18, 9.2e18);
            break;
        case MTS_TYPE_UINT8:
            ((uint8_t *)to)[i] = (uint8_t)clamp(from[i], 0.0, 255.0);
            break;
        case MTS_TYPE_BOOL:
            ((uint8_t *)to)[i] = from[i] < 0.0f || from[i] > 0.0f ? 1 : 0;
            break;
        default:
            ((float *)to)[i] = from[i];
            break;
        }
    }
}

/* Whether an output lies in the region of outputs. */
static bool is_fetched(const mts_engine *engine, const engine_port *port)
{
    return !port->constant && port->offset >= engine->output_offset;
}

/* ---- behind a run ---- */

/* Elements [first, end) of the arena to where they lie in `to`, whose start is element `origin`. */
static mts_status fetch(const mts_engine *engine, uint64_t first, uint64_t end, void *to, uint64_t origin,
                        mts_error *error)
{
    const size_t size = mts_precision_size(engine->stats.precision);
    return end > first ? mts_buffer_read_async(engine->act, (size_t)first * size,
                                               (char *)to + (size_t)(first - origin) * size,
                                               (size_t)(end - first) * size, error)
                       : MTS_STATUS_OK;
}

/* Outputs of the tasks that run; neighbours, between which is at most what aligns them, with one copy. */
static mts_status fetch_some(const mts_engine *engine, const engine_flight *flight, mts_error *error)
{
    uint64_t first = 0;
    uint64_t end = 0;
    mts_status code = MTS_STATUS_OK;
    for (uint32_t t = 0; code == MTS_STATUS_OK && t < engine->task_count; t++) {
        for (uint32_t o = 0; mts_flight_runs(flight, t) && o < engine->tasks[t].output_count; o++) {
            const engine_port *port = &engine->tasks[t].outputs[o];
            const uint64_t aligned = (end + MTS_PLAN_ALIGN - 1) / MTS_PLAN_ALIGN * MTS_PLAN_ALIGN;
            if (!is_fetched(engine, port)) {
                continue;
            }
            if (end == 0 || (port->offset != end && port->offset != aligned)) {
                MTS_TRY(code, fetch(engine, first, end, flight->outputs, engine->output_offset, error));
                first = port->offset;
            }
            end = port->offset + port->count;
        }
    }
    return code == MTS_STATUS_OK ? fetch(engine, first, end, flight->outputs, engine->output_offset, error)
                                 : code;
}

mts_status mts_outputs_fetch(mts_engine *engine, engine_flight *flight, mts_error *error)
{
    const uint32_t ran = mts_flight_tasks(engine, flight);
    mts_status code = MTS_STATUS_OK;
    if (ran < engine->task_count) {
        code = fetch_some(engine, flight, error);
    } else {
        code = fetch(engine, engine->output_offset, engine->output_offset + engine->output_floats,
                     flight->outputs, engine->output_offset, error);
    }
    return code == MTS_STATUS_OK && ran > 0 ? fetch(engine, 0, engine->input_floats, flight->inputs, 0, error)
                                            : code;
}

/* ---- taken ---- */

static void to_floats(const mts_engine *engine, const void *from, size_t first, float *to, size_t count)
{
    if (engine->stats.precision == MTS_PRECISION_FLOAT32) {
        memcpy(to, (const float *)from + first, count * sizeof *to);
    } else {
        mts_half_array_to_float((const uint16_t *)from + first, to, count);
    }
}

/* Float32 data of an output of the run that was taken last. */
static const float *floats_of(const mts_engine *engine, const engine_port *port)
{
    if (port->constant) {
        return port->constant;
    }
    if (port->offset < engine->output_offset) {
        return engine->input_mirror + port->offset;
    }
    return engine->outputs + (port->offset - engine->output_offset);
}

/* The outputs of the tasks that ran; the others keep theirs. */
static void take_floats(mts_engine *engine, engine_flight *flight)
{
    if (engine->input_floats > 0 && mts_flight_tasks(engine, flight) > 0) { /* else nothing was fetched */
        to_floats(engine, flight->inputs, 0, engine->input_mirror, engine->input_floats);
    }
    for (uint32_t t = 0; t < engine->task_count; t++) {
        for (uint32_t o = 0; mts_flight_runs(flight, t) && o < engine->tasks[t].output_count; o++) {
            const engine_port *port = &engine->tasks[t].outputs[o];
            if (is_fetched(engine, port)) {
                const size_t at = (size_t)(port->offset - engine->output_offset);
                to_floats(engine, flight->outputs, at, engine->outputs + at, port->count);
            }
        }
    }
}

static void convert(const mts_engine *engine, const engine_task *task)
{
    for (uint32_t o = 0; o < task->output_count; o++) {
        const engine_port *port = &task->outputs[o];
        if (port->host) {
            from_floats(port->dtype, floats_of(engine, port), port->host, port->count);
        }
    }
}

void mts_outputs_take(mts_engine *engine, engine_flight *flight)
{
    const bool good = flight->code == MTS_STATUS_OK || flight->code == MTS_STATUS_CANCELLED;
    if (good) {
        take_floats(engine, flight);
    }
    for (uint32_t t = 0; t < engine->task_count; t++) {
        engine_task *task = &engine->tasks[t];
        if (!mts_flight_runs(flight, t)) {
            continue;
        }
        task->fetched = good ? flight->run : 0;
        if (good) {
            convert(engine, task);
            mts_latency_add(&task->latencies, flight->ended[task->group] - flight->submitted);
        }
    }
    engine->taken = engine->taken || good;
}

mts_status mts_engine_output(const mts_engine *engine, uint32_t task, uint32_t output, const void **data,
                             size_t *size, mts_error *error)
{
    const engine_task *t = mts_engine_find(engine, task);
    if (!t || output >= t->output_count) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "the session has no output %u of task %u", output, task);
    }
    if (!engine->taken) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "no run has finished and was taken: there are no outputs");
    }
    if (t->fetched == 0) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "task %s has no outputs: it has not run",
                        engine->archive->tasks[task].name);
    }
    const engine_port *port = &t->outputs[output];
    *data = port->host != NULL ? port->host : floats_of(engine, port);
    *size = port->count * mts_type_size(port->dtype);
    return MTS_STATUS_OK;
}
