/*
 * run.c: one run of an engine: inputs in, submit, wait, outputs out. Nothing is allocated here.
 */
#include <string.h>

#include "base/half.h"
#include "exec/engine_internal.h"

static void to_floats(mts_dtype dtype, const void *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        switch (dtype) {
        case MTS_DTYPE_F16:
            to[i] = mts_half_to_float(((const uint16_t *)from)[i]);
            break;
        case MTS_DTYPE_F64:
            to[i] = (float)((const double *)from)[i];
            break;
        case MTS_DTYPE_I32:
            to[i] = (float)((const int32_t *)from)[i];
            break;
        case MTS_DTYPE_I64:
            to[i] = (float)((const int64_t *)from)[i];
            break;
        case MTS_DTYPE_U8:
            to[i] = (float)((const uint8_t *)from)[i];
            break;
        case MTS_DTYPE_BOOL:
            to[i] = ((const uint8_t *)from)[i] != 0 ? 1.0f : 0.0f;
            break;
        default:
            to[i] = ((const float *)from)[i];
            break;
        }
    }
}

/* Out-of-range values of integer types become the nearest end, NaN becomes 0. */
static double clamp(float value, double low, double high)
{
    const double x = (double)value;
    return x > low ? (x < high ? x : high) : (x <= low ? low : 0.0);
}

static void from_floats(mts_dtype dtype, const float *from, void *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        switch (dtype) {
        case MTS_DTYPE_F16:
            ((uint16_t *)to)[i] = mts_half_from_float(from[i]);
            break;
        case MTS_DTYPE_F64:
            ((double *)to)[i] = (double)from[i];
            break;
        case MTS_DTYPE_I32:
            ((int32_t *)to)[i] = (int32_t)clamp(from[i], -2147483648.0, 2147483647.0);
            break;
        case MTS_DTYPE_I64:
            ((int64_t *)to)[i] = (int64_t)clamp(from[i], -9.2e18, 9.2e18);
            break;
        case MTS_DTYPE_U8:
            ((uint8_t *)to)[i] = (uint8_t)clamp(from[i], 0.0, 255.0);
            break;
        case MTS_DTYPE_BOOL:
            ((uint8_t *)to)[i] = from[i] < 0.0f || from[i] > 0.0f ? 1 : 0;
            break;
        default:
            ((float *)to)[i] = from[i];
            break;
        }
    }
}

mts_code mts_engine_set_input(mts_engine *engine, uint32_t task, uint32_t input, const void *data,
                              size_t size, mts_error *error)
{
    const engine_task *t = mts_engine_find(engine, task);
    if (t == NULL || input >= t->input_count) {
        return mts_fail(error, MTS_CODE_NOT_FOUND, "the session has no input %u of task %u", input, task);
    }
    const engine_port *port = &t->inputs[input];
    if (size != port->count * mts_dtype_size(port->dtype)) {
        return mts_fail(error, MTS_CODE_INVALID_ARGUMENT, "input %u of task %s takes %zu bytes, not %zu",
                        input, engine->archive->tasks[task].name, port->count * mts_dtype_size(port->dtype),
                        size);
    }
    if (engine->running) {
        return mts_fail(error, MTS_CODE_BUSY, "a run is under way: wait for it before setting inputs");
    }
    const float *floats = data;
    if (port->dtype != MTS_DTYPE_F32) {
        float *own = engine->slots[port->slot].lent ? engine->slots[port->slot].floats : engine->conversion;
        to_floats(port->dtype, data, own, port->count);
        floats = own;
    }
    mts_code code = MTS_CODE_OK;
    for (uint32_t s = 0; code == MTS_CODE_OK && s < engine->slot_count; s++) {
        if (engine->slots[s].common == engine->slots[port->slot].common) {
            code = mts_engine_set_slot(engine, &engine->slots[s], floats, error);
        }
    }
    return code;
}

/* Elements of the arena from float32. */
static mts_code write_arena(mts_engine *engine, uint64_t offset, const float *floats, size_t count,
                            mts_error *error)
{
    const size_t size = mts_precision_size(engine->stats.precision);
    if (engine->stats.precision == MTS_PRECISION_KIND_FLOAT32) {
        return mts_buffer_write(engine->act, (size_t)offset * size, floats, count * size, error);
    }
    mts_half_array_from_float(floats, engine->halves, count);
    return mts_buffer_write(engine->act, (size_t)offset * size, engine->halves, count * size, error);
}

/* The same way back. */
static mts_code read_arena(mts_engine *engine, uint64_t offset, float *floats, size_t count, mts_error *error)
{
    const size_t size = mts_precision_size(engine->stats.precision);
    if (engine->stats.precision == MTS_PRECISION_KIND_FLOAT32) {
        return mts_buffer_read(engine->act, (size_t)offset * size, floats, count * size, error);
    }
    const mts_code code =
        mts_buffer_read(engine->act, (size_t)offset * size, engine->halves, count * size, error);
    if (code == MTS_CODE_OK) {
        mts_half_array_to_float(engine->halves, floats, count);
    }
    return code;
}

mts_code mts_engine_set_slot(mts_engine *engine, engine_slot *slot, const float *floats, mts_error *error)
{
    return slot->lent ? mts_engine_lend(engine, slot, floats, error)
                      : write_arena(engine, slot->offset, floats, slot->count, error);
}

