/*
 * encode_depthwise.c: depthwise convolutions: one launch of each kernel for the
 * members that it computes: depthwise_rows for planes and for blocks of channels, and
 * depthwise_tile for the others.
 */
#include "base/check.h"
#include "base/size.h"
#include "lower/launch_shape.h"
#include "lower/encode_conv.h"
#include "lower/encoders.h"

enum {
    TILE_PIXELS = 4096, /* of a plane that a CPU's work-item of depthwise_tile does alone */
    ROWS_LEAST = 1024,  /* pixels of a work-item of depthwise_rows: fewer where the layer is small, but not */
    ROWS_MOST = 8192, /* less than a work-group costs; a stretch of a plane stays in the first level cache */
    ROWS_OF_PART = 4, /* of depthwise_rows, at least: fewer are not worth their first and last input rows */
    ITEMS_PER_UNIT = 4, /* work-items that each compute unit should get at least */
};

/* Kernel parameters of all images, and the extent of the grid. */
typedef struct grid {
    mts_param_list list;
    uint32_t x, y, members;
} grid;

bool mts_depthwise_by_rows(const mts_encoding *l, uint32_t member)
{
    const mts_member *m = &l->stitched->members[member];
    const mts_attrs_conv *conv = &mts_member_node(l->stitched, m)->attrs.conv;
    const uint64_t width = (uint64_t)l->stitched->values[m->output].shape.dims[3];
    return mts_launch_by_processor(l->device) && mts_plan_by_rows(conv, width) &&
           (conv->stride[0] == 1 || l->plan->members[member].input_conversion == MTS_NONE);
}

/* Whether the blocks of a member, if it has any, are those that the device's kernel takes:
   of both operands, or of the input where the output is one pixel of each channel. */
static bool takes_blocks(const mts_encoding *l, uint32_t member)
{
    const uint32_t blocks = mts_conv_blocks(l, member);
    const mts_storage *out = &l->plan->storages[l->plan->value_storage[l->stitched->members[member].output]];
    const bool both = blocks == (MTS_BLOCKS_IN | MTS_BLOCKS_OUT);
    const bool ends = blocks == MTS_BLOCKS_IN && out->pitch == 1 && out->gap == 0;
    return l->plan->members[member].variant != MTS_VARIANT_DEPTHWISE || blocks == 0 ||
           ((both || ends) && l->device->row_lanes && l->precision == MTS_PRECISION_FLOAT32);
}

/* Kernels that compute members. */
typedef enum form { FORM_TILE = 0, FORM_ROWS = 1, FORM_BLOCKS = 2 } form;

static bool is_member(const mts_encoding *l, uint32_t member, form wanted)
{
    const form own = mts_conv_blocks(l, member) != 0    ? FORM_BLOCKS
                     : mts_depthwise_by_rows(l, member) ? FORM_ROWS
                                                        : FORM_TILE;
    return l->plan->members[member].variant == MTS_VARIANT_DEPTHWISE && own == wanted;
}

static void count(grid *g, const mts_conv_site *site, uint32_t x, uint32_t y)
{
    g->x = mts_u32_max(g->x, x);
    g->y = mts_u32_max(g->y, y);
    g->members++;
    g->list.encoding->mul_adds +=
        (uint64_t)site->images * site->channels * site->taps * site->out->dims[4] * site->out->dims[5];
}

static mts_status add_tile(grid *g, uint32_t member)
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
    MTS_CHECK(site.conv->stride[0] == 1 || l->plan->members[member].input_conversion != MTS_NONE);
    const uint32_t per_item = l->device->is_gpu ? 4 : TILE_PIXELS;
    count(g, &site, (site.pixels + per_item - 1) / per_item, site.channels);
    mts_status status = MTS_STATUS_OK;
    for (uint32_t image = 0; status == MTS_STATUS_OK && image < site.images; image++) {
        params.in = site.in + image * site.in_channels * site.in_pitch;
        params.epilogue = mts_conv_epilogue(l, &site, image, 0);
        status = mts_param_list_add(&g->list, &params, mts_encode_task_mask(l, member));
    }
    return status;
}

