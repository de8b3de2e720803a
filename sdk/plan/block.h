/*
 * block.h: which layers take conv_block, and in which shape. Pure.
 */
#ifndef MTS_PLAN_BLOCK_H
#define MTS_PLAN_BLOCK_H

#include "plan/kernel_config.h"

#define MTS_BLOCK_TAPS 64u /* kernel positions at most */

/* Whether the kernel builds with this shape and the device has the work-items and the memory. */
bool mts_block_fits(const mts_device_info *device, const mts_kernel_config *choice);
/* Whether matrix units can multiply a block of this shape. */
bool mts_block_takes_matrices(const mts_device_info *device, const mts_kernel_config *choice);
/* Whether the kernel computes a convolution. */
bool mts_block_computes(const mts_attrs_conv *conv);
/* Whether it is what a layer takes where nothing was measured. */
bool mts_block_pays(const mts_device_info *device, const mts_layer_facts *facts);
/* The shape for a layer of convolutions where nothing was measured. */
mts_kernel_config mts_block_shape(const mts_device_info *device, const mts_layer_facts *facts);
/* Shape number `index` that is worth measuring; false beyond the last, and on a device without any. */
bool mts_block_candidate(const mts_device_info *device, uint32_t index, mts_kernel_config *out);

#endif
