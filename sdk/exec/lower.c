/*
 * lower.c: the walk over a plan's steps and what the operator families share.
 */
#include "exec/lower.h"

#include <stdio.h>
#include <string.h>

typedef mts_code (*lower_fn)(mts_lowering *, const mts_layer *);

static const lower_fn lower_table[MTS_OP_COUNT] = {
    [MTS_OP_CONV] = mts_lower_conv,       [MTS_OP_DECONV] = mts_lower_deconv,
    [MTS_OP_MATMUL] = mts_lower_matmul,   [MTS_OP_SCALE] = mts_lower_scale,
    [MTS_OP_UNARY] = mts_lower_unary,     [MTS_OP_BINARY] = mts_lower_binary,
    [MTS_OP_POOL] = mts_lower_pool,       [MTS_OP_REDUCE] = mts_lower_reduce,
    [MTS_OP_SOFTMAX] = mts_lower_softmax, [MTS_OP_LRN] = mts_lower_lrn,
    [MTS_OP_CONCAT] = mts_lower_concat,   [MTS_OP_SLICE] = mts_lower_slice,
    [MTS_OP_PAD] = mts_lower_pad,         [MTS_OP_GATHER] = mts_lower_gather,
    [MTS_OP_TRANSPOSE] = mts_lower_transpose, [MTS_OP_EXPAND] = mts_lower_expand,
    [MTS_OP_RESIZE] = mts_lower_resize, /* RESHAPE is an alias and has no step */
};

mts_code mts_lower_memory(mts_lowering *lowering)
{
    return mts_fail(lowering->error, MTS_CODE_OUT_OF_MEMORY, "not enough memory to prepare the launches");
}

uint32_t mts_lower_owner(const mts_lowering *lowering, const mts_member *member)
{
    return lowering->stitched->shared ? MTS_NONE : member->graph;
}

mts_rec_dest mts_lower_dest(const mts_lowering *lowering, uint32_t storage)
{
    const mts_storage *s = &lowering->plan->storages[storage];
    mts_rec_dest dest = {.base = (mts_u32)(s->offset + s->gap),
                         .row = s->row,
                         .pitch = s->pitch,
                         .gap = s->gap,
                         .tail = s->tail};
    memcpy(dest.dims, s->dims, sizeof dest.dims);
    return dest;
}

mts_rec_dest mts_lower_dest_as(const mts_lowering *lowering, uint32_t storage, const uint32_t dims[MTS_REC_RANK])
{
    mts_rec_dest dest = mts_lower_dest(lowering, storage);
    if (memcmp(dest.dims, dims, sizeof dest.dims) != 0) { /* then it is dense: layout.c, changes_rank */
        memcpy(dest.dims, dims, sizeof dest.dims);
        dest.row = dims[5];
        dest.pitch = dims[4] * dims[5];
    }
    return dest;
}

void mts_lower_strides(const uint32_t dims[MTS_REC_RANK], uint32_t stride[MTS_REC_RANK])
{
    stride[MTS_REC_RANK - 1] = 1;
    for (int i = MTS_REC_RANK - 2; i >= 0; i--) {
        stride[i] = stride[i + 1] * dims[i + 1];
    }
}

mts_rec_view mts_lower_view(const mts_lowering *lowering, uint32_t value)
{
    const mts_storage *s = &lowering->plan->storages[lowering->plan->value_storage[value]];
    mts_rec_view view = {.base = (mts_u32)(s->offset + s->gap)};
    uint32_t dims[MTS_REC_RANK];
    mts_shape_pad(&lowering->stitched->values[value].shape, dims);
    mts_lower_strides(dims, view.stride);
    if (memcmp(dims, s->dims, sizeof dims) == 0) { /* else a reshaped alias of a dense tensor */
        view.stride[4] = s->row;
        view.stride[3] = s->pitch;
        for (int i = 2; i >= 0; i--) {
            view.stride[i] = view.stride[i + 1] * dims[i + 1];
        }
    }
    return view;
}

mts_rec_view mts_lower_operand(mts_lowering *lowering, const mts_member *member, uint32_t input,
                               const uint32_t dims[MTS_REC_RANK], uint32_t *pool)
{
    const mts_value *value = mts_member_operand(lowering->stitched, member, input);
    uint32_t own[MTS_REC_RANK];
    mts_shape_pad(&value->shape, own);
    mts_rec_view view;
    *pool = member->inputs[input] == MTS_NONE ? 1 : 0;
    if (*pool != 0) {
        mts_lower_strides(own, view.stride);
        view.base = mts_pool_dense(&lowering->pool, value, mts_lower_owner(lowering, member));
    } else {
        view = mts_lower_view(lowering, member->inputs[input]);
    }
    for (int i = 0; i < MTS_REC_RANK; i++) {
        view.stride[i] = own[i] == 1 && dims[i] != 1 ? 0 : view.stride[i];
    }
    return view;
}

