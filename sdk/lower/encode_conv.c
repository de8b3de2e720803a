/*
 * encode_conv.c: what the launches of convolutions share: operands, taps, masks,
 * epilogues.
 */
#include "lower/encode_conv.h"

/* Conversions keep a border of their own: pixel 0 of the image lies `top` rows and `left`
   columns inside. */
static uint64_t image_offset(const mts_plan *plan, uint32_t value, uint32_t conversion)
{
    if (conversion == MTS_NONE) {
        const mts_storage *s = &plan->storages[plan->value_storage[value]];
        return s->offset + s->gap;
    }
    const mts_conversion *c = &plan->conversions[conversion];
    return plan->storages[c->storage].offset;
}

static uint32_t add_taps(mts_encoding *encoding, const mts_conv_site *site, const mts_conversion *phase)
{
    const mts_attrs_conv *conv = site->conv;
    const uint32_t first = (uint32_t)encoding->params.count;
    for (uint32_t ky = 0; ky < conv->kernel[0]; ky++) {
        for (uint32_t kx = 0; kx < conv->kernel[1]; kx++) {
            int64_t y = (int64_t)ky * conv->dilation[0] - conv->pad[0];
            int64_t x = (int64_t)kx * conv->dilation[1] - conv->pad[1];
            int64_t plane = 0;
            if (phase) {
                y += phase->top;
                x += phase->left;
                plane = (y % phase->stride[0] * phase->stride[1] + x % phase->stride[1]) * site->plane_pitch;
                y /= phase->stride[0];
                x /= phase->stride[1];
            }
            const mts_i32 tap = (mts_i32)(plane + y * site->in_row + x);
            mts_param_buffer_add(&encoding->params, &tap, 1);
        }
    }
    return first;
}

static void find_residual(mts_conv_site *site, const mts_encoding *encoding, const mts_member_plan *how)
{
    const mts_plan *plan = encoding->plan;
    site->residual = MTS_PARAM_NONE;
    const uint32_t value = site->member->input_count > 4 ? site->member->inputs[4] : MTS_NONE;
    if (value == MTS_NONE) {
        return;
    }
    if (how->residual_conversion == MTS_NONE) {
        const mts_view_params view = mts_encode_view(encoding, value);
        site->residual = view.base;
        site->residual_pitch = view.stride[3];
        const mts_storage *own = &plan->storages[plan->value_storage[value]];
        site->residual_planes = MTS_HAS_PACKED && own->lanes > 0 ? mts_storage_channels(own) : site->channels;
        return;
    }
    const mts_conversion *c = &plan->conversions[how->residual_conversion];
    const mts_storage *storage = &plan->storages[c->storage];
    site->residual = (uint32_t)storage->offset + c->top * storage->row + c->left;
    site->residual_pitch = storage->pitch;
    site->residual_planes = site->channels;
}

static const mts_conversion *input_phase(const mts_plan *plan, uint32_t member)
{
    const uint32_t conversion = plan->members[member].input_conversion;
    return conversion != MTS_NONE ? &plan->conversions[conversion] : NULL;
}

/* A conversion's copy is never in blocks. */
uint32_t mts_conv_blocks(const mts_encoding *encoding, uint32_t member)
{
    const mts_plan *plan = encoding->plan;
    const mts_member *m = &encoding->stitched->members[member];
    const bool own = plan->members[member].input_conversion == MTS_NONE && m->inputs[0] != MTS_NONE;
    const bool in = own && plan->storages[plan->value_storage[m->inputs[0]]].lanes > 0;
    const bool out = plan->storages[plan->value_storage[m->output]].lanes > 0;
    return !MTS_HAS_ROW_LANES && !MTS_HAS_PACKED ? 0 : (in ? MTS_BLOCKS_IN : 0) | (out ? MTS_BLOCKS_OUT : 0);
}

mts_status mts_conv_refuse_blocks(const mts_encoding *encoding, const mts_layer *layer)
{
    return mts_fail(
        encoding->error, MTS_STATUS_INTERNAL,
        "layer %u has values in blocks of channels, which the kernel that computes it does not take",
        (unsigned)(layer - encoding->stitched->layers));
}

void mts_conv_site_open(mts_conv_site *site, mts_encoding *encoding, uint32_t member)
{
    const mts_plan *plan = encoding->plan;
    const mts_member *m = &encoding->stitched->members[member];
    const mts_member_plan *how = &plan->members[member];
    const mts_conversion *phase = input_phase(plan, member);
    const mts_storage *in = &plan->storages[phase ? phase->storage : plan->value_storage[m->inputs[0]]];
    const mts_storage *out = &plan->storages[plan->value_storage[m->output]];
    const uint32_t phases = phase ? phase->phases : 1;
    *site = (mts_conv_site){.member = m, .out = out, .row = out->row, .scale = MTS_PARAM_NONE};
    site->conv = &mts_member_node(encoding->stitched, m)->attrs.conv;
    site->scatter = mts_member_node(encoding->stitched, m)->scatter;
    site->in = (uint32_t)image_offset(plan, m->inputs[0], how->input_conversion);
    site->plane_pitch = in->pitch;
    site->in_pitch = in->pitch * phases;
    site->in_row = in->row;
    site->in_channels = (uint32_t)encoding->stitched->values[m->inputs[0]].shape.dims[1];
    site->blocks = mts_conv_blocks(encoding, member);
    site->images = out->dims[2];
    site->channels = out->dims[3];
    const uint64_t body = (uint64_t)out->dims[4] * out->row;
    site->pixels = (uint32_t)((body + MTS_PLAN_ALIGN - 1) / MTS_PLAN_ALIGN * MTS_PLAN_ALIGN);
    site->taps = site->conv->kernel[0] * site->conv->kernel[1];
    if (how->variant == MTS_VARIANT_FC) { /* the input may be a reshaped alias: a view knows its strides */
        const mts_view_params view = mts_encode_view(encoding, m->inputs[0]);
        site->in = view.base;
        site->in_pitch = view.stride[3];
    }
    find_residual(site, encoding, how);
}

