/*
 * encode.c: what all encoders share: views and destinations of values, launches and their
 * entries.
 */
#include "lower/encode.h"

#include "lower/launch_shape.h"

#include <stdio.h>
#include <string.h>

mts_status mts_encode_memory(mts_encoding *encoding)
{
    if (encoding->pool.full) {
        return mts_fail(encoding->error, MTS_STATUS_LIMIT,
                        "the weights of the session are more than 2^31 numbers, what the 32-bit offsets of a "
                        "launch can name");
    }
    return mts_fail_memory(encoding->error);
}

uint32_t mts_encode_owner(const mts_encoding *encoding, const mts_member *member)
{
    return encoding->stitched->shared ? MTS_NONE : member->graph;
}

mts_dest_params mts_encode_dest(const mts_encoding *encoding, uint32_t storage)
{
    const mts_storage *s = &encoding->plan->storages[storage];
    mts_dest_params dest = {.base = (mts_u32)(s->offset + s->gap),
                            .row = s->row,
                            .pitch = s->pitch,
                            .gap = s->gap,
                            .tail = s->tail};
    memcpy(dest.dims, s->dims, sizeof dest.dims);
    return dest;
}

mts_dest_params mts_encode_output(const mts_encoding *encoding, const mts_member *member)
{
    return mts_encode_dest(encoding, encoding->plan->value_storage[member->output]);
}

mts_dest_params mts_encode_dest_as(const mts_encoding *encoding, uint32_t storage,
                                   const uint32_t dims[MTS_PARAM_RANK])
{
    mts_dest_params dest = mts_encode_dest(encoding, storage);
    if (memcmp(dest.dims, dims, sizeof dest.dims) != 0) { /* then it is dense: layout.c, changes_rank */
        memcpy(dest.dims, dims, sizeof dest.dims);
        dest.row = dims[5];
        dest.pitch = dims[4] * dims[5];
    }
    return dest;
}

void mts_encode_strides(const uint32_t dims[MTS_PARAM_RANK], uint32_t stride[MTS_PARAM_RANK])
{
    stride[MTS_PARAM_RANK - 1] = 1;
    for (int i = MTS_PARAM_RANK - 2; i >= 0; i--) {
        stride[i] = stride[i + 1] * dims[i + 1];
    }
}

mts_view_params mts_encode_view(const mts_encoding *encoding, uint32_t value)
{
    const mts_storage *s = &encoding->plan->storages[encoding->plan->value_storage[value]];
    mts_view_params view = {.base = (mts_u32)(s->offset + s->gap)};
    uint32_t dims[MTS_PARAM_RANK];
    mts_shape_pad(&encoding->stitched->values[value].shape, dims);
    mts_encode_strides(dims, view.stride);
    if (memcmp(dims, s->dims, sizeof dims) == 0) { /* else a reshaped alias of a dense tensor */
        view.stride[4] = s->row;
        view.stride[3] = s->pitch;
        for (int i = 2; i >= 0; i--) {
            view.stride[i] = view.stride[i + 1] * dims[i + 1];
        }
    }
    return view;
}

mts_view_params mts_encode_operand(mts_encoding *encoding, const mts_member *member, uint32_t input,
                                   const uint32_t dims[MTS_PARAM_RANK], uint32_t *pool)
{
    const mts_value *value = mts_member_operand(encoding->stitched, member, input);
    uint32_t own[MTS_PARAM_RANK];
    mts_shape_pad(&value->shape, own);
    mts_view_params view;
    *pool = member->inputs[input] == MTS_NONE ? 1 : 0;
    if (*pool != 0) {
        mts_encode_strides(own, view.stride);
        view.base = mts_weights_dense(&encoding->pool, value, mts_encode_owner(encoding, member));
    } else {
        view = mts_encode_view(encoding, member->inputs[input]);
    }
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        view.stride[i] = dims && own[i] == 1 && dims[i] != 1 ? 0 : view.stride[i];
    }
    return view;
}

/* Whether an operand's planes of `dims` are one row of numbers that are `step` apart: 1, or
   0 where one number is all of them. */
static bool is_row(const mts_view_params *view, const uint32_t dims[MTS_PARAM_RANK], uint32_t step)
{
    for (int i = MTS_PARAM_RANK - 1; i >= 3; step *= dims[i--]) {
        if (dims[i] != 1 && view->stride[i] != step) {
            return false;
        }
    }
    return true;
}

/* Coordinates move one dimension down: the last three become columns. */
static void move_down(uint32_t numbers[MTS_PARAM_RANK], uint32_t none, uint32_t columns)
{
    memmove(numbers + 1, numbers, 3 * sizeof *numbers);
    numbers[0] = numbers[4] = none;
    numbers[5] = columns;
}

