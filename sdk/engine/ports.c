/*
 * ports.c: where the tasks' inputs and outputs lie: which inputs hold the same data, and
 * what a caller's data becomes in the arena. Not responsible for setting and reading them
 * (inputs.c, outputs.c).
 */
#include <string.h>

#include "engine/builder.h"

/*
 * The slot of a task's input: that of an earlier task with the same data, or a new one.
 * Where inputs are parts of larger tensors, equal data exists several times: such slots
 * are `common` with the first.
 */
static uint32_t find_slot(const mts_builder *b, uint32_t task, uint32_t input)
{
    mts_engine *e = b->engine;
    uint32_t common = e->inputs.slots.count;
    for (uint32_t k = 0; k < task && !e->options.separate_inputs; k++) {
        if (mts_archive_same_input(e->archive, e->tasks.items[task].task, e->tasks.items[k].task, input)) {
            const uint32_t slot = b->slot_of[k][input];
            if (!b->program.copied[task] && !b->program.copied[k]) {
                return slot;
            }
            common = e->inputs.slots.items[slot].common;
        }
    }
    e->inputs.slots.items[e->inputs.slots.count].common = common;
    return e->inputs.slots.count++;
}

mts_status mts_build_slots(mts_builder *b)
{
    mts_engine *e = b->engine;
    size_t inputs = 0;
    for (uint32_t i = 0; i < e->tasks.count; i++) {
        inputs += b->graphs[i]->input_count;
    }
    e->inputs.slots.items = mts_arena_zero(&e->arena, inputs, sizeof *e->inputs.slots.items);
    if (!e->inputs.slots.items) {
        return mts_builder_memory(b);
    }
    for (uint32_t i = 0; i < e->tasks.count; i++) {
        b->slot_of[i] = mts_arena_zero(&b->scratch, b->graphs[i]->input_count, sizeof **b->slot_of);
        if (!b->slot_of[i]) {
            return mts_builder_memory(b);
        }
        for (uint32_t p = 0; p < b->graphs[i]->input_count; p++) {
            b->slot_of[i][p] = find_slot(b, i, p);
        }
    }
    return MTS_STATUS_OK;
}

/* Input `input` of task `index`: the svalue that it is, or is a part of. */
static uint32_t input_value(const mts_builder *b, uint32_t index, uint32_t input)
{
    const mts_program_port *from = &b->program.inputs[index][input];
    return b->stitched->value_of[from->graph][b->program.graphs[from->graph]->inputs[from->port].value];
}

static void add_part(mts_builder *b, uint32_t index, uint32_t input)
{
    const uint32_t slot = b->slot_of[index][input];
    for (uint32_t p = 0; p < b->part_count; p++) {
        if (b->parts[p].slot == slot) {
            return; /* another task's input with the same data */
        }
    }
    b->parts[b->part_count++] =
        (mts_encode_part){.value = input_value(b, index, input),
                          .slot = slot,
                          .first = b->program.inputs[index][input].first,
                          .count = mts_shape_count(&b->graphs[index]->inputs[input].shape)};
}

/* An input that is the data of one slot is read in place. An input that parts do not
   cover is kept. */
static mts_input_kind zero_copy_kind(const mts_builder *b, uint32_t value)
{
    const size_t all = mts_shape_count(&b->stitched->values[value].shape);
    size_t covered = 0;
    bool whole = false;
    for (uint32_t p = 0; p < b->part_count; p++) {
        if (b->parts[p].value == value) {
            covered += b->parts[p].count;
            whole = b->parts[p].count == all && b->stitched->values[value].slot == b->parts[p].slot;
        }
    }
    return whole ? MTS_INPUT_ZERO_COPY : covered == all ? MTS_INPUT_PARTS : MTS_INPUT_ARENA;
}

