/*
 * row_lanes.h: convolutions whose output rows are the lanes of a vector instead of their
 * pixels (mts_conv_params.plane): those of small maps.
 */
#ifndef MTS_LOWER_ROW_LANES_H
#define MTS_LOWER_ROW_LANES_H

#include "lower/encode_conv.h"

/* Pixels of a tile at most: the kernel sums that many at a time. */
#define MTS_ROW_LANES_TILE 28u

/* Whether the library has them: no processor but x86-64's has vectors of 16 floats, and
   the smallest library for others stays free of them. */
#if defined(__x86_64__)
#define MTS_HAS_ROW_LANES 1
#else
#define MTS_HAS_ROW_LANES 0
#endif

/* Whether a layer can be computed so, and is predicted to be faster. */
bool mts_row_lanes_accepts(mts_encoding *encoding, const mts_layer *layer, uint32_t tile_rows);
/* Pixels of an image, rounded up to what the kernel takes at a time. */
uint32_t mts_row_lanes_plane(const mts_conv_site *site);

#endif
