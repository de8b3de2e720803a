/*
 * dense_values.c: values of a dense graph: a task's own of the dense one, and the dense one of the
 * tasks' own.
 */
#include "strategy/dense_builder.h"

mts_status mts_dense_add_node(mts_dense_builder *b, mts_op op, const char *name, const uint32_t *inputs,
                              uint32_t count, const mts_attrs *attrs, uint32_t *value)
{
#ifndef MTS_SMALL /* where reading inputs cannot fail */
    if (b->status != MTS_STATUS_OK) {
        return b->status;
    }
#endif
    const mts_status status = mts_graph_add_node(b->graph, op, name, inputs, count, attrs, value, b->error);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(b->error, status, "stitching %s", name);
}

static uint32_t channels_of(const mts_dense_builder *b, uint32_t entry, uint32_t task)
{
    return mts_channel_map_channels(b->request->map, task, entry);
}

bool mts_dense_is_run(const mts_dense_builder *b, uint32_t entry, uint32_t task)
{
    const uint32_t first = mts_dense_stitched(b, entry, task, 0);
    for (uint32_t c = 1; c < channels_of(b, entry, task); c++) {
        if (mts_dense_stitched(b, entry, task, c) != first + c) {
            return false;
        }
    }
    return true;
}

/* The task's images, and of them its channels where those follow one another. */
static mts_status cut_images(mts_dense_builder *b, uint32_t entry, uint32_t task, bool run, uint32_t *value)
{
    const mts_shape *own = mts_channel_map_shape(b->request->map, task, entry);
    const mts_shape *all = &b->graph->values[*value].shape;
    mts_attrs attrs = {.slice = {.start = {0}}};
    for (uint32_t i = 0; i < MTS_TENSOR_RANK_MAX; i++) {
        attrs.slice.step[i] = 1;
        attrs.slice.size[i] = i < all->rank ? all->dims[i] : 1;
    }
    attrs.slice.start[0] = mts_dense_first_image(b, entry, task);
    attrs.slice.size[0] = own->dims[0];
    if (run && own->rank > 1) {
        attrs.slice.start[1] = mts_dense_stitched(b, entry, task, 0);
        attrs.slice.size[1] = own->dims[1];
    }
    const uint32_t input = *value;
    return mts_dense_add_node(b, MTS_OP_SLICE, "task", &input, 1, &attrs, value);
}

/* Channels numbers[0..count) of a value. */
static mts_status gather_channels(mts_dense_builder *b, int32_t *numbers, uint32_t count, uint32_t *value)
{
    const mts_shape index = {.rank = 1, .dims = {count}};
    const uint32_t constant = mts_graph_add_const(b->graph, NULL, MTS_TYPE_INT32, &index, numbers);
    if (constant == MTS_NONE) {
        return mts_dense_no_memory(b);
    }
    const mts_attrs attrs = {.gather = {.axis = 1}};
    const uint32_t inputs[2] = {*value, constant};
    return mts_dense_add_node(b, MTS_OP_GATHER, "channels", inputs, 2, &attrs, value);
}

static mts_status pick_channels(mts_dense_builder *b, uint32_t entry, uint32_t task, uint32_t *value)
{
    const uint32_t channels = channels_of(b, entry, task);
    int32_t *numbers = mts_arena_zero(b->arena, channels, sizeof *numbers);
    if (!numbers) {
        return mts_dense_no_memory(b);
    }
    for (uint32_t c = 0; c < channels; c++) {
        numbers[c] = (int32_t)mts_dense_stitched(b, entry, task, c);
    }
    return gather_channels(b, numbers, channels, value);
}

