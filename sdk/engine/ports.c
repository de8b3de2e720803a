/*
 * ports.c: where the tasks' inputs and outputs lie: which inputs hold the same data, and what a caller's data
 * becomes in the arena. Not responsible for running (run.c).
 */
#include <string.h>

#include "engine/builder.h"

/*
 * The slot of a task's input: that of an earlier task with the same data, or a new one. Where inputs are
 * parts of larger tensors, equal data exists several times: such slots are `common` with the first.
 */
static uint32_t find_slot(const maker *m, uint32_t task, uint32_t input)
{
    mts_engine *e = m->engine;
    uint32_t common = e->slot_count;
    for (uint32_t k = 0; k < task && !e->options.separate_inputs; k++) {
        if (mts_archive_same_input(e->archive, e->tasks[task].task, e->tasks[k].task, input)) {
            const uint32_t slot = m->slot_of[k][input];
            if (!m->program.copied[task] && !m->program.copied[k]) {
                return slot;
            }
            common = e->slots[slot].common;
        }
    }
    e->slots[e->slot_count].common = common;
    return e->slot_count++;
}

mts_status mts_maker_slots(maker *m)
{
    mts_engine *e = m->engine;
    size_t inputs = 0;
    for (uint32_t i = 0; i < e->task_count; i++) {
        inputs += m->graphs[i]->input_count;
    }
    e->slots = mts_arena_zero(&e->arena, inputs, sizeof *e->slots);
    if (!e->slots) {
        return mts_maker_memory(m);
    }
    for (uint32_t i = 0; i < e->task_count; i++) {
        m->slot_of[i] = mts_arena_zero(&m->scratch, m->graphs[i]->input_count, sizeof **m->slot_of);
        if (!m->slot_of[i]) {
            return mts_maker_memory(m);
        }
        for (uint32_t p = 0; p < m->graphs[i]->input_count; p++) {
            m->slot_of[i][p] = find_slot(m, i, p);
        }
    }
    return MTS_STATUS_OK;
}

/* Input `input` of task `index`: the svalue that it is, or is a part of. */
static uint32_t input_value(const maker *m, uint32_t index, uint32_t input)
{
    const mts_program_port *from = &m->program.inputs[index][input];
    return m->stitched->value_of[from->graph][m->program.graphs[from->graph]->inputs[from->port].value];
}

static void add_part(maker *m, uint32_t index, uint32_t input)
{
    const uint32_t slot = m->slot_of[index][input];
    for (uint32_t p = 0; p < m->part_count; p++) {
        if (m->parts[p].slot == slot) {
            return; /* another task's input with the same data */
        }
    }
    m->parts[m->part_count++] =
        (mts_encode_part){.value = input_value(m, index, input),
                          .slot = slot,
                          .first = m->program.inputs[index][input].first,
                          .count = mts_shape_count(&m->graphs[index]->inputs[input].shape)};
}

/* An input that is one slot's data is read where that lies. What parts do not cover has to stay as it is. */
static mts_input_kind lent_kind(const maker *m, uint32_t value)
{
    const size_t all = mts_shape_count(&m->stitched->values[value].shape);
    size_t covered = 0;
    bool whole = false;
    for (uint32_t p = 0; p < m->part_count; p++) {
        if (m->parts[p].value == value) {
            covered += m->parts[p].count;
            whole = m->parts[p].count == all && m->stitched->values[value].slot == m->parts[p].slot;
        }
    }
    return whole ? MTS_INPUT_LENT : covered == all ? MTS_INPUT_PARTS : MTS_INPUT_KEPT;
}

mts_status mts_maker_parts(maker *m)
{
    mts_engine *e = m->engine;
    if (!e->options.lend_inputs) {
        return MTS_STATUS_OK;
    }
    m->input_kinds = mts_arena_zero(&m->scratch, m->stitched->value_count, sizeof *m->input_kinds);
    m->parts = mts_arena_zero(&m->scratch, e->slot_count, sizeof *m->parts);
    if (!m->input_kinds || !m->parts) {
        return mts_maker_memory(m);
    }
    for (uint32_t i = 0; i < e->task_count; i++) {
        for (uint32_t p = 0; p < m->graphs[i]->input_count; p++) {
            add_part(m, i, p);
        }
    }
    for (uint32_t p = 0; p < m->part_count; p++) {
        const mts_input_kind kind = lent_kind(m, m->parts[p].value);
        m->input_kinds[m->parts[p].value] = (uint8_t)kind;
        e->slots[m->parts[p].slot].lent = kind != MTS_INPUT_KEPT;
        e->slots[m->parts[p].slot].count = m->parts[p].count;
    }
    return MTS_STATUS_OK;
}

