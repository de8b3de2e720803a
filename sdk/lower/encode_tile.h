/*
 * encode_tile.h: shapes of conv_tile's tiles. Pure.
 */
#ifndef MTS_LOWER_ENCODE_TILE_H
#define MTS_LOWER_ENCODE_TILE_H

#include "lower/conv_jobs.h"
#include "plan/kernel_config.h"

/* A configuration that was made for another device of the same kind may ask for larger
 * work-groups than this one has. */
mts_kernel_config mts_tile_clamp(const mts_device_info *device, mts_kernel_config config);
/* The configuration of layers that no special kernel computes, where nothing was
   measured. */
mts_kernel_config mts_tile_usual(const mts_device_info *device);
/* Always: conv_tile computes every convolution. `facts` may be NULL. */
bool mts_tile_prefers(const mts_device_info *device, const mts_layer_facts *facts, mts_kernel_config *out);
/* Shape number `index` that is worth measuring; false beyond the last. */
bool mts_tile_candidate(const mts_device_info *device, uint32_t index, mts_kernel_config *out);

/* Cuts jobs into tiles and appends their launch; kind, kernel and build options are the
   caller's. */
mts_status mts_tile_launch(mts_tiler *t, const mts_kernel_config *config, mts_encoded_launch launch);

#endif
