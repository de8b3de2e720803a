/*
 * encode_gemm.c: 1x1 convolutions and fully connected layers as matrix products of a
 * library.
 *
 * A planar tensor is a matrix already: a row per channel, a column per flattened pixel. A
 * member is one launch: its weights times its input, for all of its images. What follows
 * a sum (scale, bias, residual, function, the zeros around the image) is one more launch
 * for all members, in place: a depthwise convolution by ones where there are pixels, a
 * scale where there are none. Only weights that lie in one block are a matrix; other
 * layers are left to the tiles. Not responsible for when a product is worth it: tuning
 * measures.
 */
#include "lower/launch_shape.h"
#include "lower/encode_conv.h"
#include "lower/encoders.h"

enum { EPILOGUE_PIXELS = 4096 }; /* of a plane that a CPU's work-item finishes alone */

/* The launches of one layer while they are made. */
typedef struct products {
    mts_encoding *encoding;
    bool is_fc;
    /* Of the epilogues: mts_depthwise_params, or mts_scale_params if is_fc. */
    mts_param_list epilogues;
    uint32_t most_pixels, most_channels;
    const char *label;
} products;

static bool is_matrix(const mts_value *weight)
{
    return weight->block_count == 1 && weight->blocks[0].out_first == 0 && weight->blocks[0].in_first == 0;
}

static bool member_fits(const mts_encoding *encoding, uint32_t index, bool is_fc)
{
    const mts_member_plan *how = &encoding->plan->members[index];
    const mts_member *member = &encoding->stitched->members[index];
    const mts_node *node = mts_member_node(encoding->stitched, member);
    const mts_attrs_conv *conv = &node->attrs.conv;
    const mts_storage *out = &encoding->plan->storages[encoding->plan->value_storage[member->output]];
    const bool adds = member->input_count > 4 && member->inputs[4] != MTS_NONE;
    const bool slopes = mts_member_operand(encoding->stitched, member, 5);
    if (how->variant != (is_fc ? MTS_VARIANT_FC : MTS_VARIANT_TILE) || node->scatter || out->planes ||
        conv->kernel[0] * conv->kernel[1] != 1 || conv->group != 1 ||
        !is_matrix(mts_member_operand(encoding->stitched, member, 1))) {
        return false;
    }
    if (is_fc) {
        return !adds && !slopes && mts_storage_is_dense(out) && out->pitch == 1;
    }
    const uint32_t conversion = how->input_conversion;
    const uint32_t read = conversion != MTS_NONE ? encoding->plan->conversions[conversion].storage
                                                 : encoding->plan->value_storage[member->inputs[0]];
    const uint64_t pixels = (uint64_t)out->dims[4] * out->row;
    return encoding->plan->storages[read].pitch >= pixels && out->pitch >= pixels;
}

bool mts_gemm_accepts(const mts_encoding *encoding, const mts_layer *layer)
{
    const bool is_fc = encoding->plan->members[layer->first].variant == MTS_VARIANT_FC;
    bool fits = encoding->device->gemm;
    for (uint32_t m = layer->first; fits && m < layer->first + layer->count; m++) {
        fits = member_fits(encoding, m, is_fc);
    }
    return fits;
}

static uint32_t ones(mts_encoding *encoding, uint32_t count)
{
    return mts_weights_mask(&encoding->pool, 1, count, count, count);
}

/* y = fn(scale (1 x) + bias + residual), channel by channel where the product left x. */
static mts_depthwise_params finish_image(products *p, mts_conv_site *site, uint32_t image)
{
    static const mts_i32 here = 0;
    mts_encoding *l = p->encoding;
    mts_depthwise_params params = {.channels = site->channels,
                                   .multiplier = 1,
                                   .pixels = site->pixels,
                                   .taps = 1,
                                   .mask = site->mask,
                                   .weight = ones(l, site->channels)};
    params.tap = mts_param_buffer_add(&l->params, &here, 1);
    params.epilogue = mts_conv_epilogue(l, site, image, 0);
    params.in = params.epilogue.out;
    params.in_pitch = params.epilogue.out_pitch;
    return params;
}

static mts_scale_params finish_row(products *p, mts_conv_site *site, uint32_t image)
{
    const mts_epilogue_params e = mts_conv_epilogue(p->encoding, site, image, 0);
    return (mts_scale_params){
        .dest = {.base = e.out, .dims = {1, 1, 1, site->channels, 1, 1}, .row = 1, .pitch = 1},
        .src = {.base = e.out, .stride = {0, 0, 0, 1, 0, 0}},
        .channel = {0, 1, 0}, /* coordinate 3 */
        .scale = e.scale,
        .bias = e.bias,
        .slope = MTS_PARAM_NONE,
        .fn = e.fn,
        .a = e.a,
        .b = e.b};
}

