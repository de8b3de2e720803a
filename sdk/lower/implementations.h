/*
 * implementations.h: which kernel computes a convolution or a fully connected layer, and
 * in which shape. One ordered table (implementations.c) decides: its rows accept or
 * refuse a layer. Pure.
 */
#ifndef MTS_LOWER_IMPLEMENTATIONS_H
#define MTS_LOWER_IMPLEMENTATIONS_H

#include "lower/lower.h"

/* ---- configurations ---- */

/* Without measurements; `facts` may be NULL: of any layer. Never fails; the result suits
 * any kernel of the device. */
mts_kernel_config mts_kernel_config_default(const mts_device_info *device, const mts_layer_facts *facts);
/* Configurations worth measuring, the most promising first; the defaults of layers are
 * among them. Returns how many, at most `most`. */
uint32_t mts_kernel_config_candidates(const mts_device_info *device, mts_kernel_config *out, uint32_t most);
/* The default of layers that no special kernel computes: what to fall back on when one
   fails. */
mts_kernel_config mts_kernel_config_tiles(const mts_device_info *device);
/* The smallest tiles, which every device can build: the last resort before the reference
   device. */
mts_kernel_config mts_kernel_config_smallest(const mts_device_info *device);
/*
 * The configuration of a layer: measured (mts_kernel_configs_nearest), else the default.
 * Where that has failed: the default, the default tiles, the smallest tiles. `configs`
 * may be NULL.
 */
mts_kernel_config mts_kernel_configs_get(const mts_kernel_configs *configs, const mts_device_info *device,
                                         const mts_layer_facts *facts);
/* Whether `config`, which mts_kernel_configs_get gave, is the measured one or a forced
   one. */
bool mts_kernel_configs_measured(const mts_kernel_configs *configs, const mts_device_info *device,
                                 const mts_layer_facts *facts, const mts_kernel_config *config);

/* ---- launches ---- */

/* mts_encode_program of a layer of convolutions: MTS_PROGRAM_CONV or above,
 * MTS_PROGRAM_MIXED of depthwise ones; MTS_NONE where memory is short. */
uint32_t mts_conv_program(const mts_encoding *encoding, const mts_plan *plan, const mts_layer *layer);
/* A layer of convolutions: one implementation for the members of each variant. */
mts_status mts_encode_conv(mts_encoding *encoding, const mts_layer *layer);
/*
 * Gives the launches of conv_tile and of conv_winograd the row cases of all of them as
 * build options, for example "-DVEC=16 -DCASES=CASE(13,0)CASE(10,3)".
 */
mts_status mts_encode_cases(mts_encoding *encoding);

#endif