mts_code mts_engine_submit(mts_engine *engine, mts_error *error)
{
    if (engine->running) {
        return mts_fail(error, MTS_CODE_BUSY, "the previous run has not been waited for");
    }
    const mts_code code = mts_control_submit(engine, error);
    if (code != MTS_CODE_OK) { /* nobody will wait for what was enqueued: a picture, or a part of the lists */
        (void)mts_device_wait(engine->device, NULL);
        mts_engine_pictures_return(engine);
        return code;
    }
    engine->running = true;
    engine->finished = false;
    return MTS_CODE_OK;
}

/* Float32 data of an output after the fetch. */
static const float *output_floats(const mts_engine *engine, const engine_port *port)
{
    if (port->constant != NULL) {
        return port->constant;
    }
    if (port->offset < engine->output_offset) {
        return engine->input_mirror + port->offset;
    }
    return engine->staging + (port->offset - engine->output_offset);
}

static void convert_outputs(mts_engine *engine)
{
    for (uint32_t t = 0; t < engine->task_count; t++) {
        for (uint32_t o = 0; engine->tasks[t].runs && o < engine->tasks[t].output_count; o++) {
            const engine_port *port = &engine->tasks[t].outputs[o];
            if (port->host != NULL) {
                from_floats(port->dtype, output_floats(engine, port), port->host, port->count);
            }
        }
    }
}

/* Whether an output lies in what `staging` holds. */
static bool is_staged(const mts_engine *engine, const engine_port *port)
{
    return port->constant == NULL && port->offset >= engine->output_offset;
}

/* Outputs of the tasks that ran; neighbours, between which is at most what aligns them, with one read. */
static mts_code fetch_some(mts_engine *engine, mts_error *error)
{
    uint64_t first = 0;
    uint64_t end = 0;
    mts_code code = MTS_CODE_OK;
    for (uint32_t t = 0; code == MTS_CODE_OK && t < engine->task_count; t++) {
        for (uint32_t o = 0; engine->tasks[t].runs && o < engine->tasks[t].output_count; o++) {
            const engine_port *port = &engine->tasks[t].outputs[o];
            const uint64_t aligned = (end + MTS_PLAN_ALIGN - 1) / MTS_PLAN_ALIGN * MTS_PLAN_ALIGN;
            if (!is_staged(engine, port)) {
                continue;
            }
            if (end == 0 || (port->offset != end && port->offset != aligned)) {
                if (code == MTS_CODE_OK && end > first) {
                    code = read_arena(engine, first, engine->staging + (first - engine->output_offset),
                                      (size_t)(end - first), error);
                }
                first = port->offset;
            }
            end = port->offset + port->count;
        }
    }
    return code == MTS_CODE_OK && end > first
               ? read_arena(engine, first, engine->staging + (first - engine->output_offset),
                            (size_t)(end - first), error)
               : code;
}

static mts_code fetch(mts_engine *engine, mts_error *error)
{
    uint32_t ran = 0;
    mts_code code = MTS_CODE_OK;
    for (uint32_t t = 0; t < engine->task_count; t++) {
        ran += engine->tasks[t].runs ? 1 : 0;
    }
    if (ran < engine->task_count) {
        code = fetch_some(engine, error);
    } else if (engine->output_floats > 0) {
        code = read_arena(engine, engine->output_offset, engine->staging, engine->output_floats, error);
    }
    if (code == MTS_CODE_OK && engine->input_floats > 0 && ran > 0) {
        code = read_arena(engine, 0, engine->input_mirror, engine->input_floats, error);
    }
    return code;
}

mts_code mts_engine_wait(mts_engine *engine, mts_error *error)
{
    if (!engine->running) {
        return MTS_CODE_OK;
    }
    engine->running = false;
    mts_code code = mts_control_wait(engine, error);
    mts_engine_pictures_return(engine);
    code = code != MTS_CODE_OK ? code : fetch(engine, error);
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].runs) {
            engine->tasks[t].fetched = code == MTS_CODE_OK ? engine->run : 0;
        }
    }
    if (code != MTS_CODE_OK) {
        return code;
    }
    convert_outputs(engine);
    engine->finished = true;
    return atomic_load(&engine->cancelled) ? mts_fail(error, MTS_CODE_CANCELLED, "the run was cancelled")
                                           : MTS_CODE_OK;
}

mts_code mts_engine_output(const mts_engine *engine, uint32_t task, uint32_t output, const void **data,
                           size_t *size, mts_error *error)
{
    const engine_task *t = mts_engine_find(engine, task);
    if (t == NULL || output >= t->output_count) {
        return mts_fail(error, MTS_CODE_NOT_FOUND, "the session has no output %u of task %u", output, task);
    }
    if (!engine->finished) {
        return mts_fail(error, MTS_CODE_BUSY, "no finished run: submit and wait first");
    }
    if (t->fetched == 0) {
        return mts_fail(error, MTS_CODE_NOT_FOUND, "task %s has no outputs: it has not run",
                        engine->archive->tasks[task].name);
    }
    const engine_port *port = &t->outputs[output];
    *data = port->host != NULL ? port->host : output_floats(engine, port);
    *size = port->count * mts_dtype_size(port->dtype);
    return MTS_CODE_OK;
}

void mts_engine_stats_get(const mts_engine *engine, mts_engine_stats *stats)
{
    *stats = engine->stats;
}
