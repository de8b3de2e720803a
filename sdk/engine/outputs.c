/*
 * outputs.c: outputs from the arena to the caller: read back behind a run, and converted
 * when the run is consumed. Not responsible for when that is (submission.c).
 */
#include "engine/outputs.h"

#include <inttypes.h>
#include <string.h>

#include "base/half.h"
#include "engine/part.h"
#include "engine/state.h"
#include "lower/precision.h"
#include "plan/plan.h"

/* Out-of-range values of integer types become the nearest end, NaN becomes 0. */
static double clamp(float value, double low, double high)
{
    const double x = (double)value;
    return x > low ? (x < high ? x : high) : (x <= low ? low : 0.0);
}

#define CLAMP(TYPE, c_type, low, high)                                                                       \
    case MTS_TYPE_##TYPE:                                                                                    \
        ((c_type *)to)[i] = (c_type)clamp(from[i], low, high);                                               \
        break

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
            CLAMP(INT32, int32_t, -2147483648.0, 2147483647.0);
            CLAMP(INT64, int64_t, -9223372036854775808.0, 9223372036854774784.0); /* the ends as float64 */
            CLAMP(UINT8, uint8_t, 0.0, 255.0);
            CLAMP(INT8, int8_t, -128.0, 127.0);
            CLAMP(UINT16, uint16_t, 0.0, 65535.0);
            CLAMP(INT16, int16_t, -32768.0, 32767.0);
        case MTS_TYPE_BOOL:
            ((uint8_t *)to)[i] = from[i] < 0.0f || from[i] > 0.0f ? 1 : 0;
            break;
        default:
            ((float *)to)[i] = from[i];
            break;
        }
    }
}

mts_status mts_readback_create(mts_readback *readback, mts_device *device, const mts_outputs *outputs,
                               mts_error *error)
{
    const size_t size = mts_precision_size(outputs->precision);
    mts_status status = MTS_STATUS_OK;
    if (outputs->count > 0 && !outputs->in_place) {
        status = mts_host_create(device, outputs->count * size, &readback->outputs, error);
    }
    if (outputs->input_count > 0) {
        MTS_TRY(status, mts_host_create(device, outputs->input_count * size, &readback->inputs, error));
    }
    return status;
}

void mts_readback_destroy(mts_readback *readback, mts_device *device)
{
    mts_host_destroy(device, &readback->outputs);
    mts_host_destroy(device, &readback->inputs);
}

/* Whether an output lies in the region of outputs. */
static bool is_read_back(const mts_outputs *outputs, const mts_output_port *port)
{
    return !port->constant && port->offset >= outputs->offset;
}

/* ---- behind a run ---- */

/* Elements [first, end) of the arena to where they lie in `to`, whose start is element
   `origin`. */
static mts_status read_async(const mts_outputs *outputs, uint64_t first, uint64_t end, void *to,
                             uint64_t origin, mts_error *error)
{
    const size_t size = mts_precision_size(outputs->precision);
    return end > first ? mts_buffer_read_async(outputs->act, (size_t)first * size,
                                               (char *)to + (size_t)(first - origin) * size,
                                               (size_t)(end - first) * size, error)
                       : MTS_STATUS_OK;
}

/* The outputs of active tasks. Neighbours that only alignment separates are one copy. */
static mts_status read_active(const mts_outputs *outputs, const mts_engine_tasks *tasks,
                              const uint32_t *active, void *to, mts_error *error)
{
    uint64_t first = 0;
    uint64_t end = 0;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; status == MTS_STATUS_OK && t < tasks->count; t++) {
        for (uint32_t o = 0; mts_task_is_active(active, t) && o < tasks->items[t].output_count; o++) {
            const mts_output_port *port = &tasks->items[t].outputs[o];
            const uint64_t aligned = (end + MTS_PLAN_ALIGN - 1) / MTS_PLAN_ALIGN * MTS_PLAN_ALIGN;
            if (!is_read_back(outputs, port)) {
                continue;
            }
            if (end == 0 || (port->offset != end && port->offset != aligned)) {
                MTS_TRY(status, read_async(outputs, first, end, to, outputs->offset, error));
                first = port->offset;
            }
            end = port->offset + port->count;
        }
    }
    MTS_TRY(status, read_async(outputs, first, end, to, outputs->offset, error));
    return status;
}