mts_status mts_build_zero_copy(mts_builder *b)
{
    mts_engine *e = b->engine;
    if (!e->options.zero_copy_inputs) {
        return MTS_STATUS_OK;
    }
    b->input_kinds = mts_arena_zero(&b->scratch, b->stitched->value_count, sizeof *b->input_kinds);
    b->parts = mts_arena_zero(&b->scratch, e->inputs.slots.count, sizeof *b->parts);
    if (!b->input_kinds || !b->parts) {
        return mts_builder_memory(b);
    }
    for (uint32_t i = 0; i < e->tasks.count; i++) {
        for (uint32_t p = 0; p < b->graphs[i]->input_count; p++) {
            add_part(b, i, p);
        }
    }
    for (uint32_t p = 0; p < b->part_count; p++) {
        const mts_input_kind kind = zero_copy_kind(b, b->parts[p].value);
        b->input_kinds[b->parts[p].value] = (uint8_t)kind;
        e->inputs.slots.items[b->parts[p].slot].zero_copy = kind != MTS_INPUT_ARENA;
        e->inputs.slots.items[b->parts[p].slot].count = b->parts[p].count;
    }
    return MTS_STATUS_OK;
}

static mts_status make_inputs(mts_builder *b, uint32_t index)
{
    mts_engine *e = b->engine;
    mts_engine_task *task = &e->tasks.items[index];
    const mts_graph *graph = b->graphs[index];
    task->input_count = graph->input_count;
    task->inputs = mts_arena_zero(&e->arena, graph->input_count, sizeof *task->inputs);
    if (!task->inputs) {
        return mts_builder_memory(b);
    }
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const uint32_t value = input_value(b, index, i);
        const uint64_t offset =
            b->plan->storages[b->plan->value_storage[value]].offset + b->program.inputs[index][i].first;
        const size_t count = mts_shape_count(&graph->inputs[i].shape);
        const mts_preprocess *p = &e->archive->tasks[task->task].preprocess;
        mts_input_slot *slot = &e->inputs.slots.items[b->slot_of[index][i]];
        task->inputs[i] =
            (mts_input_port){.count = count, .dtype = graph->inputs[i].dtype, .slot = b->slot_of[index][i]};
        slot->offset = offset;
        slot->count = count;
        if (!slot->task) {
            slot->task = e->archive->tasks[task->task].name;
            slot->input = i;
        }
        if (slot->zero_copy && graph->inputs[i].dtype != MTS_TYPE_FLOAT32 && !slot->floats) {
            slot->floats = mts_arena_zero(&e->arena, count, sizeof *slot->floats);
            if (!slot->floats) {
                return mts_builder_memory(b);
            }
        } else if (!slot->zero_copy) {
            mts_frame_input *frames = &b->frame_inputs[b->slot_of[index][i]];
            *frames = (mts_frame_input){.dtype = graph->inputs[i].dtype, .offset = offset};
            if (i == 0 && mts_preprocess_takes_frames(p, graph)) {
                frames->preprocess = p;
                memcpy(frames->dims, graph->inputs[0].shape.dims, sizeof frames->dims);
            }
        }
        e->inputs.conversion_count = count > e->inputs.conversion_count ? count : e->inputs.conversion_count;
    }
    return MTS_STATUS_OK;
}

static mts_status make_output(mts_builder *b, uint32_t index, uint32_t output)
{
    mts_engine *e = b->engine;
    const mts_graph *graph = b->graphs[index];
    const mts_port *port = &graph->outputs[output];
    mts_output_port *to = &e->tasks.items[index].outputs[output];
    *to = (mts_output_port){.count = mts_shape_count(&port->shape), .dtype = port->dtype};
    if (port->dtype != MTS_TYPE_FLOAT32) {
        to->host = mts_arena_zero(&e->arena, to->count, mts_type_size(port->dtype));
        if (!to->host) {
            return mts_builder_memory(b);
        }
    }
    const mts_program_port *from = &b->program.outputs[index][output];
    const uint32_t storage =
        from->port != MTS_NONE ? b->plan->output_storage[from->graph][from->port] : MTS_NONE;
    if (storage != MTS_NONE) {
        to->offset = b->plan->storages[storage].offset + from->first;
        if (b->plan->storages[storage].region == MTS_REGION_INPUT) {
            e->outputs.input_count = (size_t)b->plan->input_floats;
        }
        return MTS_STATUS_OK;
    }
    float *constant = mts_arena_zero(&e->arena, to->count, sizeof *constant);
    if (!constant) {
        return mts_builder_memory(b);
    }
    mts_value_read_f32(&graph->values[port->value], constant);
    to->constant = constant;
    return MTS_STATUS_OK;
}

