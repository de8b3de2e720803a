/*
 * row_lanes.h: convolutions whose output rows are the lanes of a vector instead of their
 * pixels (mts_conv_params.plane): those of small maps.
 */
#ifndef MTS_LOWER_ROW_LANES_H
#define MTS_LOWER_ROW_LANES_H

#include "lower/encode_conv.h"
#include "plan/blocks.h"

/* Whether a layer is computed so: it has operands in blocks of channels, or can be and is
   predicted to be faster. INTERNAL: it has such operands and cannot be, so that the plan is
   not one for this device. */
mts_status mts_row_lanes_choose(mts_encoding *encoding, const mts_layer *layer, uint32_t tile_rows,
                                bool *chosen);
/* Pixels of an image, rounded up to what the kernel takes at a time. */
uint32_t mts_row_lanes_plane(const mts_conv_site *site);

#endif
