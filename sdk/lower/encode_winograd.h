/*
 * encode_winograd.h: which convolutions Winograd's F(2 x 2, 3 x 3) can compute and where
 * it pays. Pure.
 */
#ifndef MTS_LOWER_ENCODE_WINOGRAD_H
#define MTS_LOWER_ENCODE_WINOGRAD_H

#include "lower/lower.h"

/* Whether it is expected to be faster than tiles for a layer, and then in which shape.
   `facts` may be NULL. */
bool mts_winograd_prefers(const mts_device_info *device, const mts_layer_facts *facts,
                          mts_kernel_config *out);
/* Shape number `index` that is worth measuring; false beyond the last, and on a GPU. */
bool mts_winograd_candidate(const mts_device_info *device, uint32_t index, mts_kernel_config *out);
/* Whether the kernel computes a layer's dense convolutions on the device. */
bool mts_winograd_accepts(const mts_encoding *encoding, const mts_layer *layer);

#endif
