/*
 * conv_image.h: random tensors of convolutions for tests of kernels: images with a border of zeros around them, what
 * belongs to them, and epilogues. All lie in the buffers of a kernel_pair.
 */
#ifndef TESTS_SUPPORT_CONV_IMAGE_H
#define TESTS_SUPPORT_CONV_IMAGE_H

#include "support/kernel_pair.h"

#define CONV_VECTOR 16 /* floats to which outputs are aligned and pixels rounded: the widest vector */
#define CONV_TAPS_MOST 25
#define CONV_ROWS_MOST 40

/* The shape that all tensors of one job share. */
typedef struct conv_image {
    uint32_t h, w, row, gap, tail, pixels, pitch;
    uint32_t kernel, pad;
} conv_image;

/* Rounded up to whole vectors. */
uint32_t conv_align(uint32_t count);
conv_image conv_image_random(kernel_pair *pair);
/* Offset of pixel 0 of channel 0 of a tensor with room for a border on both sides. */
uint32_t conv_image_place(kernel_pair *pair, const conv_image *i, uint32_t channels);
/* Of a kernel of i->kernel by i->kernel: offset of its list of taps. */
uint32_t conv_image_taps(kernel_pair *pair, const conv_image *i);
/* Offset of 1 for pixels in the image and 0 beside it, or MTS_PARAM_NONE. */
uint32_t conv_image_mask(kernel_pair *pair, const conv_image *i);
/* An epilogue that stores `rows` rows in a random order of channels into a tensor of its own. */
mts_epilogue_params conv_image_epilogue(kernel_pair *pair, const conv_image *i, uint32_t rows);

#endif
