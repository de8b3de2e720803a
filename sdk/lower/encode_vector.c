/*
 * encode_vector.c: depthwise convolutions and fully connected layers, one launch each.
 */
#include <stdio.h>
#include <string.h>

#include "lower/encode_conv.h"
#include "stitch/tiles.h"

enum { DEPTHWISE_PIXELS = 4096 }; /* of a plane that a CPU's work-item does alone */

/* Records of one launch while they are collected. */
typedef struct collector {
    mts_encoding *encoding;
    void *params;
    size_t count, capacity, size;
    uint32_t *masks; /* per params, of tasks */
    size_t set_capacity;
    uint32_t most_x, most_y; /* extent of the grid */
    uint32_t members;
} collector;

static mts_status collect(collector *c, const void *params, uint32_t task_mask)
{
    const mts_allocator *allocator = c->encoding->arena->allocator;
    if (!mts_alloc_grow(allocator, &c->params, &c->capacity, c->count + 1, c->size) ||
        !mts_alloc_grow(allocator, (void **)&c->masks, &c->set_capacity, c->count + 1, sizeof *c->masks)) {
        return mts_encode_memory(c->encoding);
    }
    c->masks[c->count] = task_mask;
    memcpy((char *)c->params + c->count++ * c->size, params, c->size);
    return MTS_STATUS_OK;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static mts_status append(const collector *c, const mts_encoded_launch *launch, mts_entry_kind kind)
{
    const mts_status code = mts_encode_launch(c->encoding, launch);
    return code != MTS_STATUS_OK
               ? code
               : mts_encode_entries(c->encoding, kind, (uint32_t)(c->size / sizeof(mts_u32)), c->masks,
                                    c->count);
}

static void release(collector *c)
{
    mts_alloc_free(c->encoding->arena->allocator, c->params);
    mts_alloc_free(c->encoding->arena->allocator, c->masks);
}

/* Writes the params and one launch over (most_x rounded up to local, most_y, params). */
static mts_status launch(collector *c, const char *kernel, uint32_t local, const char *label,
                         mts_entry_kind kind)
{
    mts_encoding *l = c->encoding;
    mts_encoded_launch launch = {
        .kernel = kernel, .defines = mts_launch_defines(l->device, l->precision), .label = label};
    launch.members = c->members;
    launch.first = mts_param_buffer_add(&l->params, c->params, c->count * c->size / sizeof(mts_u32));
    launch.global[0] = (c->most_x + local - 1) / local * local;
    launch.global[1] = c->most_y;
    launch.global[2] = (uint32_t)c->count;
    launch.local[0] = local;
    launch.local[1] = launch.local[2] = 1;
    return append(c, &launch, kind);
}

static mts_status add_depthwise(collector *c, uint32_t member)
{
    mts_encoding *l = c->encoding;
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
    c->most_x = larger(c->most_x, (site.pixels + per_item - 1) / per_item);
    c->most_y = larger(c->most_y, site.channels);
    c->members++;
    l->mul_adds += (uint64_t)site.images * site.channels * site.taps * site.out->dims[4] * site.out->dims[5];
    mts_status code = MTS_STATUS_OK;
    for (uint32_t image = 0; code == MTS_STATUS_OK && image < site.images; image++) {
        params.in = site.in + image * site.in_channels * site.in_pitch;
        params.epilogue = mts_conv_epilogue(l, &site, image, 0);
        code = collect(c, &params, mts_encode_task_mask(l, member));
    }
    return code;
}

mts_status mts_encode_depthwise(mts_encoding *encoding, const mts_layer *layer)
{
    collector c = {.encoding = encoding, .size = sizeof(mts_depthwise_params)};
    mts_status code = MTS_STATUS_OK;
    for (uint32_t m = layer->first; code == MTS_STATUS_OK && m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant == MTS_VARIANT_DEPTHWISE) {
            code = add_depthwise(&c, m);
        }
    }
    const uint32_t local = encoding->device->is_gpu ? 32 : 1;
    MTS_TRY(code, launch(&c, "depthwise_tile__f32_planar", local,
                         mts_encode_label(encoding, layer, "depthwise"), MTS_ENTRY_PARAMS));
    release(&c);
    return code;
}

/* Rows of a row block: fc_block's, or VEC of mts_launch_defines. */
static uint32_t lane_count(const mts_encoding *encoding)
{
    if (encoding->device->is_gpu) {
        return encoding->choice.kernel == MTS_KERNEL_CONFIG_BLOCK ? 32 : 1;
    }
    return encoding->device->vector_floats >= 16 ? 16 : encoding->device->vector_floats >= 8 ? 8 : 4;
}

static uint32_t write_segments(mts_encoding *l, const mts_conv_site *site, const mts_value *weight,
                               const mts_row_blocks *rows, const mts_row_block *block, uint32_t lanes)
{
    const uint32_t owner = mts_encode_owner(l, site->member);
    uint32_t first = (uint32_t)l->params.count;
    for (uint32_t s = 0; s < block->segments; s++) {
        const mts_tile_segment *from = &rows->segments[block->segment + s];
        const mts_segment_params segment = {
            .weight_a =
                mts_weights_lanes(&l->pool, weight, from->ref_a, block->row_a, block->rows_a, lanes, owner),
            .weight_b = MTS_PARAM_NONE,
            .channel = from->channel,
            .count = from->count};
        const uint32_t at = mts_param_buffer_add(&l->params, &segment, MTS_PARAM_WORDS(mts_segment_params));
        first = s == 0 ? at : first;
    }
    return first;
}