bool mts_encode_join_planes(mts_dest_params *dest, mts_view_params *const *operands, uint32_t count)
{
    const uint32_t *dims = dest->dims;
    const uint32_t plane = dims[4] * dims[5];
    if (dims[0] * dims[1] * dims[2] * dims[3] == 1 || dest->gap != 0 || dest->pitch != plane ||
        (dims[4] != 1 && dest->row != dims[5])) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_row(operands[i], dims, 1) && !is_row(operands[i], dims, 0)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        move_down(operands[i]->stride, 0, is_row(operands[i], dims, 1));
    }
    dest->row = dest->pitch = plane * dims[3];
    move_down(dest->dims, 1, dest->row);
    return true;
}

uint32_t mts_encode_line(const mts_encoding *encoding, const mts_member *member, uint32_t axis,
                         mts_dest_params *dest, mts_view_params *src, mts_u32 *param_axis)
{
    const mts_shape *shape = &encoding->stitched->values[member->output].shape;
    *dest = mts_encode_output(encoding, member);
    *src = mts_encode_view(encoding, member->inputs[0]);
    *param_axis = MTS_PARAM_RANK - shape->rank + axis;
    return (uint32_t)shape->dims[axis];
}

uint32_t mts_encode_vector(mts_encoding *encoding, const mts_member *member, uint32_t input,
                           const uint32_t *order, uint32_t count)
{
    const mts_value *value = mts_member_operand(encoding->stitched, member, input);
    if (!value) {
        return MTS_PARAM_NONE;
    }
    return mts_weights_ordered(&encoding->pool, value, order, count, mts_encode_owner(encoding, member));
}

const char *mts_encode_label(mts_encoding *encoding, const mts_layer *layer, const char *what)
{
    const mts_member *member = &encoding->stitched->members[layer->first];
    const mts_graph *graph = encoding->stitched->graphs[member->graph];
    char text[256];
    snprintf(text, sizeof text, "%s x%u %s", what, layer->count,
             mts_node_title(graph, mts_member_node(encoding->stitched, member)));
    const char *label = mts_arena_string(encoding->strings, text);
    return label ? label : "";
}

/* An error before anything is built: no other kernel or order of the same layer would
   fit. */
