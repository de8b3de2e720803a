/*
 * encode_block.h: which layers take conv_block, and in which shape. Pure.
 */
#ifndef MTS_LOWER_ENCODE_BLOCK_H
#define MTS_LOWER_ENCODE_BLOCK_H

#include "lower/lower.h"

/* Whether the kernel builds with this shape and the device has the work-items and the
   memory. */
bool mts_block_fits(const mts_device_info *device, const mts_kernel_config *config);
/* Whether matrix units can multiply a block of this shape. */
bool mts_block_takes_matrices(const mts_device_info *device, const mts_kernel_config *config);
/* The shape for a layer of convolutions where nothing was measured. */
mts_kernel_config mts_block_shape(const mts_device_info *device, const mts_layer_facts *facts);
/* Whether it is what a layer takes where nothing was measured, and then in which
   shape. */
bool mts_block_prefers(const mts_device_info *device, const mts_layer_facts *facts, mts_kernel_config *out);
/* Shape number `index` that is worth measuring; false beyond the last, and on a device
   without any. */
bool mts_block_candidate(const mts_device_info *device, uint32_t index, mts_kernel_config *out);
/* Whether the kernel computes all convolutions of a layer. */
bool mts_block_accepts(const mts_encoding *encoding, const mts_layer *layer);

#endif
