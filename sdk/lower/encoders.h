/*
 * encoders.h: what lower.c and implementations.c call to make launches: a function per operator, conversion
 * and convolution kernel.
 */
#ifndef MTS_LOWER_ENCODERS_H
#define MTS_LOWER_ENCODERS_H

#include "lower/encode.h"

/* ---- operators of one launch: the kernel parameters of one member, which are zero before the call ---- */

void mts_fill_unary(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_binary(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_scale(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_pool(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_resize(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_lrn(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_deconv(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_reduce(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_softmax(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_matmul(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_concat(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_slice(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_pad(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_gather(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_transpose(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_take(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_scan(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_order(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_sample(mts_encoding *encoding, const mts_member *member, void *params);
void mts_fill_expand(mts_encoding *encoding, const mts_member *member, void *params);

/* ---- steps that are not layers ---- */

mts_status mts_encode_space_to_depth(mts_encoding *encoding, const mts_step *step);
mts_status mts_encode_copies(mts_encoding *encoding, const mts_step *step);
mts_status mts_encode_inputs(mts_encoding *encoding, const mts_step *step);

/* ---- convolutions and fully connected layers: members of one variant, with a configuration ---- */

mts_status mts_encode_tile(mts_encoding *encoding, const mts_layer *layer, const mts_kernel_config *config);
mts_status mts_encode_block(mts_encoding *encoding, const mts_layer *layer, const mts_kernel_config *config);
mts_status mts_encode_winograd(mts_encoding *encoding, const mts_layer *layer,
                               const mts_kernel_config *config);
mts_status mts_encode_gemm(mts_encoding *encoding, const mts_layer *layer, const mts_kernel_config *config);
mts_status mts_encode_depthwise(mts_encoding *encoding, const mts_layer *layer,
                                const mts_kernel_config *config);
mts_status mts_encode_fc_lanes(mts_encoding *encoding, const mts_layer *layer,
                               const mts_kernel_config *config);
mts_status mts_encode_fc_block(mts_encoding *encoding, const mts_layer *layer,
                               const mts_kernel_config *config);

/* Whether all members of a layer can be matrix products of the device's library. */
bool mts_gemm_accepts(const mts_encoding *encoding, const mts_layer *layer);
bool mts_fc_block_accepts(const mts_encoding *encoding, const mts_layer *layer);

#endif