/* Pixels of a work-item: few where a layer would else leave compute units idle. */
static uint32_t pixels_of_item(const mts_encoding *l, const mts_layer *layer, form wanted)
{
    const uint32_t units = l->device->compute_units > 0 ? l->device->compute_units : 1;
    uint64_t pixels = 0;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        if (is_member(l, m, wanted)) {
            const mts_storage *out =
                &l->plan->storages[l->plan->value_storage[l->stitched->members[m].output]];
            pixels += (uint64_t)mts_storage_planes(out) * out->dims[4] * out->row;
        }
    }
    const uint64_t share = pixels / ((uint64_t)units * ITEMS_PER_UNIT);
    return share < ROWS_LEAST ? ROWS_LEAST : share > ROWS_MOST ? ROWS_MOST : (uint32_t)share;
}

/* Several channels of small planes, whole groups of narrow ones, or a part of the rows of
   a large one. */
static void share_out(mts_depthwise_rows_params *r, uint32_t pixels, uint32_t vector)
{
    const uint32_t plane = r->h * r->row;
    const uint32_t parts = (plane + ROWS_MOST - 1) / ROWS_MOST;
    const uint32_t even = (r->h + parts - 1) / parts;
    r->each = pixels / plane > 0 ? pixels / plane : 1;
    if (r->w <= MTS_ROWS_NARROW && vector > 0) {
        r->each = (r->each + vector - 1) / vector * vector;
    }
    r->part = (even + MTS_PLAN_ALIGN - 1) / MTS_PLAN_ALIGN * MTS_PLAN_ALIGN;
    while (r->part < r->h && r->h % r->part > 0 && r->h % r->part < ROWS_OF_PART) {
        r->part += MTS_PLAN_ALIGN;
    }
    r->part = r->row < MTS_PLAN_ALIGN || r->part > r->h ? r->h : r->part;
}

static mts_status add_rows(grid *g, uint32_t member, uint32_t pixels)
{
    mts_encoding *l = g->list.encoding;
    mts_conv_site site;
    mts_conv_site_open(&site, l, member);
    mts_conv_site_mask(&site, l);
    const uint32_t conversion = l->plan->members[member].input_conversion;
    const mts_conversion *copy = conversion != MTS_NONE ? &l->plan->conversions[conversion] : NULL;
    const mts_shape *image = &l->stitched->values[site.member->inputs[0]].shape;
    const uint32_t inside = copy ? copy->top * site.in_row + copy->left : 0; /* a copy has a border */
    mts_depthwise_rows_params params = {.channels = site.channels,
                                        .multiplier = site.channels / site.in_channels,
                                        .in_pitch = site.in_pitch,
                                        .in_row = site.in_row,
                                        .in_h = (uint32_t)image->dims[2],
                                        .in_w = (uint32_t)image->dims[3],
                                        .zeros = 0, /* the arena begins with them */
                                        .size = site.conv->kernel[0],
                                        .stride = site.conv->stride[0],
                                        .dilation = site.conv->dilation[0],
                                        .top = (uint32_t)site.conv->pad[0],
                                        .left = (uint32_t)site.conv->pad[1],
                                        .h = site.out->dims[4],
                                        .w = site.out->dims[5],
                                        .row = site.row,
                                        .room = site.mask == MTS_PARAM_NONE ? site.out->pitch - site.out->gap
                                                                            : site.pixels,
                                        .mask = site.mask};
    params.weight = mts_weights_dense(&l->pool, mts_member_operand(l->stitched, site.member, 1),
                                      mts_encode_owner(l, site.member));
    share_out(&params, pixels, l->device->vector_floats);
    count(g, &site, (params.h + params.part - 1) / params.part,
          (site.channels + params.each - 1) / params.each);
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < site.images; i++) {
        params.in = site.in + i * site.in_channels * site.in_pitch + inside;
        params.epilogue = mts_conv_epilogue(l, &site, i, 0);
        status = mts_param_list_add(&g->list, &params, mts_encode_task_mask(l, member));
    }
    return status;
}

/* Pool offsets of the weights of each block, which lie tap by tap. */
static uint32_t block_weights(mts_encoding *l, const mts_conv_site *site)
{
    const mts_value *weight = mts_member_operand(l->stitched, site->member, 1);
    const uint32_t owner = mts_encode_owner(l, site->member);
    const uint32_t first = (uint32_t)l->params.count;
    for (uint32_t row = 0; row < site->channels; row += MTS_CHANNEL_BLOCK) {
        const uint32_t at = mts_weights_rows(&l->pool, weight, 0, row, MTS_CHANNEL_BLOCK, owner);
        mts_param_buffer_add(&l->params, &at, 1);
    }
    return first;
}

