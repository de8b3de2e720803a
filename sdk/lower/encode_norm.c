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

/* Rows that lie side by side, in the same set or all in sets of their own, are one long
   row. */
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

/* What a launch has to do. */
typedef struct work {
    /* Of all members; of those with sets that are worth a large group. */
    uint64_t elements, in_large;
    /* Groups, or work-items of a CPU, of the member with most of them. */
    uint64_t groups;
} work;

static work count_work(const mts_norm_params *records, uint32_t count)
{
    work all = {0};
    for (uint32_t i = 0; i < count; i++) {
        const mts_norm_params *r = &records[i];
        const uint64_t sets = first_five(r->sets);
        const uint64_t set = (uint64_t)first_five(r->lines) * r->dest.dims[5];
        const uint64_t units = (sets + r->batch - 1) / r->batch * r->cuts;
        all.elements += sets * set;
        all.in_large += set > 4 * GPU_GROUP_SMALL ? sets * set : 0;
        all.groups = units > all.groups ? units : all.groups;
    }
    return all;
}

/* How much a group does. */
static void share_work(const mts_device_info *device, mts_norm_params *r)
{
    const uint32_t width = r->dest.dims[5], lines = first_five(r->lines);
    const uint32_t worth = device->is_gpu ? 1 : CPU_WORK;
    const uint32_t least = device->is_gpu ? GPU_GROUP_SMALL : mts_launch_vector(device);
    const uint64_t elements = (uint64_t)lines * width;
    r->batch = elements >= worth ? 1 : (uint32_t)(worth / elements);
    r->cut = width;
    r->cuts = 1;
    if (r->lines[5] != width && elements > worth) {
        const uint32_t columns = worth / lines / least * least;
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

/*
 * A group of a GPU shares a set. It is large where sets that need a large one have at
 * least half of the work, and small enough for the work-items of `groups` groups to be
 * counted in 32 bits.
 */
static mts_status choose_group(mts_encoding *encoding, const work *all, mts_encoded_launch *launch)
{
    const uint32_t limit = encoding->device->work_group_size;
    uint32_t group = 2 * all->in_large >= all->elements ? GPU_GROUP : GPU_GROUP_SMALL;
    while (group > 1 && (group > limit || all->groups * group > UINT32_MAX)) {
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
    mts_encoded_launch launch = {.kernel = kernel,
                                 .defines = mts_launch_defines(encoding->device, encoding->precision),
                                 .label = label,
                                 .members = count,
                                 .global = {0, 1, count}};
    if (!params) {
        return mts_encode_memory(encoding);
    }
    const work all = count_work(params, count);
    mts_status status = choose_group(encoding, &all, &launch);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    launch.first = mts_param_buffer_add(&encoding->params, params, (size_t)words * count);
    launch.global[0] = (uint32_t)all.groups * launch.local[0];
    launch.entries =
        (mts_entries){.kind = MTS_ENTRY_PARAMS, .first = launch.first, .words = words, .count = count};
    return mts_encode_launch(encoding, &launch);
}

MTS_OPERATOR_LAUNCHED(norm, norm, fill_norm, NULL, launch_norm);
