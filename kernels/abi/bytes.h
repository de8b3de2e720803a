/*
 * bytes.h: the kernel parameters of convolutions of 8-bit numbers (conv_bytes, pack_bytes), beside those of params.h.
 *
 * Planes of codes: a number x of 8 bits is held as a code of 0 to 255, x = step * (code + least), where `least` is
 * between -255 and 0, so that -least is the code of 0. Codes of four channels are one word of the arena, channel 4 w + i
 * in its bits 8 i to 8 i + 7. A plane of words has the geometry of a plane of floats, and a tensor of C channels has
 * (C + 3) / 4 of them. Only programs for float32 storage have such planes.
 *
 * conv_bytes takes mts_conv_params over such planes. The sums are integers: sum over w * (code - zero); the border of
 * the input holds codes `zero`. What differs from conv_tile:
 *   job       rows_b is 0; in_pitch and the segments' channels are those of words
 *   segment   weight_a: pool offset of i32[rows], the sum of each row's weights in this segment, then of words of four
 *             int8 [count][taps][rows], rows rounded up to 4; channels of the first and last word that the segment does
 *             not have count 0. weight_b: `zero`
 *   epilogue  slope is NONE; res: word index of a mts_codes_params, or NONE; out NONE: no floats are stored
 */
#ifndef MTS_KERNELS_ABI_BYTES_H
#define MTS_KERNELS_ABI_BYTES_H

#include "kernels/abi/params.h"

/*
 * Where an epilogue that ends with QUANT8 stores its codes: pixel 0 of word 0 at `out`, words `pitch` apart. Its rows
 * are consecutive channels, and index[0] is a multiple of 4. The tile with pixel 0 writes `before` codes of 0 before a
 * plane, the last tile `after` of them behind its pixels.
 */
typedef struct mts_codes_params {
    mts_u32 out, pitch;
    mts_u32 before, after;
} mts_codes_params;

/*
 * Floats whose values have 8 bits -> planes of codes, with the border and the phases of mts_space_to_depth_params.
 * Channels that the last word has and the tensor has not are 0.
 * Channel c of image i lies at src + (i * channels + c) * src_pitch; word plane (i, w, phase) at out + ((i * words + w)
 * * phases + phase) * pitch, words = (channels + 3) / 4. Grid: (n, images * words, members): a work-item owns rows of
 * one word in all phases.
 */
typedef struct mts_pack_params {
    mts_u32 out, pitch, rows, row;
    mts_u32 images, channels, sy, sx;
    mts_u32 phases; /* planes of a word: sy * sx, or the first alone */
    mts_i32 top, left;
    mts_u32 src, src_pitch, src_row;
    mts_u32 in_h, in_w;
    mts_f32 inverse; /* 1 / step */
    mts_f32 least;
} mts_pack_params;

#endif
