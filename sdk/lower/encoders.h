/*
 * encoders.h: what lower.c and implementations.c call to make launches: a function per
 * operator, conversion and convolution kernel.
 */
#ifndef MTS_LOWER_ENCODERS_H
#define MTS_LOWER_ENCODERS_H

#include "lower/encode.h"

/* ---- operators of one launch, with the same kernel parameters for each member ---- */

typedef struct mts_operator {
    /* NULL: CONV, whose kernels are those of implementations.c, and RESHAPE, which is an
       alias and has no step. */
    const char *kernel;
    /* Beginning of the launch's label. */
    const char *label;
    /* Words of the kernel parameters of a member. */
    uint32_t words;
    /* Writes the parameters of a member, which are zero before. */
    void (*fill)(mts_encoding *encoding, const mts_member *member, void *params);
    /* Elements of the dimension whose positions are values of the member, 0: none are;
       NULL: of no member. */
    uint32_t (*positions)(const mts_stitched *stitched, const mts_member *member);
    /* Appends the launch over all members' parameters: mts_encode_dests, or what has its
       meaning. */
    mts_status (*launch)(mts_encoding *encoding, const char *kernel, const char *label, const void *params,
                         uint32_t words, uint32_t count);
} mts_operator;

/* The row of an operator in the file of its functions; the kernel is
   TYPE_any__f32_planar. */
#define MTS_OPERATOR(name, type, fill, positions)                                                            \
    MTS_OPERATOR_LAUNCHED(name, type, fill, positions, mts_encode_dests)
/* The same with a grid of its own. */
#define MTS_OPERATOR_LAUNCHED(name, type, fill, positions, launch)                                           \
    const mts_operator mts_operator_##name = {                                                               \
        #type "_any__f32_planar", #name, MTS_PARAM_WORDS(mts_##type##_params), fill, positions, launch}

/* An operator without a row does not link. */
#define MTS_OPERATOR_DECLARE(NAME, row) extern const mts_operator mts_operator_##row;
MTS_OPS(MTS_OPERATOR_DECLARE)
#undef MTS_OPERATOR_DECLARE

#if MTS_HAS_PACKED
/* Softmax along channels of packs, and whether all of a layer is that. */
extern const mts_operator mts_operator_softmax_packed;
bool mts_softmax_takes_packs(const mts_encoding *encoding, const mts_layer *layer);
#endif

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
/* 8-bit numbers: every device whose plan has such members. */
mts_status mts_encode_bytes(mts_encoding *encoding, const mts_layer *layer, const mts_kernel_config *config);
mts_status mts_encode_packed(mts_encoding *encoding, const mts_layer *layer, const mts_kernel_config *config);
mts_status mts_encode_depthwise(mts_encoding *encoding, const mts_layer *layer,
                                const mts_kernel_config *config);
/* Whether depthwise_rows computes a depthwise member: it reads the image where it lies,
 * or a copy with a border; not the phases of a stride. Else depthwise_tile does. */
bool mts_depthwise_by_rows(const mts_encoding *encoding, uint32_t member);
mts_status mts_encode_fc_lanes(mts_encoding *encoding, const mts_layer *layer,
                               const mts_kernel_config *config);
mts_status mts_encode_fc_block(mts_encoding *encoding, const mts_layer *layer,
                               const mts_kernel_config *config);

/* Fully connected layers of 8-bit numbers, and whether all of a layer are, on a device that
   multiplies bytes and is no GPU. */
bool mts_fc_bytes_accepts(const mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_fc_bytes(mts_encoding *encoding, const mts_layer *layer,
                               const mts_kernel_config *config);

/* The members of a layer other than a convolution that compute with codes; there is one
   at least. */
mts_status mts_encode_codes(mts_encoding *encoding, const mts_layer *layer, const char *label);

/* A sum and the layer that computes a summand, in one launch (plan/sums.h). */
mts_status mts_encode_sum(mts_encoding *encoding, const mts_layer *layer);

/* Whether all members of a layer can be matrix products of the device's library. */
bool mts_gemm_accepts(const mts_encoding *encoding, const mts_layer *layer);
bool mts_fc_block_accepts(const mts_encoding *encoding, const mts_layer *layer);

/* Whether work-items of a GPU's group share the outputs of the layer, a REDUCE: its launch
   is of a kernel of its own then. */
bool mts_reduce_is_shared(const mts_encoding *encoding, const mts_layer *layer);

#endif
