/*
 * row_lanes.c: see row_lanes.h. Decides by predicted cycles (plan/blocks.c); not responsible for
 * the jobs themselves (conv_jobs.c).
 */
#include "lower/row_lanes.h"

uint32_t mts_row_lanes_plane(const mts_conv_site *site)
{
    const uint32_t pixels = site->out->dims[4] * site->out->row;
    return mts_row_lanes_pixels(pixels);
}

static bool has_shape(const mts_conv_site *site, const mts_value *weight)
{
    const mts_attrs_conv *conv = site->conv;
    return conv->kernel[0] == 1 && conv->kernel[1] == 1 && conv->group == 1 && weight->block_count == 1 &&
           site->out->row == site->out->dims[5] && site->out->gap == 0;
}

mts_status mts_row_lanes_choose(mts_encoding *encoding, const mts_layer *layer, uint32_t tile_rows,
                                bool *chosen)
{
    const uint32_t lanes = encoding->device->vector_floats;
    uint64_t by_rows = 0, by_pixels = 0;
    bool blocks = false;
    bool fits = encoding->device->row_lanes && encoding->precision == MTS_PRECISION_FLOAT32;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant != MTS_VARIANT_TILE) {
            continue;
        }
        blocks = blocks || mts_conv_blocks(encoding, m) != 0;
        if (fits) {
            mts_conv_site site;
            mts_conv_site_open(&site, encoding, m);
            fits = has_shape(&site, mts_member_operand(encoding->stitched, site.member, 1));
            const mts_pointwise p = {.channels = site.channels,
                                     .in_channels = site.in_channels,
                                     .images = site.images,
                                     .plane = mts_row_lanes_plane(&site),
                                     .lanes = lanes,
                                     .rows = tile_rows};
            by_rows += mts_pointwise_by_rows(&p, true);
            by_pixels += mts_pointwise_by_pixels(&p);
        }
    }
    *chosen = fits && (blocks || mts_pointwise_prefers_rows(by_rows, by_pixels));
    return blocks && !fits ? mts_conv_refuse_blocks(encoding, layer) : MTS_STATUS_OK;
}
