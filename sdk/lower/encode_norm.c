/*
 * encode_norm.c: normalisations.
 */
#include "lower/encoders.h"

#include <stdio.h>

#include "lower/launch_shape.h"

enum {
    CPU_WORK = 4096, /* elements that make a work-item of a CPU worth its start */
    GPU_GROUP_SMALL = 64,
    GPU_GROUP = 256
};

/* An optional factor's view, where it is broadcast to dims. */
static mts_view_params factor_of(mts_encoding *encoding, const mts_member *member, uint32_t input,
                                 const uint32_t dims[MTS_PARAM_RANK])
{
    uint32_t pool = 0;
    mts_view_params view = {.base = MTS_PARAM_NONE};
    if (mts_member_operand(encoding->stitched, member, input)) {
        view = mts_encode_operand(encoding, member, input, dims, &pool);
    }
    for (uint32_t d = 0; d < MTS_PARAM_RANK; d++) {
        view.stride[d] = dims[d] == 1 ? 0 : view.stride[d];
    }
    return view;
}

static void split_dims(const mts_attrs_norm *norm, uint32_t rank, mts_norm_params *r)
{
    const uint32_t skip = MTS_PARAM_RANK - rank;
    for (uint32_t d = 0; d < MTS_PARAM_RANK; d++) {
        const bool inside = d >= skip && (norm->axes >> (d - skip) & 1u) != 0;
        const uint32_t groups = d == skip + 1 ? norm->groups : 1;
        r->lines[d] = inside ? r->dest.dims[d] / groups : 1;
        r->sets[d] = r->dest.dims[d] / r->lines[d];
    }
}

static bool joins(const mts_view_params *view, uint32_t width)
{
    return view->stride[4] == view->stride[5] * width;
}

/* Rows that lie side by side, in the same set or all in sets of their own, are one long row. */
static void join_rows(mts_norm_params *r)
{
    const uint32_t rows = r->dest.dims[4], width = r->dest.dims[5];
    const bool alike =
        (r->lines[4] == rows && r->lines[5] == width) || (r->lines[4] == 1 && r->lines[5] == 1 && width > 1);
    if (rows == 1 || !alike || r->dest.row != width || !joins(&r->src, width) || !joins(&r->scale, width) ||
        !joins(&r->bias, width)) {
        return;
    }
    r->sets[5] *= r->sets[4];
    r->lines[5] *= r->lines[4];
    r->sets[4] = r->lines[4] = r->dest.dims[4] = 1;
    r->dest.dims[5] = r->dest.row = rows * width;
}

static uint32_t first_five(const uint32_t *numbers)
{
    return numbers[0] * numbers[1] * numbers[2] * numbers[3] * numbers[4];
}

/* How much a group does. */
static void share_work(const mts_device_info *device, mts_norm_params *r)
{
    const uint32_t width = r->dest.dims[5], lines = first_five(r->lines);
    const uint32_t work = device->is_gpu ? 1 : CPU_WORK;
    const uint32_t least = device->is_gpu ? GPU_GROUP_SMALL : mts_launch_vector(device);
    const uint64_t elements = (uint64_t)lines * width;
    r->batch = elements >= work ? 1 : (uint32_t)(work / elements);
    r->cut = width;
    r->cuts = 1;
    if (r->lines[5] != width && elements > work) {
        const uint32_t columns = work / lines / least * least;
        r->cut = columns > least ? columns : least;
        r->cuts = (width + r->cut - 1) / r->cut;
    }
}

static void fill_norm(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_node *node = mts_member_node(encoding->stitched, member);
    const mts_attrs_norm *norm = &node->attrs.norm;
    mts_norm_params *r = params;
    r->dest = mts_encode_output(encoding, member);
    r->src = mts_encode_view(encoding, member->inputs[0]);
    r->scale = factor_of(encoding, member, 1, r->dest.dims);
    r->bias = factor_of(encoding, member, 2, r->dest.dims);
    split_dims(norm, encoding->stitched->values[member->output].shape.rank, r);
    join_rows(r);
    share_work(encoding->device, r);
    r->kind = norm->kind;
    r->epsilon = norm->epsilon;
    r->fn = norm->act.fn;
    r->a = norm->act.a;
    r->b = norm->act.b;
    encoding->mul_adds += mts_node_mul_adds(encoding->stitched->graphs[member->graph], node);
}

/* A group of a GPU shares a set. */
static mts_status choose_group(mts_encoding *encoding, uint64_t largest, mts_encoded_launch *launch)
{
    const uint32_t limit = encoding->device->work_group_size;
    uint32_t group = largest > 4 * GPU_GROUP_SMALL ? GPU_GROUP : GPU_GROUP_SMALL;
    while (group > limit && group > 1) {
        group /= 2;
    }
    launch->local[0] = launch->local[1] = launch->local[2] = 1;
    if (!encoding->device->is_gpu || group == 1) {
        return MTS_STATUS_OK;
    }
    char text[96];
    snprintf(text, sizeof text, "%s -DGROUP=%u", launch->defines, group);
    launch->local[0] = group;
    launch->defines = mts_arena_string(encoding->strings, text);
    return launch->defines ? MTS_STATUS_OK : mts_encode_memory(encoding);
}

static mts_status launch_norm(mts_encoding *encoding, const char *kernel, const char *label,
                              const void *params, uint32_t words, uint32_t count)
{
    const mts_norm_params *records = params;
    mts_encoded_launch launch = {.kernel = kernel,
                                 .defines = mts_launch_defines(encoding->device, encoding->precision),
                                 .label = label,
                                 .members = count,
                                 .global = {0, 1, count}};
    uint64_t largest = 0, groups = 0;
    if (!params) {
        return mts_encode_memory(encoding);
    }
    for (uint32_t i = 0; i < count; i++) {
        const mts_norm_params *r = &records[i];
        const uint64_t elements = (uint64_t)first_five(r->lines) * r->dest.dims[5];
        const uint64_t units = (uint64_t)((first_five(r->sets) + r->batch - 1) / r->batch) * r->cuts;
        largest = elements > largest ? elements : largest;
        groups = units > groups ? units : groups;
    }
    mts_status status = choose_group(encoding, largest, &launch);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    launch.first = mts_param_buffer_add(&encoding->params, params, (size_t)words * count);
    launch.global[0] = (uint32_t)groups * launch.local[0];
    launch.entries =
        (mts_entries){.kind = MTS_ENTRY_PARAMS, .first = launch.first, .words = words, .count = count};
    return mts_encode_launch(encoding, &launch);
}

MTS_OPERATOR_LAUNCHED(norm, norm, fill_norm, NULL, launch_norm);