static mts_status check_groups(const mts_encoding *encoding, const mts_encoded_launch *launch)
{
    const uint32_t most = encoding->device->groups_most;
    for (int d = 1; most != 0 && d < 3; d++) {
        const uint32_t local = launch->local[d] != 0 ? launch->local[d] : 1;
        if (launch->global[d] / local > most) {
            return mts_fail(encoding->error, MTS_STATUS_LIMIT,
                            "'%s' takes %u groups of work-items in one dimension, and the device has %u: a "
                            "tensor has too many planes (channels times images of a batch)",
                            launch->label, launch->global[d] / local, most);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_encode_launch(mts_encoding *encoding, const mts_encoded_launch *launch)
{
    const mts_status status = check_groups(encoding, launch);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (encoding->params.failed || encoding->pool.failed ||
        !mts_alloc_grow(encoding->arena->allocator, (void **)&encoding->launches, &encoding->launch_capacity,
                        encoding->launch_count + 1, sizeof *encoding->launches)) {
        return mts_encode_memory(encoding);
    }
    mts_encoded_launch *added = &encoding->launches[encoding->launch_count++];
    *added = *launch;
    added->mul_adds = encoding->mul_adds - encoding->counted; /* encoders count before they append */
    encoding->counted = encoding->mul_adds;
    return MTS_STATUS_OK;
}

mts_status mts_encode_entries(mts_encoding *encoding, mts_entry_kind kind, uint32_t words,
                              const uint32_t *masks, size_t count)
{
    mts_encoded_launch *launch = &encoding->launches[encoding->launch_count - 1];
    bool all = true;
    for (size_t i = 0; encoding->masks && i < count; i++) {
        all = all && masks[i] == MTS_TASKS_ALL;
    }
    /* WHOLE: lower.c, which marks launches by member, leaves it alone. */
    launch->entries = (mts_entries){.kind = all && kind == MTS_ENTRY_PARAMS ? MTS_ENTRY_WHOLE : kind,
                                    .first = launch->first,
                                    .words = words,
                                    .count = (uint32_t)count,
                                    .heights = launch->entries.heights};
    if (all) {
        return MTS_STATUS_OK;
    }
    uint32_t *copy = mts_arena_zero(encoding->strings, count, sizeof *copy);
    if (!copy) {
        return mts_encode_memory(encoding);
    }
    memcpy(copy, masks, count * sizeof *copy);
    launch->entries.masks = copy;
    return MTS_STATUS_OK;
}

uint32_t mts_encode_task_mask(const mts_encoding *encoding, uint32_t member)
{
    return encoding->masks ? encoding->masks->members[member] : MTS_TASKS_ALL;
}

bool mts_extent_open(mts_encoding *encoding, mts_extent *extent, uint32_t most)
{
    *extent = (mts_extent){0};
    if (encoding->masks) {
        extent->heights = mts_arena_zero(encoding->strings, most, sizeof *extent->heights);
    }
    return !encoding->masks || extent->heights;
}

void mts_extent_add(mts_extent *extent, uint32_t pitch, uint32_t planes)
{
    extent->pitch = pitch > extent->pitch ? pitch : extent->pitch;
    extent->planes = planes > extent->planes ? planes : extent->planes;
    if (extent->heights) {
        extent->heights[extent->count] = planes;
    }
    extent->count++;
}

mts_status mts_extent_launch(mts_encoding *encoding, const mts_extent *extent, mts_encoded_launch *launch,
                             const void *params, uint32_t words)
{
    if (!launch->defines) {
        launch->defines = mts_launch_defines(encoding->device, encoding->precision);
    }
    launch->members = extent->count;
    launch->first = mts_param_buffer_add(&encoding->params, params, (size_t)words * extent->count);
    launch->global[1] = extent->planes;
    launch->global[2] = extent->count;
    launch->entries = (mts_entries){.kind = MTS_ENTRY_PARAMS,
                                    .first = launch->first,
                                    .words = words,
                                    .count = extent->count,
                                    .heights = extent->heights};
    return mts_encode_launch(encoding, launch);
}

mts_status mts_encode_dests(mts_encoding *encoding, const char *kernel, const char *label, const void *params,
                            uint32_t words, uint32_t count)
{
    return mts_encode_dests_over(encoding, kernel, label, params, words, count, 0);
}

mts_status mts_encode_dests_over(mts_encoding *encoding, const char *kernel, const char *label,
                                 const void *params, uint32_t words, uint32_t count, uint32_t items)
{
    mts_encoded_launch launch = {.kernel = kernel, .label = label};
    mts_extent extent;
    if (!params || !mts_extent_open(encoding, &extent, count)) {
        return mts_encode_memory(encoding);
    }
    for (uint32_t i = 0; i < count; i++) {
        const mts_dest_params *dest =
            (const void *)((const char *)params + (size_t)i * words * sizeof(mts_u32));
        const uint32_t planes = dest->dims[0] * dest->dims[1] * dest->dims[2] * dest->dims[3];
        mts_extent_add(&extent, dest->pitch, planes + 1);
    }
    if (items) {
        mts_launch_over_plane(encoding->device, items, launch.global, launch.local);
        launch.global[0] = encoding->device->is_gpu ? launch.global[0] : items;
    } else {
        mts_launch_over_planes(encoding->device, extent.pitch, (uint64_t)(extent.planes - 1) * count,
                               launch.global, launch.local);
    }
    return mts_extent_launch(encoding, &extent, &launch, params, words);
}

/* ---- kernel parameters of one launch ---- */

mts_status mts_param_list_add(mts_param_list *list, const void *params, uint32_t task_mask)
{
    const mts_allocator *allocator = list->encoding->arena->allocator;
    if (!mts_alloc_grow(allocator, &list->params, &list->capacity, list->count + 1, list->size) ||
        !mts_alloc_grow(allocator, (void **)&list->masks, &list->mask_capacity, list->count + 1,
                        sizeof *list->masks)) {
        return mts_encode_memory(list->encoding);
    }
    list->masks[list->count] = task_mask;
    memcpy((char *)list->params + list->count++ * list->size, params, list->size);
    return MTS_STATUS_OK;
}

mts_status mts_param_list_launch(const mts_param_list *list, mts_encoded_launch *launch, mts_entry_kind kind)
{
    const uint32_t words = (uint32_t)(list->size / sizeof(mts_u32));
    launch->first = mts_param_buffer_add(&list->encoding->params, list->params, list->count * words);
    mts_status status = mts_encode_launch(list->encoding, launch);
    MTS_TRY(status, mts_encode_entries(list->encoding, kind, words, list->masks, list->count));
    return status;
}

void mts_param_list_release(mts_param_list *list)
{
    mts_alloc_free(list->encoding->arena->allocator, list->params);
    mts_alloc_free(list->encoding->arena->allocator, list->masks);
}