static mts_status add_blocks(grid *g, uint32_t member, uint32_t pixels)
{
    mts_encoding *l = g->list.encoding;
    mts_conv_site site;
    mts_conv_site_open(&site, l, member);
    const mts_shape *image = &l->stitched->values[site.member->inputs[0]].shape;
    mts_depthwise_blocks_params params = {.blocks = site.channels / MTS_CHANNEL_BLOCK,
                                          .in_pitch = site.in_pitch,
                                          .in_h = (uint32_t)image->dims[2],
                                          .in_w = (uint32_t)image->dims[3],
                                          .zeros = 0, /* the arena begins with them */
                                          .size = site.conv->kernel[0],
                                          .stride = site.conv->stride[0],
                                          .top = (uint32_t)site.conv->pad[0],
                                          .left = (uint32_t)site.conv->pad[1],
                                          .h = site.out->dims[4],
                                          .w = site.out->dims[5]};
    params.weight = block_weights(l, &site);
    params.each = mts_u32_max(1, pixels / (params.h * params.w * MTS_CHANNEL_BLOCK));
    count(g, &site, 1, (params.blocks + params.each - 1) / params.each);
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < site.images; i++) {
        params.in = site.in + i * site.in_channels * site.in_pitch;
        params.epilogue = mts_conv_epilogue(l, &site, i, 0);
        status = mts_param_list_add(&g->list, &params, mts_encode_task_mask(l, member));
    }
    return status;
}

static mts_status launch(mts_encoding *l, const mts_layer *layer, form wanted)
{
    static const struct {
        const char *kernel;
        size_t size;
    } forms[] = {
        [FORM_TILE] = {"depthwise_tile__f32_planar", sizeof(mts_depthwise_params)},
        [FORM_ROWS] = {"depthwise_rows__f32_planar", sizeof(mts_depthwise_rows_params)},
        [FORM_BLOCKS] = {"depthwise_rows__f32_blocks", sizeof(mts_depthwise_blocks_params)},
    };
    grid g = {.list = {.encoding = l, .size = forms[wanted].size}};
    const uint32_t pixels = pixels_of_item(l, layer, wanted);
    mts_status status = MTS_STATUS_OK;
    for (uint32_t m = layer->first; status == MTS_STATUS_OK && m < layer->first + layer->count; m++) {
        if (is_member(l, m, wanted)) {
            status = wanted == FORM_BLOCKS ? add_blocks(&g, m, pixels)
                     : wanted == FORM_ROWS ? add_rows(&g, m, pixels)
                                           : add_tile(&g, m);
        }
    }
    if (status == MTS_STATUS_OK && g.members > 0) {
        const uint32_t local = l->device->is_gpu ? 32 : 1;
        mts_encoded_launch launch = {
            .kernel = forms[wanted].kernel,
            .defines = mts_launch_defines(l->device, l->precision),
            .label = mts_encode_label(l, layer, wanted == FORM_BLOCKS ? "depthwise of blocks" : "depthwise"),
            .members = g.members,
            .global = {(g.x + local - 1) / local * local, g.y, (uint32_t)g.list.count},
            .local = {local, 1, 1}};
        status = mts_param_list_launch(&g.list, &launch, MTS_ENTRY_PARAMS);
    }
    mts_param_list_release(&g.list);
    return status;
}

mts_status mts_encode_depthwise(mts_encoding *encoding, const mts_layer *layer,
                                const mts_kernel_config *config)
{
    (void)config;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t m = layer->first; MTS_HAS_ROW_LANES && m < layer->first + layer->count; m++) {
        status = takes_blocks(encoding, m) ? status : mts_conv_refuse_blocks(encoding, layer);
    }
    for (int i = MTS_HAS_ROW_LANES ? FORM_BLOCKS : FORM_ROWS; status == MTS_STATUS_OK && i >= FORM_TILE;
         i--) {
        status = launch(encoding, layer, (form)i);
    }
    return status;
}
