/*
 * packed.h: the kernel parameters of what computes with channels in packs of four alone. A
 * header of its own because the smallest library's kernel texts do without it.
 */
#ifndef MTS_KERNELS_ABI_PACKED_H
#define MTS_KERNELS_ABI_PACKED_H

#include "kernels/abi/params.h"

/*
 * conv_packed: a job has one image, rows_b 0, no mask and no plane; its `tap` is the word
 * index of this. Input, outputs and residuals lie in planes of any row length, or (blocks:
 * MTS_BLOCKS_..) in packs of 4 channels: channel c of pixel p is
 *
 *     act[base + (c / 4 * 4) * pitch + p * 4 + c % 4]
 *
 * and lanes beyond the last channel are 0: the epilogue's `last` is that channel, gap and
 * tail are 0. Of the input, row y and column x are y * in_row + x * in_step in place of
 * p * 4, or of p in planes: channels may also come last. Tap k of output pixel (y, x) is
 * pixel (y * stride_y + k / kernel_w * dilation_y - top, x * stride_x + k % kernel_w * dilation_x - left) of the input, or 0
 * where that has no such pixel. Pixel p of the job is row y = p / row, column x = p % row;
 * what lies beyond w columns is set to 0. It is pixel y * out_row + x * out_step of the
 * output, from `out` of its epilogue on: out_row is row and out_step 1, but in a transposed
 * convolution, which has a job for every phase of its strides (plan/phases.h).
 * Segments count channels from the image's first.
 * Weights lie packed
 *
 *     [taps][(channel % 4 + count + 3) / 4][4 channels][rows_a, rounded up to 4]
 *
 * with zeros in the lanes of channels and rows that are not the segment's. A depthwise job
 * (MTS_BLOCKS_DEPTHWISE) has at most 4 rows and one segment, row r reads its channel
 * channel + r, and weights lie packed [taps][4].
 */
#define MTS_CHANNEL_PACK 4u
#define MTS_PACKED_ROWS 8u /* rows of a job at most */
typedef struct mts_packed_params {
    mts_u32 blocks;
    mts_u32 in_row, in_step; /* floats from a row of the input to the next, from a column */
    mts_u32 in_h, in_w;
    mts_u32 zeros; /* at act[zeros] lies a pack of zeros */
    mts_u32 kernel_w, stride_y, stride_x, dilation_y, dilation_x;
    mts_i32 top, left;
    mts_u32 h, w, row; /* of the job's pixels */
    mts_u32 out_row, out_step;
    mts_u32 plane; /* pixels of a plane of the output, around which the job writes zeros; or 0 */
    mts_u32 res_row;
} mts_packed_params;

/*
 * Softmax along channels that lie in packs of 4: channel c of pixel p of
 * image i is act[in + i * in_image + c / 4 * 4 * in_pitch + p * 4 + c % 4]. The result lies so
 * too where `packs` is not 0, with lanes beyond the last channel 0; else channel c of pixel p
 * is act[out + i * out_image + c * out_pitch + p]. Member m, image get_global_id(1); a
 * work-group takes `wide` pixels at once, a power of two.
 */
typedef struct mts_softmax_packed_params {
    mts_u32 images, pixels, channels, wide;
    mts_u32 in, in_image, in_pitch;
    mts_u32 out, out_image, out_pitch, packs;
    mts_u32 log;
} mts_softmax_packed_params;

#endif
