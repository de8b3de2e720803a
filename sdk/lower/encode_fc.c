/*
 * encode_fc.c: fully connected layers, one launch of fc_lanes or, on a GPU, of fc_block.
 */
#include "lower/launch_shape.h"
#include "base/text.h"
#include "lower/encode_conv.h"
#include "lower/encoders.h"
#include "stitch/tiles.h"

/* The launch of one layer while its kernel parameters are collected. */
typedef struct products {
    mts_param_list list;
    mts_arena scratch;
    /* Rows of a row block; row blocks of the largest output. */
    uint32_t lanes, blocks;
    uint32_t members;
} products;

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

static mts_status add_rows(products *p, mts_conv_site *site, const mts_row_blocks *rows,
                           const mts_row_block *block)
{
    mts_encoding *l = p->list.encoding;
    const mts_value *weight = mts_member_operand(l->stitched, site->member, 1);
    const uint32_t blocks = (block->rows_a + p->lanes - 1) / p->lanes;
    mts_fc_params params = {.rows = block->rows_a,
                            .lanes = p->lanes,
                            .in_pitch = site->in_pitch,
                            .segments = block->segments,
                            .epilogues = 1};
    params.segment = write_segments(l, site, weight, rows, block, p->lanes);
    p->blocks = blocks > p->blocks ? blocks : p->blocks;
    l->mul_adds += (uint64_t)site->images * block->rows_a * site->in_channels;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t image = 0; status == MTS_STATUS_OK && image < site->images; image++) {
        const mts_epilogue_params epilogue = mts_conv_epilogue(l, site, image, block->row_a);
        params.in = site->in + image * site->in_channels * site->in_pitch;
        params.epilogue = mts_param_buffer_add(&l->params, &epilogue, MTS_PARAM_WORDS(mts_epilogue_params));
        status = mts_param_list_add(&p->list, &params,
                                    mts_encode_task_mask(l, (uint32_t)(site->member - l->stitched->members)));
    }
    return status;
}

static mts_status add_member(products *p, uint32_t member)
{
    mts_encoding *l = p->list.encoding;
    mts_conv_site site;
    mts_conv_site_init(&site, l, member);
    mts_row_blocks rows;
    mts_status status = mts_tiles_cut(mts_member_operand(l->stitched, site.member, 1), 0, site.channels,
                                      UINT32_MAX, MTS_TILES_EVEN, &p->scratch, &rows, l->error);
    for (uint32_t b = 0; status == MTS_STATUS_OK && b < rows.count; b++) {
        status = add_rows(p, &site, &rows, &rows.blocks[b]);
    }
    p->members++;
    return status;
}

/* Whether two sets of kernel parameters may share weights: the same rows, and segments of
 * which some begin with the same weights. */
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

/* Puts rows that share weights side by side: the first of them counts the others. */
static void group_sharing(mts_param_list *c)
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

/* Collects the layer's kernel parameters and launches them. `group` is 0, or work-items
 * of a row block of a kernel that is built for it. */
static mts_status encode(mts_encoding *encoding, const mts_layer *layer, mts_encoded_launch *launch,
                         uint32_t lanes, uint32_t group)
{
    products p = {.list = {.encoding = encoding, .size = sizeof(mts_fc_params)}, .lanes = lanes};
    mts_status status = MTS_STATUS_OK;
    mts_arena_init(&p.scratch, encoding->arena->allocator);
    for (uint32_t m = layer->first; status == MTS_STATUS_OK && m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant == MTS_VARIANT_FC) {
            status = add_member(&p, m);
        }
    }
    if (status == MTS_STATUS_OK && !encoding->params.failed) {
        group_sharing(&p.list);
    }
    const uint32_t local = launch->local[0];
    if (group > 0 && p.blocks > UINT32_MAX / group) {
        status = mts_encode_memory(encoding);
    }
    launch->label = mts_encode_label(encoding, layer, "fc");
    launch->members = p.members;
    launch->local[1] = launch->local[2] = launch->global[1] = 1;
    launch->global[0] = group > 0 ? p.blocks * group : (p.blocks + local - 1) / local * local;
    launch->global[2] = (uint32_t)p.list.count;
    MTS_TRY(status, mts_param_list_launch(&p.list, launch, MTS_ENTRY_SHARING));
    mts_param_list_release(&p.list);
    mts_arena_release(&p.scratch);
    return status;
}

mts_status mts_encode_fc_lanes(mts_encoding *encoding, const mts_layer *layer,
                               const mts_kernel_config *config)
{
    mts_encoded_launch launch = {.kernel = "fc_lanes__f32_planar",
                                 .defines = mts_launch_defines(encoding->device, encoding->precision),
                                 .local = {encoding->device->is_gpu ? 32 : 1}};
    (void)config;
    return encode(encoding, layer, &launch, mts_launch_vector(encoding->device), 0);
}

bool mts_fc_block_accepts(const mts_encoding *encoding, const mts_layer *layer)
{
    (void)layer;
    return encoding->device->is_gpu;
}

mts_status mts_encode_fc_block(mts_encoding *encoding, const mts_layer *layer,
                               const mts_kernel_config *config)
{
    enum { LANES = 32 };
    mts_text text;
    mts_text_init(&text, encoding->arena->allocator);
    mts_text_add(&text, "%s -DGROUP=%u", mts_launch_defines(encoding->device, encoding->precision),
                 config->local);
    mts_encoded_launch launch = {
        .kind = MTS_LAUNCH_BLOCKS, .kernel = "fc_block__f32_planar", .local = {config->local}};
    launch.defines = text.failed ? NULL : mts_arena_string(encoding->strings, mts_text_get(&text));
    mts_text_release(&text);
    return launch.defines ? encode(encoding, layer, &launch, LANES, config->local)
                          : mts_encode_memory(encoding);
}