uint64_t mts_maker_lent_bytes(const maker *m)
{
    uint64_t bytes = 0;
    for (uint32_t s = 0; s < m->engine->slot_count &&
                         (m->engine->device->info.imports & MTS_MEMORY_BIT(MTS_MEMORY_HOST)) == 0;
         s++) {
        bytes += m->engine->slots[s].lent ? m->engine->slots[s].count * sizeof(float) : 0;
    }
    return bytes;
}

static mts_status make_inputs(maker *m, uint32_t index)
{
    mts_engine *e = m->engine;
    engine_task *task = &e->tasks[index];
    const mts_graph *graph = m->graphs[index];
    task->input_count = graph->input_count;
    task->inputs = mts_arena_zero(&e->arena, graph->input_count, sizeof *task->inputs);
    if (!task->inputs) {
        return mts_maker_memory(m);
    }
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const uint32_t value = input_value(m, index, i);
        const uint64_t offset =
            m->plan->storages[m->plan->value_storage[value]].offset + m->program.inputs[index][i].first;
        const size_t count = mts_shape_count(&graph->inputs[i].shape);
        const mts_preprocess *p = &e->archive->tasks[task->task].preprocess;
        engine_slot *slot = &e->slots[m->slot_of[index][i]];
        task->inputs[i] = (engine_port){
            .offset = offset, .count = count, .dtype = graph->inputs[i].dtype, .slot = m->slot_of[index][i]};
        slot->offset = offset;
        slot->count = count;
        if (slot->lent && graph->inputs[i].dtype != MTS_TYPE_FLOAT32 && !slot->floats) {
            slot->floats = mts_arena_zero(&e->arena, count, sizeof *slot->floats);
            if (!slot->floats) {
                return mts_maker_memory(m);
            }
        } else if (!slot->lent) {
            mts_frame_input *frames = &m->frame_inputs[m->slot_of[index][i]];
            *frames = (mts_frame_input){.offset = offset};
            if (i == 0 && mts_preprocess_takes_frames(p, graph)) {
                frames->preprocess = p;
                memcpy(frames->dims, graph->inputs[0].shape.dims, sizeof frames->dims);
            }
        }
        e->conversion_floats = count > e->conversion_floats ? count : e->conversion_floats;
    }
    return MTS_STATUS_OK;
}

static mts_status make_output(maker *m, uint32_t index, uint32_t output)
{
    mts_engine *e = m->engine;
    const mts_graph *graph = m->graphs[index];
    const mts_port *port = &graph->outputs[output];
    engine_port *to = &e->tasks[index].outputs[output];
    *to = (engine_port){.count = mts_shape_count(&port->shape), .dtype = port->dtype};
    if (port->dtype != MTS_TYPE_FLOAT32) {
        to->host = mts_arena_zero(&e->arena, to->count, mts_type_size(port->dtype));
        if (!to->host) {
            return mts_maker_memory(m);
        }
    }
    const mts_program_port *from = &m->program.outputs[index][output];
    const uint32_t storage =
        from->port != MTS_NONE ? m->plan->output_storage[from->graph][from->port] : MTS_NONE;
    if (storage != MTS_NONE) {
        to->offset = m->plan->storages[storage].offset + from->first;
        if (m->plan->storages[storage].region == MTS_REGION_INPUT) {
            e->input_floats = (size_t)m->plan->input_floats;
        }
        return MTS_STATUS_OK;
    }
    float *constant = mts_arena_zero(&e->arena, to->count, sizeof *constant);
    if (!constant) {
        return mts_maker_memory(m);
    }
    mts_value_read_f32(&graph->values[port->value], constant);
    to->constant = constant;
    return MTS_STATUS_OK;
}

