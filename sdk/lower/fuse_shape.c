/*
 * fuse_shape.c: see fuse_shape.h.
 */
#include "lower/fuse_shape.h"

#include "lower/launch_shape.h"

enum {
    GPU_ITEMS = 64,       /* of a work-group */
    GPU_PIXELS = 128,     /* of a work-group, where there are work-groups enough */
    CPU_BYTES = 96 << 10, /* that a CPU's work-item keeps: some more than its first level cache has */
    CPU_BYTES_EXPANDED = 512 << 10, /* likewise, where rows between parts are expanded twice */
    CPU_BYTES_MOST = 2 << 20,       /* and at most, in the second level */
    CPU_ROWS = 4,                   /* that a block of the depthwise convolution has */
    GROUPS_PER_UNIT = 4,            /* at least, so that all end together */
};

uint32_t mts_fused_local(const mts_device_info *device)
{
    const uint32_t most = device->is_gpu ? device->work_group_size : 1;
    uint32_t local = 1;
    while (local * 2 <= most && local < GPU_ITEMS) {
        local *= 2;
    }
    return local;
}

static uint64_t bytes_of(const mts_device_info *device, const mts_fused_params *p)
{
    const uint64_t vec = mts_launch_vector(device);
    const uint64_t kept = p->channels * MTS_FUSED_KEPT((uint64_t)p->part, p->row, vec);
    const uint64_t taken = p->expands > 0 ? MTS_FUSED_ROWS * MTS_FUSED_TAKEN((uint64_t)p->part, p->stride,
                                                                             p->size, p->in_row, vec)
                                          : 0;
    return (kept + taken) * sizeof(float);
}

static uint64_t bytes_most(const mts_device_info *device)
{
    return device->is_gpu ? device->local_bytes : CPU_BYTES_MOST;
}

uint32_t mts_fused_part(const mts_device_info *device, const mts_fused_params *p, uint32_t members)
{
    const uint64_t units = device->compute_units > 0 ? device->compute_units : 1;
    mts_fused_params next = *p;
    uint32_t least = 1;
    while (!device->is_gpu && ((uint64_t)least * p->row % MTS_PLAN_ALIGN != 0 || least % CPU_ROWS != 0)) {
        least++;
    }
    uint32_t part = least;
    for (next.part = 2 * least; part < p->h; next.part += least) {
        const uint64_t groups = (uint64_t)members * ((p->h + next.part - 1) / next.part);
        const bool fits =
            device->is_gpu
                ? (uint64_t)next.part * p->row <= GPU_PIXELS && bytes_of(device, &next) <= bytes_most(device)
                : bytes_of(device, &next) <= (p->expands > 0 ? CPU_BYTES_EXPANDED : CPU_BYTES);
        if (!fits || groups < units * (p->expands > 0 ? 1 : GROUPS_PER_UNIT)) {
            break;
        }
        part = next.part;
    }
    return part < p->h ? part : p->h > 0 ? p->h : 1;
}

bool mts_fused_fits(const mts_device_info *device, const mts_fused_params *p)
{
    return bytes_of(device, p) <= bytes_most(device);
}

uint32_t mts_fused_source(const mts_stitched *s, uint32_t member)
{
    return s->values[s->members[member].inputs[0]].member;
}

mts_fused_params mts_fused_shape(const mts_device_info *device, const mts_plan *plan, uint32_t layer,
                                 uint32_t member)
{
    const mts_stitched *s = plan->stitched;
    const uint32_t depthwise = mts_fused_source(s, member);
    const uint32_t value = s->members[depthwise].inputs[0];
    const bool expands = plan->fusions[layer].expand != MTS_NONE;
    const uint32_t read = expands ? s->members[s->values[value].member].inputs[0] : value;
    const mts_attrs_conv *conv = &mts_member_node(s, &s->members[depthwise])->attrs.conv;
    const mts_storage *in = &plan->storages[plan->value_storage[read]];
    const mts_storage *out = &plan->storages[plan->value_storage[s->members[member].output]];
    const int64_t *image = s->values[value].shape.dims;
    mts_fused_params p = {.channels = (uint32_t)image[1],
                          .in_pitch = in->pitch,
                          .in_row = in->row,
                          .in_h = (uint32_t)image[2],
                          .in_w = (uint32_t)image[3],
                          .size = conv->kernel[0],
                          .stride = conv->stride[0],
                          .top = (uint32_t)conv->pad[0],
                          .left = (uint32_t)conv->pad[1],
                          .h = out->dims[4],
                          .w = out->dims[5],
                          .row = out->row,
                          .expands = expands ? 1 : 0};
    p.part = mts_fused_part(device, &p, s->layers[layer].count);
    return p;
}