mts_status mts_dense_alone(mts_dense_builder *b, uint32_t entry, uint32_t task, uint32_t *value)
{
#ifdef MTS_SMALL
    uint32_t own = MTS_NONE, *alone = &own;
#else
    uint32_t *alone = &b->alone_of[(size_t)entry * b->request->count + (task - b->request->first)];
#endif
    mts_status status = MTS_STATUS_OK;
    if (*alone == MTS_NONE) {
        const bool run = mts_dense_is_run(b, entry, task);
        *alone = b->value_of[entry];
        status = cut_images(b, entry, task, run, alone);
        if (status == MTS_STATUS_OK && !run) {
            status = pick_channels(b, entry, task, alone);
        }
    }
    *value = *alone;
    return status;
}

#ifndef MTS_SMALL

static mts_status pad_channels(mts_dense_builder *b, uint32_t before, uint32_t after, uint32_t *value)
{
    mts_attrs attrs = {.pad = {.mode = MTS_PAD_CONSTANT}};
    attrs.pad.before[1] = before;
    attrs.pad.after[1] = after;
    const uint32_t input = *value;
    return before + after > 0 ? mts_dense_add_node(b, MTS_OP_PAD, "side by side", &input, 1, &attrs, value)
                              : MTS_STATUS_OK;
}

static mts_status stack_values(mts_dense_builder *b, const uint32_t *values, uint32_t *value)
{
    const mts_attrs attrs = {.concat = {.axis = 0}};
    return mts_dense_add_node(b, MTS_OP_CONCAT, "side by side", values, b->request->count, &attrs, value);
}

mts_status mts_dense_stack(mts_dense_builder *b, uint32_t entry, const uint32_t *offsets, uint32_t total,
                           uint32_t *value)
{
    uint32_t *values = mts_arena_zero(b->arena, b->request->count, sizeof *values);
    mts_status status = values ? MTS_STATUS_OK : mts_dense_no_memory(b);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < b->request->count; i++) {
        const uint32_t task = b->request->first + i;
        status = mts_dense_alone(b, entry, task, &values[i]);
        MTS_TRY(status,
                pad_channels(b, offsets[i], total - offsets[i] - channels_of(b, entry, task), &values[i]));
    }
    MTS_TRY(status, stack_values(b, values, value));
    return status;
}

/* A task's channels in their places, zeros in all others. */
static mts_status spread_channels(mts_dense_builder *b, uint32_t entry, uint32_t task, uint32_t *value)
{
    const uint32_t total = b->request->places[entry].total;
    const uint32_t channels = channels_of(b, entry, task);
    int32_t *numbers = mts_arena_zero(b->arena, total, sizeof *numbers);
    if (!numbers) {
        return mts_dense_no_memory(b);
    }
    for (uint32_t i = 0; i < total; i++) {
        numbers[i] = (int32_t)channels; /* the channel of zeros behind the task's */
    }
    for (uint32_t c = 0; c < channels; c++) {
        numbers[mts_dense_stitched(b, entry, task, c)] = (int32_t)c;
    }
    mts_status status = pad_channels(b, 0, 1, value);
    MTS_TRY(status, gather_channels(b, numbers, total, value));
    return status;
}

mts_status mts_dense_joined(mts_dense_builder *b, uint32_t entry, uint32_t *value)
{
    if (b->value_of[entry] != MTS_NONE) {
        *value = b->value_of[entry];
        return MTS_STATUS_OK;
    }
    uint32_t *values = mts_arena_zero(b->arena, b->request->count, sizeof *values);
    mts_status status = values ? MTS_STATUS_OK : mts_dense_no_memory(b);
    const uint32_t total = b->request->places[entry].total;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < b->request->count; i++) {
        const uint32_t task = b->request->first + i;
        const uint32_t first = mts_dense_stitched(b, entry, task, 0);
        const bool run = mts_dense_is_run(b, entry, task);
        status = mts_dense_alone(b, entry, task, &values[i]);
        MTS_TRY(status, run ? pad_channels(b, first, total - first - channels_of(b, entry, task), &values[i])
                            : spread_channels(b, entry, task, &values[i]));
    }
    MTS_TRY(status, stack_values(b, values, &b->value_of[entry]));
    *value = b->value_of[entry];
    return status;
}

#endif