static mts_status make_outputs(maker *m, uint32_t index)
{
    mts_engine *e = m->engine;
    engine_task *task = &e->tasks[index];
    task->output_count = m->graphs[index]->output_count;
    task->outputs = mts_arena_zero(&e->arena, task->output_count, sizeof *task->outputs);
    if (!task->outputs) {
        return mts_maker_memory(m);
    }
    mts_status code = MTS_STATUS_OK;
    for (uint32_t o = 0; code == MTS_STATUS_OK && o < task->output_count; o++) {
        code = make_output(m, index, o);
    }
    return code;
}

/* Whether another task's output, or an input, is the same data on the device. */
static bool is_common(const mts_engine *e, uint32_t task, const engine_port *port)
{
    bool common = !port->constant && port->offset < e->output_offset;
    for (uint32_t t = 0; t < e->task_count && !port->constant && !common; t++) {
        for (uint32_t o = 0; t != task && o < e->tasks[t].output_count; o++) {
            const engine_port *other = &e->tasks[t].outputs[o];
            common = common || (!other->constant && other->offset == port->offset);
        }
    }
    return common;
}

/* A task that does not run keeps its outputs, even where another one that does writes the same data anew. */
static mts_status keep_common(maker *m)
{
    mts_engine *e = m->engine;
    for (uint32_t t = 0; e->task_count > 1 && t < e->task_count; t++) {
        for (uint32_t o = 0; o < e->tasks[t].output_count; o++) {
            engine_port *port = &e->tasks[t].outputs[o];
            if (!port->host && is_common(e, t, port)) {
                port->host = mts_arena_zero(&e->arena, port->count, mts_type_size(port->dtype));
                if (!port->host) {
                    return mts_maker_memory(m);
                }
            }
        }
    }
    return MTS_STATUS_OK;
}

/* Numbers the slots that take frames. */
static mts_status make_frames(maker *m)
{
    mts_engine *e = m->engine;
    uint32_t count = 0;
    for (uint32_t s = 0; s < e->slot_count; s++) {
        e->slots[s].frame_input = m->frame_inputs[s].preprocess ? count : MTS_NONE;
        if (m->frame_inputs[s].preprocess) {
            m->frame_inputs[count++] = m->frame_inputs[s];
        }
    }
    const mts_frames_desc desc = {.device = e->device,
                                  .arena = &e->arena,
                                  .act = e->act,
                                  .defines = mts_launch_defines(&e->device->info, e->stats.precision),
                                  .inputs = m->frame_inputs,
                                  .input_count = count,
                                  .queued = e->places > 1};
    return mts_frames_create(&e->frames, &desc, m->error);
}

mts_status mts_maker_ports(maker *m)
{
    mts_engine *e = m->engine;
    m->frame_inputs = mts_arena_zero(&m->scratch, e->slot_count, sizeof *m->frame_inputs);
    mts_status code = m->frame_inputs ? MTS_STATUS_OK : mts_maker_memory(m);
    for (uint32_t i = 0; code == MTS_STATUS_OK && i < e->task_count; i++) {
        code = make_inputs(m, i);
        MTS_TRY(code, make_outputs(m, i));
    }
    MTS_TRY(code, make_frames(m));
    e->output_offset = m->plan->input_floats;
    MTS_TRY(code, keep_common(m));
    e->output_floats = (size_t)m->plan->output_floats;
    e->outputs = mts_alloc_zero(e->allocator, e->output_floats, sizeof *e->outputs);
    e->conversion = mts_alloc_zero(e->allocator, e->conversion_floats, sizeof *e->conversion);
    e->halves =
        mts_alloc_zero(e->allocator, e->stats.precision != MTS_PRECISION_FLOAT32 ? e->conversion_floats : 0,
                       sizeof *e->halves);
    if (e->input_floats > 0) {
        e->input_mirror = mts_alloc_zero(e->allocator, e->input_floats, sizeof *e->input_mirror);
    }
    if (code == MTS_STATUS_OK &&
        (!e->outputs || !e->conversion || !e->halves || (e->input_floats > 0 && !e->input_mirror))) {
        code = mts_maker_memory(m);
    }
    return code;
}
