/*
 * encode_conv.h: what the convolution launches share.
 */
#ifndef MTS_LOWER_ENCODE_CONV_H
#define MTS_LOWER_ENCODE_CONV_H

#include "lower/encode.h"

/* A convolution member with its operands resolved to offsets. */
typedef struct mts_conv_site {
    const mts_member *member;
    const mts_attrs_conv *conv;
    const mts_storage *out;
    const uint32_t *scatter;
    uint32_t images, channels, in_channels;
    uint32_t residual_planes; /* from an image to the next */
    uint32_t in, in_pitch,
        plane_pitch; /* act offset of pixel 0 of channel 0; floats between channels, planes */
    uint32_t row, pixels, taps, tap, mask;
    uint32_t in_row;                   /* of the input: `row`, but where strided rows are read in place */
    uint32_t in_image;                 /* of conv_packed: from an image of the input to the next */
    uint32_t blocks;                   /* MTS_BLOCKS_..: operands in blocks of channels */
    uint32_t residual, residual_pitch; /* act offset, or MTS_PARAM_NONE */
    uint32_t scale;                    /* pool offset of the rows' scales; MTS_PARAM_NONE: the member's own */
    uint32_t index;                    /* index in the kernel parameters of the scatter list */
    bool index_made;
} mts_conv_site;

/* MTS_BLOCKS_..: which operands of a member lie in blocks of channels. The planner alone
   decides that; a launch that cannot read them so is an error. */
uint32_t mts_conv_blocks(const mts_encoding *encoding, uint32_t member);
/* INTERNAL, with the layer's number. */
mts_status mts_conv_refuse_blocks(const mts_encoding *encoding, const mts_layer *layer);
/* All but taps and mask, which not every kernel needs. */
void mts_conv_site_open(mts_conv_site *site, mts_encoding *encoding, uint32_t member);
void mts_conv_site_mask(mts_conv_site *site, mts_encoding *encoding);
void mts_conv_site_init(mts_conv_site *site, mts_encoding *encoding, uint32_t member);
/* Table index of the output channels of rows row, row + 1, .. */
uint32_t mts_conv_index(mts_encoding *encoding, mts_conv_site *site, uint32_t row);
/* The epilogue of rows from `row` on of one image. */
mts_epilogue_params mts_conv_epilogue(mts_encoding *encoding, mts_conv_site *site, uint32_t image,
                                      uint32_t row);

#endif