mts_status mts_outputs_read_async(const mts_outputs *outputs, const mts_engine_tasks *tasks,
                                  const uint32_t *active, const mts_readback *to, mts_error *error)
{
    const uint32_t count = mts_tasks_count_active(tasks, active);
    const size_t size = mts_precision_size(outputs->precision);
    mts_status status = MTS_STATUS_OK;
    if (outputs->in_place && count > 0) {
        status =
            mts_buffer_map(outputs->act, (size_t)outputs->offset * size, outputs->count * size, false, error);
    } else if (count < tasks->count) {
        status = read_active(outputs, tasks, active, to->outputs, error);
    } else {
        status = read_async(outputs, outputs->offset, outputs->offset + outputs->count, to->outputs,
                            outputs->offset, error);
    }
    if (count > 0) {
        MTS_TRY(status, read_async(outputs, 0, outputs->input_count, to->inputs, 0, error));
    }
    return status;
}

mts_status mts_outputs_hand_back(const mts_outputs *outputs, mts_error *error)
{
    return outputs->in_place ? mts_buffer_unmap(outputs->act, error) : MTS_STATUS_OK;
}

/* ---- consumed ---- */

static void to_floats(mts_precision precision, const void *from, size_t first, float *to, size_t count)
{
    if (precision == MTS_PRECISION_FLOAT32) {
        memcpy(to, (const float *)from + first, count * sizeof *to);
    } else {
        mts_half_array_to_float((const uint16_t *)from + first, to, count);
    }
}

/* The float32 data of an output of the run that was consumed last. */
static const float *floats_of(const mts_outputs *outputs, const mts_output_port *port)
{
    if (port->constant) {
        return port->constant;
    }
    if (port->offset < outputs->offset) {
        return outputs->input_floats + port->offset;
    }
    return outputs->floats + (port->offset - outputs->offset);
}

void mts_outputs_take(mts_outputs *outputs, const mts_engine_tasks *tasks, const uint32_t *active,
                      const mts_readback *from)
{
    const void *region = outputs->in_place ? outputs->act->mapped : from->outputs;
    /* Without an active task the inputs were not read back. */
    if (outputs->input_count > 0 && mts_tasks_count_active(tasks, active) > 0) {
        to_floats(outputs->precision, from->inputs, 0, outputs->input_floats, outputs->input_count);
    }
    for (uint32_t t = 0; t < tasks->count; t++) {
        for (uint32_t o = 0; mts_task_is_active(active, t) && o < tasks->items[t].output_count; o++) {
            const mts_output_port *port = &tasks->items[t].outputs[o];
            if (is_read_back(outputs, port)) {
                const size_t at = (size_t)(port->offset - outputs->offset);
                to_floats(outputs->precision, region, at, outputs->floats + at, port->count);
            }
            if (port->host) {
                from_floats(port->dtype, floats_of(outputs, port), port->host, port->count);
            }
        }
    }
    outputs->valid = true;
}

#ifndef MTS_SMALL
void mts_outputs_carry(const mts_outputs *from, const mts_output_port *a, mts_outputs *to,
                       const mts_output_port *b)
{
    const float *values = floats_of(from, a);
    if (a->count != b->count || a->dtype != b->dtype) {
        return;
    }
    if (!b->constant) {
        float *place =
            b->offset < to->offset ? to->input_floats + b->offset : to->floats + (b->offset - to->offset);
        memcpy(place, values, b->count * sizeof *place);
    }
    if (b->host && a->host) {
        memcpy(b->host, a->host, b->count * mts_type_size(b->dtype));
    }
}
#endif

#ifndef MTS_SMALL
void mts_engine_copy_moved(const mts_engine *engine, uint32_t task, uint32_t output, void *to)
{
    const float *from = mts_engine_moved_output(engine, task, output);
    const mts_engine_task *t = mts_tasks_find(&engine->tasks, task);
    if (from && t->outputs[output].dtype == MTS_TYPE_FLOAT32) {
        memcpy(to, from, t->outputs[output].count * sizeof *from);
    } else if (from) {
        from_floats(t->outputs[output].dtype, from, to, t->outputs[output].count);
    }
}
#endif

mts_status mts_engine_output(const mts_engine *engine, uint32_t task, uint32_t output, const void **data,
                             size_t *size, mts_error *error)
{
    const mts_engine_task *t = mts_tasks_find(&engine->tasks, task);
    if (!t || output >= t->output_count) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "the session has no output %" PRIu32 " of task %" PRIu32,
                        output, task);
    }
    if (!engine->outputs.valid) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "there are no outputs yet: submit a run and wait for it");
    }
    if (t->output_run == 0) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "task %s has no outputs: it has not run",
                        engine->archive->tasks[task].name);
    }
    const mts_output_port *port = &t->outputs[output];
    *data = port->host ? port->host : floats_of(&engine->outputs, port);
    *size = port->count * mts_type_size(port->dtype);
    return MTS_STATUS_OK;
}