static mts_status make_outputs(mts_builder *b, uint32_t index)
{
    mts_engine *e = b->engine;
    mts_engine_task *task = &e->tasks.items[index];
    task->output_count = b->graphs[index]->output_count;
    task->outputs = mts_arena_zero(&e->arena, task->output_count, sizeof *task->outputs);
    if (!task->outputs) {
        return mts_builder_memory(b);
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t o = 0; status == MTS_STATUS_OK && o < task->output_count; o++) {
        status = make_output(b, index, o);
    }
    return status;
}

/* Whether another task's output, or an input, is the same data on the device. */
static bool is_common(const mts_engine *e, uint32_t task, const mts_output_port *port)
{
    bool common = !port->constant && port->offset < e->outputs.offset;
    for (uint32_t t = 0; t < e->tasks.count && !port->constant && !common; t++) {
        for (uint32_t o = 0; t != task && o < e->tasks.items[t].output_count; o++) {
            const mts_output_port *other = &e->tasks.items[t].outputs[o];
            common = common || (!other->constant && other->offset == port->offset);
        }
    }
    return common;
}

/* A task that does not run keeps its outputs, even where a task that runs writes the same
   data anew. */
static mts_status keep_common(mts_builder *b)
{
    mts_engine *e = b->engine;
    for (uint32_t t = 0; e->tasks.count > 1 && t < e->tasks.count; t++) {
        for (uint32_t o = 0; o < e->tasks.items[t].output_count; o++) {
            mts_output_port *port = &e->tasks.items[t].outputs[o];
            if (!port->host && is_common(e, t, port)) {
                port->host = mts_arena_zero(&e->arena, port->count, mts_type_size(port->dtype));
                if (!port->host) {
                    return mts_builder_memory(b);
                }
            }
        }
    }
    return MTS_STATUS_OK;
}

/* Numbers the slots that take frames. */
static mts_status make_frames(mts_builder *b)
{
    mts_engine *e = b->engine;
    uint32_t count = 0;
    for (uint32_t s = 0; s < e->inputs.slots.count; s++) {
        e->inputs.slots.items[s].frame_input = b->frame_inputs[s].preprocess ? count : MTS_NONE;
        if (b->frame_inputs[s].preprocess) {
            b->frame_inputs[count++] = b->frame_inputs[s];
        }
    }
    const mts_frames_desc desc = {.device = e->device,
                                  .arena = &e->arena,
                                  .act = e->launches.act,
                                  .defines = mts_launch_defines(&e->device->info, e->stats.precision),
                                  .inputs = b->frame_inputs,
                                  .input_count = count,
                                  .queued = e->submissions.slots > 1};
    return mts_frames_create(&e->frames, &desc, b->error);
}

mts_status mts_build_ports(mts_builder *b)
{
    mts_engine *e = b->engine;
    b->frame_inputs = mts_arena_zero(&b->scratch, e->inputs.slots.count, sizeof *b->frame_inputs);
    mts_status status = b->frame_inputs ? MTS_STATUS_OK : mts_builder_memory(b);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < e->tasks.count; i++) {
        status = make_inputs(b, i);
        MTS_TRY(status, make_outputs(b, i));
    }
    MTS_TRY(status, make_frames(b));
    e->outputs.act = e->launches.act;
    e->outputs.precision = e->stats.precision;
    e->outputs.offset = b->plan->input_floats;
    MTS_TRY(status, keep_common(b));
    e->outputs.count = (size_t)b->plan->output_floats;
    e->outputs.in_place = e->device->info.maps && e->submissions.slots + e->submissions.spare == 1 &&
                          e->outputs.input_count == 0 && e->outputs.count > 0;
    e->outputs.floats = mts_alloc_zero(e->allocator, e->outputs.count, sizeof *e->outputs.floats);
    e->inputs.conversion =
        mts_alloc_zero(e->allocator, e->inputs.conversion_count, sizeof *e->inputs.conversion);
    e->inputs.halves = mts_alloc_zero(
        e->allocator, e->stats.precision != MTS_PRECISION_FLOAT32 ? e->inputs.conversion_count : 0,
        sizeof *e->inputs.halves);
    if (e->outputs.input_count > 0) {
        e->outputs.input_floats =
            mts_alloc_zero(e->allocator, e->outputs.input_count, sizeof *e->outputs.input_floats);
    }
    if (status == MTS_STATUS_OK && (!e->outputs.floats || !e->inputs.conversion || !e->inputs.halves ||
                                    (e->outputs.input_count > 0 && !e->outputs.input_floats))) {
        status = mts_builder_memory(b);
    }
    return status;
}