/* Without a border no kernel reads what lies between the rows or behind them. */
void mts_conv_site_mask(mts_conv_site *site, mts_encoding *encoding)
{
    const mts_storage *out = site->out;
    const bool bare = out->row == out->dims[5] && (out->gap == 0 || site->pixels == out->dims[4] * out->row);
    site->mask = bare ? MTS_PARAM_NONE
                      : mts_weights_mask(&encoding->pool, out->dims[4], out->row, out->dims[5], site->pixels);
}

void mts_conv_site_init(mts_conv_site *site, mts_encoding *encoding, uint32_t member)
{
    mts_conv_site_open(site, encoding, member);
    if (encoding->plan->members[member].variant != MTS_VARIANT_FC) {
        site->tap = add_taps(encoding, site, input_phase(encoding->plan, member));
    }
    mts_conv_site_mask(site, encoding);
}

static uint32_t row_vector(mts_encoding *encoding, const mts_conv_site *site, uint32_t input, uint32_t image,
                           uint32_t row)
{
    const mts_value *value = mts_member_operand(encoding->stitched, site->member, input);
    const uint32_t vector = mts_encode_vector(encoding, site->member, input, site->scatter, site->channels);
    const uint32_t skip = value && value->shape.rank > 1 ? image * site->channels : 0;
    return vector == MTS_PARAM_NONE ? MTS_PARAM_NONE : vector + skip + row;
}

#if MTS_HAS_SHUFFLES
/* Planes of the host of the output's storage. */
static uint32_t add_planes(mts_encoding *encoding, const mts_conv_site *site)
{
    const uint32_t first = (uint32_t)encoding->params.count;
    for (uint32_t r = 0; r < site->channels; r++) {
        const uint32_t plane = site->out->planes[site->scatter ? site->scatter[r] : r];
        (void)mts_param_buffer_add(&encoding->params, &plane, 1);
    }
    return first;
}
#endif

uint32_t mts_conv_index(mts_encoding *encoding, mts_conv_site *site, uint32_t row)
{
    if (!site->scatter && !site->out->planes) {
        return mts_param_buffer_identity(&encoding->params, site->channels) + row;
    }
    if (!site->index_made) {
#if MTS_HAS_SHUFFLES
        site->index = site->out->planes
                          ? add_planes(encoding, site)
                          : mts_param_buffer_add(&encoding->params, site->scatter, site->channels);
#else
        site->index = mts_param_buffer_add(&encoding->params, site->scatter, site->channels);
#endif
        site->index_made = true;
    }
    return site->index + row;
}

/* The plane that `tail` zeros follow. */
static uint32_t last_plane(const mts_conv_site *site)
{
    uint32_t last = site->channels - 1;
    for (uint32_t r = 0; MTS_HAS_SHUFFLES && site->out->planes && r < site->channels; r++) {
        last = r == 0 || site->out->planes[r] > last ? site->out->planes[r] : last;
    }
    return last;
}

mts_epilogue_params mts_conv_epilogue(mts_encoding *encoding, mts_conv_site *site, uint32_t image,
                                      uint32_t row)
{
    const mts_storage *out = site->out;
    const bool last_image = image + 1 == site->images;
    const uint32_t planes = image * mts_storage_channels(out);
    mts_epilogue_params e = {.out = (mts_u32)(out->offset + out->gap) + planes * out->pitch,
                             .out_pitch = out->pitch,
                             .gap = out->gap,
                             .last = last_image && out->tail > 0 ? last_plane(site) : MTS_PARAM_NONE,
                             .tail = out->tail,
                             .res = MTS_PARAM_NONE,
                             .fn = site->conv->act.fn,
                             .a = site->conv->act.a,
                             .b = site->conv->act.b};
    e.index = mts_conv_index(encoding, site, row);
    e.scale = site->scale != MTS_PARAM_NONE ? site->scale + row : row_vector(encoding, site, 2, image, row);
    e.bias = row_vector(encoding, site, 3, image, row);
    e.slope = row_vector(encoding, site, 5, image, row);
    if (site->residual != MTS_PARAM_NONE) {
        e.res = site->residual + image * site->residual_planes * site->residual_pitch;
        e.res_pitch = site->residual_pitch;
    }
    return e;
}