/* Columns are pixels: weights times planes. */
static mts_gemm product_of_planes(const products *p, const mts_conv_site *site, uint32_t weight, uint32_t out)
{
    const mts_i32 tap = p->is_fc ? 0 : (mts_i32)p->encoding->params.words[site->tap];
    return (mts_gemm){.m = site->channels,
                      .n = p->is_fc ? 1 : site->out->dims[4] * site->row,
                      .k = site->in_channels,
                      .batch = site->images,
                      .a_pool = true,
                      .a = weight,
                      .a_ld = site->in_channels,
                      .b = site->in + (mts_u32)tap,
                      .b_ld = site->in_pitch,
                      .b_stride = site->in_channels * site->in_pitch,
                      .c = out,
                      .c_ld = site->out->pitch,
                      .c_stride = site->channels * site->out->pitch};
}

/* Rows are images, which lie one after another: images times weights. */
static mts_gemm product_of_rows(const mts_conv_site *site, uint32_t weight, uint32_t out)
{
    return (mts_gemm){.m = site->images,
                      .n = site->channels,
                      .k = site->in_channels,
                      .batch = 1,
                      .a = site->in,
                      .a_ld = site->in_channels,
                      .b_pool = true,
                      .b_transposed = true,
                      .b = weight,
                      .b_ld = site->in_channels,
                      .c = out,
                      .c_ld = site->channels};
}

static mts_status add_member(products *p, uint32_t index)
{
    mts_encoding *l = p->encoding;
    mts_conv_site site;
    mts_conv_site_init(&site, l, index);
    const uint32_t weight = mts_weights_dense(&l->pool, mts_member_operand(l->stitched, site.member, 1),
                                              mts_encode_owner(l, site.member));
    if (l->params.failed || l->pool.failed) {
        return mts_encode_memory(l);
    }
    const uint32_t out = (uint32_t)(site.out->offset + site.out->gap);
    const bool rows = p->is_fc && site.in_pitch == 1;
    const mts_encoded_launch launch = {.kind = MTS_LAUNCH_GEMM,
                                       .kernel = "gemm__f32",
                                       .defines = "",
                                       .label = p->label,
                                       .members = 1,
                                       .gemm = rows ? product_of_rows(&site, weight, out)
                                                    : product_of_planes(p, &site, weight, out)};
    l->mul_adds +=
        (uint64_t)site.images * site.channels * site.in_channels * site.out->dims[4] * site.out->dims[5];
    p->most_pixels = site.pixels > p->most_pixels ? site.pixels : p->most_pixels;
    p->most_channels = site.channels > p->most_channels ? site.channels : p->most_channels;
    const uint32_t task_mask = mts_encode_task_mask(l, index);
    mts_status status = mts_encode_launch(l, &launch);
    MTS_TRY(status, mts_encode_entries(l, MTS_ENTRY_WHOLE, 0, &task_mask, 1));
    for (uint32_t image = 0; status == MTS_STATUS_OK && image < site.images; image++) {
        if (p->is_fc) {
            const mts_scale_params params = finish_row(p, &site, image);
            status = mts_param_list_add(&p->epilogues, &params, task_mask);
        } else {
            const mts_depthwise_params params = finish_image(p, &site, image);
            status = mts_param_list_add(&p->epilogues, &params, task_mask);
        }
    }
    return status;
}

static mts_status add_epilogues(products *p, const mts_layer *layer)
{
    mts_encoding *l = p->encoding;
    const mts_param_list *list = &p->epilogues;
    const char *label = mts_encode_label(l, layer, "epilogue");
    if (p->is_fc) {
        const uint32_t words = (uint32_t)MTS_PARAM_WORDS(mts_scale_params);
        mts_status status =
            mts_encode_dests(l, "scale_any__f32_planar", label, list->params, words, (uint32_t)list->count);
        MTS_TRY(status, mts_encode_entries(l, MTS_ENTRY_PARAMS, words, list->masks, list->count));
        return status;
    }
    const uint32_t local = l->device->is_gpu && l->device->work_group_size >= 32 ? 32 : 1;
    const uint32_t per_item = l->device->is_gpu ? 4 : EPILOGUE_PIXELS;
    const uint32_t items = (p->most_pixels + per_item - 1) / per_item;
    mts_encoded_launch launch = {
        .kernel = "depthwise_tile__f32_planar",
        .defines = mts_launch_defines(l->device, l->precision),
        .label = label,
        .members = layer->count,
        .local = {local, 1, 1},
        .global = {(items + local - 1) / local * local, p->most_channels, (uint32_t)list->count}};
    return mts_param_list_launch(list, &launch, MTS_ENTRY_PARAMS);
}

mts_status mts_encode_gemm(mts_encoding *encoding, const mts_layer *layer, const mts_kernel_config *config)
{
    const bool is_fc = encoding->plan->members[layer->first].variant == MTS_VARIANT_FC;
    products p = {.encoding = encoding, .is_fc = is_fc};
    p.epilogues = (mts_param_list){.encoding = encoding,
                                   .size = is_fc ? sizeof(mts_scale_params) : sizeof(mts_depthwise_params)};
    p.label = mts_encode_label(encoding, layer, is_fc ? "gemm fc" : "gemm 1x1");
    mts_status status = MTS_STATUS_OK;
    (void)config;
    for (uint32_t m = layer->first; status == MTS_STATUS_OK && m < layer->first + layer->count; m++) {
        status = add_member(&p, m);
    }
    MTS_TRY(status, add_epilogues(&p, layer));
    mts_param_list_release(&p.epilogues);
    return status;
}
