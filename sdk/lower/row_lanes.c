/*
 * row_lanes.c: see row_lanes.h. Decides by predicted cycles; not responsible for the jobs
 * themselves (conv_jobs.c).
 */
#include "lower/row_lanes.h"

#include "base/size.h"

/*
 * Cycles, measured on one processor with AVX-512 (docs/design/kernels.md): it starts two
 * products of vectors in a cycle, and a chain of them waits LATENCY for each. A group of
 * pixels is turned over and stored in TURN.
 */
enum { QUAD = 4, PER_CYCLE = 2, LATENCY = 4, TURN = 300, STORE = 2 };

uint32_t mts_row_lanes_plane(const mts_conv_site *site)
{
    const uint32_t pixels = site->out->dims[4] * site->out->row;
    return (pixels + QUAD - 1) / QUAD * QUAD;
}

/* Rows in lanes: each row block goes over groups of pixels of all images. */
static uint64_t lanes_cycles(const mts_conv_site *site, uint32_t lanes)
{
    const uint64_t blocks = mts_u64_ceil_div(site->channels, lanes);
    const uint64_t pixels = (uint64_t)site->images * mts_row_lanes_plane(site);
    const uint64_t groups = mts_u64_ceil_div(pixels, MTS_ROW_LANES_TILE);
    const uint64_t step = mts_u64_max(mts_u64_ceil_div(pixels, groups) / PER_CYCLE, LATENCY);
    return blocks * groups * (site->in_channels * step + TURN);
}

/* Pixels in lanes: image by image, vectors of a few rows. */
static uint64_t pixels_cycles(const mts_conv_site *site, uint32_t lanes, uint32_t rows)
{
    const uint64_t blocks = mts_u64_ceil_div(site->channels, rows);
    const uint64_t vectors = mts_u64_ceil_div(mts_row_lanes_plane(site), lanes);
    const uint64_t products = mts_u64_ceil_div(site->channels, blocks) * vectors;
    const uint64_t step = mts_u64_max(mts_u64_ceil_div(products, PER_CYCLE), LATENCY);
    return site->images * blocks * (site->in_channels * step + products * STORE);
}

static bool has_shape(const mts_conv_site *site, const mts_value *weight)
{
    const mts_attrs_conv *conv = site->conv;
    return conv->kernel[0] == 1 && conv->kernel[1] == 1 && conv->group == 1 && weight->block_count == 1 &&
           site->out->row == site->out->dims[5] && site->out->gap == 0;
}

bool mts_row_lanes_accepts(mts_encoding *encoding, const mts_layer *layer, uint32_t tile_rows)
{
    const uint32_t lanes = encoding->device->vector_floats;
    uint64_t by_rows = 0, by_pixels = 0;
    bool fits = encoding->device->row_lanes && encoding->precision == MTS_PRECISION_FLOAT32;
    for (uint32_t m = layer->first; fits && m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant == MTS_VARIANT_TILE) {
            mts_conv_site site;
            mts_conv_site_open(&site, encoding, m);
            fits = has_shape(&site, mts_member_operand(encoding->stitched, site.member, 1));
            by_rows += lanes_cycles(&site, lanes);
            by_pixels += pixels_cycles(&site, lanes, tile_rows);
        }
    }
    return fits && by_rows < by_pixels - by_pixels / 16;
}
