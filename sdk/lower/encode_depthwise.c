/*
 * encode_depthwise.c: depthwise convolutions, one launch.
 */
#include "lower/launch_shape.h"
#include "lower/encode_conv.h"
#include "lower/encoders.h"

enum { DEPTHWISE_PIXELS = 4096 }; /* of a plane that a CPU's work-item does alone */

/* Kernel parameters of all images, and the extent of the grid. */
typedef struct grid {
    mts_param_list list;
    uint32_t x, y, members;
} grid;

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static mts_status add_depthwise(grid *g, uint32_t member)
{
    mts_encoding *l = g->list.encoding;
    mts_conv_site site;
    mts_conv_site_init(&site, l, member);
    const mts_value *weight = mts_member_operand(l->stitched, site.member, 1);
    mts_depthwise_params params = {.channels = site.channels,
                                   .multiplier = site.channels / site.in_channels,
                                   .in_pitch = site.in_pitch,
                                   .pixels = site.pixels,
                                   .taps = site.taps,
                                   .tap = site.tap,
                                   .mask = site.mask};
    params.weight = mts_weights_dense(&l->pool, weight, mts_encode_owner(l, site.member));
    const uint32_t per_item = l->device->is_gpu ? 4 : DEPTHWISE_PIXELS;
    g->x = larger(g->x, (site.pixels + per_item - 1) / per_item);
    g->y = larger(g->y, site.channels);
    g->members++;
    l->mul_adds += (uint64_t)site.images * site.channels * site.taps * site.out->dims[4] * site.out->dims[5];
    mts_status status = MTS_STATUS_OK;
    for (uint32_t image = 0; status == MTS_STATUS_OK && image < site.images; image++) {
        params.in = site.in + image * site.in_channels * site.in_pitch;
        params.epilogue = mts_conv_epilogue(l, &site, image, 0);
        status = mts_param_list_add(&g->list, &params, mts_encode_task_mask(l, member));
    }
    return status;
}

mts_status mts_encode_depthwise(mts_encoding *encoding, const mts_layer *layer,
                                const mts_kernel_config *config)
{
    grid g = {.list = {.encoding = encoding, .size = sizeof(mts_depthwise_params)}};
    mts_status status = MTS_STATUS_OK;
    (void)config;
    for (uint32_t m = layer->first; status == MTS_STATUS_OK && m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant == MTS_VARIANT_DEPTHWISE) {
            status = add_depthwise(&g, m);
        }
    }
    const uint32_t local = encoding->device->is_gpu ? 32 : 1;
    mts_encoded_launch launch = {.kernel = "depthwise_tile__f32_planar",
                                 .defines = mts_launch_defines(encoding->device, encoding->precision),
                                 .label = mts_encode_label(encoding, layer, "depthwise"),
                                 .members = g.members,
                                 .global = {(g.x + local - 1) / local * local, g.y, (uint32_t)g.list.count},
                                 .local = {local, 1, 1}};
    MTS_TRY(status, mts_param_list_launch(&g.list, &launch, MTS_ENTRY_PARAMS));
    mts_param_list_release(&g.list);
    return status;
}