uint32_t mts_lower_vector(mts_lowering *lowering, const mts_member *member, uint32_t input, const uint32_t *order,
                          uint32_t count)
{
    const mts_value *value = mts_member_operand(lowering->stitched, member, input);
    if (value == NULL) {
        return MTS_REC_NONE;
    }
    return mts_pool_ordered(&lowering->pool, value, order, count, mts_lower_owner(lowering, member));
}

const char *mts_lower_defines(const mts_lowering *lowering)
{
    /* a GPU's work-items read neighbouring floats and coalesce at any tap; a CPU's work-item reads a register */
    if (lowering->device->is_gpu) {
        return "-DVEC=1";
    }
    return lowering->device->vector_floats >= 16 ? "-DVEC=16" : lowering->device->vector_floats >= 8 ? "-DVEC=8" : "-DVEC=4";
}

const char *mts_lower_label(mts_lowering *lowering, const mts_layer *layer, const char *what)
{
    const mts_node *node = mts_member_node(lowering->stitched, &lowering->stitched->members[layer->first]);
    char text[256];
    snprintf(text, sizeof text, "%s x%u %s", what, layer->count, node->name != NULL ? node->name : "");
    const char *label = mts_arena_string(lowering->strings, text);
    return label != NULL ? label : "";
}

mts_code mts_lower_launch(mts_lowering *lowering, const mts_lowered_launch *launch)
{
    if (lowering->table.failed || lowering->pool.failed ||
        !mts_alloc_grow(lowering->arena->allocator, (void **)&lowering->launches, &lowering->launch_capacity,
                        lowering->launch_count + 1, sizeof *lowering->launches)) {
        return mts_lower_memory(lowering);
    }
    lowering->launches[lowering->launch_count++] = *launch;
    return MTS_CODE_OK;
}

static uint32_t group_size(const mts_lowering *lowering, uint32_t work)
{
    uint32_t size = lowering->device->work_group_size < 64 ? lowering->device->work_group_size : 64;
    while (size > 1 && size / 2 >= work) {
        size /= 2;
    }
    return size > 0 ? size : 1;
}

mts_code mts_lower_dests(mts_lowering *lowering, const char *kernel, const char *label, const void *records,
                         uint32_t words, uint32_t count)
{
    uint32_t pitch = 0;
    uint32_t planes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const mts_rec_dest *dest = (const void *)((const char *)records + (size_t)i * words * sizeof(mts_u32));
        const uint32_t own = dest->dims[0] * dest->dims[1] * dest->dims[2] * dest->dims[3];
        pitch = dest->pitch > pitch ? dest->pitch : pitch;
        planes = own > planes ? own : planes;
    }
    mts_lowered_launch launch = {.kernel = kernel, .defines = mts_lower_defines(lowering), .label = label, .members = count};
    launch.first = mts_table_add(&lowering->table, records, (size_t)words * count);
    launch.local[0] = group_size(lowering, pitch);
    launch.local[1] = launch.local[2] = 1;
    launch.global[0] = (pitch + launch.local[0] - 1) / launch.local[0] * launch.local[0];
    launch.global[1] = planes + 1;
    launch.global[2] = count;
    return mts_lower_launch(lowering, &launch);
}

static uint32_t count_tasks(const mts_lowering *lowering, const mts_layer *layer)
{
    uint32_t tasks = 0;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        tasks += lowering->stitched->members[m].tasks;
    }
    return tasks;
}

mts_code mts_lower_plan(mts_lowering *lowering)
{
    mts_code code = MTS_CODE_OK;
    for (uint32_t i = 0; code == MTS_CODE_OK && i < lowering->plan->step_count; i++) {
        const mts_step *step = &lowering->plan->steps[i];
        const size_t first = lowering->launch_count;
        uint32_t tasks = step->count;
        if (step->kind == MTS_STEP_PHASE) {
            code = mts_lower_phases(lowering, step);
        } else if (step->kind == MTS_STEP_DENSE) {
            code = mts_lower_copies(lowering, step);
        } else {
            const mts_layer *layer = &lowering->stitched->layers[step->first];
            tasks = count_tasks(lowering, layer);
            code = lower_table[layer->op](lowering, layer);
        }
        for (size_t l = first; l < lowering->launch_count; l++) {
            lowering->launches[l].tasks = tasks;
        }
    }
    if (code == MTS_CODE_OK && (lowering->table.failed || lowering->pool.failed)) {
        code = mts_lower_memory(lowering);
    }
    return code;
}

void mts_lowering_release(mts_lowering *lowering)
{
    mts_table_release(&lowering->table);
    mts_pool_release(&lowering->pool);
    mts_alloc_free(lowering->arena->allocator, lowering->launches);
    lowering->launches = NULL;
    lowering->launch_count = lowering->launch_capacity = 0;
}
