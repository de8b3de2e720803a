/*
 * encode_attention.c: the operator ATTENTION.
 */
#include <stdio.h>

#include "lower/encoders.h"
#include "lower/launch_shape.h"

#define GPU_GROUP 64u /* work-items of a group */
#define GPU_PARTS 4u  /* of which share a query */

#ifdef MTS_SMALL

static void fill_attention(mts_encoding *encoding, const mts_member *member, void *params)
{
    (void)encoding;
    (void)member;
    (void)params;
}

static mts_status launch_attention(mts_encoding *encoding, const char *kernel, const char *label,
                                   const void *params, uint32_t words, uint32_t count)
{
    (void)kernel;
    (void)label;
    (void)params;
    (void)words;
    (void)count;
    return mts_fail(encoding->error, MTS_STATUS_UNSUPPORTED, "the smallest library has no attention");
}

#else

static void fill_attention(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_node *node = mts_member_node(encoding->stitched, member);
    const mts_attrs_attention *attention = &node->attrs.attention;
    const mts_shape *q = &mts_member_operand(encoding->stitched, member, 0)->shape;
    const mts_shape *k = &mts_member_operand(encoding->stitched, member, 1)->shape;
    mts_attention_params *r = params;
    r->dest = mts_encode_output(encoding, member);
    r->q = mts_encode_view(encoding, member->inputs[0]);
    r->k = mts_encode_view(encoding, member->inputs[1]);
    r->v = mts_encode_view(encoding, member->inputs[2]);
    r->mask_pool = MTS_PARAM_NONE;
    if (mts_member_operand(encoding->stitched, member, 3)) {
        const uint32_t scores[MTS_PARAM_RANK] = {
            1, 1, (uint32_t)q->dims[0], attention->heads, (uint32_t)q->dims[3], (uint32_t)k->dims[3]};
        r->mask = mts_encode_operand(encoding, member, 3, scores, &r->mask_pool);
    }
    r->heads = attention->heads;
    r->depth = (mts_u32)q->dims[1] / attention->heads;
    r->keys = (mts_u32)k->dims[3];
    r->scale = attention->scale;
    encoding->mul_adds += mts_node_mul_adds(encoding->stitched->graphs[member->graph], node);
}

/* Work-items of a GPU's group that share a query. */
static uint32_t parts_of(const mts_device_info *device)
{
    return device->work_group_size >= GPU_PARTS ? GPU_PARTS : 1;
}

static uint32_t group_of(const mts_device_info *device)
{
    const uint32_t most = device->work_group_size < GPU_GROUP ? (uint32_t)device->work_group_size : GPU_GROUP;
    return device->is_gpu ? most / parts_of(device) * parts_of(device) : 1;
}

/* Queries of a group. */
static uint32_t queries_of_group(const mts_device_info *device)
{
    const uint32_t vec = mts_launch_vector(device);
    return device->is_gpu ? group_of(device) / parts_of(device) : vec * (vec == 16 ? 4 : 3);
}

/* Most channels of a head, in fours. */
static uint32_t depth_of(const mts_attention_params *r, uint32_t count)
{
    uint32_t depth = 4;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t width = r[i].dest.dims[3] / r[i].heads;
        const uint32_t own = r[i].depth > width ? r[i].depth : width;
        depth = own > depth ? own : depth;
    }
    return (depth + 3) / 4 * 4;
}

static const char *defines_of(const mts_encoding *encoding, const mts_attention_params *r, uint32_t count)
{
    const char *common = mts_launch_defines(encoding->device, encoding->precision);
    char text[128];
    (void)snprintf(text, sizeof text, "%s -DDEPTH=%u -DPARTS=%u", common, depth_of(r, count),
                   parts_of(encoding->device));
    return mts_arena_string(encoding->strings, text);
}

/* On GPUs: two blocks of 8 keys, and what parts of a group exchange. */
static mts_status check_local(const mts_encoding *encoding, const mts_attention_params *r, uint32_t count,
                              const char *label)
{
    const uint64_t bytes = 64u * (uint64_t)depth_of(r, count) + 2048u;
    return !encoding->device->is_gpu || bytes <= encoding->device->local_bytes
               ? MTS_STATUS_OK
               : mts_fail(encoding->error, MTS_STATUS_UNSUPPORTED,
                          "layer %s: attention of heads of %u channels needs %llu bytes of local memory, the "
                          "device has %llu",
                          label, depth_of(r, count), (unsigned long long)bytes,
                          (unsigned long long)encoding->device->local_bytes);
}

static mts_status launch_attention(mts_encoding *encoding, const char *kernel, const char *label,
                                   const void *params, uint32_t words, uint32_t count)
{
    const mts_attention_params *r = params;
    const uint32_t each = queries_of_group(encoding->device);
    mts_encoded_launch launch = {.kernel = kernel, .label = label, .local = {1, 1, 1}};
    mts_extent extent;
    if (!params || !mts_extent_open(encoding, &extent, count)) {
        return mts_encode_memory(encoding);
    }
    const mts_status status = check_local(encoding, r, count, label);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    uint32_t groups = 1;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t own = (r[i].dest.dims[5] + each - 1) / each;
        groups = own > groups ? own : groups;
        mts_extent_add(&extent, r[i].dest.pitch, r[i].dest.dims[2] * r[i].heads + 1);
    }
    launch.local[0] = group_of(encoding->device);
    launch.global[0] = groups * launch.local[0];
    launch.defines = defines_of(encoding, r, count);
    return launch.defines ? mts_extent_launch(encoding, &extent, &launch, params, words)
                          : mts_encode_memory(encoding);
}

#endif

MTS_OPERATOR_LAUNCHED(attention, attention, fill_attention, NULL, launch_attention);