static mts_status add_rows(collector *c, mts_conv_site *site, const mts_row_blocks *rows,
                           const mts_row_block *block)
{
    mts_encoding *l = c->encoding;
    const mts_value *weight = mts_member_operand(l->stitched, site->member, 1);
    const uint32_t lanes = lane_count(l);
    mts_fc_params params = {.rows = block->rows_a,
                            .lanes = lanes,
                            .in_pitch = site->in_pitch,
                            .segments = block->segments,
                            .epilogues = 1};
    params.segment = write_segments(l, site, weight, rows, block, lanes);
    c->most_x = larger(c->most_x, (block->rows_a + lanes - 1) / lanes);
    l->mul_adds += (uint64_t)site->images * block->rows_a * site->in_channels;
    mts_status code = MTS_STATUS_OK;
    for (uint32_t image = 0; code == MTS_STATUS_OK && image < site->images; image++) {
        const mts_epilogue_params epilogue = mts_conv_epilogue(l, site, image, block->row_a);
        params.in = site->in + image * site->in_channels * site->in_pitch;
        params.epilogue = mts_param_buffer_add(&l->params, &epilogue, MTS_PARAM_WORDS(mts_epilogue_params));
        code = collect(c, &params, mts_encode_task_mask(l, (uint32_t)(site->member - l->stitched->members)));
    }
    return code;
}

static mts_status add_fc(collector *c, uint32_t member, mts_arena *scratch)
{
    mts_encoding *l = c->encoding;
    mts_conv_site site;
    mts_conv_site_init(&site, l, member);
    mts_row_blocks rows;
    mts_status code = mts_tiles_cut(mts_member_operand(l->stitched, site.member, 1), 0, site.channels,
                                    UINT32_MAX, MTS_TILES_EVEN, scratch, &rows, l->error);
    for (uint32_t b = 0; code == MTS_STATUS_OK && b < rows.count; b++) {
        code = add_rows(c, &site, &rows, &rows.blocks[b]);
    }
    c->members++;
    c->most_y = 1;
    return code;
}

/* Whether two params may be sharing: the same rows, and segments that begin with the same weights. */
static bool share_weights(const mts_encoding *l, const mts_fc_params *a, const mts_fc_params *b)
{
    const mts_segment_params *x = (const mts_segment_params *)(const void *)(l->params.words + a->segment);
    const mts_segment_params *y = (const mts_segment_params *)(const void *)(l->params.words + b->segment);
    if (a->rows != b->rows || a->in_pitch != b->in_pitch || a->segments != b->segments) {
        return false;
    }
    bool common = false;
    for (uint32_t s = 0; s < a->segments; s++) {
        if (x[s].channel != y[s].channel || x[s].count != y[s].count) {
            return false;
        }
        common = common || x[s].weight_a == y[s].weight_a;
    }
    return common;
}

/* Puts sharing side by side: the first of them counts the others. */
static void group_sharing(collector *c)
{
    mts_fc_params *params = c->params;
    for (size_t i = 0; i < c->count; i += params[i].sharing + 1) {
        params[i].sharing = 0;
        for (size_t k = i + 1; k < c->count; k++) {
            if (share_weights(c->encoding, &params[i], &params[k])) {
                mts_fc_params *next = &params[i + ++params[i].sharing];
                const mts_fc_params moved = params[k];
                const uint32_t task_mask = c->masks[k];
                c->masks[k] = c->masks[next - params];
                c->masks[next - params] = task_mask;
                params[k] = *next;
                *next = moved;
                next->sharing = MTS_PARAM_NONE;
            }
        }
    }
}

static mts_status launch_fc(collector *c, const char *label)
{
    mts_encoding *l = c->encoding;
    const uint32_t group = l->choice.local;
    if (!l->device->is_gpu || l->choice.kernel != MTS_KERNEL_CONFIG_BLOCK) {
        return launch(c, "fc_lanes__f32_planar", l->device->is_gpu ? 32 : 1, label, MTS_ENTRY_SHARING);
    }
    mts_text text;
    mts_text_init(&text, l->arena->allocator);
    mts_text_add(&text, "%s -DGROUP=%u", mts_launch_defines(l->device, l->precision), group);
    mts_encoded_launch launch = {
        .kernel = "fc_block__f32_planar", .label = label, .members = c->members, .whole_group = true};
    launch.defines = text.failed ? NULL : mts_arena_string(l->strings, mts_text_get(&text));
    mts_text_release(&text);
    if (!launch.defines || c->most_x > UINT32_MAX / group) {
        return mts_encode_memory(l);
    }
    launch.first = mts_param_buffer_add(&l->params, c->params, c->count * c->size / sizeof(mts_u32));
    launch.global[0] = c->most_x * group;
    launch.global[1] = 1;
    launch.global[2] = (uint32_t)c->count;
    launch.local[0] = group;
    launch.local[1] = launch.local[2] = 1;
    return append(c, &launch, MTS_ENTRY_SHARING);
}

mts_status mts_encode_fc(mts_encoding *encoding, const mts_layer *layer)
{
    collector c = {.encoding = encoding, .size = sizeof(mts_fc_params)};
    mts_arena scratch;
    mts_arena_init(&scratch, encoding->arena->allocator);
    mts_status code = MTS_STATUS_OK;
    if (encoding->device->is_gpu) { /* on a CPU there is one way */
        mts_kernel_config choice;
        code = mts_encode_choice(encoding, layer, &choice);
    }
    for (uint32_t m = layer->first; code == MTS_STATUS_OK && m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant == MTS_VARIANT_FC) {
            code = add_fc(&c, m, &scratch);
        }
    }
    if (code == MTS_STATUS_OK && !encoding->params.failed) {
        group_sharing(&c);
    }
    MTS_TRY(code, launch_fc(&c, mts_encode_label(encoding, layer, "fc")));
    release(&c);
    mts_arena_release(&scratch);
    return code;
}
